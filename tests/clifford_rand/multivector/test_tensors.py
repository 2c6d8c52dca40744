"""Multivectors of tensors: the numbers of NumPy in torch, JAX and array-api-strict, gradients, compilers, refusals."""

import operator

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.multivector.tensor import REFUSED, SHARED, TensorMultivector
from clifford_rand.plans.tensors import MatrixProduct
from support.metrics import versor
from support.refusals import refused

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # its threads wait for each other where tests share the cores


def of_torch(array):
    return torch.asarray(np.array(array))


def of_strict(array):
    return pytest.importorskip("array_api_strict").asarray(array)


def of_jax(array):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(array)


GRAM = [[2.0, 0.5, 0.0, 0.1], [0.5, -1.0, 0.3, 0.0], [0.0, 0.3, 1.5, -0.4], [0.1, 0.0, -0.4, 0.7]]
METRICS = {
    "R1": cr.Algebra(1),
    "R2": cr.Algebra(2),
    "R3": cr.Algebra(3),
    "PGA(3)": cr.Algebra.pga(3),
    "STA": cr.Algebra(1, 3),
    "CGA(3)": cr.Algebra.cga(3),
    "scaled": cr.Algebra(metric=np.diag([2.0, -0.5, 3.0])),
    "not diagonal": cr.Algebra(metric=GRAM),
    "degenerate": cr.Algebra(metric=np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0])),
    "Cl(3,3)": cr.Algebra(3, 3),
    "R8": cr.Algebra(8),
}
OFTEN = ("R3", "PGA(3)", "CGA(3)", "not diagonal")
RARE = ("R1", "R2", "STA", "scaled", "degenerate", "Cl(3,3)")
ONE = cr.Algebra(3)


def numpy_of(A):
    if isinstance(A, TensorMultivector):
        return A.to_numpy()
    if isinstance(A, Multivector):
        return A
    return np.asarray(A.detach() if hasattr(A, "detach") else A)


def agree(A, B, tol=1e-10):
    """Equality to rounding, relative to the largest component, of multivectors or arrays of any library."""
    a, b = numpy_of(A), numpy_of(B)
    if isinstance(a, Multivector):
        keys = a - b
        size = max(np.abs(a.coefficients).max(initial=0), np.abs(numpy_of(b).coefficients).max(initial=0), 1e-300)
        return bool(np.abs(keys.coefficients).max(initial=0) <= tol * size)
    return bool(np.abs(a - b).max(initial=0) <= tol * max(np.abs(a).max(initial=0), 1e-300))


def random(alg, library, seed, grades=None, shape=(3,)):
    """A multivector of standard normal components in a library."""
    X = alg.random_multivector(rng=seed, shape=shape, grades=grades)
    return alg.multivector(library(np.array(X.coefficients)), X.keys.grades)


# ---- the same numbers as NumPy

PRODUCTS = ("gp", "wedge", "vee", "fat_dot", "hestenes", "lc", "rc", "scalar_product", "inner")
UNARY = {
    **{name: operator.methodcaller(name) for name in ("reverse", "involute", "conjugate", "star", "star_right")},
    **{name: operator.methodcaller(name) for name in ("left_complement", "right_complement", "even", "odd")},
    **{name: operator.methodcaller(name) for name in ("norm_squared", "norm", "normalized", "prod", "mean")},
    **{name: operator.methodcaller(name) for name in ("left_matrix", "right_matrix")},
    "grade": lambda A: A.grade(0, 1),
    "exp": lambda A: (0.5 * A).exp(),
    "power": lambda A: A**3,
    "item": lambda A: A["e1"],
    "part": lambda A: A[1:],
    "reshape": lambda A: A.reshape(1, -1),
    "values": lambda A: (A.grade(1) + 1).values,
    "dense": lambda A: A.grade(1).dense(),
}
NEEDS_METRIC = {"dual": lambda A: A.dual(), "undual": lambda A: A.undual(), "inv": lambda A: A.inv()}
OF_ROTORS = {
    "rotor": lambda A: (0.4 * A.grade(2)).exp(),
    "turned": lambda A: (0.4 * A.grade(2)).exp() >> A.grade(1),
    "matrix": lambda A: (0.4 * A.grade(2)).exp().vector_matrix(),
    "log": lambda A: (3 * (0.4 * A.grade(2)).exp()).log(),
    "sqrt": lambda A: (0.4 * A.grade(2)).exp().sqrt(),
}
OF_BLADES = {
    "project": lambda v, B: v.project(B),
    "reject": lambda v, B: v.reject(B),
    "reflect": lambda v, B: v.reflect(B),
    "reflect inside": lambda v, B: v.reflect(B, inside=True),
}


