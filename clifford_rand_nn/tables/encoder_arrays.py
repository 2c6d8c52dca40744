"""TableEncoder as arrays of numbers and plain values, as a model file holds it, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from clifford_rand._optional import require
from clifford_rand_nn.tables.dates import PARTS, moments
from clifford_rand_nn.tables.kinds import KINDS, ColumnKind
from clifford_rand_nn.tables.notes import column_names
from clifford_rand_nn.tables.readers import NUMBER, READERS, TEXT, TRUTH, WORD, DateReader, Reader
from clifford_rand_nn.tables.steps import Categories, Steps, families
from clifford_rand_nn.tables.target_means import TargetMeans

_Record = TypeVar("_Record")
_VERSION = 1
_LISTS = ("numeric", "categorical", "boolean", "textual", "leave_out", "missing")


def encoder_to_plain(encoder: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what a fitted `TableEncoder` learned: numbers as arrays, the rest as JSON can hold it."""
    params = encoder.get_params(deep=False)
    dates = params["dates"]
    params |= {name: column_names(params[name], name, "TableEncoder") for name in _LISTS}
    if not params["missing"]:  # as files of earlier versions have it
        del params["missing"]
    params["dates"] = dict(dates) if isinstance(dates, Mapping) else column_names(dates, "dates", "TableEncoder")
    steps = encoder._steps
    arrays = {
        "fill": np.array(list(steps.fill.values()), dtype=np.float64),
        "truths": np.array(list(steps.truths.values()), dtype=np.float64),
    }
    if steps.means:
        arrays["means"] = np.concatenate([np.ravel(one.values) for one in steps.means.values()])
    meta = {
        "version": _VERSION,
        "params": params,
        "named": hasattr(encoder, "feature_names_in_"),
        "columns": [asdict(kind) for kind in encoder.columns_],
        "readers": [reader.plain() for reader in encoder._readers],
        "marked": list(steps.marked),
        "whole": list(steps.whole),
        "categories": {
            name: {"words": list(one.words), "rare": list(one.rare)} for name, one in steps.categories.items()
        },
        "text_features": steps.text_features,
    }
    if steps.means:
        meta["means"] = {name: {"words": list(m.words), "labels": list(m.labels)} for name, m in steps.means.items()}
    return arrays, meta


def encoder_from_plain(encoder: Any, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Any:
    """Set what `encoder_to_plain` returned; ValueError, LookupError or TypeError where parts do not fit."""
    _agree(meta["version"] == _VERSION, "the table's encoder is of a later version")
    encoder.set_params(**_read_parameters(meta["params"]))
    encoder._check_parameters()
    kinds = tuple(_of_fields(ColumnKind, one) for one in meta["columns"])
    readers = tuple(_read_reader(one) for one in meta["readers"])
    names = [kind.name for kind in kinds]
    _agree(len(set(names)) == len(names) and all(kind.kind in KINDS for kind in kinds))
    _agree([(kind.name, kind.kind) for kind in kinds if kind.kind != "left out"] == [(r.name, r.kind) for r in readers])
    family, origin = families(readers)
    _agree(len(family) == sum(len(reader.families) for reader in readers))
    of = {kind: [name for name, its in family.items() if its == kind] for kind in (NUMBER, TRUTH, WORD, TEXT)}
    values = [np.asarray(arrays[name], dtype=np.float64) for name in ("fill", "truths")]
    _agree(all(one.ndim == 1 and np.isfinite(one).all() for one in values))
    fill, truths = (dict(zip(of[k], one.tolist(), strict=True)) for k, one in zip((NUMBER, TRUTH), values, strict=True))
    means = _read_means(arrays.get("means", np.zeros(0)), meta.get("means", {}))
    _agree(set(means) <= set(of[WORD]))
    categories = {}
    for name in [name for name in of[WORD] if name not in means]:
        one = meta["categories"][name]
        words, rare = tuple(one["words"]), tuple(one["rare"])
        _agree(bool(words) and len(words) == len(rare) == len(set(words)))
        _agree(all(word is None or isinstance(word, str) for word in words) and all(type(r) is bool for r in rare))
        categories[name] = Categories(words, rare)
    marked, whole = tuple(meta["marked"]), tuple(meta["whole"])
    _agree(set(marked) | set(whole) <= {*of[NUMBER], *of[TRUTH]})
    features = meta["text_features"]
    _agree(type(features) is int and 0 < features < 2**20)
    steps = Steps(origin, fill, truths, marked, whole, categories, tuple(of[TEXT]), features, means)
    encoder._learn(kinds, readers, (steps, steps.transformer(readers)), bool(meta["named"]))
    return encoder


def _read_means(values: NDArray[Any], stored: Mapping[str, Any]) -> dict[str, TargetMeans]:
    """Return the target means of columns from one array."""
    means = {}
    _agree(values.ndim == 1 and bool(np.isfinite(values).all()))
    for name, entry in stored.items():
        words, labels = tuple(entry["words"]), tuple(entry["labels"])
        size = (len(words) + 1) * len(labels)
        _agree(len(words) == len(set(words)) and len(labels) > 0 and len(values) >= size and _are_texts(labels))
        _agree(all(word is None or isinstance(word, str) for word in words))
        rows = values[:size].astype(np.float64).reshape(len(labels), -1).tolist()
        means[name], values = TargetMeans(words, labels, tuple(map(tuple, rows))), values[size:]
    _agree(len(values) == 0)
    return means


def _read_parameters(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters if those that name columns do; the others are checked as those of a fit."""
    dates = params["dates"]
    _agree(
        isinstance(dates, list | dict) and _are_texts([*dates, *dates.values()] if isinstance(dates, dict) else dates)
    )
    lists = [params.get(name, []) for name in _LISTS]  # files of earlier versions have no "missing"
    _agree(all(isinstance(names, list) and _are_texts(names) for names in lists))
    return params


def _read_reader(plain: Mapping[str, Any]) -> Reader:
    """Return the reader that `Reader.plain` described."""
    reader: Reader = _of_fields(READERS[plain["kind"]], {name: plain[name] for name in plain if name != "kind"})
    if isinstance(reader, DateReader):
        _agree(bool(reader.parts) and len(set(reader.parts)) == len(reader.parts) and set(reader.parts) <= set(PARTS))
        _agree(abs(reader.start) < 2**63)
        moments(_one_cell(), reader.format, reader.zone)  # of a format or a zone that is none: ValueError
    return reader


def _one_cell() -> Any:
    pandas = require("pandas", extra="app", purpose="encoding a table")
    return pandas.Series(["2020-01-31T00:00Z"], dtype=object)


def _of_fields(kind: type[_Record], plain: Mapping[str, Any]) -> _Record:
    """Return the record of a dataclass from values of JSON, each of the type that its field has."""
    types = get_type_hints(kind)
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}
    for name, value in values.items():
        wanted = types[name]
        fits = type(value) is wanted or (wanted == tuple[str, ...] and isinstance(value, tuple) and _are_texts(value))
        _agree(fits, f"the field {name!r} of the table's encoder is of another type")
    return kind(**values)


def _are_texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _agree(fits: bool, what: str = "parts of the table's encoder do not fit each other") -> None:
    if not fits:
        raise ValueError(what)
