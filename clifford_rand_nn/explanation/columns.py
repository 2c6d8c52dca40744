"""Which columns matter: by the gradient of the network, and by what a permutation of them costs."""

from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.explanation.context import Context
from clifford_rand_nn.explanation.permutation import permutation_losses, prediction_error
from clifford_rand_nn.explanation.preprocessing import Rows, named
from clifford_rand_nn.explanation.sums import KernelSum

_PERMUTED = 500  # rows, at most, that columns are permuted on
_COLUMNS = 60  # that are permuted, if there are more: those of the largest slopes
_AT = 1000  # rows, at most, where gradients are taken
_BLOCK = 100  # of them at a time


class ColumnImportance(NamedTuple):
    r"""How much a table column matters to a network.

    Attributes
    ----------
    name : str
    gradient : float
        Mean over rows of :math:`|\partial f/\partial x_j|` times the deviation of the column, summed over the
        encoded columns that it became, and the root of the squares of several outputs.
    share : float
        Of the sum over columns.
    permuted : float or None
        By how much the log loss rises where the column is permuted (R² falls; accuracy, where there are no
        probabilities); of more than 60 columns, those of the largest slopes.
    permuted_error : float or None
        Standard deviation of that over permutations.
    """

    name: str
    gradient: float
    share: float
    permuted: float | None = None
    permuted_error: float | None = None


def gradient_sizes(context: Context, rows: Rows | None) -> Array:
    """Return the mean size of the gradient times the deviation of each encoded column, (k,); of its own rows if None.

    Where neither rows nor the network tell deviations these are 1.
    """
    route, network = context.route, context.network
    spread = context.spread()
    if rows is None:
        seen, encoded_deviation = _own_rows(context), np.ones(len(route.origin)) if spread is None else spread
    else:
        seen, encoded_deviation = rows.seen, np.asarray(rows.encoded.std(axis=0))
    seen = seen[_spread_out(len(seen), _AT)]
    total = np.zeros(len(route.origin))
    for start in range(0, len(seen), _BLOCK):
        slopes = route.back(network.local(seen[start : start + _BLOCK], context.reference[1]).slopes)
        total += np.sqrt((slopes**2).sum(axis=1)).sum(axis=0)
    return np.asarray(total / len(seen) * encoded_deviation)


def _own_rows(context: Context) -> Array:
    """Return rows as the network sees them where none were given: those that it is made of, or the one it knows."""
    network = context.network
    return network.own_rows(_AT) if isinstance(network, KernelSum) else context.reference[1][None]


def importances(context: Context, repeats: int, random_state: Any) -> list[ColumnImportance]:
    """Return the importance of every table column, the largest first; those that were permuted before the others."""
    route = context.route
    gradient = route.summed(gradient_sizes(context, context.rows))
    share = gradient / (gradient.sum() or 1.0)
    permuted: dict[int, tuple[float, float]] = {}
    if context.rows is not None and context.targets is not None and repeats:
        some = np.argsort(-gradient, kind="stable")[:_COLUMNS]
        permuted = _permuted(context, context.rows, context.targets, some, repeats, random_state)
    found = [
        ColumnImportance(name, float(gradient[j]), float(share[j]), *permuted.get(j, (None, None)))
        for j, name in enumerate(route.names)
    ]
    return sorted(found, key=lambda one: (one.permuted is None, -(one.permuted or 0.0), -one.gradient))


def _permuted(
    context: Context, rows: Rows, targets: Any, columns: Any, repeats: int, random_state: Any
) -> dict[int, tuple[float, float]]:
    """Return by how much the error rises, and its deviation, for table columns: all that each became moves with it."""
    route, some = context.route, _spread_out(len(targets), _PERMUTED)
    together = [np.flatnonzero(route.origin == j) for j in columns]

    def error(encoded: Array) -> float:
        return prediction_error(route.last, named(route.last, route.forth(encoded)), targets[some])

    losses = permutation_losses(error, rows.encoded[some], together, repeats, random_state)
    spread = zip(losses.mean(axis=1).tolist(), losses.std(axis=1).tolist(), strict=True)
    return dict(zip(columns.tolist(), spread, strict=True))


def _spread_out(n: int, most: int) -> Any:
    """Return the places of at most so many of n rows, evenly."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)
