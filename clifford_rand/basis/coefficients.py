"""Coefficients: their array library, dtypes, integers that never wrap, and their layout in memory.

int64 coefficients lie within ±(2^63 - 1), so that each has a negative. Every sum and product of integers goes through
`in_integers` with a bound on its result; beyond that range it is one of Python integers, in an object array.

Coefficients are (..., K) to the eye, component by component in memory: a kernel runs over the samples of one component
in vector registers, and the part of a grade is a view of whole components. Any other layout, of a slice of a batch
say, is as right and only slower.

Tensors (of torch, JAX, CuPy, any library with the array API) keep their library, device and gradient. Only `values_of`
converts one to NumPy, for decisions and for display, and nothing is written into a tensor.
"""

import math
import numbers
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import array_api_compat
import numpy as np

from clifford_rand._checks import as_array, describe, fail
from clifford_rand._typing import ArrayLike, DTypeLike, NDArray

INT = np.dtype(np.int64)
MOST = 2**63 - 1
_FEW = 64  # integers of which a Python list has the largest sooner than NumPy
ROUNDING = 64  # times eps: what a sum of products of numbers near 1 may be off
FLOATS = frozenset(np.dtype(name) for name in ("f4", "f8", "c8", "c16"))
_Function = TypeVar("_Function", bound=Callable[..., Any])
_NUMPY = (np.ndarray, np.generic)

Tensor = Any  # an array of a library other than NumPy


def as_coefficients(
    value: ArrayLike, name: str, owner: str, *, own: bool = False, rule: str = "numbers, fractions or symbols"
) -> NDArray[Any]:
    """Return an array of float32, float64, complex64, complex128, int64 or objects (fractions, symbols).

    Booleans and other integers become int64, or objects where they do not fit, float16 float32, extended precision
    float64 or complex128. Text, dates, masked entries and ragged lists are refused. With ``own`` it is a copy that
    nobody else holds.
    """
    if value.__class__ is np.ndarray and value.dtype in FLOATS:
        return value.copy() if own else value
    array = as_array(value, name, owner)
    if own and not isinstance(value, list | tuple | numbers.Number):
        array = array.copy()
    if array.dtype in FLOATS:
        return array
    kind = array.dtype.kind
    if kind in "biu":
        if array.itemsize == 8 and array.size and (array.max() > MOST or array.min() < -MOST):
            return array.astype(object)
        return array.astype(INT, copy=False)
    if kind == "f":
        return array.astype(np.float32 if array.itemsize == 2 else np.float64)
    if kind == "c":
        return array.astype(np.complex128)
    if kind != "O":
        raise fail(name, owner, rule, describe(f"dtype {array.dtype}"))
    for entry in array.ravel().tolist():
        if not is_scalar(entry):
            many = hasattr(entry, "keys") and hasattr(entry, "coefficients")
            raise fail(name, owner, rule, entry, "cr.stack makes one batch of multivectors." if many else "")
    return array


def is_scalar(value: object) -> bool:
    """Tell whether ``value`` is a number or a symbolic expression (which has ``free_symbols``)."""
    return isinstance(value, numbers.Number | np.bool_) or (
        is_symbolic(value) and not getattr(value, "is_Matrix", False)
    )


def is_symbolic(value: object) -> bool:
    """Tell whether ``value`` is of SymPy, which need not be loaded to know."""
    return hasattr(value, "free_symbols")


