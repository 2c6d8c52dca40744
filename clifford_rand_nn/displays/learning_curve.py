"""What more rows would bring: scikit-learn's picture, by leave-one-out where a fit has it for free."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import LearningCurveDisplay as _LearningCurveDisplay
from sklearn.utils import _safe_indexing, resample

from clifford_rand._checks import as_array, as_real, check_integer, describe, fail, refuse_unreal
from clifford_rand_nn.displays.style import FIRST, SECOND, axes_of, network_of
from clifford_rand_nn.estimators.network.base import NetworkWithoutKnobs
from clifford_rand_nn.estimators.parameters import drawn_state

_LEAST = 20  # rows of the smallest part


class LearningCurveDisplay(_LearningCurveDisplay):
    """scikit-learn's `sklearn.model_selection.LearningCurveDisplay`, also from the ``loo_score_`` of fits to some rows.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from clifford_rand_nn import ConvexNetworkClassifier, LearningCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConvexNetworkClassifier(loss="squared").fit(X, y)
    >>> drawn = LearningCurveDisplay.from_left_out(model, X, y, train_sizes=(0.3, 1.0), ax=Figure().subplots())
    >>> drawn.train_sizes.tolist(), float(drawn.test_scores[-1, 0]) == model.loo_score_
    ([45, 150], True)
    """

    @classmethod
    def from_left_out(
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
        """Fit to some of the rows, and draw what leave-one-out promises for new ones, beside the score on the old.

        Each fit gives its own promise, so there are no folds: five sizes are five fits, of which the last, all rows, is
        the ``estimator`` itself.

        Parameters
        ----------
        estimator : ConvexNetworkClassifier or ConvexNetworkRegressor, or a pipeline that ends in one
            Fitted to X and y.
        X : (n, d) array or DataFrame
        y : (n,) array
        sample_weight, groups : (n,) arrays, optional
            Those of the fit; of bare estimators.
        train_sizes : shares of the rows, at most 1
            Parts of fewer than 20 rows are not tried. They are drawn as the classes are.
        n_draws : int
            Parts of each size but all rows; the line is their mean.
        random_state : int or None
            Of the parts.
        ax : matplotlib Axes, optional
        **kwargs
            Of scikit-learn's `plot`.

        Raises
        ------
        ArgumentError
            Another estimator; shares that are none.
        """
        owner, model = cls.__name__, network_of(estimator)
        if not isinstance(model, NetworkWithoutKnobs) or not hasattr(model, "loo_score_"):
            hint = "Others have from_estimator, by cross-validation."
            rule = "a fitted network without knobs"
            raise fail("estimator", owner, rule, describe(f"a {type(model).__name__}"), hint)
        shares, labels = np.unique(as_real(train_sizes, "train_sizes", owner)), as_array(y, "y", owner)
        n_draws = check_integer(n_draws, "n_draws", owner)
        if not is_classifier(model):
            refuse_unreal(labels, "y", owner)
        if labels.ndim not in (1, 2) or not len(labels):
            raise fail("y", owner, "the targets of the training", describe(f"shape {labels.shape}"))
        if not len(shares) or shares[0] <= 0 or shares[-1] > 1:
            raise fail("train_sizes", owner, "shares of the rows, above 0 and at most 1", train_sizes)
        n, classes = len(labels), is_classifier(model)
        of_rows = {"sample_weight": sample_weight, "groups": groups}
        given = {name: np.asarray(value) for name, value in of_rows.items() if value is not None}
        rng = drawn_state(random_state, owner)
        sizes, seen, unseen = [], [], []
        for m in np.unique(np.round(shares * n).astype(int)):
            if m == n:
                every = _score(estimator, X, labels, given)
                found = [(every, model.loo_score_)] * n_draws
            elif m >= _LEAST:
                found = [_part(estimator, X, labels, given, int(m), classes, rng) for _ in range(n_draws)]
            else:
                continue
            sizes.append(int(m))
            seen.append([one[0] for one in found])
            unseen.append([one[1] for one in found])
        shown = cls(
            train_sizes=np.array(sizes),
            train_scores=np.array(seen),
            test_scores=np.array(unseen),
            score_name="accuracy" if classes else "R²",
        )
        return shown.drawn(axes_of(ax), **kwargs)

    def drawn(self, ax: Any, **kwargs: Any) -> Self:
        """Draw on axes in the colours of this library."""
        self.plot(ax, **({"std_display_style": "fill_between" if self.train_scores.shape[1] > 1 else None} | kwargs))
        looks = ((FIRST, "--", "s", "rows it was fitted to"), (SECOND, "-", "o", "rows left out"))
        for line, (colour, style, marker, label) in zip(self.lines_ or [], looks, strict=False):
            line.set(color=colour, linestyle=style, marker=marker, label=label)
        ax.set(xlabel="rows to learn from")
        ax.grid(axis="y", alpha=0.25)
        ax.legend(frameon=False)
        return self


def _part(
    estimator: Any, X: Any, y: NDArray[Any], given: dict[str, NDArray[Any]], m: int, classes: bool, rng: Any
) -> tuple[float, float]:
    """Return the score of a fit to m rows on these, and what it promises for others."""
    rows = resample(
        np.arange(len(y)), replace=False, n_samples=m, random_state=rng, stratify=y if classes and y.ndim == 1 else None
    )
    some, own = _safe_indexing(X, rows), {name: value[rows] for name, value in given.items()}
    one = clone(estimator).fit(some, y[rows], **own)
    return _score(one, some, y[rows], own), float(network_of(one).loo_score_)


def _score(estimator: Any, X: Any, y: NDArray[Any], given: dict[str, NDArray[Any]]) -> float:
    weights = {name: value for name, value in given.items() if name == "sample_weight"}
    return float(estimator.score(X, y, **weights))
