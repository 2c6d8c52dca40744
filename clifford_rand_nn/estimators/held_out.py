"""Beta from the data: a path on four fifths of the rows, judged on the other fifth."""

import copy
import time
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._typing import Array
from clifford_rand_nn._progress import phase, track
from clifford_rand_nn.estimators.task import WarmStart
from clifford_rand_nn.kernel_network.calibration import Calibration, Extra, fit_calibration
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_registry import as_loss, labels_of, normalized
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.sparse_rows import merged_rows

FOLDS = 5
_ENOUGH = 500  # held-out rows: a share of one half is then known to two points; fewer rows take further folds
_TOL = 1e-4  # relative gap of a fit that only chooses beta
PATIENCE = 2  # betas in a row that are worse than the best one, after which smaller ones are not tried
_SHARE = 0.5  # of the time that there is
_NOTHING = 1e-13
_BLIND = 4  # place of the share that is taken where no rows can be held out
_GUESSED = "the fit takes a value that was not compared. Try a larger max_time"
_DIGITS = 12  # of a share of rows: equal sums of weights in another order are equal
_SEED = 0  # of the folds, and of what is drawn where the estimator has no seed of its own


class HeldOut(NamedTuple):
    """Outputs (n, C) for rows by networks that were trained without them, with targets (n, C) and weights (n,)."""

    outputs: Array
    targets: Array
    weights: Array

    def merged(self, first: NDArray[np.intp], copy_of: NDArray[np.intp]) -> "HeldOut":
        """Return those of the unique rows, as `_unique_rows` gives them: copies are one row with their weight."""
        weights = np.bincount(copy_of, self.weights).astype(np.float64)
        return HeldOut(self.outputs[first], self.targets[first], weights)


class BetaScore(NamedTuple):
    """The score of a beta on held-out rows: their ``mean_loss`` and its ``loss_std_error``.

    ``n_neurons`` is the mean over the folds, ``error_rate`` the share of wrong labels, None for real targets.
    """

    beta: float
    mean_loss: float
    loss_std_error: float
    n_neurons: float
    error_rate: float | None = None


def chosen_beta(model: Any, task: Any) -> tuple[float, list[BetaScore], dict[str, Any], HeldOut | None]:
    """Return the beta that does best on held-out rows, what was compared with it, and the settings that it is for.

    The last entry has the outputs for held-out rows at this beta; it is None where no beta was compared.

    Shares of the largest beta, falling, are tried until the loss has risen twice, each on the same `n_folds` of
    `folds`. `best_score` is chosen. Where the model has several settings they are compared by the same rule.

    An interrupt is a KeyboardInterrupt: no network on all rows is there yet.
    """
    limit = None if model.max_time is None else task.seconds + (model.max_time - task.seconds) * _SHARE
    held = _validation_sets(task)
    tried: list[tuple[list[BetaScore], dict[str, Any], list[HeldOut], Array]] = []
    phase("selecting beta on held-out rows")
    for settings in model._alternatives():
        if tried and limit is not None and task.seconds > limit:
            break
        candidate = copy.copy(model)
        vars(candidate).update(settings)
        top, shares = copy.copy(candidate)._top(task), candidate._shares()
        size = max(float(abs(task.X).max()), task.feature or 0.0) * float(np.abs(task.targets).max())
        if top <= _NOTHING * size:  # what a constant target leaves is rounding
            return 1.0, [], settings, None
        late = not tried and limit is not None and task.seconds > limit
        if late:
            model._warn(f"max_time was over before beta was selected; {_GUESSED}", 6)
        if not held or late:  # no rows, or no time, to compare by
            return float(top * shares[_BLIND]), [], settings, None
        rough = max(model._tolerance(), _TOL)
        scores, done, outputs = _scores(candidate, task, held, top * shares, limit, rough)
        tried, held = [*tried, (scores, settings, outputs, top * shares)], held[:done]
    mass = tried[-1][2][0].weights
    best = best_score([score for each in tried for score in each[0]], float(mass.sum() ** 2 / (mass @ mass)))
    scores, settings, outputs, betas = next(each for each in tried if any(score is best for score in each[0]))
    # time ended while the loss was falling
    if best is scores[-1] and len(scores) <= _BLIND and (np.diff(betas) < 0).all():
        model._warn(f"max_time ended the selection of beta after {len(scores)} of {len(betas)} values; {_GUESSED}", 6)
        return float(betas[_BLIND]), scores, settings, None
    return best.beta, scores, settings, next(out for out, score in zip(outputs, scores, strict=True) if score is best)


