"""Newton's system in the coefficients of a design: its preconditioner, and the product of the penalty."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm, dtrsv, strsm, strsv
from scipy.linalg.lapack import dpotrf, spotrf

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import shrinkage
from clifford_rand_nn.solvers.gram_design import GatedDesign

# The mean product of weight and slack falls to this share after a good step, stays after one to where a slope is more
# than so many times its bound, and rises after one below this length: 13 % fewer steps than where it always falls.
# Exact steps bear more: a path of 20 beta takes 95 of them instead of 106.
_FALL = 0.1
_EXACT_FALL = 0.03
_NEAR = 2.0
_RISE = 4.0
_HOLD = 0.5
_FIRST_SQUARES = 1e-3  # first radius of squared norms of a softmax, as a share of the curvature along the slope
_FIRST = 0.3  # the first radius, as a share of the largest useful one, where it is followed down;
_EASY = 0.5  # share of λ below which slopes of squared norms end these: 11 steps for 15 at 0.2, 17 at 2
_FOLLOW = 0.1  # it falls to this share after a good step: 15 to 20 steps where 18 to 30 were needed from the last one
_WARM = 0.01  # least slack and least weight, as shares of the largest and the mean, where another solution is the start
_ROUNDING = 1e-13
_FELT = 1e-100  # of the residual's square: a slope with a smaller square moves no prediction, rounding is 1e-32 of it
_TINY = float(np.finfo(np.float64).tiny)
# Least squared pivot of a free column of unit diagonal: without curvature a step is rounding noise over the pivot.
_DAMPING = 1e-6
_GROUPS = 8  # of gates, whose columns are solved together
_ROOM = {np.float32: 1e-5, np.float64: 1e-12}


class Linearized(NamedTuple):
    r"""A penalty in Newton's system, :math:`\mathrm{diag}(d_i) - v_iv_i^T` in every gate, and the right-hand side."""

    diagonal: Array  # d, (P,)
    directions: Array | None  # v, (P, r, C)
    right: Array  # (N + q, C)


class Squares:
    r"""Half the squared norms, :math:`\frac\lambda2||U||^2`; λ is followed down if there is a first slope."""

    def __init__(self, design: GatedDesign, radius: float, slope: Array | None) -> None:
        self._design, self._target, self.radius = design, radius, radius
        if slope is not None and (size := float(np.linalg.norm(slope[: design.N]))) > 0:
            ahead = design.forward(np.pad(slope[: design.N] / size, ((0, design.q), (0, 0))))
            self.radius = max(radius, _FIRST_SQUARES * float(np.vdot(ahead, ahead)))

    @property
    def arrived(self) -> bool:
        """Whether λ is that of the problem."""
        return self.radius == self._target

    def linearize(self, x: Array, slope: Array) -> Linearized:
        """Return the system at x, for a loss with that downhill slope."""
        right = slope.copy()
        right[: self._design.N] -= self.radius * x[: self._design.N]
        return Linearized(np.full(self._design.P, self.radius), None, right)

    def value(self, x: Array) -> float:
        """Return the penalty."""
        return 0.5 * self.radius * float(self._design.squares(x).sum())

    def advance(self, x: Array, slope: Array, length: float, floor: float) -> None:
        """Let λ fall after a good step."""
        if length >= _HOLD:
            self.radius = max(self._target, _FOLLOW * self.radius)


def equal_weight(theta: Array, squares: Array, radius: float) -> float:
    """Return the weight of all gates that would bring the slopes of a residual, of these squared norms, to a radius.

    Gates without a slope, as those whose rows a bias spans, are served by any: 1.
    """
    top, whole, own = float(np.sqrt(squares.max(initial=0.0))), float(squares.sum()), float(np.vdot(theta, theta))
    return max(top / radius, 1.0) * own / whole if whole > _FELT * own else 1.0


