"""Linear models among the columns of a Lasso over drawn ones: when they are there, what they are, what is proved."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from clifford_rand_nn import CrossProductLassoClassifier, CrossProductLassoRegressor
from clifford_rand_nn.gates.hyperplanes import fitted_gates, fitted_neurons

rng = np.random.default_rng(0)
WIDE = rng.standard_normal((60, 45))
DENSE = WIDE @ rng.standard_normal(45) + rng.standard_normal(60)


@pytest.fixture(scope="module")
def dense():
    return CrossProductLassoRegressor(random_state=0).fit(WIDE, DENSE)


@pytest.mark.slow
def test_columns_that_are_drawn_are_of_the_l2_norm_with_linear_models(dense):
    assert dense.penalty_ == "l2"
    columns = dense.certificate_.n_patterns - 6  # of 1000 planes; those that are off on every row are left out
    assert 1900 < columns <= 2000
    assert dense.certificate_.scope == f"over {columns:,} columns of the dictionary and 6 of linear models"
    assert dense.certificate_.relative_gap <= 1e-6
    found = dense.certificate_.verify(WIDE, DENSE)
    assert found.relative_gap <= 1e-6
    assert found.objective == pytest.approx(dense.result_.objective, rel=1e-9)


def test_a_linear_model_is_two_neurons_that_no_rows_span():
    dense = CrossProductLassoRegressor(subsample=100, random_state=0).fit(WIDE, DENSE)
    linear = (dense.spanning_rows_ == -1).all(axis=1)
    assert linear.any()
    assert ((dense.spanning_rows_ >= 0).all(axis=1) | linear).all()
    W = dense.network_.W1[linear]
    cosines = W @ W.T / np.outer(*[np.linalg.norm(W, axis=1)] * 2)
    assert cosines.min() == pytest.approx(-1)  # both sides of a plane


@pytest.mark.slow
def test_a_sum_of_many_columns_is_learned_that_the_l1_norm_does_not_learn(dense):
    """Noise has a share of 1/46; 2,000 rows of the same kind: the standard error of R² is below .03."""
    X = np.random.default_rng(1).standard_normal((2000, 45))
    y = X @ np.random.default_rng(0).standard_normal(60 * 45 + 45)[60 * 45 :]
    l1 = CrossProductLassoRegressor(penalty="l1", random_state=0).fit(WIDE, DENSE)
    ridge = Ridge(alpha=1.0).fit(WIDE, DENSE)
    assert dense.score(X, y) > l1.score(X, y) + 0.1
    assert dense.score(X, y) > ridge.score(X, y) - 0.1


def test_more_columns_have_no_larger_optimum():
    options = {"beta": 0.3, "penalty": "l2", "subsample": 100, "random_state": 0, "tol": 1e-9}
    without = CrossProductLassoRegressor(linear=False, **options).fit(WIDE, DENSE)
    beside = CrossProductLassoRegressor(linear=True, **options).fit(WIDE, DENSE)
    assert beside.result_.objective < without.result_.objective
    assert beside.certificate_.n_patterns == without.certificate_.n_patterns + 6


@pytest.mark.parametrize(
    "options", [{"beta": 0.3}, {"subsample": 50, "penalty": "l1"}, {"subsample": 50, "linear": False}]
)
def test_what_is_given_is_kept(options):
    model = CrossProductLassoRegressor(random_state=0, tol=1e-3, **options).fit(WIDE[:30, :5], DENSE[:30])
    assert model.penalty_ == ("l2" if "linear" in options else "l1")
    assert "linear" not in model.certificate_.scope
    assert (model.spanning_rows_ >= 0).all()


@pytest.mark.parametrize("bias", ["penalized", "free", False])
@pytest.mark.parametrize("p", [1, 2])
def test_neurons_of_linear_models_are_those_of_their_gates(bias, p):
    X, y = WIDE[:, :4], DENSE[:, None]
    gates = fitted_gates(X, y, bias is not False, None, (0.1, 1.0))
    feature = 0.7 if bias == "penalized" else None
    neurons = fitted_neurons(gates, p, feature, bias == "free", 3)
    assert (neurons.rows == -1).all()
    assert neurons.rows.shape == (4, 3)
    np.testing.assert_allclose(neurons.norms(p), 1)
    rows = X if feature is None else np.column_stack([X, np.full(len(X), feature)])
    K = neurons.training_columns(rows)
    np.testing.assert_array_equal(K > 0, gates.activations(X))
    one = Ridge(alpha=0.1 * X.var(axis=0).mean() * len(X), fit_intercept=bias is not False).fit(X, y[:, 0])
    if bias is not False:
        f = K[:, 0] - K[:, 2]
        assert np.corrcoef(f, one.predict(X))[0, 1] == pytest.approx(1)


@pytest.mark.slow
def test_the_loss_of_two_classes_is_the_logistic_one_where_beta_is_chosen():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[::9, ::3], y[::9]
    model = CrossProductLassoClassifier(random_state=0).fit(X, y)
    assert (model.loss_, model.certificate_.loss, model.penalty_) == ("logistic", "logistic", "l2")
    assert model.certificate_.verify(X, y).relative_gap <= 1e-6
    assert model.predict_proba(X).shape == (len(X), 2)
    three = CrossProductLassoClassifier(random_state=0, subsample=20).fit(X[:60], np.arange(60) % 3)
    assert three.loss_ == "squared"


@pytest.mark.parametrize("better", [True, False])
def test_linear_models_are_there_where_held_out_rows_are_better_off(better, monkeypatch):
    """Predictions of the one are taken from the truth, those of the other are 0."""
    X, y = WIDE[:40, :8], WIDE[:40, :8].sum(axis=1)
    truth = lambda self, task, shared, X: (X.sum(axis=1)[:, None] * (self._beside is better) * (1 - self.beta_), 3)  # noqa: E731
    monkeypatch.setattr(CrossProductLassoRegressor, "_judged", truth)
    model = CrossProductLassoRegressor(random_state=0, tol=1e-2).fit(X, y)
    assert ("linear models" in model.certificate_.scope) is better
    assert model.beta_ == min(model.candidates_, key=lambda one: one.mean_loss).beta
    assert model.candidates_[-1].mean_loss < np.mean(y**2) / 4  # of the better ones only


@pytest.mark.slow
def test_drawn_columns_are_of_standardized_rows():
    """Where beta is chosen, units and offsets of the features decide nothing; forms of the model agree, and proofs."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::4, ::3], y[::4]
    model = CrossProductLassoClassifier(subsample=60, random_state=0).fit(X, y)
    assert model.penalty_ == "l2"
    other = X * 2.0 ** np.arange(-5, 5) + 64 * np.abs(X).max(axis=0).round()
    again = CrossProductLassoClassifier(subsample=60, random_state=0).fit(other, y)
    np.testing.assert_allclose(again.predict_proba(other), model.predict_proba(X), atol=1e-6)
    assert model.certificate_.verify(X, y).relative_gap <= 2e-6
    f = model.coef_ @ X.T + model.gate_intercept_[:, None]
    np.testing.assert_allclose((f * model.patterns_.T).sum(axis=0) + model.intercept_, model.decision_function(X))
    module: dict = {}
    exec(model.to_source(), module)
    np.testing.assert_allclose(module["predict_proba"](X), model.predict_proba(X), rtol=1e-9)
