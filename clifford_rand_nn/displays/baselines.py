"""Baselines on the same folds, and the influence of columns."""

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from clifford_rand._typing import Array
from clifford_rand_nn.displays.facts import Rows
from clifford_rand_nn.estimators.folds import LATER_BLOCKS, later_blocks, order_numbers
from clifford_rand_nn.estimators.network_base import settled
from clifford_rand_nn.estimators.unique_rows import shares
from clifford_rand_nn.explanation.context import error_measure, permutation_losses, prediction_error
from clifford_rand_nn.scores import LEAST_PROBABILITY
from clifford_rand_nn.solvers.stopping import raise_if_interrupted
from clifford_rand_nn.sparse_rows import merged_rows
from clifford_rand_nn.tables.cells import words
from clifford_rand_nn.tables.column_readers import WORD

FOLDS = LATER_BLOCKS
_GRID = 10.0 ** np.arange(-3, 3)  # of C, and of 1/alpha per row for numbers
_SMALL = 3e6  # numbers times classes: more take one fold, a fifth of the rows
_STEPS = 200
_SEED = 0
_BOOSTED, _MOST_BOOSTED = 2e5, 5e6  # numbers times trees a step, of all folds (1 to 2 s) and of one fold
_MOST_FOLDS = 5
_MOST_CODES = 250  # categories of a column: HistGradientBoosting takes 255
# threads of OpenMP wait for each other where cores are busy: 3,117 rows took 22 CPU s for 3
_ONE_THREAD = threadpool_limits.wrap(limits=1, user_api="openmp")
_MOST = 750  # rows, two thirds to fit; with 1000, ranks of columns correlate by .90 to .98 with 2000 (three tables)
_REPEATS = 5


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions of rows by fits without them."""

    rows: NDArray[np.intp]  # (m,) int, which rows were left out and predicted
    labels: NDArray[Any]  # (m,), what was predicted
    probabilities: Array | None = None  # (m, C)


@dataclass(frozen=True, eq=False)
class Folds:
    """Parts of the rows that are left out in turn."""

    held: list[NDArray[np.intp]]  # rows that are left out
    n: int
    words: str  # how, in words
    ranks: NDArray[np.intp] | None = None  # of rows in time, where only earlier rows are trained on

    @property
    def rows(self) -> NDArray[np.intp]:
        """All rows that are left out once."""
        return np.sort(np.concatenate(self.held))

    def kept(self, held: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which rows are trained on while others are held."""
        if self.ranks is not None:
            return np.asarray(self.ranks < self.ranks[held].min())
        rows = np.ones(self.n, dtype=bool)
        rows[held] = False
        return rows


def together(rows: Rows) -> NDArray[Any] | None:
    """Return which rows are left out together, as by leave-one-out: those of a group, else repeated ones; None if none.

    >>> together(Rows(np.array([[1.0], [2.0], [1.0]]), np.array(["a", "b", "a"]))).tolist()
    [0, 1, 0]
    """
    if rows.groups is not None:
        return np.unique(rows.groups, return_inverse=True)[1]
    first, place = merged_rows(rows.X)
    if len(first) == len(rows.X):
        return None
    if rows.y.dtype.kind in "biuf":
        targets = rows.y[:, None].astype(np.float64)
    else:
        labels, index = np.unique(rows.y, return_inverse=True)
        targets = np.eye(len(labels))[index]
    return place if shares(targets, rows.weights, place) is None else None


