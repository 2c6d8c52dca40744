"""Gated networks on shards: the optimum of all rows as in memory, the same bits on every engine, valid certificates."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import GatedReLUClassifier, GatedReLURegressor, load_model, save_model
from clifford_rand_nn.shards.checkpoint import Checkpoint
from clifford_rand_nn.shards.engines.local import LocalEngine
from clifford_rand_nn.shards.gated.fit import ShardedFista
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.solvers.fista import Fista


def rows(n=700, d=4, seed=0, outputs=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    f = np.maximum(X @ rng.standard_normal((d, 3)), 0) @ rng.standard_normal((3, max(1, outputs)))
    return X, f + 0.1 * rng.standard_normal(f.shape)


def split(array, sizes=(150, 400)):
    return np.split(array, np.cumsum(sizes))


def shards_of(X, y, weights=None, **options):
    given = None if weights is None else split(weights)
    return Shards(split(X), split(y), sample_weight=given, **({"part_rows": 128} | options))


def in_memory(model, X, y, weights=None):
    """The same problem for the same gates by a solver in memory."""
    other = type(model)(
        **(model.get_params() | {"gates": model.gates_, "tol": 1e-8, "loss": model.loss_, "linear": False})
    )
    return other.set_params(beta=model.beta_).fit(X, y, weights)


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


def data(kind, outputs, seed=0):
    X, f = rows(outputs=outputs, seed=seed)
    if kind is GatedReLURegressor:
        return X, f if outputs else f[:, 0]
    if outputs:
        return X, np.array(["a", "b", "c"])[f.argmax(axis=1)]
    return X, np.where(f[:, 0] > np.median(f) * 1.5, "yes", "no")


LONGER = ("squared hinge", "softmax of squared norms", "balanced classes", "huber", "two targets")


@pytest.mark.parametrize(("gates", "warm"), [(1, True), (30, False)])
def test_training_goes_on_from_the_optimum_of_a_sample_that_is_large_for_the_network(gates, warm):
    X, y = data(GatedReLUClassifier, 0)
    model = GatedReLUClassifier(gates, beta=1e-3, loss="logistic", tol=1e-2, random_state=0).fit(shards_of(X, y))
    share = np.mean(y == "yes")
    null = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert (model.result_.history[0].objective < 0.999 * null) == warm


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] if case in LONGER else []) for case in CASES]
)
def test_the_optimum_is_that_of_the_same_rows_in_memory(case):
    kind, options, outputs = CASES[case]
    X, y = data(kind, outputs)
    model = kind(n_gates=6, beta=0.01, tol=1e-4, random_state=1, **options)
    model.fit(shards_of(X, y))
    exact = in_memory(model, X, y)
    assert model.result_.converged
    assert model.result_.objective >= exact.result_.objective * (1 - 1e-7)
    assert model.result_.objective <= exact.result_.objective * (1 + 1e-4) + 1e-12
    assert model.certificate_.dual <= exact.result_.objective * (1 + 1e-9)
    if hasattr(model, "predict_proba"):  # calibrated on folds that draw gates of their own
        assert np.abs(model.decision_function(X) - exact.decision_function(X)).max() < 0.05
        assert np.abs(model.predict_proba(X) - exact.predict_proba(X)).max() < 0.1
    assert model.score(X, y) == pytest.approx(exact.score(X, y), abs=0.02)


def test_weights_of_rows_and_rows_of_weight_zero():
    X, y = data(GatedReLUClassifier, 0)
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


def test_any_number_of_workers_gives_the_same_bits():
    X, y = data(GatedReLUClassifier, 3)
    shards = shards_of(X, y)
    found = []
    for workers in (1, 2, 5):
        model = GatedReLUClassifier(n_gates=6, beta=0.01, loss="logistic", tol=1e-3, random_state=1)
        found.append(model.fit(shards, engine=LocalEngine(shards, workers)))
    for other in found[1:]:
        assert np.array_equal(other.coef_, found[0].coef_)
        assert other.certificate_.dual == found[0].certificate_.dual


@pytest.mark.slow
@pytest.mark.parametrize("stop", [1, 7])
def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(tmp_path, stop):
    X, y = data(GatedReLUClassifier, 0)
    shards = shards_of(X, y)
    options = {"n_gates": 6, "beta": 0.002, "loss": "logistic", "tol": 1e-5, "random_state": None}
    first = Checkpoint(tmp_path / "whole.npz", every=0)
    kept = Checkpoint(tmp_path / "kept.npz", every=0)
    with pytest.warns(UserWarning, match="max_iter"):
        GatedReLUClassifier(**options, max_iter=stop).fit(shards, checkpoint=kept)
    (tmp_path / "whole.npz").write_bytes((tmp_path / "kept.npz").read_bytes())
    again = GatedReLUClassifier(**options).fit(shards, checkpoint=kept)
    whole = GatedReLUClassifier(**options).fit(shards, checkpoint=first)
    assert again.result_.n_iter > stop
    assert np.array_equal(again.coef_, whole.coef_)
    once_more = GatedReLUClassifier(**options).fit(shards, checkpoint=first)  # nothing is left to do
    assert np.array_equal(once_more.coef_, whole.coef_)
    assert once_more.result_.objective == whole.result_.objective


def test_a_run_without_a_break_is_that_of_its_parts(tmp_path):
    X, y = data(GatedReLURegressor, 0)
    shards = shards_of(X, y)
    options = {"n_gates": 6, "beta": 0.003, "tol": 1e-4, "random_state": 4}
    whole = GatedReLURegressor(**options).fit(shards)
    for steps in (2, 5, 9):
        with pytest.warns(UserWarning, match="max_iter"):
            GatedReLURegressor(**options, max_iter=steps).fit(shards, checkpoint=tmp_path / "state.npz")
    parts = GatedReLURegressor(**options).fit(shards, checkpoint=tmp_path / "state.npz")
    assert np.array_equal(parts.coef_, whole.coef_)
    assert parts.n_iter_ == whole.n_iter_
    with pytest.raises(ArgumentError, match="its random_state is 4, and that of this fit is 5"):
        GatedReLURegressor(**options | {"random_state": 5}).fit(shards, checkpoint=tmp_path / "state.npz")


@pytest.mark.parametrize("case", ["squared", "logistic", "softmax", "squared norms"])
def test_one_pass_checks_the_certificate(case):
    kind, options, outputs = CASES[case]
    X, y = data(kind, outputs)
    shards = shards_of(X, y)
    model = kind(n_gates=6, beta=0.01, tol=1e-3, random_state=1, **options).fit(shards)
    certificate = model.certificate_
    again = certificate.verify(shards_of(X, y, part_rows=1000))
    assert again.primal == pytest.approx(certificate.primal, rel=1e-9)
    assert again.dual >= certificate.dual - 1e-9 * certificate.primal
    assert again.relative_gap <= 1e-3
    # whatever is claimed, a bound above the optimum does not come out
    exact = in_memory(model, X, y).result_.objective
    for factor in (0.3, 1.2, 3.0):
        claim = certificate.claim
        false = claim.coefficients._replace(coef=factor * claim.coefficients.coef)
        bound = replace(certificate, claim=claim._replace(coefficients=false), scale=1.0, dual=9.0).verify(shards).dual
        assert bound <= exact * (1 + 1e-9)
    others = shards_of(*data(kind, outputs, seed=5))
    try:
        found = certificate.verify(others)
    except ArgumentError:
        return
    assert found.relative_gap > 1e-3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("options", "outputs", "offset"),
    [
        ({}, 2, 1e11),
        ({"penalty": "ridge"}, 0, -1e8),
        ({"loss": "huber", "huber_delta": 0.3}, 0, 1e6),
        ({"loss": "log_cosh", "huber_delta": 0.3}, 0, 1e12),
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
    gated = np.einsum("ncp,np->nc", inside.reshape(len(X), -1, P), model.gates_.on(X))
    r = np.abs((y.reshape(len(X), -1) - t) - gated)
    loss = {"huber": np.where(r < 0.3, r**2 / 2, 0.3 * r - 0.045), "log_cosh": 0.09 * np.log(np.cosh(r / 0.3))}
    mean = np.average(loss.get(options.get("loss"), r**2 / 2).sum(axis=1), weights=w)
    squares = (U**2).sum(axis=(0, 2)) + (b**2).sum(axis=0) / model.bias_feature_**2
    objective = mean + 0.01 * (squares.sum() / 2 if "penalty" in options else np.sqrt(squares).sum())
    for proof in (model.certificate_, model.certificate_.verify(shards)):
        assert proof.primal == pytest.approx(objective, rel=1e-9)
        assert proof.dual <= exact * (1 + 1e-9)
        assert proof.relative_gap <= 1e-3 + 1e-6


def test_targets_that_differ_by_rounding_alone_are_trained():
    X, f = rows()
    y = 1 + 2.0**-52 * np.round(5 * f[:, 0])
    model = GatedReLURegressor(n_gates=4, beta=1e-4 * 2.0**-52, tol=1e-2, random_state=0).fit(shards_of(X, y))
    assert 0 < model.certificate_.dual <= model.certificate_.primal < np.var(y) / 2 + 2.0**-105  # the constant's


def test_a_proof_that_failed_is_tried_again_after_some_steps(monkeypatch):
    """Not when the estimate, which may be 0 of residuals that are not balanced, has fallen."""
    X, y = data(GatedReLUClassifier, 0)
    prove, tried = ShardedFista.prove, []

    def failing(self, state):
        tried.append(state.steps)
        found = prove(self, state)
        return found._replace(gap=1.0) if len(tried) < 3 else found

    monkeypatch.setattr(ShardedFista, "prove", failing)
    monkeypatch.setattr(ShardedFista, "_stepped", _with_gap_zero(ShardedFista._stepped))
    model = GatedReLUClassifier(6, beta=1e-2, tol=1e-2, loss="logistic", random_state=0, max_iter=100)
    model.fit(shards_of(X, y))
    assert model.certificate_.relative_gap <= 1e-2
    assert len(tried) > 2
    assert set(np.diff(tried)) == {4}


def _with_gap_zero(stepped):
    return lambda *given: stepped(*given)._replace(gap=0.0)


@pytest.mark.parametrize("penalty", ["group_l2", "ridge"])
def test_residuals_that_no_intercept_has_balanced_prove_nothing(monkeypatch, penalty):
    monkeypatch.setattr("clifford_rand_nn.shards.gated.problem._NEWTON_STEPS", 0)
    X, y = data(GatedReLUClassifier, 0)
    shards = shards_of(X, y)
    model = GatedReLUClassifier(n_gates=6, beta=0.01, tol=1e-2, loss="logistic", penalty=penalty, max_iter=6)
    with pytest.warns(UserWarning, match="max_iter"):
        model.set_params(random_state=1).fit(shards)
    stated, checked = model.certificate_, model.certificate_.verify(shards)
    assert stated.dual <= 0
    assert stated.dual == pytest.approx(checked.dual, abs=1e-12)
    assert stated.relative_gap == pytest.approx(checked.relative_gap, rel=1e-9)
    assert stated.relative_gap >= 1


@pytest.mark.slow
def test_columns_that_the_sample_does_not_see_are_trained(monkeypatch):
    from clifford_rand_nn.estimators import sharded

    monkeypatch.setattr(sharded, "_SAMPLE", 60)
    X, y = data(GatedReLURegressor, 0)
    X[:, 3] = 0
    X[::97, 3] = 3.0
    y = y + 2 * X[:, 3]
    model = GatedReLURegressor(n_gates=5, beta=1e-3, tol=1e-4, random_state=0).fit(shards_of(X, y))
    exact = in_memory(model, X, y)
    assert model.result_.objective == pytest.approx(exact.result_.objective, rel=2e-4)


def test_beta_is_chosen_by_the_sample():
    X, y = data(GatedReLUClassifier, 0)
    model = GatedReLUClassifier(n_gates=6, tol=1e-2, random_state=0).fit(shards_of(X, y))
    assert model.loss_ == "logistic"
    assert model.beta_ in [score.beta for score in model.candidates_]
    assert model.score(X, y) > 0.85


def test_the_default_tolerance_is_that_of_passes(tmp_path):
    X, y = data(GatedReLURegressor, 0)
    model = GatedReLURegressor(n_gates=4, beta=1e-2, random_state=0).fit(shards_of(X, y))
    assert 1e-6 < model.certificate_.relative_gap <= 1e-3
    save_model(tmp_path / "m.npz", model)
    again = load_model(tmp_path / "m.npz")
    assert again.tol == clone(model).tol == model.get_params()["tol"] == "auto"
    assert again.fit(X, y).certificate_.relative_gap <= 1e-6
    assert again.set_params(tol=1e-6).fit(shards_of(X, y)).certificate_.relative_gap <= 1e-6
    with pytest.raises(ArgumentError, match=r"'tol' .* number > 0. Got 'tight' instead. Or 'auto', 1e-6"):
        again.set_params(tol="tight").fit(X, y)


class Killed(LocalEngine):
    """An engine that dies in a pass."""

    def __init__(self, shards, passes):
        super().__init__(shards)
        self.left = passes

    def sum(self, term):
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("killed")
        return super().sum(term)


def chosen(X, y, **options):
    return GatedReLUClassifier(n_gates=6, tol=1e-3, random_state=0).fit(shards_of(X, y), **options)


@pytest.mark.slow
def test_beta_is_halved_as_long_as_rows_that_are_left_out_say_so(monkeypatch, tmp_path):
    from clifford_rand_nn.estimators import sharded

    monkeypatch.setattr(sharded, "_JUDGED", 100)
    X, y = data(GatedReLUClassifier, 0)
    whole = chosen(X, y)
    betas = [score.beta for score in whole.candidates_]
    assert len(betas) >= 3
    assert np.allclose(np.divide(betas[1:], betas[:-1]), 0.5)
    assert whole.beta_ in betas
    assert whole.beta_ != betas[-1]
    assert in_memory(whole, X, y).result_.objective == pytest.approx(whole.result_.objective, rel=2e-3)  # of all rows
    for passes in (3, 25, 40):  # before, in the middle of a later beta, and at the end
        file = Checkpoint(tmp_path / f"{passes}.npz", every=0)
        with pytest.raises(RuntimeError, match="killed"):
            chosen(X, y, checkpoint=file, engine=Killed(shards_of(X, y), passes))
        again = chosen(X, y, checkpoint=file)
        assert np.array_equal(again.coef_, whole.coef_)
        assert again.candidates_ == whole.candidates_


def test_rows_left_out_count_nowhere():
    X, y = data(GatedReLUClassifier, 0)
    shards = shards_of(X, y)
    from clifford_rand_nn.shards.gated.passes import Judge, Network, Patterns

    out = np.array([0, 1, 149, 150, 300, 699])
    kept = np.delete(np.arange(700), out)
    gates = GatedReLUClassifier(n_gates=3, beta=0.1, random_state=0).fit(X, y).gates_
    network = Network(np.random.default_rng(0).standard_normal((5, len(gates), 1)), np.ones(1))
    from clifford_rand_nn.datafits.registry import as_loss
    from clifford_rand_nn.row_sums.sums import Targets

    targets = Targets(as_loss("logistic", "test"), np.unique(y))
    found = []
    for rows, marked in ((shards, targets._replace(left_out=out)), (Shards([X[kept]], [y[kept]]), targets)):
        with LocalEngine(rows) as engine:
            engine.keep(Patterns(gates))
            found.append(engine.sum(Judge(network, marked, 1.5, np.array([0.5, 1.0]), np.float64)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


def test_ctrl_c_leaves_a_network_with_its_gap():
    X, y = data(GatedReLURegressor, 0)
    shards = shards_of(X, y)

    class Interrupted(LocalEngine):
        passes = 0

        def sum(self, term):
            self.passes += 1
            if self.passes == 5:
                raise KeyboardInterrupt
            return super().sum(term)

    with pytest.warns(UserWarning, match="interrupt"):
        model = GatedReLURegressor(n_gates=6, beta=1e-3, tol=1e-9, random_state=0).fit(
            shards, engine=Interrupted(shards)
        )
    assert model.result_.interrupted
    # another dual point of the same network: where gaps are 4e-4 theirs differ by 1e-3 of that
    assert model.certificate_.verify(shards).relative_gap == pytest.approx(model.result_.relative_gap, rel=1e-2)


BAD = {
    "y": ({}, {"y": np.ones(700)}, "y"),
    "weights": ({}, {"sample_weight": np.ones(700)}, "sample_weight"),
    "free bias": ({"bias": "free"}, {}, "bias"),
    "solver": ({"solver": "kernel"}, {}, "solver"),
    "refine": ({"refine": 2}, {}, "refine"),
    "gates": ({"gates": "infinite", "penalty": "ridge"}, {}, "gates"),
    "engine": ({}, {"engine": "spark"}, "engine"),
    "checkpoint": ({}, {"checkpoint": 3}, "checkpoint"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_shards_cannot_do_is_refused(bad):
    parameters, given, name = BAD[bad]
    X, y = data(GatedReLURegressor, 0)
    with pytest.raises(ArgumentError, match=name):
        GatedReLURegressor(beta=0.1, **parameters).fit(shards_of(X, y), **given)


@pytest.mark.parametrize("case", ["squared", "softmax"])
def test_memory_that_cannot_hold_a_fit_is_named_before_it_begins(case):
    kind, options, outputs = CASES[case]
    shards = shards_of(*data(kind, outputs))
    model, least = kind(n_gates=6, beta=0.01, tol=1e-2, random_state=0, **options), 2e5 / 1.02
    for _ in range(1 + bool(outputs)):  # how many classes there are the first pass finds
        model.set_params(max_memory=1.02 * least)
        said = []
        for work in (model.plan, model.fit):
            with pytest.raises(
                ArgumentError, match=r"'max_memory' parameter of \w+ must be at least \d+ KiB"
            ) as raised:
                work(shards)
            said.append(re.search(r"at least (\d+) KiB", str(raised.value))[1])
        assert said[0] == said[1]
        least = float(said[0]) * 1024
    engine = LocalEngine(shards, 8)
    model.set_params(max_memory=1.02 * least).fit(shards, engine=engine)
    assert engine.workers == 1
    assert model.result_.converged


def test_engine_and_checkpoint_are_for_shards():
    X, y = data(GatedReLURegressor, 0)
    with pytest.raises(ArgumentError, match="None with rows in memory"):
        GatedReLURegressor(beta=0.1).fit(X, y, checkpoint="state.npz")


@pytest.mark.parametrize("where", ["X", "y"])
def test_a_row_that_is_not_finite_is_named(where):
    X, y = data(GatedReLURegressor, 0)
    (X if where == "X" else y)[333] = np.nan
    with pytest.raises(ArgumentError, match="row 333"):
        GatedReLURegressor(beta=0.1).fit(shards_of(X, y))


def test_one_class_and_no_targets_are_refused():
    X = data(GatedReLUClassifier, 0)[0]
    with pytest.raises(ArgumentError, match="one class"):
        GatedReLUClassifier(beta=0.1).fit(shards_of(X, np.full(len(X), "yes")))
    with pytest.raises(ArgumentError, match="without y"):
        GatedReLUClassifier(beta=0.1).fit(Shards(split(X)))


def test_labels_are_labels(monkeypatch):
    X, y = data(GatedReLURegressor, 0)
    model = GatedReLUClassifier(beta=0.1)
    with pytest.raises(ArgumentError, match=r"one label a row with Shards\. Got 2 columns"):
        model.fit(shards_of(X, np.stack([y > 0, y > 1], axis=1)))
    with pytest.raises(
        ArgumentError, match=r"labels: texts, integers .* in y\[.\] instead\. Real targets are for a reg"
    ):
        model.fit(shards_of(X, y))
    monkeypatch.setattr("clifford_rand_nn.shards.scan._MOST_CLASSES", 200)  # none of the parts has as many
    with pytest.raises(ArgumentError, match=r"at most 200 classes\. Got 700 in all"):
        model.fit(shards_of(X, np.arange(700)))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8])
def test_rows_of_other_types(dtype):
    X, y = data(GatedReLURegressor, 0)
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
    X, y = data(GatedReLURegressor, 0)
    solve = Fista.solve
    monkeypatch.setattr(Fista, "solve", lambda self, problem: solve(self, problem).ended(Status.MAX_MEMORY))
    with pytest.raises(MemoryError):
        GatedReLURegressor(n_gates=6, beta=1e-3, random_state=0).fit(shards_of(X, y))
