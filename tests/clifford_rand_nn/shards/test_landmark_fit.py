"""The tuning-free network on shards: the optimum of other solvers, valid certificates, and what a break leaves."""

import os
import signal
import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, load_model, save_model
from clifford_rand_nn.kernel_network import kernel_products as span
from clifford_rand_nn.kernel_network.kernel_products import LandmarkRows, LandmarkSpan
from clifford_rand_nn.kernel_network.landmark_judge import LossSum, ResidualSum, SpanProblem, judge
from clifford_rand_nn.kernel_network.landmark_newton import NewtonSteps, NormalSum
from clifford_rand_nn.kernel_network.training import choose_kernel
from clifford_rand_nn.problems.loss_registry import as_loss, encode_labels
from clifford_rand_nn.row_sums import Block, RowSum, Targets
from clifford_rand_nn.shards import landmark_fit
from clifford_rand_nn.shards.checkpoint import Checkpoint
from clifford_rand_nn.shards.engines import LocalEngine
from clifford_rand_nn.shards.source import Shards
from support.newton_path import logistic_path

REGRESSOR = ConvexNetworkRegressor(max_metric_iter=0)
LOGISTIC = ConvexNetworkClassifier(loss="logistic", max_metric_iter=0)


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float16)
    return X, np.abs(X[:, 0].astype(np.float64)) + X[:, -1] + 0.2 * rng.standard_normal(n)


def labelled(n, classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)).astype(np.float32)
    f = 3 * np.stack([np.abs(X[:, 0]), X[:, 1] + 0.5, X[:, 2]], axis=1)[:, :classes]
    return X, np.array(["b", "a", "c"])[(f + rng.gumbel(size=f.shape)).argmax(axis=1)]


def sharded(X, y, w=None, parts=3):
    X, y, w = (None if array is None else np.array_split(array, parts) for array in (X, y, w))
    return Shards(X, y, sample_weight=w)


def weights(n):
    return np.random.default_rng(1).uniform(0.5, 2.0, n)


@pytest.fixture(scope="module", autouse=True)
def _few_landmarks():
    before, span.MAX_LANDMARKS = span.MAX_LANDMARKS, 60
    yield
    span.MAX_LANDMARKS = before


@cache
def fitted(kind):
    X, y = rows(300, 4) if kind == "squared" else labelled(160, kind)
    w = weights(len(X))
    return clone(REGRESSOR if kind == "squared" else LOGISTIC).fit(sharded(X, y, w)), X, y, w


CLASSIFIERS = [2, pytest.param(3, marks=pytest.mark.slow)]


def test_the_optimum_of_squares_is_that_of_dense_normal_equations():
    model, X, y, w = fitted("squared")
    network, proof, w = model.network_, model.certificate_, w / w.sum()
    K = np.column_stack([network.kernel(network.standard.rows(X.astype(np.float64)), network.rows), np.ones(len(X))])
    H = (K * w[:, None]).T @ K
    H[:-1, :-1] += model.beta_ * network.kernel(network.rows)
    a = np.linalg.solve(H, K.T @ (w * y))
    least = 0.5 * w @ (y - K @ a) ** 2 + 0.5 * model.beta_ * a[:-1] @ network.kernel(network.rows) @ a[:-1]
    assert proof.lower_bound <= least * (1 + 1e-9)
    assert least * (1 - 1e-9) <= proof.objective
    assert proof.objective - proof.lower_bound <= 1e-3 * least
    assert np.abs(model.predict(X) - K @ a).max() < 0.05 * y.std()
    assert "60 landmarks" in proof.scope


@pytest.mark.parametrize("classes", CLASSIFIERS)
def test_the_optimum_of_the_logistic_loss_is_that_of_the_solver_in_memory(classes):
    model, X, y, w = fitted(classes)
    network, proof = model.network_, model.certificate_
    K = network.kernel(network.standard.rows(X.astype(np.float64)), network.rows)
    V = solve_triangular(cholesky(network.kernel(network.rows), lower=True), K.T, lower=True).T
    targets, loss = encode_labels(np.searchsorted(model.classes_, y), classes, "logistic")
    exact = logistic_path(V @ V.T, targets, w, [model.beta_], loss, leave_out=False, tol=1e-9, max_iter=200)[0]
    assert exact.relative_gap < 1e-8
    assert model.loss_ == proof.loss == "logistic"
    assert exact.objective * (1 - 1e-7) <= proof.objective <= exact.objective * (1 + 1e-3)
    assert exact.objective * (1 - 1e-3) <= proof.lower_bound <= exact.objective * (1 + 1e-7)
    assert proof.relative_gap <= 1e-3
    assert "60 landmarks" in proof.scope


