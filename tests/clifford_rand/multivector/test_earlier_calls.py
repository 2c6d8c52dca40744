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
    "CGA(3)": np.diag([1.0, 1, 1, 1, -1]),
    "weights": np.diag([2.0, -0.3, 0.7, 0]),
    "skew": np.eye(4) + 0.3,
    "Cl(9)": np.eye(9),
}
SHAPES = {  # of both factors
    "one": ((), ()),
    "one in a batch": ((1,), (1,)),
    "two": ((2,), (2,)),
    "large batch": ((1000,), (1000,)),
    "one and a batch": ((), (700,)),
    "broadcast": ((30, 1), (40,)),
}
COMPILED = 400  # operations
STATES = {"new": (False, False), "kernels": (True, False), "machine code": (True, True)}


@pytest.fixture
def in_each_state(monkeypatch):
    """Return a function that calls another as in a new process, with the kernels, and with machine code."""

    def call(alg, work):
        results = {}
        for name, (kernels, code) in STATES.items():
            with monkeypatch.context() as patch:
                patch.setattr(table_plan, "kernel_pays", lambda work, there=kernels: there)
                patch.setattr(table_plan, "TRACE", 0)
                patch.setattr(LazyLoop, "is_due", lambda self, ns, there=code: there and self.operations < COMPILED)
                alg.form.plans.clear()
                results[name] = work()
        return results

    return call


def same(results):
    """Compare arrays bit for bit, -0 apart from 0; NaN has many bits, of which none is promised."""
    new = results.pop("new")
    for state, other in results.items():
        assert (new.dtype, new.shape) == (other.dtype, other.shape), state
        both = [np.ascontiguousarray(array) for array in (new, other)]
        numbers = [array.view(array.real.dtype) if array.dtype.kind == "c" else array for array in both]
        np.testing.assert_array_equal(*numbers, err_msg=state)
        if new.dtype.kind in "fc":
            np.testing.assert_array_equal(*[np.signbit(np.where(np.isnan(x), 0, x)) for x in numbers], state)


def draw(alg, grades, shape, dtype, rng, special=False):
    """Return a multivector, some of whose components are 0, -0 or large if ``special``."""
    keys = keys_of_grades(alg.d, grades)
    values = rng.standard_normal((*shape, keys.size))
    if special and np.dtype(dtype).kind != "i":
        values = np.where(rng.random(values.shape) < 0.3, rng.choice([0.0, -0.0, 1e10, -1.0], values.shape), values)
    if np.dtype(dtype).kind == "c":
        values = values * (1 + 0j)
        values.imag = rng.standard_normal(values.shape)
    return alg.multivector(values.astype(dtype), grades)


@pairwise(
    {
        "metric": list(METRICS),
        "rule": ["gp", "wedge", "vee", "lc", "commutator", "inner"],
        "shapes": list(SHAPES),
        "dtypes": [("f8", "f8"), ("f4", "f4"), ("c16", "c16"), ("f4", "f8"), ("i8", "f8")],
        "grades": ["all", "even", "vectors"],
        "special": [False, True],
    }
)
def test_products(metric, rule, shapes, dtypes, grades, special, in_each_state):
    rng = np.random.default_rng(0)
    alg = cr.Algebra(metric=METRICS[metric])
    first = {"all": tuple(range(alg.d + 1)), "even": tuple(range(0, alg.d + 1, 2)), "vectors": (1,)}[grades]
    second = first if grades != "vectors" else (2,)
    shape_a, shape_b = (tuple(max(1, k // 64) if alg.d > 6 and k > 2 else k for k in shape) for shape in SHAPES[shapes])
    A = draw(alg, first, shape_a, dtypes[0], rng, special)
    B = draw(alg, second, shape_b, dtypes[1], rng, special)
    same(in_each_state(alg, lambda: np.asarray(getattr(A, rule)(B).values)))


@pairwise(
    {
        "metric": list(METRICS),
        "operation": ["norm", "normalized", "inv", "sandwich", "reverse", "grade"],
        "shape": [(), (1,), (7,), (1000,), (20, 30)],
        "dtype": ["f8", "f4", "c16"],
        "kind": ["all", "versors", "vectors", "one odd"],
    },
)
def test_maps(metric, operation, shape, dtype, kind, in_each_state):
    rng = np.random.default_rng(1)
    alg = cr.Algebra(metric=METRICS[metric])
    if alg.d > 6:
        shape = shape and (5,)
    A = draw(alg, tuple(range(alg.d + 1)) if kind == "all" else (1,), shape, dtype, rng)
    if kind in ("versors", "one odd"):
        A = A * draw(alg, (1,), shape, dtype, rng)
        values = np.array(A.values)
        if kind == "one odd" and shape:
            values[(-1,) * len(shape)] += 0.5
        A = alg.multivector(values, A.grades)
    arguments = {"sandwich": (draw(alg, (1,), shape, dtype, rng),), "grade": A.grades[:2]}.get(operation, ())

    def work():
        try:
            result = getattr(A, operation)(*arguments)
        except cr.errors.ArgumentError:
            return np.zeros(0)
        return np.asarray(getattr(result, "values", result))

    same(in_each_state(alg, work))


def test_a_product_of_one_before_a_batch():
    """The tensor that it makes is the batch's matrix, too."""
    rng = np.random.default_rng(3)
    for metric in list(METRICS.values())[:-1]:
        alg = cr.Algebra(metric=metric)
        A, B = alg.random_multivector(rng=rng), alg.random_multivector(rng=rng, shape=20)
        alg.form.plans.clear()
        first = np.asarray((A * B).values)
        alg.form.plans.clear()
        _ = A * B[0]
        np.testing.assert_array_equal(np.asarray((A * B).values), first)
