"""Displays of out-of-sample predictions: calibration, and the learning curve."""

from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibrationDisplay as _CalibrationDisplay
from sklearn.model_selection import LearningCurveDisplay as _LearningCurveDisplay
from sklearn.utils import _safe_indexing, indexable, resample
from sklearn.utils.validation import _num_samples

from clifford_rand._checks import as_array, as_real, check_choice, check_fits, check_integer, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand_nn._words import literal
from clifford_rand_nn.displays.style import FIRST, SECOND, axes_of, network_of, places_of
from clifford_rand_nn.estimators.folds import group_numbers
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork
from clifford_rand_nn.estimators.rows import given_targets, new_rows, refused_by_scikit_learn
from clifford_rand_nn.estimators.task import drawn_state
from clifford_rand_nn.problems.loss_registry import split_weights

_SLACK = 1e-6  # of a probability, which rounding may leave above 1


class CalibrationDisplay(_CalibrationDisplay):
    """scikit-learn's `sklearn.calibration.CalibrationDisplay`, also of leave-one-out probabilities.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from clifford_rand_nn import CalibrationDisplay, ConvexNetworkClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConvexNetworkClassifier(loss="squared").fit(X, y)
    >>> drawn = CalibrationDisplay.from_leave_one_out(model, y, ax=Figure().subplots())
    >>> drawn.ax_.get_xlabel()
    'probability of the predicted class'
    """

    @classmethod
    def from_leave_one_out(
        cls,
        estimator: Any,
        y: ArrayLike,
        *,
        n_bins: int = 10,
        strategy: str = "quantile",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw ``loo_probabilities_`` of a fitted `ConvexNetworkClassifier`, or of one at the end of a pipeline.

        Of two classes it is the probability of ``classes_[1]``; of more, that of the class that is predicted, against
        the accuracy; multilabel, of each label.

        Parameters
        ----------
        estimator
        y : (n,) or (n, labels) array
            The labels of the training, in the same order.
        n_bins, strategy
            As in scikit-learn.
        ax, **kwargs : matplotlib Axes, optional, and options of the line

        Raises ArgumentError if there are no such probabilities, as those of another estimator or of a file of an older
        version, or if y has another length.
        """
        model, owner = network_of(estimator), cls.__name__
        labels = as_array(y, "y", owner)
        probabilities = getattr(model, "loo_probabilities_", None)
        if probabilities is None:
            rule, hint = "a ConvexNetworkClassifier that was fitted here", "Else use from_predictions on new rows."
            raise fail("estimator", owner, rule, describe(f"a {type(model).__name__}"), hint)
        if labels.shape[:1] != (len(probabilities),):
            raise fail("y", owner, f"{len(probabilities)} labels, as in training", describe(f"shape {labels.shape}"))
        kept = np.isfinite(probabilities).all(axis=1)
        truth, sure, classes = labels[kept], probabilities[kept], model.classes_
        several = labels.ndim == 2 and getattr(model, "_several", False)  # labels a row: of each whether a row has it
        if several:
            if labels.shape != probabilities.shape or labels.dtype.kind not in "biuf":
                rule = f"0 and 1 of shape {probabilities.shape}"
                raise fail("y", owner, rule, describe(f"dtype {labels.dtype}, shape {labels.shape}"))
            truth, sure, classes = (truth.ravel() != 0).astype(int), np.c_[1 - sure.ravel(), sure.ravel()], (0, 1)
        else:
            places_of(truth, classes, len(truth), owner)  # whose error names y
        options: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy, "ax": ax} | kwargs
        shown = cls.from_probabilities(truth, sure, classes=classes, **options)
        if several:
            shown.ax_.set_xlabel("probability of a label")
        return shown

    @classmethod
    def from_probabilities(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike,
        n_bins: int = 10,
        strategy: str = "quantile",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw probabilities (n, k) of k classes for rows with labels (n,), as `from_leave_one_out` does."""
        owner = cls.__name__
        p, names = as_real(y_prob, "y_prob", owner), as_array(classes, "classes", owner)
        if p.ndim != 2 or names.ndim != 1 or p.shape[1] != len(names) or not len(p):
            rule = f"of shape (n, {names.size}), one for each class"
            raise fail("y_prob", owner, rule, describe(f"shape {p.shape}"))
        if p.min() < -_SLACK or p.max() > 1 + _SLACK:
            raise fail("y_prob", owner, "numbers from 0 to 1", describe(f"from {p.min():.3g} to {p.max():.3g}"))
        n_bins = check_integer(n_bins, "n_bins", owner)
        check_fits(64 * n_bins, "n_bins", owner)
        strategy = check_choice(strategy, "strategy", owner, ("uniform", "quantile"))
        places = places_of(y_true, names, len(p), owner, "y_true")
        if len(names) == 2:
            right, sure, of = places == 1, p[:, 1], f"probability of {names[1]}"
        else:
            right, sure, of = p.argmax(axis=1) == places, p.max(axis=1), "probability of the predicted class"
        axes = axes_of(ax)
        look = {"color": FIRST, "name": "left-out rows"} | kwargs
        shown: Self = cls.from_predictions(
            right.astype(int), np.clip(sure, 0.0, 1.0), n_bins=n_bins, strategy=strategy, ax=axes, **look
        )
        axes.set(xlabel=literal(of), ylabel="observed frequency")
        return shown


_LEAST = 20  # rows of the smallest part
_MOST = 1000  # parts of a size, each of which is fitted to


class LearningCurveDisplay(_LearningCurveDisplay):
    """scikit-learn's `sklearn.model_selection.LearningCurveDisplay`, also from the ``loo_score_`` of fits to some rows.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from clifford_rand_nn import ConvexNetworkClassifier, LearningCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConvexNetworkClassifier(loss="squared").fit(X, y)
    >>> drawn = LearningCurveDisplay.from_leave_one_out(model, X, y, train_sizes=(0.3, 1.0), ax=Figure().subplots())
    >>> drawn.train_sizes.tolist(), float(drawn.test_scores[-1, 0]) == model.loo_score_
    ([45, 150], True)
    """

    @classmethod
    def from_leave_one_out(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        train_sizes: ArrayLike = (0.1, 0.2, 0.4, 0.7, 1.0),
        n_draws: int = 1,
        random_state: int | None = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Fit to some of the rows, and draw their leave-one-out scores beside the scores on the training set.

        Each fit has its own leave-one-out score, so there are no folds: five sizes are five fits, of which the last, to
        all rows, is the ``estimator`` itself.

        Parameters
        ----------
        estimator : ConvexNetworkClassifier or ConvexNetworkRegressor, or a pipeline that ends in one
            Fitted to X and y.
        X : (n, d) array or DataFrame
        y : (n,) array
        sample_weight, groups : (n,) arrays, optional
            Those of the fit; of bare estimators.
        train_sizes : shares of the rows, at most 1
            Two parts or more; those of fewer than 20 rows are not tried. They are drawn as the classes are.
        n_draws : int
            Parts of each size but all rows, at most 1000; the line is their mean.
        random_state : int or None
            Of the parts.
        ax, **kwargs : matplotlib Axes, optional, and options of scikit-learn's `plot`

        Raises ArgumentError for another estimator, and for shares that are none or of which fewer than two are tried.
        """
        owner, model = cls.__name__, network_of(estimator)
        if not isinstance(model, BaseConvexNetwork) or not hasattr(model, "loo_score_"):
            hint = "Others have from_estimator, by cross-validation."
            rule = "a fitted tuning-free network"
            raise fail("estimator", owner, rule, describe(f"a {type(model).__name__}"), hint)
        shares = np.unique(as_real(train_sizes, "train_sizes", owner))
        if not len(shares) or shares[0] <= 0 or shares[-1] > 1:
            raise fail("train_sizes", owner, "shares of the rows, above 0 and at most 1", train_sizes)
        n_draws = check_integer(n_draws, "n_draws", owner, high=_MOST)
        if estimator is model:
            new_rows(model, X, owner=owner)
        with refused_by_scikit_learn(owner, X):
            X = indexable(X)[0]
            n = _num_samples(X)
        classes = is_classifier(model)
        labels = given_targets(y, n, classes, owner)
        if classes and labels.ndim == 1:
            places_of(labels, model.classes_, n, owner)
        weights = split_weights(sample_weight, n, owner)[2]
        fit_params: dict[str, NDArray[Any]] = {} if weights is None else {"sample_weight": weights}
        if groups is not None:
            fit_params["groups"] = group_numbers(groups, n, owner)
        rng = drawn_state(random_state, owner)
        sizes = [int(m) for m in np.unique(np.round(shares * n)) if m >= _LEAST or m == n]
        if len(sizes) < 2:
            rule = f"such that two parts or more have at least {_LEAST} of the {n} rows, for a line between them"
            raise fail("train_sizes", owner, rule, train_sizes, "Give more rows, or larger shares.")
        seen, unseen = [], []
        for m in sizes:
            if m == n:
                every = _score(estimator, X, labels, fit_params)
                pairs = [(every, model.loo_score_)] * n_draws
            else:
                pairs = [_part(estimator, X, labels, fit_params, m, classes, rng) for _ in range(n_draws)]
            seen.append([on_training for on_training, _ in pairs])
            unseen.append([left_out for _, left_out in pairs])
        shown = cls(
            train_sizes=np.array(sizes),
            train_scores=np.array(seen),
            test_scores=np.array(unseen),
            score_name="accuracy" if classes else "R²",
        )
        return shown._draw(ax, **kwargs)

    def _draw(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on axes, or on a new figure of pyplot, in the colors of this library."""
        ax = axes_of(ax)
        self.plot(ax, **({"std_display_style": "fill_between" if self.train_scores.shape[1] > 1 else None} | kwargs))
        looks = ((FIRST, "--", "s", "training set"), (SECOND, "-", "o", "left-out rows"))
        for line, (color, style, marker, label) in zip(self.lines_ or [], looks, strict=False):
            line.set(color=color, linestyle=style, marker=marker, label=label)
        ax.set(xlabel="training rows")
        ax.grid(axis="y", alpha=0.25)
        ax.legend(frameon=False)
        return self


def with_part(curve: LearningCurveDisplay, size: int, train_score: float, test_score: float) -> LearningCurveDisplay:
    """Return a curve with the scores of a fit to one more part of the rows, not drawn."""
    place = int(np.searchsorted(curve.train_sizes, size))
    scores = (curve.train_scores, train_score), (curve.test_scores, test_score)
    train_scores, test_scores = (np.insert(known, place, new, axis=0) for known, new in scores)
    sizes = np.insert(curve.train_sizes, place, size)
    return LearningCurveDisplay(
        train_sizes=sizes, train_scores=train_scores, test_scores=test_scores, score_name=curve.score_name
    )


def _part(
    estimator: Any, X: Any, y: NDArray[Any], fit_params: dict[str, NDArray[Any]], m: int, classes: bool, rng: Any
) -> tuple[float, float]:
    """Return the score of a fit to m rows on these, and its leave-one-out score."""
    rows = resample(
        np.arange(len(y)), replace=False, n_samples=m, random_state=rng, stratify=y if classes and y.ndim == 1 else None
    )
    some, own = _safe_indexing(X, rows), {name: value[rows] for name, value in fit_params.items()}
    fitted = clone(estimator).fit(some, y[rows], **own)
    return _score(fitted, some, y[rows], own), float(network_of(fitted).loo_score_)


def _score(estimator: Any, X: Any, y: NDArray[Any], fit_params: dict[str, NDArray[Any]]) -> float:
    weights = {name: value for name, value in fit_params.items() if name == "sample_weight"}
    return float(estimator.score(X, y, **weights))
