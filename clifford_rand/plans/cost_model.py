"""The plan of a product by a cost model: a table, or for large products subsets, matrices, another basis, two vectors.

Plans are kept with the metric. The constants of the model are measured by ``tests/benchmarks/bench_products.py``.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_choice, describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD, cached_property, for_each_slice
from clifford_rand.basis.coefficients import INT, common_dtype, in_integers, largest
from clifford_rand.basis.keys import Keys, check_size, keys_of_grades
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import BY_SUBSETS, BY_TRANSFORM, METRIC_FREE, RULES, SCALAR, is_odd_swap
from clifford_rand.plans.table_plan import ScalarPlan, TablePlan

CHUNK = 2**12  # coefficients of samples taken at a time: larger temporaries leave the cache, in new pages each time
LARGEST_TABLE = 2**25  # pairs of blades of one table
SMALL_GEMM = 2**15  # complex multiplications up to which OpenBLAS takes one thread by itself
SMALL_TRANSFORM = 2**13  # pairs of blades below which a transform is never asked about
LONG_TABLE = 2**20  # pairs of blades whose table takes 0.6 s to make: 0.6 µs each, a hundredth of it for each product
RECURSION = 2**12  # pairs of blades of a metric that is not diagonal, 2 µs each when the table is built
MOST_PLANS = 2000  # of one metric; a session that meets more key sets starts anew

Plan = Any  # has .keys and is called with two coefficient arrays


def table_seconds(rows: float) -> float:
    """Return the model of one product by a table: a row of the compiled kernel.

    Before the kernel is loaded, NumPy takes three to five times as long; but the choice decides what rounds, and so
    must not depend on what was computed before.
    """
    return 5e-6 + 2e-9 * rows


def transform_seconds(d: int, null: int) -> float:
    """Return the model of one product through matrices: three transforms and 3^null GEMMs of complex numbers."""
    live = d - null
    return float(3.0**null * (100e-6 + 40e-9 * 2.0**live + 8 * 2.0 ** (1.5 * live) / 5e10))


def transform_pays(metric: Metric, pairs: int) -> bool:
    """Tell whether the transform is sooner done than the table of so many pairs, of which null vectors have fewer."""
    d, null = metric.d, metric.counts[2]
    to_make = 6e-9 * pairs if pairs > LONG_TABLE else 0.0
    return transform_seconds(d, null) < table_seconds(pairs * 0.75**null) + to_make


def plan_of(metric: Metric, rule: str, a: Keys, b: Keys) -> Plan:
    """Return the plan of one product, made at its first use and kept with the metric."""
    plan = metric.plans.get((rule, a, b))
    return keep(metric, (rule, a, b), choose(metric, rule, a, b)) if plan is None else plan


def keep(metric: Metric, key: Any, plan: Plan) -> Plan:
    """Keep a plan with its metric, and return it, or the one that is there."""
    if len(metric.plans) >= MOST_PLANS:
        metric.plans.clear()
    return metric.plans.setdefault(key, plan)  # atomic: threads need no lock, which a fork might keep


def made_once(metric: Metric, key: Any, make: Callable[..., Any], *arguments: Any) -> Any:
    """Return what is kept with a metric under a key: ``make(*arguments)``, which is called the first time."""
    plan: Any = metric.plans.get(key, False)
    return keep(metric, key, make(*arguments)) if plan is False else plan


def choose(metric: Metric, rule: str, a: Keys, b: Keys) -> Plan:
    """Return the plan that the cost model prefers, of those that the rule has; each has a table."""
    check_choice(rule, "rule", "a product", tuple(RULES))
    d = metric.d
    both_vectors = a is b and a.complete and a.grades == (1,)
    if both_vectors and d > 64 and rule in VECTOR_RULES:
        return VectorPlan(metric, rule)
    pairs = a.size * b.size
    if metric.diagonal is None and rule not in METRIC_FREE:
        if pairs > RECURSION and metric.is_numeric and d <= 22:
            inner = plan_of(metric.congruence[0], rule, a.filled, b.filled)
            return CongruencePlan(metric, rule, a, b, inner)
    elif metric.is_numeric and rule not in SCALAR and pairs > SMALL_TRANSFORM and d <= 22:
        if rule in BY_TRANSFORM:
            if transform_pays(metric, pairs):
                return TransformPlan(metric, rule, a, b)
        elif rule in BY_SUBSETS and (60e-6 + subset_seconds(d) < table_seconds(pairs / 4) or pairs > LARGEST_TABLE):
            return SubsetPlan(metric, rule, a, b)
    return (ScalarPlan if rule in SCALAR else TablePlan)(metric, rule, a, b)


def possible_grades(rule: str, d: int, a: Keys, b: Keys) -> tuple[int, ...]:
    """Return the grades that a product of complete grades may have."""
    if rule == "vee":
        return tuple(sorted({r + s - d for r in a.grades for s in b.grades if r + s >= d}))
    grades = {
        t
        for r in a.grades
        for s in b.grades
        for t in range(abs(r - s), min(r + s, 2 * d - r - s) + 1, 2)
        if int(RULES[rule](r, s, t))
    }
    return tuple(sorted(grades))


class RoundingPlan:
    """A product through floating transforms, but by the table for fractions, symbols, and integers in such a metric."""

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        self.metric, self.rule = metric, rule
        self.keys_a, self.keys_b = a, b
        self.keys = keys_of_grades(metric.d, possible_grades(rule, metric.d, a, b))
        check_size(2**metric.d, rule)
        self._exact: TablePlan | None = None

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficients (..., n_out) of the products of (..., n_a) and (..., n_b)."""
        dtype = common_dtype(a.dtype, b.dtype)
        if dtype.kind == "O" or (dtype.kind == "i" and self.metric.is_exact):
            return self._by_table(a, b, dtype)
        if dtype.kind == "i":
            dtype = np.dtype(np.float64)
        return self._compute(a.astype(dtype, copy=False), b.astype(dtype, copy=False))

    def _compute(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the products of two arrays of one floating dtype."""
        raise NotImplementedError

    def _by_table(self, a: NDArray[Any], b: NDArray[Any], dtype: np.dtype) -> NDArray[Any]:
        if self._exact is None:
            if self.keys_a.size * self.keys_b.size > LARGEST_TABLE:
                rule = f"one of at most {LARGEST_TABLE} pairs of blades for exact numbers"
                received = describe(f"{self.keys_a.size} × {self.keys_b.size} blades of dtype {dtype}")
                raise fail("this product", self.rule, rule, received, "Convert with astype(float).")
            self._exact = TablePlan(self.metric, self.rule, self.keys_a, self.keys_b)
        exact = self._exact(a, b)
        result = np.zeros((*exact.shape[:-1], self.keys.size), dtype=exact.dtype)
        result[..., self.keys.place(self._exact.keys)] = exact
        return result


class DensePlan(RoundingPlan):
    """A product of multivectors that are spread on all 2^d coefficients, in the order of their masks."""

    _seconds: float | None = None  # of one product, where threads may share a batch

    def _compute(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        batch = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        result = np.empty((*batch, self.keys.size), dtype=a.dtype)
        flat_a = np.broadcast_to(a, (*batch, a.shape[-1])).reshape(-1, a.shape[-1])
        flat_b = np.broadcast_to(b, (*batch, b.shape[-1])).reshape(-1, b.shape[-1])
        flat = result.reshape(-1, self.keys.size)
        step = max(1, CHUNK >> self.metric.d)

        def work(samples: slice) -> None:
            for start in range(samples.start, samples.stop, step):
                part = slice(start, min(start + step, samples.stop))
                dense_a, dense_b = self._spread(flat_a[part], self.keys_a), self._spread(flat_b[part], self.keys_b)
                flat[part] = self._multiply(dense_a, dense_b)[..., self.keys.masks]

        if self._seconds is None:
            work(slice(0, len(flat)))
        else:
            for_each_slice(work, len(flat), least=1 + int(2e-3 / self._seconds))
        return result

    def _spread(self, values: NDArray[Any], keys: Keys) -> NDArray[Any]:
        dense = np.zeros((len(values), 1 << self.metric.d), dtype=values.dtype)
        dense[:, keys.masks] = values
        return dense

    def _multiply(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError


def subset_seconds(d: int) -> float:
    """Return the model of one product over subsets: 3^(d-4) pairs of blocks, and four passes over 2^d coefficients."""
    return 22e-9 * 3.0 ** (d - 4) + 40e-9 * 2.0**d


class SubsetPlan(DensePlan):
    """Wedge, contractions, dots and vee of dense multivectors: only the 3^d pairs that count are visited.

    All by one wedge product or two, as complements are arrays read backwards: with e_U = ± e_U' I, U' the complement of
    U, and squares of 1, e_S e_U = ± e_S e_U' I, which is in grade |U| - |S| where S and U' are disjoint. The squares
    enter as weights of the blade that is contracted, and A⌊B is the reverse of ~B⌋~A.
    """

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        super().__init__(metric, rule, a, b)
        self._seconds = subset_seconds(metric.d)

    def _multiply(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        from clifford_rand.plans.kernels import wedge_products

        rule = self.rule
        if rule == "vee":
            signs = self._complements
            return wedge_products((a * signs)[..., ::-1], (b * signs)[..., ::-1])[..., ::-1] * signs
        if rule == "wedge":
            return wedge_products(a, b)
        if rule == "hestenes":
            a, b = a.copy(), b.copy()
            a[..., 0] = b[..., 0] = 0
        if rule == "lc":
            return self._contracted(a, b)
        if rule == "rc":
            return self._contracted_from_right(a, b)
        contractions = self._contracted(a, b)
        scalar = contractions[..., 0].copy()  # both contractions have it
        contractions += self._contracted_from_right(a, b)
        contractions[..., 0] = scalar
        return contractions

    def _contracted(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the left contractions ⟨A_r B_s⟩_{s-r}."""
        from clifford_rand.plans.kernels import wedge_products

        weight, signs, _ = self._signs
        product = wedge_products(a * weight.astype(a.real.dtype), (b * signs)[..., ::-1])
        return product[..., ::-1] * signs

    def _contracted_from_right(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the right contractions ⟨A_r B_s⟩_{r-s}."""
        reverse = self._signs[2]
        return self._contracted(b * reverse, a * reverse) * reverse

    @cached_property
    def _complements(self) -> NDArray[np.int8]:
        """By mask U: the sign of e_U ∧ e_U' = ± I."""
        masks = np.arange(1 << self.metric.d)
        return np.where(is_odd_swap(masks, masks[::-1], self.metric.d), -1, 1).astype(np.int8)

    @cached_property
    def _signs(self) -> tuple[NDArray[Any], NDArray[np.int8], NDArray[np.int8]]:
        """By mask U: the product of its squares, the sign of e_U' I = ± e_U for squares of 1, that of the reverse."""
        d = self.metric.d
        masks = np.arange(1 << d)
        odd = is_odd_swap(masks[::-1], masks[-1:], d)
        signs = np.where(odd, -1, 1).astype(np.int8)
        reverse = np.where(np.bitwise_count(masks) & 2, -1, 1).astype(np.int8)
        return np.asarray(self.metric.weight(masks)), signs, reverse


_SWAPPED = {"gp": 0, "commutator": -1, "anticommutator": 1}


class TransformPlan(DensePlan):
    """The geometric product, commutator or anticommutator through the matrices of a diagonal metric."""

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys) -> None:
        from clifford_rand.plans.representation import unit_basis

        super().__init__(metric, rule, a, b)
        assert metric.diagonal is not None
        self._signature, self._masks, factors = unit_basis(metric.diagonal)
        is_unit = np.array_equal(self._masks, np.arange(len(self._masks))) and bool(np.all(factors == 1))
        self._factors = None if is_unit else factors

    def _compute(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        d, few = self.metric.d, max(a.size, b.size) << self.metric.d // 2 <= SMALL_GEMM
        with nullcontext() if few or d >= 20 else ONE_BLAS_THREAD:  # matrices of an order below 1000
            return super()._compute(a, b)

    def _multiply(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        from clifford_rand.plans.representation import transform_product

        if self._factors is not None:
            factors = self._factors.astype(a.real.dtype)
            a, b = a[..., self._masks] * factors, b[..., self._masks] * factors
        product = transform_product(a, b, self._signature, _SWAPPED[self.rule])
        if self.rule != "gp":
            product /= 2
        if self._factors is None:
            return product
        result = np.empty_like(product)
        result[..., self._masks] = product / factors
        return result


class CongruencePlan(RoundingPlan):
    """A product in a metric that is not diagonal, carried out in an orthogonal basis and brought back.

    ``inner`` is the plan of the same product, on all blades of the same grades, in the metric of that basis.
    """

    def __init__(self, metric: Metric, rule: str, a: Keys, b: Keys, inner: Any) -> None:
        super().__init__(metric, rule, a, b)
        self._inner = inner
        self._there = metric.congruence[1].T
        self._back = np.linalg.inv(self._there)

    def _compute(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        from clifford_rand.plans.representation import move_components

        first, second = (
            move_components(values, keys.masks, self._there, keys.filled.masks)
            for values, keys in ((a, self.keys_a), (b, self.keys_b))
        )
        product = self._inner(first, second)
        moved = move_components(product, self._inner.keys.masks, self._back, self.keys.masks)
        return moved.astype(a.dtype, copy=False)


VECTOR_RULES: dict[str, tuple[bool, bool]] = {  # scalar part, bivector part
    "gp": (True, True),
    "wedge": (False, True),
    "commutator": (False, True),
    "anticommutator": (True, False),
    **dict.fromkeys(("fat_dot", "hestenes", "lc", "rc", "scalar_product", "inner"), (True, False)),
}


class VectorPlan:
    """Two vectors in a high dimension, where no table is wanted: a·b and the upper triangle of a bᵀ - b aᵀ."""

    def __init__(self, metric: Metric, rule: str) -> None:
        self.metric = metric
        self.scalar, self.bivector = VECTOR_RULES[rule]
        self.keys = keys_of_grades(metric.d, (*((0,) if self.scalar else ()), *((2,) if self.bivector else ())))
        check_size(self.keys.size, rule)

    def __call__(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return the coefficients (..., n_out) of the products of (..., d) and (..., d)."""
        if a.dtype == INT and b.dtype == INT:
            return in_integers(self._compute, self._growth * largest(a) * largest(b), a, b)
        return self._compute(a, b)

    @cached_property
    def _growth(self) -> int:
        """What no component of a product of vectors of ±1 exceeds: Σ_ij |G_ij| for the scalar, 2 for bivectors."""
        diagonal = self.metric.diagonal
        sizes = np.abs((self.metric.gram if diagonal is None else diagonal).astype(np.float64))
        return max(2, math.ceil(sizes.sum() * (1 + 1e-9)))

    def _compute(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        d = self.metric.d
        parts = []
        if self.scalar:
            diagonal = self.metric.diagonal
            lowered = b * diagonal if diagonal is not None else b @ self.metric.gram
            parts.append((a * lowered).sum(axis=-1, keepdims=True))
        if self.bivector:
            upper = ~np.tri(d, dtype=bool)
            area = a[..., :, None] * b[..., None, :]
            parts.append(area[..., upper] - np.swapaxes(area, -1, -2)[..., upper])
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
