"""Fits of gated networks to shards: what a sample of the rows decides, what all of them train, and what is left."""

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._checks import as_generator, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.claims import GatedClaim
from clifford_rand_nn.datafits.registry import as_loss, normalized
from clifford_rand_nn.estimators.held_out import BetaScore, DeferredCalibration, HeldOut, chosen_beta
from clifford_rand_nn.estimators.parameters import progress_line
from clifford_rand_nn.estimators.rows import note_columns
from clifford_rand_nn.estimators.sharded_beta import SHARE, Held, Progress, follow
from clifford_rand_nn.estimators.sharded_fit import belongs_to, opened_checkpoint, refuse_beside_shards
from clifford_rand_nn.estimators.sharded_targets import stored_targets
from clifford_rand_nn.estimators.task import Task
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.pricing.family import gate_scope
from clifford_rand_nn.row_sums.engine import Engine
from clifford_rand_nn.row_sums.sums import Block
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.shards.engines.dispatch import as_engine
from clifford_rand_nn.shards.gated.fit import Trained, on_all_columns, train_gated
from clifford_rand_nn.shards.gated.memory import needed
from clifford_rand_nn.shards.gated.passes import Patterns
from clifford_rand_nn.shards.gated.steps import State, moved, state_of
from clifford_rand_nn.shards.scan import Facts, scan
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.solvers.base import SOONEST, Limits, Status
from clifford_rand_nn.solvers.interrupts import Interrupts, holding, unless_interrupted
from clifford_rand_nn.sparse_rows import with_feature

_SAMPLE = 16_384  # rows that decide how long steps are, and where they start
_JUDGED = 4096  # of them, by which beta is chosen to begin with
_JUDGES = 4  # of so many rows of the sample one judges what all others train
_FOLLOWED = 1e-2  # gap to which a network is trained that is only judged
_FREE = ("max_time", "max_iter", "max_memory", "verbose", "tol")  # may differ when a fit goes on
_LEAST_RANGE = -100  # exponent of the range of targets far from 0: their gradients are normal in single precision
_RANGE = 2.0**40  # sizes of rows between its inverse and this are far from overflow in single precision


def fit_sharded(model: Any, shards: Shards, y: Any, sample_weight: Any, engine: Any, checkpoint: Any) -> Any:
    """Fit a `GatedReLU` to shards; see its `fit`."""
    with holding() as interrupts:
        _fit(model, shards, y, sample_weight, engine, checkpoint, interrupts)
    if interrupts.held:
        model._end(Status.INTERRUPTED)
    return model


