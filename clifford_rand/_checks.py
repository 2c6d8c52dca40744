"""Argument checks shared by both packages: one error sentence, real float arrays, random generators."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand.errors import ArgumentError

__all__ = ["as_generator", "as_real", "as_rows", "check_choice", "check_integer", "check_positive", "fail"]

_LONGEST_VALUE = 80  # characters of a repr that still read well in one error line


def fail(name: str, owner: str, rule: str, value: object, hint: str = "") -> ArgumentError:
    """Return the library's one error sentence as an exception to raise.

    Examples
    --------
    >>> print(fail("r", "SJLT", "a positive integer", 0))
    The 'r' parameter of SJLT must be a positive integer. Got 0 instead.
    """
    shown = value if isinstance(value, _Shown) else repr(value)
    text = str(shown)
    if len(text) > _LONGEST_VALUE:
        text = text[: _LONGEST_VALUE - 1] + "…"
    sentence = f"The {name!r} parameter of {owner} must be {rule}. Got {text} instead."
    return ArgumentError(f"{sentence} {hint}" if hint else sentence)


class _Shown(str):
    """A value already worded for the reader, not to be quoted again."""


def describe(text: str) -> str:
    """Mark ``text`` as worded for the reader, so that `fail` prints it without quotes."""
    return _Shown(text)


def as_real(value: ArrayLike, name: str, owner: str, *, min_ndim: int = 0, finite: bool = True) -> NDArray[Any]:
    """Return ``value`` as a float32 or float64 array.

    float32 and float64 are kept, float16 becomes float32, integers and booleans become float64, and so does
    extended precision. Complex, object and text arrays are refused, and so are NaN and infinity if ``finite``.
    """
    array = np.asarray(value)
    if array.dtype.kind in "biu" or array.dtype == np.longdouble:
        array = array.astype(np.float64)
    elif array.dtype == np.float16:
        array = array.astype(np.float32)
    if array.dtype not in (np.float32, np.float64):
        raise fail(name, owner, "an array of real numbers", describe(f"dtype {array.dtype}"))
    if array.ndim < min_ndim:
        raise fail(name, owner, f"an array with at least {min_ndim} axes", describe(f"shape {array.shape}"))
    with np.errstate(over="ignore", invalid="ignore"):
        doubtful = finite and not np.isfinite(array.sum())  # a finite sum has finite terms, and needs no second array
    if doubtful and not np.isfinite(array).all():
        bad = int(array.size - np.count_nonzero(np.isfinite(array)))
        raise fail(name, owner, "finite", describe(f"{bad} NaN or infinite of {array.size} entries"))
    return array


def as_rows(X: ArrayLike, owner: str) -> NDArray[np.float64]:
    """Return ``X`` as a float64 (n, d) array, n ≥ 1 and d ≥ 1; one that is float64 is not copied."""
    data = np.asarray(as_real(X, "X", owner), dtype=np.float64)
    if data.ndim != 2 or 0 in data.shape:
        raise fail("X", owner, "an (n, d) array with n ≥ 1 and d ≥ 1", describe(f"shape {data.shape}"))
    return data


def check_integer(
    value: object, name: str, owner: str, *, low: int = 1, high: int | None = None, hint: str = ""
) -> int:
    """Return ``value`` as an int in ``[low, high]``."""
    rule = f"an integer ≥ {low}" if high is None else f"an integer from {low} to {high}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise fail(name, owner, rule, value, hint)
    if value < low or (high is not None and value > high):
        raise fail(name, owner, rule, int(value), hint)
    return int(value)


def check_positive(value: object, name: str, owner: str, hint: str = "") -> float:
    """Return ``value`` as a finite float > 0."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise fail(name, owner, "a finite number > 0", value, hint)
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        raise fail(name, owner, "a finite number > 0", value, hint)
    return number


def check_choice(value: object, name: str, owner: str, choices: Sequence[object]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        raise fail(name, owner, "one of " + ", ".join(repr(choice) for choice in choices), value)


def as_generator(rng: object, owner: str) -> np.random.Generator:
    """Return a generator: ``rng`` itself, one seeded by an integer, or a fresh one for None."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise fail("rng", owner, "a numpy.random.Generator, an integer ≥ 0 or None", rng)
    return np.random.default_rng(int(rng))
