"""Norms by the inner product ⟨A ~A⟩_0, safe at every scale, and the sizes that tolerances refer to."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis import layout
from clifford_rand.basis.keys import Keys, keys_of_grades
from clifford_rand.basis.layout import apart
from clifford_rand.basis.metric import Metric
from clifford_rand.functions.norm_code import NormCode
from clifford_rand.plans.cost_model import keep

LARGEST_STUDY = 128  # components from which the product A ~A costs more than all the rest of a normalization
FEW = 64  # components that a Python loop in C sums up sooner than NumPy, its warnings held back


def norm_squared(A: MV) -> Any:
    """Return ⟨A ~A⟩_0 = inner(A, A), which is negative or zero for some A unless the metric is Euclidean.

    Returns
    -------
    number, or an array of them over the batch
        In the dtype of the coefficients.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> float(cr.Algebra(3)("3.0*e1 + 4.0*e23").norm_squared()), int(cr.Algebra(1, 1).e2.norm_squared())
    (25.0, -1)
    """
    metric, array = A.algebra.form, A.coefficients
    if metric.diagonal is None or array.dtype.kind == "i" or is_exact(A):
        return A.inner(A).coefficients[..., 0][()]
    # Σ_S w_S a_S², each square rounded by itself: 0.1 e1 + 0.1 e2 in Cl(1, 1) has exactly 0 so, no fused additions
    live, signed, _ = _weights(metric, A.keys)
    if live is not None:
        array = array[..., live]
    if signed is None and array.ndim == 1 and len(array) > FEW:  # no square can cancel another
        return array.dot(array)
    square = array * array
    if signed is not None:
        square = square * signed.astype(array.real.dtype)
    return square.sum(axis=-1)


def norm(A: MV) -> Any:
    """Return √|⟨A ~A⟩_0|, without overflow or underflow on the way.

    Returns
    -------
    number, or an array of them over the batch
        Exact for fractions and symbols: an integer, a fraction or a SymPy expression.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> float(alg("3*e1 + 4*e23").norm()), float((1e200 * alg.e12).norm())
    (5.0, 1e+200)
    """
    array = A.coefficients
    if array.dtype.kind == "f":
        if array.ndim > 1:
            found = _by_code(A, "norm")
            if found is not None:
                return found.reshape(A.shape)
        sums = _sums(A)
        if sums is not None:
            return np.sqrt(sums[0])
    if is_exact(A):
        from clifford_rand.symbolic.closed_forms import square_root

        root = np.frompyfunc(lambda value: square_root(abs(expanded(value))), 1, 1)
        return root(norm_squared(A))
    A = as_inexact(A)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.abs(norm_squared(A))
    low, high = safe_range(A.dtype)
    if np.all((found > low) & (found < high)):
        return np.sqrt(found)
    found, exponent = _scaled_square(A)
    with np.errstate(over="ignore"):
        return np.ldexp(np.sqrt(np.abs(found)), exponent)[()]


def normalized(A: MV, rtol: float | None = None) -> MV:
    """Return (A ~A)^{-1/2} A where A ~A = s + q, q of grades 4, 8, …, and q² = t a scalar < s²; else A / norm(A).

    So U ~U of the result U is 1, or -1 where s < 0: a drifted motor becomes a motor, a versor A / norm(A). With
    n = √(s² - t) and c = √((|s| + n)/2) the factor is (c ∓ q/(2c))/n. Exact and complex A are divided by norm(A).

    Parameters
    ----------
    rtol : float, optional
        |⟨A ~A⟩_0| is zero if it is not above ``rtol`` times the sum of its absolute terms; 16 eps by default.

    Raises
    ------
    ArgumentError
        For zero and for null multivectors, whose norm is zero.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> cr.Algebra(3)("3*e1 + 4*e2").normalized()
    0.6*e1 + 0.8*e2
    >>> M = cr.Algebra.pga(3)("2 + e12 + e03 + 0.1*e0123").normalized()
    >>> (M * ~M).isclose(1, atol=1e-15)
    True
    """
    unit = _divided(A, rtol)
    grades = {k for k in A.grades if k}
    if A.algebra.d < 4 or not max(grades, default=0) >= 2 or A.keys.size > LARGEST_STUDY or unit.dtype.kind != "f":
        return unit
    once = _without_study_part(unit)
    return unit if once is unit else _without_study_part(once)  # the second removes the rounding of the first


def _without_study_part(A: MV) -> MV:
    """Return (A ~A)^{-1/2} A up to sign where A ~A = s + q, q more than rounding and q² = t < s² a scalar."""
    square = A * ~A
    q = square.select_keys(keys_of_grades(square.keys.d, tuple(range(4, square.keys.d + 1, 4))))
    size = (A.coefficients * A.coefficients).sum(axis=-1)
    if A.algebra.form.is_unit and A.algebra.form.counts[2] == 1:  # no term of A ~A has two blades with the null vector
        size = np.sqrt(size_squared(A) * size)
    limit = 4 * eps_of(A.dtype) * size
    far = (np.abs(q.coefficients) > limit[..., None]).any(axis=-1)
    if not far.any():
        return A
    scalar = keys_of_grades(square.keys.d, (0,))
    s, power = square.select_keys(scalar).coefficients[..., 0], q * q
    t = power.select_keys(scalar).coefficients[..., 0]
    rest = np.abs(power.coefficients).sum(axis=-1) - np.abs(t)
    odd = square.grade(*(k for k in square.grades if k % 4 == 1))  # none of even and odd A, whatever blades A holds
    far &= (np.abs(odd.coefficients) <= limit[..., None]).all(axis=-1)
    far &= (rest <= 4 * limit) & (s * s - t > 4 * limit * np.abs(s))
    root = np.sqrt(np.where(far, s * s - t, 1))
    c = np.sqrt((np.abs(s) + root) / 2)
    part = np.where(far, -np.sign(s) / (2 * c * root), 0)[..., None]
    result = (q.new(q.keys, q.coefficients * part) + np.where(far, c / root, 1)) * A
    parts = {k: np.abs(result.grade(k).values).max(initial=0) for k in result.grades}
    return result.grade(*(k for k in result.grades if k in A.grades or parts[k] > limit.max()))


def _divided(A: MV, rtol: float | None) -> MV:
    """Return A / norm(A)."""
    array = A.coefficients
    if rtol is not None:
        rtol = check_tolerance(rtol, 0.0, "normalized")
    if array.dtype.kind == "f" and rtol is None:
        if array.ndim > 1:
            rows = _by_code(A, "normalized")
            if rows is not None:
                return A.new(A.keys, layout.coefficients(rows, A.shape))
        sums = _sums(A)
        if sums is not None:
            found, terms = sums
            if (found > 16 * eps_of(array.dtype) * terms).all():
                size = np.sqrt(found)
                return A.new(A.keys, array / (size if array.ndim == 1 else size[..., None]))
    if is_exact(A):
        size = norm(A)
        if np.any(np.asarray([value == 0 for value in np.ravel(size)])):
            raise _null(0, "0")
        return A / size
    A = as_inexact(A)
    limit = 16 * eps_of(A.dtype) if rtol is None else rtol  # a null vector of rounded components is at a few eps
    square, exponent = _scaled_square(A)
    scaled = multiplied(A, -exponent)
    with np.errstate(under="ignore"):
        terms = size_squared(scaled)  # the null blades are left out, so this is of order 1
    bad = ~(np.abs(square) > limit * terms)
    if np.any(bad):
        if not np.isfinite(A.coefficients).all():
            raise fail("A", "normalized", "finite", describe("NaN or infinite coefficients"))
        worst = float(np.max(np.abs(square)[bad] / np.where(terms == 0, 1, terms)[bad]))
        raise _null(worst, f"rtol = {limit:.3g}")
    return A.new(A.keys, scaled.coefficients / np.sqrt(np.abs(square))[..., None])


def _by_code(A: MV, name: str) -> NDArray[Any] | None:
    """Return the rows that `NormCode` gives, None where there is none or its conditions fail."""
    metric, array = A.algebra.form, A.coefficients
    key = (name, A.keys, array.dtype)
    code: Any = metric.plans.get(key, False)
    if code is False:
        squares = _squares(metric, A.keys, array.dtype)
        made = None if squares is None or not A.keys.size else NormCode(squares, name != "norm", eps_of, safe_range)
        code = keep(metric, key, made)
    return None if code is None or not array.size else code(layout.components(array))


def _sums(A: MV) -> tuple[Any, Any] | None:
    """Return |Σ w a²| and a bound on its terms, Σ a²; None where one is out of range, and for other metrics."""
    array = A.coefficients
    squares = _squares(A.algebra.form, A.keys, array.dtype)
    if squares is None:
        return None
    low, high = safe_range(array.dtype)
    if array.ndim == 1 and len(array) <= FEW:
        size = math.hypot(*array.tolist())  # before anything can overflow, and sooner than to hide its warning
        terms = size * size
        if not terms < high:
            return None
        found = abs((array * array).dot(squares))
        return (found, terms) if found > low else None
    with np.errstate(over="ignore", invalid="ignore"):
        if array.ndim == 1:
            terms = found = array.dot(array)
            if terms < high and not _is_definite(A.algebra.form, A.keys):
                found = abs((array * array).dot(squares))
            return (found, terms) if found > low and terms < high else None
        if _is_definite(A.algebra.form, A.keys):
            parts = apart(array)
            terms = found = np.einsum("k...,k...->...", parts, parts)  # no array of squares, component by component
        else:
            squared = array * array
            found, terms = abs(squared @ squares), squared.sum(axis=-1)
    return (found, terms) if ((found > low) & (terms < high)).all() else None


def _is_definite(metric: Metric, keys: Keys) -> bool:
    """Tell whether every blade of the keys has inner(S, S) = 1."""
    key = ("definite", keys)
    found: bool | None = metric.plans.get(key)
    return keep(metric, key, bool((metric.weight(keys.masks) == 1).all())) if found is None else found


def _squares(metric: Metric, keys: Keys, dtype: np.dtype) -> NDArray[Any] | None:
    """Return inner(S, S) of every blade S; None unless the metric has 1, -1 and 0 alone."""
    key = ("squares", keys, dtype)
    found: NDArray[Any] | None = metric.plans.get(key)
    if found is None and metric.is_unit:
        found = keep(metric, key, metric.weight(keys.masks).astype(dtype))
    return found


def _null(ratio: float, limit: str) -> Exception:
    found = f"|⟨A ~A⟩_0| = {ratio:.3g} of the sum of its absolute terms, which is not above {limit}"
    return fail("A", "normalized", "of non-zero norm", describe(found), "Null blades and zero have no unit multiple.")


def _scaled_square(A: MV) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return ⟨A ~A⟩_0 / 4^n and n, per batch element, for n such that no term over- or underflows that counts."""
    live, _, _ = _weights(A.algebra.form, A.keys)
    exponent = power_of_two(A.coefficients if live is None else A.coefficients[..., live])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # in null blades, which do not enter
        return np.asarray(norm_squared(multiplied(A, -exponent))), exponent


