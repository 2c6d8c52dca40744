"""Blades as subspaces, without a metric: which multivectors are blades, orthonormal bases, spans and intersections.

The rows of the contraction matrix of A, of grade k, are the vectors e_T ⌋ A (Euclidean, in coordinates) for all T of
grade k - 1. They span the smallest subspace W with A in Λᵏ W, so A is a blade if and only if their rank is k. Then all
k singular values are |A|, and the right singular vectors are an orthonormal basis of its subspace.
A blade of few basis vectors of a high dimension is handled in the coordinates of those only, its live vectors.
"""

import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail, one_batch
from clifford_rand._typing import MV
from clifford_rand.basis.keys import Keys, check_size, keys_of_grades, keys_of_masks
from clifford_rand.basis.rules import bits_of
from clifford_rand.compiler.scalar import TraceError
from clifford_rand.functions.scaling import as_inexact, check_same_algebra, expand, homogeneous, relative, unit_scale

SLACK = 16  # products of sines tell whether the least of them is below a tolerance up to this factor, for d ≤ 10


@lru_cache(maxsize=64)
def _removals(d: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """Return (T, i, sign), each (C(d, k), k), for S of grade k, i in S and T = S without i: e_T ∧ e_i = sign e_S."""
    smaller = {subset: n for n, subset in enumerate(itertools.combinations(range(d), k - 1))}
    subsets = list(itertools.combinations(range(d), k))
    rows = [[smaller[subset[:place] + subset[place + 1 :]] for place in range(k)] for subset in subsets]
    signs = [-1 if (k - 1 - place) % 2 else 1 for place in range(k)]  # e_i moves over the vectors behind it
    return np.array(rows), np.array(subsets), np.broadcast_to(np.array(signs, dtype=np.int8), (len(subsets), k))


def contraction_matrix(values: NDArray[Any], d: int, k: int) -> NDArray[Any]:
    """Return the vectors e_T ⌋ A, (..., C(d, k-1), d), of the coefficients (..., C(d, k)) of grade k ≥ 1."""
    if k == 1:
        return values[..., None, :]
    rows, columns, signs = _removals(d, k)
    size = keys_of_grades(d, (k - 1,)).size
    check_size(size * d * max(1, values[..., 0].size), "is_blade", "the contraction matrix")
    matrix = np.zeros((*values.shape[:-1], size, d), dtype=values.dtype)
    matrix[..., rows, columns] = values[..., None] * signs  # row T, column i: ± A_{T ∪ i}
    return matrix


def wedge_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the coefficients (..., C(d, k)) of the wedge of the k rows of (..., k, d)."""
    k, d = rows.shape[-2:]
    if k == 0:
        return np.ones((*rows.shape[:-2], 1), dtype=rows.dtype)
    total = rows[..., 0, :]
    for grade in range(2, k + 1):
        smaller, columns, signs = _removals(d, grade)
        # the wedge with one more row, by expansion along it
        total = (total[..., smaller] * rows[..., grade - 1, :][..., columns] * signs).sum(axis=-1)
    return total


def span_of(values: NDArray[Any], d: int, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (basis, rest): k orthonormal rows (..., k, d) of the span, and σ_{k+1}/σ_1, which is 0 for a blade."""
    if k == 0:
        return np.zeros((*values.shape[:-1], 0, d), dtype=values.dtype), np.zeros(values.shape[:-1])
    if k == 1:  # a vector is its own span
        norm = np.sqrt(np.square(np.abs(values)).sum(axis=-1, keepdims=True))
        first = np.zeros(d, dtype=values.dtype)
        first[0] = 1
        unit = np.where(norm > 0, values / np.where(norm > 0, norm, 1), first)
        return unit[..., None, :], np.zeros(values.shape[:-1])
    # of a blade: k equal singular values
    sizes, rows = np.linalg.svd(contraction_matrix(values, d, k), full_matrices=False)[1:]
    largest = sizes[..., 0]
    rest = sizes[..., k] / np.where(largest > 0, largest, 1) if sizes.shape[-1] > k else np.zeros(largest.shape)
    return rows[..., :k, :], rest


def live_vectors(*multivectors: Any) -> list[int]:
    """Return the basis vectors that the keys of these multivectors have."""
    d = multivectors[0].algebra.d
    if any(A.keys.complete and A.keys.grades != (0,) for A in multivectors):
        return list(range(d))
    used = 1  # one at least, so that no array is without columns
    for A in multivectors:
        for mask in A.keys.masks:
            used |= int(mask)
    return bits_of(used)


def gather(A: Any, k: int, live: list[int]) -> NDArray[Any]:
    """Return the coefficients (..., C(d', k)) of A, of grade k, in the coordinates of the d' live vectors."""
    keys = keys_of_grades(len(live), (k,))
    if len(live) == A.algebra.d:
        return np.asarray(A.on_keys(keys).coefficients)
    place = {old: new for new, old in enumerate(live)}
    values = np.zeros((*A.shape, keys.size), dtype=A.coefficients.dtype)
    for n, mask in enumerate(A.keys.masks):
        small = sum(1 << place[i] for i in live if int(mask) >> i & 1)
        values[..., keys.find(small)] = A.coefficients[..., n]
    return values


def scatter_keys(d: int, grades: tuple[int, ...], live: list[int]) -> Keys:
    """Return the blades of these grades of the live vectors, in the order of their coordinates."""
    keys = keys_of_grades(len(live), grades)
    if len(live) == d:
        return keys
    return keys_of_masks(d, tuple(sum(1 << live[i] for i in range(len(live)) if int(m) >> i & 1) for m in keys.masks))


def is_blade(A: MV, *, rtol: float = 1e-9) -> Any:
    """Tell whether A is a blade, a wedge of vectors, other than zero: a bool, or an array of them over the batch.

    No metric is used: null blades are blades.

    Parameters
    ----------
    rtol : float, default=1e-9
        Relative to the largest singular value of A's contractions; at least 256 eps of the dtype.

    Examples
    --------
    >>> alg = cr.Algebra(4)
    >>> (alg.e12 + alg.e13).is_blade(), (alg.e12 + alg.e34).is_blade()
    (True, False)
    """
    d, keys, rtol = A.algebra.d, A.keys, check_tolerance(rtol, 1e-9, "is_blade")
    if A.coefficients.dtype == object:
        return _is_exact_blade(A)
    result = np.zeros(A.shape, dtype=bool)
    if not keys.size:
        return bool(result) if result.ndim == 0 else result
    values = unit_scale(as_inexact(A).coefficients, "is_blade")[0]
    limit = relative(values.dtype, rtol)
    size = np.stack([np.abs(values[..., keys.slices[k]]).max(axis=-1, initial=0) for k in keys.grades])
    largest = size.max(axis=0)
    held = size > limit * largest
    for n, k in enumerate(keys.grades):
        chosen = held[n] & (held.sum(axis=0) == 1)  # elements of one grade
        if k <= 1 or k >= d - 1:  # vectors and hyperplanes are always blades
            result |= chosen
        elif chosen.any():
            part = A.new(keys, values).grade(k)
            live = live_vectors(part)
            result[chosen] = span_of(gather(part, k, live)[chosen], len(live), k)[1] <= limit
    return bool(result) if result.ndim == 0 else result


def _is_exact_blade(A: Any) -> Any:
    """Use the Plücker relations (e_T ⌋ A) ∧ A = 0, polynomials in the coefficients."""
    A = expand(A)
    nonzero = np.asarray(A.coefficients != 0, dtype=bool)
    held = {k: nonzero[..., A.keys.slices[k]].any(axis=-1) for k in A.keys.grades}
    count = sum((flags.astype(int) for flags in held.values()), np.zeros(A.shape, dtype=int))
    result = np.zeros(A.shape, dtype=bool)
    d = A.algebra.d
    for k, flags in held.items():
        chosen = flags & (count == 1)
        if 1 < k < d - 1 and chosen.any():
            part = A.grade(k)
            vectors = np.moveaxis(contraction_matrix(gather(part, k, list(range(d))), d, k), -2, 0)
            for row in vectors:
                wedge = expand(A.algebra.vector(row).wedge(part))  # (e_T ⌋ A) ∧ A
                chosen = chosen & ~np.asarray(wedge.coefficients != 0, dtype=bool).any(axis=-1)
        result |= chosen
    return bool(result) if result.ndim == 0 else result


def _part(A: Any, name: str, owner: str, rtol: float) -> tuple[int, Any]:
    if A.coefficients.dtype == object:
        raise fail(name, owner, "numeric", describe("fractions or symbols"), "Convert with astype(float).")
    return homogeneous(as_inexact(A), name, owner, rtol)


def _subspace(
    A: Any, k: int, live: list[int], name: str, owner: str, rtol: float
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return (coefficients near 1, their scale, orthonormal basis (..., k, d')) of a blade in live coordinates."""
    d = len(live)
    values, scale = unit_scale(gather(A, k, live), owner, name)
    if not np.asarray(values != 0, dtype=bool).any(axis=-1).all():
        raise fail(name, owner, "a blade other than zero", describe("zero"))
    basis, rest = span_of(values, d, k)
    if (rest > relative(values.dtype, max(rtol, 1e-9))).any():
        raise fail(name, owner, "a blade, a wedge of vectors", describe(f"a multivector of grade {k} that is none"))
    return values, scale, basis


@one_batch
def span(A: MV, B: Any, /, *, rtol: float = 1e-9) -> MV:
    """Return the span of two blades: the blade of the sum of their subspaces. No metric is used.

    With A = A' ∧ M and B = M ∧ B', span J and intersection M are scaled so that J = A' ∧ M ∧ B'. J has length 1 in
    coordinates, and its first coefficient that is not small is positive; J = I if the subspaces span everything.

    Parameters
    ----------
    B : Multivector
        A blade other than zero, in any metric.
    rtol : float, default=1e-9
        A direction is common to both if the sine of its angle is at most this. In a batch each element has a
        dimension of its own, and the result all grades that arise.

    Examples
    --------
    >>> alg = cr.Algebra(3, 0, 1)
    >>> A, B = alg.e01, alg.e02
    >>> A.span(B), A.intersection(B)
    (e012, e0)
    """
    return span_and_intersection(A, A.operand(B, "span"), "span", rtol)[0]


@one_batch
def intersection(A: MV, B: Any, /, *, rtol: float = 1e-9) -> MV:
    """Return the intersection of two blades: the blade of the intersection of their subspaces. No metric is used.

    Scaled as `span` says: M = A ∨ B where the span is I, and a scalar with M span(A, B) = A ∧ B where the subspaces
    have no vector in common.

    Examples
    --------
    >>> alg = cr.Algebra(4)
    >>> alg.e12.intersection(2 * alg.e23), alg.e12.intersection(alg.e34)
    (2.0*e2, 1.0)
    """
    return span_and_intersection(A, A.operand(B, "intersection"), "intersection", rtol)[1]


def span_and_intersection(A: Any, B: Any, owner: str, rtol: float = 1e-9) -> tuple[Any, Any]:
    """Return the span J and the intersection M of the subspaces of two blades, in any metric.

    With A = A' ∧ M and B = M ∧ B' they are scaled so that J = A' ∧ M ∧ B'. This fixes J and M up to a factor λ and 1/λ;
    J is taken of length 1 in coordinates, and its first coefficient that is not small is positive. So M = A ∨ B where
    J = I, and M J = A ∧ B where M is a scalar. A direction is common if its sine to the other subspace is ≤ ``rtol``.
    """
    check_same_algebra(A, B, "B", owner)
    rtol = check_tolerance(rtol, 1e-9, owner)
    a, A = _part(A, "A", owner, rtol)
    b, B = _part(B, "B", owner, rtol)
    live = live_vectors(A, B)
    values_a, scale_a, Q_a = _subspace(A, a, live, "A", owner, rtol)
    values_b, scale_b, Q_b = _subspace(B, b, live, "B", owner, rtol)
    shape = np.broadcast_shapes(A.shape, B.shape)
    dtype = np.result_type(Q_a, Q_b)
    limit = relative(dtype, rtol)
    count = math.prod(shape)
    arrays = [np.broadcast_to(x, (*shape, x.shape[-1])).reshape(count, x.shape[-1]) for x in (values_a, values_b)]
    Q_a, Q_b = (
        np.broadcast_to(Q, (*shape, *Q.shape[-2:])).reshape(count, *Q.shape[-2:]).astype(dtype) for Q in (Q_a, Q_b)
    )
    Q_b, sine = turned_away(Q_a, Q_b)
    common = (sine <= limit).sum(axis=-1)  # the dimension of the intersection
    counts = sorted({int(m) for m in common})
    spans = scatter_keys(A.algebra.d, tuple(sorted(a + b - m for m in counts)), live)
    shared = scatter_keys(A.algebra.d, tuple(counts), live)
    J = np.zeros((len(Q_b), spans.size), dtype=dtype)
    M = np.zeros((len(Q_b), shared.size), dtype=dtype)
    for m in counts:
        chosen = common == m
        found_J, found_M = _combine(arrays[0][chosen], arrays[1][chosen], Q_a[chosen], Q_b[chosen], m)
        J[chosen, spans.slices[a + b - m]] = found_J
        M[chosen, shared.slices[m]] = found_M
    scale = np.broadcast_to(scale_a * scale_b, (*shape, 1))
    return A.new(spans, J.reshape(*shape, spans.size)), A.new(shared, M.reshape(*shape, shared.size) * scale)


def traced_intersection(A: Any, B: Any, rtol: float) -> Any:
    """Return the intersection M of traced blades, as `span_and_intersection` has it, in closed form.

    With e_T ∧ c_T = I for the basis blades e_T of the grade of the span J, A ∨ (B ∧ c_T) = J_T M. All of them together
    have the length |A| |B| times the sines of the angles that are not 0, up to a factor below `SLACK`. For the grades
    of larger spans, with fewer common vectors, they are 0.
    """
    (k,), (m,), d = A.grades, B.grades, A.algebra.d
    limit, before = (SLACK * relative(A.dtype, rtol)) ** 2, 0.0
    size = (A.coefficients**2).sum(axis=-1) * (B.coefficients**2).sum(axis=-1)
    for common in range(max(0, k + m - d), min(k, m) + 1):
        span, keys = (keys_of_grades(d, (grade,)) for grade in (k + m - common, common))
        rest = A.new(span, np.eye(span.size)).right_complement()
        rows = (A[..., None] & (B[..., None] ^ rest)).select_keys(keys).coefficients
        squares = (rows * rows).sum(axis=-1)
        square = squares.sum(axis=-1)
        if (square > limit * size).all():
            break
        before = square
    if not (SLACK**4 * before <= limit * square).all():
        raise TraceError("the sine of an angle is near the tolerance")
    if span.size == 1:
        return A.new(keys, rows[..., 0, :])
    row, part, top = rows[..., -1, :], squares[..., -1], squares.max(axis=-1)
    for T in range(span.size - 2, -1, -1):  # the first of J's coefficients that is not small is positive
        is_large = 4 * squares[..., T] >= top
        row, part = np.where(is_large[..., None], rows[..., T, :], row), np.where(is_large, squares[..., T], part)
    return A.new(keys, row * np.sqrt(square / part)[..., None])


def _combine(
    A: NDArray[Any], B: NDArray[Any], Q_a: NDArray[Any], Q_b: NDArray[Any], m: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the coefficients of span and intersection; the last m rows of Q_b are common, the others are not."""
    only_a, common, only_b = with_common_part(Q_a, Q_b, m)
    whole = np.concatenate([only_a, common, only_b], axis=-2)
    factor_a = _coefficient(A, np.concatenate([only_a, common], axis=-2))
    factor_b = _coefficient(B, np.concatenate([common, only_b], axis=-2))
    if whole.shape[-2]:
        Q, T = np.linalg.qr(whole.swapaxes(-1, -2))
        volume = np.diagonal(T, axis1=-2, axis2=-1).prod(axis=-1)[:, None]  # a_1 ∧ … ∧ c ∧ … ∧ b_1 = volume · J
        J = wedge_rows(Q.swapaxes(-1, -2))
    else:
        J, volume = np.ones((len(A), 1), dtype=whole.dtype), np.ones((len(A), 1), dtype=whole.dtype)
    size = np.abs(J)
    # the first coefficient that is not small
    first = np.argmax(size >= 0.5 * size.max(axis=-1, keepdims=True), axis=-1)[:, None]
    phase = np.take_along_axis(J, first, axis=-1) / np.take_along_axis(size, first, axis=-1)
    return J / phase, factor_a * factor_b * volume * phase * wedge_rows(common)


def outside(Q: NDArray[Any], P: NDArray[Any]) -> NDArray[Any]:
    """Return the part of Q's rows (..., b, d) orthogonal to orthonormal rows P (..., a, d); accurate if it is small."""
    for _ in range(2):  # a second pass takes away what rounding of the first left inside
        Q = Q - (Q @ P.conj().swapaxes(-1, -2)) @ P
    return Q


def turned_away(P: NDArray[Any], Q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return Q's principal directions (..., b, d) and the sines of their angles to P's span, the largest first."""
    if not (P.shape[-2] and Q.shape[-2]):
        return Q, np.ones(Q.shape[:-1])
    turn, sine = np.linalg.svd(outside(Q, P), full_matrices=False)[:2]
    return turn.conj().swapaxes(-1, -2) @ Q, sine


def with_common_part(P: NDArray[Any], Q: NDArray[Any], m: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows of P's span orthogonal to the last m of Q, which lie in it, those m rows, and the others of Q."""
    b = Q.shape[-2]
    common, only_a = Q[..., b - m :, :], P
    if m:
        # the last columns of the complete Q are orthogonal to the first m, which span the common part
        turn = np.linalg.qr(P @ common.conj().swapaxes(-1, -2), mode="complete")[0]
        only_a = turn[..., m:].conj().swapaxes(-1, -2) @ P
    return only_a, common, Q[..., : b - m, :]


def _coefficient(A: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Return α (n, 1) with A = α r_1 ∧ … ∧ r_k for orthonormal rows that span A's subspace."""
    return (wedge_rows(rows).conj() * A).sum(axis=-1, keepdims=True)
