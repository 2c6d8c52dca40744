"""Fits of tuning-free networks, to rows in memory and to shards, and their expected cost."""

import time
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score

from clifford_rand._checks import fail
from clifford_rand._threads import cpu_count
from clifford_rand_nn._progress import note, phase, reporting
from clifford_rand_nn._records import as_table
from clifford_rand_nn.certificates.claims import KernelClaim
from clifford_rand_nn.cost import Estimate, machine_speed, slowdown
from clifford_rand_nn.estimators.rows import note_columns
from clifford_rand_nn.estimators.shards import ShardPlanning, belongs_to, opened_checkpoint, stored_targets
from clifford_rand_nn.kernel_network.calibration import fit_calibration
from clifford_rand_nn.kernel_network.candidates import BIASES, DECAYS, FINALISTS, SCREENED, STEPS, screened_rows
from clifford_rand_nn.kernel_network.intervals import fit_intervals
from clifford_rand_nn.kernel_network.kernel_products import MAX_LANDMARKS
from clifford_rand_nn.kernel_network.many_rows import choose
from clifford_rand_nn.kernel_network.metric_folds import FOLDS, HELD_OUT, THIRDS
from clifford_rand_nn.kernel_network.standardization import SCALINGS, by_products
from clifford_rand_nn.kernel_network.target_transform import TargetTransform
from clifford_rand_nn.kernel_network.training import COMPARED, DECOMPOSED, LEARNED, Choices
from clifford_rand_nn.problems.loss_registry import as_loss, labels_of, wrong_class
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.row_sums import Targets
from clifford_rand_nn.scores import r_squared
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.shards.engines import as_engine
from clifford_rand_nn.shards.landmark_fit import LandmarkFit, Saved, Trained
from clifford_rand_nn.shards.landmark_sample import HELD
from clifford_rand_nn.shards.scan import scan
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.solvers.base import SOONEST, HistoryRow, Result, Status, with_status
from clifford_rand_nn.solvers.stopping import Interrupts

_FREE = ("max_time", "verbose")  # may differ when a fit goes on
_OLD = ("feature_names_in_", "loo_predictions_", "loo_probabilities_", "loo_mask_")  # of a fit in memory before
# Work by n² in multiplications of a matrix product, measured in one thread with 200 to 3000 rows of 5 to 100 columns.
_ARC = 130.0  # an entry of the kernel, beside one multiplication a column
_DISTANCE = 30.0  # an entry, a column of gates in single columns or boxes
_BETAS, _OUTPUT = 230.0, 70.0  # leave-one-out of some thirty betas; of each output
_FACTOR = 0.4  # n³ of a Cholesky factor
_INVERSES = 3.5  # betas of a candidate, each with the inverse of its factor, which takes as long as that
_OUTER = 1.0  # a column of the average outer product of gradients
_TRIALS, _FACTORS, _FITS = 5, 5, 2  # metrics that are compared, betas of each, and iterations that are learned
_PREDICTED = 800  # rows that are predicted again
_SOLVED = 0.5  # of the expected time of `choose`: 20,000 rows of 20 columns
_STEPPED = 0.3  # of tables have gates in single columns or boxes
_FEATURES = 3  # columns of the kernel's features beside those of the rows, at most
_OVERHEAD = 6e7  # multiplications of a comparison on few rows: 3 ms
_SEARCHED, _LISTED = 5000, 500  # rows and neurons of a finite network
_ATOMS, _NEURONS = 1.3e10, 1.5e5  # work of their selection, and by row and column
_JUDGED = 2e7  # by row, of calibrated probabilities or of intervals: data decide, by factors of 3 to both sides


