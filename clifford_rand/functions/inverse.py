"""The inverse of every invertible multivector: through A ~A where that is a scalar, through matrices, or exactly.

Null vectors: A = A₀ + N, A₀ without null vectors and N nilpotent, N^{r+1} = 0. From X₀ = A₀⁻¹ Newton's iteration
X ← X (2 - A X) is exact after ⌈log₂(r+1)⌉ steps, as 1 - A X is squared each time and has a null vector in every term.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import as_components, exact_quotient, from_components
from clifford_rand.basis.keys import dense_keys, union
from clifford_rand.errors import ArgumentError
from clifford_rand.functions.closed_inverse import closed_inverse, inverse_of_one
from clifford_rand.functions.matrix_forms import inverse_grades, is_closed, square_and_rest
from clifford_rand.functions.norms import norm_squared
from clifford_rand.functions.scaling import (
    as_inexact,
    eps_of,
    expand,
    is_exact,
    is_exact_zero,
    multiplied,
    power_of_two,
    safe_range,
    size_squared,
    times_power,
)
from clifford_rand.functions.unit_form import LARGEST_DENSE, unit_form, used_vectors
from clifford_rand.plans.representation import from_matrices, representation_of, to_matrices

PRODUCT_FROM = 128  # components from which A ~A costs more than the inverse through matrices of as many pairs or fewer
VERSOR = 64  # units of rounding, relative to the scalar, that the rest of A ~A may have: some rotors have 8


def inverse(A: MV, *, rtol: float | None = None) -> MV:
    """Return the inverse A⁻¹, A A⁻¹ = A⁻¹ A = 1, of any multivector that has one, in any metric.

    ~A / (A ~A) where that is a scalar (versors, blades); by involutions where at most five basis vectors occur
    (Hitzer and Sangwine 2017); otherwise, and where that is ill conditioned, through matrices. For fractions and
    symbols by the characteristic polynomial (Shirokov 2021, Theorem 3), without rounding. The result has the grades
    that can occur: the inverse of an even A is even, that of a vector a vector.

    Parameters
    ----------
    rtol : float, optional
        A is singular if 1/(|A| |A⁻¹|) ≤ ``rtol``, |A| the root of the sum of squared components in an
        orthonormal basis, blades with null vectors left out. By default 4 eps 2^⌈d/2⌉, less for versors.

    Raises
    ------
    ArgumentError
        If A is singular; the message holds the reciprocal condition number found.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> (2 * alg.e12).inv(), (1e-7 * alg.e1).inv().isclose(1e7 * alg.e1)
    (-0.5*e12, True)
    >>> (2 + alg.e1).inv().isclose((2 - alg.e1) / 3)
    True
    """
    if rtol is not None:
        rtol = check_tolerance(rtol, 0.0, "inv")
    if A.coefficients.ndim == 1 and A.coefficients.dtype.kind in "fc":
        X = inverse_of_one(A, rtol)
        if X is not None:
            return X
    if is_exact(A):
        return exact_inverse(A)
    if A.coefficients.dtype.kind == "i":
        return inverse(as_inexact(A), rtol=rtol)
    closed, done = closed_inverse(A) if rtol is None else (None, np.zeros(A.shape, dtype=bool))
    if closed is None or not done.any():
        return _in_general(A, rtol)
    if done.all():
        return closed
    flat = as_components(A.coefficients)
    left = np.flatnonzero(~done.reshape(-1))
    try:
        remaining = _in_general(A.new(A.keys, from_components(flat[:, left], (len(left),))), rtol)
    except ArgumentError:
        return _in_general(A, rtol)  # the error that names the place in the whole batch
    keys = union(closed.keys, remaining.keys)
    parts = as_components(closed.on_keys(keys).coefficients).copy()
    parts[:, left] = as_components(remaining.on_keys(keys).coefficients)
    return A.new(keys, from_components(parts, A.shape))


def _in_general(A: MV, rtol: float | None) -> MV:
    by_reverse = _by_reverse(A, rtol)
    return _by_matrices(A, rtol) if by_reverse is None else by_reverse


def singular(received: str, hint: str = "") -> Exception:
    """Return the error of a multivector without an inverse."""
    return fail("A", "inv", "invertible", describe(f"a multivector with {received}"), hint)


def _singular_to_rounding(rcond: NDArray[Any], bad: NDArray[np.bool_], rtol: float) -> Exception:
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    value = float(np.asarray(rcond)[where])
    place = f" at batch index {where if len(where) > 1 else where[0]}" if where else ""
    return singular(f"reciprocal condition number {value:.3g}{place}", f"It must be above rtol = {rtol:.3g}.")


# ---- A ~A is a scalar: versors, blades, vectors


def _by_reverse(A: MV, rtol: float | None) -> MV | None:
    """Return ~A / (A ~A) if A ~A is a scalar to rounding, else None."""
    keys, d = A.keys, A.algebra.d
    structural = keys.size == 1 or keys.grades == (1,) or keys.grades == (d - 1,)  # always versors
    used = used_vectors(keys).bit_count()
    if not structural and keys.size > PRODUCT_FROM and 2**used < keys.size**2 and used <= LARGEST_DENSE:
        return None
    reverse = A.reverse()
    exponent = None
    scalar, rest = _norm_and_rest(A, reverse, structural)
    low, high = safe_range(A.dtype)
    size = np.abs(scalar)
    if not np.all((size > low) & (size < high)):  # out of range, or zero: once more with the largest component near 1
        exponent = power_of_two(A.coefficients)
        A = multiplied(A, -exponent)
        reverse = A.reverse()
        scalar, rest = _norm_and_rest(A, reverse, structural)
        size = np.abs(scalar)
    eps = eps_of(A.dtype)
    total = size_squared(A)
    limit = 4 * eps * min(keys.size, 2 ** (d // 2)) if rtol is None else rtol
    null = ~(size > limit * total)
    versor = rest <= VERSOR * eps * size
    if np.all(versor & ~null):
        array = reverse.coefficients / scalar[..., None]
        return A.new(keys, array) if exponent is None else _in_range(A.new(keys, times_power(array, -exponent)))
    scalars = np.all((rest <= VERSOR * eps * total) & np.isfinite(total))
    if A.algebra.form.diagonal is not None and scalars and np.any(null):  # A ~A = 0: A is a divisor of zero
        raise _singular_to_rounding(size / np.where(total == 0, 1, total), null, limit)
    return None


def _norm_and_rest(A: MV, reverse: MV, structural: bool) -> tuple[Any, Any]:
    """Return the scalar part of A ~A and the largest other component, over the batch."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if structural:
            return np.asarray(norm_squared(A)), np.zeros(A.shape)
        if is_closed(A):
            return square_and_rest(A)[:2]
        product = A * reverse
        array = product.coefficients
        if not product.grades or product.grades[0]:
            return np.zeros(A.shape, dtype=A.dtype), np.abs(array).max(axis=-1, initial=0)
        return array[..., 0], np.abs(array[..., 1:]).max(axis=-1, initial=0)


