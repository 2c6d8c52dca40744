"""The runner on made tables: what fits may see, rows that outlive a stopped run, the page."""

import json

import numpy as np
import pytest

from examples.accuracy import run as runner
from examples.accuracy.methods.base import Method
from examples.accuracy.problems import classification, regression
from examples.accuracy.run import Plan, gather, run
from examples.paper.datasets.feature_files import save_features
from support.csv_tables import read_rows
from support.refusals import refused

rng = np.random.default_rng(5)
X = rng.standard_normal((150, 3)).astype(np.float32)
X[:, 0] = np.arange(150)  # tells the rows apart
Y = np.array(["a", "b", "c"])[np.arange(150) % 3]
SPLIT = np.arange(150) % 5 < 3


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    save_features(tmp_path / "data" / "made.npz", X, Y, SPLIT)
    return tmp_path


class Recorder:
    """Keeps the rows it is shown; predicts one class with certainty, or the mean."""

    seen: list = []  # noqa: RUF012

    def __init__(self, classes=3, spent=0.0):
        self.classes, self.spent = classes, spent

    def fit(self, X, y):
        self.seen.append((X.copy(), y.copy()))
        self.mean = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean) if self.classes == 0 else np.zeros(len(X), dtype=int)


class Certain(Recorder):
    loo_score_ = 0.5

    def predict_proba(self, X):
        return np.eye(3)[np.zeros(len(X), dtype=int)]


class Band(Recorder):
    def predict_interval(self, X, coverage):
        assert coverage == 0.9
        return np.full(len(X), -1e3), np.full(len(X), self.mean)


METHODS = (
    Method("network", "classification", lambda seed: Certain(), "certain", every=True),
    Method("svc", "classification", lambda seed: Recorder(), "zero"),
    Method("network", "regression", lambda seed: Band(0), "band", every=True),
    Method("ridge", "regression", lambda seed: Recorder(0), "mean", library="no_such_library"),
)


@pytest.fixture
def made(monkeypatch, folder):
    monkeypatch.setattr(runner, "METHODS", METHODS)
    monkeypatch.setattr(runner, "warm_up", lambda method: None)
    monkeypatch.setattr(runner, "bundled_classification", lambda: iter(()))
    bowl = regression("bowl", X[:50].astype(float), X[:50, 1] ** 2)
    monkeypatch.setattr(runner, "bundled_regression", lambda say: iter([bowl]))
    Recorder.seen = []
    return folder


def test_halves_are_of_the_training_part_and_folds_are_a_partition(folder):
    (problem,) = [p for p in gather(Plan(folder, (folder / "data",), say=lambda _: None)) if p.name == "made"]
    assert (problem.n_classes, len(problem.rows)) == (3, 10)
    halves = [fitted for fitted, _ in problem.rows]
    for half, (fitted, tested) in enumerate(problem.rows):
        assert len(set(fitted)) == len(fitted) == 45
        assert SPLIT[fitted].all()
        assert np.array_equal(tested, np.flatnonzero(~SPLIT))
        assert np.bincount(problem.trial(half).y).tolist() == [15, 15, 15]
    assert len({tuple(sorted(half)) for half in halves}) == 10  # two equal ones: below 1e-20
    folds = regression("bowl", X, X[:, 1])
    assert sorted(np.concatenate([tested for _, tested in folds.rows])) == list(range(150))
    assert all(set(fitted) | set(tested) == set(range(150)) for fitted, tested in folds.rows)


def test_a_class_with_few_rows_is_refused():
    from examples.paper.datasets.feature_files import FeatureSet

    y, split = np.array([0] * 40 + [1] * 9 + [1] * 9), np.arange(58) < 49
    made = FeatureSet(X=np.zeros((58, 2)), y=y, split=split, name="made")
    refused("a class has 9 training rows; at least 10", classification, made)


