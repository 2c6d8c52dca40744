"""The tuning-free network as a scikit-learn regressor."""

from typing import Any, ClassVar

import numpy as np

from clifford_rand._checks import as_real, refuse_unreal
from clifford_rand._typing import Array
from clifford_rand_nn.estimators.network.base import BaseConvexNetwork
from clifford_rand_nn.estimators.network.unique_rows import Data
from clifford_rand_nn.estimators.rows import by_blocks, training_data
from clifford_rand_nn.estimators.targets import network_program, regressor_program
from clifford_rand_nn.export.program import Program
from clifford_rand_nn.kernel_network.intervals import fit_intervals
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.scores import R2ScoreMixin, about_means, r_squared


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
    """

    _parts: ClassVar[dict[str, str]] = {
        "targets": """
            Several targets are several outputs, which share the kernel and β. The loss is the squared one: for targets
            with outliers take `GatedReLURegressor` with ``loss="huber"``.
            """,
        "classes": """
            intervals_ : Intervals
                What `predict_interval` is made from.
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
        ranks = self._ranked(order, kept)
        units = Units.of(np.ones((1, 1)), targets, owner, intercept=True)
        data = Data(rows[kept], units.targets(targets), weights, self._grouped(groups, kept))
        left = self._train(data, None)
        out, judged = left.outputs, left.out_of_sample
        if not units.plain:
            self._rescale(units, data._replace(targets=targets))
        variance, blocks = left.variance, None
        if ranks is not None:
            later, beside = np.full(len(out), -1), {"sample_weight": sample_weight, "groups": groups}
            for block, held, model in self._fits_before(kept, rows, values, beside, ranks):
                out[block] = units.targets(model.predict(held).reshape(len(block), -1))
                later[block] = self.later_blocks_
            if self.later_blocks_:
                judged, variance, blocks = later >= 0, None, later[later >= 0]
        mass = None if weights is None else weights[judged]
        self._set_left_out(kept, judged)
        residuals = np.ldexp(data.targets - out, units.y)
        taken, noise = (judged, None) if blocks is not None else self._noise_of(left, residuals, weights)
        scored = judged if noise is None else taken
        v, omega = (None if part is None else part[scored] for part in (variance, weights))
        self.intervals_ = fit_intervals(residuals[scored], v, omega, blocks, noise)
        self._keep_variance(bool(self.intervals_.shares.any()))
        self.loo_score_ = r_squared(*about_means(data.targets[judged], out[judged], mass, blocks), mass)
        self.loo_predictions_ = np.full((len(values), out.shape[1]), np.nan)
        self.loo_predictions_[kept] = units.level(out)
        self.loo_predictions_ = self.loo_predictions_.reshape(values.shape)
        return left.message

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return the ends (low, high) of intervals that hold the targets of a share ``coverage`` of new rows.

        See `Intervals`. If leave-one-out prefers it, they are wider where the noise is larger, and, without learned
        gates, where the rows of training say less, by the predictive variance. With ``groups`` they are those of rows
        of new groups. With ``order`` their width is constant, for as many later rows as are in a block, a fifteenth of
        those of training. Raises ArgumentError unless ``coverage`` is between 0 and 1.
        """
        _, low, high = self.predict_with_interval(X, coverage)
        return low, high

    def predict_with_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array, Array]:
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
        low, high = self.intervals_.interval(out, self._variance_at(rows), coverage, smoothed)
        return (out[:, 0], low[:, 0], high[:, 0]) if self._target_ndim == 1 else (out, low, high)

    def predict(self, X: Any) -> Array:
        """Predicted targets, (n,) or (n, outputs) as in `fit`."""
        rows = self._rows(X)
        out = self._outputs(rows)
        return out[:, 0] if self._target_ndim == 1 else out

    def _program(self, coverage: float | None) -> Program:
        network = network_program(self)
        if coverage is None:
            return regressor_program(self, network, self._target_ndim == 1)
        kernel = None if network.kernel is None else network.kernel.matrix
        ends = self.intervals_.stated(network.outputs, self._stated_variance(network), coverage, kernel)
        return regressor_program(self, network, self._target_ndim == 1, ends)
