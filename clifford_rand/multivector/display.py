"""Displays of a multivector: text that parses back, text to NumPy's precision, LaTeX, HTML."""

import html
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand._checks import fail
from clifford_rand._typing import MV
from clifford_rand.basis.rules import bits_of

_SPECIFICATION = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>=^]))?(?P<sign>[-+ ]?)(?P<form>z?#?)(?P<zero>0?)(?P<width>\d*)(?P<rest>\D.*)?",
    re.DOTALL,
)
LONGEST = 64  # terms of one line; more are counted, as NumPy does

Term = tuple[bool, str, bool]  # is it negative, its size as text, does the size need parentheses before a blade
Number = Callable[[Any], str]  # writes a real number


def terms_of(mv: MV) -> list[tuple[int, Any]]:
    """Return (mask, coefficient) of what is not zero; symbols are shown as they are, never simplified."""
    array = mv.coefficients
    nonzero = np.flatnonzero(np.asarray(array != 0, dtype=bool))
    masks: Any = mv.keys.masks if len(nonzero) else []
    values = [array[i] for i in nonzero]
    return [
        (int(masks[i]), value.item() if isinstance(value, np.generic) else value)
        for i, value in zip(nonzero, values, strict=True)
    ]


def sign_and_size(value: Any, number: Number) -> Term:
    """Split a coefficient into sign and size, so that sums read ``a*e1 - b*e2``."""
    if isinstance(value, complex):
        if value.real == 0:
            negative = value.imag < 0
            return negative, f"{number(-value.imag if negative else value.imag)}j", False
        negative = value.imag < 0
        sign, size = ("-", -value.imag) if negative else ("+", value.imag)
        return False, f"{number(value.real)}{sign}{number(size)}j", True
    if isinstance(value, int | float):
        return value < 0, number(-value if value < 0 else value), False
    text = _object_text(value, number)
    if isinstance(value, Fraction):
        return text.startswith("-"), text.removeprefix("-"), "/" in text
    if text.startswith("-") and not _is_sum(text[1:]):
        return True, text[1:], "/" in text
    return False, text, _is_sum(text) or "/" in text


def _object_text(value: Any, number: Number) -> str:
    """Write a fraction or an expression; where a format asks for digits, a fraction and a SymPy number have them."""
    if number in (repr, _rounded, _capital):
        return str(value)
    known = isinstance(value, Fraction) or (getattr(value, "is_number", False) and getattr(value, "is_real", False))
    return ("-" if value < 0 else "") + number(abs(float(value))) if known else str(value)


def _is_sum(text: str) -> bool:
    """Tell whether an expression's text has + or - outside parentheses, exponents such as 1e-7 aside."""
    depth = 0
    for i, mark in enumerate(text):
        depth += (mark in "([") - (mark in ")]")
        if depth == 0 and i and mark in "+-" and not re.search(r"(?<![\w.])[\d.]+[eE]$", text[:i]):
            return True
    return False


def _sum_of_terms(terms: list[tuple[Term, str]], more: int) -> str:
    """Return "a*e1 - b*e2" of (coefficient, blade name) pairs; a scalar's name is empty."""
    pieces: list[str] = []
    for (negative, size, compound), name in terms:
        if compound and (name or (_is_sum(size) and (negative or len(terms) + more > 1))):
            size = f"({size})"
        text = (name if size == "1" else f"{size}*{name}") if name else size
        lead = (" - " if negative else " + ") if pieces else ("-" if negative else "")
        pieces.append(lead + text)
    return ("".join(pieces) or "0") + (f" + … ({more} more terms)" if more else "")


def _line(mv: MV, number: Number) -> str:
    terms = terms_of(mv)
    names = mv.algebra.names
    shown = [(sign_and_size(value, number), names.blade(mask) if mask else "") for mask, value in terms[:LONGEST]]
    return _sum_of_terms(shown, max(0, len(terms) - LONGEST))


def exact_text(mv: MV) -> str:
    """Return a text that parses back to the same numbers (of at most 64 terms); a batch is described."""
    if mv.ndim:
        kind = f"grades={mv.grades}" if mv.keys.complete else f"{mv.keys.size} blades of grades {mv.grades}"
        return f"<Multivector batch of {mv.algebra!r}: shape={mv.shape}, {kind}, dtype={mv.dtype}>"
    parse = mv.algebra.names.parse
    if any(parse(word) is not None for word in ("inf", "infj", "nan", "nanj")):  # blades of those names
        return _line(mv, _capital)
    return _line(mv, repr)


def _capital(value: Any) -> str:
    return repr(value).replace("inf", "Inf").replace("nan", "NaN")


