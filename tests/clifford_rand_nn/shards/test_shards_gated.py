"""Gated networks on shards: the optimum of all rows as in memory, the same bits on every engine, valid certificates."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import GatedReLUClassifier, GatedReLURegressor, load_model, save_model
from clifford_rand_nn.estimators import sharded
from clifford_rand_nn.problems.loss_registry import as_loss
from clifford_rand_nn.row_sums import Targets
from clifford_rand_nn.shards.checkpoint import Checkpoint
from clifford_rand_nn.shards.engines import LocalEngine
from clifford_rand_nn.shards.gated_fit import ShardedFista
from clifford_rand_nn.shards.gated_passes import Judge, Network, Patterns
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.solvers.base import Status, with_status
from clifford_rand_nn.solvers.fista import Fista

N = 280


def rows(n=N, d=4, seed=0, outputs=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    f = np.maximum(X @ rng.standard_normal((d, 3)), 0) @ rng.standard_normal((3, max(1, outputs)))
    return X, f + 0.1 * rng.standard_normal(f.shape)


def data(kind, outputs=0, n=N, seed=0):
    X, f = rows(n, outputs=outputs, seed=seed)
    if kind is GatedReLURegressor:
        return X, f if outputs else f[:, 0]
    if outputs:
        return X, np.array(["a", "b", "c"])[f.argmax(axis=1)]
    return X, np.where(f[:, 0] > np.median(f) * 1.5, "yes", "no")


def shards_of(X, y, weights=None, part_rows=64):
    X, y, weights = (None if array is None else np.split(array, [60, 160]) for array in (X, y, weights))
    return Shards(X, y, sample_weight=weights, part_rows=part_rows)


def in_memory(model, X, y, weights=None):
    """The same problem for the same gates by a solver in memory."""
    params = {"gates": model.gates_, "tol": 1e-8, "loss": model.loss_, "linear": False, "beta": model.beta_}
    return type(model)(**(model.get_params() | params)).fit(X, y, weights)


CASES = {
    "squared": (GatedReLURegressor, {}, 0),
    "huber": (GatedReLURegressor, {"loss": "huber", "huber_delta": 0.3}, 0),
    "two targets": (GatedReLURegressor, {}, 2),
    "squared norms": (GatedReLURegressor, {"penalty": "ridge"}, 0),
    "no bias": (GatedReLURegressor, {"bias": False}, 0),
    "no intercept": (GatedReLURegressor, {"fit_intercept": False}, 0),
    "logistic": (GatedReLUClassifier, {"loss": "logistic"}, 0),
    "squared hinge": (GatedReLUClassifier, {"loss": "squared_hinge"}, 0),
    "softmax": (GatedReLUClassifier, {"loss": "logistic"}, 3),
    "softmax of squared norms": (GatedReLUClassifier, {"loss": "logistic", "penalty": "ridge"}, 3),
    "balanced classes": (GatedReLUClassifier, {"loss": "logistic", "class_weight": "balanced"}, 3),
}
LONGER = ("squared hinge", "softmax of squared norms", "balanced classes", "huber", "two targets")


@cache
def solved(case):
    kind, options, outputs = CASES[case]
    # probabilities are calibrated on folds that draw gates of their own: classes of few rows differ by more
    X, y = data(kind, outputs, n=700 if case == "balanced classes" else N)
    model = kind(n_gates=6, beta=0.01, tol=1e-4, random_state=1, **options).fit(shards_of(X, y))
    return model, in_memory(model, X, y), X, y


@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.slow] * (case in LONGER)) for case in CASES])
def test_the_optimum_is_that_of_the_same_rows_in_memory(case):
    model, exact, X, y = solved(case)
    assert model.result_.converged
    assert model.result_.objective >= exact.result_.objective * (1 - 1e-7)
    assert model.result_.objective <= exact.result_.objective * (1 + 1e-4) + 1e-12
    assert model.certificate_.lower_bound <= exact.result_.objective * (1 + 1e-9)
    if hasattr(model, "predict_proba"):
        assert np.abs(model.decision_function(X) - exact.decision_function(X)).max() < 0.05
        assert np.abs(model.predict_proba(X) - exact.predict_proba(X)).max() < 0.1
    assert model.score(X, y) == pytest.approx(exact.score(X, y), abs=0.02)


@pytest.mark.kept("logistic")
@pytest.mark.parametrize("case", ["squared", "logistic", "softmax", "squared norms"])
def test_one_pass_checks_the_certificate(case):
    model, exact, X, y = solved(case)
    certificate, claim, shards = model.certificate_, model.certificate_.claim, shards_of(X, y)
    again = certificate.verify(shards_of(X, y, part_rows=1000))
    assert again.objective == pytest.approx(certificate.objective, rel=1e-9)
    assert again.lower_bound >= certificate.lower_bound - 1e-9 * certificate.objective
    assert again.relative_gap <= 1e-3
    for factor in (0.3, 1.2, 3.0):  # whatever is claimed, a bound above the optimum does not come out
        wrong = replace(claim, coefficients=claim.coefficients._replace(coef=factor * claim.coefficients.coef))
        bound = replace(certificate, claim=wrong, scale=1.0, lower_bound=9.0).verify(shards).lower_bound
        assert bound <= exact.result_.objective * (1 + 1e-9)
    kind, _, outputs = CASES[case]
    try:
        other = certificate.verify(shards_of(*data(kind, outputs, seed=5)))
    except ArgumentError:
        return
    assert other.relative_gap > 1e-3


@pytest.mark.parametrize(("gates", "warm"), [(1, True), (30, False)])
def test_training_goes_on_from_the_optimum_of_a_sample_that_is_large_for_the_network(gates, warm):
    X, y = data(GatedReLUClassifier, n=700)
    model = GatedReLUClassifier(gates, beta=1e-3, loss="logistic", tol=1e-9, max_iter=1, random_state=0)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(shards_of(X, y))
    share = np.mean(y == "yes")
    null = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert (model.result_.history[0].objective < 0.999 * null) == warm


def test_weights_of_rows_and_rows_of_weight_zero():
    X, y = data(GatedReLUClassifier)
    weights = np.random.default_rng(3).integers(0, 3, len(X)).astype(float)
    model = GatedReLUClassifier(n_gates=6, beta=0.01, loss="logistic", tol=1e-4, random_state=1)
    model.fit(shards_of(X, y, weights))
    exact = in_memory(model, X, y, weights)
    assert model.result_.objective == pytest.approx(exact.result_.objective, rel=2e-4)
    copies = np.repeat(np.arange(len(X)), weights.astype(int))
    twice = GatedReLUClassifier(**(model.get_params() | {"gates": model.gates_})).fit(Shards([X[copies]], [y[copies]]))
    # the constant feature, and with it the problem, is that of the copies
    assert twice.result_.objective == pytest.approx(model.result_.objective, rel=2e-4)
    assert twice.bias_feature_ == pytest.approx(model.bias_feature_, rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*max_iter")
def test_any_number_of_workers_gives_the_same_bits():
    shards = shards_of(*data(GatedReLUClassifier, 3))
    first, *others = (
        GatedReLUClassifier(n_gates=6, beta=0.01, loss="logistic", tol=1e-9, max_iter=12, random_state=1).fit(
            shards, engine=LocalEngine(shards, workers)
        )
        for workers in (1, 2, 5)
    )
    for model in others:
        assert np.array_equal(model.coef_, first.coef_)
        assert model.certificate_.lower_bound == first.certificate_.lower_bound


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (GatedReLURegressor, {"beta": 0.003, "tol": 1e-4, "random_state": 4}),
        pytest.param(
            GatedReLUClassifier,
            {"beta": 0.002, "tol": 1e-5, "random_state": None, "loss": "logistic"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_fit_that_is_stopped_goes_on_to_the_same_bits(tmp_path, kind, options):
    shards, options = shards_of(*data(kind)), {"n_gates": 6, **options}
    for steps in (1, 7):
        kept = Checkpoint(tmp_path / "state.npz", every=0)
        with pytest.warns(UserWarning, match="max_iter"):
            kind(**options, max_iter=steps).fit(shards, checkpoint=kept)
        (tmp_path / f"{steps}.npz").write_bytes((tmp_path / "state.npz").read_bytes())
    parts = kind(**options).fit(shards, checkpoint=kept)
    assert parts.n_iter_ > 7
    seed = options["random_state"]
    undisturbed = kind(**options).fit(shards, checkpoint=None if seed else tmp_path / "1.npz")
    finished = kind(**options).fit(shards, checkpoint=kept)  # nothing is left to do
    for model in (undisturbed, finished):
        assert np.array_equal(model.coef_, parts.coef_)
        assert (model.n_iter_, model.result_.objective) == (parts.n_iter_, parts.result_.objective)
    if seed:
        with pytest.raises(ArgumentError, match="its random_state is 4, and that of this fit is 5"):
            kind(**options | {"random_state": 5}).fit(shards, checkpoint=kept)


@pytest.mark.parametrize(
    ("options", "outputs", "offset", "weighted"),
    [
        ({}, 2, 1e11, True),
        ({"penalty": "ridge"}, 0, -1e8, False),
        ({"loss": "huber", "huber_delta": 0.3}, 0, 1e6, True),
        ({"loss": "log_cosh", "huber_delta": 0.3}, 0, 1e12, False),
    ],
)
def test_an_offset_of_the_targets_changes_nothing_but_the_intercept(options, outputs, offset, weighted):
    """Bounds were above the optimum from 1e5 on; the intercept is rounded by up to 6e-5 at 1e12."""
    X, f = rows(outputs=outputs)
    y = (f if outputs else f[:, 0]) + offset
    w = np.random.default_rng(2).uniform(0.5, 2, len(X)) if weighted else None
    shards = shards_of(X, y, w)
    model = GatedReLURegressor(n_gates=6, beta=0.01, tol=1e-3, random_state=1, **options).fit(shards)
    exact = in_memory(model, X, y - offset, w).result_.objective
    (U, b, t), P = model.certificate_.claim.coefficients, len(model.gates_)
    inside = X.astype(np.float64) @ U.reshape(-1, 4).T + b.ravel()
    gated = np.einsum("ncp,np->nc", inside.reshape(len(X), -1, P), model.gates_.activations(X))
    r = np.abs((y.reshape(len(X), -1) - t) - gated)
    loss = {"huber": np.where(r < 0.3, r**2 / 2, 0.3 * r - 0.045), "log_cosh": 0.09 * np.log(np.cosh(r / 0.3))}
    mean = np.average(loss.get(options.get("loss"), r**2 / 2).sum(axis=1), weights=w)
    squares = (U**2).sum(axis=(0, 2)) + (b**2).sum(axis=0) / model.bias_feature_**2
    objective = mean + 0.01 * (squares.sum() / 2 if "penalty" in options else np.sqrt(squares).sum())
    for proof in (model.certificate_, model.certificate_.verify(shards)):
        assert proof.objective == pytest.approx(objective, rel=1e-9)
        assert proof.lower_bound <= exact * (1 + 1e-9)
        assert proof.relative_gap <= 1e-3 + 1e-6


def test_targets_that_differ_by_rounding_alone_are_trained():
    X, f = rows()
    y = 1 + 2.0**-52 * np.round(5 * f[:, 0])
    model = GatedReLURegressor(n_gates=4, beta=1e-4 * 2.0**-52, tol=1e-2, random_state=0).fit(shards_of(X, y))
    assert (
        0 < model.certificate_.lower_bound <= model.certificate_.objective < np.var(y) / 2 + 2.0**-105
    )  # the constant's


def test_a_proof_that_failed_is_tried_again_after_some_steps(monkeypatch):
    """Not when the estimate, which may be 0 of residuals that are not balanced, has fallen."""
    prove, stepped, tried = ShardedFista.prove, ShardedFista._stepped, []

    def failing(self, state):
        tried.append(state.steps)
        proved = prove(self, state)
        return proved._replace(gap=1.0) if len(tried) < 3 else proved

    monkeypatch.setattr(ShardedFista, "prove", failing)
    monkeypatch.setattr(ShardedFista, "_stepped", lambda *arguments: stepped(*arguments)._replace(gap=0.0))
    model = GatedReLUClassifier(6, beta=1e-2, tol=1e-2, loss="logistic", random_state=0, max_iter=100)
    model.fit(shards_of(*data(GatedReLUClassifier)))
    assert model.certificate_.relative_gap <= 1e-2
    assert len(tried) > 2
    assert set(np.diff(tried)) == {4}


@pytest.mark.parametrize("penalty", ["group_l2", "ridge"])
def test_residuals_that_no_intercept_has_balanced_prove_nothing(monkeypatch, penalty):
    monkeypatch.setattr("clifford_rand_nn.shards.certificate._NEWTON_STEPS", 0)
    shards = shards_of(*data(GatedReLUClassifier))
    model = GatedReLUClassifier(6, beta=0.01, tol=1e-2, loss="logistic", penalty=penalty, max_iter=6, random_state=1)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(shards)
    stated, checked = model.certificate_, model.certificate_.verify(shards)
    assert stated.lower_bound <= 0
    assert stated.lower_bound == pytest.approx(checked.lower_bound, abs=1e-12)
    assert stated.relative_gap == pytest.approx(checked.relative_gap, rel=1e-9)
    assert stated.relative_gap >= 1


@pytest.mark.slow
def test_columns_that_the_sample_does_not_see_are_trained(monkeypatch):
    monkeypatch.setattr(sharded, "_SAMPLE", 60)
    X, y = data(GatedReLURegressor)
    X[:, 3] = 0
    X[::97, 3] = 3.0
    y = y + 2 * X[:, 3]
    model = GatedReLURegressor(n_gates=5, beta=1e-3, tol=1e-4, random_state=0).fit(shards_of(X, y))
    exact = in_memory(model, X, y)
    assert model.result_.objective == pytest.approx(exact.result_.objective, rel=2e-4)


@pytest.mark.slow
def test_beta_is_chosen_by_the_sample():
    X, y = data(GatedReLUClassifier)
    model = GatedReLUClassifier(n_gates=6, tol=1e-2, random_state=0).fit(shards_of(X, y))
    assert model.loss_ == "logistic"
    assert model.beta_ in [score.beta for score in model.candidates_]
    assert model.score(X, y) > 0.85


def test_the_default_tolerance_is_that_of_passes(tmp_path):
    X, y = data(GatedReLURegressor)
    model = GatedReLURegressor(n_gates=4, beta=1e-2, random_state=0).fit(shards_of(X, y))
    assert 1e-6 < model.certificate_.relative_gap <= 1e-3
    save_model(model, tmp_path / "m.npz")
    again = load_model(tmp_path / "m.npz")
    assert again.tol == clone(model).tol == model.get_params()["tol"] == "auto"
    assert again.fit(X, y).certificate_.relative_gap <= 1e-6
    assert again.set_params(tol=1e-6).fit(shards_of(X, y)).certificate_.relative_gap <= 1e-6
    with pytest.raises(ArgumentError, match=r"'tol' .* number > 0. Got 'tight' instead. Or 'auto', 1e-6"):
        again.set_params(tol="tight").fit(X, y)


class Killed(LocalEngine):
    """An engine that dies in a pass."""

    def __init__(self, shards, passes, error):
        super().__init__(shards)
        self.left, self.error = passes, error

    def sum(self, term):
        self.left -= 1
        if self.left == -1:
            raise self.error
        return super().sum(term)


@pytest.mark.slow
def test_beta_is_halved_as_long_as_held_out_rows_say_so(monkeypatch, tmp_path):
    monkeypatch.setattr(sharded, "_JUDGED", 100)
    X, y = data(GatedReLUClassifier, n=700)
    model = GatedReLUClassifier(n_gates=6, tol=1e-3, random_state=0)
    whole = clone(model).fit(shards_of(X, y, part_rows=1000))
    betas = [score.beta for score in whole.candidates_]
    assert len(betas) >= 3
    assert np.allclose(np.divide(betas[1:], betas[:-1]), 0.5)
    assert whole.beta_ in betas[:-1]
    assert in_memory(whole, X, y).result_.objective == pytest.approx(whole.result_.objective, rel=2e-3)  # of all rows
    for passes in (3, 25, 40):  # before, in the middle of a later beta, and at the end
        file, shards = Checkpoint(tmp_path / f"{passes}.npz", every=0), shards_of(X, y, part_rows=1000)
        with pytest.raises(RuntimeError, match="killed"):
            clone(model).fit(shards, checkpoint=file, engine=Killed(shards, passes, RuntimeError("killed")))
        again = clone(model).fit(shards, checkpoint=file)
        assert np.array_equal(again.coef_, whole.coef_)
        assert again.candidates_ == whole.candidates_


def test_held_out_rows_count_nowhere():
    X, y = data(GatedReLUClassifier)
    out = np.array([0, 1, 59, 60, 130, 279])
    kept = np.delete(np.arange(N), out)
    gates = GatedReLUClassifier(n_gates=3, beta=0.1, random_state=0).fit(X, y).gates_
    network = Network(np.random.default_rng(0).standard_normal((5, len(gates), 1)), np.ones(1))
    targets, sums = Targets(as_loss("logistic", "test"), np.unique(y)), []
    for shards, marked in (
        (shards_of(X, y), replace(targets, left_out=out)),
        (Shards([X[kept]], [y[kept]]), targets),
    ):
        with LocalEngine(shards) as engine:
            engine.keep(Patterns(gates))
            sums.append(engine.sum(Judge(network, marked, 1.5, np.array([0.5, 1.0]), np.float64)))
    for marked, without in zip(*sums, strict=True):
        np.testing.assert_allclose(marked, without, rtol=1e-12, atol=1e-12)


def test_ctrl_c_leaves_a_network_with_its_gap():
    shards = shards_of(*data(GatedReLURegressor))
    model = GatedReLURegressor(n_gates=6, beta=1e-3, tol=1e-9, random_state=0)
    with pytest.warns(UserWarning, match="interrupt"):
        model.fit(shards, engine=Killed(shards, 4, KeyboardInterrupt))
    assert model.result_.interrupted
    # another dual point of the same network: where gaps are 4e-4 theirs differ by 1e-3 of that
    assert model.certificate_.verify(shards).relative_gap == pytest.approx(model.result_.relative_gap, rel=1e-2)


X, REAL = data(GatedReLURegressor)
HOLE = np.where(np.arange(N) == 133, np.nan, 1.0)
SHARDS, CLASSES = shards_of(X, REAL), shards_of(X, np.full(N, "yes"))
REGRESSOR, CLASSIFIER = GatedReLURegressor(beta=0.1), GatedReLUClassifier(beta=0.1)
REFUSED = {
    "y": (REGRESSOR, SHARDS, {"y": REAL}, "y"),
    "weights": (REGRESSOR, SHARDS, {"sample_weight": np.ones(N)}, "sample_weight"),
    "free bias": (GatedReLURegressor(beta=0.1, bias="free"), SHARDS, {}, "bias"),
    "solver": (GatedReLURegressor(beta=0.1, solver="kernel"), SHARDS, {}, "solver"),
    "refine": (GatedReLURegressor(beta=0.1, n_refinements=2), SHARDS, {}, "n_refinements"),
    "gates": (GatedReLURegressor(beta=0.1, gates="infinite", penalty="ridge"), SHARDS, {}, "gates"),
    "engine": (REGRESSOR, SHARDS, {"engine": "spark"}, "engine"),
    "checkpoint": (REGRESSOR, SHARDS, {"checkpoint": 3}, "checkpoint"),
    "checkpoint of rows in memory": (REGRESSOR, X, {"y": REAL, "checkpoint": "state.npz"}, "None with rows in memory"),
    "a row that is not finite": (REGRESSOR, shards_of(X * HOLE[:, None].astype("f4"), REAL), {}, "row 133"),
    "a target that is not finite": (REGRESSOR, shards_of(X, REAL * HOLE), {}, "row 133"),
    "one class": (CLASSIFIER, CLASSES, {}, "one class"),
    "no targets": (CLASSIFIER, Shards([X]), {}, "without y"),
    "multilabel": (
        CLASSIFIER,
        shards_of(X, np.stack([REAL > 0, REAL > 1], axis=1)),
        {},
        r"one label a row with Shards\. Got 2 columns",
    ),
    "real labels": (
        CLASSIFIER,
        SHARDS,
        {},
        r"labels: texts, integers .* in y\[.\] instead\. Real targets are for a reg",
    ),
    "many classes": (CLASSIFIER, shards_of(X, np.arange(N)), {}, r"at most 200 classes\. Got 280 in all"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_shards_cannot_do_is_refused(case, monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.shards.scan._MOST_CLASSES", 200)  # none of the parts has as many
    model, rows, options, message = REFUSED[case]
    with pytest.raises(ArgumentError, match=message):
        clone(model).fit(rows, **options)


@pytest.mark.parametrize("case", ["squared", "softmax"])
def test_memory_that_cannot_hold_a_fit_is_named_before_it_begins(case):
    kind, options, outputs = CASES[case]
    shards = shards_of(*data(kind, outputs))
    model, least = kind(n_gates=6, beta=0.01, tol=1e-2, random_state=0, **options), 1e5 / 1.02
    for _ in range(1 + bool(outputs)):  # how many classes there are the first pass finds
        model.set_params(max_memory=1.02 * least)
        needed = set()
        for work in (model.plan, model.fit):
            with pytest.raises(ArgumentError, match=r"'max_memory' .* must be at least \d+ KiB") as raised:
                work(shards)
            needed.add(re.search(r"at least (\d+) KiB", str(raised.value))[1])
        (kib,) = needed
        least = float(kib) * 1024
    engine = LocalEngine(shards, 8)
    model.set_params(max_memory=1.02 * least).fit(shards, engine=engine)
    assert engine.workers == 1
    assert model.result_.converged


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8])
def test_rows_of_other_types(dtype):
    X, y = data(GatedReLURegressor)
    X = (10 * X).astype(dtype)
    model = GatedReLURegressor(n_gates=5, beta=0.01, tol=1e-4, random_state=0).fit(shards_of(X, y))
    exact = in_memory(model, X.astype(np.float64), y)
    assert model.result_.objective == pytest.approx(exact.result_.objective, rel=2e-4)


@pytest.mark.parametrize(("n", "d"), [(30, 1), (3, 5), (2, 1)])
def test_few_rows(n, d):
    X, y = rows(n, d)
    model = GatedReLURegressor(n_gates=4, beta=0.05, tol=1e-3, random_state=0).fit(Shards([X], [y[:, 0]]))
    assert model.result_.converged
    assert model.predict(X).shape == (n,)


def test_a_start_that_memory_cut_short_is_none(monkeypatch):
    """A network from there is as good, but not the same for the same seed; a failed request of memory showed it."""
    solve = Fista.solve
    monkeypatch.setattr(Fista, "solve", lambda self, problem: with_status(solve(self, problem), Status.MAX_MEMORY))
    with pytest.raises(MemoryError):
        GatedReLURegressor(n_gates=6, beta=1e-3, random_state=0).fit(SHARDS)