def multiplied(A: MV, exponent: NDArray[np.int64]) -> MV:
    """Return A · 2^exponent: see `times_power`."""
    return A.new(A.keys, times_power(A.coefficients, exponent))


def times_power(array: NDArray[Any], exponent: NDArray[np.int64]) -> NDArray[Any]:
    """Return array · 2^exponent, exactly where the result is in range; one exponent for each batch element."""
    real = array.real.dtype
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
    live, _, weights = _weights(A.algebra.form, A.keys)
    array = A.coefficients if live is None else A.coefficients[..., live]
    if array.ndim == 1 and weights is None:
        return np.vdot(array, array).real
    squares = array.real**2 + array.imag**2 if array.dtype.kind == "c" else array * array
    return squares.sum(axis=-1) if weights is None else (squares * weights.astype(squares.dtype)).sum(axis=-1)


@lru_cache(maxsize=256)
def _weights(
    metric: Metric, keys: Keys
) -> tuple[NDArray[np.int64] | None, NDArray[Any] | None, NDArray[np.float64] | None]:
    """Return where the blades with a square are (None: all), their squares inner(S, S), and the sizes of these.

    None for squares or sizes that are all 1.
    """
    signed: NDArray[Any] | None = None
    if metric.diagonal is None:
        spectral = float(np.abs(np.linalg.eigvalsh(metric.gram.astype(np.float64))).max())
        size = spectral ** keys.grade_of.astype(np.float64)
        live = np.arange(keys.size)
    else:
        signed = metric.weight(keys.masks)
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