SLOW = [(of_torch, name) for name in RARE] + [(of_jax, "PGA(3)")]  # which compiles each operation


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((make, name) for make in (of_torch, of_strict) for name in OFTEN),
        *(pytest.param(make, name, marks=pytest.mark.slow) for make, name in SLOW),
    ],
)
def test_tensors_have_the_numbers_of_numpy(make, name):
    alg = METRICS[name]
    A, B = (random(alg, np.asarray, seed, shape=(4,)) for seed in (10, 11))
    S, T = (random(alg, make, seed, shape=(4,)) for seed in (10, 11))
    for rule in (*PRODUCTS, "commutator", "anticommutator"):
        for X, Y in ((S, T), (S, B), (A, T)):
            assert agree(getattr(X, rule)(Y), getattr(A, rule)(B)), rule
    degenerate = alg.form.is_degenerate
    unary = dict(UNARY)
    if name == "degenerate":
        del unary["normalized"]
    else:
        unary |= {"quotient": lambda A: A.algebra.e1 / A, "inv": NEEDS_METRIC["inv"]}
    if not degenerate:
        unary |= NEEDS_METRIC
    if 2 <= alg.d <= 5:
        unary |= OF_ROTORS
    for operation, function in unary.items():
        assert agree(function(S), function(A), 1e-8), operation
    if not degenerate and alg.d > 2:
        v, w = (random(alg, library, 12, 1, (4,)) for library in (np.asarray, make))
        for X, Y in ((A.grade(1), S.grade(1)), (A.grade(1) ^ B.grade(1), S.grade(1) ^ T.grade(1))):
            for operation, function in OF_BLADES.items():
                assert agree(function(w, Y), function(v, X), 1e-8), operation


def test_products_through_matrices_gathers_and_a_congruence_have_the_numbers_of_numpy():
    gram = np.random.default_rng(0).standard_normal((7, 7))
    several = ("gp", "commutator", "anticommutator", "wedge", "vee", "lc", "inner")
    cases = [(cr.Algebra(*counts), None, several) for counts in ((7,), (3, 3, 2))]
    cases += [(cr.Algebra(9), (1, 2), several), (cr.Algebra(8), 4, several)]
    for alg, grades, rules in (*cases, (cr.Algebra(metric=gram + gram.T), None, ("gp",))):
        A, B = (random(alg, np.asarray, seed, grades, (2,)) for seed in (0, 1))
        S, T = (random(alg, of_torch, seed, grades, (2,)) for seed in (0, 1))
        for rule in rules:
            assert agree(getattr(S, rule)(T), getattr(A, rule)(B), 1e-9), (alg, rule)


@pytest.mark.parametrize("counts", [(2, 1, 0), (1, 1, 2), (1, 1, 3), (0, 1, 2)])
def test_the_product_through_matrices_serves_any_number_of_null_vectors(counts):
    alg = cr.Algebra(*counts)
    A, B = (random(alg, np.asarray, seed, None, (2,)) for seed in (0, 1))
    for rule in ("gp", "commutator", "anticommutator"):
        plan = MatrixProduct(alg.form, rule, A.keys, B.keys)
        product = plan.apply(of_torch(A.coefficients), of_torch(B.coefficients)).numpy()
        assert agree(alg.multivector(product, plan.keys.grades), getattr(A, rule)(B)), rule


@pytest.mark.parametrize("name", ["R3", "PGA(3)", "STA", "CGA(3)", "not diagonal"])
def test_versors_have_the_numbers_of_numpy(name):
    alg = METRICS[name]
    rng = np.random.default_rng(4)
    for count in (1, 2, 3):
        V = versor(alg, rng, count, (5,))
        T = alg.multivector(of_torch(V.values), V.keys.grades)
        X = random(alg, np.asarray, 3, (1, 2), (5,))
        assert agree(T >> X, V >> X, 1e-8)
        assert agree(alg.e1 >> alg.multivector(of_torch(X.values), (1, 2)), alg.e1 >> X) or name in ("PGA(3)", "CGA(3)")
        assert agree(T.vector_matrix(), V.vector_matrix(), 1e-8)


