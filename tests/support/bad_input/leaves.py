"""What a value holds, as a flat list of arrays and words: to compare two results, and an input before and after."""

import dataclasses
import types
from collections.abc import Iterator, Mapping

import numpy as np

_MOST = 2000  # leaves of one value
_DEEPEST = 8
_OF_THE_CLOCK = ("seconds", "history")  # which no two calls have in common


def leaves(value, depth=0):
    """Return what ``value`` holds in order: arrays, numbers, words; objects by their public attributes."""
    if depth > _DEEPEST:
        return [type(value).__name__]
    if value is None or isinstance(value, str | bytes | bool | int | float | complex | np.generic):
        return [value]
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O" and all(isinstance(entry, str) for entry in value.flat):
            return [value.astype(str)]
        if value.dtype.kind == "O":
            return [str(value.shape), *(leaf for entry in value.ravel()[:_MOST] for leaf in leaves(entry, depth + 1))]
        return [np.asarray(value)]
    if isinstance(value, Mapping):
        kept = [(key, held) for key, held in value.items() if key not in _OF_THE_CLOCK]
        return [leaf for key, held in kept for leaf in (str(key), *leaves(held, depth + 1))][:_MOST]
    if hasattr(value, "_fields"):
        return leaves(dict(zip(value._fields, value, strict=True)), depth)
    if isinstance(value, list | tuple):
        return [leaf for held in value for leaf in leaves(held, depth + 1)][:_MOST]
    if isinstance(value, Iterator):
        return [leaf for _, held in zip(range(50), value, strict=False) for leaf in leaves(held, depth + 1)]
    if hasattr(value, "coefficients") and hasattr(value, "keys"):  # a multivector
        return [value.grades if hasattr(value, "grades") else (), *leaves(np.asarray(value.coefficients), depth + 1)]
    if (type(value).__module__ or "sympy").split(".")[0] in ("sympy", "fractions", "decimal", "datetime", "pathlib"):
        return [str(value)]
    if hasattr(value, "free_symbols"):
        return [str(value)]
    if hasattr(value, "toarray"):
        return [np.asarray(value.toarray())]
    if hasattr(value, "to_numpy"):
        return leaves(value.to_numpy(), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.compare}
        return leaves(held, depth + 1)
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType | types.MethodType | types.ModuleType):
        return [getattr(value, "__qualname__", str(type(value)))]
    if hasattr(value, "leftward"):
        return [str(value)]
    if hasattr(value, "factors"):
        return leaves((value.factors, getattr(value, "log_scale", 0)), depth + 1)
    if type(value).__module__.startswith("clifford_rand"):
        held = getattr(value, "__dict__", {})
        return [leaf for k, v in sorted(held.items()) if k[0] != "_" for leaf in (k, *leaves(v, depth + 1))][:_MOST]
    return [type(value).__name__]


def differ(found, expected, exact):
    """Say where two lists of leaves differ, or return None. ``exact``: to the last bit and in dtype."""
    if len(found) != len(expected):
        return f"{len(found)} parts instead of {len(expected)}"
    arrays = [b for b in map(np.asarray, expected) if b.dtype.kind in "fc" and not np.isnan(b).any()]
    sizes = [np.abs(b).max(initial=0) for b in arrays]
    overall = float(max(sizes, default=0))
    for a, b in zip(found, expected, strict=True):
        numbers = all(isinstance(x, np.ndarray | np.generic | int | float | complex) for x in (a, b))
        if not numbers:
            if a != b and not (exact is False and str(a) == str(b)):
                return f"{str(a)[:60]!r} instead of {str(b)[:60]!r}"
            continue
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return f"shape {a.shape} instead of {b.shape}"
        if exact and a.dtype != b.dtype:
            return f"dtype {a.dtype} instead of {b.dtype}"
        if a.dtype.kind not in "fciub" or b.dtype.kind not in "fciub":
            if not np.array_equal(a, b):
                return "other entries"
        elif exact:
            if not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
                with np.errstate(all="ignore"):
                    return f"not the same bits, by {np.nanmax(np.abs(a.astype(complex) - b)):.1e}"
        else:
            size = np.abs(b).max(initial=0.0)
            if not np.allclose(a, b, rtol=1e-6, atol=1e-6 * float(size) + 1e-12 * overall, equal_nan=True):
                return f"not equal, by {np.nanmax(np.abs(a.astype(complex) - b)):.1e} of {size:.1e}"
    return None


def has_nan(found):
    return any(isinstance(a, np.ndarray | np.generic | float | complex) and np.asarray(a).dtype.kind in "fc"
               and np.isnan(a).any() for a in found)  # fmt: skip


def fingerprint(value):
    """Return the data that ``value`` holds as comparable bytes, with their layout: to see that they are as before.

    Data are arrays, sparse or dense, multivectors, frames, and lists of such; what other objects keep for later is not.
    """
    if isinstance(value, np.ndarray):
        return [value.shape, value.dtype.str, value.tobytes() if value.dtype.kind != "O" else repr(value.ravel()[:100])]
    if isinstance(value, Mapping):
        return [part for key, held in value.items() for part in (str(key), *fingerprint(held))]
    if isinstance(value, list | tuple):
        return [part for held in value for part in fingerprint(held)]
    if type(value).__name__ == "Multivector":
        return fingerprint(np.asarray(value.coefficients))
    if hasattr(value, "indptr"):
        return fingerprint([value.data, value.indices, value.indptr])
    if hasattr(value, "to_numpy"):
        return fingerprint([value.to_numpy()])
    return []
