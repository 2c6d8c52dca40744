"""TableEncoder as arrays of numbers and plain values, as a model file holds it, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from clifford_rand.errors import require
from clifford_rand_nn._records import agree, record_of, texts, truth, values_of, whole
from clifford_rand_nn.tables.column_readers import NUMBER, READERS, TEXT, TRUTH, WORD, DateReader, Reader
from clifford_rand_nn.tables.column_types import KINDS, ColumnKind
from clifford_rand_nn.tables.dates import PARTS, moments
from clifford_rand_nn.tables.encoded_rows import check_parameters
from clifford_rand_nn.tables.encoder import TableEncoder, with_learned
from clifford_rand_nn.tables.encodings import (
    Encoding,
    Filled,
    HashedWords,
    Learned,
    MissingMark,
    OneHot,
    TargetMeans,
    families,
)
from clifford_rand_nn.tables.notes import column_names

_VERSION = 2
_FAULT = "parts of the table's encoder do not fit each other"
_LISTS = ("numeric", "categorical", "boolean", "text", "drop", "missing_values")
_MOST_FEATURES = 2**20  # of hashed words: more columns than any model of a table has


def encoder_to_plain(encoder: TableEncoder) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what a fitted `TableEncoder` learned: numbers as arrays, the rest as JSON can hold it."""
    check_is_fitted(encoder, "encodings_")
    params = encoder.get_params(deep=False)
    dates = params["date"]
    params |= {name: column_names(params[name], name, "TableEncoder") for name in _LISTS}
    params["date"] = dict(dates) if isinstance(dates, Mapping) else column_names(dates, "date", "TableEncoder")
    of: dict[type, list[Any]] = {
        kind: [entry for entry in encoder.encodings_ if type(entry) is kind]
        for kind in (Filled, MissingMark, OneHot, TargetMeans)
    }
    arrays = {
        name: np.array([entry.fill for entry in of[Filled] if entry.is_truth == is_truth], dtype=np.float64)
        for name, is_truth in (("fill", False), ("truths", True))
    }
    meta = {
        "version": _VERSION,
        "params": params,
        "named": hasattr(encoder, "feature_names_in_"),
        "columns": [values_of(kind) for kind in encoder.columns_],
        "readers": [reader.plain() for reader in encoder.readers_],
        "marked": [entry.cells for entry in of[MissingMark]],
        "whole": list(encoder.complete_columns_),
        "categories": {entry.cells: {"words": list(entry.words), "rare": list(entry.rare)} for entry in of[OneHot]},
        "n_text_features": encoder.n_text_features,
    }
    if of[TargetMeans]:
        arrays["means"] = np.concatenate([np.ravel(entry.values) for entry in of[TargetMeans]])
        means = {entry.cells: {"words": list(entry.words), "labels": list(entry.labels)} for entry in of[TargetMeans]}
        meta["means"] = means
    return arrays, meta


