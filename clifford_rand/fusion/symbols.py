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
from clifford_rand.fusion.path import Operand, Path, operands_of, path_of
from clifford_rand.multivector.multivector import Multivector

_SAMPLES = 32  # values of the symbols: one is traced, all are compared
_DRAWS = 200  # until the function takes as many
_SIZES = (-5.0, 3.0)  # logarithms, base 2
_AGREEMENT = 1e-6  # relative to the largest component


class _Sample(NamedTuple):
    """Numbers in the place of symbols: the arguments, their components, and what the function returns."""

    args: list[Any]
    rows: list[list[float]]
    result: Any


def held_symbols(args: Sequence[Any], axes: Sequence[int | None]) -> tuple[Any, ...]:
    """Return the symbols that arguments hold, () where SymPy's expressions are not among them."""
    arrays = [operand.array for operand in operands_of(args, axes) if operand.array.dtype == object]
    if not any(hasattr(entry, "free_symbols") for array in arrays for entry in array.flat):
        return ()
    from clifford_rand.symbolic.coefficients import symbols_in

    return symbols_in(np.concatenate([array.ravel() for array in arrays]))


def of_symbols(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    axes: Sequence[int | None],
    refusal: Exception,
) -> list[Any]:
    """Return the results of the elements of a batch, each a batch of one element; of no batch one result.

    Raises ``refusal``, the function's own error, where it cannot be traced.
    """
    operands = operands_of(args, axes)
    shape = np.broadcast_shapes(*(operand.batch for operand in operands))
    if not all(shape):
        raise _refused(function, refusal)
    results = []
    for index in np.ndindex(shape):
        rows = [_element(operand, shape, index) for operand in operands]
        results.append(_of_one(function, args, kwargs, operands, rows, (1,) if shape else (), refusal))
    return results


def _element(operand: Operand, shape: tuple[int, ...], index: tuple[int, ...]) -> NDArray[Any]:
    own = operand.array.shape[operand.array.ndim - operand.axes :]
    return np.asarray(np.broadcast_to(operand.array, (*shape, *own))[index])


def _of_one(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    operands: Sequence[Operand],
    rows: Sequence[NDArray[Any]],
    batch: tuple[int, ...],
    refusal: Exception,
) -> Any:
    from clifford_rand.symbolic.programs import exact, expressions_of, node_values, results_of

    expressions = [[exact(value) for value in array.ravel().tolist()] for array in rows]
    samples = _samples(function, args, kwargs, operands, rows, expressions, refusal)
    first = samples[0]
    try:
        path = path_of(function, first.result, first.args, kwargs, operands_of(first.args, _axes(operands)), "symbols")
    except Exception as error:  # whatever the function does that traced values cannot
        raise _refused(function, refusal) from error
    known = [node_values(path.program, sample.rows) for sample in samples]
    components = expressions_of(path.program, expressions, known)
    answers = [row for part, row in zip(path.parts, components, strict=True) if part.kind is np.bool_]
    if any(answer.free_symbols for row in answers for answer in row) or not all(
        _agree(_built(path, results_of(path.program, values), np.float64, ()), sample.result)
        for sample, values in zip(samples, known, strict=True)
    ):
        hint = "Substitute numbers first, as by A.subs, or state assumptions, as Symbol(…, positive=True)."
        received = describe("symbols whose values decide between formulas")
        raise fail("arguments", function.__name__, "symbols that one formula holds for", received, hint) from refusal
    return _built(path, components, object, batch)


def _refused(function: Callable[..., Any], error: Exception) -> ArgumentError:
    """Return the function's own error, or that it takes no symbols."""
    if isinstance(error, ArgumentError):
        return error
    hint = "Substitute numbers first, as by A.subs."
    return fail("arguments", function.__name__, "numbers", describe("symbols"), hint)


def _axes(operands: Sequence[Operand]) -> list[int | None]:
    """Return the axes of one object for each argument, None for what is part of the code."""
    axes: list[int | None] = [None] * (1 + max(operand.place for operand in operands))
    for place, _, own in operands:
        axes[place] = own
    return axes


def _samples(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    operands: Sequence[Operand],
    rows: Sequence[NDArray[Any]],
    expressions: Sequence[Sequence[Any]],
    refusal: Exception,
) -> list[_Sample]:
    """Return random values that the function takes; its error where there are none."""
    samples: list[_Sample] = []
    error: Exception = refusal
    for numbers in _draws(expressions):
        values = [np.array(row).reshape(array.shape) for row, array in zip(numbers, rows, strict=True)]
        numeric = list(args)
        for (place, _, _), array in zip(operands, values, strict=True):
            value = args[place]
            numeric[place] = value.algebra.new(value.keys, array) if isinstance(value, Multivector) else array
        try:
            samples.append(_Sample(numeric, numbers, function(*numeric, **kwargs)))
        except ArgumentError as reason:
            error = reason
        except Exception:  # such as a singular matrix: not for these values
            continue
        if len(samples) == _SAMPLES:
            break
    if not samples:
        raise _refused(function, error)
    missing = [_missing(sample.result) for sample in samples]  # NaN, such as the angle of spheres that do not meet
    return [sample for sample, count in zip(samples, missing, strict=True) if count == min(missing)]


def _missing(result: Any) -> int:
    """Return how many numbers of a result are NaN."""
    fields = fields_of(result)
    if fields is not None:
        return sum(map(_missing, fields))
    array = np.asarray(getattr(result, "coefficients", result))
    return int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0


def _draws(expressions: Sequence[Sequence[Any]]) -> Iterator[list[list[float]]]:
    """Return finite real values of expressions for random values of their symbols."""
    from clifford_rand.symbolic.coefficients import numpy_function, symbols_in

    flat = [value for row in expressions for value in row]
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    symbols = symbols_in(array)
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
    return bool(np.allclose(x, y, rtol=0, atol=_AGREEMENT * size + 1e-12, equal_nan=True))
