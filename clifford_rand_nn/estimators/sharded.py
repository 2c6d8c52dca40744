"""Fits of gated networks to shards: choices on a sample of the rows, and training on all of them."""

import time
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._checks import as_generator, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn._progress import phase, step_callback
from clifford_rand_nn._records import as_table
from clifford_rand_nn.certificates.claims import GatedClaim
from clifford_rand_nn.estimators.held_out import BetaScore, DeferredCalibration, HeldOut, chosen_beta
from clifford_rand_nn.estimators.rows import note_columns
from clifford_rand_nn.estimators.shards import (
    SHARE,
    Held,
    Progress,
    ShardPlanning,
    belongs_to,
    follow,
    opened_checkpoint,
    stored_targets,
)
from clifford_rand_nn.estimators.task import Task, refuse_together
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.pricing.family import gate_scope
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.problems.loss_registry import as_loss, normalized
from clifford_rand_nn.row_sums import Block, Engine, Targets
from clifford_rand_nn.shards.certificate import ShardCertificate, ShardedProblem
from clifford_rand_nn.shards.engines import as_engine
from clifford_rand_nn.shards.gated_fit import State, Trained, moved, needed, on_all_columns, state_of, train_gated
from clifford_rand_nn.shards.gated_passes import Patterns
from clifford_rand_nn.shards.scan import Facts, scan
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.solvers.base import SOONEST, Limits, Result
from clifford_rand_nn.solvers.stopping import Interrupts, unless_interrupted
from clifford_rand_nn.sparse_rows import with_feature

_SAMPLE = 16_384  # rows that decide how long steps are, and where they start
_JUDGED = 4096  # of them, by which beta is chosen to begin with
_JUDGES = 4  # of so many rows of the sample one judges what all others train
_FOLLOWED = 1e-2  # gap to which a network is trained that is only judged
_FREE = ("max_time", "max_iter", "max_memory", "verbose", "tol")  # may differ when a fit goes on
_LEAST_RANGE = -100  # exponent of the range of targets far from 0: their gradients are normal in single precision
_RANGE = 2.0**40  # sizes of rows between its inverse and this are far from overflow in single precision


class _Sample(NamedTuple):
    """The targets, the held-out rows, the sample as a task and its ``places`` among all rows, and what it decides."""

    targets: Targets
    held: Held | None
    task: Task
    places: NDArray[np.int64]
    scores: list[BetaScore] | None
    gates: Gates
    problem: Any


