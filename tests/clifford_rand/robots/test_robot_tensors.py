"""Robots on arrays of PyTorch and JAX: values of the compiled loops, gradients of their finite differences."""

import numpy as np
import pytest

from clifford_rand.robots import evaluation
from clifford_rand.robots.robot import FRAMES
from support.robots import made, robot, state

FUNCTIONS = {
    "motor": lambda arm, q, v, a: arm.forward_kinematics(q).coefficients,
    "motors": lambda arm, q, v, a: arm.link_motors(q).coefficients,
    "matrix": lambda arm, q, v, a: arm.link_matrix(q),
    **{frame: (lambda arm, q, v, a, frame=frame: arm.jacobian(q, frame=frame)) for frame in FRAMES},
    "inverse": lambda arm, q, v, a: arm.inverse_dynamics(q, v, a),
    "bias": lambda arm, q, v, a: arm.bias_forces(q, v),
    "gravity": lambda arm, q, v, a: arm.gravity_forces(q),
    "mass": lambda arm, q, v, a: arm.mass_matrix(q),
    "forward": lambda arm, q, v, a: arm.forward_dynamics(q, v, a),
    "energy": lambda arm, q, v, a: arm.energy(q, v),
    "manipulability": lambda arm, q, v, a: arm.manipulability(q),
    "moved": lambda arm, q, v, a: arm.moved(q, v),
}


def library(name):
    """Return the namespace and a function that makes float64 arrays of it."""
    if name == "torch":
        torch = pytest.importorskip("torch")
        return torch, torch.tensor
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy, jax.numpy.asarray


@pytest.mark.parametrize("name", ["torch", "jax"])
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_values_are_those_of_the_loops(name, base):
    _, tensor = library(name)
    arm = made(base)
    numbers = state(arm, np.random.default_rng(0), (3,))
    for key, function in FUNCTIONS.items():
        expected = function(arm, *numbers)
        result = np.asarray(function(arm, *map(tensor, numbers)))
        assert result.shape == expected.shape, key
        assert near(result, expected), key


@pytest.mark.kept("forward-torch")
@pytest.mark.parametrize("name", ["torch", "jax"])
@pytest.mark.parametrize("key", ["inverse", "bias", "forward", "energy", "moved"])
def test_arrays_beside_tensors_become_tensors(name, key):
    _, tensor = library(name)
    arm = made("floating")
    numbers = state(arm, np.random.default_rng(0), (3,))
    expected = FUNCTIONS[key](arm, *numbers)
    for k in range(3 if key in ("inverse", "forward") else 2):
        result = FUNCTIONS[key](arm, *(tensor(x) if i == k else x.tolist() for i, x in enumerate(numbers)))
        assert type(result) is type(tensor(numbers[0]))
        assert near(result, expected)


def near(result, expected, rtol=1e-11):
    return np.abs(np.asarray(result) - expected).max() <= rtol * max(1, np.abs(expected).max())


def differences(function, x, weights, h=1e-6):
    """Return the gradient of Σ weights function(x) by central differences, x of one axis."""
    steps = h * np.eye(x.size)
    return np.array([(weights * (function(x + s) - function(x - s))).sum() / (2 * h) for s in steps])


@pytest.mark.parametrize("key", FUNCTIONS)
def test_gradients_of_torch_are_differences(key):
    torch = pytest.importorskip("torch")
    arm = made()
    numbers = state(arm, np.random.default_rng(0))
    function = FUNCTIONS[key]
    weights = np.random.default_rng(1).standard_normal(np.shape(function(arm, *numbers)))
    tensors = [torch.tensor(x, requires_grad=True) for x in numbers]
    (function(arm, *tensors) * torch.tensor(weights)).sum().backward()
    for k, x in enumerate(numbers):
        if tensors[k].grad is None:
            continue
        expected = differences(lambda y, k=k: function(arm, *numbers[:k], y, *numbers[k + 1 :]), x, weights)
        assert near(tensors[k].grad, expected, 1e-6)
    assert tensors[0].grad is not None


def test_manipulability_has_a_gradient_where_it_is_zero():
    torch = pytest.importorskip("torch")
    for arm, is_zero in ((robot("arm7"), False), (made(), True)):  # the last link of the other moves about two joints
        x = state(arm, np.random.default_rng(0))[0]
        q = torch.tensor(x, requires_grad=True)
        arm.manipulability(q).backward()
        expected = differences(arm.manipulability, x, 1.0)
        assert (np.abs(expected).max() < 1e-12) == is_zero
        assert np.abs(q.grad.numpy() - expected).max() <= (1e-12 if is_zero else 1e-8)
    stretched = torch.zeros(7, dtype=torch.float64, requires_grad=True)
    robot("arm7").manipulability(stretched).backward()
    assert np.isfinite(stretched.grad.numpy()).all()


def test_gradients_of_jax_under_jit():
    jax = pytest.importorskip("jax")
    library("jax")
    arm = robot("two_link")
    q, v, a = state(arm, np.random.default_rng(0))
    weights = np.array([0.3, -1.0])
    gradient = jax.jit(jax.grad(lambda q: (arm.inverse_dynamics(q, v, a) * weights).sum()))(q)
    expected = differences(lambda y: arm.inverse_dynamics(y, v, a), q, weights)
    assert np.abs(np.asarray(gradient) - expected).max() <= 1e-6


def test_without_a_compiler_arrays_do(monkeypatch):
    arm = made()
    numbers = state(arm, np.random.default_rng(0), (2,))
    expected = {key: function(arm, *numbers) for key, function in FUNCTIONS.items()}
    monkeypatch.setattr(evaluation, "has_compiler", lambda: False)
    for key, function in FUNCTIONS.items():
        assert near(function(arm, *numbers), expected[key]), key
