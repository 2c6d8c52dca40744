"""Rows brought to a common size before a kernel sees them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.export.program import Value, apply, constant

SCALINGS = ("column", "soft", "common")
_CONSTANT = 64.0  # roundings of a column's largest entry: a deviation below is none
_SOFT = 3.0  # deviations, where "soft" turns from a line to a bound, as RealMLP does (Holzmüller et al., NeurIPS 2024)


class Standardisation(NamedTuple):
    r"""Rows less their mean, in units of a deviation: :math:`x\mapsto (x-\mathrm{mean})\circ\mathrm{rate}`.

    Attributes
    ----------
    mean : (d,)
    rate : (d,)
        One over the deviation of each column ("column"), or over that of all of them ("common"); 0 where a column is
        constant, so that it is left out.
    bound : float
        0, or b of :math:`x\mapsto x/\sqrt{1+(x/b)^2}` afterwards, which draws the tails of a column in ("soft").
    """

    mean: Array
    rate: Array
    bound: float = 0.0

    @classmethod
    def of(cls, X: NDArray[np.floating], scaling: str, weights: Array | None = None) -> "Standardisation":
        """Return what the rows X (n, d), with weights if they differ, say for one of `SCALINGS`."""
        largest = np.abs(X).max(axis=0).astype(np.float64)
        unit = np.where(largest > 0, largest, 1.0)
        inside = X / unit  # so that no square overflows
        mean = np.average(inside, axis=0, weights=weights)
        deviation = np.sqrt(np.average((inside - mean) ** 2, axis=0, weights=weights))
        varies = deviation > _CONSTANT * np.finfo(X.dtype).eps
        if scaling == "common" and varies.any():
            top = float(unit[varies].max())
            size = np.full(len(unit), top * np.sqrt(np.mean((deviation[varies] * (unit[varies] / top)) ** 2)))
        else:
            size = deviation * unit
        rate = np.divide(1.0, size, out=np.zeros_like(size), where=varies & (size > 0))
        return cls(mean * unit, np.where(np.isfinite(rate), rate, 0.0), _SOFT if scaling == "soft" else 0.0)

    def rows(self, X: NDArray[np.floating]) -> Array:
        """Return rows (n, d) as the kernel sees them."""
        out = np.asarray((X - self.mean) * self.rate, dtype=np.float64)
        if self.bound:
            out /= np.hypot(1.0, out / self.bound)
        return out

    def stated(self, X: Value) -> Value:
        """Return what `rows` does, as operations of a program."""
        if (self.mean == 0).all() and (self.rate == 1).all():
            z = X
        else:
            z = ((X - constant(self.mean, "mean")) * constant(self.rate, "rate")).named("z")
        if self.bound:
            inside = (z / self.bound).named("inside")
            z = (z / apply("sqrt", inside * inside + 1.0)).named("bounded")
        return z
