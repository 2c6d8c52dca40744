"""What the plans that round share: the grades of the result, its dtype, and the table for exact numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import common_dtype
from clifford_rand.basis.keys import Keys, check_size, keys_of_grades
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import RULES
from clifford_rand.plans.table_plan import TablePlan

__all__ = ["LARGEST_TABLE", "RoundingPlan"]

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
