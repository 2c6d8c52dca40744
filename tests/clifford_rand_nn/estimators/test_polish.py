"""Polished networks: never worse, of the same kind, no wider, and certified."""

import warnings

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexReLURegressor, TwoLayerNetwork, polish
from clifford_rand_nn.estimators import certify as polishing
from clifford_rand_nn.estimators import foreign_program as program
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from support.descents import Descent

BETA = 0.02


def data(d=2, n=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(n), rng


def objective(X, y, arrays, loss="squared", weights=None):
    """Objective with penalized biases, by the formula."""
    W, b, alpha, t = (np.asarray(part, dtype=float) for part in arrays)
    rows, W = np.column_stack([X, np.ones(len(X))]), np.column_stack([W, b])
    formula = Descent(rows, np.reshape(y, (len(X), -1)), loss, BETA, 2, False, True, weights)
    return formula.objective(W, 0 * b, alpha.reshape(len(W), np.size(t)), np.atleast_1d(t))


def networks(rng, d, y):
    W, b, alpha = rng.standard_normal((5, d)), rng.standard_normal(5), 0.5 * rng.standard_normal((5, 1))
    t = np.array([y.mean()])
    yield "random", (W, b, alpha, t)
    yield "dead", (W, np.append(b[:4], -1e3), alpha, t)
    yield "twice", (np.vstack([W, W]), np.append(b, b), np.vstack([alpha, -alpha]), t)
    yield "zeros", (0 * W, 0 * b, 0 * alpha, t)
    yield "constants", (0 * W, 1 + 0 * b, alpha, t)
    yield "one", (W[:1], b[:1], alpha[:1], t)
    yield "none", (W[:0], b[:0], alpha[:0], t)


@pytest.mark.parametrize("d", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_any_network_is_no_worse_no_wider_and_certified(d):
    X, y, rng = data(d)
    weights = rng.uniform(0.5, 2, len(X))
    for name, arrays in networks(rng, d, y):
        result = polish(arrays, X, y, loss="squared", beta=BETA, sample_weight=weights)
        assert [np.ndim(part) for part in result.network] == [np.ndim(part) for part in arrays], name
        assert len(result.network[0]) <= len(arrays[0]), name
        before, after = (objective(X, y, network, weights=weights) for network in (arrays, result.network))
        assert result.objective_before == pytest.approx(before, rel=1e-12), name
        assert result.objective_after == pytest.approx(after, rel=1e-12), name
        assert result.objective_after <= result.objective_before, name
        checked = result.certificate.verify(X, y)
        assert checked.objective == pytest.approx(result.objective_after, rel=1e-9), name
        if len(arrays[0]) == 5 and d == 1:  # a width that is enough for these data
            assert checked.relative_gap < 0.02, name
        again = polish(result.network, X, y, loss="squared", beta=BETA, sample_weight=weights)
        assert again.objective_after <= result.objective_after, name


def test_neurons_are_balanced_and_equal_norms():
    X, y, rng = data(5)
    arrays = next(iter(networks(rng, 5, y)))[1]
    W, b, alpha, _ = polish(arrays, X, y, loss="squared", beta=BETA).network
    sizes = np.hypot(np.linalg.norm(W, axis=1), b)
    np.testing.assert_allclose(sizes, np.linalg.norm(alpha, axis=1), rtol=1e-12)


def test_an_optimal_network_keeps_its_objective():
    X, y, _ = data(1)
    model = ConvexReLURegressor(gates="exhaustive", beta=BETA, tol=1e-9).fit(X, y)
    options = {"loss": "squared", "beta": BETA, "bias_feature": model.bias_feature_}
    result = polish(model.network_, X, y, **options)
    assert isinstance(result.network, TwoLayerNetwork)
    assert result.objective_before >= result.objective_after >= result.objective_before * (1 - 1e-8)
    with pytest.raises(ArgumentError, match="Pass its network_"):
        polish(model, X, y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_torch_modules_come_back_as_modules(dtype):
    torch = pytest.importorskip("torch")
    X, y, _ = data(5)
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    module = module.to(getattr(torch, dtype))
    state, rng_state = {name: value.clone() for name, value in module.state_dict().items()}, torch.get_rng_state()
    result = polish(module, X, y, loss="squared", beta=BETA)
    assert torch.equal(torch.get_rng_state(), rng_state)
    assert all(torch.equal(state[name], value) for name, value in module.state_dict().items())  # nothing in place
    polished = result.network
    assert isinstance(polished, torch.nn.Sequential)
    assert all(part.dtype == getattr(torch, dtype) and part.requires_grad for part in polished.parameters())
    assert polished[0].out_features == polished[2].in_features == len(polished[0].weight) <= 4
    W, b, A, t = (part.detach().numpy().astype(float) for part in polished.parameters())
    assert result.objective_after == pytest.approx(objective(X, y, (W, b, A.T, t)), rel=1e-12)
    assert result.objective_after < 0.8 * result.objective_before
    outputs = polished(torch.tensor(X, dtype=getattr(torch, dtype))).detach().numpy()
    np.testing.assert_allclose(outputs, np.maximum(X @ W.T + b, 0) @ A.T + t, atol=1e-5)
    named = polish(module.state_dict(), X, y, loss="squared", beta=BETA).network
    loaded = torch.nn.Sequential(torch.nn.Linear(5, len(named["0.bias"])), torch.nn.ReLU(), torch.nn.Linear(
        len(named["0.bias"]), 1)).to(getattr(torch, dtype))  # fmt: skip
    loaded.load_state_dict(named)
    assert torch.equal(loaded[0].weight, polished[0].weight)


def test_mlps_come_back_as_mlps_that_go_on_training():
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    X, y, _ = data(2, 30)
    labels = np.digitize(y, [-0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MLPClassifier(hidden_layer_sizes=(6,), alpha=0.5, max_iter=20, random_state=0).fit(X, labels)
    result = polish(model, X, labels)
    assert result.objective_after < result.objective_before
    polished = result.network
    assert polished.hidden_layer_sizes == (len(polished.intercepts_[0]),)
    assert len(polished.intercepts_[0]) <= 6
    # beta = alpha / batch, of 30 rows
    loss = -np.mean(polished.predict_log_proba(X)[np.arange(30), labels])
    sizes = np.linalg.norm(polished.coefs_[0], axis=0) @ np.linalg.norm(polished.coefs_[1], axis=1)
    assert result.objective_after == pytest.approx(loss + 0.5 / 30 * sizes, rel=1e-9)
    assert polished.score(X, labels) >= model.score(X, labels)
    polished.partial_fit(X, labels)
    assert model.hidden_layer_sizes == (6,)


def test_what_layers_cannot_hold_is_refused():
    X, y, rng = data(1)
    W, alpha = rng.standard_normal((3, 1)), rng.standard_normal((3, 1))
    result = polish((W, None, alpha, None), X, y, loss="squared", beta=BETA)
    assert result.network[1] is None
    assert result.network[3] is None
    assert result.objective_after < result.objective_before
    with pytest.raises(ArgumentError, match="output layer has no bias"):
        polish((W, None, alpha, None), X, y, loss="squared", beta=BETA, fit_intercept=True)
    with pytest.raises(ArgumentError, match="hidden layer has no biases"):
        polish((W, None, alpha, np.zeros(1)), X, y, loss="squared", beta=BETA, bias="penalized")


def test_time_is_kept_for_what_follows_a_solver(monkeypatch):
    """The augmented Lagrangian ends with projections on all cones; weights of given neurons have a limit, too."""
    X, y, rng = data(5)
    arrays = next(iter(networks(rng, 5, y)))[1]
    limits, masters = [], []
    solve, solved_master = AugmentedLagrangian.solve, polishing.solved_master
    monkeypatch.setattr(program, "projection_seconds", lambda n, d: 10.0)  # twice for each of up to 5 patterns
    noted = lambda self, problem: limits.append(self.max_time) or solve(self, problem)  # noqa: E731
    monkeypatch.setattr(AugmentedLagrangian, "solve", noted)
    monkeypatch.setattr(polishing, "solved_master", lambda *given: masters.append(given[-1]) or solved_master(*given))
    polish(arrays, X, y, loss="squared", beta=BETA, gates="network", max_time=1000.0)
    assert 1 <= len(limits) <= 2
    assert all(500 <= limit <= 980 for limit in limits)
    assert masters
    assert all(limit <= 1000.0 for limit in masters)


def test_text_and_table():
    X, y, rng = data(1)
    result = polish(next(iter(networks(rng, 1, y)))[1], X, y, loss="squared", beta=BETA)
    assert str(result).startswith("training objective ")
    assert " % lower; at most " in str(result)
    assert str(result) in result._repr_html_()
