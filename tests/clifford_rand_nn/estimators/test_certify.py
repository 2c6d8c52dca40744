"""Verdicts on any network: the objective is the formula's, and no network of the family gets below the bound."""

import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand import ArgumentError
from clifford_rand_nn.estimators.foreign_networks import VerdictSettings
from clifford_rand_nn.estimators.foreign_program import TrainingProgram
from support.descents import Descent

LOSSES = ("squared", "huber", "log_cosh", "logistic", "squared_hinge", "softmax")
SLOW = ("huber", "log_cosh", "squared_hinge")


def task(loss, d, n=14, seed=0):
    """Rows, targets (n, C) as the formula takes them, targets as a user gives them, and a random network."""
    rng = np.random.default_rng([seed, d, LOSSES.index(loss)])
    X = rng.standard_normal((n, d))
    z = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    if loss == "softmax":
        labels = np.digitize(z, [-0.4, 0.4])
        y, given = np.eye(3)[labels], labels
    elif loss in ("logistic", "squared_hinge"):
        y = np.where(z > 0, 1.0, -1.0)[:, None]
        given = np.where(z > 0, "yes", "no")
    else:
        y, given = z[:, None], z
    m = 6
    arrays = rng.standard_normal((m, d)), rng.standard_normal(m), rng.standard_normal((m, y.shape[1])), y.mean(axis=0)
    return X, y, given, arrays


def as_penalized(X, arrays):
    """Rows and weights of the problem without biases that penalized biases make."""
    W, b, alpha, t = arrays
    return np.column_stack([X, np.ones(len(X))]), (np.column_stack([W, b]), 0 * b, alpha, t)


MARKED = [pytest.param(loss, marks=[pytest.mark.slow] * (loss in SLOW)) for loss in LOSSES]


@pytest.mark.parametrize("loss", MARKED)
def test_the_objective_is_the_formula_s_and_descents_stay_above_the_bound(loss):
    X, y, given, arrays = task(loss, d=1)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    verdict = nn.certify(arrays, X, given, loss=loss, beta=0.02, sample_weight=weights)
    rows, lifted = as_penalized(X, arrays)
    descent = Descent(rows, y, loss, 0.02, 2, bias=False, intercept=True, weights=weights)
    assert verdict.scope == "of any width"
    assert verdict.objective == pytest.approx(descent.objective(*lifted), rel=1e-12)
    lowest = descent.lowest(np.random.default_rng(2), m=8, starts=4, near=lifted)
    assert verdict.lower_bound <= lowest * (1 + 1e-9)
    assert lowest <= verdict.lower_bound * 1.05  # and the bound is no empty one
    assert verdict.lower_bound <= verdict.best_known_objective <= verdict.lower_bound * (1 + 2e-3)
    assert verdict.excess == pytest.approx(verdict.objective / verdict.lower_bound - 1)
    checked = verdict.certificate.verify(X, given)
    assert checked.lower_bound == pytest.approx(verdict.lower_bound, rel=1e-9)


@pytest.mark.parametrize(("p", "bias"), [(1, "free"), (2, "free"), (1, "penalized"), (2, False)])
def test_of_any_width_in_the_plane(p, bias):
    X, y, given, (W, b, alpha, t) = task("squared", d=2, n=10)
    b = b if bias else None
    penalty = "group_l1" if p == 1 else "group_l2"
    verdict = nn.certify((W, b, alpha, t), X, given, loss="squared", beta=0.02, penalty=penalty, bias=bias)
    rows, weights = X, (W, np.zeros(len(W)) if b is None else b, alpha, t)
    if bias == "penalized":
        rows, weights = as_penalized(X, weights)
    descent = Descent(rows, y, "squared", 0.02, p, bias == "free", True)
    assert verdict.scope == "of any width"
    assert verdict.objective == pytest.approx(descent.objective(*weights), rel=1e-12)
    lowest = descent.lowest(np.random.default_rng(3), m=8, starts=4, near=weights)
    assert verdict.lower_bound <= lowest * (1 + 1e-9)
    assert lowest <= 1.1 * verdict.lower_bound


