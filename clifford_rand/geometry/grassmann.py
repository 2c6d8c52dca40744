"""Wedges and contractions of arrays of coefficients of one grade, without an algebra.

A blade of few basis vectors of a high dimension is handled in the coordinates of those only, its live vectors.
"""

import itertools
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.keys import Keys, check_size, keys_of_grades, keys_of_masks
from clifford_rand.basis.rules import bits_of


@lru_cache(maxsize=64)
def _removals(d: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """Return (T, i, sign), each (C(d, k), k), for S of grade k, i in S and T = S without i: e_T ∧ e_i = sign e_S."""
    smaller = {subset: n for n, subset in enumerate(itertools.combinations(range(d), k - 1))}
    subsets = list(itertools.combinations(range(d), k))
    rows = [[smaller[subset[:place] + subset[place + 1 :]] for place in range(k)] for subset in subsets]
    signs = [-1 if (k - 1 - place) % 2 else 1 for place in range(k)]
    return np.array(rows), np.array(subsets), np.broadcast_to(np.array(signs, dtype=np.int8), (len(subsets), k))


def contraction_matrix(values: NDArray[Any], d: int, k: int) -> NDArray[Any]:
    """Return the vectors e_T ⌋ A, (..., C(d, k-1), d), of the coefficients (..., C(d, k)) of grade k ≥ 1."""
    if k == 1:
        return values[..., None, :]
    rows, columns, signs = _removals(d, k)
    size = keys_of_grades(d, (k - 1,)).size
    check_size(size * d * max(1, values[..., 0].size), "is_blade", "the contraction matrix")
    matrix = np.zeros((*values.shape[:-1], size, d), dtype=values.dtype)
    matrix[..., rows, columns] = values[..., None] * signs
    return matrix


def wedge_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the coefficients (..., C(d, k)) of the wedge of the k rows of (..., k, d)."""
    k, d = rows.shape[-2:]
    if k == 0:
        return np.ones((*rows.shape[:-2], 1), dtype=rows.dtype)
    total = rows[..., 0, :]
    for grade in range(2, k + 1):
        smaller, columns, signs = _removals(d, grade)
        total = (total[..., smaller] * rows[..., grade - 1, :][..., columns] * signs).sum(axis=-1)
    return total


def span_of(values: NDArray[Any], d: int, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (basis, rest): k orthonormal rows (..., k, d) of the span, and σ_{k+1}/σ_1, which is 0 for a blade."""
    if k == 0:
        return np.zeros((*values.shape[:-1], 0, d), dtype=values.dtype), np.zeros(values.shape[:-1])
    if k == 1:  # a vector is its own span
        norm = np.sqrt(np.square(np.abs(values)).sum(axis=-1, keepdims=True))
        first = np.zeros(d, dtype=values.dtype)
        first[0] = 1
        unit = np.where(norm > 0, values / np.where(norm > 0, norm, 1), first)
        return unit[..., None, :], np.zeros(values.shape[:-1])
    sizes, rows = np.linalg.svd(contraction_matrix(values, d, k), full_matrices=False)[1:]
    largest = sizes[..., 0]
    rest = sizes[..., k] / np.where(largest > 0, largest, 1) if sizes.shape[-1] > k else np.zeros(largest.shape)
    return rows[..., :k, :], rest


def live_vectors(*multivectors: Any) -> list[int]:
    """Return the basis vectors that the keys of these multivectors have."""
    d = multivectors[0].algebra.d
    if any(A.keys.complete and A.keys.grades != (0,) for A in multivectors):
        return list(range(d))
    used = 1  # one at least, so that no array is without columns
    for A in multivectors:
        for mask in A.keys.masks:
            used |= int(mask)
    return bits_of(used)


def gather(A: Any, k: int, live: list[int]) -> NDArray[Any]:
    """Return the coefficients (..., C(d', k)) of A, of grade k, in the coordinates of the d' live vectors."""
    keys = keys_of_grades(len(live), (k,))
    if len(live) == A.algebra.d:
        return np.asarray(A._on(keys).coefficients)
    place = {old: new for new, old in enumerate(live)}
    values = np.zeros((*A.shape, keys.size), dtype=A.coefficients.dtype)
    for n, mask in enumerate(A.keys.masks):
        small = sum(1 << place[i] for i in live if int(mask) >> i & 1)
        values[..., keys.find(small)] = A.coefficients[..., n]
    return values


def scatter_keys(d: int, grades: tuple[int, ...], live: list[int]) -> Keys:
    """Return the blades of these grades of the live vectors, in the order of their coordinates."""
    keys = keys_of_grades(len(live), grades)
    if len(live) == d:
        return keys
    return keys_of_masks(d, tuple(sum(1 << live[i] for i in range(len(live)) if int(m) >> i & 1) for m in keys.masks))
