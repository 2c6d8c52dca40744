"""Convex variables and networks, both ways: equal predictions, equal objective, on every kind of neuron."""

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn import Gates, TwoLayerNetwork, activation_patterns, sample_gates
from clifford_rand_nn.networks import (
    balanced_gated,
    balanced_network,
    balanced_relu,
    gated_coefficients,
    relu_coefficients,
    unit_atoms,
)
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.problems.relu import ConvexReLUProblem, ReLUCoefficients
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint


def relu(x):
    return np.maximum(x, 0)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("C", [1, 3])
def test_atoms_to_network_and_back(p, C):
    rng = np.random.default_rng(0)
    V = rng.standard_normal((4, 6))
    atoms = Neurons.free(V / np.linalg.norm(V, ord=p, axis=0), rng.standard_normal(6))
    values = rng.standard_normal((6, C))
    values[2] = 0
    solution = WeightedNeurons(atoms, values, rng.standard_normal(C))
    X = rng.standard_normal((50, 4))
    network = balanced_network(solution, p)
    assert network.n_neurons == 5
    expected = relu(X @ atoms.directions + atoms.offsets) @ values + solution.intercept
    np.testing.assert_allclose(network.predict(X).reshape(50, C), expected, atol=1e-13)
    assert network.penalty(p) == pytest.approx(np.linalg.norm(values, axis=1).sum())
    # balanced: half the squares is the same number
    squares = np.linalg.norm(network.W1, ord=p, axis=1) ** 2 + np.linalg.norm(network.w2, axis=1) ** 2
    assert 0.5 * squares.sum() == pytest.approx(network.penalty(p))
    back = unit_atoms(network, p)
    np.testing.assert_allclose(back.neurons.directions, atoms.directions[:, values.any(axis=1)], atol=1e-14)
    np.testing.assert_allclose(back.values, values[values.any(axis=1)], atol=1e-14)
    np.testing.assert_allclose(back.predictions(X), expected, atol=1e-13)


def test_unbalanced_networks_and_constants_become_atoms():
    """Any weights: the same function, and a neuron without weights is a constant."""
    rng = np.random.default_rng(1)
    W1 = np.vstack([rng.standard_normal((3, 2)) * [[1e3], [1e-3], [1.0]], np.zeros((2, 2))])
    b1 = np.array([1.0, -0.1, 0.3, 2.0, -5.0])
    network = TwoLayerNetwork(W1, b1, rng.standard_normal((5, 2)), np.array([0.5, -0.5]))
    X = rng.standard_normal((20, 2))
    found = unit_atoms(network, 1)
    assert len(found.neurons) == 3
    np.testing.assert_allclose(found.neurons.norms(1), 1.0)
    np.testing.assert_allclose(found.predictions(X), network.predict(X), atol=1e-11)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("C", [1, 2])
