"""For each kind of argument the odd and the bad values, made from a good one, and what each is expected to give.

same     the result of the good value, to the last bit
equal    the result of the value that is said beside it (integers as floats, float16 as float32), to rounding
refused  the library's one sentence
right    a result, in which nothing is NaN, or the sentence
other    a result, be it NaN, or the sentence: where the value itself is NaN, infinite, or its results overflow
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


# ---- wrong types, for everything

WRONG = {
    "None": None,
    "text": "no such word",
    "empty text": "",
    "bytes": b"\xff\x00",
    "an object": Nothing(),
    "a dict": {"a": 1},
    "a set": {1.5, "a"},
    "a function": len,
    "a type": int,
    "a date": dt.date(2020, 1, 1),
    "empty list": [],
    "nested lists of text": [["a", "b"], ["c", "d"]],
    "not a number": float("nan"),
    "Ellipsis": ...,
}


def _constant(value, expected=REFUSED):
    return expected, lambda _: Odd(value)


def _wrong(*left_out, **changed):
    found = {name: _constant(value) for name, value in WRONG.items() if name not in left_out}
    for name, expected in changed.items():
        found[name.replace("_", " ")] = (expected, found[name.replace("_", " ")][1])
    return found


def _expecting(expected, values, *names):
    """Return values of which those named are expected to give something else."""
    return values | {name: (expected, values[name][1]) for name in names}


# ---- arrays


def _array(change, expected, plain=None):
    def make(value):
        array = np.asarray(value)
        if array.dtype.kind not in "fiuc" or array.size == 0:
            raise DoesNotApply
        with np.errstate(all="ignore"):
            return Odd(change(array.copy()), None if plain is None else plain(array.copy()))

    return expected, make


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


def _backwards(array):
    return array[::-1].copy()[::-1]


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


def _frame(array):
    import pandas as pd

    if array.ndim != 2:
        raise DoesNotApply
    return pd.DataFrame(array, columns=[f"c{j}" for j in range(array.shape[1])])


def _same_layouts():
    return {
        "big-endian": _array(lambda a: a.astype(a.dtype.newbyteorder(">")), SAME),
        "Fortran order": _array(_fortran, SAME),
        "read-only": _array(_read_only, SAME),
        "not contiguous": _array(_apart, SAME),
        "backwards in memory": _array(_backwards, SAME),
        "not aligned": _array(_unaligned, SAME),
        "masked, nothing below": _array(np.ma.array, SAME),
        "nested lists": _array(lambda a: a.tolist(), SAME),
    }


def _not_numbers():
    return {
        "masked": _array(_masked, REFUSED),
        "numbers as text": _array(lambda a: a.astype(str), REFUSED),
        "numbers as bytes": _array(lambda a: a.astype("S"), REFUSED),
        "dates": _array(lambda a: np.zeros(a.shape, "M8[s]"), REFUSED),
        "durations": _array(lambda a: np.zeros(a.shape, "m8[D]"), REFUSED),
        "records": _array(lambda a: np.zeros(a.shape, [("a", float), ("b", int)]), REFUSED),
        "objects with None": _array(lambda a: np.full(a.shape, None), REFUSED),
        "ragged": _array(_ragged, REFUSED),
        "a generator": (REFUSED, lambda _: Odd(i for i in range(3))),
    }


def _real_arrays():
    return {
        **_same_layouts(),
        **_not_numbers(),
        "integers": _array(lambda a: np.round(a).astype(np.int64), EQUAL, np.round),
        "small integers": _array(lambda a: np.clip(np.round(a), -9, 9).astype(np.int8), EQUAL,
                                 lambda a: np.clip(np.round(a), -9, 9)),
        "truth values": _array(lambda a: a > 0, EQUAL, lambda a: (a > 0).astype(float)),
        "float16": _array(_halves, EQUAL, lambda a: _halves(a).astype(np.float32)),
        "big-endian float32": _array(lambda a: a.astype(">f4"), SAME, lambda a: a.astype(np.float32)),
        "extended precision": _array(lambda a: a.astype(np.longdouble), SAME),
        "objects": _array(lambda a: a.astype(object), EQUAL + " or refused"),
        "complex": _array(lambda a: a + 1j, REFUSED),
        "NaN": _array(_with(np.nan), REFUSED),
        "infinity": _array(_with(np.inf), REFUSED),
        "-infinity": _array(_with(-np.inf), REFUSED),
        "all NaN": _array(lambda a: a * np.nan, REFUSED),
        "zeros": _array(np.zeros_like, RIGHT),
        "minus zeros": _array(lambda a: -np.zeros_like(a), RIGHT),
        "no rows": _array(lambda a: a[:0], RIGHT),
        "no columns": _array(lambda a: a[..., :0], RIGHT),
        "a scalar": _array(lambda a: a.flat[0], RIGHT),
        "one more axis": _array(lambda a: a[None], RIGHT),
        "two more axes": _array(lambda a: a[None, None], RIGHT),
        "one axis less": _array(lambda a: a[0], RIGHT),
        "one row": _array(lambda a: a[:1], RIGHT),
        "a row less": _array(lambda a: a[:-1], RIGHT),
        "one column": _array(lambda a: a[..., :1], RIGHT),
        "a column more": _array(lambda a: np.concatenate([a, a[..., :1]], -1), RIGHT),
        "transposed": _array(lambda a: np.swapaxes(a, -1, -2) if a.ndim > 1 else a[:, None], RIGHT),
        "duplicated rows": _array(lambda a: np.broadcast_to(a[:1], a.shape), RIGHT),
        "a constant column": _array(_constant_columns, RIGHT),
        "all equal": _array(lambda a: np.full_like(a, 1.5), RIGHT),
        "scale 1e150": _array(lambda a: a * 2.0**500, RIGHT),
        "scale 1e-150": _array(lambda a: a * 2.0**-500, RIGHT),
        "scale 1e300": _array(lambda a: a * 2.0**997, RIGHT),
        "scale 1e-300": _array(lambda a: a * 2.0**-997, RIGHT),
        "denormal": _array(lambda a: np.sign(a) * 5e-324, RIGHT),
        "mixed scales": _array(lambda a: a * 10.0 ** np.linspace(-150, 150, a.shape[-1]), RIGHT),
        "offset 1e8": _array(lambda a: a + 1e8, RIGHT),
    }  # fmt: skip


def _rows():
    wrong = _wrong("not a number")
    return {**wrong, **_real_arrays(), "a frame": _array(_frame, SAME)}


def _numbers():
    """Return what may come for coefficients, which may be complex, exact or symbols, and NaN."""
    found = {**_wrong("empty list", "not a number"), **_real_arrays()}
    found = _expecting(OTHER, found, "NaN", "infinity", "-infinity", "all NaN")
    found = _expecting(
        RIGHT, found, "complex", "objects", "float16", "truth values", "extended precision", "big-endian float32"
    )
    found = _expecting(
        OTHER, found, "scale 1e150", "scale 1e300", "scale 1e-150", "scale 1e-300", "mixed scales", "denormal"
    )
    found["empty list"] = _constant([], RIGHT)
    return found


def _vector():
    found = _rows()
    for name in ("a frame", "one axis less", "no columns", "one column", "a column more", "duplicated rows"):
        found.pop(name)
    found["a longer one"] = _array(lambda a: np.concatenate([a, a]), RIGHT)
    return found


def _weights():
    found = _vector()
    found["None"] = _constant(None, RIGHT)
    found["a scalar"] = _array(lambda a: a.flat[0], RIGHT)
    found["negative"] = _array(lambda a: -np.abs(a) - 1, REFUSED)
    found["one negative"] = _array(_with(-1.0), REFUSED)
    found["none but one"] = _array(lambda a: np.eye(1, a.size)[0], RIGHT)
    found["zeros"] = _array(np.zeros_like, REFUSED)
    return found


def _targets():
    found = _vector()
    found["two columns"] = _array(lambda a: np.stack([a, -a], -1), RIGHT)
    found["a longer one"] = _array(lambda a: np.concatenate([a, a]), REFUSED)
    found["a row less"] = _array(lambda a: a[:-1], REFUSED)
    found["no rows"] = _array(lambda a: a[:0], REFUSED)
    return found


def _with_label(entry):
    def change(array):
        array = array.astype(object)
        array[0] = entry
        return array

    return change


def _labels():
    def make(change, expected, plain=None):
        return expected, lambda value: Odd(change(np.asarray(value).copy()), None if plain is None else plain(value))

    return {
        **_wrong("empty list", "not a number"),
        "empty list": _constant([]),
        "a list": make(lambda y: y.tolist(), SAME),
        "objects": make(lambda y: y.astype(object), EQUAL),
        "bytes of letters": make(lambda y: y.astype("S"), RIGHT),
        "read-only": make(_read_only, SAME),
        "not contiguous": make(_apart_words, SAME),
        "a column": make(lambda y: y[:, None], RIGHT),
        "two columns": make(lambda y: np.stack([y, y], -1), REFUSED),
        "three axes": make(lambda y: y[:, None, None], REFUSED),
        "a scalar": make(lambda y: y[0], REFUSED),
        "one less": make(lambda y: y[:-1], REFUSED),
        "twice as many": make(lambda y: np.concatenate([y, y]), REFUSED),
        "none": make(lambda y: y[:0], REFUSED),
        "one class": make(lambda y: np.full_like(y, y[0]), REFUSED),
        "a class of one": make(_class_of_one, RIGHT),
        "all different": make(lambda y: np.arange(len(y)), RIGHT),
        "continuous": make(lambda y: np.linspace(0, 1, len(y)) ** 2, REFUSED),
        "truth values": make(lambda y: y == y[0], RIGHT),
        "numbers of classes": make(lambda y: (y == y[0]).astype(np.int8), RIGHT),
        "big-endian numbers": make(lambda y: (y == y[0]).astype(">i4"), EQUAL, lambda y: (y == y[0]).astype(int)),
        "unsigned": make(lambda y: (y == y[0]).astype(np.uint64), EQUAL, lambda y: (y == y[0]).astype(int)),
        "NaN": make(lambda y: np.where(np.arange(len(y)) == 0, np.nan, (y == y[0]) * 1.0), REFUSED),
        "infinity": make(lambda y: np.where(np.arange(len(y)) == 0, np.inf, (y == y[0]) * 1.0), REFUSED),
        "complex": make(lambda y: (y == y[0]) * (1 + 1j), REFUSED),
        "dates": make(lambda y: (y == y[0]).astype("M8[D]"), RIGHT),
        "masked": make(lambda y: np.ma.array((y == y[0]) * 1, mask=np.arange(len(y)) == 0), REFUSED),
        "with None": make(_with_label(None), REFUSED),
        "with a number": make(_with_label(1.5), REFUSED),
        "with NaN": make(_with_label(np.nan), REFUSED),
        "with a list": make(_with_label([1]), REFUSED),
        "long words": make(lambda y: np.where(y == y[0], "w" * 10000, "v"), RIGHT),
        "empty words": make(lambda y: np.where(y == y[0], "", "v"), RIGHT),
        "huge integers": make(lambda y: np.where(y == y[0], 2**62, 2**62 + 1), RIGHT),
        "objects beyond int64": make(lambda y: np.array([10**30 if k == y[0] else 1 for k in y], object), RIGHT),
        "records": make(lambda y: np.zeros(len(y), [("a", float), ("b", int)]), REFUSED),
    }  # fmt: skip


def _class_of_one(labels):
    return np.where(np.arange(len(labels)) == 0, labels[0], next(one for one in labels if one != labels[0]))


def _apart_words(array):
    return np.repeat(array, 2)[::2]


def _index():
    def make(change, expected):
        return expected, lambda value: Odd(change(np.asarray(value).copy()))

    return {
        **_wrong("empty list"),
        "empty list": _constant([], RIGHT),
        "a list": make(lambda i: i.tolist(), SAME),
        "big-endian": make(lambda i: i.astype(">i8"), SAME),
        "int8": make(lambda i: i.astype(np.int8), SAME),
        "uint64": make(lambda i: i.astype(np.uint64), SAME),
        "int32": make(lambda i: i.astype(np.int32), SAME),
        "read-only": make(_read_only, SAME),
        "Fortran order": make(np.asfortranarray, SAME),
        "not contiguous": make(_apart, SAME),
        "masked": make(_masked, REFUSED),
        "floats": make(lambda i: i.astype(float), REFUSED),
        "halves": make(lambda i: i + 0.5, REFUSED),
        "with NaN": make(lambda i: i * np.nan, REFUSED),
        "complex": make(lambda i: i + 1j, REFUSED),
        "truth values": make(lambda i: i > 0, REFUSED),
        "dates": make(lambda i: i.astype("M8[D]"), REFUSED),
        "text of digits": make(lambda i: i.astype(str), REFUSED),
        "objects": make(lambda i: i.astype(object), EQUAL + " or refused"),
        "negative": make(lambda i: -i - 1, RIGHT),
        "out of range": make(lambda i: i + 10**6, REFUSED),
        "far out of range": make(lambda i: i + 2**62, REFUSED),
        "beyond int64": make(lambda i: np.full(i.shape, 2**64 - 1, np.uint64), REFUSED),
        "equal": make(np.zeros_like, RIGHT),
        "a scalar": make(lambda i: i.flat[0], RIGHT),
        "one more axis": make(lambda i: i[None], RIGHT),
        "no rows": make(lambda i: i[:0], RIGHT),
        "no columns": make(lambda i: i[..., :0], RIGHT),
        "one column": make(lambda i: i[..., :1], RIGHT),
        "ragged": make(_ragged, REFUSED),
    }


def _groups():
    found = _labels()
    found = _expecting(
        RIGHT, found, "one class", "a class of one", "all different", "continuous", "truth values", "with a number"
    )
    found["None"] = _constant(None, RIGHT)
    return found


# ---- numbers


def _scalar(change, expected):
    def make(value):
        if not isinstance(value, int | float):
            raise DoesNotApply
        return Odd(change(value))

    return expected, make


def _any_number():
    return {
        **_wrong(),
        "complex": _constant(1 + 1j),
        "-infinity": _constant(-np.inf),
        "infinity": _constant(np.inf),
        "beyond float": _constant(10**400, RIGHT),
        "beyond printing": _constant(10**6000, RIGHT),
        "a list of it": _scalar(lambda v: [v], REFUSED),
        "an array of it": _scalar(lambda v: np.array([v, v]), REFUSED),
        "as text": _scalar(str, REFUSED),
        "NumPy's NaN": _constant(np.float32("nan")),
        "a duration": _constant(np.timedelta64(1, "D")),
        "a decimal NaN": _constant(decimal.Decimal("nan")),
        "true": _constant(True, REFUSED),
        "NumPy's true": _constant(np.True_, REFUSED),
    }


def _count():
    return {
        **_any_number(),
        "zero": _constant(0, RIGHT),
        "minus one": _constant(-1),
        "far below": _constant(-(2**63)),
        "a half": _constant(1.5),
        "as a float": _scalar(float, RIGHT),
        "as a fraction": _scalar(fractions.Fraction, RIGHT),
        "as int64": _scalar(np.int64, SAME),
        "as uint8": _scalar(np.uint8, SAME),
        "one": _constant(1, RIGHT),
        "a million millions": _constant(10**12, RIGHT),
        "2 to the 31": _constant(2**31, RIGHT),
        "2 to the 63": _constant(2**63, RIGHT),
        "unsigned, the largest": _constant(np.uint64(2**64 - 1), RIGHT),
    }


def _number():
    found = _any_number()
    found = _expecting(REFUSED, found, "not a number", "NumPy's NaN", "infinity", "-infinity")
    return found | {
        "zero": _constant(0.0, RIGHT),
        "minus zero": _constant(-0.0, RIGHT),
        "negative": _scalar(lambda v: -abs(v) - 1, RIGHT),
        "as float64": _scalar(np.float64, SAME),
        "as float32": _scalar(np.float32, RIGHT),
        "as a fraction": _scalar(fractions.Fraction, RIGHT),
        "as a decimal": _scalar(decimal.Decimal, RIGHT),
        "1e150": _constant(1e150, RIGHT),
        "1e-150": _constant(1e-150, RIGHT),
        "1e300": _constant(1e300, RIGHT),
        "1e-300": _constant(1e-300, RIGHT),
        "denormal": _constant(5e-324, RIGHT),
        "an integer": _constant(2, RIGHT),
    }


def _positive():
    found = _number()
    found = _expecting(REFUSED, found, "negative")
    found["-infinity"] = _constant(-np.inf)
    return found


def _share():
    found = _positive()
    found = _expecting(REFUSED, found, "zero", "minus zero", "1e150", "1e300", "an integer")
    return found | {"one": _constant(1.0, RIGHT), "above one": _constant(1.0000001)}


def _tolerance():
    found = _positive()
    found = _expecting(REFUSED, found, "1e150", "1e300", "an integer", "beyond float", "beyond printing")
    return found | {"one": _constant(1.0, RIGHT), "None": _constant(None, RIGHT)}


# ---- words and the rest


def _word():
    return {
        **_wrong(),
        "NumPy's": (SAME, lambda value: Odd(np.str_(value))),
        "with a space": (REFUSED, lambda value: Odd(f"{value} ")),
        "in capitals": (RIGHT, lambda value: Odd(str(value).upper())),
        "as bytes": (REFUSED, lambda value: Odd(str(value).encode())),
        "in a list": (REFUSED, lambda value: Odd([value])),
        "in an array": (REFUSED, lambda value: Odd(np.array([value, value]))),
        "a number": _constant(3),
        "true": _constant(True),
        "very long": _constant("w" * 100000),
    }


def _flag():
    return {
        **_wrong("None"),
        "None": _constant(None, RIGHT),
        "NumPy's": (SAME, lambda value: Odd(np.bool_(value))),
        "two": _constant(2),
        "a half": _constant(0.5),
        "yes": _constant("yes"),
        "an array": _constant(np.array([True, False])),
        "a list": _constant([True]),
        "one": _constant(1, RIGHT),
        "zero": _constant(0, RIGHT),
    }


def _rng():
    return {
        **_wrong("None"),
        "None": _constant(None, RIGHT),
        "NumPy's integer": (SAME, lambda value: Odd(np.int64(value))),
        "a RandomState": (RIGHT, lambda _: Odd(np.random.RandomState(0))),
        "minus one": _constant(-1),
        "a float": _constant(1.5),
        "infinity": _constant(np.inf),
        "true": _constant(True),
        "a large seed": _constant(2**100, RIGHT),
        "2 to the 32": _constant(2**32, RIGHT),
        "as text": _constant("0"),
        "a list": _constant([0, 1], RIGHT),
        "negative list": _constant([-1]),
    }


def _shape():
    return {
        **_wrong("empty list"),
        "empty": _constant((), RIGHT),
        "a number": _constant(2, RIGHT),
        "with zero": _constant((2, 0), RIGHT),
        "negative": _constant((-1,)),
        "a half": _constant((1.5,)),
        "text inside": _constant(("2",)),
        "NaN inside": _constant((np.nan,)),
        "None inside": _constant((None,)),
        "true inside": _constant((True,), RIGHT),
        "far too large": _constant((10**12,)),
        "beyond int64": _constant((2**63,)),
        "product beyond int64": _constant((2**32, 2**32)),
        "33 axes": _constant((1,) * 33, RIGHT),
        "65 axes": _constant((1,) * 65, RIGHT),
        "a float": _constant(2.0),
    }


def _function():
    found = _wrong("a function", "a type")
    found["None"] = _constant(None, RIGHT)
    return found | {"a number": _constant(3)}


def _path():
    found = _wrong("text")
    return found | {
        "not there": _constant("/no/such/folder/no such file.npz"),
        "a folder": _constant("/"),
        "a null in it": _constant("a\0b"),
        "very long": _constant("/tmp/" + "w" * 5000),
        "no regular file": _constant("/dev/null"),
        "a number": _constant(3),
    }


def _thing():
    return _wrong() | {"an array": _constant(np.eye(3)), "a number": _constant(3), "a float": _constant(2.5)}


def _dtype():
    return _wrong("a type") | {
        "a type": _constant(int, RIGHT),
        "None": _constant(None, RIGHT),
        "by name": _constant("float32", RIGHT),
        "objects": _constant(object, RIGHT),
        "text": _constant("no such word"),
        "of text": _constant("U5"),
        "of dates": _constant("M8[s]"),
        "of bytes": _constant(bytes),
        "records": _constant([("a", float), ("b", int)]),
        "big-endian": _constant(">f8", RIGHT),
        "float16": _constant(np.float16, RIGHT),
        "complex": _constant(complex, RIGHT),
        "truth values": _constant(bool, RIGHT),
        "an array": _constant(np.eye(3)),
        "a number": _constant(3),
    }


def _limit():
    found = _positive() | {"None": _constant(None, RIGHT)}
    return _expecting(RIGHT, found, "infinity")


def _sequence():
    found = _vector()
    found = _expecting(REFUSED, found, "zeros", "minus zeros", "no rows", "empty list")
    return found | {"negative": _array(lambda a: -np.abs(a) - 1, REFUSED), "None": _constant(None, RIGHT)}


def _names():
    return _wrong("nested lists of text") | {
        "of numbers": _constant([1, 2]),
        "twice the same": _constant(["a", "a"], RIGHT),
        "with None": _constant([None, "a"]),
        "with an empty one": _constant(["", "a"], RIGHT),
        "nested lists of text": _constant([["a"], ["b"]]),
    }


def _text():
    return _wrong("text") | {
        "nonsense": _constant("§ ~~ ?"),
        "a number": _constant(3),
        "very long": _constant("w" * 20000),
        "deep brackets": _constant("(" * 5000),
        "code": _constant("__import__('os').getcwd()"),
        "a power of powers": _constant("e1**9**9**9"),
        "a null in it": _constant("e\0"),
        "NumPy's": (RIGHT, lambda value: Odd(np.str_(value))),
    }


def _element():
    """Return multivectors of other coefficients than a good one's, and what is none.

    A plan that has been used some times is compiled, with other rounding: results are equal, not the same bits.
    """

    def make(change, expected):
        def made(value):
            if not hasattr(value, "keys") or np.asarray(value.coefficients).dtype.kind not in "fiu":
                raise DoesNotApply
            with np.errstate(all="ignore"):
                return Odd(type(value)(value.algebra, value.keys, change(np.asarray(value.coefficients).copy())))

        return expected, made

    return {
        **_wrong("not a number", "nested lists of text"),
        "a number": _constant(2.5, RIGHT),
        "big-endian": make(lambda c: c.astype(">f8"), EQUAL),
        "read-only": make(_read_only, EQUAL),
        "Fortran order": make(np.asfortranarray, EQUAL),
        "not contiguous": make(_apart, EQUAL),
        "float32": make(lambda c: c.astype(np.float32), OTHER),
        "integers": make(lambda c: np.round(c).astype(np.int64), RIGHT),
        "int8": make(lambda c: np.round(c).astype(np.int8), RIGHT),
        "complex": make(lambda c: c + 0.5j, OTHER),
        "objects": make(_fractions, RIGHT),
        "NaN": make(lambda c: c * np.nan, OTHER),
        "infinity": make(lambda c: c + np.inf, OTHER),
        "zeros": make(np.zeros_like, RIGHT),
        "an empty batch": make(lambda c: np.zeros((0, *c.shape), c.dtype), RIGHT),
        "a batch": make(lambda c: np.stack([c, 2 * c]), RIGHT),
        "scale 1e150": make(lambda c: c * 2.0**500, OTHER),
        "scale 1e-150": make(lambda c: c * 2.0**-500, OTHER),
        "scale 1e300": make(lambda c: c * 2.0**997, OTHER),
        "scale 1e-300": make(lambda c: c * 2.0**-997, OTHER),
        "denormal": make(lambda c: np.sign(c) * 5e-324, OTHER),
        "of another algebra": (RIGHT, lambda _: Odd(_other_element())),
        "with a symbol": (RIGHT, _symbolic),
    }  # fmt: skip


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
    return Odd(type(value)(value.algebra, value.keys, entries))


KINDS = {
    "rows": _rows(),
    "vector": _vector(),
    "numbers": _numbers(),
    "index": _index(),
    "labels": _labels(),
    "targets": _targets(),
    "weights": _weights(),
    "groups": _groups(),
    "count": _count(),
    "number": _number(),
    "positive": _positive(),
    "share": _share(),
    "tolerance": _tolerance(),
    "word": _word(),
    "flag": _flag(),
    "rng": _rng(),
    "shape": _shape(),
    "function": _function(),
    "path": _path(),
    "element": _element(),
    "owner": {name: pair for name, pair in _element().items() if name not in WRONG and name != "a number"},
    "thing": _thing(),
    "dtype": _dtype(),
    "limit": _limit(),
    "sequence": _sequence(),
    "names": _names(),
    "text": _text(),
}