class DeferredCalibration:
    """The calibration of a fitted classifier on held-out outputs, fitted at its first use; pickling is one.

    The selection of beta leaves such outputs. With a given beta the folds are trained at the first use, within
    ``max_time``, so that a fit takes no longer where no probability is asked for.
    """

    def __init__(self, model: Any, task: Any, held_out: HeldOut | None) -> None:
        self._source: Any = model, task, held_out

    def fitted(self) -> Calibration:
        """Return the calibration."""
        if not isinstance(self._source, Calibration):
            model, task, held_out = self._source
            held_out = held_out or _held_out(model, replace(task, began=time.perf_counter()))
            index, probabilistic = labels_of(held_out.targets), as_loss(task.loss, type(model).__name__).probabilistic
            extras: tuple[Extra, ...] = ("identity",) if probabilistic else ()
            fit = fit_calibration(held_out.outputs, index, len(task.classes), held_out.weights, extras=extras)
            self._source = fit.ordered()
        return self._source

    def __getstate__(self) -> dict[str, Any]:
        return {"_source": self.fitted()}


def _held_out(model: Any, task: Any) -> HeldOut:
    """Return outputs at ``beta_`` for the rows of each fold.

    They are those for the training set where no rows can be held out, and after Ctrl-C, when nothing more is trained.
    """
    status = getattr(getattr(model, "result_", None), "status", None)  # fits to shards have none
    held = [] if status is Status.INTERRUPTED else _validation_sets(task)
    if held:
        return _scores(model, task, held, np.array([model.beta_]), model.max_time, model._tolerance())[2][0]
    weights = np.ones(len(task.targets)) if task.weights is None else task.weights
    return HeldOut(model._predicted(task.X), task.targets, weights).merged(*_unique_rows(task.X, task.targets))


def _validation_sets(task: Any) -> list[NDArray[np.bool_]]:
    """Return the rows to hold out from one training after the other."""
    place = folds(task.X, task.targets, task.classes is not None)
    return [place == k for k in range(n_folds(len(place))) if (place == k).any() and (place != k).any()]


def _scores(
    model: Any, task: Any, held: list[NDArray[np.bool_]], betas: Array, limit: float | None, tol: float
) -> tuple[list[BetaScore], int, list[HeldOut]]:
    """Return scores of falling betas on held-out rows, until the loss has risen twice or ``limit`` seconds are over.

    Networks are trained to a relative gap of ``tol``. Also returned are the number of folds that there was time for at
    the first beta, and the outputs at each beta.
    """
    began = time.perf_counter()
    parts = [_Part(model, task, rows, tol) for rows in held]
    scores: list[BetaScore] = []
    outputs: list[HeldOut] = []
    for beta in track(betas, len(betas), "beta"):
        seconds = time.perf_counter() - began
        if scores and limit is not None and task.seconds + seconds / len(scores) > limit:
            break
        judged: list[tuple[Array, float, NDArray[np.bool_], HeldOut]] = []
        for part in parts:
            if judged and not scores and limit is not None and task.seconds > limit:
                break
            judged.append(part.losses(float(beta), limit))
        parts = parts[: len(judged)]
        losses, counts, wrong, held_out = zip(*judged, strict=True)
        marks, weights = None if task.classes is None else np.concatenate(wrong), [part.weights for part in parts]
        means = np.concatenate(losses), np.concatenate(weights), float(np.mean(counts))
        scores.append(scored(float(beta), *means, marks))
        outputs.append(HeldOut(*map(np.concatenate, zip(*held_out, strict=True))))
        best = min(range(len(scores)), key=lambda i: scores[i].mean_loss)
        if len(scores) - 1 - best >= PATIENCE:
            break
    return scores, len(parts), outputs


