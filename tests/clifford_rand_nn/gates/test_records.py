"""Records check what they are put together from: none holds what its methods would stumble on later."""

from dataclasses import replace

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexReLURegressor, Gates, TwoLayerNetwork, relu_path
from clifford_rand_nn.gates.dictionary import CrossProductDictionary
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.pricing.family import Family

X = np.random.default_rng(0).standard_normal((9, 2))
Y = np.abs(X[:, 0])
NEURONS = Neurons.free(np.ones((2, 3)), np.zeros(3))
NETWORK = TwoLayerNetwork(np.ones((3, 2)), np.zeros(3), np.ones((3, 1)), np.zeros(1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Family("every", 1, True), "'kind' parameter of Family must be one of 'all'"),
        (lambda: Family("all", 3, True), "'p' parameter of Family must be one of 1, 2"),
        (lambda: Family("all", 1, "yes"), "'bias' parameter of Family"),
        (lambda: Family("gates", 1, True), "'members' parameter of Family must be Gates for kind='gates'"),
        (lambda: Family("all", 1, True, NEURONS), "'members' parameter of Family must be None for kind='all'"),
        (
            lambda: CrossProductDictionary(X, penalty="foo", bias=True, family="mixed"),
            "'penalty' parameter of CrossProductDictionary must be one of 'l1', 'l2'",
        ),
        (lambda: WeightedNeurons(NEURONS, np.ones((2, 1)), np.zeros(1)), "'values' parameter of WeightedNeurons"),
        (lambda: WeightedNeurons(None, None, None), "'neurons' parameter of WeightedNeurons must be Neurons"),
        (lambda: replace(NETWORK, W1=None), "'W1' parameter of TwoLayerNetwork must be an array of float64"),
        (lambda: replace(NETWORK, b1=np.zeros(2)), r"'b1' parameter of TwoLayerNetwork must be of shape \(3,\)"),
        (lambda: replace(NETWORK, gates=Gates.from_arrays(np.eye(2))), "'gates' parameter of TwoLayerNetwork .* None"),
        (lambda: replace(relu_path(X, Y, n_betas=2), networks=()), "'networks' parameter of RegularizationPath"),
        (lambda: replace(relu_path(X, Y, n_betas=2), lower_bounds=Y), "'lower_bounds' parameter of RegularizationPath"),
    ],
)
def test_a_record_refuses_what_it_cannot_hold(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "foo"}, "'loss' parameter of Certificate"),
        ({"beta": 0}, "'beta' parameter of Certificate"),
        ({"claim": None}, "'claim' parameter of Certificate must be a GatedClaim, a NetworkClaim or a KernelClaim"),
        ({"dual_point": [[1.0]]}, "'dual_point' parameter of Certificate must be an array of float64"),
    ],
)
def test_so_does_a_certificate(change, message):
    proof = ConvexReLURegressor(gates="exhaustive", beta=0.1, bias=True).fit(X, Y).certificate_
    with pytest.raises(ArgumentError, match=message):
        replace(proof, **change)
