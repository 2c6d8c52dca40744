"""Sums over gates of masked products, in tiles of rows: what a gated network costs."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._threads import for_each_slice

Array = NDArray[Any]

# Entries of a tile's product: 1 MB in single precision, which stays in the second-level cache between the product and
# the mask. From 512 to 8192 rows the time changes by less than its noise.
_TILE = 2**18
# A tile has at least as many rows, so that adding a block of X^T R costs little beside making it.
_ROWS = 1024
# A product of as many multiplications takes one thread half a millisecond, three times as long as a thread takes to
# start. Each thread of ours calls BLAS on its own rows, so that masks are shared out too; on a busy machine that took
# half the time of the same tiles with BLAS's own threads, which wait for each other in every tile.
_THREADED = 10**7


def masked_product(X: Array, mask: NDArray[np.bool_], U: Array) -> Array:
    r"""Return :math:`\sum_i D_i X U_i`, (n, C), in the precision of U.

    Gates whose U_i is zero are left out. X is converted tile by tile if its precision is another.

    Parameters
    ----------
    X : (n, d) array
    mask : (P, n) bool
        Row i is the diagonal of D_i.
    U : (d, P, C) array
    """
    active = _active(U)
    if active is not None:
        U = U[:, active]
    d, P, C = U.shape
    n = len(X)
    columns = np.ascontiguousarray(U).reshape(d, P * C).T
    f = np.empty((n, C), dtype=U.dtype)

    def work(rows: slice) -> None:
        for tile in _tiles(rows, P * C):
            on = mask[:, tile] if active is None else mask[active, tile]
            Z = (columns @ X[tile].astype(U.dtype, copy=False).T).reshape(P, C, on.shape[1])
            np.multiply(Z, on[:, None, :], out=Z)
            f[tile] = Z.sum(axis=0).T

    _spread(work, n, d * P * C)
    return f


def masked_transpose(X: Array, mask: NDArray[np.bool_], R: Array) -> Array:
    r"""Return the blocks :math:`X^TD_iR` as (d, P, C), in the precision of R (n, C): the transpose of `masked_product`.

    Parts of the sum over rows are added in a fixed order, so that a second call gives the same bits.
    """
    n, C = R.shape
    d, P = X.shape[1], len(mask)
    parts: dict[int, Array] = {}
    lock = threading.Lock()

    def work(rows: slice) -> None:
        total: Array | None = None
        for tile in _tiles(rows, P * C):
            Z = np.multiply(mask[:, None, tile], R[tile].T, dtype=R.dtype).reshape(P * C, tile.stop - tile.start)
            product = X[tile].astype(R.dtype, copy=False).T @ Z.T
            total = product if total is None else np.add(total, product, out=total)
        if total is not None:
            with lock:
                parts[rows.start] = total

    _spread(work, n, d * P * C)
    _, total = parts.popitem() if len(parts) == 1 else (0, np.zeros((d, P * C), dtype=R.dtype))
    for start in sorted(parts):
        total += parts[start]
    return total.reshape(d, P, C)


def _active(U: Array) -> NDArray[np.intp] | None:
    """Gates with a coefficient other than zero, or None if that leaves out too few to pay for a copy."""
    idle: Any = ~U[:1].any(axis=(0, 2))  # the first coordinate of an active gate is hardly ever zero
    if not idle.any():
        return None
    idle[idle] = ~U[:, idle].any(axis=(0, 2))
    return np.flatnonzero(~idle) if 4 * np.count_nonzero(idle) >= idle.size else None


def _tiles(rows: slice, width: int) -> Iterator[slice]:
    """Cut rows into tiles of about `_TILE` entries of a product with ``width`` columns."""
    size = max(_ROWS, _TILE // max(1, width))
    for start in range(rows.start, rows.stop, size):
        yield slice(start, min(start + size, rows.stop))


def _spread(work: Any, n: int, per_row: int) -> None:
    """Run ``work`` on slices of the rows, in threads of our own where the whole product is large enough for two."""
    if n * per_row < 2 * _THREADED:
        work(slice(0, n))
        return
    with ONE_BLAS_THREAD:
        for_each_slice(work, n, least=-(-_THREADED // per_row))
