"""For each kind of argument the odd and the bad values, made from a good one, and what each is expected to give.

same     the result of the good value, to the last bit
equal    the result of the value that is said beside it (integers as floats, float16 as float32), to rounding
refused  the library's one sentence
right    a result, in which nothing is NaN, or the sentence
other    a result, be it NaN, or the sentence: where the value itself is NaN, infinite, or its results overflow

A table is {name: (expected, how the value is made from a good one)}.
"""

import datetime as dt
import decimal
import fractions
from dataclasses import dataclass
from typing import Any

import numpy as np

SAME, EQUAL, REFUSED, RIGHT, OTHER = "same", "equal", "refused", "right", "other"


@dataclass(frozen=True)
class Odd:
    """A value instead of a good one. ``plain`` is what the result is compared with where it is not the good value."""

    value: Any
    plain: Any = None


class Nothing:
    """An object that is of no use to anyone."""

    def __repr__(self):
        return "Nothing()"


class DoesNotApply(Exception):  # noqa: N818
    """The good value has no such neighbor."""


# ---- how tables are made


def constants(expected, values):
    """Return a table of values that are what they are, whatever the good one is."""
    return {name: (expected, lambda _, value=value: Odd(value)) for name, value in values.items()}


def made(expected, changes, before=lambda value: value):
    """Return a table of changes of a good value; a pair has the change and the plain value to compare with."""

    def entry(change):
        change, plain = change if isinstance(change, tuple) else (change, None)
        return lambda value: Odd(change(before(value)), None if plain is None else plain(before(value)))

    return {name: (expected, entry(change)) for name, change in changes.items()}


def arrays(expected, changes):
    """Return a table of changes of an array of numbers."""
    with_no_warning = np.errstate(all="ignore")
    return {name: (expected, with_no_warning(make)) for name, (_, make) in made(expected, changes, _array_of).items()}


def scalars(expected, changes):
    """Return a table of changes of one number."""
    return made(expected, changes, _number_of)


def _array_of(value):
    array = np.asarray(value)
    if array.dtype.kind not in "fiuc" or array.size == 0:
        raise DoesNotApply
    return array.copy()


def _number_of(value):
    if not isinstance(value, int | float):
        raise DoesNotApply
    return value


def expecting(expected, table, *names):
    """Return a table of which the values named are expected to give something else."""
    return table | {name: (expected, table[name][1]) for name in names}


def without(table, *names):
    return {name: entry for name, entry in table.items() if name not in names}


# ---- changes of arrays


def _with(entry):
    def change(array):
        array = array.astype(np.result_type(array, float))
        array[(0,) * array.ndim] = entry
        return array

    return change


def _read_only(array):
    array.flags.writeable = False
    return array


def _fortran(array):
    if array.ndim < 2:
        raise DoesNotApply
    return np.asfortranarray(array)