class NetworkFit(ShardPlanning):
    """Training of a network on rows in memory or on shards, which loses no network to Ctrl-C."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        order: Any = None,
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
        order : (n,) array of numbers or dates, optional
            The time of each row, such as its date. ``loo_score_``, and the intervals of a regressor, are then those of
            later rows: ten blocks of them, each a fifteenth of all rows and predicted by a fit to the rows before it,
            which together take up to four times as long as the fit itself. Rows of equal times stay together.
            Leave-one-out predicts a row by later ones, too: of series that drift it says too much.
        engine, checkpoint
            Of `Shards`, as in `GatedReLUClassifier.fit`.
        """
        model: Any = self
        model._check_parameters()
        with reporting(model.verbose, model.max_time):
            beside = {"y": y, "sample_weight": sample_weight, "groups": groups, "order": order}
            if not self._fits_shards(X, engine, checkpoint, **beside):
                self._warn(self._kept(lambda: model._fit_rows(X, y, sample_weight, groups, order)))
            self._tell_choices()
        return self

    def _kept(self, fit: Callable[[], str]) -> str:
        """Fit, and lose no network to Ctrl-C once one was judged; return why it did not reach its tolerance."""
        with Interrupts() as interrupts:
            message = fit()
        return self._interrupted(message) if interrupts.held else message

    def _interrupted(self, message: str = "") -> str:
        """Take the status of an interrupt that came after a point was judged; return what is said of it."""
        self.result_: Result[Any] = with_status(self.result_, Status.INTERRUPTED)
        return message or "there was an interrupt; this is the best network so far"

    def _warn(self, message: str) -> None:
        """Say, once the fit is done, why the network that was kept did not reach its tolerance, if it did not."""
        if message:
            warnings.warn(f"{type(self).__name__}: {message}.", ConvergenceWarning, stacklevel=3)

    def _end(self, status: Status) -> None:
        self._warn(self._interrupted())

    def _train_shards(self: Any, shards: Shards, engine: Any, checkpoint: Any, interrupts: Interrupts) -> None:
        began, owner = time.perf_counter(), type(self).__name__
        if self._finite:
            hint = "A network of few neurons is chosen from rows in memory."
            name = "n_neurons" if self.n_neurons is not None else "gates"
            raise fail(name, owner, "left out with shards", getattr(self, name), hint)
        if self.loss in ("poisson", "quantile"):
            raise fail("loss", owner, "'squared' with shards", self.loss, "Other losses take rows in memory.")
        if getattr(self, "target_transform", "auto") not in ("auto", "none"):
            hint = "Transformations take rows in memory."
            raise fail("target_transform", owner, "'auto' or 'none' with shards", self.target_transform, hint)
        classify = hasattr(self, "class_weight")
        with as_engine(engine, shards, owner, self.max_memory) as runs:
            keeper, saved = opened_checkpoint(runs, checkpoint, belongs_to(self, shards, _FREE), owner)
            phase("reading the shards")
            facts = scan(runs, MAX_LANDMARKS + HELD, np.random.default_rng(0), classify, owner)
            loss = "logistic" if self.loss == "logistic" else "squared"
            targets = stored_targets(self, facts, as_loss(loss, owner))
            beta = self._given_beta
            left = None if self.max_time is None else max(self.max_time - (time.perf_counter() - began), SOONEST)
            limits = runs.agreed(left), self.max_memory
            choices = Choices(beta, self._metric_iterations, wrong_class if classify else None, *limits)
            state = None if saved is None else Saved.restored(saved)
            save = None if checkpoint is None else keeper.offer
            trained = LandmarkFit(runs, facts, targets, choices, owner, state, save).run()
            interrupts.hold()
            if checkpoint is not None and trained.state is not None:
                keeper.write(trained.state)
            note_columns(self, shards)
            fitted = _network_attributes(trained, targets, facts.n, shards.n_rows)
            if targets.offset is not None:  # the intercept was rounded
                fitted["certificate_"] = fitted["certificate_"].judged(runs, owner)
        for name in _OLD:
            vars(self).pop(name, None)
        judged = _out_of_sample_attributes(trained, targets, shards)
        vars(self).update(fitted, **judged, n_features_in_=shards.n_features)
        self._keep_variance(False)
        if trained.message:
            warnings.warn(f"{owner}: {trained.message}.", ConvergenceWarning, stacklevel=3)

    def _tell_choices(self: Any) -> None:
        best, selection = self.candidates_[0], self.metric_selection_
        n_iter, rates = (selection.n_iter, selection.rates) if selection else (0, 0)
        kind = f"boxes of decay {best.decay:g}" if best.decay else "single columns"
        steps = f"gates in {kind} of weight {best.steps:g}, " if best.steps else ""
        note(
            f"{type(self).__name__}: rows scaled by {best.scaling}, constant feature {best.bias_feature:g}, "
            f"{steps}{n_iter} iterations of a learned metric, {'learned rates of boxes, ' if rates else ''}"
            f"beta {self.beta_:.3g}; {self.result_.reason}"
        )


