"""The tuning-free network as a scikit-learn classifier."""

import time
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import as_array, check_choice, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn._progress import phase
from clifford_rand_nn.cost import Estimate, slowdown
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork
from clifford_rand_nn.estimators.rows import training_data, training_labels, with_class_weight
from clifford_rand_nn.estimators.targets import classifier_program, labels_program, network_program
from clifford_rand_nn.estimators.unique_rows import (
    Data,
    LabeledRows,
    LeftOut,
    MultilabelCalibration,
    calibration_of,
    calibration_of_each,
)
from clifford_rand_nn.export.program import Program, apply, constant, log_softmax
from clifford_rand_nn.kernel_network.calibration import Calibration
from clifford_rand_nn.kernel_network.candidates import Compared
from clifford_rand_nn.kernel_network.leave_one_out import predictive_variances
from clifford_rand_nn.kernel_network.newton_path import CURVATURE, seconds
from clifford_rand_nn.kernel_network.training import DECOMPOSED, left_out_fit
from clifford_rand_nn.problems.loss_registry import encode_labels, encode_marks, wrong_class, wrong_label
from clifford_rand_nn.scores import AccuracyMixin

_FITS = (6, 6), (18, 5)  # of the logistic loss, and those of them that leave rows out; on learned gates
_AFFORDED = 3.0  # seconds for trying it: as long as a fit to 3000 rows by squares takes
_MEASURED = 1.5  # times those seconds, on 200 to 1000 rows of two and three classes


