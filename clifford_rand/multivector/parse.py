"""Text to multivectors: ``e1 - 2*e23`` and whatever else the operators can say; and the basis blades by name."""

import ast
import difflib
import math
import operator
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand._threads import ONE_PARSER
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import INT, largest
from clifford_rand.basis.keys import check_size, dense_keys, keys_of_grades
from clifford_rand.basis.rules import WORD

_BINARY: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.BitXor: operator.xor,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: dict[type, Any] = {ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert}
_OF_BLADES = (ast.BitXor, ast.BitOr, ast.BitAnd, ast.LShift, ast.RShift)
_NOT_FINITE = {  # as repr writes them; with capitals where a blade has such a name
    word + part: complex(0, float(word)) if part else float(word)
    for word in ("inf", "nan", "Inf", "NaN")
    for part in ("", "j")
}
# 0.5e12: half of e12, or 5e+11
AMBIGUOUS = re.compile(r"(?<![\d_.])(\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)([eE]\d[\d_]*j?|[jJ])")
LONGEST = 10**6  # characters; far above any sum that a person writes
_HIGHEST_POWER = 10**4  # so that a text cannot ask for 9**9**9
_LARGEST_NUMBER = 4300  # digits: Python reads and writes no longer integers (sys.set_int_max_str_digits)


