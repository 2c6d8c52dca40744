"""Probabilities of classifiers with every loss: calibrated on held-out rows, and the same in every form of a model."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

import clifford_rand_nn as nn
from clifford_rand_nn.kernel_network.calibration import Calibration, fit_calibration
from support.pairwise import pairwise

X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, ::3]
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 3], [-0.5, 0.5])
LOSSES = ["squared", "squared_hinge", "logistic"]
KINDS = {
    "gated": nn.GatedReLUClassifier(n_gates=8, random_state=0),
    "gated, ridge": nn.GatedReLUClassifier(n_gates=8, penalty="ridge", random_state=0),
    "gated, infinite": nn.GatedReLUClassifier(gates="infinite", penalty="ridge"),
    "relu": nn.ConvexReLUClassifier(n_gates=3, linear=True, random_state=0, tol=1e-3, max_time=20.0),
    "lasso": nn.CrossProductLassoClassifier(subsample=15, random_state=0),
}


@pairwise({"kind": KINDS, "loss": LOSSES, "beta": ["auto", 1e-2]})
def test_probabilities_follow_the_outputs_and_are_better_than_the_base_rate(kind, loss, beta):
    labels = THREE if kind == "lasso" or (kind, loss) == ("gated", "squared") else Y
    model = clone(KINDS[kind]).set_params(loss=loss, beta=beta).fit(X[:150], labels[:150])
    p, outputs = model.predict_proba(X[150:]), model.decision_function(X[150:])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X[150:]))
    rate = np.bincount(labels[:150]) / 150
    assert log_loss(labels[150:], p) < log_loss(labels[150:], np.tile(rate, (len(p), 1))) * 0.75
    if outputs.ndim == 1:
        assert (np.diff(p[np.argsort(outputs), 1]) >= 0).all()


@pytest.mark.kept("squared-0.01")
@pytest.mark.parametrize(("loss", "beta"), [("squared", 1e-2), ("squared_hinge", 1e-2), ("logistic", 1e-5)])
def test_probabilities_are_better_than_those_of_the_raw_outputs(loss, beta):
    """Outputs of squares and hinges are on no scale of odds, and those of a small beta are overconfident."""
    model = nn.GatedReLUClassifier(20, beta=beta, loss=loss, random_state=0, tol=1e-3).fit(X[:250], Y[:250])
    raw = expit(model.decision_function(X[250:]))
    assert log_loss(Y[250:], model.predict_proba(X[250:])) < 0.8 * log_loss(Y[250:], raw)


@pytest.mark.parametrize(("limit", "loss"), [(0.0, "squared"), (np.inf, "logistic")])
@pytest.mark.parametrize("n", [60, 300])
def test_the_methods_do_not_depend_on_the_number_of_rows(n, monkeypatch, limit, loss):
    monkeypatch.setattr("clifford_rand_nn.estimators.gated._LONG", limit)
    model = nn.GatedReLUClassifier(n_gates=2, random_state=0).fit(X[:n], Y[:n])
    assert model.loss_ == loss
    assert model.predict_proba(X).shape == (len(X), 2)


def test_the_choice_of_beta_leaves_the_held_out_outputs(monkeypatch):
    fits = []
    train = nn.GatedReLUClassifier._train
    monkeypatch.setattr(nn.GatedReLUClassifier, "_train", lambda self, *a: (fits.append(1), train(self, *a))[1])
    for beta, more in (("auto", 0), (1e-2, 5)):
        model = nn.GatedReLUClassifier(n_gates=4, beta=beta, loss="squared", random_state=0).fit(X, Y)
        before = len(fits)
        first = model.predict_proba(X)
        np.testing.assert_array_equal(model.predict_proba(X), first)
        assert len(fits) - before == more


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind == "relu")) for kind in KINDS])
def test_copies_of_a_model_have_its_probabilities(kind, tmp_path):
    model = clone(KINDS[kind]).set_params(loss="squared", beta=1e-2, tol=0.1).fit(X[:40], THREE[:40])
    nn.save_model(model, tmp_path / "model.npz")
    module: dict = {}
    exec(model.to_source(), module)
    wanted = model.predict_proba(X)
    np.testing.assert_array_equal(nn.load_model(tmp_path / "model.npz").predict_proba(X), wanted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), wanted)
    np.testing.assert_allclose(module["predict_proba"](X), wanted, rtol=1e-9)


@pytest.mark.parametrize("beta", ["auto", 1e-2])
@pytest.mark.slow
def test_a_search_and_shards_have_probabilities(beta):
    search = nn.BetaCV(clone(KINDS["gated"]).set_params(loss="squared"), betas=[1e-2, 1e-3], cv=3).fit(X, Y)
    shards = nn.Shards([X[:200], X[200:]], [Y[:200], Y[200:]], part_rows=128)
    sharded = nn.GatedReLUClassifier(n_gates=4, loss="squared", beta=beta, random_state=0).fit(shards)
    for model in (search, sharded):
        assert log_loss(Y, model.predict_proba(X)) < 0.2


def test_the_softmax_is_kept_unless_another_calibration_is_supported():
    rng = np.random.default_rng(0)
    f = 3 * rng.standard_normal((4000, 3))
    y = np.array([rng.choice(3, p=p) for p in softmax(f, axis=1)])
    assert fit_calibration(f, y, 3, extras=("identity",)).is_softmax
    found = fit_calibration(4 * f, y, 3, extras=("identity",))
    assert not found.is_softmax
    assert found.keeps_order
    assert found.slopes[0] == pytest.approx(0.25, rel=0.1)
    np.testing.assert_allclose(Calibration.softmax(3).probabilities(f), softmax(f, axis=1))
    np.testing.assert_allclose(Calibration.softmax(2).probabilities(f[:, :1])[:, 1], expit(f[:, 0]))
