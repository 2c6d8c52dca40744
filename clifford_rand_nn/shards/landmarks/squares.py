"""The squared loss in the span of landmarks: one pass for the normal equations, every beta, then steps on all rows."""

from functools import partial

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.candidates import Candidate
from clifford_rand_nn.kernel_network.large_n.rows import TOL
from clifford_rand_nn.kernel_network.targets import is_constant, level
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.landmarks.normal import Normal
from clifford_rand_nn.shards.landmarks.setting import STEPS, Fitted, Setting, finished
from clifford_rand_nn.shards.landmarks.span import SpanSteps, State
from clifford_rand_nn.shards.landmarks.steps import restored
from clifford_rand_nn.shards.landmarks.terms import NormalSum
from clifford_rand_nn.solvers.base import Limits


def fit_squares(here: Setting, targets: Targets) -> Fitted:
    """Sum, take the best beta, solve and bound."""
    held, state = here.held, here.state
    centre = level(held.targets, np.average(held.targets, axis=0, weights=held.weights))
    whole = True
    if state is None:
        term = NormalSum(here.summed, targets, here.centre_k, centre, here.left_out)
        try:
            sums = here.engine.sum(term)
        except KeyboardInterrupt:  # what a sample says is better than nothing
            sums, whole = here.few.sum(term.of_all()), False
    else:
        sums = state.sums
    kept = tuple(sums) if here.save is not None else ()
    normal, hurry = finished(partial(Normal, here.span, sums, here.centre_k, centre))
    (tried, beta, outputs), late = finished(lambda: _betas(here, normal))
    del sums
    radius = normal.weight * beta
    steps = SpanSteps(here.engine, here.double, here.span, targets, centre, beta, lambda b: normal.inverse(b, radius))
    steps_before = None if state is None or state.steps is None else restored(state.steps, State)
    u, t = normal.fit(radius)
    first = State.at_first(u, t - centre) if steps_before is None else steps_before

    def keep(now: State) -> None:
        if whole:
            here.keep(kept, now)

    keep(first)
    limits = Limits(tol=TOL, max_iter=STEPS, max_time=here.choices.max_time)
    last, status = steps.solve(first, limits, here.began, keep, hurry or late or not whole)
    assert last.best is not None
    saved = None if here.kept is None else here.kept()
    return Fitted(last.best, beta, tried, outputs, status, last.n_iter, last.history, saved, whole)


def _betas(here: Setting, normal: Normal) -> tuple[list[Candidate], float, Array]:
    """Return what rows held out say of every beta, the best one, and what they are predicted to be for it."""
    held, like = here.held, here.chosen.candidates[0]
    betas = here.betas(normal.weight)
    w, y = held.weights / held.weights.sum(), held.targets
    variance = w @ (y - w @ y) ** 2
    varies = ~is_constant(y)
    tried: list[tuple[float, Candidate]] = []
    outputs, least = y, np.inf
    found = normal.predictions(here.double.kernel(held.X), normal.weight * betas)
    for beta, f in zip(betas, found, strict=True):
        errors = w @ (f - y) ** 2
        score = float(np.mean(errors[varies] / variance[varies])) if varies.any() else 0.0
        tried.append((float(errors.sum()), Candidate(like.scaling, like.bias, float(beta), score, len(held))))
        if tried[-1][0] < least:
            least, outputs, chosen = tried[-1][0], f, float(beta)
    tried.sort(key=lambda pair: pair[0])
    return [one for _, one in tried], chosen, outputs
