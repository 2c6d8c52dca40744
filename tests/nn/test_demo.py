"""The demo in a small version: the tables, the files, and what is said without matplotlib."""

import csv

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from clifford_rand_nn import spiral
from clifford_rand_nn.cli import demo, demo_digits
from clifford_rand_nn.cli.demo_spiral import fit_spiral, with_ones

SMALL = {"n_gates": 30, "digits": 200, "resolution": 40}


def _read(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_demo_writes_tables_and_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "new" / "folder"
    demo.run_demo(out, 0, **SMALL)
    said = capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == ["digits.csv", "spiral.csv", "spiral.png"]
    assert all(f"wrote {path}" in said for path in out.iterdir())
    assert "\x1b" not in said

    rows = _read(out / "spiral.csv")
    assert [row["gates"] for row in rows] == ["cross-product", "Gaussian"]
    assert all(float(row["certified gap"]) <= 1e-5 for row in rows)
    assert all(0.5 < float(row["train accuracy"]) <= 1 for row in rows)
    assert all(0 < int(row["active"]) <= int(row["patterns"]) <= 30 for row in rows)

    rows = _read(out / "digits.csv")
    assert [row["method"] for row in rows] == ["convex network", "MLPClassifier (adam)", "LogisticRegression"]
    assert all(float(row["test accuracy"]) > 0.7 for row in rows)
    assert float(rows[0]["certified gap"]) <= 1e-3
    assert [row["certified gap"] for row in rows[1:]] == ["–", "–"]


def test_demo_without_matplotlib_says_what_is_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "available", lambda module: False)
    monkeypatch.setattr(demo, "compare_digits", lambda *_: ([], demo_digits.Sizes(1, 1, 1)))
    demo.run_demo(tmp_path, 0, n_gates=5)
    said = capsys.readouterr().out
    assert said.endswith('The picture was left out, it needs matplotlib: pip install "clifford-rand[app]"\n')
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digits.csv", "spiral.csv"]


def test_spiral_is_the_paper_s_problem_with_penalised_biases():
    X, y = spiral()
    fits = fit_spiral(X, y, 0, 20, lambda _: None)
    for fit in fits.values():
        network = fit.network
        assert network.beta * 2 * len(X) == pytest.approx(1e-3)  # the paper's scale
        assert not network.gate_intercept_.any()  # the bias is the last weight, and the penalty sees it
        assert network.intercept_ == pytest.approx(0, abs=1e-12)
        residual = fit.model.decision_function(X) - y
        penalty = np.linalg.norm(network.coef_, axis=1).sum()
        objective = np.mean(residual**2) / 2 + network.beta * penalty
        assert network.certificate_.primal == pytest.approx(objective, rel=1e-9)
        assert network.certificate_.verify(with_ones(X), y).relative_gap < 1e-4


def test_digits_pick_on_validation_rows_and_test_on_others(monkeypatch):
    fitted, scored = [], []

    class Recorder:
        def __init__(self, value):
            self.value = value

        def fit(self, X, y):
            self.rows = {row.tobytes() for row in X}
            fitted.append((self.value, self.rows))
            return self

        def score(self, X, y):
            scored.append({row.tobytes() for row in X})
            return {1: 0.5, 2: 0.9, 3: 0.7}[self.value]

    method = demo_digits._Method("recorder", "value", (1, 2, 3), Recorder, Recorder)
    monkeypatch.setattr(demo_digits, "_methods", lambda seed: [method])
    monkeypatch.setattr(demo_digits, "_objective", lambda *_: (0.0, None))
    told = []
    (score,), sizes = demo_digits.compare_digits(0, None, told.append)
    assert [value for value, _ in fitted] == [1, 2, 3, 2]  # the best on the validation rows is fitted again
    assert (score.picked, score.validation) == ("value 2", 0.9)
    part, train = fitted[0][1], fitted[-1][1]
    held, test = scored[0], scored[-1]
    assert scored == [held, held, held, test]
    assert train == part | held
    assert not part & held
    assert not test & train
    assert (sizes.train, sizes.test, sizes.validation) == (898, 899, 225)
    assert len(told) == 4


def test_objective_of_logistic_regression_is_its_minimum():
    X, y = load_digits(return_X_y=True)
    X, y = X[:120] / 16, y[:120]
    model = LogisticRegression(C=0.5, max_iter=5000, tol=1e-8).fit(X, y)
    least, gap = demo_digits._objective(model, X, y)
    assert gap is None
    for factor in (0.98, 1.02):
        other = LogisticRegression(C=0.5, max_iter=5000).fit(X, y)
        other.coef_ = model.coef_ * factor
        other.intercept_ = model.intercept_
        assert demo_digits._objective(other, X, y)[0] > least
