"""Two vectors in a high dimension, where no table is wanted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.keys import check_size, keys_of_grades
from clifford_rand.basis.metric import Metric

__all__ = ["VECTOR_RULES", "VectorPlan"]

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
        d = self.metric.d
        parts = []
        if self.scalar:
            diagonal = self.metric.diagonal
            lowered = b * diagonal if diagonal is not None else b @ self.metric.gram
            parts.append((a * lowered).sum(axis=-1)[..., None])
        if self.bivector:
            upper = ~np.tri(d, dtype=bool)
            area = a[..., :, None] * b[..., None, :]
            parts.append(area[..., upper] - np.swapaxes(area, -1, -2)[..., upper])
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
