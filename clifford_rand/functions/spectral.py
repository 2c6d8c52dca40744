"""Invariant subspaces and spectral projectors of small matrices, by the ordered Schur form."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Choice = Callable[[complex], bool]


def invariant_subspace(X: Array, choose: Choice) -> Array:
    """Return an orthonormal basis (d, m), complex, of the invariant subspace of the chosen eigenvalues."""
    from scipy.linalg import schur

    _, Z, m = schur(X.astype(np.complex128), output="complex", sort=choose)
    return np.asarray(Z[:, :m])


def projector(X: Array, choose: Choice) -> Array:
    """Return the spectral projector (d, d), complex, on the invariant subspace of the chosen eigenvalues."""
    right, left = invariant_subspace(X, choose), invariant_subspace(X.T, choose)
    if not right.shape[1] == left.shape[1] > 0:
        return np.zeros(X.shape, dtype=np.complex128)
    return np.asarray(right @ np.linalg.solve(left.T @ right, left.T))


def real_basis(Q: Array) -> Array:
    """Return an orthonormal real basis of a complex subspace (d, m) that complex conjugation maps to itself."""
    U, _, _ = np.linalg.svd(np.concatenate([Q.real, Q.imag], axis=1))
    return np.asarray(U[:, : Q.shape[1]])


def complex_structure(X: Array) -> Array:
    """Return J = X (-X²)^{-1/2}, a function of X with J² = -1, for a real X without real eigenvalues.

    Newton's iteration Y ← (sY - Y⁻¹/s)/2 for the sign of -iX, in real numbers (Higham, Functions of Matrices, 5.16).
    """
    Y = X.copy()
    m = len(X)
    for _ in range(60):
        inverse = np.linalg.inv(Y)
        scale = np.sqrt(np.abs(inverse).max() / np.abs(Y).max())
        scale = 1.0 if abs(scale - 1) < 0.1 else scale
        step = (scale * Y - inverse / scale) / 2
        change = np.abs(step - Y).max()
        Y = step
        if change <= 8 * m * np.finfo(np.float64).eps * np.abs(Y).max():
            break
    return Y
