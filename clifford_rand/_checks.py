"""Argument checks shared by both packages: one error sentence, arrays of numbers, words, counts, sizes, generators."""

import functools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np

from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.errors import ArgumentError

_Choice = TypeVar("_Choice")
_Function = TypeVar("_Function", bound=Callable[..., Any])

SMALLEST_SIZE, _LARGEST_SIZE = 1e-75, 1e75  # of data: products of two of their squares are within float64
_SMALLEST_SQUARED, _LARGEST_SQUARED = 1e-151, 1e152  # of data: sums of their squares are within float64
_LONGEST_VALUE = 80  # characters of a repr that still read well in one error line
_LONGEST_TOLD = 400  # of what is worded for the reader: paths of files come with what is wrong in them
_MOST_AXES, _LARGEST_AXIS = 60, 2**62  # of a shape: NumPy has 64 axes, and some are added
_KINDS = {"b": "truth values", "i": "integers", "f": "floats", "c": "complex numbers", "O": "objects"}
_MOST_DIGITS = 4300  # of an integer that Python writes out, see sys.set_int_max_str_digits


def fail(name: str, owner: str, rule: str, value: object, hint: str = "") -> ArgumentError:
    """Return the library's one error sentence as an exception to raise.

    Examples
    --------
    >>> print(fail("r", "SJLT", "a positive integer", 0))
    The 'r' parameter of SJLT must be a positive integer. Got 0 instead.
    """
    if isinstance(value, int) and value.bit_length() > 3 * _MOST_DIGITS:
        value = _Shown(quantity(value, ""))
    try:
        text, most = (str(value), _LONGEST_TOLD) if isinstance(value, _Shown) else (repr(value), _LONGEST_VALUE)
    except ValueError:  # a list with such an integer
        text, most = f"a {type(value).__name__}", _LONGEST_VALUE
    text = " ".join(line.strip() for line in text.splitlines())  # of arrays and tables, too, one line
    if len(text) > most:
        text = text[: most - 1] + "…"
    sentence = f"The {name!r} parameter of {owner} must be {rule}. Got {text} instead."
    return ArgumentError(f"{sentence} {hint}" if hint else sentence)


class _Shown(str):
    """A value already worded for the reader, not to be quoted again."""


def describe(text: str) -> str:
    """Mark ``text`` as worded for the reader, so that `fail` prints it without quotes."""
    return _Shown(text)


def wrong_algebra(algebra: object, owner: str, name: str, model: str, make: str) -> ArgumentError:
    """Return the error of an argument that is not the algebra of a model, or not a multivector of it."""
    if name == "algebra":
        return fail(name, owner, model, algebra, f"Make one with {make}.")
    return fail(name, owner, f"a multivector of {model}", algebra, f"Use {make}.convert({name}), which matches names.")


# ---- arrays


def as_array(value: ArrayLike, name: str, owner: str) -> NDArray[Any]:
    """Return ``value`` as an array in the machine's byte order; masked entries and ragged rows are refused."""
    if (type(value) is np.ndarray and value.dtype.isnative) or hasattr(value, "multivector"):  # of traced scalars
        return cast(NDArray[Any], value)
    if is_masked(value):
        raise fail(name, owner, "without masked entries", describe("some masked"), "Fill them, or leave the rows out.")
    try:
        array: NDArray[Any] = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        hint = f"NumPy says: {error}"
        rule = "an array of numbers" if isinstance(error, TypeError) else "an array, its rows of one length"
        raise fail(name, owner, rule, describe(f"a {type(value).__name__}"), hint) from error
    if array.dtype.isnative:
        return array
    # of numbers the dtype itself, not an equal one: what asks by `is` takes the same way
    kind = array.dtype.type if array.dtype.kind in "biufc" else array.dtype.newbyteorder("=")
    return array.astype(kind)


def is_masked(value: object) -> bool:
    """Tell whether an array, or one in a list of lists, has masked entries; numpy.ma is not imported for it."""
    if isinstance(value, np.ndarray):
        return bool(np.any(getattr(value, "mask", False)))
    if not isinstance(value, list | tuple):
        return False
    return any(is_masked(part) for part in value if isinstance(part, np.ndarray | list | tuple))


