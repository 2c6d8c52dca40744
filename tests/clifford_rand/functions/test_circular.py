"""sin, cos, … and their inverses: against series of matrices in extended precision, and by their identities."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

import clifford_rand as cr
from support.metrics import algebras

GRADES = ((1,), (2,), (0, 2), (0, 1), None)
INVERSES = {
    "arcsin": "sin",
    "arccos": "cos",
    "arctan": "tan",
    "arcsinh": "sinh",
    "arccosh": "cosh",
    "arctanh": "tanh",
}
FEW = [
    *algebras(2),
    *(cr.Algebra(*pqr) for pqr in ((3,), (2, 1), (2, 0, 1), (1, 3), (3, 0, 1))),
]
FEW += [alg for alg in algebras(3) if alg.form.diagonal is None and alg not in FEW]
ALL = [alg for alg in algebras(5) if alg not in FEW]


def metrics():
    return [*(pytest.param(alg, id=repr(alg)[:30]) for alg in FEW)] + [
        pytest.param(alg, id=repr(alg)[:30], marks=pytest.mark.slow) for alg in ALL
    ]


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
    A = alg.random_multivector(rng, shape, grades)
    size = np.abs(A.left_matrix()).sum(axis=-1).max()
    return A * (scale / size) if size else A


@pytest.mark.parametrize("alg", metrics())
def test_series_of_matrices(alg):
    rng = np.random.default_rng(0)
    for grades in GRADES:
        for scale in (1e-5, 1.0, 8.0):
            A = random(alg, grades, scale, rng)
            if A is None:
                continue
            for sign, names in ((1, ("cosh", "sinh")), (-1, ("cos", "sin"))):
                for name, wanted in zip(names, series(A, sign), strict=True):
                    if np.abs(wanted).max():
                        assert error(getattr(A, name)(), wanted) < 1e-12, (grades, scale, name)


@pytest.mark.parametrize("alg", metrics())
def test_identities(alg):
    rng = np.random.default_rng(1)
    for grades in GRADES:
        A = random(alg, grades, 1.5, rng, (4,))
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


@pytest.mark.parametrize("alg", metrics())
def test_inverses(alg):
    rng = np.random.default_rng(2)
    for grades in GRADES:
        for scale in (1e-4, 0.6):
            A = random(alg, grades, scale, rng, (3,))
            if A is None:
                continue
            atol = 1e-12 if scale > 0.1 else 0.0
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
    alg, field = cr.Algebra(3), cr.Algebra(0, 1)
    A = field.multivector(np.stack([z.real, z.imag], axis=-1))
    for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh"):
        np.testing.assert_allclose(np.asarray(getattr(alg.scalar(x), name)()), getattr(np, name)(x), rtol=1e-14)
        found = getattr(A, name)()
        np.testing.assert_allclose(found["1"] + 1j * found["e1"], getattr(np, name)(z), rtol=1e-13, atol=1e-15)
    for name in ("arcsin", "arccosh", "arctanh"):
        found = getattr(alg.scalar(2 * x.astype(complex) + 3), name)()
        np.testing.assert_allclose(np.asarray(found), getattr(np, name)(2 * x + 3 + 0j), rtol=1e-14)


def test_values_on_cuts_and_at_branch_points():
    alg = cr.Algebra(3)
    half = math.pi / 2
    unit = alg.vector([0.6, 0.64, 0.48])  # of square 1 to rounding, above or below
    assert unit.arcsin().isclose(half * unit, rtol=1e-14)
    units = alg.random_multivector(0, (30,), 1).normalized()
    assert units.arcsin().isclose(half * units, rtol=1e-14).all()
    assert (0.6 * alg.e12 + 0.8 * alg.e13).arcsinh().isclose(half * (0.6 * alg.e12 + 0.8 * alg.e13), rtol=1e-14)
    assert (2.0 * alg.e12).arctan().tan().isclose(2 * alg.e12)
    assert (2.0 * alg.e12).arcsinh().sinh().isclose(2 * alg.e12)
    Y = (2.0 * alg.e1).astype(complex).arcsin()
    assert Y.sin().isclose(2 * alg.e1, rtol=1e-13)
    field = cr.Algebra(0, 1)
    for z in ((0.0, 2.0), (-0.0, 2.0), (-0.0, -2.0)):  # a zero has no side
        assert field.multivector(np.array(z)).arctan()["1"] == half
        assert field.multivector(np.array(z)).arcsinh()["1"] > 1
    near = (
        cr.Algebra(1, 1)("e1") + (1 - 2.0**-44) * cr.Algebra(1, 1).e2
    )  # square 2^-43, and eigenvalues near each other
    for name, c in (("arcsin", 6), ("arctanh", 3), ("arcsinh", -6), ("arctan", -3)):
        assert getattr(near, name)().isclose(near * (1 + 2.0**-43 / c), rtol=1e-15)
    assert (0.5 + near).arcsin().isclose(math.asin(0.5) + near / math.sqrt(0.75), rtol=1e-12)
    null = cr.Algebra(1, 1)("e1 + e2") * 1.0
    for name in ("sin", "tan", "sinh", "tanh", "arcsin", "arctan", "arcsinh", "arctanh"):
        assert getattr(null, name)().isclose(null, rtol=1e-15)  # null² = 0


ACROSS = [(0, 1e-3), (0.5, 1e-7), (2, 1e-3), (-2, 1e-7), (-2, 0.3), (5, 1e-12), (-1.00001, 1.5), (3j, 1e-3), (-2j, 0)]


@pytest.mark.parametrize("name", INVERSES)
@pytest.mark.parametrize("signature", [(2,), (0, 2), (1, 1), (1, 0, 1), (0, 1, 2)])
def test_eigenvalues_near_each_other_on_and_across_a_cut(name, signature):
    """A negative square puts eigenvalues σ ± iε on two sides of a real cut, 0 both on it, a positive one along it."""
    alg = cr.Algebra(*signature)
    e1, e2 = alg.basis_vectors()[:2]
    back = name.removeprefix("arc")
    sigma, size = (np.array(part, complex) for part in zip(*ACROSS, strict=True))
    for blade in (e1, e1 ^ e2):
        A = cr.concatenate([sigma + size * blade, sigma + 1j * size * blade])
        assert getattr(getattr(A, name)(), back)().isclose(A, 1e-9, atol=1e-9).all()
        for sigma_, size_ in [(0.0, 1e-3), (-2.0, 1e-7), (2.0, 0.3)]:
            real = sigma_ + size_ * blade
            try:
                Y = getattr(real, name)()
            except cr.ArgumentError:
                assert name in ("arcsin", "arccos", "arccosh", "arctanh")
            else:
                assert getattr(Y, back)().isclose(real, 1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "number"), [("arcsin", -1.00001), ("arccosh", 0.99999), ("arctanh", -1.01)])
def test_no_real_value_is_made_up_beside_large_null_parts(name, number):
    alg = cr.Algebra(1, 0, 1)
    for A in (alg.scalar(number), number + 50 * alg.e0, number + 50 * alg.e01):
        with pytest.raises(cr.ArgumentError, match="real eigenvalue"):
            getattr(A, name)()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("arcsin", "2*e1"),
        ("arcsin", "2*e1 + e12/10"),
        ("arccos", "2"),
        ("arctan", "e12"),
        ("arctanh", "e1"),
        ("arctanh", "1.5*e1"),
        ("arccosh", "1/2 + 0*e1"),
        ("arccosh", "e1"),
    ],
)
def test_where_no_real_value_is(name, text):
    A = cr.Algebra(3)(text) * 1.0
    with pytest.raises(cr.ArgumentError, match=rf"parameter of {name} must be.*eigenvalue.*astype\(complex\)"):
        getattr(A, name)()
    with pytest.raises(cr.ArgumentError, match=rf"parameter of {name}"):
        getattr(cr.stack([0 * A + 1.5 * (name == "arccosh"), A]), name)()


def test_what_is_refused():
    alg = cr.Algebra(3)
    for name in ("sin", "cosh", "arctan"):
        with pytest.raises(cr.ArgumentError, match=f"parameter of {name} must be finite"):
            getattr(alg.e1 * np.nan, name)()
    with pytest.raises(cr.ArgumentError, match="range"):
        (1e3 * alg.e1).cosh()
    with pytest.raises(cr.ArgumentError, match="norm"):
        (1e8 * alg("e1 + e23 + e3")).sin()
    with pytest.raises(cr.ArgumentError, match="cos has an inverse"):
        (sympy.pi / 2 * alg.e1).tan()
    with pytest.raises(cr.ArgumentError, match="square has other parts"):
        alg.symbols("a").sin()
    with pytest.raises(cr.ArgumentError, match="square has other parts"):
        alg.symbols("a").arcsin()


def test_dtypes_batches_and_ufuncs():
    alg = cr.Algebra(3)
    A = alg.random_multivector(3, (2, 3), dtype=np.float32) / 4
    B = (alg.random_multivector(4, (2, 3), 2) / 4).astype(np.float32)
    for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arctan", "arcsinh", "arctanh"):
        for X in (A, B):
            found = getattr(np, name)(X)
            assert found.dtype == np.float32
            assert found.isclose(getattr(X.astype(float), name)(), rtol=2e-5).all()
        for empty in (A[:0], B[:, :0]):
            assert getattr(empty, name)().shape == empty.shape
    assert np.arccos(B).isclose(B.arccos()).all()
    assert np.arccosh(B + 2).isclose((B + 2).arccosh()).all()
    C = alg.random_multivector(5, (4,), dtype=complex) / 8
    assert C.arcsin().sin().isclose(C, rtol=1e-11).all()
    assert C.arctanh().tanh().isclose(C, rtol=1e-11).all()
    assert alg.e1.sin().isclose(math.sin(1) * alg.e1)  # integers
    vector = alg.e1 * 0.5
    assert vector.sin().grades == vector.tan().grades == vector.arcsin().grades == (1,)
    large = cr.Algebra(40)("0.1*e1 + 0.2*e2_3")
    assert large.sin().arcsin().isclose(large, rtol=1e-12)  # in the algebra of the vectors that occur


def test_large_turns_keep_their_digits():
    alg = cr.Algebra(3)
    A = 1000.25 * alg.vector([0.6, 0.0, 0.8])
    assert A.sin().isclose(math.sin(1000.25) * alg.vector([0.6, 0, 0.8]), rtol=1e-12)
    for A, wanted in (
        (1e3 * alg.e1, alg.e1),
        (alg.scalar(-1e3), -1),
        (1e3 + 0.5 * alg.e12, 1),
        (np.array([1e3, 0.5]) * alg.e1, np.array([1, math.tanh(0.5)]) * alg.e1),
        (400.0 * alg.e12, math.tan(400) * alg.e12),
    ):
        assert np.all(A.tanh().isclose(wanted, rtol=1e-12))
        if A.grades in ((1,), (2,)):
            assert np.all((A * alg.I).tan().isclose(wanted * alg.I, rtol=1e-12))
    B = alg("20*e1 + 3*e2") + 15 * alg.I  # a general one, through seven doublings
    wanted = series(B, -1)
    assert error(B.cos(), wanted[0]) < 1e-12
    assert error(B.sin(), wanted[1]) < 1e-12


def test_symbols():
    alg = cr.Algebra(3)
    t = sympy.Symbol("t", positive=True)
    u = sympy.Symbol("u", real=True)
    assert (t * alg.e12).sin() == sympy.sinh(t) * alg.e12
    assert (t * alg.e1).cos() == sympy.cos(t)
    assert (t + u * alg.e1).sin().subs({t: 0.5, u: 0.25}).to_numeric().isclose((0.5 + 0.25 * alg.e1).sin())
    assert (t * alg.e12).arctan() == sympy.atanh(t) / t * (t * alg.e12)
    assert (Fraction(1, 2) * alg.e1).arcsin() == sympy.pi / 6 * alg.e1
    assert (Fraction(1, 2) * alg.e1).arccos() == sympy.pi / 2 - sympy.pi / 6 * alg.e1
    for name in INVERSES:
        A = (t + u * alg.e1) * sympy.Integer(1)
        at = {t: 2.5, u: 0.25} if name == "arccosh" else {t: 0.5, u: 0.25}
        found = getattr(A, name)().subs(at).to_numeric(complex)
        assert found.isclose(getattr(A.subs(at).to_numeric(), name)(), rtol=1e-12)
    pga = cr.Algebra.pga(2)
    assert (t + pga.e0).arcsin() == sympy.asin(t) + pga.e0 / sympy.sqrt(1 - t**2)
    assert (t * alg.e1).tan().subs({t: 0.5}).to_numeric().isclose((0.5 * alg.e1).tan())


def test_outer_functions():
    rng = np.random.default_rng(6)
    for alg in [*FEW, cr.Algebra(6)]:
        for grades in GRADES:
            if grades is not None and max(grades) > alg.d:
                continue
            A = alg.random_multivector(rng, (2,), grades)
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
    planes = 0.3 * alg.e12 + 0.5 * alg.e34
    tangents = math.tan(0.3) * alg.e12 + math.tan(0.5) * alg.e34
    assert (math.cos(0.3) * math.cos(0.5) * tangents.outerexp()).isclose(planes.exp(), rtol=1e-14)
    a, b = sympy.symbols("a b")
    assert (a * alg.e12 + b * alg.e34).outerexp() == 1 + a * alg.e12 + b * alg.e34 + a * b * alg.I
    assert (a + b * alg.e12).outersin().subs({a: 2, b: 3}).to_numeric().isclose((2.0 + 3 * alg.e12).outersin())
    with pytest.raises(cr.ArgumentError, match="outercos"):
        alg("e12 + e34").outertan()  # outercos = 1 + e1234, and e1234² = 1
