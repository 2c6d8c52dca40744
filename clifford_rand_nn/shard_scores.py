"""Scores of a fitted model on shards with targets: sums over rows, on any engine."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.kernel_network.candidates import level
from clifford_rand_nn.row_sums import Block, Kept, RowSum, Sums
from clifford_rand_nn.scores import LEAST_PROBABILITY, Scores
from clifford_rand_nn.shard_predictions import ModelRows
from clifford_rand_nn.shards.engines import as_engine
from clifford_rand_nn.shards.source import Shards, shard_blocks

_OWNER = "evaluate_shards"


@short_repr
@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of a model on the rows of shards, weighted if the shards have weights.

    Of classes: accuracy, balanced accuracy, and, where there are probabilities, log-loss (nats) and Brier score; of
    numbers: R², root mean square and mean absolute error, means over the outputs.
    """

    scores: Scores
    baseline: Scores  # of the most frequent class of these rows and the shares of the classes, or of their mean
    mse: float | None = None  # of numbers
    classes: NDArray[Any] | None = None  # (C,)
    confusion: NDArray[np.int64] | None = None  # (C, C): rows of a class (down) predicted as another, without weights
    n_unknown_labels: int = 0  # rows whose label is none of the classes; they count as wrong

    @property
    def recall(self) -> Array:
        """Share of the rows of each class that were predicted as such; nan of a class without rows."""
        return self._share(1)

    @property
    def precision(self) -> Array:
        """Share of the rows predicted as each class that are of it, among rows of known classes; nan without any."""
        return self._share(0)

    def _share(self, axis: int) -> Array:
        assert self.confusion is not None
        rows = self.confusion.sum(axis=axis)
        return np.where(rows > 0, np.diag(self.confusion) / np.maximum(rows, 1), np.nan)


def evaluate_shards(estimator: Any, shards: Shards, *, engine: Any = None) -> Evaluation:
    r"""Score a fitted estimator or pipeline on shards with targets, in one pass.

    Parameters
    ----------
    estimator : fitted classifier or regressor, or pipeline that ends with one
    shards : Shards
        With targets; weights count, if there are any.
    engine : None, distributed.Client, "torch" or Engine

    Returns
    -------
    Evaluation

    Raises
    ------
    ArgumentError
        Shards without targets, of other columns or of targets that the model cannot have predicted; rows that it
        refuses.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.arange(8.0)[:, None], np.array(list("aaaabbbb"))
    >>> model = LogisticRegression().fit(X, y)
    >>> found = evaluate_shards(model, Shards([X[:5], X[5:]], [y[:5], y[5:]]))
    >>> found.scores.accuracy, found.confusion.tolist()
    (1.0, [[4, 0], [0, 4]])
    """
    rows_of = ModelRows(estimator, shards, _OWNER)
    if not shards.has_targets:
        raise fail("shards", _OWNER, "shards with targets", describe("some without y"))
    classes = getattr(estimator, "classes_", None)
    with as_engine(engine, shards, _OWNER) as chosen:
        if classes is None:
            return _of_numbers(chosen.sum(_Errors(rows_of, _about(shards))), shards.n_rows)
        outputs = {shard.y.shape[1:] for shard in shards.shards if shard.y is not None}
        if isinstance(classes, list) or np.ndim(classes) != 1 or not outputs <= {(), (1,)}:
            raise fail("shards", _OWNER, "shards with one label a row", describe("several"))
        return _of_labels(chosen.sum(_Hits(rows_of)), np.asarray(classes), shards.n_rows)


# ---- classes


class _Hits(RowSum):
    """Counts and weights of (true class, predicted class), the last true one being any other; sums of losses."""

    def __init__(self, rows_of: ModelRows) -> None:
        self.asked, self.rows = rows_of, rows_of.rows
        self.classes = _as_texts(np.asarray(rows_of.model.classes_))

    def of(self, block: Block, kept: Kept) -> Sums:
        assert block.y is not None
        size, (n, weights) = len(self.classes), _weights(block)
        true = _places(_like(block.y.reshape(n), self.classes), self.classes)
        probabilities = self._probabilities(block)
        if probabilities is None or not _is_ours(self.asked.model):
            predicted = _places(_as_texts(self.asked.ask("predict", block)), self.classes)
        else:  # its predictions are these: the network is evaluated once
            predicted = probabilities.argmax(axis=1)
        pairs = true * size + predicted
        counts = np.bincount(pairs, minlength=(size + 1) * size).astype(np.float64)
        masses = np.bincount(pairs, weights, minlength=(size + 1) * size)
        losses = np.zeros(3)  # the last one counts rows with probabilities
        if probabilities is not None:
            known = true < size
            share = np.where(known, probabilities[np.arange(n), np.where(known, true, 0)], 0.0)
            losses[0] = weights @ -np.log(np.maximum(share, LEAST_PROBABILITY))
            losses[2] = n
            # |p - e_y|² = |p|² - 2p_y + 1
            losses[1] = weights @ (np.square(probabilities).sum(axis=1) - 2 * share + 1)
        return counts.reshape(-1, size), masses.reshape(-1, size), losses

    def _probabilities(self, block: Block) -> Array | None:
        if not hasattr(self.asked.model, "predict_proba"):
            return None
        return self.asked.ask("predict_proba", block).astype(np.float64, copy=False)