class ShardedGatedReLU(ShardPlanning):
    """Training of gated networks on shards: choices on a sample, then sums over all rows."""

    def _train_shards(self, shards: Shards, engine: Any, checkpoint: Any, interrupts: Interrupts) -> None:
        model: Any = self
        began, owner = time.perf_counter(), type(self).__name__
        model._check_parameters()
        self._check_shards_kind()
        seeded = isinstance(model.random_state, int | np.integer)
        free = _FREE if seeded else (*_FREE, "random_state")  # None, or a generator: the state has the seed
        about, tol = belongs_to(self, shards, free), model._tolerance(shards=True)
        with as_engine(engine, shards, owner, model.max_memory) as runs:
            keeper, saved = opened_checkpoint(runs, checkpoint, about, owner)
            drawn = int(as_generator(model.random_state, owner, "random_state").integers(2**62))
            seed = runs.agreed(drawn) if saved is None else saved[0]
            self._check_memory(shards, runs, 1, owner)
            phase("reading the shards")
            facts = scan(runs, _SAMPLE, np.random.default_rng(seed), hasattr(self, "class_weight"), owner)
            there = clone(self).set_params(random_state=seed, tol=tol)  # a fit that goes on draws what it drew
            sample: _Sample = there._choose_by_sample(shards, facts, runs, began)
            targets, held, task = sample.targets, sample.held, sample.task
            limits = Limits(tol=tol, max_iter=model.max_iter or Limits.max_iter, max_time=model.max_time)
            outputs: dict[float, Array] = {}  # for the held-out rows, at each beta
            progress = Progress([], there.beta_, held is None, None) if saved is None else _progress(saved[1])
            state = None if saved is None else state_of(saved[2])

            def train(now: Progress, state: State | None) -> Trained:
                sample.problem.penalty.beta = now.beta
                spent = time.perf_counter() - began
                bounds = limits.after(spent, callback=callback)
                rows, counted = targets, facts.n
                if not now.final:
                    assert held is not None
                    rows, counted = held.without(targets, facts.n)
                    bounds = replace(bounds, tol=max(limits.tol, _FOLLOWED))
                    if limits.max_time is not None:
                        bounds = replace(bounds, max_time=max(SHARE * limits.max_time - spent, SOONEST))
                problem = ShardedProblem(runs, sample.problem, rows, counted, task.feature)
                trained = train_gated(problem, bounds, state, lambda state: keeper.offer(lambda: (seed, now, state)))
                if now.final:
                    interrupts.hold()
                if trained.state is not None:
                    keeper.write((seed, now, trained.state))
                if not now.final:
                    unless_interrupted(trained.result)
                return trained

            def judge(trained: Trained, beta: float) -> BetaScore:
                assert held is not None
                outputs[beta] = held.outputs(trained.result.coefficients, sample.gates)
                return runs.agreed(
                    held.score(trained.result.coefficients, outputs[beta], targets.loss, targets.classes, beta)
                )

            callback = step_callback(tol, expected=True) if runs.first else None
            phase("training, a pass over the shards for each step")
            if held is not None:
                half = np.inf if model.max_time is None else SHARE * model.max_time
                mass = float(held.weights.sum() ** 2 / (held.weights @ held.weights))
                in_time = lambda: runs.agreed(time.perf_counter() - began < half)  # noqa: E731
                progress, state = follow(progress, train, judge, mass, state, in_time)
            if state is None and progress.best is not None:
                state = moved(progress.best)
            trained = train(progress, state)
            there.beta_ = progress.beta
            there.candidates_ = as_table(progress.scores or sample.scores)
            for name in ("beta_", "candidates_", "loss_", "classes_"):
                if hasattr(there, name):
                    setattr(self, name, getattr(there, name))
            note_columns(self, shards)
            gates = _by_place(sample.gates, sample.places)
            result, proof = self._sharded_result(shards, facts, targets, gates, trained)
            if targets.offset is not None:  # the intercept was rounded
                proof = proof.judged(runs, owner)
        fitted: dict[str, Any] = {"bias_feature_": task.feature, "result_": result, "certificate_": proof}
        if targets.classes is None:
            fitted["_target_ndim"] = 1 if task.targets.shape[1] == 1 else 2
        else:
            at_beta = None if held is None else outputs.get(progress.beta)  # of an earlier run there are none
            judged = None if held is None or at_beta is None else HeldOut(at_beta, held.targets, held.weights)
            fitted["_calibration"] = DeferredCalibration(there, replace(_few(task), lifted=None), judged)
        vars(self).pop("patterns_", None)
        vars(self).update(fitted, n_iter_=max(1, result.n_iter), _sample_weight=None)
        model._set_gated(result.coefficients, gates)
        if not result.converged:
            warnings.warn(f"{owner}: {result.message}.", ConvergenceWarning, stacklevel=4)

    def _choose_by_sample(self: Any, shards: Shards, facts: Facts, runs: Engine, began: float) -> _Sample:
        """Choose the loss, beta and the gates by the sample; set them, and return what the training begins with."""
        vars(self).update(_chosen=isinstance(self.beta, str), loss_=self._sharded_loss(), _sample_weight=None)
        targets = self._stored_targets(facts)
        self._check_memory(shards, runs, _outputs(targets, facts), type(self).__name__)
        held = None
        if self._chosen and facts.n > _JUDGED:
            held = _drawn(facts, targets, slice(None, None, _JUDGES), facts.sample.X.dtype)
        task, places = self._sample_task(facts, targets, began, held)
        beta, scores = chosen_beta(self, _few(task))[:2] if self._chosen else (float(self.beta), None)
        self.beta_, scores = runs.agreed((beta, scores))
        patterns, gates = self._gate_patterns(np.asarray(task.X, dtype=np.float64), task.targets)
        problem = on_all_columns(self._problem(task, patterns))
        runs.keep(Patterns(gates))
        return _Sample(targets, held, task, places, scores, gates, problem)

    def _check_shards_kind(self: Any) -> None:
        need = "need all rows at once."
        unsampled = isinstance(self.gates, str) and self.gates in ("infinite", "exhaustive")
        network = "ConvexNetworkClassifier and ConvexNetworkRegressor fit infinitely many gates to shards."
        refuse_together(
            self,
            (self._free_bias, "bias", "'penalized' or False with Shards", f"Free biases {need}"),
            (self.solver not in ("auto", "fista"), "solver", "'auto' or 'fista' with Shards", f"The others {need}"),
            (self.n_refinements, "n_refinements", "0 with Shards", ""),
            (unsampled, "gates", "sampled or given gates with Shards", network),
        )

    def _check_memory(self: Any, shards: Shards, runs: Engine, outputs: int, owner: str) -> None:
        """Refuse what ``max_memory`` cannot hold, with outputs as far as they are known."""
        gates = self.n_gates + 1 if isinstance(self.gates, str) else len(tuple(self.gates)[1])
        runs.keep_to(self.max_memory, needed(shards, _SAMPLE, gates, outputs), owner)

    def _sharded_loss(self: Any) -> str:
        """Return the loss: "auto" is logistic if beta is selected, as in memory where a fit takes little time."""
        if self.loss != "auto":
            if not as_loss(self.loss, type(self).__name__).has_bounded_curvature:
                raise fail("loss", type(self).__name__, "one of bounded curvature for Shards", self.loss)
            return str(self.loss)
        return "logistic" if isinstance(self.beta, str) else "squared"

    def _stored_targets(self: Any, facts: Facts) -> Targets:
        """Return how stored targets are read; for classifiers set ``classes_``."""
        owner = type(self).__name__
        targets = stored_targets(self, facts, as_loss(self.loss_, owner, self._own_delta))
        if targets.offset is not None and _LEAST_RANGE < targets.exponent < 0:
            targets = replace(targets, exponent=0)
        if targets.exponent:
            size = describe(f"entries of about 2^{targets.exponent}")
            raise fail("y", owner, "of usual size with Shards", size, "Divide the targets when the shards are written.")
        if targets.classes is not None:
            vars(self)["classes_"] = targets.classes
        return targets

    def _sample_task(
        self: Any, facts: Facts, targets: Targets, began: float, held: Held | None
    ) -> tuple[Task, NDArray[np.int64]]:
        """Return the sample without the held-out rows as the task of a fit in memory, and its places among all rows."""
        owner = type(self).__name__
        c = facts.feature(targets.factors)
        if not 1 / _RANGE < c < _RANGE:
            raise fail("X", owner, f"rows of a size between {1 / _RANGE:.0e} and {_RANGE:.0e}", describe(f"{c:.1e}"))
        rows = np.ones(len(facts.sample.X), dtype=bool)
        if held is not None:
            rows[::_JUDGES] = False
        drawn = _drawn(facts, targets, rows, np.float64 if facts.sample.X.dtype.itemsize > 4 else np.float32)
        w = drawn.weights
        weights = None if (w == w[0]).all() else w / w.mean()
        feature = c if self._bias == "penalized" else None
        lifted = None if feature is None else with_feature(drawn.X, feature)
        loss = self.loss_ if targets.classes is None else targets.loss  # a name beside the parameters that it has
        X: Any = drawn.X
        return Task(X, drawn.targets, loss, targets.classes, weights, began, feature, lifted), drawn.rows

    def _sharded_result(
        self: Any, shards: Shards, facts: Facts, targets: Targets, gates: Gates, trained: Trained
    ) -> tuple[Result[Coefficients], ShardCertificate]:
        """Return the result for the targets as they are stored, and its certificate."""
        result, feature = trained.result, facts.feature(targets.factors) if self._bias == "penalized" else None
        if targets.offset is not None:
            t = result.coefficients.intercept + targets.offset
            result = replace(result, coefficients=result.coefficients._replace(intercept=t))
        return result, ShardCertificate(
            objective=result.objective,
            lower_bound=result.objective - result.duality_gap,
            relative_gap=result.relative_gap,
            scope=gate_scope(gates),
            n_patterns=len(gates),
            claim=GatedClaim(gates, result.coefficients, self.penalty == "ridge", feature),
            scale=trained.scale,
            beta=self.beta_,
            loss=self.loss_,
            huber_delta=self._delta,
            targets=targets,
            n=facts.n,
            n_rows=shards.n_rows,
            fit_intercept=self.fit_intercept,
        )


