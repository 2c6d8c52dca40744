"""Fits of tuning-free networks, to rows in memory and to shards."""

import time
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score

from clifford_rand._checks import fail
from clifford_rand_nn.claims import KernelClaim
from clifford_rand_nn.datafits.registry import as_loss, labels_of
from clifford_rand_nn.estimators.parameters import tell
from clifford_rand_nn.estimators.rows import note_columns
from clifford_rand_nn.estimators.shard_planning import ShardPlanning
from clifford_rand_nn.estimators.sharded_fit import (
    belongs_to,
    opened_checkpoint,
    refuse_beside_shards,
    refuse_in_memory,
)
from clifford_rand_nn.estimators.sharded_targets import stored_targets
from clifford_rand_nn.kernel_network.calibration import fit_calibration
from clifford_rand_nn.kernel_network.intervals import fit_intervals
from clifford_rand_nn.kernel_network.landmarks.cost_model import MAX_LANDMARKS
from clifford_rand_nn.kernel_network.metric.metric_selection import wrong_class
from clifford_rand_nn.kernel_network.training import Choices
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.scores import r_squared
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.shards.engines.dispatch import as_engine
from clifford_rand_nn.shards.landmarks.fit import Saved, Trained, train
from clifford_rand_nn.shards.landmarks.sample import HELD
from clifford_rand_nn.shards.scan import scan
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.solvers.base import SOONEST, Status
from clifford_rand_nn.solvers.interrupts import Interrupts, holding

_FREE = ("max_time", "verbose")  # may differ when a fit goes on
_OLD = ("feature_names_in_", "loo_predictions_", "loo_probabilities_", "left_out_")  # of a fit in memory before


class NetworkFit(ShardPlanning):
    """Training of a network on rows in memory or on shards, which loses no network to Ctrl-C."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Train on the rows X (n, d) with targets y, (n,) or (n, outputs), or labels.

        Parameters
        ----------
        X, y
            X may be sparse. With infinitely many gates, up to 8000 rows, and more columns than these and than 4096, no
            row is made dense (`RowSpan`); else all are, or are refused where memory is short of some copies. Rows
            beyond memory are `Shards`, with their targets and weights: see there.
        sample_weight : (n,) array of numbers ≥ 0, optional
            Of which only the ratios matter.
        groups : (n,) array, optional
            Rows of one patient, author or device: they are left out together, so that everything is chosen, and
            ``loo_score_`` said, for rows of new groups.
        engine : None, a distributed.Client or "torch"
            Of `Shards`: who makes their sums; by default threads of this process.
        checkpoint : path or Checkpoint, optional
            Of `Shards`: where the state is kept, from which the same fit goes on.
        """
        model: Any = self
        model._check_parameters()
        if isinstance(X, Shards):
            fit_shards(model, X, y, sample_weight, groups, engine, checkpoint)
            return self
        refuse_in_memory(type(self).__name__, engine=engine, checkpoint=checkpoint)
        self._warn(self._kept(lambda: model._fit_rows(X, y, sample_weight, groups)))
        return self

    def _kept(self, fit: Callable[[], str]) -> str:
        """Fit, and lose no network to Ctrl-C once one was judged; return why it did not reach its tolerance."""
        with Interrupts() as interrupts:
            message = fit()
        return self._interrupted(message) if interrupts.held else message

    def _interrupted(self, message: str = "") -> str:
        """Take the status of an interrupt that came after a point was judged; return what is said of it."""
        self.status_: Status | None = Status.INTERRUPTED
        return message or "there was an interrupt; this is the best network so far"

    def _warn(self, message: str) -> None:
        """Say, once the fit is done, why the network that was kept did not reach its tolerance, if it did not."""
        if message:
            warnings.warn(f"{type(self).__name__}: {message}.", ConvergenceWarning, stacklevel=3)


def fit_shards(
    model: Any, shards: Shards, y: Any, sample_weight: Any, groups: Any, engine: Any, checkpoint: Any
) -> None:
    """Fit a tuning-free estimator to shards."""
    with holding() as interrupts:
        _fit(model, shards, y, sample_weight, groups, engine, checkpoint, interrupts)
    if interrupts.held:
        model._warn(model._interrupted())