def as_real(value: ArrayLike, name: str, owner: str, *, min_ndim: int = 0, finite: bool = True) -> NDArray[Any]:
    """Return ``value`` as a float32 or float64 array: float16 becomes float32, integers and wider floats float64.

    Complex, object, date and text arrays are refused, and so are masked entries, and NaN and infinity if ``finite``.
    """
    array = as_array(value, name, owner)
    if array.dtype.kind in "biu" or array.dtype == np.longdouble:
        array = array.astype(np.float64)
    elif array.dtype == np.float16:
        array = array.astype(np.float32)
    if array.dtype not in (np.float32, np.float64):
        raise fail(name, owner, "an array of real numbers", describe(f"dtype {array.dtype}"))
    if array.ndim < min_ndim:
        raise fail(name, owner, f"an array with at least {min_ndim} axes", describe(f"shape {array.shape}"))
    if not finite:
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        doubtful = not np.isfinite(array.sum())  # a finite sum has finite terms, and needs no second array
    if doubtful and not np.isfinite(array).all():
        bad = int(array.size - np.count_nonzero(np.isfinite(array)))
        raise fail(name, owner, "finite", describe(f"{bad} NaN or infinite of {array.size} entries"))
    return array


def extremes(array: NDArray[Any]) -> tuple[Any, Any]:
    """Return the smallest and the largest entry, both NaN where one is; sooner than ``min`` and ``max`` of few."""
    return array.item(array.argmin()), array.item(array.argmax())


def check_array(
    value: object, name: str, owner: str, shape: tuple[int | None, ...], dtype: type[np.generic] = np.float64
) -> NDArray[Any]:
    """Return ``value`` if it is an array of this type and shape, None being any length; nothing is converted."""
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != len(shape):
        received = type(value).__name__
        if isinstance(value, np.ndarray):
            received = f"dtype {value.dtype}, shape {value.shape}"
        raise fail(name, owner, f"an array of {np.dtype(dtype)} with {len(shape)} axes", describe(received))
    if any(wanted is not None and wanted != length for wanted, length in zip(shape, value.shape, strict=True)):
        lengths = ("any" if length is None else str(length) for length in shape)
        rule = "of shape (" + ", ".join(lengths) + ("," if len(shape) == 1 else "") + ")"
        raise fail(name, owner, rule, describe(f"shape {value.shape}"))
    return value


def check_length(shape: tuple[int, ...], n: int, name: str, owner: str, noun: str) -> None:
    """Raise unless an array of this shape has an entry for each of n rows: "Got 1 target for 2 rows"."""
    if shape[:1] != (n,):
        entries = f"{shape[0]} {noun}{'s' * (shape[0] != 1)}" if shape else "a number"
        raise fail(name, owner, f"one {noun} for each row", describe(f"{entries} for {n} row{'s' * (n != 1)}"))


