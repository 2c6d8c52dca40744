"""Every product and map, on every path, against products from the definition: any metric, null vectors in any place."""

import itertools

import numpy as np
import pytest

import clifford_rand as cr
from support.clifford import Reference
from support.clifford_paths import MAPS, PRODUCTS, SHAPES, faults

pytest.importorskip("torch")  # tensors are one of the paths

ENTRIES = (0, 1, -1, 2, -4)
SMALL = [np.diag(entries) for d in (1, 2, 3) for entries in itertools.product(ENTRIES, repeat=d)]
LARGER = [
    np.diag([1, 1, 1, 0]),
    np.diag([2, 0, 0, -4]),
    np.diag([0.5, 0, 2, -3]),
    np.diag([0, 1, 1, 1, -1]),
    np.array([[0, -1, 0], [-1, 0, 0], [0, 0, 1]]),
    np.array([[2, 1, 0, 0], [1, 0.5, 0, 0], [0, 0, 0, 0], [0, 0, 0, -4]]),
    np.array([[0, 2, 1, 0], [2, 0, 0, 0], [1, 0, -4, 1], [0, 0, 1, 0]]),
]


def pairs(alg, rng, grades):
    size = alg.random_multivector(rng=0, grades=grades).keys.size
    return [alg.multivector(rng.integers(-3, 4, size), grades) for _ in range(4)]


@pytest.mark.parametrize("gram", SMALL[::3], ids=lambda gram: str(np.diag(gram).tolist()))
def test_maps_in_every_diagonal_metric(gram):
    rng, alg, ref = np.random.default_rng(0), cr.Algebra(metric=gram), Reference(gram)
    for number, grades in enumerate([*range(alg.d + 1), None]):
        shape = SHAPES[number % len(SHAPES)]
        assert not [*faults(ref, tuple(MAPS), *pairs(alg, rng, grades), shape, exact=False)]


@pytest.mark.parametrize("gram", [*SMALL[1::9], *LARGER], ids=lambda gram: str(gram.tolist()))
def test_all_operations(gram):
    rng, alg, ref = np.random.default_rng(0), cr.Algebra(metric=gram), Reference(gram)
    for shape, grades in zip(SHAPES[::2], (None, 1, tuple(range(0, alg.d + 1, 2)), alg.d), strict=True):
        assert not [*faults(ref, (*PRODUCTS, *MAPS), *pairs(alg, rng, grades), shape)]