def test_large_arguments_of_exp_and_turns_near_pi_have_the_numbers_of_numpy():
    for name in ("R3", "PGA(3)", "STA", "CGA(3)"):
        alg = METRICS[name]
        B = random(alg, np.asarray, 0, 2, (200,)) * np.logspace(-12, 0.7, 200)
        T = alg.bivector(of_torch(B.coefficients))
        assert agree(T.exp(), B.exp(), 1e-11)
        R = (B * (3.0 / np.maximum(1, np.abs(B.coefficients).sum(axis=-1)))).exp()
        R = R.new(R.keys, R.coefficients * np.ones(1))
        assert agree(alg.multivector(of_torch(R.values), R.keys.grades).log().exp(), R, 1e-9)


# ---- gradients


def operations(alg):
    """(name, function of coefficients, what it needs) of every differentiable operation."""
    whole = alg.form.d <= 6
    grades = None if whole else (0, 1, 2)
    count = alg.random_multivector(rng=0, shape=(), grades=grades).keys.size
    other = alg.random_multivector(rng=1, shape=(), grades=grades)
    vector, plane = alg.random_multivector(rng=2, shape=(), grades=1), alg.random_multivector(rng=3, shape=(), grades=1)

    def of(function):
        return lambda t: _tensor_of(function(alg.multivector(t, grades)))

    functions = {rule: of(lambda A, rule=rule: getattr(A, rule)(other) + getattr(other, rule)(A)) for rule in PRODUCTS}
    functions |= {
        name: of(function)
        for name, function in UNARY.items()
        if name not in ("mean", "prod", "part", "reshape", "left_matrix", "right_matrix", "normalized", "power")
        and (whole or name != "exp")
    }
    if alg.d <= 5 and np.any(alg.metric):
        functions["power"] = of(lambda A: A**3)
        functions["sandwich"] = of(lambda A: A.even() >> vector)
        functions["project"] = of(lambda A: vector.project(A.grade(1)) + A.grade(1).reject(plane))
        functions["reflect"] = of(lambda A: A.reflect(vector))
        functions["normalized"] = of(lambda A: A.grade(1).normalized())
        functions["left_matrix"] = of(lambda A: A.left_matrix())
    if np.linalg.matrix_rank(np.asarray(alg.metric, dtype=float)) == alg.d and alg.d <= 6:
        functions["inv"] = of(lambda A: (3 + A).inv())
        functions["quotient"] = of(lambda A: other / (3 + A))
    if 2 <= alg.d <= 5:
        functions["log"] = of(lambda A: (0.3 * A.grade(2)).exp().log())
        functions["sqrt"] = of(lambda A: (0.3 * A.grade(2)).exp().sqrt())
    if alg.d >= 2:
        functions["exp of a bivector"] = of(lambda A: A.grade(2).exp())
    return count, functions


def _tensor_of(A):
    return A.coefficients if isinstance(A, TensorMultivector) else A


@pytest.mark.parametrize("name", METRICS)
def test_every_operation_has_the_gradient_of_differences(name):
    alg = METRICS[name]
    count, functions = operations(alg)
    t = torch.asarray(np.random.default_rng(7).standard_normal(count), dtype=torch.float64).requires_grad_()
    for operation, function in functions.items():
        assert torch.autograd.gradcheck(function, (t,), fast_mode=True, atol=1e-5, rtol=1e-4), operation


@pytest.mark.parametrize(
    ("counts", "rules"),
    [
        ((12,), ("gp",)),
        *(
            pytest.param(counts, (*PRODUCTS, "commutator", "anticommutator"), marks=pytest.mark.slow)
            for counts in ((4, 3, 0), (5, 1, 1))
        ),
    ],
)
def test_dense_products_differentiate(counts, rules):
    alg = cr.Algebra(*counts)
    a, b = (torch.asarray(x).requires_grad_() for x in np.random.default_rng(0).standard_normal((2, 2**alg.d)))
    for rule in rules:

        def f(a, b, rule=rule):
            return getattr(alg.multivector(a), rule)(alg.multivector(b)).coefficients

        assert torch.autograd.gradcheck(f, (a, b), fast_mode=True, atol=1e-4, rtol=1e-4), rule


