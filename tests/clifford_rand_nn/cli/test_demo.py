"""The demo in a small version: the tables, the files, and what is said without matplotlib."""

import io
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from clifford_rand_nn import ConvexNetworkClassifier, spiral
from clifford_rand_nn.cli import console, demo
from clifford_rand_nn.cli.demo import show_session
from clifford_rand_nn.cli.demo_spiral import SPIRAL_COLUMNS, SpiralFit, fit_spiral
from clifford_rand_nn.solvers.stopping import Watch
from support.csv_tables import read_rows

SMALL = {"n_gates": 30, "rows": 120, "resolution": 40}
X, Y = spiral(30)
PAIRS = len(X) * (len(X) - 1)  # of points, in either order; planes through two of them make two patterns more
NETWORKS = ["every network", "30 pairs", "30 cross-product gates", "30 Gaussian gates"]


@pytest.fixture(scope="module")
def fits():
    return fit_spiral(X, Y, 0, SMALL["n_gates"], lambda _: None)


def objective(network, beta, X, y):
    """Objective by the formula of the non-convex problem, from the weights alone."""
    f = np.maximum(X @ network.W1.T + network.b1, 0) @ network.w2[:, 0] + network.b2[0]
    return np.mean((f - y) ** 2) / 2 + beta * (np.sum(network.W1**2) + np.sum(network.w2**2)) / 2


@pytest.mark.slow
def test_demo_writes_tables_and_picture(tmp_path, capsys, monkeypatch, fits):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(demo, "fit_spiral", lambda X, y, seed, n_gates, tell: fits)
    monkeypatch.setattr(demo, "spiral", lambda: (X, Y))
    out = tmp_path / "new" / "folder"
    demo.run_demo(out, 0, **SMALL)
    said = capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == sorted(demo.FILES)
    assert all(f"wrote {path}" in said for path in out.iterdir())
    assert "\x1b" not in said

    rows = read_rows(out / "spiral.csv")
    assert [row["network"] for row in rows] == NETWORKS
    values = [objective(fits[row["network"]].model.network_, 1e-3 / (2 * len(X)), X, Y) for row in rows]
    assert [row["objective"] for row in rows] == [f"{value:.3e}" for value in values]
    assert rows[0]["above the optimum"] == "–"
    above = [float(row["above the optimum"].rstrip("%").replace(",", "")) for row in rows[1:]]
    np.testing.assert_allclose(above, 100 * (np.array(values[1:]) / values[0] - 1), rtol=0.01)
    for row in rows:
        model = fits[row["network"]].model
        assert float(row["train accuracy"]) == pytest.approx(np.mean(model.predict(X) == Y), abs=5e-4)
        assert 0 < int(row["neurons"]) <= model.network_.n_neurons
        assert float(row["certified gap"]) == pytest.approx(model.certificate_.verify(X, Y).relative_gap, abs=1e-7)
        assert float(row["certified gap"]) <= 1e-6
    assert all(f"{name}  " in said for name in NETWORKS)

    rows = read_rows(out / "tables.csv")
    assert [row["score"] for row in rows] == ["R²", "accuracy", "R²"]
    data, y = load_digits(return_X_y=True)
    halves = train_test_split(data[:120], y[:120], test_size=0.5, stratify=y[:120], random_state=0)
    model = ConvexNetworkClassifier().fit(halves[0], halves[2])
    assert rows[1]["default model"] == f"{model.score(halves[1], halves[3]):.3f}"
    for row in rows:
        best = max(float(row[name]) for name in ("default model", "linear model", "random forest", "SVM"))
        (winner,) = re.findall(rf"^{row['table']}: the (.*?) is best", said, re.M)
        assert float(row[winner]) == pytest.approx(best, abs=2e-3)  # scores are rounded


@pytest.mark.slow
def test_demo_without_matplotlib_says_what_is_left_out(tmp_path, capsys, monkeypatch, fits):
    monkeypatch.setattr(demo, "fit_spiral", lambda X, y, seed, n_gates, tell: fits)
    monkeypatch.setattr(demo, "available", lambda module: False)
    monkeypatch.setattr(demo, "compare_tables", lambda *_: [compared(0.0)])
    demo.run_demo(tmp_path, 0, n_gates=5)
    said = capsys.readouterr().out
    assert 'The pictures were left out, they need matplotlib: pip install "matplotlib>=' in said.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spiral.csv", "tables.csv"]


@pytest.mark.slow
def test_spiral_is_the_paper_s_problem_no_network_beats_the_first_and_neurons_that_count_matter(fits):
    best = fits["every network"].proof
    for fit in fits.values():
        proof, network = fit.proof, fit.model.network_
        assert proof.beta * 2 * len(X) == pytest.approx(1e-3)  # the paper's scale
        assert fit.model.decision_function(X) == pytest.approx(network.predict(X))
        assert proof.objective == pytest.approx(objective(network, proof.beta, X, Y), rel=1e-9)
        assert proof.objective >= best.lower_bound  # what the first row's proof says of all the others
        assert proof.over_all_neurons(X, Y).lower_bound <= best.objective  # and no other dual point proves it wrong
        size = np.linalg.norm(network.W1, axis=1) * np.abs(network.w2[:, 0])
        kept = np.argsort(size)[::-1][: fit.n_neurons]
        f = np.maximum(X @ network.W1[kept].T + network.b1[kept], 0) @ network.w2[kept, 0] + network.b2[0]
        np.testing.assert_allclose(f, network.predict(X), atol=1e-3)  # labels are -1 and 1
    assert best.over_all_neurons(X, Y).relative_gap <= 1e-6