# ---- the general inverse


def _by_matrices(A: MV, rtol: float | None) -> MV:
    if not np.isfinite(A.coefficients).all():
        raise fail("A", "inv", "finite", describe("NaN or infinite coefficients"))
    form = unit_form(A, "inv")
    small = form.take(A)
    d, null = small.algebra.d, form.null
    keys = dense_keys(d)
    dense = np.zeros((*A.shape, 1 << d), dtype=A.dtype)
    dense[..., small.keys.masks] = small.coefficients
    live = dense[..., :: 1 << null]  # the null vectors are the lowest bits
    if form.change is not None:  # where only null vectors occur, the rest is round-off of the change of basis
        least = VERSOR * eps_of(A.dtype) * np.abs(dense).max(axis=-1, keepdims=True)
        live = np.where(np.abs(live).max(axis=-1, keepdims=True) > least, live, 0)
    exponent = power_of_two(live)
    live = times_power(live, -exponent)
    limit = 4 * eps_of(A.dtype) * 2 ** ((d - null + 1) // 2) if rtol is None else rtol
    array = np.zeros_like(dense)
    array[..., :: 1 << null] = _inverse_of_live(live, form.signature[null:], limit)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        X = small.new(keys, array[..., keys.masks]).part(inverse_grades(small.keys, d))
        if null:
            scaled = multiplied(small, -exponent)
            for _ in range(null.bit_length()):  # = ⌈log₂(null + 1)⌉
                X = X * 2 - X * (scaled * X)  # not X * (2 - …): a product by a number keeps float32
            X = X.part(inverse_grades(small.keys, d))
        result = form.give(multiplied(X, -exponent), A)
    return _in_range(result)


def _in_range(inverse: MV) -> MV:
    if not np.isfinite(inverse.coefficients).all():
        raise singular("an inverse beyond the range of its dtype")
    return inverse


@ONE_BLAS_THREAD
def _inverse_of_live(live: NDArray[Any], signature: tuple[int, ...], limit: float) -> NDArray[Any]:
    """Return the inverses of (..., 2^d) coefficients in the order of the masks, by their matrices."""
    tables = representation_of(signature)
    flat = live.reshape(-1, live.shape[-1])
    result = np.empty_like(flat)
    rest = np.empty(len(flat), dtype=flat.real.dtype)
    step = max(1, 2**20 >> len(signature))  # samples whose matrices stay below a hundred megabytes
    for start in range(0, len(flat), step):
        part = slice(start, start + step)
        M = to_matrices(flat[part], tables)
        try:
            values = from_matrices(np.linalg.inv(M), tables)
        except np.linalg.LinAlgError:  # a pivot is exactly zero in at least one of the matrices: name the element
            values = np.stack([_or_infinite(block, tables) for block in M])
        rest[part] = _size(values)  # with the imaginary part, which may be all there is of a singular matrix's inverse
        result[part] = values if live.dtype.kind == "c" else values.real
    size = _size(flat)
    with np.errstate(invalid="ignore", over="ignore"):
        rcond = np.where(np.isfinite(rest), 1 / np.where(size * rest == 0, np.inf, size * rest), 0.0)
    bad = ~(rcond > limit)
    if bad.any():
        raise _singular_to_rounding(rcond.reshape(live.shape[:-1]), bad.reshape(live.shape[:-1]), limit)
    return result.reshape(live.shape)


def _size(values: NDArray[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((values.real**2 + values.imag**2).sum(axis=-1)))


def _or_infinite(M: NDArray[Any], tables: Any) -> NDArray[Any]:
    """Return the coefficients of the inverse, infinite where the matrix has none."""
    try:
        return from_matrices(np.linalg.inv(M), tables)
    except np.linalg.LinAlgError:
        return np.full(1 << tables.d, np.inf, dtype=M.dtype)


def exact_inverse(A: MV) -> MV:
    """Return ~A / (A ~A) where A ~A is exactly a scalar, adj(A) / det(A) otherwise."""
    A = A.new(A.keys, A.coefficients.astype(object))
    reverse = A.reverse()
    product = expand(A * reverse)
    rest = product.part(tuple(k for k in product.grades if k))
    if all(is_exact_zero(value) for value in rest.coefficients.ravel().tolist()):
        return _over(reverse, product["1"])
    determinant, adjugate = determinant_and_adjugate(A)
    return _over(adjugate.part(inverse_grades(A.keys, A.algebra.d)), determinant)


def determinant_and_adjugate(A: MV) -> tuple[Any, MV]:
    """Return (det A, adj A) with A adj A = det A, in any metric.

    With N = 2^⌈d/2⌉: U_1 = A, C_k = (N/k) ⟨U_k⟩_0, U_{k+1} = A (U_k - C_k); det A = -C_N and adj A = C_{N-1} - U_{N-1}
    (D. Shirokov, "On computing the determinant, other characteristic polynomial coefficients, and inverse in Clifford
    algebras of arbitrary dimension", Computational and Applied Mathematics 40, 2021, Theorem 3). Only the basis
    vectors that occur in A count for d.
    """
    n = 2 ** ((max(used_vectors(A.keys).bit_count(), 1) + 1) // 2)
    U = A
    for k in range(1, n):
        before = U - np.asarray(Fraction(n, k) * np.asarray(U["1"], dtype=object), dtype=object)
        U = expand(A * before)
    return -U["1"] if not A.ndim else -np.asarray(U["1"]), -before


def _over(A: MV, divisor: Any) -> MV:
    """Return A / divisor, fractions of integers, an error where the divisor is zero."""
    values: NDArray[Any] = np.asarray(divisor, dtype=object)
    if any(is_exact_zero(value) for value in values.ravel().tolist()):
        raise singular("determinant 0")
    return A.new(A.keys, exact_quotient(A.coefficients, values[..., None]))
