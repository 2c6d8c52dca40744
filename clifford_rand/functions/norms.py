"""Norms by the inner product ⟨A ~A⟩_0, safe at every scale, and multivectors divided by them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import as_components, from_components
from clifford_rand.basis.keys import Keys, keys_of_grades
from clifford_rand.basis.metric import Metric
from clifford_rand.compiler.loops import RowFunction, Rows, total
from clifford_rand.compiler.scalar import Trace, TracedScalar
from clifford_rand.functions.scaling import (
    as_inexact,
    eps_of,
    expanded,
    is_exact,
    multiplied,
    power_of_two,
    safe_range,
    size_squared,
    weights_of,
)
from clifford_rand.functions.study import inverse_root
from clifford_rand.plans.cost_model import made_once

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
    >>> float(cr.Algebra(3)("3.0*e1 + 4.0*e23").norm_squared()), int(cr.Algebra(1, 1).e2.norm_squared())
    (25.0, -1)
    """
    metric, array = A.algebra.form, A.coefficients
    if metric.diagonal is None or array.dtype.kind == "i" or is_exact(A):
        return A.inner(A).coefficients[..., 0][()]
    # Σ_S w_S a_S², each square rounded by itself: 0.1 e1 + 0.1 e2 in Cl(1, 1) has exactly 0 so, no fused additions
    live, signed, _ = weights_of(metric, A.keys)
    if live is not None:
        # blades with a null vector have no square
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
    >>> alg = cr.Algebra(3)
    >>> float(alg("3*e1 + 4*e23").norm()), float((1e200 * alg.e12).norm())
    (5.0, 1e+200)
    """
    array = A.coefficients
    if array.dtype.kind == "f":
        if array.ndim > 1:
            size = _by_code(A, "norm")
            if size is not None:
                return size.reshape(A.shape)
        sums = _sums(A) if array.ndim == 1 else None
        if sums is not None:
            return np.sqrt(sums[0])
    if is_exact(A):
        from clifford_rand.symbolic.closed_forms import square_root

        root = np.frompyfunc(lambda value: square_root(abs(expanded(value))), 1, 1)
        return root(norm_squared(A))
    A = as_inexact(A)
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(norm_squared(A))
    low, high = safe_range(A.dtype)
    if np.all((size > low) & (size < high)):
        return np.sqrt(size)
    size, exponent = _scaled_square(A)
    with np.errstate(over="ignore"):
        return np.ldexp(np.sqrt(np.abs(size)), exponent)[()]


def normalized(A: MV, *, rtol: float | None = None) -> MV:
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
    >>> cr.Algebra(3)("3*e1 + 4*e2").normalized()
    0.6*e1 + 0.8*e2
    >>> M = cr.Algebra.pga(3)("2 + e12 + e03 + 0.1*e0123").normalized()
    >>> (M * ~M).isclose(1, atol=1e-15)
    True
    """
    # A / norm(A) first: s is near 1 or -1 then
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
    odd = square.part(tuple(k for k in square.grades if k % 4 == 1))  # none of even and odd A, whatever blades A holds
    far &= (np.abs(odd.coefficients) <= limit[..., None]).all(axis=-1)
    far &= (rest <= 4 * limit) & (s * s - t > 4 * limit * np.abs(s))
    x, y = inverse_root(np, np.where(far, s, 1.0), np.where(far, t, 0.0))  # 1 where A is left as it is
    result = (q.new(q.keys, q.coefficients * np.where(far, y, 0.0)[..., None]) + x) * A
    parts = {k: np.abs(result.grade(k).values).max(initial=0) for k in result.grades}
    return result.part(tuple(k for k in result.grades if k in A.grades or parts[k] > limit.max()))


def _divided(A: MV, rtol: float | None) -> MV:
    """Return A / norm(A)."""
    array = A.coefficients
    if rtol is not None:
        rtol = check_tolerance(rtol, 0.0, "normalized")
    if array.dtype.kind == "f" and rtol is None:
        if array.ndim > 1:
            rows = _by_code(A, "normalized")
            if rows is not None:
                return A.new(A.keys, from_components(rows, A.shape))
        sums = _sums(A) if array.ndim == 1 else None
        if sums is not None and sums[0] > 16 * eps_of(array.dtype) * sums[1]:
            return A.new(A.keys, array / np.sqrt(sums[0]))
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
    """Return the norms (1, N), or the rows divided by them, None where there is none or its conditions fail."""
    metric, array = A.algebra.form, A.coefficients
    key = (name, A.keys, array.dtype)
    code = made_once(metric, key, _code_of, metric, A.keys, array.dtype, name != "norm")
    return None if code is None or not array.size else code.all(as_components(array))


def _code_of(metric: Metric, keys: Keys, dtype: np.dtype, divided: bool) -> RowFunction | None:
    squares = _squares(metric, keys, dtype)
    return None if squares is None or not squares.any() else function_of_rows(squares.tolist(), divided)


def function_of_rows(squares: list[Any], divided: bool) -> RowFunction:
    """Return √|Σ w a²| of rows, or the rows divided by it; it holds where no sum is out of range, nor round-off."""

    def write(trace: Trace, rows: Rows) -> list[TracedScalar]:
        squared = [a * a for a in rows]
        low, high = safe_range(trace.precision)
        # Σ a² bounds the rounding of |Σ w a²|
        terms = total(trace, squared)
        size = abs(total(trace, [a * w for a, w in zip(squared, squares, strict=True)]))
        trace.require(size > low)
        trace.require(terms <= high)
        if not divided:
            return [size.sqrt()]
        trace.require(size > terms * (16 * eps_of(trace.precision)))
        factor = 1.0 / size.sqrt()
        return [row * factor for row in rows]

    return RowFunction(write, len(squares))


def _sums(A: MV) -> tuple[Any, Any] | None:
    """Return |Σ w a²| and Σ a² of one A; None where one is out of range, and for other metrics."""
    array = A.coefficients
    squares = _squares(A.algebra.form, A.keys, array.dtype)
    if squares is None:
        return None
    low, high = safe_range(array.dtype)
    if len(array) <= FEW:
        size = math.hypot(*array.tolist())  # before anything can overflow, and sooner than to hide its warning
        terms = size * size
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            terms = array.dot(array)
    if not terms < high:
        return None
    number = abs((array * array).dot(squares))
    return (number, terms) if number > low else None


def _squares(metric: Metric, keys: Keys, dtype: np.dtype) -> NDArray[Any] | None:
    """Return inner(S, S) of every blade S; None unless the metric has 1, -1 and 0 alone."""
    if not metric.is_unit:
        return None
    weights: NDArray[Any] = made_once(metric, ("squares", keys, dtype), lambda: metric.weight(keys.masks).astype(dtype))
    return weights


def _null(ratio: float, limit: str) -> Exception:
    received = f"|⟨A ~A⟩_0| = {ratio:.3g} of the sum of its absolute terms, which is not above {limit}"
    return fail(
        "A", "normalized", "of non-zero norm", describe(received), "Null blades and zero have no unit multiple."
    )


def _scaled_square(A: MV) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return ⟨A ~A⟩_0 / 4^n and n, per batch element, for n such that no term over- or underflows that counts."""
    live, _, _ = weights_of(A.algebra.form, A.keys)
    exponent = power_of_two(A.coefficients if live is None else A.coefficients[..., live])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # in null blades, which do not enter
        return np.asarray(norm_squared(multiplied(A, -exponent))), exponent
