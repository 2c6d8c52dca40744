"""Products with the kernel matrix of many rows, by tiles that stay in cache: the matrix is not formed."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import ONE_BLAS_THREAD, for_each_part, for_each_slice, sum_of_parts
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel_functions import arc_of_rows
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel

_HEIGHT, _WIDTH = 256, 1024  # entries of a tile: 1 MiB in single precision, half of a core's second cache


class KernelTiles:
    r"""The kernel of rows X (n, d), of which tiles are formed.

    A product with C columns takes half of :math:`n^2` entries, each for 2r + 4C operations, as a tile serves with its
    transpose; memory is n (r + 3C) numbers and a tile a thread.

    ``X`` (n, d). ``dtype``: of the tiles. ``keep_tiles``: keep those of the first product with K for the next ones,
    half of :math:`n^2` numbers. Sums over tiles are in double precision.
    """

    def __init__(
        self, kernel: GateKernel, X: NDArray[np.floating], dtype: Any = np.float64, keep_tiles: bool = False
    ) -> None:
        self.kernel, self.dtype = kernel, np.dtype(dtype)
        X = np.asarray(X, dtype=self.dtype)
        self.z = np.ascontiguousarray(kernel.features(X), dtype=self.dtype)
        self.lengths = np.linalg.norm(self.z, axis=1)
        self.levels = kernel.parts(X)[1]
        self.n = len(self.z)
        # by the first row and column
        self._kept: dict[tuple[int, int], NDArray[Any]] | None = {} if keep_tiles else None

    @staticmethod
    def kept_bytes(n: int) -> float:
        """Return the memory of the tiles of n rows in single precision, if they are kept."""
        return 2.0 * n * (n + _HEIGHT)

    def leading(self, n: int) -> "KernelTiles":
        """Return the tiles of the first n rows; those that are kept are kept for both."""
        first = copy(self)
        first.n, first.z, first.lengths, first.levels = n, self.z[:n], self.lengths[:n], self.levels[:n]
        return first

    def diagonal(self) -> Array:
        """Return K(x, x) of every row, as `GateKernel.diagonal`."""
        return np.asarray(0.5 * np.einsum("ij,ij->i", self.z, self.z, dtype=np.float64)) + self.kernel.steps

    def tile(self, rows: slice, columns: slice, columns_of: "KernelTiles | None" = None) -> NDArray[Any]:
        """Return a tile: of these rows with columns of ``other``, by default of the same rows."""
        right = self if columns_of is None else columns_of
        # z·z', of which `arc_of_rows` makes z·z' (π - θ)/2π in place
        inner = self.z[rows] @ right.z[columns].T
        arc_of_rows(inner, self.z[rows], right.z[columns], self.lengths[rows], right.lengths[columns])
        self.kernel.add_steps(inner, self.levels[rows], right.levels[columns].T)
        return inner

    def _upper_tile(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Return a tile of the upper triangle: one that was kept, if it is large enough, or a new one."""
        if self._kept is None:
            return self.tile(rows, columns)
        height, width, key = rows.stop - rows.start, columns.stop - columns.start, (rows.start, columns.start)
        tile = self._kept.get(key)
        if tile is None or tile.shape[0] < height or tile.shape[1] < width:
            tile = self._kept[key] = self.tile(rows, columns)
        return tile[:height, :width]

    def fill_upper(self, out: NDArray[Any]) -> None:
        """Write the upper triangle of the kernel matrix, diagonal with it, into ``out`` (n, n) of the tiles' type."""

        def share(part: slice) -> None:
            for rows in self._strips(part):
                for columns in self._spans(rows.start):
                    out[rows, columns] = self.tile(rows, columns)

        with ONE_BLAS_THREAD:
            for_each_slice(share, self._n_pairs)
        np.fill_diagonal(out, self.diagonal())

    def multiply(self, V: Array) -> Array:
        """Return K V, (n, C) in double precision, for V (n, C)."""
        V = np.asarray(V, dtype=self.dtype)

        def term(part: slice) -> Array:
            total = np.zeros(V.shape)
            for rows in self._strips(part):
                total[rows] += self._upper_tile(rows, rows) @ V[rows]
                for columns in self._spans(rows.stop):
                    # K is symmetric: a tile above the diagonal serves with its transpose
                    tile = self._upper_tile(rows, columns)
                    total[rows] += tile @ V[columns]
                    total[columns] += tile.T @ V[rows]
            return total

        with ONE_BLAS_THREAD:
            return sum_of_parts(term, self._n_pairs)

    def multiply_from(self, rows: NDArray[np.floating], V: Array) -> Array:
        """Return K(rows, X) V, (m, C) in double precision: predictions, tile by tile."""
        new = KernelTiles(self.kernel, rows, self.dtype)
        V, out = np.asarray(V, dtype=self.dtype), np.zeros((new.n, V.shape[1]))

        def share(part: slice) -> None:
            for i in range(part.start, part.stop, _HEIGHT):
                mine = slice(i, min(i + _HEIGHT, part.stop))
                for columns in self._spans(0):
                    out[mine] += new.tile(mine, columns, self) @ V[columns]

        with ONE_BLAS_THREAD:
            for_each_part(share, new.n, least=_HEIGHT, step=_HEIGHT)
        return out

    def matrix_from(self, rows: NDArray[np.floating], threads: bool = True) -> NDArray[Any]:
        """Return K(rows, X), (m, n), of the tiles' type; in this thread alone where others have rows of their own."""
        new = KernelTiles(self.kernel, rows, self.dtype)
        out = np.empty((new.n, self.n), dtype=self.dtype)

        def share(part: slice) -> None:
            for i in range(part.start, part.stop, _HEIGHT):
                mine = slice(i, min(i + _HEIGHT, part.stop))
                for columns in self._spans(0):
                    out[mine, columns] = new.tile(mine, columns, self)

        if not threads:
            share(slice(0, new.n))
            return out
        with ONE_BLAS_THREAD:
            for_each_part(share, new.n, least=_HEIGHT, step=_HEIGHT)
        return out

    @property
    def _n_pairs(self) -> int:
        return (-(-self.n // _HEIGHT) + 1) // 2

    def _strips(self, part: slice) -> Iterator[slice]:
        """Return strips of rows: of each pair one from the top and one from the bottom, together of equal area."""
        n_strips = -(-self.n // _HEIGHT)
        for k in range(part.start, part.stop):
            for i in sorted({k, n_strips - 1 - k}):
                yield slice(i * _HEIGHT, min((i + 1) * _HEIGHT, self.n))

    def _spans(self, start: int) -> Iterator[slice]:
        for j in range(start, self.n, _WIDTH):
            yield slice(j, min(j + _WIDTH, self.n))
