"""Symbolic coefficients: the same laws, derivatives, exact values, and code that agrees with the numeric kernels."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from clifford_rand import geometric_derivative
from clifford_rand.symbolic.closed_forms import exponential_of_square, square_root
from clifford_rand.symbolic.coefficients import is_zero
from support.refusals import refused

A, B, C = sp.symbols("a b c", real=True)
SIGNATURES = [(p, q, r) for n in (1, 2, 3) for p, q, r in itertools.product(range(n + 1), repeat=3) if p + q + r == n]
OBLIQUE = cr.Algebra(metric=[[2, 1, 0], [1, 3, 1], [0, 1, -1]])


# ---- symbols


def test_symbols_are_named_by_their_blades():
    assert str(cr.Algebra(2).symbols("a")) == "a + a1*e1 + a2*e2 + a12*e12"
    assert str(cr.Algebra.pga(2).symbols("p", 1)) == "p0*e0 + p1*e1 + p2*e2"
    assert str(cr.Algebra(2).symbols("x1")) == "x1 + x1_1*e1 + x1_2*e2 + x1_12*e12"
    assert cr.Algebra(12).symbols("a", 2)["e1_12"] == sp.Symbol("a1_12", real=True)
    assert str(cr.Algebra(1, 1, names=["x", "t"]).symbols("f", [1, 2])) == "f_x*x + f_t*t + f_x_t*x_t"


@pytest.mark.parametrize("d", [3, 11, 12])
@pytest.mark.parametrize("name", ["a", "a1", "a_"])
def test_symbols_of_one_multivector_all_differ(d, name):
    used = cr.Algebra(d).symbols(name, (0, 1, 2)).symbols_used()
    assert len(set(used)) == len({str(symbol) for symbol in used}) == 1 + d + d * (d - 1) // 2


def test_symbols_are_real_unless_asked_otherwise():
    alg = cr.Algebra(2)
    assert all(symbol.is_real for symbol in alg.symbols("a").symbols_used())
    assert all(symbol.is_positive for symbol in alg.symbols("a", positive=True).symbols_used())
    assert all(symbol.is_real is None for symbol in alg.symbols("a", real=None).symbols_used())


@pytest.mark.parametrize("name", ["", "1a", "a b", None])
def test_symbols_need_an_identifier(name):
    refused("'name' parameter of symbols must be an identifier", lambda: cr.Algebra(2).symbols(name))


def test_a_multivector_is_not_taken_for_a_scalar():
    assert not hasattr(cr.Algebra(2).symbols("a"), "free_symbols")


# ---- products and mixtures


@pytest.mark.parametrize("counts", SIGNATURES)
def test_geometric_product_is_associative_in_symbols(counts):
    alg = cr.Algebra(*counts)
    a, b, c = (alg.symbols(name) for name in "abc")
    assert ((a * b) * c - a * (b * c)).is_zero()
    assert not (a * b - b * a + a).is_zero()


def test_symbolic_metric_obeys_the_laws():
    alg = cr.Algebra(metric=sp.Matrix([[A, B], [B, C]]))
    x, y = alg.symbols("x", 1), alg.symbols("y", 1)
    assert ((x * y + y * x) / 2 - (x | y)).is_zero()
    assert ((x * y) * x - x * (y * x)).is_zero()
    assert alg.e12.inner(alg.e12)["1"].equals(A * C - B**2)
    assert is_zero((x * x)["1"] - sp.Matrix(x.values).dot(sp.Matrix([[A, B], [B, C]]) * sp.Matrix(x.values)))


@pytest.mark.parametrize("scalar", [A, sp.Rational(1, 3), sp.sqrt(2), sp.I, Fraction(2, 7)])
def test_scalars_of_all_kinds_on_both_sides(scalar):
    alg = cr.Algebra(2)
    assert scalar * alg.e1 == alg.e1 * scalar == alg({"e1": scalar})
    assert (scalar + alg.e1)["1"] == scalar
    assert scalar + alg.e1 == alg.e1 + scalar
    assert (scalar - alg.e1) + (alg.e1 - scalar) == 0
    assert (scalar * alg.e1) / scalar == alg.e1
    assert scalar ^ alg.e1 == scalar * alg.e1


def test_fractions_mix_with_symbols_exactly():
    alg = cr.Algebra(2)
    third = Fraction(1, 3) * alg.e1
    product = third * (A * alg.e2)
    assert product["e12"] == A / 3
    assert third * third == sp.Rational(1, 9)
    assert isinstance((third * third)["1"], Fraction)


def test_arrays_of_symbols_are_batches():
    alg = cr.Algebra(2)
    batch = np.array([A, B], dtype=object) * alg.e1
    assert batch.shape == (2,)
    assert (batch * batch)[1] == B**2
    assert (batch - batch).is_zero().tolist() == [True, True]


# ---- methods


def test_diff_is_a_derivation():
    alg = cr.Algebra(1, 1, 1)
    a, b = alg.symbols("a"), alg.symbols("b")
    F, G = a * b, b * b * a
    s = sp.Symbol("b12", real=True) if "b12" in map(str, b.symbols_used()) else b.symbols_used()[1]
    assert ((F * G).diff(s) - F.diff(s) * G - F * G.diff(s)).is_zero()
    assert (F.diff(str(s)) - F.diff(s)).is_zero()
    assert (G.diff(s, 2) - G.diff(s).diff(s)).is_zero()
    assert not G.diff(s, 2).is_zero()


def test_diff_by_a_symbol_that_is_not_there_is_zero_and_by_a_namesake_an_error():
    F = cr.Algebra(2).symbols("a", 1)
    assert F.diff(sp.Symbol("z")).is_zero()
    refused(r"assumptions of its namesake.*Give its name as text", lambda: F.diff(sp.Symbol("a1")))
    refused("They are a1, a2", F.diff, "a3")
    refused("a SymPy symbol or its name", F.diff, 1.5)
    refused("'n' parameter of diff", F.diff, "a1", 0)


def test_substitution_commutes_with_products():
    alg = cr.Algebra(3)
    a, b = alg.symbols("a"), alg.symbols("b")
    values = {symbol: i - 4 for i, symbol in enumerate((*a.symbols_used(), *b.symbols_used()))}
    direct = a.subs(values).to_numeric(np.int64) * b.subs(values).to_numeric(np.int64)
    assert (a * b).subs(values).to_numeric(np.int64) == direct
    assert a.subs("a12", A)["e12"] == A
    assert a.subs([("a1", B), (B, 2)])["e1"] == 2
    for wrong in ((), (1, 2, 3), ("a1",)):
        refused("'replacements' parameter of subs", a.subs, *wrong)
    refused("Use lambdify for arrays", lambda: a.subs("a1", np.ones(3)))


def test_nothing_is_simplified_unless_asked():
    alg = cr.Algebra(2)
    M = (sp.cos(A) ** 2 + sp.sin(A) ** 2) * alg.e1 + (A + 1) ** 2 * alg.e2
    assert "cos" in repr(M)
    assert M.simplify()["e1"] == 1
    assert M.expand()["e2"] == A**2 + 2 * A + 1
    assert M.simplify(sp.factor)["e2"] == (A + 1) ** 2
    assert not (M - alg.e1 - (A + 1) ** 2 * alg.e2).is_zero()  # multiplied out, not simplified
    assert (M - alg.e1 - (A + 1) ** 2 * alg.e2).simplify().is_zero()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_to_numeric(dtype):
    alg = cr.Algebra(2)
    M = sp.sqrt(2) * alg.e1 + Fraction(1, 3) * alg.e2 + 2 * alg.e12
    for N in (M.to_numeric(dtype), M.astype(dtype)):
        assert N.dtype == dtype
        assert np.allclose(N.values, [2**0.5, 1 / 3, 2], rtol=np.finfo(dtype).eps)


def test_to_numeric_says_what_is_wrong():
    alg = cr.Algebra(2)
    refused(r"of to_numeric must be free of symbols. Got the symbols a, b", lambda: (A * alg.e1 + B).to_numeric())
    refused(r"of astype must be free of symbols", lambda: (A * alg.e1).astype(float))
    refused(r"that float64 can hold\. Got the complex number I", lambda: (sp.I * alg.e1).to_numeric())
    refused("1/2, not an integer", lambda: (sp.Rational(1, 2) * alg.e1).to_numeric(np.int64))
    refused("Choose another dtype", lambda: (10**400 * alg.e1.astype(object)).to_numeric())
    assert (sp.I * alg.e1).to_numeric(complex) == 1j * alg.e1


# ---- generated code


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("alg", [cr.Algebra(3), cr.Algebra(2, 1, 1), OBLIQUE], ids=["3", "2,1,1", "oblique"])
def test_generated_product_equals_the_kernel(alg, backend):
    grades = (1, 2)
    a, b = alg.symbols("a", grades), alg.symbols("b", grades)
    f = (a * b).lambdify(a, b, backend=backend)
    x, y = (
        alg.random_multivector(rng=0, shape=(4, 1), grades=grades),
        alg.random_multivector(rng=1, shape=(5,), grades=grades),
    )
    assert f(x, y).shape == (4, 5)
    assert np.all(f(x, y).isclose(x * y, rtol=1e-14))
    assert np.all(f(1e150 * x, 1e-150 * y).isclose(x * y, rtol=1e-14))
    assert np.array_equal(f.array(x.coefficients, y), f(x, y).coefficients)
    assert f(x[0, 0], y[0]).shape == ()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_generated_code_shares_subexpressions(backend):
    alg = cr.Algebra(2)
    root = sp.sqrt(A**2 + B**2)
    f = (sp.sin(root) * alg.e1 + sp.cos(root) * alg.e2 + 3).lambdify("a", B, backend=backend)
    assert f.source.count("sqrt") == 1
    t = np.linspace(-2, 2, 7)
    got = f(t[:, None], t)
    r = np.hypot(t[:, None], t)
    assert got.shape == (7, 7)
    assert np.allclose(got["e1"], np.sin(r), rtol=0, atol=1e-14)
    assert np.allclose(got["e2"], np.cos(r), rtol=0, atol=1e-14)
    assert (got["1"] == 3).all()


def test_numpy_function_keeps_the_precision_of_its_arguments():
    f = (sp.sqrt(2) * A * cr.Algebra(2).e1 + 1).lambdify(A)
    assert f(np.float32([1, 2])).dtype == np.float32
    assert f(np.complex64([1j, 2])).dtype == np.complex64
    assert f(3).dtype == np.float64
    assert (cr.Algebra(2).e1 * sp.Integer(2)).lambdify()().dtype == np.float64


def test_compiled_division_by_zero_is_infinite():
    f = (1 / A * cr.Algebra(2).e1).lambdify(A, backend="numba")
    assert f.array(np.zeros(2)).tolist() == [[np.inf], [np.inf]]


def test_lists_of_symbols_are_taken_and_sympys_lambdify_names_ours():
    M = A * cr.Algebra(2).e1 + B
    assert M.lambdify([A, B])(2.0, 3.0) == M.lambdify(A, B)(2.0, 3.0)
    for function in (lambda: sp.lambdify([A, B], M), lambda: sp.ccode(M)):
        refused(r"take no multivector: A.lambdify", function)


def test_lambdify_says_what_is_wrong():
    alg = cr.Algebra(2)
    M = A * alg.e1 + B
    refused("Got no argument for b instead", M.lambdify, A)
    refused("Got a symbol twice", M.lambdify, A, B, A)
    refused(r"'backend' parameter of lambdify must be one of 'numpy', 'numba'", M.lambdify, A, B, backend="jax")
    refused("multivectors of distinct symbols", M.lambdify, 2 * alg.e1, A, B)
    refused("one, not a batch", lambda: (np.array([A, B]) * alg.e1).lambdify(A, B))
    refused("functions of Python's math module", lambda: (sp.Function("f")(A) * alg.e1).lambdify(A, backend="numba"))
    f = M.lambdify(A, B)
    refused(r"must be 2 arguments\. Got 1", f, 1.0)
    refused("numbers or arrays of them", f, A, 1)
    x = alg.symbols("x", 1)
    g = (x * x).lambdify(x)
    refused(r"without components outside grades \(1,\)", g, alg.e12 + alg.e1)
    refused("an array with 2 components", lambda: g(np.ones(3)))


# ---- the geometric derivative

FIELDS = [cr.Algebra(2), cr.Algebra(3), cr.Algebra(1, 3), OBLIQUE, cr.Algebra(metric=[[0, -1], [-1, 0]]), cr.Algebra(1)]
FIELDS += [cr.Algebra(metric=[[Fraction(1, 2), 0], [0, 3]]), cr.Algebra(metric=sp.Matrix([[A, B], [B, C]]))]
OFTEN = (FIELDS[0], OBLIQUE, FIELDS[4], FIELDS[7])
FIELDS = [pytest.param(alg, marks=[pytest.mark.slow] * (alg not in OFTEN)) for alg in FIELDS]


def _field(alg, grades=None):
    """A polynomial field of degree 3 with a mixed term in every coefficient."""
    x = alg.symbols("x", 1)
    s = x.values.tolist()
    M = alg.symbols("f", grades)
    values = [
        sp.Integer(i + 1) * s[i % alg.d] ** 3 + s[0] * s[-1] ** 2 - s[(i + 1) % alg.d] * s[i % alg.d]
        for i in range(M.keys.size)
    ]
    return M.new(M.keys, np.array(values, dtype=object)), x, s


def _zero(M):
    return M.simplify().is_zero()


@pytest.mark.parametrize("alg", FIELDS, ids=repr)
def test_derivative_laws(alg):
    F, x, s = _field(alg)
    d = alg.d
    inverse = sp.Matrix(alg.metric.tolist()).inv()
    laplacian = F * 0
    for i, j in itertools.product(range(d), repeat=2):
        laplacian = laplacian + F.diff(s[i]).diff(s[j]) * inverse[i, j]
    whole, *parts = (geometric_derivative(F, x, rule=rule) for rule in ("gp", "wedge", "lc"))
    assert _zero(geometric_derivative(whole, x) - laplacian)
    assert not _zero(laplacian)
    assert _zero(whole - parts[0] - parts[1])
    for rule, once in zip(("wedge", "lc"), parts, strict=True):
        assert not _zero(once)
        assert _zero(geometric_derivative(once, x, rule=rule))
    assert _zero(geometric_derivative(x, x) - d)
    assert _zero(geometric_derivative(x * x, x) - 2 * x)


@pytest.mark.parametrize("rule", ["gp", "wedge", "lc"])
def test_derivative_from_the_right_is_the_reverse(rule):
    for alg in (cr.Algebra(3), cr.Algebra(1, 3), OBLIQUE):
        F, x, _ = _field(alg)
        right = geometric_derivative(F, x, rule=rule, side="right")
        assert _zero(~right - geometric_derivative(~F, x, rule=rule))
    alg = cr.Algebra(2)
    F, x, _ = _field(alg)
    assert not _zero(geometric_derivative(F, x, side="right") - geometric_derivative(F, x))


def test_derivative_is_that_of_vector_calculus():
    alg = cr.Algebra(3)
    F, x, (u, v, w) = _field(alg, 1)
    f, g, h = F.values
    assert _zero(geometric_derivative(F, x, rule="lc") - (f.diff(u) + g.diff(v) + h.diff(w)))
    curl = alg.vector([h.diff(v) - g.diff(w), f.diff(w) - h.diff(u), g.diff(u) - f.diff(v)])
    assert _zero(geometric_derivative(F, x, rule="wedge").dual() - curl)


def test_derivative_of_batches_numbers_and_coordinate_lists():
    alg = cr.Algebra(2)
    x = alg.symbols("x", 1)
    batch = np.array([1, 2, sp.Symbol("t")], dtype=object) * (x * x * x)
    got = geometric_derivative(batch, x)
    assert got.shape == (3,)
    assert (got[1] - 2 * got[0]).is_zero()
    assert geometric_derivative(alg.e1, x).is_zero()
    assert geometric_derivative(x, list(x.values)) == geometric_derivative(x, x)
    assert geometric_derivative(cr.Algebra(metric=[[0.5, 0.0], [0.0, 2.0]]).vector(x.values), x.values).isclose(2)


def test_derivative_says_what_is_wrong():
    alg = cr.Algebra.pga(2)
    x = alg.symbols("x", 1)
    for rule in ("gp", "wedge", "lc"):
        refused(r'non-degenerate.*rule="wedge"', geometric_derivative, x, x, rule=rule)
    alg = cr.Algebra(2)
    x = alg.symbols("x", 1)
    for wrong in ([A], [A, A], [A, 1], alg.symbols("x"), A):
        refused("'x' parameter of geometric_derivative", geometric_derivative, x, wrong)
    refused("must be one of 'gp', 'wedge', 'lc'", geometric_derivative, x, x, rule="vee")
    refused("'side' parameter", geometric_derivative, x, x, side="up")
    polar = cr.Algebra(metric=sp.Matrix([[1, 0], [0, A**2]]))
    refused("must be constant", geometric_derivative, polar.e1, [A, B])


# ---- exact functions of one value


@pytest.mark.parametrize(
    "square", [-4, 4, sp.Rational(1, 4), -(A**2), A**2, -(A**2) - B**2, A**2 - B**2, -((A + B) ** 2), A, (A * B) ** 2]
)
def test_exponential_of_square_agrees_with_its_series(square):
    numbers = {A: sp.Rational(3, 7), B: sp.Rational(-5, 4)}
    s = sp.sympify(square)
    cosh, quotient = (value.subs(numbers) for value in exponential_of_square(square))
    s = s.subs(numbers)
    for value, shift in ((cosh, 0), (quotient, 1)):
        series = sum(s**n / sp.factorial(2 * n + shift) for n in range(25))
        assert abs(sp.N(value - series, 30)) < 1e-25


def test_exponential_of_square_takes_the_real_form():
    assert exponential_of_square(0) == exponential_of_square((A + 1) ** 2 - A**2 - 2 * A - 1) == (1, 1)
    for negative in (-(A**2), -(A**2) - B**2, -2, -sp.Symbol("p", positive=True)):
        for value in exponential_of_square(negative):
            assert not value.has(sp.cosh, sp.sinh, sp.I, sp.Abs)
    assert exponential_of_square(-(A**2))[0].diff(A) == -sp.sin(A)


def test_square_root_is_exact():
    for n in [*range(30), 10**40, (10**20 + 1) ** 2]:
        root = square_root(n)
        assert sp.expand(root**2) == n
        assert isinstance(root, int) == (round(n**0.5) ** 2 == n or n > 10**30)
    assert square_root(Fraction(9, 16)) == Fraction(3, 4)
    assert isinstance(square_root(Fraction(9, 16)), Fraction)
    assert square_root(Fraction(1, 2)) == sp.sqrt(2) / 2
    assert square_root(-4) == 2 * sp.I
    assert square_root(A**2) == abs(A)


def test_is_zero_multiplies_out():
    assert is_zero((A + B) ** 2 - A**2 - 2 * A * B - B**2)
    assert not is_zero(A)
    assert is_zero(0)
    assert is_zero(Fraction(0))
    assert is_zero(sp.Float(0))
    assert not is_zero(1e-300)


def test_a_filter_needs_true_or_false():
    x = cr.Algebra(2).symbols("x", 1)
    refused("'function' parameter of filter must be true or false of every", lambda: x.filter(lambda c: c > 0))


@pytest.mark.slow
def test_functions_of_sympy_act_on_coefficients():
    alg = cr.Algebra(3)
    x, y = sp.symbols("x y", real=True)
    f, g = (x**2 - y**2) / (x - y), sp.sin(x) ** 2 + sp.cos(x) ** 2
    A = f * alg.e1 + g * alg.e12
    functions = {
        sp.simplify: sp.simplify,
        sp.trigsimp: sp.trigsimp,
        sp.factor: sp.factor,
        sp.expand: sp.expand,
        lambda B: sp.N(B, 5): lambda c: sp.N(c, 5),
        lambda B: sp.integrate(B, y): lambda c: sp.integrate(c, y),
        lambda B: sp.integrate(B, (y, 2, 3)): lambda c: sp.integrate(c, (y, 2, 3)),
        lambda B: B.integrate((x, 0, 1), (y, 2, 3)): lambda c: c.integrate((x, 0, 1), (y, 2, 3)),
        lambda B: sp.diff(B, x, 2): lambda c: sp.diff(c, x, 2),
        lambda B: B.evalf(subs={x: 2, y: 1}): lambda c: c.evalf(subs={x: 2, y: 1}),
        lambda B: B.subs(x, 3).evalf(): lambda c: c.subs(x, 3).evalf(),
        lambda B: B.func(*B.args): lambda c: c,
    }
    for of, on in functions.items():
        assert of(A) == on(f) * alg.e1 + on(g) * alg.e12
        batch = of(cr.stack([A, 2 * A]))
        assert batch.shape == (2,)
        assert batch[0] == of(A)
    assert sp.latex(A) == A._repr_latex_().strip("$")
    assert sp.latex(3 * alg.e1) == r"3\,\mathbf{e}_{1}"
    assert sp.integrate(x**2 * alg.e1, (x, 0, 1)) == sp.Rational(1, 3) * alg.e1
    refused("must be 2 coefficients", A.func, 1)


def test_sympify_takes_scalars_as_numbers_and_others_as_they_are():
    alg = cr.Algebra(2)
    x = sp.Symbol("x", real=True)
    A = x * alg.e1
    assert sp.sympify(A) is A
    assert sp.sympify(A | A) == x**2
    assert sp.sqrt(A | A) == abs(x)
    assert (x == A) is False
    assert x == alg.scalar(x)
    assert x + A == A + x == alg.scalar(x) + A
    assert sp.Integer(2) * A == 2 * A


def test_functions_of_sympy_that_take_expressions_apart_name_the_remedy():
    x = sp.Symbol("x", real=True)
    A = (x**2 - 1) / (x - 1) * cr.Algebra(3).e1
    for f in (
        sp.cancel, sp.nsimplify, sp.series, sp.conjugate, sp.re, sp.sin, lambda A: sp.collect(A, x),
        lambda A: sp.limit(A, x, 0), lambda A: sp.solve(A, x), lambda A: sp.apart(A, x), lambda A: sp.Poly(A, x),
        lambda A: sp.summation(A, (x, 0, 3)),
    ):  # fmt: skip
        refused(r"A\.simplify\(f\) applies a function f", f, A, error=AttributeError)
    assert A.simplify(sp.cancel) == (x + 1) * cr.Algebra(3).e1
    assert sp.limit(x * cr.Algebra(3).scalar(1), x, 2) == 2  # a scalar is an expression


def test_derivatives_by_several_symbols():
    x, y = sp.symbols("x y", real=True)
    alg = cr.Algebra(2)
    A = x**3 * y**2 * alg.e1
    for derivative in (sp.diff(A, x, y), A.diff("x", "y"), A.diff(x, 1, y), sp.diff(A, x, sp.Integer(1), y)):
        assert derivative == 6 * x**2 * y * alg.e1
    assert sp.diff(A, x, x, y, 2) == 12 * x * alg.e1
