"""Cones of the norms in the interior-point method for the convex ReLU program."""

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.solvers.interior.complementarity import longest_step


class SecondOrderCones:
    r"""p = 2: :math:`(\tau_g, u_g)` in the second-order cone, its dual :math:`(\kappa, z_g)`, Nesterov-Todd scaling.

    The penalty :math:`\kappa\sum_g||u_g||` of U (G, m) has the dual z (G, m), :math:`z = -\kappa\,u/||u||`. Linearized:
    :math:`\Delta z = S(q-\Delta u)`, with blocks S (G, m, m) and the right-hand side q of a target complementarity.

    With the scaling point w (unit hyperbolic norm) and :math:`\eta`, :math:`W^{-2} = \eta^{-2}(2(Jw)(Jw)^T-J)`. As the
    first entry of the dual stays :math:`\kappa`, :math:`\tau` is eliminated:
    :math:`S = \eta^{-2}(I - \frac2{2w_0^2-1}w_1w_1^T)`.

    References
    ----------
    Vandenberghe, "The CVXOPT linear and quadratic cone program solvers" (2010), sections 4.2 and 5.3.
    """

    def __init__(self, n_groups: int, m: int, kappa: float, tau: float) -> None:
        self.kappa = kappa
        self.u, self.z = np.zeros((n_groups, m)), np.zeros((n_groups, m))
        self.tau, self.count = np.full(n_groups, tau), n_groups
        self.dtau, self.du, self.dz = np.zeros(n_groups), self.u, self.z
        self._scale()

    def _scale(self) -> None:
        s_size, z_size = _hyperbolic(self.tau, self.u), _hyperbolic(np.full_like(self.tau, self.kappa), self.z)
        s0, s1 = self.tau / s_size, self.u / s_size[:, None]
        z0, z1 = self.kappa / z_size, self.z / z_size[:, None]
        gamma = np.sqrt((1 + s0 * z0 + np.einsum("gm,gm->g", s1, z1)) / 2)
        self.w0, self.w1 = (s0 + z0) / (2 * gamma), (s1 - z1) / (2 * gamma)[:, None]
        self.w0 = np.sqrt(1 + np.einsum("gm,gm->g", self.w1, self.w1))  # the same, without cancellation
        self.eta = np.sqrt(s_size / z_size)
        self.lam0, self.lam1 = self._apply(np.full_like(self.tau, self.kappa), self.z)

    def _apply(self, a0: Array, a1: Array, inverse: bool = False) -> tuple[Array, Array]:
        """Return W a, or its inverse."""
        w1 = -self.w1 if inverse else self.w1
        along = np.einsum("gm,gm->g", w1, a1)
        factor = 1 / self.eta if inverse else self.eta
        out0 = factor * (self.w0 * a0 + along)
        out1 = factor[:, None] * (a1 + w1 * (a0 + along / (1 + self.w0))[:, None])
        return out0, out1

    def root(self) -> Array:
        """Symmetric roots of the blocks S (G, m, m)."""
        # S = eta^-2 (I - ww'/|w|²(1 - 1/(2w0²-1)))
        square = np.maximum(self.w0**2 - 1, np.finfo(np.float64).tiny)
        shrink = (1 - 1 / np.sqrt(2 * self.w0**2 - 1)) / square
        S = -(shrink[:, None, None] * self.w1[:, :, None]) * self.w1[:, None, :]
        m = S.shape[1]
        S[:, range(m), range(m)] += 1
        return np.asarray(S / self.eta[:, None, None])

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Return q (G, m) for a target; ``second_order`` corrects by the previous direction."""
        # W (lambda \ d), d = target e - lambda∘lambda - (W^-1 ds)∘(W dz)
        l0, l1 = self.lam0, self.lam1
        d0 = target - l0**2 - np.einsum("gm,gm->g", l1, l1)
        d1 = -2 * l0[:, None] * l1
        if second_order:
            a0, a1 = self._apply(self.dtau, self.du, inverse=True)
            b0, b1 = self._apply(np.zeros_like(self.tau), self.dz)
            d0 = d0 - a0 * b0 - np.einsum("gm,gm->g", a1, b1)
            d1 = d1 - a0[:, None] * b1 - b0[:, None] * a1
        det = _hyperbolic(l0, l1) ** 2
        x0 = (l0 * d0 - np.einsum("gm,gm->g", l1, d1)) / det
        x1 = (d1 - x0[:, None] * l1) / l0[:, None]
        self.q0, self.q1 = self._apply(x0, x1)
        # elimination of tau: S (q1 - du) is all that is left, with q0 moving tau
        return self.q1

    def set_direction(self, du: Array) -> None:
        """Set the direction that follows from du."""
        rest = self.q1 - du
        along = np.einsum("gm,gm->g", self.w1, rest)
        self.du = du
        self.dtau = self.q0 - 2 * self.w0 * along / (2 * self.w0**2 - 1)
        self.dz = (rest - (2 * along / (2 * self.w0**2 - 1))[:, None] * self.w1) / (self.eta**2)[:, None]

    def limit(self) -> float:
        """Largest step along the direction that stays in the cones."""
        dual = _cone_limit(np.full_like(self.tau, self.kappa), self.z, np.zeros_like(self.tau), self.dz)
        return min(_cone_limit(self.tau, self.u, self.dtau, self.du), dual)

    def product(self, step: float = 0.0) -> float:
        """Sum of the ``count`` complementarity products after a step."""
        u, z = self.u + step * self.du, self.z + step * self.dz
        return float(self.kappa * (self.tau + step * self.dtau).sum() + np.sum(u * z))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.tau = self.tau + step * self.dtau
        self.u, self.z = self.u + step * self.du, self.z + step * self.dz
        self._scale()


class AbsoluteValues:
    r"""p = 1: :math:`u = u^+-u^-` with the duals :math:`a^\pm = \kappa\pm z`, and :math:`u^\pm a^\pm` the products."""

    def __init__(self, n_groups: int, m: int, kappa: float, tau: float) -> None:
        self.kappa, self.sign = kappa, np.array([1.0, -1.0])[:, None, None]
        self.parts, self.count = np.full((2, n_groups, m), tau), 2 * n_groups * m
        self.z = np.zeros((n_groups, m))
        self.dparts, self.dz = np.zeros_like(self.parts), self.z

    def _duals(self) -> Array:
        return np.asarray(self.kappa + self.sign * self.z)

    def _spread(self) -> Array:
        return np.asarray((self.parts / self._duals()).sum(axis=0))

    def root(self) -> Array:
        """Return the roots of S."""
        G, m = self.z.shape
        S = np.zeros((G, m, m))
        S[:, range(m), range(m)] = 1 / np.sqrt(self._spread())
        return S

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Return q (G, m) for a target; ``second_order`` corrects by the previous direction."""
        a = self._duals()
        c = target - self.parts * a
        if second_order:
            c = c - self.dparts * self.sign * self.dz
        self.c = c / a
        return np.asarray(self.c[0] - self.c[1])

    def set_direction(self, du: Array) -> None:
        """Set the direction."""
        self.dz = (self.c[0] - self.c[1] - du) / self._spread()
        self.dparts = self.c - self.parts / self._duals() * self.sign * self.dz

    def limit(self) -> float:
        """Return the largest step."""
        a, da = self._duals(), self.sign * self.dz
        return min(longest_step(self.parts, self.dparts), longest_step(a, da))

    def product(self, step: float = 0.0) -> float:
        """Return the sum of the products after a step."""
        dz = step * self.sign * self.dz
        return float(np.sum((self.parts + step * self.dparts) * (self._duals() + dz)))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.parts = self.parts + step * self.dparts
        self.z = self.z + step * self.dz


def _hyperbolic(a0: Array, a1: Array) -> Array:
    """Return sqrt(a0² - |a1|²), as a product, which cancels less."""
    size = np.sqrt(np.einsum("gm,gm->g", a1, a1))
    return np.asarray(np.sqrt(np.maximum((a0 - size) * (a0 + size), np.finfo(np.float64).tiny)))


def _cone_limit(a0: Array, a1: Array, d0: Array, d1: Array) -> float:
    """Largest step with |a1 + step d1| ≤ a0 + step d0: the first root of a quadratic."""
    if a0.size == 0:
        return np.inf
    A = d0**2 - np.einsum("gm,gm->g", d1, d1)
    B = a0 * d0 - np.einsum("gm,gm->g", a1, d1)
    C = _hyperbolic(a0, a1) ** 2
    root = B * B - A * C
    real = root >= 0
    # roots of A t² + 2 B t + C: C / (-B ± sqrt) is stable for C > 0
    sqrt = np.sqrt(np.where(real, root, 0.0))
    low = -B + sqrt
    steps = np.full(a0.shape, np.inf)
    hit = real & (low > 0)
    steps[hit] = C[hit] / low[hit]
    return float(min(steps.min(), longest_step(a0, d0)))
