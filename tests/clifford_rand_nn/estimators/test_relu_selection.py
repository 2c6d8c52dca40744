"""ReLU networks whose beta is chosen: the loss, the linear models they begin with, what stands for them, limits."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexReLUClassifier, ConvexReLURegressor
from clifford_rand_nn.estimators import relu
from clifford_rand_nn.estimators.relu_selection import own_neurons
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from clifford_rand_nn.solvers.stopping import Watch

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
TWO = X[:, 0] + 0.5 * RNG.standard_normal(60) > 0
THREE = (X[:, :3] + 0.5 * RNG.standard_normal((60, 3))).argmax(axis=1)


def begun(model, X, y):
    """The estimator, and its task with all that is settled before beta."""
    task = model._settled(model._with_feature(model._task(X, y)))
    return model, task


def judge(model):
    """The network that stands for an estimator, and its beta in units of the estimator's."""
    return model._judge, model._factor


@pytest.mark.slow
@pytest.mark.parametrize("y", [TWO, pytest.param(THREE, marks=pytest.mark.slow)])
def test_the_loss_follows_beta(y):
    chosen = ConvexReLUClassifier(n_gates=3, random_state=0).fit(X, y)
    assert chosen.loss_ == "logistic"
    assert chosen.certificate_.verify(X, y).relative_gap <= 2e-6
    np.testing.assert_allclose(chosen.predict_proba(X).sum(axis=1), 1)
    number = ConvexReLUClassifier(n_gates=3, beta=0.01, random_state=0)
    assert hasattr(number, "predict_proba")
    assert number.fit(X, y).loss_ == "squared"
    assert ConvexReLUClassifier(n_gates=3, loss="squared", random_state=0).fit(X, y).loss_ == "squared"


@pytest.mark.parametrize("y", [TWO, THREE])
def test_the_linear_model_is_that_of_scikit_learn(y):
    model, task = begun(ConvexReLUClassifier(bias="free"), X, y)
    W = model._linear_coefficients(task, 0.02)
    other = LogisticRegression(C=1 / (0.02 * len(X)), tol=1e-10, max_iter=5000).fit(X, y)
    # a free bias of the gate and the intercept are one thing, and scikit-learn charges neither
    np.testing.assert_allclose(W.T, other.coef_, atol=1e-5)


def test_an_interrupt_of_the_linear_model_is_the_callers(monkeypatch):
    model, task = begun(ConvexReLUClassifier(bias="free"), X, TWO)
    check = Watch.check

    def interrupted(*arguments):
        check(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "check", interrupted)
    with pytest.raises(KeyboardInterrupt, match="no network yet"):
        model._linear_coefficients(task, 0.02)


@pytest.mark.slow
def test_its_weight_is_large_for_noise_and_small_where_labels_are_sure():
    sure, task = begun(ConvexReLUClassifier(), X, X[:, 0] > 0)
    noise, other = begun(ConvexReLUClassifier(), X, RNG.permutation(X[:, 0] > 0))
    assert 30 * sure._linear_weight(task) < noise._linear_weight(other)


@pytest.mark.slow
def test_the_first_beta_holds_the_linear_model_where_its_weight_does():
    """At the optimum of the linear model the loss has the slope weight times w, which is 2 beta w/||w||."""
    model, task = begun(ConvexReLUClassifier(bias=False, fit_intercept=False), X, TWO)
    w = model._linear_coefficients(task, model._weight)
    margin = task.targets * (X @ w)
    slope = X.T @ (task.targets / (1 + np.exp(margin))) / len(X)
    np.testing.assert_allclose(slope, 2 * model._pivot * w / np.linalg.norm(w), atol=1e-8)
    assert model.fit(X, TWO).candidates_[0].beta == pytest.approx(model._pivot, rel=1e-9)
    tried = [score.beta / model._pivot for score in model.candidates_]
    assert tried[:3] == pytest.approx([1, 2, 0.5])


@pytest.mark.slow
def test_a_constant_is_the_network_of_labels_that_columns_say_nothing_of():
    rng = np.random.default_rng(1)
    noise, labels = rng.standard_normal((70, 42)), rng.random(70) < 0.25
    model = ConvexReLUClassifier(random_state=0).fit(noise, labels)
    assert not model.predict(rng.standard_normal((100, 42))).any()


