"""The command export: what it writes is run, compared with the model, and used as it says."""

import re
import shutil

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, GatedReLURegressor, TableEncoder, save_model, table_model
from clifford_rand_nn.cli.export import sample_rows
from support.command_line import run
from support.exported import fitted

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a table and two models."""
    there = tmp_path_factory.mktemp("export")
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame({"age": rng.uniform(20, 80, 60), "city": rng.choice(["Oslo", "Bergen", "Tromsø"], 60)})
    frame["owner"] = rng.choice(["yes", "no"], 60)
    frame["since"] = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(rng.integers(0, 900, 60), unit="D")
    frame["buys"] = np.where(frame["age"] / 60 + (frame["city"] == "Oslo") > 1, "yes", "no")
    frame.loc[::9, ["age", "city", "since"]] = None
    frame.to_csv(there / "table.csv", index=False)
    model = table_model(frame, "buys", estimator=ConvexNetworkClassifier(max_metric_iter=0, loss="squared"))
    save_model(model, there / "model.npz")
    save_model(fitted("relu, a number"), there / "numbers.npz")
    return there


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def export(*arguments, code=0):
    return run("export", *arguments, code=code)


def difference(text):
    """Return the measured difference that the command prints."""
    return float(re.search(r"differ by at most (\S+)", text)[1])


def used(result):
    """Run the lines that the command prints to use the file, and return the last one's value."""
    *lines, last = result.stdout.rstrip().splitlines()[-4:]
    names = {}
    lines = [line for line in lines if re.match(r"import|from|\w+ = ", line)]
    exec("\n".join(lines), names)
    return eval(last, names)


def test_onnx_of_a_table(folder):
    pytest.importorskip("onnxruntime")
    result = export("model.npz", "--out", "model.onnx")
    assert "city: text (rows, 1), empty where missing, such as Bergen, Oslo, Tromsø" in result.stdout
    assert "since: float64 (rows, 1), days since 1970-01-01, NaN where missing" in result.stdout
    assert "output    probabilities: float32 (rows, 2)" in result.stdout
    assert "200 rows sampled around the training rows: all labels agree" in result.stdout
    assert difference(result.stdout) < 1e-6
    assert "}  # since: days since 1970-01-01, 20000 is 2024-10-04\n" in result.stdout
    assert np.datetime64("1970-01-01") + np.timedelta64(20000, "D") == np.datetime64("2024-10-04")
    assert used(result)[0].tolist() in (["yes"], ["no"])
    result = export("model.npz", "--out", "again.onnx", "--compare-on", "table.csv", "--dtype", "float64")
    assert "on 60 rows of table.csv: all labels agree" in result.stdout
    assert difference(result.stdout) < 1e-10


def test_a_module_of_numpy(folder, monkeypatch):
    result = export("model.npz", "--out", "shop.py", "--compare-on", "table.csv")
    assert "X['age']: numbers, NaN where missing" in result.stdout
    assert "X['since']: dates, as datetime, of NumPy or written 2024-10-04, NaT where missing" in result.stdout
    assert "predict_proba(X)" in result.stdout
    assert difference(result.stdout) < 1e-10
    monkeypatch.syspath_prepend(folder)
    assert used(result).tolist() in (["yes"], ["no"])
    result = export("numbers.npz", "--out", "numbers_alone.py")
    assert "X: an array (n, 3)" in result.stdout
    assert used(result).shape == (1,)


