"""Products with the kernel matrix of many rows by tiles, and its Nyström approximation in the span of landmarks."""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpstrf

from clifford_rand._checks import describe, fail, quantity
from clifford_rand._threads import ONE_BLAS_THREAD, for_each_part, for_each_slice, sum_of_parts
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel_functions import arc_of_rows
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.standardization import Standardization

_HEIGHT, _WIDTH = 256, 1024  # entries of a tile: 1 MiB in single precision, half of a core's second cache
_EPS = float(np.finfo(np.float64).eps)
_ORDER = 0  # seed of the one permutation that all choices of rows begin with
_PIVOT = 1e-11  # of the largest diagonal entry: what a landmark adds to those before it; less is rounding
MAX_LANDMARKS = 2500  # of rows in shards, if nothing else limits them: a process keeps below 1 GB
_LEAST = 1000  # landmarks without max_time, however many rows
_PATIENCE = 150.0  # seconds of two cores, if max_time is not given
_SHARE = 0.8  # of max_time, beside the sample
_BYTES = 0.6e9  # beside libraries and rows, if max_memory is not given
# Seconds of one core (AMD EPYC of family 26), measured by bench_shards.py; those of bench_rows.py are of two.
_PRODUCT = 2.2e-11  # n m (9/16 m + C) of products in single precision
_ENTRY = 4.5e-10  # n m, of the kernel, and 4 operations of a pass
_FEATURE = 1.0e-11  # n m r
_DOUBLE = 2.2  # times those in single precision
SQUARED_PASSES, LOGISTIC_PASSES = 4.0, 25.0  # in double precision, to certify, and steps
_CUBE = 4e-10  # m³: factors, an eigendecomposition


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
        V, out = np.asarray(V, dtype=self.dtype), np.zeros((len(rows), V.shape[1]))

        def add(mine: slice, columns: slice, tile: NDArray[Any]) -> None:
            out[mine] += tile @ V[columns]

        self._for_tiles_from(rows, add)
        return out

    def matrix_from(self, rows: NDArray[np.floating], threads: bool = True) -> NDArray[Any]:
        """Return K(rows, X), (m, n), of the tiles' type; in this thread alone where others have rows of their own."""
        out = np.empty((len(rows), self.n), dtype=self.dtype)

        def write(mine: slice, columns: slice, tile: NDArray[Any]) -> None:
            out[mine, columns] = tile

        self._for_tiles_from(rows, write, threads)
        return out

    def _for_tiles_from(
        self, rows: NDArray[np.floating], use: Callable[[slice, slice, NDArray[Any]], None], threads: bool = True
    ) -> None:
        """Call ``use`` with the places and the entries of every tile of K(rows, X)."""
        new = KernelTiles(self.kernel, rows, self.dtype)

        def share(part: slice) -> None:
            for i in range(part.start, part.stop, _HEIGHT):
                mine = slice(i, min(i + _HEIGHT, part.stop))
                for columns in self._spans(0):
                    use(mine, columns, new.tile(mine, columns, self))

        if not threads:
            share(slice(0, new.n))
            return
        with ONE_BLAS_THREAD:
            for_each_part(share, new.n, least=_HEIGHT, step=_HEIGHT)

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


def spread_rows(n: int, m: int) -> NDArray[np.intp]:
    """Return m of n rows, spread as by chance: the first of one fixed permutation, so that no seed is in a result."""
    return np.random.default_rng(_ORDER).permutation(n)[:m]


def independent(kernel: GateKernel, rows: Array) -> tuple[NDArray[np.intp], float]:
    """Return landmarks (m,) among rows that are independent but for rounding, and what the last of them adds.

    They are in the order of the pivots, in which Cholesky's factorization meets no smaller one. Rows whose angle is
    some 1e-8 are one to the kernel, and then its matrix has negative eigenvalues of that size. The second number is a
    squared pivot, as a share of the largest one.
    """
    gram = np.asarray(kernel(rows))
    largest = float(gram.diagonal().max())
    if largest <= 0:
        return np.zeros(1, dtype=np.intp), 1.0
    with ONE_BLAS_THREAD:
        factor, pivots, rank, _ = dpstrf(gram.T, tol=_PIVOT * largest, lower=1, overwrite_a=1)
    return np.asarray(pivots[:rank] - 1, dtype=np.intp), float(factor[rank - 1, rank - 1]) ** 2 / largest


