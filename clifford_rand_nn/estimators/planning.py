"""Plans of fits to rows in memory."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from clifford_rand_nn.cost import Estimate, FitPlan


class RowPlanning:
    """An estimator that says before a fit what it takes, by the cost models that its limits go by."""

    def plan(self: Any, X: Any, y: Any = None) -> FitPlan:
        """Return the expected seconds and bytes of `fit` on the rows X (n, d), and those of its parts.

        Only sizes count, and how fast this machine multiplies matrices: nothing is trained, and the data, which decide
        how many steps a fit takes, may make it half or twice as long. ``y`` says how many outputs there are; without it
        there is one. Raises ArgumentError for what `fit` would refuse.

        >>> from clifford_rand_nn import ConvexReLURegressor
        >>> plan = ConvexReLURegressor().plan(np.random.default_rng(0).standard_normal((300, 4)))
        >>> list(plan.parts), plan.seconds > 0
        (['selection of beta', 'training'], True)
        """
        model: Any = clone(self)
        (n, d), parts = model._costs(X, np.arange(_num_samples(X)) % 2 if y is None else y)
        return FitPlan(type(self).__name__, n, d, parts, self.max_time, getattr(self, "max_memory", None))

    def _costs(self, X: Any, y: Any) -> tuple[tuple[int, int], dict[str, Estimate]]:
        """Return the numbers of rows and columns, and the estimates of the parts of a fit."""
        raise NotImplementedError
