"""Dual points whose sums are 0 to rounding only, far from the origin, where intercepts take back weights and rows."""

from fractions import Fraction

import numpy as np
import pytest

import clifford_rand_nn as nn

FAR = np.array([[1000000325503283.1], [1000001417444808.0], [999999674496716.9]])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
@pytest.mark.parametrize("penalty", ["ridge", "group_l2"])
def test_a_bound_of_far_classes_is_below_the_objective(loss, penalty):
    """The intercept is -4e5: a sum of theta of 6e-17, counted at the size of the labels, put the bound 7e-12 above."""
    model = nn.GatedReLUClassifier(5, beta=1.1e16, loss=loss, penalty=penalty, bias=False, tol=1e-12, random_state=0)
    certificate = model.fit(FAR, [0, 2, 2]).certificate_
    exact = certificate.verify(FAR, [0, 2, 2], exact=True)
    assert certificate.lower_bound <= exact.objective
    assert certificate.verify(FAR, [0, 2, 2]).lower_bound <= exact.objective


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_bounds_of_classes_sum_to_zero_exactly():
    model = nn.GatedReLUClassifier(5, beta=1e-3, loss="logistic", random_state=0)
    rng = np.random.default_rng(0)
    X, y = 1e6 + rng.standard_normal((20, 2)), np.arange(20) % 2
    certificate = model.fit(X, y).certificate_
    for theta in (certificate.dual_point, certificate.verify(X, y).dual_point):
        assert sum(map(Fraction, theta[:, 0].tolist())) == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("penalty", ["group_l2", "ridge"])
def test_rows_that_are_one_point_have_a_bound(penalty):
    """No pattern is left of them, and the interior point method had no shape for none."""
    rng = np.random.default_rng(0)
    X, y = np.full((8, 1), 1e9), 1e9 * (rng.standard_normal(8) + 1e9)
    for beta in (1e12, 1e16):
        model = nn.GatedReLURegressor(5, beta=beta, penalty=penalty, bias="free", tol=1e-12, random_state=0)
        assert model.fit(X, y).certificate_.relative_gap < 1e-9


@pytest.mark.one_seed("stored cases")
@pytest.mark.parametrize("seed", [75, 119])
def test_the_weighted_mean_of_one_target_is_not_apart_from_it(seed):
    """(w y) / w is y to a rounding; times a weight 1e18 times another's that was 1e-8 of the other's dual variable."""
    rng = np.random.default_rng(seed)
    X, y, weights = rng.normal(size=(9, 1)), rng.normal(size=9), 10.0 ** rng.uniform(-9, 9, 9)
    certificate = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X, y, weights).certificate_
    assert certificate.verify(X, y, weights, exact=True).relative_gap <= certificate.relative_gap + 1e-12


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [3, 8])
def test_rows_of_a_softmax_sum_to_zero_exactly(seed):
    """Far from the origin 2e-16 of an entry, which its proof took back, times the rows, was 1e-8 of the bound."""
    rng = np.random.default_rng(seed)
    X, y, weights = 1e6 + 1e-6 * rng.normal(size=(30, 3)), rng.integers(0, 3, 30), rng.uniform(0.1, 5, 30)
    options = {"penalty": "ridge", "bias": False, "fit_intercept": False, "gates": "gaussian", "random_state": 0}
    model = nn.GatedReLUClassifier(n_gates=5, beta=1e-13, loss="logistic", **options).fit(X, y, weights)
    certificate = model.certificate_
    assert all(sum(map(Fraction, row)) == 0 for row in certificate.verify(X, y, weights).dual_point.tolist())
    assert certificate.verify(X, y, weights, exact=True).relative_gap <= certificate.relative_gap + 1e-11


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [0, 1, 10])
def test_classes_that_are_absent_from_a_gate_have_entries_of_0_there(seed):
    """Their sums are 0 with all entries 0, which Newton steps approached; sums of 6e-14 cost 2e-5 of the objective."""
    rng = np.random.default_rng(seed)
    X, y = 1e7 + rng.normal(size=(15, 2)), rng.choice(3, 15, p=[0.2, 0.3, 0.5])
    y[:3] = np.arange(3)
    options = {"n_gates": 3, "bias": "free", "loss": "logistic", "penalty": "ridge", "random_state": 0}
    model = nn.GatedReLUClassifier(beta=1e-6, **options).fit(X, y)
    stated, theta = model.certificate_, model.certificate_.dual_point
    assert np.abs(model.patterns_.T.astype(float) @ theta).max() <= 5e-15 * np.abs(theta).max()
    exact = stated.verify(X, y, exact=True)
    assert exact.relative_gap == pytest.approx(stated.relative_gap, abs=5e-7)
    assert exact.relative_gap <= stated.relative_gap + 1e-9
