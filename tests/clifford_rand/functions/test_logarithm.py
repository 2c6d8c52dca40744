"""Logarithms and roots of versors: against SciPy's exponential of the left matrix, at every angle, exact, refused."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import sympy
from scipy.linalg import expm

import clifford_rand as cr
from clifford_rand.functions import logarithm
from clifford_rand.functions.closed_log import closed_form
from clifford_rand.functions.orthogonal_log import commuting_turn
from clifford_rand.multivector.comparison import aligned
from support.blades import signatures
from support.refusals import refused

EPS = np.finfo(float).eps


def exponential(A):
    """exp(A) from the matrix of X ↦ AX, on even X for even A: nothing of the library's own exp."""
    alg, odd = A.algebra, any(k % 2 for k in A.grades)
    basis = alg.multivector(np.eye(2 ** (alg.d - (not odd))), range(0, alg.d + 1, 1 if odd else 2))
    matrix = (A * basis).on_keys(basis.keys).coefficients.T
    return A.new(basis.keys, expm(matrix.astype(np.result_type(A.dtype, float)))[:, 0])


def error(R, L):
    image, expected = aligned(exponential(L), R)
    return np.abs(image - expected).max() / np.abs(expected).max()


def rounding(R, L):
    """What rounding of L moves exp(L) by, relatively; A ~A = 1 holds to that of |R|²."""
    changes = 1 + 1e-8 * np.random.default_rng(0).choice([-1, 1], (4, L.keys.size))
    moved = max(error(R, L.new(L.keys, L.coefficients * change)) for change in changes)
    return EPS * (moved / 1e-8 + np.sum(R.values**2))


def random_bivector(alg, rng, norm):
    B = alg.random_multivector(rng=rng, shape=(), grades=2)
    return B * (norm / np.linalg.norm(B.values))


@pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
def test_every_exponential_has_its_logarithm_and_root_in_every_signature(d):
    rng = np.random.default_rng(d)
    for counts in signatures(d, d)[:: max(1, d - 3)]:
        alg = cr.Algebra(*counts)
        for norm, scale in ((1e-9, 1.0), (0.3, 1e150), (1.0, 1.0), (2.0, 1e-150), (3.0, 1.0)):
            R = exponential(random_bivector(alg, rng, norm))
            assert error(R, R.log()) < 1e-12, (counts, norm)
            Q = (R * scale).sqrt()
            assert (Q * Q).isclose(R * scale, rtol=1e-12), (counts, norm)
    alg = cr.Algebra(d)
    for number in (4.0, -4.0):
        Q = alg.scalar(number).sqrt()
        assert (Q * Q).isclose(alg.scalar(number), rtol=1e-14)
    assert alg.scalar(4).sqrt() == 2


@pytest.mark.parametrize("signature", [(8,), (0, 8)])
def test_many_planes_of_a_definite_metric(signature):
    """Generic, equal, tiny and no angles in eight dimensions, in planes that are no coordinate planes."""
    alg = cr.Algebra(*signature)
    turn = np.linalg.qr(np.random.default_rng(8).standard_normal((8, 8)))[0]
    pairs = [alg.vector(turn[2 * i]) ^ alg.vector(turn[2 * i + 1]) for i in range(4)]
    every = ([0.5, 0.5, 0.5, 0.5], [1e-9, 0.4, 0, 0.4], [0.3, 0.7, 1.1, 0.2], [1.5, 1e-4, 0, 0], [0, 0, 0, 0.1])
    for angles in every if alg.p else every[:2]:
        B = sum((angle * plane for angle, plane in zip(angles, pairs, strict=True)), start=0 * pairs[0])
        R = exponential(B)
        assert error(R, R.log()) < 1e-12, angles
        assert R.log().isclose(B, atol=1e-12), angles


