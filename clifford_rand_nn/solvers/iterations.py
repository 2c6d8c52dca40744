r"""Iterations that several solvers share, once each: preconditioned conjugate gradients, predictor-corrector steps.

`conjugate_gradient` is the loop, by blocks, for one system or for many at once. Where each product is a pass over data
that may be interrupted, `first_iterate` and `next_iterate` are its two halves, and a `CGIterate` is all that the steps
from there depend on. `predictor_corrector` is Mehrotra's step; `DualTerms` and `LossTerm` are the loss in its systems.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.problems.datafit import Datafit, unpenalized_fit
from clifford_rand_nn.solvers.complementarity import longest_step

Operator = Callable[[Array], Array]

# Share of the largest eigenvalue of the curvature of directions of unit length, below which one is round-off of others.
_DEPENDENT = 1e-6
_IDLE = 1e-6  # of the largest target, or slope if less: the slope at the null fit of a constant; n rows have 1/n
BOUNDARY = 0.99  # share of the way to the boundary
# Entries this near to an open bound, as a share of their range times the gap, are spare, and shorten no step: one that
# is off by so little costs next to nothing, and a mass of 1e-18 that has to shrink a hundred times would hold all back.
# Steps on 24 logistic and softmax problems: 630 without, 567 with 1e-3, 594 with 1e-6; at 1e-2 some problems jam.
SPARE = 1e-3
_GRAIN = 4  # roundings between a dual point and a bound that it must not reach
_INSIDE = 0.9  # the starting point keeps this share of its way from 0 to the boundary of the domain


# ---- conjugate gradients


class CGIterate(NamedTuple):
    r"""A point of conjugate gradients, and the directions from there.

    ``residual``: :math:`b-Ax`. ``size``: :math:`\mathrm{tr}(r^TM^{-1}r)`, the squared residual in the metric of the
    preconditioner. ``is_exhausted``: whether no direction has a positive curvature, or the preconditioner returns what
    is not finite.
    """

    x: Array
    images: tuple[Array, ...]  # linear images of x, accumulated as x is; none before the first product
    residual: Array
    direction: Array  # conjugate to all before in exact arithmetic; at the start the preconditioned right-hand side
    size: float
    n_products: int = 0
    is_exhausted: bool = False


def conjugate_gradient(
    apply: Callable[[Array], tuple[Array, ...]],
    rhs: Array,  # b
    preconditioner: Operator,
    *,
    rtol: float = 0.0,  # of the first residual, in the metric of the preconditioner
    max_iter: int,  # products with A at most
    stop: Callable[[CGIterate], bool] | None = None,  # of the iterate; called before each product
    coupled: bool = False,
) -> CGIterate:
    r"""Solve :math:`Ax=b` with A symmetric and positive semidefinite.

    The columns of b (n, C) are C systems with one matrix: each takes the best step in the directions of all of them
    (block conjugate gradients; O'Leary, "The block conjugate gradient algorithm and related methods", Linear Algebra
    Appl. 29, 1980, section 3). With 26 classes (letter, 6,000 rows) 14 products do instead of 19. ``coupled`` makes
    them one system, as where A mixes them; then these are the steps of Hestenes and Stiefel.

    ``apply``: of P, in the shape of b: returns :math:`AP`, and after it linear images of P that are wanted of x as
    well. ``preconditioner``: :math:`M^{-1}`, symmetric and positive definite on the range of A. It may project on a
    subspace, where the solution is then (Gould, Hribar, Nocedal, SIAM J. Sci. Comput. 23, 2001).

    Examples
    --------
    >>> A, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[3.0], [4.0]])
    >>> conjugate_gradient(lambda p: (A @ p,), b, lambda r: r, max_iter=2).x.ravel().round(12)
    array([1., 1.])
    """
    iterate = first_iterate(rhs, preconditioner)
    least = rtol**2 * iterate.size  # sizes are squares
    while iterate.n_products < max_iter and iterate.size > least and not iterate.is_exhausted:
        if stop is not None and stop(iterate):
            break
        direction = normalized(iterate.direction, coupled)
        product, *images = apply(direction)
        iterate = next_iterate(iterate, direction, product, tuple(images), preconditioner, coupled)
    return iterate


def first_iterate(rhs: Array, preconditioner: Operator) -> CGIterate:
    """Return the iterate x = 0."""
    z = preconditioner(rhs)
    size = float(np.vdot(rhs, z))
    return CGIterate(np.zeros_like(rhs), (), rhs, z, size, is_exhausted=not np.isfinite(size))


def normalized(direction: Array, coupled: bool = False) -> Array:
    """Return directions of unit length, so that their curvatures compare; those that are zero stay so."""
    columns = _columns(direction, coupled)
    return np.asarray(
        (columns / (np.linalg.norm(columns, axis=0) + np.finfo(np.float64).tiny)).reshape(direction.shape)
    )


def next_iterate(
    iterate: CGIterate,
    direction: Array,
    product: Array,
    images: tuple[Array, ...],
    preconditioner: Operator,
    coupled: bool = False,
) -> CGIterate:
    r"""Return the iterate after the best step in the directions P, whose product AP and images are known.

    With :math:`T` such that :math:`T^TP^TAPT=I`, the step is :math:`PTT^TP^Tr`, and the next directions are
    :math:`z-PTT^T(AP)^Tz`, :math:`z=M^{-1}r`, conjugate to these.
    """
    # the best step minimizes ½ tr(XᵀAX) - tr(BᵀX) over X + P S
    P, AP = _columns(direction, coupled), _columns(product, coupled)
    curvature = P.T @ AP
    if not np.isfinite(curvature).all():
        return iterate._replace(n_products=iterate.n_products + 1, is_exhausted=True)
    # PᵀAP = V Λ Vᵀ: T = V Λ^{-1/2}, without directions that are round-off of others
    values, T = np.linalg.eigh(0.5 * (curvature + curvature.T))
    independent = values > _DEPENDENT * max(values[-1], 0.0)
    if not independent.any():
        return iterate._replace(n_products=iterate.n_products + 1, is_exhausted=True)
    T = T[:, independent] / np.sqrt(values[independent])
    steps = T @ (T.T @ (P.T @ _columns(iterate.residual, coupled)))

    def moved(total: Array, along: Array, sign: float = 1.0) -> Array:
        return np.asarray(total + sign * (_columns(along, coupled) @ steps).reshape(along.shape))

    x, residual = moved(iterate.x, direction), moved(iterate.residual, product, -1.0)
    sums = iterate.images or tuple(np.zeros_like(image) for image in images)
    images = tuple(moved(total, image) for total, image in zip(sums, images, strict=True))
    z = preconditioner(residual)
    size = float(np.vdot(residual, z))
    # conjugate to P: Pᵀ A (z - P T Tᵀ (AP)ᵀ z) = 0
    following = z - (P @ (T @ (T.T @ (AP.T @ _columns(z, coupled))))).reshape(z.shape)
    return CGIterate(x, images, residual, following, size, iterate.n_products + 1, not np.isfinite(z).all())


def _columns(values: Array, coupled: bool) -> Array:
    """Return arrays of any shape as a matrix: a column for each system."""
    return values.reshape(-1, 1 if coupled else values.shape[-1])


# ---- predictor-corrector steps


def predictor_corrector(
    direction: Callable[[float, bool, float], float],
    product: Callable[[float], float],  # the sum of products after a step along it
    count: int,  # m
    floor: float = 0.0,  # no target is below
    boundary: float = BOUNDARY,  # the share of the longest step that is taken
    short: float = 0.0,
) -> float:
    r"""Solve for the direction of a step, and return its length.

    With :math:`\mu=\sum_ks_kz_k/m` the predictor aims at products of 0. Where it reaches :math:`\mu'`, the corrector
    aims at :math:`\sigma\mu`, :math:`\sigma=(\mu'/\mu)^3`, with the second-order terms of the predictor (Mehrotra, "On
    the implementation of a primal-dual interior point method", SIAM J. Optim. 2, 1992).

    ``direction``: of a target, whether the last direction is for second-order terms, and its length then; solves, keeps
    the direction, and returns the longest step along it. ``short``: a predictor below this length tells little: then
    the target stays, with the second-order terms of that length.
    """
    mu = product(0.0) / count
    length = min(1.0, direction(0.0, False, 1.0))
    if length < short:  # the second-order terms of a step that is not taken would lead astray
        return min(1.0, boundary * direction(max(mu, floor), True, length))
    share = min(max(product(length) / (count * mu), 0.0), 1.0) ** 3 if mu > 0 else 0.0
    return min(1.0, boundary * direction(max(share * mu, floor), True, 1.0))


class DualTerms:
    r"""The sum g of the conjugates of the rows at -theta: gradient, curvature, domain, and an interior point.

    For every loss g is a sum over the entries of theta (n, C); where the entries of a row mix (softmax), on rows of
    theta that sum to zero. So theta is :math:`\varphi E^T` with ``mix`` E (C, C'): the identity, or
    :math:`[I; -1^T]`.

    A loss whose conjugate has an infinite slope at the ends of its domain is its own barrier (``open`` bounds); where
    the slope is finite the bounds are inequalities (``closed``).

    ``predictions``, ``curvature``: minus the gradient of g at theta, for the softmax up to a shift of each row; and its
    second derivatives (n, C).
    """

    def __init__(self, datafit: Datafit, Q: Array) -> None:
        self.datafit = datafit
        y = datafit.y
        C = y.shape[1]
        self.mix = np.eye(C) if datafit.loss.separable else np.concatenate([np.eye(C - 1), -np.ones((1, C - 1))])
        self.open = self.closed = np.full_like(y, -np.inf), np.full_like(y, np.inf)
        if datafit.loss.barrier and not datafit.loss.even:
            self.open = datafit.dual_domain()
        else:
            self.closed = datafit.dual_domain()
        self.predictions, self.curvature = datafit.predictions_at, datafit.dual_curvature
        self.null = unpenalized_fit(datafit, Q)
        self.null_theta = datafit.residual(self.null)

    def start(self) -> Array:
        """Return the residual of the null fit, drawn into the domain; strictly inside unless a label is absent."""
        bounded = any(np.isfinite(bound).any() for bound in self.closed)
        return np.asarray(_INSIDE * self.null_theta if bounded else self.null_theta)

    def idle(self) -> NDArray[np.bool_]:
        """Tell which outputs (C,) the null fit meets in every row: a bounded dual is 0 there and has no interior."""
        y = self.datafit.y
        ends = np.abs(np.stack([*self.open, *self.closed]) / self.datafit.weights)
        unit = min(np.abs(y).max(initial=0.0), ends.min(initial=np.inf, where=ends > 0))
        slope = np.abs(self.null_theta / self.datafit.weights).max(axis=0)
        return np.asarray((y == y[:1]).all(axis=0) & np.isfinite(ends).any() & (slope <= _IDLE * unit))

    def _room(self, theta: Array, direction: Array) -> Array:
        """Distance (n, C) of every entry to the open bound that the direction leads to."""
        low, high = self.open
        return np.asarray(np.where(direction > 0, high - theta, theta - low))

    def limit(self, theta: Array, direction: Array, spare: Array | float = 0.0) -> float:
        """Largest step along ``direction`` within the open bounds, of the entries further from them than ``spare``."""
        room, speed = self._room(theta, direction), np.abs(direction)
        counts = (speed > 0) & (room > spare)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.min(room / speed, initial=np.inf, where=counts))

    def held(self, theta: Array, move: Array, spare: Array | float) -> Array:
        """Return ``move`` where spare entries that would pass an open bound keep a share of their way to it."""
        room, speed = self._room(theta, move), np.abs(move)
        low, high = self.open
        least = _GRAIN * np.spacing(np.abs(np.where(move > 0, high, low)))  # nearer, and the bound itself comes out
        most = np.maximum(np.minimum(BOUNDARY * room, room - least), 0.0)
        passing = (speed > most) & (room <= spare)
        if not passing.any():
            return move
        move = np.where(passing, np.sign(move) * most, move)
        if not self.datafit.loss.separable:  # what a row lacks goes to its largest mass
            move[self._heaviest(theta)] -= move.sum(axis=1)
        return move

    def curvature_towards(self, theta: Array, away: Array, spare: Array | float) -> Array:
        """Return `curvature`, and for spare entries so much that ``away`` over it ends at the bound, not beyond.

        A direction then counts on no more than `held` leaves of it; else what it asks of the other entries misleads.
        """
        h = self.curvature(theta)
        if not self.datafit.loss.separable:  # predictions are known up to a shift of each row
            away = away - away[self._heaviest(theta)][:, None]
        room = self._room(theta, away)
        return np.asarray(np.where(room <= spare, np.maximum(h, np.abs(away) / room), h))

    def _heaviest(self, theta: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.arange(len(theta)), np.argmax(self.datafit.weights * self.datafit.y - theta, axis=1)


class LossTerm:
    r"""A separable loss with its dual point theta (n, C), linearized: :math:`\Delta\theta = W(q-\Delta f)`.

    Newton's method on the loss itself stalls where the loss is flat (small beta and separable classes) and may cycle
    between its pieces. So theta is an unknown besides f, and the equation of both is linearized in theta: with
    F(theta) the predictions whose residual is theta, and p and m the multipliers of the bounds of theta,

    .. math:: F(\theta) - f = p - m,\qquad p(high-\theta) = m(\theta-low) = \mu.

    A conjugate that is its own barrier (logistic, log cosh) has multipliers as well: at a residual of 1000 δ the dual
    point of log cosh rounds to its bound δ, F(theta) is at most 19 δ, and the multipliers supply the difference.
    Without bounds (squared loss) theta is the residual from the first step on.

    ``datafit``: in the units of ``f``. ``f`` (n, C). ``mu``: initial products of slacks and multipliers.
    """

    def __init__(self, datafit: Datafit, f: Array, mu: float) -> None:
        self.datafit = datafit
        low, high = datafit.dual_domain()
        self.bounds = np.stack([high, low])
        self.finite = np.isfinite(self.bounds)
        self.sign = np.array([1.0, -1.0])[:, None, None]  # slack = sign * (bound - theta)
        inner = np.where(self.finite, self.bounds, 0.0)
        single = datafit.residual(f) if datafit.loss.barrier else self._inside_single(inner)
        between = np.where(self.finite.all(axis=0), inner.mean(axis=0), single)
        self.theta = np.where(self.finite.any(axis=0), between, datafit.residual(f))
        self.count = int(self.finite.sum())
        self.p = np.where(self.finite, mu / self._slack(), 0.0)
        self.dp, self.dtheta = np.zeros_like(self.p), np.zeros_like(self.theta)

    def _inside_single(self, inner: Array) -> Array:
        """Return points at a distance of one weight from the bound, where there is only one."""
        return np.asarray(inner.sum(axis=0) + self.datafit.weights * (1.0 * self.finite[1] - self.finite[0]))

    def _slack(self) -> Array:
        return np.asarray(np.where(self.finite, self.sign * (self.bounds - self.theta), 1.0))

    def linearize(self, f: Array) -> Array:
        """Linearize at predictions f; return the square roots of W, (n, C)."""
        self.slack = self._slack()
        self.rest = self.datafit.predictions_at(self.theta) - f - (self.sign * self.p).sum(axis=0)
        self.W = 1 / (self.datafit.dual_curvature(self.theta) + (self.p / self.slack).sum(axis=0))
        return np.asarray(np.sqrt(self.W))

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Return W q (n, C); ``second_order`` corrects by the previous direction."""
        c = target - self.p * self.slack
        if second_order:
            c = c + self.dp * self.sign * self.dtheta
        self.c = np.where(self.finite, c / self.slack, 0.0)
        self.q = self.rest - (self.sign * self.c).sum(axis=0)
        return np.asarray(self.W * self.q)

    def set_direction(self, df: Array, dtheta: Array | None = None) -> None:
        """Set the direction of theta, unless it is known, and of the multipliers that follows from df."""
        self.dtheta = self.W * (self.q - df) if dtheta is None else dtheta
        self.dp = self.c + self.p * self.sign * self.dtheta / self.slack

    def limit(self) -> float:
        """Largest step along the direction within the bounds."""
        slack = np.where(self.finite, -self.sign * self.dtheta, 0.0)
        return min(longest_step(self.p, self.dp), longest_step(self.slack, slack))

    def product(self, step: float = 0.0) -> float:
        """Sum of the ``count`` complementarity products after a step."""
        slack = self._slack() - step * self.sign * self.dtheta
        return float(np.sum(np.where(self.finite, slack * (self.p + step * self.dp), 0.0)))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.theta, self.p = self.theta + step * self.dtheta, self.p + step * self.dp
        high, low = self.bounds  # rounding must not put theta on a bound
        self.theta = np.clip(self.theta, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
