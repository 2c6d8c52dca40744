"""Which array library is meant: NumPy, or that of a tensor (torch, JAX, CuPy, any with the array API), and its constants.

NumPy's arrays never come here. A tensor is never converted to NumPy, and nothing is written into one.
"""

import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail

Tensor = Any  # an array of a library other than NumPy


def is_tensor(value: object) -> bool:
    """Tell whether ``value`` is an array of another library than NumPy: torch, JAX, CuPy, or one with the array API."""
    if isinstance(value, np.ndarray | np.generic):
        return False
    return is_torch(value) or hasattr(value, "__array_namespace__")


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
    return _of_torch() if is_torch(tensor) else array_api_compat.array_namespace(tensor)


@cache
def _of_torch() -> ModuleType:
    import array_api_compat.torch as functions

    module: ModuleType = functions
    return module


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


def beside(tensor: Tensor) -> dict[str, Any]:
    """Return the dtype and the device of a tensor as keywords, for a new one beside it (JAX places its own)."""
    return {"dtype": tensor.dtype} if is_jax(tensor) else {"dtype": tensor.dtype, "device": _device(tensor)}


def _device(tensor: Tensor) -> Any:
    return tensor.device if is_torch(tensor) else array_api_compat.device(tensor)


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


class Constants:
    """NumPy arrays of a plan as arrays of other libraries, each made once for a library, device and dtype.

    Real arrays take the dtype of the tensor they meet, complex ones the complex dtype of its precision; arrays of int64
    are places and stay so.
    """

    def __init__(self, **arrays: NDArray[Any]) -> None:
        self.arrays = arrays
        self._made: dict[Any, Any] = {}

    def of(self, name: str, like: Tensor) -> Tensor:
        """Return one of the arrays where the tensor ``like`` is."""
        if is_torch(like):
            return _for_torch(self, name, like.device, like.dtype)
        xp = namespace(like)
        if is_jax(like):  # its functions take NumPy's arrays, which no trace can hold on to
            return self._once((name, like.dtype), lambda: self._as(name, np.dtype(like.dtype)))
        device = array_api_compat.device(like)
        key = (name, xp.__name__, str(device), str(like.dtype))
        return self._once(key, lambda: self._asarray(xp, name, device, like.dtype))

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        found = self._made.get(key)
        return self._made.setdefault(key, make()) if found is None else found

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


def _make_for_torch(constants: Constants, name: str, device: Any, dtype: Any) -> Tensor:
    import torch

    with torch.inference_mode(False), torch.no_grad():
        return constants._asarray(_of_torch(), name, device, dtype)


def _for_torch(constants: Constants, name: str, device: Any, dtype: Any) -> Tensor:
    key = (name, device, dtype)
    found = constants._made.get(key)
    if found is None:
        found = _make_for_torch(constants, name, device, dtype)
        if not sys.modules["torch"].compiler.is_compiling():  # a traced tensor belongs to its trace
            constants._made[key] = found
    return found