class Norms:
    r"""The norms :math:`\lambda\sum_i||U_i||` as :math:`\min_{a\ge0}\frac12\sum_i(||U_i||^2/a_i+\lambda^2a_i)`.

    With a barrier :math:`-\mu\log a_i` the best weight is
    :math:`a_i = (\mu+\sqrt{\mu^2+\lambda^2||U_i||^2})/\lambda^2`, and what is left is a smooth norm, of slope
    :math:`U_i/a_i`. On its central path that is the downhill slope :math:`V_i` of the loss, shorter than λ, with the
    slack :math:`z_i = \frac12(\lambda^2-||V_i||^2) = \mu/a_i`, and the Hessian of a gate is
    :math:`\frac1{a_i}\big(I-W_iW_i^T/(z_i+||W_i||^2)\big)` with either slope for W. As in interior-point methods it is
    the dual one: :math:`V_i`, shortened to λ, with its own slack. So a gate that is idle, or far from its place, is
    held by :math:`1/a_i` in all directions, where the smooth norm itself is straight and Newton's steps overshoot. The
    matrix is positive everywhere, so each step lowers loss and smooth norm if it is short enough, while μ falls by
    tenths.

    Where the loss has infimum 0, λ is followed down from where the problem is easy: far from the optimum of a small λ a
    loss that is nearly 0 has no curvature to go by. Of a softmax squared norms come first, until `takes_over`.

    References
    ----------
    Chan, Golub, Mulet, "A nonlinear primal-dual method for total variation-based image restoration", SIAM J. Sci.
    Comput. 20 (1999), for the dual variable in the Hessian of a smooth norm.
    """

    def __init__(self, design: GatedDesign, radius: float, theta: Array, slope: Array, exact: bool) -> None:
        """Begin without gates, at a residual and its correlations: weights that would bring these to λ if equal.

        ``exact`` says that the loss is quadratic, so that its steps are exact and λ need not be followed.
        """
        self._design, self._target = design, radius
        self._fall = _EXACT_FALL if exact else _FALL
        squares = design.squares(slope)
        self.radius = max(radius, _FIRST * float(np.sqrt(squares.max(initial=0.0)))) if not exact else radius
        self._mu = 0.5 * self._square * equal_weight(theta, squares, self.radius)

    def restart(self, radius: float, x: Array, slope: Array, first: float = 0.0) -> None:
        """Go on from the solution x of another radius, unless it has no gates; λ falls from ``first``."""
        size = np.sqrt(self._design.squares(x))
        if not size.any():
            return
        self._target, self.radius = radius, max(radius, first)
        a = np.maximum(size, _WARM * float(size.sum()) / max(size.size, 1)) / self.radius
        slack = np.maximum(0.5 * (self._square - self._design.squares(slope)), 0.5 * _WARM * self._square)
        self._mu = max(float(np.sum(a * slack)) / max(size.size, 1), _TINY)

    def takes_over(self, squared: float, x: Array) -> bool:
        """Tell whether slopes of squared norms with that radius, about U times it, are within a share of λ."""
        return squared * float(np.sqrt(self._design.squares(x).max(initial=0.0))) <= _EASY * self._target

    @property
    def arrived(self) -> bool:
        """Whether λ is that of the problem."""
        return self.radius == self._target

    @property
    def _square(self) -> float:
        """The square of λ; inf where it overflows, for which the power of a float raises."""
        return self.radius * self.radius

    def _weights(self, x: Array) -> Array:
        sizes = np.sqrt(self._design.squares(x))
        return np.asarray((self._mu + np.hypot(self._mu, self.radius * sizes)) / self._square)

    def _slacks(self, a: Array, slope: Array) -> Array:
        """Return the slack of every slope that is within λ, and that of the central path where it is not."""
        half = 0.5 * self._square
        return np.maximum(half - 0.5 * self._design.squares(slope), np.minimum(self._mu / a, half))

    def linearize(self, x: Array, slope: Array) -> Linearized:
        """Return the system at x, for a loss with that downhill slope."""
        design, a = self._design, self._weights(x)
        sizes = np.sqrt(design.squares(slope))
        share = shrinkage(sizes, self.radius)
        whole = self._slacks(a, slope) + (share * sizes) ** 2
        right = slope.copy()
        right[: design.N] -= (design.blocks(x) / a[:, None, None]).reshape(design.N, x.shape[1])
        return Linearized(1 / a, design.blocks(slope) * (share / np.sqrt(a * whole))[:, None, None], right)

    def value(self, x: Array) -> float:
        """Return the smooth norms."""
        a = self._weights(x)
        squares = self._design.squares(x) / a + self._square * a
        return float(np.sum(0.5 * squares - self._mu * np.log(a)))

    def advance(self, x: Array, slope: Array, length: float, floor: float) -> None:
        """Let λ and μ fall after a step of that length to x; products are not aimed below a floor."""
        a = self._weights(x)
        slack = self._slacks(a, slope)
        if not self.arrived and length >= _HOLD:
            fall = max(_FOLLOW, self._target / self.radius)
            nearly = self.radius * fall <= self._target * (1 + _ROUNDING)
            self.radius = self._target if nearly else self.radius * fall
            slack, a = slack * fall**2, a / fall
        near = float(self._design.squares(slope).max(initial=0.0)) < _NEAR * _NEAR * self._square
        change = _RISE if length < _HOLD else self._fall if near else 1.0
        self._mu = max(float(np.sum(a * slack)) / max(self._design.P, 1) * change, floor)

    def active(self, x: Array, slope: Array) -> Any:
        """Tell which gates are active, (P,): those whose weight, as a share of the largest, exceeds their slack's."""
        a = self._weights(x)
        return a * self._square > 2 * self._slacks(a, slope) * a.max(initial=0.0)


