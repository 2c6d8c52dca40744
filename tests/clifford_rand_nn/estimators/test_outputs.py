"""Several outputs: suprema of vectors against other ways to take them, and no network below a claimed bound."""

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand import ArgumentError
from clifford_rand_nn.pricing import cone_best, cones
from clifford_rand_nn.pricing.base import BlockPricer
from clifford_rand_nn.pricing.cones import ConePricer
from clifford_rand_nn.pricing.outputs import relaxed_lengths
from clifford_rand_nn.pricing.sweep import SweepPricer
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from support.descents import Descent
from support.pairwise import pairwise

PENALTIES = ["group_l1", "group_l2"]


def relu(x):
    return np.maximum(x, 0)


# ------------------------------------------------------------------ the reproduction


@pytest.mark.parametrize(
    "model",
    [
        *(nn.ConvexReLURegressor(penalty=p, beta=1e-3, bias=True) for p in PENALTIES),
        nn.CrossProductLassoRegressor(beta=1e-3, bias=True),
    ],
)
def test_two_opposite_ramps_share_a_neuron(model):
    """One neuron (x)_+ with weights (1, -1) costs √2, not 2. In one dimension both norms have one optimum."""
    X = np.linspace(-1, 1, 9)[:, None]
    Y = np.hstack([relu(X), -relu(X)])
    options = {"gates": "exhaustive"} if isinstance(model, nn.ConvexReLURegressor) else {}
    model = model.set_params(beta=1e-2, tol=1e-8, **options).fit(X, Y)
    assert model.result_.objective == pytest.approx(0.0134221, abs=1e-7)  # was 0.0183129, "global"
    proof = model.certificate_.verify(X, Y)
    assert proof.scope.startswith("global: all")
    assert proof.relative_gap <= 1e-7
    ramp = 0.95 * np.array([[1.0, -1.0]])
    network = nn.TwoLayerNetwork(np.ones((1, 1)), np.zeros(1), ramp, np.zeros(2))
    value = np.mean(np.sum((network.predict(X) - Y) ** 2, axis=1)) / 2 + 1e-2 * network.penalty()
    assert proof.lower_bound <= value < 0.0183
    descent = Descent(X, Y, "squared", 1e-2, 2, True, True)
    lowest = descent.lowest(np.random.default_rng(0), 8, 6)
    assert proof.lower_bound - 1e-12 <= lowest <= 1.01 * proof.objective


# ------------------------------------------------------------------ pricing


def dual_point(n, C, bias, rng):
    theta = rng.standard_normal((n, C))
    return theta - theta.mean(axis=0) * bias


@pairwise({"bias": [True, False], "p": [1, 2], "C": [2, 4], "d": [1, 2]})
def test_cones_and_the_sweep_agree(d, C, p, bias):
    rng = np.random.default_rng(10 * C + d)
    for X in (rng.standard_normal((7, d)), rng.integers(-1, 2, (7, d)).astype(float)):
        theta = dual_point(7, C, bias, rng)
        sweep = SweepPricer(X, p, bias).price(theta, 2)
        cones = ConePricer(X, nn.enumerate_patterns(X, bias=bias), p, bias).price(theta, 2)
        assert cones.size == pytest.approx(sweep.size, rel=1e-8)
        for found in (sweep, cones):  # and the atom that is returned reaches it
            assert np.linalg.norm(found.neurons.columns(X).T @ theta, axis=1)[0] == pytest.approx(sweep.size, rel=1e-8)


@pytest.mark.parametrize("bias", [True, False])
def test_cones_and_the_dictionary_agree_for_p_1(bias):
    rng = np.random.default_rng(1)
    X, theta = rng.standard_normal((6, 3)), dual_point(6, 3, bias, rng)
    blocks = BlockPricer(X, nn.cross_product_dictionary(X, "l1", bias=bias)).price(theta, 1)
    cones = ConePricer(X, nn.enumerate_patterns(X, bias=bias), 1, bias).price(theta, 1)
    assert cones.size == pytest.approx(blocks.size, rel=1e-8)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [2, 4, 7])
