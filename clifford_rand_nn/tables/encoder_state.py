"""TableEncoder without its libraries: as programs of cells for export, and as plain values that a model file holds."""

import math
from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand_nn._records import agree, record_of, texts, truth, values_of, whole
from clifford_rand_nn.export.program import Value, apply, beside, column, equals, where
from clifford_rand_nn.tables.cells import TRUTH as TRUTHS
from clifford_rand_nn.tables.cells import Amount, as_word
from clifford_rand_nn.tables.cells import numbers as numbers_of
from clifford_rand_nn.tables.column_readers import (
    NUMBER,
    READERS,
    TEXT,
    TRUTH,
    WORD,
    BooleanReader,
    CategoryReader,
    DateReader,
    NumberReader,
    Reader,
    TextReader,
)
from clifford_rand_nn.tables.column_types import KINDS, ColumnKind
from clifford_rand_nn.tables.dates import PARTS, WEEKDAYS, moments
from clifford_rand_nn.tables.encodings import (
    CellPrograms,
    Encoding,
    Filled,
    HashedWords,
    Learned,
    MissingMark,
    OneHot,
    TargetMeans,
    Tests,
    families,
)
from clifford_rand_nn.tables.notes import column_names

_VERSION = 1
_FAULT = "parts of the table's encoder do not fit each other"
_LISTS = ("numeric", "categorical", "boolean", "textual", "leave_out", "missing")
_MOST_FEATURES = 2**20  # of hashed words: more columns than any model of a table has


