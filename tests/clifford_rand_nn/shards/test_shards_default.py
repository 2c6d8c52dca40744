"""The tuning-free network on shards: the same optimum as an independent solver's, and what is said of it."""

import os
import signal
import time
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor
from clifford_rand_nn.datafits.registry import as_loss
from clifford_rand_nn.kernel_network.landmarks import span
from clifford_rand_nn.kernel_network.landmarks.judge import LossSum, ResidualSum
from clifford_rand_nn.kernel_network.landmarks.newton import NewtonSteps
from clifford_rand_nn.kernel_network.landmarks.normal_equations import NormalSum
from clifford_rand_nn.kernel_network.landmarks.span import LandmarkRows
from clifford_rand_nn.row_sums.sums import Block, RowSum, Targets
from clifford_rand_nn.shards.checkpoint import Checkpoint
from clifford_rand_nn.shards.engines.local import LocalEngine
from clifford_rand_nn.shards.landmarks import fit as landmark_fit
from clifford_rand_nn.shards.source import Shards


def rows(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float16)
    return X, np.abs(X[:, 0].astype(np.float64)) + X[:, -1] + 0.2 * rng.standard_normal(n)


def sharded(X: Any, y: Any, w: Any = None, parts: int = 3, **options: Any) -> Shards:
    cut = [None if one is None else np.array_split(one, parts) for one in (X, y, w)]
    return Shards(cut[0], cut[1], sample_weight=cut[2], **options)


@pytest.fixture(scope="module", autouse=True)
def _few_landmarks() -> Any:
    before, span.MAX_LANDMARKS = span.MAX_LANDMARKS, 120
    yield
    span.MAX_LANDMARKS = before


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, Any, Any, Any]:
    X, y = rows(300, 4)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    return ConvexNetworkRegressor(rounds=0).fit(sharded(X, y, w)), X, y, w


def test_the_optimum_is_that_of_dense_normal_equations(fitted: Any) -> None:
    model, X, y, w = fitted
    network, proof, w = model.network_, model.certificate_, w / w.sum()
    K = np.column_stack([network.kernel(network.standard.rows(X.astype(np.float64)), network.rows), np.ones(300)])
    H = (K * w[:, None]).T @ K
    H[:-1, :-1] += model.beta_ * network.kernel(network.rows)
    a = np.linalg.solve(H, K.T @ (w * y))
    left = y - K @ a
    least = 0.5 * w @ left**2 + 0.5 * model.beta_ * a[:-1] @ network.kernel(network.rows) @ a[:-1]
    assert proof.dual <= least * (1 + 1e-9)
    assert least * (1 - 1e-9) <= proof.primal
    assert proof.primal - proof.dual <= 1e-3 * least
    assert np.abs(model.predict(X) - K @ a).max() < 0.05 * y.std()
    assert "120 landmarks" in proof.scope


def test_one_pass_over_the_shards_verifies_the_certificate(fitted: Any) -> None:
    model, X, y, w = fitted
    shards = sharded(X, y, w, parts=2)
    again = model.certificate_.verify(shards)
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert again.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
    with pytest.raises(ArgumentError, match="300 rows"):
        model.certificate_.verify(sharded(X[1:], y[1:], w[1:]))
    assert model.certificate_.verify(sharded(X, y[::-1], w)).relative_gap > 0.1


def test_held_out_rows_are_in_no_normal_equation(fitted: Any) -> None:
    model, X, y, w = fitted
    network = model.network_
    rows, targets = LandmarkRows(network.kernel, network.rows, network.standard), Targets(as_loss("squared", "t"), None)
    held = np.array([3, 40, 41, 299])

    def sums(some: Any, left_out: Any) -> Any:
        learn = targets._replace(left_out=np.asarray(left_out, dtype=np.int64))
        term = NormalSum(rows, learn, np.zeros(rows.m), np.zeros(1))
        return term.of(Block(X[some], y[some], w[some], 0), ())

    every = np.arange(300)
    for whole, part, found in zip(sums(every, []), sums(held, []), sums(every, held), strict=True):
        assert np.abs(part).max() > 0
        assert found == pytest.approx(whole - part, abs=1e-9 * np.abs(whole).max())


