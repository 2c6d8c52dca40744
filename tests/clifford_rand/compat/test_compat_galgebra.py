"""What galgebra's names mean here: laws with symbols, against this library's own methods."""

import operator

import pytest
import sympy as sp

from clifford_rand.compat.galgebra import mv
from clifford_rand.compat.galgebra.dop import Dop, Pdop, Sdop
from clifford_rand.compat.galgebra.ga import Ga
from clifford_rand.compat.galgebra.lt import Lt, Mlt
from clifford_rand.compat.galgebra.mv import Mv
from support.refusals import refused

METRICS = [None, [1, 1], [1, -1], [[2, 1], [1, 3]], "1 #,# 0"]


@pytest.fixture(params=METRICS, ids=str)
def ga(request):
    return Ga("e*x|y", g=request.param)


def _inner(ga, A):
    return ga.own.multivector(A.inner.dense().coefficients)


def test_operators_are_the_librarys_products(ga):
    A, B = ga.mv("A", "mv"), ga.mv("B", "mv")
    a, b = A.inner, B.inner
    for found, wanted in [
        (A * B, a * b),
        (A ^ B, a ^ b),
        (A | B, a.hestenes(b)),
        (A < B, a.lc(b)),
        (A > B, a.rc(b)),
        (A >> B, a.commutator(b)),
        (A << B, a.anticommutator(b)),
        (2 - A, 2 - a),
        (~A, ~a),
        (A.g_invol(), a.involute()),
        (A.ccon(), a.conjugate()),
        (A**2, a * a),
    ]:
        assert isinstance(found, Mv)
        assert (found.inner - wanted).is_zero()
    assert (A > 1) == A
    assert (A < 1) == A.scalar()


def test_names_of_coefficients_and_functions():
    x, y = sp.symbols("x y", real=True)
    ga, ex, ey = Ga.build("e", g=[1, 1], coords=(x, y))
    A = ga.mv("A", "mv")
    assert str(A) == "A + A__x*e_x + A__y*e_y + A__xy*e_x^e_y"
    assert str(-(x + y) * ex + sp.Rational(1, 2) * ey) == "(-x - y)*e_x + (1/2)*e_y"
    F = ga.mv("F", "vector", f=True)
    assert F.list() == [sp.Function("F__x", real=True)(x, y), sp.Function("F__y", real=True)(x, y)]
    assert F.diff(x).list() == [value.diff(x) for value in F.list()]
    B, C = ga.mv("B C", "vector spinor")
    assert (B.grades, C.grades) == ([1], [0, 2])
    assert [Ga("a b").index_of(3), Ga("e*1|2").index_of(3), ga.index_of(3)] == ["12", "12", "xy"]
    refused("coordinates", Ga("e*1|2").mv, "F", "vector", f=True)
    for bad in (("A", "vector", 1), ("A", "grade"), ("A",), (ex, "even")):
        with pytest.raises(TypeError):
            ga.mv(*bad)
    refused("one of", ga.mv, "A", "other")


def test_metrics_of_symbols_and_texts():
    ga = Ga("a b c")
    assert str(ga.g[0, 1]) == "(a.b)"
    a, b, c = ga.mv()
    assert (a | (b ^ c)) == (a | b) * c - (a | c) * b
    mixed = Ga("X Y e", g="0 # #,# 0 #,# # 1")
    assert mixed.g[2, 2] == 1
    assert mixed.g[0, 0] == 0
    X, Y, _ = mixed.mv()
    square = (X ^ Y) ** 2
    assert square == mixed.g[0, 1] ** 2
    for one, other in zip(ga.mvr(), ga.mv(), strict=True):
        assert (one | other) == 1


def test_numbers_stay_exact():
    ga, e1, e2 = Ga.build("e*1|2", g=[1, -1])
    for made in (*ga.mvr(), (e1 + 2 * e2).inv(), e1 / 3, e1.project_in_blade(e1 + 3 * e2), ga.I().inv()):
        assert not made.obj.has(sp.Float)


def test_expressions_go_round(ga):
    A = ga.mv("A", "mv")
    assert ga.mv(A.obj) == A
    assert ga.mv(sp.Integer(2)) == 2
    refused("linear in the symbols", ga.mv, ga.basis[0] * ga.basis[1])
    with pytest.raises(sp.SympifyError):
        sp.sympify(A)
    assert hash(A * 0 + 10) == hash(10)