@pytest.mark.parametrize("kind", ["squared", *CLASSIFIERS])
def test_one_pass_verifies_the_certificate_and_other_targets_do_not(kind, tmp_path):
    model, X, y, w = fitted(kind)
    save_model(model, tmp_path / "m.npz")
    loaded = load_model(tmp_path / "m.npz")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    for proof in (model.certificate_, loaded.certificate_):
        again = proof.verify(sharded(X, y, w, parts=2))
        assert again.objective == pytest.approx(proof.objective, rel=1e-9)
        assert again.lower_bound == pytest.approx(proof.lower_bound, rel=1e-9)
        assert proof.verify(sharded(X, y[::-1], w)).relative_gap > 0.1
    with pytest.raises(ArgumentError, match=f"{len(X)} rows"):
        model.certificate_.verify(sharded(X[1:], y[1:], w[1:]))


def test_held_out_rows_are_in_no_normal_equation():
    model, X, y, w = fitted("squared")
    network = model.network_
    landmarks = LandmarkRows(network.kernel, network.rows, network.standard)
    targets, every, held = Targets(as_loss("squared", "t"), None), np.arange(len(X)), np.array([3, 40, 41, 299])

    def sums(some, left_out):
        term = NormalSum(landmarks, replace(targets, left_out=left_out.astype(int)), np.zeros(landmarks.m), np.zeros(1))
        return term.of(Block(X[some], y[some], w[some], 0), ())

    for whole, part, rest in zip(sums(every, every[:0]), sums(held, every[:0]), sums(every, held), strict=True):
        assert np.abs(part).max() > 0
        assert rest == pytest.approx(whole - part, abs=1e-9 * np.abs(whole).max())


def test_held_out_rows_choose_beta_and_estimate_the_score():
    model, X, *_ = fitted("squared")
    tried = [candidate for candidate in model.candidates_ if candidate.n_rows == 30]
    assert len(tried) == 46
    assert model.beta_ == tried[0].beta == min(tried, key=lambda candidate: candidate.mean_loss).beta
    assert model.loo_score_ == pytest.approx(1 - tried[0].mean_loss, abs=1e-9)
    with pytest.raises(AttributeError, match="fitted to shards"):
        model.loo_predictions_  # noqa: B018
    new, truth = rows(2000, 4, seed=5)
    low, high = model.predict_interval(new, coverage=0.9)
    assert 0.8 < np.mean((low <= truth) & (truth <= high)) < 0.98
    assert X[model.support_] == pytest.approx(model.network_.standard.inverse(model.network_.rows), abs=1e-9)


@pytest.mark.parametrize("classes", CLASSIFIERS)
def test_probabilities_and_score_are_of_held_out_rows(classes):
    model, X, y, _ = fitted(classes)
    tried = [candidate for candidate in model.candidates_ if candidate.n_rows == 16]
    assert model.beta_ == tried[0].beta == min(tried, key=lambda candidate: candidate.mean_loss).beta
    assert list(model.loss_scores_) == ["logistic"]
    assert model.loo_score_ > 0.5
    new, truth = labelled(3000, classes, seed=5)
    logs = model.predict_log_proba(new)
    loss = -np.mean(logs[np.arange(len(new)), np.searchsorted(model.classes_, truth)])
    shares = np.bincount(np.searchsorted(model.classes_, y)) / len(y)
    assert loss < -0.8 * shares @ np.log(shares)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("shift", [0.0, 0.01, -2.0, 40.0])
@pytest.mark.parametrize("classes", CLASSIFIERS)
def test_the_bound_holds_whatever_the_intercept_is(classes, shift):
    model, X, y, w = fitted(classes)
    network, t = model.network_, model.network_.intercept.copy()
    t[0] += shift
    landmarks = LandmarkRows(network.kernel, network.rows, network.standard)
    own_span = LandmarkSpan(network.kernel, network.rows)
    problem = SpanProblem(landmarks, own_span, model.certificate_.targets, float(len(X)), t)
    with LocalEngine(sharded(X, y, w)) as engine:
        judged = judge(problem, engine, network.alpha, t, 2 * network.penalty(), model.beta_)
    assert 0 <= judged.dual <= model.certificate_.objective
    assert judged.primal >= model.certificate_.lower_bound
    if shift == 0.01:
        assert judged.dual > 0.9 * judged.primal