def test_held_out_rows_choose_beta_and_promise(fitted: Any) -> None:
    model, X, _y, _w = fitted
    tried = [one for one in model.candidates_ if one.n == 30]
    assert len(tried) == 46
    assert model.beta_ == tried[0].beta == min(tried, key=lambda one: one.score).beta
    assert model.loo_score_ == pytest.approx(1 - tried[0].score, abs=1e-9)
    with pytest.raises(AttributeError, match="fitted to shards"):
        model.loo_predictions_  # noqa: B018
    new, truth = rows(2000, 4, seed=5)
    low, high = model.predict_interval(new, 0.9)
    assert 0.8 < np.mean((low <= truth) & (truth <= high)) < 0.98
    assert X[model.network_rows_] == pytest.approx(
        model.network_.rows / model.network_.standard.rate + model.network_.standard.mean, abs=1e-9
    )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_any_number_of_workers_gives_the_same_bits(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(160, 3)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 160)
    model, shards = ConvexNetworkClassifier(loss=loss, rounds=0), sharded(X, y > 0.5, w)
    first = clone(model).fit(shards)
    monkeypatch.setattr(LocalEngine.__init__, "__defaults__", (1, None))
    second = clone(model).fit(shards)
    assert np.array_equal(second.network_.alpha, first.network_.alpha)
    assert second.certificate_.dual == first.certificate_.dual


def test_rows_of_weight_zero_count_nowhere(fitted: Any) -> None:
    model, X, y, w = fitted
    rng = np.random.default_rng(3)
    more = np.concatenate([X, 50 * np.ones((7, 4), np.float16)])
    targets, weights = np.concatenate([y, np.full(7, 1e3)]), np.concatenate([w, np.zeros(7)])
    order = np.argsort(np.concatenate([np.arange(300.0), rng.uniform(0, 300, 7)]))
    other = ConvexNetworkRegressor(rounds=0).fit(sharded(more[order], targets[order], weights[order]))
    assert other.predict(X) == pytest.approx(model.predict(X), abs=1e-3)


def test_labels_of_any_kind_with_weights_of_classes() -> None:
    X, y = rows(300, 3)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [0.3, 2.0])]
    model = ConvexNetworkClassifier(class_weight="balanced").fit(sharded(X, labels))
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert model.loss_ == "squared"
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert np.mean(model.predict(X) == labels) > 0.8
    assert 0.7 < model.loo_score_ <= 1
    assert model.certificate_.relative_gap <= 1e-3
    assert model.certificate_.verify(sharded(X, labels)).primal == pytest.approx(model.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize(("n", "d"), [(40, 1), (30, 60)])
def test_one_column_and_fewer_rows_than_columns(n: int, d: int) -> None:
    X, y = rows(n, d)
    model = ConvexNetworkRegressor().fit(sharded(X, 1e120 * y))
    assert model.certificate_.relative_gap <= 1e-3
    assert np.isfinite(model.predict(X)).all()
    assert 1e119 < np.abs(model.predict(X)).max() < 1e121
    again = model.certificate_.verify(sharded(X, 1e120 * y))
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "given", "sentence"),
    [
        (ConvexNetworkRegressor(n_neurons=3), {}, "n_neurons"),
        (ConvexNetworkRegressor(gates="cross"), {}, "gates"),
        (ConvexNetworkRegressor(), {"groups": np.zeros(20)}, "groups"),
        (ConvexNetworkRegressor(), {"y": np.zeros(20)}, "Shards, beside X"),
        (ConvexNetworkClassifier(class_weight={"x": 2}), {}, "class_weight"),
        (ConvexNetworkRegressor(max_memory=1e3), {}, "max_memory"),
    ],
)
def test_what_shards_have_not_is_refused(model: Any, given: Any, sentence: str) -> None:
    X, y = rows(20, 2)
    with pytest.raises(ArgumentError, match=sentence):
        model.fit(sharded(X, y > 0.5 if isinstance(model, ConvexNetworkClassifier) else y), **given)