@pytest.mark.slow
def test_what_stands_for_the_network():
    wide = RNG.standard_normal((40, 30))
    label = wide[:, 0] > 0
    assert begun(ConvexReLUClassifier(), X, TWO)[0]._judge == "gated"
    assert begun(ConvexReLUClassifier(), X, THREE)[0]._judge == "neurons"
    assert begun(ConvexReLUClassifier(), wide, label)[0]._judge == "program"
    assert judge(begun(ConvexReLUClassifier(), wide, np.arange(40) % 3)[0]) == ("gated", 2.0)
    for same in (ConvexReLUClassifier(loss="squared"), ConvexReLUClassifier(linear=False)):
        assert judge(begun(same, wide, label)[0]) == ("gated", 4.0)
    for none in (ConvexReLUClassifier(beta=1.0), ConvexReLUClassifier(penalty="group_l1"),
                 ConvexReLUClassifier(gates="exhaustive")):  # fmt: skip
        assert begun(none, X, TWO)[0]._judge is None


@pytest.mark.parametrize("free", [False, True])
def test_a_gates_own_neuron_has_its_pattern_and_norm_one(free):
    model, task = begun(ConvexReLUClassifier(bias="free" if free else "penalized", n_gates=5, random_state=0), X, THREE)
    patterns, family = model._candidates(task)
    neurons = own_neurons(family)
    np.testing.assert_allclose(neurons.norms(2), 1)
    np.testing.assert_array_equal(neurons.columns(task.rows) > 0, patterns.patterns)


@pytest.mark.slow
def test_a_network_that_ends_early_is_no_worse_than_that_of_its_gates(monkeypatch):
    monkeypatch.setattr(relu, "ConeInteriorPoint", Short)
    with pytest.warns(ConvergenceWarning):
        model = ConvexReLUClassifier(n_gates=4, random_state=0).fit(X, TWO)
    assert model.result_.n_iter == 2
    assert model.score(X, TWO) > 0.8
    checked = model.certificate_.verify(X, TWO)
    assert checked.objective == pytest.approx(model.result_.objective, rel=1e-9)
    again, task = begun(ConvexReLUClassifier(n_gates=4, random_state=0), X, TWO)
    neurons = own_neurons(again._candidates(task)[1])
    lasso = LassoProblem(neurons.columns(task.rows), task.targets, model.beta_, **again._options(task))
    least = InteriorPoint().solve(lasso)
    assert model.result_.objective <= least.objective * (1 + 1e-3)


def test_so_is_one_of_several_outputs_that_has_no_time_at_all():
    with pytest.warns(ConvergenceWarning):
        model = ConvexReLUClassifier(n_gates=4, random_state=0, max_time=1e-3).fit(X, THREE)
    assert model.score(X, THREE) > 0.7
    assert model.result_.status.value == "max_time"
    checked = model.certificate_.verify(X, THREE)
    assert checked.objective == pytest.approx(model.result_.objective, rel=1e-9)


class Short(ConeInteriorPoint):
    """It ends after two steps."""

    def __init__(self, **limits):
        super().__init__(**limits | {"max_iter": 2})

    def after(self, seconds, **changes):
        return Short(**self.shared(max_time=None) | changes)


@pytest.mark.slow
def test_many_columns_take_no_sampled_pattern_and_the_method_for_many_columns():
    wide = RNG.standard_normal((60, 40))
    model = ConvexReLUClassifier(random_state=0).fit(wide, wide[:, :2].sum(axis=1) > 0)
    assert model.result_.solver == "augmented_lagrangian"
    assert len(model.candidate_gates_) == 2
    assert "0 of 50 gates" in model.candidate_gates_.notes[-1]
    assert model.certificate_.relative_gap <= 1e-6


@pytest.mark.slow
def test_a_limit_is_kept_by_ten_outputs():
    data, y = load_digits(return_X_y=True)
    data = StandardScaler().fit_transform(data)
    with pytest.raises(ArgumentError, match="20 patterns on 400 rows of 65 columns"):
        ConvexReLUClassifier(random_state=0).fit(data[:400], y[:400])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ConvexReLUClassifier(random_state=0, max_time=4).fit(data[:400], y[:400])
    assert model.score(data[400:], y[400:]) > 0.85
    assert model.certificate_.verify(data[:400], y[:400]).objective == pytest.approx(model.result_.objective, rel=1e-9)


def test_regression_keeps_its_least_squares():
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.1 * RNG.standard_normal(60)
    model = ConvexReLURegressor(n_gates=3, random_state=0).fit(X, y)
    assert model._weight is None
    assert judge(model) == ("gated", 4.0)
    assert model.score(X, y) > 0.95
