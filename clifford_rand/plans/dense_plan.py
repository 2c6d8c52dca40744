"""Products of all 2^d coefficients in the order of their masks, the batch in pieces."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.keys import Keys
from clifford_rand.plans.rounding_plan import RoundingPlan

__all__ = ["DensePlan"]


class DensePlan(RoundingPlan):
    """A product of multivectors that are spread on all 2^d coefficients, in the order of their masks."""

    def _compute(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        batch = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        result = np.empty((*batch, self.keys.size), dtype=a.dtype)
        flat_a = np.broadcast_to(a, (*batch, a.shape[-1])).reshape(-1, a.shape[-1])
        flat_b = np.broadcast_to(b, (*batch, b.shape[-1])).reshape(-1, b.shape[-1])
        flat = result.reshape(-1, self.keys.size)
        step = max(1, 2**22 >> self.metric.d)  # samples whose temporaries stay below a few hundred megabytes
        for start in range(0, len(flat), step):
            part = slice(start, start + step)
            dense_a, dense_b = self._spread(flat_a[part], self.keys_a), self._spread(flat_b[part], self.keys_b)
            flat[part] = self._multiply(dense_a, dense_b)[..., self.keys.masks]
        return result

    def _spread(self, values: NDArray[Any], keys: Keys) -> NDArray[Any]:
        dense = np.zeros((len(values), 1 << self.metric.d), dtype=values.dtype)
        dense[:, keys.masks] = values
        return dense

    def _multiply(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError
