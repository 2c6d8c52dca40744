"""The spiral of the paper."""

import clifford_rand_nn
from clifford_rand_nn.datasets import spiral


def test_spiral_is_where_it_was():
    X, y = spiral(5)
    assert (X.shape, y.tolist()) == ((10, 2), [1, -1] * 5)
    assert clifford_rand_nn.spiral is spiral
