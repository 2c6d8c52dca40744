"""Numeric functions generated from symbolic multivectors."""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_array, check_choice, describe, fail
from clifford_rand.compiler.decorator import compile_source


class CompiledFunction:
    """A numeric function made by `Multivector.lambdify`: call it with numbers, arrays or multivectors.

    Attributes
    ----------
    symbols : tuple
        The scalar arguments in order, the components of multivector arguments among them.
    keys : Keys
        The blades of the result.
    backend : {"numpy", "numba"}
    source : str
        The generated code.
    kernel : function
        What runs: for "numpy" f(x1, …) → list of arrays, for "numba" the compiled f(inputs (s, n), out (n, n_keys)),
        which your own compiled loops may call.
    """

    def __init__(
        self, template: Any, arguments: Sequence[Any], symbols: Sequence[Any], backend: str, kernel: Any, source: str
    ) -> None:
        self._template = template
        self._arguments = tuple(arguments)
        self.symbols = tuple(symbols)
        self.keys = template.keys
        self.backend = backend
        self.kernel = kernel
        self.source = source

    def __call__(self, *values: Any) -> Any:
        """Return the multivector, its batch shape that of the arguments broadcast together."""
        return self._template.new(self.keys, self.array(*values))

    def array(self, *values: Any) -> NDArray[Any]:
        """Return the coefficients (..., n_keys) alone."""
        inputs = self._inputs(values)
        batch = np.broadcast_shapes(*(x.shape for x in inputs)) if inputs else ()
        if self.backend == "numba":
            return self._by_numba(inputs, batch)
        results = [np.asarray(x) for x in self.kernel(*inputs)]
        kinds = [x.dtype for x in results if x.dtype.kind in "fc"] or [np.dtype(np.float64)]
        dtype = np.result_type(*kinds)
        dtype_of_inputs = np.result_type(*inputs) if inputs else dtype
        if dtype_of_inputs.kind == dtype.kind or all(x.dtype.kind == "i" for x in results):
            dtype = dtype_of_inputs  # a constant such as √2 is a float64 scalar, and must not widen float32
        out = np.empty((*batch, len(results)), dtype=dtype)
        for k, x in enumerate(results):
            out[..., k] = x
        return out

    def _by_numba(self, inputs: list[NDArray[Any]], batch: tuple[int, ...]) -> NDArray[Any]:
        stacked = np.empty((len(inputs), *batch))
        for i, x in enumerate(inputs):
            if x.dtype.kind == "c":
                raise fail("values", "the compiled function", "real", describe(f"dtype {x.dtype}"), "Use numpy.")
            stacked[i, ...] = x
        out = np.empty((int(np.prod(batch, dtype=np.int64)), self.keys.size))
        self.kernel(stacked.reshape(len(inputs), -1) if inputs else np.empty((0, len(out))), out)
        return out.reshape(*batch, self.keys.size)

    def _inputs(self, values: Sequence[Any]) -> list[NDArray[Any]]:
        if len(values) != len(self._arguments):
            wanted = f"{len(self._arguments)} arguments"
            raise fail("values", "the compiled function", wanted, describe(f"{len(values)}"))
        inputs: list[NDArray[Any]] = []
        for argument, value in zip(self._arguments, values, strict=True):
            if not hasattr(argument, "keys"):
                inputs.append(_numbers(value))
                continue
            array = _numbers(_components(value, argument.keys))
            if array.ndim == 0 or array.shape[-1] != argument.keys.size:
                rule = f"a multivector or an array with {argument.keys.size} components on its last axis"
                raise fail("values", "the compiled function", rule, describe(f"shape {array.shape}"))
            inputs.extend(array[..., i] for i in range(array.shape[-1]))
        return inputs

    def __repr__(self) -> str:
        names = ", ".join(map(str, self._arguments))
        return f"<{self.backend} function of ({names}): {self.keys.size} coefficients of grades {self.keys.grades}>"


def _components(value: Any, keys: Any) -> Any:
    if not hasattr(value, "coefficients"):
        return value
    held = value.select_keys(keys)
    if not np.all(held == value):
        rule = f"without components outside grades {keys.grades}"
        raise fail("values", "the compiled function", rule, describe(f"a multivector of grades {value.grades}"))
    return held.coefficients


def _numbers(value: Any) -> NDArray[Any]:
    array = as_array(value, "values", "the compiled function")
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.kind not in "fc":
        raise fail("values", "the compiled function", "numbers or arrays of them", describe(f"dtype {array.dtype}"))
    return array


def lambdify(A: Any, *arguments: Any, backend: str = "numpy") -> CompiledFunction:
    """Return a numeric function of some symbols: code is generated once, common subexpressions are computed once.

    Parameters
    ----------
    *arguments : symbol, str, or multivector of distinct symbols, or a list of them
        What the function takes, in this order. For a multivector of symbols it takes a multivector, or an array
        (..., n) of its components.
    backend : {"numpy", "numba"}
        "numpy" broadcasts arrays of any float or complex dtype; "numba" compiles a float64 loop at its first call.

    Returns
    -------
    CompiledFunction
        Called with numbers or arrays that broadcast, it returns a multivector whose batch shape is theirs; its
        method ``array`` returns the coefficients (..., n) alone, ``source`` is the code.

    Raises
    ------
    ArgumentError
        If the coefficients hold a symbol that is not among the arguments.
    MissingDependencyError
        For backend="numba" without Numba.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> a, b = alg.symbols("a", grades=1), alg.symbols("b", grades=1)
    >>> product = (a * b).lambdify(a, b)
    >>> product(alg.vector([1.0, 2.0]), alg.vector([3.0, 4.0]))
    11.0 - 2.0*e12
    """
    from clifford_rand.symbolic.coefficients import array_source, find_symbol, numpy_function, symbols_in

    if len(arguments) == 1 and isinstance(arguments[0], list | tuple):  # as sympy.lambdify takes them
        arguments = tuple(arguments[0])
    check_choice(backend, "backend", "lambdify", ("numpy", "numba"))
    if A.ndim:
        raise fail("the multivector", "lambdify", "one, not a batch", describe(f"batch shape {A.shape}"))
    held = symbols_in(A.coefficients)
    checked: list[Any] = []
    symbols: list[Any] = []
    for argument in arguments:
        if hasattr(argument, "coefficients"):
            parts = [_as_symbol(part) for part in argument.coefficients.ravel().tolist()]
            checked.append(argument)
            symbols += parts
        else:
            checked.append(_as_symbol(find_symbol(argument, held, "arguments", "lambdify")))
            symbols.append(checked[-1])
    missing = [symbol for symbol in held if symbol not in symbols]
    if missing or len(set(symbols)) < len(symbols):
        rule = "every symbol of the coefficients, once"
        what = f"no argument for {', '.join(map(str, missing))}" if missing else "a symbol twice"
        raise fail("arguments", "lambdify", rule, describe(what))
    expressions = A.coefficients.tolist()
    kernel: Any
    if backend == "numba":
        source = array_source(symbols, expressions)
        kernel = compile_source(source, __name__, error_model="numpy")  # division by zero gives inf or NaN, as in NumPy
    else:
        kernel = numpy_function(symbols, expressions)
        source = inspect.getsource(kernel)
    return CompiledFunction(A, checked, symbols, backend, kernel, source)


def _as_symbol(value: Any) -> Any:
    if not getattr(value, "is_Symbol", False):
        raise fail("arguments", "lambdify", "symbols, their names, or multivectors of distinct symbols", value)
    return value
