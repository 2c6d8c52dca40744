"""Real logarithms of matrices that keep a metric: M = exp(L) with L in so(g), also where M has negative eigenvalues.

Invariant subspaces are those of the ordered Schur form; a full turn that commutes with a bivector B takes exp(B) to
-exp(B).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Choice = Callable[[complex], bool]

_EPS = float(np.finfo(np.float64).eps)
_COMMUTE = 500  # units of rounding: the relative size of XM - MX that counts as zero, for a logarithm to 1e-12
_TRIES = 60  # generic elements of a centraliser; one in three or more serves where any does (d ≤ 10)
_CLUSTER = 1e-3  # relative: a Jordan block of size 3 spreads its eigenvalues by eps^(1/3) = 6e-6


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
        # (sY - Y⁻¹/s)/2, s such that both terms have one size
        Y = step
        if change <= 8 * m * np.finfo(np.float64).eps * np.abs(Y).max():
            break
    return Y


def rotation_planes(M: Array) -> tuple[Array, Array, Array]:
    """Return orthonormal vectors U (n, n), angles and the order of the planes of an orthogonal M (n, n) with det M = 1.

    M turns the plane of the columns 2k, 2k+1 by ``angles[k]`` from the first towards the second; for odd n the last
    column is fixed. The real Schur form of a normal matrix is block diagonal, so equal and nearly equal angles are no
    trouble. The order is by falling |angle|.
    """
    from scipy.linalg import schur

    n = len(M)
    T, Z = schur(M, output="real")
    pairs: list[tuple[int, int, float]] = []
    single: dict[bool, list[int]] = {True: [], False: []}
    k = 0
    while k < n:
        if k + 1 < n and T[k + 1, k] != 0:
            sine = (T[k + 1, k] - T[k, k + 1]) / 2
            pairs.append((k, k + 1, float(np.arctan2(sine, (T[k, k] + T[k + 1, k + 1]) / 2))))
            k += 2
        else:
            single[bool(T[k, k] < 0)].append(k)
            k += 1
    for negative, angle in ((True, np.pi), (False, 0.0)):
        row = single[negative]
        pairs += [(row[i], row[i + 1], angle) for i in range(0, len(row) - 1, 2)]
    columns = [i for pair in pairs for i in pair[:2]]
    columns += [i for i in range(n) if i not in columns]
    angles = np.array([pair[2] for pair in pairs])
    return Z[:, columns], angles, np.argsort(-np.abs(angles), kind="stable")


def principal_log(M: Array) -> Array:
    """Return the logarithm of M with eigenvalues in |Im| < π, for M without eigenvalues on the negative axis.

    By eigenvectors where they are well conditioned; else by square roots (Denman and Beavers 1976, which keeps the
    group) until M is near 1, and log M = 2 artanh((M - 1)(M + 1)⁻¹), whose argument is again in so(g).
    """
    identity = np.eye(len(M))
    values, vectors = np.linalg.eig(M)
    if np.linalg.cond(vectors) < 1e3:
        L = (vectors * np.log(values.astype(np.complex128))) @ np.linalg.inv(vectors)
        return np.asarray(L if M.dtype.kind == "c" else L.real)
    doublings = 0
    while np.abs(M - identity).sum(axis=0).max() > 0.25 and doublings < 64:
        M = square_root(M)
        doublings += 1
    # log M = 2 artanh C with C = (M - 1)(M + 1)⁻¹
    C = np.linalg.solve(M + identity, M - identity)
    square, total = C @ C, np.zeros_like(C)
    for k in range(19, 0, -2):  # |C| ≤ 1/7: the term left out is below 1e-17
        total = total @ square + identity / k
    return np.asarray(2.0 ** (doublings + 1) * (C @ total))


def square_root(M: Array) -> Array:
    """Return the root of M whose eigenvalues have positive real parts, by the iteration of Denman and Beavers."""
    Y, Z = M, np.eye(len(M))
    for _ in range(40):
        after = (Y + np.linalg.inv(Z)) / 2
        Z = (Z + np.linalg.inv(Y)) / 2
        change = np.abs(after - Y).max()
        Y = after
        if change <= 4 * len(M) * _EPS * np.abs(Y).max():
            break
    return Y


def centraliser(M: Array, basis: Array, scale: float, eps: float) -> Array:
    """Return a basis (m, d, d) of the combinations X of ``basis`` (k, d, d) with XM = MX to rounding of ``scale``."""
    if not len(basis):
        return basis
    # Σ x_k (X_k M - M X_k) = 0
    equations = (basis @ M - M @ basis).reshape(len(basis), -1)
    U, sizes, _ = np.linalg.svd(equations, full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(len(U) - len(sizes))])
    return np.tensordot(U[:, sizes <= _COMMUTE * eps * len(M) * scale].T, basis, axes=1)


def skew_basis(g: Array) -> Array:
    """Return a basis of so(g): the matrices L with L^T diag(g) + diag(g) L = 0 that vanish on null vectors."""
    d = len(g)
    generators = []
    for i in range(d):
        for j in range(i + 1, d):
            if g[i] or g[j]:
                X = np.zeros((d, d))
                X[i, j], X[j, i] = g[j], -g[i]
                generators.append(X)
    return np.array(generators).reshape(-1, d, d)


def orthogonal_log(M: Array, g: Array, eps: float) -> Array | None:
    """Return a real L with exp(L) = M and L^T g + g L = 0, or None if there is none.

    The eigenvalues away from the negative axis have their principal logarithm. The space W of the others is split off,
    and there L = log(-M) + πJ with a complex structure J of so(g) that commutes with M (a generic element of the
    centraliser made one); without such a J there is no real logarithm (Culver 1966, in so(g)).
    """
    values = np.linalg.eigvals(M)
    away = np.pi - np.abs(np.angle(values))
    cut = _widest_gap(away)
    if not values.all():  # the inverse of a large boost, lost to rounding
        return None
    if not (away < cut).any():
        return principal_log(M)

    def in_W(z: complex) -> bool:
        return bool(np.pi - abs(np.angle(z)) < cut)

    try:
        W = real_basis(invariant_subspace(M, in_W))
        rest = real_basis(invariant_subspace(M, lambda z: not in_W(z)))
    except np.linalg.LinAlgError:  # the two sets cannot be told apart to rounding, so that no logarithm can be verified
        return None
    if W.shape[1] % 2 or W.shape[1] + rest.shape[1] != len(M):
        return None
    # an orthonormal basis of W, in which generic elements of so(W) are as good as those of so(g)
    squares, turn = np.linalg.eigh(W.T @ (g[:, None] * W))
    W = W @ (turn / np.sqrt(np.abs(squares)))
    h = np.sign(squares)
    left = h[:, None] * W.T * g  # left @ W = 1 and left @ rest = 0, as W is orthogonal to the rest
    N = -(left @ M @ W)
    # rounding of N in units of eps: that of the product alone, for N is small beside a large boost, then with an error
    # of max|M| in every entry of M, as M = R x R⁻¹ has it
    for size in (np.abs(M), np.full_like(M, np.abs(M).max())):
        J = _structure(N, h, float((np.abs(left) @ size @ np.abs(W)).max()), eps)
        if J is not None:
            break
    if J is None:
        return None
    H = principal_log(N)
    if np.abs(H - np.pi * J).max() < np.abs(H + np.pi * J).max():
        J = -J  # towards angles below π
    # log(-M) + πJ on W, the principal logarithm on the rest
    L = W @ (H + np.pi * J) @ left
    if rest.shape[1]:
        inverse = np.linalg.pinv(rest)
        inverse = inverse - inverse @ W @ left
        L = L + rest @ principal_log(inverse @ M @ rest) @ inverse
    return np.asarray(L)


def _widest_gap(away: Array) -> float:
    """Return a cut between 0.1 and 0.8 in the widest gap of the angles to the negative axis."""
    inside = np.sort(away[(away > 0.1) & (away < 0.8)])
    edges = np.concatenate([[0.1], inside, [0.8]])
    widest = int(np.argmax(np.diff(edges)))
    return float(edges[widest] + edges[widest + 1]) / 2


def _structure(N: Array, h: Array, scale: float, eps: float) -> Array | None:
    """Return J in so(h) with J² = -1 and JN = NJ to rounding of ``scale``, or None; of several, that of least norm."""
    commuting = centraliser(N, skew_basis(h), scale, eps)
    if not len(commuting):
        return None
    rng = np.random.default_rng(0)
    compact = np.equal.outer(h, h)
    best, least = None, np.inf
    for trial in range(_TRIES):
        weights = rng.standard_normal(len(commuting))
        if trial % 2:  # every other time with more weight on turns than on boosts, which have real eigenvalues
            weights = weights * np.einsum("kij,ij->k", np.abs(commuting), compact) ** 2
        X = np.tensordot(weights, commuting, axes=1)
        values = np.linalg.eigvals(X)
        if np.abs(values.imag).min() <= 1e-3 * np.abs(values).max():
            continue
        J = complex_structure(X)
        size = float(np.abs(J).max())
        if np.isfinite(size) and size < least:
            best, least = J, size
        if least < 1.5:
            break
    return best


def commuting_turn(L: Array, g: Array, eps: float) -> Array | None:
    """Return J in so(g) with JL = LJ, J² = -1 on a space of dimension 2 mod 4 and zero else, or None if there is none.

    exp(2πJ) = 1, while the rotor of 2πJ is -1. Candidates: the planes of L itself, fastest first, which keep the result
    small; the planes of two basis vectors; the planes of generic elements that commute with L.
    """
    d = len(g)
    scale = max(1.0, float(np.abs(L).max()))  # L is in radians: what is far below 1 is nothing, not a plane
    turns = _turns(L) if np.abs(L).max() > 500 * eps else []
    if turns:
        return min(turns, key=lambda J: float(np.abs(J).max()))
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
    structures: list[Array] = []
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
            except np.linalg.LinAlgError:  # eigenvalues too close to be separated: no plane from this X
                continue
            J = -2 * P.imag  # i(P - P*)
            square = J @ J  # a projector on 2 count dimensions: the eigenvalues of a nilpotent X give J = 0
            if np.abs(square @ J + J).max() <= 1e-6 * np.abs(J).max() and abs(np.trace(square) + 2 * count) < 1e-3:
                structures.append(J)
    return structures
