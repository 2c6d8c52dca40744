"""The command line with every model: fit and predict on files, options, help, and a process of its own."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import clifford_rand
from clifford_rand_nn import CrossProductLassoClassifier, cli, load_model
from clifford_rand_nn.cli.app import COMMANDS, EXAMPLES
from clifford_rand_nn.cli.fit import _note_many_columns
from clifford_rand_nn.tables import choose_task
from support.command_line import fitted
from support.command_line import run_forced as run
from support.csv_tables import read_csv
from support.running import Run

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(5)
X = rng.standard_normal((90, 3))
KIND = np.array(["low", "mid", "high"])[(X[:, 0] > -0.4).astype(int) + (X[:, 0] > 0.4)]
QUICK = ("--model", "gated", "--n-gates", "6", "--tol", "1e-2", "--no-compare")
SHARES = ["probability_high", "probability_low", "probability_mid"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables, and a fitted model of `train.csv` with what its fit printed."""
    folder = tmp_path_factory.mktemp("cli")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=KIND)
    frame[:60].to_csv(folder / "train.csv", index=False)
    frame[60:].to_csv(folder / "test.csv", index=False)
    frame.drop(columns="kind").assign(value=np.abs(X[:, 0])).to_parquet(folder / "value.parquet")
    plane = frame[["a", "b"]][:30]  # with a target of each kind: two classes, three, and a number
    plane.assign(kind=np.where(plane.a * plane.b > 0, "yes", "no")).to_csv(folder / "kind.csv", index=False)
    plane.assign(three=np.digitize(plane.a, [-0.4, 0.4])).to_csv(folder / "three.csv", index=False)
    plane.assign(value=np.abs(plane.a) - plane.b).to_csv(folder / "value.csv", index=False)
    np.savez(folder / "two.npz", X=X, y=X[:, 0] > 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        printed = run("fit train.csv --target kind --test test.csv --out k.npz --loss squared", *QUICK).stdout
    (folder / "printed.txt").write_text(printed)
    return folder


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_fit_and_predict_classes(folder):
    out = (folder / "printed.txt").read_text()
    assert out.startswith("classification: the target is text, 3 classes\n")
    facts = dict(re.split(r" {2,}", line, maxsplit=1) for line in out.splitlines() if "  " in line)
    model, frame = load_model("k.npz"), pd.DataFrame(X[60:], columns=list("abc"))
    assert facts["rows"] == "60 used"
    assert facts["columns"] == "3 used, encoded as 3 numbers"
    counts = [f"{label} ({(KIND[:60] == label).sum()} rows)" for label in ("high", "low", "mid")]
    assert facts["classes"] == f"3: {', '.join(counts)}"
    assert facts["gates"].startswith("6 cross; ")
    assert facts["objective"].startswith(f"{model[-1].certificate_.objective:.8g}, proved to be at least ")
    assert f"optimum over {model[-1].certificate_.scope.removeprefix('over ')}" in facts["certificate"]
    assert facts["certificate"].endswith("; this says nothing about new rows")
    tested = out[out.index("scores on the test set, 30 rows of test.csv") :]
    assert f"accuracy {model.score(frame, KIND[60:]):.4f}" in " ".join(tested.split())
    assert "no measure of quality" in facts["training score"]
    assert "model written to k.npz" in out

    result = run("predict k.npz test.csv --out p.csv")
    assert result.stdout == "30 predictions written to p.csv\n"
    assert result.stderr == "note: test.csv: column 'kind' is not used by the model\n"
    rows = read_csv("p.csv")
    assert list(rows) == ["prediction", *SHARES]
    assert rows["prediction"].tolist() == model.predict(frame).tolist()
    np.testing.assert_array_equal(rows[SHARES], model.predict_proba(frame))


def test_columns_are_matched_by_name_or_taken_in_order():
    run("predict k.npz test.csv --out p.csv")
    read_csv("test.csv")[["c", "kind", "a", "b"]].to_parquet("turned.parquet")
    run("predict k.npz turned.parquet --out q.csv")
    pd.testing.assert_frame_equal(read_csv("p.csv"), read_csv("q.csv"))
    assert run("predict k.npz two.npz --out p.csv").stderr.startswith("note: two.npz has no feature_names")


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
    assert (chosen, why in reason) == (task, True)


@pytest.mark.slow
def test_options_are_used(folder):
    read_csv("train.csv").assign(kind=np.arange(60) % 2).to_csv("n.csv", index=False)
    assert run("fit n.csv --target kind --task regression", *QUICK).stdout.startswith("regression: as asked")
    run("fit train.csv --target kind --out m.npz --gates gaussian --seed 7", *QUICK)
    params = fitted("m.npz").get_params()
    assert (params["gates"], params["random_state"], params["n_gates"], params["tol"]) == ("gaussian", 7, 6, 1e-2)
    out = run("fit train.csv --target kind --out m.npz --sketch-dim 2 --bias none", *QUICK).stdout
    model = fitted("m.npz")
    assert (model.sketch_dim, model.gates_.sketch_dim, model.bias) == (2, 2, False)
    assert "sketched to 2 dimensions" in out
    pd.DataFrame(rng.standard_normal((4, 6))).assign(y=list("uvuv")).to_csv("few.csv", index=False)
    out = run("fit few.csv --target y --bias none --sketch-dim exact", *QUICK).stdout
    assert "4 rows are too few for an exact cross product in R^6" in out
    result = run("fit train.csv --model gated --quiet --max-iter 1 --out quiet.npz")
    leak, stopped = result.stderr.splitlines()
    assert result.stdout == ""
    assert leak.startswith("warning: a column alone predicts the target almost perfectly: a (accuracy 1.000).")
    assert re.match(r"warning: not converged: stopped after 1 \w+ at a relative gap of .*--max-iter", stopped)
    assert (folder / "quiet.npz").is_file()


PATTERNS = ("gates", "8 cross; 8 unique patterns", "over the 8 sampled patterns")
EVERY = ("gates", "every activation pattern: ", "global: all ")
INFINITE = ("gates", "all Gaussian ones, in the limit of infinitely many", "all gated networks of any width")
PAIRS = "all cross products of rows, both signs: {} columns"
MODELS = {
    "relu": ("--model relu --n-gates 8", *PATTERNS),
    "relu l1": ("--model relu --n-gates 8 --penalty l1", *PATTERNS),
    "relu all": ("--model relu --gates exhaustive", *EVERY),
    "gated ridge": ("--model gated --n-gates 30 --penalty ridge --bias none", "gates", "30 cross; ", "over the "),
    "gated all": ("--model gated --gates exhaustive --bias none --penalty l2", *EVERY),
    "gated infinite": ("--model gated --gates infinite --penalty ridge --bias none", *INFINITE),
    "lasso": ("--model lasso --bias free", "dictionary", PAIRS.format(990), "global: all "),
    "lasso l2": ("--model lasso --penalty l2 --bias free", "dictionary", PAIRS.format(870), "over the 870 columns"),
    "lasso drawn": (
        *("--model lasso --subsample 30 --seed 4 --bias free", "dictionary"),
        *("30 sampled cross products of rows, both signs: 60 columns", "over 60 columns"),
    ),
}
NAMES = {"relu": "ConvexReLU", "gated": "GatedReLU", "lasso": "CrossProductLasso"}
LOSSES = {
    ("kind", "squared"): [name for name in MODELS if name != "relu all"],
    ("kind", "logistic"): ["relu", "gated ridge", "gated infinite", "lasso"],
    ("kind", "squared_hinge"): ["relu l1", "gated all", "lasso l2"],
    ("three", "squared"): ["relu", "gated ridge", "lasso drawn"],
    ("value", "squared"): ["relu", "gated ridge", "gated infinite", "lasso drawn"],
    ("value", "huber"): ["relu", "gated ridge", "lasso"],
}
ENDINGS = {"logistic": "npz", "squared_hinge": "parquet"}  # of files of predictions
READERS = {"p.csv": read_csv, "p.parquet": pd.read_parquet}
FITS = [(case, *loss) for loss, cases in LOSSES.items() for case in cases]


@pytest.mark.kept("gated ridge-value-huber")
@pytest.mark.parametrize(
    ("case", "target", "loss"), [*FITS, pytest.param("relu all", "kind", "logistic", marks=pytest.mark.slow)]
)
def test_every_model_goes_from_a_table_to_a_file_to_predictions(case, target, loss):
    options, name, start, scope = MODELS[case]
    delta = ("--huber-delta", "0.3") if loss == "huber" else ()
    command = f"fit {target}.csv --target {target} --out m.npz --beta 0.02 --tol 1e-4 --json --no-compare"
    facts = json.loads(run(command, "--loss", loss, *delta, *options.split()).stdout)
    table = read_csv(f"{target}.csv")
    features, y = table[["a", "b"]].to_numpy(), table[target].to_numpy()

    model = fitted("m.npz")
    kind = "Regressor" if target == "value" else "Classifier"
    assert type(model).__name__ == NAMES[options.split()[1]] + kind
    penalty = getattr(model, "penalty_", model.penalty)
    assert facts["details"]["problem"] == f"{loss} loss, {penalty} penalty, beta 0.02"
    if case != "gated infinite":
        assert facts["details"]["neurons"] == str(model.network_.n_neurons)
    assert facts["details"][name].startswith(start)
    assert facts["proof"]["scope"].startswith(scope)
    assert facts["proof"]["relative_gap"] <= 1e-2
    assert getattr(model, "huber_delta", None) == (0.3 if delta else 1.0 if kind == "Regressor" else None)
    proof = model.certificate_.verify(features, y)  # from the file and the table alone
    assert facts["proof"]["objective"] == model.certificate_.objective
    assert proof.objective == pytest.approx(model.certificate_.objective, rel=1e-6)
    assert proof.relative_gap <= facts["proof"]["relative_gap"] * 1.01 + 1e-6

    file = f"p.{ENDINGS.get(loss, 'csv')}"
    run("predict m.npz", f"{target}.csv", "--out", file)
    back = dict(np.load(file)) if file == "p.npz" else READERS[file](file)
    assert list(back) == ["prediction", *(f"probability_{label}" for label in getattr(model, "classes_", ()))]
    np.testing.assert_array_equal(back["prediction"], model.predict(features))
    if target != "value":
        np.testing.assert_array_equal(
            np.transpose([back[name] for name in list(back)[1:]]), model.predict_proba(features)
        )


@pytest.mark.slow
def test_a_dictionary_too_large_to_wait_for_is_announced():
    pd.DataFrame(rng.standard_normal((80, 40))).assign(y=["u", "v"] * 40).to_csv("wide.csv", index=False)
    result = run("fit wide.csv --target y --model lasso --subsample all", code=2)
    first, last = result.stderr.splitlines()
    assert re.fullmatch(r"note: the dictionary has \d\.\de\+\d\d columns; --subsample draws some of them.*", first)
    assert last.startswith("error: ")
    assert "at most 1,000,000,000 columns" in last
    drawn = run("fit wide.csv --target y --model lasso --subsample 20 --tol 1e-2 --no-compare")
    assert drawn.stderr == ""
    assert "20 sampled cross products" in drawn.stdout
    _note_many_columns(CrossProductLassoClassifier(), 10**6, 500)  # a number that no float holds


def test_in_a_process_of_its_own(folder):
    def ended(arguments):
        with open(folder / "stdout.txt", "wb") as stream:
            process = Run(SimpleNamespace(args=arguments), folder, stdout=stream.fileno())
            return process.wait(), (folder / "stdout.txt").read_text(), process.said()

    code, out, said = ended(f"fit value.parquet --target value --out own.npz {' '.join(QUICK)}")
    assert code == 0
    assert re.fullmatch(r"warning: a column alone predicts the target almost perfectly: a \(R² .*\n", said)
    assert out.startswith("regression: the target has fractions\n")
    assert "R² " in out
    assert "\x1b" not in out  # plain in a pipe
    code, out, said = ended("fit train.csv --target nothing")
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert said.startswith("error: train.csv: there is no column 'nothing'")


QUESTIONS = """
import os, sys
from clifford_rand_nn.cli.app import app
for words, place in (("", ""), ("clifford-rand pre", "1"), ("clifford-rand fit --gro", "2")):
    sys.argv = ["clifford-rand"] if words else ["clifford-rand", "--version"]
    if words:
        os.environ |= {"_CLIFFORD_RAND_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
    try:
        app(prog_name="clifford-rand")
    except SystemExit:
        print([m for m in ("numpy", "sklearn", "numba", "cvxpy", "pandas", "matplotlib") if m in sys.modules])
"""


def test_version_and_completion_by_a_shell_load_nothing_heavy():
    """Bash asks for completions with two variables."""
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(clifford_rand.__file__))}
    code = [sys.executable, "-c", QUESTIONS]
    done = subprocess.run(code, env=environment, capture_output=True, text=True, check=True)
    expected = [f"clifford-rand {clifford_rand.__version__}", "[]", "predict", "[]", "--groups", "[]"]
    assert done.stdout.splitlines() == expected


