"""The losses of `clifford_rand_nn.datafits` on arrays of any library: what FISTA and the duality gap need of them.

They are spelt a second time because those call NumPy and SciPy by name, which is faster on small problems; a test holds
the two spellings equal for every loss, function and weight.
"""

from collections.abc import Callable
from typing import Any

from array_api_compat import device as device_of

from clifford_rand._checks import check_choice, check_positive, describe, fail
from clifford_rand_nn.datafits.choice import LOSSES
from clifford_rand_nn.solvers.arrays.namespace import check_finite, constant, peak

__all__ = ["ArrayLoss", "make_loss"]

_BALANCE_STEPS = 8
_RIDGE = 450.0  # roundings of the largest diagonal entry, as in `datafits.balance`: 1e-13 in double precision
_ROUNDING = 4.5  # roundings below which an equality of the dual is met as well as can be: 1e-15
_AT_BOUND = 4.0  # roundings that a point scaled to a bound may lie beyond it
_OFF_SIMPLEX = 4500.0  # roundings by which the sum of a row's dual entries may differ from zero: 1e-12


class ArrayLoss:
    r"""The squared loss, and what all losses share: targets y (n, C), weights :math:`\omega` (n, 1) of mean 1 or None.

    Sums are returned as arrays without axes, so that nothing waits for the device; `dual_value`, `balance` and
    `scale` may wait.
    """

    bend = 1.0  # curvature of the plain loss

    def __init__(self, xp: Any, y: Any, weights: Any, delta: float = 1.0) -> None:
        self.xp, self.y, self.delta = xp, y, delta
        self.weighted = weights is not None
        self.w = xp.ones_like(y[:, :1]) if weights is None else weights
        self.eps = float(xp.finfo(y.dtype).eps)

    def value(self, f: Any) -> Any:
        """Weighted mean loss."""
        return 0.5 * self._mean(self.w * (f - self.y) ** 2)

    def residual(self, f: Any) -> Any:
        """Minus the gradient of each row's weighted loss."""
        return self.w * (self.y - f)

    def dual_value(self, theta: Any) -> float:
        """Mean of minus the conjugates at -theta, -inf outside their domain."""
        return float(self._mean(theta * self.y - 0.5 * theta * theta / self.w))

    def balance(self, theta: Any, Q: Any) -> Any:
        """Move theta so that Q^T theta = 0, within the domain."""
        if self.weighted:
            return self._newton_by_column(theta, Q, lambda theta: self.xp.ones_like(theta))
        for _ in range(2):
            theta = theta - Q @ (Q.T @ theta)
        return theta

    def scale(self, theta: Any, largest: float) -> float:
        """Factor in [0, largest] that makes the dual value large."""
        square = float(self.xp.sum(theta * theta / self.w))
        return min(max(float(self.xp.sum(theta * self.y)) / square, 0.0), largest) if square > 0 else 0.0

    def _mean(self, terms: Any) -> Any:
        return self.xp.sum(terms) / terms.shape[0]

    def _newton_by_column(self, theta: Any, Q: Any, free: Callable[[Any], Any]) -> Any:
        """Newton steps in the entries that ``free`` marks by 1, each column on its own; kept in the domain."""
        xp = self.xp

        def step(theta: Any, excess: Any) -> Any:
            moves = []
            marks = free(theta)
            for c in range(theta.shape[1]):
                v = self.w * marks[:, c : c + 1]
                moves.append(v * (Q @ self.solve(Q.T @ (v * Q), -excess[:, c : c + 1])))
            return self._clipped(theta + xp.concat(moves, axis=1))

        return self._balanced(theta, Q, step)

    def _clipped(self, theta: Any) -> Any:
        return theta

    def _balanced(self, theta: Any, Q: Any, step: Callable[[Any, Any], Any]) -> Any:
        """Repeat Newton steps until Q^T theta is rounding noise, or as long as each at least halves it."""
        norm, last = self.xp.linalg.vector_norm, float("inf")
        for _ in range(_BALANCE_STEPS):
            excess = Q.T @ theta
            size = float(norm(excess))
            if size <= _ROUNDING * self.eps * float(norm(theta)) or size > 0.5 * last:
                break
            theta, last = step(theta, excess), size
        return theta

    def solve(self, H: Any, b: Any) -> Any:
        """Solve a symmetric positive semidefinite system, with a ridge at rounding level."""
        xp = self.xp
        largest = peak(xp, xp.linalg.diagonal(H))
        if largest == 0:
            return xp.zeros_like(b)
        return xp.linalg.solve(H + _RIDGE * self.eps * largest * _eye_like(xp, H), b)


