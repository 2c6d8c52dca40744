"""The logarithm of one even versor in so(G): candidates of the bivector, improved by Gauss-Newton steps."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import MV
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.functions.closed_log import closed_bivector
from clifford_rand.functions.closed_split import AGREES, unit_versors
from clifford_rand.functions.exponential import exponential
from clifford_rand.functions.orthogonal_log import commuting_turn, orthogonal_log, rotation_planes
from clifford_rand.functions.unit_form import Array, Frame

_EPS = float(np.finfo(np.float64).eps)
_STEP = 1e-8  # relative: of difference quotients
LARGEST_ERROR = 1e-4  # relative error of exp(log A) that is accepted where rounding of log A causes it
_STEPS = 6  # Newton: quadratic, and exact after three in null directions
MIXES = (0.618, -1.83)  # values of c
STRAIGHT = 1e-4  # angle below π by which a plane must turn less: at π its two eigenvalues are one


def log_of_one(frame: Frame, values: Array, eps: float) -> tuple[Any, Array] | None:
    """Return log s and B of one even element by its coefficients in an orthonormal frame; None if none is found."""
    columns, size, shift, is_versor = unit_versors(values[:, None], _number(frame), eps)
    R = frame.algebra.new(frame.even, columns[:, 0].copy())
    # R ~R is a number of a versor to round-off
    if not is_versor[0] or np.abs((R * ~R).coefficients[1:]).max(initial=0.0) > _tolerance(eps) * size[0]:
        return None
    # within the rounding of A ~A no scale is seen
    unit = not shift[0]
    scale = float(np.abs(R.coefficients).max())
    best: Any = None
    least = np.inf
    for B in _candidates(frame, R, eps):
        *candidate, residual = _polished(frame, R, 0.0, B, unit)
        if residual < least:
            best, least = candidate, residual
        if least <= 500 * eps * scale:
            break
    limit = _tolerance(eps) * scale
    if best is not None and limit < least <= LARGEST_ERROR * scale:
        limit = _rounding(frame, best[1], eps)
    if best is None or not least <= limit:
        return None
    return float(shift[0]) + best[0], best[1]


def _number(frame: Frame) -> Callable[[Array], Array]:
    """Return the function R ~R of rows (K, n), for what is a number of versors."""

    def number(rows: Array) -> Array:
        R = frame.algebra.new(frame.even, rows.T.copy())
        return np.asarray((R * ~R).coefficients[:, 0])

    return number


def _tolerance(eps: float) -> float:
    """Return the largest accepted error relative to max|R|: of R as a versor, and of exp(log R)."""
    return max(1e-9, 500 * eps)  # 6e-5 for float32


def _rounding(frame: Frame, B: Array, eps: float) -> float:
    """Return the change of exp(B) by rounding of B's components: 16 times the largest of eight random directions."""
    signs = np.random.default_rng(0).choice([-_STEP, _STEP], (8, len(B)))
    moved = frame.bivector(B + B * np.concatenate([signs, 0 * signs[:1]]))
    images = exponential(moved).on_keys(frame.even).coefficients
    return float(16 * eps / _STEP * np.abs(images[:-1] - images[-1]).max())


def _candidates(frame: Frame, R: MV, eps: float) -> Any:
    """Yield bivectors B with exp(B) = R but for rounding; first without, then with a full turn added."""
    d, live, null = frame.d, frame.live, frame.null
    closed = closed_bivector(R, eps)
    if closed is not None:
        yield closed
    vectors = frame.algebra.vector(np.eye(d))
    # the images of the basis vectors: the columns of M
    moved = R * vectors * ~R
    if np.abs(moved.coefficients).max() and moved.keys.grades != (1,):
        outside = tuple(k for k in moved.grades if k != 1)
        wrong = np.abs(moved.part(outside).coefficients).max(initial=0.0)
        if wrong > _tolerance(eps) * float((np.abs(R.coefficients) ** 2).sum()):
            return
    M = moved.select_keys(vectors.keys).coefficients.T
    M0, T = M[np.ix_(live, live)], M[np.ix_(null, live)]
    g = frame.signs[live]
    definite = bool((g > 0).all() or (g < 0).all())
    if definite:
        yield from _definite(frame, R, M0, T)
        return
    L0 = orthogonal_log(M0, g, eps)
    if L0 is None:
        return
    B, L = _assembled(frame, L0, T)
    if _nearer(frame, R, B):
        yield B
        return
    J = commuting_turn(L, frame.signs, eps)
    if J is None:
        return
    sign = -1.0 if np.abs(L - 2 * np.pi * J).max() <= np.abs(L + 2 * np.pi * J).max() else 1.0
    yield frame.from_action(L + sign * 2 * np.pi * J)
    yield frame.from_action(L - sign * 2 * np.pi * J)