def test_every_command_has_one_file_an_example_and_help():
    files = {name[:-3] for name in os.listdir(os.path.dirname(cli.__file__)) if name.endswith(".py")}
    assert {command.__name__ for command in COMMANDS} == set(EXAMPLES) <= files
    shown = {name: " ".join(run(name, "--help").stdout.split()) for name in EXAMPLES}
    for name, text in shown.items():
        assert f"Example: clifford-rand {name} " in text
    assert "unscaled features" in shown["fit"]
    assert all(word in shown["embed"] for word in ("sentence-transformers", "openai:", "hashing:", "--pair"))
    whole = run("-h").stdout
    assert whole.count("\n│ ") >= len(EXAMPLES)
    assert all(name in whole for name in EXAMPLES)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", EXAMPLES)
def test_paragraphs_of_help_fill_the_width(name, width, monkeypatch):
    """No line ends early: the first word of the next line would not have had room."""
    monkeypatch.setenv("COLUMNS", str(width))
    text = run(name, "--help").stdout.partition("╭")[0]
    paragraphs = [[line.strip() for line in part.splitlines()] for part in re.split(r"\n\s*\n", text.strip())]
    assert len(paragraphs) == 1 + len(COMMANDS[list(EXAMPLES).index(name)].__doc__.split("\n\n"))
    for lines in paragraphs:
        for line, following in pairwise(lines):
            assert width - 2 < len(line) + 1 + len(following.split()[0])


@pytest.mark.slow
def test_the_package_runs_as_the_program():
    command = [sys.executable, "-m", "clifford_rand_nn", "info", "--help"]
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(clifford_rand.__file__))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, encoding="utf-8")
    assert "Usage: python -m clifford_rand_nn info [OPTIONS]" in " ".join(done.stdout.split())
