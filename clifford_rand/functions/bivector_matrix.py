"""Bivectors as antisymmetric matrices: s + B in many dimensions in O(d²) operations, without a table of products.

B = Σ_{i<j} B_ij e_i ∧ e_j with B_ji = -B_ij, so x ⌋ B = (G x) B in components, G the metric, and
⟨(s + B)(s - B)⟩_0 = s² + ½ Σ_ij B_ij (G B G)_ij. B is simple, B ∧ B = 0, exactly where
B_pq B_ij = B_pi B_qj - B_qi B_pj for one p, q with B_pq ≠ 0 and all i, j (the Plücker relations).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.basis.metric import Metric

CLOSED_FROM = 16  # dimensions from which a table of K² products, K = 1 + d(d-1)/2, costs more than d² operations


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
        entries = metric.gram if metric.diagonal is None else metric.diagonal[:, None]
        root = np.sqrt(np.abs(entries.astype(np.float64)).max(axis=1))
        root = np.where(root == 0, 1, root).astype(B.real.dtype)
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
