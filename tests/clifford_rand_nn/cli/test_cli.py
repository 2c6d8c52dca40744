"""The command line: fit and predict on files, and one line with exit code 2 for whatever is wrong with them."""

import csv
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import clifford_rand
import clifford_rand._optional as optional
from clifford_rand_nn import GatedReLUClassifier, cli, load_model
from clifford_rand_nn.cli import estimators, predict
from clifford_rand_nn.cli.app import app
from clifford_rand_nn.cli.commands import COMMANDS, EXAMPLES
from clifford_rand_nn.cli.exported import EXPORTERS
from clifford_rand_nn.cli.options import ModelKind
from clifford_rand_nn.datafits.registry import loss_names
from clifford_rand_nn.gates.sampling import METHODS
from clifford_rand_nn.tables import choose_task
from support.command_line import error_of, fitted
from support.command_line import run_forced as run
from support.csv_tables import read_csv

pd = pytest.importorskip("pandas")

runner = CliRunner()
rng = np.random.default_rng(5)
X = rng.standard_normal((90, 3))
KIND = np.array(["low", "mid", "high"])[(X[:, 0] > -0.4).astype(int) + (X[:, 0] > 0.4)]
QUICK = ("--model", "gated", "--n-gates", "6", "--tol", "1e-2", "--no-compare")
SQUARED = (*QUICK, "--loss", "squared")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=KIND)
    frame[:60].to_csv("train.csv", index=False)
    frame[60:].to_csv("test.csv", index=False)
    frame.drop(columns="kind").assign(value=np.abs(X[:, 0])).to_parquet("value.parquet")
    np.savez("two.npz", X=X, y=X[:, 0] > 0)
    return tmp_path


