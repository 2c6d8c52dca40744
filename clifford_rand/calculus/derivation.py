"""A matrix of vectors as a derivation of the outer product, on all grades."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.coefficients import INT, in_integers, largest
from clifford_rand.basis.keys import keys_of_masks
from clifford_rand.functions.norms import is_exact


def derivation(F: NDArray[Any], A: Any) -> Any:
    """Return D(A), D(A ∧ B) = D(A) ∧ B + A ∧ D(B) and D(e_i) = Σ_j F_ji e_j: (..., d, d) on a multivector, no metric.

    A blade e_S gives Σ_{i in S} ± F_ji e_j ∧ e_{S - i}, the sign that of bringing e_i to the front.
    """
    is_exact(A)  # refuses tensors
    terms: dict[int, list[tuple[int, int, int, int]]] = {}
    d = A.algebra.d
    for place, mask in enumerate(int(mask) for mask in A.keys.masks):
        for i in range(d):
            if not mask >> i & 1:
                continue
            rest = mask ^ 1 << i
            swaps = (mask & ((1 << i) - 1)).bit_count()
            for j in range(d):
                if not rest >> j & 1:
                    sign = (-1) ** (swaps + (rest & ((1 << j) - 1)).bit_count())
                    terms.setdefault(rest | 1 << j, []).append((place, j, i, sign))
    coefficients, batch = A.coefficients, np.broadcast_shapes(A.shape, F.shape[:-2])
    exact = coefficients.dtype == INT and F.dtype == INT
    bound = d * d * largest(coefficients) * largest(F) if exact else 0
    keys = keys_of_masks(d, tuple(sorted(terms)))

    def summed(values: NDArray[Any], matrix: NDArray[Any]) -> NDArray[Any]:
        out = np.zeros((*batch, keys.size), dtype=np.result_type(values, matrix))
        for k, mask in enumerate(int(mask) for mask in keys.masks):
            total: Any = 0
            for place, j, i, sign in terms[mask]:
                total = total + sign * values[..., place] * matrix[..., j, i]
            out[..., k] = total
        return out

    result = in_integers(summed, bound, coefficients, F) if exact else summed(coefficients, F)
    return A.algebra.new(keys, result)
