"""The dense geometric product through matrices: order and scale of the basis, transform, GEMM, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.keys import Keys
from clifford_rand.basis.metric import Metric
from clifford_rand.plans.rounding_plan import DensePlan


class TransformPlan(DensePlan):
    """The geometric product, commutator or anticommutator through the matrices of a diagonal metric."""

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        super().__init__(metric, rule, a, b)
        diagonal = metric.diagonal
        assert diagonal is not None
        sign = np.sign(diagonal).astype(int)
        order = (*np.flatnonzero(sign == 0).tolist(), *np.flatnonzero(sign != 0).tolist())
        self._signature = tuple(int(sign[i]) for i in order)
        self._order = None if order == tuple(range(metric.d)) else order
        self._scale: NDArray[np.float64] | None = None
        if not metric.is_unit:
            scale = np.ones(1)
            for value in diagonal.astype(np.float64):
                scale = np.concatenate([scale, scale * (np.sqrt(abs(value)) if value else 1.0)])
            self._scale = scale

    def _multiply(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        from clifford_rand.kernels.outermorphism import signed_permutation
        from clifford_rand.kernels.representation import transform_product

        scale = None if self._scale is None else self._scale.astype(a.real.dtype)
        if scale is not None:
            a, b = a * scale, b * scale
        if self._order is not None:
            masks, signs = signed_permutation(self._order)
            a, b = a[..., masks] * signs, b[..., masks] * signs
        product = transform_product(a, b, self._signature)
        if self.rule != "gp":
            other = transform_product(b, a, self._signature)
            product = (product - other if self.rule == "commutator" else product + other) / 2
        if self._order is not None:
            back = np.empty_like(product)
            back[..., masks] = product * signs
            product = back
        return product if scale is None else product / scale
