"""What the plans that round share: grades, dtype, the table for exact numbers, and all 2^d coefficients in pieces."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import common_dtype
from clifford_rand.basis.keys import Keys, check_size, keys_of_grades
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import RULES
from clifford_rand.plans.table_plan import TablePlan

LARGEST_TABLE = 2**25  # pairs of blades of one table


def _possible_grades(rule: str, d: int, a: Keys, b: Keys) -> tuple[int, ...]:
    """Return the grades that a product of complete grades may have."""
    if rule == "vee":
        return tuple(sorted({r + s - d for r in a.grades for s in b.grades if r + s >= d}))
    found = {
        t
        for r in a.grades
        for s in b.grades
        for t in range(abs(r - s), min(r + s, 2 * d - r - s) + 1, 2)
        if int(RULES[rule](r, s, t))
    }
    return tuple(sorted(found))


class RoundingPlan:
    """A product through floating transforms, but by the table for fractions, symbols, and integers in such a metric."""

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        self.metric, self.rule = metric, rule
        self.keys_a, self.keys_b = a, b
        self.keys = keys_of_grades(metric.d, _possible_grades(rule, metric.d, a, b))
        check_size(2**metric.d, rule)
        self._exact: TablePlan | None = None

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficients (..., n_out) of the products of (..., n_a) and (..., n_b)."""
        dtype = common_dtype(a.dtype, b.dtype)
        if dtype.kind == "O" or (dtype.kind == "i" and self.metric.is_exact):
            return self._by_table(a, b, dtype)
        if dtype.kind == "i":
            dtype = np.dtype(np.float64)
        return self._compute(a.astype(dtype, copy=False), b.astype(dtype, copy=False))

    def _compute(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the products of two arrays of one floating dtype."""
        raise NotImplementedError

    def _by_table(self, a: NDArray[Any], b: NDArray[Any], dtype: np.dtype) -> NDArray[Any]:
        if self._exact is None:
            if self.keys_a.size * self.keys_b.size > LARGEST_TABLE:
                raise fail(
                    "this product",
                    self.rule,
                    f"one of at most {LARGEST_TABLE} pairs of blades for exact numbers",
                    describe(f"{self.keys_a.size} × {self.keys_b.size} blades of dtype {dtype}"),
                    "Convert with astype(float).",
                )
            self._exact = TablePlan(self.metric, self.rule, self.keys_a, self.keys_b)
        exact = self._exact(a, b)
        result = np.zeros((*exact.shape[:-1], self.keys.size), dtype=exact.dtype)
        result[..., self.keys.place(self._exact.keys)] = exact
        return result


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
