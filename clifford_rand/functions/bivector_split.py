"""The split of a bivector into simple bivectors that commute: antisymmetric matrices in orthogonal planes."""

import itertools
import math
from typing import Any

import numpy as np

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import as_components, from_components
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.closed_split import MOST, split_code
from clifford_rand.functions.orthogonal_log import invariant_subspace, real_basis
from clifford_rand.functions.unit_form import LARGEST_DIMENSION, Array, frame_of, span_form, working_dtype


def split(B: MV, *, rtol: float = 1e-9) -> tuple[MV, ...]:
    """Return simple bivectors B_i with B = Σ B_i and B_i B_j = B_i∧B_j = B_j B_i, so exp(B) = Π exp(B_i).

    The planes of the B_i are orthogonal eigenplanes of x ↦ Bx - xB, of eigenvalues ±2λ_i with B_i² = λ_i². Where
    λ_i² is not real, which takes two positive and two negative directions, the parts are complex. A bivector that
    turns several planes equally fast has many splits, of which one is returned: at most d/2 bivectors, none for B = 0;
    in a batch, shorter splits are filled up with zeros.

    Parameters
    ----------
    rtol : float, default=1e-9
        How exact a split must be: sum, simplicity and orthogonality, relative to the components.

    Raises
    ------
    ArgumentError
        If B is not a bivector, or has no split: some with coinciding λ in indefinite metrics do not.

    Examples
    --------
    >>> screw = cr.Algebra.pga(3)("e01 + 2.0*e23")
    >>> [str(part.sparse()) for part in screw.bivector_split()]
    ['2.0*e23', 'e01']
    """
    d, rtol = B.algebra.d, check_tolerance(rtol, 1e-9, "bivector_split")
    if any(k != 2 for k in B.grades):
        if any(B.grade(k).coefficients.any() for k in B.grades if k != 2):
            raise fail("B", "bivector_split", "a bivector", describe(f"grades {B.grades}"), "For a rotor take R.log().")
        B = B.grade(2)
    if not np.asarray(B.coefficients != 0, dtype=bool).any():
        return ()
    if d <= 3:
        return (B,)  # every bivector is simple
    form = span_form(B, LARGEST_DIMENSION)
    if form is not None:
        return tuple(form.give(part, B) for part in split(form.take(B.sparse()), rtol=rtol))
    work: Any = working_dtype(B, "bivector_split")
    kept: Any = B.dtype if B.dtype.kind in "fc" else work
    keys = keys_of_grades(d, (2,))
    count = math.prod(B.shape)
    left = np.ones(count, dtype=bool)
    array = np.zeros((0, keys.size, count), dtype=work)
    if work.kind == "f" and d <= MOST:
        array, done = split_code(B.algebra.form).split(as_components(B.on_keys(keys).coefficients).astype(work))
        left = ~done
    if left.any():
        array = _with_general(B, array, np.flatnonzero(left), rtol, work)
    target = np.result_type(kept, np.complex64) if array.dtype.kind == "c" else kept
    return tuple(B.new(keys, from_components(part.astype(target), B.shape)) for part in array)


def _with_general(B: MV, array: Array, left: Array, rtol: float, work: Any) -> Array:
    """Return the parts (m, K, N) with those of the elements ``left``, one by one in an orthonormal frame."""
    frame = frame_of(B, "bivector_split")
    flat = as_components(B.on_keys(frame.bivectors).coefficients)[:, left]
    rows = frame.enter(B.new(frame.bivectors, flat.T), frame.bivectors, work).coefficients
    splits = []
    for row in rows:
        planes = commuting_planes(frame.matrix(row), frame.signs, rtol)
        if planes is None:
            received = describe(f"one for which none was found to a relative error of {rtol:.1g}")
            hint = "There is none where x ↦ Bx - xB has a Jordan block beyond those of a null rotation."
            raise fail("B", "bivector_split", "a sum of commuting simple bivectors", received, hint)
        splits.append([plane[frame.upper] for plane in planes])
    dtype = np.result_type(array, *(plane for planes in splits for plane in planes))
    result = np.zeros((max(len(array), *map(len, splits)), *array.shape[1:]), dtype=dtype)
    result[: len(array)] = array
    for k in range(len(result)):
        parts = np.array([planes[k] if k < len(planes) else np.zeros(len(frame.upper[0])) for planes in splits])
        result[k][:, left] = frame.leave(frame.bivector(parts.astype(dtype)), B, dtype).coefficients.T
    return result


_CLUSTERS = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13)  # relative distances of eigenvalues that are tried as equal
_RANKS = (1e-14, 1e-12, 1e-9)  # relative singular values of the nilpotent rest that are tried as zero


