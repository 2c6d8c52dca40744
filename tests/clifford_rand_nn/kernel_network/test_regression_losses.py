"""Poisson and quantile losses of the tuning-free regressor: certificates, leave-one-out, coverage, formats, errors."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import d2_pinball_score, d2_tweedie_score

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexNetworkRegressor, Shards, explain, load_model, save_model
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.problems.poisson_quantile import Poisson, SmoothQuantile
from support.newton_path import logistic_path


def _counts(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    mean = np.exp(2 * np.abs(X[:, 0]) + X[:, 1])
    return X, rng.poisson(mean).astype(float), mean


def _noisy(n=150, seed=0):
    """Return rows, targets, and the deviation of each, so that the quantiles are known."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    deviation = 0.5 * np.exp(X[:, 1])
    return X, np.sin(3 * X[:, 0]) + deviation * rng.standard_normal(n), deviation


@pytest.mark.parametrize("loss", [Poisson(), SmoothQuantile(0.8)])
@pytest.mark.parametrize("together", [False, True])
def test_leave_one_out_is_that_of_refits(loss, together):
    """The mean loss of refits, to 3 % of it, at a beta near the best one, of rows and of groups."""
    rng, n = np.random.default_rng(1), 40
    X = rng.uniform(-1, 1, (n, 2))
    f = 2 * np.sin(3 * X[:, :1]) + X[:, 1:]
    y = rng.poisson(np.exp(f)).astype(float) if loss.is_log else 5 * f + 2 * rng.standard_normal((n, 1))
    w, groups, beta = rng.uniform(0.5, 2, n), np.arange(n) // 2 if together else np.arange(n), 0.05
    K = GateKernel(bias=1.0)(X)
    found = logistic_path(K, y, w, [beta], loss, groups=groups if together else None, tol=1e-9)[0].leave_one_out
    w, refitted = w / w.mean(), np.empty_like(y)
    for k in range(groups.max() + 1):
        kept = groups != k
        own = beta * n / w[kept].sum()
        fit = logistic_path(K[np.ix_(kept, kept)], y[kept], w[kept], [own], loss, leave_out=False, tol=1e-9)[0]
        refitted[~kept] = K[np.ix_(~kept, kept)] @ fit.alpha + fit.intercept
    true = np.average(loss.value(refitted, y)[:, 0], weights=w)
    seen = np.average(loss.value(logistic_path(K, y, w, [beta], loss)[0].fitted, y)[:, 0], weights=w)
    assert np.average(loss.value(found, y)[:, 0], weights=w) == pytest.approx(true, rel=0.03)
    assert np.corrcoef(found[:, 0], refitted[:, 0])[0, 1] > 0.999
    assert seen < 0.98 * true


_KINDS = ["plain", "1e-9", "1e12", "weights", "zero weights", "duplicates", "outlier", "two values", "one positive"]