class _Parser:
    """The value of one expression; only numbers, blades, given names and operators are ever evaluated."""

    def __init__(self, algebra: Any, text: str, names: Mapping[str, Any], exact: bool) -> None:
        self.algebra, self.text, self.names = algebra, text, names
        self.line = text.encode()  # one line, in which nodes have their places in bytes
        self.suspect = AMBIGUOUS.search(text) is not None
        self.exact = exact or any(_is_exact(value) for value in names.values())

    def error(self, rule: str, what: str, hint: str = "") -> Exception:
        return fail("text", "Algebra", rule, describe(what), hint)

    def source(self, node: ast.expr) -> str:
        return self.line[node.col_offset : node.end_col_offset].decode()

    def value(self, node: ast.expr) -> Any:
        """Return the value of a node; a long sum, which nests to the left, without recursion."""
        pending = []
        while isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            pending.append(node)
            node = node.left
        result = self.operand(node)
        for operation in reversed(pending):
            result = self.combined(operation, result, self.value(operation.right))
        return result

    def operand(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, complex):
            return self.number(node)
        if isinstance(node, ast.Name):
            return self.named(node.id)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            operand = self.value(node.operand)
            if isinstance(node.op, ast.Invert) and not hasattr(operand, "keys"):
                return operand  # the reverse of a scalar, where Python would flip bits
            return self.applied(_UNARY[type(node.op)], node, operand)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            function = self.names.get(node.func.id)
            if callable(function):
                return function(*(self.value(argument) for argument in node.args))
        raise self.error(
            "made of numbers, blades and the operators + - * / ** ^ | & << >> ~",
            f"{ast.unparse(node)!r} in {self.text!r}",
            "Give names and functions as keywords.",
        )

    def number(self, node: ast.Constant) -> Any:
        literal = self.source(node) if self.suspect else ""
        match = AMBIGUOUS.fullmatch(literal)
        if match is not None:
            factor, name = match[1], match[2] if match[2] in "jJ" else match[2].rstrip("j")
            spelled = (word for word in (name, name.swapcase()) if self.algebra.names.parse(word) is not None)
            blade = next(spelled, None)
            if blade is not None and (name not in "jJ" or blade == name):
                number = f"{factor}{name.swapcase()}" if name in "jJ" else f"{factor}e+{name[1:]}"
                hint = f"Write {factor}*{blade} for the blade, {number} for the number."
                raise self.error("unambiguous", f"{literal!r} in {self.text!r}", hint)
        return self.bounded(node.value, node)

    def bounded(self, value: Any, node: ast.expr, power: float = 1) -> Any:
        """Return ``value`` unless its integers and fractions, to a power, have more digits than Python writes."""
        if power * _bits(value) > _LARGEST_NUMBER * math.log2(10):
            raise self.error(f"made of numbers of at most {_LARGEST_NUMBER} digits", repr(self.source(node)))
        return value

    def combined(self, node: ast.BinOp, left: Any, right: Any) -> Any:
        if self.exact and isinstance(node.op, ast.Div) and type(right) is int and right:
            return self.applied(operator.mul, node, left, Fraction(1, right))
        if isinstance(node.op, ast.Pow) and isinstance(right, int | float):
            if abs(right) > _HIGHEST_POWER:
                raise self.error(f"free of powers above {_HIGHEST_POWER}", repr(self.source(node)))
            self.bounded(left, node, abs(right))
        if isinstance(node.op, _OF_BLADES) and not (hasattr(left, "keys") or hasattr(right, "keys")):
            left = self.algebra.scalar(left)  # 2 ^ 3 is the outer product of scalars, where Python would combine bits
        result = self.applied(_BINARY[type(node.op)], node, left, right)
        return result if getattr(result, "dtype", None) == INT else self.bounded(result, node)

    def applied(self, operation: Any, node: ast.expr, *values: Any) -> Any:
        """Return what an operator makes of values."""
        try:
            return operation(*values)
        except OverflowError:
            raise self.error("within the range of float64", repr(self.source(node))) from None
        except ZeroDivisionError:
            raise self.error("free of divisions by zero", repr(self.source(node))) from None
        except TypeError as error:  # of what a name stands for: a function that is not called, a list
            raise self.error("made of operations that its values have", repr(self.source(node)), f"{error}.") from None

    def named(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        if self.algebra.names.parse(name) is not None:
            return self.algebra.blade(name)
        if name in _NOT_FINITE:
            return _NOT_FINITE[name]
        known = [self.algebra.names.vector(i) for i in range(min(self.algebra.d, 20))]
        near = difflib.get_close_matches(name, [*known, *self.names], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise self.error(
            "made of blades of this algebra and names given as keywords",
            f"{name!r} in {self.text!r}",
            self.algebra.names.hint + hint,
        )


def _bits(value: Any) -> float:
    """Return log₂ of the longest integer or fraction in a number or a multivector; 0 for floats and symbols."""
    if isinstance(value, int):
        return math.log2(max(1, abs(value)))
    if isinstance(value, Fraction):
        return _bits(value.numerator) + _bits(value.denominator)
    if not hasattr(value, "coefficients") or value.dtype.kind not in "iO":
        return 0
    entries = value.coefficients.ravel().tolist() if value.dtype.kind == "O" else [largest(value.coefficients)]
    return max(map(_bits, entries), default=0) + math.log2(max(1, value.keys.size))


def _is_exact(value: Any) -> bool:
    return isinstance(value, Fraction) or hasattr(value, "free_symbols")


def parse_expression(algebra: Any, text: str, names: Mapping[str, Any], *, exact: bool = False) -> Any:
    """Return the value of an expression of numbers, blades and ``names``, with Python's operators and precedence.

    With ``exact``, or where a name stands for a fraction or a symbol, quotients by integers are fractions: 1/3 is 1/3.
    """
    text = " ".join(text.split())
    if len(text) > LONGEST:
        raise fail("text", "Algebra", f"of at most {LONGEST} characters", describe(f"{len(text)} characters"))
    try:
        try:
            with ONE_PARSER:
                tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError) as error:  # the latter of characters that no source text has
            raise fail("text", "Algebra", "an expression like 'e1 - 2*e12'", text, _advice(text, error)) from None
        return _Parser(algebra, text, names, exact).value(tree)
    except (RecursionError, MemoryError):
        raise fail("text", "Algebra", "less deeply nested", text) from None


def _advice(text: str, error: Exception) -> str:
    if "more terms)" in text:
        return "This text was abridged."
    message = (getattr(error, "msg", None) or str(error)).removesuffix(".")
    match = re.search(r"(?<![\w.])(\d[\d.]*)(?: |(?![eE][+-]?\d|j\b))([A-Za-z_]\w*)", text)
    if match is not None:
        return f"Write products with *, as in {match.group(1)}*{match.group(2)}."
    return f"{message[:1].upper()}{message[1:]}."


class Blades:
    """The basis blades of an algebra by name, in storage order where they are listed."""

    def __init__(self, algebra: Any) -> None:
        self._algebra = algebra

    def __getitem__(self, name: str) -> Any:
        return self._algebra.blade(name)

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"{type(self).__name__!r} object has no blade {name!r}. {self._algebra.names.hint}")
        return self._algebra.blade(name)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._algebra.names.listed()]

    def _ipython_key_completions_(self) -> list[str]:
        return ["1", *self._algebra.names.listed()]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._algebra.names.parse(name) is not None

    def __len__(self) -> int:
        d = self._algebra.d
        if d > WORD:
            raise fail("blades", "len", f"of at most {WORD} basis vectors", describe(f"d = {d}, so 2^{d} blades"))
        return 1 << d

    def __iter__(self) -> Any:
        check_size(1 << self._algebra.d, "blades", "the list of blades")
        return (self._algebra.names.blade(int(mask)) for mask in dense_keys(self._algebra.d).masks)

    def keys(self) -> list[str]:
        """Return the names of all blades, "1" first."""
        return list(self)

    def grade(self, k: int) -> dict[str, MV]:
        """Return the blades of one grade by name."""
        masks = keys_of_grades(self._algebra.d, (check_integer(k, "k", "grade", low=0, high=self._algebra.d),)).masks
        names = [self._algebra.names.blade(int(mask)) for mask in masks]
        return {name: self._algebra.blade(name) for name in names}

    def items(self) -> list[tuple[str, MV]]:
        """Return (name, blade) of all blades."""
        return [(name, self[name]) for name in self]

    def __repr__(self) -> str:
        return f"Blades({self._algebra!r}: {self._algebra.names.hint})"
