"""Beta by cross-validation, for any estimator of the library."""

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_response_method, check_is_fitted, indexable

from clifford_rand._checks import check_choice, describe, fail
from clifford_rand_nn.estimators.base import ConvexNetwork
from clifford_rand_nn.paths.path import beta_grid
from clifford_rand_nn.solvers.base import SOONEST, Limits


def _has(method: str) -> Any:
    def check(self: "BetaCV") -> bool:
        _check_response_method(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


@dataclass(eq=False, repr=False)
class BetaCV(MetaEstimatorMixin, BaseEstimator):
    r"""Choose beta by cross-validation and train once more with it on all rows.

    Every fold goes down one grid of beta, and each fit starts from the last one's solution. Since objectives are means,
    beta means the same on the rows of a fold as on all of them.

    Parameters
    ----------
    estimator : estimator of this library
        Its own ``beta`` is not used. Give it an integer ``random_state``, so that a fold samples the same gates or
        subset for every beta; otherwise each fit samples its own and starts from nothing.
    betas : array of numbers > 0, optional
        Otherwise ``n_betas`` values from the least beta without a neuron, on all rows, to ``eps`` times it.
    n_betas : int, default 20
    eps : float in (0, 1), default 1e-3
    cv : int, splitter or iterable, default 5
        As in scikit-learn; stratified for classifiers.
    scoring : str, callable or None
        As in scikit-learn; None is the estimator's own score, accuracy or R².
    rule : {"best", "one_se"}, default "best"
        "one_se" takes the largest beta whose mean score is within one standard error of the best one.
    max_time : float or None
        Seconds. Of k folds and the training on all rows, each has a share of 1/(k + 1) of them, and what was left over
        before: a fit that its share ends is scored as it is. Betas that no time was left for have no score (NaN), and
        are not chosen. Ctrl-C in a fold ends it all with a KeyboardInterrupt; ``scores_`` has what was scored before.

    Attributes
    ----------
    beta_ : float
    betas_ : (B,)
        Falling.
    scores_ : (B, folds)
    estimator_ : estimator
        Trained on all rows with ``beta_``; its certificate is there.

    Raises
    ------
    ArgumentError
        ``estimator`` is not one of this library, or a parameter breaks its rule.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import BetaCV, CrossProductLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (60, 1))
    >>> y = np.abs(X[:, 0]) + 0.1 * rng.standard_normal(60)
    >>> search = BetaCV(CrossProductLassoRegressor(), n_betas=8).fit(X, y)
    >>> bool(search.betas_[-1] < search.beta_ < search.betas_[0])
    True
    """

    estimator: Any
    betas: Any = None
    n_betas: int = 20
    eps: float = 1e-3
    cv: Any = 5
    scoring: Any = None
    rule: str = "best"
    max_time: float | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Score every beta on every fold, choose one, and train on all rows X (n, d) and targets y.

        Weights (n,) ≥ 0 of the rows go into training and scores. The folds are those without weights; each needs a
        positive one.
        """
        if not isinstance(self.estimator, ConvexNetwork):
            raise fail("estimator", "BetaCV", "an estimator of clifford_rand_nn", self.estimator)
        check_choice(self.rule, "rule", "BetaCV", ("best", "one_se"))
        began, clock = time.perf_counter(), Limits.of("BetaCV", max_time=self.max_time)
        clone(self.estimator)._task(X, y, sample_weight)  # every error of the data, before any work
        rows, targets = indexable(np.asarray(X) if not hasattr(X, "iloc") else X, np.asarray(y))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        top = clone(self.estimator).beta_max(rows, targets, weights) if self.betas is None else 0.0
        self.betas_ = beta_grid(self.betas, self.n_betas, self.eps, top, "BetaCV")
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        splits = list(check_cv(self.cv, targets, classifier=is_classifier(self.estimator)).split(rows, targets))
        self.scores_ = np.full((len(self.betas_), len(splits)), np.nan)
        if weights is not None and not all(weights[part].any() for split in splits for part in split):
            hint = "Leave rows of weight zero out, or give other folds."
            rule = "positive for some row of every fold"
            raise fail("sample_weight", "BetaCV", rule, describe("a fold of zeros"), hint)
        for k, (train, test) in enumerate(splits):
            shared: list[Any] = []  # a gated network's next beta needs no new gates
            part = None if self.max_time is None else self.max_time * (k + 1) / (len(splits) + 1)
            share = Limits(max_time=part)
            for i, beta in enumerate(self.betas_):
                left = share.after(time.perf_counter() - began).max_time
                if i and left is not None and left <= SOONEST:
                    break
                model = self._model(float(beta), left)
                model._fit(_take(rows, train), targets[train], shared=shared, **_weights(weights, train))
                if model.result_.interrupted:
                    raise KeyboardInterrupt(f"in fold {k + 1} of {len(splits)}, beta {i + 1} of {len(self.betas_)}")
                if _draws_anew(model):
                    shared.clear()
                self.scores_[i, k] = scorer(model, _take(rows, test), targets[test], **_weights(weights, test))
        self.beta_ = float(self.betas_[self._chosen()])
        left = clock.after(time.perf_counter() - began).max_time
        self.estimator_ = self._model(self.beta_, left).fit(rows, targets, weights)
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    def _model(self, beta: float, left: float | None) -> Any:
        """Return the estimator for a beta, with no more time than is left."""
        times = [time for time in (self.estimator.max_time, left) if time is not None]
        return clone(self.estimator).set_params(beta=beta, max_time=min(times, default=None))

    def _chosen(self) -> int:
        mean = self.scores_.mean(axis=1)
        if np.isnan(mean).all():
            mean = self.scores_[:, 0]  # no beta has a score of every fold: the first fold has one at least
        mean = np.where(np.isnan(mean), -np.inf, mean)
        best = int(mean.argmax())  # the largest beta among equals: fewer neurons
        if self.rule == "best":
            return best
        folds = self.scores_.shape[1]
        known = folds > 1 and np.isfinite(self.scores_[best]).all()
        error = self.scores_[best].std(ddof=1) / np.sqrt(folds) if known else 0.0
        return int(np.flatnonzero(mean >= mean[best] - error)[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the network that was trained on all rows."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(X))

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the outputs of that network; for classifiers."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.decision_function(X))

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities; for classifiers with loss="logistic"."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of that network by ``scoring``."""
        check_is_fitted(self, "estimator_")
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer(self.estimator_, X, y, **weights))

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels; for classifiers."""
        return np.asarray(self.estimator_.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags, tags.input_tags = inner.target_tags, inner.input_tags
        return tags


def _draws_anew(model: Any) -> bool:
    """Whether two fits on the same rows sample different neurons: one must not start from those of the other."""
    if isinstance(model.random_state, int | np.integer):
        return False
    gates = getattr(model, "gates", None)
    return getattr(model, "subsample", None) is not None or (isinstance(gates, str) and gates != "exhaustive")


def _weights(weights: NDArray[np.float64] | None, index: NDArray[np.intp]) -> dict[str, Any]:
    """Return the keyword of a fold's weights: without weights there is none, for scorers that know none."""
    return {} if weights is None else {"sample_weight": weights[index]}


def _take(rows: Any, index: NDArray[np.intp]) -> Any:
    return rows.iloc[index] if hasattr(rows, "iloc") else rows[index]
