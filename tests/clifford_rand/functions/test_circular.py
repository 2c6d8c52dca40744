"""sin, cos, … and their inverses: against series of matrices in extended precision, and by their identities."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from support.metrics import algebras
from support.refusals import refused

GRADES = ((1,), (2,), (0, 2), (0, 1), None)
INVERSES = {"arc" + name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
FEW = [*algebras(2), *(cr.Algebra(*pqr) for pqr in ((3,), (2, 1), (2, 0, 1), (1, 3), (3, 0, 1)))]
FEW += [alg for alg in algebras(3) if alg.form.diagonal is None and alg not in FEW]
ALL = [alg for alg in algebras(5) if alg not in FEW][::3]
METRICS = pytest.mark.parametrize(
    "alg", [*FEW, *(pytest.param(alg, marks=pytest.mark.slow) for alg in ALL)], ids=lambda alg: repr(alg)[:30]
)
R3, COMPLEX = cr.Algebra(3), cr.Algebra(0, 1)


def series(A, sign):
    """C = Σ (sign A²)^k/(2k)! and S = Σ (sign A²)^k A/(2k+1)!, of the left matrix in extended precision."""
    L = A.left_matrix()
    wide = np.clongdouble if L.dtype.kind == "c" else np.longdouble
    L = L.astype(wide)
    X = sign * L @ L
    steps = max(0, math.ceil(math.log2(max(float(np.abs(X).sum(axis=0).max()), 1e-300)) / 2) + 2)
    X = X / np.longdouble(4) ** steps
    one = np.eye(len(L), dtype=wide)
    c, s, E, S = one, one, 0 * one, one
    for k in range(1, 20):
        c, s = c @ X / (2 * k * (2 * k - 1)), s @ X / (2 * k * (2 * k + 1))
        E, S = E + c, S + s
    for _ in range(steps):
        E, S = 2 * E @ (2 * one + E), S + S @ E
    return (one + E)[:, 0], (S @ L)[:, 0]


def error(found, wanted):
    return float(np.abs(found.dense().coefficients - wanted).max() / np.abs(wanted).max())


def random(alg, grades, scale, rng, shape=()):
    """A multivector whose left matrix has rows of sums up to ``scale``; None where the grades are not there."""
    if grades is not None and max(grades) > alg.d:
        return None
    A = alg.random_multivector(rng=rng, shape=shape, grades=grades)
    size = np.abs(A.left_matrix()).sum(axis=-1).max()
    return A * (scale / size) if size else A


@METRICS
def test_series_identities_and_inverses(alg):
    rng = np.random.default_rng(0)
    for grades in GRADES:
        for scale in (1e-5, 1.0, 8.0):
            A = random(alg, grades, scale, rng)
            for sign, names in ((1, ("cosh", "sinh")), (-1, ("cos", "sin"))) if A is not None else ():
                for name, expected in zip(names, series(A, sign), strict=True):
                    if np.abs(expected).max():
                        assert error(getattr(A, name)(), expected) < 1e-12, (grades, scale, name)
        A = random(alg, grades, 1.5, rng, (3,))
        if A is None:
            continue
        s, c, sh, ch = A.sin(), A.cos(), A.sinh(), A.cosh()
        assert (s * s + c * c).isclose(1, rtol=1e-12).all()
        assert (ch * ch - sh * sh).isclose(1, rtol=1e-12, atol=1e-12 * float(np.abs(ch.coefficients).max()) ** 2).all()
        assert (ch + sh).isclose(A.exp(), rtol=1e-12).all()
        assert (2 * s * c).isclose((2 * A).sin(), rtol=1e-12).all()
        assert (A.tan() * c).isclose(s, rtol=1e-11).all()
        assert (A.tanh() * ch).isclose(sh, rtol=1e-11).all()
        assert (A * 1j).cos().isclose(ch, rtol=1e-12).all()
        assert ((A * 1j).sin() / 1j).isclose(sh, rtol=1e-12).all()
        for whole, one in ((s, A[2].sin()), (c, A[2].cos()), (A.tan(), A[2].tan())):
            assert whole[2].isclose(one, rtol=1e-13)
        for scale, atol in ((1e-4, 0.0), (0.6, 1e-12)):
            A = random(alg, grades, scale, rng, (2,))
            for name, forward in INVERSES.items():
                X = A + 2 if name == "arccosh" else A
                Y = getattr(X, name)()
                assert getattr(Y, forward)().isclose(X, rtol=1e-11, atol=max(atol, 1e-15 * (name == "arccos"))).all()
                assert getattr(X[1], name)().isclose(Y[1], rtol=1e-11, atol=1e-15)
                if name not in ("arccos", "arccosh"):  # near 0
                    assert getattr(getattr(A, forward)(), name)().isclose(A, rtol=1e-11).all()


def test_numbers_and_i():
    """Scalars and complex numbers, as Cl(0, 1): NumPy's own values, on cuts too."""
    x = np.array([-0.7, 0.0, 0.3, 1.0])
    z = np.array([0.3 + 2j, -1.5 + 0.2j, 2j, complex(0, -3), 0.5, 4 - 1j])
    A = COMPLEX.multivector(np.stack([z.real, z.imag], axis=-1))
    for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh"):
        np.testing.assert_allclose(np.asarray(getattr(R3.scalar(x), name)()), getattr(np, name)(x), rtol=1e-14)
        value = getattr(A, name)()
        np.testing.assert_allclose(value["1"] + 1j * value["e1"], getattr(np, name)(z), rtol=1e-13, atol=1e-15)
    for name in ("arcsin", "arccosh", "arctanh"):
        value = getattr(R3.scalar(2 * x.astype(complex) + 3), name)()
        np.testing.assert_allclose(np.asarray(value), getattr(np, name)(2 * x + 3 + 0j), rtol=1e-14)


