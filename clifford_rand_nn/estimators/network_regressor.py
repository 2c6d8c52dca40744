"""The tuning-free network as a scikit-learn regressor."""

import time
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from clifford_rand._checks import as_real, check_choice, check_number, describe, fail, refuse_unreal
from clifford_rand._typing import Array
from clifford_rand_nn._progress import phase
from clifford_rand_nn._records import as_table
from clifford_rand_nn.cost import Estimate, slowdown
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork
from clifford_rand_nn.estimators.rows import by_blocks, training_data
from clifford_rand_nn.estimators.targets import network_program, regressor_program
from clifford_rand_nn.estimators.unique_rows import Data, LeftOut, UniqueRows
from clifford_rand_nn.export.program import Program, apply
from clifford_rand_nn.kernel_network.intervals import fit_intervals
from clifford_rand_nn.kernel_network.newton_path import STEPS, refit, seconds
from clifford_rand_nn.kernel_network.target_transform import (
    TARGET_TRANSFORMS,
    TargetTransform,
    compare_target_transforms,
)
from clifford_rand_nn.kernel_network.training import DECOMPOSED
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.duality import exact_offsets, zero_sums
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_registry import check_outputs
from clifford_rand_nn.problems.poisson_quantile import Poisson, Quantile, SmoothQuantile
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.scores import R2ScoreMixin, about_means, d_squared, r_squared
from clifford_rand_nn.solvers.base import Limits

_DEVIATION = 1.48  # a deviation, over the median distance from the mean of a normal distribution
_FITS = 12, 8  # of another loss for beta, a quantile's exact one among them, and those that leave rows out
_ABOVE = 16.0  # times that beta, where a search begins: far below it quantiles interpolate, and the curve is flat
_DENSITY = 0.3  # about that of a standard normal distribution at its quantiles: the mean curvature of a pinball loss


