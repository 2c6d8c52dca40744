"""Logarithms of motors far away, near full turns and beside large boosts, checked in 40-digit arithmetic."""

import itertools

import mpmath
import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.presets import cga, pga

EPS = float(np.finfo(float).eps)


def exponential(B, change=None):
    """exp(B) in 40 digits, from the matrix of X ↦ BX on even X; ``change`` is a relative change of the components."""
    alg = B.algebra
    basis = alg.multivector(np.eye(2 ** (alg.d - 1)), range(0, alg.d + 1, 2))
    with mpmath.workdps(40):
        matrix = mpmath.zeros(basis.keys.size)
        for i, value in enumerate(B.coefficients.tolist()):
            if value:
                one = B.new(B.keys, np.eye(B.keys.size)[i])
                factor = mpmath.mpf(value) * (1 + mpmath.mpf(0 if change is None else change[i]))
                image = (one * basis).on_keys(basis.keys).coefficients
                for j, k in zip(*np.nonzero(image), strict=True):
                    matrix[int(k), int(j)] += factor * float(image[j, k])
        return basis.keys, np.array(mpmath.expm(matrix)[:, 0].tolist(), dtype=object).ravel()


def check(R, L):
    """exp(L) is R up to the rounding of R, and up to that of the components of L, each by half a unit."""
    keys, image = exponential(L)
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


@pytest.mark.parametrize("angle", [2 * np.pi - 1e-3, 2 * np.pi - 1e-2, np.pi - 1e-3, -1e-3])
def test_conformal_motors_with_nearly_full_turns(angle):
    for n in (2, 3):
        alg = cr.Algebra.cga(n)
        R = cga.translator(alg, [5.0, 3, 2, 1][:n]) * cga.rotor(alg, alg.e12, angle)
        check(R, R.log())


@pytest.mark.parametrize("size", [500.0, 1900.0, 1e6])
def test_conformal_screws_far_away_in_a_null_basis(size):
    """log M has components of 1e6 and more in null directions: their rounding moves exp(log M) more than M's does."""
    alg = cr.Algebra.cga(3, null_basis=True)
    R = cga.translator(alg, size * np.array([0.3, 0.4, 1.0])) * cga.rotor(alg, alg.e12, 2 * np.pi - 1e-3)
    check(R, R.log())
    assert np.abs((R.log().exp() - R).values).max() <= 1e-11 * np.abs(R.values).max()


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(("deviation", "size"), [(1e-8, 1e-9), (1e-8, 1.0), (1e-5, 1.0), (1e-3, 1.0), (1e-3, 30.0)])
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


def test_a_turn_beside_a_large_boost_in_every_metric_of_six_dimensions_that_has_both():
    for p in range(2, 7):
        for q in range(1, 7 - p):
            alg = cr.Algebra(p, q, 6 - p - q)
            e = [x for x, square in zip(alg.basis_vectors(), alg.signature, strict=True) if square]
            boost = e[2 if p > 2 else 0] ^ e[-1]
            turns = [e[0] ^ e[1]] if p > 2 else [e[p] ^ e[p + 1]] if q > 2 else []
            for plane, angle, size in itertools.product(turns, (1.4, 1.56, np.pi / 2), (4.0, 5.0, 6.0)):
                B = angle * plane + size * boost
                assert B.exp().log().isclose(B, rtol=1e-9), (alg, angle, size)


def test_report_of_a_motor_near_minus_one():
    alg = cr.Algebra.pga(3)
    axis = pga.line(alg, [0.0, 0, 0], [0, 0, 1])
    M = pga.translator(alg, [500.0, 300, 200]) * pga.rotor(alg, axis, 2 * np.pi - 1e-3)
    batch = alg.multivector([M.values, -M.values], M.grades)
    for R, L in ((M, M.log()), (M, batch.log()[0]), (-M, batch.log()[1]), (M, cr.fused(lambda A: A.log())(M))):
        check(R, L.grade(2))
