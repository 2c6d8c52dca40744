"""From a gated network to a ReLU network with the same predictions: every unit as a difference of two in its cone."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog, nnls

from clifford_rand._checks import as_real, check_choice, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.problems.relu import ReLUCoefficients

_ROUNDS = 100
_GAIN = 1e-9  # relative decrease of the norm at which reweighting ends; it is linear and takes 5 to 40 rounds
# A bias is not charged: its share of the squared length is 1e-4. Norms come out 1e-6 to 5e-5 above the least; 1e3 and
# 1e4 are worse (8e-3, 0.2), because rounding in least squares grows with it.
_BIAS_UNIT = 1e2
_RANK = 1e-12
_MARGIN = 1e-7  # a cone whose interior is thinner than this, of the data, counts as one without
_MARGIN_ROUNDING = 1e-9  # of 1, the margin an interior direction is solved for: what NNLS leaves of a feasible one


def cone_decomposition(
    X: ArrayLike, patterns: ArrayLike, coefficients: Coefficients, *, penalty: str = "group_l2"
) -> ReLUCoefficients:
    r"""Write every gated unit as :math:`U_i = V_i-V_i'` with both parts in the cone of its pattern.

    .. math:: \min_{V,V',b,b'}||V||_p+||V'||_p\quad\text{s.t.}\quad V-V' = U_i,\ b-b' = b_i,\
              (2D_i-I)(XV+1b)\ge0,\ (2D_i-I)(XV'+1b')\ge0.

    On the training rows :math:`D_i(XU_i+b_i) = (XV_i+b)_+-(XV_i'+b')_+`: the ReLU network predicts what the gated
    network predicts, at a larger norm. Its objective is an upper bound of the optimum of `ConvexReLUProblem` with these
    patterns, as the gated optimum is a lower one.

    Parts exist if the cone has an interior direction h: :math:`V = U+ch,\ V' = ch`. For p = 1 those of least norm come
    from a linear program a unit. For p = 2 each round of iteratively reweighted least squares is the projection of
    :math:`-(1-\tau)U` on :math:`\{V' : V', V'+U\in\mathrm{cone}\}`, one non-negative least-squares problem, with
    :math:`\tau/(1-\tau) = ||V||/||V'||` at the optimum. A part outside a cone by rounding is moved in along h. The
    norm is least to 1e-8, and to about 1e-4 with biases. With several outputs each column is decomposed alone, which is
    not always the decomposition of least norm of the unit.

    Parameters
    ----------
    X : (n, d) array
    patterns : (n, P) bool array
        Patterns that hyperplanes with the bias of the coefficients make, as `activation_patterns` returns.
    coefficients : Coefficients
        coef (C, P, d), gate_intercept (C, P), intercept (C,), of a `GatedReLUProblem`. Gate intercepts that are all
        zero are taken for a problem without bias if that is possible for every pattern.
    penalty : {"group_l2", "group_l1"}
        p = 2 or p = 1.

    Raises
    ------
    ArgumentError
        Shapes that do not fit, or a pattern whose cone has no interior.

    References
    ----------
    Mishkin, Sahiner, Pilanci, "Fast convex optimization for two-layer ReLU networks", ICML 2022, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn.problems.gated import Coefficients
    >>> X = np.array([[1.0], [-1.0]])
    >>> gated = Coefficients(np.array([[[-3.0]]]), np.zeros((1, 1)), np.zeros(1))
    >>> relu = cone_decomposition(X, X >= 0, gated)
    >>> bool(np.allclose(np.maximum(X @ relu.coef_plus[0].T, 0) - np.maximum(X @ relu.coef_minus[0].T, 0), [[-3], [0]]))
    True
    """
    owner = "cone_decomposition"
    data = np.asarray(as_real(X, "X", owner), dtype=np.float64)
    D = np.asarray(patterns)
    _, P, d = coefficients.coef.shape
    if data.ndim != 2 or data.shape[1] != d:
        raise fail("X", owner, f"of shape (n, {d}), the d of the coefficients", describe(f"shape {data.shape}"))
    if D.dtype != np.bool_ or D.shape != (len(data), P):
        rule = f"a boolean array of shape ({len(data)}, {P})"
        raise fail("patterns", owner, rule, describe(f"dtype {D.dtype}, shape {D.shape}"))
    check_choice(penalty, "penalty", owner, ("group_l2", "group_l1"))
    p = 2 if penalty == "group_l2" else 1
    bias = bool(coefficients.gate_intercept.any())
    found = _decompose(data, D, coefficients, p, bias)
    if isinstance(found, int) and not bias:  # perhaps gates with a bias, and a solution that has none
        found = _decompose(data, D, coefficients, p, True)
    if isinstance(found, int):
        hint = "Use patterns of gates, as activation_patterns returns them."
        raise fail("patterns", owner, "patterns of hyperplanes", describe(f"column {found}, which is none"), hint)
    return found


def _decompose(X: Array, D: NDArray[np.bool_], given: Coefficients, p: int, bias: bool) -> ReLUCoefficients | int:
    """Return the parts, or the index of a pattern without an interior direction."""
    C, P, d = given.coef.shape
    middle = X.mean(axis=0) if bias else np.zeros(d)
    unit = float(np.abs(X - middle).max()) or 1.0
    Y = (X - middle) / unit
    full = np.hstack([Y, np.ones((len(Y), 1))]) if bias else Y
    parts = np.zeros((2, C, P, full.shape[1]))
    for i in range(P):
        units = np.concatenate([given.coef[:, i] * unit, np.zeros((C, full.shape[1] - d))], axis=1)
        if bias:
            units[:, d] = given.gate_intercept[:, i] + given.coef[:, i] @ middle
        if not units.any():
            continue
        A = np.where(D[:, [i]], full, -full)
        A = A[np.abs(A).max(axis=1) > _RANK]
        h = _interior(A)
        if h is None:
            return i
        for c in range(C):
            parts[:, c, i] = _split_unit(A, units[c], h, d, p)
    coef = parts[..., :d] / unit
    offsets = parts[..., d] - coef @ middle if bias else np.zeros((2, C, P))
    return ReLUCoefficients(coef[0], coef[1], offsets[0], offsets[1], given.intercept)


def _interior(A: Array) -> Array | None:
    """Return h with A h ≥ 1 of least length, or None if there is none: by NNLS (Lawson and Hanson 1974, LDP)."""
    r = A.shape[1]
    if len(A) == 0:
        return np.zeros(r)
    rest = _nnls_rest(np.vstack([A.T, np.ones((1, len(A)))]))
    if -rest[r] <= _MARGIN**2:  # |h| = 1 / margin
        return None
    h = -rest[:r] / rest[r]
    margin = float((A @ h).min())
    return h / margin if margin > _MARGIN_ROUNDING else None


def _split_unit(A: Array, u: Array, h: Array, d: int, p: int) -> tuple[Array, Array]:
    """Return V and V' in the cone with V - V' = u."""
    size = float(np.linalg.norm(u))
    if size == 0:
        return u, u
    u = u / size
    low = np.maximum(0.0, -(A @ u))  # V' in the cone, and V' + u: A V' ≥ max(0, -A u)
    if not low.any():
        return size * u, np.zeros_like(u)
    if not np.maximum(0.0, A @ u).any():
        return np.zeros_like(u), -size * u
    v = _least_linear(A, u, low, d) if p == 1 else _least_norms(A, u, low, h, d)
    v = v + max(0.0, float(np.max(low - A @ v))) * h  # A h ≥ 1
    return size * (u + v), size * v


def _least_linear(A: Array, u: Array, low: Array, d: int) -> Array:
    """Minimize |v + u|_1 + |v|_1 over A v ≥ low, weights only: variables v, and bounds of both absolute values."""
    n, r = A.shape
    eye = np.eye(d, r)
    none, one = np.zeros((d, d)), np.eye(d)
    bounds_of = np.block([[eye, -one, none], [-eye, -one, none], [eye, none, -one], [-eye, none, -one]])
    rows = np.vstack([np.hstack([-A, np.zeros((n, 2 * d))]), bounds_of])
    sides = np.concatenate([-low, -u[:d], u[:d], np.zeros(2 * d)])
    cost = np.concatenate([np.zeros(r), np.ones(2 * d)])
    bounds = [(None, None)] * r + [(0, None)] * (2 * d)
    found = linprog(cost, A_ub=rows, b_ub=sides, bounds=bounds, method="highs")
    if found.x is None:
        raise RuntimeError(f"the linear program of a cone decomposition failed: {found.message}")
    return np.asarray(found.x[:r])


def _least_norms(A: Array, u: Array, low: Array, h: Array, d: int) -> Array:
    """Minimize |v + u| + |v| over A v ≥ low, norms of the weights, by iteratively reweighted least squares."""
    w = np.zeros_like(u)
    w[:d] = u[:d]
    best, least, share = float(low.max()) * h, np.inf, 0.5
    for _ in range(_ROUNDS):
        center = -(1 - share) * w
        v = center + _least_distance(A, low - A @ center, h, d)
        v = v + max(0.0, float(np.max(low - A @ v))) * h
        plus, minus = float(np.linalg.norm(v[:d] + w[:d])), float(np.linalg.norm(v[:d]))
        if plus + minus < least:
            best = v
        if not plus + minus < (1 - _GAIN) * least or min(plus, minus) == 0:
            break
        least, share = plus + minus, plus / (plus + minus)
    return best


def _least_distance(A: Array, g: Array, h: Array, d: int) -> Array:
    """Return x with A x ≥ g of least length of its first d entries (Lawson and Hanson 1974, problem LDP)."""
    weight = np.ones(A.shape[1])
    weight[d:] = _BIAS_UNIT
    size = max(float(g.max()), 0.0) * float(np.linalg.norm(h / weight))  # max(g) h is feasible: a bound of the length
    if size == 0:
        return np.zeros_like(h)
    rest = _nnls_rest(np.vstack([weight[:, None] * A.T, g / size]))
    return np.asarray(-size * weight * rest[:-1] / rest[-1])


def _nnls_rest(E: Array) -> Array:
    """Return what non-negative combinations of the columns of E leave of the last unit vector, negated."""
    target = np.zeros(len(E))
    target[-1] = 1.0
    return np.asarray(E @ nnls(E, target, maxiter=30 * E.shape[1] + 100)[0] - target)