def test_methods_see_training_rows_only_and_rows_go_to_the_disk(made):
    said = []
    page = made / "page.md"
    page.write_text("# Page\n\n<!-- Accuracy in % -->\n<!-- end -->\n\nwords\n")
    (made / "images").mkdir()
    written = run(Plan(made / "out", (made / "data",), page=page, command="make it", say=said.append))
    assert [path.name for path in written] == ["accuracy.md", "page.md", "accuracy.png", "accuracy.png", "accuracy.txt"]
    assert "ridge is left out, it needs no_such_library" in said[0]

    test_rows = set(X[~SPLIT, 0].tolist())
    fits = [(A, y) for A, y in Recorder.seen if len(y) == 45]
    assert len(fits) == 20
    assert not any(set(A[:, 0].tolist()) & test_rows for A, _ in fits)

    mine = read_rows(made / "out" / "rows" / "classification-network.csv")
    assert sorted(int(row["trial"]) for row in mine) == list(range(10))
    share = np.mean(Y[~SPLIT] == "a")
    assert {row["score"] for row in mine} == {f"{share:.6f}"}
    assert {row["ece"] for row in mine} == {f"{1 - share:.6f}"}  # it is always certain
    assert {row["nll"] for row in mine} == {f"{-(1 - share) * np.log(1e-15):.6f}"}
    assert {row["promised"] for row in mine} == {"0.500000"}
    assert {(row["n"], row["d"], row["classes"], row["n_test"]) for row in mine} == {("45", "3", "3", "60")}
    assert {row["nll"] for row in read_rows(made / "out" / "rows" / "classification-svc.csv")} == {""}

    folds = read_rows(made / "out" / "rows" / "regression-network.csv")
    assert len(folds) == 5
    assert all(0 < float(row["coverage"]) < 1 for row in folds)
    assert all(float(row["score"]) <= 0 for row in folds)  # the training rows' mean is no better than the test rows'
    text = page.read_text()
    assert "| made | " in text
    assert text.endswith("words\n")
    assert (made / "out" / "accuracy.txt").read_text().startswith("command: make it\n")


def test_a_second_run_measures_nothing_twice_and_refuses_other_methods(made, monkeypatch):
    plan = Plan(made / "out", (made / "data",), say=lambda _: None)
    run(plan)
    before = {path: path.read_bytes() for path in (made / "out" / "rows").glob("*.csv")}
    count = len(Recorder.seen)
    table = made / "out" / "rows" / "classification-svc.csv"
    lines = table.read_bytes().splitlines(keepends=True)
    table.write_bytes(b"".join(lines[:-1]))  # as if it had been stopped
    run(plan)
    assert len(Recorder.seen) == count + 1
    counts = {"classification-svc": 10, "classification-network": 10, "regression-network": 5}
    assert {path.stem: len(read_rows(path)) for path in before} == counts
    other = Method("svc", "classification", lambda seed: Recorder(), "another grid")
    monkeypatch.setattr(runner, "METHODS", (other,))
    refused("method = zero, now it is another grid", run, plan)


def test_a_costly_peer_gets_three_trials_and_the_network_all(made, monkeypatch):
    measure = runner.measure
    monkeypatch.setattr(runner, "measure", lambda *given: {**measure(*given), "cpu_seconds": "4.000"})
    run(Plan(made / "out", (made / "data",), peer_seconds=11.0, say=lambda _: None))
    assert [row["trial"] for row in read_rows(made / "out" / "rows" / "classification-svc.csv")] == ["0", "1", "2"]
    assert len(read_rows(made / "out" / "rows" / "classification-network.csv")) == 10
    facts = json.loads((made / "out" / "rows" / "classification-svc.json").read_text())
    assert facts["method"] == "zero"


def test_unknown_names_are_refused(made):
    for options, match in (({"sets": ("other",)}, "sets.*made"), ({"methods": ("other",)}, "methods.*network")):
        refused(match, run, Plan(made / "out", (made / "data",), say=lambda _: None, **options))
    refused("different names", run, Plan(made / "out", (made / "data", made / "data"), say=lambda _: None))
