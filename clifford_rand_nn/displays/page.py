"""report_page: the facts of a fit as one HTML file with pictures; the sentences are in ``report.html.jinja``."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from clifford_rand import __version__
from clifford_rand._files import replaced
from clifford_rand.errors import require
from clifford_rand_nn._words import joined, printable_lines
from clifford_rand_nn.displays.baselines import Influence, find_influence
from clifford_rand_nn.displays.calibration import CalibrationDisplay, LearningCurveDisplay, with_part
from clifford_rand_nn.displays.distributions import LISTED, MOST_COLUMNS, MOST_PAIRED, MOST_ROWS, STRONG
from clifford_rand_nn.displays.facts import Comparison, Facts, Rows
from clifford_rand_nn.displays.figures import (
    MOST_POINTS,
    SELECTED,
    Picture,
    Table,
    card,
    cell,
    confusion_picture,
    influence_bars,
    leaderboard_table,
    picture,
    scatter_picture,
    score_table,
    share,
)
from clifford_rand_nn.displays.path import RegularizationPathDisplay
from clifford_rand_nn.displays.training import CertificateDisplay, ConvergenceDisplay
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork

_MOST = 500  # rows of a part of a learning curve, of half the rows at most: a fit takes time as their square or cube
_LEAST = 60  # rows of a table with a learning curve
_SMALL = 100  # rows, of which a quarter or less is no part
_SIZES = np.array([0.1, 0.25, 0.5])  # of the rows, or of twice the largest part, beside all
_PATIENCE, _LONG = 3.0, 120.0  # seconds of a fit, of a network, beyond which it is not repeated
_SEED = 0
_MOST_BARS, _MOST_COLUMNS = 15, 200
_CARDS = 24  # columns whose distributions are on the page at once
_HARD, _VALUES, _CHARACTERS = 10, 8, 40  # hard rows, columns of one, characters of a cell


@dataclass(frozen=True)
class Section:
    """The parts of a section that are not sentences: values for the template, pictures, tables."""

    values: dict[str, Any] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()


def report_page(facts: Facts, model: Any, rows: Rows) -> str:
    """Return one self-contained HTML page about a fitted model: no script, no font, nothing from a network.

    It fits the model again to some of the rows, for the learning curve and the influence of columns, which share a fit:
    three times, to at most 500 rows. The page says how many they are.

    >>> from sklearn.datasets import load_iris
    >>> from clifford_rand_nn import ConvexNetworkClassifier
    >>> from clifford_rand_nn.displays.collect import collect_facts
    >>> data = load_iris(as_frame=True)
    >>> rows = Rows(data.data.to_numpy(), data.target.to_numpy(), names=tuple(data.data.columns), target="species")
    >>> model = ConvexNetworkClassifier(loss="squared", max_metric_iter=0).fit(rows.X, rows.y)
    >>> page = report_page(collect_facts(model, rows), model, rows)
    >>> "<h1>Report on a model of species</h1>" in page, "http" in page
    (True, False)
    """
    check_libraries()
    jinja2 = require("jinja2", extra="app", purpose="a report")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fits to some rows, that are only looked at
        sections = _sections(facts, model, rows)
    template = files("clifford_rand_nn.displays").joinpath("report.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_visible)
    environment.filters |= {"share": share}
    return str(
        environment.from_string(template).render(
            facts=facts,
            target=facts.target or "the target",
            of_classes=facts.task == "classification",
            table=Path(facts.table).name,
            sections={name: section for name, section in sections.items() if section is not None},
            version=__version__,
        )
    )


def _visible(value: Any) -> Any:
    """Return a text of the page, which may quote names and cells, with control characters escaped."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "\xa0".join(map(printable_lines, value.split("\xa0")))  # the space between a number and its unit


def check_libraries() -> None:
    """Raise before any work if a library is missing."""
    for name in ("matplotlib", "jinja2"):
        require(name, extra="app", purpose="a report")


def write_report(path: str | Path, facts: Facts, model: Any, rows: Rows) -> float:
    """Write the page to a file, whole or not at all, and return the seconds that it took."""
    began = time.perf_counter()
    text = report_page(facts, model, rows)
    with replaced(path) as new:
        new.write_text(text, encoding="utf-8")
    return time.perf_counter() - began


