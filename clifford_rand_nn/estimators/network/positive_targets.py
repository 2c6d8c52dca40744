"""Regression of counts and positive targets: leave-one-out selects a transformation of the target."""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import as_real, check_choice, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn._display import as_table
from clifford_rand_nn.datafits.registry import split_weights
from clifford_rand_nn.estimators.folds import PipelinePrefix, group_numbers, order_numbers, take_features
from clifford_rand_nn.estimators.network.regressor import ConvexNetworkRegressor
from clifford_rand_nn.estimators.rows import training_data
from clifford_rand_nn.scores import r_squared

TRANSFORMATIONS = ("none", "log", "log1p", "sqrt")
_MOST_COMPARED = 500  # rows of the comparison: a fit to so many takes a third of a second
_FAR = 700.0  # of an exponential, beyond which it is infinite


class TransformationScore(NamedTuple):
    """The leave-one-out error of a transformation, in the scale of the target.

    Attributes
    ----------
    name : {"none", "log", "log1p", "sqrt"}
    error : float
        Mean squared error as a share of the variance.
    standard_error : float
        Of the difference from the error of "none", by rows.
    """

    name: str
    error: float
    standard_error: float


class _Retransformation(NamedTuple):
    r"""The mean of the target by an output f, :math:`u\max(sh(f)+a-b, 0)`: h and b by name, s and a by `fitted`."""

    name: str
    unit: float  # u, the mean of the targets
    factor: float = 1.0  # s
    shift: float = 0.0  # a

    def forward(self, y: Array) -> Array:
        """Return the targets that are trained on."""
        y = y / self.unit
        if self.name == "none":
            return y
        return np.asarray({"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt}[self.name](y))

    def quantile(self, f: Array) -> Array:
        """Return quantiles of the target, which increasing maps keep: the inverse of `forward`, at least 0."""
        return np.asarray(self.unit * np.maximum(self._h(f) - self._offset, 0.0))

    def mean(self, f: Array) -> Array:
        """Return the mean."""
        return np.asarray(self.unit * np.maximum(self.factor * self._h(f) + self.shift - self._offset, 0.0))

    def fitted(self, f: Array, y: Array, weights: Array | None) -> "_Retransformation":
        """Return it with s and a for which the means of out-of-sample outputs f (n,) average to those of y (n,)."""
        mine, truth = (float(np.average(part, weights=weights)) for part in (self._h(f), y / self.unit))
        if self.name == "none":
            return self
        if self.name == "sqrt":
            return self._replace(shift=truth - mine)
        return self._replace(factor=(truth + self._offset) / mine)

    @property
    def _offset(self) -> float:
        return float(self.name == "log1p")

    def _h(self, f: Array) -> Array:
        if self.name == "none":
            return f
        return np.maximum(f, 0.0) ** 2 if self.name == "sqrt" else np.exp(np.minimum(f, _FAR))


@dataclass(eq=False, repr=False)
class PositiveTargetRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    r"""Regressor of counts and positive targets, whose transformation leave-one-out selects.

    It is trained on y itself, :math:`\log y`, :math:`\log(1+y/\bar y)` where some y are 0, or :math:`\sqrt y`,
    whichever has the least leave-one-out squared error **of y**, in fits to at most 500 rows. Nothing predicted is
    negative, and everything is equivariant to the unit of y.

    Predictions are means, not medians: the inverse of a transformation makes of the mean of log y the median of y, so
    that it is rescaled, :math:`\hat y(x)=s\,e^{f(x)}`, with the s for which leave-one-out predictions of the training
    rows have the mean of their targets (for the square root a constant is added). That is the smearing estimate of
    Duan, :math:`s=\sum_iw_ie^{r_i}`, with leave-one-out residuals r and weights w proportional to :math:`e^{f_i}`,
    which also removes the bias by the variance of f. Intervals are those of the transformed target, mapped back: they
    hold the same share of new targets, and lie around the median.

    Parameters
    ----------
    regressor : ConvexNetworkRegressor, Pipeline that ends with one, or None
        None is `ConvexNetworkRegressor()`. The steps before it are fitted once, to all rows.
    transformation : {"auto", "none", "log", "log1p", "sqrt"}, default "auto"

    Attributes
    ----------
    transformation_ : str
        The one that was given, or selected.
    comparison_ : list of TransformationScore, or None
        What was compared, best first; None where it was given.
    regressor_ : estimator
        Fitted to the transformed targets over their unit: `explain`, its certificate and its exports are on that scale.
    loo_predictions_ : (n,) array
        Mean of each row, predicted without it.
    loo_mask_ : (n,) bool array
        The rows that ``loo_score_`` is of.
    loo_score_ : float
        R² of these.

    Raises
    ------
    ArgumentError
        Targets are negative or all 0, or "log" is given and one is 0; the regressor is another estimator, or its loss
        is not squared.

    References
    ----------
    Duan, "Smearing estimate: a nonparametric retransformation method", J. Amer. Statist. Assoc. 78 (1983).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 2))
    >>> price = np.exp(2 * X[:, 0] + 0.3 * rng.standard_normal(200))
    >>> model = PositiveTargetRegressor().fit(X, price)
    >>> model.transformation_, bool((model.predict(X) > 0).all()), [each.name for each in model.comparison_]
    ('log', True, ['log', 'sqrt', 'none'])
    """

    regressor: Any = None
    transformation: str = "auto"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, order: Any = None) -> Self:
        """Select the transformation, and train; arguments are those of the regressor."""
        owner = type(self).__name__
        check_choice(self.transformation, "transformation", owner, ("auto", *TRANSFORMATIONS))
        steps, last = PipelinePrefix.of(ConvexNetworkRegressor() if self.regressor is None else self.regressor)
        if not isinstance(last, ConvexNetworkRegressor) or last.loss != "squared":
            rule = "None, or itself, or in the last step of a Pipeline, a ConvexNetworkRegressor of squared loss"
            raise fail("regressor", owner, rule, last)
        targets = np.asarray(as_real(y, "y", owner), dtype=np.float64)
        if targets.ndim != 1:
            hint = "Take MultiOutputRegressor."
            raise fail("y", owner, "of shape (n,)", describe(f"shape {targets.shape}"), hint)
        front, rows = steps.fit(X, targets)
        training_data(clone(last), rows, targets, y_numeric=True)  # every error of the data, before any work
        n = len(targets)
        kept, _, weights = split_weights(sample_weight, n, owner)
        if (targets < 0).any() or not targets[kept].any():
            raise fail("y", owner, "≥ 0 and not all 0", describe(f"targets from {targets.min():.3g}"))
        if self.transformation == "log" and not targets[kept].all():
            raise fail("transformation", owner, "'log1p', 'sqrt' or 'none' where a target is 0", self.transformation)
        beside: dict[str, NDArray[Any]] = {} if weights is None else {"sample_weight": weights}
        if groups is not None:
            beside["groups"] = group_numbers(groups, n, owner)
        if order is not None:
            beside["order"] = order_numbers(order, n, owner)
        self.transformation_, self.comparison_ = self.transformation, None
        if self.transformation == "auto":
            names = ("none", "log" if targets[kept].all() else "log1p", "sqrt")
            some = np.sort(np.random.default_rng(0).permutation(np.flatnonzero(kept))[:_MOST_COMPARED])
            own = {name: part[some] for name, part in beside.items() if name != "order"}
            self.comparison_ = as_table(_compare(last, names, _safe_indexing(rows, some), targets[some], own))
            self.transformation_ = self.comparison_[0].name
        model, self._retransformation, self.loo_predictions_ = _trained(
            last, self.transformation_, rows, targets, beside
        )
        self.regressor_, self.loo_mask_ = front.joined(model), np.asarray(model.loo_mask_)
        judged = self.loo_mask_
        mass = None if weights is None else weights[judged]
        self.loo_score_ = r_squared(targets[judged], self.loo_predictions_[judged], mass)
        take_features(self, self.regressor_)
        return self

    def predict(self, X: Any) -> Array:
        """Return the means of the targets (n,), none of them negative."""
        check_is_fitted(self, "regressor_")
        return self._retransformation.mean(self.regressor_.predict(X))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return the ends (low, high) of intervals that hold the targets of a share ``coverage`` of new rows."""
        check_is_fitted(self, "regressor_")
        low, high = self.regressor_.predict_interval(X, coverage)
        return self._retransformation.quantile(low), self._retransformation.quantile(high)


def _compare(
    regressor: ConvexNetworkRegressor, names: tuple[str, ...], X: Any, y: Array, beside: dict[str, NDArray[Any]]
) -> list[TransformationScore]:
    """Return the leave-one-out errors of transformations, best first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [_trained(regressor, name, X, y, beside) for name in names]
    judged = np.logical_and.reduce([np.asarray(model.loo_mask_) for model, _, _ in fits])
    w = beside.get("sample_weight", np.ones(len(y)))[judged]
    w = w / w.sum()
    squares = np.array([(means[judged] - y[judged]) ** 2 for _, _, means in fits])
    errors = squares @ w / (float(w @ (y[judged] - w @ y[judged]) ** 2) or 1.0)
    share = errors[0] / (float(squares[0] @ w) or 1.0)
    scores = []
    for name, error, own in zip(names, errors, squares, strict=True):
        apart = own - squares[0]
        deviation = share * float(np.sqrt(w**2 @ (apart - w @ apart) ** 2))
        scores.append(TransformationScore(name, float(error), deviation))
    return sorted(scores, key=lambda score: score.error)


def _trained(
    regressor: ConvexNetworkRegressor, name: str, X: Any, y: Array, beside: dict[str, NDArray[Any]]
) -> tuple[ConvexNetworkRegressor, _Retransformation, Array]:
    """Return a regressor of transformed targets, the retransformation, and the leave-one-out means of rows."""
    model, weights = clone(regressor), beside.get("sample_weight")
    way = _Retransformation(name, float(np.average(y, weights=weights)))
    with np.errstate(divide="ignore"):  # log 0 of rows of weight zero
        targets = np.maximum(way.forward(y), -_FAR)
    model.fit(X, targets, **beside)
    f, judged = model.loo_predictions_, model.loo_mask_
    way = way.fitted(f[judged], y[judged], None if weights is None else weights[judged])
    return model, way, way.mean(f)
