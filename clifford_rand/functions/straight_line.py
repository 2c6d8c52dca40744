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
    """Names of the rows of one multivector, and the signs that they count with (none: all 1)."""

    keys: Keys
    names: tuple[str, ...]
    signs: tuple[int, ...] = ()

    def negated(self, is_negative: Callable[[int], bool]) -> "Part":
        """Return the rows with another sign in some grades: an involution, at no cost."""
        signs = self.signs or (1,) * len(self.names)
        changed = (-x if is_negative(k) else x for x, k in zip(signs, self.keys.grade_of.tolist(), strict=True))
        return Part(self.keys, self.names, tuple(changed))

    def signed(self) -> list[str]:
        """Return the rows as expressions."""
        return [
            f"-{x}" if sign < 0 else x for x, sign in zip(self.names, self.signs or (1,) * len(self.names), strict=True)
        ]

    def scalar(self) -> str:
        """Return the row of grade 0, which is the only one, or zero."""
        return self.names[0] if self.names else "0.0"

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
        self.taken: set[str] = set()
        self.terms = 0  # products of two rows

    def argument(self, name: str, keys: Keys) -> Part:
        """Return the rows of an argument, a sequence."""
        self._take(name)
        # one local variable for each row
        names = tuple(f"{name}{i}" for i in range(keys.size))
        self.arguments.append(name)
        if names:
            self.lines.append(f"{', '.join(names)}, = {name}")
        return Part(keys, names)

    def product(self, name: str, rule: str, a: Part, b: Part, grades: Sequence[int] | None = None) -> Part:
        """Return the product, of ``grades`` alone, in rows ``name0``, ``name1``, …; rows that are zero are left out.

        Products of two rows of one multivector, or of it and its involution, are counted together.
        """
        self._take(name)
        table = product_table(self.metric, rule, a.keys, b.keys)
        same = a.names == b.names
        names: list[str] = []
        kept: list[int] = []
        for i, k in enumerate(table.keys.grade_of.tolist()):
            if grades is not None and k not in grades:
                continue
            terms: dict[tuple[int, int], Any] = {}
            for row in range(int(table.indptr[i]), int(table.indptr[i + 1])):
                left, right = int(table.left[row]), int(table.right[row])
                pair = (min(left, right), max(left, right)) if same else (left, right)
                sign = (a.signs[left] if a.signs else 1) * (b.signs[right] if b.signs else 1)
                terms[pair] = terms.get(pair, 0) + sign * table.coef[row].item()
            factors = [f"{_factor(c)}{a.names[j]}*{b.names[k]}" for (j, k), c in terms.items() if c]
            self.terms += len(factors)
            if factors:
                kept.append(i)
                names.append(f"{name}{len(names)}")
                self.lines.append(f"{names[-1]} = " + " ".join(factors).removeprefix("+ "))
        return Part(_subset(table.keys, kept), tuple(names))

    def _take(self, name: str) -> None:
        assert name not in self.taken, name
        self.taken.add(name)

    def function(self, *results: "Part | str") -> Callable[..., Any]:
        """Return the function of the arguments: a tuple, of a list of rows for each part, of a row for each name."""
        expressions = [part if isinstance(part, str) else f"[{', '.join(part.signed())}]" for part in results]
        body = "\n    ".join([*self.lines, f"return {', '.join(expressions)},"])
        namespace: dict[str, Any] = {}
        source = f"def straight({', '.join(self.arguments)}):\n    {body}\n"
        exec(compile(source, "<straight line>", "exec"), namespace)  # the text is generated here, from names made here
        function: Callable[..., Any] = namespace["straight"]
        return function


def _factor(value: Any) -> str:
    sign = "-" if value < 0 else "+"
    return f"{sign} " if abs(value) == 1 else f"{sign} {float(abs(value))!r}*"


def _subset(keys: Keys, kept: Sequence[int]) -> Keys:
    if len(kept) == keys.size:
        return keys
    return keys_of_masks(keys.d, tuple(int(keys.masks[i]) for i in kept))
