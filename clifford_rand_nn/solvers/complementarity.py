"""Inequalities and cones of interior-point methods, with their multipliers.

Each kind keeps its slacks s > 0 and multipliers p > 0, linearizes s·p = target, and bounds the step along a direction.
The unknown that moves them is U = K^T theta (N, C), or theta itself for the box. ``curvature`` and
``right_hand_side`` (for a target) are the terms of the inequality in the normal matrix and its right-hand side.
"""

import numpy as np

from clifford_rand._typing import Array


class Linear:
    """Linear inequalities with their slacks s and multipliers z, and the direction of both."""

    def __init__(self, s: Array, mu: float) -> None:
        self.s, self.z = s, mu / s
        self.count = self.z.size
        self.ds = self.dz = self.rc = np.zeros_like(self.z)

    def residual(self, target: float, second_order: bool) -> Array:
        """Set and return r = sz + ds dz - target."""
        self.rc = self.s * self.z - target  # s dz + z ds = -r
        if second_order:
            self.rc = self.rc + self.ds * self.dz
        return self.rc

    def move(self, ds: Array) -> None:
        """Set ds, and dz = -(r + z ds)/s."""
        self.ds = ds
        self.dz = -(self.rc + self.z * self.ds) / self.s

    def limit(self) -> float:
        """Largest step along the direction that keeps slacks and multipliers positive; inf if all do."""
        return min(longest_step(self.s, self.ds), longest_step(self.z, self.dz))

    def product(self, step: float = 0.0) -> float:
        """Sum of slack times multiplier after a step along the direction."""
        return float(np.vdot(self.s + step * self.ds, self.z + step * self.dz))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.s = self.s + step * self.ds
        self.z = self.z + step * self.dz


