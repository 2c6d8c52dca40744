"""Tasks of a fit: checked rows and targets with their loss, in any units, and what one fit leaves for the next."""

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.claims import Claim, GatedClaim, NetworkClaim
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.datafits.registry import make_datafit
from clifford_rand_nn.problems.duality import rounding_of_norm
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.sparse_rows import row_lengths, with_feature

_FELT = 1e-12  # of the objective: one that rounding of coefficients moves by more is computed again from the network
_LOST = 1e-10  # of the radius of a dual norm, or the objective: where rounding takes more, the bound is computed again


@dataclass
class WarmStart:
    """The state that a fit leaves for the next one on the same rows, which only its family knows; None at first."""

    state: Any = None


class Task(NamedTuple):
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
    def seconds(self) -> float:
        """Seconds since the fit began."""
        return time.perf_counter() - self.began

    def datafit(self, owner: str, huber_delta: float | None) -> Datafit:
        """Return the mean loss of outputs for the rows."""
        return make_datafit(self.loss, self.targets, len(self.targets), owner, huber_delta, self.weights)

    def in_units(self, units: Units) -> "Task":
        """Return the same data in units."""
        targets = self.targets if self.classes is not None else units.targets(self.targets)
        return self._replace(X=units.rows(self.X), targets=targets)

    def loses_bound(self, result: Result[Any], beta: float | None, intercept: bool) -> bool:
        """Tell whether rounding moves the bound: by the dual norm, charged at ``beta``, or by the sum of theta."""
        theta, allowed = result.dual_point, _LOST * len(result.dual_point)
        if beta is not None:
            norm = rounding_of_norm(row_lengths(with_feature(self.X, self.feature)), theta)
            if norm > allowed * beta:
                return True
        if self.classes is not None or not intercept:
            return False
        # rounding of the sum of theta moves the bound by the targets
        moved = np.finfo(np.float64).eps * float(np.abs(theta).sum(axis=0) @ np.ptp(self.targets, axis=0))
        return bool(moved > allowed * result.objective)

    def loses_objective(self, claim: Claim, result: Result[Any]) -> bool:
        """Whether rounding e of weights and residuals r = f - y moves the objective, by the mean of e|r|."""
        if not isinstance(claim, GatedClaim):
            return isinstance(claim, NetworkClaim)
        e = claim.rounding_of_predictions(self.X) + np.finfo(np.float64).eps * np.abs(self.targets).max(initial=0.0)
        return bool(e * np.abs(result.fitted - self.targets).mean() > _FELT * result.objective)
