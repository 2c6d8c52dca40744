"""How the command line says the facts of a fit: in plain words, the score of rows left out first."""

from collections.abc import Sequence
from typing import Any

from clifford_rand_nn._words import some_of
from clifford_rand_nn.cli.console import complain, say, show_pairs, show_table
from clifford_rand_nn.reporting.facts import Comparison, Facts
from clifford_rand_nn.scores import Scores

_SHOWN = 8  # columns of a kind, and classes, that are named
_KINDS = ("number", "boolean", "category", "date", "text", "left out")


def show_facts(facts: Facts, extra: Sequence[tuple[str, str]] = (), promised: Sequence[tuple[str, str]] = ()) -> None:
    """Print the facts on stdout, without the warnings.

    ``extra`` are further names and values of the model, ``promised`` of what it says of new rows.
    """
    show_pairs([*_data(facts), ("model", facts.model), *extra])
    if facts.columns:
        show_kinds(facts.columns)
    if facts.left_out is not None:
        say()
        show_comparison(facts.left_out, facts, f"on training rows, each predicted by a fit without it: {_how(facts)}")
        if facts.chosen:
            say("the same rows made the choices below, so new rows may fare a little worse")
    if promised:
        show_pairs(promised)
    if facts.test is not None:
        say()
        seen = "some of them equal to rows of training" if facts.test_was_seen else "which no fit has seen"
        show_comparison(facts.test, facts, f"on {facts.test.how}, {seen}")
    if facts.chosen:
        say()
        say("chosen by the data", "bold")
        show_pairs([(one.name, f"{one.value}; among {one.among}; by {one.by}") for one in facts.chosen])
    say()
    show_pairs(_training(facts))


def show_cautions(facts: Facts) -> None:
    """Print the warnings on stderr, one line each."""
    for caution in facts.cautions:
        complain("warning", caution.text)


def show_kinds(columns: Sequence[Any]) -> None:
    """Print which columns were taken for what: a line a kind, and a line for each that is left out."""
    rows = []
    for kind in _KINDS:
        of = [column for column in columns if column.kind == kind]
        if kind == "left out":
            rows += [(kind, "1", f"{column.name}: {column.why}") for column in of[:_SHOWN]]
            rows += [(kind, str(len(of) - _SHOWN), "…")] if len(of) > _SHOWN else []
        elif of:
            names = some_of([column.name + (" (as asked)" if column.asked else "") for column in of], _SHOWN)
            empty = sum(column.missing for column in of)
            rows.append((kind, str(len(of)), names + (f"; {empty} empty cells" if empty else "")))
    say()
    show_table("columns were taken for", ("kind", "count", "columns"), rows, ("columns",))


def show_comparison(told: Comparison, facts: Facts, title: str) -> None:
    """Print the scores of the model beside those of the simplest guess and the linear model."""
    guess = f"always {told.guess}" if facts.task == "classification" else f"always {told.guess.rstrip(',')}"
    lines = [("this model", told.model), (guess, told.simplest)]
    if told.linear is not None:
        lines.append((facts.linear, told.linear))
    names = _measures(facts.task, told.model)
    rows = [(name, *(_number(getattr(scores, key)) for key, _ in names)) for name, scores in lines]
    show_table(title, ("", *(words for _, words in names)), rows)
    if told.difference is not None and told.error is not None:
        side = "better" if told.difference >= 0 else "worse"
        within = ", within noise" if abs(told.difference) <= 2 * told.error else ""
        size = f"{abs(told.difference):.4f} ± {told.error:.4f} (standard error){within}"
        say(f"{facts.measure} {side} than that of {facts.linear} by {size}")


def _data(facts: Facts) -> list[tuple[str, str]]:
    rows = f"{facts.rows_used} used"
    left = [f"{count} left out: {reason}" for count, reason in facts.rows_left_out]
    zero = facts.rows_read - sum(count for count, _ in facts.rows_left_out) - facts.rows_used
    left += [f"{zero} of weight zero left out"] if zero else []
    weights = [] if facts.weights is None else ["weights from {:g} to {:g}".format(*facts.weights)]
    groups = [] if facts.n_groups is None else [f"in {facts.n_groups} groups"]
    pairs = [("rows", "; ".join([rows, *weights, *groups, *left]))]
    if facts.columns:
        out = sum(column.kind == "left out" for column in facts.columns)
        used = f"{len(facts.columns) - out} used, encoded as {facts.n_features} numbers"
        pairs.append(("columns", used + (f"; {out} left out" if out else "")))
    else:
        pairs.append(("columns", f"{facts.n_features}, all numbers"))
    if facts.classes is not None:
        shown = ", ".join(f"{label} ({count} rows)" for label, count in facts.classes[:_SHOWN])
        more = ", …" if len(facts.classes) > _SHOWN else ""
        pairs.append(("classes", f"{len(facts.classes)}: {shown}{more}"))
    return pairs


def _how(facts: Facts) -> str:
    left = facts.left_out
    assert left is not None
    return left.how + (f"; the others {left.linear_how}" if left.linear_how else "")


def _measures(task: str, scores: Scores) -> list[tuple[str, str]]:
    if task == "classification":
        every = [("accuracy", "accuracy"), ("balanced_accuracy", "balanced accuracy"), ("log_loss", "log-loss")]
        every += [("brier", "Brier")]
    else:
        every = [("r2", "R²"), ("rmse", "RMSE"), ("mae", "mean abs. error"), ("coverage", "in 90 % interval")]
    return [(key, words) for key, words in every if getattr(scores, key) is not None]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}" if abs(value) < 100 else f"{value:.5g}"


def _training(facts: Facts) -> list[tuple[str, str]]:
    train = f"{facts.measure} {facts.train.main:.4f} on the rows of training themselves: no measure of quality"
    proof = facts.proof
    return [
        ("certificate", facts.proof.sentence),
        ("objective", f"{proof.objective:.8g}, proved to be at least {proof.bound:.8g}"),
        ("training score", train),
        ("solver", facts.solver),
        ("seconds", f"{facts.seconds:.2f}"),
    ]
