"""Sections of the page on columns and rows: what was used and how, what matters most, which rows are hardest."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn._words import joined
from clifford_rand_nn.reporting.facts import Comparison, Facts, Rows
from clifford_rand_nn.reporting.figures import picture
from clifford_rand_nn.reporting.influence import Influence, influence_bars
from clifford_rand_nn.reporting.sections import Section, Table, cell, share

_MOST_BARS = 15
_MOST_COLUMNS = 200
_HARD = 10  # rows
_VALUES = 8  # columns of a hard row
_CHARACTERS = 40


def columns_section(facts: Facts) -> Section:
    """Return the rows and columns that were used, and what each column was taken for."""
    used = sum(1 for one in facts.columns if one.kind != "left out")
    texts = [f"{facts.rows_used} of {facts.rows_read} rows are used."]
    texts += [f"Left out: {count} rows, {why}." for count, why in facts.rows_left_out]
    if facts.weights is not None:
        low, high = facts.weights
        texts.append(f"Rows have weights from {low:.4g} to {high:.4g}.")
    if facts.n_groups is not None:
        texts.append(f"They are in {facts.n_groups} groups, and rows of a group were left out together.")
    texts.append(f"{facts.task.capitalize()} of {facts.target or 'the target'}: {facts.why}.")
    tables = []
    if facts.columns:
        texts.append(
            f"{used} of {len(facts.columns)} columns are used, as {facts.n_features} numbers a row: a category has one "
            "for each of its values, missing cells are filled and marked."
        )
        lines = [(one.name, one.kind, one.missing, one.why) for one in facts.columns[:_MOST_COLUMNS]]
        header = ("column", "taken for", "missing cells", "why")
        many = "" if len(facts.columns) <= _MOST_COLUMNS else f", the first {_MOST_COLUMNS} of {len(facts.columns)}"
        tables.append(Table.of(f"What each column was taken for{many}", header, lines))
    else:
        texts.append(f"{facts.n_features} columns of numbers.")
    if facts.classes is not None:
        total = sum(count for _, count in facts.classes)
        counts = [(label, count, share(count / total)) for label, count in facts.classes]
        tables.append(
            Table.of("Rows of each class", ("class", "rows", "share"), counts)._replace(right=(False, True, True))
        )
    return Section("columns", "Which rows and columns were used", tuple(texts), tables=tuple(tables))


def influence_section(found: Influence) -> Section | None:
    """Return the most influential columns."""
    if len(found.names) < 2:
        return None
    text = (
        f"The model was fitted to {found.trained} rows and asked about {found.judged} others; then one column after "
        "the other was shuffled among these, so that it tells nothing. The longer the bar, the more is lost without "
        "the column; thin lines are the spread over five shuffles. Columns that say the same can stand in for each "
        "other, and then each seems to matter little. It says what the model uses, not what causes what."
    )
    clear = [name for name, fall in zip(found.names, found.losses, strict=True) if fall.mean() > 2 * fall.std()][:3]
    alt = "Bars of the most influential columns" + (f"; the longest: {joined(clear)}." if clear else ".")
    count = min(_MOST_BARS, len(found.names))
    if count < len(found.names):
        text += f" The first {count} of {len(found.names)} columns are drawn."
    drawn = picture(influence_bars(found, _MOST_BARS), alt, 5.6, 1.1 + 0.27 * count)
    return Section("influence", "Which columns matter most", (text,), (drawn,))


def hardest_section(facts: Facts, model: Any, rows: Rows, first: Sequence[str] = ()) -> Section | None:
    """Return the left-out rows whose predictions are farthest from the truth, with the cells of the first columns."""
    found = facts.left_out
    if found is None:
        return None
    classes = facts.task == "classification"
    far = _surprise(found, model) if classes else np.abs(np.asarray(found.predicted) - np.asarray(found.truth))
    far = far.reshape(len(far), -1).max(axis=1)
    order = np.argsort(-far, kind="stable")[:_HARD]
    names, values = _cells(rows, found.rows[order], first)
    last = ("probability of the truth",) if found.probabilities is not None else () if classes else ("off by",)
    header = ("row", "true", "predicted", *last, *names)
    lines = []
    for place, i in enumerate(order):
        told = share(_probability(found, model, i)) if found.probabilities is not None else float(far[i])
        more = [told] if last else []
        lines.append(
            [_number(rows, found.rows[i]), cell(found.truth[i]), cell(found.predicted[i]), *more, *values[place]]
        )
    text = (
        "Rows on which the model, fitted without them, is farthest from the truth. Some are wrong in the table, some "
        "are unlike all others, some show which column is missing: they are worth a look. Row 0 is the first after the "
        "header, as --row of the command explain counts."
    )
    title = "The hardest rows"
    return Section(
        "hardest", title, (text,), tables=(Table.of(f"{len(lines)} rows, the hardest first", header, lines),)
    )


def _surprise(found: Comparison, model: Any) -> NDArray[np.float64]:
    """Return how surprising the truth is for each row: its probability, or whether it was missed."""
    if found.probabilities is None:
        return np.asarray(found.predicted != found.truth, dtype=np.float64)
    return np.array([1.0 - _probability(found, model, i) for i in range(len(found.truth))])


def _probability(found: Comparison, model: Any, i: int) -> float:
    assert found.probabilities is not None
    place = np.flatnonzero(model.classes_ == found.truth[i])
    return float(found.probabilities[i, place[0]]) if len(place) else 0.0


def _cells(rows: Rows, some: NDArray[np.intp], first: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """Return the names of some columns, and the cells of some rows in them."""
    there = list(rows.names) or [f"column {j}" for j in range(rows.X.shape[1])]
    if rows.frame is not None:
        there = [str(name) for name in rows.frame.columns]
    places = [there.index(name) for name in first if name in there][:_VALUES] or list(range(len(there)))[:_VALUES]
    names = [there[j] for j in places]
    if rows.frame is not None:
        return names, [[_shown(rows.frame.iloc[i, j]) for j in places] for i in some]
    return names, [[float(rows.X[i, j]) for j in places] for i in some]


def _shown(value: Any) -> Any:
    return cell(value, _CHARACTERS) if isinstance(value, str) else value


def _number(rows: Rows, i: Any) -> int:
    """Return the number of a row in its table, from 0."""
    if rows.frame is not None and rows.frame.index.dtype.kind in "iu":
        return int(rows.frame.index[i])
    return int(i)
