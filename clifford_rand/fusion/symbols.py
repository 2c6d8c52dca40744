"""Specialized functions of symbols: traced along numbers in their place, the trace evaluated with the symbols.

The result holds for generic values: those of the branch that all of several random values take, which have to give what
the function gives. Where they differ the function has no one formula, and symbols are refused.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import NDArray
from clifford_rand.errors import ArgumentError
from clifford_rand.fusion.kernel import fields_of
from clifford_rand.fusion.path import AGREEMENT, NOISE, Operand, Path, floats_in, operands_of, path_of
from clifford_rand.multivector.multivector import Multivector

_SAMPLES = 32  # values of the symbols: one is traced, all are compared
_DRAWS = 200  # until the function takes as many
_SIZES = (-5.0, 3.0)  # logarithms, base 2


class _Call(NamedTuple):
    """A function, its arguments, and the error by which it refuses symbols."""

    function: Callable[..., Any]
    args: Sequence[Any]
    kwargs: dict[str, Any]
    axes: Sequence[int]
    operands: Sequence[Operand]
    refusal: Exception

    def refused(self, error: Exception) -> ArgumentError:
        """Return the function's own error, or that it takes no symbols."""
        if isinstance(error, ArgumentError):
            return error
        hint = "Substitute numbers first, as by A.subs."
        return fail("arguments", self.function.__name__, "numbers", describe("symbols"), hint)


class _Sample(NamedTuple):
    """Numbers in the place of symbols: the arguments, their components, and what the function returns."""

    args: list[Any]
    rows: list[list[float]]
    result: Any


def holds_symbols(args: Sequence[Any], axes: Sequence[int]) -> bool:
    """Tell whether arguments hold SymPy's symbols."""
    try:
        arrays = [operand.array for operand in operands_of(args, axes)]
    except ValueError:  # rows of several lengths, which the function itself refuses
        return False
    return any(getattr(x, "free_symbols", None) for array in arrays if array.dtype == object for x in array.flat)


def of_symbols(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    axes: Sequence[int],
    refusal: Exception,
) -> tuple[list[Any], tuple[int, ...]]:
    """Return the results of the elements of a batch, each a batch of one element, and its axes; else one result and ().

    Raises ``refusal``, the function's own error, where it cannot be traced.
    """
    call = _Call(function, args, kwargs, axes, operands_of(args, axes), refusal)
    shape = np.broadcast_shapes(*(operand.batch for operand in call.operands))
    if not all(shape):
        raise call.refused(refusal)
    elements = ([_element(operand, shape, index) for operand in call.operands] for index in np.ndindex(shape))
    return [_of_one(call, arrays, (1,) if shape else ()) for arrays in elements], shape


def _element(operand: Operand, shape: tuple[int, ...], index: tuple[int, ...]) -> NDArray[Any]:
    own = operand.array.shape[operand.array.ndim - operand.axes :]
    return np.asarray(np.broadcast_to(operand.array, (*shape, *own))[index])


def _of_one(call: _Call, arrays: Sequence[NDArray[Any]], batch: tuple[int, ...]) -> Any:
    """Return the result of one element, whose operands have the components of ``arrays``."""
    from clifford_rand.symbolic.closed_forms import exact, expressions_of, node_values, results_of

    expressions = [[exact(value) for value in array.ravel().tolist()] for array in arrays]
    samples = _samples(call, arrays, expressions)
    first = samples[0]
    try:
        operands = operands_of(first.args, call.axes)
        path = path_of(call.function, first.result, first.args, call.kwargs, operands, "symbols")
    except Exception as error:  # whatever the function does that traced values cannot
        raise call.refused(call.refusal) from error
    known = [node_values(path.program, sample.rows) for sample in samples]
    components = expressions_of(path.program, expressions, known)
    answers = [row for part, row in zip(path.parts, components, strict=True) if part.kind is np.bool_]
    if any(answer.free_symbols for row in answers for answer in row) or not all(
        _agree(_built(path, results_of(path.program, values), np.float64, ()), sample.result)
        for sample, values in zip(samples, known, strict=True)
    ):
        rule, received = "symbols that one formula holds for", describe("symbols whose values decide between formulas")
        hint = "Substitute numbers first, as by A.subs, or state assumptions, as Symbol(…, positive=True)."
        raise fail("arguments", call.function.__name__, rule, received, hint) from call.refusal
    return _built(path, components, object, batch)