def test_values_on_cuts_and_at_branch_points():
    half = math.pi / 2
    units = R3.random_multivector(rng=0, shape=(30,), grades=1).normalized()  # of square 1 to rounding, above or below
    assert units.arcsin().isclose(half * units, rtol=1e-14).all()
    assert (0.6 * R3.e12 + 0.8 * R3.e13).arcsinh().isclose(half * (0.6 * R3.e12 + 0.8 * R3.e13), rtol=1e-14)
    assert (2.0 * R3.e12).arctan().tan().isclose(2 * R3.e12)
    assert (2.0 * R3.e12).arcsinh().sinh().isclose(2 * R3.e12)
    assert (2.0 * R3.e1).astype(complex).arcsin().sin().isclose(2 * R3.e1, rtol=1e-13)
    for z in ((0.0, 2.0), (-0.0, 2.0), (-0.0, -2.0)):  # a zero has no side
        assert COMPLEX.multivector(np.array(z)).arctan()["1"] == half
        assert COMPLEX.multivector(np.array(z)).arcsinh()["1"] > 1
    hyperbolic = cr.Algebra(1, 1)
    near = hyperbolic.e1 + (1 - 2.0**-44) * hyperbolic.e2  # square 2^-43, and eigenvalues near each other
    for name, c in (("arcsin", 6), ("arctanh", 3), ("arcsinh", -6), ("arctan", -3)):
        assert getattr(near, name)().isclose(near * (1 + 2.0**-43 / c), rtol=1e-15)
    assert (0.5 + near).arcsin().isclose(math.asin(0.5) + near / math.sqrt(0.75), rtol=1e-12)
    null = hyperbolic("1.0*e1 + e2")
    for name in ("sin", "tan", "sinh", "tanh", "arcsin", "arctan", "arcsinh", "arctanh"):
        assert getattr(null, name)().isclose(null, rtol=1e-15)  # null² = 0


ACROSS = [(0, 1e-3), (0.5, 1e-7), (2, 1e-3), (-2, 1e-7), (-2, 0.3), (5, 1e-12), (-1.00001, 1.5), (3j, 1e-3), (-2j, 0)]