def read(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def test_version_and_help():
    assert run("--version").stdout == f"clifford-rand {clifford_rand.__version__}\n"
    assert all(name in run("--help").stdout for name in ("demo", "fit", "predict"))
    assert "unscaled features" in " ".join(run("fit -h").stdout.split())


def test_fit_and_predict_classes(folder):
    out = run("fit train.csv --target kind --test test.csv --out m.npz", *SQUARED).stdout
    assert out.startswith("classification: the target is text, 3 classes\n")
    facts = dict(re.split(r" {2,}", line, maxsplit=1) for line in out.splitlines() if "  " in line)
    model, frame = load_model("m.npz"), pd.DataFrame(X[60:], columns=list("abc"))
    assert facts["rows"] == "60 used"
    assert facts["columns"] == "3 used, encoded as 3 numbers"
    counts = [f"{label} ({(KIND[:60] == label).sum()} rows)" for label in ("high", "low", "mid")]
    assert facts["classes"] == f"3: {', '.join(counts)}"
    assert facts["gates"].startswith("6 cross; ")
    assert facts["objective"].startswith(f"{model[-1].certificate_.primal:.8g}, proved to be at least ")
    assert f"optimum over {model[-1].certificate_.scope.removeprefix('over ')}" in facts["certificate"]
    assert facts["certificate"].endswith("; this says nothing about new rows")
    tested = out[out.index("scores on the test set") :]
    assert f"accuracy {model.score(frame, KIND[60:]):.4f}" in " ".join(tested.split())
    assert "scores on the test set, 30 rows of test.csv" in out
    assert "no measure of quality" in facts["training score"]
    assert "model written to m.npz" in out

    result = run("predict m.npz test.csv --out p.csv")
    assert result.stdout == "30 predictions written to p.csv\n"
    assert result.stderr == "note: test.csv: column 'kind' is not used by the model\n"
    rows = read("p.csv")
    assert list(rows[0]) == ["prediction", "probability_high", "probability_low", "probability_mid"]
    assert [row["prediction"] for row in rows] == model.predict(frame).tolist()
    assert [float(row["probability_low"]) for row in rows] == model.predict_proba(frame)[:, 1].tolist()


def test_columns_are_matched_by_name(folder):
    run("fit train.csv --target kind --out m.npz --quiet", *QUICK)
    read_csv("test.csv")[["c", "kind", "a", "b"]].to_parquet("turned.parquet")
    run("predict m.npz test.csv --out p.csv")
    run("predict m.npz turned.parquet --out q.csv")
    assert read("p.csv") == read("q.csv")


def test_probabilities_of_logistic_loss(folder):
    run("fit two.npz --target y --loss logistic --no-bias --out m.npz", *QUICK)
    run("predict m.npz two.npz --out p.npz")
    with np.load("p.npz", allow_pickle=False) as back:
        assert back.files == ["prediction", "probability_False", "probability_True"]
        np.testing.assert_allclose(back["probability_False"] + back["probability_True"], 1)
        np.testing.assert_array_equal(back["prediction"], back["probability_True"] > 0.5)
        assert (back["prediction"] == (X[:, 0] > 0)).mean() > 0.9


def test_score_of_two_classes_and_npz_without_names(folder):
    run("fit two.npz --target y --out m.npz", *SQUARED)
    run("predict m.npz two.npz --out p.parquet")
    frame = pd.read_parquet("p.parquet")
    assert list(frame) == ["prediction", "probability_False", "probability_True"]
    np.testing.assert_allclose(frame["probability_False"] + frame["probability_True"], 1)
    message = error_of("predict m.npz value.parquet --out p.csv")
    assert "value.parquet: there are 4 feature columns, the model needs 3" in message


def test_named_model_takes_an_npz_without_names_in_order(folder):
    run("fit train.csv --target kind --out m.npz", *QUICK)
    result = run("predict m.npz two.npz --out p.csv")
    assert result.stderr.startswith("note: two.npz has no feature_names")
    np.savez("wide.npz", X=np.ones((2, 5)))
    assert "wide.npz: 'X' has 5 columns, the model wants 3." in error_of("predict m.npz wide.npz --out p.csv")


def test_regression(folder):
    result = run("fit value.parquet --target value --out m.npz", *QUICK)
    assert result.stdout.startswith("regression: the target has fractions\n")
    assert "R² " in result.stdout
    run("predict m.npz value.parquet --out p.csv")
    rows = read("p.csv")
    assert list(rows[0]) == ["prediction"]
    truth = np.abs(X[:, 0])
    assert np.mean(([float(row["prediction"]) for row in rows] - truth) ** 2) < np.var(truth)


@pytest.mark.parametrize(
    ("target", "task", "why"),
    [
        (np.array(["a", "b"] * 4), "classification", "text, 2 classes"),
        (np.array([True, False]), "classification", "boolean"),
        (np.arange(60) % 3, "classification", "3 distinct whole numbers in 60 rows; else give --task regression"),
        (np.arange(60) % 3 * 1.0, "classification", "3 distinct whole numbers in 60 rows"),
        (np.arange(60) % 21, "regression", "21 distinct whole numbers in 60 rows; else give --task classification"),
        (np.arange(8), "regression", "8 distinct whole numbers in 8 rows"),
        (np.array([0.5, 1.0]), "regression", "fractions"),
    ],
)
def test_task_is_chosen_from_the_target(target, task, why):
    chosen, reason = choose_task(target)
    assert chosen == task
    assert why in reason


def test_task_can_be_forced(folder):
    read_csv("train.csv").assign(kind=np.arange(60) % 2).to_csv("n.csv", index=False)
    assert run("fit n.csv --target kind --task regression", *QUICK).stdout.startswith("regression: as asked")
    message = error_of("fit train.csv --target kind --task regression", *QUICK)
    assert message == "error: train.csv: the target 'kind' holds text, not numbers; leave out --task regression."


def test_gates_notes_and_seed_are_used(folder):
    run("fit train.csv --target kind --out m.npz --gates gaussian --seed 7", *QUICK)
    params = fitted("m.npz").get_params()
    assert (params["gates"], params["random_state"], params["n_gates"], params["tol"]) == ("gaussian", 7, 6, 1e-2)
    run("fit train.csv --target kind --out m.npz --sketch-dim 2 --no-bias", *QUICK)
    model = fitted("m.npz")
    assert (model.sketch_dim, model.gates_.sketch_dim, model.bias) == (2, 2, False)
    out = run("fit train.csv --target kind --sketch-dim 2", *QUICK).stdout
    assert "sketched to 2 dimensions" in out
    pd.DataFrame(rng.standard_normal((4, 6))).assign(y=list("uvuv")).to_csv("few.csv", index=False)
    out = run("fit few.csv --target y --no-bias --sketch-dim exact", *QUICK).stdout
    assert "4 rows are too few for an exact cross product in R^6" in out


def test_quiet_prints_warnings_only(folder):
    result = run("fit train.csv --model gated --quiet --max-iter 1 --out m.npz")
    assert result.stdout == ""
    told, stopped = result.stderr.splitlines()
    assert told.startswith("warning: a column alone predicts the target almost perfectly: a (accuracy 1.000).")
    assert re.match(r"warning: not converged: stopped after 1 \w+ at a relative gap of .*--max-iter", stopped)
    assert (folder / "m.npz").is_file()


ERRORS = {
    "no file": ("fit no.csv --target y", "error: no.csv: there is no such file."),
    "ending": ("fit t.xls --target y", "error: t.xls: unknown ending '.xls'; use one of"),
    "target": ("fit train.csv --target kin", "there is no column 'kin'; the columns are 'a', 'b', 'c', 'kind'"),
    "test columns": (
        "fit train.csv --target kind --test few.csv",
        "few.csv: 2 of the 3 columns of the model are missing",
    ),
    "test target": ("fit train.csv --target kind --test value.parquet", "there is no column 'kind'"),
    "out ending": (
        "fit train.csv --target kind --out m.pkl",
        "m.pkl: the model is written as .npz; give a name that ends so.",
    ),
    "out folder": ("fit train.csv --target kind --out x/m.npz", "x/m.npz: there is no folder"),
    "beta": ("fit train.csv --target kind --beta 0", "'beta' parameter of ConvexNetworkClassifier must be"),
    "sketch": ("fit train.csv --model gated --sketch-dim 9", "must be an integer from 1 to 3. Got 9"),
    "loss": (
        "fit value.parquet --model gated --loss logistic",
        "'--loss' parameter of clifford-rand fit must be 'squared', 'huber' or 'log_cosh' for regression. "
        "Got 'logistic' instead. "
        "If the target is one for classification, give --task classification.",
    ),
    "huber": (
        "fit train.csv --target kind --loss huber --model relu",
        "must be 'squared', 'logistic' or 'squared_hinge' for classification. Got 'huber' instead. If the target is",
    ),
    "one class": ("fit one.csv --target y", "must be labels of at least two classes. Got one class"),
    "NaN": ("fit nan.npz --target y", "nan.npz: column 0 of 'X' has 1 empty or infinite cells of 2; fill"),
    "id": ("predict m.npz test.csv --id who", "test.csv: there is no column 'who' of --id"),
    "kinds of an NPZ": (
        "fit two.npz --target y --categorical x0",
        "'--categorical' parameter of clifford-rand must be left out for the NPZ two.npz. Got 'x0' instead.",
    ),
    "no model": ("predict no.npz test.csv --out p.csv", "error: no.npz: No such file or directory"),
    "not a model": ("predict two.npz test.csv --out p.csv", "two.npz: this is not a model file"),
    "out": (
        "predict two.npz test.csv --out p.txt",
        "p.txt: a table of predictions is written as .csv, .parquet or .npz; give",
    ),
    "no folder": ("predict two.npz test.csv --out x/p.csv", "x/p.csv: there is no folder"),
    "demo": ("demo --out train.csv", "error: train.csv: File exists"),
    "demo over a file": ("demo --out mine", "error: mine/digits.csv: this file is there already; --force overwrites"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_known_errors_are_one_line_and_exit_code_2(folder, case):
    (folder / "few.csv").write_text("a,kind\n1,low\n")
    (folder / "one.csv").write_text("a,y\n1,u\n2,u\n")
    (folder / "mine").mkdir()
    (folder / "mine" / "digits.csv").write_text("mine")
    np.savez("nan.npz", X=[[1.0], [np.nan]], y=["u", "v"])
    if "m.npz" in ERRORS[case][0]:
        run("fit two.npz --out m.npz -q", *QUICK)
    arguments, message = ERRORS[case]
    assert message in error_of(arguments)
    assert not (folder / "p.csv").exists()
    assert (folder / "mine" / "digits.csv").read_text() == "mine"


MODELS = {
    "relu": "--model relu --n-gates 8",
    "relu l1": "--model relu --n-gates 8 --penalty l1",
    "relu all": "--model relu --gates exhaustive",
    "gated ridge": "--model gated --n-gates 30 --penalty ridge --no-bias",
    "gated all": "--model gated --gates exhaustive --no-bias --penalty l2",
    "gated infinite": "--model gated --gates infinite --penalty ridge --no-bias",
    "lasso": "--model lasso --bias free",
    "lasso l2": "--model lasso --penalty l2 --bias free",
    "lasso drawn": "--model lasso --subsample 30 --seed 4 --bias free",
}
FACTS = {
    "relu": ("gates", "8 cross; 8 unique patterns", "over the 8 sampled patterns"),
    "relu l1": ("gates", "8 cross; 8 unique patterns", "over the 8 sampled patterns"),
    "relu all": ("gates", "every activation pattern: ", "global: all "),
    "gated ridge": ("gates", "30 cross; ", "over the "),
    "gated all": ("gates", "every activation pattern: ", "global: all "),
    "gated infinite": (
        "gates",
        "all Gaussian ones, in the limit of infinitely many",
        "all gated networks of any width",
    ),
    "lasso": ("dictionary", "all cross products of rows, both signs: 990 columns", "global: all "),
    "lasso l2": ("dictionary", "all cross products of rows, both signs: 870 columns", "over the 870 columns"),
    "lasso drawn": ("dictionary", "30 sampled cross products of rows, both signs: 60 columns", "over 60 columns"),
}
NAMES = {"relu": "ConvexReLU", "gated": "GatedReLU", "lasso": "CrossProductLasso"}


@pytest.fixture
def plane(tmp_path, monkeypatch):
    """Thirty rows in the plane, with a target of each kind: two classes, and a number."""
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame(X[:30, :2], columns=["a", "b"])
    rows.assign(kind=np.where(rows.a * rows.b > 0, "yes", "no")).to_csv("kind.csv", index=False)
    rows.assign(value=np.abs(rows.a) - rows.b).to_csv("value.csv", index=False)
    return tmp_path


# every pattern of thirty rows is in the slow tests
@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=[pytest.mark.slow] * (name == "relu all")) for name in MODELS]
)
@pytest.mark.parametrize(
    ("target", "loss"),
    [("kind", "squared"), ("kind", "logistic"), ("kind", "squared_hinge"), ("value", "squared"), ("value", "huber")],
)
def test_every_model_goes_from_a_table_to_a_file_to_predictions(plane, case, target, loss):
    delta = ("--huber-delta", "0.3") if loss == "huber" else ()
    said = run(
        *("fit", f"{target}.csv", "--target", target, "--out", "m.npz", "--beta", "0.02", "--tol", "1e-4"),
        *("--json", "--no-compare"),
        *("--loss", loss, *delta, *MODELS[case].split()),
    )
    facts = json.loads(said.stdout)
    table = read_csv(f"{target}.csv")
    features, y = table[["a", "b"]], table[target].to_numpy()

    model = fitted("m.npz")
    kind = "Classifier" if target == "kind" else "Regressor"
    assert type(model).__name__ == NAMES[MODELS[case].split()[1]] + kind
    penalty = getattr(model, "penalty_", model.penalty)
    assert facts["details"]["problem"] == f"{loss} loss, {penalty} penalty, beta 0.02"
    if case != "gated infinite":
        assert facts["details"]["neurons"] == str(model.network_.n_neurons)
    name, start, scope = FACTS[case]
    assert facts["details"][name].startswith(start)
    assert facts["proof"]["scope"].startswith(scope)
    assert facts["proof"]["relative_gap"] <= 1e-2
    assert getattr(model, "huber_delta", None) == (0.3 if delta else 1.0 if kind == "Regressor" else None)
    proof = model.certificate_.verify(features.to_numpy(), y)  # from the file and the table alone
    assert facts["proof"]["objective"] == model.certificate_.primal
    assert proof.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    assert proof.relative_gap <= facts["proof"]["relative_gap"] * 1.01 + 1e-6

    run("predict m.npz", f"{target}.csv", "--out", "p.csv")
    back = read_csv("p.csv")
    assert back["prediction"].tolist() == model.predict(features.to_numpy()).tolist()
    assert list(back) == ["prediction", *(["probability_no", "probability_yes"] if target == "kind" else [])]


