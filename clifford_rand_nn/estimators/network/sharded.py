"""The network without knobs on shards: what of the estimators' parameters holds there, and what the fit leaves."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score

from clifford_rand._checks import describe, fail
from clifford_rand_nn.certificates import KernelClaim
from clifford_rand_nn.datafits.choice import as_loss, labels_of
from clifford_rand_nn.estimators.parameters import tell
from clifford_rand_nn.estimators.rows import note_columns
from clifford_rand_nn.estimators.sharded_targets import stored_targets
from clifford_rand_nn.infinite.calibration import fit_calibration
from clifford_rand_nn.infinite.intervals import fit_intervals
from clifford_rand_nn.infinite.learned.rounds import wrong_class
from clifford_rand_nn.infinite.training import Choices
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.shards.checkpoint import Checkpoint
from clifford_rand_nn.shards.engines.choice import as_engine
from clifford_rand_nn.shards.landmarks.choice import MOST
from clifford_rand_nn.shards.landmarks.fit import Saved, Trained, train
from clifford_rand_nn.shards.landmarks.sample import HELD
from clifford_rand_nn.shards.scan import scan
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.shards.targets import Targets
from clifford_rand_nn.solvers.base import SOONEST
from clifford_rand_nn.units import Units

_FREE = ("max_time", "verbose")  # may differ when a fit goes on
_OLD = ("feature_names_in_", "loo_predictions_", "loo_probabilities_", "left_out_")  # of a fit in memory before


def fit_shards(model: Any, shards: Any, y: Any, sample_weight: Any, groups: Any, engine: Any, checkpoint: Any) -> None:
    """Fit an estimator without knobs to shards; refuse what only shards have beside anything else."""
    began, owner = time.perf_counter(), type(model).__name__
    if not isinstance(shards, Shards):
        name = "engine" if engine is not None else "checkpoint"
        raise fail(name, owner, "None with rows in memory", describe("given"), "It is for Shards.")
    _refuse(model, owner, y=y, sample_weight=sample_weight, groups=groups)
    classify = hasattr(model, "class_weight")
    with as_engine(engine, shards, owner, model.max_memory) as own:
        about = {name: value for name, value in model.get_params().items() if name not in _FREE}
        about |= {"shards": shards.fingerprint, "model": owner}
        keeper = Checkpoint.opened(checkpoint, about, owner, writes=own.first)
        saved = keeper.load()
        facts = scan(own, MOST + HELD, np.random.default_rng(0), classify, owner)
        targets = stored_targets(model, facts, as_loss("squared", owner))
        note_columns(model, shards)
        beta = None if isinstance(model.beta, str) else float(model.beta)
        left = None if model.max_time is None else max(model.max_time - (time.perf_counter() - began), SOONEST)
        choices = Choices(beta, model._rounds, wrong_class if classify else None, left, model.max_memory)
        state = None if saved is None else Saved.of(saved)
        found = train(own, facts, targets, choices, owner, state, None if checkpoint is None else keeper.offer)
        if checkpoint is not None:
            keeper.write(found.state)
    _keep(model, found, targets, facts.n, shards.n)
    model.n_features_in_ = shards.d
    outputs, w = found.outputs, found.held.weights
    some = None if (w == w[0]).all() else w
    if classify:
        index = labels_of(found.held.targets)
        model.classes_, model.loss_ = targets.classes, "squared"
        model.calibration_ = fit_calibration(outputs, index, len(model.classes_), some)
        model.losses_ = {"squared": model.calibration_.loss}
        logs = model.calibration_.log_probabilities(outputs)
        model.loo_score_ = float(accuracy_score(index, logs.argmax(axis=1), sample_weight=some))
        model.calibration_ = model.calibration_.ordered()
    else:
        truth = found.held.targets
        model._target_ndim = _target_ndim(shards)
        model.intervals_ = fit_intervals(np.ldexp(truth - outputs, targets.exponent), None, some)
        model.loo_score_ = float(r2_score(truth, outputs, sample_weight=some))
    model._keep_variance(False)
    if model.verbose:
        best, rounds = found.candidates[0], found.rounds.rounds if found.rounds else 0
        tell(
            f"{owner}: rows scaled by {best.scaling}, constant feature {best.bias:g}, {rounds} rounds of learned gates,"
            f" beta {model.beta_:.3g}; {model.reason_}"
        )
    if found.message:
        warnings.warn(f"{owner}: {found.message}.", ConvergenceWarning, stacklevel=3)


def _refuse(model: Any, owner: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            hint = "Groups are for rows in memory." if name == "groups" else "Give it to Shards, beside X."
            raise fail(name, owner, "None with shards", describe(type(value).__name__), hint)
    if model._finite:
        hint = "A network of few neurons is chosen from rows in memory."
        name = "n_neurons" if model.n_neurons is not None else "gates"
        raise fail(name, owner, "left out with shards", getattr(model, name), hint)
    if getattr(model, "loss", "squared") == "logistic":
        raise fail("loss", owner, "'auto' or 'squared' with shards", model.loss)


def _keep(model: Any, found: Trained, targets: Targets, n: int, n_rows: int) -> None:
    """Set what estimators have in common."""
    units = Units(0, targets.exponent)
    for name in _OLD:
        vars(model).pop(name, None)
    model.network_ = network = units.back(found.network)
    model.network_rows_ = found.rows
    model.path_ = model.spanning_rows_ = model.selection_certificate_ = None
    model.beta_, model.candidates_, model.reason_ = found.beta, found.candidates, found.reason
    model.rounds_, model.metric_ = found.rounds, found.metric
    model.history_ = tuple(row._replace(objective=units.square(row.objective)) for row in found.history)
    model.certificate_ = ShardCertificate(
        primal=units.square(found.primal),
        dual=units.square(found.dual),
        relative_gap=found.relative_gap,
        scope=found.scope,
        n_patterns=0,
        claim=KernelClaim(network, landmarks=True),
        scale=found.scale,
        beta=found.beta,
        loss="squared",
        huber_delta=1.0,
        targets=targets,
        n=n,
        n_rows=n_rows,
        fit_intercept=True,
    )


def _target_ndim(shards: Shards) -> int:
    y = shards.shards[0].y
    assert y is not None
    return len(y.shape)
