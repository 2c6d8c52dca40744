"""The dtype of a result is NumPy's common one of its operands on every path, also where the result vanishes."""

import itertools
import warnings

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.errors import ArgumentError
from clifford_rand.plans.table_plan import TablePlan
from support.clifford_paths import MAPS, NEEDS_INVERSE, PRODUCTS, apply, tensor

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
ALGEBRAS = {
    "Cl(3)": cr.Algebra(3),
    "PGA": cr.Algebra.pga(2),
    "all null": cr.Algebra(0, 0, 2),
    "2, 0, -1/2": cr.Algebra(metric=np.diag([2, 0, -0.5])),
    "2, 3": cr.Algebra(metric=np.diag([2, 3])),
    "null basis": cr.Algebra(metric=[[0, 1], [1, 0]]),
}
FUNCTIONS = ("norm", "normalized", "inv", "exp", "outerexp")
REFUSED = {*NEEDS_INVERSE, "sandwich", "normalized", "inv"}  # of some elements, as those without an inverse


def result_type(name, *operands):
    common = np.result_type(*(A.dtype for A in operands))
    return np.zeros(0, common).real.dtype if name == "norm" else common


def pairs(alg):
    """Yield names and operands: all blades, grades that vanish in some products, and one; dtypes take turns."""
    some = itertools.cycle(itertools.product(DTYPES, repeat=2))
    for a, b in ((None, None), (0, 1), (1, 1), (1, alg.d), (alg.d, None)):
        for one, other in itertools.islice(some, 5):
            kinds = ((a, one), (b, other))
            A, B = (alg.random_multivector(rng=k, grades=some, dtype=kind) for k, (some, kind) in enumerate(kinds))
            yield (*PRODUCTS, "sandwich"), (A, B)
            yield (*MAPS, *FUNCTIONS), (A,)


def outcome(name, *operands):
    """Return the dtype of a result; None where there is no result in this algebra."""
    try:
        return str(apply(name, *operands).dtype).removeprefix("torch.")
    except ArgumentError:
        return None


@pytest.mark.parametrize("name", ALGEBRAS)
def test_elements_batches_and_tensors(name):
    pytest.importorskip("torch")
    for names, operands in pairs(ALGEBRAS[name]):
        batches = [[A.reshape(1) * np.ones(count, np.float32) for A in operands] for count in (1, 3)]
        tensors = [tensor(A, "torch", A.dtype) for A in operands]
        for method, some in itertools.product(names, (operands, *batches, tensors)):
            if method != "outerexp" or some is not tensors:
                wanted = {str(result_type(method, *operands)), *([None] if method in REFUSED else [])}
                assert outcome(method, *some) in wanted, (method, operands, some)


@pytest.mark.parametrize("name", ALGEBRAS)
def test_fused_functions_keep_the_dtype_of_the_plain_one(name):
    """In one precision for a whole function."""
    alg = ALGEBRAS[name]
    for names, operands in pairs(alg):
        if len({A.dtype in (np.float32, np.complex64) for A in operands}) == 1:
            kept = [one for one in names if not (one in NEEDS_INVERSE and alg.form.is_degenerate)]
            kept = [one for one in kept if outcome(one, *operands)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cr.FusionWarning)
                fused = cr.fused(lambda *some, kept=kept: tuple(apply(one, *some) for one in kept), backend="numpy")
                results = fused(*operands)
            for one, result in zip(kept, results, strict=True):
                assert result.dtype == result_type(one, *operands), (one, operands)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("shape", [(), (5,)])
def test_fused_sums_and_constants(shape, backend):
    alg = cr.Algebra(2)
    A, B = (alg.random_multivector(rng=k, shape=shape, grades=1, dtype=(complex, float)[k]) for k in (0, 1))
    functions = (
        lambda A, B: A - A,
        lambda A, B: (A - A) + B,
        lambda A, B: (B * 1j) * -1j,
        lambda A, B: B ^ B,
        lambda A, B: abs((A ^ A)["1"]) * B,
        lambda A, B: ((A - A) | B)["1"],
        lambda A, B: A.norm() * B,
    )
    for plain in functions:
        found, wanted = cr.fused(plain, backend=backend)(A, B), plain(A, B)
        assert found.dtype == wanted.dtype
        difference = found - wanted
        assert np.all(np.abs(getattr(difference, "coefficients", difference)) < 1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_dtype_does_not_depend_on_earlier_calls(name):
    alg = cr.Algebra(1, 5, 1)  # no other test's, so that nothing is compiled for it
    A = alg.random_multivector(rng=0, shape=(5,), grades=1)
    for dtype in (np.float64, np.float32):
        assert getattr(A.astype(dtype), name)().dtype == dtype


@pytest.mark.parametrize("squares", [[1] * 9, [1, 1, 1, 0, -1, -1, 2, -0.5, 1, 4]], ids=["unit", "any"])
@pytest.mark.parametrize(
    "rule", ["gp", "commutator", *(pytest.param(r, marks=pytest.mark.slow) for r in ("wedge", "lc"))]
)
def test_large_products_are_those_of_the_table_and_keep_the_dtype(rule, squares):
    """Through matrices and over subsets."""
    alg = cr.Algebra(metric=np.diag(squares))
    table = None
    for dtype in DTYPES:
        A, B = (alg.random_multivector(rng=seed, shape=(2,), grades=None, dtype=dtype) for seed in (0, 1))
        product = getattr(A, rule)(B)
        assert product.dtype == dtype
        table = table or TablePlan(alg.form, rule, A.keys, B.keys)
        wanted = alg.new(table.keys, table(A.coefficients, B.coefficients))
        assert product.isclose(wanted, rtol=1e3 * np.finfo(dtype).eps).all()
