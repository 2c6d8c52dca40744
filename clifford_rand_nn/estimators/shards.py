"""Fits to shards: the estimators' mixin and the selection of beta."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.cost import RowPlanning
from clifford_rand_nn.estimators.held_out import PATIENCE, BetaScore, best_score, scored
from clifford_rand_nn.estimators.rows import class_factors
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import gated_predictions
from clifford_rand_nn.problems.duality import exact_offsets
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_registry import labels_of
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.row_sums import Engine, Targets
from clifford_rand_nn.shards.checkpoint import Checkpoint, CheckpointStore
from clifford_rand_nn.shards.engines import as_engine
from clifford_rand_nn.shards.gated_fit import State, Trained, moved
from clifford_rand_nn.shards.plan import plan_fit
from clifford_rand_nn.shards.scan import Facts
from clifford_rand_nn.shards.source import Shards, fingerprint
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.solvers.stopping import holding


class ShardPlanning(RowPlanning):
    """An estimator that fits shards, and says before the start what that takes."""

    def plan(self, X: Any, y: Any = None, *, engine: Any = None) -> Any:
        """Return the expected cost of `fit`: of rows (n, d) in memory a `FitPlan`, of `Shards` a `Plan`.

        Of rows only sizes count, as of all estimators: nothing is trained, and the data may make a fit half or twice as
        long; ``y`` says how many outputs there are. Of shards a copy of the estimator is fitted to 65,536 of the rows,
        from all over them, by the same ``engine``, as for `fit`; that takes some seconds, at most a minute. Both are
        shown as tables. Raises ArgumentError for what `fit` would refuse.

        >>> from clifford_rand_nn import ConvexNetworkRegressor
        >>> plan = ConvexNetworkRegressor().plan(np.random.default_rng(0).standard_normal((300, 4)))
        >>> list(plan.parts), plan.seconds > 0, plan.memory > 300 * 300 * 8
        (['selection', 'metric', 'learning', 'scores'], True, True)
        """
        owner, shards = type(self).__name__, X
        if not isinstance(X, Shards):
            if engine is not None:
                raise fail("engine", f"{owner}.plan", "None with rows in memory", describe(type(engine).__name__))
            return super().plan(X, y)
        if y is not None:
            raise fail("y", f"{owner}.plan", "None with Shards", describe(type(y).__name__))
        if isinstance(engine, Engine):
            hint = "Engines belong to their shards, and a plan makes one for some of the rows."
            raise fail("engine", f"{owner}.plan", 'None, a distributed.Client or "torch"', engine, hint)
        model: Any = self

        def fit(some: Shards, runs: Engine, seconds: float) -> Any:
            return clone(model).set_params(verbose=0, max_time=seconds).fit(some, engine=runs)

        return plan_fit(
            owner, shards, lambda some: as_engine(engine, some, owner, model.max_memory), fit, model.max_time
        )

    def _fits_shards(self: Any, X: Any, engine: Any, checkpoint: Any, **beside: Any) -> bool:
        """Fit to X if they are shards, and keep the best network on Ctrl-C; else refuse what only such a fit takes."""
        owner = type(self).__name__
        if not isinstance(X, Shards):
            for name, value in (("engine", engine), ("checkpoint", checkpoint)):
                if value is not None:
                    raise fail(name, owner, "None with rows in memory", value, "It is for Shards.")
            return False
        for name, value in beside.items():
            if value is not None:
                in_memory = name in ("groups", "order")
                hint = "Groups and order are for rows in memory." if in_memory else "Give it to Shards, beside X."
                raise fail(name, owner, "None with Shards", describe(type(value).__name__), hint)
        with holding() as interrupts:
            self._train_shards(X, engine, checkpoint, interrupts)
        if interrupts.held:
            self._end(Status.INTERRUPTED)
        return True


def belongs_to(model: Any, shards: Shards, free: tuple[str, ...]) -> dict[str, Any]:
    """Return what a state belongs to: data, estimator and its parameters, but those that may differ from run to run."""
    about = {name: value for name, value in model.get_params().items() if name not in free}
    if isinstance(about["gates"], Gates):
        about["gates"] = tuple(about["gates"])
    return about | {"shards": fingerprint(shards), "model": type(model).__name__}


def opened_checkpoint(runs: Engine, checkpoint: Any, about: dict[str, Any], owner: str) -> tuple[CheckpointStore, Any]:
    """Return what keeps the states of a fit, and the one to go on from or None.

    The first process alone tries and reads the file; what is wrong with it is an error in all.
    """
    saved = runs.of_first(lambda: Checkpoint.opened(checkpoint, about, owner).load())
    return Checkpoint.opened(checkpoint, about, owner, writes=runs.first), saved


def stored_targets(model: Any, facts: Facts, loss: Loss) -> Targets:
    """Return how the targets of an estimator are read from shards, after the first pass over them.

    Raises ArgumentError for labels where there should be reals, multilabel targets, or factors of classes that are not
    > 0.
    """
    owner, y = type(model).__name__, facts.sample.y
    assert y is not None
    if not hasattr(model, "class_weight"):
        if y.dtype.kind not in "fiub":
            raise fail("y", owner, "real numbers", describe(f"dtype {y.dtype}"), "Labels are for a classifier.")
        offset = np.array(exact_offsets(facts.bounds) if getattr(model, "fit_intercept", True) else ())
        exponent = Units.of(np.ones((1, 1)), facts.bounds - offset if offset.size else facts.bounds, owner).y
        return Targets(loss, None, facts.mean_weight, exponent=exponent, offset=offset if offset.size else None)
    if y.ndim == 2 and y.shape[1] > 1:
        raise fail("y", owner, "one label a row in shards", describe(f"{y.shape[1]} columns"))
    labels, mass = list(facts.labels), np.array(list(facts.labels.values()))
    classes = np.array(labels, dtype=None if y.dtype.kind in "SU" else y.dtype)
    factors = None
    if model.class_weight is not None:
        factors = class_factors(model.class_weight, labels, mass, owner, sign=">")
        if not (np.isfinite(factors) & (factors > 0)).all():
            rule, hint = "numbers > 0 with shards", "Leave such rows out of them."
            raise fail("class_weight", owner, rule, model.class_weight, hint)
    mean = facts.mean_weight if factors is None else float(factors @ mass) / facts.n
    return Targets(loss.of_classes(len(labels)), classes, mean, factors)


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
        return replace(targets, mean_weight=mean, left_out=self.rows), rest

    def outputs(self, coefficients: Coefficients, gates: Gates) -> Array:
        """Return the outputs (n, C) of a network for these rows."""
        return gated_predictions(np.asarray(self.X, dtype=np.float64), gates, coefficients)

    def score(self, coefficients: Coefficients, f: Array, loss: Loss, classes: Any, beta: float) -> BetaScore:
        """Return what a network with outputs f comes to on these rows."""
        wrong = None if classes is None else labels_of(f) != labels_of(self.targets)
        used = int(np.count_nonzero(coefficients.coef.any(axis=(0, 2))))
        return scored(beta, np.asarray(loss.stated_value(f, self.targets)), self.weights, used, wrong)


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
        least = min(range(len(scores)), key=lambda i: scores[i].mean_loss)
        if len(scores) - 1 - least >= PATIENCE or trained.result.status.ends_all or not go_on():
            return Progress(scores, best.beta, True, at_best), None
        assert trained.state is not None  # an interrupt ends the choice
        progress, state = Progress(scores, progress.beta / 2, False, at_best), moved(trained.state)
    return progress, state