def test_a_fit_in_memory_before_leaves_nothing() -> None:
    X, y = rows(20, 2)
    model = ConvexNetworkRegressor(rounds=0).fit(X.astype(np.float64), y).fit(sharded(X, y))
    assert not hasattr(model, "loo_predictions_")
    assert not hasattr(model, "left_out_")
    again = model.fit(X.astype(np.float64), y)
    assert again.loo_predictions_.shape == (20,)


def test_an_engine_is_for_shards() -> None:
    X, y = rows(20, 2)
    with pytest.raises(ArgumentError, match="engine"):
        ConvexNetworkRegressor().fit(X, y, engine="torch")


class _StopError(Exception):
    pass


def _is_on_all_rows(k: int, term: Any) -> bool:
    return isinstance(term, LossSum) and term.targets.left_out is None


@pytest.mark.parametrize(
    ("loss", "stops"),
    [(loss, lambda k, term, most=most: k > most) for loss, most in (("squared", 2), ("squared", 3), ("logistic", 2))]
    + [("logistic", _is_on_all_rows)],
)
def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(
    loss: str, stops: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows(160, 3)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 160)
    model, shards, whole, calls = (
        ConvexNetworkClassifier(loss=loss, rounds=0),
        sharded(X, y > 0.5, w),
        LocalEngine.sum,
        [],
    )

    def some(engine: LocalEngine, term: Any) -> Any:
        calls.append(term)
        if stops(len(calls), term):
            raise _StopError
        return whole(engine, term)

    there = Checkpoint(tmp_path / "state", every=0)
    undisturbed = clone(model).fit(shards)
    with monkeypatch.context() as patched:
        patched.setattr(LocalEngine, "sum", some)
        with pytest.raises(_StopError):
            clone(model).fit(shards, checkpoint=there)
    calls.clear()
    monkeypatch.setattr(LocalEngine, "sum", lambda engine, term: (calls.append(term), whole(engine, term))[1])
    again = clone(model).fit(shards, checkpoint=there)
    assert not any(isinstance(term, NormalSum) for term in calls)
    once_more = clone(model).fit(shards, checkpoint=there)  # nothing is left to do
    for other in (again, once_more):
        assert np.array_equal(other.network_.alpha, undisturbed.network_.alpha)
        assert np.array_equal(other.predict_proba(X), undisturbed.predict_proba(X))
        assert other.certificate_.dual == undisturbed.certificate_.dual
        assert [row.relative_gap for row in other.history_] == [row.relative_gap for row in undisturbed.history_]
    with pytest.raises(ArgumentError, match="its rounds"):
        clone(model).set_params(rounds=1).fit(shards, checkpoint=there)


