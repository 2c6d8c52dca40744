"""Sections of the page on how good the model is: scores beside simple ones, right and wrong rows, probabilities."""

from typing import Any, NamedTuple

import numpy as np

from clifford_rand_nn._words import shortened
from clifford_rand_nn.displays.calibration import CalibrationDisplay
from clifford_rand_nn.displays.style import FIRST, literal
from clifford_rand_nn.reporting.facts import Comparison, Facts
from clifford_rand_nn.reporting.figures import NAMES, Picture, picture
from clifford_rand_nn.reporting.sections import Section, Table, share

_NUMBERED = 12  # classes whose confusion matrix has a number in every cell
_NAMED = 30  # classes that are named beside it
_MOST_POINTS = 2000
_LIKELY = 2.0  # standard errors


class Verdict(NamedTuple):
    """The page in one glance: a sentence, and bars with a name, a value in words and a share of the width."""

    sentence: str
    bars: tuple[tuple[str, str, float], ...]


def verdict(facts: Facts) -> Verdict:
    """Return what the model promises beside the simplest guess and a linear model."""
    found = facts.test or facts.left_out
    if found is None:
        return Verdict("Nothing was left out, so nothing is known of new rows.", ())
    where = f"On {found.how}" if facts.test else f"On rows it had not seen ({found.how})"
    bars = [("this model", found.model.main)]
    if found.linear is not None:
        bars.append((facts.linear, found.linear.main))
    classes = facts.task == "classification"
    guess = f"always {found.guess}" if classes else f"always {found.guess.rstrip(',')}"
    bars.append((guess, found.simplest.main))
    did = f"is right on {share(found.model.main)} of them" if classes else _explains(found.model.main)
    shown = tuple((name, score(facts, value), min(max(value, 0.0), 1.0)) for name, value in bars)
    return Verdict(f"{where} the model {did}. {_against_linear(facts, found)}".strip(), shown)


def score(facts: Facts, value: float) -> str:
    """Return the main score in words."""
    return share(value) if facts.task == "classification" else f"R²\N{NO-BREAK SPACE}{value:.3f}"


def _explains(r2: float) -> str:
    if r2 <= 0:
        return f"is no better than the mean (R² {r2:.3f})"
    return f"explains {share(r2)} of the variation (R² {r2:.3f})"


def _against_linear(facts: Facts, found: Comparison) -> str:
    if found.difference is None or found.error is None:
        return ""
    size = f"{100 * abs(found.difference):.1f} points" if facts.task == "classification" else f"{found.difference:+.3f}"
    if abs(found.difference) <= _LIKELY * found.error:
        return f"From {facts.linear} it cannot be told apart on so many rows ({size})."
    better = "better" if found.difference > 0 else "worse"
    return f"That is {better} than {facts.linear} by more than chance ({size})."


def quality_section(facts: Facts) -> Section:
    """Return the table of scores."""
    tables, texts = [], []
    for found, where in ((facts.left_out, "training rows, each predicted by a fit without it"), (facts.test, "")):
        if found is not None:
            tables.append(_scores(facts, found, f"Scores of {where or found.how}"))
            other = f"; {facts.linear} {found.linear_how}" if found.linear_how and not facts.test else ""
            texts += [f"How rows were left out: {found.how}{other}."] if where else []
    kind = "wrong labels" if facts.task == "classification" else "errors"
    but = " but for test rows that are equal to some of training" if facts.test_was_seen else ""
    texts.append(
        f"All scores are of rows that the fit had not seen{but}; on the rows it learned from it reaches "
        f"{score(facts, facts.train.main)}, which says nothing of new ones. The simplest guess shows what is due to "
        f"luck, and {facts.linear} what straight lines can do: a model that is not clearly above them has learned "
        f"little more. The left-out rows were also used to choose settings, so {kind} on new rows may be a little more."
    )
    return Section("quality", "How good it is on rows it has not seen", tuple(texts), tables=tuple(tables))


def _scores(facts: Facts, found: Comparison, caption: str) -> Table:
    names = {
        "accuracy": "right",
        "balanced_accuracy": "right, mean over classes",
        "log_loss": "log loss",
        "brier": "Brier score",
        "calibration_error": "calibration error",
        "r2": "R²",
        "rmse": f"typical error (RMSE), in units of {facts.target or 'the target'}",
        "mae": "mean absolute error",
        "coverage": "90 % intervals that hold the target",
    }
    models = [("this model", found.model), (facts.linear, found.linear), ("simplest guess", found.simplest)]
    there = [(name, scores) for name, scores in models if scores is not None]
    shares = ("accuracy", "balanced_accuracy", "coverage")
    lines = []
    for key, words in names.items():
        values = [getattr(scores, key) for _, scores in there]
        if values[0] is not None:
            lines.append([words, *(_shown(value, key in shares) for value in values)])
    high = "shares right" if facts.task == "classification" else "R²"
    better = f"of {high} more is better, of the rest less"
    table = Table.of(f"{caption} ({found.model.n}); {better}", ["", *(name for name, _ in there)], lines)
    return table._replace(right=(False, *(True for _ in there)))


def _shown(value: float | None, is_share: bool) -> str:
    return "–" if value is None else share(value) if is_share else f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"


