"""log R where the metric is definite, over a batch: the planes that x ↦ R x R⁻¹ turns, also where they turn equally.

With M the matrix of the rotation, i(M - Mᵀ)/2 + c(M + Mᵀ)/2 is Hermitian and has the eigenvectors of M: its eigenvalues
are sin θ + c cos θ for those e^{iθ} of M, so planes of one angle share an eigenvalue and no others but by chance of c.
Then L = Σ iθ v v* is the logarithm of M, and where exp of its bivector is -R, a full turn is added in the plane that
turns most.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.frame import Array, Frame

MIXES = (0.618, -1.83)  # values of c
STRAIGHT = 1e-4  # angle below π by which a plane must turn less: at π its two eigenvalues are one
AGREES = 500  # units of rounding, relative to max|R|, by which exp(log R) may differ from R
UNIT = 64  # units of rounding, relative to Σ R_i², within which R ~R is 1


def planes_log(frame: Frame, values: Array, eps: float) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return log s, the bivectors B, and where s exp(B) is the even element: ``values`` are (n, K) in the frame."""
    scales, B, fine = _by_mix(frame, values, eps, MIXES[0])
    for mix in MIXES[1:]:
        left = np.flatnonzero(~fine)
        if len(left):
            scales[left], B[left], fine[left] = _by_mix(frame, values[left], eps, mix)
    return scales, B, fine


def _by_mix(frame: Frame, values: Array, eps: float, mix: float) -> tuple[Array, Array, NDArray[np.bool_]]:
    largest = np.abs(values).max(axis=1)
    fine = (largest > 1e-87) & (largest < 1e87)
    rows = values / np.where(fine, largest, 1.0)[:, None]
    R = frame.algebra.new(frame.even, rows)
    squared, size = (R * ~R).coefficients[:, 0], (rows * rows).sum(axis=1)
    fine &= squared > UNIT * eps * size
    unit = np.abs(squared * largest**2 - 1) <= UNIT * eps * size * largest**2
    scale = np.where(fine, np.where(unit, 1 / np.where(fine, largest, 1.0), np.sqrt(np.where(fine, squared, 1.0))), 1.0)
    rows = rows / scale[:, None]
    R = frame.algebra.new(frame.even, rows[:, None])
    vectors = frame.algebra.vector(np.eye(frame.d))
    M = np.swapaxes((R * vectors * ~R).select_keys(vectors.keys).coefficients, -1, -2)
    angles, V = _angles(M, mix)
    fine &= np.abs(angles).max(axis=1) < np.pi - STRAIGHT
    L = np.einsum("nij,nj,nkj->nik", V, 1j * angles, V.conj()).real
    B = _bivectors(frame, L)
    image = exp_by_planes(frame, B)
    opposite = ((image - rows) ** 2).sum(axis=1) > ((image + rows) ** 2).sum(axis=1)
    if opposite.any():
        most = np.argmax(angles, axis=1)
        v = np.take_along_axis(V, most[:, None, None], axis=2)[:, :, 0]
        turn = -4 * np.pi * (1j * v[:, :, None] * v[:, None].conj()).real
        fine &= ~opposite | (angles.max(axis=1) > STRAIGHT)
        B = np.where(opposite[:, None], _bivectors(frame, L + turn), B)
        image = exp_by_planes(frame, B)
    fine &= np.abs(image - rows).max(axis=1) <= AGREES * eps * np.abs(rows).max(axis=1)
    return np.where(unit, 0.0, np.log(np.where(fine, scale * largest, 1.0))), B, fine


def _angles(M: Array, mix: float) -> tuple[Array, Array]:
    """Return the angles (n, d) of the eigenvalues of rotations (n, d, d), and orthonormal eigenvectors (n, d, d)."""
    turned = np.swapaxes(M, -1, -2)
    _, V = np.linalg.eigh(0.5j * (M - turned) + 0.5 * mix * (M + turned))
    values: Any = np.einsum("nji,njk,nki->ni", V.conj(), M, V)
    return np.angle(values), V


def _bivectors(frame: Frame, L: Array) -> Array:
    """Return the bivectors (n, d(d-1)/2) with the actions L (n, d, d) on vectors: see `Frame.from_action`."""
    scaled = L * frame.signs / 4
    return np.asarray((scaled - np.swapaxes(scaled, -1, -2))[:, frame.upper[0], frame.upper[1]])


def exp_by_planes(frame: Frame, B: Array) -> Array:
    """Return exp(B), (n, K), of bivectors (n, d(d-1)/2) of a definite metric: Π (cos θ_k + sin θ_k P_k).

    With b w = -iθ w for the antisymmetric matrix b of B and w = (y + ix)/√2, x ∧ y is a plane, turned by θ.
    """
    i, j = frame.upper
    b = np.zeros((len(B), frame.d, frame.d))
    b[:, i, j] = B
    values, vectors = np.linalg.eigh(1j * (b - np.swapaxes(b, -1, -2)))
    keys = keys_of_grades(frame.d, (0, 2))
    X: Any = None
    for k in range(frame.d - frame.d // 2, frame.d):
        x, y = np.sqrt(2) * vectors.imag[:, :, k], np.sqrt(2) * vectors.real[:, :, k]
        plane = x[:, i] * y[:, j] - x[:, j] * y[:, i]
        angle = values[:, k : k + 1]
        turn = frame.algebra.new(keys, np.concatenate([np.cos(angle), np.sin(angle) * plane], axis=1))
        X = turn.on_keys(frame.even) if X is None else (turn * X).on_keys(frame.even)
    return np.asarray(X.coefficients)
