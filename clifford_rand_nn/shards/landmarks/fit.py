"""From shards to a network over landmarks: what is chosen, the sums, every beta, and what is proved."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.infinite.choice import Candidate
from clifford_rand_nn.infinite.learned.rounds import LearnedRounds
from clifford_rand_nn.infinite.many.rows import TOL
from clifford_rand_nn.infinite.network import KernelNetwork
from clifford_rand_nn.infinite.training import Choices
from clifford_rand_nn.shards.engines.base import Engine
from clifford_rand_nn.shards.landmarks.choice import SINGLE, Size, landmarks
from clifford_rand_nn.shards.landmarks.normal import Normal, Span
from clifford_rand_nn.shards.landmarks.sample import Chosen, Drawn, chosen_by, parted
from clifford_rand_nn.shards.landmarks.span import SpanSteps
from clifford_rand_nn.shards.landmarks.targets import Targets
from clifford_rand_nn.shards.landmarks.terms import LandmarkRows, NormalSum
from clifford_rand_nn.shards.scan import Facts
from clifford_rand_nn.solvers.base import HistoryRow, Limits

_RADII = np.geomspace(1e3, 1e-6, 46)  # of the mean diagonal of the kernel
_STEPS = 100


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


def train(engine: Engine, facts: Facts, targets: Targets, choices: Choices, began: float) -> Trained:
    """Choose from the sample, sum normal equations in one pass, take the best beta, solve, and bound."""
    learn, held = parted(facts, targets)
    chosen = chosen_by(facts, learn, choices.beta, choices.rounds, choices.mistakes)
    rows, span, size, single = _landmarks(engine, facts, chosen, choices, held.targets.shape[1])
    Z = chosen.standard.rows(rows.X)
    double = LandmarkRows(chosen.standard, chosen.kernel, Z)
    summed = LandmarkRows(chosen.standard, chosen.kernel, Z, np.float32) if single else double
    normal = _normal(engine, summed, span, targets, held)
    tried, beta, outputs = _betas(normal, double, held, choices.beta, chosen.candidates[0])
    limits = Limits(tol=TOL, max_iter=_STEPS)
    if choices.max_time is not None:
        limits = Limits(tol=TOL, max_iter=_STEPS, max_time=max(choices.max_time, 1e-9))
    centre = np.average(held.targets, axis=0, weights=held.weights)
    steps = SpanSteps(engine, double, span, targets, centre, beta)
    radius = normal.weight * beta
    watch = steps.solve(normal.fit(radius)[0], lambda b: normal.inverse(b, radius), limits, began)
    assert watch.status is not None
    u, intercept, scale = watch.point
    told = chosen.rounds
    return Trained(
        network=KernelNetwork(chosen.standard, chosen.kernel, Z, span.coefficients(u), intercept),
        rows=rows.index,
        held=held,
        outputs=outputs,
        beta=beta,
        primal=watch.objective,
        dual=watch.bound.value,
        relative_gap=watch.gap,
        scale=scale,
        candidates=[*tried, *chosen.candidates],
        rounds=told,
        metric=chosen.metric,
        scope=f"over functions in the span of {len(rows)} landmarks, and an intercept",
        reason=(
            f"n = {facts.n} in shards: {len(rows)} landmarks, expected {size.seconds:.2g} s on two cores and "
            f"{size.bytes:.2g} bytes; sums in {'single' if single else 'double'} precision"
        ),
        message=watch.message if watch.status.ends_all else "",
        history=tuple(watch.history),
    )


def _landmarks(
    engine: Engine, facts: Facts, chosen: Chosen, choices: Choices, outputs: int
) -> tuple[Drawn, Span, Size, bool]:
    """Return landmarks, as many as limits allow; fewer where only double precision tells them apart."""
    width = chosen.kernel.features(np.zeros((1, chosen.standard.width))).shape[1]
    for single in (True, False):
        size = landmarks(facts.n, width, outputs, engine.workers, choices.max_time, choices.max_memory, single)
        rows = chosen.rows.take(np.arange(min(size.landmarks, len(chosen.rows))))
        span = Span(chosen.kernel, chosen.standard.rows(rows.X))
        if span.least > SINGLE:
            break
    return rows, span, size, single


def _normal(engine: Engine, rows: LandmarkRows, span: Span, targets: Targets, held: Drawn) -> Normal:
    centre = np.average(rows.kernel(held.X), axis=0, weights=held.weights).astype(np.float64)
    centre_y = np.average(held.targets, axis=0, weights=held.weights)
    sums = engine.sum(NormalSum(rows, targets, centre, centre_y, np.sort(held.index)))
    return Normal(span, sums, centre, centre_y)


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