@pytest.mark.parametrize("signature", [(3,), (4,), (3, 0, 1), (3, 1), (2, 2), (2, 1, 2)])
def test_bivectors_come_back_to_their_own_precision_beside_any_scale(signature):
    rng, alg = np.random.default_rng(0), cr.Algebra(*signature)
    for norm in (1e-20, 1e-9, 1e-4, 0.1):
        B = random_bivector(alg, rng, norm)
        assert (B.exp() if norm > 1e-8 else 1 + B).log().grade(2).isclose(B, rtol=3e-8 if norm == 1e-9 else 1e-10)
    B = random_bivector(alg, rng, 0.9)
    for scale in (1e150, 1e-150, 2.0):
        L = (scale * B.exp()).log()
        assert L.grades == (0, 2)
        assert np.isclose(L["1"], np.log(scale), rtol=1e-13)
        assert L.grade(2).isclose(B, rtol=1e-12)


@pytest.mark.parametrize(
    "signature", [(4,), (3, 1), (2, 2), (0, 4), (3, 0, 1), (2, 0, 2), (1, 2, 1), (4, 1), (5, 0, 1), (3, 3)]
)
def test_equal_and_nearly_equal_angles_around_half_and_full_turns(signature):
    alg, rng = cr.Algebra(*signature), np.random.default_rng(7)
    e, g = alg.basis_vectors(), alg.signature
    planes, used = [], set()
    for i, j in itertools.combinations(range(alg.d), 2):
        if g[i] * g[j] > 0 and not used & {i, j}:
            planes.append(e[i] * e[j])
            used |= {i, j}
    V = exponential(random_bivector(alg, rng, 0.7))
    for base, apart in itertools.product((0.0, np.pi / 2, np.pi), (0, 1e-12, 1e-9, 1e-5)):
        B = sum(plane * (base + apart * (k + 1)) for k, plane in enumerate(planes))
        for R in (
            V * exponential(B) * ~V,
            exponential(B + apart * alg.random_multivector(rng=rng, shape=(), grades=2)),
        ):
            assert error(R, R.log()) < 2e-12, (base, apart)


@pytest.mark.parametrize("counts", [*signatures(5), (6, 0, 0), (3, 3, 0), (2, 2, 2), (1, 5, 0)], ids=repr)
def test_minus_one_turns_once_in_some_plane(counts):
    if max(counts[:2]) > 1:
        one = cr.Algebra(*counts).scalar(-1.0)
        assert one.log().grades == (2,)
        assert error(one, one.log()) < 1e-15
        assert abs(abs(one.log().values).max() - np.pi) < 1e-12


def test_products_of_unit_vectors():
    rng = np.random.default_rng(1)
    for d in range(2, 7):
        alg = cr.Algebra(d)
        for count in range(2, d + 1, 2):
            R = alg.scalar(1.0)
            for x in rng.standard_normal((count, d)):
                R = R * alg.vector(x / np.linalg.norm(x))
            for Q in (R, -R, 3.5 * R):
                assert error(Q, Q.log()) < 1e-13
    conformal = cr.Algebra.cga(3)
    for A in (1 + 0.5 * (conformal.e1 * (conformal.e4 + conformal.e5)), exponential(-0.4 * conformal.e45)):
        assert error(A, A.log()) < 1e-14
        assert error(-A, (-A).log()) < 1e-14  # a turn in the plane that is left


@pytest.mark.parametrize("n", [2, 3, 4])
def test_motors_translations_and_their_negatives(n):
    alg, rng = cr.Algebra.pga(n), np.random.default_rng(n)
    for R in (
        1 + 0.5 * alg.e01,
        (1 if n == 2 else -1) * (1 + 0.5 * alg.e01),  # no turn of the plane shifts nothing: -T has no log
        exponential(0.3 * alg.e01 + 1.2 * alg.e12),
        -exponential(0.3 * alg.e02 + 3.1 * alg.e12),
        exponential(alg.random_multivector(rng=rng, shape=(), grades=2) * 2),
        -exponential(alg.random_multivector(rng=rng, shape=(), grades=2) * 1e-3),
    ):
        assert error(R, R.log()) < 1e-12
    L = (-1 - 0.5 * cr.Algebra.pga(3).e01).log()
    assert L.isclose(L.algebra("0.5*e01") + np.pi * L.algebra.e23 * np.sign(L["e23"]))


