"""Objectives and lower bounds of stored networks in 60-digit arithmetic, from the float64 inputs and textbook formulas.

Nothing of the library's losses, duality or pricing is used, only what a fit stores: weights, gates and their patterns,
dictionary atoms, kernel parameters, dual points. Searches over neurons run in double precision and are evaluated in
the exact arithmetic; a search over patterns returns an exact upper bound, by the dual of its projections.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from scipy.optimize import nnls

from clifford_rand_nn.certificates.claims import GatedClaim, KernelClaim
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.neurons import Neurons

mp = mpmath.mp.clone()
mp.dps = 60


def _elementwise(function):
    return np.frompyfunc(function, 1, 1)


exact = _elementwise(mp.mpf)
_log, _exp, _sqrt, _acos, _tanh = map(_elementwise, (mp.log, mp.exp, mp.sqrt, mp.acos, mp.tanh))
_NEAR = 1e-10  # share below the largest value, up to which a search in double precision leaves neurons to compare
_ROUNDED = mp.mpf(10) ** -40  # of what is added up: sums below are none
_MOST_STEPS = 40


@dataclass
class Data:
    """Rows that count, targets (n, C) as the loss takes them, weights (n, 1) of mean 1 in exact arithmetic."""

    X: Any
    y: Any
    weights: Any
    loss: str
    delta: float

    @classmethod
    def of(cls, X, y, weights, loss, delta):
        """Take the rows of weight above 0."""
        kept = np.ones(len(X), dtype=bool) if weights is None else weights > 0
        omega = exact(np.ones(len(X)) if weights is None else weights)[kept]
        omega = omega * (len(omega) / omega.sum())
        return cls(X[kept], exact(y[kept]), omega[:, None], loss, exact(np.float64(delta)))


def mean_loss(data, f):
    """Weighted mean of the losses of exact predictions f (n, C)."""
    y, delta, r = data.y, data.delta, abs(f - data.y)
    match data.loss:
        case "squared":
            each = r * r / 2
        case "huber":
            each = np.where((r <= delta).astype(bool), r * r / 2, delta * r - delta**2 / 2)
        case "log_cosh":
            each = delta**2 * _log_cosh(r / delta)
        case "squared_hinge":
            each = np.maximum(1 - y * f, exact(0.0)) ** 2 / 2
        case "logistic":
            each = _log(1 + _exp(-y * f))
        case "softmax":
            each = _log(_exp(f).sum(axis=1, keepdims=True)) - (y * f).sum(axis=1, keepdims=True)
    return (data.weights * each).sum() / len(f)


@_elementwise
def _log_cosh(u):
    return u**2 / 2 - u**4 / 12 if u < 1e-15 else u + mp.log1p(mp.exp(-2 * u)) - mp.log(2)


def residual(data, f):
    """Minus the weighted gradient, (n, C), of exact predictions."""
    y, delta = data.y, data.delta
    match data.loss:
        case "squared":
            theta = y - f
        case "huber":
            theta = np.maximum(np.minimum(y - f, delta), -delta)
        case "log_cosh":
            theta = delta * _tanh((y - f) / delta)
        case "squared_hinge":
            theta = y * np.maximum(1 - y * f, exact(0.0))
        case "logistic":
            theta = y / (1 + _exp(y * f))
        case "softmax":
            p = _exp(f)
            theta = y - p / p.sum(axis=1, keepdims=True)
    return data.weights * theta


def residual_at_best_intercept(data, f, intercept):
    """Residual of f, whose intercept is that of least loss where rounding of it unbalances the residuals of reals."""
    theta = residual(data, f)
    if not intercept or data.loss not in ("squared", "huber", "log_cosh"):
        return theta
    low, high = (data.y - f).min(axis=0), (data.y - f).max(axis=0)  # what the intercept moves by lies between
    move = 0 * low
    for _ in range(5 * _MOST_STEPS):  # Newton's method, and bisection where it leaves the bracket
        theta = residual(data, f + move)
        off, share = theta.sum(axis=0), theta / data.weights
        if (abs(off) <= _ROUNDED * abs(theta).sum(axis=0)).all():
            break
        inside = 1 + 0 * share if data.loss == "squared" else abs(share) < data.delta
        bend = inside if data.loss != "log_cosh" else 1 - (share / data.delta) ** 2
        low, high = np.where(off > 0, move, low), np.where(off > 0, high, move)
        curved = (data.weights * bend).sum(axis=0)
        new = move + off / np.where(curved > 0, curved, exact(1e-300))
        move = np.where((new > low) & (new < high), new, (low + high) / 2)
    return theta


def mixed_residual(data, f):
    """Residual of a classifier mixed with one distribution for all rows, so that it is balanced: the least such share.

    Residuals are y - p. Of q = (1 - τ) p + τ m, m a distribution, Σ ω (y - q) = 0.
    """
    theta, y = residual(data, f), data.y
    off = theta.sum(axis=0)
    p = data.weights * (y - theta / data.weights if data.loss == "softmax" else (1 + y) / 2 - theta / data.weights)
    mass = p.sum(axis=0)
    if data.loss != "softmax":
        off, mass = np.append(off, -off), np.append(mass, data.weights.sum() - mass)
    share = max(-off / mass)  # the least τ with m = (mass + off / τ) / Σ ω >= 0
    if share <= 0:
        return theta
    m = ((mass + off / share) / data.weights.sum())[: y.shape[1]]
    return theta + share * (p - data.weights * m)


def dual_value(data, theta):
    """Mean of minus the weighted conjugates at a feasible point."""
    y, delta, a = data.y, data.delta, theta / data.weights
    match data.loss:
        case "squared" | "huber":
            each = a * y - a * a / 2
        case "log_cosh":
            u = a / delta
            each = a * y + delta**2 / 2 * (_entropy(1 + u) + _entropy(1 - u))
        case "squared_hinge":
            each = y * a - a * a / 2
        case "logistic":
            each = _entropy(y * a) + _entropy(1 - y * a)
        case "softmax":
            each = _entropy(y - a)
    return (data.weights * each).sum() / len(y)


@_elementwise
def _entropy(p):
    return -p * mp.log(p) if p > 0 else mp.mpf(0)


def feasible(data, theta, columns):
    """Move a dual point into the loss's domain and onto columnsᵀ θ = 0, by as little as its own rounding; else 0.

    Entries move in proportion to their distance from the ends of the domain, those of squares all alike.
    """
    y, w, delta, zero = data.y, data.weights, data.delta, exact(0.0)
    theta = exact(theta)
    if data.loss == "softmax":
        return _softmax_balanced(data, np.maximum(-theta * (1 - y), zero) / w, columns)
    if data.loss in ("huber", "log_cosh"):
        low, high = -delta * w + 0 * y, delta * w + 0 * y
    elif data.loss == "squared_hinge":
        low, high = np.where(y > 0, zero, -mp.inf), np.where(y > 0, mp.inf, zero)
    elif data.loss == "logistic":
        low, high = np.minimum(y, zero) * w, np.maximum(y, zero) * w
    else:
        low, high = -mp.inf + 0 * y, mp.inf + 0 * y
    parts = [_balanced(columns.T, theta[:, c], low[:, c], high[:, c]) for c in range(theta.shape[1])]
    return 0 * theta if any(part is None for part in parts) else np.column_stack(parts)


def _softmax_balanced(data, share, columns):
    """θ from the shares (n, C) of the other classes, after the least change that balances every class."""
    y, w = data.y, data.weights
    C = y.shape[1]
    true, q = np.argmax(y.astype(float), axis=1), columns.shape[1]
    i, c = np.nonzero(np.arange(C) != true[:, None])
    A = exact(np.zeros((q * C, len(i))))  # equality (k, c) of the share of class c in row i: θ_iy gains, θ_ic loses
    for j, (row, other) in enumerate(zip(i, c, strict=True)):
        A[true[row] :: C, j] += columns[row] * w[row]
        A[other::C, j] -= columns[row] * w[row]
    found = _balanced(A, share[i, c], exact(np.zeros(len(i))), mp.inf + exact(np.zeros(len(i))))
    if found is None:
        return 0 * y
    share = 0 * share
    share[i, c] = found
    share = share / max(share.sum(axis=1).max(), mp.mpf(1))
    return w * (y * share.sum(axis=1, keepdims=True) - share)


def _balanced(A, point, low, high):
    """Return a point between ``low`` and ``high`` with A point = 0 next to the given one, or None."""
    point = np.maximum(np.minimum(point, high), low)
    for _ in range(_MOST_STEPS):
        excess = A @ point
        if not len(A) or abs(excess).max() <= _ROUNDED * (abs(A) @ abs(point)).max():
            return point
        slack = np.minimum(point - low, high - point)
        slack = np.where((slack == mp.inf).astype(bool), exact(1.0), slack)
        point = point - slack * (A.T @ _solved((A * slack) @ A.T, excess))
        point = np.maximum(np.minimum(point, high), low)
    return None


def _solved(M, b):
    """Return x with M x = b, M positive semidefinite, by elimination with the pivots that lost least."""
    M, b, before = M.copy(), b.copy(), np.diag(M).copy()
    x, left, order = 0 * b, [k for k in range(len(b)) if before[k] > 0], []
    while left:
        k = max(left, key=lambda k: M[k, k] / before[k])
        if M[k, k] <= _ROUNDED * before[k]:
            break
        left.remove(k)
        order.append(k)
        for j in left:
            share = M[j, k] / M[k, k]
            M[j], b[j] = M[j] - share * M[k], b[j] - share * b[k]
    for place in reversed(range(len(order))):
        k = order[place]
        x[k] = (b[k] - sum((M[k, j] * x[j] for j in order[place + 1 :]), mp.mpf(0))) / M[k, k]
    return x


def bound(data, theta, proof, sup):
    """Exact dual value of a stored point, made feasible and scaled by the norm ``sup(theta)`` of its family; or 0."""
    n = len(data.y)
    columns = [np.ones((n, 1))] * bool(proof.fit_intercept)
    if isinstance(proof.claim, GatedClaim) and getattr(proof, "bias", False) in (True, "free"):
        columns.append(proof.claim.gates.activations(data.X) * 1.0)
    theta = feasible(data, theta, exact(np.hstack([np.zeros((n, 0)), *columns])))
    size, charge = sup(theta)
    if size > 0:
        theta = theta * min(mp.mpf(1), n * exact(proof.beta) / size)
    return max(dual_value(data, theta) - charge / (n**2 * exact(proof.beta)), mp.mpf(0))


# ---- gated networks


def gated(data, proof, coefficients):
    """Exact objective of coefficients (C, P, d), (C, P), (C,), and the norm of dual points on the same gates."""
    claim, (U, b, t) = proof.claim, map(exact, coefficients)
    on, X = claim.gates.activations(data.X), exact(data.X)
    f = np.tile(t, (len(X), 1))
    for i in range(on.shape[1]):
        f[on[:, i]] = f[on[:, i]] + X[on[:, i]] @ U[:, i].T + b[:, i]
    squares = (U**2).sum(axis=(0, 2))
    if claim.feature is not None:
        squares = squares + ((b / exact(claim.feature)) ** 2).sum(axis=0)
        X = np.column_stack([X, np.full(len(X), exact(claim.feature))])
    penalty = squares.sum() / 2 if claim.squared else _sqrt(squares).sum()

    def sup(theta):
        sizes = [((X[gate].T @ theta[gate]) ** 2).sum() for gate in on.T if gate.any()]
        if claim.squared:
            return 0, sum(sizes) / 2
        return mp.sqrt(max(sizes, default=mp.mpf(0))), 0

    return mean_loss(data, f) + exact(proof.beta) * penalty, f, sup


# ---- ReLU networks


def relu(data, proof, network):
    """Exact objective of a ReLU network, and the supremum of dual points over its family of neurons."""
    family, X = proof.claim.family, exact(data.X)
    W, b, alpha, t = map(exact, (network.W1, network.b1, network.w2, network.b2))
    alpha = alpha.reshape(len(b), data.y.shape[1])
    f = np.maximum(X @ W.T + b, exact(0.0)) @ alpha + t
    if family.feature is not None:
        W = np.column_stack([W, b / exact(family.feature)])
    sizes = abs(W).sum(axis=1) if family.p == 1 else _sqrt((W**2).sum(axis=1))
    penalty = (sizes * _sqrt((alpha**2).sum(axis=1))).sum()
    return mean_loss(data, f) + exact(proof.beta) * penalty, f, lambda theta: (_largest(family, data.X, theta), 0)


def _largest(family, X, theta):
    theta = theta / (size := abs(theta).max() or mp.mpf(1))
    Z = X if family.feature is None else np.column_stack([X, np.full(len(X), family.feature)])
    points = np.column_stack([Z, np.ones(len(Z))]) if family.bias else Z
    if isinstance(family.members, Neurons):
        return size * _of_columns(family.members, Z, theta)
    if family.kind == "cross" or (family.kind == "all" and family.p == 1):
        return size * _of_atoms(points, family, theta, None)
    on = family.members.activations(X) if isinstance(family.members, Gates) else _chambers(points)
    on = np.unique(on, axis=1)
    return size * (_of_atoms if family.p == 1 else _of_cones)(points, family, theta, on)


def _of_columns(members, Z, theta):
    def column(j):
        k = np.maximum(exact(Z) @ exact(members.directions[:, j]) + exact(members.offsets[j]), exact(0.0))
        k[[i for i in members.rows[j] if 0 <= i < len(k)]] = mp.mpf(0)
        return _sqrt(((k @ theta) ** 2).sum())

    values = np.linalg.norm(members.columns(Z).T @ theta.astype(float), axis=1)
    return max((column(j) for j in _best(values)), default=mp.mpf(0))


def _of_atoms(points, family, theta, on):
    """Largest value over the normals of spanned planes, of p-norm 1; over those in the closed cones of ``on``."""
    n, D = points.shape
    basis = np.eye(D - family.bias, D) if family.kind != "cross" else np.zeros((0, D))
    every = np.vstack([points, basis])
    index = [s for s in itertools.combinations(range(len(every)), D - 1) if not family.bias or s[0] < n]
    index = np.array(index, dtype=int).reshape(len(index), D - 1)
    unit = every / np.linalg.norm(every, axis=1, keepdims=True)
    V = np.concatenate([found := _normals(unit[index]), -found])
    index = np.concatenate([index, index])
    norms = np.linalg.norm(V[:, : D - family.bias], ord=family.p, axis=1)
    inside = points @ V.T
    for place in index.T:
        data = np.flatnonzero(place < n)
        inside[place[data], data] = 0
    live = norms > 1e-13  # else the rows of length 1 are dependent
    if on is not None:
        tol = 1e-12 * np.abs(points) @ np.abs(V).T
        above, below = inside >= -tol, inside <= tol  # (n, m), of which every cone (n, P) has one where it is on or off
        cones = (above[:, :, None] | ~on[:, None]) & (below[:, :, None] | on[:, None])
        live &= cones.all(axis=0).any(axis=1)
    values = np.where(live, np.linalg.norm(np.maximum(inside, 0).T @ theta.astype(float), axis=1), 0)
    values = np.divide(values, norms, out=np.zeros_like(values), where=live)

    def value(j):
        v = _normals(exact(every[index[j]])[None])[0] * (1 if j < len(found) else -1)
        k = np.maximum(exact(points) @ v, exact(0.0))
        k[index[j][index[j] < n]] = mp.mpf(0)
        v = v[: D - family.bias]
        return _sqrt(((k @ theta) ** 2).sum()) / (abs(v).sum() if family.p == 1 else mp.sqrt((v**2).sum()))

    return max((value(j) for j in _best(values)), default=mp.mpf(0))


def _normals(A):
    """Cofactor vectors (m, D) of A (m, D - 1, D), D up to 4; in the arithmetic of A."""

    def det(columns):
        B = A[:, :, columns]
        if len(columns) == 0:
            return np.ones(len(A)) if A.dtype == float else np.array([mp.mpf(1)] * len(A), dtype=object)
        if len(columns) == 1:
            return B[:, 0, 0]
        if len(columns) == 2:
            return B[:, 0, 0] * B[:, 1, 1] - B[:, 0, 1] * B[:, 1, 0]
        a, b, c = B[:, 0].T, B[:, 1].T, B[:, 2].T
        first, second = a[0] * (b[1] * c[2] - b[2] * c[1]), a[1] * (b[0] * c[2] - b[2] * c[0])
        return first - second + a[2] * (b[0] * c[1] - b[1] * c[0])

    D = A.shape[2]
    return np.stack([(-1) ** i * det([j for j in range(D) if j != i]) for i in range(D)], axis=1)


def _chambers(points):
    """Patterns (n, P) of all chambers of rows in general position: those around every spanned plane."""
    n, D = points.shape
    if n < D:
        return np.array(list(itertools.product((False, True), repeat=n))).T
    index = list(itertools.combinations(range(n), D - 1))
    index = np.array(index, dtype=int).reshape(len(index), D - 1)
    inside = points @ _normals(points[index]).T > 0
    found = []
    for sides in itertools.product((False, True), repeat=D - 1):
        one = inside.copy()
        for place, side in zip(index.T, sides, strict=True):
            one[place, np.arange(len(index))] = side
        found += [one, ~one]
    return np.concatenate(found, axis=1)


def _of_cones(points, family, theta, on):
    """Largest length over cones of patterns, p = 2: of one output an exact upper bound, of more a lower one."""
    D = points.shape[1]
    th, signs = theta.astype(float), 2.0 * on - 1
    G = np.einsum("np,nd,nc->pdc", on * 1.0, points, th)
    best = mp.mpf(0)
    if th.shape[1] > 1:
        return _climbed(points, family, theta, on, G, signs)
    lengths = np.linalg.norm(G[:, : D - family.bias, 0], axis=1)
    top, found = 0.0, []
    unit = np.abs(points[:, : D - family.bias]).max()
    for i in np.argsort(-lengths):
        if lengths[i] < top * (1 - 1e-9):
            break
        for sign in (1.0, -1.0):
            A = (signs[:, i, None] * points).T
            mu, rest = _projected(A, sign * G[i, :, 0], family.bias, unit)
            found.append((rest, i, sign, mu))
            top = max(top, rest)
    for rest, i, sign, mu in found:
        if rest < top * (1 - 1e-8):
            continue
        A = exact((signs[:, i, None] * points).T)
        g = exact(sign) * (exact(points[on[:, i]]).T @ theta[on[:, i], 0]) if on[:, i].any() else exact(np.zeros(D))
        mu = exact(np.maximum(mu, 0))
        if family.bias and (excess := g[-1] + A[-1] @ mu):  # the last row, of ±1, is an equality: a multiplier meets it
            able = [k for k in range(len(mu)) if A[-1, k] * excess < 0 or mu[k] >= abs(excess)]
            if not able:
                continue
            k = max(able, key=lambda k: mu[k])
            mu[k] = mu[k] - excess * A[-1, k]
        total = (g + A @ mu)[: D - family.bias]
        best = max(best, mp.sqrt((total**2).sum()))
    return best


def _projected(A, g, bias, unit):
    """Multipliers μ ≥ 0 that make g + A μ short, in double precision, and that length."""
    if not bias:
        mu, rest = nnls(A, -g)
        return mu, rest
    heavy = np.ones(len(A))
    heavy[-1] = 1e6 * unit
    mu, _ = nnls(heavy[:, None] * A, -heavy * g)
    return mu, float(np.linalg.norm((g + A @ mu)[:-1]))


def _climbed(points, family, theta, on, G, signs):
    """Length of the best neuron that projections of steepest ascent reach, in exact arithmetic."""
    if family.bias:
        return mp.mpf(0)
    lengths = np.linalg.norm(G, ord=2, axis=(1, 2))
    top, kept = 0.0, None
    for i in np.argsort(-lengths)[:24]:
        if lengths[i] < top:
            break
        A = (signs[:, i, None] * points).T
        for u in np.linalg.svd(G[i])[0].T[: G.shape[2]]:
            for sign in (1, -1):
                v = sign * u
                for _ in range(6):
                    v = v + A @ nnls(A, -v)[0]
                    if not np.linalg.norm(v) > 1e-12:
                        break
                    v = v / np.linalg.norm(v)
                    if (value := np.linalg.norm(G[i].T @ v)) > top:
                        top, kept = value, v
                    v = G[i] @ (G[i].T @ v)
                    v = v / (np.linalg.norm(v) or 1.0)
    if kept is None:
        return mp.mpf(0)
    v = exact(kept)
    k = np.maximum(exact(points) @ v, exact(0.0))  # a neuron on nearly the same pattern
    return mp.sqrt(((k @ theta) ** 2).sum() / (v**2).sum()) * (1 - mp.mpf(1e-12))


def _best(values):
    values = np.asarray(values)
    if not values.size:
        return []
    order = np.argsort(-values, kind="stable")[:6]
    return order[values[order] >= (1 - _NEAR) * max(values[order[0]], 1e-300)]


# ---- networks with infinitely many gates


def kernel(data, proof, network):
    """Exact objective of a kernel network, and the form that its dual points are charged for."""
    claim: KernelClaim = proof.claim
    alpha, t = exact(network.alpha), exact(network.intercept)
    inner = _gram(network.kernel, network.rows, None)
    Z, places = network.standard.rows(data.X), {row.tobytes(): i for i, row in enumerate(network.rows + 0.0)}
    order = [places.get(row.tobytes(), -1) for row in Z + 0.0]
    cross = inner[order] if min(order) >= 0 else _gram(network.kernel, Z, network.rows)
    f = cross @ alpha + t
    penalty = (alpha * (inner @ alpha)).sum() / 2

    def sup(theta):
        if not claim.landmarks:
            K = cross[:, order] if min(order) >= 0 else _gram(network.kernel, Z, None)
            return 0, (theta * (K @ theta)).sum() / 2
        K, total = mp.matrix(inner.tolist()), mp.mpf(0)
        for side in (cross.T @ theta).T:
            total += sum(a * b for a, b in zip(side, mp.cholesky_solve(K, mp.matrix(side.tolist())), strict=True))
        return 0, total / 2

    return mean_loss(data, f) + exact(proof.beta) * penalty, f, sup


def _gram(kernel, X, other):
    def features(X):
        Z = exact(X)
        Z = Z if kernel.frame is None else Z @ exact(kernel.frame)
        return np.column_stack([Z, np.full(len(Z), exact(kernel.bias))]) if kernel.bias else Z

    z = features(X)
    z2 = z if other is None else features(other)
    inner, sizes, sizes2 = z @ z2.T, _sqrt((z**2).sum(axis=1)), _sqrt((z2**2).sum(axis=1))
    total = sizes[:, None] * sizes2[None]
    live = (total > 0).astype(bool)
    cosines = np.where(live, inner / np.where(live, total, exact(1.0)), exact(0.0))
    cosines = np.maximum(np.minimum(cosines, exact(1.0)), exact(-1.0))
    if other is None:
        np.fill_diagonal(cosines, mp.mpf(1))
        upper = np.triu_indices(len(cosines), 1)
        share = np.full(cosines.shape, mp.mpf(1) / 2)
        share[upper] = (mp.pi - _acos(cosines[upper])) / (2 * mp.pi)
        share.T[upper] = share[upper]
        return inner * share
    return inner * ((mp.pi - _acos(cosines)) / (2 * mp.pi))
