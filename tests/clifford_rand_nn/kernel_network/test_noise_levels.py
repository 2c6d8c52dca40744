"""Intervals whose width follows the noise: coverage by thirds of its level, constant noise, laws, exports and files."""

import numpy as np
import pandas as pd
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkRegressor, load_model, save_model, table_model
from clifford_rand_nn.kernel_network.intervals import Intervals, fit_intervals, fit_noise
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut

LEVELS = {  # of the noise, by a factor of 5 and more
    "exponential": lambda X: np.exp(0.9 * X[:, 1]),
    "wave": lambda X: np.exp(0.9 * np.sin(3 * X[:, 0])),
    "of two columns": lambda X: np.exp(0.6 * (X[:, 0] + X[:, 1])),
    "constant": lambda X: np.ones(len(X)),
}


def _sample(name, n, rng):
    X = rng.uniform(-1, 1, (n, 2))
    level = 0.3 * LEVELS[name](X)
    return X, np.abs(X[:, 0]) + X[:, 0] * X[:, 1] + level * rng.standard_normal(n), level


def _results(name, n, seeds, **options):
    """Return coverage by thirds of the noise level, and the width as a share of that of a constant one."""
    lines = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, y, _ = _sample(name, n, rng)
        new, truth, level = _sample(name, 3000, rng)
        model = ConvexNetworkRegressor(**options).fit(X, y)
        low, high = model.predict_interval(new)
        third = np.argsort(np.argsort(level)) * 3 // len(level)
        inside = (low <= truth) & (truth <= high)
        constant = 2 * fit_intervals((y - model.loo_predictions_)[:, None]).quantile(0.9)[0]
        lines.append([*(inside[third == k].mean() for k in range(3)), (high - low).mean() / constant])
    return np.mean(lines, axis=0)


@pytest.mark.parametrize("name", ["exponential", "wave", "of two columns"])
def test_coverage_by_thirds_of_the_noise_level(name):
    # a third of 3000 rows by 4 fits: the standard error by the quantile of 300 residuals is .01
    *covered, width = _results(name, 300, 4, max_metric_iter=0)
    assert min(covered) > 0.865
    assert max(covered) < 0.935
    assert width < 0.97


@pytest.mark.slow
def test_constant_noise_has_intervals_of_constant_width():
    *covered, width = _results("constant", 300, 4, max_metric_iter=0)
    assert width < 1.02
    assert min(covered) > 0.87
    assert max(covered) < 0.93


@pytest.mark.slow
def test_with_learned_gates_and_held_out_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 6))
    y = np.sin(4 * X[:, 0]) + 0.3 * np.exp(1.2 * X[:, 0]) * rng.standard_normal(300)
    model = ConvexNetworkRegressor().fit(X, y)
    assert model.metric_ is not None
    low, high = model.predict_interval(np.array([[-0.8, 0, 0, 0, 0, 0], [0.8, 0, 0, 0, 0, 0]]))
    assert 3 < (high - low)[1] / (high - low)[0] < 15  # exp(1.92) = 6.8


def _loo(n=80, weights=None, groups=None):
    rng = np.random.default_rng(n)
    X = rng.uniform(-1, 1, (n, 1))
    r = np.exp(1.5 * X) * rng.standard_normal((n, 1))
    kernel = GateKernel(bias=1.0)
    return X, r, kernel, LeaveOneOut(kernel(X), np.zeros((n, 1)), weights, groups)