def network_result(
    network: Any, proof: Any, history: tuple[HistoryRow, ...], status: Status, reason: str
) -> Result[Any]:
    """Return how the fit of a network ended, with the objective and the bound of its certificate."""
    nothing = np.zeros((0, 0))
    result = Result(
        objective=proof.objective,
        duality_gap=max(proof.objective - proof.lower_bound, 0.0),
        relative_gap=proof.relative_gap,
        n_iter=max((row.n_iter for row in history), default=0),
        status=status,
        history=as_table(history),
        solver="",
        seconds=history[-1].seconds if history else 0.0,
        coefficients=network,
        fitted=nothing,
        dual_point=nothing,
        reason=reason,
    )
    has_usual_advice = status is Status.OPTIMAL or status.ends_all
    return with_status(result, status, "" if has_usual_advice else "a larger beta is solved sooner")


def _network_attributes(trained: Trained, targets: Targets, n: int, n_rows: int) -> dict[str, Any]:
    """Return the network, the choices and the certificate, in the units of the stored targets."""
    units = Units(0, targets.exponent, () if targets.offset is None else tuple(targets.offset.tolist()))
    network = units.back(trained.network)
    proof = ShardCertificate(
        objective=units.square(trained.solved.primal),
        lower_bound=units.square(trained.solved.dual),
        relative_gap=trained.solved.gap,
        scope=trained.scope,
        n_patterns=0,
        claim=KernelClaim(network, landmarks=True),
        scale=trained.solved.scale,
        beta=trained.beta,
        loss="logistic" if targets.loss.probabilistic else "squared",
        huber_delta=1.0,
        targets=targets,
        n=n,
        n_rows=n_rows,
        fit_intercept=True,
    )
    history = tuple(row._replace(objective=units.square(row.objective)) for row in trained.history)
    result = network_result(network, proof, history, trained.status, trained.reason)
    return {
        "network_": network,
        "result_": result,
        "n_iter_": max(1, result.n_iter),
        "beta_": trained.beta,
        "metric_": trained.metric,
        "candidates_": as_table(trained.candidates),
        "support_": trained.rows,
        "metric_selection_": trained.metric_selection,
        "certificate_": proof,
        "n_order_blocks_": 0,
        **dict.fromkeys(("neuron_scores_", "spanning_rows_", "selection_certificate_")),
    }


def _out_of_sample_attributes(trained: Trained, targets: Targets, shards: Shards) -> dict[str, Any]:
    """Return the score, and calibration or intervals, by the predictions of the held-out rows."""
    outputs, truth, w = trained.outputs, trained.held.targets, trained.held.weights
    weights = None if (w == w[0]).all() else w
    if targets.classes is None:
        y = shards.shards[0].y
        assert y is not None
        intervals = fit_intervals(np.ldexp(truth - outputs, targets.exponent), None, weights)
        score = r_squared(truth, outputs, weights)
        plain = {"target_transform_": TargetTransform(), "target_transform_scores_": []}
        return {"_target_ndim": len(y.shape), "intervals_": intervals, "loo_score_": score, **plain}
    index, loss = labels_of(truth), "logistic" if targets.loss.probabilistic else "squared"
    calibration = fit_calibration(outputs, index, len(targets.classes), weights)
    predicted = calibration.log_probabilities(outputs).argmax(axis=1)
    return {
        "classes_": targets.classes,
        "loss_": loss,
        "loss_scores_": {loss: calibration.log_loss},
        "calibration_": calibration.ordered(),
        "loo_score_": float(accuracy_score(index, predicted, sample_weight=weights)),
    }


def _seconds(multiplications: float, tasks: int = 1) -> float:
    return machine_speed().product * multiplications / min(cpu_count(), max(1, tasks))


def _kernel(n: float, d: float, steps: float = _STEPPED) -> float:
    return n * n * (_ARC + d + _DISTANCE * d * steps)


