"""Metrics that are not diagonal: the product in an orthogonal basis, reached by shears of all 2^d coefficients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.dtypes import common_dtype
from clifford_rand.basis.keys import Keys, keys_of_grades
from clifford_rand.basis.metric import Metric
from clifford_rand.plans.dense_plan import possible_grades
from clifford_rand.plans.table_plan import TablePlan

__all__ = ["CongruencePlan"]


class CongruencePlan:
    """A product in a metric that is not diagonal, carried out in an orthogonal basis and brought back.

    ``inner`` is the plan of the same product, on all blades of the same grades, in the metric of that basis.
    """

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys, inner: Any) -> None:
        self.metric, self.rule = metric, rule
        self.keys_a, self.keys_b = a, b
        self._inner = inner
        self._change = metric.congruence[1]
        self.keys = keys_of_grades(metric.d, possible_grades(rule, metric.d, a, b))
        self._exact: TablePlan | None = None

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficients (..., n_out) of the products of (..., n_a) and (..., n_b)."""
        dtype = common_dtype(a.dtype, b.dtype)
        if dtype.kind == "O" or (dtype.kind == "i" and self.metric.is_exact):
            if self._exact is None:
                self._exact = TablePlan(self.metric, self.rule, self.keys_a, self.keys_b)
            exact = self._exact(a, b)
            result = np.zeros((*exact.shape[:-1], self.keys.size), dtype=exact.dtype)
            result[..., self.keys.place(self._exact.keys)] = exact
            return result
        if dtype.kind == "i":
            dtype = np.dtype(np.float64)
        there = self._change.T
        product = self._inner(
            self._move(a.astype(dtype, copy=False), self.keys_a, self.keys_a.filled, there),
            self._move(b.astype(dtype, copy=False), self.keys_b, self.keys_b.filled, there),
        )
        return self._move(product, self._inner.keys, self.keys, np.linalg.inv(there)).astype(dtype, copy=False)

    def _move(self, values: NDArray[Any], source: Keys, target: Keys, F: NDArray[Any]) -> NDArray[Any]:
        from clifford_rand.kernels.outermorphism import apply_outermorphism

        dense = np.zeros((*values.shape[:-1], 1 << self.metric.d), dtype=values.dtype)
        dense[..., source.masks] = values
        return apply_outermorphism(dense, F)[..., target.masks]
