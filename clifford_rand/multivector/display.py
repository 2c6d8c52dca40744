"""Displays of a multivector: text to the print options, formats, LaTeX, HTML."""

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand._checks import fail
from clifford_rand._typing import MV
from clifford_rand.basis.rules import bits_of
from clifford_rand.print_options import current_options, rounded, text_html, without_noise

_SPECIFICATION = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>=^]))?(?P<sign>[-+ ]?)(?P<form>z?#?)(?P<zero>0?)(?P<width>\d*)(?P<rest>\D.*)?",
    re.DOTALL,
)
_FEW_ROWS, _FEW_TERMS = 4, 8  # multivectors of a batch that its repr shows, and terms of each
_LONGEST_FORMULA = 16  # terms that a notebook shows as a formula, which is not broken into lines
_GREEK = re.compile(  # letters that LaTeX has
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|phi|chi|psi|"
    "omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega"
)
_WITH_INDEX = re.compile(rf"(e)({_GREEK.pattern}|inf|[a-z])|(.*\D)(\d+)")

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
    if number in (repr, rounded):
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


def _shown_terms(mv: MV, rounded: bool) -> list[tuple[int, Any]]:
    """Return (mask, number) of what is shown: without noise, and complex numbers that are real as such.

    Where numbers are rounded, a blade's coefficient 1.0 becomes the integer, which is not written, and a float32 the
    float of its shortest digits.
    """

    def simplified(value: Any, mask: int) -> Any:
        if isinstance(value, complex):
            imag = simplified(value.imag, 0)
            return complex(simplified(value.real, 0), imag) if imag else simplified(value.real, mask)
        if rounded and isinstance(value, float):
            value = float(str(np.float32(value))) if single else value
            return int(value) if mask and abs(value) == 1 else value
        return value

    single = mv.dtype.char in "fF"
    terms = terms_of(mv.new(mv.keys, without_noise(mv.coefficients)))
    return [(mask, simplified(value, mask)) for mask, value in terms]


def _sum_of_terms(
    terms: list[tuple[Term, str]], more: int, times: str = "*", brackets: str = "({})", dots: str = "… ({} more terms)"
) -> str:
    """Return "a*e1 - b*e2" of (coefficient, blade name) pairs; a scalar's name is empty."""
    pieces: list[str] = []
    for (negative, size, compound), name in terms:
        if compound and (name or (_is_sum(size) and (negative or len(terms) + more > 1))):
            size = brackets.format(size)
        text = (name if size == "1" else f"{size}{times}{name}") if name else size
        lead = (" - " if negative else " + ") if pieces else ("-" if negative else "")
        pieces.append(lead + text)
    return ("".join(pieces) or "0") + (f" + {dots.format(more)}" if more else "")


def _line(mv: MV, number: Number, most: int) -> str:
    terms = _shown_terms(mv, number in (rounded, _capital))
    names = mv.algebra.names
    shown = [(sign_and_size(value, number), names.blade(mask) if mask else "") for mask, value in terms[:most]]
    return _sum_of_terms(shown, max(0, len(terms) - most))


def _capital(value: Any) -> str:
    return rounded(value).replace("inf", "Inf").replace("nan", "NaN")


def _number_of(mv: MV) -> Number:
    parse = mv.algebra.names.parse
    names_a_blade = any(parse(word) is not None for word in ("inf", "infj", "nan", "nanj"))
    return _capital if names_a_blade else rounded


def _lines(mv: MV, number: Number, finish: Callable[[str], str] = str, *, is_short: bool = False) -> str:
    """Return a batch as its description and a line for each multivector, abridged as NumPy's arrays are, or shorter."""
    options = np.get_printoptions()
    count, edge, most = math.prod(mv.shape), options["edgeitems"], current_options().max_terms
    shown: Sequence[int] = range(count)
    if is_short:
        shown, most = shown[:_FEW_ROWS], min(most, _FEW_TERMS)
    elif count * mv.keys.size > options["threshold"] and count > 2 * edge:
        shown = [*shown[:edge], *shown[count - edge :]]
    places = [np.unravel_index(i, mv.shape) for i in shown]
    indices = [", ".join(str(int(part)) for part in place) for place in places]
    width = max(map(len, indices), default=0)
    lines = [
        f" [{index:>{width}}] {finish(_line(mv.new(mv.keys, mv.coefficients[place]), number, most))}"
        for index, place in zip(indices, places, strict=True)
    ]
    if len(shown) < count:
        lines.insert(len(lines) if is_short else edge, f" … ({count - len(shown)} more)")
    kind = f"grades={mv.grades}" if mv.keys.complete else f"{mv.keys.size} blades of grades {mv.grades}"
    title = f"<Multivector batch of {mv.algebra!r}: shape={mv.shape}, {kind}, dtype={mv.dtype}>"
    return "\n".join([title, *lines])


