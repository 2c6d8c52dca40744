"""The dictionary of all neurons whose hyperplanes are spanned by the data: its columns by blocks, or all at once."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_generator, as_rows, check_choice, check_integer, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand.crossproduct.revolving import subsets_of_ranks
from clifford_rand_nn.dictionaries.distinct import distinct
from clifford_rand_nn.dictionaries.subsets import count_subsets, draw_subsets, spanned_planes
from clifford_rand_nn.gates.sampling import distinct_rows
from clifford_rand_nn.neurons import Neurons

__all__ = ["CrossProductDictionary", "cross_product_dictionary"]

Array = NDArray[np.float64]

_BLOCK = 2**15  # neurons made at a time when all are wanted
_MOST_BYTES = 2 * 2**30  # that `neurons` and `matrix` take unless told otherwise
_MOST_RANKS = 2**62  # subsets are numbered by int64
_ZERO = 64 * float(np.finfo(np.float64).eps)  # rounding of x·v + b, relative to max|x| |v|_1 + |b|


class _Kept(NamedTuple):
    neurons: Neurons
    n_duplicates: int
    n_zero: int


class CrossProductDictionary:
    r"""Neurons :math:`(x^Tv+b)_+` with hyperplanes spanned by rows of X, or of [X; I]; see `cross_product_dictionary`.

    Nothing is computed before it is asked for. Columns come in pairs: 2j is (v, b) and 2j + 1 is (-v, -b); the pairs
    in revolving-door order of their subsets, dependent ones left out.

    Attributes
    ----------
    X : (n, d) float64
    penalty : {"l1", "l2"}
        Directions have norm 1 in it.
    bias : bool
    family : {"mixed", "rows"}
        Subsets of the rows of [X; I] or of X.
    subsample : int or None
        Number of subsets, if not all.
    notes : tuple of str
        What was done differently from what was asked.
    """

    def __init__(
        self,
        X: Array,
        *,
        penalty: str,
        bias: bool,
        family: str,
        rtol: float | None,
        subsets: NDArray[np.int64] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.X, self.penalty, self.bias, self.family, self.notes = X, penalty, bias, family, notes
        self._rtol, self._subsets = rtol, subsets
        self.subsample = None if subsets is None else len(subsets)

    @property
    def p(self) -> int:
        """1 or 2, the norm of the penalty."""
        return 1 if self.penalty == "l1" else 2

    @property
    def exact(self) -> bool:
        """Whether the Lasso over this dictionary has the optimum of the network: the whole mixed family, with "l1"."""
        return self.penalty == "l1" and self.family == "mixed" and self.subsample is None

    @property
    def n_subsets(self) -> int:
        """Number of subsets, dependent ones included."""
        n, d = self.X.shape
        return count_subsets(n, d, self.family, self.bias) if self.subsample is None else self.subsample

    @property
    def n_columns(self) -> int:
        """Number of columns, two a subset; dependent subsets, which have none, and repeated columns are counted."""
        return 2 * self.n_subsets

    def blocks(self, size: int) -> Iterator[Neurons]:
        """Return all the neurons, at most ``size`` ≥ 2 at a time; no more than that is in memory.

        Raises
        ------
        ArgumentError
            There are 2^62 subsets or more.
        """
        half = check_integer(size, "size", "blocks", low=2, hint="Columns come in pairs.") // 2
        if self._subsets is None and self.n_subsets >= _MOST_RANKS:
            rule = "such that there are fewer than 2^62 subsets"
            value = describe(f"{float(self.n_subsets):.3g} subsets")
            raise fail("X", "blocks", rule, value, "Draw some of them with subsample=….")
        return self._blocks(half)

    def _blocks(self, half: int) -> Iterator[Neurons]:
        n, d = self.X.shape
        k = d - 1 + self.bias
        n_rows = n if self.family == "rows" else n + d
        total = count_subsets(n, d, self.family, self.bias) + int(self.bias and self.family == "mixed")
        for start in range(0, total if self._subsets is None else len(self._subsets), half):
            if self._subsets is None:
                subsets = subsets_of_ranks(n_rows, k, start, min(start + half, total))
            else:
                subsets = self._subsets[start : start + half]
            V, b, exist = spanned_planes(self.X, subsets, self.bias, self.p, self._rtol)
            if exist.any():
                sign = np.tile([1.0, -1.0], np.count_nonzero(exist))
                yield Neurons(
                    np.ascontiguousarray(np.repeat(V[exist], 2, axis=0).T * sign) + 0.0,  # + 0.0 turns -0 to 0
                    np.repeat(b[exist], 2) * sign + 0.0,
                    np.repeat(subsets[exist], 2, axis=0).astype(np.intp),
                )

    def neurons(self, max_bytes: int = _MOST_BYTES) -> Neurons:
        """Return all the neurons, each once, without those that are 0 on every row; kept for the next call.

        Raises
        ------
        ArgumentError
            They would take more than ``max_bytes``.
        """
        d = self.X.shape[1]
        self._check_bytes((2 * d + 1) * 8 * self.n_columns, max_bytes, "neurons")
        return self._kept.neurons

    def matrix(self, max_bytes: int = _MOST_BYTES) -> Array:
        """Return the columns of `neurons` on X, (n, N), in the same order.

        Raises
        ------
        ArgumentError
            The matrix of all columns would take more than ``max_bytes``.
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
            d = self.X.shape[1]
            return _Kept(Neurons(np.zeros((d, 0)), np.zeros(0), np.zeros((0, d - 1 + self.bias), dtype=np.intp)), 0, 0)
        neurons = Neurons.joined(parts)
        first = distinct(neurons.directions, neurons.offsets, self.X)
        return _Kept(neurons.take(first), n_inside - len(first), n_all - n_inside)

    def _check_bytes(self, needed: int, most: int, owner: str) -> None:
        check_integer(most, "max_bytes", owner)
        if needed > most:
            value = describe(f"{needed:,} bytes for {self.n_columns:,} columns, max_bytes = {most:,}")
            hint = "Use blocks or BlockPricer, which hold one block, or draw some with subsample=…."
            raise fail("X", owner, "such that the dictionary fits in max_bytes", value, hint)

    def __repr__(self) -> str:
        n, d = self.X.shape
        k = d - 1 + self.bias
        of = "[X; I]" if self.family == "mixed" else "X"
        some = "all" if self.subsample is None else f"{self.subsample:,}"
        least = ", at least one of them data" if self.bias and self.family == "mixed" else ""
        notes = f", notes={list(self.notes)}" if self.notes else ""
        return (
            f"CrossProductDictionary({self.n_columns:,} columns: ± the hyperplanes through {some} subsets of {k} rows "
            f"of {of}{least}; n={n}, d={d}, bias={self.bias}, penalty={self.penalty!r}, "
            f"{'exact' if self.exact else 'not exact'}{notes})"
        )


