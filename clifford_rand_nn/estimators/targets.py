"""Classification and regression: targets, losses, predictions, and their programs of array operations."""

import copy
import time
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import as_array, check_positive, describe, fail, refuse_unreal
from clifford_rand_nn.certificates.claims import GatedClaim, KernelClaim, NetworkClaim
from clifford_rand_nn.estimators.base import ConvexNetwork
from clifford_rand_nn.estimators.held_out import DeferredCalibration, HeldOut
from clifford_rand_nn.estimators.rows import training_data, training_labels, with_class_weight
from clifford_rand_nn.estimators.task import Task
from clifford_rand_nn.export.program import (
    Program,
    Value,
    apply,
    constant,
    log_softmax,
    rows,
    sigmoid,
    two_layers,
    where,
)
from clifford_rand_nn.kernel_network.calibration import Calibration
from clifford_rand_nn.kernel_network.kernel_problem import StatedKernel
from clifford_rand_nn.problems.loss_registry import (
    LOSSES,
    as_loss,
    check_outputs,
    encode_labels,
    labels_of,
    loss_lines,
    loss_names,
)
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.scores import AccuracyMixin, R2ScoreMixin


class NetworkClassifier(AccuracyMixin, ConvexNetwork):
    """Labels of any kind: two classes are one output of -1 and 1, more are one output each."""

    class_weight: Any = None

    _calibration = cast("Calibration | DeferredCalibration | None", None)  # None of models from files without one
    _losses = loss_names("classification")
    _parts: ClassVar[dict[str, str]] = {
        "targets": """
            Labels may be anything that scikit-learn takes. Two classes are -1 and 1; more are one output each, and the
            outputs share their neurons.
            """,
        "loss": loss_lines("classification"),
        "class_weight": """
            class_weight : None, "balanced" or dict of numbers
                As in scikit-learn: factors of the weights of the rows of a class, "balanced" gives every class the
                same sum.
            """,
        "classes": """
            n_iter_ : int
            classes_ : (n_classes,)
            calibration_ : Calibration
                From outputs of the network to probabilities, for every loss: fitted to outputs for held-out rows. It is
                the logistic function or the softmax where the loss is "logistic" and held-out rows support no other.
            """,
    }

    def _task(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        began = time.perf_counter()
        self._check_parameters()
        owner = type(self).__name__
        as_array(y, "y", owner)
        rows, labels = training_data(self, X, y, self._dtypes, multi_output=True)
        labels = training_labels(labels, owner)
        sample_weight = with_class_weight(self.class_weight, labels, sample_weight, owner)
        data = self._training_rows(rows, _outputs(labels))
        data, labels, weights = self._weighted_rows(data, labels, sample_weight)
        self.classes_, index = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            rule = "labels of at least two classes"
            where = "" if self._sample_weight is None else " where the weight is not zero"
            raise fail("y", type(self).__name__, rule, describe(f"one class, {self.classes_.tolist()[0]!r}{where}"))
        name = "squared" if self.loss == "auto" else self.loss  # what "auto" comes to is settled later
        targets, loss = encode_labels(index, len(self.classes_), name)
        return Task(data, targets, loss, self.classes_, weights, began)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Network outputs: (n,) for two classes, where > 0 means ``classes_[1]``, else (n, n_classes)."""
        out = self._outputs(X)
        return out[:, 0] if out.shape[1] == 1 else out

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels (n,)."""
        out = self.decision_function(X)
        return np.asarray(self.classes_[(out > 0).astype(int) if out.ndim == 1 else out.argmax(axis=1)])

    @property
    def calibration_(self) -> Calibration:
        """The map from outputs to probabilities."""
        check_is_fitted(self, "network_")
        calibration = self._calibration
        if calibration is None:
            raise AttributeError(f"this {type(self).__name__} is from a file without a calibration; fit it again")
        return calibration.fitted() if isinstance(calibration, DeferredCalibration) else calibration

    def _calibrate_on(self, held_out: HeldOut | None, task: Task) -> None:
        fitted: Any = copy.copy(self)
        vars(fitted).pop("_calibration", None)
        self._calibration = DeferredCalibration(fitted, replace(task, lifted=None), held_out)

    def _take_from(self, there: Self, units: Units) -> None:
        super()._take_from(there, units)
        self._calibration = there._calibration

    @available_if(lambda self: self._calibration is not None or not hasattr(self, "network_"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, n_classes), calibrated on held-out rows.

        With a given ``beta`` the first call trains on folds of the training set, for at most ``max_time``; with
        ``beta="auto"`` the fit has done so.
        """
        outputs = self._outputs(X)
        return np.asarray(self.calibration_.probabilities(outputs))

    def _program(self, coverage: float | None) -> Program:
        network = network_program(self)
        several = len(self.classes_) > 2
        # an output (n, 1) is > 0 for the second class, and its log-odds if it has any
        scores = network.outputs if several else network.outputs @ constant([[0.0, 1.0]], "second")
        decision = network.outputs if several else apply("first", network.outputs)
        calibrated = None if self._calibration is None else self.calibration_.stated(network.outputs, None)
        return classifier_program(self, network, scores, decision, calibrated)


class LossChoosingClassifier(NetworkClassifier):
    """Labels, with a loss that "auto" settles before beta is chosen: the logistic one, where the family prefers it.

    A subclass says itself that "auto" is its default: the fields of its family come after those of this class.
    """

    _losses = ("auto", *NetworkClassifier._losses)

    def _prefers_logistic(self, task: Task) -> bool:
        """Whether "auto" is the logistic loss for a task, whose targets are those of that loss."""
        raise NotImplementedError

    def _settled(self, task: Task) -> Task:
        task = super()._settled(task)
        if self.loss != "auto":
            return task
        assert task.classes is not None
        targets, loss = encode_labels(labels_of(task.targets), len(task.classes), "logistic")
        logistic = replace(task, targets=targets, loss=loss)
        preferred = self._prefers_logistic(logistic)
        self.loss_ = "logistic" if preferred else "squared"
        return logistic if preferred else task


class NetworkRegressor(R2ScoreMixin, ConvexNetwork):
    """Real targets, one or several; several share their neurons."""

    huber_delta: float = 1.0

    _losses = loss_names("regression")
    _parts: ClassVar[dict[str, str]] = {
        "targets": """
            Several targets are several outputs, which share their neurons.
            """,
        "loss": loss_lines("regression")
        + """huber_delta : float > 0, default 1.0
    Residual at which "huber" and "log_cosh" turn from square to line.
""",
        "classes": """
            n_iter_ : int
            """,
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.huber_delta, "huber_delta", type(self).__name__)

    def _task(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        began = time.perf_counter()
        self._check_parameters()
        owner = type(self).__name__
        refuse_unreal(y, "y", owner)
        rows, targets = training_data(self, X, y, self._dtypes, multi_output=True, y_numeric=True)
        self._target_ndim = targets.ndim
        data = self._training_rows(rows, 1 if targets.ndim == 1 else targets.shape[1])
        data, targets, weights = self._weighted_rows(data, targets, sample_weight)
        # the same sums whatever the layout was
        targets = np.ascontiguousarray(targets, dtype=np.float64).reshape(data.shape[0], -1)
        check_outputs(as_loss(self.loss, owner), targets, owner)
        return Task(data, targets, self.loss, None, weights, began)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted targets, (n,) or (n, outputs) as in `fit`; with ``loss="poisson"`` means, exp of the outputs."""
        out = self._outputs(X)
        out = np.exp(out) if LOSSES[self.loss].is_log else out
        return out[:, 0] if self._target_ndim == 1 else out

    def _program(self, coverage: float | None) -> Program:
        network = network_program(self)
        mean = apply("exp", network.outputs) if LOSSES[self.loss].is_log else network.outputs
        return regressor_program(self, network, self._target_ndim == 1, mean)


def _outputs(labels: NDArray[Any]) -> int:
    classes = len(np.unique(labels))
    return 1 if classes <= 2 else classes


class NetworkProgram(NamedTuple):
    """Network of an estimator, as operations of a program."""

    outputs: Value  # (n, C)
    penalty: Value  # what beta weighs
    width: int  # entries of the widest array for each row
    kernel: StatedKernel | None = None  # of new rows with those of training, of a kernel network


def network_program(model: Any) -> NetworkProgram:
    """Return what the network of a fitted estimator computes, on raw features."""
    check_is_fitted(model, "network_")
    claim, X = model.certificate_.claim, rows()
    if isinstance(claim, KernelClaim):
        outputs, penalty, kernel = claim.network.stated(X)
        return NetworkProgram(outputs, penalty, claim.network.entries, kernel)
    if isinstance(claim, NetworkClaim):
        Z = X if claim.standard is None else claim.standard.stated(X, clips=False)
        network, p, squared, feature = claim.network, claim.family.p, False, claim.family.feature
    else:
        assert isinstance(claim, GatedClaim)
        Z, network, p, squared, feature = X, model.network_, 2, claim.squared, claim.feature
    return NetworkProgram(*two_layers(Z, network, p, feature, squared), len(network.b1))


def classifier_program(
    model: Any, network: NetworkProgram, scores: Value, decision: Value, calibrated: Value | None
) -> Program:
    """Return the program of a classifier whose labels are those of the largest score; probabilities are calibrated."""
    results = {"outputs": network.outputs, "scores": scores, "decision_function": decision}
    if calibrated is not None:
        results["predict_proba"] = apply("exp", log_softmax(calibrated))
    results["index"] = apply("argmax", scores)
    return _program(model, network, results, model.classes_)


def labels_program(model: Any, network: NetworkProgram, odds: Value) -> Program:
    """Return the program of a classifier of multilabel targets, from their log-odds (n, L)."""
    there = where(Value("less", (0.0, odds)), 1.0, 0.0)
    results = {"outputs": network.outputs, "decision_function": odds, "predict_proba": sigmoid(odds)}
    return _program(model, network, results | {"index": apply("whole", there)})


def regressor_program(
    model: Any, network: NetworkProgram, single: bool, mean: Value, ends: tuple[Value, Value] | None = None
) -> Program:
    """Return the program of a regressor of means (n, C), one target or several, perhaps with the ends of intervals."""
    results = {"outputs": network.outputs}
    named = [("predict", mean), *zip(("low", "high"), ends or (), strict=False)]
    results |= {name: apply("first", value) if single else value for name, value in named}
    return _program(model, network, results)


def _program(
    model: Any, network: NetworkProgram, results: dict[str, Value], classes: NDArray[Any] | None = None
) -> Program:
    names = getattr(model, "feature_names_in_", None)
    proof = model.certificate_
    return Program(
        model=type(model).__name__,
        d=int(model.n_features_in_),
        results=results,
        penalty=network.penalty,
        classes=None if classes is None else np.asarray(classes),
        columns=None if names is None else tuple(map(str, names)),
        width=network.width,
        notes={"loss": str(model.loss_ if hasattr(model, "loss_") else proof.loss), "beta": repr(float(model.beta_))},
    )
