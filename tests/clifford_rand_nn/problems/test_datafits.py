"""Losses: derivative, prox, conjugate, domain, and the balance of a dual point, each against its definition."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import approx_fprime, brentq

from clifford_rand import ArgumentError
from clifford_rand_nn.problems import loss_registry as registry
from clifford_rand_nn.problems.datafit import Datafit, unpenalized_fit
from clifford_rand_nn.problems.entropy import Softmax
from clifford_rand_nn.problems.loss_registry import make_datafit
from support.problems import ALL_LOSSES as LOSSES
from support.problems import delta_of, targets

SEPARABLE = [loss for loss in LOSSES if registry.LOSSES[loss].separable]


WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def fit_of(loss, n=9, seed=0, weighted=False):
    y, weights = targets(loss, n, np.random.default_rng(seed)), None
    if weighted:
        weights = np.exp(2 * np.random.default_rng(seed + 99).standard_normal(n))
    return make_datafit(loss, y, n, "test", delta_of(loss, 0.7).get("huber_delta"), weights)


@pytest.mark.parametrize("loss", LOSSES)
def test_weighted_value_is_the_weighted_mean_of_rows(loss):
    fit, rng = fit_of(loss, weighted=True), np.random.default_rng(1)
    f, delta = 2 * rng.standard_normal(fit.y.shape), delta_of(loss, 0.7).get("huber_delta")
    rows = [make_datafit(loss, fit.y[[i]], 1, "test", delta).value(f[[i]]) for i in range(9)]
    assert fit.value(f) == pytest.approx(np.average(rows, weights=fit.sample_weight), rel=1e-13)
    assert np.mean(fit.weights) == pytest.approx(1, rel=1e-14)
    assert fit.curvature == np.max(fit.row_curvature) == np.max(fit.weights) * fit_of(loss).curvature


@WEIGHTED
@pytest.mark.parametrize("loss", LOSSES)
def test_residual_is_minus_the_slope_and_prox_solves_its_optimality_condition(loss, weighted):
    """f - v = step * residual(f)."""
    fit = fit_of(loss, n=20, weighted=weighted)
    f = 1.5 * np.random.default_rng(1).standard_normal(fit.y.shape)
    slope = approx_fprime(f.ravel(), lambda x: len(f) * fit.value(x.reshape(f.shape)), 1e-7)
    np.testing.assert_allclose(fit.residual(f).ravel(), -slope, atol=1e-5)
    v = 4 * np.random.default_rng(2).standard_normal(fit.y.shape)
    for step in (1e-3, 1.0, 1e4):
        f = fit.prox(v, step)
        np.testing.assert_allclose(f - v, step * fit.residual(f), atol=1e-11 * (1 + step * np.max(fit.weights)))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_slope_is_within_the_curvature_of_its_row(loss):
    fit, rng = fit_of(loss, n=40, weighted=True), np.random.default_rng(8)
    f, g = rng.standard_normal((2, *fit.y.shape))
    change = np.linalg.norm(fit.residual(f) - fit.residual(g), axis=1, keepdims=True)
    assert (change <= fit.row_curvature * np.linalg.norm(f - g, axis=1, keepdims=True) * (1 + 1e-12)).all()


@WEIGHTED
@pytest.mark.parametrize("loss", LOSSES)
def test_conjugate_by_fenchel_young(loss, weighted):
    """Equality of Fenchel and Young at theta = residual, inequality elsewhere, -inf outside the domain."""
    fit, rng = fit_of(loss, n=7, weighted=weighted), np.random.default_rng(0)
    f = 3 * rng.standard_normal(fit.y.shape)
    theta = fit.residual(f)
    assert fit.value(f) == pytest.approx(fit.dual_value(theta) - np.sum(theta * f) / 7, rel=1e-12)
    other = fit.residual(rng.standard_normal(fit.y.shape))
    assert fit.value(f) > fit.dual_value(other) - np.sum(other * f) / 7
    low, high = fit.dual_domain()
    for bound, out in ((low, -1e-3), (high, 1e-3)):
        beyond = np.where(np.isfinite(bound), bound + out, theta)
        assert np.isneginf(fit.dual_value(beyond)) == np.isfinite(bound).any()
        assert np.isneginf(fit.loss.stated_dual_value(beyond / fit.weights, fit.y)).any() == np.isfinite(bound).any()
    if not fit.loss.separable:
        assert np.isneginf(fit.loss.stated_dual_value(theta / fit.weights - 1e-3, fit.y)).all()


@pytest.mark.parametrize("loss", SEPARABLE)
def test_weighted_predictions_and_their_derivative_at_a_dual_point(loss):
    fit, rng = fit_of(loss, n=30, weighted=True), np.random.default_rng(9)
    theta = fit.residual(0.3 * rng.standard_normal(fit.y.shape) + (0.5 * fit.y if loss == "huber" else 0))
    low, high = fit.dual_domain()
    inside = (low < theta) & (theta < high)
    assert (low <= theta).all()
    assert (theta <= high).all()
    assert inside.sum() > 10
    theta = np.where(inside, theta, 0.5 * theta)
    f = fit.predictions_at(theta)
    np.testing.assert_allclose(fit.residual(f), theta, rtol=1e-10)
    h = 1e-6 * np.abs(theta)
    slope = (fit.predictions_at(theta - h) - fit.predictions_at(theta + h)) / (2 * h)
    np.testing.assert_allclose(fit.dual_curvature(theta), slope, rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_cvxpy_has_the_same_value_and_units(loss):
    fit, rng = fit_of(loss, n=12, weighted=True), np.random.default_rng(11)
    f = 2 * rng.standard_normal(fit.y.shape)
    for unit in (1.0, 0.3) if fit.loss.has_units else (1.0,):
        scaled = fit.in_units(unit)
        assert scaled.value(f / unit) * unit**2 == pytest.approx(fit.value(f), rel=1e-12)
        variable = cp.Variable(f.shape, value=f / unit)
        total = scaled.loss.cvxpy(cp, variable, scaled.y, scaled.weights * np.ones_like(f))
        assert total.is_dcp()
        assert float(total.value) * unit**2 / len(f) == pytest.approx(fit.value(f), rel=1e-9)


@pytest.mark.parametrize("loss", registry.loss_names("classification"))
def test_labels_and_probabilities(loss):
    """Classes become targets that the loss of so many classes accepts; probabilities are rows that sum to one."""
    for n_classes in (2, 3, 5):
        index = np.arange(3 * n_classes) % n_classes
        y, record = registry.encode_labels(index, n_classes, loss)
        assert y.shape == (len(index), 1 if n_classes == 2 else n_classes)
        assert record.accepts(y)
        np.testing.assert_array_equal(y[:, 0] > 0 if n_classes == 2 else y.argmax(axis=1), index)
        if record.probabilistic:
            p = record.probabilities(4 * y)
            np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
            np.testing.assert_array_equal(p.argmax(axis=1), index)


@WEIGHTED
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("q", [1, 3])
def test_balance_keeps_the_domain_and_meets_the_equalities(loss, q, weighted):
    fit, rng = fit_of(loss, n=60, weighted=weighted), np.random.default_rng(3)
    B = np.column_stack([np.ones(60), rng.random((60, q - 1)) < 0.5])
    Q, _ = np.linalg.qr(B)
    near = fit.residual(unpenalized_fit(fit, Q) + 0.05 * rng.standard_normal(fit.y.shape))
    theta = fit.balance(near, Q)
    assert np.abs(Q.T @ theta).max() <= 1e-12 * np.linalg.norm(theta)
    assert np.isfinite(fit.dual_value(theta))
    assert np.linalg.norm(theta - near) < 0.5 * np.linalg.norm(near)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_balance_of_small_dual_points(loss):
    """Where all rows are fitted well 1 - p is small, and known to rounding of itself, not of p."""
    fit, rng = fit_of(loss, n=60), np.random.default_rng(3)
    Q = np.full((60, 1), 60**-0.5)
    f = (20 if loss == "softmax" else 10) * fit.y + rng.standard_normal(fit.y.shape)
    theta = fit.residual(f)
    if loss == "softmax":
        others = np.where(fit.y > 0, 0.0, np.exp(f))
        np.testing.assert_allclose(theta[fit.y > 0], (others / np.exp(f).sum(axis=1, keepdims=True)).sum(axis=1))
    assert np.abs(theta).max() < 1e-3
    assert np.abs(Q.T @ fit.balance(theta, Q)).max() <= 1e-14 * np.linalg.norm(theta)


@WEIGHTED
def test_balance_of_the_squared_loss_is_the_best_choice_of_biases(weighted):
    fit, rng = fit_of("squared", n=40, weighted=weighted), np.random.default_rng(7)
    Q, _ = np.linalg.qr(rng.random((40, 4)) < 0.5)
    f = rng.standard_normal(fit.y.shape)
    root = np.sqrt(fit.weights)
    shift = Q @ np.linalg.lstsq(root * Q, root * (fit.y - f), rcond=None)[0]
    np.testing.assert_allclose(fit.balance(fit.residual(f), Q), fit.residual(f + shift), atol=1e-12)


@WEIGHTED
@pytest.mark.parametrize("loss", LOSSES)
def test_scale_is_the_best_factor(loss, weighted):
    fit, rng = fit_of(loss, n=20, weighted=weighted), np.random.default_rng(4)
    theta = fit.residual(rng.standard_normal(fit.y.shape))
    for largest in (0.3, 5.0):
        t = fit.scale(theta, largest)
        assert 0 <= t <= largest
        assert np.isfinite(fit.dual_value(t * theta))
        if not fit.loss.barrier:  # those that are keep the residual, the best of its ray at the optimum
            others = [fit.dual_value(s * theta) for s in np.linspace(0, largest, 200)]
            assert fit.dual_value(t * theta) >= max(others) - 1e-12


@WEIGHTED
@pytest.mark.parametrize("loss", LOSSES)
def test_unpenalized_fit_leaves_no_slope(loss, weighted):
    fit, rng = fit_of(loss, n=50, weighted=weighted), np.random.default_rng(5)
    for Q in (np.full((50, 1), 50**-0.5), np.linalg.qr(rng.standard_normal((50, 3)))[0]):
        assert np.abs(Q.T @ fit.residual(unpenalized_fit(fit, Q))).max() <= 1e-11 * np.linalg.norm(fit.y)
    assert not unpenalized_fit(fit, np.zeros((50, 0))).any()


def test_unpenalized_fit_of_a_constant_is_the_known_one():
    rng = np.random.default_rng(6)
    one = np.full((40, 1), 40**-0.5)
    label = np.where(rng.random((40, 1)) < 0.3, 1.0, -1.0)
    share = (label > 0).mean()
    found = unpenalized_fit(make_datafit("logistic", label, 40, "test"), one)
    np.testing.assert_allclose(found, np.log(share / (1 - share)), rtol=1e-10)
    y = 5 * rng.standard_normal((40, 1))
    slope = lambda t: np.clip(y - t, -0.2, 0.2).sum()  # noqa: E731
    found = unpenalized_fit(make_datafit("huber", y, 40, "test", 0.2), one)
    assert abs(slope(found[0, 0])) <= 1e-9
    assert found[0, 0] == pytest.approx(brentq(slope, -20, 20, xtol=1e-14), abs=1e-6)
    classes = np.eye(3)[rng.integers(0, 3, 40)]
    found = unpenalized_fit(make_datafit("softmax", classes, 40, "test"), one)
    expected = np.log(classes.mean(axis=0))
    np.testing.assert_allclose(found[0] - found[0].mean(), expected - expected.mean(), atol=1e-10)


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("squared_hinge", [0.0, 1.0], "columns of -1 and 1 for loss='squared_hinge'"),
        ("logistic", [0.0, 1.0], "one column of -1 and 1 for loss='logistic'"),
        ("softmax", [[0.0, 1.0], [1.0, 1.0]], "one-hot rows"),
        ("squared", [1.0, 2.0, 3.0], "one target for each row. Got 3 targets for 2 rows"),
        ("nothing", [1.0, 2.0], "must be one of"),
    ],
)
def test_targets_are_checked(loss, y, message):
    with pytest.raises(ArgumentError, match=message):
        make_datafit(loss, y, 2, "test")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"'sample_weight' parameter of test must be one weight for each row. Got 2 weights for 3 rows"),
        ([[1.0], [2.0], [3.0]], r"of shape \(3,\), one weight per row. Got shape \(3, 1\)"),
        (2.0, r"of shape \(3,\), one weight per row. Got shape \(\)"),
        ([1.0, -2.0, -3.0], "must be ≥ 0. Got 2 negative of 3 weights"),
        ([1.0, 0.0, 2.0], "must be > 0. Got 1 zeros of 3 weights instead. Leave rows"),
        ([0.0, 0.0, 0.0], "must be positive for some row. Got 3 zeros"),
        ([1.0, np.nan, 2.0], "must be finite. Got 1 NaN"),
        ([1.0, np.inf, 2.0], "must be finite. Got 1 NaN"),
        ([1.0, 1e-320, 2.0], "Leave such rows out"),
        (["a", "b", "c"], "must be an array of real numbers"),
    ],
)
def test_weights_are_checked(weights, message):
    with pytest.raises(ArgumentError, match=message):
        make_datafit("squared", [1.0, 2.0, 3.0], 3, "test", sample_weight=weights)


def test_only_ratios_of_weights_matter():
    w = np.array([1e-3, 1.0, 5.0, 2.0])
    for factor in (1e3, 1e-250, 2e300):
        fit = make_datafit("squared", np.ones(4), 4, "test", sample_weight=factor * w)
        np.testing.assert_allclose(fit.sample_weight, w / w.mean(), rtol=1e-14)
    assert make_datafit("squared", np.ones(4), 4, "test", sample_weight=np.full(4, 7)).weights == 1.0


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if not registry.has_delta(loss)])
def test_huber_delta_is_checked_and_refused_where_it_does_not_act(loss):
    with pytest.raises(ArgumentError, match="huber_delta"):
        make_datafit("huber", [1.0, 2.0], 2, "test", 0.0)
    for name in (loss, registry.LOSSES[loss]()):
        with pytest.raises(ArgumentError, match="'huber_delta' parameter of test must be left out with loss="):
            make_datafit(name, targets(loss, 4, np.random.default_rng(0)), 4, "test", 1.0)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_unpenalized_fit_of_classes_that_columns_separate_ends_far_out_without_a_warning(loss):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((30, 28)))[0]
    y = np.where(Q @ rng.standard_normal(28) > 0, 1.0, -1.0)[:, None]
    datafit = make_datafit(loss, y, 30, "test")
    with np.errstate(all="raise"):
        fitted = unpenalized_fit(datafit, Q)
    assert datafit.value(fitted) <= 1e-12


@WEIGHTED
@pytest.mark.parametrize("name", LOSSES)
def test_what_a_loss_says_along_rays_is_what_its_formulas_say(name, weighted):
    """Also where predictions are far beyond the range of exponentials, and at the ends of the domain."""
    rng, loss, n = np.random.default_rng(3), fit_of(name).loss, 300
    y = targets(name, n, rng).reshape(n, -1)
    f = rng.standard_normal(y.shape) * np.exp(3 * rng.standard_normal((n, 1)))
    f[:3] = [[-800.0], [800.0], [0.0]]
    f = np.minimum(f, 700.0) if loss.is_log else f
    weights, scales = rng.random((n, 1)) if weighted else 1.0, np.array([0.3, 0.97, 1.0])
    value, theta, duals = loss.along_rays(f, y, weights, scales)
    plain = loss.residual(f, y)
    np.testing.assert_allclose(theta, weights * plain, rtol=1e-14, atol=1e-300)
    assert value == pytest.approx(np.sum(weights * loss.value(f, y)), rel=1e-13)
    expected = [np.sum(weights * loss.dual_value(s * plain, y)) for s in scales]
    np.testing.assert_allclose(duals, expected, rtol=1e-12, atol=1e-12)


def test_a_softmax_point_whose_label_has_a_probability_below_0_by_rounding_is_balanced():
    """Its curvature was negative, and the factorization raised a LinAlgError."""
    y = np.eye(3)[[0] * 40]
    theta = np.tile([1 + 2.0**-51, -1e-3, -1e-3], (40, 1))
    point = Datafit(Softmax(), y).dual_point(theta, np.full((40, 1), 40**-0.5))
    assert np.abs(point.sum(axis=0)).max() <= 1e-12 * np.abs(point).max() or not point.any()