def encoder_from_plain(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> TableEncoder:
    """Return the encoder that `encoder_to_plain` described; it encodes every table bit for bit as that one.

    Raises ValueError, LookupError or TypeError if parts do not fit each other.
    """
    agree(meta["version"] == _VERSION, "the table's encoder is of a later version")
    encoder = TableEncoder(**_read_parameters(meta["params"]))
    check_parameters(encoder)
    kinds = tuple(record_of(ColumnKind, kind) for kind in meta["columns"])
    readers = tuple(_read_reader(reader) for reader in meta["readers"])
    names = [kind.name for kind in kinds]
    agree(len(set(names)) == len(names) and all(kind.kind in KINDS for kind in kinds), _FAULT)
    used = [(kind.name, kind.kind) for kind in kinds if kind.kind != "dropped"]
    agree(used == [(reader.name, reader.kind) for reader in readers], _FAULT)
    family, origin = families(readers)
    agree(len(family) == sum(len(reader.families) for reader in readers), _FAULT)
    of = {kind: [name for name, its in family.items() if its == kind] for kind in (NUMBER, TRUTH, WORD, TEXT)}
    encodings: list[Encoding] = []
    for name, kind in (("fill", NUMBER), ("truths", TRUTH)):
        fill = np.asarray(arrays[name], dtype=np.float64)
        agree(fill.ndim == 1 and bool(np.isfinite(fill).all()), _FAULT)
        pairs = zip(of[kind], fill.tolist(), strict=True)
        encodings += [Filled(cells, origin[cells], value, kind == TRUTH) for cells, value in pairs]
    marked, complete = texts(meta["marked"]), texts(meta["whole"])
    agree(set(marked) | set(complete) <= {*of[NUMBER], *of[TRUTH]}, _FAULT)
    encodings += [MissingMark(cells, origin[cells]) for cells in marked]
    means = _read_means(arrays.get("means", np.zeros(0)), meta.get("means", {}), origin)
    agree({entry.cells for entry in means} <= set(of[WORD]), _FAULT)
    for cells in [name for name in of[WORD] if name not in {entry.cells for entry in means}]:
        values = meta["categories"][cells]
        words, rare = _read_words(values["words"]), tuple(map(truth, values["rare"]))
        agree(bool(words) and len(words) == len(rare), _FAULT)
        encodings.append(OneHot(cells, origin[cells], words, rare))
    features = whole(meta["n_text_features"], 1)
    agree(features < _MOST_FEATURES, _FAULT)
    encodings += [HashedWords(cells, origin[cells], features) for cells in of[TEXT]]
    return with_learned(encoder, Learned(kinds, readers, (*encodings, *means), complete, bool(meta["named"])))


def _read_means(values: NDArray[Any], stored: Mapping[str, Any], origin: Mapping[str, str]) -> list[TargetMeans]:
    """Return the target means of columns from one array."""
    means = []
    agree(values.ndim == 1 and bool(np.isfinite(values).all()), _FAULT)
    for cells, entry in stored.items():
        words, labels = _read_words(entry["words"]), texts(entry["labels"])
        size = (len(words) + 1) * len(labels)
        agree(len(labels) > 0 and len(values) >= size, _FAULT)
        rows = values[:size].astype(np.float64).reshape(len(labels), -1).tolist()
        means.append(TargetMeans(cells, origin[cells], words, labels, tuple(map(tuple, rows))))
        values = values[size:]
    agree(len(values) == 0, _FAULT)
    return means


def _read_words(values: list[Any]) -> tuple[str | None, ...]:
    words = tuple(values)
    agree(len(words) == len(set(words)) and all(word is None or isinstance(word, str) for word in words), _FAULT)
    return words


def _read_parameters(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters if those that name columns do; the others are checked as those of a fit."""
    dates = params["date"]
    agree(isinstance(dates, list | dict), _FAULT)
    texts([*dates, *dates.values()] if isinstance(dates, dict) else dates)
    for name in _LISTS:
        names = params[name]
        agree(isinstance(names, list), _FAULT)
        texts(names)
    return params


def _read_reader(values: Mapping[str, Any]) -> Reader:
    """Return the reader that `Reader.plain` described."""
    fields = {name: value for name, value in values.items() if name not in ("kind", "start")}
    start: dict[str, Any] = {"start": whole(values["start"], low=None)} if "start" in values else {}
    reader = record_of(READERS[values["kind"]], fields, **start)
    if isinstance(reader, DateReader):
        agree(bool(reader.parts) and len(set(reader.parts)) == len(reader.parts) and set(reader.parts) <= set(PARTS))
        agree(abs(reader.start) < 2**63, _FAULT)
        cell = require("pandas", extra="app", purpose="encoding a table").Series(["2020-01-31T00:00Z"], dtype=object)
        moments(cell, reader.format, reader.zone)  # raises ValueError of a format or a zone that does not exist
    return reader
