"""The array library of a value: NumPy, or that of a tensor (torch, JAX, CuPy, any with the array API); constants of it.

Tensors keep their library, device and gradient. Only `values_of` converts one to NumPy, for decisions and for display,
and nothing is written into a tensor.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail

_Function = TypeVar("_Function", bound=Callable[..., Any])
_NUMPY = (np.ndarray, np.generic)

Tensor = Any  # an array of a library other than NumPy


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
    return {"dtype": tensor.dtype} if is_jax(tensor) else {"dtype": tensor.dtype, "device": _device(tensor)}


def _device(tensor: Tensor) -> Any:
    return tensor.device if is_torch(tensor) else array_api_compat.device(tensor)


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


class Shelf:
    """Keys, plans or constants as attributes by their labels: where a trace of `torch.compile` finds them."""

    def put(self, label: str, thing: Any) -> str:
        """Keep a thing, and return its label."""
        setattr(self, label, thing)
        return label


class Constants:
    """NumPy arrays of a plan as arrays of other libraries, each made once for a library, device and dtype.

    Real arrays take the dtype of the tensor they meet, complex ones the complex dtype of its precision; arrays of int64
    are places and stay so.
    """

    def __init__(self, **arrays: NDArray[Any]) -> None:
        self.arrays = arrays
        self._made: dict[Any, Any] = {}
        self._shelf = Shelf()

    def of(self, name: str, like: Tensor) -> Tensor:
        """Return one of the arrays where the tensor ``like`` is."""
        if is_torch(like):
            return getattr(self._shelf, self._of_torch(name, like.device, like.dtype))
        xp = namespace(like)
        if is_jax(like):  # its functions take NumPy's arrays, which no trace can hold on to
            return self._once((name, like.dtype), lambda: self._as(name, np.dtype(like.dtype)))
        device = array_api_compat.device(like)
        key = (name, xp.__name__, str(device), str(like.dtype))
        return self._once(key, lambda: self._asarray(xp, name, device, like.dtype))

    @constant_of_a_trace
    def _of_torch(self, name: str, device: Any, dtype: Any) -> str:
        label = f"{name} {device} {dtype}".replace(".", " ")  # a dot is of attributes
        if not hasattr(self._shelf, label):
            import array_api_compat.torch as functions

            torch = sys.modules["torch"]
            with torch.inference_mode(False), torch.no_grad():
                self._shelf.put(label, self._asarray(functions, name, device, dtype))
        return label

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        constant = self._made.get(key)
        return self._made.setdefault(key, make()) if constant is None else constant

    def _as(self, name: str, dtype: np.dtype) -> NDArray[Any]:
        array = self.arrays[name]
        kind = array.dtype.kind
        if array.dtype == np.int64:
            return array
        return array.astype(np.result_type(dtype, np.complex64) if kind == "c" else dtype)

    def _asarray(self, xp: Any, name: str, device: Any, dtype: Any) -> Tensor:
        array = self.arrays[name].copy()  # a writable one: PyTorch warns of others
        if array.dtype == np.int64:
            return xp.asarray(array, device=device)
        if array.dtype.kind == "c":
            dtype = xp.result_type(dtype, xp.complex64)
        elif array.dtype.kind != "f":
            array = array.astype(np.float64)
        return xp.asarray(array, dtype=dtype, device=device)
