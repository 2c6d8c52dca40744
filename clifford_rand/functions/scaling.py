"""Powers of two, units of rounding, checks of arguments, exact numbers and their fraction-free elimination."""

import math
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import exact_quotient
from clifford_rand.basis.keys import Keys, keys_of_grades, keys_of_masks
from clifford_rand.basis.metric import Metric
from clifford_rand.plans.cost_model import keep

CANCELLATION = 64  # |R|² relative to R ~R beyond which two products are more accurate than a quadratic form in R
LEAST = 256  # times eps: the least relative tolerance that makes sense for data of that precision


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


expanded_entries = np.frompyfunc(expanded, 1, 1)


def expand(A: MV) -> MV:
    """Return A with its symbolic coefficients multiplied out, so that what cancels is 0."""
    if A.coefficients.dtype != object:
        return A
    return A.new(A.keys, np.asarray(expanded_entries(A.coefficients), dtype=object).reshape(A.coefficients.shape))


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


# ---- checks, and numbers of a safe size


def as_multivector(value: Any, name: str, owner: str) -> Any:
    """Return ``value`` if it is a multivector, else raise."""
    if not hasattr(value, "keys") or not hasattr(value, "coefficients"):
        raise fail(name, owner, "a multivector", describe(f"{type(value).__name__} {value!r}"))
    if not isinstance(value.coefficients, np.ndarray):
        raise no_tensors(name, owner)
    return value


def check_same_algebra(a: Any, b: Any, name: str, owner: str) -> None:
    """Refuse two multivectors of different algebras."""
    if a.algebra is not b.algebra and a.algebra != b.algebra:
        received = describe(f"a multivector of {b.algebra!r}")
        raise fail(name, owner, f"of the same algebra, {a.algebra!r}", received, "Convert it with algebra.convert(…).")


def relative(dtype: np.dtype, rtol: float) -> float:
    """Return a relative tolerance that the precision of the data can meet."""
    return max(check_tolerance(rtol, 0.0, "a test of blades"), LEAST * float(np.finfo(dtype).eps))