@pytest.mark.parametrize("name", INVERSES)
@pytest.mark.parametrize("signature", [(2,), (0, 2), (1, 1), (1, 0, 1), (0, 1, 2)])
def test_eigenvalues_near_each_other_on_and_across_a_cut(name, signature):
    """A negative square puts eigenvalues σ ± iε on two sides of a real cut, 0 both on it, a positive one along it."""
    alg = cr.Algebra(*signature)
    e1, e2 = alg.basis_vectors()[:2]
    sigma, size = (np.array(part, complex) for part in zip(*ACROSS, strict=True))
    for blade in (e1, e1 ^ e2):
        A = cr.concatenate([sigma + size * blade, sigma + 1j * size * blade])
        assert getattr(getattr(A, name)(), INVERSES[name])().isclose(A, rtol=1e-9, atol=1e-9).all()
        for real in (0.0 + 1e-3 * blade, -2.0 + 1e-7 * blade, 2.0 + 0.3 * blade):
            try:
                Y = getattr(real, name)()
            except cr.ArgumentError:
                assert name in ("arcsin", "arccos", "arccosh", "arctanh")
            else:
                assert getattr(Y, INVERSES[name])().isclose(real, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "number"), [("arcsin", -1.00001), ("arccosh", 0.99999), ("arctanh", -1.01)])
def test_no_real_value_is_made_up_beside_large_null_parts(name, number):
    alg = cr.Algebra(1, 0, 1)
    for A in (alg.scalar(number), number + 50 * alg.e0, number + 50 * alg.e01):
        with pytest.raises(cr.ArgumentError, match="real eigenvalue"):
            getattr(A, name)()


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("arcsin", ("2*e1", "2*e1 + e12/10")),
        ("arccos", ("2",)),
        ("arctan", ("e12",)),
        ("arctanh", ("e1", "1.5*e1")),
        ("arccosh", ("1/2 + 0*e1", "e1")),
    ],
)
def test_where_no_real_value_is(name, texts):
    for A in (R3(text) * 1.0 for text in texts):
        with pytest.raises(cr.ArgumentError, match=rf"parameter of {name} must be.*eigenvalue.*astype\(complex\)"):
            getattr(A, name)()
        with pytest.raises(cr.ArgumentError, match=rf"parameter of {name}"):
            getattr(cr.stack([0 * A + 1.5 * (name == "arccosh"), A]), name)()


@pytest.mark.parametrize(
    ("A", "name", "message"),
    [
        *((R3.e1 * np.nan, name, f"parameter of {name} must be finite") for name in ("sin", "cosh", "arctan")),
        (1e3 * R3.e1, "cosh", "range"),
        (1e8 * R3("e1 + e23 + e3"), "sin", "norm"),
        (sympy.pi / 2 * R3.e1, "tan", "cos has an inverse"),
        (R3.symbols("a"), "sin", "square has other parts"),
        (R3.symbols("a"), "arcsin", "square has other parts"),
        (cr.Algebra(4)("e12 + e34"), "outertan", "outercos"),  # outercos = 1 + e1234, and e1234² = 1
    ],
)
def test_what_is_refused(A, name, message):
    refused(message, lambda: getattr(A, name)())


def test_dtypes_batches_and_ufuncs():
    A = R3.random_multivector(rng=3, shape=(2, 3), dtype=np.float32) / 4
    B = (R3.random_multivector(rng=4, shape=(2, 3), grades=2) / 4).astype(np.float32)
    for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arctan", "arcsinh", "arctanh"):
        for X in (A, B):
            value = getattr(np, name)(X)
            assert value.dtype == np.float32
            assert value.isclose(getattr(X.astype(float), name)(), rtol=2e-5).all()
            assert getattr(X[:, :0], name)().shape == (2, 0)
    assert np.arccos(B).isclose(B.arccos()).all()
    assert np.arccosh(B + 2).isclose((B + 2).arccosh()).all()
    C = R3.random_multivector(rng=5, shape=(4,), dtype=complex) / 8
    assert C.arcsin().sin().isclose(C, rtol=1e-11).all()
    assert C.arctanh().tanh().isclose(C, rtol=1e-11).all()
    assert R3.e1.sin().isclose(math.sin(1) * R3.e1)  # integers
    vector = R3.e1 * 0.5
    assert vector.sin().grades == vector.tan().grades == vector.arcsin().grades == (1,)
    large = cr.Algebra(40)("0.1*e1 + 0.2*e2_3")
    assert large.sin().arcsin().isclose(large, rtol=1e-12)  # in the algebra of the vectors that occur


