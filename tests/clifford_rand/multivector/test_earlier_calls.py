"""The same call gives the same bits, however many were made before it: by NumPy, by kernels, by functions of rows.

What is loaded or compiled once enough work was done (`LazyLoop.is_due`, `kernel_pays`) may only be faster. Each
operation runs here as in a new process, with the kernels, and with machine code of small functions, soon compiled.
"""

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.compiler.loops import LazyLoop
from clifford_rand.plans import table_plan
from support.pairwise import pairwise

METRICS = {
    "Cl(3)": np.eye(3),
    "PGA(3)": np.diag([1.0, 1, 1, 0]),
    "STA": np.diag([1.0, -1, -1, -1]),
    "CGA(3)": np.diag([1.0, 1, 1, 1, -1]),
    "weights": np.diag([2.0, -0.3, 0.7, 0]),
    "skew": np.eye(4) + 0.3,
    "Cl(6)": np.eye(6),
    "Cl(9)": np.eye(9),
}
SHAPES = {  # of both factors
    "one": ((), ()),
    "one in a batch": ((1,), (1,)),
    "two": ((2,), (2,)),
    "batch": ((50,), (50,)),
    "large batch": ((1000,), (1000,)),
    "one and two": ((), (2,)),
    "one and a batch": ((), (700,)),
    "a batch and one": ((700,), (1,)),
    "broadcast": ((30, 1), (40,)),
}
RULES = ("gp", "wedge", "vee", "fat_dot", "lc", "rc", "commutator", "scalar_product", "inner")
COMPILED = 400  # operations
STATES = {"new": (False, False), "kernels": (True, False), "machine code": (True, True)}


@pytest.fixture
def in_each_state(monkeypatch):
    """Return a function that calls another as in a new process, with the kernels, and with machine code."""

    def call(alg, work):
        found = {}
        for name, (kernels, code) in STATES.items():
            with monkeypatch.context() as patch:
                patch.setattr(table_plan, "kernel_pays", lambda work, there=kernels: there)
                patch.setattr(table_plan, "TRACE", 0)
                patch.setattr(LazyLoop, "is_due", lambda self, ns, there=code: there and self.operations < COMPILED)
                alg.form.plans.clear()
                found[name] = work()
        return found

    return call


def same(found):
    """Compare arrays bit for bit, -0 apart from 0; NaN has many bits, of which none is promised."""
    new = found.pop("new")
    for state, other in found.items():
        assert (new.dtype, new.shape) == (other.dtype, other.shape), state
        both = [np.ascontiguousarray(one) for one in (new, other)]
        numbers = [one.view(one.real.dtype) if one.dtype.kind == "c" else one for one in both]
        np.testing.assert_array_equal(*numbers, err_msg=state)
        if new.dtype.kind in "fc":
            np.testing.assert_array_equal(*[np.signbit(np.where(np.isnan(one), 0, one)) for one in numbers], state)


def draw(alg, grades, shape, dtype, rng, special):
    """Return a multivector, some of whose components are 0, -0 or large if ``special``."""
    keys = keys_of_grades(alg.d, grades)
    values = rng.standard_normal((*shape, keys.size))
    if special:
        values = np.where(rng.random(values.shape) < 0.3, rng.choice([0.0, -0.0, 1e10, -1.0], values.shape), values)
    if dtype == np.complex128:
        values = values * (1 + 0j)
        values.imag = rng.standard_normal(values.shape)
    return alg.multivector(values.astype(dtype), grades)


@pairwise(
    {
        "metric": list(METRICS),
        "rule": RULES,
        "shapes": list(SHAPES),
        "dtypes": [("f8", "f8"), ("f4", "f4"), ("c16", "c16"), ("f4", "f8"), ("i8", "f8")],
        "grades": ["all", "even", "vectors"],
        "special": [False, True],
    }
)
def test_products(metric, rule, shapes, dtypes, grades, special, in_each_state):
    rng = np.random.default_rng(0)
    alg = cr.Algebra(metric=METRICS[metric])
    chosen = {"all": tuple(range(alg.d + 1)), "even": tuple(range(0, alg.d + 1, 2)), "vectors": (1,)}[grades]
    n = 2 ** max(0, 2 * (alg.d - 6))  # of Cl(9) a few
    shape_a, shape_b = (tuple(max(1, k // n) if k > 2 else k for k in shape) for shape in SHAPES[shapes])
    second = chosen if grades != "vectors" else (2,)
    A = draw(alg, chosen, shape_a, np.dtype(dtypes[0]), rng, special and dtypes[0] != "i8")
    B = draw(alg, second, shape_b, np.dtype(dtypes[1]), rng, special)
    same(in_each_state(alg, lambda: np.asarray(getattr(A, rule)(B).values)))


@pairwise(
    {
        "metric": list(METRICS),
        "operation": ["norm", "normalized", "inv", "sandwich", "reverse", "dual", "grade"],
        "shape": [(), (1,), (2,), (7,), (300,), (1000,), (20, 30)],
        "dtype": ["f8", "f4", "c16"],
        "kind": ["all", "versors", "vectors", "one odd"],
    }
)
def test_maps(metric, operation, shape, dtype, kind, in_each_state):
    rng = np.random.default_rng(1)
    alg = cr.Algebra(metric=METRICS[metric])
    if alg.d > 6:
        shape = shape and (5,)
    every = tuple(range(alg.d + 1))
    dtype = np.dtype(dtype)
    A = draw(alg, every if kind == "all" else (1,), shape, dtype, rng, False)
    if kind in ("versors", "one odd"):
        A = A * draw(alg, (1,), shape, dtype, rng, False)
        values = np.array(A.values)
        if kind == "one odd" and shape:
            values[(-1,) * len(shape)] += 0.5
        A = alg.multivector(values, A.grades)
    X = draw(alg, (1,), shape, dtype, rng, False)

    def work():
        try:
            if operation == "sandwich":
                return np.asarray(A.sandwich(X).values)
            if operation == "grade":
                return np.asarray(A.grade(*A.grades[:2]).values)
            found = getattr(A, operation)()
        except cr.errors.ArgumentError:
            return np.zeros(0)
        return np.asarray(found.values if hasattr(found, "values") else found)

    same(in_each_state(alg, work))


def test_a_product_of_one_before_a_batch():
    """The tensor that it makes is the batch's matrix, too."""
    rng = np.random.default_rng(3)
    for metric in METRICS.values():
        if len(metric) > 6:
            continue
        alg = cr.Algebra(metric=metric)
        A, B = alg.random_multivector(rng), alg.random_multivector(rng, 20)
        alg.form.plans.clear()
        first = np.asarray((A * B).values)
        alg.form.plans.clear()
        _ = A * B[0]
        np.testing.assert_array_equal(np.asarray((A * B).values), first)