def _samples(call: _Call, arrays: Sequence[NDArray[Any]], expressions: Sequence[Sequence[Any]]) -> list[_Sample]:
    """Return random values that the function takes; its error where there are none."""
    samples: list[_Sample] = []
    error = call.refusal
    for rows in _draws(expressions):
        args = list(call.args)
        for (place, _, _), row, array in zip(call.operands, rows, arrays, strict=True):
            value, numbers = args[place], np.array(row).reshape(array.shape)
            args[place] = value.algebra.new(value.keys, numbers) if isinstance(value, Multivector) else numbers
        try:
            samples.append(_Sample(args, rows, call.function(*args, **call.kwargs)))
        except ArgumentError as reason:
            error = reason
        except Exception:  # such as a singular matrix: not for these values
            continue
        if len(samples) == _SAMPLES:
            break
    if not samples:
        raise call.refused(error)
    # NaN, such as the angle of spheres that do not meet
    missing = [sum(int(np.isnan(x).sum()) for x in floats_in(sample.result)) for sample in samples]
    return [sample for sample, count in zip(samples, missing, strict=True) if count == min(missing)]


def _draws(expressions: Sequence[Sequence[Any]]) -> Iterator[list[list[float]]]:
    """Return finite real values of expressions for random values of their symbols."""
    from clifford_rand.symbolic.coefficients import numpy_function, symbols_in

    flat = [value for row in expressions for value in row]
    symbols = symbols_in(np.array(flat, dtype=object))
    compiled, rng = numpy_function(symbols, flat), np.random.default_rng(0)
    for _ in range(_DRAWS):
        known = [_value(symbol, rng) for symbol in symbols]
        try:
            with np.errstate(all="ignore"):
                values = np.array([complex(value) for value in compiled(*known)])
        except (ArithmeticError, TypeError, ValueError, NameError, AttributeError):  # what NumPy has no function for
            return
        if np.isfinite(values).all() and not values.imag.any():
            left = iter(values.real.tolist())
            yield [[next(left) for _ in row] for row in expressions]


def _value(symbol: Any, rng: np.random.Generator) -> Any:
    """Return a random value that the assumptions of a symbol allow."""
    if symbol.is_integer:
        return int(rng.integers(1, 6)) * (-1 if symbol.is_nonpositive else 1)
    size = 2.0 ** rng.uniform(*_SIZES)
    if symbol.is_nonnegative:
        return size
    return -size if symbol.is_nonpositive or rng.random() < 0.5 else size


def _built(path: Path, components: Sequence[Sequence[Any]], dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return a result from the components of its parts."""
    parts = []
    for part, row in zip(path.parts, components, strict=True):
        array = np.empty((len(row), 1), dtype=dtype)
        array[:, 0] = row
        parts.append(part.wrap(array, shape))
    return path.build(parts, shape)


def _agree(a: Any, b: Any) -> bool:
    """Tell whether two results are equal to rounding."""
    fields = fields_of(b)
    if fields is not None:
        return all(map(_agree, fields_of(a) or [], fields))
    if isinstance(b, Multivector):
        return a.keys is b.keys and _agree(a.coefficients, b.coefficients)
    if not isinstance(b, np.ndarray | np.generic | float) or np.asarray(b).dtype.kind not in "fb":
        return bool(np.all(a == b))
    x, y = (np.asarray(value, dtype=np.float64) for value in (a, b))
    size = np.max(np.abs(y), initial=0, where=np.isfinite(y))
    return bool(np.allclose(x, y, rtol=0, atol=AGREEMENT * size + NOISE, equal_nan=True))