def test_rows_of_weight_zero_count_nowhere():
    model, X, y, w = fitted("squared")
    more, n = np.concatenate([X, 50 * np.ones((7, 4), np.float16)]), len(X)
    targets, masses = np.concatenate([y, np.full(7, 1e3)]), np.concatenate([w, np.zeros(7)])
    order = np.argsort(np.concatenate([np.arange(float(n)), np.random.default_rng(3).uniform(0, n, 7)]))
    other = clone(REGRESSOR).fit(sharded(more[order], targets[order], masses[order]))
    assert other.predict(X) == pytest.approx(model.predict(X), abs=1e-3)


@pytest.mark.slow
def test_labels_of_any_kind_with_weights_of_classes():
    X, y = rows(300, 3)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [0.3, 2.0])]
    model = ConvexNetworkClassifier(class_weight="balanced").fit(sharded(X, labels))
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert model.loss_ == "squared"
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert np.mean(model.predict(X) == labels) > 0.8
    assert 0.7 < model.loo_score_ <= 1
    assert model.certificate_.relative_gap <= 1e-3
    assert model.certificate_.verify(sharded(X, labels)).objective == pytest.approx(
        model.certificate_.objective, rel=1e-9
    )
    X, y = labelled(120, 3)
    y[:] = np.where(y == "c", "a", y)
    y[7] = "c"  # of a class that is only held out
    model = clone(LOGISTIC).set_params(class_weight="balanced").fit(sharded(X, y))
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.certificate_.relative_gap <= 1e-3
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize(("n", "d"), [(40, 1), (30, 60)])
def test_one_column_and_fewer_rows_than_columns(n, d):
    X, y = rows(n, d)
    model = ConvexNetworkRegressor().fit(sharded(X, 1e120 * y))
    assert model.certificate_.relative_gap <= 1e-3
    assert np.isfinite(model.predict(X)).all()
    assert 1e119 < np.abs(model.predict(X)).max() < 1e121
    again = model.certificate_.verify(sharded(X, 1e120 * y))
    assert again.objective == pytest.approx(model.certificate_.objective, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        (ConvexNetworkRegressor(n_neurons=3), {}, "n_neurons"),
        (ConvexNetworkRegressor(gates="row_spanned"), {}, "gates"),
        (ConvexNetworkRegressor(), {"groups": np.zeros(20)}, "groups"),
        (ConvexNetworkRegressor(), {"y": np.zeros(20)}, "Shards, beside X"),
        (ConvexNetworkClassifier(class_weight={"x": 2}), {}, "class_weight"),
        (ConvexNetworkRegressor(max_memory=1e3), {}, "max_memory"),
    ],
)
def test_what_shards_have_not_is_refused(model, options, sentence):
    X, y = rows(20, 2)
    with pytest.raises(ArgumentError, match=sentence):
        model.fit(sharded(X, y > 0.5 if isinstance(model, ConvexNetworkClassifier) else y), **options)


def test_a_fit_in_memory_before_leaves_nothing_and_an_engine_is_for_shards():
    X, y = rows(20, 2)
    model = clone(REGRESSOR).fit(X.astype(np.float64), y).fit(sharded(X, y))
    assert not hasattr(model, "loo_predictions_")
    assert not hasattr(model, "loo_mask_")
    assert model.fit(X.astype(np.float64), y).loo_predictions_.shape == (20,)
    with pytest.raises(ArgumentError, match="engine"):
        model.fit(X, y, engine="torch")


# ---- breaks

BROKEN_X, BROKEN_Y = rows(160, 3)
SHARDS = sharded(BROKEN_X, BROKEN_Y > 0.5, weights(160))


def network(loss, beta="auto"):
    return ConvexNetworkClassifier(loss=loss, max_metric_iter=0, beta=beta)


@cache
def undisturbed(loss, beta="auto"):
    return network(loss, beta).fit(SHARDS)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_any_number_of_workers_gives_the_same_bits(loss):
    alone = network(loss).fit(SHARDS, engine=LocalEngine(SHARDS, 1))
    assert np.array_equal(alone.network_.alpha, undisturbed(loss).network_.alpha)
    assert alone.certificate_.lower_bound == undisturbed(loss).certificate_.lower_bound


