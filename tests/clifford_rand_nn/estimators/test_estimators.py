"""The estimators as scikit-learn users meet them, and what their attributes promise."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexReLURegressor, GatedReLUClassifier, GatedReLURegressor, Gates, spiral
from clifford_rand_nn.problems.duality import gap_above


def classes_3(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((90, 4))
    return X, np.array(["blue", "green", "red"])[np.argmax(X[:, :3] + 0.3 * rng.standard_normal((90, 3)), axis=1)]


@pytest.mark.parametrize("gates", ["cross", "gaussian"])
@pytest.mark.parametrize(("bias", "fit_intercept"), [(True, True), (False, True), (True, False), (False, False)])
def test_everything_printed_can_be_recomputed(gates, bias, fit_intercept):
    X, y = make_moons(80, noise=0.2, random_state=0)
    model = GatedReLUClassifier(20, gates, beta=0.01, bias=bias, fit_intercept=fit_intercept, random_state=0).fit(X, y)
    m = model.patterns_.shape[1]
    assert model.coef_.shape == (m, 2)
    assert model.gate_intercept_.shape == (m,)
    np.testing.assert_array_equal(model.gates_.on(X), model.patterns_)
    f = (
        sum(model.patterns_[:, i] * (X @ model.coef_[i] + model.gate_intercept_[i]) for i in range(m))
        + model.intercept_
    )
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-12)
    np.testing.assert_allclose(model.result_.fitted[:, 0], f, atol=1e-10)
    t = np.where(y == 1, 1.0, -1.0)
    objective = np.mean((f - t) ** 2) / 2 + 0.01 * np.linalg.norm(model.coef_, axis=1).sum()
    assert model.result_.objective == pytest.approx(objective, rel=1e-12)
    network = model.network_
    np.testing.assert_allclose(network.predict(X), f, atol=1e-10)
    assert network.penalty() == pytest.approx(np.linalg.norm(model.coef_, axis=1).sum(), rel=1e-12)
    active = np.abs(network.W1).sum(axis=1) > 0
    np.testing.assert_allclose(np.linalg.norm(network.W1[active], axis=1), np.abs(network.w2[active, 0]), rtol=1e-10)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_certificate_verifies_from_the_data_alone(loss, n_classes):
    X, y = classes_3()
    if n_classes == 2:
        X, y = X[y != "red"], y[y != "red"]
    model = GatedReLUClassifier(10, beta=0.05, loss=loss, random_state=0, bias=True).fit(X, y)
    stored, again = model.certificate_, model.certificate_.verify(X, y)
    assert again.primal == pytest.approx(stored.primal, rel=1e-10)
    assert again.dual == pytest.approx(stored.dual, rel=1e-8)
    assert again.relative_gap < 2e-6
    assert "over the 10 sampled patterns" in str(again)
    # What is stored decides nothing: wrong values are corrected, an infeasible dual point is scaled into the bound.
    forged = replace(stored, primal=0.0, dual=9.9, relative_gap=0.0, dual_point=1.5 * stored.dual_point).verify(X, y)
    assert forged.primal == pytest.approx(stored.primal, rel=1e-10)
    assert forged.dual <= stored.primal
    # It is the data that decide: other labels, another gap.
    assert model.certificate_.verify(X, np.roll(y, 7)).relative_gap > 0.01
    with pytest.raises(ArgumentError, match=r"must be the training rows"):
        model.certificate_.verify(X[:-1], y[:-1])


def test_multiclass_penalty_of_units():
    X, y = classes_3()
    model = GatedReLUClassifier(10, beta=0.02, random_state=0, bias=True).fit(X, y)
    assert model.coef_.shape == (3, 10, 4)
    assert model.network_.penalty() == pytest.approx(np.linalg.norm(model.coef_, axis=(0, 2)).sum(), rel=1e-12)
    np.testing.assert_allclose(model.network_.predict(X), model.result_.fitted, atol=1e-10)
    np.testing.assert_allclose(model.decision_function(X), model.result_.fitted, atol=1e-10)


def test_labels_of_every_kind():
    X, y = classes_3()
    for labels in (y, np.array([2, 5, 9])[np.unique(y, return_inverse=True)[1]]):
        model = GatedReLUClassifier(10, beta=0.01, random_state=0, bias=True).fit(X, labels)
        np.testing.assert_array_equal(model.classes_, np.unique(labels))
        assert model.predict(X).dtype == labels.dtype
        assert model.score(X, labels) > 0.8
    model = GatedReLUClassifier(10, beta=0.01, random_state=0, bias=True).fit(X, y == "red")
    assert model.predict(X).dtype == bool


def test_regression_with_several_outputs():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    Y = np.stack([np.abs(X[:, 0]), np.maximum(X[:, 1], 0)], axis=1)
    model = GatedReLURegressor(60, beta=1e-3, random_state=0, bias=True).fit(X, Y)
    assert model.coef_.shape[0] == 2
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.98
    single = GatedReLURegressor(60, beta=1e-3, random_state=0, bias=True).fit(X, Y[:, 0])
    assert single.predict(X).shape == (120,)
    assert isinstance(single.intercept_, float)


def test_learns_what_a_line_cannot():
    X, y = make_moons(400, noise=0.15, random_state=1)
    Xt, yt = make_moons(400, noise=0.15, random_state=2)
    assert GatedReLUClassifier(50, beta=1e-3, random_state=0, bias=True).fit(X, y).score(Xt, yt) > 0.95


def test_given_gates_and_seeds():
    X, y = spiral()
    H, c = np.random.default_rng(0).standard_normal((2, 9)), np.zeros(9)
    model = GatedReLUClassifier(gates=(H, c), beta=0.01, bias=True).fit(X, y)
    distinct = np.unique(X @ H >= 0, axis=1).shape[1]
    assert model.certificate_.scope == f"over the {distinct} given patterns"
    a, b = (GatedReLUClassifier(5, random_state=s, beta=1e-3, bias=True).fit(X, y).coef_ for s in (3, np.int64(3)))
    np.testing.assert_array_equal(a, b)
    r = np.random.RandomState(0)
    assert not np.array_equal(
        *(GatedReLUClassifier(5, random_state=r, beta=1e-3, bias=True).fit(X, y).coef_ for _ in range(2))
    )


def test_warns_when_it_stops_early():
    X, y = spiral()
    with pytest.warns(ConvergenceWarning, match=r"GatedReLUClassifier: stopped after 2 iterations at a relative gap"):
        GatedReLUClassifier(10, max_iter=2, random_state=0, beta=1e-3, bias=True).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_gates": 0}, "'n_gates' parameter of GatedReLUClassifier must be an integer ≥ 1. Got 0 instead"),
        ({"beta": 0.0}, "'beta' .* a finite number > 0. Got 0.0"),
        ({"gates": "hash"}, "'gates' .* 'exhaustive', 'cross', 'gaussian', .*'opposite'.* Got 'hash'"),
        ({"gates": 3}, r"a pair \(directions \(d, m\), offsets \(m,\)\). Got 3"),
        ({"gates": (np.eye(3), np.zeros(3))}, "in dimension 2, that of X"),
        ({"penalty": "l1"}, "one of 'group_l2'"),
        ({"loss": "hinge"}, "'squared', 'logistic'"),
        ({"solver": "sgd"}, "one of 'auto', 'kernel', 'gram', 'fista', 'cvxpy'"),
        ({"bias": "yes"}, "'penalized', 'free'"),
        ({"sketch_dim": 5}, "an integer from 1 to 2. Got 5"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = spiral()
    with pytest.raises(ArgumentError, match=message):
        GatedReLUClassifier(**({"beta": 1e-3, "bias": True} | parameters)).fit(X, y)


def test_bad_data():
    X, y = spiral()
    with pytest.raises(ValueError, match=r"NaN"):
        GatedReLUClassifier(beta=1e-3, bias=True).fit(np.where(X > 0.5, np.nan, X), y)
    with pytest.raises(ArgumentError, match=r"labels of at least two classes. Got one class"):
        GatedReLUClassifier(beta=1e-3, bias=True).fit(X, np.ones(160))
    with pytest.raises(NotFittedError):
        GatedReLUClassifier(beta=1e-3, bias=True).predict(X)


def test_a_network_below_its_bound_is_an_error():
    """`verify` once clamped the gap: a network 7 % below the bound was "within 0.0e+00"."""
    X, y = spiral(20)
    few = ConvexReLURegressor(n_gates=5, beta=1e-3, random_state=0, bias=True).fit(X, y).certificate_
    best = ConvexReLURegressor(gates="exhaustive", beta=1e-3, bias=True).fit(X, y).certificate_
    assert best.primal < 0.93 * few.dual  # of another family, so that the bound is none for it
    with pytest.raises(ArgumentError, match=r"no network is below the bound .* by more than .*Got an objective of"):
        replace(few, claim=few.claim._replace(network=best.claim.network)).verify(X, y)


def test_a_solver_does_not_hide_a_bound_above_its_objective():
    assert gap_above(1.0, 1.0 + 1e-9, 1.0) == 0.0
    with pytest.raises(ArithmeticError, match=r"above the objective 0\.93 by more than rounding"):
        gap_above(0.93, 1.0, 1.0)


def test_units_for_a_bias_alone_are_no_neurons():
    x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    gates = Gates.given(np.array([[1.0, -1.0]]))
    model = GatedReLURegressor(gates=gates, beta=10.0, tol=1e-9, bias=True).fit(x, np.array([0.0, 0.0, 1.0, 1.0]))
    assert not model.coef_.any()  # the penalty is too large for weights,
    np.testing.assert_allclose(model.predict(x), [0, 0, 1, 1], atol=1e-6)  # but biases cost nothing
    assert model.network_.n_neurons == 0
