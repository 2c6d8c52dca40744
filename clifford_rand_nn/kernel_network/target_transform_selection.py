"""Transformations of a positive target, compared by leave-one-out with one kernel."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.target_transform import TargetTransform
from clifford_rand_nn.kernel_network.candidates import BIASES, Problem, is_constant, screened_rows
from clifford_rand_nn.kernel_network.landmark_span import spread_rows
from clifford_rand_nn.kernel_network.metric_selection import mean_gain

_MAX_ROWS = 1000  # the decomposition of so many takes a third of a second, and 50 MB
_FEW = 500  # rows, a tenth of a second: n take (n/500)³ as long, and with ``max_time`` a tenth of that at most
_FEWEST = 20  # rows: of fewer the standard error of a gain says little
_LEAST_GAIN = 0.01  # of the error of y itself: for less, such as rounding of targets without a signal, y stays
_N_BETAS = 20
_SCALING = "soft"  # columns standardized, outliers clipped: as good as any for most tables


class TargetTransformScore(NamedTuple):
    """The leave-one-out error of a transformation, in the scale of the target.

    Attributes
    ----------
    name : {"none", "log", "log1p", "sqrt"}
    mean_loss : float
        Mean squared error of means as a share of the variance.
    gain_std_error : float
        Standard error of the difference from the mean loss of "none".
    """

    name: str
    mean_loss: float
    gain_std_error: float


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
