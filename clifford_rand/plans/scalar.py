"""Products that are scalars: one dot product of components."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.keys import Keys
from clifford_rand.basis.metric import Metric
from clifford_rand.plans.table_plan import TablePlan


class ScalarPlan(TablePlan):
    """⟨A B⟩_0 or ⟨A ~B⟩_0 by the table, for one pair of floats as one dot product."""

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        super().__init__(metric, rule, a, b)
        self._direct = self.keys.size == 1 and len(self.table.left) > 0 and self.table.coef.dtype.kind in "fi"
        order = np.argsort(self.table.left, kind="stable")
        self._places = [
            _all_or(places[order], size) for places, size in ((self.table.left, a.size), (self.table.right, b.size))
        ]
        weights = self.table.coef[order]
        self._weights = None if self._direct and bool(np.all(weights == 1)) else weights
        self._weights_as: dict[np.dtype, NDArray[Any]] = {}

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficients (..., 1) of the products of (..., n_a) and (..., n_b)."""
        if self._direct and a.ndim == b.ndim == 1 and a.dtype is b.dtype and a.dtype.kind in "fc":
            left, right = self._places
            a, b = a if left is None else a[left], b if right is None else b[right]
            if self._weights is not None:
                weights = self._weights_as.get(a.dtype)
                if weights is None:
                    weights = self._weights_as.setdefault(a.dtype, self._weights.astype(a.dtype))
                a = a * weights
            found = np.empty(1, dtype=a.dtype)
            found[0] = a.dot(b)
            return found
        return super().__call__(a, b)


def _all_or(places: NDArray[Any], size: int) -> NDArray[Any] | None:
    """Return None for all places in their order."""
    return None if len(places) == size and np.array_equal(places, np.arange(size)) else places
