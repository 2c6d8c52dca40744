"""Penalties: value, prox and dual norm, and a metric in which steps are short only where gates act alike."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array

_PROX_STEPS = 50
_NOTHING = 1e-120  # of the size of the coordinates: a radius below it takes nothing off, and its square is not held
_ROOT_TOL = 1e-8  # relative size of the last step, after which the error is about its square; 2 to 7 steps get there
_NEWTON_STEPS = 100  # with warm starts it takes two or three
_CG_STEPS = 100
_CG_TOL = 1e-3  # share of the residual left by the inner solver: it costs a tenth of an evaluation of the prox a step
_FALLS = 0.5  # a step that leaves at most this share of the residual is taken,
_ARMIJO = 1e-4  # as is one that lowers the function by this share of what its slope promises;
_SHORTEST = 2.0**-20  # others are halved, down to rounding
_ROUNDING = 4  # residuals of so many roundings of their parts are zero


class GroupL2:
    r"""Group lasso :math:`\beta\sum_i ||w\circ U_i||_F` over the gates of U (r, P, C), one group each over all outputs.

    The weights w (r,) belong to the coordinates: :math:`w\circ U_i` has the norm of the coefficients. Neighbors of
    equal weight are one level, so that what is done for every weight is done for few. Sums are in double precision for
    U of either.
    """

    def __init__(self, beta: float, weights: Array) -> None:
        self.beta = beta
        self.weights = weights
        steps = np.flatnonzero(np.diff(weights)) + 1
        self._starts = np.concatenate([np.zeros(min(1, weights.size), dtype=np.intp), steps])
        self._counts = np.diff(self._starts, append=weights.size)
        self.level_weights = weights[self._starts]
        self.levels = [slice(a, a + size) for a, size in zip(self._starts, self._counts, strict=True)]

    def norms(self, U: Any) -> Any:
        """Norm of each group's coefficients, (P,)."""
        return (self.level_weights**2 @ self._squares(U)) ** 0.5

    def value(self, U: Any) -> float:
        r"""Return :math:`\beta\sum_i||w\circ U_i||_F`."""
        return self.beta * float(self.norms(U).sum())

    def prox(self, U: NDArray[Any], step: float, out: NDArray[Any] | None = None) -> NDArray[Any]:
        r"""Return the minimizer of :math:`\frac12||V-U||^2 + \beta\,step\sum_i||w\circ V_i||_F` over V.

        With :math:`\rho = \beta\,step` and :math:`h = w^{-2}`: :math:`V_i = 0` if :math:`||U_i/w||_F\le\rho`, else
        :math:`V_i = U_i\,h\tau/(h\tau+\rho)` where :math:`\tau = ||w\circ V_i||_F` solves
        :math:`\varphi(\tau) = \sum (U_i/w)^2/(h\tau+\rho)^2 = 1`. Newton on :math:`\varphi^{-1/2} = 1`, which is
        concave, climbs from 0 to the root (the secular equation of trust regions; Conn, Gould, Toint, section 7.3).

        It is written to ``out`` if given, which may be U.
        """
        active, _, factors = self.shrinkage(self._squares(U), step)
        shrink = np.zeros((len(factors), U.shape[1]), dtype=U.dtype)
        shrink[:, active] = factors
        return np.asarray(np.multiply(U, self.spread(shrink)[:, :, None], out=out))

    def shrinkage(self, squares: Array, step: float) -> tuple[NDArray[np.intp], Array, Array]:
        r"""Return what `prox` does, from the sums of squares (levels, P) over each level's coordinates and all outputs.

        That is the indices of the A gates that stay active, their :math:`\tau` (A,), and the factors (levels, A).
        """
        radius, h = step * self.beta, self.level_weights[:, None] ** -2.0
        squares = squares * h
        active = np.flatnonzero(squares.sum(axis=0) > radius**2)
        squares, tau = squares[:, active], np.zeros(active.size)
        if active.size and radius < _NOTHING * np.sqrt(squares.max()):  # from 0 the first step would overflow
            tau = ((np.sqrt(squares) - radius) / h).max(axis=0)  # where one level alone has its norm: below the root
        for _ in range(_PROX_STEPS):
            inverse = 1 / (h * tau + radius)
            terms = squares * inverse * inverse
            phi, slope = terms.sum(axis=0), (terms * (h * inverse)).sum(axis=0)  # half of minus the derivative
            rise = phi / slope * (np.sqrt(phi) - 1)
            tau += rise
            if (rise <= _ROOT_TOL * tau).all():
                break
        return active, tau, h * tau / (h * tau + radius)

    def spread(self, levels: NDArray[Any]) -> NDArray[Any]:
        """Repeat what is given for each level, along the first axis, for each of its coordinates."""
        return np.repeat(levels, self._counts, axis=0)

    def dual_norm(self, G: Any) -> float:
        r"""Return :math:`\max_i||G_i/w||_F`; the dual constraint is ``dual_norm <= beta``."""
        return float((self.level_weights**-2.0 @ self._squares(G)).max(initial=0.0) ** 0.5)

    def _squares(self, U: NDArray[Any]) -> Array:
        """Sum of squares over each level's coordinates and all outputs, (levels, P)."""
        r, P, C = U.shape
        squares = np.multiply(U, U, dtype=np.float64).reshape(r, P * C)
        return np.asarray(np.add.reduceat(squares, self._starts, axis=0).reshape(len(self._starts), P, C).sum(axis=2))


