"""Expected cost of a fit: seconds and bytes of its parts, the speed of this machine, and plans of fits."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import eigh

from clifford_rand._checks import machine_memory, quantity
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand_nn._records import TextShown
from clifford_rand_nn._words import aligned

_ORDER, _SMALL, _REPEATS = 512, 256, 3  # of the product and of the eigendecomposition that are timed: 0.05 s in all
_SHARE_OF_MEMORY = 0.5  # of what the machine has, if no limit is given
_PRODUCT = 3.6e-11  # seconds of a product by n³, on a core of the machine on which the cost models were measured


class Estimate(NamedTuple):
    """Expected cost: seconds, and bytes beside the data."""

    seconds: float
    bytes: float


class Speed(NamedTuple):
    """Seconds of one core by n³: of a product of two matrices, and of a small eigendecomposition."""

    product: float
    decomposition: float


@cache
def machine_speed() -> Speed:
    """Return the speed of this machine, timed once in each process."""
    A = np.random.default_rng(0).standard_normal((_ORDER, _ORDER))
    K = A[:_SMALL] @ A[:_SMALL].T
    with ONE_BLAS_THREAD:
        return Speed(_seconds(lambda: A @ A) / _ORDER**3, _seconds(lambda: eigh(K)) / _SMALL**3)


def _seconds(work: Callable[[], object]) -> float:
    """Return the least time of some runs, in which other processes do not count."""
    times = [time.thread_time()]
    for _ in range(_REPEATS):
        work()
        times.append(time.thread_time())
    return max(float(np.diff(times).min()), 1e-6)


def slowdown() -> float:
    """Return how many times longer than the machine of the cost models this one takes."""
    return machine_speed().product / _PRODUCT


def memory_limit(max_memory: float | None) -> float:
    """Return the bytes that a fit may take: ``max_memory`` or, without it, half of the machine's memory."""
    return _SHARE_OF_MEMORY * machine_memory() if max_memory is None else max_memory


def duration(seconds: float) -> str:
    """Return seconds in words."""
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


@dataclass(frozen=True, repr=False)
class FitPlan(TextShown):
    """Expected seconds of a fit to rows in memory, on this machine if it is idle, and bytes beside the data, by parts.

    >>> plan = FitPlan("Model", 100, 5, {"kernel": Estimate(0.5, 2e6), "decomposition": Estimate(1.5, 1e6)}, 1.0)
    >>> plan.seconds, plan.memory
    (2.0, 2000000.0)
    >>> plan
    Model on 100 rows × 5 columns
      kernel         0.5 s  1.91 MiB
      decomposition  1.5 s   977 KiB
      total            2 s  1.91 MiB at most, more than max_time=1
    """

    owner: str  # the estimator
    n_rows: int
    n_columns: int
    parts: Mapping[str, Estimate]
    max_time: float | None = None
    max_memory: float | None = None

    @property
    def seconds(self) -> float:
        """Those of all parts together."""
        return float(sum(part.seconds for part in self.parts.values()))

    @property
    def memory(self) -> float:
        """Bytes of the part that takes most."""
        return float(max(part.bytes for part in self.parts.values()))

    def __str__(self) -> str:
        shown = {**self.parts, "total": Estimate(self.seconds, self.memory)}
        cells = [(name, duration(part.seconds), quantity(int(part.bytes))) for name, part in shown.items()]
        lines = aligned(cells, right=(1, 2))
        lines[-1] += " at most"
        for name, needed in (("max_time", self.seconds), ("max_memory", self.memory)):
            limit = getattr(self, name)
            lines[-1] += f", more than {name}={limit:g}" if limit is not None and limit < needed else ""
        return "\n".join([f"{self.owner} on {self.n_rows:,} rows × {self.n_columns:,} columns", *lines])


class RowPlanning:
    """An estimator that says before a fit what it takes, by the cost models that its limits go by."""

    def plan(self: Any, X: Any, y: Any = None) -> FitPlan:
        """Return the expected seconds and bytes of `fit` on the rows X (n, d), and those of its parts.

        Only sizes count, and how fast this machine multiplies matrices: nothing is trained, and the data, which decide
        how many steps a fit takes, may make it half or twice as long. ``y`` says how many outputs there are; without it
        there is one. Raises ArgumentError for what `fit` would refuse.

        >>> from clifford_rand_nn import ConvexReLURegressor
        >>> plan = ConvexReLURegressor().plan(np.random.default_rng(0).standard_normal((300, 4)))
        >>> list(plan.parts), plan.seconds > 0
        (['selection of beta', 'training'], True)
        """
        from sklearn.base import clone
        from sklearn.utils.validation import _num_samples

        model: Any = clone(self)
        (n, d), parts = model._costs(X, np.arange(_num_samples(X)) % 2 if y is None else y)
        return FitPlan(type(self).__name__, n, d, parts, self.max_time, getattr(self, "max_memory", None))

    def _costs(self, X: Any, y: Any) -> tuple[tuple[int, int], dict[str, Estimate]]:
        """Return the numbers of rows and columns, and the estimates of the parts of a fit."""
        raise NotImplementedError
