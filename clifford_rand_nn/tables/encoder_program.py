"""TableEncoder as operations of a program: columns of a table in, numbers out, without pandas and scikit-learn."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand_nn.export.program import Value, apply, beside, column, constant, equals, where
from clifford_rand_nn.tables.cells import TRUTH, Amount, as_word
from clifford_rand_nn.tables.cells import numbers as numbers_of
from clifford_rand_nn.tables.dates import WEEKDAYS
from clifford_rand_nn.tables.notes import column_names
from clifford_rand_nn.tables.readers import BooleanReader, CategoryReader, DateReader, NumberReader, Reader

_DAY = 86_400_000_000  # microseconds
_TRUE = (*(case(word) for word, true in TRUTH.items() if true for case in (str, str.upper, str.capitalize)), "1", "1.0")
_FALSE = (
    *(case(word) for word, true in TRUTH.items() if not true for case in (str, str.upper, str.capitalize)),
    *("0", "0.0"),
)

_Tests = Callable[[list[str], str], Value]  # which of some words cells are, (n, k) of 1 and 0; of "" those not there
_Numbers = dict[str, Value]  # by the names of cells, as the tests of words
_Words = dict[str, _Tests]


def stated_table(encoder: Any) -> tuple[Value, tuple[Value, ...]]:
    """Return the numbers (n, d) that a fitted `TableEncoder` makes, and the columns that it makes them of.

    Raises
    ------
    ArgumentError
        A column holds texts whose words are hashed.
    """
    steps = encoder._steps
    if steps.texts:
        hint = "Leave it out, or put features of it into columns of their own (clifford-rand embed)."
        raise fail("model", "export", "without texts of which words are hashed", describe(steps.texts[0]), hint)
    inputs: list[Value] = []
    numbers: _Numbers = {}
    tests: _Words = {}
    marks = column_names(encoder.missing, "missing", "TableEncoder")
    for reader in encoder._readers:
        _READ[type(reader)](reader, inputs, numbers, tests, marks)
    parts = [where(_there(numbers[name]), numbers[name], fill) for name, fill in (steps.fill | steps.truths).items()]
    parts += [where(_there(numbers[name]), 0.0, 1.0) for name in steps.marked]
    for name, categories in steps.categories.items():
        parts += _one_hot(name, categories, tests[name])
    parts += [_means(name, means, tests[name]) for name, means in steps.means.items()]
    return beside(parts).named("X"), tuple(inputs)


def _means(name: str, means: Any, test: _Tests) -> Value:
    """Return the target means of categories, and of all rows for those that are not known."""
    words = [word for word in means.words if word is not None]
    known = [test(words, f"words of {name}")] + [test([""], f"missing of {name}")] * (None in means.words)
    *values, new = np.transpose(means.values)[
        np.argsort([word is None for word in means.words] + [True], kind="stable")
    ]
    rows, every = beside(known), constant(new[None], f"new of {name}")
    return rows @ constant(values, f"means of {name}") + (1.0 - apply("row_sums", rows)) * every


def _one_hot(name: str, categories: Any, test: _Tests) -> list[Value]:
    """Return a column of 1 and 0 for each word that is not rare, and one for all others if some are."""
    own = [word for word, rare in zip(categories.words, categories.rare, strict=True) if not rare]
    words = [word for word in own if word is not None]  # None is the last one
    parts = [test(words, f"words of {name}")] if words else []
    if None in own:
        parts.append(test([""], f"missing of {name}"))
    if not any(categories.rare):
        return parts
    own_one = apply("row_sums", beside(parts)) if parts else 0.0 * test([""], f"missing of {name}")
    return [*parts, 1.0 - own_one]


def _there(a: Value) -> Value:
    """Return whether a number is one: neither missing nor infinite."""
    return apply("abs", a) < math.inf


def _number(reader: Reader, inputs: list[Value], numbers: _Numbers, tests: _Words, marks: list[str]) -> None:
    inputs.append(column("numbers", reader.name))
    numbers[reader.name] = _unmarked(inputs[-1], marks)


def _unmarked(a: Value, marks: list[str]) -> Value:
    """Return numbers, infinite where they are one of the marks of missing cells."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    words = [mark.strip() for mark in marks]
    values, _ = numbers_of(pandas.Series(words, dtype=object), Amount())
    gone = [number for word, number in zip(words, values.tolist(), strict=True) if as_word(number) == word != "nan"]
    return where(apply("row_sums", equals(a, gone, f"marks of {a.name}")) < 0.5, a, math.inf) if gone else a


def _boolean(reader: Reader, inputs: list[Value], numbers: _Numbers, tests: _Words, marks: list[str]) -> None:
    assert isinstance(reader, BooleanReader)
    if not reader.words:
        _number(reader, inputs, numbers, tests, marks)
        return
    inputs.append(column("words", reader.name))
    true, false = (
        apply("row_sums", equals(inputs[-1], words, f"{which} of {reader.name}"))
        for words, which in ((_TRUE, "true"), (_FALSE, "false"))
    )
    numbers[reader.name] = where(true + false < 0.5, math.inf, true)  # other words are missing


def _category(reader: Reader, inputs: list[Value], numbers: _Numbers, tests: _Words, marks: list[str]) -> None:
    assert isinstance(reader, CategoryReader)
    inputs.append(column("numbers" if reader.numeric else "words", reader.name))
    cells = inputs[-1]
    tests[reader.name] = _numbers_as_words(_unmarked(cells, marks), float) if reader.numeric else _words(cells, marks)


def _date(reader: Reader, inputs: list[Value], numbers: _Numbers, tests: _Words, marks: list[str]) -> None:
    assert isinstance(reader, DateReader)
    days = column("days", reader.name)
    inputs.append(days)
    for part in reader.parts:
        if part == "days":
            numbers[reader.part(part)] = days - reader.start / _DAY
        elif part == "weekday":
            tests[reader.part(part)] = _numbers_as_words(_modulo(apply("floor", days) + 3.0, 7.0), WEEKDAYS.index)
        else:
            turn = _of_the_year(days) if part == "season" else days - apply("floor", days)
            angle = turn * (2 * math.pi)
            numbers[reader.part(f"{part} sin")], numbers[reader.part(f"{part} cos")] = (
                apply("sin", angle),
                apply("cos", angle),
            )


_READ: dict[type[Reader], Callable[..., None]] = {
    NumberReader: _number,
    BooleanReader: _boolean,
    CategoryReader: _category,
    DateReader: _date,
}


def _words(a: Value, marks: list[str]) -> _Tests:
    gone = dict.fromkeys(case(mark) for mark in marks for case in (str.strip, str.lower, str.upper, str.capitalize))

    def test(words: list[str], name: str) -> Value:
        return apply("row_sums", equals(a, ["", *gone], name)) if words == [""] and gone else equals(a, words, name)

    return test


def _numbers_as_words(a: Value, number_of: Callable[[str], float]) -> _Tests:
    """Return the test of numbers that stand for words."""

    def test(words: list[str], name: str) -> Value:
        if words == [""]:
            return where(_there(a), 0.0, 1.0)
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
