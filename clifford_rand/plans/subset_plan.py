"""Dense wedge, contractions, dots and vee: disjoint and nested pairs of masks only."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.bits import is_odd_swap
from clifford_rand.plans.rounding_plan import DensePlan

_CONTRACTIONS = {  # is A in B to count, and B in A
    "lc": (True, False),
    "rc": (False, True),
    "fat_dot": (True, True),
    "hestenes": (True, True),
}


class SubsetPlan(DensePlan):
    """Wedge, contractions, dots and vee of dense multivectors: only the 3^d pairs that count are visited."""

    def _multiply(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        from clifford_rand.kernels.subsets import contraction_products, wedge_products

        d, rule = self.metric.d, self.rule
        if rule == "vee":
            signs, order = _complement(d)
            product = wedge_products(a[..., order] * signs[order], b[..., order] * signs[order], d)
            return product[..., order] * signs
        if rule == "wedge":
            return wedge_products(a, b, d)
        left, right = _CONTRACTIONS[rule]
        weight = np.asarray(self.metric.weight(np.arange(1 << d)), dtype=a.real.dtype)
        if rule == "hestenes":
            a, b = a.copy(), b.copy()
            a[..., 0] = b[..., 0] = 0
        return contraction_products(a, b, weight, d, left, right)


def _complement(d: int) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return the sign of A ^ A' = ± I for every mask A, and the mask of the complement A'."""
    masks = np.arange(1 << d)
    order = masks ^ ((1 << d) - 1)
    return np.where(is_odd_swap(masks, order, d), -1, 1).astype(np.int8), order
