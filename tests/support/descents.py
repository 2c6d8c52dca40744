"""Descents on the true, non-convex problem of a two-layer ReLU network: what no certificate may be above."""

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

    A descent minimises the balanced form, (β/2) Σ_j (‖w_j‖_p² + ‖α_j‖²), over all weights by L-BFGS; for p = 1 with
    w = u - v, u, v ≥ 0.
    """

    def __init__(self, X, y, loss, beta, p, bias, intercept, weights=None, delta=1.0):
        self.X, self.y, self.loss, self.beta, self.p = X, y, loss, beta, p
        self.bias, self.intercept, self.delta = bias, intercept, delta
        self.weights = np.ones(len(X)) if weights is None else weights / weights.mean()

    def objective(self, W, b, alpha, t):
        """Objective of a network W (m, d), b (m,), alpha (m, C), t (C,)."""
        f = np.maximum(self.X @ W.T + b, 0) @ alpha + t
        cost = np.linalg.norm(W, ord=self.p, axis=1) @ np.linalg.norm(alpha, axis=1)
        return float(np.mean(self.weights * losses(self.loss, f, self.y, self.delta)[0]) + self.beta * cost)

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
                W, b = scale * rng.standard_normal((m, self.X.shape[1])), scale * rng.standard_normal(m)
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
