"""Numbers of chambers: published tables, known polynomials, Whitney's and Zaslavsky's theorems by brute force."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import clifford_rand as cr
from support.refusals import refused

RESONANCE = {1: 2, 2: 6, 3: 32, 4: 370, 5: 11292}  # OEIS A034997
THRESHOLD = {0: 2, 1: 4, 2: 14, 3: 104, 4: 1882, 5: 94572}  # OEIS A000609


def differences(n):
    return [np.eye(n, dtype=int)[i] - np.eye(n, dtype=int)[j] for i, j in combinations(range(n), 2)]


def with_roots(roots):
    """Return the coefficients of the product of t - r."""
    coefficients = [1]
    for r in roots:
        coefficients = [a - r * b for a, b in zip([*coefficients, 0], [0, *coefficients], strict=True)]
    return tuple(coefficients)


def whitney(normals, offsets):
    """Return χ by Whitney's theorem, a sum over the sets of hyperplanes with a point in common."""
    d = normals.shape[1]
    chi = [0] * (d + 1)
    rows = [row for row in np.column_stack([normals, offsets]).tolist() if any(row[:-1])]
    for k in range(len(rows) + 1):
        for subset in combinations(rows, k):
            system = sp.Matrix(k, d + 1, [x for row in subset for x in row])
            rank = system[:, :d].rank()
            if rank == system.rank():
                chi[rank] += (-1) ** k
    return tuple(chi)


@pytest.mark.parametrize("n", RESONANCE)
def test_resonance_arrangements(n):
    normals = [v for v in product((0, 1), repeat=n) if any(v)]
    assert cr.count_chambers(normals) == RESONANCE[n]


@pytest.mark.parametrize("n", THRESHOLD)
def test_threshold_arrangements(n):
    assert cr.count_chambers([(1, *v) for v in product((-1, 1), repeat=n)]) == THRESHOLD[n]


def test_reflection_arrangements():
    for n in (2, 3, 4, 5):
        braid = differences(n)
        sums = [np.abs(v) for v in braid]
        assert cr.characteristic_polynomial(braid) == with_roots(range(n))
        type_b = [*braid, *sums, *np.eye(n, dtype=int)]
        assert cr.characteristic_polynomial(type_b) == with_roots(range(1, 2 * n, 2))
        assert cr.characteristic_polynomial([*braid, *sums]) == with_roots([*range(1, 2 * n - 2, 2), n - 1])
    halves = np.array(list(product((1, -1), repeat=4))) * Fraction(1, 2)
    braid, sums = differences(4), [np.abs(v) for v in differences(4)]
    f4 = np.array([*braid, *sums, *np.eye(4, dtype=int), *halves], dtype=object)
    assert cr.characteristic_polynomial(f4) == with_roots((1, 5, 7, 11))


def test_affine_deformations_of_the_braid_arrangement():
    for n in (2, 3, 4):
        braid = np.array(differences(n))
        shi = np.repeat(braid, 2, axis=0), [0, 1] * len(braid)
        assert cr.characteristic_polynomial(*shi) == with_roots([0] + [n] * (n - 1))  # Shi 1986
        catalan = np.repeat(braid, 3, axis=0), [-1, 0, 1] * len(braid)
        assert cr.count_chambers(*catalan) == math.factorial(2 * n) // math.factorial(n + 1)  # n! Catalan numbers
        assert cr.count_chambers(*shi, bounded=True) == 0  # all are unbounded along (1, …, 1)
        assert cr.count_chambers(shi[0][:, 1:], shi[1], bounded=True) == (n - 1) ** (n - 1)
    assert [cr.count_chambers(differences(n), np.ones(n * (n - 1) // 2)) for n in (2, 3, 4)] == [2, 7, 36]  # Linial


def test_general_position():
    rng = np.random.default_rng(0)
    for n, d in ((5, 2), (8, 3), (9, 4)):
        A, b = rng.standard_normal((n, d)), rng.standard_normal(n)
        assert cr.count_chambers(A) == 2 * sum(math.comb(n - 1, k) for k in range(d))
        assert cr.count_chambers(A, b) == sum(math.comb(n, k) for k in range(d + 1))
        assert cr.count_chambers(A, b, bounded=True) == math.comb(n - 1, d)


@st.composite
def arrangements(draw):
    n, d, size = draw(st.integers(0, 7)), draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 10**9]))
    entries = draw(st.lists(st.integers(-size, size), min_size=n * (d + 1), max_size=n * (d + 1)))
    table = np.array(entries, dtype=np.int64).reshape(n, d + 1)
    return table[:, :d], table[:, d] * draw(st.booleans())