def test_each_level_is_that_of_a_regression_without_the_row(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.kernel_network.intervals._STEPS", 0)  # the steps see other rows' levels
    X, r, kernel, loo = _loo()
    noise = fit_noise(r, loo, np.arange(80))
    assert noise is not None
    logs = np.log(np.maximum(np.abs(r), 0.1 * np.median(np.abs(r))))
    level, least, most = noise.levels[:, 0]
    fitted = kernel(X) @ noise.weights[:, 0] + level
    np.testing.assert_allclose([noise.logs.min(), noise.logs.max()], [least, most])
    assert np.corrcoef(noise.logs[:, 0], fitted)[0, 1] > 0.99
    moved = r.copy()
    moved[7] *= 1.5  # the level of row 7 depends on other residuals alone, up to beta, power and center
    again = fit_noise(moved, loo, np.arange(80))
    betas = loo.grid(20)
    both = [loo.of(np.log(np.maximum(np.abs(s), 0.1 * np.median(np.abs(s))))).predictions(betas) for s in (r, moved)]
    np.testing.assert_allclose(both[0][:, 7], both[1][:, 7], atol=1e-9)
    assert again is not None
    np.testing.assert_allclose(loo.of(logs).predictions(betas), LeaveOneOut(kernel(X), logs).predictions(betas))


def test_units_and_copies_change_nothing():
    _, r, _, loo = _loo()
    one, scaled = fit_noise(r, loo, np.arange(80)), fit_noise(1e9 * r, loo, np.arange(80))
    np.testing.assert_allclose(one.logs, scaled.logs, atol=1e-9)
    twice = fit_noise(np.repeat(r, 2, axis=0), loo, np.repeat(np.arange(80), 2))
    np.testing.assert_allclose(twice.weights, one.weights, atol=1e-9)
    weighted = fit_noise(r, loo, np.arange(80), np.ones(80))
    np.testing.assert_array_equal(weighted.logs, one.logs)


def test_no_noise_at_all_and_outputs_of_their_own():
    _, r, _, loo = _loo(200)
    assert fit_noise(np.zeros((200, 1)), loo, np.arange(200)) is None
    both = np.hstack([r, np.random.default_rng(0).standard_normal((200, 1))])
    noise = fit_noise(both, loo, np.arange(200))
    assert noise.weights[:, 0].any()
    assert not noise.weights[:, 1].any()
    found = fit_intervals(both, noise=noise)
    low, high = found.interval(np.zeros((2, 2)), smoothed=np.array([[-9.0, 0.0], [9.0, 0.0]]))
    ratio = (high - low)[1] / (high - low)[0]
    np.testing.assert_allclose(ratio, [np.exp(np.ptp(noise.logs[:, 0])), 1.0])  # no level beyond those of training
    with pytest.raises(ArgumentError, match="'smoothed' parameter of Intervals must be given"):
        found.interval(np.zeros((2, 2)))
    with pytest.raises(ArgumentError, match="'noise_levels' parameter of Intervals"):
        Intervals(np.ones((1, 1)), np.ones((1, 1)), np.zeros(1), 1.0, np.ones((3, 1)), np.ones((2, 1)))


@pytest.fixture(scope="module")
def pipeline():
    rng = np.random.default_rng(1)
    n = 300
    frame = pd.DataFrame({"size": rng.uniform(0, 1, n), "kind": rng.choice(["a", "b"], n)})
    level = np.where(frame["kind"] == "a", 0.1, 1.0)
    frame["price"] = 3 * frame["size"] + level * rng.standard_normal(n)
    return table_model(frame, "price", estimator=ConvexNetworkRegressor(max_metric_iter=0)), frame.drop(columns="price")


def test_pipelines_files_and_exports_have_the_same_intervals(pipeline, tmp_path):
    fitted, frame = pipeline
    model, X = fitted[-1], fitted[0].transform(frame)
    low, high = model.predict_interval(X)
    assert model.intervals_.noise_weights is not None
    widths = [(high - low)[frame["kind"] == kind].mean() for kind in "ab"]
    assert 5 < widths[1] / widths[0] < 20
    save_model(fitted, tmp_path / "model.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz")[-1].predict_interval(X), (low, high))
    module = {}
    exec(model.to_source(), module)
    np.testing.assert_allclose(module["predict_interval"](X), (low, high), rtol=1e-7, atol=1e-8)
    torch = pytest.importorskip("torch")
    ends = model.to_torch().double().interval(torch.tensor(X))
    np.testing.assert_allclose([end.detach().numpy() for end in ends], (low, high), rtol=1e-6, atol=1e-8)
    runtime = pytest.importorskip("onnxruntime")
    model.to_onnx(tmp_path / "model.onnx", dtype="float64")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    found = session.run(["low", "high"], {session.get_inputs()[0].name: X})
    np.testing.assert_allclose([np.ravel(end) for end in found], (low, high), rtol=1e-6)


def test_groups_and_weights():
    rng = np.random.default_rng(2)
    X, y, _ = _sample("exponential", 400, rng)
    weights, groups = rng.integers(0, 3, 400), np.arange(400) // 8
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, y, weights, groups)
    assert model.intervals_.noise_weights.shape == (len(model.network_.rows), 1)
    low, high = model.predict_interval(np.array([[0.0, -0.9], [0.0, 0.9]]))
    assert 2 < (high - low)[1] / (high - low)[0] < 12
