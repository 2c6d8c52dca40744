"""Coefficients of galgebra's multivectors: symbols by a name and a kind, expressions, and which of them are zero."""

from typing import Any

import numpy as np
import sympy  # type: ignore[import-untyped]

from clifford_rand._checks import fail
from clifford_rand.basis.keys import keys_of_masks

_KINDS = ("scalar", "vector", "bivector", "grade2", "pseudo", "mv", "even", "spinor", "odd", "grade")


def of_kind(ga: Any, first: Any, kind: Any, more: tuple[Any, ...], function: Any) -> Any:
    """Return the multivector of this library of a name or of coefficients, on the grades of a kind."""
    if isinstance(kind, int):
        grades: tuple[int, ...] = (kind,)
    elif isinstance(kind, str):
        grades = _grades(ga.n, kind, more)
    else:
        raise TypeError(f"a kind is text or a grade. Got {kind!r} instead.")
    if isinstance(first, str):
        return ga.own.multivector(_named(ga, first, ga.own.keys_of(grades, "Mv", "grades").masks, function), grades)
    if function is not None:
        raise TypeError("coefficients are what they are: f is for names")
    values = [first] if grades == (0,) and not isinstance(first, list | tuple) else list(first)
    return ga.own.multivector(np.array([sympy.sympify(v) for v in values], dtype=object), grades)


def _grades(n: int, kind: str, more: tuple[Any, ...]) -> tuple[int, ...]:
    if kind not in _KINDS:
        raise fail("kind", "Mv", f"a grade or one of {', '.join(_KINDS)}", kind)
    if len(more) != (kind == "grade"):
        raise TypeError(f"Mv takes {'the grade' if kind == 'grade' else 'nothing'} after {kind!r}. Got {more} instead.")
    if kind == "grade":
        return (int(more[0]),)
    whole = tuple(range(n + 1))
    grades_of = {"scalar": (0,), "vector": (1,), "bivector": (2,), "grade2": (2,), "pseudo": (n,), "mv": whole}
    return grades_of.get(kind) or (whole[1::2] if kind == "odd" else whole[0::2])


def _named(ga: Any, name: str, masks: Any, function: Any) -> Any:
    """Return a symbol for each blade, or a function of coordinates: ``A__xy``."""
    names = [name + (f"__{ga.index_of(int(mask))}" if mask else "") for mask in masks]
    array = np.empty(len(names), dtype=object)
    if not function:
        array[:] = [sympy.Symbol(symbol, real=True) for symbol in names]
        return array
    arguments = ga.coords if function is True else tuple(function)
    if not arguments:
        raise fail("f", "Mv", "beside coordinates of the algebra, or those of the function", function)
    array[:] = [sympy.Function(symbol, real=True)(*arguments) for symbol in names]
    return array


def sum_of_blades(ga: Any, value: Any) -> Any:
    """Return the multivector of this library of an expression that is linear in the symbols of blades."""
    if isinstance(value, str):
        raise TypeError(f"a name needs a kind, as in mv({value!r}, 'vector')")
    sums: dict[int, Any] = {}
    for term in sympy.Add.make_args(sympy.expand(sympy.sympify(value))):
        factors, blades = term.args_cnc()
        mask = 0 if not blades else ga.masks.get(str(blades[0]), -1)
        if len(blades) > 1 or mask < 0:
            raise fail("expr", "Mv", f"linear in the symbols of blades, {', '.join(list(ga.masks)[:4])}, …", value)
        sums[mask] = sums.get(mask, 0) + sympy.Mul(*factors)
    keys = keys_of_masks(ga.n, tuple(sums))
    array = np.empty(keys.size, dtype=object)
    array[:] = [sums[int(mask)] for mask in keys.masks]
    return ga.own.scalar(sympy.Integer(0)).new(keys, array)


def is_zero(value: Any) -> bool:
    """Tell whether an expression simplifies to zero; a polynomial by multiplying out."""
    expanded = sympy.expand(value)
    if expanded == 0:
        return True
    if expanded.is_number or expanded.is_polynomial(*expanded.free_symbols):
        return bool(sympy.simplify(expanded) == 0) if expanded.is_number else False
    together = sympy.cancel(sympy.together(expanded))
    return bool(together == 0 or sympy.simplify(together) == 0)
