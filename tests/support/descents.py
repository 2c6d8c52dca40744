"""Descents on the problems that certificates are about, from their formulas: what no lower bound may be above.

Descents run in double precision; what they end at is evaluated in NumPy's extended precision, so that its objective is
that of a network which exists, and no rounding of the data's large sums.
"""

import numpy as np
from scipy.optimize import minimize


def losses(loss, f, y, delta):
    """Loss of every row (n,) and its slope (n, C)."""
    if loss == "squared":
        return 0.5 * np.sum((f - y) ** 2, axis=1), f - y
    if loss == "huber":
        r = f - y
        slope = np.clip(r, -delta, delta)
        return np.sum(slope * r - 0.5 * slope**2, axis=1), slope
    if loss == "log_cosh":
        a = np.abs(f - y) / delta
        cost = np.where(a < 1e-3, a**2 / 2 - a**4 / 12, a + np.log1p(np.exp(-2 * a)) - np.log(np.longdouble(2)))
        return delta**2 * np.sum(cost, axis=1), delta * np.tanh((f - y) / delta)
    if loss == "squared_hinge":
        slack = np.maximum(1 - y * f, 0)
        return 0.5 * np.sum(slack**2, axis=1), -y * slack
    if loss == "logistic":
        return np.logaddexp(0, -y * f)[:, 0], -y * 0.5 * (1 - np.tanh(y * f / 2))
    shifted = f - f.max(axis=1, keepdims=True)
    total = np.exp(shifted).sum(axis=1, keepdims=True)
    return (np.log(total) - np.sum(y * shifted, axis=1, keepdims=True))[:, 0], np.exp(shifted) / total - y