def cross_product_dictionary(
    X: ArrayLike,
    penalty: str = "l1",
    *,
    bias: bool = True,
    family: str | None = None,
    subsample: int | None = None,
    rng: np.random.Generator | int | None = None,
    rtol: float | None = None,
) -> CrossProductDictionary:
    r"""Return the neurons whose hyperplanes are spanned by rows of the data, both sides of each.

    Without bias v = ±×(d-1 rows). With bias (not penalised, next to a free output intercept) v = ±×(differences of m
    data rows to the last of them, and d-m basis vectors), :math:`b = -v^Tx_{j_m}`, m ≥ 1. ||v|| = 1 in the norm of the
    penalty.

    With "l1" the Lasso over the mixed family has the optimum of the two-layer ReLU network with per-neuron l1 norms,
    for any X: rank-deficient, n < d, duplicates. With "l2" no finite dictionary has; the family of rows of X bounds it.

    Parameters
    ----------
    X : (n, d) array
    penalty : {"l1", "l2"}
    bias : bool
    family : {"mixed", "rows"} or None
        "mixed": the rows of [X; I], :math:`2\binom{n+d}{d-1}` columns, with bias :math:`2\binom{n+d}{d}-2`. "rows":
        the rows of X, :math:`2\binom{n}{d-1}` or :math:`2\binom{n}{d}`. None: "mixed" for "l1", "rows" for "l2".
    subsample : int or None
        Use that many distinct random subsets, so twice as many columns. Dependent subsets are drawn again. They are
        subsets of the distinct rows in lexicographic order: neither the order nor copies of rows change them.
    rng : Generator, int or None
        For ``subsample``.
    rtol : float or None
        Relative pivot size up to which rows count as dependent, see `clifford_rand.cross`.

    Raises
    ------
    ArgumentError
        X is not a finite (n, d) array, has fewer rows than span a hyperplane (family "rows"), or another argument
        breaks its rule.

    References
    ----------
    Wang et al., "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024, arXiv:2406.02806, Section 3.2,
    prints the family of rows. It is equivalent to the network only with the basis vectors added and the l1 norm.

    Examples
    --------
    >>> import numpy as np
    >>> dictionary = cross_product_dictionary(np.array([[0.0], [1.0], [3.0]]))
    >>> dictionary.n_columns, dictionary.exact
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
    n, d = data.shape
    k = d - 1 + bias
    if count_subsets(n, d, kind, bias) == 0:
        rule = f"at least {k} rows, as many as span a hyperplane"
        raise fail("X", owner, rule, describe(f"{n} rows"), "Use family='mixed', which adds basis vectors.")
    subsets: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    if subsample is not None:
        wanted = check_integer(subsample, "subsample", owner)
        rows = distinct_rows(data)
        subsets, notes = draw_subsets(data[rows], wanted, kind, bias, rtol, as_generator(rng, owner))
        subsets = np.append(rows, n + np.arange(d))[subsets]
    return CrossProductDictionary(
        data, penalty=penalty, bias=bias, family=kind, rtol=rtol, subsets=subsets, notes=notes
    )
