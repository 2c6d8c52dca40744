"""The protocol of the comparison, its methods, and the tables that a stopped run goes on with."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.solvers.base import Status
from examples.paper import accuracy as experiment_accuracy
from examples.paper import protocol, summary, timing
from examples.paper.datasets.feature_files import load_features, save_features
from examples.paper.methods import registry
from examples.paper.methods.adamw import AdamW
from examples.paper.methods.base import Method, Model
from examples.paper.methods.convex import ConvexGated
from examples.paper.methods.peers import Lasso, gradient_boosting, logistic, mlp, svc_rbf
from examples.paper.plots.curves import Series, curve_figure
from examples.paper.rows import ResultRows
from examples.paper.settings import Settings
from support.csv_tables import read_rows
from support.refusals import refused

rng = np.random.default_rng(11)
D = 6
X_ALL = (rng.standard_normal((160, D)) * np.array([3, 1, 1, 1, 1, 0.1]) + 5).astype(np.float32)
NOISE = 0.6 * rng.standard_normal(160)
Y_ALL = np.where((X_ALL[:, 0] - 5) / 3 * (X_ALL[:, 1] - 5) + X_ALL[:, 2] - 5 + NOISE > 0, "up", "down")
SPLIT = np.arange(160) % 2 == 0
FAST = ("convex-gaussian", "logistic", "lasso")


@pytest.fixture
def folder(tmp_path):
    save_features(tmp_path / "made.npz", X_ALL, Y_ALL, SPLIT)
    return tmp_path


@pytest.fixture
def half(folder):
    return protocol.Binary.of(load_features(folder / "made.npz"))


@pytest.fixture
def scaled(half):
    return protocol.Scaling.of(half.X)(half.X), half.y


def settings(folder, **options):
    options = {"seeds": 2, "sizes": (40, 80), "methods": FAST, "say": lambda _: None} | options
    return Settings(folder / "out", folder, **options)


# ---------------------------------------------------------------------------------------------------- protocol


class ThirdFeature(Model):
    """The third feature times a factor."""

    def __init__(self, factor, seen):
        self.factor, self.seen = factor, seen

    def decision(self, X):
        self.seen.append(("decision", X.copy()))
        return self.factor * X[:, 2]


class Recorder(Method):
    """Keeps what it is shown; a grid point is the factor of the decision value."""

    name = "recorder"

    def __init__(self, grid=(1.0, 2.0), margin_loss="logistic", oracle=False):
        self.grid, self.margin_loss, self.oracle, self.seen = grid, margin_loss, oracle, []

    def fit(self, X, y, value, seed):
        self.seen.append(("fit", X.copy(), y.copy(), value, seed))
        return ThirdFeature(value, self.seen)


def test_the_test_half_is_met_once_and_last(half):
    method, trial = Recorder(), protocol.draw(half, 40, 3)
    row = experiment_accuracy.measure(method, trial, half, 60.0)
    kinds = [(what, len(X)) for what, X, *_ in method.seen]
    assert kinds == [*[("fit", 32), ("decision", 8)] * 2, ("fit", 40), ("decision", 40), ("decision", 80)]
    assert row["n_test"] == len(method.seen[-1][1]) == 80
    assert np.isin(trial.X[:, 0], X_ALL[SPLIT][:, 0]).all()
    assert not np.isin(trial.X[:, 0], half.X_test[:, 0]).any()


def test_changed_test_rows_change_no_choice_and_no_model(half):
    trial = protocol.draw(half, 60, 0)
    other = replace(half, X_test=-half.X_test, y_test=1 - half.y_test)
    assert (protocol.draw(other, 60, 0).X == trial.X).all()
    for method in (logistic(), ConvexGated("cross", n_gates=8)):
        first, second = (experiment_accuracy.measure(method, trial, data, 60.0) for data in (half, other))
        same = [name for name in first if "seconds" not in name and name != "test_accuracy"]
        assert {name: first[name] for name in same} == {name: second[name] for name in same}


def test_trials_are_stratified_reproducible_and_the_same_for_every_method(half):
    trial, again = (protocol.draw(half, 40, 1) for _ in range(2))
    assert (trial.X == again.X).all()
    assert (trial.validation == again.validation).all()
    assert not np.array_equal(trial.X, protocol.draw(half, 40, 2).X)
    assert trial.validation.sum() == 8
    assert abs(trial.y.mean() - half.y.mean()) <= 1 / 40
    assert abs(trial.y[trial.validation].mean() - trial.y.mean()) <= 1 / 8
    whole = protocol.draw(half, 80, 0)
    assert (whole.X == half.X).all()
    assert not np.array_equal(whole.validation, protocol.draw(half, 80, 1).validation)


def test_scaling_is_made_of_the_fitted_rows_only(half):
    method, trial = Recorder(grid=(1.0,)), protocol.draw(half, 40, 0)
    trial = replace(trial, X=np.where(trial.validation[:, None], trial.X + 1000, trial.X))
    protocol.choose(method, trial, 60.0)
    (_, fitted, *_), (_, held), (_, final, *_) = method.seen
    for X in (fitted, final):
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-6)
        assert X.std(axis=0).max() == pytest.approx(1, abs=1e-6)
    assert held.min() > 100  # these did not move the mean


def test_a_column_that_hardly_varies_is_not_blown_up():
    X = np.random.default_rng(0).standard_normal((50, 4)) * [1, 2, 1e-3, 0]
    scaled = protocol.Scaling.of(X)(X)
    np.testing.assert_allclose(scaled.std(axis=0)[:2], 1)
    assert scaled[:, 2].std() == pytest.approx(X[:, 2].std() / (0.1 * np.sqrt(np.mean(X.var(axis=0)))))
    assert not protocol.Scaling.of(np.ones((5, 2)))(np.ones((5, 2))).any()


def validation_losses(trial, grid):
    """The third feature of the validation rows, and the logistic loss of its multiples."""
    X = protocol.Scaling.of(trial.X[~trial.validation])(trial.X[trial.validation])[:, 2]
    sign = np.where(trial.y[trial.validation] == 1, 1, -1)
    return X, [np.logaddexp(0, -sign * factor * X).mean() for factor in grid]


def test_ties_go_to_the_lower_loss_or_else_to_the_earlier_point(half):
    trial, grid = protocol.draw(half, 80, 0), (1e-6, 2.0, 300.0)
    X, losses = validation_losses(trial, grid)
    choice = protocol.choose(Recorder(grid), trial, 60.0)
    assert choice.place == np.argmin(losses) + 1 != 1
    assert choice.validation_loss == pytest.approx(min(losses))
    assert choice.value == grid[choice.place - 1]
    earlier = protocol.choose(Recorder(grid, margin_loss=None), trial, 60.0)
    assert earlier.place == 1
    assert np.isnan(earlier.validation_loss)
    better = protocol.choose(Recorder((-1.0, 1.0), margin_loss=None), trial, 60.0)
    correct = [protocol.accuracy(factor * X, trial.y[trial.validation]) for factor in (-1.0, 1.0)]
    assert correct[0] != correct[1]
    assert better.place == np.argmax(correct) + 1


def test_by_loss_the_accuracy_does_not_matter_and_the_grid_ends_when_it_rises_twice(half):
    trial, grid = protocol.draw(half, 80, 0), (1e-6, 1e-3, 0.5, 1.0, 30.0, 100.0, 300.0, 900.0)
    _, losses = validation_losses(trial, grid)
    first = next(i for i in range(2, 8) if losses[i - 2] < losses[i - 1] < losses[i])
    assert first < 7
    method = Recorder(grid)
    choice = protocol.choose(method, trial, 60.0, "loss")
    assert (choice.n_points, choice.place) == (first + 1, np.argmin(losses) + 1)
    assert [entry[3] for entry in method.seen if entry[0] == "fit"] == [*grid[: first + 1], choice.value]
    # a wrong sign has the lower loss while it is small, and is right for no row
    places = [protocol.choose(Recorder((-1e-9, 300.0)), trial, 60.0, by).place for by in ("loss", "accuracy")]
    assert places == [1, 2]
    without = [protocol.choose(Recorder((-1.0, 1.0), margin_loss=None), trial, 60.0, by) for by in ("loss", "accuracy")]
    assert without[0].place == without[1].place


def test_a_decision_of_zero_is_class_0():
    assert protocol.accuracy(np.array([0.0, 1e-9, -1.0]), np.array([0, 1, 0])) == 1.0
    assert protocol.accuracy(np.array([0.0, 1e-9, -1.0]), np.array([1, 0, 0])) == pytest.approx(1 / 3)


def test_the_time_ends_the_grid_but_not_the_final_fit(half):
    method = Recorder(grid=tuple(range(1, 9)))
    choice = protocol.choose(method, protocol.draw(half, 40, 0), 1e-9)
    assert (choice.n_points, choice.value) == (1, 1)
    assert [entry[0] for entry in method.seen] == ["fit", "decision", "fit"]


def test_oracle_is_the_best_point_by_test_accuracy(half):
    trial = protocol.draw(half, 40, 0)
    row = experiment_accuracy.measure(Recorder(grid=(-1.0, 1.0), oracle=True), trial, half, 60.0)
    third = protocol.Scaling.of(trial.X)(half.X_test)[:, 2]
    scores = [protocol.accuracy(factor * third, half.y_test) for factor in (-1.0, 1.0)]
    assert scores[0] < scores[1]
    assert float(row["oracle_accuracy"]) == pytest.approx(scores[1], abs=1e-6)
    assert row["oracle_value"] == "1"
    assert float(row["test_accuracy"]) <= float(row["oracle_accuracy"])


def test_sizes_and_classes_that_do_not_fit_are_refused(half, folder):
    def data(y, split=SPLIT):
        save_features(folder / "bad.npz", X_ALL, y, split)
        return protocol.Binary.of(load_features(folder / "bad.npz"))

    few_up = data(np.where(np.arange(160) < 4, "up", "down"))
    for message, work, *arguments in (
        ("'sizes' parameter of experiment must be an integer from 10 to 80", protocol.draw, half, 5, 0),
        ("made has 80 training rows", protocol.draw, half, 81, 0),
        (r"rows of both classes .* Got 12 rows of bad", protocol.draw, few_up, 12, 0),
        ("bad: the experiments compare methods for 2 classes; 'y' has 3", data, np.arange(160) % 3),
        ("bad: the test half has rows of one class only", data, SPLIT | (np.arange(160) > 80), ~SPLIT),
    ):
        refused(message, work, *arguments)


# ---------------------------------------------------------------------------------------------------- methods


def test_logistic_is_scikit_learn_run_by_hand(half):
    trial = protocol.draw(half, 80, 0)
    row = experiment_accuracy.measure(logistic(), trial, half, 60.0)

    def scaled(X, rows):
        X, rows = X.astype(float), rows.astype(float)
        spread = rows.std(axis=0)
        return (X - rows.mean(axis=0)) / np.maximum(spread, 0.1 * np.sqrt(np.mean(spread**2)))

    fitted, held, y = trial.X[~trial.validation], trial.X[trial.validation], trial.y[trial.validation]
    scores = {}
    for C in np.geomspace(1e-5, 10, 10):
        model = LogisticRegression(C=C, max_iter=1000).fit(scaled(fitted, fitted), trial.y[~trial.validation])
        margin = model.decision_function(scaled(held, fitted))
        scores[C] = np.mean((margin > 0) == y), -np.logaddexp(0, np.where(y == 1, -margin, margin)).mean()
    best = max(scores, key=scores.get)
    model = LogisticRegression(C=best, max_iter=1000).fit(scaled(trial.X, trial.X), trial.y)
    assert row["value"] == f"C={best:.6g}"
    assert float(row["validation_accuracy"]) == pytest.approx(scores[best][0], abs=1e-6)
    expected = model.score(scaled(half.X_test, trial.X), half.y_test)
    assert float(row["test_accuracy"]) == pytest.approx(expected, abs=1e-6)


BOOSTING = pytest.param(gradient_boosting, marks=pytest.mark.slow)


@pytest.mark.parametrize("make", [Lasso, svc_rbf, BOOSTING, mlp, lambda: ConvexGated("cross", n_gates=20)])
def test_every_method_learns_and_repeats_itself(half, make):
    method, trial = make(), protocol.draw(half, 80, 0)
    method.grid = tuple(method.grid[i] for i in sorted({0, len(method.grid) // 2}))
    first, second = (protocol.choose(method, trial, 60.0) for _ in range(2))
    assert first.accuracy(trial.X, trial.y) > 0.65
    X = first.scaling(half.X_test)
    assert np.array_equal(first.model.decision(X), second.model.decision(X))
    assert first.model.decision(X).shape == (80,)


def test_the_lasso_path_is_each_fit_alone(scaled):
    (X, y), method = scaled, Lasso()
    for value, model in zip(method.grid, method.fit_grid(X, y, method.grid, 0), strict=True):
        np.testing.assert_allclose(model.decision(X), method.fit(X, y, value, 0).decision(X), atol=2e-3)
    flat = next(method.fit_grid(np.zeros((4, 2)), np.array([0, 1, 1, 1]), (0.5,), 0))
    np.testing.assert_allclose(flat.decision(np.ones((2, 2))), 0.5)


@pytest.mark.parametrize("gates", ["cross", "gaussian"])
def test_convex_path_is_certified_and_agrees_with_single_fits(scaled, gates):
    X, y = scaled
    method = ConvexGated(gates, n_gates=10, shares=(0.5, 0.1, 0.02), grid_tol=1e-5)
    values = []
    for share, model in zip(method.grid, method.fit_grid(X, y, method.grid, 4), strict=True):
        alone = method.fit(X, y, share, 4)
        assert model.gap <= 1e-5
        assert alone.gap <= 1e-6
        np.testing.assert_allclose(model.decision(X), alone.decision(X), atol=0.05)
        values.append(np.abs(alone.decision(X)).max())
    assert values == sorted(values)  # less regularized
    assert not np.array_equal(method.fit(X, y, 0.1, 5).decision(X), method.fit(X, y, 0.1, 4).decision(X))


def test_the_last_step_of_a_convex_network_is_its_fit(scaled):
    (X, y), method = scaled, ConvexGated("cross", n_gates=10)
    steps, fit = list(method.steps(X, y, 0.05, 0)), method.fit(X, y, 0.05, 0)
    assert steps[-1].model.gap == pytest.approx(fit.gap)
    assert np.array_equal(steps[-1].model.decision(X), fit.decision(X))
    assert [step.step for step in steps] == sorted({step.step for step in steps})
    assert [step.seconds for step in steps] == sorted(step.seconds for step in steps)
    assert steps[0].model.gap > 1e-4 > steps[-1].model.gap


def test_ablations_change_what_is_fitted_and_its_description(scaled):
    (X, y), base = scaled, ConvexGated("cross", n_gates=10)
    changes = {"bias": True, "fit_intercept": False, "sketch_dim": 3, "loss": "logistic", "linear": True}
    for name, value in changes.items():
        other = ConvexGated("cross", n_gates=10, **{name: value})
        assert other.describe() != base.describe()
        assert not np.allclose(other.fit(X, y, 0.1, 0).decision(X), base.fit(X, y, 0.1, 0).decision(X))


def test_ctrl_c_in_a_solver_ends_the_experiment(scaled, monkeypatch):
    (X, y), method = scaled, ConvexGated("gaussian", n_gates=5)
    done = replace(method._solve(method._prepare(X, y, 0), 0.1, 1e-3, None), status=Status.INTERRUPTED)
    monkeypatch.setattr("examples.paper.methods.convex.AutoSolver.solve", lambda *_: done)
    refused("the same command goes on from there", method.fit, X, y, 0.1, 0, error=KeyboardInterrupt)


@pytest.mark.slow
def test_adamw_repeats_itself_and_leaves_random_state_and_threads(scaled):
    torch = pytest.importorskip("torch")
    (X, y), method = scaled, AdamW()
    state, before = torch.random.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(2)
    first = method.fit(X, y, 1e-2, 0)
    assert torch.equal(torch.random.get_rng_state(), state)
    threads = torch.get_num_threads()
    torch.set_num_threads(before)
    assert threads == 2
    assert np.array_equal(first.decision(X), method.fit(X, y, 1e-2, 0).decision(X))
    assert not np.array_equal(first.decision(X), method.fit(X, y, 1e-2, 1).decision(X))
    assert protocol.accuracy(first.decision(X), y) > 0.8
    steps = list(method.steps(X, y, 1e-2, 0))
    assert len(steps) == 20
    assert np.array_equal(steps[-1].model.decision(X), first.decision(X))
    assert not np.array_equal(steps[0].model.decision(X), steps[1].model.decision(X))  # each a copy of its own


def test_a_method_without_its_library_is_left_out(monkeypatch):
    said = []
    monkeypatch.setattr("examples.paper.methods.base.available", lambda name: name != "torch")
    methods = registry.make_methods(("adamw", "logistic", "logistic"), 60.0, said.append, "accuracy")
    assert [method.name for method in methods] == ["logistic"]
    assert [line.partition(">=")[0] for line in said] == ['adamw is left out, it needs torch: pip install "torch']
    with pytest.raises(ArgumentError, match="'methods' parameter of accuracy must be one of 'convex', 'convex-cross'"):
        registry.make_methods(("forest",), 60.0, said.append, "accuracy")


def test_names_and_grids_of_all_methods():
    methods = [make(60.0) for make in registry._MAKERS.values()]
    assert tuple(method.name for method in methods) == registry.NAMES
    assert all(len(method.grid) >= 4 for method in methods)
    assert len({method.describe() for method in methods}) == len(methods)
    assert all("\n" not in method.describe() for method in methods)


# ---------------------------------------------------------------------------------------------------- tables


def made_rows(path, **facts):
    return ResultRows(path, ("n", "seconds"), ("n",), {"protocol": 1, "data": {"a": "1"}, **facts})


def test_a_torn_last_line_is_dropped(tmp_path):
    path = tmp_path / "r.csv"
    rows = made_rows(path)
    for n in (1, 2):
        rows.append(n=n, seconds=0.5)
    whole = path.read_bytes()
    for cut in range(1, len(whole)):
        path.write_bytes(whole[:cut])
        again = made_rows(path)
        assert len(again.rows) == max(whole[:cut].count(b"\n") - 1, 0)
        for n in (1, 2):
            if not again.has(n=n):
                again.append(n=n, seconds=0.5)
        assert path.read_bytes() == whole


def test_facts_and_columns_must_agree_and_new_facts_are_added(tmp_path):
    path, facts = tmp_path / "r.csv", tmp_path / "r.json"
    rows = made_rows(path)
    rows.append(n=1, seconds=0.5)
    refused("no such columns: minutes", rows.append, n=1, seconds=0.5, minutes=3, error=KeyError)
    made_rows(path, data={"a": "1", "b": "2"})
    assert json.loads(facts.read_text())["data"] == {"a": "1", "b": "2"}
    refused(r"r\.json: the results there were made with data\.b = 2, now it is 3", made_rows, path, data={"b": "3"})
    refused(r"made with protocol = 1, now it is 2; .*Give another --out", made_rows, path, protocol=2)
    refused("its columns are n, seconds, not n, minutes", ResultRows, path, ("n", "minutes"), ("n",), {})
    path.write_bytes(path.read_bytes() + b"1,2,3\n")
    refused("line 3 has 3 cells for 2 columns", made_rows, path)
    facts.write_text("{")
    path.write_text("n,seconds\n1,0.5\n")
    refused(r"r\.json: this is not JSON", made_rows, path)
    facts.unlink()
    refused(r"there is no r\.json that says how it was made", made_rows, path)


# ---------------------------------------------------------------------------------------------------- experiments


def no_seconds(path):
    return [{name: cell for name, cell in row.items() if "seconds" not in name} for row in read_rows(path)]


@pytest.mark.slow
def test_accuracy_resumes_to_the_same_table(folder):
    said = []
    written = experiment_accuracy.run(settings(folder, say=said.append))
    assert [path.name.removeprefix("accuracy") for path in written] == [".csv", ".md", ".png", "_seconds.png", ".txt"]
    path = folder / "out" / "accuracy.csv"
    whole = no_seconds(path)
    assert [(row["seed"], row["n"], row["method"]) for row in whole] == [
        (seed, n, method) for seed in "01" for n in ("80", "40") for method in FAST
    ]
    assert all(row["gap"] and float(row["gap"]) <= 1e-4 for row in whole if row["method"] == "convex-gaussian")
    assert not any(row["gap"] for row in whole if row["method"] == "logistic")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:6]) + lines[6][:20])  # five rows, and a torn one
    said.clear()
    experiment_accuracy.run(settings(folder, say=said.append))
    assert said[0] == f"made: 5 of 12 measurements were found in {path}"
    assert path.read_text().splitlines(keepends=True)[:6] == lines[:6]
    assert no_seconds(path) == whole
    by_hand = ResultRows(path, experiment_accuracy.COLUMNS, experiment_accuracy.KEY, {})
    assert by_hand.has(set="made", n=80, seed=1, method="lasso")


def test_accuracy_refuses_other_settings_in_the_same_folder(folder):
    few = settings(folder, sizes=(40,), seeds=1, methods=("lasso",))
    experiment_accuracy.run(few)
    for match, changed in (
        (r"made with max_time = 60\.0, now it is 30\.0", {"max_time": 30.0}),
        ("'data' parameter of accuracy must be a folder of feature files", {"data": None}),
        ("'sizes' parameter of accuracy must be at most 80. Got 400 instead", {"sizes": (40, 400)}),
    ):
        refused(match, experiment_accuracy.run, replace(few, **changed))
    save_features(folder / "made.npz", X_ALL + 1, Y_ALL, SPLIT)
    refused(r"made with data\.made = ", experiment_accuracy.run, few)


def test_the_paper_s_sizes_end_at_the_training_half():
    assert experiment_accuracy._own_sizes(2500) == tuple(range(200, 2001, 200))
    sizes = {500: (200, 400, 500), 400: (200, 400), 80: (80,)}
    assert {n: experiment_accuracy._own_sizes(n) for n in sizes} == sizes


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["loss", "accuracy"])
def test_both_experiments_choose_by_their_criterion(folder, criterion, monkeypatch):
    criteria = []

    def recorded(method, trial, max_time, criterion="accuracy"):
        criteria.append(criterion)
        return protocol.choose(method, trial, max_time, criterion)

    for module, method in ((experiment_accuracy, "logistic"), (timing, "convex-gaussian")):
        monkeypatch.setattr(module, "choose", recorded)
        few = settings(folder, sizes=(40,), seeds=1, methods=(method,), criterion=criterion)
        module.run(few)
        refused("criterion", module.run, replace(few, criterion={"loss": "accuracy", "accuracy": "loss"}[criterion]))
    assert criteria == [criterion] * 2


@pytest.mark.slow
def test_timing_ends_where_the_protocol_does(folder, half):
    few = settings(folder, sizes=(60,), methods=("convex-gaussian",))
    written = timing.run(few)
    assert [path.name for path in written] == ["timing.csv", "timing.md", "timing.png", "timing.txt"]
    rows = read_rows(written[0])
    for seed in range(2):
        mine = [row for row in rows if row["seed"] == str(seed)]
        assert [row["last"] for row in mine] == ["0"] * (len(mine) - 1) + ["1"]
        (method,) = registry.make_methods(["convex-gaussian"], 60.0, print, "test")
        choice = protocol.choose(method, protocol.draw(half, 60, seed), 60.0, "loss")
        assert float(mine[-1]["test_accuracy"]) == pytest.approx(choice.accuracy(half.X_test, half.y_test), abs=1e-6)
        assert mine[-1]["value"] == f"{choice.value:.6g}"
    whole = no_seconds(written[0])
    lines = written[0].read_text().splitlines(keepends=True)
    written[0].write_text("".join(lines[:-2]))  # the last training has lost its end
    timing.run(few)
    assert no_seconds(written[0]) == whole
    steps = "convex, convex-cross, convex-gaussian, convex-ridge, adamw"
    refused(f"methods that go step by step: {steps}", timing.run, replace(few, methods=("logistic",)))


# ---------------------------------------------------------------------------------------------------- summary


def test_curves_share_colours_over_panels_and_with_their_like():
    pytest.importorskip("matplotlib")
    x, flat = np.array([1.0, 2.0]), np.array([0.5, 0.6])
    first, second = Series("one", x, flat, flat / 10), Series("two", x, flat + 1, flat / 10)
    later = Series("one, later", x + 3, flat, flat / 10, like="one")
    figure = curve_figure({"a": [first, later], "b": [second, first]}, "rows", "score")
    left, right = figure.axes
    assert [ax.get_title() for ax in figure.axes] == ["a", "b"]
    assert left.lines[0].get_color() == left.lines[1].get_color() == right.lines[1].get_color()
    assert left.lines[0].get_color() != right.lines[0].get_color()
    assert [line.get_linestyle() for line in left.lines] == ["-", "--"]
    shade = left.collections[0].get_paths()[0].vertices[:, 1]
    assert (shade.min(), shade.max()) == (pytest.approx(0.45), pytest.approx(0.66))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "one, later", "two"]
    refused("'panels' parameter of curve_figure must be one panel or more", curve_figure, {}, "rows", "score")


def test_lines_of_one_place_are_rows_of_points_with_their_deviations():
    pytest.importorskip("matplotlib")
    lines = [Series(name, *np.array([[500.0], [0.5 + k], [0.25]])) for k, name in enumerate("xy")]
    figure = curve_figure({"a": lines}, "rows", "score")
    (ax,) = figure.axes
    assert ax.get_title() == "a, 500 rows"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["x", "y"]
    assert [bar.get_segments()[0][:, 0].tolist() for bar in ax.collections] == [[0.25, 0.75], [1.25, 1.75]]
    assert not figure.legends


def test_report_has_means_and_paired_differences():
    scores = {"logistic": (0.50, 0.60, 0.70), "lasso": (0.51, 0.62, 0.73, 0.10)}
    same = {"set": "made", "n": "80", "seconds": "2.0", "oracle_accuracy": ""}
    rows = [
        {**same, "seed": str(seed), "method": method, "test_accuracy": str(value)}
        for method, values in scores.items()
        for seed, value in enumerate(values)
    ]
    rows.append({**rows[0], "n": "40", "test_accuracy": "0.0"})
    text = summary.accuracy_report(rows)
    assert "## made, n = 80" in text
    assert "| logistic | 3 | 60.00 ± 10.00 | 2.0 |  |" in text
    assert "| lasso | 4 | 49.00 ± 27.51 | 2.0 | +2.00 ± 0.58 |" in text  # over the three trials that both have
    (line, _) = summary.accuracy_series(rows)["made"]
    assert line.x.tolist() == [40, 80]
    assert line.mean.tolist() == [0.0, pytest.approx(0.6)]
    assert line.deviation.tolist() == [0.0, pytest.approx(0.1)]  # a single trial has no shade


def test_report_compares_what_is_recommended_at_every_size_and_all_sets_in_two_tables():
    score = {
        ("a", "40"): ((0.50, 0.54), (0.50, 0.50)),
        ("a", "80"): ((0.75, 0.85), (0.70, 0.90)),
        ("b", "40"): ((0.20, 0.40), (0.20, 0.40)),
    }
    rows = [
        {"set": name, "n": n, "seed": str(seed), "method": method, "test_accuracy": str(value), "oracle_accuracy": "",
         "seconds": "1.5" if method == "adamw" else "0.5"}
        for (name, n), pair in score.items()
        for method, values in zip(("convex-ridge", "adamw"), pair, strict=True)
        for seed, value in enumerate(values)
    ]  # fmt: skip
    text = summary.accuracy_report(rows)
    assert "| set | n | `convex-ridge` | `adamw` |\n| --- | ---: | ---: | ---: |\n" in text
    assert "| a | 80 | 80.00 ± 7.07 | 80.00 ± 14.14 |\n| b | 40 | 30.00 ± 14.14 | 30.00 ± 14.14 |\n" in text
    assert "| a | 80 | 0.5 | 1.5 |\n| b | 40 | 0.5 | 1.5 |\n" in text
    assert "## convex-ridge minus adamw\n\n| set | 40 | 80 |" in text
    assert "| a | +2.00 ± 2.00 | +0.00 ± 5.00 |\n| b | +0.00 ± 0.00 |  |\n" in text
    assert "Against adamw, of 6 trials, 2 won and 1 lost; +0.67 on average." in text
    assert "## convex-ridge minus" not in summary.accuracy_report([row for row in rows if row["n"] == "40"])
    panels = summary.seconds_series(rows)
    assert list(panels) == ["a, n = 80", "b, n = 40"]
    ridge, adamw = panels["a, n = 80"]
    assert (ridge.x.tolist(), adamw.x.tolist()) == ([0.5], [1.5])
    assert (adamw.mean[0], adamw.deviation[0]) == (pytest.approx(0.8), pytest.approx(0.02**0.5))
    pytest.importorskip("matplotlib")
    first, _ = curve_figure(panels, "seconds", "score", log=True).axes
    assert first.get_xscale() == "log"
    for bar, square in zip(first.collections, (0.005, 0.02), strict=True):
        assert bar.get_segments()[0][:, 1].tolist() == pytest.approx([0.8 - square**0.5, 0.8 + square**0.5])


def test_a_line_over_time_is_what_each_trial_has_reached():
    points = {"0": [(1.0, 0.5), (2.0, 0.7)], "1": [(1.5, 0.6), (4.0, 0.9)]}
    same = {"set": "s", "n": "9", "method": "m", "grid_seconds": "10", "step": "1", "train_accuracy": "1"}
    rows = [
        {**same, "seed": seed, "seconds": str(t), "last": str(int(v > 0.65)), "test_accuracy": str(v)}
        for seed, pairs in points.items()
        for t, v in pairs
    ]
    panels = summary.timing_series(rows)
    assert list(panels) == ["s, n = 9: test", "s, n = 9: train"]
    plain, shifted = panels["s, n = 9: test"]
    assert (plain.x[0], plain.x[-1]) == (1.5, pytest.approx(4.0))
    assert (plain.mean[0], plain.mean[-1]) == (pytest.approx(0.55), pytest.approx(0.8))
    assert plain.mean[plain.x < 2.0][-1] == pytest.approx(0.55)
    assert plain.mean[plain.x > 2.0][0] == pytest.approx(0.65)
    assert (plain.like, shifted.like) == ("", "m")
    assert (shifted.x[0], shifted.x[-1]) == (11.5, pytest.approx(14.0))
    assert "| s | 9 | `m` | 2 | 1 | 3.00 | 10.00 | 100.00 ± 0.00 | 80.00 ± 14.14 |" in summary.timing_report(rows)