@pytest.mark.kept("squared-2")
@pytest.mark.parametrize(("loss", "passes"), [("squared", 2), ("squared", 3), ("logistic", 2), ("logistic", None)])
def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(loss, passes, tmp_path, monkeypatch):
    """After some passes, or in the first one over all rows."""
    expected, calls, whole = undisturbed(loss), [], LocalEngine.sum
    checkpoint = Checkpoint(tmp_path / "state", every=0)

    def some(engine, term):
        calls.append(term)
        if len(calls) > passes if passes else isinstance(term, LossSum) and term.targets.left_out is None:
            raise RuntimeError("stopped")
        return whole(engine, term)

    monkeypatch.setattr(LocalEngine, "sum", some)
    with pytest.raises(RuntimeError, match="stopped"):
        network(loss).fit(SHARDS, checkpoint=checkpoint)
    calls.clear()
    monkeypatch.setattr(LocalEngine, "sum", lambda engine, term: (calls.append(term), whole(engine, term))[1])
    resumed = network(loss).fit(SHARDS, checkpoint=checkpoint)
    assert not any(isinstance(term, NormalSum) for term in calls)
    finished = network(loss).fit(SHARDS, checkpoint=checkpoint)  # nothing is left to do
    for model in (resumed, finished):
        assert np.array_equal(model.network_.alpha, expected.network_.alpha)
        assert np.array_equal(model.predict_proba(BROKEN_X), expected.predict_proba(BROKEN_X))
        assert model.certificate_.lower_bound == expected.certificate_.lower_bound
        assert [row.relative_gap for row in model.result_.history] == [
            row.relative_gap for row in expected.result_.history
        ]
    with pytest.raises(ArgumentError, match="its max_metric_iter"):
        network(loss).set_params(max_metric_iter=1).fit(SHARDS, checkpoint=checkpoint)


class _Interrupting(RowSum):
    """A pass in which somebody presses Ctrl-C."""

    def of(self, block, kept):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        return (np.zeros(1),)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("place", [NormalSum, (ResidualSum, LossSum)], ids=["normal", "judge"])
def test_ctrl_c_leaves_the_best_network_so_far(loss, place, monkeypatch):
    whole, sent = LocalEngine.sum, []

    def interrupted(engine, term):
        if not sent and isinstance(term, place):
            sent.append(term)
            term = _Interrupting()
        return whole(engine, term)

    monkeypatch.setattr(LocalEngine, "sum", interrupted)
    model = network(loss)
    with pytest.warns(ConvergenceWarning, match=r"stopped by an interrupt after .* best point so far"):
        model.fit(SHARDS)
    assert sent
    assert model.result_.status == "interrupted"
    assert model.score(BROKEN_X, BROKEN_Y > 0.5) > 0.7
    proof = model.certificate_.verify(SHARDS)
    assert proof.objective == pytest.approx(model.certificate_.objective, rel=1e-9)
    assert proof.lower_bound == pytest.approx(model.certificate_.lower_bound, rel=1e-9)
    assert ("an interrupt ended the pass over all rows" in model.result_.reason) == (place is NormalSum)


def test_ctrl_c_in_the_first_pass_leaves_nothing(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.estimators.network_fit.scan", lambda *_: signal.raise_signal(2))
    with pytest.raises(KeyboardInterrupt):
        network("squared").fit(SHARDS)


@pytest.mark.kept("squared-judge-2-auto")
@pytest.mark.parametrize(
    ("loss", "place", "k", "beta"),
    [("squared", "Normal", 1, "auto"), ("squared", "judge", 2, "auto"), ("logistic", "Normal", 1, "auto")]
    + [("logistic", "Normal", 2, "auto"), *(("logistic", "judge", k, "auto") for k in (1, 2, 3))]
    + [(loss, "judge", 1, 1e3) for loss in ("squared", "logistic")],  # whose first function is good enough
)
@pytest.mark.slow
def test_a_fit_goes_on_after_ctrl_c_as_if_nobody_had_pressed_it(loss, place, k, beta, tmp_path, monkeypatch):
    expected, calls, interrupted_model = undisturbed(loss, beta), [], network(loss, beta)
    owner, name = (landmark_fit, "Normal") if place == "Normal" else (NewtonSteps, "_judge")
    whole = getattr(owner, name)

    def interrupted(*arguments, **named):
        calls.append(name)
        if len(calls) == k:
            raise KeyboardInterrupt
        return whole(*arguments, **named)

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.warns(ConvergenceWarning, match="stopped by an interrupt"):
        interrupted_model.fit(SHARDS, checkpoint=tmp_path / "state")
    assert interrupted_model.result_.status == "interrupted"
    monkeypatch.undo()
    resumed = network(loss, beta).fit(SHARDS, checkpoint=tmp_path / "state")
    assert resumed.result_.status == expected.result_.status
    assert np.array_equal(resumed.network_.alpha, expected.network_.alpha)


# ---- numbers


def test_landmarks_that_rounding_cannot_tell_apart_are_left_out(monkeypatch):
    monkeypatch.setattr(span, "MAX_LANDMARKS", 120)
    x = np.random.default_rng(0).uniform(-1, 1, 60)
    X = np.repeat(x, 3) + np.tile([0.0, 1e-15, 2e-15], 60)
    model = ConvexNetworkRegressor(max_metric_iter=0, beta=1e-6).fit(sharded(X[:, None], np.sin(5 * X)))
    assert len(model.network_.rows) < 120
    assert model.certificate_.relative_gap <= 1e-3
    assert model.predict(x[:, None]) == pytest.approx(np.sin(5 * x), abs=0.05)


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e11])
def test_an_offset_of_the_targets_changes_nothing_but_the_intercept(offset):
    _, X, y, w = fitted("squared")
    far = y + offset
    shards = sharded(X, far, w)
    model, near = (
        ConvexNetworkRegressor(max_metric_iter=0, beta=1e-3).fit(of) for of in (shards, sharded(X, far - offset, w))
    )
    network, best = model.network_, near.certificate_.objective
    Z = network.standard.rows(X.astype(np.float64))
    r = (far - network.intercept) - network.kernel(Z, network.rows) @ network.alpha[:, 0]
    objective = np.average(r**2, weights=w) / 2 + model.beta_ * network.penalty()
    for proof in (model.certificate_, model.certificate_.verify(shards)):
        assert proof.objective == pytest.approx(objective, rel=1e-9)
        assert proof.lower_bound <= best * (1 + 1e-9)
        assert proof.relative_gap <= 1e-3


