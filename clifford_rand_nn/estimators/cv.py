"""Beta by cross-validation, for any estimator of the library."""

import time
from dataclasses import KW_ONLY, dataclass
from multiprocessing import parent_process
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_response_method, _num_samples, check_is_fitted, indexable

from clifford_rand._checks import as_array, check_choice, check_length, describe, fail, is_whole, refuse_unreal
from clifford_rand._threads import is_fork
from clifford_rand._typing import Array
from clifford_rand_nn._progress import check_verbose, note, phase, reporting, track
from clifford_rand_nn.cost import Estimate, RowPlanning
from clifford_rand_nn.estimators.base import ConvexNetwork
from clifford_rand_nn.estimators.folds import PipelinePrefix, scorer_of, splits_of, take_features
from clifford_rand_nn.estimators.rows import refused_by_scikit_learn
from clifford_rand_nn.estimators.task import WarmStart
from clifford_rand_nn.export.methods import Exported
from clifford_rand_nn.export.program import Program
from clifford_rand_nn.problems.loss_registry import check_weights
from clifford_rand_nn.regularization_path import beta_grid
from clifford_rand_nn.solvers.base import SOONEST, Limits, Status
from clifford_rand_nn.solvers.stopping import Interrupts

_WARM = 0.5  # time of a fit from the solution for the last beta, as a share of that of one from nothing