class Ridge:
    r"""Half the squares, :math:`\frac\beta2\sum_i||w\circ U_i||_F^2`, of U (r, P, C); weights w as in `GroupL2`."""

    def __init__(self, beta: float, weights: Array) -> None:
        self.beta = beta
        self.weights = weights

    def value(self, U: NDArray[Any]) -> float:
        r"""Return :math:`\frac\beta2\sum_i||w\circ U_i||_F^2`."""
        squares = np.einsum("rpc,rpc->r", U, U, dtype=np.float64)
        return 0.5 * self.beta * float(self.weights**2 @ squares)

    def prox(self, U: NDArray[Any], step: float, out: NDArray[Any] | None = None) -> NDArray[Any]:
        r"""Return :math:`U/(1+\beta\,step\,w^2)`; it is written to ``out`` if given, which may be U."""
        factors = (1 / (1 + self.beta * step * self.weights**2)).astype(U.dtype)
        return np.asarray(np.multiply(U, factors[:, None, None], out=out))


class _Near(NamedTuple):
    """The dual function of the prox at a multiplier: active gates, what the penalty does to them, gradient, value."""

    active: NDArray[np.intp]
    tau: Array
    factors: Array
    squares: Array
    g: Array
    size: float
    value: float


class GateMetric(NamedTuple):
    r"""The metric :math:`||(U, c)||^2 = \sum_k\langle U_k, AU_k\rangle + \omega||c||^2`, :math:`A = I + b\,ss^T`.

    U_k are the coefficients (P,) of coordinate k over the gates: s (P,) of length 1 is the direction in which gates act
    alike.
    """

    s: Array
    b: float
    omega: float

    def apply(self, U: NDArray[Any]) -> NDArray[Any]:
        """Return A U for U (r, P, C), in its precision."""
        return self._moved(U, self.b)

    def solve(self, G: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`A^{-1}G` for G (r, P, C), in its precision."""
        return self._moved(G, -self.b / (1 + self.b))

    def _moved(self, U: NDArray[Any], by: float) -> NDArray[Any]:
        s = self.s.astype(U.dtype, copy=False)
        return np.asarray(U + _along(U, U.dtype.type(by) * s)[:, None] * s[:, None])

    def prox(
        self, penalty: GroupL2, W: NDArray[Any], step: float, start: Array | None = None
    ) -> tuple[NDArray[Any], Array]:
        r"""Minimize :math:`\frac12||V-W||_A^2 + \beta\,step\sum_i||w\circ V_i||_F` over V; W is (r, P, C).

        With a multiplier :math:`\mu` (r, C) for the term of b, :math:`V(\mu)` is the plain prox of
        :math:`W - \mu s^T`, and :math:`\mu` minimizes :math:`|\mu|^2/(2b) + \langle\mu, Ws\rangle + ||V(\mu)||^2/2`,
        which is convex, with gradient :math:`g = \mu/b + (W-V(\mu))s` and Hessians between 1/b and 1/b + 1. Semismooth
        Newton steps by conjugate gradients, halved until they halve ``|g|`` or lower the function, find it to the
        rounding of W's precision.

        Returns V and :math:`\mu/step`, a ``start`` for the next prox nearby.

        References
        ----------
        Becker, Fadili, Ochs, "On quasi-Newton forward-backward splitting: proximal calculus and convergence", SIAM J.
        Optim. 29 (2019), section 3.
        """
        s, negligible = self.s, _ROUNDING * np.finfo(W.dtype).eps
        U = np.empty(W.shape)  # W - mu s^T

        def at(mu: Array) -> _Near:
            squares, Vs = np.empty((len(penalty.levels), s.size)), np.empty_like(mu)
            for level, rows in enumerate(penalty.levels):  # few coordinates at a time, which stay in the cache
                np.subtract(W[rows], mu[rows, None] * s[:, None], out=U[rows])
                squares[level] = (U[rows] ** 2).sum(axis=(0, 2))
            active, tau, factors = penalty.shrinkage(squares, step)
            shrink = np.zeros_like(squares)
            shrink[:, active] = factors
            for level, rows in enumerate(penalty.levels):
                Vs[rows] = _along(U[rows], shrink[level] * s)
            g = mu / self.b - Vs + Ws
            value = 0.5 * (np.vdot(mu, mu) / self.b + np.vdot(shrink**2, squares)) + np.vdot(mu, Ws)
            return _Near(active, tau, factors, squares[:, active], g, float(np.linalg.norm(g)), float(value))

        Ws, whole = _along(W, s), np.linalg.norm(W)
        mu = np.zeros_like(Ws) if start is None else step * start
        near = at(mu)
        for _ in range(_NEWTON_STEPS):
            if near.size <= negligible * (whole + np.linalg.norm(mu) / self.b):
                break
            move, length = self._newton(penalty, step, U, near), 1.0
            slope = _ARMIJO * float(np.vdot(near.g, move))
            trial = at(mu - move)
            while trial.size > _FALLS * near.size and trial.value > near.value - length * slope and length > _SHORTEST:
                length /= 2
                trial = at(mu - length * move)
            if length <= _SHORTEST:
                near = at(mu)
                break
            mu, near = mu - length * move, trial
        V = np.zeros_like(W)
        V[:, near.active] = U[:, near.active] * penalty.spread(near.factors)[:, :, None]
        return V, mu / step

    def _newton(self, penalty: GroupL2, step: float, U: Array, near: _Near) -> Array:
        r"""Solve :math:`(1/b + \sum_i s_i^2J_i)x = g`, with J_i the derivative of the prox of gate i.

        Its diagonal are the factors f, and the rest is :math:`k_iz_iz_i^T` with :math:`z = fw^2V/\tau` and
        :math:`k = \rho/(\tau\sum f(wV/\tau)^2)`: the inverse of the Hessian
        :math:`I + \rho(w^2/\tau - (w^2V)(w^2V)^T/\tau^3)`.
        """
        active, tau, f, squares, g = near[:5]
        square, w2 = self.s[active] ** 2, penalty.level_weights[:, None] ** 2
        diagonal = penalty.spread(1 / self.b + f @ square)[:, None]
        k = square * step * penalty.beta / (tau * (w2 * f * (f / tau) ** 2 * squares).sum(axis=0))
        z = U[:, active] * penalty.spread(w2 * f * (f / tau))[:, :, None]
        Z = z.transpose(1, 0, 2).reshape(active.size, g.size)
        x, rest = np.zeros_like(g), g.copy()
        p = q = rest / diagonal
        left = float(np.vdot(rest, q))
        least = _CG_TOL**2 * left
        for _ in range(_CG_STEPS):
            if left <= least:
                break
            image = diagonal * p + ((k * (Z @ p.ravel())) @ Z).reshape(p.shape)
            length = left / float(np.vdot(p, image))
            x += length * p
            rest -= length * image
            q = rest / diagonal
            before, left = left, float(np.vdot(rest, q))
            p = q + (left / before) * p
        return x


def _along(U: NDArray[Any], s: NDArray[Any]) -> NDArray[Any]:
    """Sum over the gates of U (r, P, C) times s (P,): (r, C)."""
    return np.asarray(s @ U if U.shape[2] > 1 else (U[:, :, 0] @ s)[:, None])
