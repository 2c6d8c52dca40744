"""What a plan says before a fit, against what the fit then takes."""

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, GatedReLUClassifier
from clifford_rand_nn.row_sums import RowMap
from clifford_rand_nn.shards import plan as planning
from clifford_rand_nn.shards.engines import LocalEngine
from clifford_rand_nn.shards.source import Shards, fingerprint, shard_blocks

MODEL = GatedReLUClassifier(4, beta=1e-2, tol=1e-2, loss="logistic", random_state=0)


@pytest.fixture
def shards(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(3):
        X = rng.standard_normal((400, 5)).astype(np.float16)
        np.save(tmp_path / f"X-{i:05d}.npy", X)
        np.save(tmp_path / f"y-{i:05d}.npy", np.array(["no", "yes"])[(X[:, 0] * X[:, 1] > 0).astype(int)])
    return Shards(tmp_path, part_rows=100)


def test_a_plan_says_what_is_there_and_what_a_fit_takes(shards, tmp_path):
    plan = MODEL.plan(shards)
    passes = []

    class Noting(LocalEngine):
        def sum(self, term):
            passes.append(term)
            return super().sum(term)

    fitted = GatedReLUClassifier(4, beta=1e-2, tol=1e-2, loss="logistic", random_state=0)
    fitted.fit(shards, engine=Noting(shards))
    assert (plan.n_rows, plan.n_columns, plan.n_shards, plan.trial_rows) == (1200, 5, 3, 1200)
    assert plan.disk == sum(file.stat().st_size for file in tmp_path.iterdir())
    assert plan.n_passes == len(passes) + 2  # the first pass, and that which keeps the patterns
    assert plan.seconds == plan.trial_seconds
    assert plan.memory >= plan.memory_before > 0
    assert not hasattr(MODEL, "coef_")
    text = str(plan)
    assert text.startswith("GatedReLUClassifier on 1,200 rows × 5 columns in 3 shards\n  disk ")
    assert f"passes  about {plan.n_passes}, " in text


def test_a_plan_of_many_rows_comes_from_some_of_everywhere(shards, monkeypatch):
    monkeypatch.setattr(planning, "_TRIAL_ROWS", 256)
    plan = MODEL.plan(shards)
    assert plan.trial_rows == 256
    assert plan.n_rows == 1200
    assert plan.seconds >= plan.trial_seconds
    some = planning._some_rows(shards, 256, 16)
    found = np.concatenate([block.X for part in some.parts for block in shard_blocks(some, part, 7)])
    every = np.concatenate([block.X for part in shards.parts for block in shard_blocks(shards, part, 1000)])
    at = np.concatenate([np.arange(16) + i * 75 for i in range(16)])
    assert some.n_rows == 256
    assert np.array_equal(found[:96], every[at[:96]])  # pieces end with their part
    assert fingerprint(some) != fingerprint(shards)


def test_a_pass_takes_as_many_times_longer_as_there_are_more_rows(shards, monkeypatch):
    monkeypatch.setattr(planning, "_TRIAL_ROWS", 300)
    now = [0.0]
    monkeypatch.setattr(planning.time, "perf_counter", lambda: now[0])

    class Clocked(LocalEngine):
        def sum(self, term):
            now[0] += 1.0 + self.shards.n_rows / 100  # a second of overhead and a second for a hundred rows
            return super().sum(term)

        def each(self, work):
            now[0] += 1.0
            return super().each(work)

    def fit(some, engine, seconds):
        now[0] += 5.0
        for _ in range(3):
            engine.sum(Nothing())

    plan = planning.plan_fit("Model", shards, Clocked, fit)
    assert plan.n_passes == 3
    n = plan.trial_rows
    assert plan.trial_seconds == pytest.approx(5 + 3 * (1 + n / 100))
    assert plan.seconds == pytest.approx(5 + 3 * (1 + 1200 / 100))
    assert plan.pass_seconds == pytest.approx(1 + 1200 / 100)


def test_what_is_kept_of_all_rows_is_told_beside_the_trial(shards, monkeypatch):
    monkeypatch.setattr(planning, "_TRIAL_ROWS", 300)
    monkeypatch.setattr(planning, "resident", lambda: 1000)
    for most, more in ((2**26, 24 * 1200), (9000, 9000), (100, 0)):  # in all; those of the trial are there

        def engine(some, most=most):
            made = LocalEngine(some)
            made.most_kept = most
            return made

        plan = planning.plan_fit("Model", shards, engine, lambda some, runs, seconds: runs.keep(Thrice()))
        assert plan.memory == 1000 + max(0, more - 24 * plan.trial_rows)


class Thrice(RowMap):
    def of(self, block):
        return np.zeros((len(block.X), 3))


class Nothing:
    rows, columns = 100, True

    def of(self, block, kept):
        return (np.zeros(1),)


def test_a_trial_without_the_second_class_says_that_it_is_one(monkeypatch):
    monkeypatch.setattr(planning, "_TRIAL_ROWS", 64)
    X = np.random.default_rng(0).standard_normal((300, 2))
    shards = Shards([X], [(np.arange(300) == 299).astype(int)])
    with pytest.raises(
        ArgumentError, match=r"^GatedReLUClassifier\.plan: the trial fits 64 of the 300 rows.*one class"
    ):
        MODEL.plan(shards)
    with pytest.raises(ArgumentError, match=r"^The 'y' parameter of GatedReLUClassifier.*one class"):
        MODEL.plan(Shards([X[:60]], [np.zeros(60)]))


def test_a_trial_that_runs_out_of_time_says_so(shards):
    plan = GatedReLUClassifier(4, beta=1e-4, tol=1e-12, max_time=0.05, random_state=0).plan(shards)
    assert plan.trial_timed_out
    assert "passes  at least " in str(plan)


def test_arguments_of_a_plan(shards):
    with pytest.raises(ArgumentError, match=r"'engine' parameter of GatedReLUClassifier\.plan must be None with rows"):
        MODEL.plan([[1.0], [2.0]], engine="torch")
    with pytest.raises(ArgumentError, match=r"'y' parameter of GatedReLUClassifier\.plan must be None with Shards"):
        MODEL.plan(shards, [1.0, 2.0])
    with pytest.raises(ArgumentError, match=r"'engine' parameter of ConvexNetworkClassifier\.plan must be None, a"):
        ConvexNetworkClassifier().plan(shards, engine=LocalEngine(shards))
    with pytest.raises(ArgumentError, match="'solver' parameter"):
        GatedReLUClassifier(4, beta=1.0, solver="gram").plan(shards)