def encoder_to_plain(encoder: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what a fitted `TableEncoder` learned: numbers as arrays, the rest as JSON can hold it."""
    params = encoder.get_params(deep=False)
    dates = params["dates"]
    params |= {name: column_names(params[name], name, "TableEncoder") for name in _LISTS}
    if not params["missing"]:  # as files of earlier versions have it
        del params["missing"]
    params["dates"] = dict(dates) if isinstance(dates, Mapping) else column_names(dates, "dates", "TableEncoder")
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
        "whole": list(encoder.complete_),
        "categories": {entry.cells: {"words": list(entry.words), "rare": list(entry.rare)} for entry in of[OneHot]},
        "text_features": encoder.text_features,
    }
    if of[TargetMeans]:
        arrays["means"] = np.concatenate([np.ravel(entry.values) for entry in of[TargetMeans]])
        means = {entry.cells: {"words": list(entry.words), "labels": list(entry.labels)} for entry in of[TargetMeans]}
        meta["means"] = means
    return arrays, meta


def encoder_from_plain(
    arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Learned]:
    """Return the parameters of the encoder that `encoder_to_plain` described, and what it learned.

    Raises ValueError, LookupError or TypeError if parts do not fit each other.
    """
    agree(meta["version"] == _VERSION, "the table's encoder is of a later version")
    params = _read_parameters(meta["params"])
    kinds = tuple(record_of(ColumnKind, kind) for kind in meta["columns"])
    readers = tuple(_read_reader(reader) for reader in meta["readers"])
    names = [kind.name for kind in kinds]
    agree(len(set(names)) == len(names) and all(kind.kind in KINDS for kind in kinds), _FAULT)
    used = [(kind.name, kind.kind) for kind in kinds if kind.kind != "left out"]
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
    features = whole(meta["text_features"], 1)
    agree(features < _MOST_FEATURES, _FAULT)
    encodings += [HashedWords(cells, origin[cells], features) for cells in of[TEXT]]
    return params, Learned(kinds, readers, (*encodings, *means), complete, bool(meta["named"]))


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
    dates = params["dates"]
    agree(isinstance(dates, list | dict), _FAULT)
    texts([*dates, *dates.values()] if isinstance(dates, dict) else dates)
    for name in _LISTS:
        names = params.get(name, [])  # files of earlier versions have no "missing"
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


_DAY = 86_400_000_000  # microseconds
_TRUE = (
    *(case(word) for word, true in TRUTHS.items() if true for case in (str, str.upper, str.capitalize)),
    "1",
    "1.0",
)
_FALSE = (
    *(case(word) for word, true in TRUTHS.items() if not true for case in (str, str.upper, str.capitalize)),
    *("0", "0.0"),
)


def encoder_program(encoder: Any) -> tuple[Value, tuple[Value, ...]]:
    """Return the numbers (n, d) that a fitted `TableEncoder` makes, and the columns of the table that it takes.

    Raises ArgumentError if a column holds texts whose words are hashed.
    """
    inputs: list[Value] = []
    cells = CellPrograms({}, {})
    marks = column_names(encoder.missing, "missing", "TableEncoder")
    for reader in encoder.readers_:
        _read(reader, inputs, cells, marks)
    parts = [part for encoding in encoder.encodings_ for part in encoding.program(cells)]
    return beside(parts).named("X"), tuple(inputs)


@singledispatch
def _read(reader: Reader, inputs: list[Value], cells: CellPrograms, marks: list[str]) -> None:
    """Add the column that a reader takes, and the programs of the cells that it makes."""
    raise fail("model", "export", "without columns of a type that has no program", describe(reader.kind))


@_read.register
def _(reader: TextReader, inputs: list[Value], cells: CellPrograms, marks: list[str]) -> None:
    """Add nothing: `HashedWords` refuses texts."""


@_read.register
def _number(reader: NumberReader, inputs: list[Value], cells: CellPrograms, marks: list[str]) -> None:
    inputs.append(column("numbers", reader.name))
    cells.numbers[reader.name] = _unmarked(inputs[-1], marks)


def _unmarked(a: Value, marks: list[str]) -> Value:
    """Return numbers, infinite where they are one of the marks of missing cells."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    words = [mark.strip() for mark in marks]
    values, _ = numbers_of(pandas.Series(words, dtype=object), Amount())
    gone = [number for word, number in zip(words, values.tolist(), strict=True) if as_word(number) == word != "nan"]
    return where(apply("row_sums", equals(a, gone, f"marks of {a.name}")) < 0.5, a, math.inf) if gone else a


@_read.register
def _(reader: BooleanReader, inputs: list[Value], cells: CellPrograms, marks: list[str]) -> None:
    if not reader.words:
        _number(NumberReader(reader.name), inputs, cells, marks)
        return
    inputs.append(column("words", reader.name))
    true, false = (
        apply("row_sums", equals(inputs[-1], words, f"{which} of {reader.name}"))
        for words, which in ((_TRUE, "true"), (_FALSE, "false"))
    )
    cells.numbers[reader.name] = where(true + false < 0.5, math.inf, true)  # other words are missing


@_read.register
def _(reader: CategoryReader, inputs: list[Value], cells: CellPrograms, marks: list[str]) -> None:
    own = column("numbers" if reader.numeric else "words", reader.name)
    inputs.append(own)
    test = _numbers_as_words(_unmarked(own, marks), float) if reader.numeric else _words(own, marks)
    cells.words[reader.name] = test


@_read.register
def _(reader: DateReader, inputs: list[Value], cells: CellPrograms, marks: list[str]) -> None:
    days = column("days", reader.name)
    inputs.append(days)
    for part in reader.parts:
        if part == "days":
            cells.numbers[reader.part(part)] = days - reader.start / _DAY
        elif part == "weekday":  # 1970 began on a Thursday
            weekday = _modulo(apply("floor", days) + 3.0, 7.0)
            cells.words[reader.part(part)] = _numbers_as_words(weekday, WEEKDAYS.index)
        else:
            angle = (_of_the_year(days) if part == "season" else days - apply("floor", days)) * (2 * math.pi)
            for function in ("sin", "cos"):
                cells.numbers[reader.part(f"{part} {function}")] = apply(function, angle)


def _words(a: Value, marks: list[str]) -> Tests:
    gone = dict.fromkeys(case(mark) for mark in marks for case in (str.strip, str.lower, str.upper, str.capitalize))

    def test(words: list[str], name: str) -> Value:
        return apply("row_sums", equals(a, ["", *gone], name)) if words == [""] and gone else equals(a, words, name)

    return test


def _numbers_as_words(a: Value, number_of: Callable[[str], float]) -> Tests:
    """Return the test of numbers that stand for words."""

    def test(words: list[str], name: str) -> Value:
        if words == [""]:
            return where(apply("abs", a) < math.inf, 0.0, 1.0)
        return equals(a, [float(number_of(word)) for word in words], name)

    return test


def _modulo(a: Value, b: float) -> Value:
    return a - apply("floor", a / b) * b


def _of_the_year(days: Value) -> Value:
    """Return the place in its year, from 0 to 1, of days since 1970.

    Years are counted from March on, so that the day that is not always there is their last one: Howard Hinnant,
    "chrono-Compatible Low-Level Date Algorithms", 2013.
    """
    whole = apply("floor", days)
    since = whole + 719468.0  # days since the first of March of the year 0
    era = apply("floor", since / 146097.0)
    day = since - era * 146097.0

    def share(a: Value, b: float) -> Value:
        return apply("floor", a / b)

    year = share(day - share(day, 1460.0) + share(day, 36524.0) - share(day, 146096.0), 365.0)
    since_march = day - (year * 365.0 + share(year, 4.0) - share(year, 100.0))
    march = year + era * 400.0
    after = Value("less", (305.0, since_march))
    own = march + where(after, 1.0, 0.0)  # the calendar's year
    leap = _divides(4.0, own) - _divides(100.0, own) + _divides(400.0, own)
    since_january = where(after, since_march - 306.0, since_march + 59.0 + leap)
    return (since_january + (days - whole)) / (leap + 365.0)


def _divides(b: float, a: Value) -> Value:
    return where(_modulo(a, b) < 0.5, 1.0, 0.0)
