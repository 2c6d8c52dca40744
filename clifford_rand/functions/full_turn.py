"""A full turn that commutes with a bivector: what takes exp(B) to -exp(B)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.functions.orthogonal_log import centraliser, skew_basis
from clifford_rand.functions.spectral import projector

Array = NDArray[Any]

_TRIES = 60  # generic elements of the centraliser
_CLUSTER = 1e-3  # relative: a Jordan block of size 3 spreads its eigenvalues by eps^(1/3) = 6e-6


def commuting_turn(L: Array, g: Array, eps: float) -> Array | None:
    """Return J in so(g) with JL = LJ, J² = -1 on a space of dimension 2 mod 4 and zero else, or None if there is none.

    exp(2πJ) = 1, while the rotor of 2πJ is -1. Candidates: the planes of L itself, fastest first, which keep the result
    small; the planes of two basis vectors; the planes of generic elements that commute with L.
    """
    d = len(g)
    scale = max(1.0, float(np.abs(L).max()))  # L is in radians: what is far below 1 is nothing, not a plane
    found = _turns(L) if np.abs(L).max() > 500 * eps else []
    if found:
        return min(found, key=lambda J: float(np.abs(J).max()))
    for i in range(d):
        for j in range(i + 1, d):
            if g[i] * g[j] > 0 and max(np.abs(L[[i, j]]).max(), np.abs(L[:, [i, j]]).max()) <= 50 * eps * scale:
                J = np.zeros((d, d))
                J[i, j], J[j, i] = g[j], -g[i]
                return J
    basis = skew_basis(g)
    level = np.abs(g)[:, None] * np.abs(g)
    flat = np.array([X for X in basis if np.abs(X * level).any()]).reshape(-1, d, d)  # without null vectors first: the
    best, least = None, np.inf  # planes through the origin
    for some in (flat, basis) if len(flat) < len(basis) else (basis,):
        commuting = centraliser(L, some, scale, eps)
        rng = np.random.default_rng(0)
        for _ in range(_TRIES if len(commuting) else 0):
            X = np.tensordot(rng.standard_normal(len(commuting)), commuting, axes=1)
            for J in _turns(X):
                size = float(np.abs(J).max())
                if size < least:
                    best, least = J, size
            if least < 1.5:
                break
        if best is not None:
            break
    return best


def _turns(X: Array) -> list[Array]:
    """Return the turns J on the spaces of imaginary eigenvalue pairs ±iω of X, where these have dimension 2 mod 4."""
    values = np.linalg.eigvals(X)
    scale = np.abs(values).max(initial=0.0)
    if not scale:
        return []
    speeds = sorted({float(z.imag) for z in values if z.imag > 0.03 * scale and abs(z.real) <= _CLUSTER * scale})
    found: list[Array] = []
    while speeds:
        fastest = speeds.pop()
        while speeds and speeds[-1] > fastest - _CLUSTER * scale:
            fastest = speeds.pop()

        def near(z: complex, at: float = fastest) -> bool:
            return abs(z - 1j * at) <= 2 * _CLUSTER * scale

        count = sum(map(near, values))
        if count % 2:
            try:
                P = projector(X, near)
            except np.linalg.LinAlgError:  # eigenvalues too close to be told apart: no plane from this X
                continue
            J = -2 * P.imag  # i(P - P*)
            square = J @ J  # a projector on 2 count dimensions: the eigenvalues of a nilpotent X give J = 0
            if np.abs(square @ J + J).max() <= 1e-6 * np.abs(J).max() and abs(np.trace(square) + 2 * count) < 1e-3:
                found.append(J)
    return found