def test_several_classes_with_relu_neurons(folder):
    for model in (("relu", "--n-gates", "6"), ("lasso", "--subsample", "20")):
        run("fit train.csv --target kind --out m.npz --tol 1e-2 --no-compare --model", *model)
        run("predict m.npz test.csv --out p.csv")
        rows = read("p.csv")
        assert list(rows[0]) == ["prediction", *(f"probability_{kind}" for kind in ("high", "low", "mid"))]
        assert np.mean([row["prediction"] for row in rows] == KIND[60:]) > 0.6


def test_a_dictionary_too_large_to_wait_for_is_announced(folder):
    from clifford_rand_nn import CrossProductLassoClassifier as Lasso
    from clifford_rand_nn.cli.fit import _note_many_columns

    pd.DataFrame(rng.standard_normal((80, 40))).assign(y=["u", "v"] * 40).to_csv("wide.csv", index=False)
    result = run("fit wide.csv --target y --model lasso --subsample all", code=2)
    first, last = result.stderr.splitlines()
    assert re.fullmatch(r"note: the dictionary has \d\.\de\+\d\d columns; --subsample draws some of them.*", first)
    assert last.startswith("error: ")
    assert "at most 1,000,000,000 columns" in last
    drawn = run("fit wide.csv --target y --model lasso --subsample 20 --tol 1e-2 --no-compare")
    assert drawn.stderr == ""
    assert "20 sampled cross products" in drawn.stdout
    _note_many_columns(Lasso(), 10**6, 500)  # a number that no float holds


