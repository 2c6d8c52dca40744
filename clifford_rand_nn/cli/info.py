"""``clifford-rand info``: the content of a model file, as text or JSON, and the facts of a fit as text."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clifford_rand._files import read_npz
from clifford_rand_nn._words import some_of
from clifford_rand_nn.cli.console import print_json, say, show_pairs, show_table
from clifford_rand_nn.cli.tables import LoadedModel, read_model
from clifford_rand_nn.displays.facts import Comparison, Facts
from clifford_rand_nn.displays.figures import leaderboard_table, score_table
from clifford_rand_nn.displays.selection import Choice, choices, describe_model, loo_line, proof_dict
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.model_file import damage_as_error
from clifford_rand_nn.tables.column_types import KINDS

_SHOWN = 12  # names in one line
_NAMED = 8  # columns of a kind, and classes, that are named


def run_info(path: Path, as_json: bool) -> None:
    """Read and print."""
    loaded = read_model(path)
    arrays, _ = read_npz(path, ("meta",), what="this model file", stored=True)
    meta = json.loads(arrays["meta"].tobytes().decode(), parse_constant=float)
    with damage_as_error(str(path)):  # numbers that no prediction needs may be damaged
        plain, pairs, chosen = _plain(path, loaded, meta), _pairs(path, loaded, meta), choices(loaded.model)
    if as_json:
        print_json(plain)
        return
    show_pairs(pairs)
    if loaded.encoder is not None:
        show_kinds(loaded.encoder.columns_)
    show_choices(chosen)


def _pairs(path: Path, loaded: LoadedModel, meta: dict[str, Any]) -> list[tuple[str, str]]:
    model = loaded.model
    size = path.stat().st_size
    file = f"{path}, {size / 1e6:.3g} MB, format {meta['version']}, written by clifford-rand {meta['library']}"
    rows = [("file", file), ("model", describe_model(model))]
    if "saved" in meta:  # older files do not have it
        versions = ", ".join(f"{name} {number}" for name, number in meta["libraries"].items())
        rows.append(("fitted to", f"{meta['n_rows']:,} rows; saved {meta['saved']}, with {versions}"))
    held = "not in the file"
    if isinstance(model.network_, KernelNetwork):  # a sum over them
        unique = f"{len(model.network_.rows):,} unique ones"
        held = f"{unique} are in the file, as encoded: they are part of the model"
    rows.append(("training rows", held))
    if loaded.prefix is not None:
        rows.append(("steps before it", ", ".join(type(step).__name__ for _, step in loaded.prefix.steps)))
    if loaded.encoder is None:
        names = loaded.names
        shown = "without names" if names is None else some_of(names, _SHOWN)
        rows.append(("columns", f"{loaded.n_columns} of numbers: {shown}"))
    else:
        rows.append(("columns", f"{len(loaded.needed or ())} used, encoded as {model.n_features_in_} numbers"))
    return rows + model_pairs(model, _SHOWN)


def model_pairs(model: Any, most_classes: int) -> list[tuple[str, str]]:
    """Return the classes of a model, its out-of-sample score, beta and certificate."""
    labels = [str(label) for label in getattr(model, "classes_", ())]
    classes = [("classes", f"{len(labels)}: {some_of(labels, most_classes)}")] if labels else []
    return [*classes, *loo_line(model), ("beta", f"{model.beta_:.3g}"), ("certificate", model.certificate_.sentence)]


def _plain(path: Path, loaded: LoadedModel, meta: dict[str, Any]) -> dict[str, Any]:
    model = loaded.model
    columns = [] if loaded.encoder is None else [dataclasses.asdict(column) for column in loaded.encoder.columns_]
    plain = bool | int | float | str | None
    parameters = {name: value for name, value in model.get_params().items() if isinstance(value, plain)}
    return {
        "model_file": str(path),
        "bytes": path.stat().st_size,
        "format": meta["version"],
        "library": f"clifford-rand {meta['library']}",
        "libraries": meta.get("libraries"),
        "saved": meta.get("saved"),
        "n_rows": meta.get("n_rows"),
        "holds_rows": isinstance(model.network_, KernelNetwork),
        "description": describe_model(model),
        "estimator": type(model).__name__,
        "parameters": parameters,
        "columns": columns,
        "feature_names": None if loaded.names is None else list(loaded.names),
        "n_features": int(model.n_features_in_),
        "classes": model.classes_.tolist() if loaded.is_classifier else None,
        "loo_score": getattr(model, "loo_score_", None),
        "selected": [dataclasses.asdict(choice) for choice in choices(model)],
        "proof": proof_dict(model),
    }


def show_facts(facts: Facts) -> None:
    """Print the facts of a fit on stdout, without the warnings."""
    show_pairs([*_data(facts), ("model", facts.description), *facts.details])
    if facts.columns:
        show_kinds(facts.columns)
    if facts.left_out is not None:
        say()
        linear_how = facts.left_out.linear_method
        how = facts.left_out.method + (f"; {facts.linear}: {linear_how}" if linear_how else "")
        _show_comparison(facts.left_out, facts, f"out-of-sample scores on the training set: {how}")
        show_table("leaderboard", *leaderboard_table(facts.left_out, facts.measure))
        if facts.selected:
            say("these rows also selected the parameters below, so scores on new rows may be a little lower")
    if facts.intervals is not None:
        show_pairs([("intervals", facts.intervals)])
    if facts.test is not None:
        say()
        seen = ", some of them equal to training rows" if facts.test_was_seen else ""
        _show_comparison(facts.test, facts, f"scores on the test set, {facts.test.method}{seen}")
        if facts.test.leaderboard:
            show_table("leaderboard on the test set", *leaderboard_table(facts.test, facts.measure))
    show_choices(facts.selected)
    say()
    show_pairs(_training(facts))


def show_kinds(columns: Sequence[Any]) -> None:
    """Print the kinds of columns: a line a kind, and a line for each that is left out."""
    rows = []
    for kind in KINDS:
        of_kind = [column for column in columns if column.kind == kind]
        if kind == "dropped":
            rows += [(kind, "1", f"{column.name}: {column.reason}") for column in of_kind[:_NAMED]]
            rows += [(kind, str(len(of_kind) - _NAMED), "…")] if len(of_kind) > _NAMED else []
        elif of_kind:
            names = some_of(
                [column.name + (" (as asked)" if column.is_user_specified else "") for column in of_kind], _NAMED
            )
            empty = sum(column.n_missing for column in of_kind)
            rows.append((kind, str(len(of_kind)), names + (f"; {empty} empty cells" if empty else "")))
    say()
    show_table("kinds of columns", ("kind", "count", "columns"), rows, ("columns",))


def show_choices(choices: Sequence[Choice]) -> None:
    """Print the parameters that were selected from the data, if there are any."""
    if choices:
        say()
        say("selected from the data", "bold")
        show_pairs(
            [(choice.name, f"{choice.value}; among {choice.candidates}; by {choice.method}") for choice in choices]
        )


def _show_comparison(comparison: Comparison, facts: Facts, title: str) -> None:
    """Print the scores of the model beside those of the simplest model and the linear model."""
    show_table(title, *score_table(comparison.models(facts.linear)))
    if comparison.difference is not None and comparison.std_error is not None:
        side = "higher" if comparison.difference >= 0 else "lower"
        within = ", within noise" if comparison.verdict == "within noise" else ""
        size = f"{abs(comparison.difference):.4f} ± {comparison.std_error:.4f} (standard error){within}"
        say(f"{facts.measure} {side} than that of {facts.linear} by {size}")


def _data(facts: Facts) -> list[tuple[str, str]]:
    left_out = [f"{count} left out: {reason}" for count, reason in facts.rows_left_out]
    zero = facts.n_rows_read - sum(count for count, _ in facts.rows_left_out) - facts.n_rows
    left_out += [f"{zero} of weight zero left out"] if zero else []
    weights = [] if facts.weights is None else ["weights from {:g} to {:g}".format(*facts.weights)]
    groups = [] if facts.n_groups is None else [f"in {facts.n_groups} groups"]
    pairs = [("rows", "; ".join([f"{facts.n_rows} used", *weights, *groups, *left_out]))]
    if facts.columns:
        n_left_out = len(facts.columns) - facts.columns_used
        used = f"{facts.columns_used} used, encoded as {facts.n_features} numbers"
        pairs.append(("columns", used + (f"; {n_left_out} left out" if n_left_out else "")))
    else:
        pairs.append(("columns", f"{facts.n_features}, all numbers"))
    if facts.classes is not None:
        shown = ", ".join(f"{label} ({count} rows)" for label, count in facts.classes[:_NAMED])
        more = ", …" if len(facts.classes) > _NAMED else ""
        pairs.append(("classes", f"{len(facts.classes)}: {shown}{more}"))
    return pairs


def _training(facts: Facts) -> list[tuple[str, str]]:
    return [
        ("certificate", facts.proof.sentence),
        ("objective", f"{facts.proof.objective:.8g}, proved to be at least {facts.proof.lower_bound:.8g}"),
        ("training score", f"{facts.measure} {facts.train.main:.4f} on the training set: no measure of quality"),
        ("solver", facts.solver),
        ("seconds", f"{facts.seconds:.2f}"),
    ]
