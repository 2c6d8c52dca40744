"""Functions of one object that are specialized by their arguments: traced along an example, for one and for batches.

A call with arguments of a new kind (blades, dtypes, shapes) runs the function as it is, then traces it with the same
values (`fusion.path`); the result of the trace has to be that of the function. Later calls of the kind run the path, or
another one that was traced where guards failed:

* one object: as Python's numbers, without arrays and without compiling;
* batches of `COMPILED_FROM` elements and more: one compiled loop (`fusion.kernel`), from the disk if it is there;
  smaller ones by the function itself;
* tensors of torch and JAX: as operations of their library, which differentiate;
* symbols, where the function itself refuses them: as expressions (`fusion.symbols`).

Exact numbers and whatever is not traced run the function itself.
"""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from clifford_rand._checks import describe, fail, is_masked
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import beside, is_tensor, namespace, values_of
from clifford_rand.errors import ArgumentError
from clifford_rand.fusion.kernel import replaced_at, samples_at
from clifford_rand.fusion.path import (
    MOST_PATHS,
    Kind,
    NotSpecializedError,
    Operand,
    Path,
    joined,
    operands_of,
    path_of,
    same_form,
)
from clifford_rand.fusion.symbols import holds_symbols, of_symbols
from clifford_rand.multivector.multivector import Multivector

_Function = TypeVar("_Function", bound=Callable[..., Any])

COMPILED_FROM = 2**13  # elements of a batch, which the functions themselves compute in 1 to 10 ms
MOST_KINDS = 1000
_WITHIN: ContextVar[bool] = ContextVar("within", default=False)  # a function of symbols: what it calls traces none
_TRACED = frozenset(np.typecodes["Float"] + np.typecodes["AllInteger"])