def _fit(
    model: Any, shards: Shards, y: Any, sample_weight: Any, engine: Any, checkpoint: Any, interrupts: Interrupts
) -> None:
    began, owner = time.perf_counter(), type(model).__name__
    model._check_parameters()
    refuse_beside_shards(owner, y=y, sample_weight=sample_weight)
    _check_kind(model, owner)
    drawn_anew = not isinstance(model.random_state, int | np.integer)  # None, or a generator: the state has the seed
    free = (*_FREE, "random_state") if drawn_anew else _FREE
    about, tol = belongs_to(model, shards, free), model._tolerance(shards=True)
    with as_engine(engine, shards, owner, model.max_memory) as runs:
        keeper, saved = opened_checkpoint(runs, checkpoint, about, owner)
        drawn = int(as_generator(model.random_state, owner, "random_state").integers(2**62))
        seed = runs.agreed(drawn) if saved is None else saved[0]
        _keep_to(model, shards, runs, 1, owner)
        facts = scan(runs, _SAMPLE, np.random.default_rng(seed), hasattr(model, "class_weight"), owner)
        there = clone(model).set_params(random_state=seed, tol=tol)  # a fit that goes on draws what it drew
        there._chosen = isinstance(model.beta, str)
        there.loss_, there._sample_weight = _loss(model), None
        targets = _targets(there, facts)
        _keep_to(model, shards, runs, _outputs(targets, facts), owner)
        held = _held(facts, targets) if there._chosen and facts.n > _JUDGED else None
        task, places = _sample(there, facts, targets, began, held)
        beta, scores = _beta(there, task) if there._chosen else (float(model.beta), None)
        there.beta_, scores = runs.agreed((beta, scores))
        found = there._gate_patterns(np.asarray(task.X, dtype=np.float64), task.targets)
        problem = on_all_columns(there._problem(task, found.patterns))
        runs.keep(Patterns(found.gates))
        limits = Limits(tol=tol, max_iter=model.max_iter or Limits.max_iter, max_time=model.max_time)
        outputs: dict[float, Array] = {}  # for the held-out rows, at each beta
        progress = Progress([], there.beta_, held is None, None) if saved is None else _progress(saved[1])
        state = None if saved is None else state_of(saved[2])

        def train(now: Progress, state: State | None) -> Trained:
            problem.penalty.beta = now.beta
            spent = time.perf_counter() - began
            bounds = limits.after(spent, callback=callback)
            rows, counted = targets, facts.n
            if not now.final:
                assert held is not None
                rows, counted = held.without(targets, facts.n)
                bounds = replace(bounds, tol=max(limits.tol, _FOLLOWED))
                if limits.max_time is not None:
                    bounds = replace(bounds, max_time=max(SHARE * limits.max_time - spent, SOONEST))
            trained = train_gated(
                runs,
                problem,
                rows,
                counted,
                task.feature,
                bounds,
                state,
                lambda state: keeper.offer(lambda: (seed, now, state)),
            )
            if now.final:
                interrupts.hold()
            if trained.state is not None:
                keeper.write((seed, now, trained.state))
            if not now.final:
                unless_interrupted(trained.result)
            return trained

        def judge(trained: Trained, beta: float) -> BetaScore:
            assert held is not None
            outputs[beta] = held.outputs(trained.result.coefficients, found.gates)
            return runs.agreed(
                held.score(trained.result.coefficients, outputs[beta], targets.loss, targets.classes, beta)
            )

        with progress_line(model.verbose and runs.first, tol, model.max_time, expected=True) as callback:
            if held is not None:
                half = np.inf if model.max_time is None else SHARE * model.max_time
                mass = float(held.weights.sum() ** 2 / (held.weights @ held.weights))
                in_time = lambda: runs.agreed(time.perf_counter() - began < half)  # noqa: E731
                progress, state = follow(progress, train, judge, mass, state, in_time)
            if state is None and progress.best is not None:
                state = moved(progress.best)
            trained = train(progress, state)
        there.beta_ = progress.beta
        there.candidates_ = progress.scores or scores
        for name in ("beta_", "candidates_", "loss_", "classes_"):
            if hasattr(there, name):
                setattr(model, name, getattr(there, name))
        _leave(model, shards, facts, targets, task, _by_place(found.gates, places), trained)
        if targets.offset is not None:  # the intercept was rounded
            model.certificate_ = model.certificate_.judged(runs, owner)
    if targets.classes is not None:
        at_beta = None if held is None else outputs.get(progress.beta)  # of an earlier run there are none
        judged = None if held is None or at_beta is None else HeldOut(at_beta, held.targets, held.weights)
        model._calibration = DeferredCalibration(there, _few(task)._replace(lifted=None), judged)


def _outputs(targets: Targets, facts: Facts) -> int:
    if targets.classes is not None:
        return 1 if len(targets.classes) == 2 else len(targets.classes)
    y: Any = facts.sample.y
    return 1 if y.ndim == 1 else int(y.shape[1])


def _keep_to(model: Any, shards: Shards, runs: Engine, outputs: int, owner: str) -> None:
    """Refuse what ``max_memory`` cannot hold, with outputs as far as they are known."""
    gates = model.n_gates + 1 if isinstance(model.gates, str) else len(tuple(model.gates)[1])
    runs.keep_to(model.max_memory, needed(shards, _SAMPLE, gates, outputs), owner)


def _check_kind(model: Any, owner: str) -> None:
    if model._free_bias:
        raise fail("bias", owner, "'penalized' or False with Shards", model.bias, "Free biases need all rows at once.")
    if model.solver not in ("auto", "fista"):
        raise fail("solver", owner, "'auto' or 'fista' with Shards", model.solver, "The others need all rows at once.")
    if model.refine:
        raise fail("refine", owner, "0 with Shards", model.refine)
    if isinstance(model.gates, str) and model.gates in ("infinite", "exhaustive"):
        hint = "ConvexNetworkClassifier and ConvexNetworkRegressor fit infinitely many gates to shards."
        raise fail("gates", owner, "sampled or given gates with Shards", model.gates, hint)


def _loss(model: Any) -> str:
    """Return the loss: where it is "auto", logistic if beta is chosen, as in memory, where a fit takes little time."""
    if model.loss != "auto":
        return str(model.loss)
    return "logistic" if isinstance(model.beta, str) else "squared"


def _beta(model: Any, task: Task) -> tuple[float, Any]:
    """Return the beta that does best on held-out rows of the sample, and what was compared."""
    return chosen_beta(model, _few(task))[:2]


