"""Programs of the cells of a table: what `TableEncoder` makes of columns, without pandas and scikit-learn."""

import math
from collections.abc import Callable
from typing import Any

from clifford_rand._checks import describe, fail
from clifford_rand.errors import require
from clifford_rand_nn.export.program import Value, apply, beside, column, equals, where
from clifford_rand_nn.tables.cells import TRUTH, Amount, as_word
from clifford_rand_nn.tables.cells import numbers as numbers_of
from clifford_rand_nn.tables.column_readers import (
    BooleanReader,
    CategoryReader,
    DateReader,
    NumberReader,
    Reader,
    TextReader,
)
from clifford_rand_nn.tables.dates import DAY, WEEKDAYS
from clifford_rand_nn.tables.encoded_rows import column_names
from clifford_rand_nn.tables.encodings import CellPrograms, Tests

_TRUE = (*(case(word) for word, true in TRUTH.items() if true for case in (str, str.upper, str.capitalize)), "1", "1.0")
_FALSE = (
    *(case(word) for word, true in TRUTH.items() if not true for case in (str, str.upper, str.capitalize)),
    *("0", "0.0"),
)


def encoder_program(encoder: Any) -> tuple[Value, tuple[Value, ...]]:
    """Return the numbers (n, d) that a fitted `TableEncoder` makes, and the columns of the table that it takes.

    Raises ArgumentError if a column holds texts whose words are hashed.
    """
    inputs: list[Value] = []
    cells = CellPrograms({}, {})
    marks = column_names(encoder.missing_values, "missing_values", "TableEncoder")
    for reader in encoder.readers_:
        _read(reader, inputs, cells, marks)
    parts = [part for encoding in encoder.encodings_ for part in encoding.program(cells)]
    return beside(parts).named("X"), tuple(inputs)


def _read(reader: Reader, inputs: list[Value], cells: CellPrograms, marks: list[str]) -> None:
    """Add the column that a reader takes, and the programs of the cells that it makes."""
    name = reader.name

    def own(kind: str) -> Value:
        inputs.append(column(kind, name))
        return inputs[-1]

    match reader:
        case TextReader():
            pass  # `HashedWords` refuses texts
        case NumberReader() | BooleanReader(words=False):
            cells.numbers[name] = _unmarked(own("numbers"), marks)
        case BooleanReader():
            word = own("words")
            true = apply("row_sums", equals(word, _TRUE, f"true of {name}"))
            false = apply("row_sums", equals(word, _FALSE, f"false of {name}"))
            cells.numbers[name] = where(true + false < 0.5, math.inf, true)  # other words are missing
        case CategoryReader(numeric=True):
            cells.words[name] = _numbers_as_words(_unmarked(own("numbers"), marks), float)
        case CategoryReader():
            cells.words[name] = _words(own("words"), marks)
        case DateReader():
            _add_parts(reader, own("days"), cells)
        case _:
            raise fail("model", "export", "without columns of a type that has no program", describe(reader.kind))


def _unmarked(a: Value, marks: list[str]) -> Value:
    """Return numbers, infinite where they are one of the marks of missing cells."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    words = [mark.strip() for mark in marks]
    values, _ = numbers_of(pandas.Series(words, dtype=object), Amount())
    gone = [number for word, number in zip(words, values.tolist(), strict=True) if as_word(number) == word != "nan"]
    return where(apply("row_sums", equals(a, gone, f"marks of {a.name}")) < 0.5, a, math.inf) if gone else a


def _add_parts(reader: DateReader, days: Value, cells: CellPrograms) -> None:
    for part in reader.parts:
        if part == "days":
            cells.numbers[reader.part(part)] = days - reader.start / DAY
        elif part == "weekday":  # 1970 began on a Thursday
            weekday = _modulo(apply("floor", days) + 3.0, 7.0)
            cells.words[reader.part(part)] = _numbers_as_words(weekday, WEEKDAYS.index)
        else:
            angle = (_of_the_year(days) if part == "season" else days - apply("floor", days)) * (2 * math.pi)
            for function in ("sin", "cos"):
                cells.numbers[reader.part(f"{part} {function}")] = apply(function, angle)


def _words(a: Value, marks: list[str]) -> Tests:
    cases = (str.strip, str.lower, str.upper, str.capitalize)
    gone = dict.fromkeys(case(mark) for mark in marks for case in cases)

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