class Specialization:
    """The paths of one function."""

    def __init__(self, function: Callable[..., Any], axes: dict[str, int], *, symbols: bool = True) -> None:
        self.function, self._takes_symbols = function, symbols
        self._signature = inspect.signature(function)
        names = [p.name for p in self._signature.parameters.values() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        self._positional = frozenset(names)
        self._axes = [axes.get(name, 0) for name in names]
        self._kinds: dict[Any, Kind] = {}  # by keys with the identities of algebras
        self._equal: dict[Any, Kind] = {}  # by the algebras and the rest of the keys

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what the function returns."""
        if kwargs and not self._positional.isdisjoint(kwargs):
            try:
                bound = self._signature.bind(*args, **kwargs)
            except TypeError:
                return self.function(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
        key: list[Any] = [(name, value.__class__, value) for name, value in kwargs.items()]  # True is not 1
        leaves: list[Any] = []
        many = False
        for value, axes in zip(args, self._axes, strict=False):
            kind = value.__class__
            if value is None:
                key += (kind, value)
            elif kind is Multivector:
                array = value.coefficients
                if array.dtype.char not in _TRACED:
                    return self._otherwise(args, kwargs)
                batch = array.ndim > axes + 1
                key += (value.keys, id(value.algebra), array.dtype.char, batch)
                if axes:
                    key.append(array.shape[array.ndim - 1 - axes : -1])
                if batch:
                    many = True
                else:
                    leaves.append(array.ravel().tolist() if axes else array.tolist())
            elif kind is float or kind is np.float64 or kind is int:
                key.append(float)
                leaves.append((float(value),))
            elif kind is Algebra:
                key.append(id(value))
            elif kind is list or kind is tuple or isinstance(value, np.ndarray):
                array = value if kind is np.ndarray else self._as_array(value)
                if array is None or array.dtype.char not in _TRACED:
                    return self._otherwise(args, kwargs)
                batch = array.ndim > axes
                many |= batch
                key += (array.dtype.char, array.shape[array.ndim - axes :] if batch else array.shape, batch)
                leaves.append(None if batch else array.ravel().tolist())
            else:
                return self._otherwise(args, kwargs)
        try:
            own = self._kinds.get(tuple(key))
        except TypeError:  # not hashable
            return self.function(*args, **kwargs)
        if many:
            return self._batch(tuple(key), args, kwargs)
        if own is None:
            own = self._kind(tuple(key), args)
        for path in own.paths:
            result = path.run(leaves)
            if result is not None:
                if path is not own.paths[0]:  # the next object is likely one of these, whose guards others fail late
                    own.paths = [path, *(slower for slower in own.paths if slower is not path)]
                return result
        new = self._learned(own, args, kwargs, "one")
        result = None if new is None else new.run(leaves)
        return self.function(*args, **kwargs) if result is None else result

    @staticmethod
    def _as_array(value: Any) -> Any:
        try:
            array = None if is_masked(value) else np.asarray(value)
        except (TypeError, ValueError, RuntimeError):
            return None
        return array if array is not None and array.dtype.kind in "fi" else None

    # ---- kinds and paths

    def _kind(self, key: Any, args: Any) -> Kind:
        """Return the kind of a key: that of equal algebras, or a new one."""
        own = self._kinds.get(key)
        if own is not None:
            return own
        if len(self._kinds) >= MOST_KINDS:
            self._kinds.clear()
            self._equal.clear()
        held = [value for value in args if isinstance(value, Multivector | Algebra)]
        algebras = tuple(value.algebra if isinstance(value, Multivector) else value for value in held)
        identities = set(map(id, algebras))
        rest = tuple(part for part in key if part not in identities)
        own = self._equal.setdefault((algebras, rest), Kind())
        own.held.append(algebras)
        return self._kinds.setdefault(key, own)

    def _learned(
        self, own: Kind, args: Any, kwargs: Any, target: str, batched: Sequence[bool] = (), form: Any = None
    ) -> Path | None:
        """Return one more path of a kind, along one object; None where there is none.

        ``form`` is the function's result for a batch of one element, whose form the path's has to have. What the
        function itself raises is not a failure of tracing.
        """
        if not own.is_open():
            return None
        plain = self.function(*args, **kwargs)
        try:
            path = path_of(self.function, plain, args, kwargs, operands_of(args, self._axes), target, batched)
            if form is not None:
                empty = [part.wrap(np.zeros((part.size, 1), path.program.precision), (1,)) for part in path.parts]
                if not same_form(path.build(empty, (1,)), form):
                    raise NotSpecializedError
        except Exception:  # whatever the function does that traced values cannot
            own.failures += 1
            return None
        own.paths.append(path)
        own.failures = 0
        return path

    # ---- batches

    def _batch(self, key: Any, args: Any, kwargs: Any, skip: int = 0) -> Any:
        """Return a batch by its paths: elements whose guards fail by the next one, few of them by the function."""
        operands = operands_of(args, self._axes)
        try:
            shape = np.broadcast_shapes(*(operand.batch for operand in operands))
        except ValueError:  # shapes that do not broadcast
            return self.function(*args, **kwargs)
        if math.prod(shape) < COMPILED_FROM or any(operand.array.dtype.kind not in "fi" for operand in operands):
            return self.function(*args, **kwargs)
        own = self._kind(key, args)
        path = own.paths[skip] if skip < len(own.paths) else self._of_first(own, args, kwargs, operands, shape)
        if path is None:
            return self.function(*args, **kwargs)
        leaves = []
        for (_, array, axes), source in zip(operands, path.program.inputs, strict=True):
            if source.batched:
                leaves.append(array if axes == 1 else array.reshape(*array.shape[: array.ndim - axes], -1))
            else:
                leaves.append(float(array.item()) if source.is_number else array.reshape(-1))
        failed, parts = path.run(leaves)
        if failed is True:
            return self.function(*args, **kwargs)
        result = path.build(parts, shape)
        if failed is False:
            return result
        places = np.nonzero(failed)
        return replaced_at(result, self._batch(key, self._at(args, shape, places), kwargs, skip + 1), places)

    def _at(self, args: Any, shape: tuple[int, ...], places: Any) -> tuple[Any, ...]:
        """Return the arguments of some elements of a batch."""
        some = list(args)
        for place, array, axes in operands_of(args, self._axes):
            value = args[place] if isinstance(args[place], Multivector) else array
            some[place] = samples_at(value, shape, places, axes - isinstance(value, Multivector))
        return tuple(some)

    def _of_first(
        self, own: Kind, args: Any, kwargs: Any, operands: Sequence[Operand], shape: tuple[int, ...]
    ) -> Path | None:
        """Trace one more path along the first element of a batch."""
        first = self._at(args, shape, tuple(np.zeros(1, dtype=int) for _ in shape))
        one = self._at(first, (1,), (0,))
        try:
            form = self.function(*first, **kwargs)
            return self._learned(own, one, kwargs, "batch", [bool(operand.batch) for operand in operands], form)
        except Exception:  # that of the whole batch counts
            return None

    # ---- tensors

    def _otherwise(self, args: Any, kwargs: Any) -> Any:
        """Return the result for arguments of other kinds than floating numbers."""
        values = [value.coefficients if isinstance(value, Multivector) else value for value in args]
        if any(not isinstance(value, Algebra) and is_tensor(value) for value in values):
            try:
                return self._of_tensors(args, kwargs)
            except ArgumentError:
                raise
            except Exception as error:  # what is not traced: the function itself says what it takes
                return self._untraced(args, kwargs, error)
        if not self._takes_symbols or _WITHIN.get() or not holds_symbols(args, self._axes):
            return self.function(*args, **kwargs)
        return self._of_symbols(args, kwargs)

    def _untraced(self, args: Any, kwargs: Any, reason: Exception) -> Any:
        """Return what the function itself makes of tensors, or the error that it takes none of these."""
        try:
            return self.function(*args, **kwargs)
        except ArgumentError:
            raise
        except Exception:
            rule, hint = "arrays of NumPy for these values", "A.to_numpy() has none of a tensor's gradients."
            received = describe("tensors of values whose computation is not traced")
            raise fail("arguments", self.function.__name__, rule, received, hint) from reason

    def _of_symbols(self, args: Any, kwargs: Any) -> Any:
        """Return the expressions of the function itself, or those of its path where it refuses symbols."""
        token = _WITHIN.set(True)
        try:
            return self.function(*args, **kwargs)
        except (ArgumentError, TypeError) as refusal:
            self._signature.bind(*args, **kwargs)  # raises where arguments are missing, or not the function's
            results, shape = of_symbols(self.function, args, kwargs, self._axes, refusal)
        finally:
            _WITHIN.reset(token)
        return joined(np, results, np.arange(len(results)), shape) if shape else results[0]

    def _of_tensors(self, args: Any, kwargs: Any) -> Any:
        """Return a result of tensors, each element along the path of its values."""
        operands = operands_of(args, self._axes)
        like = next(operand.array for operand in operands if is_tensor(operand.array))
        xp = namespace(like)
        numeric = list(args)
        flat, key = [], [xp.__name__, *kwargs.items()]
        shape = np.broadcast_shapes(*(operand.batch for operand in operands))
        count = math.prod(shape)
        for place, array, axes in operands:
            numbers, value = values_of(array), args[place]
            numeric[place] = numbers
            if isinstance(value, Multivector):
                key += (value.keys, id(value.algebra))
                numeric[place] = value.algebra.new(value.keys, numbers.astype(np.float64))
            own_shape = tuple(array.shape[array.ndim - axes :])
            key += (str(array.dtype), own_shape, value.__class__)
            array = array if is_tensor(array) else xp.asarray(np.array(numbers), **beside(like))
            flat.append(xp.reshape(xp.broadcast_to(array, (*shape, *own_shape)), (count, math.prod(own_shape))))
        places = {operand.place for operand in operands}
        key += (id(x) if isinstance(x, Algebra) else (x.__class__, x) for k, x in enumerate(args) if k not in places)
        own = self._kind(tuple(key), args)
        rest, used = np.arange(count), 0
        pieces: list[tuple[Any, Path, list[Any]]] = []
        while len(rest):
            known, is_full = used < len(own.paths), len(own.paths) >= MOST_PATHS
            path = own.paths[used] if known else None
            if path is None:
                index = np.unravel_index(rest[:1], shape) if shape else ()
                one = self._at(self._at(numeric, shape, index), (1,), (0,)) if shape else numeric
                path = self._learned(own, one, kwargs, "tensor")
                if path is None and not is_full:
                    raise NotSpecializedError
                if path is None:
                    plain = self.function(*one, **kwargs)
                    path = path_of(self.function, plain, one, kwargs, operands_of(one, self._axes), "tensor")
            used += 1
            *results, guards = path.run(xp, *(flat if len(rest) == count else [array[rest] for array in flat]))
            ok: Any = np.ones(len(rest), bool)
            if path.program.guards:
                ok = values_of(guards).reshape(len(rest), -1).all(axis=1)
                ok[0] |= not known
            if not ok.any():
                continue
            kept = np.flatnonzero(ok)
            results = results if len(kept) == len(rest) else [array[kept] for array in results]
            pieces.append((rest[kept], path, results))
            rest = rest[~ok]

        def built(path: Path, results: list[Any], batch: tuple[int, ...]) -> Any:
            parts = [part.of_tensor(xp, rows, batch) for part, rows in zip(path.parts, results, strict=True)]
            return path.build(parts, batch)

        if len(pieces) == 1:
            return built(*pieces[0][1:], shape)
        separate = [built(path, results, (len(where),)) for where, path, results in pieces]
        try:
            return joined(xp, separate, np.argsort(np.concatenate([where for where, _, _ in pieces])), shape)
        except NotSpecializedError:
            self.function(*numeric, **kwargs)  # says what is wrong with a batch of several kinds
            raise


def specialized(*, symbols: bool = True, **axes: int) -> Callable[[_Function], _Function]:
    """Return a decorator for functions of one object and of batches: see the module.

    Keyword-only arguments are part of the code. Series and iterations have no closed form, and take no ``symbols``.
    ``axes`` are those of one object: 1 for coordinates, 2 for matrices.
    """

    def decorate(function: _Function) -> _Function:
        specialization = Specialization(function, axes, symbols=symbols)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return specialization(args, kwargs)

        call.specialization = specialization  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate
