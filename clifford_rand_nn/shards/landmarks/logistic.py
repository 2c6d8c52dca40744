"""The logistic loss and the softmax in the span of landmarks: from a sample to one Newton step for every beta, and on.

The sample is solved first. From its function one pass makes the normal equations of a Newton step over all rows but
those held out, which choose beta by where that step leads. Newton's method goes on from there at that beta, first
without the rows held out, so that what is said of them is of a fit that has not seen them, then on all rows.
"""

from functools import partial
from typing import Any

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.candidates import Candidate
from clifford_rand_nn.kernel_network.large_n.rows import TOL
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.landmarks.logistic_terms import WorkingSum
from clifford_rand_nn.shards.landmarks.newton import NewtonSteps, State
from clifford_rand_nn.shards.landmarks.normal import Normal
from clifford_rand_nn.shards.landmarks.sample import block_of
from clifford_rand_nn.shards.landmarks.setting import STEPS, Fitted, Saved, Setting, finished
from clifford_rand_nn.shards.landmarks.steps import restored
from clifford_rand_nn.solvers.base import Limits, Status

_SAMPLED = Limits(tol=1e-3, max_iter=60)  # of the sample, from which a Newton step begins
_HELD_TOL = 1e-4  # of the fit without the rows held out
_SHARE = 0.6  # of the time, for that


def fit_logistic(here: Setting, targets: Targets) -> Fitted:
    """Fit, as above."""
    held = _Held(here, targets)
    weight = here.facts.n - float(here.held.weights.sum())
    whole, hurry = True, False
    state = None if here.state is None else _saved(here.state)
    if state is None:
        few = _OfSample(here, targets, held)
        hurry, t = few.hurry, few.t
        try:
            sums = here.engine.sum(few.working(here.left_out))
        except KeyboardInterrupt:
            whole = False
    else:
        assert here.state is not None
        sums, t = here.state.sums, state[1]
    if whole:
        kept = tuple(sums) if here.save is not None else ()
        normal, early = finished(partial(Normal, here.span, sums, here.centre_k, t))
        (tried, beta, start), late = finished(lambda: held.betas(normal, weight))
        del sums
        hurry = hurry or early or late
    else:
        normal, tried, beta, start = few.normal, few.tried, few.beta, few.start
    level, steps, unseen = (1, start, None) if state is None else (state[0], state[2], state[3])

    def keep(now: State) -> None:
        if whole and not hurry:  # after Ctrl-C the way is another
            here.keep(kept, (level, t, now, unseen))

    keep(steps)
    limit = here.choices.max_time
    if level == 1 and whole:
        rest = targets._replace(left_out=here.left_out)
        newton = NewtonSteps(here.engine, here.double, here.span, rest, beta, weight, normal, proves=False)
        limits = Limits(tol=_HELD_TOL, max_iter=STEPS, max_time=None if limit is None else _SHARE * limit)
        steps, status = newton.solve(steps, limits, here.began, keep, hurry)
        hurry = hurry or status is Status.INTERRUPTED
    if level == 1:
        found = steps.best
        unseen = (steps.u, steps.t) if found is None else (found.u, found.intercept)
        level, steps = 2, State.at_first(*unseen)
        keep(steps)
    assert unseen is not None
    newton = NewtonSteps(here.engine, here.double, here.span, targets, beta, float(here.facts.n), normal)
    limits = Limits(tol=TOL, max_iter=STEPS, max_time=limit)
    last, status = newton.solve(steps, limits, here.began, keep, hurry or not whole)
    assert last.best is not None
    saved = None if here.kept is None else here.kept()
    outputs = held.outputs(*unseen)
    return Fitted(last.best, beta, tried, outputs, status, last.n_iter, last.history, saved, whole)


def _saved(state: Saved) -> tuple[int, Array, State, Any]:
    level, t, steps, unseen = state.steps
    return int(level), t, restored(steps, State), unseen


class _Held:
    """The rows held out, with the targets of the loss."""

    def __init__(self, here: Setting, targets: Targets) -> None:
        sample = here.facts.sample
        self._here, self._loss = here, targets.loss
        self._y = targets.of(block_of(sample, np.isin(sample.rows, here.held.index)))
        self._w = here.held.weights / here.held.weights.sum()
        self._K = here.double.kernel(here.held.X)

    def outputs(self, u: Array, t: Array) -> Array:
        """Return what a function says of them."""
        return np.asarray(self._K @ self._here.span.coefficients(u) + t)

    def betas(self, normal: Normal, weight: float) -> tuple[list[Candidate], float, State]:
        """Return the mean loss of a Newton step at every beta, best first, the best beta, and where it leads."""
        like = self._here.chosen.candidates[0]
        betas = self._here.betas(weight)
        tried = []
        for beta, f in zip(betas, normal.predictions(self._K, weight * betas), strict=True):
            loss = float(self._w @ self._loss.stated_value(f, self._y))
            tried.append(Candidate(like.scaling, like.bias, float(beta), loss, len(self._y)))
        tried.sort(key=lambda one: one.score)
        beta = tried[0].beta
        return tried, beta, State.at_first(*normal.fit(weight * beta))


class _OfSample:
    """The optimum of the rows that learn, about, and Newton's normal equations there."""

    def __init__(self, here: Setting, targets: Targets, held: _Held) -> None:
        self._here, self._targets = here, targets
        few, weight = here.few, float(here.learn.weights.sum())
        y = targets.of(block_of(here.facts.sample, np.isin(here.facts.sample.rows, here.learn.index)))
        assert targets.loss.labels is not None
        low, high = targets.loss.labels
        share = here.learn.weights @ ((y - low) / (high - low)) / weight
        share = np.clip(share, 0.5 / weight, 1 - 0.5 / weight)
        self.t = np.log(share) if len(share) > 1 else np.log(share / (1 - share))
        self.u = np.zeros((here.double.m, len(share)))
        sums = few.sum(self.working(here.left_out[:0]))
        self.normal, early = finished(lambda: Normal(here.span, sums, here.centre_k, self.t))
        (self.tried, self.beta, start), late = finished(lambda: held.betas(self.normal, weight))
        newton = NewtonSteps(few, here.double, here.span, targets, self.beta, weight, self.normal, proves=False)
        last, status = newton.solve(start, _SAMPLED, here.began, lambda _: None, early or late)
        assert last.best is not None
        self.hurry = status is Status.INTERRUPTED
        self.u, self.t = last.best.u, last.best.intercept
        self.start = State.at_first(self.u, self.t)

    def working(self, left_out: Any) -> WorkingSum:
        """Return the normal equations of a Newton step from here."""
        here = self._here
        a = here.span.coefficients(self.u)
        return WorkingSum(here.summed, self._targets, here.centre_k, self.t, left_out, a, self.t)
