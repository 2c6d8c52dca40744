"""Wedge and contractions of all 2^d coefficients, by walking the 3^d pairs of masks that count."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from clifford_rand._threads import for_each_slice


@njit(cache=True, nogil=True)
def _parity_above(mask: int) -> int:
    mask >>= 1
    mask ^= mask >> 1
    mask ^= mask >> 2
    mask ^= mask >> 4
    mask ^= mask >> 8
    mask ^= mask >> 16
    return mask


@njit(cache=True, nogil=True)
def _odd(mask: int) -> bool:
    mask ^= mask >> 16
    mask ^= mask >> 8
    mask ^= mask >> 4
    mask ^= mask >> 2
    mask ^= mask >> 1
    return mask & 1 == 1


@njit(cache=True, nogil=True)
def _wedge(a: NDArray[Any], b: NDArray[Any], first: int, last: int, out: NDArray[Any]) -> None:
    """Write out[C] = Σ_{S ⊆ C} ± a[S] b[C without S] for C from first to last."""
    for target in range(first, last):
        total = a[0] * b[target]
        part = target
        while part:
            rest = target ^ part
            term = a[part] * b[rest]
            if _odd(_parity_above(part) & rest):
                total -= term
            else:
                total += term
            part = (part - 1) & target
        out[target] = total


@njit(cache=True, nogil=True)
def _contract(
    a: NDArray[Any],
    b: NDArray[Any],
    weight: NDArray[Any],
    left: bool,
    right: bool,
    first: int,
    last: int,
    out: NDArray[Any],
) -> None:
    """Write the sums over S disjoint from C of e_S e_{S ∪ C} (left), e_{S ∪ C} e_S (right), once where C is empty."""
    full = a.size - 1
    for target in range(first, last):
        total = a[0] * b[0] * 0
        free = full ^ target
        shared = free
        while True:
            whole = shared | target
            w = weight[shared]
            if left:
                term = w * a[shared] * b[whole]
                total += -term if _odd(_parity_above(shared) & whole) else term
            if right and not (left and target == 0):
                term = w * a[whole] * b[shared]
                total += -term if _odd(_parity_above(whole) & shared) else term
            if shared == 0:
                break
            shared = (shared - 1) & free
        out[target] = total


def wedge_products(a: NDArray[Any], b: NDArray[Any], d: int) -> NDArray[Any]:
    """Return the wedge products of (N, 2^d) and (N, 2^d), coefficients in the order of their masks."""
    return _each(_wedge, a, b, d)


def contraction_products(
    a: NDArray[Any], b: NDArray[Any], weight: NDArray[Any], d: int, left: bool, right: bool
) -> NDArray[Any]:
    """Return Σ ⟨A_r B_s⟩_{s-r} (left), ⟨A_r B_s⟩_{r-s} (right) or ⟨A_r B_s⟩_{|r-s|} (both), as `wedge_products`."""
    return _each(_contract, a, b, d, weight, left, right)


def _each(kernel: Callable[..., object], a: NDArray[Any], b: NDArray[Any], d: int, *arguments: Any) -> NDArray[Any]:
    out = np.empty_like(a)
    for sample in range(len(a)):

        def work(part: slice, n: int = sample) -> None:
            kernel(a[n], b[n], *arguments, part.start, part.stop, out[n])

        for_each_slice(work, 1 << d, least=1 << 8)
    return out
