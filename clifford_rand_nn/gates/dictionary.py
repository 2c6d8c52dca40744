"""The dictionary of all neurons whose hyperplanes are spanned by the data: its columns by blocks, or all at once."""

import copy
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from clifford_rand._checks import (
    as_generator,
    as_rows,
    check_bool,
    check_choice,
    check_fits,
    check_integer,
    check_positive,
    describe,
    fail,
)
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.crossproduct.subsets import subsets_of_ranks
from clifford_rand_nn.gates.subsets import (
    Draw,
    about,
    count_subsets,
    distinct,
    draw_subsets,
    row_space,
    spanned_planes,
)
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.sparse_rows import distinct_rows

_BLOCK = 2**15  # neurons made at a time when all are wanted
_MOST_BYTES = 2 * 2**30  # that `neurons` and `matrix` take unless another limit is given
_MOST_RANKS = 2**62  # subsets are numbered by int64
_ZERO = 64 * float(np.finfo(np.float64).eps)  # rounding of x·v + b, relative to max|x| |v|_1 + |b|


class _Kept(NamedTuple):
    neurons: Neurons
    n_duplicates: int
    n_zero: int


class CrossProductDictionary:
    r"""Neurons :math:`(x^Tv+b)_+` with hyperplanes spanned by rows of X, or of [X; I]; see `cross_product_dictionary`.

    Nothing is computed before it is asked for. Columns come in pairs: 2j is (v, b) and 2j + 1 is (-v, -b); the pairs
    in revolving-door order of their subsets, dependent ones left out. Of rows that are equal the first one counts.

    ``X`` (n, d). ``penalty`` {"l1", "l2"}: directions have norm 1 in it. ``family`` {"mixed", "rows"}: subsets of the
    rows of [X; I] or of X. ``subsample``: number of subsets, if not all. ``notes``: what was done differently from what
    was asked. Raises ArgumentError: a parameter breaks its rule.
    """

    def __init__(
        self,
        X: Array,
        *,
        penalty: str,
        bias: bool,
        family: str,
        rtol: float | None = None,
        draw: Draw | None = None,
    ) -> None:
        owner = "CrossProductDictionary"
        self.X = X = as_rows(X, owner)
        self.penalty = check_choice(penalty, "penalty", owner, ("l1", "l2"))
        self.bias = bias = check_bool(bias, "bias", owner)
        self.family = family = check_choice(family, "family", owner, ("mixed", "rows"))
        self._rtol = rtol
        rows = distinct_rows(X)
        self._rank, self._varying, basis = row_space(X[rows], bias)
        # Planes are spanned in coordinates of the rows: those that vary, or of the row space where these are dependent.
        self._basis = basis if family == "rows" else None
        self._Z = np.ascontiguousarray(X[:, self._varying]) if self._basis is None else X @ self._basis
        self._subsets: NDArray[np.int64] | None = None
        basis_places = len(X) + np.arange(self._Z.shape[1])
        self._n_distinct, self._places = len(rows), np.append(np.sort(rows), basis_places)  # of which subsets are taken
        self.notes: tuple[str, ...] = ()
        if draw is not None and not self.n_subsets:
            self._subsets, self.notes = np.zeros((0, 0), dtype=np.int64), ("the rows are all alike",)
        elif draw is not None:
            drawn, self.notes = draw_subsets(self._Z[rows], draw, family, bias, self._rank, rtol)
            self._subsets = np.append(rows, basis_places)[drawn]
        self.subsample = None if self._subsets is None else len(self._subsets)

    @property
    def p(self) -> int:
        """1 or 2, the norm of the penalty."""
        return 1 if self.penalty == "l1" else 2

    @property
    def is_exact(self) -> bool:
        """Whether the Lasso over this dictionary has the optimum of the network: the whole mixed family, with "l1"."""
        return self.penalty == "l1" and self.family == "mixed" and self.subsample is None

    @property
    def n_subsets(self) -> int:
        """Number of subsets, dependent ones included."""
        if self._subsets is not None:
            return len(self._subsets)
        r = self._Z.shape[1]
        return count_subsets(self._n_distinct, r, self.family, self.bias) if r else 0

    @property
    def n_columns(self) -> int:
        """Number of columns, two a subset; dependent subsets, which have none, and repeated columns are counted."""
        return 2 * self.n_subsets

    def scaled(self, exponent: int) -> "CrossProductDictionary":
        """Return the same subsets of the rows times 2^exponent."""
        dictionary = copy.copy(self)
        dictionary.X, dictionary._Z = np.ldexp(self.X, exponent), np.ldexp(self._Z, exponent)
        dictionary.__dict__.pop("_kept", None)
        return dictionary

    def blocks(self, size: int) -> Iterator[Neurons]:
        """Return all the neurons, at most ``size`` ≥ 2 at a time; no more than that is in memory.

        Raises ArgumentError: there are 2^62 subsets or more.
        """
        half = check_integer(size, "size", "blocks", low=2, hint="Columns come in pairs.") // 2
        if self._subsets is None and self.n_subsets >= _MOST_RANKS:
            rule = "such that there are fewer than 2^62 subsets"
            value = describe(f"{about(self.n_subsets)} subsets")
            raise fail("X", "blocks", rule, value, "Draw some of them with subsample=….")
        return self._blocks(half)

    def _blocks(self, half: int) -> Iterator[Neurons]:
        n, r = self._n_distinct, self._Z.shape[1]
        k = r - 1 + self.bias
        n_rows = n if self.family == "rows" else n + r
        total = self.n_subsets + int(self._subsets is None and self.bias and self.family == "mixed")
        for start in range(0, total if self.n_subsets else 0, half):
            if self._subsets is None:
                subsets = self._places[subsets_of_ranks(n_rows, k, start, min(start + half, total))]
            else:
                subsets = self._subsets[start : start + half]
            v, b, exist = spanned_planes(self._Z, subsets, self.bias, self.p, self._rtol)
            if exist.any():
                sign = np.tile([1.0, -1.0], np.count_nonzero(exist))
                V, b = self._in_columns(v[exist], b[exist])
                yield Neurons(
                    np.ascontiguousarray(np.repeat(V, 2, axis=0).T * sign) + 0.0,  # + 0.0 turns -0 to 0
                    np.repeat(b, 2) * sign + 0.0,
                    np.repeat(self._rows_of(subsets[exist]), 2, axis=0).astype(np.intp),
                )

    def _in_columns(self, v: Array, b: Array) -> tuple[Array, Array]:
        """Return planes in coordinates as directions (m, d) of norm 1 in the columns of X, and offsets."""
        if self._basis is None:
            V = np.zeros((len(v), self.X.shape[1]))
            V[:, self._varying] = v
            return V, b
        V = np.einsum("mr,dr->md", v, self._basis)  # row by row: the same in blocks of any size
        norms = np.linalg.norm(V, ord=self.p, axis=1)
        return V / norms[:, None], b / norms

    def _rows_of(self, subsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return subsets as rows of [X; I]: of columns that do not vary, the basis vectors are in all of them."""
        n, d = self.X.shape
        if self.family == "rows" or self._varying.size == d:
            return subsets
        places = np.concatenate([np.arange(n), n + self._varying])
        fixed = n + np.setdiff1d(np.arange(d), self._varying)
        return np.sort(np.concatenate([places[subsets], np.tile(fixed, (len(subsets), 1))], axis=1), axis=1)

    def neurons(self, max_bytes: int = _MOST_BYTES) -> Neurons:
        """Return all the neurons, each once, without those that are 0 on every row; kept for the next call.

        Raises ArgumentError: they would take more than ``max_bytes``.
        """
        d = self.X.shape[1]
        self._check_bytes((2 * d + 1) * 8 * self.n_columns, max_bytes, "neurons")
        return self._kept.neurons

    def matrix(self, max_bytes: int = _MOST_BYTES) -> Array:
        """Return the columns of `neurons` on X, (n, N), in the same order.

        Raises ArgumentError: the matrix of all columns would take more than ``max_bytes``.
        """
        self._check_bytes(len(self.X) * 8 * self.n_columns, max_bytes, "matrix")
        return self.neurons(max_bytes).training_columns(self.X)

    @property
    def rows(self) -> NDArray[np.intp]:
        """Rows of [X; I] that span each of `neurons`, (N, k): below n a row of X, n + i the basis vector e_i."""
        return self.neurons().rows

    @property
    def n_duplicates(self) -> int:
        """Number of columns that `neurons` left out because they occur before."""
        return self._kept.n_duplicates

    @property
    def n_zero(self) -> int:
        """Number of columns that `neurons` left out because no row is strictly inside."""
        return self._kept.n_zero

    @cached_property
    def _kept(self) -> _Kept:
        parts = []
        n_all = n_inside = 0
        largest = float(np.abs(self.X).max())
        for block in self.blocks(_BLOCK):
            rounding = _ZERO * (largest * block.norms(1) + np.abs(block.offsets))
            inside = block.training_columns(self.X).max(axis=0) > rounding
            n_all, n_inside = n_all + len(block), n_inside + int(np.count_nonzero(inside))
            parts.append(block.take(inside))
        if not parts:
            return _Kept(Neurons.free(np.zeros((self.X.shape[1], 0)), np.zeros(0)), 0, 0)
        neurons = Neurons.joined(parts)
        first = distinct(neurons.directions, neurons.offsets, self.X)
        return _Kept(neurons.take(first), n_inside - len(first), n_all - n_inside)

    def _check_bytes(self, needed: int, most: int, owner: str) -> None:
        check_integer(most, "max_bytes", owner)
        if needed > most:
            value = describe(f"{about(needed)} bytes for {about(self.n_columns)} columns, max_bytes = {most:,}")
            hint = "Use blocks or BlockPricer, which hold one block, or draw some with subsample=…."
            raise fail("X", owner, "such that the dictionary fits in max_bytes", value, hint)

    def __repr__(self) -> str:
        n, d = self.X.shape
        k = (d if self.family == "mixed" else self._Z.shape[1]) - 1 + self.bias
        of = "[X; I]" if self.family == "mixed" else "X"
        some = "all" if self.subsample is None else f"{self.subsample:,}"
        least = ", at least one of them data" if self.bias and self.family == "mixed" else ""
        notes = f", notes={list(self.notes)}" if self.notes else ""
        return (
            f"CrossProductDictionary({about(self.n_columns)} columns: ± the hyperplanes through {some} subsets of {k} "
            f"rows of {of}{least}; n={n}, d={d}, bias={self.bias}, penalty={self.penalty!r}, "
            f"{'exact' if self.is_exact else 'not exact'}{notes})"
        )


def cross_product_dictionary(
    X: ArrayLike,
    penalty: str = "l1",
    *,
    bias: bool = True,
    family: str | None = None,
    subsample: int | None = None,
    random_state: np.random.Generator | int | None = None,
    rtol: float | None = None,
    sparse_first: bool = False,
    max_time: float | None = None,
) -> CrossProductDictionary:
    r"""Return the neurons whose hyperplanes are spanned by rows of the data, both sides of each.

    Without bias v = ±×(d-1 rows). With bias (not penalized, next to a free output intercept) v = ±×(differences of m
    data rows to the last of them, and d-m basis vectors), :math:`b = -v^Tx_{j_m}`, m ≥ 1. ||v|| = 1 in the norm of the
    penalty.

    With "l1" the Lasso over the mixed family has the optimum of the two-layer ReLU network with per-neuron l1 norms,
    for any X: rank-deficient, n < d, duplicates. With "l2" no finite dictionary has; the family of rows of X bounds it.
    Columns that are zero, with bias constant, have weight 0 in every v; where the others are dependent, the planes of
    the family of rows are spanned in the r-dimensional space of the rows.

    Parameters
    ----------
    X : (n, d) array
    penalty : {"l1", "l2"}
    bias : bool
    family : {"mixed", "rows"} or None
        "mixed": the rows of [X; I], :math:`2\binom{n+d}{d-1}` columns, with bias :math:`2\binom{n+d}{d}-2`. "rows":
        the rows of X, :math:`2\binom{n}{d-1}` or :math:`2\binom{n}{d}`. None: "mixed" for "l1", "rows" for "l2". n is
        the number of distinct rows, d the number of columns that vary, or the rank r.
    subsample : int or None
        Use that many distinct random subsets, so twice as many columns. Dependent subsets are drawn again. They are
        subsets of the distinct rows in lexicographic order: neither the order of rows nor duplicates change them.
    random_state : Generator, int or None
        For ``subsample``.
    rtol : float or None
        Relative pivot size up to which rows count as dependent, see `clifford_rand.cross`.
    sparse_first : bool
        Draw the subsets of the mixed family by their number of data rows instead of uniformly: without bias first those
        of basis vectors alone, which are the columns of X, where they are at most half of all; then half with one row
        of data, a quarter with two, and so on. m rows give a neuron with weights on m + 1 columns, with bias m.
    max_time : float or None
        Seconds after which no more subsets are drawn; one at least is, and ``notes`` say how many are left out.

    Raises
    ------
    ArgumentError
        X is not a finite (n, d) array, or another argument breaks its rule.

    References
    ----------
    Wang et al., "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024, arXiv:2406.02806, Section 3.2,
    prints the family of rows. It is equivalent to the network only with the basis vectors added and the l1 norm.

    Examples
    --------
    >>> dictionary = cross_product_dictionary(np.array([[0.0], [1.0], [3.0]]))
    >>> dictionary.n_columns, dictionary.is_exact
    (6, True)
    >>> dictionary.matrix()
    array([[0., 0., 1., 3.],
           [1., 0., 0., 2.],
           [3., 2., 0., 0.]])
    """
    owner = "cross_product_dictionary"
    data = as_rows(X, owner)
    check_choice(penalty, "penalty", owner, ("l1", "l2"))
    check_choice(bias, "bias", owner, (True, False))
    check_choice(family, "family", owner, ("mixed", "rows", None))
    kind = family or ("mixed" if penalty == "l1" else "rows")
    if subsample is not None:
        wanted = min(check_integer(subsample, "subsample", owner), count_subsets(len(data), data.shape[1], kind, bias))
        check_fits(32 * wanted * data.shape[1], "subsample", owner, hint="Take fewer subsets.")
    generator = as_generator(random_state, owner, "random_state")
    sparse_first = check_bool(sparse_first, "sparse_first", owner)
    if max_time is not None:
        check_positive(max_time, "max_time", owner)
    draw = None if subsample is None else Draw(subsample, generator, sparse_first, max_time)
    return CrossProductDictionary(data, penalty=penalty, bias=bias, family=kind, rtol=rtol, draw=draw)