MISPLACED = {
    "subsample": (
        "--subsample 9",
        "The '--subsample' parameter of clifford-rand fit must be left out with --model gated. Got '9' instead. "
        "It is for --model lasso.",
    ),
    "subsample of relu": ("--model relu --subsample 9", "left out with --model relu. Got '9' instead."),
    "gates": (
        "--model lasso --gates cross",  # its default, but it was given
        "'--gates' parameter of clifford-rand fit must be left out with --model lasso. Got 'cross' instead. "
        "It is for --model gated and --model relu.",
    ),
    "n-gates": ("--model lasso --n-gates 50", "'--n-gates' parameter of clifford-rand fit must be left out"),
    "sketch": ("--model lasso --sketch-dim auto", "left out with --model lasso. Got 'auto' instead."),
    "how many of all": (
        "--gates exhaustive --n-gates 9",
        "must be left out with --gates exhaustive. Got 9 instead. It is for the other kinds of gates.",
    ),
    "sketch of what": (
        "--gates gaussian --sketch-dim 2",
        "left out with --gates gaussian. Got '2' instead. It is for gates through sampled rows.",
    ),
    "delta": (
        "--huber-delta 1",
        "left out with --loss auto. Got 1.0 instead. It is for --loss huber and --loss log_cosh.",
    ),
    "solver": (
        "--solver homotopy",
        "'--solver' parameter of clifford-rand fit must be 'auto', 'kernel', 'gram', 'fista' or 'cvxpy' with "
        "--model gated. Got 'homotopy' instead. It is for --model lasso.",
    ),
    "solver of two models": ("--solver interior_point", "It is for --model relu and --model lasso."),
    "refine": ("--model relu --refine 2", "left out with --model relu. Got 2 instead. It is for --model gated."),
    "refine what is complete": ("--gates exhaustive --refine 2", "left out with --gates exhaustive. Got 2"),
    "time": ("--max-time 0", "'--max-time' parameter of clifford-rand fit must be a finite number > 0. Got 0.0"),
    "weights": ("--weights kind", "'--weights' parameter of clifford-rand fit must be another column than --target"),
    "penalty": (
        "--penalty l1",
        "'--penalty' parameter of clifford-rand fit must be 'l2' or 'ridge' with --model gated. Got 'l1' instead. "
        "It is for --model relu and --model lasso.",
    ),
    "ridge": (
        "--model lasso --penalty ridge",
        "'--penalty' parameter of clifford-rand fit must be 'l1' or 'l2' with --model lasso. Got 'ridge' instead. "
        "It is for --model gated.",
    ),
    "infinite of relu": ("--model relu --gates infinite", "Got 'infinite' instead. --model gated has it."),
    "how many of infinitely many": ("--gates infinite --n-gates 9", "left out with --gates infinite. Got 9"),
    "ridge refined": (
        "--penalty ridge --refine 2",
        "'--refine' parameter of clifford-rand fit must be left out with --penalty ridge. Got 2 instead.",
    ),
}