def _outputs(targets: Targets, facts: Facts) -> int:
    if targets.classes is not None:
        return 1 if len(targets.classes) == 2 else len(targets.classes)
    y: Any = facts.sample.y
    return 1 if y.ndim == 1 else int(y.shape[1])


def _few(task: Task) -> Task:
    """Return the task of every so-many-th row of the sample."""
    step = max(1, len(task.X) // _JUDGED)
    weights = None if task.weights is None else normalized(task.weights[::step], len(task.X[::step]), "fit")
    lifted = None if task.lifted is None else task.lifted[::step]
    return replace(task, X=task.X[::step], targets=task.targets[::step], weights=weights, lifted=lifted)


def _drawn(facts: Facts, targets: Targets, rows: Any, dtype: Any) -> Held:
    """Return rows of the sample that count, with targets and weights as they are given."""
    sample = facts.sample
    block = Block(np.ascontiguousarray(sample.X, dtype=dtype), sample.y, sample.weights, 0)
    weights = np.broadcast_to(replace(targets, mean_weight=1.0).weights(block), (len(block.X), 1))[:, 0]
    chosen = np.zeros(len(weights), dtype=bool)
    chosen[rows] = True
    chosen &= weights > 0
    return Held(sample.rows[chosen], block.X[chosen], targets.of(block)[chosen], weights[chosen])


def _progress(saved: Any) -> Progress:
    scores, beta, final, best = saved
    return Progress([BetaScore(*score) for score in scores], beta, final, None if best is None else state_of(best))


def _by_place(gates: Gates, places: NDArray[np.int64]) -> Gates:
    """Return the gates with the rows that span them by their place among all rows, instead of in the sample."""
    return replace(gates, incident=np.where(gates.incident < 0, -1, places[gates.incident]).astype(np.intp))
