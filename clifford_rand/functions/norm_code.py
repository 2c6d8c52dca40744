"""Norms of a batch, and rows divided by them, as one compiled function of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        self._divided = divided
        self._eps_of, self._range = eps_of, safe_range
        self.rows = Rented(self._write, 3 * len(self._squares))

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