class LandmarkRows:
    """The kernel of stored rows with m landmarks, in one thread, for all that happens in a pass.

    ``Z`` (m, d): the landmarks, standardized. ``standard``: how stored rows come to those of the kernel; None if they
    are the same.
    """

    def __init__(
        self, kernel: GateKernel, Z: Array, standard: Standardization | None = None, dtype: Any = np.float64
    ) -> None:
        self._standard, self.tiles = standard, KernelTiles(kernel, Z, dtype)

    @property
    def m(self) -> int:
        """Number of landmarks."""
        return self.tiles.n

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the kernel's entries."""
        dtype: np.dtype[Any] = self.tiles.dtype
        return dtype

    def diagonal(self, X: NDArray[Any]) -> Array:
        """Return K(x, x) of rows (k, d), (k,)."""
        return self.tiles.kernel.diagonal(self._standardized(X))

    def kernel(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return K (k, m) of rows (k, d), in the type of the tiles."""
        return self.tiles.matrix_from(self._standardized(X), threads=False)

    def _standardized(self, X: NDArray[Any]) -> Array:
        X = X.astype(np.float64)
        return X if self._standard is None else self._standard.rows(X)


class LandmarkSpan:
    r"""Functions :math:`\sum_jK(\cdot,z_j)a_j` of m landmarks, with :math:`u=L^Ta`, whose length is their norm.

    L is the Cholesky factor of :math:`K_{mm}+J`, J a diagonal of :math:`4m\epsilon K(z_j,z_j)`, without which there may
    be none. It is made in double precision by one BLAS thread, so that it does not depend on how many there are.

    ``rows`` (m, d): the landmarks.
    """

    def __init__(self, kernel: GateKernel, rows: Array) -> None:
        gram = np.asarray(kernel(rows))
        self.m = len(gram)
        self._diagonal = gram.diagonal().copy()
        # J = 4mε diag K: the least that keeps the factorization from a negative pivot
        gram.flat[:: self.m + 1] *= 1 + 4 * self.m * _EPS
        with ONE_BLAS_THREAD:
            self.factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)

    def coefficients(self, u: Array) -> Array:
        """Return a of u (m, C)."""
        return np.asarray(solve_triangular(self.factor, u, lower=True, trans="T", check_finite=False))

    def whitened(self, b: Array) -> Array:
        r"""Return :math:`L^{-1}b`, b (m, C)."""
        return np.asarray(solve_triangular(self.factor, b, lower=True, check_finite=False))

    def rounding_of_form(self, w: Array, size: Array) -> Array:
        r"""Return how much more than :math:`|w_c|^2` a form :math:`\theta_c^TK_{nm}K_{mm}^{-1}K_{mn}\theta_c` may be.

        .. math:: \epsilon\Big(s_c+\sqrt{8m\sum_jK(z_j,z_j)a_{jc}^2}\Big)^2,\qquad w=L^{-1}K_{mn}\theta,\quad a=L^{-T}w

        Entries of :math:`b=K_{mn}\theta_c` have errors up to :math:`\epsilon\sqrt{K(z_j,z_j)}s_c`, which change
        :math:`b^T(K_{mm}+J)^{-1}b` by twice their product with a, and by a square of at most :math:`\epsilon s_c^2/4`,
        because the matrix is at least J. Substitution takes no more than that product. J itself takes :math:`a^TJa`,
        counted twice for what follows it in the series.

        ``w`` (m, C). ``size`` (C,): :math:`s_c`, at least :math:`\sum_i\sqrt{K(x_i,x_i)}|\theta_{ic}|`.
        """
        return np.asarray(_EPS * (size + self._reach(w)) ** 2)

    def rounding_of_forms(self, w: Array, size: float) -> float:
        r"""Return `rounding_of_form` of all outputs together, for :math:`\sqrt{\sum_cs_c^2}` or more."""
        return float(_EPS * (size + np.linalg.norm(self._reach(w))) ** 2)

    def _reach(self, w: Array) -> Array:
        return np.asarray(np.sqrt(8 * self.m * (self._diagonal @ self.coefficients(w) ** 2)))


class Size(NamedTuple):
    """A number of landmarks, and the seconds and bytes that they are expected to take on two cores."""

    landmarks: int
    seconds: float
    bytes: float
    single: bool


class Workload(NamedTuple):
    """Sizes that decide how long sums over landmarks take."""

    n: int  # rows
    width: int  # numbers of a row that its kernel is made of
    outputs: int
    workers: int = 2  # threads that hold sums of their own
    passes: float = SQUARED_PASSES  # over the rows in double precision
    single: bool = True  # whether the sums of the normal equations are in single precision

    def seconds(self, m: int) -> float:
        """Return the seconds that two cores are expected to take for m landmarks."""
        entries = self.n * m * (_ENTRY + _FEATURE * self.width)
        products = self.n * m * _PRODUCT * (9 / 16 * m + self.outputs)
        steps = self.passes * _DOUBLE * (entries + self.n * m * self.outputs * 2 * _PRODUCT)
        return ((entries + products) * (1 if self.single else _DOUBLE) + steps) / 2 + _CUBE * m**3

    def bytes(self, m: int) -> float:
        """Return bytes beside libraries and rows: sums that wait and those of threads, or the factors at the end."""
        size, pair = (4 if self.single else 8), m * m * 9 / 16 + m * (self.outputs + 1)
        passing = self.workers * (3 * 8 * pair + 4096 * (m * size + 8 * self.outputs)) + 8 * 8 * pair
        return max(passing, 8 * (4.5 * m * m + 4000 * (2 * m + self.outputs)))

    def most(self, seconds: float, room: float, least: int, most: int) -> int:
        """Return the largest number of landmarks that keeps to seconds, unless it is ``least``, and to bytes."""
        low, high = 0, max(most, 1)
        while low < high:
            middle = (low + high + 1) // 2
            fits = (middle <= least or self.seconds(middle) <= seconds) and self.bytes(middle) <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        return low


def landmarks_of_shards(load: Workload, max_time: float | None, max_memory: float | None, owner: str) -> Size:
    """Return how many landmarks keep to the limits; at least a hundred, or all rows.

    Raises ArgumentError: not even these keep to ``max_memory``.
    """
    most = min(MAX_LANDMARKS, load.n)
    seconds = _PATIENCE if max_time is None else _SHARE * max_time
    room = _BYTES if max_memory is None else max_memory
    m = load.most(seconds, room, min(_LEAST if max_time is None else 100, most), most)
    if m < min(100, most):
        raise fail("max_memory", owner, f"at least {quantity(load.bytes(min(100, most)))}", describe(quantity(room)))
    return Size(m, load.seconds(m), load.bytes(m), load.single)
