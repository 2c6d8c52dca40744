"""Regularization paths: laws of the optimal value, agreement of the exact path with the solvers, beta_max."""

from dataclasses import replace

import numpy as np
import pytest

import clifford_rand_nn as nn
from support.pairwise import pairwise

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (30, 2))
Y = np.abs(X[:, 0] - 0.2) + 0.5 * X[:, 1] + 0.1 * RNG.standard_normal(30)
GATES = nn.sample_gates(X, 8, random_state=1)

PATHS = {
    "exact": lambda **o: nn.lasso_path(X, Y, **o),
    "exact, l2": lambda **o: nn.lasso_path(X, Y, penalty="l2", bias=False, **o),
    "subsample": lambda **o: nn.lasso_path(X, Y, subsample=40, random_state=0, **o),
    "huber": lambda **o: nn.lasso_path(X, Y, loss="huber", huber_delta=0.3, **o),
    "logistic": lambda **o: nn.relu_path(X, np.sign(Y), loss="logistic", **o),
    "gates": lambda **o: nn.relu_path(X, Y, GATES, **o),
    "gates, l1": lambda **o: nn.relu_path(X, Y, GATES, penalty="group_l1", **o),
    "all": lambda **o: nn.relu_path(X, Y, bias=False, **o),
    "gated": lambda **o: nn.gated_path(X, Y, GATES, bias=False, **o),
    "gated, softmax": lambda **o: nn.gated_path(
        X, np.eye(3)[np.digitize(Y, [0.2, 0.6])], GATES, bias=False, loss="softmax", **o
    ),
}


@pytest.mark.kept("huber")
@pytest.mark.parametrize("name", PATHS)
def test_laws_of_the_optimal_value(name):
    """Zero neurons from beta_max on and some right below; p(beta) rises, is concave, and has the penalty as slope."""
    path = PATHS[name](n_betas=5, eps=0.05, **({} if "exact" in name or name == "subsample" else {"tol": 1e-8}))
    assert path.betas[0] == path.beta_max
    assert path.n_neurons[0] == 0
    assert (path.n_neurons[1:] > 0).all()
    assert (path.relative_gaps <= 1e-7).all()
    assert set(path.statuses) == {"optimal"}
    assert (np.diff(path.objectives) < 0).all()
    slopes = np.diff(path.objectives) / np.diff(path.betas)
    assert (np.diff(slopes) >= -1e-6 * slopes[-1]).all()
    p = 1 if name in ("exact", "subsample", "huber", "gates, l1") else 2
    penalties = np.array([network.penalty(p) for network in path.networks])
    assert (penalties[:-1] <= slopes * (1 + 1e-4)).all()
    assert (slopes <= penalties[1:] * (1 + 1e-4)).all()
    above = PATHS[name](betas=[3 * path.beta_max, path.beta_max])
    assert above.n_neurons.tolist() == [0, 0]
    assert PATHS[name](betas=[0.99 * path.beta_max]).n_neurons[0] > 0
    assert above.objectives[0] == pytest.approx(above.objectives[1], rel=1e-10)


def test_the_exact_path_between_and_at_its_breakpoints():
    path = nn.lasso_path(X, Y, n_betas=30, eps=0.01)
    assert path.scope.startswith("global: all")
    assert path.breakpoints[0] == pytest.approx(path.beta_max)
    assert (np.diff(path.breakpoints) < 0).all()
    for i in (5, 17, 29):
        model = nn.CrossProductLassoRegressor(beta=path.betas[i], tol=1e-9, bias=True).fit(X, Y)
        assert path.objectives[i] == pytest.approx(model.result_.objective, rel=1e-8)
        np.testing.assert_allclose(path.predict(X)[i], model.predict(X), atol=1e-4)


def test_beta_max_in_closed_form():
    """2 max |K'(y - mean)| in the paper's scale, which is 2n times ours."""
    K = nn.cross_product_dictionary(X, "l2").matrix()
    expected = 2 * np.abs(K.T @ (Y - Y.mean())).max()
    assert 2 * len(X) * nn.lasso_path(X, Y, penalty="l2", n_betas=1).beta_max == pytest.approx(expected, rel=1e-12)
    D = GATES.activations(X)
    gated = nn.gated_path(X, Y, GATES, bias=False, fit_intercept=False, n_betas=1).beta_max
    assert gated == pytest.approx(np.linalg.norm((D * Y[:, None]).T @ X, axis=1).max() / len(X), rel=1e-12)


