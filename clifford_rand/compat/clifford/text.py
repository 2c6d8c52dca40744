"""Texts of multivectors as ``clifford`` prints them, sums of products of numbers and blades; printing for IPython."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clifford_rand.multivector.parse import AMBIGUOUS

_TOO_LONG = 10**4300  # Python writes no integers of so many digits (sys.set_int_max_str_digits)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?|nan\b|inf\b)|(?P<name>[^\W\d]\w*)|(?P<mark>[-+*^()]))"
)


def parse(text: str, masks: Mapping[str, int], blade: Callable[[int], Any]) -> Any:
    """Return the number or multivector of a text; ``^`` and ``*`` bind closer than ``+`` and ``-``.

    Raises
    ------
    SyntaxError
        With the line and the column of what cannot be read.
    """
    reader = _Reader(text, masks, blade)
    try:
        value = reader.sum()
    except RecursionError:
        raise reader.error("fewer parentheses within each other") from None
    except OverflowError:
        raise reader.error("numbers within the range of float64") from None
    if reader.kind:
        raise reader.error("a sign between terms, or ^ or * between factors")
    numbers = value.coefficients if hasattr(value, "coefficients") else np.array([value], dtype=object)
    if any(isinstance(number, int) and abs(number) >= _TOO_LONG for number in numbers.flat):
        raise reader.error("integers of fewer digits", 0)
    return value


def pretty_call(printer: Any, name: str, *parts: Any) -> None:
    """Write ``name(part, part)`` with IPython's printer; a part is text, or (text before it, object)."""
    with printer.group(len(name) + 1, f"{name}(", ")"):
        for i, part in enumerate(parts):
            if i:
                printer.text(",")
                printer.breakable()
            lead, value = part if isinstance(part, tuple) else (part, None)
            with printer.group(len(lead) if value is not None else 0, lead, ""):
                if value is not None:
                    printer.pretty(value)


class _Reader:
    """A text and the token where the reading stands: its kind (None at the end), its text and its place."""

    def __init__(self, text: str, masks: Mapping[str, int], blade: Callable[[int], Any]) -> None:
        self.text, self.masks, self.blade = text, masks, blade
        self.end = 0
        self.kind: str | None = None
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            rest = self.text[self.end :]
            self.kind, self.token = ("other", rest.strip()) if rest.strip() else (None, "")
            self.place = self.end + len(rest) - len(rest.lstrip()) if rest.strip() else len(self.text)
            return
        self.kind, self.token = match.lastgroup, match[match.lastgroup or 0]
        self.place, self.end = match.start(match.lastgroup or 0), match.end()

    def error(self, wanted: str, place: int | None = None) -> SyntaxError:
        at = self.place if place is None else place
        before = self.text[:at].split("\n")
        line = self.text.split("\n")[len(before) - 1]
        received = f"{self.text[at]!r}" if at < len(self.text) else "the end"
        return SyntaxError(
            f"expected {wanted}, got {received}", ("<multivector>", len(before), len(before[-1]) + 1, line)
        )

    def sum(self) -> Any:
        total = self.product()
        while self.kind == "mark" and self.token in "+-":
            sign = self.token
            self.advance()
            term = self.product()
            total = total + term if sign == "+" else total - term
        return total

    def product(self) -> Any:
        result = self.factor()
        while self.kind == "mark" and self.token in "*^":
            mark, place = self.token, self.place
            self.advance()
            if self.kind is None:
                raise self.error("an operand of the product", place)
            factor = self.factor()
            scalar = isinstance(result, int | float | complex) or isinstance(factor, int | float | complex)
            result = result * factor if mark == "*" or scalar else result ^ factor
        return result

    def factor(self) -> Any:
        if self.kind == "mark" and self.token in "+-":
            sign = -1 if self.token == "-" else 1
            self.advance()
            return sign * self.factor()
        if self.kind == "mark" and self.token == "(":
            self.advance()
            inner = self.sum()
            if self.token != ")":
                raise self.error("a closing parenthesis")
            self.advance()
            return inner
        if self.kind == "number":
            number = self.number()
            self.advance()
            return number
        if self.kind == "name" and self.token in self.masks:
            name = self.token
            self.advance()
            return self.blade(self.masks[name])
        raise self.error("a number or the name of a blade")

    def number(self) -> complex:
        match = AMBIGUOUS.fullmatch(self.token)
        if match is not None and match[2] in self.masks:
            raise self.error(f"{match[1]}*{match[2]} for the blade or {match[1]}e+{match[2][1:]} for the number")
        if self.token.endswith("j"):
            return complex(self.token)
        try:
            return int(self.token) if self.token.isdigit() else float(self.token)
        except ValueError:  # Python reads no integers of more than 4300 digits
            raise self.error("a number of fewer digits") from None