@pytest.mark.parametrize("options", [{"loss": "poisson"}, {"loss": "quantile"}, {"loss": "quantile", "quantile": 0.9}])
@pytest.mark.parametrize("kind", _KINDS)
def test_certificates_are_verified_whatever_the_data(options, kind):
    is_counts, n = options["loss"] == "poisson", 60
    X, y, _ = _counts(n) if is_counts else _noisy(n)
    weights = None
    match kind:
        case "1e-9" | "1e12":
            y = float(kind) * y
        case "weights" | "zero weights":
            weights = np.exp(2 * np.random.default_rng(5).standard_normal(n))
            weights[: 10 * (kind != "weights")] = 0
        case "duplicates":
            X = X[np.arange(n) // 3]
        case "outlier":
            y = np.where(np.arange(n) == 2, 1e6, y)
        case "two values":
            y = 1.0 * (y > np.median(y))
        case "one positive":
            y = 7.0 * (np.arange(n) == 3)
    model = ConvexNetworkRegressor(max_metric_iter=0, **options).fit(X, y, weights)
    assert model.result_.status == "optimal"
    verified = model.certificate_.verify(X, y, weights)
    assert verified.relative_gap < 2e-6
    assert verified.objective == pytest.approx(model.certificate_.objective, rel=1e-6)
    mass = weights if weights is None else weights[weights > 0]
    kept = slice(None) if weights is None else weights > 0
    level = options.get("quantile", 0.5)
    if is_counts:
        assert model.score(X[kept], y[kept], mass) > -1e-6  # the best constant is among the networks
    elif kind in ("plain", "1e-9", "1e12"):
        share = np.average(y <= model.predict(X) + 1e-6 * np.ptp(y))
        assert abs(share - level) < 0.12
    if kind == "plain":
        score = d2_tweedie_score(y, model.predict(X), power=1) if is_counts else None
        score = d2_pinball_score(y, model.predict(X), alpha=level) if score is None else score
        assert model.score(X, y) == pytest.approx(score)


@pytest.mark.slow
def test_certificates_of_quantiles_hold_where_the_square_of_the_network_underflows():
    """The objective is proportional to the targets, and beta to one over them."""
    X, y, _ = _noisy(40)
    expected = ConvexNetworkRegressor(loss="quantile", quantile=0.3).fit(X, y).certificate_.objective
    for size in (1e-160, 1e-200):
        certificate = ConvexNetworkRegressor(loss="quantile", quantile=0.3).fit(X, size * y).certificate_
        verified = certificate.verify(X, size * y)
        assert verified.objective / size == pytest.approx(expected, rel=1e-4)
        assert 0 < verified.lower_bound <= verified.objective
        assert verified.relative_gap <= 1e-4


def test_a_unit_of_counts_changes_means_by_it_and_nothing_else():
    X, y, _ = _counts(60)
    one, other = (ConvexNetworkRegressor(loss="poisson", max_metric_iter=0).fit(X, unit * y) for unit in (1.0, 2.0**20))
    np.testing.assert_allclose(other.predict(X), 2.0**20 * one.predict(X), rtol=1e-3)
    assert other.loo_score_ == pytest.approx(one.loo_score_, abs=1e-4)


@pytest.mark.parametrize("options", [{"loss": "poisson", "beta": 0.1}, {"loss": "quantile", "beta": 0.05}])
def test_whole_weights_are_copies_of_rows(options):
    X, y, _ = _counts(40)
    times = np.random.default_rng(2).integers(1, 4, 40)
    copies = np.repeat(np.arange(40), times)
    weighted = ConvexNetworkRegressor(max_metric_iter=0, **options).fit(X, y, times)
    copied = ConvexNetworkRegressor(max_metric_iter=0, **options).fit(X[copies], y[copies])
    assert weighted.certificate_.objective == pytest.approx(copied.certificate_.objective, rel=2e-6)
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), atol=0.02 * np.ptp(y))
    assert copied.network_.rows.shape == weighted.network_.rows.shape
    # repeated rows are left out together: one at a time the scores differ by .07 and .1
    np.testing.assert_allclose(copied.loo_predictions_, weighted.loo_predictions_[copies], atol=0.01 * np.ptp(y))
    assert copied.loo_score_ == pytest.approx(weighted.loo_score_, abs=0.01)


@pytest.mark.slow
@pytest.mark.kept("poisson")
@pytest.mark.parametrize("loss", ["poisson", "quantile"])
def test_groups_are_left_out_as_a_whole(loss):
    """Of rows that are nearly equal within groups, whose targets are chance, one without its group says nothing."""
    rng, groups = np.random.default_rng(3), np.repeat(np.arange(20), 5)
    X = rng.uniform(-1, 1, (20, 3))[groups] + 1e-3 * rng.standard_normal((100, 3))
    y = rng.integers(1, 40, 20)[groups] + 0.1 * rng.random(100)
    alone, grouped = (ConvexNetworkRegressor(loss=loss, max_metric_iter=0).fit(X, y, groups=g) for g in (None, groups))
    assert alone.loo_score_ > 0.8
    assert grouped.loo_score_ < 0.2


@pytest.mark.slow
def test_means_of_counts_are_nearer_than_those_of_squares():
    """On three samples; the leave-one-out estimate is that of new rows to .1 (their own errors are .03)."""
    errors, promised = np.zeros(2), []
    for seed in range(3):
        X, y, _ = _counts(200, seed)
        new, counts, means = _counts(1000, 100 + seed)
        models = [ConvexNetworkRegressor(loss=loss, max_metric_iter=0).fit(X, y) for loss in ("poisson", "squared")]
        errors += [np.mean((model.predict(new) - means) ** 2 / means) for model in models]
        promised.append(models[0].loo_score_ - models[0].score(new, counts))
    assert errors[0] < 0.8 * errors[1]
    assert abs(np.mean(promised)) < 0.1


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantiles_cover_their_share_of_new_rows_and_follow_the_noise(level):
    """The mean over three samples of 250 rows; by the noise of training it is off by .02, and .05 is allowed."""
    covered, distance = [], []
    for seed in range(3):
        X, y, _ = _noisy(250, seed)
        new, targets, deviation = _noisy(2000, 100 + seed)
        model = ConvexNetworkRegressor(loss="quantile", quantile=level, max_metric_iter=0).fit(X, y)
        predicted = model.predict(new)
        covered.append(np.mean(targets <= predicted))
        true = np.sin(3 * new[:, 0]) + deviation * norm.ppf(level)
        distance.append(np.mean(np.abs(predicted - true)) / np.mean(np.abs(true - np.quantile(y, level))))
        left = model.loo_mask_
        assert abs(np.mean(y[left] <= model.loo_predictions_[left]) - level) < 0.08
    assert abs(np.mean(covered) - level) < 0.05
    assert np.mean(distance) < 0.6


