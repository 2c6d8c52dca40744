"""Standardization of rows before the kernel is computed."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from clifford_rand._checks import check_fits
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.export.program import Value, apply, beside, clipped, constant, maximum, roots
from clifford_rand_nn.kernel_network.normal_scores import (
    Scores,
    interpolate,
    ranks_of,
    slopes_of_scores,
    stated_scores,
    values_of_scores,
)
from clifford_rand_nn.sparse_rows import WIDE, ldexp_rows

SCALINGS = ("column", "soft", "common", "rank")
_CONSTANT = 64.0  # roundings of a column's largest entry: a deviation below is none
_FAR = 1e140  # deviations: of rows that are nothing like those of training, whose squares would overflow
_SOFT = 3.0  # deviations, where "soft" turns from a line to a bound, as RealMLP does (Holzmüller et al., NeurIPS 2024)
MOST = 8000  # rows up to which one decomposition of their products is made: 1.2e-10 n³ s, some ten n² numbers
_COPIES = 4  # of an array of columns and coordinates, while a model is written for another library
_BLOCK = 4096  # rows whose coordinates are made at a time


@short_repr
class Standardization(NamedTuple):
    r"""Rows less their mean, in units of a deviation: :math:`x\mapsto (x-\mathrm{mean})\circ\mathrm{rate}`.

    ``rate`` (d,): one over the deviation of each column ("column"), or over that of all of them ("common"); 0 where a
    column is constant, so that it is left out. ``bound``: 0, or b of :math:`x\mapsto x/\sqrt{1+(x/b)^2}` afterwards,
    which draws the tails of a column in ("soft"). With ``knots`` and ``scores`` (k, d) columns are mapped to normal
    scores of their ranks instead ("rank", `ranks_of`); mean and rate are then those of "column". With ``levels`` (k, d)
    the rows have as many columns more: the ranks of the values over the number of columns that vary, whose distances
    are the second part of a `GateKernel` with ``steps``.
    """

    mean: Array  # (d,)
    rate: Array
    bound: float = 0.0
    knots: Array | None = None
    scores: Array | None = None
    levels: Array | None = None

    @classmethod
    def of(cls, X: Any, scaling: str, weights: Array | None = None, levels: bool = False) -> "Standardization":
        """Return what the rows X (n, d), dense or CSR, with weights if they differ, say for one of `SCALINGS`.

        ``levels``: of dense rows, whether their ranks are columns, too.
        """
        if issparse(X):
            unit, mean, deviation = _sparse_moments(X, weights)
        else:
            largest = np.abs(X).max(axis=0).astype(np.float64)
            unit = np.where(largest > 0, largest, 1.0)
            inside = X / unit  # so that no square overflows
            mean = np.average(inside, axis=0, weights=weights)
            deviation = np.sqrt(np.average((inside - mean) ** 2, axis=0, weights=weights))
            deviation[(X[0] == X).all(axis=0)] = 0.0  # sums along columns round more than a few times
        varies = deviation > _CONSTANT * np.finfo(X.dtype).eps
        if scaling == "common" and varies.any():
            top = float(unit[varies].max())
            size = np.full(len(unit), top * np.sqrt(np.mean((deviation[varies] * (unit[varies] / top)) ** 2)))
        else:
            size = deviation * unit
        with np.errstate(over="ignore"):  # of denormal deviations, which are left out
            rate = np.divide(1.0, size, out=np.zeros_like(size), where=varies & (size > 0))
        rate = np.where(np.isfinite(rate), rate, 0.0)
        own = cls(mean * unit, rate, _SOFT if scaling == "soft" else 0.0)
        if not rate.any() or not (levels or scaling == "rank"):
            return own
        knots, scores, ranks = ranks_of(X, rate > 0, weights)
        return own._replace(
            knots=knots,
            scores=scores if scaling == "rank" else None,
            levels=ranks / np.count_nonzero(rate) if levels else None,
        )

    def rows(self, X: NDArray[np.floating]) -> Array:
        """Return rows (n, width) as the kernel sees them."""
        if self._levels is not None:
            return np.hstack([self.without_levels.rows(X), interpolate(self._levels, X)])
        if self._scores is not None:
            return interpolate(self._scores, X)
        # in one order, whatever that of X is, so that products of it are the same to the last bit
        with np.errstate(over="ignore"):
            out = np.ascontiguousarray((X - self.mean) * self.rate, dtype=np.float64)
        np.clip(out, -_FAR, _FAR, out=out)
        if self.bound:
            out /= np.hypot(1.0, out / self.bound)
        return out

    def stated(self, X: Value, clips: bool = True) -> Value:
        """Return what `rows` does, as operations of a program; a network of neurons clips no far entries."""
        if self._levels is not None:
            levels = stated_scores(self._levels, X, "levels")
            return beside([self.without_levels.stated(X, clips), levels]).named("rows")
        if self._scores is not None:
            return stated_scores(self._scores, X)
        if (self.mean == 0).all() and (self.rate == 1).all():
            z = X
        else:
            z = (X - constant(self.mean, "mean")) * constant(self.rate, "rate")
        z = clipped(z, _FAR).named("z") if clips else z
        if self.bound:
            inside = (z / self.bound).named("inside")
            z = (z / apply("sqrt", inside * inside + 1.0)).named("bounded")
        return z

    def slopes(self, X: NDArray[np.floating]) -> Array:
        r"""Return the derivatives (n, d) of `rows` by column, with a bound :math:`(1+(u/b)^2)^{-3/2}` times rate.

        They are those of the first d columns; `level_slopes` has those of the levels.
        """
        if self._scores is not None:
            return np.asarray(slopes_of_scores(self._scores, X).mean(axis=0))
        if not self.bound:
            return np.asarray(np.broadcast_to(self.rate, X.shape))
        inside = (X - self.mean) * self.rate / self.bound
        return np.asarray(self.rate * np.hypot(1.0, inside) ** -3)

    def level_slopes(self, X: NDArray[np.floating]) -> Array:
        """Return the derivatives (2, n, d) of the levels by column, on both sides."""
        assert self._levels is not None
        return slopes_of_scores(self._levels, X)

    def inverse(self, rows: Array) -> Array:
        """Return rows X (n, d) that `rows` maps to these."""
        if self.levels is not None:
            return self.without_levels.inverse(rows[:, : len(self.mean)])
        if self._scores is not None:
            return values_of_scores(self._scores, rows)
        if self.bound:
            rows = rows / np.sqrt(np.maximum(1 - (rows / self.bound) ** 2, np.finfo(float).tiny))
        return np.asarray(self.mean + np.divide(rows, self.rate, out=np.zeros_like(rows), where=self.rate > 0))

    @property
    def is_affine(self) -> bool:
        """Whether `rows` is affine, but for its clipping of far entries."""
        return not self.bound and self.scores is None and self.levels is None

    @property
    def _scores(self) -> Scores | None:
        return None if self.knots is None or self.scores is None else Scores(self.knots, self.scores)

    @property
    def _levels(self) -> Scores | None:
        return None if self.knots is None or self.levels is None else Scores(self.knots, self.levels)

    @property
    def without_levels(self) -> "Standardization":
        """The first d columns of what this makes."""
        return self._replace(knots=self.knots if self.scores is not None else None, levels=None)

    @property
    def width(self) -> int:
        """Number of columns of the rows that come out."""
        return len(self.mean) * (1 if self.levels is None else 2)

    def take(self, columns: NDArray[Any]) -> "Standardization":
        """Return that of some columns, which are not ranked."""
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


def is_wide(n: int, d: int) -> bool:
    """Whether columns are so many beside n rows that nothing may have a number for each two: d > n, and large.

    >>> is_wide(2000, 30_000), is_wide(2000, 500), is_wide(40_000, 30_000)
    (True, False, False)
    """
    return d > max(n, WIDE)


def by_products(n: int, d: int) -> bool:
    """Whether n rows of d columns are known by their products: they are wide, and not too many for it.

    >>> by_products(2000, 30_000), by_products(9000, 30_000)
    (True, False)
    """
    return is_wide(n, d) and n <= MOST


class _Parts(NamedTuple):
    r"""Standardized rows as :math:`[D,\ S+1v^T]`: some columns dense, the others a row v where X is zero."""

    dense: Array
    sparse: Any
    shift: Array

    def squares(self) -> Array:
        """Squared lengths of the rows."""
        out = np.einsum("ij,ij->i", self.dense, self.dense)
        if self.sparse is not None:
            out += self.sparse.multiply(self.sparse).sum(axis=1) + 2 * (self.sparse @ self.shift)
            out += self.shift @ self.shift
        return np.asarray(out)

    def products(self, other: "_Parts") -> Array:
        """Products of the rows with others."""
        out = self.dense @ other.dense.T
        if self.sparse is not None:
            out += (self.sparse @ other.sparse.T).toarray()
            out += (self.sparse @ self.shift)[:, None] + (other.sparse @ self.shift) + self.shift @ self.shift
        return np.asarray(out)


@dataclass(frozen=True, eq=False)
class RowSpan:
    r"""Standardized rows in an orthonormal basis of the span of the m training rows, and how far they are from it.

    .. math:: x\mapsto\big(t,\ \sqrt{|s|^2-|t|^2}\big),\qquad t=W^TSs,\quad W=V\Lambda^{-1/2},\quad SS^T=V\Lambda V^T,

    with s the row x as `Standardization` makes it and S the training rows (m, d). Lengths, products with training rows
    and angles to them are those of s, so that every kernel of products is the same; and no row is ever made dense:
    :math:`SS^T` comes from products of sparse rows and sums of columns, for what is not stored is the same number
    :math:`s(0)_j` in all rows. A network's gradients at the training rows are in their span, and so is the law of gates
    that are learned from them.
    """

    standard: Standardization
    base: Any  # (m, d), raw training rows
    whiten: Array  # (m, r), W, r the rank of S

    @classmethod
    def of(cls, X: Any, scaling: str, weights: Array | None = None) -> tuple["RowSpan", Array]:
        """Return the span of rows X (m, d), scaled as one of `SCALINGS` says, and their coordinates (m, r + 1)."""
        standard = Standardization.of(X, scaling, weights)
        base = cls(standard, X, np.zeros((X.shape[0], 0)))
        products = base.parts(X).products(base.training_parts)
        values, vectors = np.linalg.eigh((products + products.T) / 2)
        kept = values > len(values) * np.finfo(np.float64).eps * max(values[-1], 0.0)
        lengths, V = np.sqrt(values[kept]), vectors[:, kept]
        return cls(standard, X, V / lengths), np.column_stack([V * lengths, np.zeros(len(V))])

    @property
    def mean(self) -> Array:
        """Of the columns."""
        return self.standard.mean

    @property
    def rate(self) -> Array:
        """Of the columns."""
        return self.standard.rate

    @property
    def bound(self) -> float:
        """Of all columns."""
        return self.standard.bound

    @property
    def width(self) -> int:
        """Number of coordinates, r + 1."""
        return int(self.whiten.shape[1]) + 1

    def rows(self, X: Any) -> Array:
        """Return the coordinates (n, r + 1) of rows X (n, d), dense or sparse."""
        out = np.empty((X.shape[0], self.width))
        for start in range(0, len(out), _BLOCK):
            parts = self.parts(X[start : start + _BLOCK])
            t = parts.products(self.training_parts) @ self.whiten
            beside = np.sqrt(np.maximum(parts.squares() - np.einsum("ij,ij->i", t, t), 0.0))
            out[start : start + _BLOCK] = np.column_stack([t, beside])
        return out

    def combined(self, weights: Array) -> Array:
        """Return combinations of the standardized training rows, weights (k, m) times S, (k, d)."""
        of = self.training_parts
        out = np.empty((len(weights), len(self.mean)))
        out[:, self._often] = weights @ of.dense
        if of.sparse is not None:
            out[:, ~self._often] = (of.sparse.T @ weights.T).T + weights.sum(axis=1)[:, None] * of.shift
        return out

    def stated(self, X: Value) -> Value:
        r"""Return what `rows` does, as operations of a program, whose rows are dense: :math:`t=sA`, A = SᵀW.

        Raises ArgumentError: the machine has no memory for A, with a number for each column and coordinate.
        """
        d, r = len(self.mean), self.width - 1
        check_fits(_COPIES * 8 * d * (r + 1), "model", "export", hint="Fit it to fewer columns or rows.")
        across = np.zeros((d, r + 1))
        across[:, :r] = self.combined(self.whiten.T).T
        s = self.standard.stated(X)
        t = (s @ constant(across, "across")).named("t")
        beside = roots(maximum(apply("row_sums", s * s) - apply("row_sums", t * t), 0.0)).named("beside")
        return t + beside * constant(np.arange(r + 1) == r, "last")

    def scaled(self, exponent: int) -> "RowSpan":
        r"""Return the same for rows :math:`2^x` times as large."""
        s = self.standard._replace(mean=np.ldexp(self.mean, exponent), rate=np.ldexp(self.rate, -exponent))
        return RowSpan(s, ldexp_rows(self.base, exponent), self.whiten)

    @cached_property
    def _often(self) -> NDArray[np.bool_]:
        """Columns that are not zero in half of the training rows, where a difference from s(0) would cancel digits."""
        if not issparse(self.base):
            return np.ones(self.base.shape[1], dtype=bool)
        return np.asarray(np.bincount(self.base.indices, minlength=self.base.shape[1]) > self.base.shape[0] / 2)

    @cached_property
    def training_parts(self) -> _Parts:
        """`parts` of the training rows."""
        return self.parts(self.base)

    def parts(self, X: Any) -> _Parts:
        """Return standardized rows; of sparse ones the dense and the sparse columns apart."""
        if not issparse(self.base):
            return _Parts(self.standard.rows(X.toarray() if issparse(X) else X), None, np.zeros(0))
        often, X = self._often, csr_array(X)
        return _Parts(
            self.standard.take(often).rows(X[:, often].toarray()), *self.standard.take(~often).sparse_rows(X[:, ~often])
        )
