"""Logarithms of motors far away, near full turns and beside large boosts, checked in 60-digit arithmetic."""

import itertools

import mpmath
import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.presets import cga, pga

EPS = float(np.finfo(float).eps)


def exponential(B, change):
    """exp(B) by its series in 60 digits, on even elements; ``change`` is a relative change of the components."""
    alg, number = B.algebra, np.vectorize(mpmath.mpf, otypes=[object])
    basis = alg.multivector(np.eye(2 ** (alg.d - 1)), range(0, alg.d + 1, 2))
    images = [(B.new(B.keys, unit) * basis).on_keys(basis.keys).coefficients.T for unit in np.eye(B.keys.size)]
    with mpmath.workdps(60):
        components = number(B.coefficients) * (1 + number(change))
        matrix = sum(number(image) * x for image, x in zip(images, components, strict=True))
        term = total = number(np.eye(basis.keys.size)[0])
        k = 0
        while np.abs(term).max() > 1e-45 * np.abs(total).max():
            k += 1
            term = matrix @ term / k
            total = total + term
        return basis.keys, total


def check(R, L):
    """exp(L) is R up to the rounding of R, and up to that of the components of L, each by half a unit."""
    keys, image = exponential(L, np.zeros(L.keys.size))
    error, size = np.abs(image - R.on_keys(keys).coefficients).max(), np.abs(R.coefficients).max()
    if error <= 1e-13 * size:
        return
    changes = np.random.default_rng(0).choice([-EPS / 2, EPS / 2], (8, L.keys.size))
    rounding = max(np.abs(exponential(L, change)[1] - image).max() for change in changes)
    assert error <= 1e-13 * size + 32 * rounding, (R, L)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("turn", [1e-9, 1e-6, 1e-3, 1.0, np.pi - 1e-9, np.pi, 2 * np.pi - 1e-3, 2 * np.pi - 1e-6])
def test_screws_far_away(turn, sign):
    """Translations up to 1e9 with any angle, about axes as far as 1e18."""
    for signature in ((2, 0, 1), (3, 0, 1)):
        alg = cr.Algebra(*signature)
        null = alg.basis_vectors()[list(alg.signature).index(0)]
        plane, *others = [x for x, square in zip(alg.basis_vectors(), alg.signature, strict=True) if square]
        for size in (1e-9, 500.0, 1e9):
            shift = sum((0.3 + i) * size * (null ^ x) for i, x in enumerate([plane, *others]))
            motor = sign * (1 + shift) * (turn / 2 * (plane ^ others[0])).exp()
            check(motor, motor.log().grade(2))
            root = motor.sqrt()
            rounding = np.abs(motor.values).max() + np.abs(root.values).max()  # a half turn about an axis far away
            assert (root * root - motor).values == pytest.approx(0, abs=64 * EPS * rounding)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("angle", [2 * np.pi - 1e-3, 2 * np.pi - 1e-2, np.pi - 1e-3, -1e-3])
def test_conformal_motors_with_nearly_full_turns(angle, n):
    alg = cr.Algebra.cga(n)
    R = cga.translator(alg, [5.0, 3, 2, 1][:n]) * cga.rotor(alg, alg.e12, angle)
    check(R, R.log())


@pytest.mark.parametrize("size", [500.0, 1e6])
def test_conformal_screws_far_away_in_a_null_basis(size):
    """log M has components of 1e6 and more in null directions: their rounding moves exp(log M) more than M's does."""
    alg = cr.Algebra.cga(3, null_basis=True)
    R = cga.translator(alg, size * np.array([0.3, 0.4, 1.0])) * cga.rotor(alg, alg.e12, 2 * np.pi - 1e-3)
    check(R, R.log())
    assert np.abs((R.log().exp() - R).values).max() <= 1e-11 * np.abs(R.values).max()


@pytest.mark.parametrize(("n", "deviation", "size"), [(2, 1e-8, 1e-9), (3, 1e-8, 1.0), (2, 1e-5, 1.0), (3, 1e-3, 30.0)])
def test_conformal_motors_that_are_nearly_minus_a_translation(n, deviation, size):
    """The derivative of exp overflows at candidates there: LinAlgError before."""
    alg = cr.Algebra.cga(n)
    R = cga.translator(alg, size * np.arange(1.0, n + 1)) * cga.rotor(alg, alg.e12, 2 * np.pi - deviation)
    single = R.astype(np.float32)
    assert single.log().dtype == single.sqrt().dtype == np.float32
    for A, image in ((R.log(), R.log().exp()), (R.sqrt(), R.sqrt() ** 2)):
        scale = max(1e-4 * abs(R.values).max(), 16 * EPS * abs(A.values).max() ** 2)
        assert abs((image - R).values).max() <= scale


def test_roots_in_single_precision_have_logarithms_in_double():
    alg = cr.Algebra(3, 0, 2)
    R = (alg.e13 + 0.5 * alg.e25).exp() * (-(np.pi - 5e-13) * alg.e34).exp()
    S = R.astype(np.float32).sqrt()
    assert S.dtype == np.float32
    assert abs((S * S - R).values).max() < 1e-3  # 2e5 before: a logarithm of size 1e12 with π to 24 bits


@pytest.mark.parametrize(("p", "q"), list(itertools.product(range(2, 6), range(1, 5))))
def test_a_slow_turn_beside_a_large_boost(p, q):
    """The turn is known to the rounding of the whole rotor, not to its own: boosts e^8 to e^11 in STA, all of d = 6."""
    rng, alg = np.random.default_rng(12), cr.Algebra(3, 1)
    for angle, boost in itertools.product((2.6, 2.75, 3.1), np.linspace(4.0, 5.5, 10)):
        V = (alg.random_multivector(rng=rng, shape=(), grades=2) * 0.3).exp()
        R = V * (angle / 2 * alg.e12).exp() * (boost * alg.e34).exp() * ~V
        assert np.abs((R.log().exp() - R).values).max() < 1e-10 * np.abs(R.values).max()
    if p + q <= 6 and max(p, q) > 2:
        alg = cr.Algebra(p, q, 6 - p - q)
        e = [x for x, square in zip(alg.basis_vectors(), alg.signature, strict=True) if square]
        turn, boost = (e[0] ^ e[1], e[2] ^ e[-1]) if p > 2 else (e[p] ^ e[p + 1], e[0] ^ e[-1])
        for angle, size in itertools.product((1.4, 1.56, np.pi / 2), (4.0, 6.0)):
            B = angle * turn + size * boost
            assert B.exp().log().isclose(B, rtol=1e-9), (alg, angle, size)


def test_report_of_a_motor_near_minus_one():
    alg = cr.Algebra.pga(3)
    axis = pga.line(alg, [0.0, 0, 0], [0, 0, 1])
    M = pga.translator(alg, [500.0, 300, 200]) * pga.rotor(alg, axis, 2 * np.pi - 1e-3)
    batch = alg.multivector([M.values, -M.values], M.grades)
    for R, L in ((M, M.log()), (M, batch.log()[0]), (-M, batch.log()[1]), (M, cr.fused(lambda A: A.log())(M))):
        check(R, L.grade(2))