def _apart(array):
    """Return the same numbers with others between them in memory."""
    wide = np.full((*array.shape, 2), 7, array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


def _unaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
    found = raw.view(array.dtype).reshape(array.shape) if array.flags.c_contiguous else array
    found[...] = array
    return found


def _constant_columns(array):
    array[..., -1] = array.flat[0]
    return array


def _masked(array):
    mask = np.zeros(array.shape, bool)
    mask.flat[0] = True
    return np.ma.array(array, mask=mask)


def _ragged(array):
    lists = array.tolist()
    return [*lists[:-1], lists[-1][:-1]] if array.ndim > 1 else [*lists, lists]


def _halves(array):
    return np.clip(array, -60000, 60000).astype(np.float16)


def _small(array):
    return np.clip(np.round(array), -9, 9)


def _frame(array):
    import pandas as pd

    if array.ndim != 2:
        raise DoesNotApply
    return pd.DataFrame(array, columns=[f"c{j}" for j in range(array.shape[1])])


def _with_label(entry):
    def change(array):
        array = array.astype(object)
        array[0] = entry
        return array

    return change


# ---- wrong types, for everything

WRONG = constants(REFUSED, {
    "None": None, "text": "no such word", "empty text": "", "bytes": b"\xff\x00", "an object": Nothing(),
    "a dict": {"a": 1}, "a set": {1.5, "a"}, "a function": len, "a type": int, "a date": dt.date(2020, 1, 1),
    "empty list": [], "nested lists of text": [["a", "b"], ["c", "d"]], "not a number": float("nan"), "Ellipsis": ...,
})  # fmt: skip
NONE_IS_RIGHT = constants(RIGHT, {"None": None})

# ---- arrays

SAME_LAYOUTS = arrays(SAME, {
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "Fortran order": _fortran,
    "read-only": _read_only,
    "not contiguous": _apart,
    "backwards in memory": lambda a: a[::-1].copy()[::-1],
    "not aligned": _unaligned,
    "masked, nothing below": np.ma.array,
    "nested lists": lambda a: a.tolist(),
})  # fmt: skip
NOT_NUMBERS = arrays(REFUSED, {
    "masked": _masked,
    "numbers as text": lambda a: a.astype(str),
    "numbers as bytes": lambda a: a.astype("S"),
    "dates": lambda a: np.zeros(a.shape, "M8[s]"),
    "durations": lambda a: np.zeros(a.shape, "m8[D]"),
    "records": lambda a: np.zeros(a.shape, [("a", float), ("b", int)]),
    "objects with None": lambda a: np.full(a.shape, None),
    "ragged": _ragged,
}) | made(REFUSED, {"a generator": lambda _: (i for i in range(3))})  # fmt: skip
REAL_ARRAYS = {
    **SAME_LAYOUTS,
    **NOT_NUMBERS,
    **arrays(EQUAL, {
        "integers": (lambda a: np.round(a).astype(np.int64), np.round),
        "small integers": (lambda a: _small(a).astype(np.int8), _small),
        "truth values": (lambda a: a > 0, lambda a: (a > 0).astype(float)),
        "float16": (_halves, lambda a: _halves(a).astype(np.float32))}),
    **arrays(SAME, {
        "big-endian float32": (lambda a: a.astype(">f4"), lambda a: a.astype(np.float32)),
        "extended precision": lambda a: a.astype(np.longdouble)}),
    **arrays(EQUAL + " or refused", {"objects": lambda a: a.astype(object)}),
    **arrays(REFUSED, {
        "complex": lambda a: a + 1j, "NaN": _with(np.nan), "infinity": _with(np.inf), "-infinity": _with(-np.inf),
        "all NaN": lambda a: a * np.nan}),
    **arrays(RIGHT, {
        "zeros": np.zeros_like,
        "minus zeros": lambda a: -np.zeros_like(a),
        "no rows": lambda a: a[:0],
        "no columns": lambda a: a[..., :0],
        "a scalar": lambda a: a.flat[0],
        "one more axis": lambda a: a[None],
        "two more axes": lambda a: a[None, None],
        "one axis less": lambda a: a[0],
        "one row": lambda a: a[:1],
        "a row less": lambda a: a[:-1],
        "one column": lambda a: a[..., :1],
        "a column more": lambda a: np.concatenate([a, a[..., :1]], -1),
        "transposed": lambda a: np.swapaxes(a, -1, -2) if a.ndim > 1 else a[:, None],
        "duplicated rows": lambda a: np.broadcast_to(a[:1], a.shape),
        "a constant column": _constant_columns,
        "all equal": lambda a: np.full_like(a, 1.5),
        "scale 1e150": lambda a: a * 2.0**500,
        "scale 1e-150": lambda a: a * 2.0**-500,
        "scale 1e300": lambda a: a * 2.0**997,
        "scale 1e-300": lambda a: a * 2.0**-997,
        "denormal": lambda a: np.sign(a) * 5e-324,
        "mixed scales": lambda a: a * 10.0 ** np.linspace(-150, 150, a.shape[-1]),
        "offset 1e8": lambda a: a + 1e8}),
}  # fmt: skip
FAR_SCALES = ("scale 1e150", "scale 1e300", "scale 1e-150", "scale 1e-300", "denormal")
NEGATIVE = arrays(REFUSED, {"negative": lambda a: -np.abs(a) - 1})
LONGER = {"a longer one": lambda a: np.concatenate([a, a])}

ROWS = {**without(WRONG, "not a number"), **REAL_ARRAYS, **arrays(SAME, {"a frame": _frame})}
VECTOR = without(
    ROWS, "a frame", "one axis less", "no columns", "one column", "a column more", "duplicated rows"
) | arrays(RIGHT, LONGER)
# coefficients may be complex, exact or symbols, and NaN
_COEFFICIENTS = expecting(OTHER, REAL_ARRAYS, "NaN", "infinity", "-infinity", "all NaN", *FAR_SCALES, "mixed scales")
NUMBERS = without(WRONG, "not a number") | expecting(
    RIGHT, _COEFFICIENTS, "complex", "objects", "float16", "truth values", "extended precision", "big-endian float32"
) | constants(RIGHT, {"empty list": []})  # fmt: skip
WEIGHTS = {
    **VECTOR, **NONE_IS_RIGHT, **NEGATIVE,
    **arrays(RIGHT, {"a scalar": lambda a: a.flat[0], "none but one": lambda a: np.eye(1, a.size)[0]}),
    **arrays(REFUSED, {"one negative": _with(-1.0), "zeros": np.zeros_like}),
}  # fmt: skip
TARGETS = VECTOR | arrays(RIGHT, {"two columns": lambda a: np.stack([a, -a], -1)})
TARGETS = expecting(REFUSED, TARGETS, "a longer one", "a row less", "no rows")
SEQUENCE = expecting(REFUSED, VECTOR, "zeros", "minus zeros", "no rows", "empty list") | NEGATIVE | NONE_IS_RIGHT


def _of_labels(expected, changes):
    return made(expected, changes, lambda value: np.asarray(value).copy())


def _first(y, entry):
    return np.where(np.arange(len(y)) == 0, entry, (y == y[0]) * 1.0)


def _class_of_one(y):
    return np.where(np.arange(len(y)) == 0, y[0], next(label for label in y if label != y[0]))


LABELS = {
    **without(WRONG, "not a number"),
    **_of_labels(SAME, {
        "a list": lambda y: y.tolist(), "read-only": _read_only, "not contiguous": lambda y: np.repeat(y, 2)[::2]}),
    **_of_labels(EQUAL, {
        "objects": lambda y: y.astype(object),
        "big-endian numbers": (lambda y: (y == y[0]).astype(">i4"), lambda y: (y == y[0]).astype(int)),
        "unsigned": (lambda y: (y == y[0]).astype(np.uint64), lambda y: (y == y[0]).astype(int))}),
    **_of_labels(RIGHT, {
        "bytes of letters": lambda y: y.astype("S"),
        "a column": lambda y: y[:, None],
        "a class of one": _class_of_one,
        "all different": lambda y: np.arange(len(y)),
        "truth values": lambda y: y == y[0],
        "numbers of classes": lambda y: (y == y[0]).astype(np.int8),
        "dates": lambda y: (y == y[0]).astype("M8[D]"),
        "long words": lambda y: np.where(y == y[0], "w" * 10000, "v"),
        "empty words": lambda y: np.where(y == y[0], "", "v"),
        "huge integers": lambda y: np.where(y == y[0], 2**62, 2**62 + 1),
        "objects beyond int64": lambda y: np.array([10**30 if k == y[0] else 1 for k in y], object)}),
    **_of_labels(REFUSED, {
        "two columns": lambda y: np.stack([y, y], -1),
        "three axes": lambda y: y[:, None, None],
        "a scalar": lambda y: y[0],
        "one less": lambda y: y[:-1],
        "twice as many": lambda y: np.concatenate([y, y]),
        "none": lambda y: y[:0],
        "one class": lambda y: np.full_like(y, y[0]),
        "continuous": lambda y: np.linspace(0, 1, len(y)) ** 2,
        "NaN": lambda y: _first(y, np.nan),
        "infinity": lambda y: _first(y, np.inf),
        "complex": lambda y: (y == y[0]) * (1 + 1j),
        "masked": lambda y: np.ma.array((y == y[0]) * 1, mask=np.arange(len(y)) == 0),
        "with None": _with_label(None),
        "with a number": _with_label(1.5),
        "with NaN": _with_label(np.nan),
        "with a list": _with_label([1]),
        "records": lambda y: np.zeros(len(y), [("a", float), ("b", int)])}),
}  # fmt: skip
GROUPS = NONE_IS_RIGHT | without(LABELS, "None")
GROUPS = expecting(
    RIGHT, GROUPS, "one class", "a class of one", "all different", "continuous", "truth values", "with a number"
)
INDEX = {
    **WRONG,
    **constants(RIGHT, {"empty list": []}),
    **_of_labels(SAME, {
        "a list": lambda i: i.tolist(), "big-endian": lambda i: i.astype(">i8"), "int8": lambda i: i.astype(np.int8),
        "uint64": lambda i: i.astype(np.uint64), "int32": lambda i: i.astype(np.int32), "read-only": _read_only,
        "Fortran order": np.asfortranarray, "not contiguous": _apart}),
    **_of_labels(EQUAL + " or refused", {"objects": lambda i: i.astype(object)}),
    **_of_labels(REFUSED, {
        "masked": _masked, "floats": lambda i: i.astype(float), "halves": lambda i: i + 0.5,
        "with NaN": lambda i: i * np.nan, "complex": lambda i: i + 1j, "truth values": lambda i: i > 0,
        "dates": lambda i: i.astype("M8[D]"), "text of digits": lambda i: i.astype(str),
        "out of range": lambda i: i + 10**6, "far out of range": lambda i: i + 2**62,
        "beyond int64": lambda i: np.full(i.shape, 2**64 - 1, np.uint64), "ragged": _ragged}),
    **_of_labels(RIGHT, {
        "negative": lambda i: -i - 1, "equal": np.zeros_like, "a scalar": lambda i: i.flat[0],
        "one more axis": lambda i: i[None], "no rows": lambda i: i[:0], "no columns": lambda i: i[..., :0],
        "one column": lambda i: i[..., :1]}),
}  # fmt: skip

# ---- numbers

ANY_NUMBER = {
    **WRONG,
    **constants(REFUSED, {
        "complex": 1 + 1j, "-infinity": -np.inf, "infinity": np.inf, "NumPy's NaN": np.float32("nan"),
        "a duration": np.timedelta64(1, "D"), "a decimal NaN": decimal.Decimal("nan"), "true": True,
        "NumPy's true": np.True_}),
    **constants(RIGHT, {"beyond float": 10**400, "beyond printing": 10**6000}),
    **scalars(REFUSED, {"a list of it": lambda v: [v], "an array of it": lambda v: np.array([v, v]), "as text": str}),
}  # fmt: skip
COUNT = {
    **ANY_NUMBER,
    **constants(REFUSED, {"minus one": -1, "far below": -(2**63), "a half": 1.5}),
    **constants(RIGHT, {
        "zero": 0, "one": 1, "a million millions": 10**12, "2 to the 31": 2**31, "2 to the 63": 2**63,
        "unsigned, the largest": np.uint64(2**64 - 1)}),
    **scalars(RIGHT, {"as a float": float, "as a fraction": fractions.Fraction}),
    **scalars(SAME, {"as int64": np.int64, "as uint8": np.uint8}),
}  # fmt: skip
NUMBER = {
    **ANY_NUMBER,
    **constants(RIGHT, {
        "zero": 0.0, "minus zero": -0.0, "1e150": 1e150, "1e-150": 1e-150, "1e300": 1e300, "1e-300": 1e-300,
        "denormal": 5e-324, "an integer": 2}),
    **scalars(RIGHT, {
        "negative": lambda v: -abs(v) - 1, "as float32": np.float32, "as a fraction": fractions.Fraction,
        "as a decimal": decimal.Decimal}),
    **scalars(SAME, {"as float64": np.float64}),
}  # fmt: skip
POSITIVE = expecting(REFUSED, NUMBER, "negative")
SHARE = expecting(REFUSED, POSITIVE, "zero", "minus zero", "1e150", "1e300", "an integer")
SHARE |= constants(RIGHT, {"one": 1.0}) | constants(REFUSED, {"above one": 1.0000001})
TOLERANCE = expecting(REFUSED, POSITIVE, "1e150", "1e300", "an integer", "beyond float", "beyond printing")
TOLERANCE |= constants(RIGHT, {"one": 1.0}) | NONE_IS_RIGHT
LIMIT = expecting(RIGHT, POSITIVE | NONE_IS_RIGHT, "infinity")

# ---- words and the rest

WORD = {
    **WRONG,
    **made(SAME, {"NumPy's": np.str_}),
    **made(RIGHT, {"in capitals": lambda value: str(value).upper()}),
    **made(REFUSED, {
        "with a space": lambda value: f"{value} ", "as bytes": lambda value: str(value).encode(),
        "in a list": lambda value: [value], "in an array": lambda value: np.array([value, value])}),
    **constants(REFUSED, {"a number": 3, "true": True, "very long": "w" * 100000}),
}  # fmt: skip
FLAG = {
    **WRONG,
    **made(SAME, {"NumPy's": np.bool_}),
    **constants(REFUSED, {
        "two": 2, "a half": 0.5, "yes": "yes", "an array": np.array([True, False]), "a list": [True]}),
    **constants(RIGHT, {"None": None, "one": 1, "zero": 0}),
}  # fmt: skip
RNG = {
    **WRONG,
    **made(SAME, {"NumPy's integer": np.int64}),
    **made(RIGHT, {"a RandomState": lambda _: np.random.RandomState(0)}),
    **constants(RIGHT, {"None": None, "a large seed": 2**100, "2 to the 32": 2**32, "a list": [0, 1]}),
    **constants(REFUSED, {
        "minus one": -1, "a float": 1.5, "infinity": np.inf, "true": True, "as text": "0", "negative list": [-1]}),
}  # fmt: skip
SHAPE = {
    **without(WRONG, "empty list"),
    **constants(RIGHT, {
        "empty": (), "a number": 2, "with zero": (2, 0), "true inside": (True,), "33 axes": (1,) * 33,
        "65 axes": (1,) * 65}),
    **constants(REFUSED, {
        "negative": (-1,), "a half": (1.5,), "text inside": ("2",), "NaN inside": (np.nan,), "None inside": (None,),
        "far too large": (10**12,), "beyond int64": (2**63,), "product beyond int64": (2**32, 2**32), "a float": 2.0}),
}  # fmt: skip
FUNCTION = without(WRONG, "a function", "a type") | NONE_IS_RIGHT | constants(REFUSED, {"a number": 3})
PATH = without(WRONG, "text") | constants(REFUSED, {
    "not there": "/no/such/folder/no such file.npz", "a folder": "/", "a null in it": "a\0b",
    "very long": "/tmp/" + "w" * 5000, "no regular file": "/dev/null", "a number": 3,
})  # fmt: skip
THING = WRONG | constants(REFUSED, {"an array": np.eye(3), "a number": 3, "a float": 2.5})
DTYPE = {
    **WRONG,
    **constants(RIGHT, {
        "a type": int, "None": None, "by name": "float32", "objects": object, "big-endian": ">f8",
        "float16": np.float16, "complex": complex, "truth values": bool}),
    **constants(REFUSED, {
        "text": "no such word", "of text": "U5", "of dates": "M8[s]", "of bytes": bytes,
        "records": [("a", float), ("b", int)], "an array": np.eye(3), "a number": 3}),
}  # fmt: skip
NAMES = WRONG | constants(REFUSED, {"of numbers": [1, 2], "with None": [None, "a"], "nested lists of text": [["a"]]})
NAMES |= constants(RIGHT, {"twice the same": ["a", "a"], "with an empty one": ["", "a"]})
TEXT = without(WRONG, "text") | made(RIGHT, {"NumPy's": np.str_}) | constants(REFUSED, {
    "nonsense": "§ ~~ ?", "a number": 3, "very long": "w" * 20000, "deep brackets": "(" * 5000,
    "code": "__import__('os').getcwd()", "a power of powers": "e1**9**9**9", "a null in it": "e\0",
})  # fmt: skip

# ---- multivectors


def _coefficients(expected, changes):
    """Return a table of changes of the coefficients of a multivector.

    A plan that has been used some times is compiled, with other rounding: results are equal, not the same bits.
    """

    def entry(change):
        def make(value):
            if not hasattr(value, "keys") or np.asarray(value.coefficients).dtype.kind not in "fiu":
                raise DoesNotApply
            return Odd(type(value)(value.algebra, value.keys, change(np.asarray(value.coefficients).copy())))

        return np.errstate(all="ignore")(make)

    return {name: (expected, entry(change)) for name, change in changes.items()}


def _fractions(array):
    return np.array([fractions.Fraction(x) for x in array.ravel().tolist()], object).reshape(array.shape)


def _other_element():
    import clifford_rand as cr

    return cr.Algebra(2, 1, 1).random_multivector(rng=3)


def _symbolic(value):
    import sympy

    single = hasattr(value, "keys") and value.coefficients.ndim == 1
    if not single or value.coefficients.dtype.kind not in "fi":
        raise DoesNotApply
    entries = np.array([sympy.Rational(str(round(x, 2))) for x in np.real(value.coefficients).tolist()], object)
    entries[0] = sympy.Symbol("s", positive=True)
    return type(value)(value.algebra, value.keys, entries)


OWNER = {
    **_coefficients(EQUAL, {
        "big-endian": lambda c: c.astype(">f8"), "read-only": _read_only, "Fortran order": np.asfortranarray,
        "not contiguous": _apart}),
    **_coefficients(RIGHT, {
        "integers": lambda c: np.round(c).astype(np.int64), "int8": lambda c: np.round(c).astype(np.int8),
        "objects": _fractions, "zeros": np.zeros_like, "an empty batch": lambda c: np.zeros((0, *c.shape), c.dtype),
        "a batch": lambda c: np.stack([c, 2 * c])}),
    **_coefficients(OTHER, {
        "float32": lambda c: c.astype(np.float32), "complex": lambda c: c + 0.5j, "NaN": lambda c: c * np.nan,
        "infinity": lambda c: c + np.inf, "scale 1e150": lambda c: c * 2.0**500,
        "scale 1e-150": lambda c: c * 2.0**-500,
        "scale 1e300": lambda c: c * 2.0**997, "scale 1e-300": lambda c: c * 2.0**-997,
        "denormal": lambda c: np.sign(c) * 5e-324}),
    **made(RIGHT, {"of another algebra": lambda _: _other_element(), "with a symbol": _symbolic}),
}  # fmt: skip
ELEMENT = without(WRONG, "not a number", "nested lists of text") | constants(RIGHT, {"a number": 2.5}) | OWNER

KINDS = {
    "rows": ROWS, "vector": VECTOR, "numbers": NUMBERS, "index": INDEX, "labels": LABELS, "targets": TARGETS,
    "weights": WEIGHTS, "groups": GROUPS, "count": COUNT, "number": NUMBER, "positive": POSITIVE, "share": SHARE,
    "tolerance": TOLERANCE, "word": WORD, "flag": FLAG, "rng": RNG, "shape": SHAPE, "function": FUNCTION, "path": PATH,
    "element": ELEMENT, "owner": OWNER, "thing": THING, "dtype": DTYPE, "limit": LIMIT, "sequence": SEQUENCE,
    "names": NAMES, "text": TEXT,
}  # fmt: skip