def test_the_supremum_is_above_every_neuron_and_reached(C, bias):
    rng = np.random.default_rng(C)
    X, theta = rng.standard_normal((9, 3)), dual_point(9, C, bias, rng)
    size, neurons = ConePricer(X, nn.enumerate_patterns(X, bias=bias), 2, bias).price(theta, 5)
    np.testing.assert_allclose(neurons.norms(2), 1)
    values = np.linalg.norm(neurons.columns(X).T @ theta, axis=1)
    assert (np.diff(values) <= 1e-12).all()
    assert values[0] <= size * (1 + 1e-12)
    assert values[0] == pytest.approx(size, rel=1e-8)  # whatever C: in a chamber outputs have four dimensions
    v = rng.standard_normal((3, 20_000))
    v /= np.linalg.norm(v, axis=0)
    b = bias * -(X[rng.integers(0, 9, 20_000)] * v.T).sum(axis=1)
    assert np.linalg.norm(relu(X @ v + b).T @ theta, axis=1).max() <= size


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("bias", [True, False])
def test_more_outputs_are_bounded(bias, p):
    rng = np.random.default_rng(8)
    X, theta = rng.standard_normal((60, 6)), dual_point(60, 6, bias, rng)
    v, b = rng.standard_normal((6, 12)), bias * rng.standard_normal(12)
    patterns = X @ v + b > 0
    patterns[:, 0] = True  # on everywhere
    size, neurons = ConePricer(X, patterns, p, bias).price(theta, 5)
    reached = np.linalg.norm(neurons.columns(X).T @ theta, axis=1)[0]
    assert reached * (1 - 1e-12) <= size <= (1.15 if p == 2 else 1.5) * reached
    v, b = v[:, 1:] / np.linalg.norm(v[:, 1:], ord=p, axis=0), b[1:] / np.linalg.norm(v[:, 1:], ord=p, axis=0)
    assert np.linalg.norm(relu(X @ v + b).T @ theta, axis=1).max() <= reached * (1 + 1e-12)
    one = relaxed_lengths(np.eye(6)[None], np.zeros((1, 6, 0)), np.eye(6)[None], 6, np.ones(1))
    assert one == pytest.approx(1.0)  # no cone: the spectral norm
    axes = np.diag([2.0, 1.0])[None]  # the orthant of the plane
    across = np.array([[[1.0, 0.0], [-2.0, 0.0]]])  # |v_1 - 2 v_2| on it is at most 2, off it √5
    length = relaxed_lengths(across, axes, np.eye(2)[None], 2, np.full(1, 1.9))[0]
    assert 2.0 - 1e-12 <= length <= 2.01


