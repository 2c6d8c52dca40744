"""Product tables: e_left e_right = coef e_out + …, one row for each term, sorted by ``out``."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand.basis.coefficients import INT, narrowed
from clifford_rand.basis.keys import Keys, check_size, keys_of_array, keys_of_grades
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import METRIC_FREE, RULES, SCALAR, as_masks, bit_count, is_odd_swap, parity_above


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
    return ProductTable(
        keys,
        indptr.astype(np.int32),
        left[order].astype(np.int32),
        right[order].astype(np.int32),
        out[order].astype(np.int32),
        coef[order],
    )


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
