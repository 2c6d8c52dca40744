"""Which rows span a hyperplane, and the hyperplane: subsets of the rows of X, or of [X; I]."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.crossproduct.exact import cross_log
from clifford_rand.crossproduct.revolving import subsets_of_ranks

__all__ = ["count_subsets", "draw_subsets", "random_subsets", "spanned_planes"]

Array = NDArray[np.float64]

_ROUNDS = 32  # how often dependent subsets are drawn again


def count_subsets(n: int, d: int, family: str, bias: bool) -> int:
    r"""Return the number of subsets of n rows in R^d that can span a hyperplane.

    "rows": :math:`\binom{n}{d-1}`, with bias :math:`\binom{n}{d}`. "mixed": :math:`\binom{n+d}{d-1}`, with bias
    :math:`\binom{n+d}{d}-1`, for the d basis vectors alone span no place.

    Examples
    --------
    >>> count_subsets(160, 2, "rows", True), count_subsets(160, 2, "mixed", True)
    (12720, 13040)
    """
    k = d - 1 + bias
    return math.comb(n, k) if family == "rows" else math.comb(n + d, k) - bias


def random_subsets(n: int, k: int, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return m uniform k-subsets of range(n), each ascending, (m, k): Floyd's algorithm, k steps for all at once."""
    subsets = np.full((m, k), -1, dtype=np.int64)
    for i, last in enumerate(range(n - k, n)):
        drawn = rng.integers(0, last + 1, m)
        taken = (subsets == drawn[:, None]).any(axis=1)
        subsets[:, i] = np.where(taken, last, drawn)
    return np.sort(subsets, axis=1)


def spanned_planes(
    X: Array, subsets: NDArray[Any], bias: bool, p: int, rtol: float | None
) -> tuple[Array, Array, NDArray[np.bool_]]:
    r"""Return the hyperplanes through ``subsets`` (m, k) of the rows of [X; I], and which exist.

    With basis vectors :math:`e_S` among the rows v is 0 on S, and on the other coordinates it is the cross product of
    the data rows there (their differences to the last of them, with ``bias``), so it has exact zeros. A hyperplane
    exists if the rows are independent and, with bias, one of them is data.

    Returns
    -------
    directions : (m, d)
        Of p-norm 1, or 0.
    offsets : (m,)
    exist : (m,) bool
    """
    n, d = X.shape
    directions = np.zeros((len(subsets), d))
    offsets = np.zeros(len(subsets))
    n_data = np.count_nonzero(subsets < n, axis=1)
    for m in range(int(bias), subsets.shape[1] + 1):
        (place,) = np.nonzero(n_data == m)
        if not len(place):
            continue
        rows, basis = subsets[place, :m], subsets[place, m:] - n
        free = np.ones((len(place), d), dtype=bool)
        np.put_along_axis(free, basis, False, axis=1)
        free_index = np.nonzero(free)[1].reshape(len(place), -1)
        vectors = X[rows[:, :, None], free_index[:, None, :]]
        if bias:
            vectors = vectors[:, :-1] - vectors[:, -1:]
        v = cross_log(vectors, rtol=rtol).direction
        norms = np.linalg.norm(v, ord=p, axis=1)
        v /= np.where(norms > 0, norms, 1.0)[:, None]
        directions[place[:, None], free_index] = v
        if bias:
            offsets[place] = -np.einsum("ij,ij->i", directions[place], X[rows[:, -1]])
    return directions, offsets, np.asarray(directions.any(axis=1))


def draw_subsets(
    X: Array, wanted: int, family: str, bias: bool, rtol: float | None, rng: np.random.Generator
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return ``wanted`` distinct independent subsets, or as many as there are or turn up, and notes."""
    n, d = X.shape
    k = d - 1 + bias
    n_rows = n if family == "rows" else n + d
    total = count_subsets(n, d, family, bias)
    few = total <= max(2 * wanted, 1024)  # then all, in random order; else nearly all draws are new
    drawn = np.zeros((0, k), dtype=np.int64)
    found = drawn
    for _ in range(_ROUNDS):
        if few:
            new = rng.permutation(subsets_of_ranks(n_rows, k, 0, total + int(bias and family == "mixed")))
        else:
            new = random_subsets(n_rows, k, wanted - len(found) + 8, rng)
        together, first = np.unique(np.concatenate([drawn, new]), axis=0, return_index=True)
        new = new[np.sort(first[first >= len(drawn)]) - len(drawn)]
        drawn = together
        exist = spanned_planes(X, new, bias, 2, rtol)[2]
        found = np.concatenate([found, new[exist]])[:wanted]
        if len(found) == wanted or few:
            break
    notes = []
    if len(found) < wanted:
        reason = f"all {total} subsets" if few else f"{len(drawn)} random subsets"
        notes.append(f"only {len(found)} of {wanted} subsets: no more of {reason} are independent")
    return found, tuple(notes)
