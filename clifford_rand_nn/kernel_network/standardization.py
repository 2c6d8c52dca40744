"""Standardization of rows before the kernel is computed."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from clifford_rand._typing import Array
from clifford_rand_nn.export.program import Value, apply, clipped, constant

SCALINGS = ("column", "soft", "common")
_CONSTANT = 64.0  # roundings of a column's largest entry: a deviation below is none
_FAR = 1e140  # deviations: of rows that are nothing like those of training, whose squares would overflow
_SOFT = 3.0  # deviations, where "soft" turns from a line to a bound, as RealMLP does (Holzmüller et al., NeurIPS 2024)


class Standardization(NamedTuple):
    r"""Rows less their mean, in units of a deviation: :math:`x\mapsto (x-\mathrm{mean})\circ\mathrm{rate}`.

    ``mean`` (d,). ``rate`` (d,): one over the deviation of each column ("column"), or over that of all of them
    ("common"); 0 where a column is constant, so that it is left out. ``bound``: 0, or b of :math:`x\mapsto
    x/\sqrt{1+(x/b)^2}` afterwards, which draws the tails of a column in ("soft").
    """

    mean: Array
    rate: Array
    bound: float = 0.0

    @classmethod
    def of(cls, X: Any, scaling: str, weights: Array | None = None) -> "Standardization":
        """Return what the rows X (n, d), dense or CSR, with weights if they differ, say for one of `SCALINGS`."""
        if issparse(X):
            unit, mean, deviation = _sparse_moments(X, weights)
        else:
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
        with np.errstate(over="ignore"):  # of denormal deviations, which are left out
            rate = np.divide(1.0, size, out=np.zeros_like(size), where=varies & (size > 0))
        return cls(mean * unit, np.where(np.isfinite(rate), rate, 0.0), _SOFT if scaling == "soft" else 0.0)

    def rows(self, X: NDArray[np.floating]) -> Array:
        """Return rows (n, d) as the kernel sees them."""
        # in one order, whatever that of X is, so that products of it are the same to the last bit
        with np.errstate(over="ignore"):
            out = np.ascontiguousarray((X - self.mean) * self.rate, dtype=np.float64)
        np.clip(out, -_FAR, _FAR, out=out)
        if self.bound:
            out /= np.hypot(1.0, out / self.bound)
        return out

    def stated(self, X: Value, clips: bool = True) -> Value:
        """Return what `rows` does, as operations of a program; a network of neurons clips no far entries."""
        if (self.mean == 0).all() and (self.rate == 1).all():
            z = X
        else:
            z = (X - constant(self.mean, "mean")) * constant(self.rate, "rate")
        z = clipped(z, _FAR).named("z") if clips else z
        if self.bound:
            inside = (z / self.bound).named("inside")
            z = (z / apply("sqrt", inside * inside + 1.0)).named("bounded")
        return z

    @property
    def width(self) -> int:
        """Number of columns of the rows that come out."""
        return len(self.mean)

    def take(self, columns: NDArray[Any]) -> "Standardization":
        """Return that of some columns."""
        return self._replace(mean=self.mean[columns], rate=self.rate[columns])

    def sparse_rows(self, X: Any) -> tuple[Any, Array]:
        """Return S and v, whose sum in every row is what `rows` makes of CSR X: S is zero where X is."""
        v = self.rows(np.zeros((1, X.shape[1])))[0]
        S = X.astype(np.float64)
        at = S.indices
        if self.bound:
            z = (S.data - self.mean[at]) * self.rate[at]
            S.data = z / np.hypot(1.0, z / self.bound) - v[at]
        else:
            S.data = S.data * self.rate[at]
        return S, v


def _sparse_moments(X: Any, weights: Array | None) -> tuple[Array, Array, Array]:
    """Return unit, and mean and deviation in units, of the columns of CSR rows, without any cancellation."""
    n, d = X.shape
    at, values = X.indices, np.asarray(X.data, dtype=np.float64)
    w = np.ones(n) if weights is None else weights
    share = np.repeat(w / w.sum(), np.diff(X.indptr))
    unit = np.zeros(d)
    np.maximum.at(unit, at, np.abs(values))
    unit[unit == 0] = 1.0
    inside = values / unit[at]
    mean: Array = np.bincount(at, share * inside, d).astype(np.float64)
    stored = np.minimum(np.bincount(at, share, d), 1.0)
    square = np.bincount(at, share * (inside - mean[at]) ** 2, d) + (1 - stored) * mean**2
    return unit, mean, np.sqrt(square)
