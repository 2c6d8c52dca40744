"""Rotation matrices: the rotors of rotations, and the rotation that takes points nearest to others."""

from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_real, check_tolerance, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.geometry.coordinates import LEAST

RTOL = 1e-6  # how far FᵀF may be from 1: a matrix that was printed with seven digits is still a rotation


def rotor_from_matrix(alg: Any, F: ArrayLike, *, rtol: float | None = None) -> Any:
    """Return the rotors R with R x ~R = F x, R ~R = 1, and ⟨R⟩_0 ≥ 0, for rotation matrices F.

    R = R_1 … R_{n-1}, where R_k turns e_k to b, column k of R_{k-1}⁻¹ … R_1⁻¹ F: R_k = (e_k + b) e_k if b·e_k ≥ 0, and
    (b - e_k) e_{k+1} else, divided by its length, which is √2 or more before. So nothing cancels near half turns. It is
    the theorem of Cartan and Dieudonné with Householder's vectors, two for each column.

    Parameters
    ----------
    alg : Algebra
        Of Euclidean space, ``Algebra(n)``.
    F : array_like of shape (..., n, n)
        Column i has the components of the image of e_i, as `Multivector.vector_matrix` returns it.
    rtol : float, optional
        How far entries of FᵀF may be from those of 1; 1e-6 by default, and 256 eps of the dtype at least.

    Raises
    ------
    ArgumentError
        If F is not a rotation: FᵀF ≠ 1, or a reflection.

    References
    ----------
    P. Lounesto, Clifford Algebras and Spinors, 2nd ed., 2001, section 17.1.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> R = cr.rotor_from_matrix(alg, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    >>> (R >> alg.e1).isclose(alg.e2), (R >> alg.e3).isclose(alg.e3)
    (True, True)
    """
    n = euclidean_dimension(alg, "rotor_from_matrix")
    matrix = as_real(F, "F", "rotor_from_matrix")
    return rotor_of(alg, rotation_of(matrix, n, "F", "rotor_from_matrix", rtol))


def euclidean_dimension(alg: Any, owner: str) -> int:
    """Return n of Cl(n, 0, 0) with an orthonormal basis."""
    form = getattr(alg, "form", None)
    if form is None or not form.is_unit or form.counts != (form.d, 0, 0):
        raise fail("alg", owner, "the algebra of Euclidean space", alg, "Make one with Algebra(n).")
    return int(form.d)


def rotation_of(matrix: NDArray[Any], n: int, name: str, owner: str, rtol: float | None) -> NDArray[Any]:
    """Return the matrices (..., n, n), floating, if they are rotations."""
    if matrix.ndim < 2 or matrix.shape[-2:] != (n, n):
        raise fail(name, owner, f"an array of shape (..., {n}, {n})", describe(f"shape {matrix.shape}"))
    if matrix.dtype.kind != "f":
        matrix = matrix.astype(np.float64)
    limit = max(check_tolerance(rtol, RTOL, owner), LEAST * float(np.finfo(matrix.dtype).eps))
    with np.errstate(over="ignore", invalid="ignore"):
        rest = np.abs(np.swapaxes(matrix, -1, -2) @ matrix - np.eye(n, dtype=matrix.dtype)).max(initial=0)  # FᵀF - 1
    if not rest <= limit:
        hint = "motor_from_points and rotor_from_points fit rotations to noisy data."
        raise fail(name, owner, "a rotation: FᵀF = 1", describe(f"FᵀF off by {rest:.3g}"), hint)
    if (np.linalg.det(matrix.astype(np.float64)) < 0).any():
        raise fail(name, owner, "a rotation, of determinant 1", describe("a reflection, of determinant -1"))
    return matrix


def rotor_of(alg: Any, matrix: NDArray[Any]) -> Any:
    """Return the rotor of matrices that are known to be rotations."""
    n = matrix.shape[-1]
    rest = matrix.copy()
    basis = np.eye(n, dtype=matrix.dtype)
    R: Any = alg.scalar(np.ones(matrix.shape[:-2], dtype=matrix.dtype))
    for k in range(n - 1):
        b = rest[..., :, k] / np.sqrt(np.square(rest[..., :, k]).sum(axis=-1, keepdims=True))
        near = b[..., k : k + 1] >= 0  # e_k + b has a length ≥ √2 then, and b - e_k else
        v = np.where(near, b + basis[k], b - basis[k])  # the first of the two reflections
        v /= np.sqrt(np.square(v).sum(axis=-1, keepdims=True))
        u = np.where(near, basis[k], basis[k + 1])
        R = R * (alg.vector(v) * alg.vector(u))  # R_k = v u takes e_k to b
        for w in (v, u):  # R_k⁻¹ = u v as two reflections of the columns
            rest -= 2 * w[..., :, None] * (w[..., None, :] @ rest)
    if n > 3:  # the grades of a product of vectors; for n ≤ 3 there are no others
        R = R.even()
    scale = np.where(R.scalar_part() < 0, -1, 1) / R.norm()  # ⟨R⟩_0 ≥ 0 and R ~R = 1
    return R.new(R.keys, R.coefficients * np.asarray(scale)[..., None].astype(matrix.dtype))