@pytest.mark.slow
def test_outputs_that_depend_on_each_other_cost_nothing():
    """Softmax residuals sum to zero over the classes: five of them are four outputs."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 3))
    theta = dual_point(12, 4, True, rng)
    five = np.hstack([theta, -theta.sum(axis=1, keepdims=True)])
    turned = five @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    pricer = ConePricer(X, nn.enumerate_patterns(X)[:, ::5], 2)
    one, two = pricer.price(five, 1), pricer.price(turned, 1)
    assert one.size == pytest.approx(two.size, rel=1e-8)
    assert np.linalg.norm(one.neurons.columns(X).T @ five) == pytest.approx(one.size, rel=1e-8)


# ------------------------------------------------------------------ training and proofs


@pairwise({"d": [1, 2, 3], "p": [1, 2], "bias": [False, True], "loss": ["squared", "softmax"]})
def test_no_network_is_below_a_global_bound(d, p, bias, loss):
    """The attack of `python -m tests.reliability proofs`, once for each kind."""
    rng = np.random.default_rng(100 * d + 10 * p + bias)
    X = rng.standard_normal((7, d))
    options = {"gates": "exhaustive", "beta": 0.02, "penalty": f"group_l{p}", "bias": bias, "fit_intercept": bias}
    if loss == "softmax":
        y = np.arange(7) % 3
        model, Y = nn.ConvexReLUClassifier(loss="logistic", **options).fit(X, y), np.eye(3)[y]
    else:
        y = Y = relu(X @ rng.standard_normal((d, 2))) @ np.array([[1.0, -1.0, 0.5], [-0.5, 1.0, 1.0]])
        model = nn.ConvexReLURegressor(**options).fit(X, y)
    proof, net = model.certificate_, model.network_
    assert proof.scope.startswith("global: all")
    assert proof.relative_gap <= 1e-6
    descent = Descent(X, Y, loss, 0.02, p, bias, bias)
    assert descent.objective(net.W1, net.b1, net.w2, net.b2) == pytest.approx(proof.objective, rel=1e-9)
    lowest = descent.lowest(rng, 12, 4, (net.W1, net.b1, net.w2, net.b2), steps=150)
    assert proof.lower_bound - 1e-10 <= lowest <= 1.2 * proof.objective
    assert proof.verify(X, y).lower_bound == pytest.approx(proof.lower_bound, rel=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_given_gates_are_bounded_by_all(penalty):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((7, 2))
    Y = relu(X @ rng.standard_normal((2, 2))) @ np.array([[1.0, -1.0], [1.0, 1.0]])
    options = {"beta": 0.02, "penalty": penalty, "random_state": 0, "tol": 1e-6, "bias": "free"}
    best = nn.ConvexReLURegressor(gates="exhaustive", **options).fit(X, Y)
    few = nn.ConvexReLURegressor(n_gates=5, **options).fit(X, Y)
    assert few.certificate_.scope.startswith("over the")
    assert few.certificate_.relative_gap <= 1e-6
    wide = few.certificate_.over_all_neurons(X, Y)
    assert wide.scope.startswith("global: all")
    assert wide.lower_bound <= best.result_.objective <= few.result_.objective * (1 + 1e-9)
    assert wide.relative_gap > 1e-3


def test_what_knows_one_output_says_so():
    X, Y = np.eye(3), np.eye(3)
    with pytest.raises(ArgumentError, match=r"'y' .* of one output\. Got 3 outputs .* WorkingSet with a ConePricer"):
        ConvexReLUProblem(X, Y, X > 0, 0.1)
    with pytest.raises(ArgumentError, match=r"'solver' .* 'auto' or 'column_generation' for several outputs"):
        nn.ConvexReLURegressor(solver="interior_point", n_gates=3, beta=1e-3, bias=True).fit(X, Y)


def chambers(d, C, p=2, n=40, P=6, seed=0):
    rng = np.random.default_rng(seed)
    X, theta = rng.standard_normal((n, d)), rng.standard_normal((n, C))
    return ConePricer(X, X @ rng.standard_normal((d, P)) > 0, p, False), X, theta


@pytest.mark.parametrize(("p", "C"), [(1, 2), (2, 3), (2, 6)])
def test_late_answers_bound_the_supremum_and_end_the_work(p, C):
    pricer, X, theta = chambers(5, C, p)
    size = pricer.price(theta, 3).size
    asked = []
    none = pricer.price(theta, 3, lambda: asked.append(0) is None)
    assert len(asked) == 1  # no projection begins after the end
    assert len(none.neurons) == 0
    assert none.size >= size * (1 - 1e-12)
    some = pricer.price(theta, 3, lambda: asked.append(0) is None and len(asked) > 2)
    assert some.size >= size * (1 - 1e-12)
    values = np.linalg.norm(some.neurons.columns(X).T @ theta, axis=1)
    assert 0 < values.max() <= size * (1 + 1e-9)
    assert pricer.price(theta, 3, lambda: False).size == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("p", [1, 2])
def test_time_between_projections_leaves_the_largest_bounds_asked_first(p, monkeypatch):
    """What is left out has its bound without cones, so the size is a bound, and at most the one without all cones."""
    pricer, X, theta = chambers(4, 1, p, P=60)
    size, uncut = pricer.price(theta, 3).size, pricer.price(theta, 3, lambda: True).size
    monkeypatch.setattr(cones, "_PART", 40 * 16 * 5)  # five questions
    sizes = []
    for calls in (1, 4, 12, 10**9):
        asked = []
        some = pricer.price(theta, 3, lambda n=calls, a=asked: a.append(0) is None and len(a) > n)
        values = np.linalg.norm(some.neurons.columns(X).T @ theta, axis=1)
        assert 0 < values.max() <= size * (1 + 1e-9)
        assert size * (1 - 1e-12) <= some.size <= uncut * (1 + 1e-12)
        sizes.append(some.size)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == pytest.approx(size, rel=1e-12)
    monkeypatch.setattr(cones, "_BLOCK", 40 * 7)  # seven patterns
    part = pricer.price(theta, 3, lambda a=[]: a.append(0) is None and len(a) > 2)
    assert part.size == np.inf


@pytest.mark.parametrize("C", [2, 3, 6])
def test_a_value_that_is_enough_ends_the_search(C):
    pricer, X, theta = chambers(5, C)
    size = pricer.price(theta, 3).size
    found = pricer.price(theta, 3, enough=0.1 * size)
    values = np.linalg.norm(found.neurons.columns(X).T @ theta, axis=1)
    assert values.max() > 0.1 * size
    assert found.size >= size * (1 - 1e-12)
    assert pricer.price(theta, 3, enough=2 * size).size == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("d", [1, 3, 12, 60])
def test_projections_without_offset_agree(d, monkeypatch):
    pricer, _, theta = chambers(d, 1)
    size, neurons = pricer.price(theta, 6)
    monkeypatch.setattr(cone_best, "project_without_offset", cone_best.project_on_cones)
    other = pricer.price(theta, 6)
    assert size == pytest.approx(other.size, rel=1e-10)
    np.testing.assert_allclose(neurons.directions, other.neurons.directions, atol=1e-8)


def test_a_projection_of_too_many_steps_goes_the_other_way(monkeypatch):
    pricer, _, theta = chambers(4, 1)
    size = pricer.price(theta, 2).size
    monkeypatch.setattr(cone_best, "nnls", nnls_of_no_end)
    assert pricer.price(theta, 2).size == pytest.approx(size, rel=1e-10)


def nnls_of_no_end(*args, **options):
    raise RuntimeError("Maximum number of iterations reached.")
