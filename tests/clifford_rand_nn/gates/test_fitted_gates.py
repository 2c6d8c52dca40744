"""Gates of linear models: both sides of a least-squares plane, for ReLU networks whose beta is chosen."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexReLUClassifier, ConvexReLURegressor, sample_gates
from clifford_rand_nn.gates.hyperplanes import fitted_gates

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3)) * [1.0, 2.0, 0.5] + [3.0, 0.0, -1.0]
T = X @ RNG.standard_normal((3, 2)) + 0.1 * RNG.standard_normal((40, 2))


@pytest.mark.parametrize("bias", [True, False])
def test_the_planes_are_those_of_ridge_regression(bias):
    share = (X - X.mean(axis=0) if bias else X).var(axis=0).sum() if bias else (X**2).mean(axis=0).sum()
    ridge = Ridge(alpha=0.1 * share / 3 * len(X), fit_intercept=bias).fit(X, T)
    W, c = fitted_gates(X, T, bias)
    np.testing.assert_allclose(W, np.hstack([ridge.coef_.T, -ridge.coef_.T]), rtol=1e-9)
    mean = X.mean(axis=0) if bias else np.zeros(3)
    np.testing.assert_allclose(mean @ W + c, 0, atol=1e-12)
    on = fitted_gates(X, T, bias).activations(X)
    np.testing.assert_array_equal(on[:, :2], ~on[:, 2:])


def test_weights_are_copies_and_neither_order_nor_scale_move_a_plane():
    w, order = RNG.integers(1, 4, 40), RNG.permutation(40)
    W, c = fitted_gates(X, T, True, w.astype(float))
    for moved in (fitted_gates(np.repeat(X, w, axis=0), np.repeat(T, w, axis=0), True),
                  fitted_gates(X[order], T[order], True, w[order].astype(float)),
                  fitted_gates(8 * X, 8 * T, True, w.astype(float))):  # fmt: skip
        np.testing.assert_allclose(moved.directions, W, rtol=1e-10)
    np.testing.assert_allclose(moved.offsets, 8 * c, rtol=1e-10)


def test_a_plane_that_is_rounding_or_goes_through_a_row_is_left_out():
    corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    assert len(fitted_gates(corners, np.array([[1.0], [1.0], [-1.0], [-1.0]]), True)) == 0
    assert len(fitted_gates(corners, corners[:, :1], True)) == 2
    assert len(fitted_gates(np.vstack([corners, np.zeros(2)]), np.append(corners[:, 0], 0)[:, None], True)) == 0
    assert len(fitted_gates(np.ones((4, 2)), corners[:, :1], True)) == 0


@pytest.mark.slow
def test_they_stand_before_the_sampled_ones_where_beta_is_chosen():
    y = T[:, 0] + 0.1 * RNG.standard_normal(40)
    chosen = ConvexReLURegressor(n_gates=5, random_state=0).fit(X, y)
    number = ConvexReLURegressor(n_gates=5, random_state=0, beta=chosen.beta_).fit(X, y)
    wanted = ConvexReLURegressor(n_gates=5, random_state=0, beta=chosen.beta_, linear=True).fit(X, y)
    without = ConvexReLURegressor(n_gates=5, random_state=0, linear=False).fit(X, y)
    given = ConvexReLURegressor(gates=sample_gates(X, 5, random_state=0)).fit(X, y)
    assert [len(m.candidate_gates_) for m in (chosen, number, wanted, without, given)] == [7, 5, 7, 5, 5]
    assert chosen.certificate_.scope == "over the 7 patterns, those of linear models among them"
    assert chosen.certificate_.verify(X, y).relative_gap <= 2e-6
    assert wanted.result_.objective == pytest.approx(chosen.result_.objective, rel=2e-6)
    assert wanted.result_.objective < number.result_.objective * 0.9  # a linear target, and chambers of none
    assert chosen.score(X, y) > 0.95
    every = ConvexReLURegressor(gates="exhaustive", beta=1e-2, linear=True, solver="interior_point")
    assert every.fit(X[:12, :2], y[:12]).certificate_.scope.startswith("global")
    with pytest.raises(ArgumentError, match="'linear'"):
        ConvexReLURegressor(linear=1).fit(X, y)


@pytest.mark.slow
def test_the_default_is_near_a_linear_model_where_that_is_good():
    X, y = load_breast_cancer(return_X_y=True)
    A, B, a, b = train_test_split(X, y, train_size=0.4, stratify=y, random_state=0)
    scaler = StandardScaler().fit(A)
    A, B = scaler.transform(A), scaler.transform(B)
    model = ConvexReLUClassifier(random_state=0).fit(A, a)
    assert model.score(B, b) >= 0.955
    assert model.certificate_.verify(A, a).relative_gap <= 2e-6
    assert "of 50 gates" in model.candidate_gates_.notes[-1]  # all 50 would take half a minute
    assert model.certificate_.n_patterns == len(model.candidate_gates_) < 20


@pytest.mark.slow
@pytest.mark.parametrize(("max_time", "sampled"), [(None, 0), (8.0, 2), (1e4, 6)])
def test_no_more_gates_are_taken_than_are_expected_to_be_trained_in_time(monkeypatch, max_time, sampled):
    """Cones of random planes among many columns use up any time, and are worth little before its end."""
    monkeypatch.setattr(ConvexReLUClassifier, "_expected", lambda self, task, n_patterns: 1.0 * n_patterns)
    X = np.random.default_rng(5).standard_normal((16, 4))
    model = ConvexReLUClassifier(n_gates=6, max_time=max_time, random_state=0, tol=1e-2).fit(X, X[:, 0] + X[:, 1] > 0)
    assert len(model.candidate_gates_) == 2 + sampled
    assert ("of 6 gates" in " ".join(model.candidate_gates_.notes)) == (sampled < 6)