def test_constrained_units_become_relu_neurons(p, C):
    """Within the cones D(XU + b) = (XU + b)_+: same predictions, and each output of a unit is a neuron."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 3))
    h = rng.standard_normal((3, 4))
    D = X @ h >= 0
    scale = rng.uniform(0.5, 2, (2, C, 4))
    plus, minus = (s[..., None] * h.T for s in scale)  # multiples of the gate lie in its cone
    plus[:, 1], minus[:, 3] = 0, 0
    zero = np.zeros((C, 4))
    coefficients = ReLUCoefficients(plus, minus, zero, zero.copy(), rng.standard_normal(C))
    expected = sum(D[:, [i]] * (X @ (plus - minus)[:, i].T) for i in range(4)) + coefficients.intercept
    network = balanced_relu(coefficients, p)
    np.testing.assert_allclose(network.predict(X).reshape(30, C), expected, atol=1e-13)
    units = [np.sum(np.abs(U[c, i]) ** p) ** (1 / p) for U in (plus, minus) for i in range(4) for c in range(C)]
    assert network.penalty(p) == pytest.approx(sum(units))
    assert network.n_neurons == 6 * C


def test_a_bias_alone_is_a_constant():
    coefficients = ReLUCoefficients(
        np.zeros((1, 2, 3)), np.zeros((1, 2, 3)), np.array([[2.0, 0.0]]), np.array([[0.0, 0.5]]), np.array([1.0])
    )
    network = balanced_relu(coefficients)
    assert network.n_neurons == 0
    assert network.predict(np.zeros((2, 3))).tolist() == [2.5, 2.5]


def test_gated_networks_are_no_atoms():
    gates = Gates.from_arrays(np.eye(2))
    network = balanced_gated(Coefficients(np.ones((1, 2, 2)), np.zeros((1, 2)), np.zeros(1)), gates)
    with pytest.raises(ArgumentError, match=r"of ReLU neurons\. Got a gated network"):
        unit_atoms(network)
    with pytest.raises(ArgumentError, match=r"of ReLU neurons\. Got a gated network"):
        relu_coefficients(network, np.eye(2))
    relu_network = TwoLayerNetwork(np.eye(2), np.zeros(2), np.ones((2, 2)), np.zeros(2))
    with pytest.raises(ArgumentError, match=r"must be gated\. Got a network of ReLU neurons"):
        gated_coefficients(relu_network)
    with pytest.raises(ArgumentError, match="one whose neurons feed one output each"):
        relu_coefficients(relu_network, np.eye(2))


@pytest.mark.parametrize("C", [1, 3])
def test_gated_there_and_back(C):
    rng = np.random.default_rng(4)
    gates = Gates.from_arrays(rng.standard_normal((3, 5)), rng.standard_normal(5))
    coefficients = Coefficients(rng.standard_normal((C, 5, 3)), rng.standard_normal((C, 5)), rng.standard_normal(C))
    back, kept = gated_coefficients(balanced_gated(coefficients, gates))
    for one, two in zip(back, coefficients, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-14)
    np.testing.assert_array_equal(kept.directions, gates.directions)


@pytest.mark.parametrize("p", [1, 2])
def test_the_constrained_program_there_and_back(p):
    """The solver's own solution: predictions, objective and cones survive the way through the network."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((25, 3))
    patterns, _ = activation_patterns(X, sample_gates(X, 12, random_state=rng))
    penalty = f"group_l{p}"
    problem = ConvexReLUProblem(X, rng.standard_normal(25), patterns, 0.02, penalty=penalty)
    solution = ConeInteriorPoint(tol=1e-8).solve(problem).coefficients
    network = balanced_relu(solution, p)
    back, same = relu_coefficients(network, X, patterns)
    assert same is patterns
    np.testing.assert_allclose(problem.predictions(back), network.predict(X).reshape(25, 1), atol=1e-9)
    assert problem.objective(back) == pytest.approx(problem.objective(solution), rel=1e-9)
    assert problem.violation(back) <= 1e-9
    free, own = relu_coefficients(network, X)
    other = ConvexReLUProblem(X, problem.datafit.y, own, 0.02, penalty=penalty)
    np.testing.assert_allclose(other.predictions(free), network.predict(X).reshape(25, 1), atol=1e-9)
    assert other.objective(free) <= problem.objective(solution) * (1 + 1e-9)
    with pytest.raises(ArgumentError, match="such that every neuron has one"):
        relu_coefficients(network, X, np.zeros((25, 1), dtype=bool))


def test_prediction_in_blocks_is_prediction(monkeypatch):
    rng = np.random.default_rng(3)
    network = TwoLayerNetwork(rng.standard_normal((5, 2)), rng.standard_normal(5), np.ones((5, 1)), np.zeros(1))
    X = rng.standard_normal((40, 2))
    whole = network.predict(X)
    monkeypatch.setattr("clifford_rand_nn.networks._BLOCK_BYTES", 200)
    np.testing.assert_allclose(network.predict(X), whole, rtol=1e-14)