def test_a_logarithm_has_the_names_of_its_argument():
    """What is kept for a metric was made for the first algebra of it, whatever the names of its basis vectors are."""
    first = cr.Algebra(metric=np.diag([0.0, 1, 1, 1]), names=["na", "nb", "nc", "nd"])
    for alg in (first, cr.Algebra.pga(3)):
        x, y = alg.basis_vectors()[:2]
        for R in (-1 - 0.5 * (x ^ y), -exponential(0.3 * (x ^ y))):
            assert R.log().algebra is alg
            assert str(alg.basis_vectors()[0]) in str(R.log())


def test_closed_forms_agree_with_the_general_way(monkeypatch):
    rng = np.random.default_rng(3)
    for signature in [(2,), (1, 1), (3,), (2, 1), (1, 1, 1), (0, 3), (3, 0, 1), (0, 3, 1), (2, 0, 1)]:
        alg = cr.Algebra(*signature)
        R = (alg.random_multivector(rng=rng, shape=(12,), grades=2) * np.geomspace(1e-6, 0.8, 12)).exp()
        closed, done = closed_form(R, np.dtype(float))
        assert done.mean() > 0.9
        with monkeypatch.context() as patch:
            patch.setattr(logarithm, "closed_form", lambda R, dtype: (None, np.zeros(R.shape, dtype=bool)))
            general = R.log().grade(2)
        assert general.isclose(closed.grade(2), rtol=1e-8)[done].all()  # log of a float near 1 is that exact
        assert R.log().shape == (12,)


@pytest.mark.parametrize("seed", range(2))
def test_metrics_that_are_not_diagonal(seed):
    rng = np.random.default_rng(seed)
    for d in (2, 3, 4, 5):
        A = rng.standard_normal((d, d))
        for diagonal in (np.ones(d), np.r_[-1.0, np.ones(d - 1)], np.r_[0.0, np.ones(d - 1)]):
            gram = A @ np.diag(diagonal) @ A.T
            alg = cr.Algebra(metric=(gram + gram.T) / 2)
            B = alg.random_multivector(rng=rng, shape=(), grades=2)
            R = exponential(B * (0.8 / np.abs(B.values).max() / np.abs(gram).max()))
            assert error(R, R.log()) < 1e-10
    R = exponential(cr.Algebra.cga(2, null_basis=True)("0.3*e1^ei + 0.2*e1^e2 + 0.4*eo^ei"))
    assert error(R, R.log()) < 1e-13


def test_dtypes():
    alg = cr.Algebra(3)
    assert alg.e12.log().isclose(np.pi / 2 * alg.e12)
    C = alg.random_multivector(rng=2, shape=(5,), grades=2, dtype=np.complex128) * 0.3
    assert C.exp().log().grade(2).isclose(C).all()
    assert C.exp().log().dtype == np.complex128
    mixed = alg.multivector([[1.0, 0, 0, 0], [-1.0, 0, 0, 0], [2.0, 0, 0, 0]], [0, 2]).log()  # by both ways at once
    assert np.allclose(mixed["1"], [0, 0, np.log(2)])
    assert np.allclose(np.linalg.norm(mixed.grade(2).values, axis=-1), [0, np.pi, 0])


