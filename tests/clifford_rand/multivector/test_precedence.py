"""The order of precedence that the class and the conventions state is Python's."""

import ast
import itertools
import re
from pathlib import Path

import clifford_rand as cr

ROOT = Path(__file__).resolve().parents[3]
ORDER = [("**",), ("*", "/"), ("+", "-"), ("<<", ">>"), ("&",), ("^",), ("|",)]


def listed(text):
    """Return the operators of a sentence, one group between two delimiters."""
    groups = [tuple(re.findall(r"`+([^`\w]+?)`+", part)) for part in re.split(r";|, then", text)]
    return [group for group in groups if group and "~" not in group]


def test_the_stated_order_is_that_of_python():
    page = (ROOT / "docs" / "reference" / "conventions.md").read_text(encoding="utf-8")
    for text in (cr.Multivector.__doc__, page):
        sentence = re.search(r"Python's precedence (?:holds|applies)(.*?)(?:; comparisons|\. Comparisons)", text, re.S)[
            1
        ]
        assert listed(sentence) == ORDER
    for (i, tighter), (j, looser) in itertools.combinations(enumerate(ORDER), 2):
        assert i < j
        for a, b in itertools.product(tighter, looser):
            assert ast.dump(ast.parse(f"x {b} y {a} z")) == ast.dump(ast.parse(f"x {b} (y {a} z)"))


def test_the_stated_examples_hold():
    a, b, c = cr.Algebra(3).random_multivector(rng=0, shape=3)
    assert (a ^ b + c) == (a ^ (b + c)) != ((a ^ b) + c)
    assert (a | b ^ c) == (a | (b ^ c)) != ((a | b) ^ c)
    assert (a * b ^ c) == ((a * b) ^ c) != (a * (b ^ c))