def _sections(facts: Facts, model: Any, rows: Rows) -> dict[str, Section | None]:
    """Return the sections by their names, in order; None for those that do not apply."""
    fits_again = affords_fits(model, facts.seconds)
    influence = find_influence(model, rows) if fits_again else None
    shown = facts.test or facts.left_out
    return {
        "quality": Section(tables=_quality(facts)),
        "mistakes": None if shown is None else _mistakes(facts, shown),
        "calibration": None if shown is None else _calibration(shown, model),
        "growth": None if len(rows.y) < _LEAST else _growth(facts, model, rows, influence) if fits_again else Section(),
        "influence": None if influence is None or len(influence.names) < 2 else _influence(influence),
        "distributions": _distributions(facts) if facts.distributions else None,
        "hardest": None if facts.left_out is None else _hardest(facts, model, rows, influence),
        "columns": _columns(facts),
        "chosen": _chosen(facts, model, rows),
        "proof": proof_section(facts, model),
    }


def _quality(facts: Facts) -> tuple[Table, ...]:
    tables = []
    for comparison, rows in ((facts.left_out, "the training set"), (facts.test, "the test set")):
        if comparison is not None:
            caption = f"Scores on {rows} ({comparison.scores.n_rows} rows): {comparison.method}"
            header, lines = score_table(comparison.models(facts.linear))
            tables.append(Table.of(caption, header, lines, (False, *(True for _ in header[1:]))))
            if comparison.leaderboard:
                header, lines = leaderboard_table(comparison, facts.measure)
                tables.append(Table.of(f"Leaderboard on {rows}", header, lines, (False, True, True, True, True, False)))
    return tuple(tables)


def _mistakes(facts: Facts, shown: Comparison) -> Section:
    """Return the confusion matrix, or predicted against true values."""
    if shown.confusion is None:
        half = float(np.median(np.abs(shown.predicted - shown.truth)))
        drawn = MOST_POINTS if len(shown.truth) > MOST_POINTS else 0
        return Section({"half": half, "drawn": drawn}, (scatter_picture(shown, facts.target or "the target"),))
    counts, classes = shown.confusion, np.union1d([label for label, _ in facts.classes or ()], shown.truth)
    names = [str(label) for label in classes]
    worst = counts.copy()
    np.fill_diagonal(worst, 0)
    i, j = np.unravel_index(worst.argmax(), worst.shape)
    right, rows, said = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        recall, precision = right / rows, right / said
    lines = [
        (name, int(rows[k]), share(float(recall[k])), share(float(precision[k])))
        for k, name in enumerate(names)
        if rows[k] or said[k]
    ]
    table = Table.of("By class", ("class", "rows", "recall", "precision"), lines, (False, True, True, True))
    values = {"times": int(worst[i, j]), "true": names[i], "predicted": names[j]}
    return Section(values, (confusion_picture(counts, names),), (table,))


def _calibration(shown: Comparison, model: Any) -> Section | None:
    """Return the calibration curve, where there are probabilities."""
    probabilities = shown.probabilities
    if probabilities is None or len(shown.truth) < 20:
        return None

    def draw(ax: Any) -> None:
        CalibrationDisplay.from_probabilities(shown.truth, probabilities, classes=model.classes_, ax=ax)
        ax.grid(alpha=0.25)

    error = shown.scores.calibration_error
    alt = f"Calibration curve of {len(shown.truth)} rows."
    alt += "" if error is None else f" The mean calibration error is {100 * error:.1f} points."
    return Section({"error": error}, (picture(draw, alt, 4.8, 4.2),))


def affords_fits(model: Any, seconds: float) -> bool:
    """Return whether a model whose fit took so long can be fitted again to some rows, which it cannot after Ctrl-C."""
    if getattr(getattr(model, "result_", None), "interrupted", False):
        return False
    return seconds <= (_LONG if isinstance(model, BaseConvexNetwork) else _PATIENCE) or np.isnan(seconds)


def _growth(facts: Facts, model: Any, rows: Rows, influence: Influence | None) -> Section:
    """Return the learning curve."""
    curve, how = learning_curve(model, rows, influence)
    scores, sizes = curve.test_scores.mean(axis=1), curve.train_sizes
    last = [(int(m), float(s)) for m, s in zip(sizes[-2:], scores[-2:], strict=True)] if len(scores) > 1 else []
    most = int(sizes[-2]) if len(rows.y) > 2 * _MOST else 0
    alt = f"Learning curve: from {sizes[0]} to {sizes[-1]} rows, {facts.measure} {scores[0]:.3f} to {scores[-1]:.3f}."
    return Section({"how": how, "last": last, "n": len(rows.y), "most": most}, (picture(curve._draw, alt),))