class _Huber(ArrayLoss):
    def value(self, f: Any) -> Any:
        r = self.xp.abs(f - self.y)
        quadratic = self.xp.clip(r, max=self.delta)
        return self._mean(self.w * (quadratic * (r - 0.5 * quadratic)))

    def residual(self, f: Any) -> Any:
        return self.w * self.xp.clip(self.y - f, -self.delta, self.delta)

    def dual_value(self, theta: Any) -> float:
        inside = peak(self.xp, theta / self.w) <= self.delta * (1 + _AT_BOUND * self.eps)
        return super().dual_value(theta) if inside else -float("inf")

    def balance(self, theta: Any, Q: Any) -> Any:
        bound = self.w * self.delta
        return self._newton_by_column(theta, Q, lambda t: self.xp.astype(self.xp.abs(t) < bound, t.dtype))

    def _clipped(self, theta: Any) -> Any:
        bound = self.w * self.delta
        return self.xp.minimum(self.xp.maximum(theta, -bound), bound)

    def scale(self, theta: Any, largest: float) -> float:
        size = peak(self.xp, theta / self.w)
        return super().scale(theta, min(largest, self.delta / size) if size > 0 else largest)


class _SquaredHinge(ArrayLoss):
    def value(self, f: Any) -> Any:
        return 0.5 * self._mean(self.w * self.xp.clip(1 - self.y * f, min=0.0) ** 2)

    def residual(self, f: Any) -> Any:
        return self.w * (self.y * self.xp.clip(1 - self.y * f, min=0.0))

    def dual_value(self, theta: Any) -> float:
        inside = 0 in theta.shape or float(self.xp.min(self.y * theta)) >= 0
        return super().dual_value(theta) if inside else -float("inf")

    def balance(self, theta: Any, Q: Any) -> Any:
        return self._newton_by_column(theta, Q, lambda t: self.xp.astype(t != 0, t.dtype))

    def _clipped(self, theta: Any) -> Any:
        return self.y * self.xp.clip(self.y * theta, min=0.0)


class _Logistic(ArrayLoss):
    bend = 0.25

    def value(self, f: Any) -> Any:
        m = -self.y * f
        return self._mean(self.w * (self.xp.clip(m, min=0.0) + self.xp.log1p(self.xp.exp(-self.xp.abs(m)))))

    def residual(self, f: Any) -> Any:
        m = self.y * f
        e = self.xp.exp(-self.xp.abs(m))  # no exponential may overflow
        return self.w * (self.y * (self.xp.where(m > 0, e, self.xp.ones_like(e)) / (1 + e)))

    def dual_value(self, theta: Any) -> float:
        a = self.y * theta / self.w
        return float(self._mean(self.w * (_entropy(self.xp, a) + _entropy(self.xp, 1 - a))))

    def balance(self, theta: Any, Q: Any) -> Any:
        w = self.w

        def step(theta: Any, excess: Any) -> Any:
            a = self.y * theta / w
            W = a * (1 - a)
            mu = self.solve(Q.T @ (w * W * Q), -excess)
            return w * (self.y * self.xp.clip(a + self.y * W * (Q @ mu), 0.0, 1.0))

        return self._balanced(theta, Q, step)

    def scale(self, theta: Any, largest: float) -> float:
        return min(1.0, largest)


class _Softmax(_Logistic):
    bend = 0.5

    def value(self, f: Any) -> Any:
        xp = self.xp
        shifted = f - xp.max(f, axis=1, keepdims=True)
        logs = shifted - xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))
        return -self._mean(xp.sum(self.w * (logs * self.y), axis=1))

    def residual(self, f: Any) -> Any:
        xp = self.xp
        e = xp.exp(f - xp.max(f, axis=1, keepdims=True))
        return self.w * (self.y - e / xp.sum(e, axis=1, keepdims=True))

    def dual_value(self, theta: Any) -> float:
        xp = self.xp
        if peak(xp, xp.sum(theta, axis=1, keepdims=True) / self.w) > _OFF_SIMPLEX * self.eps:
            return -float("inf")
        p = (self.w * self.y - theta) / self.w
        return float(self._mean(xp.sum(self.w * _entropy(xp, p), axis=1)))

    def balance(self, theta: Any, Q: Any) -> Any:
        xp, w = self.xp, self.w
        C = theta.shape[1]
        root = xp.sqrt(w) * Q

        def step(theta: Any, excess: Any) -> Any:
            p = (w * self.y - theta) / w
            rows = []
            for a in range(C - 1):  # the last class is the gauge of the shifts
                pa = p[:, a : a + 1]
                others = xp.sum(p[:, :a], axis=1, keepdims=True) + xp.sum(p[:, a + 1 :], axis=1, keepdims=True)
                blocks = [
                    root.T @ ((pa * others if a == b else -pa * p[:, b : b + 1]) * root)  # p(1 - p), not cancelled
                    for b in range(C - 1)
                ]
                rows.append(xp.concat(blocks, axis=1))
            away = xp.concat([-excess[:, a : a + 1] for a in range(C - 1)], axis=0)
            mu = self.solve(xp.concat(rows, axis=0), away)
            shift = Q @ xp.reshape(mu, (C - 1, Q.shape[1])).T
            shift = xp.concat([shift, xp.zeros_like(p[:, :1])], axis=1)
            p = xp.clip(p * (1 - shift + xp.sum(p * shift, axis=1, keepdims=True)), min=0.0)
            return w * (self.y - p / xp.sum(p, axis=1, keepdims=True))

        return self._balanced(theta, Q, step)