def commuting_planes(b: Array, g: Array, rtol: float) -> list[Array] | None:
    """Return antisymmetric matrices of rank 2 with sum b in planes that are orthogonal in the metric g, or None.

    The planes are eigenplanes of b diag(g): for the eigenvalues ±λ, and for λ = 0 those of a nilpotent rest. Which
    eigenvalues are equal is not decided in advance: several answers are tried, and the most exact split is returned.
    """
    scale = float(np.abs(b).max(initial=0.0))
    if not scale:
        return []
    b = b / scale
    if misfit([b], b, g) <= rtol * 1e-3:
        return [b * scale]
    definite = b.dtype.kind == "f" and bool((g > 0).all() or (g < 0).all())
    best: list[Array] | None = None
    least = np.inf
    for gap, rank in ((0.0, 0.0),) if definite else itertools.product(_CLUSTERS, _RANKS):
        try:
            parts = skew_planes(b) if definite else _split(b, g, gap, rank)
        except np.linalg.LinAlgError:  # a Schur form that cannot be reordered: this answer is out, others are tried
            continue
        if parts is None:
            continue
        error = misfit(parts, b, g)
        if error < least:
            best, least = parts, error
        if least <= 1e-14:
            break
    if best is None or not least <= rtol:
        return None
    return [part * scale for part in best]


def misfit(parts: list[Array], b: Array, g: Array) -> float:
    """Return by how much the parts fail to be simple, orthogonal to one another, and to add up to b.

    Relative to the largest component: a small part beside a large one is known to its rounding only.
    """
    whole = max([np.abs(b).max(), *(np.abs(part).max() for part in parts)])
    worst = float(np.abs(sum(parts, np.zeros_like(b)) - b).max() / whole)
    for i, part in enumerate(parts):
        size = np.abs(part).max()
        unit = part / size
        row, column = np.unravel_index(int(np.abs(unit).argmax()), unit.shape)
        u, v = unit[:, column], unit[:, row]
        plane = np.outer(u, v) - np.outer(v, u)
        simple = float(np.abs(unit - plane * (unit[row, column] / plane[row, column])).max())
        worst = max(worst, simple * float(size / whole))
        for earlier in parts[:i]:
            overlap = (part * g) @ earlier
            worst = max(worst, float(np.abs(overlap).max() / (whole * max(size, np.abs(earlier).max()))))
    return worst


def skew_planes(b: Array) -> list[Array]:
    """Return the planes of a real antisymmetric matrix, orthogonal in the plain sense: its real Schur form."""
    from scipy.linalg import schur

    T, Z = schur(b, output="real")
    limit = 4 * len(b) * np.finfo(np.float64).eps * np.abs(b).max(initial=0.0)
    blocks = []
    k = 0
    while k + 1 < len(b):
        value = (T[k, k + 1] - T[k + 1, k]) / 2
        if abs(value) > limit:
            blocks.append(value * (np.outer(Z[:, k], Z[:, k + 1]) - np.outer(Z[:, k + 1], Z[:, k])))
            k += 2
        else:
            k += 1
    return blocks


def _split(b: Array, g: Array, gap: float, rank: float) -> list[Array] | None:
    # x ↦ x⌋B on vectors: eigenvalues ±λ with λ² = B_i²
    X = b * g
    values = np.linalg.eigvals(X)
    scale = float(np.abs(values).max(initial=0.0))
    parts: list[Array] = []
    left = [complex(z) for z in values if abs(z) > gap * max(scale, float(np.abs(b).max()))]
    while left:
        center = left[0]
        near = [z for z in left if abs(z - center) <= gap * scale]
        pair = [z for z in left if abs(z + center) <= gap * scale]
        if len(near) != len(pair):
            return None
        center = sum(near) / len(near)
        if b.dtype.kind == "f":  # eigenvalues of a real matrix that are real or imaginary but for rounding
            least = max(gap, 1e-9) * abs(center)
            center = complex(*(0.0 if abs(x) <= least else x for x in (center.real, center.imag)))
        left = [z for z in left if min(abs(z - center), abs(z + center)) > 2 * gap * scale + 1e-9 * abs(center)]
        eigenplanes = _eigenplanes(X, g, center, 2 * gap * scale + 1e-9 * abs(center), len(near), b.dtype)
        if eigenplanes is None:
            return None
        parts += eigenplanes
    rest = b - sum(parts, np.zeros_like(b))
    if b.dtype.kind == "f" and rest.dtype.kind == "c" and np.abs(rest.imag).max() <= 1e-12:
        rest = rest.real
    if np.abs(rest).max() <= rank:
        return parts
    nilpotent = _nilpotent_planes((rest - rest.T) / 2, g, rank)
    return None if nilpotent is None else parts + nilpotent