@pytest.mark.parametrize("name", ["R3", "PGA(3)", "STA", "CGA(3)", "Cl(3,3)"])
def test_gradients_are_finite_at_zero(name):
    alg = METRICS[name]
    n = alg.random_multivector(rng=0, shape=(), grades=2).keys.size
    for function in (lambda B: B.exp(), lambda B: B.exp() >> alg.e1, lambda B: B.exp() if alg.d > 5 else B.exp().log()):
        t = torch.zeros((2, n), dtype=torch.float64, requires_grad=True)
        function(alg.bivector(t)).coefficients.sum().backward()
        assert torch.isfinite(t.grad).all()
    t = torch.zeros((2, n), dtype=torch.float64, requires_grad=True)
    alg.bivector(t).norm().sum().backward()
    assert torch.equal(t.grad, torch.zeros_like(t))


def test_the_derivative_of_exp_at_zero_is_the_bivector():
    alg = METRICS["CGA(3)"]
    jacobian = torch.autograd.functional.jacobian(
        lambda t: alg.bivector(t).exp().grade(2).coefficients, torch.zeros(10, dtype=torch.float64)
    )
    assert torch.equal(jacobian, torch.eye(10, dtype=torch.float64))


# ---- what a tensor keeps


def test_the_tensor_is_kept_with_its_dtype_and_gradient():
    t = torch.randn(4, 3, requires_grad=True)
    v = ONE.vector(t)
    assert v.coefficients is t
    product = v * ONE.e1 + 2
    assert product.dtype == torch.float32
    assert product.coefficients.requires_grad
    assert (v * (1 + 2j)).dtype == torch.complex64
    assert (v * ONE.random_multivector(rng=0)).dtype == torch.float32  # a constant beside the tensor
    assert (v * ONE.vector(t.double())).dtype == torch.float64
    assert ONE.scalar(t).shape == (4, 3)


def test_tensors_of_scalars_multiply_from_both_sides():
    t, A = torch.tensor([2.0, 3.0]), ONE.random_multivector(rng=0)
    for product in (t * A, A * t, A + t - A + (A * t) - t):
        assert agree(product, A * np.array([2.0, 3.0]), 1e-5)
    assert agree(ONE.e1 / t, ONE.e1 * np.array([0.5, 1 / 3]), 1e-6)
    assert agree(1 / ONE.vector(torch.tensor([0.0, 2.0, 0.0])), 0.5 * ONE.e2, 1e-6)


def test_no_operation_makes_an_array_of_numpy_of_a_tensor_or_writes_into_it(monkeypatch):
    alg = cr.Algebra(4)
    count, functions = operations(alg)
    t = torch.randn(count, dtype=torch.float64, requires_grad=True)
    for function in functions.values():
        function(t)

    def refuse(*args, **kwargs):
        raise AssertionError("a tensor became an array of NumPy")

    for name in ("__array__", "numpy", "item", "tolist", "__bool__", "__float__"):
        monkeypatch.setattr(torch.Tensor, name, refuse)
    version = t._version
    for function in functions.values():
        function(t)
    assert t._version == version


# ---- refusals


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda A: A.intersection(A), r"of intersection must be a multivector of NumPy\. Got a tensor of torch"),
        (lambda A: A.bivector_split(), "to_numpy"),
        (lambda A: ONE.vector(torch.ones(3, dtype=torch.int64)), "floating or complex tensor"),
        (lambda A: ONE.vector(torch.ones(4)), "3 components"),
        (lambda A: A * ONE.symbols("a"), "numeric beside a tensor"),
        (lambda A: cr.Algebra(2, 0, 1).vector(torch.ones(3)).dual(), "non-degenerate"),
        (lambda A: A.log(), "real even versor"),
        (lambda A: A * cr.Algebra(2).vector(torch.ones(2)), "same algebra"),
        (lambda A: np.sum(A), r"numpy\.\w*sum.*multivector of NumPy"),
        (lambda A: cr.stack([A, A], axis=3), "axis"),
        (lambda A: A.multiply("outer", A), "'rule' parameter of a product must be one of 'gp', 'wedge'"),
        (lambda A: cr.stack([A, A]).prod(keepdims=1), "'keepdims' parameter of prod"),
    ],
)
def test_what_has_no_meaning_for_tensors_says_so(call, message):
    refused(message, call, ONE.vector(torch.ones(3)))