class Descent:
    """Objective (1/n) Σ_i s_i ℓ + β Σ_j ‖w_j‖_p ‖α_j‖_2 of m neurons, from its formula, and descents on it.

    A descent minimizes the balanced form, (β/2) Σ_j (‖w_j‖_p² + ‖α_j‖²), over all weights by L-BFGS; for p = 1 with
    w = u - v, u, v ≥ 0.
    """

    def __init__(self, X, y, loss, beta, p, bias, intercept, weights=None, delta=1.0):
        self.X, self.y, self.loss, self.beta, self.p = X, y, loss, beta, p
        self.bias, self.intercept, self.delta = bias, intercept, delta
        self.weights = np.ones(len(X)) if weights is None else weights / weights.mean()

    def objective(self, W, b, alpha, t):
        """Objective of a network W (m, d), b (m,), alpha (m, C), t (C,)."""
        W, b, alpha, t = (np.asarray(part, dtype=np.longdouble) for part in (W, b, alpha, t))
        f = self.predictions(W, b, alpha, t)
        sizes = np.abs(W).sum(axis=1) if self.p == 1 else np.sqrt(np.sum(W**2, axis=1))
        cost = sizes @ np.sqrt(np.sum(alpha**2, axis=1))
        return float(np.mean(self.weights * losses(self.loss, f, self.y, self.delta)[0]) + self.beta * cost)

    def predictions(self, W, b, alpha, t):
        """Outputs (n, C), in extended precision."""
        return np.maximum(self.X.astype(np.longdouble) @ W.T + b, 0) @ alpha + t

    def lowest(self, rng, m, starts, near=None, steps=300):
        """Return the least objective of ``starts`` descents with m neurons, some from perturbations of ``near``."""
        best = np.inf
        for k in range(starts):
            if near is not None and k % 2:
                W, b, alpha, t = (np.array(part) for part in near)
                spare = max(m - len(W), 0)
                W, alpha = np.pad(W, ((0, spare), (0, 0))), np.pad(alpha, ((0, spare), (0, 0)))
                b = np.pad(b, (0, spare))
                size = 10.0 ** rng.uniform(-4, -0.5)
                W, b, alpha = (part + size * rng.standard_normal(part.shape) for part in (W, b, alpha))
            else:
                scale = 10.0 ** rng.uniform(-1, 0.5)
                lengths = np.maximum(np.abs(self.X).max(axis=0), 1e-300)
                W = scale * rng.standard_normal((m, self.X.shape[1])) / lengths
                b = scale * rng.standard_normal(m)
                alpha, t = scale * rng.standard_normal((m, self.y.shape[1])), self.y.mean(axis=0)
            best = min(best, self.objective(*self._descend(W, b * self.bias, alpha, t * self.intercept, steps)))
        return best

    def _descend(self, W, b, alpha, t, steps):
        shapes = [W.shape, W.shape, b.shape, alpha.shape, t.shape]
        ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])[:-1]

        def parts(z):
            return [part.reshape(shape) for part, shape in zip(np.split(z, ends), shapes, strict=True)]

        def value(z):
            plus, minus, b, alpha, t = parts(z)
            W = plus - minus
            inside = self.X @ W.T + b
            K = np.maximum(inside, 0)
            loss, slope = losses(self.loss, K @ alpha + t, self.y, self.delta)
            slope = slope * self.weights[:, None] / len(self.X)
            back = (slope @ alpha.T) * (inside > 0)
            dW = back.T @ self.X
            total = np.mean(self.weights * loss) + 0.5 * self.beta * np.sum(alpha**2)
            if self.p == 2:
                total += 0.5 * self.beta * np.sum(W**2)
                dplus, dminus = dW + self.beta * W, -dW - self.beta * W
            else:
                sizes = (plus + minus).sum(axis=1, keepdims=True)
                total += 0.5 * self.beta * np.sum(sizes**2)
                dplus, dminus = dW + self.beta * sizes, -dW + self.beta * sizes
            gradient = [dplus, dminus, back.sum(axis=0) * self.bias, K.T @ slope + self.beta * alpha]
            return total, np.concatenate([g.ravel() for g in [*gradient, slope.sum(axis=0) * self.intercept]])

        if self.p == 2:
            start, bounds = [W, 0 * W], None
        else:
            start, bounds = [np.maximum(W, 0), np.maximum(-W, 0)], [(0, None)] * (2 * W.size)
            bounds += [(None, None)] * (b.size + alpha.size + t.size)
        z = np.concatenate([part.ravel() for part in [*start, b, alpha, t]])
        found = minimize(value, z, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
        plus, minus, b, alpha, t = parts(found.x)
        return plus - minus, b, alpha, t


class GroupDescent:
    """Objective (1/n) Σ_i s_i ℓ + β Σ_g ‖U_g‖_F of f = Σ_g F_g U_g + B b + t, and descents on it.

    F_g (n, r_g) are given blocks, B (n, k) columns without a penalty. ``squared`` takes ½‖U_g‖_F² instead of the norms,
    which a descent minimizes as U_g = a_g G_g, ½(‖G_g‖_F² + a_g²) ≥ ‖U_g‖_F.
    """

    def __init__(self, blocks, free, y, loss, beta, squared, intercept, weights=None, delta=1.0):
        self.blocks = [np.asarray(block) for block in blocks]
        self.free, self.y, self.loss, self.beta, self.squared = np.asarray(free), y, loss, beta, squared
        self.intercept, self.delta = intercept, delta
        self.weights = np.ones(len(y)) if weights is None else weights / weights.mean()

    def objective(self, U, b, t):
        """Objective of coefficients U, a list of (r_g, C), b (k, C) and t (C,)."""
        squares = [np.sum(np.asarray(u, dtype=np.longdouble) ** 2) for u in U]
        cost = sum(squares) / 2 if self.squared else sum(map(np.sqrt, squares))
        f = self.predictions(U, b, t)
        return float(np.mean(self.weights * losses(self.loss, f, self.y, self.delta)[0]) + self.beta * cost)

    def predictions(self, U, b, t):
        """Outputs (n, C), in extended precision."""
        parts = (block.astype(np.longdouble) @ u for block, u in zip(self.blocks, U, strict=True))
        return sum(parts, np.tile(t, (len(self.y), 1)) + self.free.astype(np.longdouble) @ b)

    def lowest(self, rng, starts, near=None, steps=300):
        """Return the least objective of ``starts`` descents, every second one from a perturbation of ``near``."""
        C, best = self.y.shape[1], np.inf
        for k in range(starts):
            if near is not None and k % 2:
                size = 10.0 ** rng.uniform(-8, -1)
                U, b, t = near
                U = [u * (1 + size * rng.standard_normal(u.shape)) for u in U]
            else:
                lengths = [np.linalg.norm(block, axis=0)[:, None] for block in self.blocks]
                U = [rng.standard_normal((len(size), C)) / np.where(size > 0, size, 1) for size in lengths]
                b, t = np.zeros((self.free.shape[1], C)), self.y.mean(axis=0) * self.intercept
            best = min(best, self.objective(*self._descend(U, b, t, steps)))
        return best

    def _descend(self, U, b, t, steps):
        C = self.y.shape[1]
        wide = np.concatenate([block.astype(float) for block in self.blocks], axis=1)
        group = np.repeat(np.arange(len(self.blocks)), [block.shape[1] for block in self.blocks])
        scale = np.linalg.norm(wide, axis=0)[:, None]
        scale[scale == 0] = 1
        wide = wide / scale.T  # descents in columns of length 1
        G = np.concatenate(U)
        a = np.sqrt([max(np.linalg.norm(u), 1e-12) for u in U]) if not self.squared else np.ones(len(U))
        G = scale * G / a[group, None]
        ends = np.cumsum([G.size, a.size, b.size])

        def parts(z):
            G, a, b, t = np.split(z, ends)
            return G.reshape(-1, C), a, b.reshape(-1, C), t

        def value(z):
            G, a, b, t = parts(z)
            V = a[group, None] * G
            loss, slope = losses(self.loss, wide @ V + self.free @ b + t, self.y, self.delta)
            slope = slope * self.weights[:, None] / len(self.y)
            back, own = wide.T @ slope, G / scale
            total = np.mean(self.weights * loss) + 0.5 * self.beta * np.sum(own**2)
            dG, da = a[group, None] * back + self.beta * own / scale, np.zeros_like(a)
            if not self.squared:
                total += 0.5 * self.beta * np.sum(a**2)
                da = np.bincount(group, np.sum(back * G, axis=1), len(a)) + self.beta * a
            gradient = [dG, da, self.free.T @ slope, slope.sum(axis=0) * self.intercept]
            return float(total), np.concatenate([np.asarray(g, dtype=float).ravel() for g in gradient])

        start = np.concatenate([np.ravel(part) for part in (G, a, b, t)])
        found = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
        G, a, b, t = parts(found.x)
        V = a[group, None] * G / scale
        return np.split(V, np.cumsum([len(u) for u in U])[:-1]), b, t