def test_coefficients():
    ga, e1, e2, e3 = Ga.build("e*1|2|3", g=[1, 1, 1])
    a = sp.Symbol("a")
    A = a * e1 + 3 * (e1 ^ e3)
    assert A.blade_coefs() == [a, 3]
    assert A.blade_coefs([e1 ^ e3, e2]) == [3, 0]
    assert (A - 3 * (e1 ^ e3)).get_coefs(1) == [a, 0, 0]
    assert sum(A.components(), ga.mv(0)) == A
    assert (e1 ^ e2).is_base()
    assert not (e2 ^ e1).is_base()
    refused("basis blades", A.blade_coefs, [2 * e1])
    refused("that of the multivector", A.get_coefs, 1)


def test_duals_inverses_and_norms(ga):
    A = ga.mv("A", "vector")
    assert A.dual().undual() == A
    assert A.inv() * A == 1
    square = ga.I() ** 2
    assert square == -1 or square == 1
    assert sp.simplify(A.qform() - (A * A).scalar()) == 0
    assert A.norm2("+") == A.qform()
    refused("a multivector", mv.rev, 1)


def test_norms():
    _, e1, e2 = Ga.build("e*1|2", g=[1, -1])
    A = 3 * e1 + 5 * e2
    assert (A.qform(), A.norm2(), A.norm(), abs(A)) == (-16, 16, 4, 4)
    assert ((2 + A).mag2(), (2 + A).mag()) == (20, 2 * sp.sqrt(5))
    v = Ga("e*1|2", g=[1, 1]).mv("v", "vector")
    assert v.norm() ** 2 == v.qform() == sum(value**2 for value in v.list())
    assert Ga("e*1|2", g=[1, 1]).mv("s", "scalar").norm() == sp.Abs(sp.Symbol("s", real=True))


def test_exponentials_are_the_librarys():
    t = sp.Symbol("t", real=True)
    for g, hint, cosine in [([1, 1], "-", sp.cos), ([1, -1], "+", sp.cosh)]:
        _, e1, e2 = Ga.build("e*1|2", g=g)
        R = (t * (e1 ^ e2)).exp(hint)
        assert sp.simplify(R.scalar() - cosine(t)) == 0
        assert (R * R.rev()).trigsimp() == 1
        assert (R.diff(t) - (e1 ^ e2) * R).simplify().is_zero()


def test_projection_and_reflection():
    ga, e1, e2, e3 = Ga.build("e*1|2|3", g=[1, 1, 1])
    v, B = ga.mv("v", "vector"), e1 ^ (e2 + e3)
    inside = mv.proj(B, v)
    assert (inside ^ B) == 0
    assert ((v - inside) < B) == 0
    assert mv.refl(B, v) == 2 * inside - v
    assert mv.cross(e1, e2) == e3
    assert str(inside) == "v__1*e_1 + (v__2/2 + v__3/2)*e_2 + (v__2/2 + v__3/2)*e_3"  # exact: no number floats
    turned = mv.rot(sp.pi / 2 * (e1 ^ e2), e1)
    assert turned == e2
    assert mv.Nga(sp.pi * e1, 3) == sp.pi.evalf(3) * e1


def test_linear_maps(ga):
    ex, ey = ga.mv()
    L = ga.lt([[1, 3], [2, 4]])
    assert ga.lt(sp.Matrix([[1, 2], [3, 4]])).matrix() == L.matrix()
    a, b = ga.mv("a", "vector"), ga.mv("b", "vector")
    assert L(ex) == ex + 3 * ey
    assert L(a ^ b) == L(a) ^ L(b)
    assert (L.det(), L.tr()) == (-2, 5)
    if not ga.own.form.is_degenerate:
        assert (a | L(b)) == (L.adj()(a) | b)
    assert L.inv()(L(a)) == a
    assert (L * L - 2 * L)(a) == L(L(a)) - 2 * L(a)
    assert ga.lt(lambda x: 2 * x).matrix() == 2 * sp.eye(2)
    skew = ga.lt("S", mode="a").matrix()
    assert skew == -skew.T
    assert Lt("S", ga=ga, mode="s").matrix().is_symmetric()
    refused("linear", ga.lt, lambda x: (x | ex) * x)
    T = Mlt(lambda x, y: x | y, ga)
    assert (T * T)(a, b, ex, ey) == (a | b) * (ex | ey)
    S = Mlt("S", ga, nargs=2)
    assert (S + S)(a, b) == 2 * S(a, b)
    assert S(a + b, ex) == S(a, ex) + S(b, ex)


