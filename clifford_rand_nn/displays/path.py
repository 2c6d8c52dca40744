"""Regularization paths: out-of-sample loss or score, objective and number of neurons against beta."""

from dataclasses import dataclass, field
from typing import Any, Self, cast

import numpy as np
from sklearn.base import is_classifier

from clifford_rand._checks import as_array, as_real, as_rows, check_length, describe, fail
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.displays.style import FIRST, GREY, SECOND, axes_of, encoded, network_of, places_of
from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.estimators.folds import group_numbers
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork
from clifford_rand_nn.estimators.unique_rows import Data, UniqueRows
from clifford_rand_nn.kernel_network.candidates import kernel_parameters
from clifford_rand_nn.kernel_network.kernel_products import spread_rows
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut
from clifford_rand_nn.problems.loss_registry import as_loss, encode_labels, encode_marks, split_weights
from clifford_rand_nn.regularization_path import RegularizationPath
from clifford_rand_nn.rescaling import Units

_MOST = 1000  # rows that leave-one-out is done again on: a decomposition of so many takes a fraction of a second
_BETAS = 40


@short_repr
@dataclass(eq=False, kw_only=True)
class RegularizationPathDisplay:
    """Curves against beta, the regularization strength.

    Parameters
    ----------
    betas : (B,) array
    scores : (B,) array or None
        Out-of-sample loss or score.
    score_errors : (B,) array or None
        Their standard errors.
    score_name : str
    objectives : (B,) array or None
        Of training.
    n_neurons : (B,) array or None
    selected_beta : float or None
        The selected beta.

    Attributes
    ----------
    ax_ : matplotlib Axes
    neurons_ax_ : matplotlib Axes or None
        Of the number of neurons, on the right.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from clifford_rand_nn import ConvexNetworkRegressor, RegularizationPathDisplay, lasso_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (60, 2))
    >>> y = np.abs(X[:, 0]) + 0.1 * rng.standard_normal(60)
    >>> drawn = RegularizationPathDisplay.from_path(lasso_path(X, y), X, y, ax=Figure().subplots())
    >>> [line.get_label() for line in drawn.ax_.lines]
    ['mean loss on held-out rows', 'training objective']
    >>> model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, y)
    >>> drawn = RegularizationPathDisplay.from_estimator(model, X, y, ax=Figure().subplots())
    >>> bool(drawn.scores.min() < drawn.scores[0])
    True
    """

    betas: Array
    scores: Array | None = None
    score_errors: Array | None = None
    score_name: str = "loss on left-out rows"
    objectives: Array | None = None
    n_neurons: Array | None = None
    selected_beta: float | None = None
    ax_: Any = field(default=None, init=False, repr=False)
    neurons_ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: RegularizationPath,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        loss: str = "squared",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a path of `gated_path`, `lasso_path` or `relu_path`, and its loss on other rows, if they are given.

        Parameters
        ----------
        path : RegularizationPath
        X : (m, d) array, optional
            Held-out rows.
        y : (m,) or (m, C) array, optional
            Their targets, as those that the path was made with.
        loss : str
        ax, **kwargs : matplotlib Axes, optional, and options of `plot`

        Raises ArgumentError if ``path`` is not one, for X without y, and for an unknown loss.
        """
        if not isinstance(path, RegularizationPath):
            raise fail("path", cls.__name__, "a RegularizationPath", path)
        if (X is None) != (y is None):
            raise fail("y", cls.__name__, "given with X, and only with it", y)
        scores = None
        if X is not None:
            owner, judged = cls.__name__, as_loss(loss, cls.__name__)
            X, targets = as_rows(X, owner), np.asarray(as_real(cast(Any, y), "y", owner), dtype=np.float64)
            outputs = path.networks[0].predict(X[:1]).size
            check_length(targets.shape, len(X), "y", owner, "target")
            if targets.shape not in ((len(X),), (len(X), outputs)):
                raise fail("y", owner, f"of shape (n,) or (n, {outputs})", describe(f"shape {targets.shape}"))
            targets = targets.reshape(len(X), -1)
            with np.errstate(over="ignore", invalid="ignore"):
                out = [network.predict(X).reshape(targets.shape) for network in path.networks]
                scores = np.array([float(np.mean(judged.stated_value(f, targets))) for f in out])
            if not np.isfinite(scores).all():
                value = f"entries up to {np.abs(X).max():.1e}, targets up to {np.abs(targets).max():.1e}"
                hint = "Take rows and targets in the units of those of the path."
                raise fail("X", owner, "rows on which the loss of every network is finite", describe(value), hint)
        return cls(
            betas=path.betas,
            scores=scores,
            score_name="mean loss on held-out rows",
            objectives=path.objectives,
            n_neurons=path.n_neurons.astype(np.float64),
        ).plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        r"""Draw the comparison by which a fitted estimator selected beta.

        That is ``scores_`` of `BetaCV`, ``candidates_`` of an estimator with ``beta="auto"``, ``neuron_scores_`` of a
        network of few neurons. A network of infinitely many gates keeps no curve: it is made again from the rows of
        training, or 1000 of them, by one decomposition (`LeaveOneOut`), as the leave-one-out squared error over the
        variance, without a learned metric.

        Parameters
        ----------
        estimator
        X, y, sample_weight, groups
            Of the training, as the estimator takes them; for infinitely many gates only.
        ax, **kwargs : matplotlib Axes, optional, and options of `plot`

        Raises ArgumentError if beta was given, not chosen, or if X and y are needed.
        """
        model = network_of(estimator)
        if isinstance(estimator, BetaCV):
            folds = estimator.scores_
            error, name = folds.std(axis=1, ddof=1) / np.sqrt(folds.shape[1]), "score of held-out folds"
            shown = cls(betas=estimator.betas_, scores=folds.mean(axis=1), score_errors=error, score_name=name)
            shown.selected_beta = estimator.beta_
        elif isinstance(model, BaseConvexNetwork) and model.neuron_scores_ is not None:
            shown = cls._few(model)
        elif isinstance(model, BaseConvexNetwork):
            seen = None if X is None else encoded(estimator, X)
            shown = cls._infinite(model, seen, y, sample_weight, groups)
        elif getattr(model, "candidates_", None):
            betas, losses, errors, neurons = (
                np.array([getattr(score, name) for score in model.candidates_])
                for name in ("beta", "mean_loss", "loss_std_error", "n_neurons")
            )
            shown = cls(betas=betas, scores=losses, score_errors=errors, score_name="mean loss on held-out rows")
            shown.n_neurons, shown.selected_beta = neurons if np.isfinite(neurons).all() else None, model.beta_
        else:
            rule, hint = "one that chose beta", "Fit it with beta='auto', or draw a path with from_path."
            raise fail("estimator", cls.__name__, rule, describe(f"a {type(model).__name__}"), hint)
        return shown.plot(ax=ax, **kwargs)

    @classmethod
    def _few(cls, model: Any) -> Self:
        """Of each beta that chose neurons the best refit."""
        best: dict[float, Any] = {}
        for score in model.neuron_scores_:  # best first
            best.setdefault(score.beta, score)
        rows = [best[beta] for beta in sorted(best, reverse=True)]
        betas, scores, counts = (np.array([row[i] for row in rows]) for i in (0, 2, 3))
        name = "squared error on held-out rows\nas a share of the variance"
        selected = model.neuron_scores_[0].beta
        return cls(betas=betas, scores=scores, score_name=name, n_neurons=counts, selected_beta=selected)

    @classmethod
    def _infinite(cls, model: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> Self:
        owner = cls.__name__
        if X is None or y is None:
            hint = "A network of infinitely many gates keeps no curve."
            raise fail("X", owner, "the rows of the training, with y", describe("None"), hint)
        rows, labels = as_rows(X, owner), as_array(y, "y", owner)
        if rows.shape[1] != model.n_features_in_:
            rule = f"rows of {model.n_features_in_} columns, those of the training"
            raise fail("X", owner, rule, describe(f"shape {rows.shape}"))
        check_length(labels.shape, len(rows), "y", owner, "target")
        if labels.ndim > 2:
            raise fail("y", owner, "of shape (n,) or (n, C)", describe(f"shape {labels.shape}"))
        kept, weights, _ = split_weights(sample_weight, len(rows), owner)
        if is_classifier(model) and labels.ndim == 2:
            targets = encode_marks(labels[kept])
        elif is_classifier(model):
            index = places_of(labels, model.classes_, len(rows), owner)[kept]
            targets = encode_labels(index, len(model.classes_), "squared")[0]
        else:
            numbers = np.asarray(as_real(labels, "y", owner), dtype=np.float64)
            targets = numbers[kept].reshape(int(kept.sum()), -1)
            targets = Units.of(np.ones((1, 1)), targets, owner, intercept=True).targets(targets)  # as in the fit
        of = (
            None if groups is None else np.unique(group_numbers(groups, len(rows), owner)[kept], return_inverse=True)[1]
        )
        problem = UniqueRows.of(Data(rows[kept], targets, weights, of)).problem
        if len(problem.X) > _MOST:
            problem = problem.take(np.sort(spread_rows(len(problem.X), _MOST)))
        best = model.candidates_[0]
        _, some, kernel = problem.kernel_rows(*kernel_parameters(best))
        loo = LeaveOneOut(kernel(some), problem.targets, problem.weights, problem.groups, problem.duplicates)
        betas = loo.grid(_BETAS)
        name = "leave-one-out squared error\nas a share of the variance"
        scores = problem.score(loo.errors(betas))
        return cls(betas=betas, scores=scores, score_name=name, selected_beta=best.beta)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot; the penalty grows to the right."""
        self.ax_ = ax = axes_of(ax)
        self.figure_ = ax.figure
        if self.scores is not None:
            ax.plot(self.betas, self.scores, color=FIRST, marker="o", markersize=3.5, label=self.score_name)
            if self.score_errors is not None:
                low, high = self.scores - self.score_errors, self.scores + self.score_errors
                ax.fill_between(self.betas, low, high, color=FIRST, alpha=0.2, linewidth=0)
        if self.objectives is not None:
            ax.plot(self.betas, self.objectives, color=SECOND, linestyle="--", label="training objective")
        if self.selected_beta is not None:
            ax.axvline(self.selected_beta, color=GREY, linestyle=":", label="selected")
        several = self.objectives is not None and self.scores is not None
        ax.set(xscale="log", xlabel="regularization strength beta", ylabel="loss" if several else self._name)
        ax.grid(axis="y", alpha=0.25)
        if self.n_neurons is not None:
            self.neurons_ax_ = right = ax.twinx()
            right.plot(self.betas, self.n_neurons, color=GREY, drawstyle="steps-mid", linewidth=1)
            right.set_ylabel("neurons (grey)")
            right.set_ylim(bottom=0)
        if len(ax.get_legend_handles_labels()[1]) > 1:
            ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        return self

    @property
    def _name(self) -> str:
        return "training objective" if self.scores is None else self.score_name
