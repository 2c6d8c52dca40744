"""One sentence and exit code 2 for whatever is wrong with a command line, files or columns; nothing is written."""

import re

import numpy as np
import pytest
import typer

import clifford_rand.errors as optional
from clifford_rand_nn import GatedReLUClassifier
from clifford_rand_nn.cli import estimators, predict
from clifford_rand_nn.cli.app import app
from clifford_rand_nn.cli.export import EXPORTERS
from clifford_rand_nn.cli.options import ModelKind
from clifford_rand_nn.gates.sampling import METHODS
from clifford_rand_nn.problems.loss_registry import loss_names
from support.command_line import error_of, run

pd = pytest.importorskip("pandas")

QUICK = ("--model", "gated", "--n-gates", "6", "--tol", "1e-2", "--no-compare", "-q")
TEXTS = [("a good film", "rather dull", "y"), ("a weak one", "fine", "n")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("errors")
    X = np.random.default_rng(5).standard_normal((90, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.array(["low", "mid", "high"])[np.arange(90) % 3])
    texts = pd.DataFrame(TEXTS, columns=["text", "other", "label"]).assign(part=["train", "test"])
    words = {
        "few": "a,kind\n1,low\n",
        "one": "a,y\n1,u\n2,u\n",
        "empty": "\n\n",
        "numbers": "a,b,c,kind\n1,2,3,4\n5,6,7,8\n",
        "gap": "text,y\na word,1\n,2\n",
        "none": "text,y\n",
        "mine/tables": "mine",
    }
    arrays = {
        "two": {"X": X, "y": X[:, 0] > 0},
        "nan": {"X": [[1.0], [np.nan]], "y": ["u", "v"]},
        "wide": {"X": np.ones((2, 5))},
        "t": {name: texts[name].to_list() for name in texts},
        "number": {"text": [1.5, 2.0]},
        "object": {"text": np.array(["a", None], dtype=object)},
        "short": {"text": ["a", "b"], "y": [1, 2, 3]},
    }
    (folder / "mine").mkdir()
    for name in ("shards", "new"):
        (folder / name).mkdir()
        np.save(folder / name / "X-00000.npy", X)
        np.save(folder / name / "y-00000.npy", X[:, 0] > 0)
    frame[:60].to_csv(folder / "train.csv", index=False)
    frame[60:].to_csv(folder / "test.csv", index=False)
    frame.assign(value=frame.pop("kind")).to_csv(folder / "words.csv", index=False)
    frame.assign(value=np.abs(X[:, 0])).to_parquet(folder / "value.parquet")
    texts.to_csv(folder / "t.csv", index=False)
    pd.DataFrame({"text": [1.5, 2.0]}).to_parquet(folder / "number.parquet")
    (folder / "latin.csv").write_bytes("größe;stadt\n1,5;Köln\n2,5;Graz\n".encode("cp1252"))
    (folder / "page.html").write_text("mine")
    for name, text in words.items():
        (folder / f"{name}.csv").write_text(text)
    for name, values in arrays.items():
        np.savez(folder / f"{name}.npz", **values)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("fit train.csv --out k.npz", *QUICK)
        run("fit value.parquet --out r.npz", *QUICK)
        run("fit two.npz --out m.npz", *QUICK)
    return folder


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


MUST = "parameter of clifford-rand fit must be"
LEFT_OUT = f"{MUST} left out with"
OVERWRITTEN = "this file is there already; --force overwrites it."
ERRORS = {
    # files
    "fit no.csv --target y": "error: no.csv: No such file or directory",
    "fit t.xls --target y": "error: t.xls: unknown ending '.xls'; use one of",
    "fit empty.csv": "error: empty.csv: the file is empty.",
    "fit latin.csv": "--encoding cp1252",
    "fit nan.npz --target y": "nan.npz: column 0 of 'X' has 1 empty or infinite cells of 2; fill",
    "fit train.csv --target kind --out m.pkl": "m.pkl: the model is written as .npz; give a name that ends so.",
    "fit train.csv --target kind --out x/m.npz": "x/m.npz: there is no folder",
    "fit train.csv --report page.pdf": "the report is written as .html or .htm",
    "predict no.npz test.csv --out p.csv": "error: no.npz: No such file or directory",
    "predict two.npz test.csv --out p.csv": "two.npz: this is not a model file",
    "predict train.csv m.npz": "error: train.csv: this is not a model file, which ends in .npz; the model is given "
    "first.",
    "path m.npz": "m.npz: this is a model file; give a table",
    "predict two.npz test.csv --out p.txt": "p.txt: a table of predictions is written as .csv, .parquet or .npz; give",
    "predict two.npz test.csv --out x/p.csv": "x/p.csv: there is no folder",
    "explain k.npz test.csv --picture p.txt": "the picture is written as .png, .svg or .pdf",
    "export k.npz --out m.txt": "written as .onnx, .py or .pt2; give a name that ends so",
    "demo --out train.csv": "error: train.csv: File exists",
    "demo --out mine": "error: mine/tables.csv: this file is there already; --force overwrites",
    "fit train.csv --out m.npz": f"error: m.npz: {OVERWRITTEN}",
    "fit train.csv --report page.html": f"page.html: {OVERWRITTEN}",
    "predict m.npz test.csv --out train.csv": f"error: train.csv: {OVERWRITTEN}",
    "path value.parquet --out train.csv": f"error: train.csv: {OVERWRITTEN}",
    "embed t.csv --text text --encoder hashing:64 --out m.npz": f"error: m.npz: {OVERWRITTEN}",
    # columns
    "fit train.csv --target kin": "there is no column 'kin'; the columns are 'a', 'b', 'c', 'kind'",
    "fit train.csv --target kind --test few.csv": "few.csv: 2 of the 3 columns of the model are missing",
    "fit train.csv --target kind --test value.parquet": "there is no column 'kind'",
    "fit one.csv --target y": "must be labels of at least two classes. Got one class",
    "fit train.csv --target kind --task regression": "error: train.csv: the target 'kind' holds text, not numbers; "
    "leave out --task regression.",
    "fit train.csv --drop town": "train.csv: --drop must be names of columns of the table. Got 'town' instead.",
    "fit train.csv --target b --date kind": "--date kind=%d/%m/%Y says how",
    "fit train.csv --target b --date kind=%d/%m/%Y --date a": "'a' has no format",
    "fit train.csv --separator ;;": "error: --separator must be one ASCII character that ends no line. Got ';;' "
    "instead.",
    "fit two.npz --target y --categorical x0": "'--categorical' parameter of clifford-rand must be left out for the "
    "NPZ two.npz. Got 'x0' instead.",
    "fit train.csv --target kind --sample-weight times": "train.csv: there is no column 'times'; the columns are 'a', "
    "'b', 'c', 'kind'.",
    "fit train.csv --target kind --sample-weight A": "(is 'a' meant?).",
    "fit train.csv --target kind --sample-weight b": "the weights 'b' must be numbers ≥ 0: ",
    "fit train.csv --target kind --sample-weight kind": f"'--sample-weight' {MUST} another column than --target",
    "fit train.csv --target kind --groups kind": f"'--groups' {MUST} another column than --target and --sample-weight",
    "fit train.csv --target kind --groups whom": "'whom'",
    "fit two.npz --target y --groups whom": "'whom'",
    "fit train.csv --groups kind": "is not a target here; give --target",
    "fit train.csv --model gated --groups a": "--model gated. Got 'a'",
    "predict m.npz value.parquet": "value.parquet: there are 4 feature columns, the model needs 3",
    "predict k.npz wide.npz": "wide.npz: 'X' has 5 columns, the model wants 3.",
    "predict m.npz test.csv --id who": "test.csv: there is no column 'who' of --id",
    "predict r.npz test.csv --coverage 90": "'--coverage' parameter of clifford-rand predict must be between 0 and 1. "
    "Got 90.0",
    "export k.npz --out s.py --coverage 1.5": "--coverage",
    "evaluate r.npz words.csv --target value": "predicts numbers",
    "explain k.npz test.csv --row 30": "test.csv: there is no row 30; it has 30 rows, counted from 0.",
    "explain k.npz --row 1": "--row needs a table",
    "explain k.npz test.csv --target kind": "--target names a column of --train, which was not given.",
    "explain k.npz test.csv --row 1 --row 2 --picture p.png": "--picture draws one row, and 2 were given",
    "explain k.npz two.npz": "a column of the model is missing: 'a', 'b', 'c'",
    "explain k.npz test.csv --train train.csv --target kin": "is 'kind' meant?",
    # values of options
    "fit train.csv --target kind --beta 0": "'beta' parameter of ConvexNetworkClassifier must be",
    "fit train.csv --model gated --sketch-dim 9": "must be an integer from 1 to 3. Got 9",
    "fit value.parquet --model gated --loss logistic": f"'--loss' {MUST} 'squared', 'huber', "
    "'log_cosh' or 'poisson' for regression. Got 'logistic' instead. If the target is one for classification, give "
    "--task classification.",
    "fit train.csv --target kind --loss huber --model relu": "must be 'squared', 'logistic' or 'squared_hinge' for "
    "classification. Got 'huber' instead. If the target is",
    "fit train.csv --loss huber": f"error: The '--loss' {MUST}",
    "fit train.csv --loss squared_hinge": f"error: The '--loss' {MUST}",
    # shards
    "fit": "Give a table, or --shards",
    "fit a.csv --shards shards": "not both",
    "fit a.csv --checkpoint c": "--checkpoint: It is for a fit to --shards",
    "fit --shards none": "which is no folder",
    "fit --shards shards --target price": "names a column, as Parquet has",
    "fit --shards shards --groups id": "'--groups' parameter of clifford-rand fit --shards must be left out",
    "fit --shards shards --no-compare": "'--no-compare' parameter of clifford-rand fit --shards must be left out",
    "fit --shards shards --model lasso": "must be network or gated",
    "fit --shards shards --max-memory much": "'much' is not a size such as 1GB",
    "fit --shards shards --checkpoint no/c": "there is no folder",
    "predict m.npz --shards new": "needs --out",
    "predict m.npz new.csv --resume": "--resume: It is for --shards",
    "predict m.npz --shards new --out x --id a": "--id: It is for tables",
    "evaluate m.npz --shards new --decimal ,": "--decimal: It is for tables",
    "evaluate m.npz": "Give a table, or --shards",
    # values that the parser of options refuses
    "nonsense": "No such command",
    "fit train.csv --beta little": "'little'",
    "fit train.csv --target kind --model deep": "'deep'",
    "fit train.csv --target kind --model gated --penalty l3": "'l3'",
    "fit train.csv --target kind --model lasso --subsample 0": "--subsample: '0' is neither auto, all nor",
    "fit train.csv --target kind --model gated --n-gates 0": "'--n-gates'",
    "fit train.csv --target kind --model gated --sketch-dim many": "'many' is neither auto, exact nor",
    "fit train.csv --target kind --model gated --n-refinements -1": "'--n-refinements'",
    "fit train.csv --target kind --max-time soon": "'--max-time'",
}
EMBED = {
    "no.csv": "no.csv: No such file or directory",
    "t.doc": "t.doc: unknown ending '.doc'; use one of",
    "t.csv --text othr": "no column 'othr'; the columns are 'text', 'other', 'label', 'part' (is 'o",
    "t.npz --target y": "t.npz: there is no array 'y'; the arrays are 'text', 'other', 'label', 'part'",
    "t.csv --text text": "--text text is given twice.",
    "t.csv --pair": "--pair is for two columns of text; give --text twice, not 1 times.",
    "gap.csv": "gap.csv: column 'text' has 1 empty cells of 2; fill or drop those rows.",
    "none.csv": "none.csv: the table has columns but no rows.",
    "number.parquet": "number.parquet: column 'text' is not text: it has 1.5.",
    "number.npz": "number.npz: column 'text' is not text: it has 1.5.",
    "object.npz": "object.npz: this NPZ file holds object arrays, which are not read; save plain arrays, texts as str.",
    "short.npz --target y": "short.npz: the array 'y' must have shape (2,), not (3,).",
    "t.csv --split label": "column 'label' must say True, 1 or 'train', else False, 0 or 'test'; it h",
    "t.csv --out o.csv": "o.csv: the table of features is written as .npz; give a name that ends so.",
    "t.csv --out x/o.npz": "x/o.npz: there is no folder",
    "t.csv --encoder hashing:many": "--encoder hashing:many: give the number of features, as in hashing:",
    "t.csv --encoder ./no-model": "Got './no-model' instead. There is no such folder.",
    "t.csv --encoder openai:some": "must be set in the environment. Got an environment without it",
    "t.csv --cache no/folder": "no/folder: No such file or directory",
}
for _words, _message in EMBED.items():
    _table, *_options = _words.split()
    ERRORS[" ".join(["embed", _table, "--text text --encoder hashing:256 --out o.npz", *_options])] = _message


@pytest.mark.parametrize("command", ERRORS)
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(folder, command):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    result = run(command, code=2)
    assert ERRORS[command] in " ".join(result.stderr.replace("│", " ").split())
    if not result.stderr.startswith("Usage: "):
        assert [line.startswith("error: ") for line in result.stderr.splitlines()][-1:] == [True]
        assert result.stderr.count("error: ") == 1
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == before


MISPLACED = {
    "--subsample 9": f"The '--subsample' {LEFT_OUT} --model gated. Got '9' instead. It is for --model lasso.",
    "--model relu --subsample 9": "left out with --model relu. Got '9' instead.",
    # its default, but it was given
    "--model lasso --gates cross": f"'--gates' {LEFT_OUT} --model lasso. Got 'cross' instead. It is for --model "
    "gated and --model relu.",
    "--model lasso --n-gates 50": f"'--n-gates' {LEFT_OUT}",
    "--model lasso --sketch-dim auto": "left out with --model lasso. Got 'auto' instead.",
    "--gates exhaustive --n-gates 9": "left out with --gates exhaustive. Got 9 instead. It is for the other kinds of "
    "gates.",
    "--gates gaussian --sketch-dim 2": "left out with --gates gaussian. Got '2' instead. It is for gates through "
    "sampled rows.",
    "--huber-delta 1": "left out with --loss auto. Got 1.0 instead. It is for --loss huber and --loss log_cosh.",
    "--solver homotopy": f"'--solver' {MUST} 'auto', 'kernel', 'gram', 'fista' or 'cvxpy' "
    "with --model gated. Got 'homotopy' instead. It is for --model lasso.",
    "--solver interior_point": "It is for --model relu and --model lasso.",
    "--model relu --n-refinements 2": "left out with --model relu. Got 2 instead. It is for --model gated.",
    "--gates exhaustive --n-refinements 2": "left out with --gates exhaustive. Got 2",
    "--max-time 0": f"'--max-time' {MUST} a finite number > 0. Got 0.0",
    "--penalty l1": f"'--penalty' {MUST} 'l2' or 'ridge' with --model gated. Got 'l1' "
    "instead. It is for --model relu and --model lasso.",
    "--model lasso --penalty ridge": f"'--penalty' {MUST} 'l1' or 'l2' with --model lasso. "
    "Got 'ridge' instead. It is for --model gated.",
    "--model relu --gates infinite": "Got 'infinite' instead. --model gated has it.",
    "--gates infinite --n-gates 9": "left out with --gates infinite. Got 9",
    "--penalty ridge --n-refinements 2": f"'--n-refinements' {LEFT_OUT} --penalty ridge. Got 2 instead.",
    "--model network --n-gates 9": "It is for --model gated and --model relu.",
}
NEURONS = ("--penalty l2", "--bias none", "--tol 1e-3", "--max-iter 9", "--seed 1", "--solver auto", "--huber-delta 1")


@pytest.mark.parametrize("options", [*MISPLACED, *NEURONS])
def test_an_option_that_the_model_has_no_use_for_is_refused(options):
    if options in MISPLACED:
        assert MISPLACED[options] in error_of("fit train.csv --target kind --model gated", *options.split())
    else:
        message = error_of("fit train.csv", *options.split())
        assert message.startswith(f"error: The '{options.split()[0]}' {LEFT_OUT} --model network")
        assert message.endswith("It is for --model gated, --model relu and --model lasso.")


REGISTRIES = {
    ("fit", "gates"): (*METHODS, "exhaustive", "infinite"),
    ("fit", "solver"): {name for model in ("gated", "relu", "lasso") for name in estimators.SOLVERS[model]},
    ("fit", "penalty"): {name for names in estimators.PENALTIES.values() for name in names},
    ("fit", "loss"): {name for task in ("classification", "regression") for name in loss_names(task)},
    ("fit", "model"): {model for model, _ in estimators.ESTIMATORS},
    ("predict", "method"): predict.METHODS,
    ("predict", "file_format"): predict.FILE_FORMATS,
    ("export", "out"): [ending.removeprefix(".") for ending in EXPORTERS],
}


@pytest.mark.parametrize(("command", "option"), REGISTRIES)
def test_every_name_of_a_registry_is_a_choice(command, option):
    (parameter,) = (p for p in typer.main.get_command(app).commands[command].params if p.name == option)
    assert set(REGISTRIES[command, option]) <= set(re.findall(r"[a-z_0-9]+", parameter.help))
    assert {kind.value for kind in ModelKind} == set(REGISTRIES["fit", "model"])


def test_a_name_of_no_registry_is_refused():
    for option, value, names in (("gates", "planes", estimators.GATES), ("solver", "sgd", estimators.SOLVERS["gated"])):
        message = error_of("fit train.csv --target kind --model gated", f"--{option}", value)
        assert f"Got '{value}' instead" in message
        assert all(repr(name) in message for name in names)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(optional, "available", lambda module: module != "pandas")
    message = error_of("fit train.csv --target kind")
    assert message.startswith('error: reading a CSV table needs pandas: pip install "pandas>=')


def test_refusals_of_scikit_learn_are_one_line_and_unknown_errors_are_not_swallowed(monkeypatch):
    def failing_with(error):
        def fit(self, X, y, sample_weight=None):
            raise error

        monkeypatch.setattr(GatedReLUClassifier, "fit", fit)

    failing_with(ValueError("Input X\ncontains something odd."))
    assert error_of("fit train.csv --model gated") == "error: train.csv: Input X contains something odd."
    failing_with(ZeroDivisionError("a bug"))
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run("fit train.csv --model gated", code=1)
