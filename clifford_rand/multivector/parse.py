"""Text to multivectors: ``e1 - 2*e23`` and whatever else the operators can say."""

import ast
import difflib
import operator
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from clifford_rand._checks import describe, fail

if TYPE_CHECKING:
    from clifford_rand.algebra import Algebra

__all__ = ["parse_expression"]

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
_NOT_FINITE = {  # as repr writes them
    "inf": float("inf"),
    "nan": float("nan"),
    "infj": complex(0, float("inf")),
    "nanj": complex(0, float("nan")),
}
_TRAP = re.compile(r"(\d[\d_]*)[eE](\d[\d_]*)j?")  # 2e12: a float to Python, and a blade to the reader
LONGEST = 10**6  # characters; far above any sum that a person writes
_HIGHEST_POWER = 10**4  # so that a text cannot ask for 9**9**9


class _Parser:
    """The value of one expression; only numbers, blades, given names and operators are ever evaluated."""

    def __init__(self, algebra: "Algebra", text: str, names: Mapping[str, Any], exact: bool) -> None:
        self.algebra, self.text, self.names = algebra, text, names
        self.suspect = _TRAP.search(text) is not None
        self.exact = exact or any(_is_exact(value) for value in names.values())

    def error(self, rule: str, what: str, hint: str = "") -> Exception:
        return fail("text", "Algebra", rule, describe(what), hint)

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
            return _UNARY[type(node.op)](operand)
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
        literal = (ast.get_source_segment(self.text, node) or "") if self.suspect else ""
        found = _TRAP.fullmatch(literal)
        if found is not None and self.algebra.names.parse(f"e{found.group(2)}") is not None:
            blade = f"{found.group(1)}*e{found.group(2)}"
            number = f"{found.group(1)}e+{found.group(2)}"
            raise self.error(
                "unambiguous", f"{literal!r} in {self.text!r}", f"Write {blade} for the blade, {number} for the number."
            )
        return node.value

    def combined(self, node: ast.BinOp, left: Any, right: Any) -> Any:
        if self.exact and isinstance(node.op, ast.Div) and type(right) is int and right:
            return left * Fraction(1, right)
        if isinstance(node.op, ast.Pow) and isinstance(right, int | float) and abs(right) > _HIGHEST_POWER:
            raise self.error(f"free of powers above {_HIGHEST_POWER}", f"{ast.unparse(node)!r} in {self.text!r}")
        if isinstance(node.op, _OF_BLADES) and not (hasattr(left, "keys") or hasattr(right, "keys")):
            left = self.algebra.scalar(left)  # 2 ^ 3 is the outer product of scalars, where Python would combine bits
        return _BINARY[type(node.op)](left, right)

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


def _is_exact(value: Any) -> bool:
    return isinstance(value, Fraction) or hasattr(value, "free_symbols")


def parse_expression(algebra: "Algebra", text: str, names: Mapping[str, Any], *, exact: bool = False) -> Any:
    """Return the value of an expression of numbers, blades and ``names``, with Python's operators and precedence.

    With ``exact``, or where a name stands for a fraction or a symbol, quotients by integers are fractions: 1/3 is 1/3.
    """
    text = " ".join(text.split())
    if len(text) > LONGEST:
        raise fail("text", "Algebra", f"of at most {LONGEST} characters", describe(f"{len(text)} characters"))
    try:
        tree = ast.parse(text, mode="eval").body
        return _Parser(algebra, text, names, exact).value(tree)
    except (SyntaxError, ValueError) as error:
        if isinstance(error, SyntaxError) or "null bytes" in str(error):
            raise fail("text", "Algebra", "an expression like 'e1 - 2*e12'", text, _advice(text, error)) from None
        raise
    except (RecursionError, MemoryError):
        raise fail("text", "Algebra", "less deeply nested", text) from None


def _advice(text: str, error: Exception) -> str:
    if "more terms)" in text:
        return "This text was abridged."
    message = (getattr(error, "msg", None) or str(error)).removesuffix(".")
    found = re.search(r"(?<![\w.])(\d[\d.]*)(?: |(?![eE][+-]?\d|j\b))([A-Za-z_]\w*)", text)
    if found is not None:
        return f"Write products with *, as in {found.group(1)}*{found.group(2)}."
    return f"{message[:1].upper()}{message[1:]}."