def _definite(frame: Frame, R: MV, M0: Array, T: Array) -> Any:
    """Yield the candidates where the metric is definite but for null vectors: M0 is a rotation, a few planes turn."""
    n = len(M0)
    U, angles, order = rotation_planes(M0)
    B, _ = _assembled(frame, _turned(U, angles), T)
    if n < 2 or _nearer(frame, R, B):
        yield B
        return
    if len(order) and abs(angles[order[0]]) > 0.1:
        largest = order[0]
        angles = angles.copy()
        angles[largest] -= 2 * np.pi * (np.sign(angles[largest]) or 1.0)
        yield _assembled(frame, _turned(U, angles), T)[0]
        return
    # nearly no rotation: a full turn in a plane that neither turns nor is shifted, else in the one that turns most
    L0 = _turned(U, angles)
    both = np.concatenate([L0, T])
    plain = np.flatnonzero(np.abs(both).max(axis=0) <= 1e-14)
    _, sizes, V = np.linalg.svd(both)
    sizes = np.concatenate([sizes, np.zeros(n - len(sizes))])
    still = V[sizes <= 1e-14 * max(1.0, sizes.max(initial=0.0))]
    if len(plain) >= 2 or len(still) >= 2:
        b, a = np.eye(n)[plain[:2]] if len(plain) >= 2 else still[-2:]
        yield _assembled(frame, L0 + 2 * np.pi * (np.outer(a, b) - np.outer(b, a)), T)[0]
    for largest in order:
        if angles[largest]:
            turned = angles.copy()
            turned[largest] -= 2 * np.pi * np.sign(angles[largest])
            yield _assembled(frame, _turned(U, turned), T)[0]


def _turned(U: Array, angles: Array) -> Array:
    """Return the matrix that turns the plane of the columns 2k, 2k+1 of U by angles[k]."""
    first, second = U[:, 0 : 2 * len(angles) : 2], U[:, 1 : 2 * len(angles) : 2]
    half = (second * angles) @ first.T
    return half - half.T


def _assembled(frame: Frame, L0: Array, T: Array) -> tuple[Array, Array]:
    """Return the bivector and its action L = [[0, t], [0, L0]] with exp(L) = [[1, T], [0, exp(L0)]]: t φ1(L0) = T."""
    L = np.zeros((frame.d, frame.d))
    L[np.ix_(frame.live, frame.live)] = L0
    if T.size:
        t, *_ = np.linalg.lstsq(_phi1(L0).T, T.T, rcond=_EPS)
        L[np.ix_(frame.null, frame.live)] = t.T
    return frame.from_action(L), L


def _phi1(X: Array) -> Array:
    """Return (e^X - 1)/X = Σ X^k/(k+1)!, from the exponential of [[X, 1], [0, 0]]."""
    from scipy.linalg import expm

    n = len(X)
    block = np.zeros((2 * n, 2 * n))
    block[:n, :n], block[:n, n:] = X, np.eye(n)
    return np.asarray(expm(block)[:n, n:])


def _exp(frame: Frame, B: Array) -> Any:
    """Return exp(B): by the planes of B in a definite metric, else as `Multivector.exp` does."""
    if (frame.signs == frame.signs[0]).all() and frame.signs[0] and frame.d > 1:
        return frame.algebra.new(frame.even, exp_by_planes(frame, B[None])[0])
    return exponential(frame.bivector(B)).on_keys(frame.even)


def _nearer(frame: Frame, R: MV, B: Array) -> bool:
    """Tell whether exp(B) is nearer to R than to -R, in the blades without null vectors, where both are exact."""
    image = _exp(frame, B).coefficients
    null = sum(1 << int(i) for i in frame.null)
    kept = (frame.even.masks & null) == 0
    return float(np.abs((image - R.coefficients)[kept]).max()) <= float(np.abs((image + R.coefficients)[kept]).max())


