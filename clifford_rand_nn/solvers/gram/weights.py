"""The norms of a squared loss as a problem in the weights of its gates alone, by Newton's method on its sums."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from clifford_rand._typing import Array
from clifford_rand_nn.solvers.gram.design import GatedDesign
from clifford_rand_nn.solvers.gram.smooth import QuadraticSum
from clifford_rand_nn.solvers.kernel.active_set import bounded_quadratic

_RIDGE = 1e-13  # of the diagonal, for free columns
_NOTHING = 1e-200  # of the largest weight: the reciprocal stays finite
_DAMP = 1e-9  # of the second derivatives, which copies of a gate share,
_LEAST = 1e-12  # and of the largest, for gates that are never on
_HALVES = 6
_NOISE = 1e-13  # of the value: differences below it are rounding
_GROUPS = 4  # of gates, whose columns are solved together
_FAR = 1.0  # the most by which the logarithm of the radius moves along a tangent


class Sizes(NamedTuple):
    """Norms of the gates (P,) at the optimum of a radius, and their derivative by its logarithm."""

    radius: float
    size: Array
    change: Array


def predicted(trail: list[Sizes], radius: float) -> Array:
    r"""Predict the weights (P,) at a radius from the last one or two solutions.

    :math:`||U_i||` is followed as a function of :math:`\log\lambda`, along its tangent, or along the parabola through
    both solutions and it where they have the same gates.
    """
    last = trail[-1]
    ahead = float(np.clip(np.log(radius / last.radius), -_FAR, _FAR))
    size = last.size + ahead * last.change
    if len(trail) > 1 and np.array_equal(trail[-2].size > 0, last.size > 0):
        before = float(np.log(last.radius / trail[-2].radius))
        if abs(ahead) <= 2 * abs(before):
            size += (trail[-2].size - last.size + before * last.change) * (ahead / before) ** 2
    return np.where(last.size > 0, np.maximum(size, 0.0), 0.0) / radius


class Weights:
    r"""The weights a of :math:`\lambda||U_i|| = \min_{a_i\ge0}\frac12(||U_i||^2/a_i+\lambda^2a_i)`.

    For given weights the coefficients solve a linear system, :math:`U_i = a_iV_i` with V the downhill slope of the
    loss, and what is left is convex in P variables,

    .. math:: \varphi'_i(a) = \tfrac12(\lambda^2-||V_i||^2),\qquad
              \varphi''_{ij}(a) = \langle V_i, (G-G(G+\mathrm{diag}(1/a))^{-1}G)_{ij}V_j\rangle,

    also where weights are 0: a gate comes and goes like any other variable that has a bound. For one gate, column and
    row :math:`1/||V||` is linear in a. So steps go to where the linearized :math:`1/||V_i||` are :math:`1/\lambda`, as
    those of trust-region methods do: 2 or 3 of them from a predicted solution, 4 to 6 from equal weights.

    It is the method of `GateWeights` for the kernel of few rows, here in the coefficients instead of the dual point.

    ``smooth``: it is moved to the coefficients of the weights. ``radius``: :math:`\lambda = n\beta`. ``a`` (P,): the
    first weights. ``x`` (N + q, C): coefficients for the weights.

    References
    ----------
    Moré and Sorensen, "Computing a trust region step", SIAM J. Sci. Stat. Comput. 4 (1983), after Hebden, for 1/||V||.
    """

    def __init__(self, design: GatedDesign, smooth: QuadraticSum, radius: float, a: Array) -> None:
        self._design, self._smooth, self._radius = design, smooth, radius
        self._bends: Array | None = None
        self._move_to(a)

    def step(self, again: bool) -> float:
        """Move to better weights, with the last step's second derivatives ``again``; return the share of the step.

        It is 0, and the weights are what they were, if none are found.
        """
        radius, a, here = self._radius, self.a, self._value
        if not again or self._bends is None:
            self._bends = self._second_derivatives()
        share = np.sqrt(self._design.squares(self._smooth.slope)) / radius
        wanted = (radius * share) ** 2 * (share - 1)
        goal = bounded_quadratic(self._bends, wanted + self._bends @ a, (a > 0) | (wanted > 0))
        length = 1.0
        for _ in range(_HALVES):
            self._move_to(a + length * (goal - a))
            if self._value <= here + _NOISE * abs(here):
                return length
            length /= 2
        self._move_to(a)
        return 0.0

    def sizes(self) -> Sizes:
        r"""Return what the next radius is predicted from: by :math:`\varphi''da = -\lambda^2d\log\lambda`."""
        on = np.flatnonzero(self.a > 0)
        fall = np.zeros(len(self.a))
        if on.size and self._bends is not None:
            fall[on] = np.linalg.solve(self._bends[np.ix_(on, on)], np.full(on.size, -self._radius * self._radius))
        return Sizes(self._radius, self._radius * self.a, self._radius * (self.a + fall))

    def _move_to(self, a: Array) -> None:
        """Solve for the coefficients of weights."""
        a = np.where(a > _NOTHING * a.max(initial=0.0), a, 0.0)
        self._factorize(a)
        x, on = np.zeros_like(self._smooth.H), a > 0
        half = self._half_solved(self._smooth.H[self._columns].T).T
        if half.size:
            x[self._columns] = dtrsm(1.0, self._factor, half, lower=1, trans_a=1)
        self.a, self.x = a, x
        self._smooth.move_to(x)
        weighted = self._design.squares(x)[on] / a[on] + self._radius * self._radius * a[on]
        self._value = self._smooth.value + 0.5 * float(weighted.sum())

    def _factorize(self, a: Array) -> None:
        """Factorize the system of weights, LLᵀ = G + diag(1/a), on the columns of gates that have any."""
        design, G = self._design, self._smooth.G
        r, on = design.r, np.flatnonzero(a > 0)
        self._columns: Any = slice(None)
        if on.size < len(a):
            self._columns = np.concatenate([(on[:, None] * r + np.arange(r)).ravel(), np.arange(design.N, len(G))])
            G = G[np.ix_(self._columns, self._columns)]
        size = on.size * r
        matrix = G.T.copy(order="F")  # the transpose is in LAPACK's order as it is
        diagonal = np.einsum("ii->i", matrix)
        diagonal[:size] += np.repeat(1 / a[on], r)
        diagonal[size:] += _RIDGE * diagonal[size:] + (diagonal[size:] <= 0)
        self._factor = matrix
        if matrix.size:  # LAPACK takes no matrix without columns
            self._factor, info = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
            if info:
                raise np.linalg.LinAlgError(f"the leading minor of order {info} is not positive")

    def _half_solved(self, rows: Array, first: int = 0) -> Array:
        """Return the rows b (k, m) as L⁻¹b, with the factor from row and column ``first`` on."""
        if not rows.size:
            return rows
        factor = self._factor if first == 0 else np.asfortranarray(self._factor[first:, first:])
        return np.asarray(dtrsm(1.0, factor, rows.T, lower=1)).T

    def _second_derivatives(self) -> Array:
        r"""Return φ'' (P, P), by :math:`G-G(G+D)^{-1}G = D-D(G+D)^{-1}D` where there are weights."""
        design, G, a = self._design, self._smooth.G, self.a
        V = design.blocks(self._smooth.slope)
        (P, r, C), size = V.shape, len(self._factor)
        on, off = np.flatnonzero(a > 0), np.flatnonzero(a <= 0)
        Y = np.zeros((C, P, size))
        few = max(1, -(-on.size // _GROUPS))
        for first in range(0, on.size, few):  # columns of a gate are zero above its block, and stay so
            some = on[first : first + few]
            rows = np.zeros((C, some.size, size - first * r))
            for k, i in enumerate(some):
                rows[:, k, k * r : (k + 1) * r] = (V[i] / a[i]).T
            solved = self._half_solved(rows.reshape(C * some.size, -1), first * r)
            Y[:, some, first * r :] = solved.reshape(rows.shape)
        bends = np.zeros((P, P))
        bends[on, on] = design.squares(self._smooth.slope)[on] / a[on]
        if off.size:
            turned = np.stack([V[i].T @ G[i * r : (i + 1) * r] for i in off], axis=1)  # (C, off, N + q)
            blocks = turned[:, :, : design.N].reshape(C, off.size, P, r)[:, :, off]
            bends[np.ix_(off, off)] = np.einsum("ikc,cjik->ij", V[off], blocks)
            rows = turned[:, :, self._columns]
            Y[:, off] = -self._half_solved(rows.reshape(C * off.size, -1)).reshape(rows.shape)
        for factor in Y:
            bends -= factor @ factor.T
        diagonal = np.einsum("ii->i", bends)
        diagonal += _DAMP * diagonal + _LEAST * float(diagonal.max()) + _TINY
        return bends


_TINY = float(np.finfo(np.float64).tiny)
