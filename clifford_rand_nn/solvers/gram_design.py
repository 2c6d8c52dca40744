"""The columns of a gated network on its rows, made tile by tile: products with them, and their weighted Gram matrix."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import cpu_count, for_each_part, sum_of_parts
from clifford_rand._typing import Array
from clifford_rand_nn.problems.coordinates import dense_coordinates
from clifford_rand_nn.problems.gated import GatedProblem, Point
from clifford_rand_nn.sparse_rows import row_tiles

_TILE = 512  # rows at a time: some 2 MB of 850 columns in single precision; from 128 to 1024 the time is the same
_MANY = 4  # so many tiles at a time of a Gram matrix, whose sum is larger than they are,
_PART = 1280  # and so many rows at least for a sum of their own: 0.32 s for 0.39 s at 5620 rows, 3100 columns
_ROUNDINGS = 10  # in a column
_THREADED = 10**6  # entries from which rows are shared out to threads: half a millisecond of one product


class GatedDesign:
    r"""The columns :math:`A = [MF, Q]` of a gated network: n rows, N = P r penalized columns, and q free ones.

    Column (i, k) of F is :math:`D_iY_k`, with Y the rows in an orthonormal basis of the directions in which they vary,
    so that the norm of a block of N/P coefficients is that of the coefficients of its gate. With
    :math:`M = I - QQ^T` what biases explain is taken out, and predictions are A x for any x (N + q, C).

    ``problem``: any beta: nothing here depends on it, so that one design serves a whole path. ``most``: bytes up to
    which the columns are kept; beyond, every product makes their tiles anew. ``spare``: bytes of ``most`` that the
    columns leave. ``rounding`` (N,): the round-off of each column of F in A where Q explains it all. ``last``:
    what a solve along a path leaves to the next one.
    """

    def __init__(self, problem: GatedProblem, most: float) -> None:
        a = problem.map
        self.last: Any = None
        self._made_of = problem.X, a
        self._rows = dense_coordinates(a.unweighted)
        self._mask = a.patterns
        self.Q = a.Q
        self.n, self.P, self.r, self.q = a.n, a.n_patterns, a.d, int(a.Q.shape[1])
        self.N = self.P * self.r
        on_rows = a.gated_adjoint(a.Q) / a.weights[:, None, None]  # (r, P, q)
        self._explained = np.ascontiguousarray(on_rows.transpose(2, 1, 0).reshape(self.q, self.N))  # QᵀF
        sizes = np.sqrt(self._mask.astype(np.float64).T @ self._rows**2).ravel()
        self.rounding = _ROUNDINGS * float(np.finfo(np.float64).eps) * sizes
        self._noise = np.zeros(0, dtype=np.intp)
        self._kept: dict[Any, NDArray[Any]] = {}
        self._typed: dict[Any, tuple[NDArray[Any], ...]] = {}
        self.spare = most - self.bytes(problem)

    @staticmethod
    def bytes(problem: GatedProblem) -> float:
        """Return the bytes of the columns, in double and in single precision."""
        return float(12 * problem.n * (problem.map.d * problem.map.n_patterns + problem.map.Q.shape[1]))

    @staticmethod
    def tiles(columns: int) -> float:
        """Return the bytes of the tiles that are worked on at a time."""
        return float(8 * (2 * _MANY * _TILE + columns) * columns * cpu_count())

    def fits(self, problem: GatedProblem) -> bool:
        """Tell whether these are the columns of a problem: of its rows, its patterns and its unpenalized biases."""
        return problem.has_columns_of(*self._made_of)

    def forward(self, x: Array) -> Array:
        """Return A x, (n, C), in double precision."""
        f, times = np.empty((self.n, x.shape[1])), self._times(x, np.float64)

        def work(rows: slice) -> None:
            for tile in row_tiles(rows.stop, _TILE, rows.start):
                f[tile] = times(tile)

        for_each_part(work, self.n, least=self._least(), step=_TILE)
        return f

    def adjoint(self, R: Array) -> Array:
        """Return AᵀR, (N + q, C), in double precision."""
        adjoint = self._adjoint_of(np.float64)
        return self._summed(lambda tile: adjoint(tile, R[tile]))

    def turned(self, x: Array, turn: Callable[[slice, Any], Any], dtype: Any) -> Array:
        """Return Aᵀ turn(A x), in one pass in a precision; ``turn`` takes a slice of the rows and their predictions."""
        times, adjoint = self._times(x.astype(dtype), dtype), self._adjoint_of(dtype)
        return self._summed(lambda tile: adjoint(tile, turn(tile, times(tile))))

    def gram(self, weights: Array, dtype: Any) -> NDArray[Any]:
        """Return Aᵀ diag(weights) A, (N + q, N + q), in a precision; weights (n,) are ≥ 0."""
        roots = np.sqrt(weights).astype(dtype)[:, None]
        self._keep(dtype)

        def work(tile: slice) -> NDArray[Any]:
            some = np.flatnonzero(roots[tile])
            A = self._tile(tile, dtype)
            scaled = (A if len(some) == len(A) else A[some]) * roots[tile][some]
            return np.asarray(scaled.T @ scaled)  # one triangle is computed, which NumPy notices

        return self._summed(work, tile=_MANY * _TILE, least=_PART)

    def drop(self, columns: NDArray[np.intp]) -> None:
        """Take penalized columns for zero from now on."""
        self._noise = columns
        for kept in self._kept.values():
            kept[:, columns] = 0.0

    def blocks(self, x: Array) -> Array:
        """Return the penalized coefficients of x by gate, (P, r, C)."""
        return x[: self.N].reshape(self.P, self.r, x.shape[1])

    def squares(self, x: Array) -> Array:
        """Return the squared norm of the coefficients of each gate, (P,)."""
        U = self.blocks(x)
        return np.asarray(np.einsum("prc,prc->p", U, U))

    def coefficients(self, problem: GatedProblem, x: Array) -> Any:
        """Return x as coefficients and biases of the problem."""
        U = self.blocks(x).transpose(1, 0, 2) / problem.map.weights[:, None, None]
        free = x[self.N :] - self._explained @ x[: self.N]
        return problem.with_biases(U, *problem.map.biases_in(free))

    def variables(self, problem: GatedProblem, point: Point) -> Array:
        """Return the x of a point of the problem."""
        U = (point.U * problem.map.weights[:, None, None]).transpose(1, 0, 2)
        return np.concatenate([U.reshape(self.N, point.U.shape[2]), problem.map.sigma * point.c])

    @property
    def _factors(self) -> bool:
        """Whether products go by the rows and the patterns: with many biases these would lose digits."""
        return self.q <= 1 and not self._noise.size

    def _parts(self, dtype: Any) -> tuple[NDArray[Any], ...]:
        """Return rows, patterns, Q and QᵀF in a precision."""
        if dtype not in self._typed:
            parts = self._rows, self._mask, self.Q, self._explained
            self._typed[dtype] = tuple(part.astype(dtype, copy=False) for part in parts)
        return self._typed[dtype]

    def _times(self, x: NDArray[Any], dtype: Any) -> Callable[[slice], NDArray[Any]]:
        r"""Return the product A x on a tile: :math:`\sum_iD_i(YU_i)`, n r P C multiplications, without the columns."""
        if not self._factors:
            self._keep(dtype)
            return lambda tile: self._tile(tile, dtype) @ x
        rows, mask, Q, explained = self._parts(dtype)
        C = x.shape[1]
        U = self.blocks(x).transpose(1, 2, 0).reshape(self.r, C * self.P)
        free = x[self.N :] - explained @ x[: self.N]

        def times(tile: slice) -> NDArray[Any]:
            each = rows[tile] @ U
            each = each.reshape(len(each), C, self.P)
            return np.asarray(np.einsum("ncp,np->nc", each, mask[tile]) + Q[tile] @ free)

        return times

    def _adjoint_of(self, dtype: Any) -> Callable[[slice, NDArray[Any]], NDArray[Any]]:
        """Return the product AᵀR on a tile, likewise."""
        if not self._factors:
            self._keep(dtype)
            return lambda tile, R: np.asarray(self._tile(tile, dtype).T @ R)
        rows, mask, Q, explained = self._parts(dtype)

        def adjoint(tile: slice, R: NDArray[Any]) -> NDArray[Any]:
            each = (R[:, :, None] * mask[tile][:, None, :]).reshape(len(R), R.shape[1] * self.P)
            on_gates = (rows[tile].T @ each).reshape(self.r, R.shape[1], self.P).transpose(2, 0, 1)
            free = Q[tile].T @ R
            return np.concatenate([on_gates.reshape(self.N, R.shape[1]) - explained.T @ free, free])

        return adjoint

    def _summed(self, part: Callable[[slice], Any], tile: int = _TILE, least: int = 1) -> NDArray[Any]:
        """Sum new arrays over tiles of rows, in an order that their number alone decides."""

        def term(rows: slice) -> NDArray[Any]:
            first, *following = row_tiles(rows.stop, tile, rows.start)
            total: NDArray[Any] = part(first)
            for sums in following:
                total += part(sums)
            return total

        return sum_of_parts(term, self.n, least=max(least, self._least()), step=_TILE)

    def _least(self) -> int:
        return max(_TILE, -(-_THREADED // (self.N + self.q + 1)))

    def _tile(self, tile: slice, dtype: Any) -> NDArray[Any]:
        """Return the columns on some rows."""
        return self._kept[dtype][tile] if self.spare >= 0 else self._made(tile).astype(dtype, copy=False)

    def _keep(self, dtype: Any) -> None:
        """Make the columns in a precision, before threads share them."""
        if self.spare < 0 or dtype in self._kept:
            return
        whole = np.empty((self.n, self.N + self.q), dtype)

        def work(rows: slice) -> None:
            for tile in row_tiles(rows.stop, _TILE, rows.start):
                whole[tile] = self._made(tile)

        for_each_part(work, self.n, least=self._least(), step=_TILE)
        self._kept[dtype] = whole

    def _made(self, tile: slice) -> Array:
        rows, Q = self._rows[tile], self.Q[tile]
        F = (self._mask[tile, :, None] * rows[:, None, :]).reshape(len(rows), self.N)
        F -= Q @ self._explained
        F[:, self._noise] = 0.0
        return np.concatenate([F, Q], axis=1)
