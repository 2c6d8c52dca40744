"""Activation patterns of the rows: all of them, their number, a gate in each chamber, and given ones.

A maximum over the chambers bounds the distance of the unit l2 cross products from the optimum (`bracket_factor`).
"""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from clifford_rand._checks import as_real, as_rows, check_choice, check_integer, check_squares, describe, fail
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn.gates.arrangement import distinct, half_of_the_chambers, reduce_rows
from clifford_rand_nn.gates.dictionary import cross_product_dictionary
from clifford_rand_nn.gates.hyperplanes import (
    ActivationPatterns,
    Gates,
    activation_patterns,
    as_gates,
    gates_without_incidence,
)
from clifford_rand_nn.gates.sampling import METHODS

_EPS = float(np.finfo(np.float64).eps)
_MOST_BYTES = 4 * 2**30  # of patterns and gates: sorting them takes twice that, and common machines have 16 GiB
_BLOCK = 2**22  # entries of a block of margins
_MOST_PATTERNS = 1_000_000
_ENUMERATION = 0.3  # of max_time for all patterns; what is made of them takes as long again
Draw = Callable[[str], Gates]
_ON_CONE = 1e-9  # a ray is in a closed cone if it leaves it by no more than this share of |x|; rows within it are on


def central_count(n: int, rank: int) -> int:
    """Chambers of n planes through the origin, of this rank and otherwise in general position; 1 if there is none."""
    if n == 0 or rank == 0:
        return 1
    total = term = 1
    for k in range(1, min(rank, n)):
        term = term * (n - k) // k  # C(n-1, k)
        total += term
    return 2 * total


def count_patterns(n: int, d: int, bias: bool = True, rank: int | None = None) -> int:
    r"""Return the number of activation patterns of n rows in general position, an upper bound for all others.

    .. math::

        2 \sum_{k<r} \binom{n-1}{k} \text{ without bias}, \qquad 2 \sum_{k\le r} \binom{n-1}{k} \text{ with bias,}

    the all-on and the all-off pattern included.

    Parameters
    ----------
    n, d : int
        Shape of the data.
    bias : bool
        Whether the gates have an offset.
    rank : int, optional
        r: the rank of X without bias, of the centered X with bias; by default the largest there is, min(n, d) and
        min(n-1, d). If it is 0 without bias, every row is 0 and on: one pattern.

    Returns
    -------
    int
        Exact, however large.

    Raises
    ------
    ArgumentError
        n, d or rank is not an integer in its range.

    References
    ----------
    Cover, "Geometrical and statistical properties of systems of linear inequalities", 1965, equation (5).

    Examples
    --------
    >>> count_patterns(160, 2)
    25442
    >>> count_patterns(5, 2, bias=False)
    10
    >>> count_patterns(3, 100) == 2**3
    True
    """
    owner = "count_patterns"
    n = check_integer(n, "n", owner)
    d = check_integer(d, "d", owner)
    check_choice(bias, "bias", owner, (True, False))
    largest = min(n - bool(bias), d)
    r = largest if rank is None else check_integer(rank, "rank", owner, low=0, high=largest)
    return central_count(int(n), int(r) + bool(bias))


def enumerate_patterns(X: ArrayLike, bias: bool = True, *, max_patterns: int = _MOST_PATTERNS) -> NDArray[np.bool_]:
    r"""Return every activation pattern :math:`1(Xh + c \ge 0)` of a full-dimensional chamber, each once, (n, P) bool.

    Parameters, order and errors are those of `enumerate_gates`, whose ``patterns`` these are.

    Examples
    --------
    >>> enumerate_patterns(np.array([[0.0], [2.0], [1.0]])).astype(int).T.tolist()
    [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 1]]
    """
    return _every(X, bias, max_patterns, "enumerate_patterns").patterns


def enumerate_gates(X: ArrayLike, bias: bool = True, *, max_patterns: int = _MOST_PATTERNS) -> ActivationPatterns:
    r"""Return every activation pattern :math:`1(Xh + c \ge 0)`, each with a gate strictly inside its chamber.

    In general position there are :math:`2\sum_{k<r}\binom{n-1}{k}` of them without bias and
    :math:`2\sum_{k\le r}\binom{n-1}{k}` with bias, r the rank of X (centered with bias), and fewer for repeated,
    parallel or otherwise dependent rows. A pattern and its complement come together; a row that is 0 without bias is
    on in all.

    Rows that are dependent up to the rounding of X count as dependent: a grid of step 0.1 is a grid. A chamber so thin
    that rounding would decide the sign of a row in it is left out; every gate returned was checked on X.

    Parameters
    ----------
    X : (n, d) array
    bias : bool
        Whether gates have an offset; c = 0 if not.
    max_patterns : int
        Refuse, before the work, data that may have more.

    Returns
    -------
    ActivationPatterns
        ``patterns`` (n, P) bool, in lexicographic order of the columns, off before on, so the all-off pattern is
        the first; ``gates``, one for each, for which ``gates.activations(X)`` is ``patterns`` bit for bit.
        :math:`x_i^Th + c` is of the order of 1 over the rows, at most, whatever the scale of X.

    Raises
    ------
    ArgumentError
        X is not a finite (n, d) array with n, d ≥ 1, or may have more patterns than ``max_patterns`` or 4 GiB.

    References
    ----------
    The count: Cover, "Geometrical and statistical properties of systems of linear inequalities", 1965, equation (5).
    The recursion is the deletion and restriction of Zaslavsky, "Facing up to arrangements", 1975.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((6, 2))
    >>> patterns, gates = enumerate_gates(X)
    >>> patterns.shape, bool((gates.activations(X) == patterns).all())
    ((6, 32), True)
    """
    return _every(X, bias, max_patterns, "enumerate_gates")


