"""Versors: tests, and the sandwich R X R⁻¹ by two products, or by one matrix for a whole batch."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail, one_batch
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import ROUNDING
from clifford_rand.basis.keys import Keys, check_size, keys_of_grades
from clifford_rand.functions.matrix_forms import (
    CLOSED_FROM,
    is_closed,
    moved_vectors,
    scalar_and_matrix,
    square_and_rest,
    upper,
)
from clifford_rand.functions.scaling import (
    as_inexact,
    blade_weights,
    cancels,
    expand,
    is_exact,
    quotient,
    relative,
    scaled,
)
from clifford_rand.plans.linear import ALWAYS, sandwich_plan

RTOL = 1e-9  # default tolerance of is_versor
LARGEST_MATRIX = 1024  # blades of one grade beyond which R X R⁻¹ is two products whatever the batch
PROBED_FROM = 8  # dimensions from which two vectors stand for the basis: it costs as many products as there are


def inspect_versor(U: Any, rtol: float, *, twisted: bool = False) -> tuple[NDArray[Any], Any, NDArray[np.bool_]]:
    """Return (n, rest, accepted): n = ⟨U ~U⟩_0, rest = U ~U / n where that is not 1 to rounding (else None).

    ``accepted`` tells which elements of the batch are invertible with U x U⁻¹ a vector for every vector x. R x ~R is
    its own reverse; for R even or odd it has grades 1, 5, 9, …, and for d ≤ 5 the part of grade 5 vanishes too, since
    ⟨R x ~R⟩_5 = ⟨~R R x⟩_5. Neither do vectors and R = s + B need more: R ~R scalar means B ∧ B = 0. All others need
    the images of the basis. ``twisted`` asks for even or odd elements as well. In many dimensions s + B has no
    ``rest``, as a small B ∧ B changes the images of vectors in the second order only.
    """
    keys = U.keys
    if is_closed(U):  # s + B in many dimensions: U ~U = s² - B² and the part of B ∧ B, without a product table
        norm, excess, size = square_and_rest(U)
        eps = float(np.finfo(U.coefficients.dtype).eps)
        accepted = np.abs(norm) > ROUNDING * eps * size
        return norm, None, np.asarray(accepted & (excess <= relative(U.coefficients.dtype, rtol) * size))
    weights = blade_weights(U.algebra.form, keys)
    weighted = U.coefficients if weights is None else U.coefficients * weights
    size = np.square(np.abs(weighted)).sum(axis=-1)
    eps = float(np.finfo(U.coefficients.dtype).eps)
    limit = relative(U.coefficients.dtype, rtol)
    square = U * ~U  # of a versor ∏ a_i², a number
    place = square.keys.find(0)
    norm = square.coefficients[..., place] if place >= 0 else np.zeros(U.shape, dtype=U.coefficients.dtype)
    accepted = np.asarray(np.abs(norm) > ROUNDING * eps * size)  # not null: beyond the rounding of the sum of squares
    rest = None
    if square.keys.size > (place >= 0):
        excess_terms = square.coefficients * (np.arange(square.keys.size) != place)
        if weights is not None:
            excess_terms = excess_terms * blade_weights(U.algebra.form, square.keys)
        excess = np.abs(excess_terms).max(axis=-1)  # grades above 0 of U ~U
        accepted &= excess <= limit * size
        if accepted.all() and (excess > ROUNDING * eps * size).any():
            rest = square.new(square.keys, square.coefficients / norm[..., None])
    odd = {k % 2 for k in keys.grades}
    if twisted and len(odd) == 2:
        # a versor is even or odd: the smaller part is rounding
        parts = [np.abs(weighted[..., keys.grade_of % 2 == parity]).max(axis=-1, initial=0) for parity in (0, 1)]
        accepted &= np.minimum(*parts) <= limit * np.maximum(*parts)
    simple = U.algebra.d <= ALWAYS or max(keys.grades, default=0) <= 2  # no images of the basis needed, see above
    if (not simple or len(odd) == 2) and accepted.any():
        accepted &= _keeps_vectors(U, limit, size)
    return norm, rest, np.asarray(accepted)


def _keeps_vectors(U: Any, limit: float, size: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell whether U x ~U is a vector for all x, to ``limit`` relative to |U|².

    From d = 8 on by two vectors instead of the whole basis: x ↦ ⟨U x ~U⟩ without its vector part is linear, and has
    both in its kernel only if it is zero, as no map that one meets knows the squares of the integers.
    """
    metric = U.algebra.form
    keys = keys_of_grades(metric.d, (1,))
    vectors = np.eye(metric.d, dtype=U.coefficients.dtype)
    if metric.d >= PROBED_FROM:
        angle = np.arange(1.0, metric.d + 1) ** 2
        # two vectors with incommensurable components
        vectors = np.stack([np.cos(angle), np.sin(angle)]).astype(U.coefficients.dtype)
    basis = U.new(keys, vectors)
    weights = blade_weights(metric, keys)
    basis = basis if weights is None else basis.new(keys, basis.coefficients / weights)
    element = U[..., None] if U.ndim else U
    images = (element * basis) * ~element  # U x ~U, whose parts other than of grade 1 have to vanish
    out = blade_weights(metric, images.keys)
    outside = images.coefficients if out is None else images.coefficients * out
    outside = outside[..., images.keys.grade_of != 1]
    close: NDArray[np.bool_] = np.asarray(np.abs(outside).max(axis=(-1, -2), initial=0) <= limit * size)
    return close