def check_broadcast(name: str, owner: str, shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    """Raise where two batch shapes do not broadcast: called once NumPy has said so in its own words."""
    try:
        np.broadcast_shapes(shape, other)
    except ValueError:
        rule = f"of a batch shape that broadcasts with {shape}"
        hint = "Axes are matched from the last; A[:, None] adds one."
        raise fail(name, owner, rule, describe(f"batch shape {other}"), hint) from None


def _shape_of(value: Any) -> tuple[int, ...]:
    try:
        return tuple(np.shape(value))
    except (TypeError, ValueError):  # a list of multivectors
        return ()


def one_batch(function: _Function) -> _Function:
    """Return the function with the library's error where NumPy raises that batch shapes do not broadcast."""

    @functools.wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except ValueError as error:
            if isinstance(error, ArgumentError) or "broadcast" not in str(error):
                raise
            shapes = ", ".join(str(shape) for shape in map(_shape_of, (*arguments, *options.values())) if shape)
            rule = "such that their batch shapes broadcast"
            hint = "Axes are matched from the last; A[:, None] adds one."
            raise fail("arguments", function.__name__, rule, describe(f"shapes {shapes}"), hint) from None

    return cast(_Function, checked)


def refuse_unreal(value: Any, name: str, owner: str, hint: str = "Convert it to numbers first.") -> None:
    """Refuse masked, text and date entries of an array, lists or a data frame, which a conversion would let pass."""
    frame = hasattr(value, "dtypes") and hasattr(value, "columns")
    array = None if frame else as_array(value, name, owner)
    dtypes = [array.dtype] if array is not None else list(value.dtypes)
    for dtype in dtypes:
        if getattr(dtype, "kind", "O") in tuple("USMmV"):
            raise fail(name, owner, "real numbers", describe(f"dtype {dtype}"), hint)
    if any(getattr(dtype, "kind", "O") == "O" for dtype in dtypes):
        entries = np.asarray(value, dtype=object).ravel()
        text = next((entry for entry in entries if isinstance(entry, str | bytes)), None)
        if text is not None:
            raise fail(name, owner, "real numbers", text, hint)


def check_size(array: NDArray[Any], name: str, owner: str) -> None:
    """Raise where products of squares of the largest entries are beyond float64; all zero is fine."""
    hint = "Multiply it by a power of two, and the penalty's weight with it."
    _check_largest(array, name, owner, (SMALLEST_SIZE, _LARGEST_SIZE), "fourth powers", hint)


def check_squares(array: NDArray[Any], name: str, owner: str) -> None:
    """Raise where squares of the largest entries are beyond float64; all zero is fine."""
    hint = "Multiply it by a power of two."
    _check_largest(array, name, owner, (_SMALLEST_SQUARED, _LARGEST_SQUARED), "squares", hint)


def _check_largest(
    array: NDArray[Any], name: str, owner: str, limits: tuple[float, float], powers: str, hint: str
) -> None:
    largest = float(max(array.max(initial=0.0), -array.min(initial=0.0)))
    if largest and not limits[0] <= largest <= limits[1]:
        rule = f"of a size whose {powers} float64 can hold, from {limits[0]:g} to {limits[1]:g}"
        raise fail(name, owner, rule, describe(f"entries up to {largest:.1e}"), hint)


def as_rows(X: ArrayLike, owner: str) -> NDArray[np.float64]:
    """Return ``X`` as a float64 (n, d) array, n ≥ 1 and d ≥ 1; one that is float64 is not copied."""
    data = np.asarray(as_real(X, "X", owner), dtype=np.float64)
    if data.ndim != 2 or 0 in data.shape:
        raise fail("X", owner, "an (n, d) array with n ≥ 1 and d ≥ 1", describe(f"shape {data.shape}"))
    return data


# ---- numbers, words and truth values: NumPy's scalars are as good as Python's

_NO_NUMBERS = (bool, np.bool_, np.timedelta64)  # though Python and NumPy derive them from integers


def is_whole(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Tell whether ``value`` is an integer of Python or NumPy, which truth values and durations are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, _NO_NUMBERS)


def check_integer(
    value: object, name: str, owner: str, *, low: int = 1, high: int | None = None, hint: str = ""
) -> int:
    """Return ``value`` as an int in ``[low, high]``."""
    largest = high if high is None or abs(high) < 10**15 else quantity(high, "")
    rule = f"an integer ≥ {low}" if high is None else f"an integer from {low} to {largest}"
    if not is_whole(value):
        raise fail(name, owner, rule, value, hint)
    if value < low or (high is not None and value > high):
        raise fail(name, owner, rule, int(value), hint)
    return int(value)


def check_number(
    value: object, name: str, owner: str, rule: str, holds: Callable[[float], bool], hint: str = ""
) -> float:
    """Return ``value`` as a float of which ``holds`` is true, as ``rule`` says in words."""
    if isinstance(value, _NO_NUMBERS) or not isinstance(value, int | float | np.integer | np.floating):
        raise fail(name, owner, rule, value, hint)
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 308 digits
        number = math.inf
    if not holds(number):
        raise fail(name, owner, rule, value, hint)
    return number


def check_positive(value: object, name: str, owner: str, hint: str = "") -> float:
    """Return ``value`` as a finite float > 0."""
    return check_number(value, name, owner, "a finite number > 0", lambda x: 0 < x < math.inf, hint)


def check_tolerance(rtol: object, default: float, owner: str, name: str = "rtol") -> float:
    """Return ``rtol`` as a float in [0, 1), or ``default`` for None."""
    if rtol is None:
        return default
    return check_number(rtol, name, owner, "None or a number in [0, 1)", lambda x: 0 <= x < 1)


def check_choice(value: object, name: str, owner: str, choices: Sequence[_Choice]) -> _Choice:
    """Return the one of ``choices`` that ``value`` is: equal to it and of its type, NumPy's scalars as Python's."""
    plain = value.item() if isinstance(value, np.generic) else value
    for choice in choices:
        if plain is choice or (type(plain) is type(choice) and plain == choice):
            return choice
    raise fail(name, owner, "one of " + ", ".join(repr(choice) for choice in choices), value)


def check_bool(value: object, name: str, owner: str) -> bool:
    """Return ``value`` as a bool: True or False, of Python or of NumPy."""
    return check_choice(value, name, owner, (True, False))


def check_shape(value: object, name: str, owner: str) -> tuple[int, ...]:
    """Return a shape: an integer ≥ 0, or a tuple or list of them."""
    listed = value if isinstance(value, tuple | list) else (value,)
    if not all(is_whole(size) and 0 <= size <= _LARGEST_AXIS for size in listed):
        raise fail(name, owner, "an integer from 0 to 2^62 or a tuple of them", value)
    if len(listed) > _MOST_AXES:
        raise fail(name, owner, f"of at most {_MOST_AXES} axes", describe(f"{len(listed)} axes"))
    return tuple(map(int, listed))


def check_dtype(value: Any, name: str, owner: str, kinds: str = "biufcO") -> np.dtype[Any]:
    """Return the type of numbers that ``value`` names, of a kind that NumPy has among ``kinds``."""
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError, SyntaxError):
        dtype = None
    if dtype is None or dtype.kind not in kinds:
        rule = " or ".join(word for kind, word in _KINDS.items() if kind in kinds)
        raise fail(name, owner, f"a dtype of {rule}", value)
    native: np.dtype[Any] = dtype.newbyteorder("=")
    return native


