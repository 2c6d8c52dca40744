"""Scales and rounding: powers of two, sizes that tolerances refer to, the units of a dtype, and exact numbers."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.keys import Keys
from clifford_rand.basis.metric import Metric


def multiplied(A: MV, exponent: NDArray[np.int64]) -> MV:
    """Return A · 2^exponent: see `times_power`."""
    return A.new(A.keys, times_power(A.coefficients, exponent))


def times_power(array: NDArray[Any], exponent: NDArray[np.int64]) -> NDArray[Any]:
    """Return array · 2^exponent, exactly where the result is in range; one exponent for each batch element."""
    real = array.real.dtype
    # 2^n = 2^⌊n/2⌋ 2^⌈n/2⌉
    half = np.asarray(exponent) // 2
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # in two steps: 2^1030 alone would overflow
        first = np.ldexp(np.ones((), dtype=real), half)[..., None]
        second = np.ldexp(np.ones((), dtype=real), exponent - half)[..., None]
        return array * first * second


def power_of_two(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return n with 2^{n-1} ≤ max |component| < 2^n per batch element; 0 where all are zero or one is not finite."""
    largest = np.abs(array.real).max(axis=-1, initial=0)
    if array.dtype.kind == "c":
        largest = np.maximum(largest, np.abs(array.imag).max(axis=-1, initial=0))
    return np.frexp(np.where(np.isfinite(largest), largest, 0))[1].astype(np.int64)


def size_squared(A: MV) -> Any:
    """Return Σ |w_S| |a_S|², the sum of the absolute terms of ⟨A ~A⟩_0, over the batch.

    w_S is the product of the metric's diagonal over the blade S. Of a metric that is not diagonal the spectral norm
    takes the place of every entry: an upper bound.
    """
    live, _, weights = weights_of(A.algebra.form, A.keys)
    array = A.coefficients if live is None else A.coefficients[..., live]
    if array.ndim == 1 and weights is None:
        return np.vdot(array, array).real
    squares = array.real**2 + array.imag**2 if array.dtype.kind == "c" else array * array
    return squares.sum(axis=-1) if weights is None else (squares * weights.astype(squares.dtype)).sum(axis=-1)


@lru_cache(maxsize=256)
def weights_of(
    metric: Metric, keys: Keys
) -> tuple[NDArray[np.int64] | None, NDArray[Any] | None, NDArray[np.float64] | None]:
    """Return where the blades with a square are (None: all), their squares inner(S, S), and the sizes of these.

    None for squares or sizes that are all 1.
    """
    signed: NDArray[Any] | None = None
    if metric.diagonal is None:
        # |w_S| ≤ ‖G‖₂^k for a k-blade S, as w_S is a minor of G
        spectral = float(np.abs(np.linalg.eigvalsh(metric.gram.astype(np.float64))).max())
        size = spectral ** keys.grade_of.astype(np.float64)
        live = np.arange(keys.size)
    else:
        signed = metric.weight(keys.masks)
        # blades without a null vector: the others have the square 0
        live = np.flatnonzero(signed)
        signed = signed[live]
        size = np.abs(signed.astype(np.float64))
        signed = None if np.all(signed == 1) else signed
    return None if len(live) == keys.size else live, signed, None if np.all(size == 1) else size


def is_exact(*multivectors: MV) -> bool:
    """Tell whether the coefficients of one, or the metric, are fractions or symbols."""
    try:
        exact = any(A.coefficients.dtype.kind == "O" for A in multivectors)
    except AttributeError:
        raise no_tensors("A", "this function") from None
    return exact or not multivectors[0].algebra.form.is_numeric


def no_tensors(name: str, owner: str) -> Exception:
    """Return the error of a function that needs values: tensors that are traced have none."""
    hint = "A.to_numpy() is one, without a gradient."
    return fail(name, owner, "a multivector of NumPy arrays", describe("a multivector of tensors"), hint)


def as_inexact(A: MV) -> MV:
    """Return integers as float64, everything else as it is."""
    if not isinstance(A.coefficients, np.ndarray):
        raise no_tensors("A", "this function")
    return A if A.coefficients.dtype.kind in "fc" else A.new(A.keys, A.coefficients.astype(np.float64))


def expanded(value: Any) -> Any:
    """Return a symbolic value multiplied out, any other value as it is."""
    return value.expand() if hasattr(value, "expand") else value


_expanded = np.frompyfunc(expanded, 1, 1)


def expand(A: MV) -> MV:
    """Return A with its symbolic coefficients multiplied out, so that what cancels is 0."""
    if A.coefficients.dtype != object:
        return A
    return A.new(A.keys, np.asarray(_expanded(A.coefficients), dtype=object).reshape(A.coefficients.shape))


def is_exact_zero(value: Any) -> bool:
    """Tell whether a fraction or a symbolic value is the number 0 once it is multiplied out."""
    return bool(value == 0) or (hasattr(value, "expand") and bool(value.expand() == 0))


@lru_cache(maxsize=8)
def eps_of(dtype: np.dtype) -> float:
    """Return the unit of rounding of a floating or complex dtype."""
    return float(np.finfo(dtype).eps)


@lru_cache(maxsize=8)
def safe_range(dtype: np.dtype) -> tuple[float, float]:
    """Return the limits between which a sum of products of two components has lost nothing to under- or overflow."""
    eps = eps_of(dtype)
    return float(np.finfo(dtype).tiny) / eps**2, float(np.finfo(dtype).max) * eps
