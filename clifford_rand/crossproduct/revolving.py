"""All subsets in revolving-door order: each differs from the one before it by the exchange of one element."""

import math

import numpy as np
from numpy.typing import NDArray

_MOST = 2**62  # ranks are int64


def subsets_of_ranks(n: int, k: int, start: int, stop: int) -> NDArray[np.int64]:
    """Return the k-subsets of range(n) with ranks ``start`` to ``stop - 1``, each ascending, (stop - start, k).

    Revolving-door order (Nijenhuis and Wilf 1978; unranking: Kreher and Stinson, "Combinatorial Algorithms", 1999,
    algorithm 2.12), vectorised over the ranks: the largest element is x with C(x, k) ≤ rank < C(x+1, k), and the rest
    is taken from the reversed list of (k-1)-subsets of range(x).
    """
    if math.comb(n, k) > _MOST:
        raise OverflowError(f"C({n}, {k}) subsets are more than 2^62")
    rank = np.arange(start, stop, dtype=np.int64)
    result = np.empty((len(rank), k), dtype=np.int64)
    for i in range(k, 0, -1):
        binomials = np.array([min(math.comb(x, i), _MOST) for x in range(n + 1)], dtype=np.int64)
        x = np.searchsorted(binomials, rank, side="right") - 1
        result[:, i - 1] = x
        rank = binomials[x + 1] - rank - 1
    return result
