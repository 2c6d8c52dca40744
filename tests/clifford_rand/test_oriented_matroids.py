"""Oriented matroids: determinants and null spaces of SymPy, the axioms, and what must not matter."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import clifford_rand as cr
from support.refusals import refused


@st.composite
def configurations(draw, most=7):
    n, d, size = draw(st.integers(0, most)), draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 10**12]))
    entries = draw(st.lists(st.integers(-size, size), min_size=n * d, max_size=n * d))
    return np.array(entries, dtype=np.int64).reshape(n, d)


def is_orthogonal(C, D):
    """Tell whether two sign vectors are orthogonal: their products are all 0, or have both signs."""
    products = C.astype(int) * D
    return not products.any() or (products.max() > 0 > products.min())


def both_signs_or_none(*terms):
    return not any(terms) or (max(terms) > 0 > min(terms))


def listed(signs):
    return set(map(tuple, signs.tolist()))


def minimal_dependencies(V):
    """Return the sign vectors of SymPy's null vectors without zeros, of all sets of vectors."""
    found = set()
    for k in range(1, V.shape[1] + 2):
        for subset in combinations(range(len(V)), k):
            kernel = sp.Matrix(V[list(subset)].T.tolist()).nullspace()
            if len(kernel) == 1 and all(kernel[0]):
                signs = np.zeros(len(V), dtype=int)
                signs[list(subset)] = [int(sp.sign(x)) for x in kernel[0]]
                found.add(tuple((signs * signs[subset[0]]).tolist()))
    return found


@settings(max_examples=25, deadline=None)
@given(configurations())
def test_signs_of_determinants(V):
    matroid = cr.OrientedMatroid(V)
    assert matroid.rank == sp.Matrix(V.tolist()).rank()
    subsets = list(combinations(range(len(V)), matroid.rank))
    assert matroid.chirotope.shape == (len(subsets),)
    if matroid.rank == V.shape[1]:
        determinants = [sp.Matrix(V[list(subset)].tolist()).det() for subset in subsets]
        assert matroid.chirotope.tolist() == [int(sp.sign(x)) for x in determinants]
    else:
        bases = [sp.Matrix(V[list(subset)].tolist()).rank() == matroid.rank for subset in subsets]
        assert (matroid.chirotope != 0).tolist() == bases
        assert matroid.chirotope[matroid.chirotope != 0][:1].tolist() == [1]


@settings(max_examples=25, deadline=None)
@given(configurations())
def test_three_term_grassmann_pluecker_relations(V):
    matroid, chi = cr.OrientedMatroid(V), cr.OrientedMatroid(V).sign
    if matroid.rank < 2:
        return
    for rest in combinations(range(len(V)), matroid.rank - 2):
        for a, b, c, d in combinations(set(range(len(V))) - set(rest), 4):
            pairs = [((a, b), (c, d), 1), ((a, c), (b, d), -1), ((a, d), (b, c), 1)]
            assert both_signs_or_none(*(s * chi([*p, *rest]) * chi([*q, *rest]) for p, q, s in pairs))


@settings(max_examples=30, deadline=None)
@given(configurations(most=6))
def test_circuits_are_the_minimal_dependencies(V):
    circuits = cr.OrientedMatroid(V).circuits()
    assert len(listed(circuits)) == len(circuits)
    assert listed(circuits) == minimal_dependencies(V)
    assert circuits.tolist() == sorted(circuits.tolist(), reverse=True)


@settings(max_examples=25, deadline=None)
@given(configurations())
def test_cocircuits_are_sides_of_hyperplanes_and_orthogonal_to_circuits(V):
    matroid = cr.OrientedMatroid(V)
    cocircuits, expected = matroid.cocircuits(), set()
    if matroid.rank == V.shape[1]:  # a normal of each hyperplane that d-1 vectors span
        for subset in combinations(range(len(V)), matroid.rank - 1):
            normal = cr.cross(V[list(subset)].astype(object))
            signs = np.sign(V.astype(object) @ normal).astype(int)
            if signs.any():
                expected.add(tuple((signs * signs[signs != 0][0]).tolist()))
        assert listed(cocircuits) == expected
    for C in matroid.circuits():
        assert all(is_orthogonal(C, D) for D in cocircuits)


def test_permutations_fractions_floats_and_large_numbers():
    V = np.random.default_rng(0).integers(-3, 4, (7, 3))
    matroid = cr.OrientedMatroid(V)
    assert matroid.sign([2, 0, 1]) == matroid.sign([0, 1, 2]) == -matroid.sign([1, 0, 2])
    assert matroid.sign([1, 1, 2]) == 0
    scaled = V.astype(object) * np.array([Fraction(1, k + 2) for k in range(7)])[:, None]
    for other in (V / 4, (V * 2.0**-60).astype(np.float32), scaled, V.astype(object) * 10**30, V.astype(np.int8)):
        assert np.array_equal(cr.OrientedMatroid(other).chirotope, matroid.chirotope)
    tenths = np.array([[0.1, 1], [0.2, 1], [0.3, 1]])  # as floats they are no grid
    assert cr.OrientedMatroid([[*row, 1] for row in tenths.tolist()]).rank == 2
    assert cr.OrientedMatroid(np.column_stack([0.1 * np.arange(4), np.arange(4)])).rank == 2


def test_edges():
    empty = cr.OrientedMatroid(np.zeros((0, 3)))
    loops = cr.OrientedMatroid(np.zeros((2, 3), dtype=int))
    assert (empty.rank, empty.chirotope.tolist(), empty.circuits().shape) == (0, [1], (0, 0))
    assert loops.circuits().tolist() == [[1, 0], [0, 1]]
    assert loops.cocircuits().shape == (0, 2)
    independent = cr.OrientedMatroid(np.eye(3))
    assert independent.circuits().shape == (0, 3)
    assert independent.cocircuits().tolist() == np.eye(3, dtype=int).tolist()
    assert not independent.chirotope.flags.writeable


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([1, 2, 3], r"must be of shape \(n, d\)"),
        ([[1, np.nan]], "must be finite"),
        ([[1, 2j]], "must be an array of integers or fractions or floats"),
        ([["a"]], "must be an array of integers or fractions or floats"),
    ],
)
def test_refusals(vectors, message):
    refused(message, cr.OrientedMatroid, vectors)


def test_other_refusals():
    matroid = cr.OrientedMatroid(np.eye(4))
    refused("4 numbers of vectors", matroid.sign, [0, 1])
    refused("Got 4 instead", matroid.sign, [0, 1, 2, 4])
    large = cr.OrientedMatroid(np.random.default_rng(0).integers(-9, 9, (200, 12)))
    refused(r"C\(200, 13\) subsets of 13 vectors", large.circuits)