def check_path(value: object, name: str, owner: str) -> Path:
    """Return the path that a text or a path of Python names."""
    file = value.__fspath__() if isinstance(value, os.PathLike) else value
    if not isinstance(file, str) or not file or "\0" in file:
        raise fail(name, owner, "the path of a file or a folder", value)
    return Path(file)


def check_instance(value: object, kinds: Any, name: str, owner: str, rule: str) -> None:
    """Raise for what is not an instance of ``kinds``."""
    if not isinstance(value, kinds):
        raise fail(name, owner, rule, value)


def check_listed(value: object, name: str, owner: str, rule: str) -> list[Any]:
    """Return the entries of a sequence as a list: of a list, a tuple, a generator, not of a text or a set."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set):
        try:
            return list(value)
        except TypeError:  # an array or a tensor without an axis
            pass
    raise fail(name, owner, rule, value)


def as_generator(rng: object, owner: str, name: str = "rng") -> np.random.Generator:
    """Return ``rng`` itself if it is a generator, one seeded by an integer or a RandomState, a fresh one for None."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, np.random.RandomState):
        return np.random.default_rng(rng.randint(2**31 - 1, size=4))
    if rng is None:
        return np.random.default_rng()
    if not is_whole(rng) or rng < 0:
        raise fail(name, owner, "a numpy.random.Generator, an integer ≥ 0 or None", rng)
    return np.random.default_rng(int(rng))


# ---- sizes


def check_fits(
    needed: int, name: str, owner: str, *, unit: str = "bytes", limit: float | None = None, hint: str = ""
) -> None:
    """Refuse what would take more than ``limit``, by default of the memory of this machine: say what it would take."""
    most = machine_memory() if limit is None else limit
    if needed > most:
        what = quantity(most, unit) + (", the memory of this machine," if limit is None else "")
        raise fail(name, owner, f"such that {what} are enough", describe(f"a need of {quantity(needed, unit)}"), hint)


def quantity(count: float, unit: str = "bytes") -> str:
    """Return a count in words, however large: 1.5 GiB, 1000000 columns, 10^1000 subsets."""
    if unit == "bytes" and 2**10 <= count < 2**60:
        power = int(math.log2(count)) // 10
        return f"{count / 2 ** (10 * power):.3g} {' KMGTP'[power]}iB"
    if count == math.inf:
        return f"infinitely many {unit}".rstrip()
    form = "{:.15g}" if count < 10**15 else "{:.3g}"
    number = form.format(count) if count < 10**300 else f"10^{int(math.log10(count))}"
    return f"{number} {unit}".rstrip()


def machine_memory() -> float:
    """Return the bytes of memory of this machine; infinity where it does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # Windows
        return math.inf
