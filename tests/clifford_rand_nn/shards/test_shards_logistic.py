"""The logistic loss of the tuning-free network on shards: the optimum of an independent solver, an honest bound."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular

from clifford_rand_nn import ConvexNetworkClassifier, load_model, save_model
from clifford_rand_nn.datafits.registry import encode_labels
from clifford_rand_nn.kernel_network.landmarks import span
from clifford_rand_nn.kernel_network.landmarks.judge import SpanProblem, judge
from clifford_rand_nn.kernel_network.landmarks.span import LandmarkRows, LandmarkSpan
from clifford_rand_nn.kernel_network.logistic.path import logistic_path
from clifford_rand_nn.shards.engines.local import LocalEngine
from clifford_rand_nn.shards.source import Shards


def rows(n: int, classes: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)).astype(np.float32)
    f = 3 * np.stack([np.abs(X[:, 0]), X[:, 1] + 0.5, X[:, 2]], axis=1)[:, :classes]
    return X, np.array(["b", "a", "c"])[(f + rng.gumbel(size=f.shape)).argmax(axis=1)]


def sharded(X: Any, y: Any, w: Any = None, parts: int = 3) -> Shards:
    cut = [None if one is None else np.array_split(one, parts) for one in (X, y, w)]
    return Shards(cut[0], cut[1], sample_weight=cut[2])


@pytest.fixture(scope="module", autouse=True)
def _few_landmarks() -> Any:
    before, span.MAX_LANDMARKS = span.MAX_LANDMARKS, 40
    yield
    span.MAX_LANDMARKS = before


@pytest.fixture(scope="module", params=[2, pytest.param(3, marks=pytest.mark.slow)])
def fitted(request: Any) -> tuple[Any, Any, Any, Any]:
    X, y = rows(160, request.param)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 160)
    return ConvexNetworkClassifier(loss="logistic", rounds=0).fit(sharded(X, y, w)), X, y, w


def least(model: Any, X: Any, y: Any, w: Any) -> float:
    """The least objective in the span, by the solver for rows in memory."""
    network = model.network_
    gram = network.kernel(network.rows)
    K = network.kernel(network.standard.rows(X.astype(np.float64)), network.rows)
    V = solve_triangular(cholesky(gram, lower=True), K.T, lower=True).T
    targets, loss = encode_labels(np.searchsorted(model.classes_, y), len(model.classes_), "logistic")
    found = logistic_path(V @ V.T, targets, w, [model.beta_], loss, leave_out=False, tol=1e-9, max_iter=200)[0]
    assert found.relative_gap < 1e-8
    return found.objective


def test_the_optimum_is_that_of_the_solver_in_memory(fitted: Any) -> None:
    model, X, y, w = fitted
    exact, proof = least(model, X, y, w), model.certificate_
    assert model.loss_ == proof.loss == "logistic"
    assert exact * (1 - 1e-7) <= proof.primal <= exact * (1 + 1e-3)
    assert exact * (1 - 1e-3) <= proof.dual <= exact * (1 + 1e-7)
    assert proof.relative_gap <= 1e-3
    assert "40 landmarks" in proof.scope


def test_one_pass_verifies_it_and_other_labels_do_not(fitted: Any, tmp_path: Any) -> None:
    model, X, y, w = fitted
    save_model(tmp_path / "m.npz", model)
    loaded = load_model(tmp_path / "m.npz")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for proof in (model.certificate_, loaded.certificate_):
        again = proof.verify(sharded(X, y, w, parts=2))
        assert again.primal == pytest.approx(proof.primal, rel=1e-9)
        assert again.dual == pytest.approx(proof.dual, rel=1e-9)
        assert proof.verify(sharded(X, y[::-1], w)).relative_gap > 0.1


@pytest.mark.parametrize("shift", [0.0, 0.01, -2.0, 40.0])
def test_the_bound_holds_whatever_the_intercept_is(fitted: Any, shift: float) -> None:
    model, X, y, w = fitted
    network, targets = model.network_, model.certificate_.targets
    shards = sharded(X, y, w)
    t = network.intercept.copy()
    t[0] += shift
    rows, span = (
        LandmarkRows(network.kernel, network.rows, network.standard),
        LandmarkSpan(network.kernel, network.rows),
    )
    problem = SpanProblem(rows, span, targets, float(len(X)), t)
    with LocalEngine(shards) as engine:
        found = judge(problem, engine, network.alpha, t, 2 * network.penalty(), model.beta_)
    assert 0 <= found.dual <= model.certificate_.primal
    assert found.primal >= model.certificate_.dual
    if shift == 0.01:
        assert found.dual > 0.9 * found.primal


def test_probabilities_and_score_are_of_rows_held_out(fitted: Any) -> None:
    model, X, y, _w = fitted
    tried = [one for one in model.candidates_ if one.n == 16]
    assert model.beta_ == tried[0].beta == min(tried, key=lambda one: one.score).beta
    assert list(model.losses_) == ["logistic"]
    assert model.loo_score_ > 0.5
    new, truth = rows(3000, len(model.classes_), seed=5)
    logs = model.predict_log_proba(new)
    loss = -np.mean(logs[np.arange(len(new)), np.searchsorted(model.classes_, truth)])
    shares = np.bincount(np.searchsorted(model.classes_, y)) / len(y)
    assert loss < -0.8 * shares @ np.log(shares)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


def test_rows_of_a_class_that_is_only_held_out_and_weights_of_classes() -> None:
    X, y = rows(120, 3)
    y[:] = np.where(y == "c", "a", y)
    y[7] = "c"
    model = ConvexNetworkClassifier(loss="logistic", rounds=0, class_weight="balanced").fit(sharded(X, y))
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.certificate_.relative_gap <= 1e-3
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_limit_of_time_leaves_fewer_landmarks_for_more_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span, "MAX_LANDMARKS", 2500)
    load = span.Workload(10**6, 50, 1)
    squares = span.landmarks_of_shards(load, 40.0, None, "fit")
    logistic = span.landmarks_of_shards(load._replace(passes=span.LOGISTIC_PASSES), 40.0, None, "fit")
    assert logistic.seconds <= 40.0
    assert 100 < logistic.landmarks < squares.landmarks


@pytest.mark.parametrize(("outlier", "seed"), [(1.0, 0), (1e4, 0), (1e4, 1)])
def test_a_tiny_beta_leads_near_the_optimum(outlier: float, seed: int) -> None:
    """From where the sample's Newton step leads out of all bounds, and where rows held out are sure and wrong."""
    rng = np.random.default_rng(seed)
    X, noise = rng.standard_normal((60, 3)), rng.standard_normal(60)
    X[0] *= outlier
    y = (X[:, 0] + 0.3 * noise > 0).astype(int)
    model = ConvexNetworkClassifier(loss="logistic", rounds=0, beta=1e-9).fit(sharded(X, y))
    assert model.certificate_.primal < 0.05
    assert (model.predict(X) == y).mean() > 0.96