def _eye_like(xp: Any, H: Any) -> Any:
    return xp.eye(H.shape[0], dtype=H.dtype, device=device_of(H))


def _entropy(xp: Any, p: Any) -> Any:
    """Return -p log p, 0 at 0, and -inf below."""
    inside = p > 0
    found = -p * xp.log(xp.where(inside, p, xp.ones_like(p)))
    return xp.where(inside, found, xp.where(p == 0, constant(p, 0.0), constant(p, -float("inf"))))


_CLASSES: dict[str, type[ArrayLoss]] = {
    "squared": ArrayLoss,
    "huber": _Huber,
    "logistic": _Logistic,
    "squared_hinge": _SquaredHinge,
    "softmax": _Softmax,
}


def make_loss(
    xp: Any, loss: str, y: Any, n: int, owner: str, dtype: Any, huber_delta: float = 1.0, sample_weight: Any = None
) -> ArrayLoss:
    """Return the loss with targets (n, C), checked as `datafits.choice.make_datafit` does, in ``dtype``."""
    check_choice(loss, "loss", owner, tuple(LOSSES))
    check_positive(huber_delta, "huber_delta", owner)
    if not xp.isdtype(y.dtype, ("real floating", "integral", "bool")):
        raise fail("y", owner, "an array of real numbers", describe(f"dtype {y.dtype}"))
    if y.ndim not in (1, 2) or y.shape[0] != n or 0 in y.shape:
        raise fail("y", owner, f"of shape ({n},) or ({n}, C)", describe(f"shape {tuple(y.shape)}"))
    y = xp.astype(y[:, None] if y.ndim == 1 else y, dtype)
    check_finite(xp, y, "y", owner)
    said = describe(f"shape {tuple(y.shape)}, values from {float(xp.min(y)):g} to {float(xp.max(y)):g}")
    signs = bool(xp.all(xp.abs(y) == 1))
    if loss == "logistic" and not (signs and y.shape[1] == 1):
        raise fail("y", owner, "one column of -1 and 1 for loss='logistic'", said)
    if loss == "squared_hinge" and not signs:
        raise fail("y", owner, "columns of -1 and 1 for loss='squared_hinge'", said)
    if loss == "softmax":
        one_hot = bool(xp.all((y == 0) | (y == 1))) and bool(xp.all(xp.sum(y, axis=1) == 1))
        if not (one_hot and y.shape[1] > 1):
            raise fail("y", owner, "one-hot rows of C ≥ 2 columns for loss='softmax'", said)
    return _CLASSES[loss](xp, y, _normalised(xp, sample_weight, n, owner, dtype), float(huber_delta))


def _normalised(xp: Any, sample_weight: Any, n: int, owner: str, dtype: Any) -> Any:
    """Return weights (n, 1) of mean 1, or None if all are equal."""
    if sample_weight is None:
        return None
    name = "sample_weight"
    if tuple(sample_weight.shape) != (n,):
        said = describe(f"shape {tuple(sample_weight.shape)}")
        raise fail(name, owner, f"of shape ({n},), one weight per row", said)
    w = xp.astype(sample_weight, dtype)
    check_finite(xp, w, name, owner)
    low, high = float(xp.min(w)), float(xp.max(w))
    if low <= 0:
        said = describe(f"weights from {low:g} to {high:g}")
        raise fail(name, owner, "> 0", said, "Leave rows of weight zero out.")
    if low == high:
        return None
    w = w / high  # first, so that the sum cannot overflow
    w = w * (n / float(xp.sum(w)))
    if float(xp.min(w)) < float(xp.finfo(dtype).smallest_normal):
        said = describe(f"weights from {low:.1e} to {high:.1e}")
        raise fail(name, owner, "of one order of magnitude or some", said, "Leave such rows out.")
    return w[:, None]
