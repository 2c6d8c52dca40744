"""Fits of gated networks to shards: what a sample of the rows decides, what all of them train, and what is left."""

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._checks import as_generator, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.bias import with_feature
from clifford_rand_nn.certificates import GatedClaim
from clifford_rand_nn.datafits.choice import as_loss, encode_labels, normalised
from clifford_rand_nn.estimators.base import Task
from clifford_rand_nn.estimators.held_out import chosen_beta
from clifford_rand_nn.estimators.parameters import progress_line
from clifford_rand_nn.estimators.rows import note_columns
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.pricing.family import gate_scope
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.shards.checkpoint import Checkpoint
from clifford_rand_nn.shards.engines.choice import as_engine
from clifford_rand_nn.shards.gated.fit import Trained, on_all_columns, train_gated
from clifford_rand_nn.shards.gated.steps import State, state_of
from clifford_rand_nn.shards.scan import Facts, scan
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.shards.targets import Targets
from clifford_rand_nn.solvers.base import Limits

_SAMPLE = 16_384  # rows that decide how long steps are, and where they start
_JUDGED = 4096  # of them, by which beta is chosen
_FREE = ("max_time", "max_iter", "max_memory", "verbose", "tol", "random_state")  # may differ when a fit goes on
_RANGE = 2.0**40  # sizes of rows between its inverse and this are far from overflow in single precision


def fit_sharded(model: Any, shards: Shards, y: Any, sample_weight: Any, engine: Any, checkpoint: Any) -> Any:
    """Fit a `GatedReLU` to shards; see its `fit`."""
    began, owner = time.perf_counter(), type(model).__name__
    model._check_parameters()
    _check_kind(model, y, sample_weight, owner)
    about = _about(model, shards)
    with as_engine(engine, shards, owner, model.max_memory) as runs:
        keeper = Checkpoint.opened(checkpoint, about, owner, writes=runs.first)
        saved = runs.agreed(keeper.load())
        drawn = int(as_generator(model.random_state, owner, "random_state").integers(2**62))
        seed = runs.agreed(drawn) if saved is None else saved[0]
        facts = scan(runs, _SAMPLE, np.random.default_rng(seed), hasattr(model, "class_weight"), owner)
        there = clone(model).set_params(random_state=seed)  # a fit that goes on draws what it drew
        there._chosen = isinstance(model.beta, str)
        there.loss_, there._sample_weight = _loss(model), None
        targets = _targets(there, facts)
        task = _sample(there, facts, targets, began)
        chosen = _beta(there, task) if there._chosen else (float(model.beta), None)
        there.beta_, there.candidates_ = runs.agreed(chosen)
        found = there._gate_patterns(np.asarray(task.X, dtype=np.float64), task.targets)
        problem = on_all_columns(there._problem(task, found.patterns))
        limits = Limits(tol=model.tol, max_iter=model.max_iter or Limits.max_iter, max_time=model.max_time)
        with progress_line(model.verbose and runs.first, model.tol, model.max_time, expected=True) as callback:
            limits = limits.after(time.perf_counter() - began, callback=callback)
            trained = train_gated(
                runs,
                problem,
                found.gates,
                targets,
                facts.n,
                task.feature,
                limits,
                None if saved is None else _resumed(state_of(saved[1]), model.tol),
                lambda state: keeper.offer(lambda: (seed, state)),
            )
            keeper.write((seed, trained.state))
    for name in ("beta_", "candidates_", "loss_", "classes_"):
        if hasattr(there, name):
            setattr(model, name, getattr(there, name))
    _leave(model, shards, facts, targets, task, _by_place(found.gates, facts), trained)
    return model


def _about(model: Any, shards: Shards) -> dict[str, Any]:
    """Return what a state belongs to."""
    about = {name: value for name, value in model.get_params().items() if name not in _FREE}
    if isinstance(model.gates, Gates):
        about["gates"] = tuple(model.gates)
    return about | {"shards": shards.fingerprint, "model": type(model).__name__}