def short_text(mv: MV) -> str:
    """Return text to the print options, which `set_printoptions` describes; of a batch the shape and first values."""
    return _lines(mv, _number_of(mv), is_short=True) if mv.ndim else _text(mv, _number_of(mv))


def full_text(mv: MV) -> str:
    """Return what `short_text` does, and of a batch as many lines as NumPy's print options allow."""
    return _text(mv, _number_of(mv))


def _text(mv: MV, number: Number, finish: Callable[[str], str] = str) -> str:
    return _lines(mv, number, finish) if mv.ndim else finish(_line(mv, number, current_options().max_terms))


def formatted_text(mv: MV, specification: str) -> str:
    """Return text in a format such as ``f"{A:+.3f}"``, which is read as for a complex number.

    Precision and type are those of each number, the sign is that of the first term, width and alignment are those of
    the whole. A scalar has the format of its number.
    """
    if not specification:
        return full_text(mv)
    if mv.keys.grades in ((0,), ()) and not mv.ndim and mv.dtype.kind in "if":
        return format(mv["1"].item(), specification)  # zero too, which has no terms
    parts = _SPECIFICATION.fullmatch(specification)
    if parts is None or parts["zero"] or parts["align"] == "=":
        raise fail("specification", "format", "free of zero padding, as for complex numbers", specification)
    rest = parts["form"] + (parts["rest"] or "").removesuffix("s")
    sign, place = parts["sign"].strip("-"), f"{parts['fill'] or ''}{parts['align'] or '>'}{parts['width']}"

    def finish(text: str) -> str:
        return format(text if text.startswith("-") else sign + text, place)

    return _text(mv, (lambda value: format(value, rest)) if rest else _number_of(mv), finish)


# ---- notebooks


def _latex_vector(name: str) -> str:
    """Write a basis vector's name: e1, einf and etheta as e with an index, gamma0 as the Greek letter with one."""
    match = _WITH_INDEX.fullmatch(name) if not _GREEK.fullmatch(name) else None
    stem, index = (match[1] or match[3], match[2] or match[4]) if match else (name, "")
    letter = f"\\boldsymbol{{\\{stem}}}" if _GREEK.fullmatch(stem) else f"\\mathbf{{{stem}}}"
    word = "\\infty" if index == "inf" else f"\\{index}" if _GREEK.fullmatch(index) else index
    return letter + (f"_{{{word}}}" if word else "")


def _latex_blade(mv: MV, mask: int) -> str:
    names = mv.algebra.names
    parts = [names.vector(i) for i in bits_of(mask)]
    if names.prefix is not None and mv.algebra.d > 1:
        return f"{_latex_vector(names.prefix)}_{{{''.join(part[-1] for part in parts)}}}"
    if isinstance(names.vectors, range):
        return f"\\mathbf{{e}}_{{{','.join(part[1:] for part in parts)}}}"
    return " \\wedge ".join(map(_latex_vector, parts))


def _latex_number(value: Any) -> str:
    text = rounded(value)
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


def _latex_line(mv: MV, most: int) -> str:
    terms = _shown_terms(mv, rounded=True)
    shown = [(_latex_term(value), _latex_blade(mv, mask) if mask else "") for mask, value in terms[:most]]
    return _sum_of_terms(shown, max(0, len(terms) - most), "\\,", "\\left({}\\right)", "\\cdots")


def latex_text(mv: MV) -> str:
    """Return one multivector as a LaTeX formula between dollar signs; a batch as a few lines of them."""
    most = current_options().max_terms
    if not mv.ndim:
        return f"${_latex_line(mv, most)}$"
    count = math.prod(mv.shape)
    places = [np.unravel_index(i, mv.shape) for i in range(min(count, _FEW_ROWS))]
    lines = [_latex_line(mv.new(mv.keys, mv.coefficients[place]), most) for place in places]
    more = [" \\vdots"] if count > _FEW_ROWS else []
    return "$\\begin{array}{l}" + " \\\\ ".join([*lines, *more]) + "\\end{array}$"


def html_text(mv: MV) -> str | None:
    """Return the text of a batch or a long sum for a notebook; None for what reads better as LaTeX."""
    if not mv.ndim and (mv.dtype == object or len(_shown_terms(mv, rounded=True)) <= _LONGEST_FORMULA):
        return None
    return text_html(short_text(mv))