@pytest.mark.parametrize("case", MISPLACED)
def test_an_option_that_the_model_has_no_use_for_is_refused(folder, case):
    arguments, message = MISPLACED[case]
    assert message in error_of("fit train.csv --target kind --model gated", *arguments.split())


REGISTRIES = {
    ("fit", "gates"): (*METHODS, "exhaustive", "infinite"),
    ("fit", "solver"): {name for model in ("gated", "relu", "lasso") for name in estimators.SOLVERS[model]},
    ("fit", "penalty"): {name for names in estimators.PENALTIES.values() for name in names},
    ("fit", "loss"): {name for task in ("classification", "regression") for name in loss_names(task)},
    ("fit", "model"): {model for model, _ in estimators.ESTIMATORS},
    ("predict", "method"): predict.METHODS,
    ("predict", "kind"): predict.FILE_KINDS,
    ("export", "to"): [ending.removeprefix(".") for ending in EXPORTERS],
}


@pytest.mark.parametrize(("command", "option"), REGISTRIES)
def test_every_name_of_a_registry_is_a_choice(command, option):
    """The help names all of them; a name that is in no registry is refused."""
    (parameter,) = (p for p in typer.main.get_command(app).commands[command].params if p.name == option)
    assert set(REGISTRIES[command, option]) <= set(re.findall(r"[a-z_0-9]+", parameter.help))
    assert {kind.value for kind in ModelKind} == set(REGISTRIES["fit", "model"])