def test_rows_to_compare_on_are_read_as_they_are_written(folder):
    frame = pandas.read_csv("table.csv").replace({"Tromsø": "Tromsö"})
    frame.to_csv("other.csv", index=False, header=False, sep=";", decimal=",", encoding="cp1252")
    assert "--encoding cp1252" in export("model.npz", "--out", "m.py", "--compare-on", "other.csv", code=2).stderr
    rows = ("--compare-on", "other.csv", "--encoding", "cp1252")
    assert "--no-header" in export("model.npz", "--out", "m.py", *rows, code=2).stderr
    assert "'age'" in export("model.npz", "--out", "m.py", *rows, "--no-header", code=2).stderr
    assert not (folder / "m.py").exists()
    frame.to_csv("other.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    result = export("model.npz", "--out", "m.py", "--force", *rows)
    assert "on 60 rows of other.csv: all labels agree" in result.stdout
    assert "note: other.csv: decimals are written with a comma" in result.stderr


@pytest.mark.parametrize("ending", [pytest.param("onnx", marks=pytest.mark.slow), "py"])
def test_a_pipeline_of_scalers_from_a_file(folder, monkeypatch, ending):
    """Its steps are in the program; the table that it is compared on has other columns than an encoder's."""
    pytest.importorskip("skops")
    pytest.importorskip("onnxruntime")
    frame = pandas.read_csv("table.csv")[["age"]].assign(old=np.arange(60.0)).dropna()
    model = make_pipeline(StandardScaler(), GatedReLURegressor(3, beta=1e-2, random_state=0)).fit(frame, frame["age"])
    save_model(model, "scaled.npz")
    monkeypatch.syspath_prepend(folder)
    frame.to_csv("numbers.csv", index=False)
    result = export("scaled.npz", "--out", f"scaled.{ending}", "--compare-on", "numbers.csv")
    assert difference(result.stdout + result.stderr) < 1e-5
    assert np.isfinite(np.asarray(used(result)[0] if ending == "onnx" else used(result))).all()


@pytest.mark.slow
def test_a_program_of_torch(folder):
    pytest.importorskip("torch")
    result = export("model.npz", "--out", "model.pt2")
    assert "the steps before the model are not in the program" in result.stderr
    assert "the place in ['no', 'yes']" in result.stdout
    assert difference(result.stdout) < 1e-10
    assert used(result)["probabilities"].shape == (1, 2)
    assert difference(export("numbers.npz", "--out", "numbers.pt2").stdout) < 1e-10


def test_files_are_overwritten_only_if_asked(folder):
    for name in ("model.py", "model.arrays.npz"):
        (folder / name).write_text("mine")
        result = export("model.npz", "--out", "model.py", code=2)
        assert f"{name}: this file is there already; --force overwrites it." in result.stderr
        assert (folder / name).read_text() == "mine"
        (folder / name).unlink()
    before = (folder / "model.npz").read_bytes()
    export("model.npz", "--out", "model.py")
    export("model.npz", "--out", "model.py", "--force")
    assert (folder / "model.npz").read_bytes() == before


@pytest.mark.parametrize("ending", ["onnx", "py"])
def test_words_that_are_hashed_have_no_form_elsewhere(folder, ending):
    if ending == "onnx":
        pytest.importorskip("onnx")
    frame = pandas.DataFrame({"n": np.arange(30) * 7 % 31, "said": [f"word{i} good bad" for i in range(30)]})
    frame["buys"] = np.where(frame["n"] > 15, "yes", "no")
    model = ConvexNetworkClassifier(max_metric_iter=0, loss="squared", beta=0.1)
    save_model(
        table_model(frame, "buys", estimator=model, encoder=TableEncoder(other_text="hash", n_text_features=8)),
        "words.npz",
    )
    result = export("words.npz", "--out", f"words.{ending}", code=2)
    assert "said" in result.stderr
    assert result.stderr.startswith("error: ")


def test_a_column_of_a_new_kind_is_one_clear_error():
    """Rows are sampled for the kinds that are known; others need a table."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"angle": rng.standard_normal(30), "y": rng.standard_normal(30)})
    model = table_model(frame, "y")

    class AngleReader(type(model[0].readers_[0]).__mro__[1]):
        kind = "angle"

    model[0].readers_ = [AngleReader("angle")]
    with pytest.raises(
        ArgumentError, match=r"column angle: cells of the kind 'angle' cannot be sampled; .*--compare-on"
    ):
        sample_rows(model, "float32")
