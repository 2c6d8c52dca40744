"""From shards to a network over landmarks: what is chosen, the sums, every beta, and what is proved."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import quantity
from clifford_rand._typing import Array
from clifford_rand_nn.infinite.choice import Candidate
from clifford_rand_nn.infinite.learned.rounds import LearnedRounds
from clifford_rand_nn.infinite.many.rows import TOL
from clifford_rand_nn.infinite.network import KernelNetwork
from clifford_rand_nn.infinite.training import Choices
from clifford_rand_nn.shards.engines.base import Engine
from clifford_rand_nn.shards.landmarks.choice import SINGLE, Size, landmarks
from clifford_rand_nn.shards.landmarks.normal import Normal, Span, independent
from clifford_rand_nn.shards.landmarks.sample import Chosen, Drawn, chosen_by, parted
from clifford_rand_nn.shards.landmarks.span import SpanSteps, State
from clifford_rand_nn.shards.landmarks.terms import LandmarkRows, NormalSum
from clifford_rand_nn.shards.scan import Facts
from clifford_rand_nn.shards.sums import Sums
from clifford_rand_nn.shards.targets import Targets
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Status, explain

_RADII = np.geomspace(1e3, 1e-6, 46)  # of the mean diagonal of the kernel
_STEPS = 100


class Saved(NamedTuple):
    """What a fit goes on from: landmarks among the chosen rows, the sums of normal equations, and the steps."""

    size: Size
    rows: NDArray[np.intp]
    sums: Sums
    steps: State | None

    @classmethod
    def of(cls, values: tuple[Any, ...]) -> "Saved":
        """Return the state of plain tuples, as a checkpoint has them."""
        size, rows, sums, steps = values
        return cls(Size(*size), rows, sums, None if steps is None else State.of(steps))


@dataclass(frozen=True, eq=False)
class Trained:
    r"""A network over landmarks, and what is known of it.

    Attributes
    ----------
    network : KernelNetwork
    rows : (m,) int
        The landmarks, by their index among all rows.
    held : Drawn
        The rows that beta was judged on.
    outputs : (h, C)
        What a fit without them says of them.
    beta : float
    primal, dual : float
    scale : (C,)
        The dual point of row i is :math:`s\\,\\omega_i(y_i-f(x_i))`, :math:`\\omega` of mean 1.
    candidates : list of Candidate
        The betas on the rows held out, best first, then what the sample was asked.
    rounds : LearnedRounds or None
    metric : (d, d) or None
    scope, reason, message : str
    history : tuple of HistoryRow
    state : Saved
        Without sums where nobody asked for states.
    """

    network: KernelNetwork
    rows: NDArray[np.int64]
    held: Drawn
    outputs: Array
    beta: float
    primal: float
    dual: float
    relative_gap: float
    scale: Array
    candidates: list[Candidate]
    rounds: LearnedRounds | None
    metric: Array | None
    scope: str
    reason: str
    message: str
    history: tuple[HistoryRow, ...]
    state: Saved


def train(
    engine: Engine,
    facts: Facts,
    targets: Targets,
    choices: Choices,
    owner: str,
    state: Saved | None = None,
    save: Callable[[Callable[[], Saved]], object] | None = None,
) -> Trained:
    """Choose from the sample, sum normal equations in one pass, take the best beta, solve, and bound.

    Parameters
    ----------
    engine : Engine
    facts : Facts
    targets : Targets
    choices : Choices
    owner : str
        Whose errors these are.
    state : Saved, optional
        To go on from.
    save : callable, optional
        Called after every pass with what makes the state.
    """
    began = time.perf_counter()
    learn, held = parted(facts, targets, owner)
    chosen = chosen_by(facts, learn, choices.beta, choices.rounds, choices.mistakes, owner)
    centre = np.average(held.targets, axis=0, weights=held.weights)
    size, some = _size(engine, facts, chosen, choices, len(centre), owner) if state is None else state[:2]
    rows = chosen.rows.take(some)
    Z = chosen.standard.rows(rows.X)
    span, double = Span(chosen.kernel, Z), LandmarkRows(chosen.standard, chosen.kernel, Z)
    summed = LandmarkRows(chosen.standard, chosen.kernel, Z, np.float32) if size.single else double
    centre_k = np.average(summed.kernel(held.X), axis=0, weights=held.weights).astype(np.float64)
    if state is None:
        sums = engine.sum(NormalSum(summed, targets, centre_k, centre, np.sort(held.index)))
    else:
        sums = state.sums
    kept = tuple(sums) if save is not None else ()
    normal = Normal(span, sums, centre_k, centre)
    tried, beta, outputs = _betas(normal, double, held, choices.beta, chosen.candidates[0])
    del sums
    radius = normal.weight * beta
    steps = SpanSteps(engine, double, span, targets, centre, beta, lambda b: normal.inverse(b, radius))
    first = State.at_first(normal.fit(radius)[0]) if state is None or state.steps is None else state.steps
    if save is not None:
        save(lambda: Saved(size, some, kept, first))
    limits = Limits(tol=TOL, max_iter=_STEPS, max_time=choices.max_time)
    last, status = steps.solve(
        first, limits, began, lambda now: None if save is None else save(lambda: Saved(size, some, kept, now))
    )
    best = last.best
    assert best is not None
    seconds = time.perf_counter() - began
    return Trained(
        network=KernelNetwork(chosen.standard, chosen.kernel, Z, span.coefficients(best.u), best.intercept),
        rows=rows.index,
        held=held,
        outputs=outputs,
        beta=beta,
        primal=best.primal,
        dual=best.dual,
        relative_gap=best.gap,
        scale=best.scale,
        candidates=[*tried, *chosen.candidates],
        rounds=chosen.rounds,
        metric=chosen.metric,
        scope=f"over functions in the span of {len(rows)} landmarks, and an intercept",
        reason=(
            f"n = {facts.n} in shards: {len(rows)} landmarks, expected {size.seconds:.2g} s on two cores and "
            f"{quantity(size.bytes)}; sums in {'single' if size.single else 'double'} precision"
        ),
        message="" if status is Status.OPTIMAL else explain(status, last.n_iter, seconds, best.gap),
        history=last.history,
        state=Saved(size, some, kept, last),
    )


def _size(
    engine: Engine, facts: Facts, chosen: Chosen, choices: Choices, outputs: int, owner: str
) -> tuple[Size, NDArray[np.intp]]:
    """Return what limits allow, and landmarks among the chosen rows; fewer where only double precision serves them.

    Without ``max_memory`` two threads are counted, so that a result does not depend on how many there are.
    """
    width = chosen.kernel.features(np.zeros((1, chosen.standard.width))).shape[1]
    workers = 2 if choices.max_memory is None else engine.workers
    for single in (True, False):
        size = landmarks(
            facts.n, width, outputs, workers, engine.agreed(choices.max_time), choices.max_memory, owner, single
        )
        rows = chosen.standard.rows(chosen.rows.X[: size.landmarks])
        some, least = independent(chosen.kernel, rows)
        if least > SINGLE:
            break
    return size, some


def _betas(
    normal: Normal, double: LandmarkRows, held: Drawn, beta: float | None, like: Candidate
) -> tuple[list[Candidate], float, Array]:
    """Return what rows held out say of every beta, the best one, and what they are predicted to be for it."""
    scale = float(np.mean(double.tiles.diagonal()))
    radii = _RADII * scale if beta is None else np.array([normal.weight * beta])
    w, y = held.weights / held.weights.sum(), held.targets
    variance = w @ (y - w @ y) ** 2
    varies = variance > 0
    tried: list[tuple[float, Candidate]] = []
    outputs, least = y, np.inf
    for radius, f in zip(radii, normal.predictions(double.kernel(held.X), radii), strict=True):
        errors = w @ (f - y) ** 2
        score = float(np.mean(errors[varies] / variance[varies])) if varies.any() else 0.0
        one = Candidate(like.scaling, like.bias, float(radius / normal.weight), score, len(held))
        tried.append((float(errors.sum()), one))
        if tried[-1][0] < least:
            least, outputs, chosen = tried[-1][0], f, one.beta
    tried.sort(key=lambda pair: pair[0])
    return [one for _, one in tried], chosen, outputs