NEGATIVE = r"of log must be a multivector without negative eigenval"
ZERO = r"of log must be a multivector without the eigenvalue 0\."
HYPERBOLIC, R4 = cr.Algebra(1, 1), cr.Algebra(4)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (-exponential(0.5 * HYPERBOLIC.e12), NEGATIVE),
        (-cr.Algebra(0, 0, 4).scalar(1.0), NEGATIVE),
        (HYPERBOLIC.e1, NEGATIVE),
        (HYPERBOLIC.e12 * 1.0, NEGATIVE),
        (-1 - 0.5 * cr.Algebra.pga(2).e01, "negative eigenvalue"),
        (1.0 + HYPERBOLIC.e12, ZERO),
        (0.0 * HYPERBOLIC.e12, ZERO),
        (1.0 + HYPERBOLIC.e1, ZERO),
        (HYPERBOLIC.e1 + HYPERBOLIC.e2, ZERO),
        (1e-9 * (1 + R4.e1), ZERO),
        (R4("1 + e12 + e34").astype(object), "float"),  # of exact numbers one plane
        (np.nan * R4.e12 + 1, "finite"),
        (1.0 + cr.Algebra(14).random_multivector(rng=0, shape=(), grades=2), "dimensions"),
    ],
)
def test_refusals_of_log_say_why(A, message):
    refused(message, A.log)


def test_refusals_of_sqrt_say_why():
    for A in (HYPERBOLIC.e1 + HYPERBOLIC.e2, cr.Algebra.pga(3).e01 * 1.0):
        refused("of sqrt must be a multivector whose eigenvalue 0 has a basis", A.sqrt)
    refused("of sqrt must be", cr.Algebra(2).e1.sqrt)


@pytest.mark.slow
def test_what_is_refused_has_no_logarithm():
    """No plane turns in it, or its negative eigenvalues are single: neither a full nor a half turn can be added."""
    rng = np.random.default_rng(8)
    refused = 0
    for signature, count in {(2, 1): 9, (1, 2): 9, (3, 1): 9, (2, 2): 9, (3, 2): 4, (2, 3): 4, (3, 3): 2}.items():
        alg = cr.Algebra(*signature)
        for _ in range(count):
            R = exponential(alg.random_multivector(rng=rng, shape=(), grades=2)) * exponential(
                alg.random_multivector(rng=rng, shape=(), grades=2)
            )
            try:
                L = R.log()
                off = error(R, L)  # near rotors that have none, |L| grows, and the planes of L cancel in exp(L)
                assert off < 1e-12 or off < 16 * rounding(R, L)
            except cr.ArgumentError:
                refused += 1
                values = np.linalg.eigvals((R * alg.vector(np.eye(alg.d)) * ~R).grade(1).values)
                turning = (np.abs(np.abs(values) - 1) < 1e-6) & (np.abs(values.imag) > 1e-6)
                single = (np.abs(values.imag) < 1e-9) & (values.real < 0)
                assert single.any() or not turning.any()
    assert 2 < refused < 30


def test_a_nilpotent_bivector_has_no_full_turn_of_its_own():
    """Its eigenvalues are 0 ± 1e-8 i by rounding: the turn that was made of them is zero, and exp(2π 0) is not -1."""
    rng = np.random.default_rng(13)
    g = np.array([1.0, 1, 1, -1])
    for _ in range(30):
        u, v = np.linalg.qr(rng.standard_normal((3, 2)))[0].T
        null, x = np.array([*u, 1.0]), np.array([*v, 0.0])
        assert commuting_turn((np.outer(x, null) - np.outer(null, x)) * g, g, 2.2e-16) is None


# ---- fractions and symbols

