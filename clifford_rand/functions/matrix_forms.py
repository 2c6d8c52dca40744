"""Multivectors as matrices: the inverse of one through its matrix, and bivectors as antisymmetric matrices.

The complex matrices have 2^{r + ⌊(d-r)/2⌋} rows for r null vectors: Pauli matrices where squares are 1 and -1, and
P + e0 Q ↦ [[P, 0], [Q, P̂]] for a null vector, P̂ the grade involution. So with A = Σ_u e_u A_u over the products e_u
of null vectors the matrix has the blocks (u ∪ v, v) = ± M(A_u), involuted where |v| is odd. Its first column of blocks
is A itself, so that column of the inverse is the inverse. The blocks on the diagonal are M = D, the others N,
nilpotent, and the inverse is Y - Y N Y + Y N Y N Y - …, Y = D⁻¹: a term more for each null vector.

In many dimensions s + B takes O(d²) operations, without a table of products: B = Σ_{i<j} B_ij e_i ∧ e_j with
B_ji = -B_ij, so x ⌋ B = (G x) B in components, G the metric, and ⟨(s + B)(s - B)⟩_0 = s² + ½ Σ_ij B_ij (G B G)_ij. B is
simple, B ∧ B = 0, exactly where B_pq B_ij = B_pi B_qj - B_qi B_pj for one p, q with B_pq ≠ 0 and all i, j (the Plücker
relations).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import MV
from clifford_rand.basis.keys import Keys, dense_keys, keys_of_grades
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import reverse_is_negative
from clifford_rand.functions.scaling import lengths
from clifford_rand.functions.unit_form import unit_form, used_vectors
from clifford_rand.plans.cost_model import made_once
from clifford_rand.plans.representation import from_matrices, representation_of, to_matrices

Array = NDArray[np.complex128]

MOST = 7  # basis vectors that occur
LARGEST = 2**16  # numbers of the map from coefficients to entries: half a megabyte, second-level cache
CLEAR = 1e-6  # reciprocal condition number above which its own rounding decides nothing
RANGE = 1e25  # |A| whose eighth power, and that of 1/|A|, is in range
CLOSED_FROM = 16  # dimensions from which a table of K² products, K = 1 + d(d-1)/2, costs more than d² operations


def matrices(values: NDArray[Any], signature: tuple[int, ...]) -> Array:
    """Return matrices (..., blocks, n, n) of coefficients (..., 2^d), by their masks, null vectors first."""
    if not signature or signature[0]:
        return np.asarray(to_matrices(values.astype(np.complex128), representation_of(signature)), np.complex128)
    P, Q = values[..., 0::2], values[..., 1::2]
    odd = np.bitwise_count(np.arange(P.shape[-1])) % 2 == 1
    # P + e0 Q ↦ [[P, 0], [Q, P̂]]
    corner, lower, involuted = (matrices(part, signature[1:]) for part in (P, Q, np.where(odd, -P, P)))
    n = corner.shape[-1]
    M = np.zeros((*corner.shape[:-2], 2 * n, 2 * n), dtype=np.complex128)
    M[..., :n, :n], M[..., n:, :n], M[..., n:, n:] = corner, lower, involuted
    return M


def coefficients(M: Array, signature: tuple[int, ...]) -> Array:
    """Return the coefficients (..., 2^d) of what `matrices` made."""
    if not signature or signature[0]:
        return np.asarray(from_matrices(M, representation_of(signature)), dtype=np.complex128)
    n = M.shape[-1] // 2
    P, Q = (coefficients(M[..., rows, :n], signature[1:]) for rows in (slice(None, n), slice(n, None)))
    values = np.empty((*P.shape[:-1], 2 * P.shape[-1]), dtype=np.complex128)
    values[..., 0::2], values[..., 1::2] = P, Q
    return values


def matrices_of(U: MV) -> Array:
    """Return the matrices of a U of a unit algebra with the null vectors first."""
    signature = tuple(U.algebra.signature)
    dense = np.zeros((*U.shape, 1 << len(signature)), dtype=np.complex128)
    dense[..., U.keys.masks] = U.coefficients
    return matrices(dense, signature)


class MatrixInverse:
    """The two linear maps of one key set."""

    def __init__(self, A: MV) -> None:
        """Make them for the keys of ``A``."""
        units = A.new(A.keys, np.eye(A.keys.size))
        form = unit_form(units, "inv")
        small = form.take(units)
        d = small.algebra.d
        M = matrices_of(small)
        size = M.shape[-1] >> form.null
        on_diagonal = np.kron(np.eye(1 << form.null), np.ones((size, size)))
        kinds = np.stack([M * on_diagonal, M * (1 - on_diagonal)], axis=1) if form.null else M[:, None]
        self.shape = kinds.shape[1:]
        self.null, self.column = form.null, size
        self.weight = self.shape[-3] * self.column  # squared entries for one squared coefficient
        entries = np.ascontiguousarray(kinds).reshape(A.keys.size, -1)
        n = self.shape[-3] * M.shape[-1] * size
        columns_of_blocks = np.zeros((n, *self.shape[-3:]), dtype=np.complex128)
        columns_of_blocks[..., :size] = np.eye(n).reshape(n, *self.shape[-3:-1], size)
        columns = coefficients(columns_of_blocks, form.signature)
        inverse = form.give(small.new(dense_keys(d), columns.real[:, dense_keys(d).masks]), A)
        imaginary = form.give(small.new(dense_keys(d), columns.imag[:, dense_keys(d).masks]), A)
        kept = inverse.part(inverse_grades(A.keys, A.algebra.d))
        self.keys = kept.keys
        back = kept.coefficients + 1j * imaginary.select_keys(kept.keys).coefficients
        odd = A.keys.grade_of % 2
        self.parities = np.flatnonzero(odd == 0).tolist(), np.flatnonzero(odd).tolist()
        self.maps: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {
            "c": (entries, back),
            "f": (entries.view(np.float64), np.stack([back.real, -back.imag], axis=1).reshape(-1, kept.keys.size)),
        }

    def __call__(self, a: NDArray[Any]) -> tuple[NDArray[Any], float] | None:
        """Return coefficients of the inverse and the sum of their squares, None where a pivot is zero.

        The sum is that of the matrix, with what is imaginary: that may be all there is of a singular matrix's inverse.
        """
        to, back = self.maps[a.dtype.kind]
        # the blocks on the diagonal, and the nilpotent ones
        blocks = a.dot(to).view(np.complex128).reshape(self.shape)
        try:
            inverse = np.linalg.inv(blocks[0])
        except np.linalg.LinAlgError:
            return None
        column = inverse[..., : self.column]
        if self.null:
            term = column = column.copy()
            for _ in range(self.null):
                # Y - Y N Y + Y N Y N Y - …: one term more for each null vector
                term = -inverse @ (blocks[1] @ term)
                column += term
        entries = np.ascontiguousarray(column).reshape(-1)
        return entries.view(back.dtype).dot(back), np.vdot(entries, entries).real / self.weight


def _fits(A: MV) -> bool:
    """Tell whether the two maps for the keys of ``A`` would be small enough."""
    parities = {k % 2 for k in A.keys.grades}
    if len(parities) < 2 or used_vectors(A.keys).bit_count() > MOST or not components_are_lengths(A.algebra.form):
        return False
    form = unit_form(A, "inv")
    live = len(form.signature) - form.null
    return A.keys.size * 2 ** (2 * (live // 2) + live % 2 + 2 * form.null + 1 + (form.null > 0)) <= LARGEST


def one_by_matrix(A: MV, limit: float) -> MV | None:
    """Return the inverse of one A with components of both parities; None where it is not far from singular.

    An even or odd A may be a versor, whose inverse is its reverse without any rounding but of a division.
    """
    key = ("inv by matrix", A.keys)
    plan: MatrixInverse | None = made_once(A.algebra.form, key, lambda: MatrixInverse(A) if _fits(A) else None)
    if plan is None:
        return None
    a = A.coefficients
    values = a.tolist()
    # even or odd: perhaps a versor, whose inverse is its reverse
    if not all(any(values[i] for i in places) for places in plan.parities):
        return None
    a = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64, copy=False)
    size = np.vdot(a, a).real
    if not RANGE**-2 < size < RANGE**2:
        return None
    inverse_and_size = plan(a)
    if inverse_and_size is None or not max(CLEAR, limit) * math.sqrt(size * inverse_and_size[1]) < 1:
        return None
    return A.new(plan.keys, inverse_and_size[0].astype(A.dtype, copy=False))


def components_are_lengths(metric: Metric) -> bool:
    """Tell whether a root of a sum of squared components is that in an orthonormal basis, up to null blades."""
    return metric.is_numeric and (metric.is_unit or (metric.diagonal is None and _is_orthogonal(metric)))


def _is_orthogonal(metric: Metric) -> bool:
    """Tell whether the orthonormal basis is made by an orthogonal matrix, as that of a pair of null vectors."""
    return bool(np.abs(np.abs(np.linalg.eigvalsh(metric.gram.astype(np.float64))) - 1).max() < 1e-12)


def inverse_grades(keys: Keys, d: int) -> tuple[int, ...]:
    """Return the grades that the inverse of a multivector with ``keys`` can have.

    If an involution f has f(A) = σ A, σ = ±1, then f(A⁻¹) = σ A⁻¹: the inverse of an even A is even, and so on.
    """
    kept = set(range(d + 1))
    for sign in (lambda k: k % 2 == 1, reverse_is_negative, lambda k: k % 4 in (1, 2)):
        signs = {bool(sign(k)) for k in keys.grades}
        if len(signs) == 1:
            kept = {k for k in kept if bool(sign(k)) in signs}
    return tuple(sorted(kept))


# ---- bivectors as antisymmetric matrices


def is_closed(A: Any) -> bool:
    """Tell whether a multivector is s + B or B, of numbers, in a dimension high enough for this module."""
    return A.algebra.d > CLOSED_FROM and A.keys.grades in ((2,), (0, 2)) and A.coefficients.dtype.kind in "fc"


def lowered(metric: Metric, x: NDArray[Any]) -> NDArray[Any]:
    """Return G x for components on the last axis."""
    if metric.diagonal is not None:
        return np.asarray(x * metric.diagonal.astype(x.real.dtype))
    return np.asarray(x @ metric.gram.astype(x.real.dtype))


def scalar_and_matrix(A: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return s (...) and the antisymmetric matrix (..., d, d) of s + B."""
    d, keys = A.algebra.d, keys_of_grades(A.algebra.d, (0, 2))
    values = A.on_keys(keys).coefficients
    matrix = np.zeros((*A.shape, d, d), dtype=values.dtype)
    i, j = np.triu_indices(d, 1)
    matrix[..., i, j], matrix[..., j, i] = values[..., 1:], -values[..., 1:]
    return values[..., 0], matrix