def unit_scale(array: NDArray[Any], owner: str, name: str = "coefficients") -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (array / s, s): s (..., 1) a power of two that brings the largest of (..., n) near 1, exactly."""
    parts = array.view(array.real.dtype) if array.dtype.kind == "c" and array.flags.c_contiguous else array
    size = np.abs(parts).max(axis=-1, keepdims=True, initial=0)
    if not np.isfinite(size).all():
        raise fail(name, owner, "finite", describe("NaN or infinite coefficients"))
    limit = 1000 if size.dtype == np.float64 else 120  # 2^limit and its inverse are numbers of that precision
    exponent = np.clip(np.frexp(size)[1], -limit, limit)  # so that the scale and its inverse are finite
    scale = np.ldexp(np.ones_like(size), exponent)
    return array / scale, scale


def scaled(A: Any, owner: str) -> Any:
    """Return A with floating coefficients, times the power of two that brings the largest near 1."""
    A = as_inexact(A)
    return A.new(A.keys, unit_scale(A.coefficients, owner)[0])


def quotient(array: NDArray[Any], divisor: NDArray[Any]) -> NDArray[Any]:
    """Return array / divisor; two integers among exact numbers make a fraction."""
    exact = array.dtype == object or divisor.dtype == object
    return exact_quotient(array, divisor) if exact else array / divisor


def lengths(metric: Metric) -> NDArray[np.float64]:
    """Return √g_i with g_i = max_j |G_ij| of each basis vector, 1 where that is 0."""
    entries = metric.gram if metric.diagonal is None else metric.diagonal[:, None]
    g = np.abs(entries.astype(np.float64)).max(axis=1)
    return np.asarray(np.sqrt(np.where(g == 0, 1.0, g)))


def blade_weights(metric: Metric, keys: Keys) -> NDArray[np.float64] | None:
    """Return ∏ √g_i over the factors of each blade, see `lengths`; None for entries 1, -1, 0.

    Coefficients times these weights are those in the basis e_i / √g_i, whose Gram matrix has entries of at most 1:
    tolerances relative to their size do not depend on the lengths of the basis vectors.
    """
    if metric.is_unit:
        return None
    weights = np.ones(keys.size)
    for i, root in enumerate(lengths(metric)):
        weights[np.asarray((keys.masks >> i & 1) != 0, dtype=bool)] *= root
    return weights


def sum_of_sizes(A: MV) -> NDArray[Any]:
    """Return Σ |a_S|, which bounds the norm of a product in an orthonormal basis."""
    return np.asarray(np.abs(A.coefficients).sum(axis=-1))


def cancels(R: Any) -> bool:
    """Tell whether R ~R is a small difference of squares: a quadratic form in R has the rounding of |R|²."""
    metric = R.algebra.form
    if not metric.is_unit or not metric.negative or not R.coefficients.size:
        return False
    r, weights = R.coefficients, metric.plans.get(R.keys)
    if weights is None:
        weights = keep(metric, R.keys, metric.weight(R.keys.masks).astype(np.float64))
    if r.ndim == 1:
        return bool(r.dot(r) > CANCELLATION * abs((r * r).dot(weights)))  # |R|² against |R ~R|
    square = r * r
    return bool((square.sum(axis=-1) > CANCELLATION * abs(square.dot(weights))).any())


def homogeneous(A: Any, name: str, owner: str, rtol: float = 1e-9) -> tuple[int, Any]:
    """Return (k, ⟨A⟩_k) of a multivector of one grade other than zero, the same throughout the batch."""
    if len(A.keys.grades) == 1 and (0 in A.shape or np.asarray(A.coefficients != 0, dtype=bool).any()):
        return A.keys.grades[0], A
    if A.coefficients.dtype == object:
        A = expand(A)
        nonzero = [k for k in A.keys.grades if np.asarray(A.coefficients[..., A.keys.slices[k]] != 0, dtype=bool).any()]
    else:
        size = {k: np.abs(A.coefficients[..., A.keys.slices[k]]).max(axis=-1, initial=0) for k in A.keys.grades}
        largest = np.max(list(size.values()), axis=0) if size else np.zeros(())
        limit = relative(as_inexact(A).coefficients.dtype, rtol) * largest  # smaller grades are rounding noise
        nonzero = [k for k, part in size.items() if (part > limit).any()]
    if not nonzero:
        raise fail(name, owner, "a blade other than zero", describe("zero"))
    if len(nonzero) > 1:
        grades = describe(f"grades {', '.join(map(str, nonzero))}")
        raise fail(name, owner, "of one grade", grades, "Take a part with grade(k).")
    return nonzero[0], A.grade(nonzero[0])


def without_scalar(A: MV) -> tuple[Any, MV]:
    """Return the scalar part, over the batch, and the rest."""
    if A.keys.find(0) >= 0:
        return A.coefficients[..., 0], A.new(without_first(A.keys), A.coefficients[..., 1:])
    return np.zeros(A.shape, dtype=A.dtype)[()], A


@lru_cache(maxsize=256)
def without_first(keys: Keys) -> Keys:
    """Return keys without their first blade, the scalar."""
    if keys.complete:
        return keys_of_grades(keys.d, keys.grades[1:])
    return keys_of_masks(keys.d, tuple(int(mask) for mask in keys.masks[1:]), keys.grades[1:])


# ---- fraction-free elimination


def integer_rows(
    array: NDArray[Any], name: str, owner: str, *, floats: bool = False
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows (..., d) times the least common denominators of their entries, as Python integers, and those (...).

    Integers and fractions are taken, and ``floats`` as the fractions that they are; ArgumentError for anything else.
    """
    if array.dtype.kind in "biu":
        return array.astype(object) + 0, np.ones(array.shape[:-1], dtype=object)
    kinds = (Rational, float, np.floating) if floats else (Rational,)
    rule = "an array of integers or fractions" + (" or floats" if floats else "")
    numbers = np.empty(array.shape, dtype=object)
    flat = numbers.reshape(-1)
    for i, entry in enumerate(array.ravel().tolist()):
        if not isinstance(entry, kinds):
            raise fail(name, owner, rule, describe(f"the entry {entry!r}"))
        if isinstance(entry, Rational):  # also those of NumPy and SymPy
            flat[i] = Fraction(int(entry.numerator), int(entry.denominator))
        elif math.isfinite(entry):
            flat[i] = Fraction(float(entry))
        else:
            raise fail(name, owner, "finite", describe("NaN or infinite entries"))
    common = np.empty(array.shape[:-1], dtype=object)
    for place in np.ndindex(*common.shape):
        common[place] = math.lcm(*(entry.denominator for entry in numbers[place]))
        numbers[place] = [int(entry * common[place]) for entry in numbers[place]]
    return numbers, common


class Echelon(NamedTuple):
    """Rows in echelon form, without a division that leaves a remainder.

    Attributes
    ----------
    rows : ndarray of int (r, d)
        Integer multiples of combinations of the rows: the entries are minors of theirs.
    pivots : list of int
        The column of the first entry of each row other than 0.
    sign : int
        Of the permutation of the rows: the last pivot is ``sign`` times the minor of the r columns, if r rows were
        given.
    """

    rows: NDArray[Any]
    pivots: list[int]
    sign: int


def echelon(rows: NDArray[Any]) -> Echelon:
    """Return the echelon form of Python integers (m, d).

    References
    ----------
    Bareiss, "Sylvester's identity and multistep integer-preserving Gaussian elimination", Math. Comp. 22, 1968.
    """
    M, previous, sign, pivots = rows.copy(), 1, 1, list[int]()
    for column in range(M.shape[1]):
        r = len(pivots)
        held = np.flatnonzero(M[r:, column])
        if not held.size:
            continue
        if held[0]:
            M[[r, r + held[0]]] = M[[r + held[0], r]]
            sign = -sign
        rest, pivot = M[r + 1 :, column:], M[r, column]
        M[r + 1 :, column:] = (rest * pivot - np.multiply.outer(rest[:, 0], M[r, column:])) // previous
        previous = pivot
        pivots.append(column)
    return Echelon(M[: len(pivots)], pivots, sign)