def test_a_name_of_no_registry_is_refused(folder):
    for option, value, names in (("gates", "planes", estimators.GATES), ("solver", "sgd", estimators.SOLVERS["gated"])):
        message = error_of("fit train.csv --target kind --model gated", f"--{option}", value)
        assert f"Got '{value}' instead" in message
        assert all(repr(name) in message for name in names)


def test_options_are_checked(folder):
    for arguments in (
        ("fit",),
        ("fit", "train.csv", "--beta", "little"),
        ("fit", "train.csv", "--target", "kind", "--gates", "planes"),
        ("fit", "train.csv", "--target", "kind", "--model", "deep"),
        ("fit", "train.csv", "--target", "kind", "--penalty", "l3"),
        ("fit", "train.csv", "--target", "kind", "--model", "lasso", "--subsample", "0"),
        ("fit", "train.csv", "--target", "kind", "--n-gates", "0"),
        ("fit", "train.csv", "--target", "kind", "--sketch-dim", "many"),
        ("fit", "train.csv", "--target", "kind", "--solver", "sgd"),
        ("fit", "train.csv", "--target", "kind", "--refine", "-1"),
        ("fit", "train.csv", "--target", "kind", "--max-time", "soon"),
        ("nonsense",),
    ):
        run(*arguments, code=2)


