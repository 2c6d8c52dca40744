"""Products with a sparse sign matrix, s entries ±1/√s in every column: what `SJLT` and `SparseSign` share."""

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from clifford_rand._checks import check_fits
from clifford_rand._threads import for_each_slice
from clifford_rand.sketch.base import Sketch
from clifford_rand.sketch.rules import second_moment_dim

# 50,000 rows of 1536 float32 to 1000 columns, 2 cores: 1.2 s by SciPy (which copies X to column order first), 0.07 s by
# the kernel. It takes 1 s to compile, once per machine and precision, and 0.4 s to load, once per process. With 2^22
# entries a product gains 8 to 30 ms by it; that copy, not the number of non-zeros a column, is what makes it pay.
_KERNEL_FROM = 2**22
_BLOCK_BYTES = 16 * 2**20


class SignColumns(Sketch):
    """A sketch given by the rows (d, s) of its non-zeros, sorted in each column, and independent signs."""

    exchangeable_rows = True
    _arguments = ("r", "d", "s")
    r: int
    d: int
    s: int

    @abstractmethod
    def __init__(self, r: int, d: int, s: int, *, rng: np.random.Generator | int | None = None) -> None: ...

    def _check_fits(self) -> None:
        # measured by tracemalloc at 10^6 non-zeros: 20 to 26 bytes each, and 20 a column besides
        check_fits(24 * self.s * self.d + 20 * self.d + 8 * self.r, "d", type(self).__name__)

    def _set_columns(self, rows: NDArray[np.int64], generator: np.random.Generator) -> None:
        """Keep the sketch with non-zeros in ``rows`` (d, s), their signs drawn by ``generator``."""
        d, s = rows.shape
        signs = generator.integers(0, 2, size=rows.size, dtype=np.int8) * np.int8(2) - np.int8(1)
        self.shape = (self.r, self.d)
        starts = np.arange(0, s * d + 1, s)
        columns = csc_array((signs, rows.ravel(), starts), shape=self.shape)
        self._matrix = columns.tocsr()
        self._transposed = columns.T

    @classmethod
    def suggest_dim(cls, k: int, eps: float = 0.5, delta: float = 0.1) -> int:
        """Return the smallest r of the rule in the notes, for a subspace of dimension ``k``; for every s."""
        return second_moment_dim(k, eps, delta, f"{cls.__name__}.suggest_dim")

    def _apply(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._scaled(self._matrix @ x))

    def _apply_transposed(self, v: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._scaled(self._transposed @ v))

    def _apply_rows(self, X: NDArray[Any]) -> NDArray[Any]:
        if X.size < _KERNEL_FROM:
            return super()._apply_rows(X)
        from clifford_rand.kernels.scatter import scatter_rows  # Numba loads here, not at import

        return self._by_kernel(scatter_rows, X, self.shape[0])

    def _apply_transposed_rows(self, V: NDArray[Any]) -> NDArray[Any]:
        if len(V) * self.shape[1] < _KERNEL_FROM:
            return super()._apply_transposed_rows(V)
        from clifford_rand.kernels.scatter import gather_rows

        return self._by_kernel(gather_rows, V, self.shape[1])

    def _apply_sparse(self, x: Any) -> Any:
        return self._scaled(self._matrix.astype(x.dtype) @ x.tocsr())

    def _apply_transposed_sparse(self, v: Any) -> Any:
        return self._scaled(self._transposed.astype(v.dtype) @ v.tocsr())

    def _by_kernel(self, kernel: Any, X: NDArray[Any], width: int) -> NDArray[Any]:
        place = self._transposed.indices.reshape(-1, self.s).astype(np.int32)
        sign = self._transposed.data.reshape(-1, self.s).astype(X.dtype)
        out = np.empty((len(X), width), X.dtype)

        def run(part: slice) -> None:
            for rows, block in row_blocks(X, part):
                kernel(block, place, sign, 1.0 / math.sqrt(self.s), out[rows])

        for_each_slice(run, len(X))
        return out

    def _scaled(self, result: Any) -> Any:
        """Multiply by 1/√s, kept out of the stored ±1 so that int8 serves both precisions."""
        return result if self.s == 1 else result * result.dtype.type(1.0 / math.sqrt(self.s))


def row_blocks(X: NDArray[Any], part: slice) -> Any:
    """Yield (slice, rows of X) over ``part``, the rows writeable and in C order as the kernels are compiled for.

    Numba types a read-only array apart and would compile once more for it. A memory map that was opened to be read, and
    an array in another order, are copied a block at a time; the others are not copied.
    """
    if X.flags.c_contiguous and X.flags.writeable and X.flags.aligned and X.dtype.isnative:
        yield part, np.asarray(X[part])
        return
    step = max(1, _BLOCK_BYTES // max(1, X.shape[1] * X.itemsize))
    for start in range(part.start, part.stop, step):
        rows = slice(start, min(start + step, part.stop))
        yield rows, np.array(X[rows], X.dtype.newbyteorder("="), order="C")