class ConvexNetworkRegressor(R2ScoreMixin, BaseConvexNetwork):
    """Tuning-free regressor: infinitely many gates, everything chosen by leave-one-out.

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import ConvexNetworkRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 3))
    >>> y = np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.standard_normal(200)
    >>> model = ConvexNetworkRegressor().fit(X, y)
    >>> bool(model.loo_score_ > 0.9)
    True

    Counts, and a quantile, have losses of their own:

    >>> counts = rng.poisson(np.exp(2 * X[:, 0]))
    >>> rates = ConvexNetworkRegressor(loss="poisson").fit(X, counts)
    >>> bool(rates.predict(X).min() > 0), bool(rates.certificate_.relative_gap < 1e-6)
    (True, True)
    >>> upper = ConvexNetworkRegressor(loss="quantile", quantile=0.9).fit(X, y)
    >>> bool(0.8 < np.mean(y <= upper.predict(X)) < 1)
    True
    """

    loss: str = "squared"
    quantile: float = 0.5
    target_transform: str = "none"

    _parts: ClassVar[dict[str, str]] = {
        "targets": """
            Several targets are several outputs, which share the kernel and β. For targets with outliers take
            `GatedReLURegressor` with ``loss="huber"``, or the median, ``loss="quantile"``.
            """,
        "class_weight": """
            loss : {"squared", "poisson", "quantile"}, default "squared"
                "poisson" is half the deviance of counts, y ≥ 0: outputs of ``network_`` are logarithms, `predict`
                returns means, their exponentials. "quantile" is the pinball loss, and `predict` returns that quantile.
                Both take one target and up to 3000 rows in memory, gates are those that squares choose (of counts,
                squares of log(1 + y/mean)), leave-one-out is that of a Newton step (`NewtonPath`), of the quantile that
                of a smooth loss (`SmoothQuantile`), whose width falls as the inverse cube root of the number of rows;
                the network is the optimum of the pinball loss itself. `score` and ``loo_score_`` are D², and there is
                no `predict_interval`.
            quantile : float between 0 and 1, default 0.5
                Of ``loss="quantile"``.
            target_transform : {"none", "auto", "log", "log1p", "sqrt"}, default "none"
                What is fitted, of one target y ≥ 0 with the squared loss: y itself, log y, log(1 + y/mean) or its root;
                see `TargetTransform`. "auto" takes the one whose leave-one-out squared error **of y** is less than that
                of y itself by more than the standard error and 1 % (`compare_target_transforms`), "none" elsewhere:
                for one kernel without learned gates, which is why it is not the default.
                `predict` returns means of y, which then are not negative, and `predict_interval` the quantiles;
                ``network_``, ``certificate_``, ``candidates_`` and explanations are those of the transformed target.
            """,
        "classes": """
            intervals_ : Intervals
                What `predict_interval` is made from, in the scale of the transformed target.
            target_transform_ : TargetTransform
                The transformation, with what maps outputs back to means.
            target_transform_scores_ : list of TargetTransformScore
                What was compared, the first was taken; empty where nothing was.
            """,
    }

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any, order: Any) -> str:
        """Train on rows in memory; return why the solver did not reach its tolerance, if it did not."""
        owner = type(self).__name__
        refuse_unreal(y, "y", owner)
        rows, values = training_data(self, X, y, multi_output=True, y_numeric=True)
        rows = self._training_rows(rows)
        self._target_ndim = values.ndim
        kept, weights = self._weighted(rows, sample_weight)
        targets = as_real(np.asarray(values[kept], dtype=np.float64), "y", owner).reshape(int(kept.sum()), -1)
        ranks, is_squared, began = self._ranked(order, kept), self.loss == "squared", time.perf_counter()
        transform = self._chosen_transform(rows[kept], targets, weights, self._grouped(groups, kept))
        raw, targets = targets, transform.forward(targets)
        squares = targets if is_squared else self._gate_targets(targets, weights)
        units = Units.of(np.ones((1, 1)), squares, owner, intercept=True)
        data = Data(rows[kept], units.targets(squares), weights, self._grouped(groups, kept))
        left = self._train(data, None)
        if not is_squared:
            left = self._train_loss(data, left, units, targets, began)
            units, data = Units(0, 0), replace(data, targets=targets)
        out, judged = left.outputs, left.out_of_sample
        if not units.plain:
            self._rescale(units)
        self._count_rounding(replace(data, targets=targets))
        variance, blocks = left.variance, None
        f, own = units.level(out), None if weights is None else weights[judged]
        transform = self.target_transform_ = transform.fitted(f[judged, 0], raw[judged, 0], own)
        means, is_plain = transform.mean(f), transform.name == "none"
        if ranks is not None:
            later, beside = np.full(len(out), -1), {"sample_weight": sample_weight, "groups": groups}
            for block, held, model in self._fits_before(kept, rows, values, beside, ranks):
                means[block] = predicted = model.predict(held).reshape(len(block), -1)
                if not is_plain:  # outputs, of which the model has another unit
                    predicted = transform.forward(model.target_transform_.quantile(model._outputs(held)))
                out[block] = units.targets(predicted)
                later[block] = self.n_order_blocks_
            if self.n_order_blocks_:
                judged, variance, blocks = later >= 0, None, later[later >= 0]
        mass = None if weights is None else weights[judged]
        self._set_left_out(kept, judged)
        self.loo_predictions_ = np.full((len(values), out.shape[1]), np.nan)
        self.loo_predictions_[kept] = means
        self.loo_predictions_ = self.loo_predictions_.reshape(values.shape)
        if not is_squared:
            self.__dict__.pop("intervals_", None)
            self._keep_variance(False)
            self.loo_score_ = d_squared(targets[judged], out[judged], mass, self._level)
            return left.message
        residuals = np.ldexp(data.targets - out, units.y)
        taken, noise = (judged, None) if blocks is not None else self._noise_of(left, residuals, weights)
        scored = judged if noise is None else taken
        v, omega = (None if part is None else part[scored] for part in (variance, weights))
        self.intervals_ = fit_intervals(residuals[scored], v, omega, blocks, noise)
        self._keep_variance(bool(self.intervals_.shares.any()))
        truth, means = (data.targets, out) if is_plain else (raw / transform.unit, means / transform.unit)
        self.loo_score_ = r_squared(*about_means(truth[judged], means[judged], mass, blocks), mass)
        if not is_plain:
            self._set_certificates(lambda certificate: replace(certificate, target_transform=transform))
        return left.message

    def _chosen_transform(
        self, rows: Any, targets: Array, weights: Array | None, groups: NDArray[np.intp] | None
    ) -> TargetTransform:
        """Return the transformation that is given, or selected."""
        self.target_transform_scores_: Any = []
        name, y = self.target_transform, targets[:, 0]
        fits = targets.shape[1] == 1 and bool(y.min() >= 0 < y.max()) and not (name == "log" and y.min() == 0)
        if name == "auto":
            if not fits or self.loss != "squared":
                return TargetTransform()
            problem = UniqueRows.of(Data(rows, targets, weights, groups)).problem
            scores = compare_target_transforms(problem, self._given_beta, self.max_time)
            self.target_transform_scores_ = as_table(scores)
            name = self.target_transform_scores_[0].name if self.target_transform_scores_ else "none"
        elif name != "none" and not fits:
            rule = f"one target {'> 0' if name == 'log' else '≥ 0, not all 0,'} for target_transform={name!r}"
            value = f"shape {targets.shape}, from {y.min():.3g}"
            raise fail("y", type(self).__name__, rule, describe(value), "Take another one, or 'auto'.")
        return TargetTransform.of(name, y, weights)

    @property
    def _level(self) -> float | None:
        """The quantile that is predicted, or None."""
        return float(self.quantile) if self.loss == "quantile" else None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        owner = type(self).__name__
        check_choice(self.loss, "loss", owner, ("squared", "poisson", "quantile"))
        check_number(self.quantile, "quantile", owner, "a number between 0 and 1", lambda level: 0 < level < 1)
        check_choice(self.target_transform, "target_transform", owner, ("auto", *TARGET_TRANSFORMS))
        if self.loss != "squared" and self.target_transform not in ("auto", "none"):
            raise fail("target_transform", owner, f"'none' with loss={self.loss!r}", self.target_transform)
        if self.loss != "squared" and self._finite:
            raise fail("loss", owner, "'squared' for a finite network", self.loss, "Its neurons are chosen by squares.")

    def _costs_of(self, n: int, d: int, outputs: int, n_values: int) -> dict[str, Estimate]:
        parts = super()._costs_of(n, d, outputs, n_values)
        if self.loss != "squared":
            parts[f"{self.loss} loss"] = Estimate(slowdown() * seconds(n, 2, *_FITS), 8.0 * n * n * 6)
        return parts

    def _gate_targets(self, targets: Array, weights: Array | None) -> Array:
        """Check the targets of another loss; return those by whose squares its gates are selected."""
        owner = type(self).__name__
        if targets.shape[1] > 1:
            value = describe(f"{targets.shape[1]} targets")
            raise fail("y", owner, f"one target for loss={self.loss!r}", value, "Take MultiOutputRegressor.")
        if len(targets) > DECOMPOSED:
            rule = f"'squared' with more than {DECOMPOSED} rows"
            raise fail("loss", owner, rule, self.loss, f"There are {len(targets)}.")
        if self.loss == "quantile":
            return targets
        check_outputs(Poisson(), targets, owner)
        return np.log1p(targets / np.average(targets[:, 0], weights=weights))

    def _train_loss(self, data: Data, left: LeftOut, units: Units, y: Array, began: float) -> LeftOut:
        """Train on the same gates with another loss of targets y (n, 1); return out-of-sample predictions."""
        compared, unique, n = left.compared, left.unique, len(y)
        assert compared is not None
        place, share = unique.place, unique.share
        exact: Loss = Poisson()
        smooth, offset, width, start = exact, 0.0, 1.0, self.beta_ * float(np.average(y[:, 0], weights=data.weights))
        if self._level is not None:
            exact, smooth = Quantile(self._level), SmoothQuantile(self._level)
            apart, narrow = np.abs(data.targets - left.outputs), n ** (-1 / 3)
            offset = float(np.append(exact_offsets(y), 0.0)[0])
            width = float(np.ldexp((np.median(apart) or apart.mean()) * _DEVIATION * narrow, units.y)) or 1.0
            start = _ABOVE * _DENSITY * narrow * self.beta_
        targets, beta = (y - offset) / width, start if isinstance(self.beta, str) else self.beta * width
        # duplicates that are observations of their own are left out alone
        groups = place if data.groups is None and share is None and len(unique) < n else data.groups
        phase(f"selecting beta of the {self.loss} loss")
        task = self._beta_task(targets, smooth, beta, data.weights, groups, began)
        chosen = self._choose_on_gates(compared, place, task, required=True)
        assert chosen is not None
        assert chosen.kernel is not None
        fit = chosen.fit
        if exact is not smooth and not fit.status.ends_all:
            K = np.asarray(chosen.kernel(compared.rows[place]), dtype=np.float64)
            limits = Limits.of(type(self).__name__, max_iter=STEPS)
            fit = refit(fit, K, Datafit(exact, targets, data.weights), limits)
        alpha = np.zeros((len(unique), 1))
        np.add.at(alpha, place, width * fit.alpha)  # of duplicates
        fit = replace(
            fit,
            beta=fit.beta / width,
            alpha=alpha,
            intercept=width * fit.intercept + offset,
            objective=width * fit.objective,
            duality_gap=width * fit.duality_gap,
            history=tuple(row._replace(objective=width * row.objective) for row in fit.history),
        )
        zero = exact.value(0 * y, y).mean()
        message = self._keep(chosen._replace(fit=fit), compared.rows, zero_sums(fit.dual_point), self.loss, zero)
        self.certificate_ = replace(self.certificate_, quantile=self.quantile)
        outputs = width * chosen.outputs + offset
        judged = np.exp(outputs) if exact.is_log else outputs
        return LeftOut(unique, judged, None, chosen.out_of_sample, message=message)

    def _has_intervals(self) -> bool:
        if self.loss != "squared":
            raise AttributeError(f"Intervals are those of loss='squared', not of loss={self.loss!r}.")
        return True

    @available_if(_has_intervals)
    def predict_interval(self, X: Any, *, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return the ends (low, high) of intervals that hold the targets of a share ``coverage`` of new rows.

        See `Intervals`. If leave-one-out prefers it, they are wider where the noise is larger, and, without learned
        gates, where the rows of training say less, by the predictive variance. With ``groups`` they are those of rows
        of new groups. With ``order`` their width is constant, for as many later rows as are in a block, a fifteenth of
        those of training. Raises ArgumentError unless ``coverage`` is between 0 and 1.
        """
        _, low, high = self._predict_with_interval(X, coverage)
        return low, high

    @available_if(_has_intervals)
    def _predict_with_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array, Array]:
        """Return what `predict` and `predict_interval` do, (predicted, low, high), by evaluating the network once."""
        rows = self._rows(X)
        gamma, smoothed = self.intervals_.noise_weights, None
        if gamma is None:
            out = self._outputs(rows)
        else:  # one evaluation of the kernel
            network, both = self.network_, np.hstack([self.network_.alpha, gamma])
            sums = by_blocks(lambda X: network.combined(X, both), rows, self._by_products)
            out, smoothed = np.split(sums, 2, axis=1)
            out = out + network.intercept
        ends = self.intervals_.interval(out, self._variance_at(rows), coverage, smoothed)
        out, (low, high) = self.target_transform_.mean(out), map(self.target_transform_.quantile, ends)
        return (out[:, 0], low[:, 0], high[:, 0]) if self._target_ndim == 1 else (out, low, high)

    def predict(self, X: Any) -> Array:
        """Predicted targets, (n,) or (n, outputs) as in `fit`: means, or with ``loss="quantile"`` that quantile."""
        rows = self._rows(X)
        out = self._outputs(rows)
        out = np.exp(out) if self.loss == "poisson" else self.target_transform_.mean(out)
        return out[:, 0] if self._target_ndim == 1 else out

    def _program(self, coverage: float | None) -> Program:
        network = network_program(self)
        transform = self.target_transform_
        mean = apply("exp", network.outputs) if self.loss == "poisson" else transform.mean(network.outputs)
        if coverage is None or self.loss != "squared":
            return regressor_program(self, network, self._target_ndim == 1, mean)
        kernel = None if network.kernel is None else network.kernel.matrix
        ends = self.intervals_.stated(network.outputs, self._stated_variance(network), coverage, kernel)
        low, high = map(transform.quantile, ends)
        return regressor_program(self, network, self._target_ndim == 1, mean, (low, high))
