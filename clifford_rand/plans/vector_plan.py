"""Two vectors in a high dimension, where no table is wanted."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import cached_property
from clifford_rand.basis.coefficients import INT, in_integers, largest
from clifford_rand.basis.keys import check_size, keys_of_grades
from clifford_rand.basis.metric import Metric

VECTOR_RULES: dict[str, tuple[bool, bool]] = {  # scalar part, bivector part
    "gp": (True, True),
    "wedge": (False, True),
    "commutator": (False, True),
    "anticommutator": (True, False),
    **dict.fromkeys(("fat_dot", "hestenes", "lc", "rc", "scalar_product", "inner"), (True, False)),
}


class VectorPlan:
    """Two vectors in a high dimension, where no table is wanted: a·b and the upper triangle of a bᵀ - b aᵀ."""

    def __init__(self, metric: Metric, rule: str) -> None:
        self.metric = metric
        self.scalar, self.bivector = VECTOR_RULES[rule]
        self.keys = keys_of_grades(metric.d, (*((0,) if self.scalar else ()), *((2,) if self.bivector else ())))
        check_size(self.keys.size, rule)

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficients (..., n_out) of the products of (..., d) and (..., d)."""
        if a.dtype == INT and b.dtype == INT:
            return in_integers(self._compute, self._growth * largest(a) * largest(b), a, b)
        return self._compute(a, b)

    @cached_property
    def _growth(self) -> int:
        """What no component of a product of vectors of ±1 exceeds: Σ_ij |G_ij| for the scalar, 2 for bivectors."""
        diagonal = self.metric.diagonal
        sizes = np.abs((self.metric.gram if diagonal is None else diagonal).astype(np.float64))
        return max(2, math.ceil(sizes.sum() * (1 + 1e-9)))

    def _compute(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        d = self.metric.d
        parts = []
        if self.scalar:
            diagonal = self.metric.diagonal
            lowered = b * diagonal if diagonal is not None else b @ self.metric.gram
            parts.append((a * lowered).sum(axis=-1, keepdims=True))
        if self.bivector:
            upper = ~np.tri(d, dtype=bool)
            area = a[..., :, None] * b[..., None, :]
            parts.append(area[..., upper] - np.swapaxes(area, -1, -2)[..., upper])
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
