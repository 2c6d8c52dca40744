"""The rotor of a rotation matrix, in any dimension and over a batch at once."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_tolerance, describe, fail
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
        If F is no rotation: FᵀF ≠ 1, or a reflection.

    References
    ----------
    P. Lounesto, Clifford Algebras and Spinors, 2nd ed., 2001, section 17.1.

    Examples
    --------
    >>> import clifford_rand as cr
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
        rest = np.abs(np.swapaxes(matrix, -1, -2) @ matrix - np.eye(n, dtype=matrix.dtype)).max(initial=0)
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
        near = b[..., k : k + 1] >= 0
        v = np.where(near, b + basis[k], b - basis[k])
        v /= np.sqrt(np.square(v).sum(axis=-1, keepdims=True))
        u = np.where(near, basis[k], basis[k + 1])
        R = R * (alg.vector(v) * alg.vector(u))
        for w in (v, u):  # R_k⁻¹ = u v as two reflections of the columns
            rest -= 2 * w[..., :, None] * (w[..., None, :] @ rest)
    if n > 3:  # the grades of a product of vectors; for n ≤ 3 there are no others
        R = R.even()
    scale = np.where(R.scalar_part() < 0, -1, 1) / R.norm()
    return R.new(R.keys, R.coefficients * np.asarray(scale)[..., None].astype(matrix.dtype))
