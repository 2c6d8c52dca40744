"""What fits of every loss in the span of landmarks begin with, and what they leave."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.candidates import Candidate
from clifford_rand_nn.kernel_network.landmark_span import LandmarkSpan
from clifford_rand_nn.kernel_network.training import Choices
from clifford_rand_nn.row_sums.engine import Engine, MemoryEngine
from clifford_rand_nn.row_sums.sums import Sums
from clifford_rand_nn.shards.landmarks.cost_model import SINGLE, Size, landmarks
from clifford_rand_nn.shards.landmarks.normal import independent
from clifford_rand_nn.shards.landmarks.sample import Chosen, Drawn, block_of
from clifford_rand_nn.shards.landmarks.steps import Solved
from clifford_rand_nn.shards.landmarks.terms import LandmarkRows
from clifford_rand_nn.shards.scan import Facts
from clifford_rand_nn.solvers.base import HistoryRow, Status

RADII = np.geomspace(1e3, 1e-6, 46)  # of the mean diagonal of the kernel
STEPS = 100
_T = TypeVar("_T")


class Saved(NamedTuple):
    """What a fit goes on from: landmarks among the chosen rows, the sums of normal equations, and the steps."""

    size: Size
    rows: NDArray[np.intp]
    sums: Sums
    steps: Any

    @classmethod
    def of(cls, values: tuple[Any, ...]) -> "Saved":
        """Return the state of plain tuples, as a checkpoint has them."""
        size, rows, sums, steps = values
        return cls(Size(*size), rows, sums, steps)


class Fitted(NamedTuple):
    """A function in the span, the betas that were tried, what fits without the rows held out say of these, and how."""

    best: Solved
    beta: float
    candidates: list[Candidate]
    outputs: Array
    status: Status
    n_iter: int
    history: tuple[HistoryRow, ...]
    state: Saved | None
    whole: bool  # whether normal equations are those of all rows, or an interrupt left those of the sample


@dataclass
class Setting:
    """The rows that learn and judge, the landmarks among them, and who makes sums.

    Attributes
    ----------
    engine : Engine
    facts : Facts
    chosen : Chosen
        By the sample.
    choices : Choices
    learn, held : Drawn
    size : Size
    some : (m,) int
        The landmarks, among the chosen rows.
    state : Saved or None
        To go on from.
    save : callable or None
        Called after every pass with what makes the state.
    """

    engine: Engine
    facts: Facts
    chosen: Chosen
    choices: Choices
    learn: Drawn
    held: Drawn
    size: Size
    some: NDArray[np.intp]
    state: Saved | None
    save: Callable[[Callable[[], Saved]], object] | None
    began: float = field(default_factory=time.perf_counter)
    kept: Callable[[], Saved] | None = None  # the state that was offered last

    def __post_init__(self) -> None:
        chosen, self.rows = self.chosen, self.chosen.rows.take(self.some)
        self.Z = Z = chosen.standard.rows(self.rows.X)
        self.span, self.double = LandmarkSpan(chosen.kernel, Z), LandmarkRows(chosen.standard, chosen.kernel, Z)
        self.summed = LandmarkRows(chosen.standard, chosen.kernel, Z, np.float32) if self.size.single else self.double
        self.left_out = np.sort(self.held.index)
        self.centre_k = np.average(self.summed.kernel(self.held.X), axis=0, weights=self.held.weights)
        self.centre_k = self.centre_k.astype(np.float64)

    @property
    def few(self) -> MemoryEngine:
        """The rows that learn, as an engine."""
        sample = self.facts.sample
        return MemoryEngine(block_of(sample, np.isin(sample.rows, self.learn.index)))

    def betas(self, weight: float) -> Array:
        """Return the betas that are compared, for rows of a weight in all."""
        if self.choices.beta is not None:
            return np.array([self.choices.beta])
        return RADII * float(np.mean(self.double.tiles.diagonal())) / weight

    def keep(self, sums: Sums, steps: Any) -> None:
        """Offer a state to be saved."""
        if self.save is not None:
            self.kept = partial(Saved, self.size, self.some, sums, steps)
            self.save(self.kept)

    def seconds(self) -> float:
        """Return those since the start."""
        return time.perf_counter() - self.began


def sized(
    engine: Engine, facts: Facts, chosen: Chosen, choices: Choices, outputs: int, owner: str, passes: float
) -> tuple[Size, NDArray[np.intp]]:
    """Return what limits allow, and landmarks among the chosen rows; fewer where only double precision serves them.

    Without ``max_memory`` two threads are counted, so that a result does not depend on how many there are.
    """
    width = chosen.kernel.features(np.zeros((1, chosen.standard.width))).shape[1]
    workers = 2 if choices.max_memory is None else engine.workers
    for single in (True, False):
        limit, memory = engine.agreed(choices.max_time), choices.max_memory
        size = landmarks(facts.n, width, outputs, workers, limit, memory, owner, single, passes)
        rows = chosen.standard.rows(chosen.rows.X[: size.landmarks])
        some, least = independent(chosen.kernel, rows)
        if least > SINGLE:
            break
    return size, some


def finished(work: Callable[[], _T]) -> tuple[_T, bool]:
    """Return what work of some seconds in memory gives, begun anew after an interrupt, and whether there was one."""
    try:
        return work(), False
    except KeyboardInterrupt:
        return work(), True
