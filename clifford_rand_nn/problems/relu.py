"""The convex ReLU program: the gated problem with every unit kept inside the cone of its pattern, and projections."""

from functools import partial
from typing import NamedTuple, Unpack

import numpy as np
from scipy.optimize import nnls

from clifford_rand._checks import as_rows, check_bool, check_choice, check_size, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.gates.hyperplanes import checked_patterns
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.pricing.base import reach_of_rows
from clifford_rand_nn.pricing.cones import ConePricer
from clifford_rand_nn.problems.datafit import unpenalized_fit
from clifford_rand_nn.problems.duality import (
    DualBound,
    TargetOptions,
    TrainingProblem,
    constant_columns,
    dual_bound,
    shrinkage,
)
from clifford_rand_nn.rounding import precise_dot

_ROUNDS = 60  # of adding the rows that a projection violates; it needs 1 to 5
_ROUNDING = 1e-14  # a product of a row and a point below this share of their lengths is zero
_STEPS_PER_ROW = 30  # of the active-set method for non-negative least squares; 1 to 3 are usual
_FAR = 1e-12  # a unit that leaves its cone by more than this share of |x| |u| + |b| is projected, else moved
_MARGIN = 4 * 2.0**-52  # of the same, by the root of the columns: what rounding of a unit's input may take from it
_MOVED = 1 << 21  # numbers that the directions of units take which are moved together, 16 MB
_DEPENDENT = 1e-13  # of its length: a row this near to the span of others is in it

RELU_PENALTIES = {"group_l2": 2, "group_l1": 1}  # the norm p of a unit


def project_on_cone(A: Array, u: Array) -> Array:
    r"""Euclidean projection of u (r,) on :math:`\{u : Au\ge0\}`, A (n, r).

    :math:`u + A^T\Lambda` with :math:`\Lambda\ge0` of least squares (Moreau), over the violated rows first; rows
    that the projection violates are added until none is.
    """
    lengths = np.linalg.norm(A, axis=1)
    slack = _ROUNDING * lengths * np.linalg.norm(u)
    rows = A @ u < -slack
    v = u
    for _ in range(_ROUNDS):
        if not rows.any():
            break
        G = np.ascontiguousarray((A[rows] / lengths[rows, None]).T)
        v = u + G @ nnls(G, -u, maxiter=_STEPS_PER_ROW * G.shape[1] + 100)[0]
        if np.linalg.norm(v) <= _ROUNDING * np.linalg.norm(u):
            return np.zeros_like(u)
        new = (A @ v < -slack) & ~rows
        if not new.any():
            break
        rows |= new
    return np.asarray(v)


def moved_inside(rows: Array, signs: Array, V: Array, margin: Array) -> Array:
    r"""Return points near V (B, r) with :math:`s_{bi}x_i^Tv_b\ge m_{bi}`, rows (n, r), signs and ``margin`` (B, n).

    The margin is one of rounding. Each row that is short moves its point in turn, along what is left of it beside those
    before it, by Gram and Schmidt: rows 1e-9 apart are met to rounding, where the multipliers of least squares
    are not. A point stays where a row is in the span of those before.
    """
    V = V.copy()
    B, r = V.shape
    Q = np.zeros((B, r, r))
    open_ = np.arange(B)
    for k in range(r):
        short = signs[open_] * (V[open_] @ rows.T) - margin[open_]
        worst = np.argmin(short, axis=1)
        at = np.arange(len(open_)), worst
        a = signs[open_, worst][:, None] * rows[worst]
        left = a
        for _ in range(2):
            left = left - np.einsum("bj,bjr->br", np.einsum("br,bjr->bj", left, Q[open_, :k]), Q[open_, :k])
        length = np.linalg.norm(left, axis=1)
        on = (short[at] < -margin[open_, worst] / 2) & (length > _DEPENDENT * np.linalg.norm(a, axis=1))
        open_, short, left, length = open_[on], short[at][on, None], left[on], length[on, None]
        if not len(open_):
            break
        left /= length
        V[open_] -= short / length * left
        Q[open_, k] = left
    return V


