"""Beta for rows in shards: halved from what a sample chooses, as long as held-out rows say that it helps."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.datafits.registry import labels_of
from clifford_rand_nn.estimators.held_out import PATIENCE, BetaScore, best_score
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import gated_predictions
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.gated.fit import State, Trained, moved

SHARE = 0.5  # of the time that there is


class Held(NamedTuple):
    """Rows that judge: in memory, in no pass while beta is chosen."""

    rows: NDArray[np.int64]
    X: NDArray[Any]
    targets: Array
    weights: Array

    def without(self, targets: Targets, n: int) -> tuple[Targets, int]:
        """Return targets and number of the n rows without these."""
        rest = n - len(self.rows)
        mean = (targets.mean_weight * n - float(self.weights.sum())) / rest
        return targets._replace(mean_weight=mean, left_out=self.rows), rest

    def outputs(self, coefficients: Coefficients, gates: Gates) -> Array:
        """Return the outputs (n, C) of a network for these rows."""
        return gated_predictions(np.asarray(self.X, dtype=np.float64), gates, coefficients)

    def score(self, coefficients: Coefficients, f: Array, loss: Loss, classes: Any, beta: float) -> BetaScore:
        """Return what a network with outputs f comes to on these rows."""
        losses, w = loss.stated_value(f, self.targets), self.weights / self.weights.sum()
        mean = float(w @ losses)
        wrong = None if classes is None else float(w @ (labels_of(f) != labels_of(self.targets)))
        used = int(np.count_nonzero(coefficients.coef.any(axis=(0, 2))))
        return BetaScore(beta, mean, float(np.sqrt(w**2 @ (losses - mean) ** 2)), used, wrong)


class Progress(NamedTuple):
    """State of the selection of beta: what was compared, the beta at work, and the state at the best one so far."""

    scores: list[BetaScore]
    beta: float
    final: bool
    best: State | None


def follow(
    progress: Progress,
    train: Callable[[Progress, State | None], Trained],
    judge: Callable[[Trained, float], BetaScore],
    mass: float,
    state: State | None,
    go_on: Callable[[], bool],
) -> tuple[Progress, State | None]:
    """Halve beta until the held-out loss has risen twice; return the best with its state, to go on from on all rows.

    ``progress``: where an earlier run ended, or the beta to begin with. ``mass``: held-out rows, as many as if all had
    equal weights. ``state``: of an earlier run, in the middle of a beta. ``go_on``: whether there is time.
    """
    while not progress.final:
        trained = train(progress, state)
        scores = [*progress.scores, judge(trained, progress.beta)]
        best = best_score(scores, mass)
        at_best = trained.state if best is scores[-1] else progress.best
        least = min(range(len(scores)), key=lambda i: scores[i].loss)
        if len(scores) - 1 - least >= PATIENCE or trained.result.status.ends_all or not go_on():
            return Progress(scores, best.beta, True, at_best), None
        assert trained.state is not None  # an interrupt ends the choice
        progress, state = Progress(scores, progress.beta / 2, False, at_best), moved(trained.state)
    return progress, state