def test_large_turns_keep_their_digits():
    unit = R3.vector([0.6, 0.0, 0.8])
    assert (1000.25 * unit).sin().isclose(math.sin(1000.25) * unit, rtol=1e-12)
    for A, expected in (
        (1e3 * R3.e1, R3.e1),
        (R3.scalar(-1e3), -1),
        (1e3 + 0.5 * R3.e12, 1),
        (np.array([1e3, 0.5]) * R3.e1, np.array([1, math.tanh(0.5)]) * R3.e1),
        (400.0 * R3.e12, math.tan(400) * R3.e12),
    ):
        assert np.all(A.tanh().isclose(expected, rtol=1e-12))
        if A.grades in ((1,), (2,)):
            assert np.all((A * R3.I).tan().isclose(expected * R3.I, rtol=1e-12))
    B = R3("20*e1 + 3*e2") + 15 * R3.I  # a general one, through seven doublings
    for value, expected in zip((B.cos(), B.sin()), series(B, -1), strict=True):
        assert error(value, expected) < 1e-12


def test_symbols():
    t, u = sympy.Symbol("t", positive=True), sympy.Symbol("u", real=True)
    assert (t * R3.e12).sin() == sympy.sinh(t) * R3.e12
    assert (t * R3.e1).cos() == sympy.cos(t)
    assert (t * R3.e12).arctan() == sympy.atanh(t) / t * (t * R3.e12)
    assert (Fraction(1, 2) * R3.e1).arcsin() == sympy.pi / 6 * R3.e1
    assert (Fraction(1, 2) * R3.e1).arccos() == sympy.pi / 2 - sympy.pi / 6 * R3.e1
    pga = cr.Algebra.pga(2)
    assert (t + pga.e0).arcsin() == sympy.asin(t) + pga.e0 / sympy.sqrt(1 - t**2)
    assert (t * R3.e1).tan().subs({t: 0.5}).to_numeric().isclose((0.5 * R3.e1).tan())
    for name in ("sin", *INVERSES):
        A = (t + u * R3.e1) * sympy.Integer(1)
        at = {t: 2.5 if name == "arccosh" else 0.5, u: 0.25}
        value = getattr(A, name)().subs(at).to_numeric(complex)
        assert value.isclose(getattr(A.subs(at).to_numeric(), name)(), rtol=1e-12)


def test_outer_functions():
    rng = np.random.default_rng(6)
    for alg in [*FEW, cr.Algebra(6)]:
        for grades in GRADES:
            if grades is not None and max(grades) > alg.d:
                continue
            A = alg.random_multivector(rng=rng, shape=(2,), grades=grades)
            power = alg.scalar(np.ones(2))
            terms = [power]
            for k in range(1, 40 if 0 in A.grades else alg.d + 1):
                power = power.wedge(A) / k
                terms.append(power)
            assert A.outerexp().isclose(sum(terms), rtol=1e-12).all()
            assert A.outercos().isclose(sum(terms[::2]), rtol=1e-12).all()
            assert A.outersin().isclose(sum(terms[1::2]), rtol=1e-12).all()
            assert (A.outertan() * A.outercos()).isclose(A.outersin(), rtol=1e-9).all()
    alg = cr.Algebra(4)
    tangents = math.tan(0.3) * alg.e12 + math.tan(0.5) * alg.e34
    expected = alg("0.3*e12 + 0.5*e34").exp()
    assert (math.cos(0.3) * math.cos(0.5) * tangents.outerexp()).isclose(expected, rtol=1e-14)
    a, b = sympy.symbols("a b")
    assert (a * alg.e12 + b * alg.e34).outerexp() == 1 + a * alg.e12 + b * alg.e34 + a * b * alg.I
    assert (a + b * alg.e12).outersin().subs({a: 2, b: 3}).to_numeric().isclose((2.0 + 3 * alg.e12).outersin())