def _few(task: Task) -> Task:
    """Return the task of every so-many-th row of the sample."""
    step = max(1, len(task.X) // _JUDGED)
    weights = None if task.weights is None else normalized(task.weights[::step], len(task.X[::step]), "fit")
    lifted = None if task.lifted is None else task.lifted[::step]
    return task._replace(X=task.X[::step], targets=task.targets[::step], weights=weights, lifted=lifted)


def _targets(model: Any, facts: Facts) -> Targets:
    """Return how stored targets are read; for classifiers set ``classes_``."""
    owner = type(model).__name__
    targets = stored_targets(model, facts, as_loss(model.loss_, owner, model._own_delta))
    if targets.offset is not None and _LEAST_RANGE < targets.exponent < 0:
        targets = targets._replace(exponent=0)
    if targets.exponent:
        size = describe(f"entries of about 2^{targets.exponent}")
        raise fail("y", owner, "of usual size with Shards", size, "Divide the targets when the shards are written.")
    if targets.classes is not None:
        model.classes_ = targets.classes
    return targets


def _held(facts: Facts, targets: Targets) -> Held:
    """Return every fourth row of the sample, to judge by."""
    return _drawn(facts, targets, slice(None, None, _JUDGES), facts.sample.X.dtype)


def _drawn(facts: Facts, targets: Targets, rows: Any, dtype: Any) -> Held:
    """Return rows of the sample that count, with targets and weights as they are given."""
    sample = facts.sample
    block = Block(np.ascontiguousarray(sample.X, dtype=dtype), sample.y, sample.weights, 0)
    weights = np.broadcast_to(targets._replace(mean_weight=1.0).weights(block), (len(block.X), 1))[:, 0]
    chosen = np.zeros(len(weights), dtype=bool)
    chosen[rows] = True
    chosen &= weights > 0
    return Held(sample.rows[chosen], block.X[chosen], targets.of(block)[chosen], weights[chosen])


def _sample(
    model: Any, facts: Facts, targets: Targets, began: float, held: Held | None
) -> tuple[Task, NDArray[np.int64]]:
    """Return the sample, but for rows held out, as what a fit in memory trains on; and its rows' places among all."""
    owner = type(model).__name__
    c = facts.feature(targets.factors)
    if not 1 / _RANGE < c < _RANGE:
        raise fail("X", owner, f"rows of a size between {1 / _RANGE:.0e} and {_RANGE:.0e}", describe(f"{c:.1e}"))
    rows = np.ones(len(facts.sample.X), dtype=bool)
    if held is not None:
        rows[::_JUDGES] = False
    found = _drawn(facts, targets, rows, np.float64 if facts.sample.X.dtype.itemsize > 4 else np.float32)
    w = found.weights
    weights = None if (w == w[0]).all() else w / w.mean()
    feature = c if model._bias == "penalized" else None
    lifted = None if feature is None else with_feature(found.X, feature)
    loss = model.loss_ if targets.classes is None else targets.loss  # a name beside the parameters that it has
    X: Any = found.X
    return Task(X, found.targets, loss, targets.classes, weights, began, feature, lifted), found.rows


def _progress(saved: Any) -> Progress:
    """Return what a checkpoint has as plain tuples."""
    scores, beta, final, best = saved
    return Progress([BetaScore(*one) for one in scores], beta, final, None if best is None else state_of(best))


def _by_place(gates: Gates, places: NDArray[np.int64]) -> Gates:
    """Return the gates with the rows that span them by their place among all rows, instead of in the sample."""
    return replace(gates, incident=np.where(gates.incident < 0, -1, places[gates.incident]).astype(np.intp))


def _leave(
    model: Any, shards: Shards, facts: Facts, targets: Targets, task: Task, gates: Gates, trained: Trained
) -> None:
    """Set what a fit leaves."""
    result, owner = trained.result, type(model).__name__
    if targets.offset is not None:
        t = result.coefficients.intercept + targets.offset
        result = replace(result, coefficients=result.coefficients._replace(intercept=t))
    note_columns(model, shards)
    model.bias_feature_ = task.feature
    if targets.classes is None:
        model._target_ndim = 1 if task.targets.shape[1] == 1 else 2
    model._sample_weight = None
    model._set_gated(result.coefficients, gates)
    model.result_, model.n_iter_ = result, max(1, result.n_iter)
    vars(model).pop("patterns_", None)
    model.certificate_ = ShardCertificate(
        primal=result.objective,
        dual=result.objective - result.duality_gap,
        relative_gap=result.relative_gap,
        scope=gate_scope(gates),
        n_patterns=len(gates),
        claim=GatedClaim(gates, result.coefficients, model.penalty == "ridge", task.feature),
        scale=trained.scale,
        beta=model.beta_,
        loss=model.loss_,
        huber_delta=model._delta,
        targets=targets,
        n=facts.n,
        n_rows=shards.n,
        fit_intercept=model.fit_intercept,
    )
    if not result.converged:
        warnings.warn(f"{owner}: {result.message}.", ConvergenceWarning, stacklevel=4)
