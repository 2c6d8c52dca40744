"""Peers choose by folds of the rows they are fitted to, and are what their words say."""

from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from examples.accuracy.clock import one_thread
from examples.accuracy.methods import METHODS, classifiers, regressors
from examples.accuracy.methods.base import folds
from examples.accuracy.methods.classifiers import TunedBoosting, TunedLogistic, TunedSVC
from examples.accuracy.methods.outside import XRFM
from examples.accuracy.methods.tuned import Tuned, log_loss

rng = np.random.default_rng(8)
X = rng.standard_normal((90, 3)) * [1, 5, 20]
Y = (X[:, 0] + 0.3 * rng.standard_normal(90) > 0).astype(int) + (X[:, 1] > 4)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    few = [{"alpha": 1.0, "hidden_layer_sizes": (100,)}]
    monkeypatch.setattr(classifiers, "MLP_GRID", few)
    monkeypatch.setattr(regressors, "MLP_GRID", few)
    monkeypatch.setattr(classifiers, "BOOSTING_GRID", [{"max_leaf_nodes": 4}, {"max_leaf_nodes": 8}])
    monkeypatch.setattr(classifiers, "BOOSTING_MOST", 200)
    with one_thread():  # on busy cores the threads of OpenMP wait for each other
        yield


PEERS = [pytest.param(m, id=f"{m.task}-{m.name}") for m in METHODS if m.name not in ("network", "xrfm")]


@pytest.mark.parametrize("method", PEERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_peer_learns_a_made_table(method):
    y = Y if method.task == "classification" else X[:, 0] + 0.1 * X[:, 1]
    train, test = slice(0, 60), slice(60, 90)
    model = method.make(0).fit(X[train], y[train])
    f = model.predict(X[test])
    if method.task == "regression":
        assert 1 - np.mean((f - y[test]) ** 2) / np.var(y[test]) > 0.3
        assert not hasattr(model, "predict_proba")
        return
    assert np.mean(f == y[test]) > 0.6
    assert hasattr(model, "predict_proba") == (method.name != "ridge")
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X[test]).sum(axis=1), 1, rtol=1e-6)


def test_every_method_has_a_name_of_its_own_and_words():
    assert len({(m.task, m.name) for m in METHODS}) == len(METHODS)
    assert all(m.about for m in METHODS)


def test_folds_are_by_class_and_large_tables_have_one():
    parts = folds(X, Y, 0, classes=True)
    assert sorted(np.concatenate([held for _, held in parts])) == list(range(90))
    for _, held in parts:
        assert np.abs(np.bincount(Y[held]) - np.bincount(Y) / 3).max() < 1
    large = np.zeros((3000, 2))
    assert len(folds(large, np.arange(3000) % 3, 0, classes=True, whole=False)) == 1
    assert len(folds(large, np.arange(3000) % 3, 0, classes=True)) == 3


@pytest.mark.slow
def test_logistic_takes_the_least_held_out_loss_and_is_fitted_to_all_rows():
    model = TunedLogistic(0).fit(X, Y)
    losses = {}
    for C in classifiers._LOGISTIC_C:
        each = []
        for fitted, held in folds(X, Y, 0, classes=True):
            scaler = StandardScaler().fit(X[fitted])
            one = LogisticRegression(C=C, max_iter=5000, tol=1e-8).fit(scaler.transform(X[fitted]), Y[fitted])
            each.append(log_loss(one, scaler.transform(X[held]), Y[held]))
        losses[C] = np.mean(each)
    assert model.best_params_ == {"scale": "columns", "C": min(losses, key=losses.get)}  # columns have other units
    Z = StandardScaler().fit_transform(X)
    direct = LogisticRegression(C=model.best_params_["C"], max_iter=5000).fit(Z, Y)
    np.testing.assert_allclose(model.predict_proba(X), direct.predict_proba(Z), atol=1e-3)


def test_svc_s_gamma_is_in_units_of_one_over_d():
    model = TunedSVC(0).fit(X, Y)
    chosen = model.best_params_
    assert chosen["scale"] == "columns"
    Z = StandardScaler().fit_transform(X)
    direct = SVC(C=chosen["C"], gamma=chosen["gamma"] / 3).fit(Z, Y)
    np.testing.assert_allclose(model.model_[-1].decision_function(Z), direct.decision_function(Z), atol=1e-6)


@pytest.mark.slow
def test_boosting_stops_where_the_held_out_loss_is_least():
    model = TunedBoosting(HistGradientBoostingClassifier, 0).fit(X, Y)
    trees = model.best_params_["max_iter"]
    assert 1 <= trees < 200
    assert model.model_.n_iter_ == trees


def test_the_first_of_equal_points_is_taken():
    tuned = Tuned(
        lambda **_: Mock(), [{"value": 1}, {"value": 2}], lambda *_: 0.0, lambda X, y: [(np.arange(2), np.arange(2))]
    )
    assert tuned.fit(X, Y).best_params_ == {"value": 1}


def test_xrfm_is_named_as_what_it_needs():
    found = {m.task: m for m in METHODS if m.name == "xrfm"}
    assert all(m.library == "pytabkit" for m in found.values())
    assert not hasattr(XRFM("XRFM_D_Regressor", 0), "predict_proba")
    if found["classification"].available:
        pytest.importorskip("pytabkit")
        model = found["classification"].make(0).fit(X, Y)
        assert np.mean(model.predict(X) == Y) > 0.8


def test_the_network_is_the_default_one():
    from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor

    made = {m.task: m.make(7) for m in METHODS if m.name == "network"}
    assert repr(made["classification"]) == repr(ConvexNetworkClassifier()) == "ConvexNetworkClassifier()"
    assert repr(made["regression"]) == repr(ConvexNetworkRegressor()) == "ConvexNetworkRegressor()"