def test_a_missing_library_is_named(folder, monkeypatch):
    monkeypatch.setattr(optional, "available", lambda module: module != "pandas")
    message = error_of("fit train.csv --target kind")
    assert message == 'error: reading a CSV table needs pandas: pip install "clifford-rand[app]"'


def test_refusals_of_scikit_learn_are_one_line_and_unknown_errors_are_not_swallowed(folder, monkeypatch):
    def refuse(self, X, y, sample_weight=None):
        raise ValueError("Input X\ncontains something odd.")

    monkeypatch.setattr(GatedReLUClassifier, "fit", refuse)
    message = error_of("fit train.csv --model gated")
    assert message == "error: train.csv: Input X contains something odd."

    def fail(self, X, y, sample_weight=None):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(GatedReLUClassifier, "fit", fail)
    result = runner.invoke(app, ["fit", "train.csv", "--model", "gated"])
    assert isinstance(result.exception, ZeroDivisionError)


def _process(*arguments, cwd):
    command = [sys.executable, "-c", "from clifford_rand_nn.cli.entry import main; main()", *arguments]
    root = os.path.dirname(os.path.dirname(clifford_rand.__file__))
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_in_a_process_of_its_own(folder):
    done = _process("fit", "value.parquet", "--target", "value", "--out", "m.npz", *QUICK, cwd=folder)
    assert done.returncode == 0
    assert re.fullmatch(r"warning: a column alone predicts the target almost perfectly: a \(R² .*\n", done.stderr)
    assert "\x1b" not in done.stdout  # plain in a pipe
    wrong = _process("fit", "train.csv", "--target", "nothing", cwd=folder)
    assert wrong.returncode == 2
    assert wrong.stdout == ""
    assert wrong.stderr.startswith("error: train.csv: there is no column 'nothing'")
    assert wrong.stderr.count("\n") == 1


def test_help_loads_nothing_heavy(folder):
    code = (
        "import sys; sys.argv = ['clifford-rand', '--version']\n"
        "from clifford_rand_nn.cli.app import app\n"
        "app(standalone_mode=False)\n"
        "print([m for m in ('numpy', 'sklearn', 'numba', 'cvxpy', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    root = os.path.dirname(os.path.dirname(clifford_rand.__file__))
    environment = os.environ | {"PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["[]"]


def test_every_command_has_one_file_an_example_and_help():
    files = {name[:-3] for name in os.listdir(os.path.dirname(cli.__file__)) if name.endswith(".py")}
    assert {command.__name__ for command in COMMANDS} == set(EXAMPLES) <= files
    for name in EXAMPLES:
        words = " ".join(run(name, "--help").stdout.split())
        assert f"Example: clifford-rand {name} " in words
    assert run("--help").stdout.count("\n│ ") >= len(EXAMPLES)


def test_a_shell_completes_commands_and_options(folder):
    """Bash asks with two variables; only the module of the command is loaded, and nothing heavy."""
    code = (
        "import sys; sys.argv = ['clifford-rand']\n"
        "from clifford_rand_nn.cli.app import app\n"
        "try:\n    app(prog_name='clifford-rand')\n"
        "finally:\n    print([m for m in ('numpy', 'sklearn', 'pandas') if m in sys.modules])"
    )
    root = os.path.dirname(os.path.dirname(clifford_rand.__file__))
    for words, cword, expected in (("clifford-rand pre", "1", "predict"), ("clifford-rand fit --gro", "2", "--groups")):
        asked = {"_CLIFFORD_RAND_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": cword}
        environment = os.environ | {"PYTHONPATH": root} | asked
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split("\n")[:2] == [expected, "[]"]