def test_networks_with_the_patterns_stay_above_a_bound_over_patterns():
    """Neurons of the network move within their patterns, by descent with the weights of others, and none gets below."""
    X, y, given, (W, b, alpha, t) = task("squared", d=6, n=20)
    verdict = nn.certify((W, b, alpha, t), X, given, loss="squared", beta=0.02, gates="network")
    assert verdict.scope == f"over {len(W)} activation patterns"
    rows, lifted = as_penalized(X, (W, b, alpha, t))
    descent = Descent(rows, y, "squared", 0.02, 2, False, True)
    rng, on = np.random.default_rng(0), rows @ lifted[0].T > 0
    for _ in range(20):
        V = lifted[0] + 0.3 * rng.standard_normal(lifted[0].shape)
        same = ((rows @ V.T > 0) == on).all(axis=0)
        V[~same] = lifted[0][~same]
        K = np.maximum(rows @ V.T, 0)
        # output weights of a ridge regression: a network, whatever it is good for
        A = np.column_stack([K, np.ones(len(K))])
        z = np.linalg.solve(A.T @ A + 0.01 * np.eye(A.shape[1]), A.T @ y)
        assert descent.objective(V, lifted[1], z[:-1], z[-1]) >= verdict.lower_bound
    wider = nn.certify((W, b, alpha, t), X, given, loss="squared", beta=0.02)
    assert int(re.search(r"[\d,]+", wider.patterns.scope)[0]) > len(W)
    assert wider.patterns.lower_bound <= verdict.best_known_objective


@pytest.mark.kept("squared-group_l2-free")
@pytest.mark.parametrize("bias", ["penalized", "free"])
@pytest.mark.parametrize(
    ("loss", "penalty"),
    [("squared", "group_l2"), pytest.param("softmax", "group_l2", marks=pytest.mark.slow), ("logistic", "group_l1")],
)
def test_networks_of_any_width_in_many_columns(loss, penalty, bias):
    """Beside the bound over patterns there is one of all neurons, which descents stay above, and an exact proof."""
    X, y, given, arrays = task(loss, d=6, n=12 if loss == "softmax" else 20)
    verdict = nn.certify(arrays, X, given, loss=loss, beta=0.05, penalty=penalty, bias=bias, max_time=3)
    assert verdict.scope == "of any width"
    assert 0 < verdict.lower_bound < verdict.patterns.lower_bound
    assert "of any width; at most" in str(verdict)
    rows, weights = as_penalized(X, arrays) if bias == "penalized" else (X, arrays)
    descent = Descent(rows, y, loss, 0.05, 1 if penalty == "group_l1" else 2, bias == "free", True)
    lowest = descent.lowest(np.random.default_rng(2), m=8, starts=2, near=weights)
    assert verdict.lower_bound <= lowest
    exact = verdict.certificate.verify(X, given, exact=True)
    assert exact.lower_bound == pytest.approx(verdict.lower_bound, rel=1e-6)
    assert exact.lower_bound <= verdict.lower_bound * (1 + 1e-12)


def test_rescaled_neurons_have_the_same_verdict():
    X, _, given, (W, b, alpha, t) = task("squared", d=2)
    scale = np.geomspace(1e-3, 1e3, len(W))[:, None]
    options = {"loss": "squared", "beta": 0.02, "gates": "network"}
    verdict = nn.certify((W, b, alpha, t), X, given, **options)
    other = nn.certify((W * scale, b * scale[:, 0], alpha / scale, t), X, given, **options)
    assert other.objective == pytest.approx(verdict.objective, rel=1e-12)
    assert other.lower_bound == pytest.approx(verdict.lower_bound, rel=1e-6)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_rows_and_targets_of_any_size(size):
    """In other units of rows, targets and beta the problem is the same."""
    X, _, given, (W, b, alpha, t) = task("squared", d=1)
    verdict = nn.certify((W, b, alpha, t), X, given, loss="squared", beta=0.02)
    other, options = (W, size * b, 3 * alpha, 3 * size * t), {"beta": 0.02 * 3 * size**2, "bias_feature": size}
    scaled = nn.certify(other, size * X, 3 * size * given, loss="squared", **options)
    assert scaled.excess == pytest.approx(verdict.excess, rel=1e-3)
    assert scaled.objective == pytest.approx(verdict.objective * 9 * size**2, rel=1e-9)