def _rounded(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    options = np.get_printoptions()
    formatter = (options["formatter"] or {}).get("float_kind") or (options["formatter"] or {}).get("float")
    if formatter is not None:
        return str(formatter(value))
    precision = options["precision"]
    if not np.isfinite(value) or value == 0 or 1e-4 <= abs(value) < 1e8 or options["suppress"]:
        return np.format_float_positional(value, precision=precision, trim="0")
    return np.format_float_scientific(value, precision=precision, trim="0")


def _rows(mv: MV) -> Any:
    """Return the coefficients of a batch one multivector a row, also where no blade is stored."""
    return mv.coefficients.reshape(math.prod(mv.shape), mv.keys.size)


def _lines(mv: MV, number: Number, finish: Callable[[str], str] = str) -> str:
    """Return a batch as its description and a line for each multivector, abridged as NumPy's arrays are."""
    options = np.get_printoptions()
    rows = _rows(mv)
    edge = options["edgeitems"]
    whole = rows.size <= options["threshold"] or len(rows) <= 2 * edge
    shown = range(len(rows)) if whole else [*range(edge), *range(len(rows) - edge, len(rows))]
    indices = [", ".join(str(int(part)) for part in np.unravel_index(i, mv.shape)) for i in shown]
    width = max(map(len, indices), default=0)
    lines = [
        f" [{index:>{width}}] {finish(_line(mv.new(mv.keys, rows[i]), number))}"
        for index, i in zip(indices, shown, strict=True)
    ]
    if not whole:
        lines.insert(edge, " …")
    return "\n".join([exact_text(mv), *lines])


def rounded_text(mv: MV) -> str:
    """Return text to the precision of ``numpy.set_printoptions``; a batch is a line each."""
    return _text(mv, _rounded)


def _text(mv: MV, number: Number, finish: Callable[[str], str] = str) -> str:
    return _lines(mv, number, finish) if mv.ndim else finish(_line(mv, number))


def formatted_text(mv: MV, specification: str) -> str:
    """Return text in a format such as ``f"{A:+.3f}"``, which is read as for a complex number.

    Precision and type are those of each number, the sign is that of the first term, width and alignment are those of
    the whole. A scalar has the format of its number.
    """
    if not specification:
        return rounded_text(mv)
    if mv.keys.grades in ((0,), ()) and not mv.ndim and mv.dtype.kind in "if":
        return format(mv["1"].item(), specification)  # zero too, which has no terms
    parts = _SPECIFICATION.fullmatch(specification)
    if parts is None or parts["zero"] or parts["align"] == "=":
        raise fail("specification", "format", "free of zero padding, as for complex numbers", specification)
    rest = parts["form"] + (parts["rest"] or "").removesuffix("s")
    sign, place = parts["sign"].strip("-"), f"{parts['fill'] or ''}{parts['align'] or '>'}{parts['width']}"

    def finish(text: str) -> str:
        return format(text if text.startswith("-") else sign + text, place)

    return _text(mv, (lambda value: format(value, rest)) if rest else _rounded, finish)


# ---- notebooks


def _latex_blade(mv: MV, mask: int) -> str:
    names = mv.algebra.names
    parts = [names.vector(i) for i in bits_of(mask)]
    if names.prefix is not None:
        return f"\\mathbf{{{names.prefix}}}_{{{''.join(part[-1] for part in parts)}}}"
    if isinstance(names.vectors, range):
        return f"\\mathbf{{e}}_{{{','.join(part[1:] for part in parts)}}}"
    return " \\wedge ".join(f"\\mathbf{{{part.replace('_', chr(92) + '_')}}}" for part in parts)


def _latex_number(value: Any) -> str:
    text = _rounded(value)
    mantissa, mark, exponent = text.partition("e")
    if mark:
        return f"{mantissa} \\cdot 10^{{{int(exponent)}}}"
    return {"inf": "\\infty", "nan": "\\mathrm{NaN}"}.get(text, text)


def _latex_term(value: Any) -> Term:
    if isinstance(value, int | float | complex):
        negative, size, compound = sign_and_size(value, _latex_number)
        return negative, size.replace("j", "\\,i") if isinstance(value, complex) else size, compound
    if isinstance(value, Fraction):
        top = str(abs(value.numerator))
        return value < 0, top if value.denominator == 1 else f"\\frac{{{top}}}{{{value.denominator}}}", False
    if hasattr(value, "_repr_latex_"):
        text = str(value._repr_latex_()).strip("$").removeprefix("\\displaystyle").strip()
    else:
        text = str(value)
    compound = getattr(value, "is_Add", False)
    negative = not compound and text.startswith("-")
    return negative, text.removeprefix("-").strip() if negative else text, compound


def _latex_line(mv: MV) -> str:
    terms = terms_of(mv)
    more = max(0, len(terms) - LONGEST)
    pieces: list[str] = []
    for mask, value in terms[:LONGEST]:
        negative, size, compound = _latex_term(value)
        if compound and (mask or len(terms) > 1):
            size = f"\\left({size}\\right)"
        text = ("" if size == "1" else f"{size}\\,") + _latex_blade(mv, mask) if mask else size
        pieces.append(((" - " if negative else " + ") if pieces else ("-" if negative else "")) + text)
    return ("".join(pieces) or "0") + (" + \\cdots" if more else "")


def latex_text(mv: MV) -> str:
    """Return one multivector as a LaTeX formula between dollar signs; a batch as a few lines of them."""
    if not mv.ndim:
        return f"${_latex_line(mv)}$"
    rows = _rows(mv)
    lines = [_latex_line(mv.new(mv.keys, row)) for row in rows[:4]]
    more = [" \\vdots"] if len(rows) > 4 else []
    return "$\\begin{array}{l}" + " \\\\ ".join([*lines, *more]) + "\\end{array}$"


def html_text(mv: MV) -> str | None:
    """Return the rounded text for a notebook; None for one symbolic multivector, which reads better as LaTeX."""
    if mv.dtype == object and not mv.ndim:
        return None
    return f"<pre>{html.escape(rounded_text(mv))}</pre>"
