"""collect_facts: the record of a report, from a fitted model and its rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.displays.baselines import (
    Predicted,
    baseline_folds,
    fit_weighted,
    hold_out,
    later_words,
    linear_model,
    make_folds,
    predict_boosted,
    predict_boosted_test,
    predict_left_out,
    simplest,
)
from clifford_rand_nn.displays.distributions import describe_columns
from clifford_rand_nn.displays.facts import Comparison, Facts, ModelWarning, Proof, Rows, Standing, linear_name
from clifford_rand_nn.displays.model_warnings import (
    date_warning,
    group_warnings,
    leakage_warning,
    overlap_warning,
    sample_warnings,
)
from clifford_rand_nn.displays.selection import (
    choices,
    describe_model,
    interval_text,
    problem_lines,
    proof_dict,
    solver_text,
)
from clifford_rand_nn.scores import Scores, about_means, confusion, score_classes, score_numbers

_PATIENCE = 10.0  # seconds of a fit; of one that takes longer, one fold of five is left out instead of all
_FOLDS = 5
_COVERAGE = 0.9


def collect_facts(
    model: Any,
    rows: Rows,
    *,
    why: str = "as asked",
    test: Rows | None = None,
    seconds: float = float("nan"),
    compare: bool = True,
    describe: bool = True,
) -> Facts:
    """Return the facts of a model that is fitted to ``rows``; ``test`` are others of the same columns.

    ``why`` is the reason for the task, ``seconds`` the time that the fit took. Without ``compare`` no rows are left
    out, and nothing is fitted; without ``describe`` there are no distributions.

    >>> from sklearn.datasets import load_iris
    >>> from clifford_rand_nn import ConvexNetworkClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = collect_facts(ConvexNetworkClassifier().fit(X, y), Rows(X, y))
    >>> facts.left_out.method, facts.left_out.scores.accuracy > 0.94, facts.left_out.baseline_scores.accuracy < 0.4
    ('150 held-out rows', True, True)
    """
    classes = hasattr(model, "classes_")
    left = compare_left_out(model, rows, seconds, classes) if compare else None
    tested = None if test is None else compare_test(model, rows, test, classes, compare)
    labels, counts = np.unique(rows.y, return_counts=True)
    interrupted = bool(getattr(getattr(model, "result_", None), "interrupted", False))
    weights = None if rows.weights is None else rows.weights[rows.weights > 0]
    kind = "new rows of the same kind" if rows.groups is None else "rows of new groups"
    converged = bool(getattr(getattr(model, "result_", None), "converged", True))
    distributions, associations = describe_columns(rows, classes=classes) if describe else ((), ())
    facts = Facts(
        table=rows.path,
        target=rows.target,
        task="classification" if classes else "regression",
        reason=why,
        n_rows_read=rows.read or len(rows.y),
        n_rows=len(rows.weighted),
        rows_left_out=rows.reasons,
        weights=None if weights is None else (float(weights.min()), float(weights.max())),
        n_groups=None if rows.groups is None else len(np.unique(rows.groups)),
        columns=rows.columns,
        n_features=rows.X.shape[1],
        classes=tuple(zip(labels.tolist(), counts.tolist(), strict=True)) if classes else None,
        description=describe_model(model),
        details=tuple(problem_lines(model)),
        selected=choices(model),
        intervals=interval_text(model, "the next rows in time" if rows.order is not None else kind),
        left_out=None if interrupted else left,
        test=tested,
        train=_scores(rows.y, model.predict(rows.X), rows.weights, classes),
        proof=Proof(**proof_dict(model), converged=converged),
        solver=solver_text(model),
        seconds=seconds,
        distributions=distributions,
        associations=associations,
    )
    return replace(facts, warnings=(*data_warnings(rows, test, classes), *score_warnings(facts)))


def data_warnings(rows: Rows, test: Rows | None, classes: bool) -> list[ModelWarning]:
    """Return the warnings that rows alone call for."""
    warned = sample_warnings(rows.X, rows.y, classes=classes)
    if test is not None:
        warned += overlap_warning(rows.X, test.X)
    warned += leakage_warning(rows, classes=classes)
    if rows.order is None:
        warned += date_warning([column.name for column in rows.columns if column.kind == "date"])
    if rows.frame is not None and rows.groups is None:
        warned += group_warnings(rows.frame, rows.kinds)
    return warned


def score_warnings(facts: Facts) -> list[ModelWarning]:
    """Return the warnings that scores on left-out rows, or on the test set, call for."""
    warned = []
    for compared, where in ((facts.left_out, "left-out rows"), (facts.test, "the test set")):
        if compared is None:
            continue
        mine, least = compared.scores.main, compared.baseline_scores.main
        if mine <= least:
            text = f"on {where} the model ({facts.measure} {mine:.4f}) is no better than always"
            text += f" {compared.baseline_label} ({least:.4f})."
            warned.append(ModelWarning("no_better_than_baseline", text))
        if compared.linear_scores is not None and compared.verdict == "worse":
            text = f"on {where} {facts.linear} is better ({compared.linear_scores.main:.4f}, here {mine:.4f})"
            warned.append(ModelWarning("linear_is_better", f"{text}: it is simpler, too."))
    return warned


def compare_left_out(model: Any, rows: Rows, seconds: float, classes: bool) -> Comparison:
    """Return out-of-sample scores on the training set: by the leave-one-out of the model, or by folds.

    Rows of weight zero are in none of them.
    """
    place = rows.weighted
    data = rows.take(place)
    folds = baseline_folds(data, classes=classes)
    own = getattr(model, "loo_mask_", None)
    if own is None:
        only = 1 if seconds > _PATIENCE or len(folds.held) == 1 else None
        folds = make_folds(data, classes=classes, count=_FOLDS, only=only)
        mine, how = predict_left_out(model, data, folds), folds.words
    else:
        is_left_out = own[place]
        probabilities, some = getattr(model, "loo_probabilities_", None), place[is_left_out]
        sure = None if probabilities is None else probabilities[some]
        mine = Predicted(np.flatnonzero(is_left_out), model.loo_predictions_[some], sure)
        how = _own_words(model, len(some), rows.groups is not None)
        if len(mine.rows) <= len(folds.rows) and not np.isin(mine.rows, folds.rows).all():
            folds = hold_out(data, mine.rows)  # one fold of very many rows: the same rows are compared
    linear = predict_left_out(lambda train: linear_model(train, classes=classes), data, folds)
    if len(linear.rows) < len(mine.rows):  # one fold: scored on the rows that both left out
        both = np.intersect1d(mine.rows, linear.rows)
        mine, how = _take(mine, both), f"{how}, on {len(both)} of the rows"
    linear = _take(linear, mine.rows)
    simple = _take(predict_left_out(simplest(classes), data, folds), mine.rows)
    blocks = None
    if folds.ranks is not None and not classes:
        starts = sorted(int(folds.ranks[held].min()) for held in folds.held)
        blocks = np.searchsorted(starts, folds.ranks[mine.rows], "right")
    labels = model.classes_ if classes else None
    comparison = _compared((mine, simple, linear), data, _guess(data, classes), labels, blocks)
    linear_how = "" if folds.words == how else folds.words
    rivals = [(f"always {comparison.baseline_label}", simple, folds.words), (linear_name(classes), linear, folds.words)]
    boosted = predict_boosted(rows, place, folds, classes=classes)
    if boosted is not None:
        rivals.append(("gradient boosting", *boosted))
    own = Standing("this model", comparison.scores.main, len(mine.rows), how)
    leaderboard = _leaderboard(own, mine, rivals, data, classes, blocks)
    return replace(comparison, method=how, linear_method=linear_how, rows=place[mine.rows], leaderboard=leaderboard)


def _leaderboard(
    own: Standing,
    mine: Predicted,
    rivals: Sequence[tuple[str, Predicted, str]],
    data: Rows,
    classes: bool,
    blocks: NDArray[np.intp] | None = None,
) -> tuple[Standing, ...]:
    """Return the standings of this model and of its rivals, each on the rows that both predicted, the best first."""
    standings = []
    for name, other, how in rivals:
        common = np.intersect1d(mine.rows, other.rows)
        held, first, second = data.take(common), _take(mine, common).labels, _take(other, common).labels
        truth = held.y
        if not classes:
            block = None if blocks is None else blocks[np.searchsorted(mine.rows, common)]
            first, second = (about_means(held.y, labels, held.weights, block)[1] for labels in (first, second))
            truth = about_means(held.y, held.y, held.weights, block)[0]
        score = _scores(truth, second, held.weights, classes).main
        standings.append(Standing(name, score, len(common), how, *paired(truth, first, second, held.weights, classes)))
    return tuple(sorted([*standings, own], key=lambda standing: standing.difference or 0.0))


def compare_test(model: Any, rows: Rows, test: Rows, classes: bool, compare: bool) -> Comparison:
    """Return scores of the rows of another table, of models that are fitted to all training rows."""

    def predicted(fitted: Any) -> Predicted:
        probabilities = fitted.predict_proba(test.X) if classes and hasattr(fitted, "predict_proba") else None
        return Predicted(np.arange(len(test.y)), fitted.predict(test.X), probabilities)

    mine, simple = predicted(model), predicted(fit_weighted(simplest(classes), rows))
    linear = predicted(fit_weighted(linear_model(rows, classes=classes), rows)) if compare else None
    comparison = _compared((mine, simple, linear), test, _guess(rows, classes), model.classes_ if classes else None)
    interval = model.predict_interval(test.X, coverage=_COVERAGE) if hasattr(model, "predict_interval") else None
    where = f"{len(test.y)} rows of {test.path}" if test.path else f"{len(test.y)} test rows"
    scores = comparison.scores if interval is None else score_numbers(test.y, mine.labels, test.weights, interval)
    leaderboard: tuple[Standing, ...] = ()
    if linear is not None:
        how, boosted = "the test set", predict_boosted_test(rows, test, classes=classes)
        rivals = [(f"always {comparison.baseline_label}", simple, how), (linear_name(classes), linear, how)]
        rivals += [] if boosted is None else [("gradient boosting", boosted, how)]
        own = Standing("this model", scores.main, len(test.y), how)
        leaderboard = _leaderboard(own, mine, rivals, test, classes)
    return replace(comparison, method=where, scores=scores, interval=interval, leaderboard=leaderboard)


def _compared(
    predictions: tuple[Predicted, Predicted, Predicted | None],
    rows: Rows,
    guess: str,
    labels: NDArray[Any] | None,
    blocks: NDArray[np.intp] | None = None,
) -> Comparison:
    """Return the scores of predictions of the same rows: of the model, of the simplest one, of the linear one.

    ``labels`` are the classes, None for numbers; ``blocks`` those of later rows, whose R² is about the mean of each.
    """
    mine, simple, linear = predictions
    held = rows.take(mine.rows)

    def scores(predicted: Predicted) -> Scores:
        if labels is None:
            return score_numbers(*about_means(held.y, predicted.labels, held.weights, blocks), held.weights)
        return score_classes(held.y, predicted.labels, labels, predicted.probabilities, held.weights)

    difference = error = None
    if linear is not None:
        truth, predicted = about_means(held.y, mine.labels, held.weights, blocks)
        by_linear = about_means(held.y, linear.labels, held.weights, blocks)[1]
        difference, error = paired(truth, predicted, by_linear, held.weights, labels is not None)
    return Comparison(
        method="",
        scores=scores(mine),
        baseline_scores=scores(simple),
        baseline_label=guess,
        rows=mine.rows,
        truth=held.y,
        predicted=mine.labels,
        linear_scores=None if linear is None else scores(linear),
        difference=difference,
        std_error=error,
        probabilities=mine.probabilities,
        confusion=None if labels is None else confusion(held.y, mine.labels, np.union1d(labels, held.y)),
    )


def paired(
    truth: NDArray[Any], mine: NDArray[Any], other: NDArray[Any], weights: Any, classes: bool
) -> tuple[float, float]:
    """Return how much better ``mine`` is than ``other``, and the standard error of that, from differences by row.

    Accuracy, or R²: differences of squared errors over the variance of the truth.

    >>> y = np.array([0, 1, 1, 0])
    >>> difference, error = paired(y, y, 1 - y, None, True)
    >>> difference, error
    (1.0, 0.0)
    """
    if classes:
        by_row = (mine == truth).astype(np.float64) - (other == truth)
    else:
        mean = np.average(truth, weights=weights)
        spread = float(np.average((truth - mean) ** 2, weights=weights))
        by_row = ((other - truth) ** 2 - (mine - truth) ** 2) / (spread or 1.0)
    share = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
    share = share / share.sum()
    difference = float(share @ by_row)
    return difference, float(np.sqrt(share**2 @ (by_row - difference) ** 2))


def _own_words(model: Any, n: int, groups: bool) -> str:
    if model.n_order_blocks_:
        return later_words(model.n_order_blocks_)
    if model.neuron_scores_ is None and model.metric_ is None:
        return "leave-one-group-out" if groups else "leave-one-out"
    return f"{n} held-out rows" + (" of other groups" if groups else "")


def _take(predicted: Predicted, rows: NDArray[np.intp]) -> Predicted:
    place = np.searchsorted(predicted.rows, rows)
    assert np.array_equal(predicted.rows[np.minimum(place, len(predicted.rows) - 1)], rows)
    probabilities = None if predicted.probabilities is None else predicted.probabilities[place]
    return Predicted(rows, predicted.labels[place], probabilities)


def _guess(rows: Rows, classes: bool) -> str:
    if not classes:
        return f"the mean, {np.average(rows.y, weights=rows.weights):.4g}"
    labels, place = np.unique(rows.y, return_inverse=True)
    return f"“{labels[np.bincount(place, rows.weights).argmax()]}”"


def _scores(y: NDArray[Any], predicted: NDArray[Any], weights: Any, classes: bool) -> Scores:
    return score_classes(y, predicted, weights=weights) if classes else score_numbers(y, predicted, weights)
