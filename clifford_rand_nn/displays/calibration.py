"""Calibration of out-of-sample probabilities, as scikit-learn draws it."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.calibration import CalibrationDisplay as _CalibrationDisplay

from clifford_rand._checks import as_array, as_real, check_choice, check_fits, check_integer, describe, fail
from clifford_rand_nn.displays.style import FIRST, axes_of, literal, network_of, places_of

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
    >>> drawn = CalibrationDisplay.from_left_out(model, y, ax=Figure().subplots())
    >>> drawn.ax_.get_xlabel()
    'probability of the predicted class'
    """

    @classmethod
    def from_left_out(
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
        ax : matplotlib Axes, optional
        **kwargs
            Of the line.

        Raises
        ------
        ArgumentError
            There are no such probabilities: another estimator, or one from a file of an older version. Or y has another
            length.
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
        if labels.ndim == 2 and getattr(model, "_several", False):  # labels a row: of each whether a row has it
            if labels.shape != probabilities.shape or labels.dtype.kind not in "biuf":
                rule = f"0 and 1 of shape {probabilities.shape}"
                raise fail("y", owner, rule, describe(f"dtype {labels.dtype}, shape {labels.shape}"))
            pairs = np.column_stack([1 - probabilities[kept].ravel(), probabilities[kept].ravel()])
            marks = (labels[kept].ravel() != 0).astype(int)
            shown = cls.from_probabilities(pairs, marks, (0, 1), n_bins=n_bins, strategy=strategy, ax=ax, **kwargs)
            shown.ax_.set_xlabel("probability of a label")
            return shown
        return cls.from_probabilities(
            probabilities[kept], labels[kept], model.classes_, n_bins=n_bins, strategy=strategy, ax=ax, **kwargs
        )

    @classmethod
    def from_probabilities(
        cls,
        probabilities: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike,
        *,
        n_bins: int = 10,
        strategy: str = "quantile",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the probabilities (n, k) of k classes for rows with labels y (n,), as `from_left_out` does."""
        owner = cls.__name__
        p, names = as_real(probabilities, "probabilities", owner), as_array(classes, "classes", owner)
        if p.ndim != 2 or names.ndim != 1 or p.shape[1] != len(names) or not len(p):
            rule = f"of shape (n, {names.size}), one for each class"
            raise fail("probabilities", owner, rule, describe(f"shape {p.shape}"))
        if p.min() < -_SLACK or p.max() > 1 + _SLACK:
            raise fail("probabilities", owner, "numbers from 0 to 1", describe(f"from {p.min():.3g} to {p.max():.3g}"))
        n_bins = check_integer(n_bins, "n_bins", owner)
        check_fits(64 * n_bins, "n_bins", owner)
        strategy = check_choice(strategy, "strategy", owner, ("uniform", "quantile"))
        places = places_of(y, names, len(p), owner)
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