@pytest.mark.parametrize(
    ("loss", "place"),
    [("squared", "normal"), ("squared", "judge"), ("logistic", "normal"), ("logistic", "judge"), ("squared", "scan")],
)
def test_ctrl_c_leaves_the_best_network_so_far(loss: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(160, 3)
    shards = sharded(X, y > 0.5)
    kinds = {"normal": NormalSum, "judge": (ResidualSum, LossSum)}
    sent: list[Any] = []

    def interrupted(engine: Any, term: Any) -> Any:
        if not sent and place != "scan" and isinstance(term, kinds[place]):
            sent.append(term)
            term = _Interrupting()
        return whole(engine, term)

    whole = LocalEngine.sum
    monkeypatch.setattr(LocalEngine, "sum", interrupted)
    model = ConvexNetworkClassifier(loss=loss, rounds=0)
    if place == "scan":
        monkeypatch.setattr("clifford_rand_nn.estimators.network.sharded.scan", lambda *_: signal.raise_signal(2))
        with pytest.raises(KeyboardInterrupt):
            model.fit(shards)
        return
    with pytest.warns(ConvergenceWarning, match=r"stopped by an interrupt after .* best point so far"):
        model.fit(shards)
    assert sent
    assert model.status_ == "interrupted"
    assert model.score(X, y > 0.5) > 0.7
    proof = model.certificate_.verify(shards)
    assert proof.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert proof.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
    assert ("an interrupt ended the pass over all rows" in model.reason_) == (place == "normal")


@pytest.mark.parametrize(
    ("loss", "place", "k", "beta"),
    [("squared", "Normal", 1, "auto"), ("squared", "judge", 2, "auto"), ("logistic", "Normal", 1, "auto")]
    + [("logistic", "Normal", 2, "auto"), *(("logistic", "judge", k, "auto") for k in (1, 2, 3))]
    + [(loss, "judge", 1, 1e3) for loss in ("squared", "logistic")],  # whose first function is good enough
)
def test_a_fit_goes_on_after_ctrl_c_as_if_nobody_had_pressed_it(
    loss: str, place: str, k: int, beta: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows(160, 3)
    shards, calls = sharded(X, y > 0.5), [0]
    model = ConvexNetworkClassifier(loss=loss, rounds=0, beta=beta)
    clean = clone(model).fit(shards)
    owner, name = (landmark_fit, "Normal") if place == "Normal" else (NewtonSteps, "_judge")
    whole = getattr(owner, name)

    def interrupted(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == k:
            raise KeyboardInterrupt
        return whole(*arguments, **named)

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.warns(ConvergenceWarning, match="stopped by an interrupt"):
        assert clone(model).fit(shards, checkpoint=tmp_path / "state").status_ == "interrupted"
    monkeypatch.undo()
    again = clone(model).fit(shards, checkpoint=tmp_path / "state")
    assert again.status_ == clean.status_
    assert np.array_equal(again.network_.alpha, clean.network_.alpha)


class _Interrupting(RowSum):
    """A pass in which somebody presses Ctrl-C."""

    def of(self, block: Any, kept: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        return (np.zeros(1),)


def test_landmarks_that_rounding_cannot_tell_apart_are_left_out() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, 60)
    X = np.repeat(x, 3) + np.tile([0.0, 1e-15, 2e-15], 60)
    model = ConvexNetworkRegressor(rounds=0, beta=1e-6).fit(sharded(X[:, None], np.sin(5 * X)))
    assert len(model.network_.rows) < 120
    assert model.certificate_.relative_gap <= 1e-3
    assert model.predict(x[:, None]) == pytest.approx(np.sin(5 * x), abs=0.05)


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e11])
def test_an_offset_of_the_targets_changes_nothing_but_the_intercept(fitted: Any, offset: float) -> None:
    _, X, y, w = fitted
    far = y + offset
    shards = sharded(X, far, w)
    model, near = (ConvexNetworkRegressor(rounds=0, beta=1e-3).fit(of) for of in (shards, sharded(X, far - offset, w)))
    network, best = model.network_, near.certificate_.primal
    Z = network.standard.rows(X.astype(np.float64))
    r = (far - network.intercept) - network.kernel(Z, network.rows) @ network.alpha[:, 0]
    objective = np.average(r**2, weights=w) / 2 + model.beta_ * network.penalty()
    for proof in (model.certificate_, model.certificate_.verify(shards)):
        assert proof.primal == pytest.approx(objective, rel=1e-9)
        assert proof.dual <= best * (1 + 1e-9)
        assert proof.relative_gap <= 1e-3


@pytest.mark.parametrize("level", [0.1, 1e8 + 0.3])
@pytest.mark.parametrize("given", [None, "integers"])
def test_targets_that_are_all_one_number_are_that_number(level: float, given: Any, recwarn: Any) -> None:
    """By the mean of those held out they varied by a rounding, of which a bound was any share."""
    X, _ = rows(300, 4)
    w = None if given is None else np.random.default_rng(1).integers(1, 4, 300).astype(float)
    shards = sharded(X, np.full(300, level), w)
    model = ConvexNetworkRegressor(rounds=0).fit(shards)
    assert not [str(one.message) for one in recwarn]
    assert (model.predict(X.astype(np.float64)) == level).all()
    assert model.loo_score_ == 1
    assert model.certificate_.relative_gap == model.certificate_.verify(shards).relative_gap == 0
