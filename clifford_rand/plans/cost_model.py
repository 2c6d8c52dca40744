"""The choice of a plan for a product by a cost model, and the plans of a metric.

A plan is made once for each (product, keys, keys) of a metric and kept there. The constants of the model are measured
by ``tests/benchmarks/bench_products.py``.
"""

from collections.abc import Callable
from typing import Any

from clifford_rand._checks import check_choice
from clifford_rand.basis.keys import Keys
from clifford_rand.basis.metric import Metric
from clifford_rand.basis.rules import BY_SUBSETS, BY_TRANSFORM, METRIC_FREE, RULES, SCALAR
from clifford_rand.plans.fast import (
    LARGEST_TABLE,
    VECTOR_RULES,
    CongruencePlan,
    SubsetPlan,
    TransformPlan,
    VectorPlan,
    subset_seconds,
)
from clifford_rand.plans.table_plan import ScalarPlan, TablePlan

Plan = Any  # has .keys and is called with two coefficient arrays

SMALL_TRANSFORM = 2**13  # pairs of blades below which a transform is never asked about
LONG_TABLE = 2**20  # pairs of blades whose table takes 0.6 s to make: 0.6 µs each, a hundredth of it for each product
RECURSION = 2**12  # pairs of blades of a metric that is not diagonal, 2 µs each when the table is built
MOST_PLANS = 2000  # of one metric; a session that meets more key sets starts anew


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