def _every(
    X: ArrayLike, bias: bool, max_patterns: int, owner: str, late: Callable[[], bool] | None = None
) -> ActivationPatterns:
    data: Any = as_rows(X, owner)
    check_choice(bias, "bias", owner, (True, False))
    max_patterns = check_integer(max_patterns, "max_patterns", owner)
    reduced, cut = reduce_rows(data, bias), ""
    if reduced.rank == 0:  # all rows are zero, without bias: on for every gate
        none = gates_without_incidence(np.zeros((data.shape[1], 1)), np.zeros(1), "exhaustive")
        return ActivationPatterns(none.activations(data), none)
    if reduced.rank <= 2:  # a sort: the count is known as soon as the bound
        W = half_of_the_chambers(reduced.unit, reduced.error) if reduced.rank == 2 else reduced.unit[:1].T
        _check_size(2 * W.shape[1], max_patterns, data.shape, reduced.rank - bias, owner)
    else:
        most = 1
        while most < len(reduced.unit) and central_count(most + 1, reduced.rank) <= max_patterns:
            most += 1
        kept = distinct(reduced.unit, reduced.error, most)
        m = kept.size if kept.size <= most else len(reduced.unit)  # too many: then not all were compared
        _check_size(central_count(m, reduced.rank), max_patterns, data.shape, reduced.rank - bias, owner)
        W = half_of_the_chambers(reduced.unit[kept], reduced.error[kept], late)
        if late is not None and late() and 2 * W.shape[1] < central_count(m, reduced.rank):
            cut = f"max_time ended at {2 * W.shape[1]:,} of up to {central_count(m, reduced.rank):,} patterns"
    ordered = _ordered(data, *reduced.gates(W), np.zeros(len(data), dtype=bool) if bias else ~data.any(axis=1))
    if not cut:
        return ordered
    return ActivationPatterns(ordered.patterns, replace(ordered.gates, method="enumerated", notes=(cut,)))


def _check_size(count: int, most: int, shape: tuple[int, int], rank: int, owner: str) -> None:
    """Refuse more than ``most`` patterns, and more than memory holds."""
    n, d = shape
    about = str(count) if count < 10**15 else f"about 10^{int((count.bit_length() - 1) * math.log10(2))}"
    hint = "Take fewer rows, or sample some of the patterns with sample_gates."
    if count > most:
        raise fail("max_patterns", owner, f"at least {about}, what {n} rows of rank {rank} may have", most, hint)
    size = count * (n + 8 * (d + 1))
    if size > _MOST_BYTES:
        got = describe(f"shape {shape}, up to {about} patterns and gates, {size / 2**30:.1f} GiB")
        raise fail("X", owner, "small enough for all patterns and gates in 4 GiB", got, hint)