@short_repr
class ReLUCoefficients(NamedTuple):
    """Units of both signs, outputs first: coef_plus and coef_minus (C, P, d), biases (C, P), intercept (C,)."""

    coef_plus: Array
    coef_minus: Array
    bias_plus: Array
    bias_minus: Array
    intercept: Array

    def neurons(self, p: int = 2) -> WeightedNeurons:
        r"""Return the ReLU network :math:`\sum_jZ_j(x^Tv_j+b_j)_++t` with :math:`||v_j||_p = 1`, without zero units.

        Column c of unit i becomes one neuron, with weight :math:`\pm||u_{ic}||_p` in output c alone. A unit that is a
        bias only keeps v = 0.
        """
        C, P, d = self.coef_plus.shape
        directions = np.stack([self.coef_plus, self.coef_minus]).reshape(-1, d)
        offsets = np.stack([self.bias_plus, self.bias_minus]).reshape(-1)
        sizes = np.linalg.norm(directions, ord=p, axis=1) if d else np.zeros(len(directions))
        lengths = np.where(sizes > 0, sizes, np.abs(offsets))
        (used,) = np.nonzero(lengths)
        lengths = lengths[used]
        values = np.zeros((used.size, C))
        values[np.arange(used.size), used // P % C] = np.where(used < C * P, lengths, -lengths)
        neurons = Neurons.free(np.ascontiguousarray((directions[used] / lengths[:, None]).T), offsets[used] / lengths)
        return WeightedNeurons(neurons, values, self.intercept)


class ConvexReLUProblem(TrainingProblem):
    r"""Convex training problem of a ReLU network over P activation patterns D_i (paper, eqs. cvxnn:relu, relu_bias).

    .. math:: \min_{U,U',b,b',t}\ \frac1n\sum_j\ell\Big(\sum_i D_{i,jj}\big(x_j^T(U_i-U_i')+b_i-b_i'\big)+t,\ y_j\Big)
              +\beta\sum_i(||U_i||_p+||U_i'||_p)\quad\text{s.t.}\quad(2D_i-I)(XU_i+1b_i)\ge0,

    the same for U', b'. ``beta`` is in the 1/n scale; biases and intercept are not penalized.

    It is the convex form of training ReLU neurons :math:`x\mapsto\alpha_i(w_i^Tx+b_i)_+` with the penalty
    :math:`\frac\beta2\sum_i(||w_i||_p^2+\alpha_i^2)`. On the cone :math:`D_i(XU_i+1b_i) = (XU_i+1b_i)_+`, so
    :math:`w_i = U_i/\sqrt{||U_i||_p}`, :math:`\alpha_i = \sqrt{||U_i||_p}` (and :math:`-\alpha_i` for U') is a network
    of the same objective. With all patterns of X the optima are equal, given enough units; with some, this is an upper
    bound of the non-convex optimum, and the gated problem with the same patterns a lower bound of this one.

    It is for one output. A neuron with weights :math:`\alpha` for several costs :math:`||w||_p||\alpha||_2`, which no
    program over sums :math:`\sum_j\alpha_jw_j` charges, for :math:`\alpha` has not two signs but a sphere of them:
    `WorkingSet` with a `ConePricer` trains those.

    Dual: :math:`\max_\theta\frac1n\sum_j-\ell^*(-\theta_j)` subject to, for all i and both signs,

    .. math:: \sup\{\pm\langle\theta,D_i(XU+1b)\rangle : (2D_i-I)(XU+1b)\ge0,\ ||U||_p\le1\}\le n\beta,

    and :math:`1^T\theta = 0` with an intercept. Any multipliers :math:`\Lambda\ge0` bound the supremum by
    :math:`||{\pm}X^TD_i\theta+X^T(2D_i-I)\Lambda||_q` if :math:`\pm1^TD_i\theta+1^T(2D_i-I)\Lambda = 0`; its least
    value, the norm of a projection on the cone if p = 2, is the supremum.

    ``X`` (n, d). ``y`` (n,). ``patterns`` (n, P): one activation pattern per column. ``penalty`` {"group_l2",
    "group_l1"}: p = 2 or p = 1. ``loss``, ``huber_delta``, ``sample_weight``: as in `GatedReLUProblem`, and so are y
    and the errors.

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [2.0]])
    >>> problem = ConvexReLUProblem(X, [0.0, 1.0, 2.0], X >= 0, beta=0.01, bias=False, fit_intercept=False)
    >>> zero = problem.start()
    >>> ramp = zero._replace(coef_plus=np.ones((1, 1, 1)))
    >>> problem.objective(zero) > problem.objective(ramp)
    True
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        patterns: ArrayLike,
        beta: float,
        *,
        penalty: str = "group_l2",
        bias: bool = True,
        **options: Unpack[TargetOptions],
    ) -> None:
        owner = "ConvexReLUProblem"
        data = as_rows(X, owner)
        check_size(data, "X", owner)
        D = checked_patterns(patterns, len(data), owner)
        check_choice(penalty, "penalty", owner, tuple(RELU_PENALTIES))
        self.beta = self._set_targets(len(data), y, beta, **options)
        if self.outputs > 1:
            hint = "Its neurons' cost is not a norm of this program. Use WorkingSet with a ConePricer, or an estimator."
            raise fail("y", owner, "of one output", describe(f"{self.outputs} outputs"), hint)
        self.X = np.ascontiguousarray(data, dtype=np.float64)
        self.patterns = D
        self.penalty = penalty
        self.p = RELU_PENALTIES[penalty]
        self.bias = check_bool(bias, "bias", owner)
        # A bias on a pattern that is on everywhere, with both signs, is a free constant like the intercept.
        self.Q = constant_columns(len(data), self.fit_intercept or (self.bias and bool(D.all(axis=0).any())))

    @property
    def n_patterns(self) -> int:
        """Number of patterns P; there are 2P units."""
        return int(self.patterns.shape[1])

    @cached_property
    def reach(self) -> Array:
        """The largest input on each row, (n,), of a unit whose norm is 1 and whose hyperplane passes through a row."""
        return reach_of_rows(self.X, self.bias)

    def start(self) -> ReLUCoefficients:
        """Return the zero network."""
        u, b = np.zeros((1, self.n_patterns, self.X.shape[1])), np.zeros((1, self.n_patterns))
        return ReLUCoefficients(u, u.copy(), b, b.copy(), np.zeros(1))

    def inputs(self, c: ReLUCoefficients) -> Array:
        """Return what every unit sees, (X - 1m^T) U_i + (m^T U_i + b_i) with the mean row m, as (n, 2, P).

        Far from the origin the second term cancels, and is made in twice the digits.
        """
        coef, offsets = _units(c)
        middle = self.X.mean(axis=0)
        weights = coef.reshape(-1, len(middle)).T
        shift = precise_dot(middle, weights, offsets.reshape(-1))
        return np.asarray((self.X - middle) @ weights + shift).reshape(self.n, *offsets.shape)

    def predictions(self, c: ReLUCoefficients) -> Array:
        """Predictions (n, 1) of the program, by its patterns: linear in c."""
        Z = self.inputs(c)
        return np.asarray(np.einsum("np,np->n", self.patterns, Z[:, 0] - Z[:, 1])[:, None] + c.intercept)

    def network_predictions(self, c: ReLUCoefficients) -> Array:
        """Predictions (n, 1) of the ReLU network: those of the program if c meets its cones."""
        Z = np.maximum(self.inputs(c), 0).sum(axis=2)
        return np.asarray(Z[:, :1] - Z[:, 1:] + c.intercept)

    def penalty_value(self, c: ReLUCoefficients) -> float:
        r"""Return :math:`\beta\sum_i(||U_i||_p+||U_i'||_p)`."""
        return self.beta * float(np.linalg.norm(_units(c)[0], ord=self.p, axis=2).sum())

    def objective(self, c: ReLUCoefficients, predictions: Array | None = None) -> float:
        """Primal objective by the patterns; it counts as one of the program only where `violation` is zero."""
        f = self.predictions(c) if predictions is None else predictions
        return self.datafit.value(f) + self.penalty_value(c)

    def network_objective(self, c: ReLUCoefficients) -> float:
        """Objective of the balanced ReLU network, valid whether c meets its cones or not."""
        return self.objective(c, self.network_predictions(c))

    def violation(self, c: ReLUCoefficients) -> float:
        """Largest violation of a cone, as a share of |x| |u| + |b|; rounding alone gives some 1e-16."""
        return float(np.max(-self._signed(self.inputs(c)) / self._reach(c), initial=0.0))

    def feasible(self, c: ReLUCoefficients) -> ReLUCoefficients:
        """Return c with every unit within its cone: one outside is projected on it, b in units of the largest |x|.

        Where near-duplicate rows are on either side of a hyperplane, a unit that is 1e-12 outside is another network,
        whose objective may be some per cent below the optimum. Units are therefore moved inside by what rounding takes
        from their inputs, and one that cannot be is left out.
        """
        coef, offsets = _units(c)
        d = self.X.shape[1]
        margin = _MARGIN * float(np.sqrt(d + 1))
        signed, reach = self._signed(self.inputs(c)), self._reach(c)
        # nearer than rounding of the neurons that are made of them may move them
        short = np.min(signed - margin / 4 * reach, axis=0) < 0
        at = np.nonzero(short & (coef.any(axis=2) | (offsets != 0)))  # of B units
        if not len(at[0]):
            return c
        far = np.min(signed + _FAR * reach, axis=0)[at] < 0
        middle = self.X.mean(axis=0) if self.bias else np.zeros(d)
        centered = self.X - middle  # the same cone, with b + middle·u for b
        unit = float(np.abs(centered).max()) or 1.0
        rows = np.hstack([centered / unit, np.ones((self.n, int(self.bias)))])
        V = coef[at]
        if self.bias:
            V = np.column_stack([V, (offsets[at] + V @ middle) / unit])
        signs = np.where(self.patterns[:, at[1]], 1.0, -1.0).T
        for k in np.flatnonzero(far):
            V[k] = project_on_cone(signs[k][:, None] * rows, V[k])
        shift = (unit * V[:, -1] if self.bias else 0.0) - V[:, :d] @ middle
        reach = np.outer(np.linalg.norm(V[:, :d], axis=1), np.linalg.norm(self.X, axis=1)) + np.abs(shift)[:, None]
        for part in np.array_split(np.arange(len(V)), 1 + V.size * V.shape[1] // _MOVED):
            V[part] = moved_inside(rows, signs[part], V[part], margin / unit * reach[part])
        coef[at] = V[:, :d]
        if self.bias:
            offsets[at] = unit * V[:, -1] - V[:, :d] @ middle
        coefficients = ReLUCoefficients(coef[:1], coef[1:], offsets[:1], offsets[1:], c.intercept)
        off = self._signed(self.inputs(coefficients)) + 4 * margin * self._reach(coefficients)
        within = off.min(axis=0, initial=0.0) >= 0
        coef, offsets = coef * within[..., None], offsets * within
        return ReLUCoefficients(coef[:1], coef[1:], offsets[:1], offsets[1:], c.intercept)

    def dual_bound(self, predictions: Array, multipliers: Array | None = None) -> DualBound:
        """Lower bound of the optimum from any predictions (n, 1) and cone multipliers (n, 2, P).

        Without multipliers the units are priced, a projection for each. The bound holds wherever both
        come from, and equals the optimum at the optimal ones.
        """
        return self.bound_at(self.datafit.residual(predictions), multipliers)

    def bound_at(self, theta: Array, multipliers: Array | None = None) -> DualBound:
        """Return the lower bound of a dual point (n, 1) in the domain of the loss, moved and scaled to be feasible."""
        size = partial(self.cone_norm, multipliers=multipliers)
        return dual_bound(self.datafit, theta, self.Q, size, self.n * self.beta, self.reach)

    def cone_norm(self, theta: Array, multipliers: Array | None = None) -> float:
        """Return an upper bound of the largest supremum in the dual constraints; without multipliers the supremum."""
        if self.n_patterns == 0:
            return 0.0
        if multipliers is None:
            return ConePricer(self.X, self.patterns, self.p, self.bias).price(theta, 0).size
        Lambda = np.maximum(multipliers, 0)
        masked = np.where(self.patterns, theta, 0.0)
        middle = np.zeros(self.X.shape[1])
        force = np.stack([masked, -masked], axis=1)
        if self.bias:
            middle = self.X.mean(axis=0)
            Lambda = _balanced(Lambda, force.sum(axis=0), self.patterns)
        G = (self.X - middle).T @ (force + self._signed(Lambda)).reshape(self.n, -1)
        return float(np.linalg.norm(G, ord=2 if self.p == 2 else np.inf, axis=0).max())

    def beta_max(self) -> float:
        """Least beta whose optimum is a constant: the dual size of the residual of the best one, over n."""
        return self.cone_norm(self.datafit.residual(unpenalized_fit(self.datafit, self.Q))) / self.n

    def _signed(self, Z: Array) -> Array:
        """Return (2D - I) Z for Z (n, 2, P)."""
        return np.asarray(np.where(self.patterns[:, None], Z, -Z))

    def _reach(self, c: ReLUCoefficients) -> Array:
        """Return |x| |u| + |b| of every row and unit, (n, 2, P), above zero."""
        coef, offsets = _units(c)
        reach = np.linalg.norm(self.X, axis=1)[:, None, None] * np.linalg.norm(coef, axis=2) + np.abs(offsets)
        return np.asarray(np.maximum(reach, np.finfo(np.float64).tiny))


def _units(c: ReLUCoefficients) -> tuple[Array, Array]:
    """Return the weights (2, P, d) and biases (2, P) of the one output."""
    return np.concatenate([c.coef_plus, c.coef_minus]), np.concatenate([c.bias_plus, c.bias_minus])


def _balanced(Lambda: Array, total: Array, patterns: NDArray[np.bool_]) -> Array:
    r"""Change multipliers so that :math:`\pm1^TD\theta+1^T(2D-I)\Lambda = 0`, with ``total`` (2, P) the first term.

    What is missing is added in equal parts to the rows on the side that helps. If there is none, the pattern is on (or
    off) everywhere: its multipliers are scaled instead, and theta itself has to meet what is left.
    """
    count_on = patterns.sum(axis=0)
    count_off = len(patterns) - count_on
    on = patterns[:, None]
    excess = total + np.where(on, Lambda, -Lambda).sum(axis=0)
    pull = np.where(excess > 0, count_off, count_on)
    share = np.where(pull > 0, np.abs(excess) / np.maximum(pull, 1), 0.0)
    Lambda = Lambda + np.where(on == (excess < 0), share, 0.0)
    stuck = pull == 0
    if stuck.any():
        present = Lambda.sum(axis=0)
        wanted = np.where(count_on > 0, np.maximum(-total, 0), 0.0)
        Lambda = Lambda * np.where(stuck, shrinkage(present, wanted), 1.0)
    return np.asarray(Lambda)