def _eigenplanes(X: Array, g: Array, value: complex, radius: float, count: int, kind: Any) -> list[Array] | None:
    """Return the planes λ u∧w of eigenvectors u of λ and w of -λ with uᵀ diag(g) w = 1, for semisimple ±λ."""
    U = invariant_subspace(X, lambda z: abs(z - value) <= radius)
    W = invariant_subspace(X, lambda z: abs(z + value) <= radius)
    if U.shape[1] != count or W.shape[1] != count:
        return None
    real = kind.kind == "f" and value.imag == 0
    if real:
        U, W = real_basis(U), real_basis(W)
    elif kind.kind == "f" and value.real == 0:
        return _turning_planes(X, g, U)
    # u_i · w_j, made the identity: then X = Σ λ_i (u_i w_iᵀ - w_i u_iᵀ) g
    pairing = U.T @ (g[:, None] * W)
    if np.linalg.cond(pairing) > 1e12:
        return None
    W = W @ np.linalg.inv(pairing)
    small = W.T @ (g[:, None] * (X @ U))  # X on U, in the basis U
    any_basis = np.diag(small), np.eye(count)  # serves for eigenvalues that are equal to rounding
    spread, turn = np.linalg.eig(small) if np.abs(small - np.diag(any_basis[0])).max() > 1e-14 else any_basis
    if np.linalg.cond(turn) > 1e6 or (real and spread.imag.any()):
        spread, turn = any_basis
    elif real:
        spread, turn = spread.real, turn.real
    U, W = U @ turn, W @ np.linalg.inv(turn).T
    return [spread[k] * (np.outer(U[:, k], W[:, k]) - np.outer(W[:, k], U[:, k])) for k in range(count)]


def _turning_planes(X: Array, g: Array, U: Array) -> list[Array] | None:
    """Return the real planes of an imaginary λ: of u and its conjugate, for u orthogonal in the form h(u, v) = uᵀ g v*.

    Eigenvectors in U, made orthogonal one after another: where eigenvalues nearly coincide this leaves an error of
    their difference times that of the eigenvectors. Where they do coincide, any basis that is orthogonal in h serves.
    """
    # the Hermitian form of the metric on the eigenspace
    h = U.T @ (g[:, None] * U.conj())
    A = U.conj().T @ X @ U
    best: list[Array] | None = None
    least = np.inf
    for C in (np.linalg.eig(A)[1], np.linalg.eigh(h.conj())[1]):
        C = C.copy()
        lengths: list[float] = []
        for k in range(C.shape[1]):
            for j in range(k):
                C[:, k] -= C[:, j] * ((C[:, k] @ h @ C[:, j].conj()) / lengths[j])
            C[:, k] /= np.linalg.norm(C[:, k])
            lengths.append((C[:, k] @ h @ C[:, k].conj()).real)
            if abs(lengths[-1]) <= 1e-10:
                break
        else:
            speed = np.linalg.solve(C, A @ C)
            error = np.abs(speed - np.diag(np.diag(speed))).max()
            if error < least:
                u, least = U @ C, error
                factors = [-2 * speed[k, k].imag / length for k, length in enumerate(lengths)]
                best = [factor * np.outer(v, v.conj()).imag for factor, v in zip(factors, u.T, strict=True)]
    return None if best is None else [(plane - plane.T) / 2 for plane in best]


def _nilpotent_planes(b: Array, g: Array, tol: float) -> list[Array] | None:
    """Split b with (b diag(g))³ = 0, which no eigenvector sees.

    On the image of b there are a symplectic form b⁻¹ and the metric G_S = Σ ε_i y_i y_iᵀ. The vectors x_i = b y_i are
    in the kernel of G_S; with p_i such that y_j·p_i = δ_ij, and orthogonal in the symplectic form, x_i∧p_i splits off.
    In what remains the metric is zero, and any symplectic basis serves.
    """
    if b.dtype.kind == "c":
        return [b] if misfit([b], b, g) <= tol else None
    U, sizes, _ = np.linalg.svd(b)
    Q = U[:, sizes > tol * max(1.0, sizes[0])]
    m = Q.shape[1]
    if m % 2:
        return None
    if not m:
        return []
    beta = Q.T @ b @ Q
    metric = Q.T @ (g[:, None] * Q)
    values, Y = np.linalg.eigh((metric + metric.T) / 2)
    Y = Y[:, np.abs(values) > 1e-9]
    rest, split_off = beta, []
    if Y.shape[1] > m // 2:
        return None
    if Y.shape[1]:
        x = beta @ Y
        p = Y.copy()  # y_j·p_i = δ_ij
        omega = np.linalg.inv(beta)
        products = p.T @ omega @ p
        # ω(p_i, x_j) = p_iᵀ β⁻¹ β y_j = δ_ij: add half of ω(p_i, p_j) in x to make the p_i orthogonal to one another
        p = p + x @ products.T / 2
        for k in range(Y.shape[1]):
            plane = np.outer(x[:, k], p[:, k]) - np.outer(p[:, k], x[:, k])
            rest = rest - plane
            split_off.append(plane)
    remaining = skew_planes((rest - rest.T) / 2)  # as many as the rank says, the rest of them is rounding
    remaining.sort(key=lambda plane: -float(np.abs(plane).max()))
    split_off += remaining[: m // 2 - Y.shape[1]]
    return [Q @ plane @ Q.T for plane in split_off]