Array = NDArray[Any]

ENTRIES = 2**16  # of a block of points: a few of them stay in the second-level cache
ROWS = 256  # of a block at least, however many problems there are
TIES = 64  # units of rounding, relative to the spread of both sets, below which a direction tells nothing


class Moments(NamedTuple):
    """Sums over the points, weighted; the second ones about the means."""

    weight: Array
    mean_x: Array
    mean_y: Array
    cross: Array
    """Σ w (y - ȳ)(x - x̄)ᵀ, (..., n, n)."""
    square_x: Array
    """Σ w |x - x̄|²."""
    square_y: Array


def moments(X: Array, Y: Array, w: Array | None, *, about_origin: bool = False) -> Moments:
    """Return the moments in one pass: sums about the first points, so that a far origin costs no digits.

    With ``about_origin`` all are about 0, and the means are 0.
    """
    n = X.shape[-1]
    batch = np.broadcast_shapes(X.shape[:-2], Y.shape[:-2], () if w is None else w.shape[:-1])
    dtype = np.result_type(X, Y)
    first_x = np.zeros(n, dtype=dtype) if about_origin else X[..., :1, :]
    first_y = np.zeros(n, dtype=dtype) if about_origin else Y[..., :1, :]
    cross = np.zeros((*batch, n, n))
    sums, squares = (np.zeros((*batch, n)), np.zeros((*batch, n))), (np.zeros(batch), np.zeros(batch))
    rows = max(ROWS, ENTRIES // max(1, n * int(np.prod(batch))))
    total = np.zeros(batch)
    for start in range(0, X.shape[-2], rows):
        part = slice(start, start + rows)
        x, y = X[..., part, :] - first_x, Y[..., part, :] - first_y  # about the first points
        u, v = x, y
        if w is not None:
            each = w[..., part, None]
            u, v = x * each, y * each
            total += each[..., 0].sum(axis=-1)
        cross += np.swapaxes(y, -1, -2) @ u  # Σ w y xᵀ
        for k, (points, weighted) in enumerate(((x, u), (y, v))):
            sums[k][...] += weighted.sum(axis=-2)
            squares[k][...] += np.einsum("...ij,...ij->...", points, weighted)
    if w is None:
        total += X.shape[-2]
    if about_origin:
        zero = np.zeros((*batch, n))
        return Moments(total, zero, zero, cross, *squares)
    mean_x, mean_y = (part / total[..., None] for part in sums)
    # Σ w (y - ȳ)(x - x̄)ᵀ = Σ w y xᵀ - W ȳ x̄ᵀ
    cross -= total[..., None, None] * mean_y[..., :, None] * mean_x[..., None, :]
    square_x, square_y = (
        np.maximum(square - total * np.square(mean).sum(axis=-1), 0)
        for square, mean in zip(squares, (mean_x, mean_y), strict=True)
    )
    return Moments(total, mean_x + np.squeeze(first_x, -2), mean_y + np.squeeze(first_y, -2), cross, square_x, square_y)


def nearest_rotation(cross: Array, size: Array) -> Array:
    """Return the rotations Q (..., n, n) of greatest tr(Qᵀ cross); where there are several, that of greatest trace.

    Q = U diag(1, …, 1, det U det V) Vᵀ from cross = U S Vᵀ (Kabsch 1976, Umeyama 1991 eq. 40 to 43): never a
    reflection. Where singular values are zero beside ``size``, as those of points on a line of space, every rotation of
    what is left serves as well. The one of least angles there maximizes tr(Q), which is a Procrustes problem again:
    it is solved by adding δ times the identity's part on the null spaces, δ below the other singular values.
    """
    n = cross.shape[-1]
    U, S, Vt = np.linalg.svd(cross)
    # directions that the data determine
    known = TIES * float(np.finfo(cross.dtype).eps) * np.asarray(size)[..., None] < S
    if not known.all():
        free = ~known
        least = np.where(known, S, np.inf).min(axis=-1)
        delta = np.where(np.isfinite(least), least, 1.0)[..., None, None] / 2
        inner = delta * free[..., :, None] * free[..., None, :] * np.swapaxes(Vt @ U, -1, -2)
        inner += np.where(known, S, 0)[..., :, None] * np.eye(n)  # Uᵀ cross V + δ Uᵀ V on the null spaces
        A, _, Bt = np.linalg.svd(inner)
        U, Vt = U @ A, Bt @ Vt
    sign = np.linalg.det(U) * np.linalg.det(Vt)  # -1 for a reflection: then the least singular direction turns
    U[..., :, -1] *= np.where(sign < 0, -1, 1)[..., None]
    return np.asarray(U @ Vt)