@pytest.mark.slow
def test_vector_derivative_from_both_sides():
    x, y, z = sp.symbols("x y z", real=True)
    ga, ex, ey, ez = Ga.build("e*x|y|z", g=[1, 1, 1], coords=(x, y, z))
    A = ga.mv("A", "mv", f=True)
    partial = [(vector, A.diff(coord)) for vector, coord in zip((ex, ey, ez), (x, y, z), strict=True)]
    for product in (lambda a, b: a * b, lambda a, b: a ^ b, lambda a, b: a | b):
        assert product(ga.grad, A) == sum((product(e, D) for e, D in partial), ga.mv(0))
        assert product(A, ga.rgrad) == sum((product(D, e) for e, D in partial), ga.mv(0))
    assert (ga.grad * ga.grad) * A == ga.grad * (ga.grad * A)
    assert (ga.grad * ga.grad).is_scalar()
    assert (ex | ga.grad) * A == A.diff(x)
    assert (2 * ex + ga.grad) * A == 2 * ex * A + ga.grad * A
    assert A * (ga.rgrad - 3) == A * ga.rgrad - 3 * A
    assert (x - ga.grad) * A == x * A - ga.grad * A
    assert sum((part * A for part in ga.grad.components()), ga.mv(0)) == ga.grad * A
    A, B = ga.mv("V", "vector", f=True) + x, x * ex * ey + 2 * ez + y * (ey ^ ez)
    assert A * (ga.rgrad * B) == (A * ga.rgrad) * B
    assert A * (ga.rgrad + B) == A * ga.rgrad + A * B
    assert (B * ga.grad) * A == B * (ga.grad * A)
    assert A ^ (ga.rgrad ^ B) == (A ^ ga.rgrad) ^ B
    first, second = ga.rgrad * B, ga.rgrad * ex
    assert A * (first * second) == (A * first) * second
    assert ((ex * ga.grad) * (B * ga.grad)) * A == ex * ga.grad * (B * (ga.grad * A))
    refused("same side", lambda: ga.grad + ga.rgrad)
    other = Ga("a b c", g=[1, 1, 1], coords=sp.symbols("a b c", real=True)).mv("a", "vector")
    for rule in (operator.add, operator.sub, operator.mul, operator.xor):
        refused("one of", rule, ga.grad, other)
    refused("coords", lambda: Ga("e*1|2", g=[1, 1]).grad)


def test_partial_derivatives_with_coefficients():
    x, y = sp.symbols("x y", real=True)
    ga, ex, _ = Ga.build("e*x|y", g=[1, -1], coords=(x, y))
    f = sp.Function("f")(x, y)
    D, E = Pdop({x: 2, y: 1}), Pdop(y)
    assert D(f) == f.diff(x, 2, y)
    assert (D * E)(f) == D(E(f))
    assert D * (f * ex) == f.diff(x, 2, y) * ex
    P = Sdop([(x * y, D), (sp.sin(x), Pdop({}))])
    Q = Sdop([(y**2, E)]) - 3
    assert sp.expand((P * Q) * f - P * (Q * f)) == 0
    assert sp.expand((D * Q) * f - D(Q * f)) == 0
    assert sp.expand((2 - P) * f - 2 * f + P * f) == 0
    assert Sdop(x) == Sdop([1], [Pdop(x)])
    assert x * E == Sdop([(x, E)])
    box = ga.grad * ga.grad
    assert Sdop(box.terms) * (f * ex) == box * (f * ex)
    assert Dop(box.terms, ga=ga) == box
    assert ga.mv(f) * Dop(ga.rgrad.terms, ga=ga, cmpflg=True) == ga.mv(f) * ga.rgrad
    for bad, kind, words in [
        (lambda: Pdop(1), TypeError, "dictionary or symbol"),
        (lambda: Sdop([1], []), ValueError, "same length"),
        (lambda: Sdop(1, 2, 3), TypeError, "3 were given"),
        (lambda: Dop([(P, ex)], ga=ga), TypeError, "pairs"),
        (lambda: Dop([]), ValueError, "None"),
    ]:
        refused(words, bad, error=kind)


def test_vector_derivative_where_the_metric_depends_on_the_point():
    r, theta = sp.symbols("r theta", positive=True)
    ga, er, et = Ga.build("e_r e_theta", g=[1, r**2], coords=(r, theta), norm=True)
    f = sp.Function("f", real=True)(r, theta)
    assert ga.g == sp.eye(2)
    assert ga.grad * ga.mv(f) == f.diff(r) * er + f.diff(theta) / r * et
    laplacian = (ga.grad * (ga.grad * ga.mv(f))).scalar()
    assert sp.simplify(laplacian - (f.diff(r, 2) + f.diff(r) / r + f.diff(theta, 2) / r**2)) == 0