@settings(max_examples=8, deadline=None)
@given(arrangements())
def test_whitney_and_zaslavsky(arrangement):
    normals, offsets = arrangement
    chi = cr.characteristic_polynomial(normals, offsets)
    assert chi == whitney(normals, offsets)
    assert cr.count_chambers(normals, offsets) == abs(np.polyval(chi, -1))
    assert all(x * (-1) ** i >= 0 for i, x in enumerate(chi))
    if not offsets.any():
        assert cr.characteristic_polynomial(normals) == chi
        assert sum(chi) == (not normals.any())  # Euler's relation: χ(1) = 0 of a central arrangement


@settings(max_examples=20, deadline=None)
@given(arrangements())
def test_every_sign_vector_of_a_fine_grid_is_counted(arrangement):
    normals, offsets = np.clip(arrangement[0], -1, 1)[:5, :2], np.clip(arrangement[1], -1, 1)[:5]
    held = normals.any(axis=1)
    axis = np.arange(-10, 10.1, 0.25) + 1 / 64  # the vertices are whole or halves, and the chambers are as wide
    grid = np.stack(np.meshgrid(*[axis + 1 / (50 * (i + 1)) for i in range(normals.shape[1])]), -1)
    points = grid.reshape(-1, normals.shape[1])
    signs = np.sign(points @ normals[held].T - offsets[held])
    assert (signs != 0).all()
    assert len(np.unique(signs, axis=0)) == cr.count_chambers(normals, offsets)


def test_coordinates_scales_and_repeats_do_not_matter():
    rng = np.random.default_rng(1)
    normals = rng.integers(-1, 2, (9, 4))
    chi = cr.characteristic_polynomial(normals)
    mixed = normals.astype(object) @ rng.integers(-3, 4, (4, 4)).astype(object)
    scaled = normals.astype(object) * np.array([Fraction(-1, k + 1) for k in range(9)])[:, None]
    for other in (mixed, scaled, normals / 8, normals.astype(np.float32), np.concatenate([normals, -2 * normals])):
        assert cr.characteristic_polynomial(other) == chi
    wide = np.column_stack([normals, normals[:, :1] - normals[:, 1:2], np.zeros(9, dtype=int)])
    assert cr.characteristic_polynomial(wide) == (*chi, 0, 0)


def test_edges():
    assert cr.characteristic_polynomial(np.zeros((0, 2))) == (1, 0, 0)
    assert cr.characteristic_polynomial(np.zeros((3, 2)), [0, 1, 2]) == (1, 0, 0)
    assert cr.count_chambers(np.zeros((2, 0))) == 1
    assert cr.count_chambers([[1], [1]], [0, 0]) == 2
    assert cr.count_chambers([[1], [2]], np.array([1, 2], dtype=np.uint8), bounded=True) == 0
    assert cr.count_chambers([[2**60], [2**60]], [0.1, 0.2], bounded=True) == 1


def test_refusals():
    refused(r"'normals' parameter of count_chambers must be of shape \(n, d\)", cr.count_chambers, [1, 2])
    with pytest.raises(
        cr.ArgumentError, match=r"'offsets' parameter of characteristic_polynomial must be of shape \(2,\)"
    ):
        cr.characteristic_polynomial([[1], [2]], [1])
    refused("must be finite", cr.count_chambers, [[1.0, np.inf]])
    refused("'bounded'", cr.count_chambers, [[1]], bounded=2)
