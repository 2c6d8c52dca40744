"""Norms of a batch, and rows divided by them, as one function of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.compiler.rows import RowFunction, Rows, total
from clifford_rand.compiler.scalar import Trace, TracedScalar


class NormCode:
    """√|Σ w a²| of rows, or the rows divided by it; it holds where no sum is out of range, nor the norm round-off."""

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
        self._function = RowFunction(self._write, len(self._squares))

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any] | None:
        """Return the norms (1, N) of rows (K, N), or the rows divided by them; None where it does not hold in all."""
        return self._function.all(rows)

    def _write(self, trace: Trace, rows: Rows) -> list[TracedScalar]:
        squares = [a * a for a in rows]
        low, high = self._range(trace.precision)
        # Σ a² bounds the rounding of |Σ w a²|
        terms, size = (
            total(trace, squares),
            abs(total(trace, [a * w for a, w in zip(squares, self._squares, strict=True)])),
        )
        trace.require(size > low)
        trace.require(terms <= high)
        if not self._divided:
            return [size.sqrt()]
        trace.require(size > terms * (16 * self._eps_of(trace.precision)))
        factor = 1.0 / size.sqrt()
        return [row * factor for row in rows]