@pytest.mark.slow
def test_seed_and_number_of_gates_are_used(monkeypatch):
    first, again, other = (fit_spiral(*spiral(5), seed, 6, lambda _: None) for seed in (0, 0, 1))
    for name in ("6 pairs", "6 cross-product gates", "6 Gaussian gates"):
        assert first[name].proof.objective == again[name].proof.objective != other[name].proof.objective
    assert first["every network"].proof.objective == other["every network"].proof.objective
    assert all(isinstance(fit, SpiralFit) and fit.seconds > 0 for fit in first.values())


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_number_is_cut_off_on_a_narrow_terminal(monkeypatch, width):
    from rich.console import Console

    terminal = Console(force_terminal=True, width=width, color_system=None, record=True, file=io.StringIO())
    monkeypatch.setattr(console, "_console", lambda: terminal)
    rows = [
        ["every network", "146", "1.000", "2.521e-03", "–", "2e-07", "1.48"],
        ["200 cross-product gates", "141", "1.000", "6.278e-03", "1,234%", "3e-07", "12.79"],
    ]
    console.show_table("Spiral", SPIRAL_COLUMNS, rows)
    said = terminal.export_text()
    assert "…" not in said
    assert all(len(line) <= width for line in said.splitlines())
    for row in rows:
        assert any(all(cell in line for cell in row[1:]) for line in said.splitlines())


@pytest.mark.slow
def test_peers_are_selected_on_a_validation_set_and_tested_on_others(monkeypatch):
    fitted, scored, tested = [], [], []

    class Recorder(BaseEstimator):
        def __init__(self, value=1):
            self.value = value

        def fit(self, X, y):
            fitted.append((self.value, {row.tobytes() for row in X}))
            return self

        def score(self, X, y):
            scored.append({row.tobytes() for row in X})
            return {1: 0.5, 2: 0.9, 3: 0.7}[self.value]

        def predict(self, X):
            tested.append({row.tobytes() for row in X})
            return np.zeros(len(X), dtype=int)

    monkeypatch.setattr(demo, "_tables", lambda seed: {"digits": load_digits(return_X_y=True)})
    monkeypatch.setattr(demo, "_peers", lambda classes, seed: {"recorder": (Recorder(), "value", (1, 2, 3))})
    (table,) = demo.compare_tables(0, 120, lambda _: None)
    assert [value for value, _ in fitted] == [1, 2, 3, 2]  # the best on the validation set is fitted again
    part, train, held, (test,) = fitted[0][1], fitted[-1][1], scored[0], tested
    assert scored == [held, held, held]
    assert train == part | held
    assert not part & held
    assert not test & train
    assert (table.shape, len(held), len(test)) == ((60, 60, 64), 15, 60)
    assert table.scores()["recorder"] == np.mean(table.truth == 0)


def compared(shift):
    """A table on which the default model is better than another by a shift of its errors."""
    truth = np.linspace(0, 1, 50)
    noise = 0.1 * np.cos(7 * np.arange(50))
    return demo.Compared("t", (50, 50, 1), truth, {demo.DEFAULT: truth + noise, "x": truth + noise[::-1] + shift}, 0, 1)


def test_the_verdict_names_the_best_method_and_noise():
    clear, noise = compared(0.5), compared(0.0)
    assert clear.verdict().startswith("t: the default model is best, ahead of the x by 2.868 ± 0.")
    worse = clear._replace(predicted=dict(zip(clear.predicted, reversed(clear.predicted.values()), strict=True)))
    assert worse.verdict().startswith("t: the x is best, ahead of the default model by 2.868 ± 0.")
    assert [comparison.verdict().endswith("within noise.") for comparison in (clear, worse, noise)] == [
        False,
        False,
        True,
    ]


def test_the_session_prints_what_its_lines_return(capsys):
    values = show_session()
    printed = capsys.readouterr().out.splitlines()
    turned, moved, largest, lengths = [line for line in printed if line and line[0] not in ">#"]
    assert (turned, moved, largest) == ("[0. 1. 5.]", "[2. 0. 2.]", "0.0")
    assert lengths == f"({values['log_length']:.6f}, {values['log_length']:.6f})"  # the law
    assert values["A"].shape == (999, 1000)
    assert max(map(len, printed)) <= 88


def test_ctrl_c_in_a_fit_ends_the_demo(monkeypatch):
    """The fit keeps the best that it has, and the demo does not go on with it."""
    check, checks = Watch.check, []

    def pressed(self, *arguments, **named):
        check(self, *arguments, **named)
        checks.append(1)
        if len(checks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "check", pressed)
    with pytest.raises(KeyboardInterrupt):
        fit_spiral(X, Y, 0, 30, lambda _: None)
    assert len(checks) == 2
