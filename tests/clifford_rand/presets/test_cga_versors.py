"""Transversions, and conformal versors taken apart into translation, rotation, dilation and transversion."""

import functools
import operator
from fractions import Fraction

import numpy as np
import pytest

from clifford_rand.presets import cga
from support.geometry import CGA, MODELS, close, gaussian


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_transversions_against_coordinates(n, null):
    alg = CGA[n, null]
    x, b = gaussian(1, 6, n), gaussian(2, 6, n)
    K = cga.transversion(alg, b)
    assert (K * ~K).isclose(1).all()
    square = (x * x).sum(-1, keepdims=True)
    expected = (x + square * b) / (1 + 2 * (x * b).sum(-1, keepdims=True) + square * (b * b).sum(-1, keepdims=True))
    close(cga.down(K >> cga.up(alg, x)), expected)
    J = cga.inversion(alg, np.zeros(n), 1.0)
    assert (J * cga.translator(alg, b) * J).isclose(K).all()
    assert (K * cga.transversion(alg, 2 * b)).isclose(cga.transversion(alg, 3 * b)).all()


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_products_of_known_parts_give_them_back(n, null):
    alg = CGA[n, null]
    a, b, s = gaussian(1, 5, n), gaussian(2, 5, n), np.exp(gaussian(3, 5))
    R = alg.scalar(np.ones(5)) if n == 1 else cga.rotor(alg, alg.e1 ^ alg.e2, gaussian(4, 5))
    V = cga.translator(alg, a) * R * cga.dilator(alg, s) * cga.transversion(alg, b) * 3.0
    parts = cga.decompose(V)
    close(parts.translation, a)
    close(parts.transversion, b)
    close(parts.factor, s)
    close(parts.weight, np.full(5, 3.0))
    assert parts.rotor.isclose(R, rtol=1e-10).all()
    assert not parts.has_inversion.any()
    _, R, _, K = parts.versors()
    x = gaussian(5, 5, n)
    y = cga.down(K >> cga.up(alg, x))
    y = cga.down(R >> cga.up(alg, s[:, None] * y)) + a
    close(cga.down(V >> cga.up(alg, x)), y, 1e-8)


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_products_of_inversions_and_reflections_recompose(n, null):
    """Every conformal map is one: random spheres and planes, even and odd numbers of them."""
    alg = CGA[n, null]
    for count in range(1, 6):
        factors = [
            cga.inversion(alg, gaussian(seed, 4, n), np.exp(gaussian(seed + 50, 4)))
            if seed % 3
            else cga.plane(alg, gaussian(seed, 4, n), 1.0, dual=True)
            for seed in range(count)
        ]
        V = functools.reduce(operator.mul, factors)
        parts = cga.decompose(V)
        close(parts.versor().dense().coefficients, V.dense().coefficients, 1e-9)
        assert (parts.rotor * ~parts.rotor).isclose(1, rtol=1e-10).all()
        assert all(not int(mask) >> n for mask in parts.rotor.keys.masks)


@pytest.mark.kept("2-False")
@pytest.mark.parametrize(("n", "null"), MODELS)
def test_what_takes_the_origin_to_infinity_is_inverted(n, null):
    alg = CGA[n, null]
    J, T = cga.inversion(alg, np.zeros(n), 2.0), cga.translator(alg, np.ones(n))
    parts = cga.decompose(J)
    assert parts.has_inversion
    close(parts.factor, 4.0)
    close(parts.translation, np.zeros(n))
    assert parts.versor().isclose(J)
    whole = T * J
    close(cga.decompose(whole).translation, np.ones(n))
    assert cga.decompose(whole).versor().isclose(whole)
    batch = alg.multivector(np.stack([A.dense().coefficients for A in (J, T, whole)]))
    mixed = cga.decompose(batch)
    assert mixed.has_inversion.tolist() == [True, False, True]
    close(mixed.versor().dense().coefficients, batch.coefficients)
    far = cga.decompose(cga.translator(alg, np.full(n, 1e5)))
    assert not far.has_inversion
    close(far.translation, np.full(n, 1e5))


def test_single_precision():
    b = np.ones(3, dtype=np.float32)
    parts = cga.decompose(cga.translator(CGA[3, True], 2 * b) * cga.transversion(CGA[3, True], b))
    assert parts.translation.dtype == parts.rotor.dtype == np.float32
    close(parts.translation, np.full(3, 2.0), 1e-5)
    close(parts.transversion, np.ones(3), 1e-5)


@pytest.mark.parametrize("null", [False, True])
def test_exact_shifts_and_inversions_of_exact_numbers(null):
    alg = CGA[3, null]
    line = cga.line(alg, [1, 0, 0], direction=[0, 0, 1])
    for angle in (Fraction(1, 2), np.array(0.5, dtype=object)):
        assert cga.motor(alg, line, angle, Fraction(3)).isclose(cga.motor(alg, line, 0.5, 3.0))
        assert cga.rotor(alg, line.dual(), angle).isclose(cga.rotor(alg, line.dual(), 0.5))
    b = [Fraction(1, 2), Fraction(0), Fraction(1)]
    assert cga.transversion(alg, b).isclose(cga.transversion(alg, [0.5, 0, 1]))