def test_every_operation_of_multivectors_is_there_for_tensors_or_refused():
    names = {name for name in vars(Multivector) if name not in SHARED}
    own = {name for name in vars(TensorMultivector) if name not in REFUSED}
    assert names - own == set(REFUSED)
    assert {"intersection", "span", "replace", "diff", "factorize_blade"} <= set(REFUSED)


def test_tensors_that_are_scalars_by_their_grade():
    a, b = (ONE.vector(torch.tensor(x, dtype=torch.float64)) for x in ([1.0, 2, 3], [1.0, 0, 1]))
    assert (float(a | b), complex(a | b), int(a | a), bool(a | b)) == (4, 4, 14, True)
    assert (a | b) < (a | a)
    assert ONE.scalar(3.0) < (a | b)
    assert not ((a | b) >= 5)
    for convert in (float, int, complex, lambda A: A < 1):
        refused("grades 0, 2", convert, a * b, error=TypeError)
    refused("neither true nor false", bool, a, error=TypeError)
    refused("unhashable", hash, a, error=TypeError)


def test_stacks_of_tensors():
    alg = cr.Algebra(2, 1)
    t = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    T = cr.stack([alg.vector(t), 2 * alg.e12, 5.0], axis=-1)
    assert T.shape == (3,)
    assert T.grades == (0, 1, 2)
    T.norm_squared().sum().backward()
    assert t.grad is not None
    joined = cr.concatenate([T, T[:1]])
    assert joined.shape == (4,)
    assert joined.to_numpy()[3] == joined.to_numpy()[0]
    assert T.sum(keepdims=True).shape == (1,)


# ---- compilers

FUNCTIONS = {
    "product": lambda alg, x, B: (alg.vector(x) * alg.bivector(B)).coefficients,
    "involutions": lambda alg, x, B: (alg.vector(x) * alg.bivector(B)).reverse().star().coefficients,
    "sandwich": lambda alg, x, B: ((1 + alg.bivector(B)) >> alg.vector(x)).coefficients,
    "exp": lambda alg, x, B: alg.bivector(B).exp().coefficients,
    "chain": lambda alg, x, B: (alg.bivector(B).exp() + 2 - alg.vector(x)).inv().norm(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_torch_compiles_whole_functions(name):
    x, B = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
    alg, function = cr.Algebra(2, 1), FUNCTIONS[name]  # no plan of it is made before the trace
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, B: function(alg, x, B), fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(x, B), function(alg, x, B), rtol=1e-9)


@pytest.mark.slow
def test_jax_compiles_whole_functions():
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    x, B, u = rng.standard_normal((5, 4)), rng.standard_normal((5, 6)), rng.standard_normal((5, 4))
    h = 1e-5
    for name, function in FUNCTIONS.items():
        alg = cr.Algebra(4)

        def plain(x, f=function, alg=alg):  # of tensors, none of which is compiled
            return np.asarray(f(alg, of_strict(x), of_strict(B)))

        compiled = jax.jit(lambda x, B, f=function, alg=alg: f(alg, x, B))
        assert np.allclose(compiled(of_jax(x), of_jax(B)), plain(x), rtol=1e-9), name
        gradient = jax.jit(jax.grad(lambda x, B, f=function, alg=alg: f(alg, x, B).sum()))(of_jax(x), of_jax(B))
        wanted = (plain(x + h * u) - plain(x - h * u)).sum() / (2 * h)
        assert np.allclose((gradient * u).sum(), wanted, rtol=1e-6, atol=1e-8), name


@pytest.mark.parametrize("gram", [np.diag([9, -16, 25, -4]), np.array([[-4, 2, -4], [2, 0, -4], [-4, -4, -1]])])
def test_exp_of_general_tensors_is_as_exact_where_squares_are_large(gram):
    """Without a closed form: by squaring, as often as the size of products asks for, not that of coefficients."""
    alg = cr.Algebra(metric=gram)
    A = 0.3 * alg.random_multivector(rng=0, shape=(5,))
    found = alg.multivector(torch.tensor(A.coefficients)).exp().to_numpy()
    assert found.isclose(A.exp(), rtol=1e-11).all()