def _check_kind(model: Any, y: Any, sample_weight: Any, owner: str) -> None:
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise fail(name, owner, "None with Shards, which have their own", describe(type(value).__name__))
    if model._free_bias:
        raise fail("bias", owner, "'penalised' or False with Shards", model.bias, "Free biases need all rows at once.")
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
    step = max(1, len(task.X) // _JUDGED)
    weights = None if task.weights is None else normalised(task.weights[::step], len(task.X[::step]), "fit")
    lifted = None if task.lifted is None else task.lifted[::step]
    few = task._replace(X=task.X[::step], targets=task.targets[::step], weights=weights, lifted=lifted)
    return chosen_beta(model, few)[:2]


def _targets(model: Any, facts: Facts) -> Targets:
    """Return how stored targets are read; for classifiers set ``classes_``."""
    loss = as_loss(model.loss_, type(model).__name__, model._own_delta)
    if not hasattr(model, "class_weight"):
        return Targets(loss, None, facts.mean_weight)
    labels = np.array(list(facts.labels))
    model.classes_ = labels
    loss = loss.of_classes(len(labels))
    factors = _class_factors(model.class_weight, labels, facts, type(model).__name__)
    if factors is None:
        return Targets(loss, labels, facts.mean_weight)
    mean = float(factors @ np.array(list(facts.labels.values()))) / facts.n
    return Targets(loss, labels, mean, factors)


def _class_factors(class_weight: Any, labels: Any, facts: Facts, owner: str) -> Array | None:
    if class_weight is None:
        return None
    sizes = np.array(list(facts.labels.values()))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(facts.weight / (len(labels) * sizes))
    if not isinstance(class_weight, dict):
        raise fail("class_weight", owner, "None, 'balanced' or a dict of numbers > 0", class_weight)
    factors = np.array([float(class_weight.get(label, 1.0)) for label in labels.tolist()])
    if not (factors > 0).all():
        raise fail("class_weight", owner, "a dict of numbers > 0 with Shards", class_weight)
    return factors


def _sample(model: Any, facts: Facts, targets: Targets, began: float) -> Task:
    """Return the sample as what a fit in memory trains on."""
    owner = type(model).__name__
    sample = facts.sample
    c = facts.feature(targets.factors)
    if not 1 / _RANGE < c < _RANGE:
        raise fail("X", owner, f"rows of a size between {1 / _RANGE:.0e} and {_RANGE:.0e}", describe(f"{c:.1e}"))
    dtype = np.float64 if sample.X.dtype.itemsize > 4 else np.float32
    X: Any = np.ascontiguousarray(sample.X, dtype=dtype)
    weights = None if sample.weights is None else np.asarray(sample.weights)
    assert sample.y is not None
    labels = sample.y if targets.classes is None else np.searchsorted(targets.classes, sample.y.ravel())
    if targets.factors is not None:
        weights = (np.ones(len(X)) if weights is None else weights) * targets.factors[labels]
    if weights is not None:
        kept = weights > 0
        X, labels, weights = X[kept], labels[kept], weights[kept] / weights[kept].mean()
    if targets.classes is None:
        goal = np.asarray(labels, dtype=np.float64).reshape(len(X), -1)
    else:
        goal = encode_labels(labels, len(targets.classes), targets.loss)[0]
    feature = c if model._bias == "penalised" else None
    lifted = None if feature is None else with_feature(X, feature)
    loss = model.loss_ if targets.classes is None else targets.loss  # a name beside the parameters that it has
    return Task(X, goal, loss, targets.classes, weights, began, feature, lifted)


def _resumed(state: State, tol: float) -> State:
    return state._replace(aim=min(state.aim, tol))


def _by_place(gates: Gates, facts: Facts) -> Gates:
    """Return the gates with the rows that span them by their place among all rows, instead of in the sample."""
    sample = facts.sample
    places = sample.rows if sample.weights is None else sample.rows[sample.weights > 0]
    return replace(gates, incident=np.where(gates.incident < 0, -1, places[gates.incident]).astype(np.intp))


def _leave(
    model: Any, shards: Shards, facts: Facts, targets: Targets, task: Task, gates: Gates, trained: Trained
) -> None:
    """Set what a fit leaves."""
    result, owner = trained.result, type(model).__name__
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