class ConvexNetworkClassifier(AccuracyMixin, BaseConvexNetwork):
    """Tuning-free classifier: infinitely many gates, everything chosen by leave-one-out.

    {family}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clifford_rand_nn import ConvexNetworkClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConvexNetworkClassifier().fit(X, y)
    >>> bool(model.loo_score_ > 0.95), bool(model.certificate_.relative_gap < 1e-6)
    (True, True)
    """

    loss: str = "auto"
    class_weight: Any = None

    _parts: ClassVar[dict[str, str]] = {
        "targets": """
            Labels may be anything that scikit-learn takes. Two classes are one output with targets -1 and 1, more are
            one output each; all are solved for at once. Multilabel targets, an indicator (n, L) of 0 and 1, are one
            output each too, by squares, with kernel and β in common; ``score`` is the share of rows that are right in
            all of them.
            """,
        "class_weight": """
            loss : {"auto", "squared", "logistic"}, default "auto"
                The squared error of -1 and 1 serves all classes by one decomposition. With "logistic" (softmax) outputs
                are log-odds, leave-one-out is that of a Newton step (`NewtonPath`, its error there), gates are those
                that squares choose, and at most 3000 rows in memory differ; with `Shards` there may be any number, and
                Newton's method goes over them some ten to thirty times. "auto" is squared, but logistic if for rows
                left out its calibrated probabilities are better and no more labels are wrong; it is tried in memory if
                that is expected to take 3 seconds or less: with a learned metric some 2000 rows of two classes
                or 670 of three, without one 2900 or 960.
            class_weight : None, "balanced" or dict of numbers
                As in scikit-learn: weights of the rows of a class.
            """,
        "classes": """
            classes_ : (n_classes,)
            loss_ : {"squared", "logistic"}
            loss_scores_ : dict
                Of each loss that was tried, the mean negative log-likelihood of its probabilities by leave-one-out.
            loo_probabilities_ : (n, n_classes) array, or None
                Those of ``loo_predictions_``, by the same calibration; NaN for rows not in ``loo_mask_``. None for
                models from files that do not say.
            calibration_ : Calibration, or MultilabelCalibration
                From outputs of the network to probabilities.
            """,
    }

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any, order: Any) -> str:
        """Train on rows in memory; return why the solver did not reach its tolerance, if it did not."""
        owner = type(self).__name__
        if not issparse(y):
            as_array(y, "y", owner)
        rows, labels = training_data(self, X, y, multi_output=True)
        labels = training_labels(labels, owner, several=True)
        multilabel = labels.ndim == 2
        if multilabel and self.loss == "logistic":
            hint = "Its leave-one-out is that of one label; or take MultiOutputClassifier."
            raise fail("loss", owner, "'auto' or 'squared' for multilabel targets", self.loss, hint)
        rows = self._training_rows(rows)
        kept, weights = self._weighted(rows, with_class_weight(self.class_weight, labels, sample_weight, owner))
        data = Data(rows[kept], np.zeros((0, 0)), weights, self._grouped(groups, kept))
        ranks = self._ranked(order, kept)
        train = self._train_multilabel if multilabel else self._train_classes
        self.calibration_: Any  # Calibration or MultilabelCalibration
        left, frequent = train(data, labels[kept])
        self._keep_variance(self.calibration_.share > 0)
        logs = self.calibration_.log_probabilities(left.outputs, left.variance)
        predicted, judged = self._labels(logs), left.out_of_sample
        if ranks is not None:
            later, beside = np.zeros_like(judged), {"sample_weight": sample_weight, "groups": groups}
            for block, held, model in self._fits_before(kept, rows, labels, beside, ranks):
                predicted[block], later[block], logs[block] = model.predict(held), True, -np.inf  # of later classes
                columns = np.searchsorted(self.classes_, model.classes_)
                logs[np.ix_(block, columns)] = model.predict_log_proba(held)
            judged = later if self.n_order_blocks_ else judged
        mass = None if weights is None else weights[judged]
        self.loo_score_ = float(accuracy_score(labels[kept][judged], predicted[judged], sample_weight=mass))
        self._set_left_out(kept, judged)
        self.loo_probabilities_: Array | None = np.full((len(labels), logs.shape[1]), np.nan)
        self.loo_probabilities_[kept] = np.where(judged[:, None], np.exp(logs), np.nan)
        self.loo_predictions_ = np.repeat(frequent, len(labels), axis=0)  # kept for rows of weight zero
        self.loo_predictions_[kept] = predicted
        self.calibration_ = self.calibration_.ordered()
        return left.message

    def _train_classes(self, data: Data, labels: NDArray[Any]) -> tuple[LeftOut, NDArray[Any]]:
        """Train on labels (n,), with the loss that serves; return also the most frequent one, (1,)."""
        self.classes_, index = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            rule, value = "labels of at least two classes", describe(f"one class, {self.classes_.tolist()[0]!r}")
            raise fail("y", type(self).__name__, rule, value)
        data = replace(data, targets=encode_labels(index, len(self.classes_), "squared")[0])
        began = time.perf_counter()
        left = self._train(data, self.classes_, wrong_class)
        labeled = LabeledRows.make(left.unique, index, len(self.classes_))
        self.loss_, self.loss_scores_ = "squared", {}
        if self.loss != "logistic":
            self.calibration_ = calibration_of(left, labeled, len(self.classes_))
            self.loss_scores_["squared"] = self.calibration_.log_loss
        n = len(labeled.first)
        quick = seconds(n, len(self.classes_), *_FITS[self.metric_ is not None]) <= _AFFORDED
        if left.compared is not None and (self.loss == "logistic" or (self.loss == "auto" and quick)):
            left = self._train_logistic(data, left, left.compared, labeled, began)
        self._count_rounding(replace(data, targets=encode_labels(index, len(self.classes_), self.loss_)[0]))
        frequent = np.bincount(index, data.weights).argmax()
        return left, self.classes_[frequent : frequent + 1]

    def _train_multilabel(self, data: Data, marks: NDArray[np.intp]) -> tuple[LeftOut, NDArray[Any]]:
        """Train one network for all labels, marked by 0 and 1 (n, L), each with its own probability, by squares."""
        self.classes_ = np.arange(marks.shape[1])
        data = replace(data, targets=encode_marks(marks))
        left = self._train(data, self.classes_, wrong_label)
        self.calibration_ = calibration_of_each(left, marks)
        self.loss_, self.loss_scores_ = "squared", {"squared": self.calibration_.log_loss}
        self._count_rounding(data)
        return left, (np.average(marks, axis=0, weights=data.weights) > 0.5).astype(np.intp)[None]

    @property
    def _several(self) -> bool:
        return isinstance(self.calibration_, MultilabelCalibration)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        owner = type(self).__name__
        check_choice(self.loss, "loss", owner, ("auto", "squared", "logistic"))
        if self.loss == "logistic" and self._finite:
            raise fail("loss", owner, "'squared' for a finite network", self.loss, "Its neurons are chosen by squares.")

    def _admit(self, n: int) -> None:
        if self.loss == "logistic" and n > DECOMPOSED:
            rule = f"'squared' with more than {DECOMPOSED} unique rows"
            raise fail("loss", type(self).__name__, rule, self.loss, f"There are {n}.")

    def _costs_of(self, n: int, d: int, outputs: int, n_values: int) -> dict[str, Estimate]:
        if outputs > 1:
            return super()._costs_of(n, d, outputs, n_values)
        parts = super()._costs_of(n, d, n_values if n_values > 2 else 1, n_values)
        logistic = seconds(n, n_values, *_FITS[bool(self._metric_iterations)])
        tried = self.loss == "auto" and logistic <= _AFFORDED
        if self.loss == "logistic" or (tried and not self._finite):
            parts["logistic loss"] = Estimate(_MEASURED * slowdown() * logistic, 8.0 * n * n * (n_values + 4))
        return parts

    def _train_logistic(
        self, data: Data, left: LeftOut, compared: Compared, labeled: LabeledRows, began: float
    ) -> LeftOut:
        """Train on the same gates with the logistic loss, and keep that network if it serves.

        Returns the out-of-sample outputs of the network that is kept.
        """
        place, weights, own = labeled.place, labeled.weights, data.groups
        together = labeled.share is None and labeled.ambiguous
        groups = (place if together else None) if own is None else own[labeled.first]
        targets, loss = encode_labels(labeled.label, len(self.classes_), "logistic")
        task = self._beta_task(targets, loss, self.beta_, weights, groups, began)._replace(share=labeled.share)
        phase("selecting beta of the logistic loss")
        chosen = self._choose_on_gates(compared, place, task, required=not self.loss_scores_)
        if chosen is None:
            return left
        fit, beta, variance = chosen.fit, CURVATURE * chosen.fit.beta, None
        if own is None and self.metric_ is None:
            share = left_out_fit(compared, beta).left
            w = np.ones(len(share)) if compared.problem.weights is None else compared.problem.weights
            variances = predictive_variances(share, len(share) * beta / w)
            variance = left.unique.left_out_variance(variances, share)[labeled.first][labeled.of]
        logistic = LeftOut(left.unique, chosen.outputs[labeled.of], variance, chosen.out_of_sample[labeled.of])
        calibration = calibration_of(logistic, labeled, len(self.classes_))
        compares = "squared" in self.loss_scores_
        if compares and (fit.status.ends_all or not self._serves(left, logistic, calibration, labeled)):
            return left
        self.loss_, self.loss_scores_["logistic"], self.calibration_ = "logistic", calibration.log_loss, calibration
        self._noise = CURVATURE * len(place) * fit.beta / (np.ones(len(place)) if weights is None else weights)
        theta = labeled.spread(fit.dual_point, data.weights)
        message = self._keep(chosen, compared.rows[place], theta, "logistic", np.log(len(self.classes_)))
        self.support_ = self._places[labeled.first]
        return replace(logistic, message=message)

    def _serves(self, left: LeftOut, logistic: LeftOut, chosen: Calibration, labeled: LabeledRows) -> bool:
        """Say, by the rows that squares were judged on, whether the logistic loss is better; note both losses."""
        judged = (left.out_of_sample & logistic.out_of_sample)[labeled.first]
        rows, label, mass = labeled.first[judged], labeled.label[judged], labeled.mass[judged]
        losses, wrong = [], []
        for calibration, fit in ((self.calibration_, left), (chosen, logistic)):
            variance = None if fit.variance is None else fit.variance[rows]
            logs = calibration.log_probabilities(fit.outputs[rows], variance)
            losses.append(-float(np.average(logs[np.arange(len(label)), label], weights=mass)))
            wrong.append(float(mass @ (logs.argmax(axis=1) != label)))
        self.loss_scores_ = dict(zip(("squared", "logistic"), losses, strict=True))
        return losses[1] < losses[0] and wrong[1] <= wrong[0]

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`."""
        rows = self._rows(X)
        return np.asarray(self.calibration_.log_probabilities(self._outputs(rows), self._variance_at(rows)))

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities (n, n_classes), by `Calibration` on the leave-one-out outputs of the training rows.

        For multilabel targets, the probability (n, L) of each, as of scikit-learn's MLPClassifier.
        """
        return np.exp(self.predict_log_proba(X))

    def decision_function(self, X: Any) -> Array:
        """Log-odds (n,) of ``classes_[1]`` for two classes, else the logarithms (n, n_classes) of the probabilities.

        For multilabel targets, the log-odds (n, L) of each.
        """
        check_is_fitted(self, "network_")
        if self._several:
            rows = self._rows(X)
            return np.asarray(self.calibration_.log_odds(self._outputs(rows), self._variance_at(rows)))
        logs = self.predict_log_proba(X)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable labels (n,), or which of several rows have: 0 and 1 (n, L)."""
        return self._labels(self.predict_log_proba(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.loss != "logistic"
        return tags

    def _program(self, coverage: float | None) -> Program:
        network = network_program(self)
        scores = self.calibration_.stated(network.outputs, self._stated_variance(network))
        if self._several:
            return labels_program(self, network, scores)
        logs = log_softmax(scores)
        decision = apply("first", scores @ constant([[-1.0], [1.0]], "odds")) if len(self.classes_) == 2 else logs
        return classifier_program(self, network, scores, decision, scores)

    def _labels(self, logs: Array) -> NDArray[Any]:
        if self._several:
            return np.asarray(logs > np.log(0.5), dtype=np.intp)
        return np.asarray(self.classes_[logs.argmax(axis=1)])