class TwoSided(Linear):
    r""":math:`|U_j| \le \lambda` as two linear inequalities, C = 1: the weight is :math:`z^+-z^-`."""

    def __init__(self, U: Array, radius: float, mu: float) -> None:
        self.signs = np.array([[1.0], [-1.0]])
        super().__init__(radius - self.signs * U[:, 0], mu)  # s± = λ ∓ U

    def weights(self) -> Array:
        """Return the multipliers as weights Z (N, C): z+ - z-."""
        return np.asarray((self.z[0] - self.z[1])[:, None])

    def curvature(self) -> Array:
        """Blocks (N, C, C) that K couples into the normal matrix: z+/s+ + z-/s-."""
        return np.asarray((self.z / self.s).sum(axis=0)[:, None, None])

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Set the target; return r+/s+ - r-/s- (N, C), with ``second_order`` corrected by the previous direction."""
        sides = self.residual(target, second_order) / self.s
        return np.asarray((sides[0] - sides[1])[:, None])

    def set_direction(self, dU: Array) -> None:
        """Set the direction that follows from dU: ds = -+dU."""
        self.move(-self.signs * dU[:, 0])


class Discs:
    r""":math:`||U_j||_2\le\lambda` as :math:`s_j = (\lambda^2-||U_j||^2)/2\ge0`, any C: the weight is :math:`p_jU_j`.

    On the central path :math:`p_js_j = \mu` this is the path of the second-order cones, for C = 1 that of `TwoSided`:
    :math:`\mu U/s = \mu\,[1/(\lambda-U)-1/(\lambda+U)]`.
    """

    def __init__(self, U: Array, radius: float, mu: float) -> None:
        self.radius = radius
        self.U = U
        self.s = self._slack(U)
        self.p = mu / self.s  # on the central path
        self.count = self.p.size
        self.dU, self.dp, self.rc = np.zeros_like(U), np.zeros_like(self.p), np.zeros_like(self.p)
        self.bend = np.zeros_like(U)  # the second-order part of the weights

    def _slack(self, U: Array) -> Array:
        size = np.linalg.norm(U, axis=1)
        return np.asarray(0.5 * (self.radius - size) * (self.radius + size))  # as a product, which cancels less

    def weights(self) -> Array:
        """Return p U."""
        return np.asarray(self.p[:, None] * self.U)

    def curvature(self) -> Array:
        """Return p (I + U Uᵀ / s)."""
        blocks = self.U[:, :, None] * (self.U * (self.p / self.s)[:, None])[:, None, :]
        diagonal = np.arange(self.U.shape[1])
        blocks[:, diagonal, diagonal] += self.p[:, None]
        return np.asarray(blocks)

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Return U r/s - bend with the residual r = sp + dp ds - p|dU|²/2 - target and the bend dp dU."""
        self.rc = self.s * self.p - target
        self.bend = np.zeros_like(self.U)
        if second_order:
            ds = -np.einsum("jc,jc->j", self.U, self.dU)  # first order of the slack; -|dU|²/2 is its second
            self.rc = self.rc + self.dp * ds - 0.5 * self.p * np.einsum("jc,jc->j", self.dU, self.dU)
            self.bend = self.dp[:, None] * self.dU
        return np.asarray(self.U * (self.rc / self.s)[:, None] - self.bend)

    def set_direction(self, dU: Array) -> None:
        """Set dp = (p U·dU - r)/s."""
        self.dU = dU
        self.dp = (self.p * np.einsum("jc,jc->j", self.U, dU) - self.rc) / self.s

    def limit(self) -> float:
        """Ratio test of p, and the step at which |U + step dU| reaches the radius."""
        a = np.einsum("jc,jc->j", self.dU, self.dU)
        b = np.einsum("jc,jc->j", self.U, self.dU)
        root = b + np.sqrt(b * b + 2 * a * self.s)  # a t² + 2 b t - 2 s = 0 has the root 2 s / (b + sqrt(...))
        back = (b < 0) & (a > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(back, (root - 2 * b) / np.where(back, a, 1.0), 2 * self.s / root)
        step = step[(a > 0) & (step > 0)]
        return min(float(step.min(initial=np.inf)), longest_step(self.p, self.dp))

    def product(self, step: float = 0.0) -> float:
        """Sum of slack times multiplier after a step."""
        s = self._slack(self.U + step * self.dU) if step else self.s
        return float(np.vdot(s, self.p + step * self.dp))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.U = self.U + step * self.dU
        self.s = self._slack(self.U)
        self.p = self.p + step * self.dp


class Box(Linear):
    """Finite bounds of theta (n, C), where the conjugate of the loss ends with a finite slope."""

    def __init__(self, theta: Array, low: Array, high: Array, mu: float) -> None:
        bounds, sides = np.stack([low, high]), np.array([1.0, -1.0])[:, None, None]
        self.side, *self.where = np.nonzero(np.isfinite(bounds))
        self.sign = sides[self.side, 0, 0]
        self.shape = theta.shape
        super().__init__(self.sign * (theta[tuple(self.where)] - bounds[(self.side, *self.where)]), mu)

    def _spread(self, values: Array) -> Array:
        out = np.zeros(self.shape)
        np.add.at(out, tuple(self.where), values)
        return out

    def force(self) -> Array:
        """Multipliers in the stationarity of theta: those of the upper bounds less those of the lower, (n, C)."""
        return self._spread(-self.sign * self.z)

    def resist(self, push: Array, least: float) -> None:
        """Set the multipliers that hold against a push (n, C) at the bounds it points to, and ``least`` elsewhere."""
        self.z = np.maximum(-self.sign * push[tuple(self.where)], least)

    def curvature(self) -> Array:
        """Return the sum of z/s, (n, C)."""
        return self._spread(self.z / self.s)

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Set the target; return minus the sum of r/s, signed, (n, C)."""
        return self._spread(-self.sign * self.residual(target, second_order) / self.s)

    def set_direction(self, dtheta: Array) -> None:
        """Set the direction that follows from dtheta: ds = ±dtheta."""
        self.move(self.sign * dtheta[tuple(self.where)])

    def shorten(self, length: float) -> None:
        """Scale the direction."""
        self.ds, self.dz = length * self.ds, length * self.dz


def longest_step(value: Array, change: Array) -> float:
    """Return the largest step that keeps value + step * change ≥ 0."""
    falls = change < 0  # ratio test
    return float(np.min(value[falls] / -change[falls], initial=np.inf))


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
        self.u, self.dual = np.zeros((n_groups, m)), np.zeros((n_groups, m))
        self.tau, self.count = np.full(n_groups, tau), n_groups
        self.dtau, self.du, self.dz = np.zeros(n_groups), self.u, self.dual
        self._scale()

    def _scale(self) -> None:
        s_size, z_size = _hyperbolic(self.tau, self.u), _hyperbolic(np.full_like(self.tau, self.kappa), self.dual)
        s0, s1 = self.tau / s_size, self.u / s_size[:, None]
        z0, z1 = self.kappa / z_size, self.dual / z_size[:, None]
        gamma = np.sqrt((1 + s0 * z0 + np.einsum("gm,gm->g", s1, z1)) / 2)
        self.w0, self.w1 = (s0 + z0) / (2 * gamma), (s1 - z1) / (2 * gamma)[:, None]
        self.w0 = np.sqrt(1 + np.einsum("gm,gm->g", self.w1, self.w1))  # the same, without cancellation
        self.eta = np.sqrt(s_size / z_size)
        self.lam0, self.lam1 = self._apply(np.full_like(self.tau, self.kappa), self.dual)

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
        dual = _cone_limit(np.full_like(self.tau, self.kappa), self.dual, np.zeros_like(self.tau), self.dz)
        return min(_cone_limit(self.tau, self.u, self.dtau, self.du), dual)

    def product(self, step: float = 0.0) -> float:
        """Sum of the ``count`` complementarity products after a step."""
        u, z = self.u + step * self.du, self.dual + step * self.dz
        return float(self.kappa * (self.tau + step * self.dtau).sum() + np.sum(u * z))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.tau = self.tau + step * self.dtau  # κ, the first entry of the dual, stays
        self.u, self.dual = self.u + step * self.du, self.dual + step * self.dz
        self._scale()


class AbsoluteValues(Linear):
    r"""p = 1: :math:`u = u^+-u^-` with the duals :math:`a^\pm = \kappa\pm z`, and :math:`u^\pm a^\pm` the products."""

    def __init__(self, n_groups: int, m: int, kappa: float, tau: float) -> None:
        self.sign = np.array([1.0, -1.0])[:, None, None]
        super().__init__(np.full((2, n_groups, m), tau), tau * kappa)

    @property
    def dual(self) -> Array:
        """Return z (G, m)."""
        return np.asarray(0.5 * (self.z[0] - self.z[1]))

    def root(self) -> Array:
        """Return the roots of S (G, m, m)."""
        _, G, m = self.s.shape
        S = np.zeros((G, m, m))
        S[:, range(m), range(m)] = (self.s / self.z).sum(axis=0) ** -0.5
        return S

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Return q (G, m) for a target; ``second_order`` corrects by the previous direction."""
        # s a + a ds + s da = target, da = ±dz: ds = c - (s/a) da, and du = ds⁺ - ds⁻
        self.c = -self.residual(target, second_order) / self.z
        return np.asarray(self.c[0] - self.c[1])

    def set_direction(self, du: Array) -> None:
        """Set the direction that follows from du."""
        ratio = self.s / self.z
        self.dz = self.sign * ((self.c[0] - self.c[1] - du) / ratio.sum(axis=0))
        self.ds = self.c - ratio * self.dz


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