def upper(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the components (..., d(d-1)/2) of the bivectors of antisymmetric matrices."""
    return np.asarray(matrix[(..., *np.triu_indices(matrix.shape[-1], 1))])


def square_and_rest(A: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return ⟨U ~U⟩_0, a component of largest size of B ∧ B up to a factor of 6, and |U|² in units of the basis.

    The two sizes are those in the basis e_i / √g_i, g_i = max_j |G_ij|, see `geometry.coordinates.blade_weights`.
    """
    metric = A.algebra.form
    s, B = scalar_and_matrix(A)
    # (G B G)ᵀ
    image = lowered(metric, np.swapaxes(lowered(metric, B), -1, -2))  # G Bᵀ G = -G B G
    square = s * s - (B * image).sum(axis=(-1, -2)) / 2
    if not metric.is_unit:
        root = lengths(metric).astype(B.real.dtype)
        B = B * root * root[:, None]
    size = np.abs(s) ** 2 + (np.abs(B) ** 2).sum(axis=(-1, -2)) / 2
    d = B.shape[-1]
    place = np.abs(B).reshape(*A.shape, d * d).argmax(axis=-1)[..., None, None]
    p, q = (np.take_along_axis(B, index, axis=-2) for index in (place // d, place % d))
    pivot = np.take_along_axis(p, place % d, axis=-1)
    rest = pivot * B - np.swapaxes(p, -1, -2) * q + np.swapaxes(q, -1, -2) * p
    return square, 2 * np.abs(rest).max(axis=(-1, -2), initial=0), size


def moved_vectors(U: Any, inverse: Any, x: NDArray[Any], *, rows: bool = False) -> NDArray[Any]:
    """Return U x U⁻¹ of vectors (..., d), or of rows (..., m, d) for each U = s + B.

    x B = B x + 2 x⌋B where x⌋B = (G x) B lies in the plane of B, so x ↦ x + 2 (s w + B⌊w) with w = x⌋⟨U⁻¹⟩_2.
    """
    metric, (s, B) = U.algebra.form, scalar_and_matrix(U)
    x = x if rows or not U.ndim else x[..., None, :]
    w = lowered(metric, x) @ scalar_and_matrix(inverse)[1]
    moved = x + 2 * ((s[..., None, None] if U.ndim else s) * w - lowered(metric, w) @ B)
    return moved if rows or not U.ndim else moved[..., 0, :]