def learning_curve(model: Any, rows: Rows, influence: Influence | None) -> tuple[Any, str]:
    """Return the learning curve, and how its scores are estimated; a fit for the ``influence`` is one of its parts."""
    from matplotlib.figure import Figure

    n = len(rows.y)
    ax = Figure().subplots()
    if isinstance(model, BaseConvexNetwork):
        own = None if influence is None or rows.groups is not None else influence.left_out_score  # it knows no groups
        sizes = _SIZES if own is None or n < _SMALL else _SIZES[:-1]
        shares = [*sizes * min(1.0, 2 * _MOST / n), 1.0]
        curve = LearningCurveDisplay.from_leave_one_out(
            model, rows.X, rows.y, rows.weights, rows.groups, train_sizes=shares, ax=ax
        )
        if influence is not None and own is not None:
            curve = with_part(curve, influence.n_train, influence.train_score, own)
        return curve, "leave-one-out, or held-out rows where the network needs them"
    some = np.sort(np.random.default_rng(_SEED).permutation(n)[: 2 * _MOST])
    X, y, classes = rows.X[some], rows.y[some], hasattr(model, "classes_")
    few = not classes or np.unique(y, return_counts=True)[1].min() < 2
    split = (ShuffleSplit if few else StratifiedShuffleSplit)(2, test_size=0.25, random_state=_SEED)
    curve = LearningCurveDisplay.from_estimator(
        clone(model), X, y, train_sizes=np.array([0.25, 0.5, 1.0]), cv=split, shuffle=True, random_state=_SEED, ax=ax
    )
    curve.score_name = "accuracy" if classes else "R²"
    return curve, "a quarter of the rows as validation set, twice"


def _influence(influence: Influence) -> Section:
    """Return the bars of the most influential columns."""
    columns = zip(influence.names, influence.losses, strict=True)
    clear = [name for name, losses in columns if losses.mean() > 2 * losses.std()][:3]
    alt = "Bars of the most influential columns" + (f"; the longest: {joined(clear)}." if clear else ".")
    count = min(_MOST_BARS, len(influence.names))
    drawn = picture(influence_bars(influence, _MOST_BARS), alt, 5.6, 1.1 + 0.27 * count)
    return Section({"influence": influence, "count": count}, (drawn,))


def _distributions(facts: Facts) -> Section:
    """Return a card for each column, and the pairs of columns that are associated."""
    cards = [card(column) for column in facts.distributions]
    lines = [(pair.first, pair.second, pair.value, pair.measure) for pair in facts.associations]
    caption = f"Pairs of columns with an association of {STRONG:g} or more"
    caption += f", the largest {LISTED}" if len(lines) == LISTED else ""
    tables = (Table.of(caption, ("column", "and", "association", "measure"), lines),) if lines else ()
    limits = {"rows": MOST_ROWS if facts.n_rows > MOST_ROWS else 0, "strong": STRONG}
    cut = (len(facts.columns) or facts.n_features) > MOST_COLUMNS
    limits |= {"columns": MOST_COLUMNS, "cut": cut, "paired": MOST_PAIRED}
    return Section({"cards": cards, "first": _CARDS, "has_pairs": bool(lines), **limits}, tables=tables)


def _hardest(facts: Facts, model: Any, rows: Rows, influence: Influence | None) -> Section:
    """Return the rows whose out-of-sample predictions are farthest from the truth, in the most influential columns."""
    left_out = facts.left_out
    assert left_out is not None
    classes, probabilities = facts.task == "classification", left_out.probabilities
    if probabilities is not None:  # of the true class; 0 for a class that the model does not have
        hits = probabilities * (model.classes_ == np.asarray(left_out.truth)[:, None])
        certainty = hits.sum(axis=1)
        distance, last, values = 1.0 - certainty, ["probability of the truth"], [share(float(p)) for p in certainty]
    elif classes:
        distance, last, values = np.asarray(left_out.predicted != left_out.truth, dtype=np.float64), [], []
    else:
        off = np.abs(np.asarray(left_out.predicted) - np.asarray(left_out.truth)).reshape(len(left_out.truth), -1)
        distance, last = off.max(axis=1), ["off by"]
        values = distance.tolist()
    order = np.argsort(-distance, kind="stable")[:_HARD]
    names, cells = _cells(rows, left_out.rows[order], () if influence is None else influence.names)
    lines = [
        [_number(rows, left_out.rows[i]), cell(left_out.truth[i]), cell(left_out.predicted[i]), *values[i : i + 1], *of]
        for i, of in zip(order, cells, strict=True)
    ]
    header = ("row", "true", "predicted", *last, *names)
    return Section(tables=(Table.of(f"{len(lines)} rows, the hardest first", header, lines),))