def common_dtype(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return NumPy's common dtype, but for integers beside floating numbers that of the latter.

    Basis blades have integer coefficients; a float32 vector times ``alg.e1`` stays float32.
    """
    if a is b:
        return a
    if a.kind == "i" and b.kind in "fc":
        return b
    if b.kind == "i" and a.kind in "fc":
        return a
    return np.result_type(a, b)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return ``array``, which nobody else holds, made read-only."""
    array.setflags(write=False)
    return array


def _quotient(a: Any, b: Any) -> Any:
    return Fraction(a, b) if isinstance(a, int) and isinstance(b, int) else a / b


_quotients = np.frompyfunc(_quotient, 2, 1)


def exact_quotient(array: NDArray[Any], divisor: Any) -> NDArray[Any]:
    """Return array / divisor as objects: integers divide to fractions, as nothing exact may become a float."""
    return np.asarray(_quotients(array.astype(object), divisor), dtype=object)


# ---- integers


def largest(array: NDArray[Any]) -> int:
    """Return max |n| of an int64 array, 0 if it is empty."""
    if array.ndim == 1 and array.size <= _FEW:
        listed = array.tolist()
        return max(max(listed), -min(listed)) if listed else 0
    return max(int(array.max()), -int(array.min())) if array.size else 0


def narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of Python integers as int64 if it fits, else as it is."""
    listed = array.ravel().tolist()
    if all(isinstance(n, int) and -MOST <= n <= MOST for n in listed):
        return array.astype(INT)
    return array


def in_integers(compute: Callable[..., Any], bound: int, *arrays: NDArray[Any]) -> NDArray[Any]:
    """Return ``compute(*arrays)`` of int64 arrays, of a result up to ``bound``: by Python integers beyond int64."""
    if bound <= MOST:
        return np.asarray(compute(*arrays))
    return narrowed(np.asarray(compute(*(array.astype(object) for array in arrays)), dtype=object))


# ---- layout in memory


def apart(array: NDArray[Any]) -> NDArray[Any]:
    """Return coefficients (..., K) with the component axis first, a view (`numpy.moveaxis` takes 4 µs)."""
    return array.T if array.ndim == 2 else np.moveaxis(array, -1, 0)


def together(parts: NDArray[Any]) -> NDArray[Any]:
    """Return an array (K, ...) with the component axis last, a view."""
    return parts.T if parts.ndim == 2 else np.moveaxis(parts, 0, -1)


def as_components(array: NDArray[Any]) -> NDArray[Any]:
    """Return coefficients (..., K) as components (K, N), contiguous: a view where they lie so."""
    if array.ndim == 1:
        return np.ascontiguousarray(array)[:, None]
    if array.ndim == 2:
        return np.ascontiguousarray(array.T)
    size = math.prod(array.shape[:-1])
    return np.ascontiguousarray(apart(array)).reshape(array.shape[-1], size)


def from_components(parts: NDArray[Any], batch: tuple[int, ...]) -> NDArray[Any]:
    """Return components (K, N) as coefficients (*batch, K), a view."""
    if not batch:
        return parts[:, 0]
    return parts.T if len(batch) == 1 else together(parts.reshape(len(parts), *batch))


def empty_coefficients(batch: tuple[int, ...], size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array (*batch, size) to be filled, component by component in memory."""
    return together(np.empty((size, *batch), dtype=dtype)) if batch else np.empty(size, dtype=dtype)


def zero_coefficients(batch: tuple[int, ...], size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array (*batch, size) of zeros, component by component in memory."""
    return together(np.zeros((size, *batch), dtype=dtype)) if batch else np.zeros(size, dtype=dtype)


def copy_by_component(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of coefficients (..., K), component by component in memory."""
    return array.copy() if array.ndim < 2 else together(apart(array).copy(order="C"))


# ---- arrays of any library


def is_tensor(value: object) -> bool:
    """Tell whether ``value`` is an array of another library than NumPy: torch, JAX, CuPy, or one with the array API."""
    return is_torch(value) or (not isinstance(value, _NUMPY) and hasattr(value, "__array_namespace__"))


def is_torch(value: object) -> bool:
    """Tell whether ``value`` is a tensor of PyTorch, which need not be loaded to know."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_jax(value: object) -> bool:
    """Tell whether ``value`` is an array of JAX, traced ones included."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def namespace(tensor: Tensor) -> Any:
    """Return the functions of the tensor's library, by the names of the array API."""
    if is_torch(tensor):
        import array_api_compat.torch as functions

        return functions
    return array_api_compat.array_namespace(tensor)


def is_linalg_error(error: Exception) -> bool:
    """Whether an array library found a matrix singular; each has an error of its own."""
    return type(error).__name__.endswith("LinAlgError")


def of_one_library(arrays: Sequence[Any]) -> list[Any]:
    """Return arrays of NumPy beside tensors as tensors like the first of these; without tensors, all as they are."""
    like = next((array for array in arrays if is_tensor(array)), None)
    if like is None:
        return list(arrays)
    xp = namespace(like)
    return [x if is_tensor(x) else xp.asarray(x, **beside(like)) for x in arrays]


def values_of(array: Any) -> NDArray[Any]:
    """Return the values of a tensor as an array of NumPy, without a gradient; other arrays as they are."""
    if is_torch(array):
        array = array.detach().cpu()
    elif is_tensor(array) and hasattr(array, "get"):  # CuPy
        array = array.get()
    return np.asanyarray(array)


def as_tensor(value: Tensor, name: str, owner: str) -> Tensor:
    """Return the tensor as it is, device, dtype and gradient, or refuse one that has integers."""
    xp = namespace(value)
    if not xp.isdtype(value.dtype, ("real floating", "complex floating")):
        hint = "Convert it to a floating dtype: exact integers are NumPy's alone."
        raise fail(name, owner, "a floating or complex tensor", describe(f"dtype {value.dtype}"), hint)
    return value


def promoted(xp: Any, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return two tensors of one dtype, which matrix products ask for."""
    if a.dtype == b.dtype:
        return a, b
    dtype = xp.result_type(a, b)
    return xp.astype(a, dtype, copy=False), xp.astype(b, dtype, copy=False)


def constant_of_a_trace(function: _Function) -> _Function:
    """Mark what `torch.compile` is to call when it traces, its result a constant: what is made of keys alone.

    Arguments and results are strings and numbers, or a metric: keys and plans are named by their labels on its shelf.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]  # torch.compiler.assume_constant_result
    return function


def beside(tensor: Tensor) -> dict[str, Any]:
    """Return the dtype and the device of a tensor as keywords, for a new one beside it (JAX places its own)."""
    if is_jax(tensor):
        return {"dtype": tensor.dtype}
    return {"dtype": tensor.dtype, "device": tensor.device if is_torch(tensor) else array_api_compat.device(tensor)}


def is_compiling() -> bool:
    """Tell whether `torch.compile` traces."""
    return bool(sys.modules["torch"].compiler.is_compiling())


def number(value: complex, like: Tensor) -> Tensor:
    """Return a Python number beside a tensor, in its dtype or the complex one of its precision."""
    xp, keywords = namespace(like), beside(like)
    if isinstance(value, complex) and xp.isdtype(like.dtype, "real floating"):
        keywords["dtype"] = xp.complex64 if like.dtype == xp.float32 else xp.complex128
    return xp.asarray(value, **keywords)


def constant(array: NDArray[Any], like: Tensor, owner: str) -> Tensor:
    """Return a NumPy array where a tensor is, in its dtype, or in the complex one of its precision if it is complex."""
    xp = namespace(like)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except TypeError:
            hint = "Tensors hold numbers: substitute them first."
            raise fail("other", owner, "numeric beside a tensor", describe("symbols"), hint) from None
    keywords = beside(like)
    if array.dtype.kind == "c" and xp.isdtype(like.dtype, "real floating"):
        keywords["dtype"] = xp.complex64 if like.dtype == xp.float32 else xp.complex128
    return xp.asarray(array.copy(), **keywords)