def _of_labels(sums: Sums, classes: NDArray[Any], n: int) -> Evaluation:
    counts, masses, losses = sums
    size, total = len(classes), masses.sum()
    if not counts[:size].any():
        received = describe("none of " + ", ".join(map(str, classes[:5])) + (", …" if size > 5 else ""))
        raise fail("shards", _OWNER, "shards with labels of the model's classes", received)
    if total <= 0:
        raise fail("sample_weight", _OWNER, "not all 0", describe("only zeros"))
    right = np.append(np.diag(masses), 0.0)
    mass = masses.sum(axis=1)
    balanced = float(np.mean(right[mass > 0] / mass[mass > 0]))
    loss, brier = (float(value / total) if losses[2] else None for value in losses[:2])
    scores = Scores(n, float(right.sum() / total), balanced, loss, brier)
    confusion = np.rint(counts).astype(np.int64)
    share = mass[mass > 0] / total
    # log-loss and Brier score of the class frequencies
    entropy, gini = float(-share @ np.log(share)), float(1 - share @ share)
    simplest = Scores(n, float(share.max()), 1 / len(share), entropy, gini)
    return Evaluation(scores, simplest, None, classes, confusion[:size], int(confusion[size].sum()))


def _is_ours(model: Any) -> bool:
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return type(last).__module__.partition(".")[0] == "clifford_rand_nn"


def _as_texts(labels: NDArray[Any]) -> NDArray[Any]:
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def _like(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels in a type that can be compared with the classes; bytes are texts."""
    labels = np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" and classes.dtype.kind == "U" else labels
    return labels.astype(str) if classes.dtype.kind == "U" and labels.dtype.kind != "U" else labels


def _places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return which class each label is, C for none."""
    if labels.dtype.kind == "U" and classes.dtype.kind != "U":
        return np.full(len(labels), len(classes))
    order = np.argsort(classes, kind="stable")
    place = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return np.where(classes[place] == labels, place, len(classes))


# ---- numbers


class _Errors(RowSum):
    """Sums of weights, of targets and their squares about a number near their mean, of squared and absolute errors."""

    def __init__(self, rows_of: ModelRows, about: Array) -> None:
        self.asked, self.rows, self.about = rows_of, rows_of.rows, about

    def of(self, block: Block, kept: Kept) -> Sums:
        assert block.y is not None
        n, weights = _weights(block)
        y = block.y.astype(np.float64).reshape(n, -1)
        if not np.isfinite(y).all():
            row = block.first + int(np.argwhere(~np.isfinite(y))[0, 0])
            raise ArgumentError(f"{_OWNER}: the target of row {row} of all shards is not a finite number.")
        predicted = self.asked.ask("predict", block).reshape(n, -1)
        if predicted.shape != y.shape:
            rule = f"shards with the targets of the model, {predicted.shape[1]} a row"
            raise fail("shards", _OWNER, rule, describe(f"{y.shape[1]}"))
        errors = y - predicted
        y = y - self.about
        return (
            np.array([weights.sum()]),
            weights @ y,
            weights @ np.square(y),
            weights @ np.square(errors),
            weights @ np.abs(errors),
        )


def _of_numbers(sums: Sums, n: int) -> Evaluation:
    (total,), first, second, squared, absolute = sums
    if total <= 0:
        raise fail("sample_weight", _OWNER, "not all 0", describe("only zeros"))
    # Σω(y - ȳ)², about a number near the mean, so that it does not cancel
    spread = np.maximum(second - first**2 / total, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = np.where(spread > 0, 1 - squared / spread, np.where(squared > 0, 0.0, 1.0))
    mse = float(np.mean(squared / total))
    r2_mean = float("nan") if n < 2 else float(np.mean(r2))
    scores = Scores(n, r2=r2_mean, rmse=float(np.sqrt(mse)), mae=float(np.mean(absolute / total)))
    simplest = Scores(n, r2=float("nan") if n < 2 else 0.0, rmse=float(np.sqrt(np.mean(spread / total))))
    return Evaluation(scores, simplest, mse)


def _about(shards: Shards) -> Array:
    """Return the mean target of the first rows, or the one target they have: sums of squares about it do not cancel."""
    block = next(shard_blocks(shards, shards.parts[0], 1000))
    assert block.y is not None
    if block.y.dtype.kind not in "fiub":
        raise fail("shards", _OWNER, "shards with numbers for targets", describe(f"{block.y.dtype}"))
    with np.errstate(invalid="ignore"):
        y = block.y.astype(np.float64).reshape(len(block.X), -1)
        return np.asarray(np.nan_to_num(level(y, y.mean(axis=0)), posinf=0, neginf=0))


def _weights(block: Block) -> tuple[int, Array]:
    return len(block.X), np.ones(len(block.X)) if block.weights is None else block.weights
