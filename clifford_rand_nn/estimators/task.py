"""Tasks of a fit, what one fit leaves for the next, and fits of data whose size is far from 1, by units."""

import copy
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from clifford_rand._typing import Array
from clifford_rand_nn._records import as_table
from clifford_rand_nn.certificates.claims import Claim, GatedClaim, NetworkClaim
from clifford_rand_nn.certificates.values import rescaled
from clifford_rand_nn.estimators.parameters import Parameters
from clifford_rand_nn.gates.hyperplanes import as_gates
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_registry import as_loss, make_datafit
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.solvers.base import Result

_FELT = 1e-12  # of the objective: one that rounding of coefficients moves by more is computed again from the network


@dataclass
class WarmStart:
    """The state that a fit leaves for the next one on the same rows, which only its family knows; None at first."""

    state: Any = None


@dataclass(frozen=True, eq=False)
class Task:
    """Checked rows, targets (n, C), their loss, the classes, weights or None if equal.

    Rows are dense, or CSR where the estimator takes them so. ``began`` is the start of the fit, of `time.perf_counter`.
    With a ``feature`` c, where biases are penalized, the problem is one without biases for ``rows``, [X c].
    """

    X: Any
    targets: Array
    loss: str | Loss
    classes: NDArray[Any] | None
    weights: Array | None
    began: float
    feature: float | None = None
    lifted: Any = None

    @property
    def rows(self) -> Any:
        """Rows of the convex problem, `CsrRows` if X is CSR."""
        return self.X if self.lifted is None else self.lifted

    @property
    def has_units(self) -> bool:
        """Whether targets may be divided by a unit."""
        return self.classes is None and as_loss(self.loss, "Task").has_units

    @property
    def seconds(self) -> float:
        """Seconds since the fit began."""
        return time.perf_counter() - self.began

    def datafit(self, owner: str, huber_delta: float | None) -> Datafit:
        """Return the mean loss of outputs for the rows."""
        return make_datafit(self.loss, self.targets, len(self.targets), owner, huber_delta, self.weights)

    def in_units(self, units: Units) -> "Task":
        """Return the same data in units."""
        targets = units.targets(self.targets) if self.has_units else self.targets
        return replace(self, X=units.rows(self.X), targets=targets)

    def loses_objective(self, claim: Claim, result: Result[Any]) -> bool:
        """Whether rounding e of weights and residuals r = f - y moves the objective, by the mean of e(|r| + e)."""
        if not isinstance(claim, GatedClaim):
            return isinstance(claim, NetworkClaim)
        e = claim.rounding_of_predictions(self.X) + np.finfo(np.float64).eps * np.abs(self.targets).max(initial=0.0)
        return bool(e * (np.abs(result.fitted - self.targets).mean() + e) > _FELT * result.objective)


class RescaledFit(Parameters):
    """An estimator whose fit is the same in all units of rows and targets."""

    def _units(self: Any, task: Task) -> Units:
        targets = task.targets if task.has_units else None
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
        slope = units.y - units.x
        exponents = {"coef_": slope, "gate_intercept_": units.y}
        drawn = scaled._drawing_units(units)
        self.bias_feature_ = drawn.back(scaled.bias_feature_)
        back, squared, owner = drawn.inverse(), self.penalty == "ridge", type(self).__name__
        self.beta_ = back.beta(scaled.beta_, squared, owner)

        def scaled_back(score: Any) -> Any:
            losses = {name: units.square(getattr(score, name)) for name in ("mean_loss", "loss_std_error")}
            return score._replace(beta=back.beta(score.beta, squared, owner), **losses)

        self.candidates_ = scaled.candidates_ and as_table(list(map(scaled_back, scaled.candidates_)))
        for name, value in vars(scaled).items():
            own = name in ("bias_feature_", "beta_", "candidates_")
            if not name.endswith("_") or own or vars(self).get(name) is value:  # what the data said is of no unit
                continue
            if name in exponents:
                value = np.ldexp(value, exponents[name])
            elif name == "intercept_":
                value = units.level(value)
            elif name == "certificate_":
                value = rescaled(value, units)
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
        scaled = model = clone(self).set_params(max_time=None)
        task = model._task(X, y, sample_weight)
        units = model._units(task)
        if not units.plain:
            scaled, task = model._in(units), task.in_units(units)
        top = float(scaled._top(scaled._drawing_rows(scaled._with_feature(task))))
        if units.plain or not top > 0:
            return top
        back = scaled._drawing_units(units).inverse()
        return float(back.beta(top, model.penalty == "ridge", type(model).__name__))
