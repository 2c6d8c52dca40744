"""Product tables: e_left e_right = coef e_out + …, one row for each term, sorted by ``out``; products by them.

Straight-line code is a Python function of rows, each a component: a float of one multivector or an array of many. One
multivector in Python numbers costs 30 ns an operation, where a NumPy call costs a microsecond; no component is visited
that is zero by structure. `OrderedSums` has the bits of the kernels and of machine code, before these are worth their
load: ((t1 + t2) + t3) + …, t = (a b) coef, in the order of the table, each operation rounded by itself. NumPy's own
sums add in an order that depends on their length and on memory, except `numpy.add.accumulate`.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.coefficients import INT, narrowed
from clifford_rand.basis.keys import Keys, check_size, keys_of_array, keys_of_grades, keys_of_masks
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import METRIC_FREE, RULES, SCALAR, as_masks, bit_count, is_odd_swap, parity_above

AT_A_TIME = 2**17  # terms: what stays in the cache
LOOP_FROM = 2**8  # numbers in a row from which one call a row is faster than `accumulate`, 15 ns a column


class ProductTable(NamedTuple):
    """One bilinear product of two key sets.

    Component ``out[n]`` of the result gains ``coef[n] * a[left[n]] * b[right[n]]``; rows are sorted by ``out`` and
    those of component k are ``indptr[k]:indptr[k+1]``.
    """

    keys: Keys
    indptr: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    out: NDArray[np.int32]
    coef: NDArray[Any]


def product_table(metric: Metric, rule: str, a: Keys, b: Keys) -> ProductTable:
    """Build the table of one product (a name in `RULES`) of multivectors with keys ``a`` and ``b``."""
    if rule in SCALAR and metric.diagonal is not None:
        left, right, masks, coef = _diagonal_of_equals(metric, rule, a, b)
    elif metric.diagonal is not None or rule in METRIC_FREE:
        check_size(a.size * b.size, rule, "this product's table")
        left, right, masks, coef = _of_pairs(metric, rule, a, b)
    else:
        left, right, masks, coef = _of_any_metric(metric, rule, a, b)
    kept = coef != 0  # null vectors give zeros, also among fractions and symbols
    if not kept.all():  # before the keys, which have no blade that never occurs
        left, right, masks, coef = left[kept], right[kept], masks[kept], coef[kept]
    if rule in SCALAR:
        keys, out = keys_of_grades(metric.d, (0,)), np.zeros(len(left), dtype=np.int64)
    else:
        keys, out = keys_of_array(metric.d, masks)
    order = np.argsort(out, kind="stable")
    indptr = np.searchsorted(out[order], np.arange(keys.size + 1))
    first, second, place = (x[order].astype(np.int32) for x in (left, right, out))
    return ProductTable(keys, indptr.astype(np.int32), first, second, place, coef[order])


def _of_pairs(metric: Metric, rule: str, a: Keys, b: Keys) -> tuple[NDArray[Any], ...]:
    """Return the rows of all pairs of blades that the rule keeps: bit rules in an orthogonal basis."""
    d = metric.d
    mask_a, mask_b = a.masks[:, None], b.masks[None, :]
    if rule == "vee":
        full = (1 << d) - 1
        mask_a, mask_b = full ^ mask_a, full ^ mask_b
    shared = mask_a & mask_b
    if rule in METRIC_FREE:
        kept = np.asarray(shared == 0, dtype=bool)
    else:
        grade_a, grade_b = a.grade_of[:, None], b.grade_of[None, :]
        factor = RULES[rule](grade_a, grade_b, grade_a + grade_b - 2 * bit_count(shared))
        kept = factor != 0
        if metric.is_unit:
            kept &= np.asarray(shared & metric.null == 0, dtype=bool)
    left, right = np.nonzero(kept)
    above = parity_above(mask_a, d).ravel()[left]  # once for each blade of a, as masks may be Python's integers
    mask_a, mask_b = mask_a.ravel()[left], mask_b.ravel()[right]
    masks = mask_a ^ mask_b
    sign = np.where(bit_count(above & mask_b) % 2 == 1, -1, 1).astype(np.int8)
    if rule == "vee":  # LC(RC A ^ RC B), with A ^ RC(A) = I and LC(X) ^ X = I
        result = full ^ masks
        for first, second in ((full ^ mask_a, mask_a), (full ^ mask_b, mask_b), (result, masks)):
            sign[is_odd_swap(first, second, d)] *= -1
        return left, right, result, sign
    if rule in METRIC_FREE:
        return left, right, masks, sign
    if factor.size > 1:
        sign *= np.broadcast_to(factor, kept.shape)[left, right]
    weight = metric.weight(mask_a & mask_b)
    return left, right, masks, sign * weight


def _diagonal_of_equals(metric: Metric, rule: str, a: Keys, b: Keys) -> tuple[NDArray[Any], ...]:
    """Return the rows of a scalar-valued product, for which only equal blades count."""
    masks = np.intersect1d(a.masks, b.masks)
    grade = bit_count(masks)
    weight = metric.weight(masks)
    sign = np.where(is_odd_swap(masks, masks, metric.d), -1, 1).astype(np.int8) * RULES[rule](grade, grade, 0 * grade)
    coef = sign * weight
    kept = coef != 0
    masks = masks[kept]
    return a.positions(masks), b.positions(masks), masks & 0, coef[kept]


def _of_any_metric(metric: Metric, rule: str, a: Keys, b: Keys) -> tuple[NDArray[Any], ...]:
    """Return the rows for a metric that is not diagonal: one pair of blades may have many terms."""
    keep = RULES[rule]
    rows: list[tuple[int, int, int, Any]] = []
    for i, mask_a in enumerate(map(int, a.masks)):
        for j, mask_b in enumerate(map(int, b.masks)):
            for mask, value in _blade_product(metric, metric.gram.dtype, mask_a, mask_b):
                factor = int(keep(mask_a.bit_count(), mask_b.bit_count(), mask.bit_count()))
                if factor:
                    rows.append((i, j, mask, factor * value))
        check_size(len(rows), rule, "this product's table")
    left = np.array([row[0] for row in rows], dtype=np.int64)
    right = np.array([row[1] for row in rows], dtype=np.int64)
    masks = as_masks([row[2] for row in rows], metric.d)
    coef = np.empty(len(rows), dtype=object)
    coef[:] = [row[3] for row in rows]
    kind = metric.gram.dtype
    return left, right, masks, narrowed(coef) if kind == INT else coef.astype(kind)


def _swap(i: int, mask: int) -> int:
    """Return the sign of moving e_i past the factors of ``mask`` that are lower than i."""
    return -1 if (mask & ((1 << i) - 1)).bit_count() % 2 else 1


def _add(total: dict[int, Any], mask: int, value: Any) -> None:
    if mask in total:
        value = total[mask] + value
    if value == 0:
        total.pop(mask, None)
    else:
        total[mask] = value


def _vector_times(metric: Metric, i: int, terms: dict[int, Any]) -> dict[int, Any]:
    """Return e_i X = e_i ∧ X + e_i ⌋ X for X = Σ terms[S] e_S."""
    gram = metric.gram
    total: dict[int, Any] = {}
    for mask, value in terms.items():
        if not mask >> i & 1:
            _add(total, mask | 1 << i, _swap(i, mask) * value)
        for j, sign, rest in _removals(mask):
            if gram[i, j] != 0:
                _add(total, rest, sign * (gram[i, j].item() if hasattr(gram[i, j], "item") else gram[i, j]) * value)
    return total


def _removals(mask: int) -> list[tuple[int, int, int]]:
    """Return (j, sign, S without j) for each factor e_j of e_S, sign that of moving it to the front."""
    return [(j, _swap(j, mask), mask & ~(1 << j)) for j in range(mask.bit_length()) if mask >> j & 1]


@lru_cache(maxsize=2**16)
def _blade_product(metric: Metric, kind: np.dtype, a: int, b: int) -> tuple[tuple[int, Any], ...]:
    """Return e_A e_B in the basis of wedge products, for any metric; of ``kind``, as equal metrics may differ in it.

    e_A = e_i ∧ e_A' with i the lowest of A, so e_A e_B = e_i (e_A' e_B) - (e_i ⌋ e_A') e_B.
    """
    if a == 0:
        return ((b, 1),)
    i = (a & -a).bit_length() - 1
    rest = a & (a - 1)
    total = _vector_times(metric, i, dict(_blade_product(metric, kind, rest, b)))
    gram = metric.gram
    for j, sign, smaller in _removals(rest):
        if gram[i, j] != 0:
            factor = gram[i, j].item() if hasattr(gram[i, j], "item") else gram[i, j]
            for mask, value in _blade_product(metric, kind, smaller, b):
                _add(total, mask, -sign * factor * value)
    return tuple(total.items())


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

    @classmethod
    def of(cls, metric: Metric, **arguments: Keys) -> tuple[Any, ...]:
        """Return the code, to be written, and the rows of its arguments."""
        code = cls(metric)
        return code, *(code.argument(name, keys) for name, keys in arguments.items())

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
        all_kept = len(kept) == table.keys.size
        keys = table.keys if all_kept else keys_of_masks(table.keys.d, tuple(int(table.keys.masks[i]) for i in kept))
        return Part(keys, tuple(names))

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


def sum_of_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the sum over the first axis, from the first to the last; ``rows`` may be written to."""
    total: NDArray[Any] = rows[0]
    if total.size < LOOP_FROM and len(rows) > 2:
        return np.asarray(np.add.accumulate(rows, axis=0)[-1])
    for row in rows[1:]:
        total += row
    return total


class OrderedSums:
    """The components of a product table (indptr, left, right, coef), of samples (n_a, N) and (n_b, N), or one."""

    def __init__(self, table: tuple[NDArray[Any], ...]) -> None:
        indptr, left, right, coef = table
        lengths = np.diff(indptr)
        self.size, self.n_terms = len(lengths), len(left)
        self._groups: list[tuple[int, int]] = []  # lengths of sums, and how many components have such sums
        places, order = [], []
        for length in np.unique(lengths).tolist():
            some = np.flatnonzero(lengths == length)
            places.append(some)
            order.append((indptr[some] + np.arange(length)[:, None]).ravel())
            self._groups.append((length, len(some)))
        rows = np.concatenate(order) if order else np.zeros(0, int)
        self._back = None if len(places) < 2 else np.argsort(np.concatenate(places))
        self._left, self._right = left[rows].astype(np.intp), right[rows].astype(np.intp)
        self._coef = coef[rows]
        self._unit = bool(np.all(self._coef == 1))
        self._coefs: dict[Any, NDArray[Any]] = {}

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the components (n_out, N); ``a`` and ``b`` of one real dtype, one of them may be of one sample."""
        n, step = max(a.shape[1], b.shape[1]), max(1, AT_A_TIME // max(1, self.n_terms))
        if n <= step:
            return self._some(a, b)
        out = np.empty((self.size, n), dtype=a.dtype)
        for start in range(0, n, step):
            part = slice(start, start + step)
            x, y = (z if z.shape[1] == 1 else z[:, part] for z in (a, b))
            out[:, part] = self._some(x, y)
        return out

    def _some(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        terms = self._terms(a, b)
        n, at, sums = terms.shape[1], 0, []
        for length, count in self._groups:
            stop = at + length * count
            part = terms[at:stop].reshape(length, count, n)
            sums.append(sum_of_rows(part) if length else np.zeros((count, n), terms.dtype))
            at = stop
        return sums[0] if self._back is None else np.concatenate(sums).take(self._back, axis=0)

    def _terms(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the products (n_terms, N), group after group, in each the first of all sums, the second of all, …."""
        if a.shape[1] == b.shape[1] == 1:
            terms: NDArray[Any] = (a[:, 0].take(self._left) * b[:, 0].take(self._right))[:, None]
        else:
            terms, other = a.take(self._left, axis=0), b.take(self._right, axis=0)
            terms = np.multiply(terms, other, out=terms if terms.shape[1] >= other.shape[1] else other)
        if not self._unit:
            coef = self._coefs.get(a.dtype)
            if coef is None:
                coef = self._coefs.setdefault(a.dtype, self._coef.astype(a.dtype)[:, None])
            terms *= coef
        return terms
