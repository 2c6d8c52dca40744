"""Probabilities from leave-one-out outputs: against SciPy's minimizer, against known probabilities, and its laws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier
from clifford_rand_nn.kernel_network.calibration import Calibration, fit_calibration


def _outputs(n=400, C=4, seed=0, noise=0.7):
    """Return outputs (n, C), or (n, 1), of a classifier that is often right, and the classes."""
    rng = np.random.default_rng([seed, n, C])
    index = rng.integers(C, size=n)
    index[:C] = np.arange(C)
    Y = np.where(np.eye(C, dtype=bool)[index], 1.0, -1.0)
    F = 0.6 * Y + noise * rng.standard_normal((n, C)) - (C > 2) * 0.2
    return (F if C > 2 else F[:, 1:]), index, rng


def _loss_by_hand(found, F, index, weights, variance):
    """Return the mean cross-entropy against uncertain labels, as a function of slopes and offsets, by the formulas."""
    C = len(found.offsets)
    pairs = F if C > 2 else np.hstack([-F, F])
    g = pairs / np.sqrt(1 + found.share * (variance / found.scale if variance is not None else 0))[..., None]
    used = np.flatnonzero(found.slopes)
    shapes = np.stack([g, np.sign(g) * g**2, np.log(np.log1p(np.exp(6 * (g + 1))))], axis=2)[:, :, used]
    w = np.ones(len(F)) if weights is None else weights / np.mean(weights)
    eps = 0.5 / (np.array([w[index == c].sum() for c in range(C)]) + 1)
    T = np.array([[1 - eps[i] if i == c else eps[i] / (C - 1) for c in range(C)] for i in index])

    def loss(x):
        free = x[len(used) :] if found.offsets.any() else 0.0
        return -np.mean(w[:, None] * T * log_softmax(shapes @ x[: len(used)] + free, axis=1)) * C

    x = np.append(found.slopes[used], found.offsets if found.offsets.any() else [])
    return loss, x


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("C", [2, 4])
def test_likelihood_is_as_high_as_scipys_minimiser_finds(C, spread, weighted):
    F, index, rng = _outputs(C=C)
    variance = rng.gamma(1.0, size=len(F)) if spread else None
    weights = rng.uniform(0.2, 3, size=len(F)) if weighted else None
    found = fit_calibration(F, index, C, weights, variance)
    loss, x = _loss_by_hand(found, F, index, weights, variance)
    peer = minimize(loss, np.full(len(x), 0.5), method="BFGS", options={"gtol": 1e-9})
    assert loss(x) <= peer.fun + 1e-9
    np.testing.assert_allclose(found.slopes[found.slopes > 0], peer.x[: np.count_nonzero(found.slopes)], rtol=1e-3)
    rows, w = np.arange(len(F)), 1.0 if weights is None else weights / weights.mean()
    assert found.log_loss == pytest.approx(
        -np.mean(w * np.log(found.probabilities(F, variance)[rows, index])), rel=1e-12
    )


def test_offsets_come_only_where_they_are_supported():
    F, index, _ = _outputs(n=2000, C=3)
    assert fit_calibration(F, index, 3).keeps_order
    shifted = fit_calibration(F + np.array([0.5, 0.0, -0.5]), index, 3)
    assert not shifted.keeps_order
    loss, x = _loss_by_hand(shifted, F + np.array([0.5, 0.0, -0.5]), index, None, None)
    assert loss(x) <= minimize(loss, x, method="BFGS", options={"gtol": 1e-9}).fun + 1e-9
    assert shifted.offsets.sum() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("C", [2, 5])
def test_known_probabilities_are_found(C):
    # Labels drawn from the model with slopes (1.5, 0.5, 0): n = 20000 rows tell the slopes within 5 standard errors
    # of about .02 and the mean divergence within 5 times (C + 1)/(2n), so that this fails less than once in 1e5 seeds.
    rng = np.random.default_rng(C)
    F = rng.standard_normal((20000, C if C > 2 else 1))
    true = Calibration(np.array([1.5, 0.5, 0.0]), np.zeros(C))
    p = true.probabilities(F)
    index = (rng.random((len(p), 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    found = fit_calibration(F, index, C)
    divergence = np.mean(np.sum(p * (np.log(p) - found.log_probabilities(F)), axis=1))
    assert 0 <= divergence < 5 * (C + 1) / (2 * len(F))


def test_two_classes_without_a_second_slope_are_platts_curve():
    f = np.linspace(-2, 2, 9)
    one = Calibration(np.array([0.7, 0.0, 0.0]), np.array([-0.1, 0.2]))
    np.testing.assert_allclose(one.probabilities(f[:, None])[:, 1], expit(1.4 * f + 0.3), rtol=1e-13)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("C", [2, 3, 7])
def test_probabilities_keep_the_order_of_outputs(C, seed):
    F, index, rng = _outputs(n=120, C=C, seed=seed, noise=1.5)
    v = rng.gamma(0.5, size=len(F))
    found = fit_calibration(F, index, C, variance=v)
    new = rng.standard_normal((500, F.shape[1])) * 3
    p = found.probabilities(new, rng.gamma(0.5, size=500))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    if found.keeps_order:
        predicted = new.argmax(axis=1) if C > 2 else (new[:, 0] > 0).astype(int)
        np.testing.assert_array_equal(p.argmax(axis=1), predicted)


def test_other_names_of_the_classes_give_the_same_probabilities():
    F, index, _ = _outputs(C=4)
    order = np.array([2, 0, 3, 1])
    p, q = fit_calibration(F, index, 4), fit_calibration(F[:, order], np.argsort(order)[index], 4)
    np.testing.assert_allclose(q.probabilities(F[:, order]), p.probabilities(F)[:, order], rtol=1e-8)
    F, index, _ = _outputs(C=2)
    p, q = fit_calibration(F, index, 2), fit_calibration(-F, 1 - index, 2)
    np.testing.assert_allclose(q.probabilities(-F), p.probabilities(F)[:, ::-1], rtol=1e-8)


def test_only_ratios_of_weights_and_of_variances_matter():
    F, index, rng = _outputs()
    w, v = rng.uniform(0.5, 2, size=len(F)), rng.gamma(1.0, size=len(F))
    p = fit_calibration(F, index, 4, w, v).probabilities(F, v)
    np.testing.assert_allclose(fit_calibration(F, index, 4, 7 * w, 1e3 * v).probabilities(F, 1e3 * v), p, rtol=1e-9)
    assert np.abs(fit_calibration(F, index, 4, None, v).probabilities(F, v) - p).max() > 1e-4


def test_separated_classes_leave_finite_slopes_and_some_doubt():
    index = np.repeat([0, 1], 50)
    F = np.where(index == 1, 1.0, -1.0)[:, None]
    p = fit_calibration(F, index, 2).probabilities(F)[np.arange(100), index]
    np.testing.assert_allclose(p, 1 - 0.5 / 51, rtol=1e-6)  # half a row of 51 is mistaken


def test_outputs_that_tell_nothing_leave_the_shares_of_the_classes():
    index = np.repeat([0, 1, 2], [50, 30, 20])
    F = -np.where(np.eye(3, dtype=bool)[index], 1.0, -1.0)  # wrong on every row
    found = fit_calibration(F, index, 3)
    assert not found.slopes.any()
    np.testing.assert_allclose(found.probabilities(F[:2])[1], [0.5, 0.3, 0.2], atol=0.01)


def test_a_far_row_is_less_sure():
    F, index, rng = _outputs(noise=0.3)
    found = fit_calibration(F, index, 4, variance=rng.uniform(0.5, 1.5, size=len(F)))
    assert found.share > 0
    p = found.probabilities(np.repeat(F[:1], 4, axis=0), [0.0, 1.0, 10.0, 100.0]).max(axis=1)
    assert (np.diff(p) < 0).all()


def test_outputs_of_any_size_have_finite_logarithms():
    found = Calibration(np.array([1.0, 0.5, 2.0]), np.zeros(3))
    F = np.array([[-1e4, 0.0, 1e4], [-200.0, -300.0, -400.0]])
    logs = found.log_probabilities(F)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(softmax(logs, axis=1), found.probabilities(F))
    assert (logs.argmax(axis=1) == F.argmax(axis=1)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"F": np.zeros((4, 2))}, r"'F' parameter of fit_calibration must be of shape \(n, 3\) for 3 classes"),
        ({"F": np.full((4, 3), np.nan)}, "'F' parameter of fit_calibration must be finite"),
        ({"weights": [1, 1, 1, -1]}, "sample_weight"),
        ({"variance": [1.0]}, r"'variance' parameter of fit_calibration must be of shape \(4,\)"),
    ],
)
def test_refusals(change, message):
    arguments = {"F": np.eye(4)[:, :3], "classes": np.array([0, 1, 2, 0]), "n_classes": 3} | change
    with pytest.raises(ArgumentError, match=message):
        fit_calibration(**arguments)


def test_record_refuses_what_is_no_calibration():
    good = Calibration(np.array([1.0, 0.0, 0.0]), np.zeros(2), share=0.3)
    with pytest.raises(ArgumentError, match="'variance' parameter of Calibration must be given"):
        good.probabilities([[0.0]])
    with pytest.raises(ArgumentError, match="'slopes' parameter of Calibration must be ≥ 0"):
        replace(good, slopes=np.array([-1.0, 0.0, 0.0]))
    with pytest.raises(ArgumentError, match="'share' parameter of Calibration"):
        replace(good, share=-1.0)


def test_few_rows_of_a_weak_signal_do_not_end_in_one_class_for_all():
    """Eight rows a class: where leave-one-out sees nothing, labels still follow the outputs, not a tie."""
    rng = np.random.default_rng(0)
    right, blind = [], 0
    for _ in range(12):
        index = np.tile([0, 1], 158)
        X = rng.standard_normal((316, 40)) + 0.3 * np.where(index == 1, 1.0, -1.0)[:, None] * (np.arange(40) < 10)
        model = ConvexNetworkClassifier(max_metric_iter=0, loss="squared").fit(X[:16], index[:16])
        outputs = model.network_.predict(X[16:]).ravel()
        if model.loo_score_ == 0.5 and np.ptp(model.loo_probabilities_) == 0:
            blind += 1
            np.testing.assert_allclose(model.predict_proba(X[16:]), 0.5, atol=0.01)  # it knows that it knows nothing
        np.testing.assert_array_equal(model.predict(X[16:]), (outputs > 0).astype(int))
        np.testing.assert_array_equal(np.sign(model.decision_function(X[16:])), np.sign(outputs))
        right.append(np.mean(model.predict(X[16:]) == index[16:]))
    assert blind >= 2
    assert np.mean(right) > 0.6  # Bayes' rule is right on 0.83 of them


@pytest.mark.parametrize("unit", [2.0**60, 2.0**300, 2.0**490])
def test_the_unit_of_the_outputs_does_not_matter_however_large(unit):
    """The one slope of these outputs is in units of one over theirs; fourth powers of 2^300 overflow."""
    F, index, _ = _outputs(C=2)
    one, other = fit_calibration(F, index, 2), fit_calibration(unit * F, index, 2)
    assert one.slopes[1:].tolist() == other.slopes[1:].tolist() == [0, 0]
    np.testing.assert_allclose(other.probabilities(unit * F), one.probabilities(F), rtol=1e-9)


@pytest.mark.parametrize("beta", [1e-100, 1e-150])
def test_a_beta_below_all_rounding_ends_in_a_warning_and_probabilities(beta):
    """Of rows whose leave-one-out output is not finite nothing is known."""
    rng = np.random.default_rng(0)
    rng.standard_normal(100)
    X = rng.standard_normal((60, 3))
    with pytest.warns(ConvergenceWarning, match="logistic fit ended"):
        model = ConvexNetworkClassifier(loss="logistic", beta=beta).fit(X, X[:, 0] > 0)
    assert np.isfinite(model.loo_probabilities_[model.loo_mask_]).all()
    assert np.isfinite(model.predict_proba(X)).all()