def is_versor(A: MV, *, rtol: float = RTOL) -> Any:
    """Tell whether A is a product of invertible vectors: a bool, or an array of them over the batch.

    It is where A is even or odd, invertible, and A x A⁻¹ a vector for all vectors x.

    Parameters
    ----------
    rtol : float, default=1e-9
        Relative to the sum of the squares of the components; at least 256 eps of the dtype.

    Examples
    --------
    >>> alg = cr.Algebra(4)
    >>> (1 + alg.e12).is_versor(), (1 + alg.e1).is_versor(), (1 + alg.e1234).is_versor()
    (True, False, False)
    """
    rtol = check_tolerance(rtol, RTOL, "is_versor")
    if is_exact(A):
        return _is_exact_versor(A)
    if not A.keys.size:
        return np.zeros(A.shape, dtype=bool) if A.ndim else False
    accepted = inspect_versor(scaled(A, "is_versor"), rtol, twisted=True)[2]
    return bool(accepted) if accepted.ndim == 0 else accepted


def _vanishes(X: Any, places: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell whether exact coefficients are zero at these places."""
    return np.asarray(~np.asarray(expand(X).coefficients[..., places] != 0, dtype=bool).any(axis=-1))


def _is_exact_versor(A: Any) -> Any:
    A = expand(A)
    square = expand(A * ~A)  # A ~A is a number other than zero
    accepted = _vanishes(square, square.keys.grade_of > 0) & np.asarray(np.asarray(square["1"]) != 0, dtype=bool)
    accepted &= _vanishes(A, A.keys.grade_of % 2 == 0) | _vanishes(A, A.keys.grade_of % 2 == 1)  # and A even or odd
    for i in range(A.algebra.d):
        image = (A * A.new(keys_of_grades(A.algebra.d, (1,)), np.eye(A.algebra.d, dtype=np.int64)[i])) * ~A
        accepted &= _vanishes(image, image.keys.grade_of != 1)
    return bool(accepted) if accepted.ndim == 0 else accepted


@one_batch
def sandwich(R: MV, X: Any, /) -> MV:
    """Return R X R⁻¹ (``R >> X``), R this multivector.

    The length of R does not count. A versor R keeps the grades of X; any other R gives all that arise. The sign is
    literally that of R X R⁻¹: a vector n takes x to n x n⁻¹, minus the reflection of x in the hyperplane orthogonal
    to n. The reflection is n x̂ n⁻¹, ``n >> x.involute()``, or ``x.reflect(n)``.

    Parameters
    ----------
    X : Multivector, scalar or array of scalars
        Batch axes broadcast. A large batch with one R is one matrix product, of the matrix of the map and all of X.

    Notes
    -----
    Cost. A versor in at most five dimensions is a quadratic form, R X ~R / ⟨R ~R⟩_0, no dearer than R * X * ~R. Any
    other R takes its inverse and two products, some ten times as long for one multivector. The first large batch of
    pairs compiles a kernel, two seconds once a machine and dtype; `cr.fused` makes a chain of sandwiches one kernel.

    Raises
    ------
    ArgumentError
        If R has no inverse.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> (1 + alg.e12) >> alg.e1
    -e2
    >>> alg.e1 >> alg.e1, alg.e1 >> alg.e2
    (e1, -e2)
    """
    X = R.operand(X, "sandwich")
    if X.__class__ is not R.__class__:  # a tensor
        return X.coerce(R).sandwich(X)
    r, x = R.coefficients, X.coefficients
    if r.dtype.kind == "f" and (x.dtype is r.dtype or x.dtype.kind == "i"):
        # one quadratic form in R, without an inverse, where that keeps the digits
        plan = None if cancels(R) else sandwich_plan(R.algebra.form, R.keys, X.keys)
        moved = None if plan is None else plan(r, x.astype(r.dtype, copy=False))
        if moved is not None:
            return R.new(X.keys, moved)
    if is_exact(R, X):
        return _exact(R, X)
    U = scaled(R, "sandwich")
    X = as_inexact(X)
    inverse = _versor_inverse(U)  # ~U / ⟨U ~U⟩_0 of a versor
    keeps = inverse is not None
    if keeps and _is_closed(U) and set(X.keys.grades) <= ({1} if U.keys.grades == (1,) else {0, 1, 2}):
        return _closed(U, inverse, X)
    if not keeps:
        inverse = U.inv()  # any other multivector: the product then has more grades
    count = X.coefficients[..., 0].size if X.keys.size else 0
    # one map for many X: its matrix pays
    many = count > 1 and X.ndim > 0 and (R.ndim == 0 or R.shape[-1] == 1 or R.coefficients[..., 0].size == 1)
    if many:
        filled = X.keys.filled if X.keys.filled.size <= 4 * X.keys.size else X.keys
        per_map = count // max(1, R.coefficients[..., 0].size)
        widest = max((filled.slices[k].stop - filled.slices[k].start for k in filled.grades), default=0)
        if filled.complete and per_map > 2 * widest and widest <= LARGEST_MATRIX and (keeps or filled.size <= 256):
            return _by_matrix(U, X.on_keys(filled), inverse, keeps)
    product = (U * X) * inverse
    return product.part(X.keys.grades) if keeps else product


def _is_closed(U: Any) -> bool:
    """Tell whether U is a vector or s + B in a dimension high enough for `_closed`."""
    return is_closed(U) or (U.algebra.d > CLOSED_FROM and U.keys.grades == (1,))


def _closed(U: Any, inverse: Any, X: Any) -> Any:
    """Return U X U⁻¹: n x n⁻¹ = 2 (n·x) n⁻¹ - x, and of s + B grade by grade, 1 ↦ 1, x ↦ M x, Y ↦ M Y Mᵀ."""
    if U.keys.grades == (1,):
        return (2 * U.inner(X)) * inverse - X  # n x n⁻¹ = 2 (n·x) n⁻¹ - x
    keys = X.keys.filled
    values, shape = X.on_keys(keys).coefficients, np.broadcast_shapes(U.shape, X.shape)
    parts = []
    for k in keys.grades:
        part = values[..., keys.slices[k]]
        if k == 1:
            part = moved_vectors(U, inverse, part)  # x ↦ M x
        elif k == 2:
            rows = moved_vectors(U, inverse, scalar_and_matrix(X.grade(2))[1], rows=True)
            part = -upper(moved_vectors(U, inverse, np.swapaxes(rows, -1, -2), rows=True))  # M (Y Mᵀ)ᵀ = -M Y Mᵀ
        parts.append(np.broadcast_to(part, (*shape, part.shape[-1])))
    return X.new(keys, np.concatenate(parts, axis=-1))


def _versor_inverse(U: Any) -> Any:
    """Return U⁻¹ for a versor whose largest coefficient is near 1, None for anything else."""
    norm, rest, accepted = inspect_versor(U, RTOL)
    if not accepted.all():
        return None
    reverse = ~U
    inverse = reverse.new(reverse.keys, reverse.coefficients / norm[..., None])
    if rest is None:
        return inverse
    return inverse * (2 - rest)  # U ~U = n (1 + ρ), ρ small: (1 + ρ)⁻¹ = 1 - ρ + O(ρ²), and rest = 1 + ρ


def _images(U: Any, keys: Keys, inverse: Any, dtype: np.dtype) -> Any:
    """Return U e_S U⁻¹ for all S of ``keys``: a batch (..., keys.size)."""
    basis = U.new(keys, np.eye(keys.size, dtype=dtype))
    if U.ndim:
        U, inverse = U[..., None], inverse[..., None]
    return (U * basis) * inverse


def _vector_images(U: Any, inverse: Any) -> Any:
    """Return the vectors U e_i U⁻¹ of a versor: a batch (..., d)."""
    keys, dtype = keys_of_grades(U.algebra.d, (1,)), U.coefficients.dtype
    if not _is_closed(U):
        return _images(U, keys, inverse, dtype).grade(1)
    if U.keys.grades == (1,):
        basis = U.new(keys, np.eye(keys.size, dtype=dtype))
        return _closed(U[..., None], inverse[..., None], basis) if U.ndim else _closed(U, inverse, basis)
    return U.new(keys, moved_vectors(U, inverse, np.eye(keys.size, dtype=dtype), rows=True))


def _by_matrix(U: Any, X: Any, inverse: Any, keeps: bool) -> Any:
    """Apply the matrix of the map to every X: one for each grade if grades are kept."""
    d, dtype = X.algebra.d, np.result_type(U.coefficients, X.coefficients)
    values = X.coefficients.astype(dtype, copy=False)
    single = U.coefficients[..., 0].size == 1
    shape = np.broadcast_shapes(U.shape, X.shape)
    if single:
        U, inverse = (A.new(A.keys, A.coefficients.reshape(-1)) for A in (U, inverse))
        values = np.broadcast_to(values, (*shape, X.keys.size)).reshape(-1, X.keys.size)
    else:
        U, inverse = U[..., 0], inverse[..., 0]
    if not keeps:
        images = _images(U, X.keys, inverse, dtype)
        return X.new(images.keys, (values @ images.coefficients).reshape(*shape, images.keys.size))
    parts = []
    for k in X.keys.grades:
        keys = keys_of_grades(d, (k,))
        # row S: the image of e_S
        matrix = _images(U, keys, inverse, dtype).grade(k).on_keys(keys).coefficients.astype(dtype, copy=False)
        if len(X.keys.grades) == 1:
            return X.new(keys, (values @ matrix).reshape(*shape, keys.size))
        parts.append(values[..., X.keys.slices[k]] @ matrix)
    return X.new(X.keys, np.concatenate(parts, axis=-1).reshape(*shape, X.keys.size))


def _exact(R: Any, X: Any) -> Any:
    """Return R X R⁻¹ of fractions or symbols; R X ~R is divided last, so that zeros are found before."""
    square = expand(R * ~R)
    if _vanishes(square, square.keys.grade_of > 0).all():
        norm = np.asarray(square["1"], dtype=object)
        if np.asarray(norm == 0, dtype=bool).any():
            raise fail("R", "sandwich", "invertible", describe("a null versor: R ~R = 0"))
        product = expand((R * X) * ~R)
        product = product.new(product.keys, quotient(product.coefficients, norm[..., None]))
    else:
        product = expand((R * X) * R.inv())
    outside = ~np.isin(product.keys.grade_of, X.keys.grades)
    if np.asarray(product.coefficients[..., outside] != 0, dtype=bool).any():
        return product
    return product.part(tuple(k for k in product.keys.grades if k in X.keys.grades))


def vector_matrix(R: MV) -> NDArray[Any]:
    """Return the (..., d, d) matrix of x ↦ R x R⁻¹ on the components of vectors, R this versor.

    Column i has the components of R e_i R⁻¹; Mᵀ G M = G.

    Raises
    ------
    ArgumentError
        If R is not a versor.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> (1 + alg.e12).vector_matrix()
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    if not R.algebra.d:
        return np.zeros((*R.shape, 0, 0))
    keys = keys_of_grades(R.algebra.d, (1,))
    check_size(keys.size**2 * max(1, math.prod(R.shape)), "vector_matrix", "the matrix")
    if is_exact(R):
        basis = R.new(keys, np.eye(keys.size, dtype=np.int64))
        square = R * ~R
        is_number = _vanishes(square, square.keys.grade_of > 0).all()
        images = _exact(R[..., None] if R.ndim else R, basis) if is_number else None
        if images is not None and set(images.keys.grades) - {1}:
            images = None
    else:
        U = scaled(R, "vector_matrix")
        inverse = _versor_inverse(U)
        images = None if inverse is None else _vector_images(U, inverse)
    if images is None:
        hint = "Use left_matrix and right_matrix for other products."
        raise fail("R", "vector_matrix", "a versor, so that R x R⁻¹ is a vector", describe("another multivector"), hint)
    return np.swapaxes(images.on_keys(keys).coefficients.copy(), -1, -2)