def _ordered(X: Array, H: Array, c: Array, still: NDArray[np.bool_]) -> ActivationPatterns:
    """Keep the gates that are clear of every row but the ``still`` ones, add their negatives, and sort by pattern."""
    # Two ways to add the d + 1 terms of a margin differ by less than (d + 1) eps times the sum of their sizes.
    clear = max(64, 2 * (X.shape[1] + 1)) * _EPS
    step = max(1, _BLOCK // len(X))
    wide, on = np.empty(c.size, dtype=bool), np.empty((len(X), c.size), dtype=bool)
    for start in range(0, c.size, step):
        block = slice(start, start + step)
        margins = X @ H[:, block] + c[block]
        noise = clear * (np.abs(X) @ np.abs(H[:, block]) + np.abs(c[block]))
        wide[block] = ((np.abs(margins) > noise) | still[:, None]).all(axis=0)
        on[:, block] = margins >= 0
    H, c, on = H[:, wide], c[wide], on[:, wide]
    H, c = np.concatenate([H, -H], axis=1), np.concatenate([c, 0 - c])
    on = np.concatenate([on, ~on], axis=1)
    on[still] = True
    order = np.lexsort(np.packbits(on, axis=0)[::-1])
    gates = gates_without_incidence(np.ascontiguousarray(H[:, order]), c[order], "exhaustive")
    return ActivationPatterns(on[:, order], gates)


def deadline(
    max_time: float | None, share: float = _ENUMERATION, began: float | None = None
) -> Callable[[], bool] | None:
    """Return a function: whether a share of ``max_time`` is over since ``began``, or now; None without a limit."""
    start = time.perf_counter() if began is None else began
    return None if max_time is None else lambda: time.perf_counter() - start > share * max_time


def chosen_patterns(
    X: NDArray[Any],
    gates: Any,
    bias: bool,
    owner: str,
    draw: Draw | None = None,
    late: Callable[[], bool] | None = None,
    category: type[Warning] = UserWarning,
) -> ActivationPatterns:
    """Return the distinct patterns on X (n, d), none all off, and a gate of each, as a user's ``gates`` say.

    They are Gates, (directions (d, m), offsets (m,)), "exhaustive" or, with ``draw``, a method of `sample_gates`.
    ``late`` ends the enumeration of "exhaustive": the gates are then "enumerated", with a note, and a warning of the
    ``category``. Raises ArgumentError for something else, or hyperplanes that do not fit X.
    """
    if isinstance(gates, str) and gates == "exhaustive":
        every = _every(X, bias, _MOST_PATTERNS, "enumerate_gates", late)
        for note in every.gates.notes:
            message = f"{owner}: {note}; network and bound are over these. Try a larger max_time."
            warnings.warn(message, category, stacklevel=4)
        some = np.flatnonzero(every.patterns.any(axis=0))  # the all-off pattern has no neuron
        return ActivationPatterns(np.ascontiguousarray(every.patterns[:, some]), every.gates.take(some))
    if draw is not None and isinstance(gates, str) and gates in METHODS:
        return activation_patterns(X, draw(gates))
    words = ("exhaustive", *(() if draw is None else METHODS))
    return activation_patterns(X, as_gates(gates, X.shape[1], owner, f", {', '.join(map(repr, words))},"))


def bracket_factor(X: ArrayLike, *, max_patterns: int = 100_000) -> float:
    r"""Return Γ, by which the Lasso over unit l2 cross products of rows brackets the network's optimum; no bias.

    .. math:: \Gamma = \max_C\frac1{\min||\mathrm{conv}(\text{unit extreme rays of }C)||_2}

    over the chambers C of the rows of X. Every u in C is a sum of its rays with total weight at most
    :math:`\Gamma||u||`, so that, with L2 the optimum of the Lasso over the rows' cross products and NC that of the
    two-layer network with per-neuron l2 norms (or of column generation over all patterns),

    .. math:: L2(\beta/\Gamma)\le NC(\beta)\le L2(\beta)\le NC(\Gamma\beta)\le\Gamma\,NC(\beta).

    In the plane :math:`\Gamma = 1/\cos(\theta_{\max}/2)` with the widest chamber's angle.

    Parameters
    ----------
    X : (n, d) array
        Of rank d: otherwise chambers contain lines, which no rays span.
    max_patterns : int
        Chambers to enumerate at most.

    Returns
    -------
    float
        At least 1.

    Raises
    ------
    ArgumentError
        X is not of full column rank, or its chambers are too many.

    Examples
    --------
    >>> round(bracket_factor(np.eye(2)), 12)  # quadrants
    1.414213562373
    """
    owner = "bracket_factor"
    data = np.asarray(as_real(X, "X", owner), dtype=np.float64)
    check_squares(data, "X", owner)
    if data.ndim != 2 or 0 in data.shape or np.linalg.matrix_rank(data) < data.shape[1]:
        rule = "an (n, d) array of rank d"
        raise fail("X", owner, rule, describe(f"shape {data.shape}"), "Chambers of lower rank contain lines.")
    d = data.shape[1]
    if d == 1:
        return 1.0
    rays = cross_product_dictionary(data, "l2", bias=False).neurons().directions
    # a ray off everywhere has no column but bounds chambers all the same
    rays = np.unique(np.round(np.concatenate([rays, -rays], axis=1), 12), axis=1)
    rows = data[np.linalg.norm(data, axis=1) > 0]
    margins = rows @ rays / np.linalg.norm(rows, axis=1)[:, None]
    gates = enumerate_gates(rows, False, max_patterns=max_patterns).gates
    signs = np.sign(rows @ gates.directions)  # (n, P)
    worst = 1.0
    for s in signs.T:
        inside = rays[:, (s[:, None] * margins >= -_ON_CONE).all(axis=0)]
        worst = min(worst, _least_norm(inside))
    return 1.0 / worst


def _least_norm(rays: Array) -> float:
    r"""Norm of the shortest vector in the convex hull of the columns.

    The non-negative least squares solution of [R; 1ᵀ]λ = (0, 1) is a multiple of the weights of that vector, with
    residual :math:`||R\lambda||^2+(1-1^T\lambda)^2 = \mu^2/(1+\mu^2)` at the shortest length µ.
    """
    system = np.vstack([rays, np.ones(rays.shape[1])])
    weights, _ = nnls(system, np.append(np.zeros(len(rays)), 1.0))
    return float(np.linalg.norm(rays @ weights) / weights.sum())
