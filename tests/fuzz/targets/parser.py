"""Texts of multivectors: `Algebra(text)` in several metrics, exact and not, and the texts of the package clifford."""

import re
import warnings

import numpy as np

import clifford_rand as cr
from clifford_rand.compat.clifford import Cl
from clifford_rand.errors import ArgumentError
from fuzz.target import Target

COUNTED = ("clifford_rand.multivector.parse", "clifford_rand.compat.clifford.io", "clifford_rand.basis.rules")
_SEEDS = (
    "e1 - 2*e12",
    "(1 + 2.5e-3*e1) ^ e23 | e3",
    "~(e1*e2) << e1 >> 3",
    "1/3*e1 + -0.5*e2**2",
    "a*e1 + f(e2, 2)",
    "(2^e1) - (3^e12) + 1.0",
    "inf + nan*e1 - 3j*e2",
    "e0 & e12 / 2 ** -1",
    "2e12 + 1e+2",
    "e1_12 + (e13 + e02)**3",
)
_TOKENS = [
    *("e1", "e2", "e3", "e12", "e21", "e123", "e0", "e1_2", "e", "a", "f", "x", "inf", "nanj", "True", "lambda"),
    *("+", "-", "*", "/", "**", "^", "|", "&", "<<", ">>", "~", "//", "%", "@", "not ", "<", "==", "if", "=", ":="),
    *("(", ")", "[", "]", "{", "}", ",", ":", ";", "'", '"', "\\", "#", "\n", "\x00", "\u00b2", "\u0665", "é", "."),
    *("0", "1", "2", "3.5", "1e308", "1e-320", "10**9", "9999", "99999999999999999999", "1_000", "0x1f", "07", "2j"),
]
_LONG = 4000  # characters that a repetition makes


class Parser(Target):
    """Every text is a multivector, which its own text in all digits gives again, or the one error."""

    refusals = (ArgumentError, ZeroDivisionError)  # the latter as Python's numbers say it
    random = 0.3
    constant = 2**22  # trees of Python's parser take hundreds of bytes a character
    per_byte = 2**11

    def prepare(self, folder):
        super().prepare(folder)
        self.algebras = [cr.Algebra(2), cr.Algebra(3, 0, 1), cr.Algebra(1, 3), cr.Algebra(12), cr.Algebra(40)]
        self.layout = Cl(3)[0]

    def seeds(self):
        return [bytes([i]) + text.encode() for i, text in enumerate(_SEEDS)]

    def mutated(self, data, rng):
        words = re.findall(r"\w+|\s+|.", data[1:].decode("utf-8", "replace"), re.S)
        for _ in range(int(rng.integers(1, 5))):
            at, kind = int(rng.integers(len(words) + 1)), rng.integers(7)
            end = min(len(words), at + int(rng.integers(1, 6)))
            if kind == 0:
                del words[at:end]
            elif kind == 1:
                words[at:at] = words[at:end]
            elif kind == 2 and rng.random() < 0.1:
                part = "".join(words[at:end]) or "("
                words[at:end] = [part * int(rng.integers(1, 1 + _LONG // len(part)))] if len(part) < _LONG else []
            elif kind == 3:
                words[at:end] = ["(", *words[at:end], ")"]
            else:
                words[at : at + int(kind == 4)] = [_TOKENS[rng.integers(len(_TOKENS))]]
        return bytes([rng.integers(16)]) + "".join(words).encode(errors="replace"), None

    def run(self, data, known):
        if not data:
            return "no input"
        kind, text = data[0] % 16, data[1:].decode("utf-8", "replace" if data[0] % 2 else "surrogateescape")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)
            if kind >= 12:
                return self._clifford(text)
            algebra, exact = self.algebras[kind % len(self.algebras)], kind >= 6
            value = algebra(text, exact=exact, a=3, f=lambda *given: len(given))
            repr(value)  # rounded
            with cr.printoptions(precision=17, suppress=False):
                shown = repr(value)
            exactly = value.dtype.kind in "iO"
            mixed = value.dtype.kind == "O" and any(isinstance(one, float | complex) for one in value.coefficients.flat)
            if mixed or "more terms" in shown or not (exactly or np.isfinite(value.coefficients).all()):
                return "value"
            again = algebra(shown, exact=True)
            if not np.array_equal(again.coefficients, value.coefficients) and again != value and value == value:
                raise AssertionError(f"{shown!r} gives {again!r}")
        return "value"

    def _clifford(self, text):
        try:
            value = self.layout.parse_multivector(text)
        except SyntaxError:
            return "refused"
        str(value)
        return "value"

    def allowed(self, data):
        return self.constant + self.per_byte * len(data)


TARGET = Parser()