def make_folds(rows: Rows, *, classes: bool, count: int = FOLDS, only: int | None = None) -> Folds:
    """Return folds, stratified by class; rows of a group, or duplicates, are in one of them.

    With ``only`` so many of them are left out, the others never. Rows with times are in blocks of later ones.
    """
    if rows.order is not None:
        ranks = order_numbers(rows.order, len(rows.y), "fit")
        blocks = [block for _, block in later_blocks(ranks, count)]
        if blocks:
            return Folds(blocks[-(only or count) :], len(rows.y), later_words(len(blocks)), ranks)
    same = together(rows)
    count = min(count, len(rows.y) if same is None else int(same.max()) + 1)
    if classes and same is None:
        splitter: Any = StratifiedKFold(count, shuffle=True, random_state=_SEED)
    elif classes:
        splitter = StratifiedGroupKFold(count, shuffle=True, random_state=_SEED)
    else:
        splitter = KFold(count, shuffle=True, random_state=_SEED) if same is None else GroupKFold(count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with fewer rows than folds: a warning names them
        held = [np.asarray(test) for _, test in splitter.split(rows.X, rows.y, same) if len(test)]
    words = f"{len(held)}-fold cross-validation{' by groups' if rows.groups is not None else ''}"
    if only is not None and only < len(held):
        held = held[:only]
        words = f"a validation set of {sum(map(len, held))} rows{' of other groups' if rows.groups is not None else ''}"
    return Folds(held, len(rows.y), words)


def baseline_folds(rows: Rows, *, classes: bool) -> Folds:
    """Return ten folds, five of many rows, and one of five that is left out where they are very many."""
    work = 0 if rows.order is not None else _work(rows, classes)  # the same blocks as those of a model
    if work > _SMALL:
        return make_folds(rows, classes=classes, count=5, only=1)
    return make_folds(rows, classes=classes, count=FOLDS if work < _SMALL / 10 else 5)


def later_words(blocks: int) -> str:
    """Return how blocks of later rows are left out."""
    return f"{blocks} block{'s' * (blocks > 1)} of later rows, each predicted by a fit to the rows before it"


def hold_out(rows: Rows, places: NDArray[np.intp]) -> Folds:
    """Return one fold of these rows, with those of their groups or their duplicates, which no such fit may see.

    >>> rows = Rows(np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([0, 1, 0, 1]))
    >>> hold_out(rows, np.array([2])).held
    [array([0, 2])]
    """
    same = together(rows)
    held = np.sort(places) if same is None else np.flatnonzero(np.isin(same, same[places]))
    return Folds([held], len(rows.X), "the same rows")


def predict_left_out(model: Any, rows: Rows, folds: Folds) -> Predicted:
    """Return the predictions for the rows of each fold by models that are fitted to the other rows.

    ``model`` is an estimator, or a function that selects one by the rows that it is fitted to. A class that these lack
    has probability 0.
    """
    labels: list[NDArray[Any]] = []
    chances: list[Array] = []
    classes = np.unique(rows.y)
    for held in folds.held:
        train = rows.take(folds.kept(held))
        fitted = fit_weighted(model if hasattr(model, "fit") else model(train), train)
        labels.append(fitted.predict(rows.X[held]))
        if hasattr(fitted, "predict_proba"):
            probabilities = np.zeros((len(held), len(classes)))
            probabilities[:, np.searchsorted(classes, fitted.classes_)] = fitted.predict_proba(rows.X[held])
            chances.append(probabilities)
    places = np.concatenate(folds.held)
    order = np.argsort(places)
    all_chances = np.concatenate(chances)[order] if chances else None
    return Predicted(places[order], np.concatenate(labels)[order], all_chances)


def simplest(classes: bool) -> Any:
    """Return the model that uses no column: the most frequent class, with the shares of all, or the mean."""
    return DummyClassifier(strategy="prior") if classes else DummyRegressor()


def linear_model(rows: Rows, *, classes: bool) -> Any:
    """Return logistic regression, or ridge for numbers, of standardized columns, its penalty selected on held-out rows.

    The penalty is selected among six on these rows alone, so that other rows are ignored: three folds, or one third of
    the rows where there are thousands. A model of this kind can be fitted to them, or to more.
    """
    folds = make_folds(rows, classes=classes, count=3, only=1 if _work(rows, classes) > _SMALL / 30 else None)
    labels, losses = np.unique(rows.y), []
    for strength in _GRID:
        model = _linear(strength, len(rows.y), classes)
        predicted = predict_left_out(model, rows, folds)
        held = rows.take(predicted.rows)
        if classes:
            assert predicted.probabilities is not None
            probability = predicted.probabilities[np.arange(len(held.y)), np.searchsorted(labels, held.y)]
            loss = -np.log(np.maximum(probability, LEAST_PROBABILITY))
        else:
            loss = (predicted.labels - held.y) ** 2
        losses.append(np.average(loss, weights=held.weights))
    return _linear(float(_GRID[int(np.argmin(losses))]), len(rows.y), classes)


@_ONE_THREAD
def predict_boosted(
    rows: Rows, place: NDArray[np.intp], folds: Folds, *, classes: bool
) -> tuple[Predicted, str] | None:
    """Return predictions by scikit-learn's gradient boosting with default parameters, and how rows were left out.

    ``place`` are the rows among which the ``folds`` are. Categories are native, as codes instead of encoded columns. Of
    large tables only some of the folds are left out, so that the fits take some seconds; None for very large ones.
    """
    X, is_code = native_categories(rows)
    data = replace(rows.take(place), X=X[place])
    work = _boosting_work(data, classes)
    if work > _MOST_BOOSTED:
        return None
    count = max(1, min(_MOST_FOLDS, int(_BOOSTED / work)))
    some = replace(folds, held=folds.held[-count:])
    left = len(folds.held) - len(some.held)
    how = f"{len(some.held)} of the {len(folds.held)} folds of {folds.words}" if left else folds.words
    return predict_left_out(_boosting(is_code, classes), data, some), how


@_ONE_THREAD
def predict_boosted_test(rows: Rows, test: Rows, *, classes: bool) -> Predicted | None:
    """Return predictions of a test set by the same model of all training rows; None for very large tables."""
    if test.frame is None:
        rows = replace(rows, frame=None)
    X, is_code = native_categories(rows)
    data = replace(rows, X=X)
    if _boosting_work(data, classes) > _MOST_BOOSTED:
        return None
    fitted, new = fit_weighted(_boosting(is_code, classes), data), native_categories(test, rows)[0]
    return Predicted(np.arange(len(new)), fitted.predict(new), fitted.predict_proba(new) if classes else None)


def _boosting(is_code: NDArray[np.bool_], classes: bool) -> Any:
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(categorical_features=is_code, random_state=_SEED)


def _boosting_work(data: Rows, classes: bool) -> int:
    labels = len(np.unique(data.y)) if classes else 1
    return int(data.X.size) * (labels if labels > 2 else 1)


def native_categories(rows: Rows, train: Rows | None = None) -> tuple[Array, NDArray[np.bool_]]:
    """Return columns (n, k), each column of categories as one of codes, and which ones these are; NaN is missing.

    The rarest of more than 250 categories, and those that are not in ``train``, by default the same rows, share a code.
    """
    train = rows if train is None else train
    names = [column.name for column in train.columns if column.kind == WORD] if train.frame is not None else []
    encoded = rows.X[:, [name not in names for name in train.origin]] if names else rows.X
    codes = []
    for name in names:
        cells, known = words(rows.frame[name]), words(train.frame[name])
        frequent = [word for word, _ in Counter(known.tolist()).most_common(_MOST_CODES) if word is not None]
        code = {word: float(i) for i, word in enumerate(frequent)} | {None: np.nan}
        codes.append([code.get(word, float(len(frequent))) for word in cells])
    return np.column_stack([encoded, *codes]), np.arange(encoded.shape[1] + len(codes)) >= encoded.shape[1]


def fit_weighted(model: Any, rows: Rows) -> Any:
    """Return a clone of a model, or pipeline, that is fitted to rows with their weights."""
    fresh, keywords = clone(model), {}
    if rows.weights is not None:
        steps = [f"{name}__sample_weight" for name, _ in getattr(fresh, "steps", ())]
        keywords = dict.fromkeys(steps or ["sample_weight"], rows.weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if hasattr(model, "predict_proba") and len(np.unique(rows.y)) < 2:
            return simplest(True).fit(rows.X, rows.y)
        return raise_if_interrupted(fresh.fit(rows.X, rows.y, **keywords))


def _linear(strength: float, n: int, classes: bool) -> Any:
    model = LogisticRegression(C=strength, max_iter=_STEPS, tol=1e-3) if classes else Ridge(n / (strength * 1e3))
    return make_pipeline(StandardScaler(), model)


def _work(rows: Rows, classes: bool) -> int:
    return int(rows.X.size) * (len(np.unique(rows.y)) if classes else 1)


@dataclass(frozen=True, eq=False)
class Influence:
    """The increase of the error on held-out rows when a column is shuffled among them."""

    names: tuple[str, ...]  # columns of the table, the most influential first
    # (k, repeats) array, increase of the log loss, or decrease of R² (accuracy, where there are no probabilities)
    losses: Array
    measure: str  # which of them
    n_train: int  # rows
    n_test: int
    # scores of that fit on its rows and, if it has any, by its own leave-one-out: a part of a learning curve
    train_score: float = float("nan")
    left_out_score: float | None = None


def find_influence(model: Any, rows: Rows) -> Influence | None:
    """Return the influence of each column of the table, by one fit to two thirds of the rows, or of 750 of them.

    All encoded columns of a table column are shuffled together. Rows of a group, or duplicates, are on one side. None
    where there are too few rows to split.

    See Also
    --------
    clifford_rand_nn.explain : the same of the model itself on given rows.
    """
    place = np.sort(np.random.default_rng(_SEED).permutation(rows.weighted)[:_MOST])
    data, classes = rows.take(place), is_classifier(model)
    same = together(data)
    if len(place) < 20 or (same is not None and same.max() < 3):
        return None
    folds = make_folds(data, classes=classes, count=3, only=1)
    train, test = data.take(folds.kept(folds.held[0])), data.take(folds.held[0])
    if classes and len(np.unique(train.y)) < 2:
        return None
    fitted = fit_weighted(settled(model), train)
    origin = rows.origin or rows.names or tuple(f"column {j}" for j in range(data.X.shape[1]))
    names = list(dict.fromkeys(origin))
    columns = [np.array([j for j, of in enumerate(origin) if of == name]) for name in names]
    losses = permutation_losses(
        lambda shuffled: prediction_error(fitted, shuffled, test.y, test.weights), test.X, columns, _REPEATS, _SEED
    )
    order = np.argsort(-losses.mean(axis=1), kind="stable")
    of_fit = float(fitted.score(train.X, train.y, train.weights)), getattr(fitted, "loo_score_", None)
    sizes = len(train.y), len(test.y)
    return Influence(tuple(names[i] for i in order), losses[order], error_measure(fitted), *sizes, *of_fit)
