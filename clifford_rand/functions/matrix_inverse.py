"""The inverse of one multivector through its matrix: coefficients to entries, LAPACK, and back, as products of arrays.

Without null vectors the matrices are those of `kernels.representation`. With them A = Σ_u e_u A_u over the products e_u
of null vectors, and the matrix of left multiplication has the blocks (u ∪ v, v) = ± M(A_u), involuted where |v| is odd.
Its first column of blocks is A itself, so that column of the inverse is the inverse. The blocks on the diagonal are
M = D, the others N, nilpotent, and the inverse is Y - Y N Y + Y N Y N Y - …, Y = D⁻¹: a term more for each null vector.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import MV
from clifford_rand.basis.keys import Keys, dense_keys
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import reverse_is_negative
from clifford_rand.functions.unit_form import unit_form, used_vectors
from clifford_rand.kernels.representation import from_matrices, representation_of, to_matrices
from clifford_rand.plans.cost_model import keep

MOST = 7  # basis vectors that occur
LARGEST = 2**16  # numbers of the map from coefficients to entries: half a megabyte, second-level cache
CLEAR = 1e-6  # reciprocal condition number above which its own rounding decides nothing
RANGE = 1e25  # |A| whose eighth power, and that of 1/|A|, is in range


class MatrixInverse:
    """The two linear maps of one key set."""

    def __init__(self, A: MV) -> None:
        """Make them for the keys of ``A``."""
        units = A.new(A.keys, np.eye(A.keys.size))
        form = unit_form(units, "inv")
        small = form.take(units)
        d = small.algebra.d
        dense = np.zeros((A.keys.size, 1 << d))
        dense[:, small.keys.masks] = small.coefficients
        matrices = _left_multiplications(dense, form.signature, form.null)
        self.shape = matrices.shape[1:]
        self.null, self.column = form.null, self.shape[-1] >> form.null
        self.weight = self.shape[-3] * self.column  # squared entries for one squared coefficient
        entries = matrices.reshape(A.keys.size, -1)
        columns = _coefficients_of_columns(form.signature, form.null)
        inverse = form.give(small.new(dense_keys(d), columns.real[:, dense_keys(d).masks]), A)
        imaginary = form.give(small.new(dense_keys(d), columns.imag[:, dense_keys(d).masks]), A)
        kept = inverse.grade(*inverse_grades(A.keys, A.algebra.d))
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
        matrices = a.dot(to).view(np.complex128).reshape(self.shape)
        try:
            inverse = np.linalg.inv(matrices[0])
        except np.linalg.LinAlgError:
            return None
        column = inverse[..., : self.column]
        if self.null:
            term = column = column.copy()
            for _ in range(self.null):
                # Y - Y N Y + Y N Y N Y - …: one term more for each null vector
                term = -inverse @ (matrices[1] @ term)
                column += term
        entries = np.ascontiguousarray(column).reshape(-1)
        return entries.view(back.dtype).dot(back), np.vdot(entries, entries).real / self.weight


def _left_multiplications(dense: NDArray[Any], signature: tuple[int, ...], null: int) -> NDArray[np.complex128]:
    """Return the matrices of n multivectors (n, 2^d), in the order of their masks.

    The shape is (n, 2, blocks, N, N), blocks on the diagonal and the others apart; (n, 1, …) without null vectors.
    """
    tables = representation_of(signature[null:])
    live = np.arange(1 << tables.d)
    involution = np.where(np.bitwise_count(live) % 2 == 1, -1.0, 1.0)
    parts = [dense[:, u :: 1 << null] for u in range(1 << null)]
    first = [to_matrices(part, tables) for part in parts]
    involuted = [to_matrices(part * involution, tables) for part in parts]
    n, blocks, size = first[0].shape[:3]
    kinds = ("diagonal", "nilpotent") if null else ("diagonal",)
    M = np.zeros((n, len(kinds), blocks, 1 << null, size, 1 << null, size), dtype=np.complex128)
    for v in range(1 << null):
        for u in range(1 << null):
            if not u & v:
                # e_u e_v = ± e_{u ∪ v}: the sign of the permutation
                swaps = sum((u >> (i + 1)).bit_count() for i in range(null) if v >> i & 1)
                block = (involuted if v.bit_count() % 2 else first)[u]
                M[:, 1 if u else 0, :, u | v, :, v, :] = -block if swaps % 2 else block
    return M.reshape(n, len(kinds), blocks, size << null, size << null)


def _coefficients_of_columns(signature: tuple[int, ...], null: int) -> NDArray[np.complex128]:
    """Return the coefficients (E, 2^d), in the order of their masks, of the E entries of the first column of blocks."""
    tables = representation_of(signature[null:])
    blocks, size = 1 + tables.d % 2, 1 << tables.m
    units = np.eye(blocks * (size << null) * size).reshape(-1, blocks, 1 << null, size, size)
    parts = from_matrices(np.moveaxis(units, 2, 1).astype(np.complex128), tables)  # (E, 2^null, 2^live)
    return np.asarray(np.swapaxes(parts, 1, 2).reshape(len(units), -1))


def _plan_of(A: MV) -> MatrixInverse | None:
    """Return the maps for the keys of ``A``, None where they would be too large."""
    metric = A.algebra.form
    plan: Any = metric.plans.get(("inv by matrix", A.keys), False)
    if plan is False:
        plan = keep(metric, ("inv by matrix", A.keys), MatrixInverse(A) if _fits(A) else None)
    return plan


def _fits(A: MV) -> bool:
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
    plan = _plan_of(A)
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
