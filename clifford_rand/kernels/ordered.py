"""Sums in one order by NumPy: the bits of the kernels and of machine code, before these are worth their load.

A component is ((t1 + t2) + t3) + …, t = (a b) coef, in the order of its table, each operation rounded by itself.
NumPy's own sums add in an order that depends on their length and on memory, except `numpy.add.accumulate`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

AT_A_TIME = 2**17  # terms: what stays in the cache
LOOP_FROM = 2**8  # numbers in a row from which one call a row is faster than `accumulate`, 15 ns a column


def sum_of_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the sum over the first axis, from the first to the last; ``rows`` may be written to."""
    total: NDArray[Any] = rows[0]
    if total.size < LOOP_FROM and len(rows) > 2:
        return np.asarray(np.add.accumulate(rows, axis=0)[-1])
    for row in rows[1:]:
        total += row
    return total


class OrderedSums:
    """The components of a product table (indptr, left, right, coef), of samples (n_a, N) and (n_b, N), or one."""

    def __init__(self, table: Table) -> None:
        indptr, left, right, coef = table
        lengths = np.diff(indptr)
        self.size, self.n_terms = len(lengths), len(left)
        self._groups: list[tuple[int, int]] = []  # lengths of sums, and how many components have such sums
        places, order = [], []
        for length in np.unique(lengths).tolist():
            some = np.flatnonzero(lengths == length)
            places.append(some)
            order.append((indptr[some] + np.arange(length)[:, None]).ravel())
            self._groups.append((length, len(some)))
        rows = np.concatenate(order) if order else np.zeros(0, int)
        self._back = None if len(places) < 2 else np.argsort(np.concatenate(places))
        self._left, self._right = left[rows].astype(np.intp), right[rows].astype(np.intp)
        self._coef = coef[rows]
        self._unit = bool(np.all(self._coef == 1))
        self._coefs: dict[Any, NDArray[Any]] = {}

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the components (n_out, N); ``a`` and ``b`` of one real dtype, one of them may be of one sample."""
        n, step = max(a.shape[1], b.shape[1]), max(1, AT_A_TIME // max(1, self.n_terms))
        if n <= step:
            return self._some(a, b)
        out = np.empty((self.size, n), dtype=a.dtype)
        for start in range(0, n, step):
            part = slice(start, start + step)
            x, y = (z if z.shape[1] == 1 else z[:, part] for z in (a, b))
            out[:, part] = self._some(x, y)
        return out

    def _some(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        terms = self._terms(a, b)
        n, at, sums = terms.shape[1], 0, []
        for length, count in self._groups:
            stop = at + length * count
            part = terms[at:stop].reshape(length, count, n)
            sums.append(sum_of_rows(part) if length else np.zeros((count, n), terms.dtype))
            at = stop
        return sums[0] if self._back is None else np.concatenate(sums).take(self._back, axis=0)

    def _terms(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the products (n_terms, N), group after group, in each the first of all sums, the second of all, …."""
        if a.shape[1] == b.shape[1] == 1:
            terms: NDArray[Any] = (a[:, 0].take(self._left) * b[:, 0].take(self._right))[:, None]
        else:
            terms, other = a.take(self._left, axis=0), b.take(self._right, axis=0)
            terms = np.multiply(terms, other, out=terms if terms.shape[1] >= other.shape[1] else other)
        if not self._unit:
            coef = self._coefs.get(a.dtype)
            if coef is None:
                coef = self._coefs.setdefault(a.dtype, self._coef.astype(a.dtype)[:, None])
            terms *= coef
        return terms
