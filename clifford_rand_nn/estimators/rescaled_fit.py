"""Fits of data whose size is far from 1: parameters in units of the data, and the fitted attributes mapped back."""

import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from clifford_rand_nn.estimators.parameters import Parameters
from clifford_rand_nn.estimators.task import Task
from clifford_rand_nn.gates.hyperplanes import as_gates
from clifford_rand_nn.rescaling import Units


class RescaledFit(Parameters):
    """An estimator whose fit is the same in all units of rows and targets."""

    def _units(self: Any, task: Task) -> Units:
        targets = task.targets if task.classes is None else None
        return Units.of(task.X, targets, type(self).__name__, bool(self.fit_intercept))

    def _in(self: Any, units: Units) -> Any:
        """Return this estimator for the same data in units, its parameters of beta, delta and gates with them."""
        scaled = copy.copy(self)
        owner = type(self).__name__
        if not isinstance(self.beta, str):
            scaled.beta = units.beta(self.beta, self.penalty == "ridge", owner)
        if hasattr(self, "huber_delta"):
            scaled.huber_delta = units.inverse().size(self._delta)
        gates = getattr(self, "gates", "")
        if not isinstance(gates, str):
            scaled.gates = units.inverse().back(as_gates(gates, self.n_features_in_, owner))
        return scaled

    def _take_from(self: Any, scaled: Any, units: Units) -> None:
        """Take over what was fitted in units."""
        slope = units.y - units.x
        exponents = {"coef_": slope, "gate_intercept_": units.y}
        drawn = scaled._drawing_units(units)
        self.bias_feature_ = drawn.back(scaled.bias_feature_)
        back, squared, owner = drawn.inverse(), self.penalty == "ridge", type(self).__name__
        self.beta_ = back.beta(scaled.beta_, squared, owner)
        self.candidates_ = scaled.candidates_ and [
            score._replace(
                beta=back.beta(score.beta, squared, owner),
                loss=units.square(score.loss),
                error=units.square(score.error),
            )
            for score in scaled.candidates_
        ]
        for name, value in vars(scaled).items():
            if (
                not name.endswith("_")
                or name in ("bias_feature_", "beta_", "candidates_")
                or vars(self).get(name) is value
            ):  # what the data said is the same in all units
                continue
            if name in exponents:
                value = np.ldexp(value, exponents[name])
            elif name == "intercept_":
                value = units.level(value)
            elif name == "certificate_":
                value = value.rescaled(units)
            elif not isinstance(value, int | str | np.ndarray | None):  # steps, patterns, rows
                value = (drawn if name == "dictionary_" else units).back(value)
            setattr(self, name, value)

    def _drawing_units(self, units: Units) -> Units:
        """Return the units of the rows that neurons are sought for, see `_drawing_rows`."""
        return units

    def _drawing_rows(self, task: Task) -> Task:
        """Return the task on the rows that neurons are sought for: those that were given, unless a family says."""
        return task

    def beta_max(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Least beta with which `fit` finds a network without neurons."""
        model = clone(self).set_params(max_time=None)
        return float(model._largest_beta(X, y, sample_weight))

    def _largest_beta(self: Any, X: Any, y: Any, sample_weight: Any) -> float:
        task = self._task(X, y, sample_weight)
        units = self._units(task)
        scaled = self if units.plain else self._in(units)
        top = scaled._largest_beta_of(task if units.plain else task.in_units(units))
        if units.plain or not top > 0:
            return float(top)
        back = scaled._drawing_units(units).inverse()
        return float(back.beta(top, self.penalty == "ridge", type(self).__name__))

    def _largest_beta_of(self: Any, task: Task) -> float:
        return float(self._top(self._drawing_rows(self._with_feature(task))))
