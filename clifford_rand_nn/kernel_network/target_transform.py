"""Transformations of positive targets: their means and quantiles, and their selection by leave-one-out."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.export.program import Value, apply, maximum
from clifford_rand_nn.kernel_network.candidates import BIASES, Problem, is_constant, screened_rows
from clifford_rand_nn.kernel_network.kernel_products import spread_rows
from clifford_rand_nn.kernel_network.metric_selection import mean_gain

TARGET_TRANSFORMS = ("none", "log", "log1p", "sqrt")
_FAR = 700.0  # of an exponential, beyond which it is infinite
_BEYOND = 0.5  # of the range of transformed targets, by which an output may be above all of them
_MAX_ROWS = 1000  # the decomposition of so many takes a third of a second, and 50 MB
_FEW = 500  # rows, a tenth of a second: n take (n/500)³ as long, and with ``max_time`` a tenth of that at most
_FEWEST = 20  # rows: of fewer the standard error of a gain says little
_LEAST_GAIN = 0.01  # of the error of y itself: for less, such as rounding of targets without a signal, y stays
_N_BETAS = 20
_SCALING = "soft"  # columns standardized, outliers clipped: as good as any for most tables


class TargetTransform(NamedTuple):
    r"""Transformation of targets y ≥ 0: y itself, :math:`\log(y/u)`, :math:`\log(1+y/u)` or :math:`\sqrt{y/u}`.

    A network f of transformed targets predicts the mean of y by :math:`u\max(s\,h(f)+a-b,0)`, with :math:`h(f)=e^f`, or
    :math:`\max(f,0)^2` of the root, and b = 1 of "log1p", else 0. s, or of the root a, is such that out-of-sample
    outputs of the training rows have the mean of their targets: the inverse alone would make of the mean of log y the
    median of y. It is the smearing estimate of Duan, :math:`s=\sum_iw_ie^{r_i}`, with out-of-sample residuals r and
    weights w proportional to :math:`e^{f_i}`. Increasing maps keep quantiles, and s and a are not in theirs. Outputs
    that are above all transformed targets by more than half of their range count as that: an exponential of a network
    that is linear beyond its rows has no bound.

    References: Duan, "Smearing estimate: a nonparametric retransformation method", J. Amer. Statist. Assoc. 78 (1983).

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 6.0])
    >>> transform = TargetTransform.of("log", y)
    >>> transform.quantile(transform.forward(y)).round(12).tolist()
    [1.0, 2.0, 6.0]
    """

    name: str = "none"  # one of `TARGET_TRANSFORMS`
    unit: float = 1.0  # u, the mean of the targets: what is predicted is equivariant to their unit
    most: float = _FAR  # the largest output
    factor: float = 1.0  # s
    shift: float = 0.0  # a

    @classmethod
    def of(cls, name: str, y: Array, weights: Array | None = None) -> "TargetTransform":
        """Return a transformation of targets y (n,)."""
        if name == "none":
            return cls()
        transform = cls(name, float(np.average(y, weights=weights)))
        targets = transform.forward(y)
        return transform._replace(most=min(float(targets.max() + _BEYOND * np.ptp(targets)), _FAR))

    @property
    def formula(self) -> str:
        """What is fitted, as text."""
        u = f"{self.unit:.4g}"
        return {"none": "y", "log": f"log(y/{u})", "log1p": f"log(1 + y/{u})", "sqrt": f"sqrt(y/{u})"}[self.name]

    def forward(self, y: Array) -> Array:
        """Return the transformed targets."""
        if self.name == "none":
            return y
        return np.asarray({"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt}[self.name](y / self.unit))

    def mean(self, f: Any) -> Any:
        """Return the mean target by outputs, arrays or a value of a program."""
        return self._back(f, self.factor, self.shift)

    def quantile(self, f: Any) -> Any:
        """Return the quantile of the target by that of its transformation: the inverse of `forward`, at least 0."""
        return self._back(f, 1.0, 0.0)

    def fitted(self, f: Array, y: Array, weights: Array | None) -> "TargetTransform":
        """Return it with s or a by out-of-sample outputs f (n,) and targets y (n,)."""
        if self.name == "none":
            return self
        mine, truth = (float(np.average(part, weights=weights)) for part in (self._h(f), y / self.unit))
        if self.name == "sqrt":
            return self._replace(shift=truth - mine)
        return self._replace(factor=(truth + self._offset) / mine)

    @property
    def _offset(self) -> float:
        return float(self.name == "log1p")

    def _back(self, f: Any, factor: float, shift: float) -> Any:
        if self.name == "none":
            return f
        larger = maximum if isinstance(f, Value) else np.maximum
        return larger(self._h(f) * factor + (shift - self._offset), 0.0) * self.unit

    def _h(self, f: Any) -> Any:
        larger = maximum if isinstance(f, Value) else np.maximum
        f = 0.0 - larger(0.0 - f, -self.most)  # the smaller of f and most: programs have no minimum
        if self.name == "sqrt":
            root = larger(f, 0.0)
            return root * root
        return apply("exp", f) if isinstance(f, Value) else np.exp(f)


NO_TRANSFORM = TargetTransform()


class TargetTransformScore(NamedTuple):
    """The leave-one-out error of a transformation, in the scale of the target."""

    name: str  # one of `TARGET_TRANSFORMS`
    mean_loss: float  # mean squared error of means as a share of the variance
    gain_std_error: float  # standard error of the difference from the mean loss of "none"


def compare_target_transforms(
    problem: Problem, beta: float | None, max_time: float | None = None
) -> list[TargetTransformScore]:
    r"""Compare y itself, log y (log(1 + y/mean) where some are 0) and its square root, for targets (n, 1), y ≥ 0.

    On half of the rows, 500 to 1000, or as many as are solved in a tenth of ``max_time`` seconds, but 500, all are
    fitted with the same kernel, the Gaussian gates on standardized columns: one eigendecomposition solves for every β
    and every transformation. Each has the β of its least leave-one-out squared error **of y**. The first of the list is
    the one to take: the best of those that gain more than the standard error of their gain over y itself, and 1 % of
    its error, or that.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 2))
    >>> y = np.exp(2 * X[:, :1] + 0.3 * rng.standard_normal((200, 1)))
    >>> compare_target_transforms(Problem(X, y), None)[0].name
    'log'
    """
    n = len(problem.targets)
    most = _MAX_ROWS if max_time is None else min(_MAX_ROWS, int(_FEW * max(1.0, max_time) ** (1 / 3)))
    part = problem.take(np.sort(spread_rows(n, min(screened_rows(n), most))))
    is_one_group = part.groups is not None and part.groups.max() == 0
    if n < _FEWEST or is_one_group or is_constant(part.targets).any():
        return []
    y, weights = part.targets[:, 0], part.weights
    y = y / np.average(y, weights=weights)
    transforms = [TargetTransform.of(name, y, weights) for name in ("none", "log" if y.all() else "log1p", "sqrt")]
    targets = np.column_stack([transform.forward(y) for transform in transforms])
    _, rows, kernel = part.kernel_rows(_SCALING, BIASES[0])
    loo = replace(part, targets=targets, duplicates=None).leave_one_out(kernel, rows)
    outputs = loo.predictions(loo.grid(_N_BETAS) if beta is None else np.array([beta * n / len(y)]))

    def mean(values: Array) -> float:
        return float(np.average(values, weights=weights))

    squares = [
        min(
            (_squares(transform, f, y, weights) for f in outputs[:, :, k]), key=lambda s: np.average(s, weights=weights)
        )
        for k, transform in enumerate(transforms)
    ]
    units = np.arange(len(y)) if part.groups is None else part.groups
    variance = float(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
    own = np.ones(len(y)) if weights is None else weights
    scores, passed = [], []
    for transform, each in zip(transforms, squares, strict=True):
        gain, error = mean_gain(own * (squares[0] - each), units)
        score = TargetTransformScore(transform.name, float(own @ each) / len(y) / variance, error / variance)
        scores.append(score)
        passed.append(transform.name == "none" or gain > max(error, _LEAST_GAIN * variance * scores[0].mean_loss))
    order = sorted(range(len(scores)), key=lambda k: (not passed[k], scores[k].mean_loss))
    return [scores[k] for k in order]


def _squares(transform: TargetTransform, f: Array, y: Array, weights: Array | None) -> Array:
    """Return the squared errors (n,) of the means by outputs f (n,) of rows without themselves."""
    with np.errstate(over="ignore"):  # an exponential beyond float64 is an infinite error
        return np.asarray((transform.fitted(f, y, weights).mean(f) - y) ** 2)
