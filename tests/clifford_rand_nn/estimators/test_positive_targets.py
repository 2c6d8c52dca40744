"""Transformed positive targets: unbiased means, nothing negative, whatever the unit; leave-one-out decides."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkRegressor, PositiveTargetRegressor

QUICK = ConvexNetworkRegressor(max_metric_iter=0)
SIGMA = 0.6


def lognormal(n, rng):
    X = rng.uniform(-1, 1, (n, 2))
    log = 1.5 * X[:, 0] + X[:, 1] ** 2
    return X, np.exp(log + SIGMA * rng.standard_normal(n)), np.exp(log + SIGMA**2 / 2)


@pytest.mark.parametrize("name", ["auto", "log", "log1p", "sqrt"])
def test_means_of_lognormal_targets_are_unbiased(name):
    """The mean over new rows differs from the truth by less than 3 standard errors of the mean of the training rows.

    Seeds are fixed; by chance it fails with a probability of 0.003 each. The median is 17 % too small, 4 errors.
    """
    rng = np.random.default_rng(1)
    X, y, truth = lognormal(400, rng)
    new, _, expected = lognormal(2000, rng)
    model = PositiveTargetRegressor(QUICK, transformation=name).fit(X, y)
    if name == "auto":
        assert model.transformation_ == "log"
        assert model.comparison_[0].name == "log"
    error = np.std(y - truth) / np.sqrt(len(y))
    assert abs(model.predict(new).mean() - expected.mean()) < 3 * error
    assert model.loo_predictions_[model.loo_mask_].mean() == pytest.approx(y[model.loo_mask_].mean(), rel=1e-9)
    if name == "log":
        median = model._retransformation.quantile(model.regressor_.predict(new))
        assert expected.mean() - median.mean() > 3 * error


def test_predictions_are_positive_and_intervals_cover_new_targets():
    """With 1000 new rows a coverage of .9 is known to .01; that of 300 training rows varies by .017."""
    rng = np.random.default_rng(2)
    X, y, _ = lognormal(300, rng)
    new, targets, _ = lognormal(1000, rng)
    model = PositiveTargetRegressor(QUICK, transformation="log").fit(X, y)
    low, high = model.predict_interval(new)
    assert (model.predict(new) > 0).all()
    assert (low > 0).all()
    assert abs(np.mean((low <= targets) & (targets <= high)) - 0.9) < 0.06
    f = model.regressor_.predict_interval(new)[0]
    np.testing.assert_allclose(low, y.mean() * np.exp(f))


@pytest.mark.parametrize("unit", [1e-6, 3.0])
def test_the_unit_of_the_targets_does_not_matter(unit):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (120, 2))
    y = rng.poisson(np.exp(1 + 1.5 * X[:, 0])).astype(float)
    one, other = (PositiveTargetRegressor(QUICK).fit(X, scale * y) for scale in (1.0, unit))
    assert one.transformation_ == other.transformation_
    np.testing.assert_allclose(other.predict(X), unit * one.predict(X), rtol=1e-6)
    assert other.loo_score_ == pytest.approx(one.loo_score_, rel=1e-6)


def test_counts_are_never_predicted_below_zero():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (200, 2))
    y = rng.poisson(np.exp(3 * X[:, 0] - 1))
    assert QUICK.fit(X, y).predict(X).min() < 0
    for name in ("auto", "none", "log1p", "sqrt"):
        model = PositiveTargetRegressor(QUICK, transformation=name).fit(X, y)
        assert model.predict(X).min() >= 0
        assert model.predict_interval(X)[0].min() >= 0
    auto = PositiveTargetRegressor(QUICK).fit(X, y)
    assert {score.name for score in auto.comparison_} == {"none", "log1p", "sqrt"}


def test_targets_with_noise_of_one_size_stay_as_they_are():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (150, 2))
    y = 5 + 2 * X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(150)
    model = PositiveTargetRegressor(QUICK).fit(X, y)
    assert model.transformation_ == "none"
    np.testing.assert_allclose(model.predict(X), QUICK.fit(X, y).predict(X), rtol=1e-6)


def test_weights_groups_order_and_pipelines_reach_the_regressor():
    rng = np.random.default_rng(6)
    X, y, _ = lognormal(80, rng)
    doubled = np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]])
    weights = np.repeat([2.0, 1.0, 0.0], [20, 50, 10])
    by_weight = PositiveTargetRegressor(QUICK, transformation="log").fit(X, y, sample_weight=weights)
    by_rows = PositiveTargetRegressor(QUICK, transformation="log").fit(
        *(np.delete(part, np.s_[70:80], axis=0) for part in doubled)
    )
    np.testing.assert_allclose(by_weight.predict(X), by_rows.predict(X), rtol=1e-6)
    assert not by_weight.loo_mask_[70:].any()
    groups, log = np.arange(80) // 4, np.log(y / y.mean())
    pipeline = PositiveTargetRegressor(make_pipeline(StandardScaler(), QUICK), "log").fit(X, y, groups=groups)
    alone = clone(QUICK).fit(StandardScaler().fit_transform(X), log, groups=groups)
    np.testing.assert_allclose(pipeline.regressor_[-1].loo_predictions_, alone.loo_predictions_, rtol=1e-6)
    later = PositiveTargetRegressor(QUICK, "log").fit(X, y, order=np.arange(80))
    np.testing.assert_array_equal(later.loo_mask_, clone(QUICK).fit(X, log, order=np.arange(80)).loo_mask_)
    assert 0 < later.loo_mask_.sum() < 80


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({}, [-1.0, 2.0, 3.0, 4.0], "y"),
        ({}, [0.0, 0.0, 0.0, 0.0], "y"),
        ({"transformation": "log"}, [0.0, 2.0, 3.0, 4.0], "transformation"),
        ({"transformation": "exp"}, [1.0, 2.0, 3.0, 4.0], "transformation"),
        ({"regressor": Ridge()}, [1.0, 2.0, 3.0, 4.0], "regressor"),
        ({"regressor": ConvexNetworkRegressor(loss="quantile")}, [1.0, 2.0, 3.0, 4.0], "regressor"),
        ({}, [[1.0], [2.0], [3.0], [4.0]], "y"),
    ],
)
def test_wrong_arguments_are_refused(parameters, y, message):
    with pytest.raises(ArgumentError, match=f"The '{message}' parameter of PositiveTargetRegressor"):
        PositiveTargetRegressor(**parameters).fit(np.arange(4.0)[:, None] ** 2, y)
