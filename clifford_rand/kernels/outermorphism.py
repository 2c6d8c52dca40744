"""A linear map of the vectors applied to all 2^d coefficients at once, through the shears of its LU factors."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@lru_cache(maxsize=64)
def signed_permutation(order: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return (masks, signs) for a new order of the basis vectors.

    New vector i is old vector ``order[i]``; the coefficient of new mask S is ``signs[S] * old[masks[S]]``.
    """
    d = len(order)
    masks = np.zeros(1, dtype=np.int64)
    for old in order:
        masks = np.concatenate([masks, masks | 1 << old])
    new = np.arange(1 << d)
    odd = np.zeros(1 << d, dtype=np.int64)
    for j in range(d):
        for i in range(j):
            if order[i] > order[j]:
                odd ^= (new >> i & 1) & (new >> j & 1)
    return masks, (1 - 2 * odd).astype(np.int8)


@lru_cache(maxsize=1024)
def _shear(d: int, k: int, j: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """Return (source, target, sign) of the blades that e_k → e_k + c e_j changes."""
    masks = np.arange(1 << d)
    source = masks[(masks >> k & 1 == 1) & (masks >> j & 1 == 0)]
    low, high = min(j, k), max(j, k)
    between = ((1 << high) - 1) & ~((1 << (low + 1)) - 1)
    sign = 1 - 2 * (np.bitwise_count(source & between) % 2).astype(np.int8)
    return source, source ^ (1 << k) ^ (1 << j), sign.astype(np.int8)


def apply_outermorphism(values: NDArray[Any], F: NDArray[np.floating]) -> NDArray[Any]:
    """Return Σ_S a_S F(e_S1)∧F(e_S2)∧… with F(e_i) = Σ_j F[j, i] e_j.

    ``values`` (..., 2^d) in the order of the masks. O(d² 2^d), instead of the minors of F, C(2d, d) numbers.
    """
    d = len(F)
    # F = P L U by elimination with row pivoting, so F_* = P_* L_* U_*
    U = np.array(F, dtype=np.result_type(F.dtype, np.float64))
    L = np.eye(d)
    rows = list(range(d))
    for k in range(d):
        pivot = k + int(np.argmax(np.abs(U[k:, k])))
        if U[pivot, k] == 0:
            continue
        U[[k, pivot]] = U[[pivot, k]]
        L[[k, pivot], :k] = L[[pivot, k], :k]
        rows[k], rows[pivot] = rows[pivot], rows[k]
        L[k + 1 :, k] = U[k + 1 :, k] / U[k, k]
        U[k + 1 :] -= np.outer(L[k + 1 :, k], U[k])
    result = np.array(values, dtype=np.result_type(values.dtype, F.dtype))
    for k in range(d):  # columns of U from the first: U = C_d … C_1, C_k e_k = U[k, k] e_k + Σ_{j<k} U[j, k] e_j
        for j in range(k):
            _add_shear(result, d, k, j, U[j, k])
        held = np.arange(1 << d) >> k & 1 == 1
        result[..., held] *= U[k, k]
    for k in range(d - 1, -1, -1):  # columns of L from the last
        for j in range(k + 1, d):
            _add_shear(result, d, k, j, L[j, k])
    inverse = [0] * d
    for i, row in enumerate(rows):
        inverse[row] = i
    masks, signs = signed_permutation(tuple(inverse))
    return result[..., masks] * signs


def move_components(
    values: NDArray[Any], source: NDArray[np.int64], F: NDArray[np.floating], target: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the components on the masks ``target`` of F applied to components (..., n) on the masks ``source``."""
    dense = np.zeros((*values.shape[:-1], 1 << len(F)), dtype=values.dtype)
    dense[..., source] = values
    return apply_outermorphism(dense, F)[..., target]


def _add_shear(values: NDArray[Any], d: int, k: int, j: int, factor: float) -> None:
    if factor:
        source, target, sign = _shear(d, k, j)
        values[..., target] += factor * sign * values[..., source]
