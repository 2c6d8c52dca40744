"""``clifford-rand info``: the content of a model file, as text or JSON."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from clifford_rand_nn._archives import read_npz
from clifford_rand_nn._words import some_of
from clifford_rand_nn.cli.console import print_json, show_pairs
from clifford_rand_nn.cli.facts import show_choices, show_kinds
from clifford_rand_nn.cli.tables import LoadedModel, read_model
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.model_file import damage_as_error
from clifford_rand_nn.reporting.selection import choices, describe_model, loo_line, proof_dict, prove

_SHOWN = 12  # names in one line


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
    rows = [
        ("file", f"{path}, {size / 1e6:.3g} MB, format {meta['version']}, written by clifford-rand {meta['library']}"),
        ("model", describe_model(model)),
    ]
    if "saved" in meta:  # older files do not have it
        versions = ", ".join(f"{name} {number}" for name, number in meta["libraries"].items())
        rows.append(("fitted to", f"{meta['n_rows']:,} rows; saved {meta['saved']}, with {versions}"))
    rows.append(("training rows", held_rows(model)))
    if loaded.prefix is not None:
        rows.append(("steps before it", ", ".join(type(step).__name__ for _, step in loaded.prefix.steps)))
    if loaded.encoder is None:
        names = loaded.names
        shown = "without names" if names is None else some_of(names, _SHOWN)
        rows.append(("columns", f"{loaded.n_columns} of numbers: {shown}"))
    else:
        rows.append(("columns", f"{len(loaded.needed or ())} used, encoded as {model.n_features_in_} numbers"))
    if loaded.is_classifier:
        rows.append(("classes", f"{len(model.classes_)}: {some_of([str(label) for label in model.classes_], _SHOWN)}"))
    rows += loo_line(model)
    rows.append(("beta", f"{model.beta_:.3g}"))
    rows.append(("certificate", prove(model)))
    return rows


def _plain(path: Path, loaded: LoadedModel, meta: dict[str, Any]) -> dict[str, Any]:
    model = loaded.model
    columns = [] if loaded.encoder is None else [dataclasses.asdict(column) for column in loaded.encoder.columns_]
    parameters = {name: value for name, value in model.get_params().items() if _is_plain(value)}
    return {
        "path": str(path),
        "bytes": path.stat().st_size,
        "format": meta["version"],
        "library": f"clifford-rand {meta['library']}",
        "libraries": meta.get("libraries"),
        "saved": meta.get("saved"),
        "n_rows": meta.get("n_rows"),
        "holds_rows": isinstance(model.network_, KernelNetwork),
        "model": describe_model(model),
        "estimator": type(model).__name__,
        "parameters": parameters,
        "columns": columns,
        "feature_names": None if loaded.names is None else list(loaded.names),
        "n_features": int(model.n_features_in_),
        "classes": model.classes_.tolist() if loaded.is_classifier else None,
        "left_out_score": getattr(model, "loo_score_", None),
        "chosen": [dataclasses.asdict(choice) for choice in choices(model)],
        "proof": proof_dict(model),
    }


def held_rows(model: Any) -> str:
    """Return whether training rows are in a model file: a kernel network is a sum over them."""
    if not isinstance(model.network_, KernelNetwork):
        return "not in the file"
    return f"{len(model.network_.rows):,} unique ones are in the file, as encoded: they are part of the model"


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str)