def scored(beta: float, losses: Array, weights: Array, n_neurons: float, wrong: NDArray[np.bool_] | None) -> BetaScore:
    """Return the score of a beta from the losses (n,) of held-out rows, and which of their labels are wrong."""
    mean = float(weights @ losses / weights.sum())
    error = float(np.sqrt(weights**2 @ (losses - mean) ** 2) / weights.sum())
    share = None if wrong is None else round(float(weights @ wrong / weights.sum()), _DIGITS)
    return BetaScore(beta, mean, error, n_neurons, share)


def best_score(scores: list[BetaScore], n: float) -> BetaScore:
    r"""Return the score with the least loss, of those that pass.

    A share of wrong labels passes up to :math:`p+\tfrac12\sqrt{\max(p(1-p),1/n)/n}`, p the least share of n rows of
    equal weight.
    """
    shares = [score.error_rate for score in scores if score.error_rate is not None]
    p = min(shares, default=0.0)
    most = p + 0.5 * np.sqrt(max(p * (1 - p), 1 / n) / n)
    passed = (score for score in scores if score.error_rate is None or score.error_rate <= most)
    return min(passed, key=lambda score: score.mean_loss)


def folds(X: Any, targets: Array, classes: bool) -> NDArray[np.intp]:
    """Return the fold of each row, 0 to 4: each a fifth of every class, or of every stretch of a sorted target.

    Equal rows with equal targets are in one fold. A class of one row is in none, -1: a network can do without it in no
    training, so it is never held out.
    """
    first, copy_of = _unique_rows(X, targets)
    rng = np.random.default_rng(_SEED)
    place = np.full(len(first), -1)
    some = targets[first]
    if classes:
        labels = labels_of(some)
        for label in np.unique(labels):
            members = np.flatnonzero(labels == label)
            if len(members) > 1:
                start = rng.integers(FOLDS)
                place[rng.permutation(members)] = (start + np.arange(len(members))) % FOLDS
    else:
        order = np.argsort(some[:, 0], kind="stable")
        for begin in range(0, len(order), FOLDS):
            stretch = order[begin : begin + FOLDS]
            place[stretch] = rng.permutation(FOLDS)[: len(stretch)]
    return place[copy_of]


def _unique_rows(X: Any, targets: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    both = hstack([X, targets], format="csr") if issparse(X) else np.hstack([np.asarray(X, dtype=np.float64), targets])
    return merged_rows(both)


def n_folds(n: int) -> int:
    """Return how many of the five folds of n rows hold out some 500 rows, or 5."""
    return min(FOLDS, -(-_ENOUGH // max(1, n // FOLDS)))


class _Part:
    """One fold: the estimator that is trained on the other rows, from beta to beta, and the rows it is judged on."""

    def __init__(self, model: Any, task: Any, held: NDArray[np.bool_], tol: float) -> None:
        self.model = copy.copy(model)
        seeded = isinstance(model.random_state, int | np.integer)
        self.model.set_params(**model._when_judged(), verbose=0)
        self.model.random_state = model.random_state if seeded else _SEED
        self.model.tol = tol
        self.owner = type(model).__name__
        weights = None if task.weights is None else normalized(task.weights[~held], int((~held).sum()), self.owner)
        X = task.X[~held] if issparse(task.X) else np.ascontiguousarray(task.X[~held])
        part = replace(task, X=X, targets=task.targets[~held], weights=weights)
        self.task = self.model._with_feature(part)
        self.X, self.targets = task.X[held], task.targets[held]
        self.unique = _unique_rows(self.X, self.targets)
        self.weights = np.ones(self.X.shape[0]) if task.weights is None else task.weights[held]
        self.loss: Loss = as_loss(task.loss, self.owner, model._own_delta)
        self.warm = WarmStart()

    def losses(self, beta: float, limit: float | None) -> tuple[Array, float, NDArray[np.bool_], HeldOut]:
        """Train at a beta; return losses (n,) of held-out rows, count of neurons, wrong classes, outputs."""
        model = copy.copy(self.model)
        model.beta = model.beta_ = beta
        model.max_time = limit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is judged as it is
            predicted, n_neurons = model._judged(self.task, self.warm, self.X)
        losses = np.asarray(self.loss.stated_value(predicted, self.targets))
        held_out = HeldOut(predicted, self.targets, self.weights).merged(*self.unique)
        return losses, n_neurons, labels_of(predicted) != labels_of(self.targets), held_out
