"""Blades as wedges of orthonormal vectors, versors as products of unit vectors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import ROUNDING
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.scaling import (
    as_inexact,
    blade_weights,
    expand,
    homogeneous,
    is_exact,
    quotient,
    relative,
    unit_scale,
)
from clifford_rand.geometry.subspaces import (
    contraction_matrix,
    gather,
    is_blade,
    live_vectors,
    scatter_keys,
    span_of,
    wedge_rows,
)
from clifford_rand.geometry.versors import RTOL, is_versor

ISOTROPIC = 1e-6  # squares of unit directions below this are too near to null to divide by


def factorize_blade(A: MV, *, rtol: float = 1e-9) -> tuple[Any, list[MV]]:
    """Return (s, [a_1, …, a_k]) with A = s a_1 ∧ ⋯ ∧ a_k, s ≥ 0 and a_1, …, a_k orthonormal in coordinates.

    No metric is used, so null blades have factors too. Fractions and symbols: s is the first coefficient of A that
    is not zero, and the vectors are in reduced echelon form.

    Raises
    ------
    ArgumentError
        If A is not a blade (to ``rtol``).

    Examples
    --------
    >>> alg = cr.Algebra(4)
    >>> A = alg("3*e12 + 4*e13")
    >>> s, (a, b) = A.factorize_blade()
    >>> (s * (a ^ b)).isclose(A), round(float(s), 12)
    (True, 5.0)
    """
    d, rtol = A.algebra.d, check_tolerance(rtol, 1e-9, "factorize_blade")
    k, part = homogeneous(A, "A", "factorize_blade", rtol)
    if part.coefficients.dtype == object:
        return _factorize_exactly(part.on_keys(part.keys.filled), k)
    live = live_vectors(part)
    # only the basis vectors that occur
    values, scale = unit_scale(gather(as_inexact(part), k, live), "factorize_blade")
    if k == 0:
        return (values * scale)[..., 0][()], []
    rows, rest = span_of(values, len(live), k)
    if (rest > relative(values.dtype, rtol)).any():
        rule = "a blade, a wedge of vectors"
        raise fail("A", "factorize_blade", rule, describe(f"a multivector of grade {k} that is none"))
    size = (wedge_rows(rows).conj() * values).sum(axis=-1)  # A = size · r_1 ∧ … ∧ r_k
    length = np.abs(size)
    phase = np.where(length > 0, size, 1) / np.where(length > 0, length, 1)
    rows = rows.copy()
    rows[..., 0, :] *= phase[..., None]  # s ≥ 0: the sign goes to the first vector
    return (length * scale[..., 0])[()], [A.new(scatter_keys(d, (1,), live), rows[..., i, :].copy()) for i in range(k)]


def _factorize_exactly(A: Any, k: int) -> tuple[Any, list[Any]]:
    """Return (A_S, rows) of the reduced echelon form of an exact blade, S the first with A_S ≠ 0.

    a_i = (e_{S without i} ⌋ A) / A_S has components 1 on e_i and 0 on the other vectors of e_S.
    """
    A = expand(A)
    if not np.all(is_blade(A)):
        raise fail("A", "factorize_blade", "a blade, a wedge of vectors, other than zero", describe(f"{A!r}"))
    if k == 0:
        return A["1"], []
    d = A.algebra.d
    held = np.asarray(A.coefficients != 0, dtype=bool).reshape(-1, A.keys.size).all(axis=0)
    if not held.any():
        rule = "a batch with one blade that all elements have"
        raise fail("A", "factorize_blade", rule, describe("no such blade"), "Factorize the elements one by one.")
    place = int(np.argmax(held))
    pivot = int(A.keys.masks[place])  # S, a blade on which no element vanishes
    size = A.coefficients[..., place]
    keys = keys_of_grades(d, (k - 1,))
    matrix = contraction_matrix(A.coefficients, d, k)  # rows e_T ⌋ A
    vectors = []
    for i in (i for i in range(d) if pivot >> i & 1):
        row = matrix[..., keys.find(pivot ^ 1 << i), :]  # e_{S without i} ⌋ A
        sign = -1 if (pivot >> (i + 1)).bit_count() % 2 else 1
        vectors.append(A.algebra.vector(quotient(row * sign, np.asarray(size, dtype=object)[..., None])))
    return size, vectors


def factorize_versor(A: MV, *, rtol: float = 1e-12) -> tuple[Any, list[MV]]:
    """Return (s, [a_1, …, a_k]) with A = s a_1 a_2 ⋯ a_k and a_i² = ±1 (1 for complex coefficients).

    Parameters
    ----------
    rtol : float, default=1e-12
        Parts of A below this, relative to the largest component, count as rounding noise.

    Raises
    ------
    ArgumentError
        If A is not a versor.

    Notes
    -----
    Dividing by a vector of the part of highest grade, a blade, lowers that grade (Fontijne, thesis, Amsterdam 2007,
    section 5.5): k is that grade, or more where all vectors of a part of highest grade are null.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> R = 3 + 4 * alg.e12
    >>> s, (a, b) = R.factorize_versor()
    >>> (s * a * b).isclose(R), round(float(s), 12)
    (True, 5.0)
    """
    if is_exact(A):
        raise fail("A", "factorize_versor", "numeric", describe("fractions or symbols"), "Convert with astype(float).")
    rtol = check_tolerance(rtol, 1e-12, "factorize_versor")
    if not np.all(is_versor(A, rtol=max(RTOL, rtol))):
        raise _no_versor(A)
    A = as_inexact(A)
    values, scale = unit_scale(A.coefficients, "factorize_versor")
    precise = values.dtype in (np.float64, np.complex128)
    limit = relative(values.dtype, rtol if precise else 0.0)
    directions = _Directions(A.algebra, values.dtype)
    left = A.new(A.keys, values)
    factors: list[Any] = []
    avoid = None
    while (k := _top_grade(A, left, limit)) > 1:  # A = left · a_j ⋯ a_1, the grade of left falls by one in each step
        Q = directions.span(left, k, avoid)
        a, square = directions.farthest_from_null(Q)  # dividing by a keeps the digits where |a²| is large
        outside = avoid is None and bool((np.abs(square) < ISOTROPIC).any())
        if outside:
            a, square = directions.partner(Q)  # all vectors of the part are null: one from outside
        avoid = a if outside else None
        vector = directions.vector(a)
        left = left * _unit(vector, square, inverse=True)  # left a⁻¹
        # grades above are rounding noise
        left = left.part(tuple(g for g in left.keys.grades if g <= (k + 1 if outside else k - 1)))
        factors.append(_unit(vector, square))
        if len(factors) > 3 * A.algebra.d:  # a vector from outside costs three factors for one grade
            raise _no_versor(A)
    if k == 1:
        vector = left.grade(1).on_keys(keys_of_grades(A.algebra.d, (1,)))
        square = vector.inner(vector).coefficients[..., 0]
        if (square == 0).any():
            raise _no_versor(A)
        factors.append(_unit(vector, square))
        # s, the length of what is left
        number = np.sqrt(square if square.dtype.kind == "c" else np.abs(square))
    else:
        number = np.asarray(left["1"])
    return (number * scale[..., 0])[()], factors[::-1]


def _no_versor(A: Any) -> Exception:
    return fail("A", "factorize_versor", "a versor, a product of invertible vectors", describe(f"{A!r}"))


def _unit(a: Any, square: NDArray[Any], *, inverse: bool = False) -> Any:
    """Return a/√|a²|, with square ±1 (1 for complex numbers), or its inverse."""
    root = np.sqrt(square if square.dtype.kind == "c" else np.abs(square))
    if inverse and square.dtype.kind != "c":
        root = root * np.sign(square)
    return a.new(a.keys, a.coefficients / root[..., None])


def _top_grade(A: Any, left: Any, limit: float) -> int:
    """Return the highest grade that is not rounding noise, which has to be the same throughout the batch."""
    weights = blade_weights(left.algebra.form, left.keys)
    weighted = np.abs(left.coefficients if weights is None else left.coefficients * weights)
    size = {k: weighted[..., left.keys.slices[k]].max(axis=-1, initial=0) for k in left.keys.grades}
    largest = weighted.max(axis=-1, initial=0)
    for k in sorted(size, reverse=True):
        held = size[k] > limit * largest
        if held.all():
            return int(k)
        if held.any():
            rule = "a batch of versors with the same highest grade"
            raise fail("A", "factorize_versor", rule, describe(f"{A!r}"), "Factorize the elements one by one.")
    return 0


class _Directions:
    """The choice of a direction, in the coordinates of e_i / √g_i, whose Gram matrix has entries of at most 1."""

    def __init__(self, algebra: Any, dtype: np.dtype) -> None:
        self.algebra = algebra
        self.keys = keys_of_grades(algebra.d, (1,))
        weights = blade_weights(algebra.form, self.keys)
        self.weights = np.ones(algebra.d, dtype=dtype) if weights is None else weights.astype(dtype)
        self.gram = np.asarray(algebra.form.gram).astype(dtype) / (self.weights[:, None] * self.weights)

    def vector(self, a: NDArray[Any]) -> Any:
        """Return the multivector of components (..., d) in the scaled basis."""
        return self.algebra.vector(a / self.weights)

    def span(self, left: Any, k: int, avoid: NDArray[Any] | None) -> NDArray[Any]:
        """Return orthonormal rows (..., k, d) of the part of grade k, those with x·avoid = 0 if that is given."""
        d = self.algebra.d
        part = left.grade(k).on_keys(keys_of_grades(d, (k,)))
        weights = blade_weights(self.algebra.form, part.keys)
        values = part.coefficients if weights is None else part.coefficients * weights.astype(self.weights.dtype)
        Q = span_of(unit_scale(values, "factorize_versor")[0], d, k)[0]
        if avoid is None:
            return Q
        products = Q @ (self.gram @ avoid[..., None])  # q_i · avoid
        # the basis turned so that all but the first are orthogonal to it
        turned = np.linalg.qr(products.conj(), mode="complete")[0]
        return np.asarray(turned[..., 1:].swapaxes(-1, -2) @ Q)

    def farthest_from_null(self, Q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the one with the largest |a²| of q_i and (q_i ± q_j)/√2: at least the largest |q_i·q_j|."""
        i, j = np.triu_indices(Q.shape[-2], 1)
        pairs = [(Q[..., i, :] + sign * Q[..., j, :]) / Q.dtype.type(np.sqrt(2)) for sign in (1, -1)]
        return self._largest_square(np.concatenate([Q, *pairs], axis=-2))

    def partner(self, Q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return a vector outside a null subspace and not orthogonal to it: G q ± q for one q of its basis."""
        image = Q @ self.gram
        size = np.sqrt(np.square(np.abs(image)).sum(axis=-1))  # |G q|, zero for vectors of the radical
        best = np.argmax(size, axis=-1)[..., None]
        q = np.take_along_axis(Q, best[..., None], axis=-2)[..., 0, :]
        length = np.take_along_axis(size, best, axis=-1)
        if (length <= ROUNDING * np.finfo(size.dtype).eps).any():
            rule = "a versor whose part of highest grade is not orthogonal to every vector"
            raise fail("A", "factorize_versor", rule, describe("a blade of null directions of a degenerate metric"))
        dual = (q @ self.gram).conj() / length
        return self._largest_square(np.stack([dual + q, dual - q], axis=-2))

    def _largest_square(self, candidates: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        squares = ((candidates @ self.gram) * candidates).sum(axis=-1)
        best = np.argmax(np.abs(squares), axis=-1)[..., None]
        chosen = np.take_along_axis(candidates, best[..., None], axis=-2)[..., 0, :]
        return chosen, np.take_along_axis(squares, best, axis=-1)[..., 0]