def _compared(n: float, d: float, outputs: int, tasks: int = 1, steps: float = _STEPPED) -> float:
    """Return the seconds of a kernel, its eigendecomposition, and leave-one-out of the betas of a grid."""
    products = _kernel(n, d, steps) + n * n * (_BETAS + _OUTPUT * outputs) + _OVERHEAD
    decomposition = machine_speed().decomposition * n**3 * (0.55 + 150.0 / n)  # small ones are less efficient
    return _seconds(products, tasks) + decomposition / min(cpu_count(), max(1, tasks))


def network_costs(
    n: int,
    d: int,
    outputs: int,
    *,
    metric_iter: int = 3,
    finite: bool = False,
    max_time: float | None = None,
    max_memory: float | None = None,
) -> dict[str, Estimate]:
    """Return the estimates of the parts of `train`, by name, for n unique rows of d columns.

    >>> few, many = (network_costs(n, 10, 1, metric_iter=0) for n in (500, 2000))
    >>> sorted(set(many) - set(few)), many["selection"].seconds > few["selection"].seconds
    (['beta'], True)
    """
    m = min(n, COMPARED)
    width = min(d, n) if by_products(n, d) else d
    steps = 0 if finite or by_products(n, d) else 2 * len(STEPS) + len(DECAYS) - 1
    others = len(BIASES) - 1 + steps
    kinds = 3 if steps else 1  # of gates: all but one of them have levels
    some = min(m, screened_rows(n))
    first = min(some, SCREENED)
    selection = _compared(first, width, outputs, 1, 0)
    others += len(SCALINGS) - 1
    for rows, compared in ((first, others), (some, kinds * FINALISTS if some > first else 0)):
        factors = _INVERSES * (2 * _FACTOR * rows**3 + rows * rows * _OUTPUT * outputs)
        selection += compared * _seconds(_kernel(rows, width, steps / others) + factors + _OVERHEAD, compared)
    parts = {"selection": Estimate(selection, 8.0 * (2 + 3 * min(cpu_count(), others)) * some * some)}
    if finite:
        few = float(min(n, _SEARCHED))
        work = _ATOMS + _NEURONS * few * (100 + width) * outputs
        return parts | {"neurons": Estimate(_seconds(work), 8.0 * _LISTED * few * 6)}
    if some < n <= DECOMPOSED and not metric_iter:  # with a learned metric, as most have, there is none
        factors = _INVERSES * 2 * _FACTOR * n**3
        parts["beta"] = Estimate(_seconds(_kernel(n, width) + factors), 4.0 * 8.0 * n * n)
    if metric_iter:
        parted = 3 if THIRDS[0] <= n <= THIRDS[1] else FOLDS
        folds = min(parted, -(-HELD_OUT // max(1, m // parted)))
        part = (1 - 1 / parted) * m
        outer = m * m * (_ARC + _OUTER * width)
        kernel = _kernel(m, width, (kinds - 1) / kinds)
        trial = kernel * (1 + min(n - m, m) / m) + _FACTORS * (_FACTOR * part**3 + _OVERHEAD / 10) + outer
        parts["metric"] = Estimate(_seconds(kinds * folds * _TRIALS * trial, folds), 8.0 * folds * m * m * 1.5)
        few = min(n, LEARNED)
        each = _kernel(few, width) + few * few * (_ARC + _OUTER * width) + _FACTOR * few**3
        # of more rows those that gates were not learned from are predicted by the fit
        again = max(1, min(folds, (_PREDICTED - (n - m)) // max(1, m // parted))) if n <= LEARNED else 0
        left_out = again * (_kernel(n, width) + 2 * _FACTOR * n**3)
        left_out += _kernel(n, width) + _FACTOR * n**3 if n <= DECOMPOSED else 0.0
        parts["learning"] = Estimate(_seconds(_FITS * each) + _seconds(left_out, again), 8.0 * few * few * 4)
    if n > DECOMPOSED:
        pace = _SOLVED * 2 / min(cpu_count(), 2) * (slowdown() if max_time is None else 1.0)  # those of two cores
        way = choose(n, width + _FEATURES, outputs, max_time, max_memory, _STEPPED * width if steps else 0.0)
        parts["solution"] = Estimate(way.seconds * pace, way.bytes)
    parts["scores"] = Estimate(_seconds(_JUDGED * min(n, LEARNED)), 8.0 * min(n, COMPARED) ** 2 * 4)
    return parts