def mistakes_section(facts: Facts) -> Section | None:
    """Return the confusion matrix, or predicted against true values."""
    found = facts.test or facts.left_out
    if found is None:
        return None
    if found.confusion is not None:
        return _confusion(facts, found)
    of = facts.target or "the target"
    text = (
        f"Each point is a row that the fit had not seen: what was predicted, and what it is. Points on the dotted line "
        f"are right. Half of them are within {np.median(np.abs(found.predicted - found.truth)):.4g} of the truth."
    )
    alt = f"Predicted against true {of} for {len(found.truth)} rows left out; R² {found.model.main:.3f}."
    some = f" {_MOST_POINTS} of them are drawn." if len(found.truth) > _MOST_POINTS else ""
    return Section("mistakes", "Predicted against true values", (text + some,), (_scatter(found, of, alt),))


def _scatter(found: Comparison, of: str, alt: str) -> Picture:
    some = np.random.default_rng(0).permutation(len(found.truth))[:_MOST_POINTS]
    truth, predicted = np.asarray(found.truth, dtype=np.float64), np.asarray(found.predicted, dtype=np.float64)
    if truth.ndim > 1:
        truth, predicted = truth[:, 0], predicted[:, 0]

    def draw(ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator, ScalarFormatter
        from sklearn.metrics import PredictionErrorDisplay

        look = {"color": FIRST, "alpha": 0.5 if len(some) > 300 else 0.75, "s": 14, "linewidths": 0}
        PredictionErrorDisplay.from_predictions(
            truth[some],
            predicted[some],
            kind="actual_vs_predicted",
            ax=ax,
            scatter_kwargs=look,
            line_kwargs={"linestyle": ":"},
        )
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6))
            axis.set_major_formatter(ScalarFormatter())
        ax.set(xlabel=f"predicted {literal(shortened(of, NAMES))}", ylabel=f"true {literal(shortened(of, NAMES))}")

    return picture(draw, alt, 4.6, 4.4)


def _confusion(facts: Facts, found: Comparison) -> Section:
    assert found.confusion is not None
    counts, classes = found.confusion, np.union1d([label for label, _ in facts.classes or ()], found.truth)
    names, k = [str(label) for label in classes], len(classes)
    right = int(np.trace(counts))
    worst = counts.copy()
    np.fill_diagonal(worst, 0)
    text = "Rows of the picture are what is true, columns what was predicted; the diagonal is right. "
    if worst.any():
        i, j = np.unravel_index(worst.argmax(), worst.shape)
        times = "once" if worst[i, j] == 1 else f"{worst[i, j]} times"
        text += f"The most frequent mistake: what is {names[i]} was taken for {names[j]}, {times}."
    side = min(8.0, 2.6 + 0.45 * k)

    def draw(ax: Any) -> None:
        from sklearn.metrics import ConfusionMatrixDisplay

        shown = ConfusionMatrixDisplay(counts, display_labels=[literal(shortened(name, 16)) for name in names])
        shown.plot(ax=ax, cmap="Blues", include_values=k <= _NUMBERED, colorbar=False, values_format="d")
        turned = 90 if max(map(len, names)) > 6 and k > 3 else 0
        ax.tick_params(axis="x", rotation=turned)
        if k > _NAMED:
            ax.set(xticks=[], yticks=[])
        ax.set(xlabel="predicted", ylabel="true")
        ax.spines[:].set_visible(True)

    alt = f"Confusion matrix of {k} classes: {right} of {int(counts.sum())} rows are on the diagonal."
    recall, precision = _ratio(counts.diagonal(), counts.sum(axis=1)), _ratio(counts.diagonal(), counts.sum(axis=0))
    lines = [
        (name, int(counts[i].sum()), _known(recall[i]), _known(precision[i]))
        for i, name in enumerate(names)
        if counts[i].any() or counts[:, i].any()
    ]
    table = Table.of("By class", ("class", "rows", "of these, found", "right, where it is said"), lines)
    table = table._replace(right=(False, True, True, True))
    return Section("mistakes", "Which rows are right and wrong", (text,), (picture(draw, alt, side, side),), (table,))


def _ratio(part: Any, whole: Any) -> Any:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=np.asarray(whole) > 0)


def _known(value: float) -> str:
    return "–" if np.isnan(value) else share(float(value))


def calibration_section(facts: Facts, model: Any) -> Section | None:
    """Return the calibration curve, where there are probabilities."""
    found = facts.test or facts.left_out
    if found is None or found.probabilities is None or len(found.truth) < 20:
        return None
    probabilities, classes = found.probabilities, model.classes_

    def draw(ax: Any) -> None:
        CalibrationDisplay.from_probabilities(probabilities, found.truth, classes, ax=ax)
        ax.grid(alpha=0.25)

    off = found.model.calibration_error
    said = "" if off is None else f" On average they are off by {100 * off:.1f} points."
    text = (
        "If the model says 80 %, is it so in 80 of 100 cases? Points on the dotted line mean yes; above it things "
        "are more frequent than it says, below it less. Each point is a tenth of the rows, or more where many have the "
        f"same probability.{said}"
    )
    alt = f"Calibration curve of {len(found.truth)} rows left out." + said
    return Section(
        "calibration", "Whether its probabilities are what they say", (text,), (picture(draw, alt, 4.8, 4.2),)
    )