@pytest.mark.parametrize(("level", "weighted"), [(0.1, True), (1e8 + 0.3, False), (1e8 + 0.3, True)])
def test_targets_that_are_all_one_number_are_that_number(level, weighted, recwarn):
    """By the mean of those held out they varied by a rounding, of which a bound was any share."""
    X, _ = rows(300, 4)
    w = np.random.default_rng(1).integers(1, 4, 300).astype(float) if weighted else None
    shards = sharded(X, np.full(300, level), w)
    model = clone(REGRESSOR).fit(shards)
    assert not [str(warning.message) for warning in recwarn]
    assert (model.predict(X.astype(np.float64)) == level).all()
    assert model.loo_score_ == 1
    assert model.certificate_.relative_gap == model.certificate_.verify(shards).relative_gap == 0


def test_a_limit_of_time_leaves_fewer_landmarks_for_more_passes(monkeypatch):
    monkeypatch.setattr(span, "MAX_LANDMARKS", 2500)
    load = span.Workload(10**6, 50, 1)
    squares = span.landmarks_of_shards(load, 40.0, None, "fit")
    logistic = span.landmarks_of_shards(load._replace(passes=span.LOGISTIC_PASSES), 40.0, None, "fit")
    assert logistic.seconds <= 40.0
    assert 100 < logistic.landmarks < squares.landmarks


@pytest.mark.slow
@pytest.mark.parametrize(("outlier", "seed"), [(1.0, 0), (1e4, 0), (1e4, 1)])
def test_a_tiny_beta_leads_near_the_optimum(outlier, seed):
    """From where the sample's Newton step leads out of all bounds, and where held-out rows are sure and wrong."""
    rng = np.random.default_rng(seed)
    X, noise = rng.standard_normal((60, 3)), rng.standard_normal(60)
    X[0] *= outlier
    y = (X[:, 0] + 0.3 * noise > 0).astype(int)
    model = clone(LOGISTIC).set_params(beta=1e-9).fit(sharded(X, y))
    assert model.certificate_.objective < 0.05
    assert (model.predict(X) == y).mean() > 0.96


@pytest.mark.slow
def test_candidates_are_compared_as_all_rows_are_standardized(monkeypatch):
    compared = []

    def recorded(*given):
        compared.append(choose_kernel(*given))
        return compared[-1]

    monkeypatch.setattr("clifford_rand_nn.shards.landmark_sample.choose_kernel", recorded)
    X, y = labelled(3000, 2)
    X[[5, 1700]] *= 1e3
    model = ConvexNetworkClassifier(max_metric_iter=0).fit(sharded(X, y))
    best, standard = compared[0][0], model.network_.standard
    # a tenth of the rows is held out; a sample with an outlier would have three times this mean
    np.testing.assert_allclose(standard.mean, X.astype(np.float64).mean(axis=0), rtol=0.2)
    np.testing.assert_array_equal(best.standard.rate, standard.rate)
    np.testing.assert_array_equal(best.standard.mean, standard.mean)
    assert best.kernel.bias == model.network_.kernel.bias