def _fit(
    model: Any,
    shards: Shards,
    y: Any,
    sample_weight: Any,
    groups: Any,
    engine: Any,
    checkpoint: Any,
    interrupts: Interrupts,
) -> None:
    began, owner = time.perf_counter(), type(model).__name__
    refuse_beside_shards(owner, y=y, sample_weight=sample_weight, groups=groups)
    _check_kind(model, owner)
    classify = hasattr(model, "class_weight")
    with as_engine(engine, shards, owner, model.max_memory) as own:
        keeper, saved = opened_checkpoint(own, checkpoint, belongs_to(model, shards, _FREE), owner)
        facts = scan(own, MAX_LANDMARKS + HELD, np.random.default_rng(0), classify, owner)
        loss = "logistic" if getattr(model, "loss", "squared") == "logistic" else "squared"
        targets = stored_targets(model, facts, as_loss(loss, owner))
        note_columns(model, shards)
        beta = None if isinstance(model.beta, str) else float(model.beta)
        left = None if model.max_time is None else max(model.max_time - (time.perf_counter() - began), SOONEST)
        left = own.agreed(left)
        choices = Choices(beta, model._rounds, wrong_class if classify else None, left, model.max_memory)
        state = None if saved is None else Saved.restored(saved)
        save = None if checkpoint is None else keeper.offer
        found = train(own, facts, targets, choices, owner, state, save)
        interrupts.hold()
        if checkpoint is not None and found.state is not None:
            keeper.write(found.state)
        _keep(model, found, targets, facts.n, shards.n)
        if targets.offset is not None:  # the intercept was rounded
            model.certificate_ = model.certificate_.judged(own, owner)
    model.n_features_in_ = shards.d
    outputs, w = found.outputs, found.held.weights
    some = None if (w == w[0]).all() else w
    if classify:
        index = labels_of(found.held.targets)
        model.classes_ = targets.classes
        model.loss_ = loss
        model.calibration_ = fit_calibration(outputs, index, len(model.classes_), some)
        model.losses_ = {model.loss_: model.calibration_.loss}
        logs = model.calibration_.log_probabilities(outputs)
        model.loo_score_ = float(accuracy_score(index, logs.argmax(axis=1), sample_weight=some))
        model.calibration_ = model.calibration_.ordered()
    else:
        truth = found.held.targets
        model._target_ndim = _target_ndim(shards)
        model.intervals_ = fit_intervals(np.ldexp(truth - outputs, targets.exponent), None, some)
        model.loo_score_ = r_squared(truth, outputs, some)
    model._keep_variance(False)
    if model.verbose:
        best, rounds = found.candidates[0], found.rounds.rounds if found.rounds else 0
        tell(
            f"{owner}: rows scaled by {best.scaling}, constant feature {best.bias:g}, {rounds} rounds of learned gates,"
            f" beta {model.beta_:.3g}; {model.reason_}"
        )
    if found.message:
        warnings.warn(f"{owner}: {found.message}.", ConvergenceWarning, stacklevel=3)


def _check_kind(model: Any, owner: str) -> None:
    if model._finite:
        hint = "A network of few neurons is chosen from rows in memory."
        name = "n_neurons" if model.n_neurons is not None else "gates"
        raise fail(name, owner, "left out with shards", getattr(model, name), hint)


def _keep(model: Any, found: Trained, targets: Targets, n: int, n_rows: int) -> None:
    """Set what estimators have in common."""
    units = Units(0, targets.exponent, () if targets.offset is None else tuple(targets.offset.tolist()))
    for name in _OLD:
        vars(model).pop(name, None)
    model.network_ = network = units.back(found.network)
    model.network_rows_ = found.rows
    model.path_ = model.spanning_rows_ = model.selection_certificate_ = None
    model.beta_, model.candidates_, model.reason_ = found.beta, found.candidates, found.reason
    model.rounds_, model.metric_, model.status_ = found.rounds, found.metric, found.status
    model.history_ = tuple(row._replace(objective=units.square(row.objective)) for row in found.history)
    model.certificate_ = ShardCertificate(
        primal=units.square(found.solved.primal),
        dual=units.square(found.solved.dual),
        relative_gap=found.solved.gap,
        scope=found.scope,
        n_patterns=0,
        claim=KernelClaim(network, landmarks=True),
        scale=found.solved.scale,
        beta=found.beta,
        loss="logistic" if targets.loss.probabilistic else "squared",
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
