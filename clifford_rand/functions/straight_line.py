"""Small products as straight-line code: a Python function of rows, each a float of one multivector or an array of many.

A row is one component. One multivector in Python numbers costs 30 ns an operation, where a NumPy call costs a
microsecond; over a batch a row is contiguous, and no component is visited that is zero by structure.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from clifford_rand.basis.keys import Keys, keys_of_masks
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.table import product_table


class Part(NamedTuple):
    """Names of the rows of one multivector."""

    keys: Keys
    names: tuple[str, ...]

    def on(self, keys: Keys) -> "Part":
        """Return the rows on other keys, zeros where there are none."""
        at = dict(zip(self.keys.masks.tolist(), self.names, strict=True))
        return Part(keys, tuple(at.get(mask, "0.0") for mask in keys.masks.tolist()))


class StraightLine:
    """A function that is written product by product, and compiled by `function`."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.lines: list[str] = []
        self.arguments: list[str] = []

    def argument(self, name: str, keys: Keys) -> Part:
        """Return the rows of an argument, a sequence."""
        names = tuple(f"{name}{i}" for i in range(keys.size))
        self.arguments.append(name)
        if names:
            self.lines.append(f"{', '.join(names)}, = {name}")
        return Part(keys, names)

    def product(self, name: str, rule: str, a: Part, b: Part, grades: Sequence[int] | None = None) -> Part:
        """Return the product, of ``grades`` alone, named ``name0``, ``name1``, …; a square counts each pair once."""
        table = product_table(self.metric, rule, a.keys, b.keys)
        kept = [i for i, k in enumerate(table.keys.grade_of.tolist()) if grades is None or k in grades]
        names = []
        for n, i in enumerate(kept):
            terms: dict[tuple[int, int], Any] = {}
            for row in range(int(table.indptr[i]), int(table.indptr[i + 1])):
                left, right = int(table.left[row]), int(table.right[row])
                pair = (min(left, right), max(left, right)) if a == b else (left, right)
                terms[pair] = terms.get(pair, 0) + table.coef[row].item()
            names.append(f"{name}{n}")
            factors = [f"{_factor(c)}{a.names[j]}*{b.names[k]}" for (j, k), c in terms.items() if c]
            self.lines.append(f"{names[-1]} = " + (" ".join(factors).removeprefix("+ ") or "0.0"))
        return Part(_subset(table.keys, kept), tuple(names))

    def function(self, *results: "Part | str") -> Callable[..., Any]:
        """Return the function of the arguments: a tuple, of a list of rows for each part, of a row for each name."""
        given = [part if isinstance(part, str) else f"[{', '.join(part.names)}]" for part in results]
        body = "\n    ".join([*self.lines, f"return {', '.join(given)},"])
        namespace: dict[str, Any] = {}
        source = f"def straight({', '.join(self.arguments)}):\n    {body}\n"
        exec(compile(source, "<straight line>", "exec"), namespace)  # the text is generated here, from names made here
        made: Callable[..., Any] = namespace["straight"]
        return made


def _factor(value: Any) -> str:
    sign = "-" if value < 0 else "+"
    return f"{sign} " if abs(value) == 1 else f"{sign} {float(abs(value))!r}*"


def _subset(keys: Keys, kept: Sequence[int]) -> Keys:
    if len(kept) == keys.size:
        return keys
    return keys_of_masks(keys.d, tuple(int(keys.masks[i]) for i in kept))