def _polished(frame: Frame, R: MV, scalar: float, B: Array, unit: bool) -> tuple[float, Array, float]:
    """Return log s and B after Gauss-Newton steps, as long as they help, and max|s exp(B) - R|.

    exp(B + δ) = exp(B) exp(φ1(-ad B) δ + O(δ²)), so the step is the least-squares solution of exp(B) φ1(-ad B) δ =
    R - exp(B). (Solving for δ in exp(-B) R = 1 + … instead would multiply rounding by |R|² for large boosts.)
    """
    basis = frame.bivector(np.eye(frame.bivectors.size))
    scale = float(np.abs(R.coefficients).max())

    def image(scalar: float, B: Array) -> tuple[Any, Array, float]:
        E = _exp(frame, B) * np.exp(scalar)
        F = R.coefficients - E.coefficients
        return E, F, float(np.abs(F).max())

    between_null = np.isin(frame.upper, frame.null).all(axis=0)
    if between_null.any():  # no vector sees these blades, and they commute with all: exact, and first, as no other
        place = frame.even.place(frame.bivectors)  # component should take their part of the residual
        B = B + between_null * ((_exp(frame, -B) * R).on_keys(frame.even).coefficients[place])
    E, F, now = image(scalar, B)
    for _ in range(_STEPS):
        if not now or (now <= 2 * _EPS * scale and np.abs(B).max() > 1e-3):
            break
        ad = 2 * frame.bivector(B).commutator(basis).select_keys(frame.bivectors).coefficients.T
        with np.errstate(over="ignore", invalid="ignore"):
            columns = (E * basis).on_keys(frame.even).coefficients.T @ _phi1(-ad)
        if not unit:
            columns = np.concatenate([columns, E.coefficients[:, None]], axis=1)
        if not np.isfinite(columns).all():  # φ1 overflows where B is large and nearly null
            break
        step, *_ = np.linalg.lstsq(columns, F, rcond=1e-10)
        new = scalar if unit else scalar + step[-1], B + step[: len(B)]
        E, F, after = image(*new)
        if not after < now:
            break
        done = after > now / 4
        (scalar, B), now = new, after
        if done:
            break
    return scalar, B, now


# ---- a definite metric, over a batch: the planes that x ↦ R x R⁻¹ turns, also where they turn equally
#
# With M the matrix of the rotation, i(M - Mᵀ)/2 + c(M + Mᵀ)/2 is Hermitian and has the eigenvectors of M: its
# eigenvalues are sin θ + c cos θ for those e^{iθ} of M, so planes of one angle share an eigenvalue and no others but by
# chance of c. Then L = Σ iθ v v* is the logarithm of M, and where exp of its bivector is -R, a full turn is added in
# the plane that turns most.


def planes_log(frame: Frame, values: Array, eps: float) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return log s, the bivectors B, and where s exp(B) is the even element: ``values`` are (n, K) in the frame."""
    scales, B, fine = _by_mix(frame, values, eps, MIXES[0])
    for mix in MIXES[1:]:
        left = np.flatnonzero(~fine)
        if len(left):
            scales[left], B[left], fine[left] = _by_mix(frame, values[left], eps, mix)
    return scales, B, fine


def _by_mix(frame: Frame, values: Array, eps: float, mix: float) -> tuple[Array, Array, NDArray[np.bool_]]:
    columns, _, scales, fine = unit_versors(values.T, _number(frame), eps)
    rows = columns.T
    R = frame.algebra.new(frame.even, rows[:, None])
    vectors = frame.algebra.vector(np.eye(frame.d))
    M = np.swapaxes((R * vectors * ~R).select_keys(vectors.keys).coefficients, -1, -2)
    angles, V = _angles(M, mix)
    fine &= np.abs(angles).max(axis=1) < np.pi - STRAIGHT
    # L = Σ iθ v v*
    L = np.einsum("nij,nj,nkj->nik", V, 1j * angles, V.conj()).real
    B = frame.from_action(L)
    image = exp_by_planes(frame, B)
    # exp(B) is R or -R, as both turn vectors alike
    opposite = ((image - rows) ** 2).sum(axis=1) > ((image + rows) ** 2).sum(axis=1)
    if opposite.any():
        most = np.argmax(angles, axis=1)
        v = np.take_along_axis(V, most[:, None, None], axis=2)[:, :, 0]
        turn = -4 * np.pi * (1j * v[:, :, None] * v[:, None].conj()).real
        fine &= ~opposite | (angles.max(axis=1) > STRAIGHT)
        B = np.where(opposite[:, None], frame.from_action(L + turn), B)
        image = exp_by_planes(frame, B)
    fine &= np.abs(image - rows).max(axis=1) <= AGREES * eps * np.abs(rows).max(axis=1)
    return np.where(fine, scales, 0.0), B, fine


def _angles(M: Array, mix: float) -> tuple[Array, Array]:
    """Return the angles (n, d) of the eigenvalues of rotations (n, d, d), and orthonormal eigenvectors (n, d, d)."""
    turned = np.swapaxes(M, -1, -2)
    _, V = np.linalg.eigh(0.5j * (M - turned) + 0.5 * mix * (M + turned))
    values: Any = np.einsum("nji,njk,nki->ni", V.conj(), M, V)
    return np.angle(values), V


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
        # eigenvalues ascend and come in pairs ±θ: the upper half are the planes
        angle = values[:, k : k + 1]
        turn = frame.algebra.new(keys, np.concatenate([np.cos(angle), np.sin(angle) * plane], axis=1))
        X = turn.on_keys(frame.even) if X is None else (turn * X).on_keys(frame.even)
    return np.asarray(X.coefficients)