def test_a_quantile_does_not_stay_where_it_interpolates():
    """Begun at the beta of squares, the search ended there: D² on new rows was .59."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (1100, 3))
    y = np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.standard_normal(1100)
    model = ConvexNetworkRegressor(loss="quantile", quantile=0.9, max_metric_iter=0).fit(X[:100], y[:100])
    assert d2_pinball_score(y[100:], model.predict(X[100:]), alpha=0.9) > 0.65


@pytest.mark.slow
def test_learned_gates_groups_and_time_order():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (90, 6))
    y = rng.poisson(np.exp(2 * np.abs(X[:, 0]))).astype(float)
    model = ConvexNetworkRegressor(loss="poisson").fit(X, y)
    assert model.metric_ is not None
    assert model.certificate_.verify(X, y).relative_gap < 2e-6
    grouped = ConvexNetworkRegressor(loss="quantile", max_metric_iter=0).fit(X, y, groups=np.arange(90) // 3)
    assert grouped.loo_score_ < 1
    ordered = ConvexNetworkRegressor(loss="quantile", max_metric_iter=0).fit(X, y, order=np.arange(90))
    assert ordered.n_order_blocks_ > 0
    later = ordered.loo_mask_
    assert ordered.loo_score_ == pytest.approx(d2_pinball_score(y[later], ordered.loo_predictions_[later]))


@pytest.mark.parametrize("options", [{"loss": "poisson"}, {"loss": "quantile", "quantile": 0.9}])
def test_formats_predict_the_same(options, tmp_path):
    X, y, _ = _counts(60)
    model = ConvexNetworkRegressor(max_metric_iter=0, **options).fit(X, y)
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.certificate_.verify(X, y).relative_gap < 2e-6
    assert loaded.get_params() == model.get_params()
    assert not hasattr(loaded, "predict_interval")
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(model.to_torch()(torch.tensor(X)).detach().numpy().ravel(), model.predict(X))
    onnxruntime = pytest.importorskip("onnxruntime")
    model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found, *_) = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})
    np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-4, atol=1e-4)
    text = str(explain(model, X[:1]))
    assert ("on the scale log(mean)" in text) == (options["loss"] == "poisson")


def test_what_is_not_there_is_refused_in_one_sentence(tmp_path):
    X, y, _ = _counts(40)
    model = ConvexNetworkRegressor(loss="poisson", max_metric_iter=0).fit(X, y)
    with pytest.raises(AttributeError, match="no attribute 'predict_interval'") as refused:
        model.predict_interval(X)
    assert str(refused.value.__cause__) == "Intervals are those of loss='squared', not of loss='poisson'."
    with pytest.raises(AttributeError, match="'ConvexNetworkRegressor' object has no attribute 'nothing'"):
        model.nothing  # noqa: B018
    with pytest.raises(ArgumentError, match="that the checker of exact proofs knows"):
        model.certificate_.export(tmp_path / "proof.json", X, y)
    for options, targets, said in (
        ({"loss": "poisson"}, y - 3, "numbers ≥ 0 for loss='poisson'"),
        ({"loss": "poisson"}, 0 * y, "positive in some row for loss='poisson'"),
        ({"loss": "quantile"}, np.column_stack([y, y]), "one target for loss='quantile'"),
        ({"loss": "huber"}, y, "one of 'squared', 'poisson', 'quantile'|'squared'"),
        ({"loss": "quantile", "quantile": 1.0}, y, "a number between 0 and 1"),
        ({"loss": "poisson", "n_neurons": 3}, y, "'squared' for a finite network"),
    ):
        with pytest.raises(ArgumentError, match=said):
            ConvexNetworkRegressor(**options).fit(X, targets)
    many = np.arange(3001.0)
    with pytest.raises(ArgumentError, match="'squared' with more than 3000 rows"):
        ConvexNetworkRegressor(loss="poisson").fit(many[:, None], many)
    np.save(tmp_path / "X-00000.npy", X)
    np.save(tmp_path / "y-00000.npy", y)
    with pytest.raises(ArgumentError, match="'squared' with shards"):
        ConvexNetworkRegressor(loss="poisson").fit(Shards(tmp_path))


@pytest.mark.parametrize("d", [3, 4])
@pytest.mark.parametrize("quantile", [0.1, 0.5])
def test_a_quantile_that_interpolates_reaches_its_tolerance(d, quantile):
    """The dual point is some 1e-8 of its bounds; as curvature times a change of predictions it had no digits left."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((40, d))
    y = np.abs(X[:, 0]) + 0.3 * rng.standard_normal(40)
    result = ConvexNetworkRegressor(loss="quantile", quantile=quantile, beta=1e-9, max_metric_iter=0).fit(X, y).result_
    assert result.converged
    assert result.relative_gap <= 1e-6
    assert result.objective < 1e-6
