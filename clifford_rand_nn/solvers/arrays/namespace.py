"""Arrays of one library on one device: which library, which precision, and what the standard lacks."""

from typing import Any

from array_api_compat import array_namespace, is_torch_array
from array_api_compat import device as device_of

from clifford_rand._checks import describe, fail
from clifford_rand_nn.problems.coordinates import row_tiles

# Entries of a tile of a masked product. On a processor it should stay in a cache; an accelerator wants few launches.
_TILE_HOST, _TILE_ACCELERATOR = 2**18, 2**26
_ROWS = 1024  # least rows of a tile, so that adding up parts costs little beside making them


def common_namespace(owner: str, **arrays: Any) -> Any:
    """Return the array-API namespace that all arrays share.

    Raises
    ------
    ArgumentError
        Something is no array with the array API, or of another library or on another device than X.
    """
    first: Any = None
    place: Any = None
    hint = "Give every array in the library, and on the device, of X: torch.as_tensor(y, device=X.device), for example."
    for name, array in arrays.items():
        try:
            found = array_namespace(array)
        except TypeError:
            rule = "an array of a library with the array API (NumPy, torch, CuPy)"
            raise fail(name, owner, rule, describe(type(array).__name__), hint) from None
        if first is None:
            first, place = found, device_of(array)
        elif found is not first:
            rule = f"an array of the library of X, {_library(first)}"
            raise fail(name, owner, rule, describe(f"one of {_library(found)}"), hint)
        elif device_of(array) != place:
            raise fail(name, owner, f"on the device of X, {place}", describe(str(device_of(array))), hint)
    return first


def _library(xp: Any) -> str:
    return str(xp.__name__).removeprefix("array_api_compat.")


def detached(array: Any) -> Any:
    """Return the array without the graph that torch would grow behind it."""
    return array.detach() if is_torch_array(array) else array


def wide_dtype(xp: Any, device: Any) -> Any:
    """Return float64, or float32 on a device that has none (Apple's MPS)."""
    known = xp.__array_namespace_info__().dtypes(device=device, kind="real floating")
    return known.get("float64", xp.float32)


def check_finite(xp: Any, array: Any, name: str, owner: str) -> None:
    """Raise unless every entry is finite."""
    finite = xp.isfinite(array)
    if not bool(xp.all(finite)):
        size = array.shape[0] * (array.shape[1] if array.ndim > 1 else 1)
        bad = size - int(xp.count_nonzero(finite))
        raise fail(name, owner, "finite", describe(f"{bad} NaN or infinite of {size} entries"))


def constant(like: Any, value: float, dtype: Any = None) -> Any:
    """Return a number as an array without axes, beside ``like`` and of its dtype unless told."""
    xp = array_namespace(like)
    return xp.asarray(value, dtype=like.dtype if dtype is None else dtype, device=device_of(like))


def tiles(array: Any, width: int) -> list[slice]:
    """Cut rows into tiles whose product with ``width`` columns has a bounded number of entries."""
    limit = _TILE_HOST if "cpu" in str(device_of(array)).lower() else _TILE_ACCELERATOR
    return row_tiles(int(array.shape[0]), max(_ROWS, limit // max(1, width)))
