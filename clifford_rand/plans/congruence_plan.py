"""Metrics that are not diagonal: the product in an orthogonal basis, reached by shears of all 2^d coefficients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.keys import Keys
from clifford_rand.basis.metric import Metric
from clifford_rand.plans.rounding_plan import RoundingPlan


class CongruencePlan(RoundingPlan):
    """A product in a metric that is not diagonal, carried out in an orthogonal basis and brought back.

    ``inner`` is the plan of the same product, on all blades of the same grades, in the metric of that basis.
    """

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys, inner: Any) -> None:
        super().__init__(metric, rule, a, b)
        self._inner = inner
        self._there = metric.congruence[1].T
        self._back = np.linalg.inv(self._there)

    def _compute(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        from clifford_rand.kernels.outermorphism import move_components

        first, second = (
            move_components(values, keys.masks, self._there, keys.filled.masks)
            for values, keys in ((a, self.keys_a), (b, self.keys_b))
        )
        product = self._inner(first, second)
        moved = move_components(product, self._inner.keys.masks, self._back, self.keys.masks)
        return moved.astype(a.dtype, copy=False)