class Preconditioner:
    r"""The inverse of :math:`\mathrm{blockdiag}_c(G_c+\mathrm{diag}(d)) - \sum_iv_iv_i^T`, with d = 0 for free columns.

    Each G is scaled by :math:`S = d^{-1/2}`, so that no eigenvalue of :math:`I+SGS = LL^T` is below 1 and single
    precision serves; directions of gates go through the small matrix :math:`I - Y^TY`, :math:`Y = L^{-1}Sv`.

    ``grams`` (N + q, N + q): one for all outputs or one for each, in single or double precision; they are not changed.
    ``balanced``: whether the rows of a solution sum to zero, as those of a softmax do. Raises LinAlgError: A matrix has
    entries that are not finite.
    """

    def __init__(self, design: GatedDesign, grams: list[NDArray[Any]], terms: Linearized, balanced: bool) -> None:
        self._kind: Any = np.float32 if grams[0].dtype == np.float32 else np.float64
        self._balanced, self._made_of = balanced, (grams, terms)
        scales, self._factors = zip(*(self._factorized(design, G, terms) for G in grams), strict=True)
        self._scale = np.concatenate(scales, axis=1)
        self._Y: NDArray[Any] | None = None
        if terms.directions is not None and terms.directions.any():
            self._take(design, terms.directions)

    def serves(self, grams: list[NDArray[Any]], terms: Linearized) -> bool:
        """Tell whether this is the inverse for these matrices and a penalty without directions."""
        of, linear = self._made_of
        return of is grams and terms.directions is None and np.array_equal(terms.diagonal, linear.diagonal)

    def _factorized(self, design: GatedDesign, G: NDArray[Any], terms: Linearized) -> tuple[Any, Any]:
        """Return S and L, of a matrix whose diagonal is raised until no pivot is rounding noise."""
        N, free = design.N, G.diagonal()[design.N :].astype(np.float64)
        scale = np.concatenate([np.repeat(terms.diagonal, design.r), np.where(free > 0, free, 1.0)]) ** -0.5
        S = np.asarray(scale.astype(self._kind)[:, None])
        noise = float(np.finfo(self._kind).eps) * len(S) ** 0.5
        least = np.ones(len(S))  # of the squared pivots
        least[N:] = max(10 * noise, _DAMPING) + (free <= 0)
        for shift in noise * np.array([0, 1, 10, 100, 1e3, 1e4]):
            matrix = np.multiply(G.T, S, order="F")  # the transpose is in LAPACK's order as it is
            matrix *= S.T
            diagonal = np.einsum("ii->i", matrix)
            diagonal += least + shift * diagonal
            factor, info = (spotrf if self._kind is np.float32 else dpotrf)(matrix, lower=1, clean=0, overwrite_a=1)
            if not info and (2 * factor.diagonal() ** 2 >= least).all():
                return S, factor
        raise np.linalg.LinAlgError("the matrix has entries that are not finite")

    def _take(self, design: GatedDesign, directions: Array) -> None:
        """Take in the directions of the gates."""
        P, r, C = directions.shape
        scaled: Any = (directions.reshape(P * r, C) * self._scale[: design.N]).reshape(P, r, C)
        Y: Any = np.zeros((design.N + design.q, C, P), self._kind)
        few = max(1, -(-P // _GROUPS))
        for first in range(0, P, few):  # columns of a gate are zero above its block, and stay so
            gates = range(first, min(first + few, P))
            columns = np.zeros((len(Y) - first * r, C, len(gates)), self._kind)
            for i in gates:
                columns[(i - first) * r : (i - first + 1) * r, :, i - first] = scaled[i]
            Y[first * r :, :, first : first + few] = self._solved(columns, False, first * r)
        Y = Y.reshape(-1, P)
        wide = Y.astype(np.float64, copy=False)
        values, vectors = np.linalg.eigh(np.eye(P) - wide.T @ wide)
        inverse = (vectors / np.maximum(values, _ROOM[self._kind])) @ vectors.T
        self._Y, self._small = Y, inverse.astype(self._kind)

    def _solved(self, b: NDArray[Any], turned: bool, first: int = 0) -> NDArray[Any]:
        """Return L⁻¹b, or L⁻ᵀb, of b (·, C, k), with the factors from row and column ``first`` on."""
        trsm, trsv = (strsm, strsv) if self._kind is np.float32 else (dtrsm, dtrsv)
        parts = np.split(b, len(self._factors), axis=1)
        for i, whole in enumerate(self._factors):
            sides = np.asfortranarray(parts[i].reshape(len(b), -1), dtype=self._kind)
            factor = whole if first == 0 else np.asfortranarray(whole[first:, first:])
            if sides.shape[1] == 1:  # a sixth of the time at order 1800
                sides = trsv(factor, sides[:, 0], lower=1, trans=int(turned), overwrite_x=1)
            else:
                sides = trsm(1.0, factor, sides, lower=1, trans_a=int(turned), overwrite_b=1)
            parts[i] = sides.reshape(parts[i].shape)
        return np.concatenate(parts, axis=1)

    def __call__(self, b: Array) -> Array:
        """Apply the inverse to b (N + q, C)."""
        x: Any = self._solved((b * self._scale)[:, :, None], False)[:, :, 0]
        if self._Y is not None:
            along = self._small @ (self._Y.T @ np.ascontiguousarray(x).ravel())
            x = x + (self._Y @ along).reshape(x.shape)
        x = (self._scale * self._solved(x[:, :, None], True)[:, :, 0]).astype(np.float64)
        return np.asarray(x - x.mean(axis=1, keepdims=True) if self._balanced else x)


def penalty_product(design: GatedDesign, linear: Linearized, p: Array) -> Array:
    """Return what the penalty's part of the system makes of p (N + q, C)."""
    out = np.zeros_like(p)
    blocks, to = design.blocks(p), design.blocks(out)
    np.multiply(blocks, linear.diagonal[:, None, None], out=to)
    if linear.directions is not None:
        to -= linear.directions * np.einsum("prc,prc->p", linear.directions, blocks)[:, None, None]
    return out
