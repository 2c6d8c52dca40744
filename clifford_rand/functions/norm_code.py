"""Norms of a batch, and rows divided by them: one compiled function of rows, or NumPy with the same bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.kernels.ordered import LOOP_FROM, sum_of_rows, sum_of_squares
from clifford_rand.kernels.row_code import Rented, Writer
from clifford_rand.machine.compiled import Target


class NormCode:
    """√|Σ w a²| of rows, or the rows divided by it; it holds where no sum is out of range, nor the norm rounding."""

    def __init__(
        self,
        squares: NDArray[Any],
        divided: bool,
        eps_of: Callable[[np.dtype], float],
        safe_range: Callable[[np.dtype], tuple[float, float]],
    ) -> None:
        """``squares`` are the w, 1, -1 or 0; the units of rounding and the range are those of a dtype."""
        self._squares = squares.tolist()
        self._lengths = [row for row, sign in enumerate(self._squares) if sign]
        self._signs = None if bool(np.all(squares == 1)) else squares[self._lengths][:, None]
        self._divided = divided
        self._eps_of, self._range = eps_of, safe_range
        self._code = Rented(self._write, 3 * len(self._squares))

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any] | None:
        """Return the norms (1, N) of rows (K, N), or the rows divided by them; None where it does not hold in all."""
        function = self._code.function(rows.dtype, rows.shape[1])
        return self._by_numpy(rows) if function is None else function.all(rows)

    def _by_numpy(self, rows: NDArray[Any]) -> NDArray[Any] | None:
        """Return what the function of `_write` does, bit for bit."""
        low, high = self._range(rows.dtype)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            terms, found = self._two_sums(rows)
            if not (np.minimum.reduce(found) > low and np.maximum.reduce(terms) <= high):  # not of NaN
                return None
            if self._divided and not (found > terms * (16 * self._eps_of(rows.dtype))).all():
                return None
            size = np.sqrt(found)
            return np.asarray(rows * (1.0 / size)) if self._divided else size[None]

    def _two_sums(self, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return Σ a² and |Σ w a²|."""
        if self._signs is None or not self._lengths:
            terms = sum_of_squares(rows)
            return terms, terms if self._lengths else np.zeros_like(terms)
        n = rows.shape[1]
        if n < LOOP_FROM:
            squares = rows * rows
            signed = (squares if len(self._lengths) == len(rows) else squares[self._lengths]) * self._signs
            return sum_of_rows(squares), abs(sum_of_rows(signed))
        square, terms, found = np.empty(n, rows.dtype), np.zeros(n, rows.dtype), np.zeros(n, rows.dtype)
        for row, sign in zip(rows, self._squares, strict=True):  # 0 + a² is a², but for a -0 of which abs makes 0
            np.multiply(row, row, out=square)
            terms += square
            if sign:
                (np.add if sign > 0 else np.subtract)(found, square, out=found)
        return terms, abs(found)

    def _write(self, own: Target, dtype: np.dtype) -> Writer:
        code = Writer(own, dtype, len(self._squares))
        (rows,) = code.operands
        squared = [a * a for a in rows]
        terms, found = code.sum(squared), abs(code.sum(squared, self._squares))
        low, high = self._range(dtype)
        found.require_above(low)
        terms.require_at_most(high)
        if not self._divided:
            code.store(found.sqrt())
            return code
        found.require_above(terms * (16 * self._eps_of(dtype)))
        factor = 1.0 / found.sqrt()
        for row in rows:
            code.store(row * factor)
        return code