t = sympy.Symbol("t", positive=True)
u, v = sympy.symbols("u v", real=True)
w = sympy.Symbol("w")
x, y = sympy.symbols("x y", positive=True)
R3, R11, PGA = cr.Algebra(3), HYPERBOLIC, cr.Algebra.pga(3)
DUAL, COMPLEX = cr.Algebra(0, 0, 1), cr.Algebra(0, 1)
EXACT = {
    "turn": sympy.cos(t) + sympy.sin(t) * R3.e12,
    "boost": sympy.cosh(t) + sympy.sinh(t) * R11.e12,
    "translation": 1 + t * PGA.e01 + u * PGA.e02,
    "long turn": -2 + t * R3.e12,
    "signs unknown": u + v * R3.e12,
    "symbol of any kind": 2 + w * R3.e12,
    "turn or boost": 3 + cr.Algebra(2, 1).symbols("B", 2),
    "turn in space": 1 + R3.symbols("B", 2),
    "long boost": 3 + v * R11.e12,
    "fractions": Fraction(3, 5) + Fraction(4, 5) * R3.e12,
    "general metric": 2 + u * cr.Algebra(metric=[[2, 1], [1, 3]]).e12,
    "scalar": R3.scalar(t),
    "hyperbolic number": (2 + cr.Algebra(1).e1).astype(object),
    "complex number": t + y * COMPLEX.e1,
}
VALUES = {t: Fraction(1, 3), w: Fraction(3, 4), u: Fraction(1, 2), v: Fraction(-1, 4), y: Fraction(3, 2)}
VALUES |= {"B12": 1, "B13": -2, "B23": Fraction(1, 2)}


def numeric(A):
    used = {str(symbol) for symbol in A.symbols_used()}
    return A.subs({key: value for key, value in VALUES.items() if str(key) in used}).to_numeric(complex)


@pytest.mark.parametrize("case", EXACT)
def test_exact_log_and_sqrt_of_one_plane(case):
    R = EXACT[case]
    at, root, log = numeric(R), R.sqrt(), R.log()
    assert numeric(root * root).isclose(at, rtol=1e-14)
    assert numeric(log).exp().isclose(at, rtol=1e-14)
    real = at.new(at.keys, at.coefficients.real.copy())
    assert numeric(log).isclose(real.log(), rtol=1e-12)
    assert numeric(root).isclose(real.sqrt(), rtol=1e-12)


def test_exact_results():
    assert (1 + t * PGA.e01).log() == t * PGA.e01
    assert (1 + t * PGA.e01).sqrt() == 1 + t * PGA.e01 / 2
    assert (x + y * DUAL.e0).log() == sympy.log(x) + y / x * DUAL.e0
    assert (x + y * DUAL.e0).sqrt() == sympy.sqrt(x) + y / (2 * sympy.sqrt(x)) * DUAL.e0
    assert (x + y * PGA.I).log() == sympy.log(x) + y / x * PGA.I
    assert EXACT["fractions"].log() == sympy.atan(Fraction(4, 3)) * R3.e12
    assert R3.scalar(Fraction(4, 9)).sqrt() == Fraction(2, 3)
    assert R3.scalar(sympy.Integer(1)).log() == 0
    assert R3.scalar(sympy.Integer(0)).sqrt() == 0
    assert R3.scalar(Fraction(0)).sqrt().grades == (0,)  # a scalar, as every root of a scalar
    assert ((sympy.Symbol("B") * R3.e12).sqrt() ** 2 - sympy.Symbol("B") * R3.e12).simplify() == 0
    batch = cr.stack([EXACT["turn"], EXACT["fractions"]])
    assert (batch.log()[1] - EXACT["fractions"].log()).is_zero()


@pytest.mark.parametrize(
    "A", [R3.scalar(-1), -2 + Fraction(1, 2) * R11.e12, cr.Algebra(1).e1, cr.Algebra(1)("1 + 2*e1"), R3.scalar(0)]
)
def test_exact_ones_without_a_principal_value(A):
    A = A.astype(object)
    for call in (A.log, A.sqrt) if A != 0 else (A.log,):
        refused("with a principal logarithm", call)


def test_exact_ones_of_other_squares():
    for A in (R3.symbols("a"), t * R3.e1):
        refused(r"square has other parts|with a principal logarithm", A.log)
    refused("square has other parts", R4.symbols("B", 2).sqrt)