def _has(method: str) -> Any:
    def check(self: "BetaCV") -> bool:
        _check_response_method(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


@dataclass(eq=False, repr=False)
class BetaCV(RowPlanning, Exported, MetaEstimatorMixin, BaseEstimator):
    r"""Choose beta by cross-validation and train once more with it on all rows.

    Every fold goes down one grid of beta, and each fit starts from the last one's solution. Since objectives are means,
    beta means the same on the rows of a fold as on all of them.

    Parameters
    ----------
    estimator : estimator of this library, or a Pipeline that ends with one
        Its own ``beta`` is not used. Give it an integer ``random_state``, so that a fold samples the same gates or
        subset for every beta; otherwise each fit samples its own and starts from nothing. Steps before it are fitted
        to the training rows of every fold, once, without weights.
    betas : array of numbers > 0, optional
        Otherwise ``n_betas`` values from the least beta without a neuron, on all rows, to ``eps`` times it.
    n_betas : int, default 20
    eps : float in (0, 1), default 1e-3
    cv : int, splitter or iterable, default 5
        As in scikit-learn; stratified for classifiers. With ``groups`` in `fit` a number of folds is that of
        `GroupKFold`, for classifiers of `StratifiedGroupKFold`.
    scoring : str, callable or None
        As in scikit-learn; None is the estimator's own score, accuracy or R².
    rule : {"best", "one_se"}, default "best"
        "one_se" takes the largest beta whose mean score is within one standard error of the best one.
    max_time : float or None
        Seconds. Of k folds and the training on all rows, each has a share of 1/(k + 1) of them, and what was left over
        before: a fit that its share ends is scored as it is. Betas that no time was left for have no score (NaN), and
        are not chosen. Ctrl-C in a fold ends it all with a KeyboardInterrupt; ``scores_`` has what was scored before.
        Folds that run at the same time share a share.
    n_jobs : int or None
        Folds that run at the same time, as in scikit-learn: None is one, -1 as many as there are cores. The result is
        the same. They are processes; threads where this process is itself another's child.
    verbose : int, default 0
        1 shows a line for every fold on stderr, and a bar on terminals.

    Attributes
    ----------
    beta_ : float
    betas_ : (B,)
        Falling.
    scores_ : (B, folds)
    estimator_ : estimator, or Pipeline
        Trained on all rows with ``beta_``; its certificate is there, or in its last step.

    Raises
    ------
    ArgumentError
        ``estimator`` is not one of this library, or a parameter breaks its rule.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import BetaCV, CrossProductLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (60, 1))
    >>> y = np.abs(X[:, 0]) + 0.1 * rng.standard_normal(60)
    >>> search = BetaCV(CrossProductLassoRegressor(), n_betas=8).fit(X, y)
    >>> bool(search.betas_[-1] < search.beta_ < search.betas_[0])
    True
    """

    estimator: Any
    _: KW_ONLY
    betas: Any = None
    n_betas: int = 20
    eps: float = 1e-3
    cv: Any = 5
    scoring: Any = None
    rule: str = "best"
    max_time: float | None = None
    n_jobs: int | None = None
    verbose: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Score every beta on every fold, choose one, and train on all rows X (n, d) and targets y.

        Weights (n,) ≥ 0 of the rows go into training and scores. The folds are those without weights; each needs a
        positive one. Rows with the same entry of ``groups`` (n,), such as those of one patient, are in one fold, so
        that scores are those of new groups: where rows of a group are alike, other folds promise too much.
        """
        steps, last = PipelinePrefix.of(self.estimator)
        if not isinstance(last, ConvexNetwork):
            rule = "itself, or in the last step of a Pipeline, an estimator of clifford_rand_nn"
            raise fail("estimator", "BetaCV", rule, last)
        check_choice(self.rule, "rule", "BetaCV", ("best", "one_se"))
        scorer_of(self.scoring, self.estimator, "BetaCV")
        if self.n_jobs is not None and (not is_whole(self.n_jobs) or self.n_jobs == 0):
            raise fail("n_jobs", "BetaCV", "None or an integer that is not 0", self.n_jobs)
        check_verbose(self.verbose, "BetaCV")
        with reporting(self.verbose, self.max_time):
            return self._fit(steps, last, X, y, sample_weight, groups)

    def _fit(self, steps: PipelinePrefix, last: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> Self:
        began, limits = time.perf_counter(), Limits.of("BetaCV", max_time=self.max_time)
        front, seen = steps.fit(X, y)
        clone(last)._task(seen, y, sample_weight)  # every error of the data, before any work
        rows, targets = indexable(X if hasattr(X, "columns") or issparse(X) else np.asarray(X), np.asarray(y))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        top = clone(last).beta_max(seen, targets, weights) if self.betas is None else 0.0
        self.betas_ = beta_grid(self.betas, self.n_betas, self.eps, top, "BetaCV")
        classifier = is_classifier(self.estimator)
        splits = splits_of(self.cv, rows, targets, groups, classifier=classifier, owner="BetaCV")
        self.scores_ = np.full((len(self.betas_), len(splits)), np.nan)
        if weights is not None and not all(weights[part].any() for split in splits for part in split):
            hint = "Leave rows of weight zero out, or give other folds."
            rule = "positive for some row of every fold"
            raise fail("sample_weight", "BetaCV", rule, describe("a fold of zeros"), hint)
        phase(f"comparing {len(self.betas_)} betas by cross-validation")
        self._score(_Data(rows, targets, weights), splits, began)
        self.beta_ = float(self.betas_[self._chosen()])
        phase(f"training on all rows with beta {self.beta_:.3g}")
        with Interrupts() as interrupts:
            left = limits.after(time.perf_counter() - began).max_time
            model = self._model(self.beta_, left).fit(seen, targets, weights)
            self.estimator_ = front.joined(model)
            take_features(self, self.estimator_)
        if interrupts.held:
            model._end(Status.INTERRUPTED)
        return self

    def _costs(self, X: Any, y: Any) -> tuple[tuple[int, int], dict[str, Estimate]]:
        steps, last = PipelinePrefix.of(self.estimator)
        shape, parts = clone(last).set_params(beta=1.0)._costs(steps.fit(X, y)[1], y)
        training, betas = parts["training"], self.n_betas if self.betas is None else np.size(self.betas)
        folds = self.cv
        if not is_whole(folds):
            folds = len(splits_of(folds, np.asarray(X), y, None, classifier=False, owner="BetaCV"))
        jobs = min(effective_n_jobs(self.n_jobs), folds)
        seconds = folds / jobs * betas * _WARM * training.seconds
        return shape, {"cross-validation": Estimate(seconds, jobs * training.bytes), "training": training}

    def _score(self, data: "_Data", splits: list[Any], began: float) -> None:
        """Fill ``scores_``, a fold at a time or several at once, each within its share of the time."""
        scorer = scorer_of(self.scoring, self.estimator, "BetaCV")
        jobs = min(effective_n_jobs(self.n_jobs), len(splits))
        waves = -(-len(splits) // jobs) + 1  # and one for the training on all rows
        share = None if self.max_time is None else self.max_time / waves
        ends = [None if share is None else began + share * (k // jobs + 1) for k in range(len(splits))]
        calls = [_FoldCall(self, data, split, scorer, ends[k], k, len(splits)) for k, split in enumerate(splits)]
        if jobs == 1:
            for call in track(calls, len(calls), "fold"):
                self._tell(call, call.score(self.scores_[:, call.k]))  # in place: an interrupt keeps what there is
            return
        # joblib has one pool of processes: where it was forked with this process, its answers go to the parent; and a
        # process that multiprocessing began waits at its end for those of its pool, which stay for five minutes
        kind = "threads" if is_fork() or parent_process() is not None else None
        results = Parallel(n_jobs=jobs, return_as="generator", prefer=kind)(delayed(_scored)(call) for call in calls)
        for call, (scores, seconds) in track(zip(calls, results, strict=True), len(calls), "fold"):
            self.scores_[:, call.k] = scores
            self._tell(call, seconds)

    def _tell(self, call: "_FoldCall", seconds: float) -> None:
        if self.verbose:
            scores = self.scores_[:, call.k]
            best = int(np.nanargmax(scores))
            note(f"{call.name}: best score {scores[best]:.4f} at beta {self.betas_[best]:.3g}, {seconds:.1f} s")

    def _model(self, beta: float, left: float | None) -> Any:
        """Return the estimator for a beta, with no more time than is left."""
        _, last = PipelinePrefix.of(self.estimator)
        times = [time for time in (last.max_time, left) if time is not None]
        return clone(last).set_params(beta=beta, max_time=min(times, default=None))

    def _chosen(self) -> int:
        mean = self.scores_.mean(axis=1)
        if np.isnan(mean).all():
            mean = self.scores_[:, 0]  # no beta has a score of every fold: the first fold has one at least
        mean = np.where(np.isnan(mean), -np.inf, mean)
        best = int(mean.argmax())  # the largest beta among equals: fewer neurons
        if self.rule == "best":
            return best
        folds = self.scores_.shape[1]
        known = folds > 1 and np.isfinite(self.scores_[best]).all()
        error = self.scores_[best].std(ddof=1) / np.sqrt(folds) if known else 0.0
        return int(np.flatnonzero(mean >= mean[best] - error)[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the network that was trained on all rows."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(X))

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the outputs of that network; for classifiers."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.decision_function(X))

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, calibrated on held-out rows; for classifiers."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of that network by ``scoring``."""
        check_is_fitted(self, "estimator_")
        scorer = scorer_of(self.scoring, self.estimator, "BetaCV")
        if not is_classifier(self.estimator):
            refuse_unreal(y, "y", "BetaCV")
        targets = as_array(y, "y", "BetaCV")
        with refused_by_scikit_learn("BetaCV", X):
            check_length(targets.shape, _num_samples(X), "y", "BetaCV", "target")
        weights = {}
        if sample_weight is not None:
            weights = {"sample_weight": check_weights(sample_weight, len(targets), "BetaCV")}
        with refused_by_scikit_learn("BetaCV", y=y):  # the rows are the estimator's to refuse
            return float(scorer(self.estimator_, X, y, **weights))

    def _program(self, coverage: float | None) -> Program:
        check_is_fitted(self, "estimator_")
        if not isinstance(self.estimator_, Exported):
            value, hint = describe("a pipeline"), "Use export_onnx or export_source, which take one."
            raise fail("estimator", "BetaCV", "an estimator alone for this method", value, hint)
        return self.estimator_._program(coverage)

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels; for classifiers."""
        return np.asarray(self.estimator_.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags, tags.input_tags = inner.target_tags, inner.input_tags
        return tags


class _Data(NamedTuple):
    rows: Any
    targets: NDArray[Any]
    weights: Array | None

    def take(self, index: NDArray[np.intp]) -> tuple[Any, NDArray[Any], dict[str, Any]]:
        """Return some rows, their targets, and the keyword of their weights: none for scorers that know none."""
        weights = {} if self.weights is None else {"sample_weight": self.weights[index]}
        return _safe_indexing(self.rows, index), self.targets[index], weights


@dataclass(frozen=True)
class _FoldCall:
    """One fold: every beta in turn on its training rows, each fit from the last one's solution."""

    search: BetaCV
    data: _Data
    split: tuple[NDArray[np.intp], NDArray[np.intp]]
    scorer: Any
    ends: float | None  # of `time.perf_counter`, which all processes of a machine share
    k: int
    of: int

    @property
    def name(self) -> str:
        """Which fold, for people."""
        return f"fold {self.k + 1} of {self.of}"

    def score(self, scores: Array) -> float:
        """Write the scores of all betas that there is time for into ``scores`` (B,); return the seconds it took."""
        began = time.perf_counter()
        warm = WarmStart()  # a gated network's next beta needs no new gates
        (rows, targets, weights), (test_rows, test_targets, mass) = map(self.data.take, self.split)
        front, rows = PipelinePrefix.of(self.search.estimator)[0].fit(rows, targets)
        test_rows = front.transform(test_rows)
        for i, beta in enumerate(self.search.betas_):
            left = None if self.ends is None else max(self.ends - time.perf_counter(), SOONEST)
            if i and left is not None and left <= SOONEST:
                break
            model = self.search._model(float(beta), left)
            model._fit(rows, targets, warm=warm, **weights)
            if model.result_.interrupted:
                raise KeyboardInterrupt(f"in {self.name}, beta {i + 1} of {len(scores)}")
            if _draws_anew(model):
                warm.state = None
            scores[i] = self.scorer(model, test_rows, test_targets, **mass)
        return time.perf_counter() - began


def _scored(call: _FoldCall) -> tuple[Array, float]:
    scores = np.full(len(call.search.betas_), np.nan)
    return scores, call.score(scores)


def _draws_anew(model: Any) -> bool:
    """Whether two fits on the same rows sample different neurons: one must not start from those of the other."""
    gates, is_seeded = getattr(model, "gates", None), isinstance(model.random_state, int | np.integer)
    samples = isinstance(gates, str) and gates not in ("exhaustive", "infinite")
    return not is_seeded and (samples or getattr(model, "subsample", None) is not None)
