"""Masks and coefficients of kingdon multivectors from arguments; sandwich, projection, square root, exponential."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import fail
from clifford_rand.symbolic.coefficients import cos, expression, sinc

BLADE = re.compile(r"e[0-9A-Z]*")  # names of blades


def coefficients_of(values: Any) -> NDArray[Any]:
    """Return coefficients (..., K) of a sequence of K numbers, symbols, texts of expressions or arrays."""
    if isinstance(values, np.ndarray):
        return np.moveaxis(values, 0, -1)
    listed = list(values)
    listed = [expression(value) if isinstance(value, str) else value for value in listed]
    if any(isinstance(value, np.ndarray | list | tuple) for value in listed):
        return np.stack(np.broadcast_arrays(*map(np.asarray, listed)), axis=-1)
    if all(isinstance(value, int | float | complex | np.number) for value in listed):
        return np.asarray(listed) if listed else np.zeros(0, dtype=np.int64)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def masks_and_values(algebra: Any, values: Any, keys: Any, name: str | None, grades: Any, symbolcls: Any) -> Any:
    """Return the masks and the values of the arguments of a multivector."""
    masks = None if keys is None else tuple(algebra.mask(key) for key in keys)
    if grades is not None and not all(0 <= grade <= algebra.d for grade in grades):
        raise fail("grades", "MultiVector", f"within 0 to {algebra.d}", tuple(grades))
    if isinstance(values, Mapping):
        masks, values = tuple(algebra.mask(key) for key in values), list(values.values())
    elif values is None and name is None and masks is None:
        return (), []
    if masks is None:
        listed = range(algebra.d + 1) if grades is None else grades
        masks = tuple(algebra.indices_for_grades(listed))
    if grades is not None and not all(mask.bit_count() in grades for mask in masks):
        raise fail("keys", "MultiVector", f"of grades {tuple(grades)}", masks)
    if values is None:
        if name is None:
            raise TypeError("a multivector has values, or a name for the symbols of its keys")
        values = [symbolcls(f"{name}{algebra.name_of(mask)[1:]}") for mask in masks]
    if len(values) != len(masks):
        raise TypeError(f"a value for each of the {len(masks)} keys is needed. Got {len(values)} instead.")
    return masks, values


def values_by_mask(algebra: Any, items: Mapping[str, Any]) -> dict[int, Any]:
    """Return values by the masks of blades, by grade, from values by names in any order of their vectors."""
    by_mask = {}
    for blade, value in items.items():
        mask_and_sign = algebra.find(blade) if BLADE.fullmatch(blade) else None
        if mask_and_sign is None:
            raise TypeError(f"{blade!r} is not a blade of {algebra!r}")
        mask, sign = mask_and_sign
        by_mask[mask] = value if sign > 0 else -value
    return {mask: by_mask[mask] for mask in sorted(by_mask, key=lambda mask: (mask.bit_count(), mask))}


def resolved(value: Any) -> Any:
    """Return the value of a function without arguments, which kingdon's operators take; other values as they are."""
    while callable(value) and not hasattr(value, "inner"):
        value = value()
    return value


def _parity(A: Any, name: str) -> int:
    parities = {grade % 2 for grade in A.grades}
    if len(parities) > 1:
        raise TypeError(f"{name} needs an even or an odd multivector. Got one of grades {A.grades} instead.")
    return parities.pop() if parities else 0


def sandwich(A: Any, B: Any) -> Any:
    """Return (-1)^{kl} A B ~A for each grade l of B, A even (k = 0) or odd (k = 1) with A ~A = 1."""
    x, y = A.inner, B.inner.involute() if _parity(A, "sw") else B.inner
    parts = [(x * y.grade(grade) * ~x).grade(grade) for grade in B.grades]
    return sum(parts[1:], parts[0]) if parts else y


def projection(A: Any, B: Any) -> Any:
    """Return (A | B) ~B."""
    _parity(B, "proj")
    return A.inner.fat_dot(B.inner) * ~B.inner


def sqrt(A: Any) -> Any:
    """Return the principal square root: of s + B with B² a number (s + n + B)/√(2 (s + n)), n² = s² - B²."""
    s, B = A.e, A.filter(lambda key, _: key != 0)
    square = (B * B).filter()
    if any(square.grades) or not (A.issymbolic or np.all(s > 0)):
        return A.wrap(A.inner.sqrt())
    n = (s * s - square.e) ** 0.5
    top = 2 * (s + (n if square else s))
    return (B + top / 2) / top**0.5 if B else A.wrap(A.algebra.own.scalar(s**0.5))


def exp(A: Any) -> Any:
    """Return the exponential: of numbers as in this library, of symbols cos l + sinc l A with l² = -A²."""
    if not A.issymbolic:
        return A.wrap(A.inner.exp())
    square = (A * A).filter()
    if any(square.grades):
        raise NotImplementedError("the exponential of symbols is that of an element whose square is a number")
    angle = (-square.e) ** 0.5
    return A * sinc(angle) + cos(angle)