@pytest.mark.parametrize("name", ["gates", "gated"])
def test_warm_starts_change_nothing(name):
    path = PATHS[name](n_betas=5, eps=0.02, tol=1e-8)
    make = nn.ConvexReLURegressor if name == "gates" else nn.GatedReLURegressor
    for beta, value in zip(path.betas[1:], path.objectives[1:], strict=True):
        model = make(gates=GATES, beta=beta, bias=name == "gates", tol=1e-8).fit(X, Y)
        assert value == pytest.approx(model.result_.objective, rel=1e-7)


def test_nothing_to_learn():
    path = nn.lasso_path(X, np.full(30, 1.5), n_betas=3)
    assert path.n_neurons.tolist() == [0, 0, 0]
    assert path.objectives.max() <= 1e-28
    assert "3 betas" in repr(path)


WHOLE = np.random.default_rng(5).integers(1, 4, 30)
ORDER = np.random.default_rng(6).permutation
OF_COPIES = {
    "exact": lambda x, y, **o: nn.lasso_path(x, y, **o),
    "subsample": lambda x, y, **o: nn.lasso_path(
        x, y, subsample=40, random_state=0, loss="huber", huber_delta=0.3, **o
    ),
    "l2": lambda x, y, **o: nn.lasso_path(x, np.sign(y), penalty="l2", loss="logistic", **o),
    "gates": lambda x, y, **o: nn.relu_path(x, np.stack([y, y**2], axis=1), GATES, **o),
    "all": lambda x, y, **o: nn.relu_path(x, y, bias=False, **o),
}


@pytest.mark.kept("all")
@pytest.mark.parametrize("name", OF_COPIES)
def test_copies_and_order_of_rows_change_no_bit(name):
    """Solvers see every row once, in an order of its own; before, paths were equal within their gaps only."""
    options = {"n_betas": 3, "eps": 0.05, "tol": 1e-3}
    twice, whole = ORDER(np.repeat(np.arange(30), 2)), ORDER(np.repeat(np.arange(30), WHOLE))
    one, two = (OF_COPIES[name](X[rows], Y[rows], **options) for rows in (np.arange(30), twice))
    np.testing.assert_array_equal(one.objectives, two.objectives)
    assert any(network.n_neurons for network in one.networks)
    for a, b in zip(one.networks, two.networks, strict=True):
        for part in ("W1", "b1", "w2", "b2"):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
    weighted, copied = (
        OF_COPIES[name](X, Y, sample_weight=WHOLE, **options),
        OF_COPIES[name](X[whole], Y[whole], **options),
    )
    np.testing.assert_allclose(weighted.objectives, copied.objectives, rtol=1e-9)  # weights are rounded twice


OFFSET_PATHS = {  # with the norm of their penalty
    "gated": (2, lambda y, **o: nn.gated_path(X, y, GATES, n_betas=3, **o)),
    "exact": (1, lambda y, **o: nn.lasso_path(X[:, :1], y, n_betas=3, **o)),
    "all": (2, lambda y, **o: nn.relu_path(X[:, :1], y, n_betas=3, **o)),
}


@pytest.mark.kept("gated-squared-100000.0")
@pairwise({"name": OFFSET_PATHS, "loss": ["squared", "huber"], "offset": [1e5, -1e12]})
def test_an_offset_of_the_targets_is_one_of_the_intercepts(name, loss, offset):
    (p, path), y = OFFSET_PATHS[name], Y + offset
    centered, moved = path(y - offset, loss=loss), path(y, loss=loss)  # y - offset is exact
    np.testing.assert_allclose(moved.betas, centered.betas, rtol=1e-9)
    np.testing.assert_allclose(moved.lower_bounds, centered.lower_bounds, rtol=2e-6)
    for k, network in enumerate(moved.networks):
        there = replace(network, b2=network.b2 - offset)  # exact too
        r = np.abs(there.predict(X[:, : network.W1.shape[1]]) - (y - offset))
        losses = r**2 / 2 if loss == "squared" else np.where(r <= 1, r**2 / 2, r - 0.5)
        objective = losses.mean() + moved.betas[k] * network.penalty(p)
        assert moved.objectives[k] == pytest.approx(objective, rel=1e-9)
        assert moved.relative_gaps[k] == pytest.approx(1 - moved.lower_bounds[k] / objective, abs=2e-9)