def _cells(rows: Rows, some: Any, first: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """Return the names of some columns, and the cells of some rows in them."""
    there = list(rows.names) or [f"column {j}" for j in range(rows.X.shape[1])]
    if rows.frame is not None:
        there = [str(name) for name in rows.frame.columns]
    places = [there.index(name) for name in first if name in there][:_VALUES] or list(range(len(there)))[:_VALUES]
    names = [there[j] for j in places]
    if rows.frame is None:
        return names, [[float(rows.X[i, j]) for j in places] for i in some]
    values = [[rows.frame.iloc[i, j] for j in places] for i in some]
    return names, [[cell(value, _CHARACTERS) if isinstance(value, str) else value for value in row] for row in values]


def _number(rows: Rows, i: Any) -> int:
    """Return the number of a row in its table, from 0."""
    if rows.frame is not None and rows.frame.index.dtype.kind in "iu":
        return int(rows.frame.index[i])
    return int(i)


def _columns(facts: Facts) -> Section:
    """Return the kinds of the columns, and the rows of each class."""
    tables = []
    if facts.columns:
        lines = [
            (column.name, column.kind, column.n_missing, column.reason) for column in facts.columns[:_MOST_COLUMNS]
        ]
        more = "" if len(facts.columns) <= _MOST_COLUMNS else f", the first {_MOST_COLUMNS} of {len(facts.columns)}"
        tables.append(Table.of(f"Kinds of columns{more}", ("column", "kind", "missing cells", "why"), lines))
    if facts.classes is not None:
        total = sum(count for _, count in facts.classes)
        counts = [(label, count, share(count / total)) for label, count in facts.classes]
        tables.append(Table.of("Rows of each class", ("class", "rows", "share"), counts, (False, True, True)))
    return Section(tables=tuple(tables))


def _chosen(facts: Facts, model: Any, rows: Rows) -> Section:
    """Return the selected parameters, and the regularization path."""
    lines = [(choice.name, choice.value, choice.candidates, choice.method) for choice in facts.selected]
    tables = (Table.of("Selected from the data", SELECTED, lines),) if lines else ()
    if not isinstance(model.beta, str):
        return Section(tables=tables)
    with_rows = isinstance(model, BaseConvexNetwork) and model.neuron_scores_ is None
    data = (rows.X, rows.y, rows.weights, rows.groups) if with_rows else ()
    alt = "Out-of-sample error against the regularization strength beta; the selected one is marked."
    drawn = picture(lambda ax: RegularizationPathDisplay.from_estimator(model, *data, ax=ax), alt, 5.6, 3.8)
    is_squared = with_rows and getattr(model, "loss_", "") == "logistic"
    return Section({"curve": True, "curve_is_squared": is_squared}, (drawn,), tables)


def proof_section(facts: Facts, model: Any) -> Section:
    """Return the certificate, and the gap against seconds."""
    proof = facts.proof
    steps = len(getattr(getattr(model, "result_", None), "history", ()))
    pictures = []
    if steps:
        alt = f"Relative duality gap and objective at {steps} checks of the solver; the last gap is "
        alt += f"{proof.relative_gap:.1e}."
        pictures.append(picture(lambda ax: ConvergenceDisplay.from_estimator(model, ax=ax), alt))
    alt = (
        f"Two bars: the objective reached, {proof.objective:.6g}, and its proved lower bound, {proof.lower_bound:.6g}."
    )
    pictures.append(picture(lambda ax: CertificateDisplay.from_estimator(model, ax=ax), alt, 5.6, 2.6))
    return Section({"steps": steps}, tuple(pictures))