@pytest.mark.slow
def test_torch_modules_states_and_arrays_are_read_alike():
    torch = pytest.importorskip("torch")
    X, _, given, _ = task("softmax", d=5, n=8)
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    (W, b, A, t) = (part.detach() for part in module.parameters())
    options = {"loss": "logistic", "beta": 0.01, "gates": "network"}
    arrays, state = (W, b, A.T, t), module.state_dict()
    own = nn.TwoLayerNetwork(*(np.ascontiguousarray(part.double().numpy()) for part in arrays))
    forms = module, state, {name: value.numpy() for name, value in state.items()}, arrays, own
    verdicts = [nn.certify(network, X, given, **options) for network in forms]
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(module(torch.tensor(X).float()), torch.tensor(given))
        rows = torch.cat([W, b[:, None]], dim=1)
        value = loss + 0.01 * (rows.norm(dim=1) * A.norm(dim=0)).sum()
    for verdict in verdicts:
        assert verdict.objective == pytest.approx(value.item(), rel=1e-6)
        assert verdict.lower_bound == verdicts[0].lower_bound
    two = torch.nn.Sequential(torch.nn.Linear(5, 5, bias=False), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    labels = torch.tensor(given > 0).long()
    verdict = nn.certify(two, torch.tensor(X).float(), labels, loss="logistic", beta=0.01)
    loss = torch.nn.functional.cross_entropy(two(torch.tensor(X).float()), labels)
    value = loss + 0.01 * (two[0].weight.norm(dim=1) * two[2].weight.norm(dim=0)).sum()
    assert verdict.objective == pytest.approx(value.item(), rel=1e-6)
    assert verdict.certificate.bias is False


@pytest.mark.slow
def test_mlps_bring_their_loss_classes_and_beta():
    """A long L-BFGS run of scikit-learn's own objective does not get below the bound of a short one."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    X, _, labels, _ = task("softmax", d=2, n=12)
    z = np.column_stack([X[:, 0] ** 2, X[:, 1]])
    marks = (z > np.median(z, axis=0)).astype(int)
    for kind, y in ((MLPClassifier, labels), (MLPClassifier, labels > 0), (MLPClassifier, marks), (MLPRegressor, z)):
        values = []
        for steps in (5, 600):
            model = kind(hidden_layer_sizes=(8,), alpha=0.3, solver="lbfgs", max_iter=steps, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X, y)
            verdict = nn.certify(model, X, y, gates="exhaustive")
            assert verdict.certificate.beta == pytest.approx(0.3 / 12)
            assert verdict.certificate.bias is True
            squares = sum(np.sum(W**2) for W in model.coefs_)
            errors = None if kind is MLPClassifier else np.sum((model.predict(X) - y) ** 2, axis=1)
            whole = model.loss_ if errors is None else 0.5 * np.mean(errors) + 0.5 * 0.3 * squares / 12
            assert verdict.objective <= whole * (1 + 1e-6)  # rescaling lessens the penalty
            values.append((verdict, whole))
        (early, _), (late, whole) = values
        assert early.scope == "of any width"
        assert early.lower_bound <= whole * (1 + 1e-9)
        assert late.objective == pytest.approx(whole, rel=1e-2)  # trained neurons are balanced
        assert late.excess < early.excess


def test_estimators_of_this_library_are_at_their_optimum():
    X, _, given, _ = task("squared", d=1)
    model = nn.ConvexReLURegressor(gates="exhaustive", beta=0.02).fit(X, given)
    verdict = nn.certify(model, X, given)
    assert verdict.excess <= 2e-3
    assert verdict.objective == pytest.approx(model.certificate_.objective, rel=1e-9)
    with pytest.raises(ArgumentError, match="of ReLU neurons"):
        nn.certify(nn.GatedReLURegressor(n_gates=3, beta=0.1).fit(X, given), X, given)


@pytest.mark.parametrize("size", [1.0, 1e15])
def test_networks_of_standardized_rows(size):
    """A sampled dictionary whose beta is chosen is made of standardized rows, in which its objective is stated."""
    X, _, given, _ = task("squared", d=2, n=30)
    X = size * (5 + 3 * X)
    model = nn.CrossProductLassoRegressor(subsample=30, penalty="auto", random_state=0).fit(X, given)
    assert model.certificate_.claim.standard is not None
    verdict = nn.certify(model, X, given)
    assert verdict.objective == pytest.approx(model.certificate_.objective, rel=1e-9)
    checked = verdict.certificate.verify(X, given)
    assert checked.objective == pytest.approx(verdict.objective, rel=1e-9)
    assert checked.lower_bound == pytest.approx(verdict.lower_bound, rel=1e-9)


def test_dead_repeated_and_constant_neurons_and_no_neuron_at_all():
    X, _, given, (W, b, alpha, t) = task("squared", d=1)
    options = {"loss": "squared", "beta": 0.02}
    more = np.vstack([W, [[1.0]]]), np.append(b, -1e3), np.vstack([alpha, [[0.0]]]), t
    dead = nn.certify(more, X, given, **options)
    twice = nn.certify((np.vstack([W, W]), np.append(b, b), np.vstack([alpha, alpha]) / 2, t), X, given, **options)
    plain = nn.certify((W, b, alpha, t), X, given, **options)
    assert plain.objective == pytest.approx(dead.objective) == pytest.approx(twice.objective)
    nothing = nn.certify((np.zeros((0, 1)), np.zeros(0), np.zeros((0, 1)), given.mean()), X, given, **options)
    assert nothing.objective == pytest.approx(0.5 * np.var(given))
    assert nothing.lower_bound <= nothing.objective


def test_a_short_time_still_proves_something():
    X, _, given, arrays = task("squared", d=6, n=60)
    verdict = nn.certify(arrays, X, given, loss="squared", beta=0.05, max_time=1e-3)
    longer = nn.certify(arrays, X, given, loss="squared", beta=0.05, gates="network")
    assert 0 <= verdict.lower_bound <= longer.best_known_objective * (1 + 1e-9)


def test_more_patterns_than_a_float_can_count_are_not_listed():
    X = np.random.default_rng(0).standard_normal((1200, 600))
    settings = VerdictSettings(loss="squared", beta=0.1, max_time=None)
    arrays = np.ones((1, 600)), np.zeros(1), np.ones(1), 0.0
    assert not TrainingProgram.of(arrays, X, X[:, 0], settings, "certify")._is_listable()


@pytest.mark.slow
def test_one_output_has_at_most_two_neurons_of_a_pattern():
    """Neurons of a cone are added up, also those on its boundary: 13 without it."""
    X, _, given, arrays = task("squared", d=8, n=120)
    arrays = tuple(part[:4] for part in arrays[:3]) + arrays[3:]
    settings = VerdictSettings(loss="squared", beta=0.002, gates="network", tol=1e-4)
    solution = TrainingProgram.of(arrays, X, given, settings, "certify").solve()
    assert solution.network.n_neurons <= 2 * solution.certificate.n_patterns == 8
    assert solution.objective <= solution.certificate.lower_bound * (1 + 2e-4)


def test_texts():
    proof = SimpleNamespace(loss="squared", beta=0.1)
    values = {"objective": 1.132, "lower_bound": 1.0, "excess": 0.132, "best_known_objective": 1.1}
    verdict = nn.Verdict(**values, scope="of any width", certificate=proof)
    assert str(verdict) == "at most 13.2 % above the best network of any width"
    assert "this says nothing about new rows" in verdict._repr_html_()
    assert "no lower bound" in str(replace(verdict, lower_bound=0.0, excess=np.inf))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"loss": None}, "'loss' parameter of certify must be one of"),
        ({"beta": None}, "'beta' parameter of certify must be a finite number > 0"),
        ({"bias": False}, "hidden layer has biases"),
        ({"fit_intercept": False}, "True where the output has a bias"),
        ({"bias": "free", "bias_feature": 2.0}, "None unless bias='penalized'"),
        ({"gates": "sampled"}, "'gates' parameter of certify"),
        ({"y": np.arange(14)}, "of 2 classes, for the outputs of the network. Got 14 classes instead. Or"),
        ({"y": np.ones((14, 2))}, "a constant column"),
        ({"X": np.ones((14, 3))}, r"of shape \(n, 1\), as the network takes them"),
        ({"network": np.ones(3)}, "'network' parameter of certify must be a torch.nn.Sequential"),
        ({"network": (np.ones((2, 1)), np.ones(3), np.ones(2), 0.0)}, r"biases b1 of shape \(2,\)"),
        ({"network": {"a": np.ones((2, 1))}}, "a state of two linear layers"),
    ],
)
def test_errors_name_the_argument_and_its_rule(changes, match):
    X, _, _, arrays = task("logistic", d=1)
    arguments = {"network": arrays, "X": X, "y": X[:, 0] > 0, "loss": "logistic", "beta": 0.1} | changes
    with pytest.raises(ArgumentError, match=match):
        nn.certify(**arguments)


def test_of_any_width_by_branch_and_bound_in_more_dimensions():
    X, _, given, arrays = task("squared", d=2, n=40)
    verdict = nn.certify(arrays, X, given, loss="squared", beta=0.05, tol=0.02, max_time=None)
    narrow = nn.certify(arrays, X, given, loss="squared", beta=0.05, gates="network")
    assert verdict.scope == "of any width"
    assert verdict.lower_bound <= narrow.best_known_objective
    assert verdict.best_known_objective <= 1.03 * verdict.lower_bound
