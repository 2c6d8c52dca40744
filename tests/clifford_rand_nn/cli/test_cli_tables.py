"""The command line on tables as people have them: evaluate, info, path, predict to stdout, --json and --force."""

import contextlib
import dataclasses
import io
import json
import sys

import numpy as np
import pytest
from rich.console import Console

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import load_model
from clifford_rand_nn.cli import console
from clifford_rand_nn.cli.console import one_line
from clifford_rand_nn.cli.fit import _FOR_TABLES
from clifford_rand_nn.cli.fit_options import ColumnKinds
from clifford_rand_nn.cli.tables import Reading, _refuse_kinds
from clifford_rand_nn.solvers.stopping import Watch
from clifford_rand_nn.tables import TableEncoder
from support.command_line import run

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(5)
CITY = np.array(["Oslo", "Bergen", "Rome"])[np.arange(90) % 3]
TABLE = pd.DataFrame({"size": rng.standard_normal(90), "city": CITY, "key": [f"k{i:03d}" for i in range(90)]})
TABLE["buys"] = np.where(TABLE["size"] + (CITY == "Rome") + 0.5 * rng.standard_normal(90) > 0.5, "yes", "no")
TABLE["paid"] = np.abs(TABLE["size"]) + (CITY == "Oslo") + 0.2 * rng.standard_normal(90)
TABLE.loc[::11, "size"] = np.nan


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    TABLE[:60].drop(columns="paid").to_csv(folder / "train.csv", index=False, sep=";", decimal=",")
    TABLE[60:].drop(columns="paid").to_parquet(folder / "test.parquet")
    TABLE.drop(columns=["buys", "key"]).to_csv(folder / "paid.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "printed.txt").write_text(run("fit train.csv --test test.parquet --out m.npz").stdout)
        run("fit paid.csv --out r.npz -q")
    return folder


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_a_fit_says_what_columns_are_and_is_honest(folder):
    out = (folder / "printed.txt").read_text()
    words = " ".join(out.split())
    assert "columns 3 used" not in words  # the key is different in every row
    assert "numeric 1 size" in words
    assert "categorical 1 city" in words
    assert "dropped 1 key: " in words
    assert "30 rows of test.parquet, some of them equal to training rows" in words  # in city, without a size
    assert "this says nothing about new rows" in words
    assert out.index("out-of-sample scores") < out.index("no measure of quality")
    assert "these rows also selected the parameters below, so scores on new rows may be a little lower" in words


@pytest.mark.slow
def test_test_rows_that_were_trained_on_are_not_called_new(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    done = run("fit train.csv --test train.csv --report", tmp_path / "seen.html")
    assert "60 rows of train.csv, some of them equal to training rows" in done.stdout
    assert "but for test rows that are equal to training rows" in (tmp_path / "seen.html").read_text()


def test_options_are_not_folded(monkeypatch):
    monkeypatch.setattr(console, "_console", lambda: Console(width=40, force_terminal=True, file=sys.stdout))
    out = io.StringIO()
    row = ("dropped", "a long-winded text in so many rows: --text why")
    with contextlib.redirect_stdout(out):
        console.show_table("t", ("kind", "why"), [row], ("why",))
    assert "--text" in out.getvalue()
    assert "-winded" not in out.getvalue()


def test_kinds_can_be_overruled():
    facts = json.loads(run("fit train.csv --json --no-compare --drop city").stdout)
    assert {one["name"]: one["kind"] for one in facts["columns"]}["city"] == "dropped"


def test_evaluate_refuses_a_target_without_any_class_of_the_model():
    TABLE.drop(columns="buys").to_csv("other.csv", index=False)
    message = run("evaluate m.npz other.csv", code=2).stderr
    assert "the target 'paid' has no class of the model, which has no, yes; it has " in message
    assert "… (90 in all). Give the column by --target." in message
    assert message.count(", ") < 12
    some = TABLE.drop(columns="paid")
    some.assign(buys=np.where(np.arange(90) < 40, some["buys"], some["key"])).to_csv("some.csv", index=False)
    said = run("evaluate m.npz some.csv").stdout
    assert "does not have count as wrong" in said


@pytest.mark.slow
def test_dates_and_texts_as_asked():
    day = pd.Timestamp("2021-02-03") + pd.to_timedelta(np.arange(90) % 9, unit="D")
    told = np.where(TABLE["size"] > 0, "large and dear", "small and cheap")
    TABLE[["size", "buys"]].assign(when=day.strftime("%d/%m/%Y"), note=told).to_csv("day.csv", index=False)
    options = ("--target", "buys", "--json", "--no-compare")
    facts = json.loads(run("fit day.csv", *options, "--date", "when=%d/%m/%Y", "--text", "note").stdout)
    assert {one["name"]: one["kind"] for one in facts["columns"]} == {"size": "numeric", "when": "date", "note": "text"}


def test_rows_without_a_target_are_left_out_and_said():
    TABLE[["size", "city", "buys"]].assign(buys=TABLE["buys"].where(TABLE.index != 3)).to_csv("gap.csv", index=False)
    facts = json.loads(run("fit gap.csv --target buys --json --no-compare").stdout)
    assert (facts["n_rows_read"], facts["n_rows"]) == (90, 89)
    assert facts["rows_left_out"] == [[1, "the target is empty"]]


def test_bad_cells_and_marks_of_missing_cells():
    frame = TABLE[["city", "paid", "buys"]].astype({"paid": str})
    frame.loc[[3, 4], "paid"], frame.loc[5, "buys"] = "-999", "-999"
    frame.loc[7, "paid"] = "#DIV/0!"
    frame.to_csv("bad.csv", index=False)
    done = run("fit bad.csv --missing-values -999 --missing-values n.k. --out marks.npz --no-compare")
    assert "note: bad.csv: 'paid': 1 of 89 cells could not be read (such as '#DIV/0!' in row 7); they" in done.stderr
    model, own = load_model("marks.npz"), pd.read_csv("bad.csv")
    assert model["table"].columns_[1].n_missing == 2
    assert model["table"].transform(own)[3, 0] == np.median(TABLE["paid"].drop([3, 4, 5, 7]))
    evaluated = json.loads(run("evaluate marks.npz bad.csv --json").stdout)
    assert sum(map(sum, evaluated["confusion"])) == 89
    lines = run("predict marks.npz bad.csv").stdout.splitlines()
    np.testing.assert_allclose([float(line.split(",")[1]) for line in lines[1:]], model.predict_proba(own)[:, 0])


def test_evaluate_scores_what_the_model_predicts():
    test, model = TABLE[60:], load_model("m.npz")
    told = json.loads(run("evaluate m.npz test.parquet --target buys --json").stdout)
    assert told["scores"]["accuracy"] == pytest.approx(model.score(test[["size", "city", "key"]], test["buys"]))
    assert told["baseline_scores"]["accuracy"] == pytest.approx(test["buys"].value_counts(normalize=True).max())
    counts = pd.crosstab(test["buys"], model.predict(test[["size", "city", "key"]]))
    assert told["confusion"] == counts.reindex(columns=["no", "yes"], fill_value=0).to_numpy().tolist()
    words = run("evaluate m.npz test.parquet").stdout
    assert "target: buys; else give --target" in words
    assert "log-loss" in words
    numbers = json.loads(run("evaluate r.npz paid.csv --json").stdout)
    assert numbers["scores"]["r2"] > 0.5
    assert 0.8 <= numbers["scores"]["coverage"] <= 1
    assert numbers["baseline_scores"]["r2"] == pytest.approx(0)


def test_info_says_what_is_inside():
    told = json.loads(run("info m.npz --json").stdout)
    assert told["estimator"] == "ConvexNetworkClassifier"
    kinds = {"size": "numeric", "city": "categorical", "key": "dropped"}
    assert {column["name"]: column["kind"] for column in told["columns"]} == kinds
    assert told["loo_score"] == pytest.approx(load_model("m.npz")[-1].loo_score_)
    assert "says nothing about new rows" in run("info m.npz").stdout


def test_predictions_go_to_stdout_with_an_id():
    done = run("predict m.npz test.parquet --id key")
    back = pd.read_csv(io.StringIO(done.stdout))
    assert list(back) == ["key", "prediction", "probability_no", "probability_yes"]
    assert back["key"].tolist() == TABLE["key"][60:].tolist()
    assert back["prediction"].tolist() == load_model("m.npz").predict(TABLE[60:]).tolist()
    assert "column 'buys' is not used by the model" in done.stderr


def test_blocks_are_as_good_as_the_whole(monkeypatch):
    run("predict m.npz test.parquet --out whole.csv --force")
    monkeypatch.setattr("clifford_rand_nn.cli.predict._ROWS", 7)
    for name in ("parts.csv", "parts.parquet", "parts.npz"):
        assert run("predict m.npz test.parquet --out", name, "--force").stdout.startswith("30 predictions")
    whole = pd.read_csv("whole.csv")
    pd.testing.assert_frame_equal(pd.read_csv("parts.csv"), whole)
    assert pd.read_parquet("parts.parquet")["prediction"].tolist() == whole["prediction"].tolist()
    with np.load("parts.npz") as arrays:  # to rounding: products of other shapes
        np.testing.assert_allclose(arrays["probability_no"], whole["probability_no"], rtol=1e-12)


@pytest.mark.slow
def test_a_path_is_a_table_and_a_picture():
    run("path paid.csv --out path.csv --picture path.png --force")
    assert "loo error: leave-one-out squared error over the variance" in run("path paid.csv --target paid").stdout
    left_out = pd.read_csv("path.csv")
    assert (np.diff(left_out["beta"]) < 0).all()
    assert left_out["loo_error"].min() < 0.6
    assert (load_model("r.npz")[-1].candidates_[0].mean_loss) < 0.6
    with open("path.png", "rb") as stream:
        assert stream.read(8) == b"\x89PNG\r\n\x1a\n"
    options = ("--model", "gated", "--n-gates", "5", "--n-betas", "3", "--force")
    done = run("path paid.csv", *options, "--out", "path.csv")
    assert "held out" in done.stdout
    table = pd.read_csv("path.csv")
    assert (table["objective"] >= table["lower_bound"] - 1e-12).all()
    assert table["neurons"].iloc[0] == 0


def test_ctrl_c_in_a_path_writes_what_there_is(monkeypatch):
    check, checks = Watch.check, []

    def pressed(self, *arguments, **named):
        check(self, *arguments, **named)
        checks.append(1)
        if len(checks) == 6:
            raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "check", pressed)
    options = ("--model", "gated", "--n-gates", "5", "--n-betas", "4", "--force")
    done = run("path paid.csv", *options, "--out", "cut.csv", code=130)
    reached = len(pd.read_csv("cut.csv"))
    assert 1 <= reached <= 4
    assert done.stderr == f"interrupted: this is the path so far, {reached} of 4 values of beta.\n"
    assert len(checks) == 6


def test_a_model_of_named_arrays_is_used_without_a_word_of_names():
    X = rng.standard_normal((40, 2))
    np.savez("named.npz", X=X, y=np.where(X[:, 0] > 0, "a", "b"), feature_names=["p", "q"])
    run("fit named.npz -q --out named_model.npz --model gated --n-gates 4 --beta 0.1")
    pd.DataFrame(X[:5, ::-1], columns=["q", "p"]).to_csv("named.csv", index=False)
    done = run("predict named_model.npz named.csv")
    assert done.stderr == "", done.stderr
    assert done.stdout.count("\n") == 6
    assert run("evaluate named_model.npz named.npz").stderr == ""


def test_tables_of_another_encoding():
    TABLE[:40].rename(columns={"buys": "käuft", "key": "schlüssel"}).to_csv("buys.csv", index=False, encoding="cp1252")
    run("evaluate m.npz buys.csv --encoding cp1252 --target käuft")


@pytest.mark.parametrize("name", [entry.name for entry in dataclasses.fields(ColumnKinds)])
def test_every_kind_of_column_is_a_parameter_and_refused_for_numbers(name, tmp_path):
    kinds = ColumnKinds(**{name: ["a"]}).keywords
    (parameter,) = kinds
    assert parameter in TableEncoder().get_params()
    reading = Reading("y", kinds=kinds)
    option = "--" + name.replace("_", "-")
    with pytest.raises(ArgumentError, match=f"The '{option}' parameter of clifford-rand must be left out for the NPZ"):
        _refuse_kinds(tmp_path / "t.npz", reading)
    assert one_line(ArgumentError(f"The {parameter!r} parameter of TableEncoder must be")) == f"{option} must be"
    assert name in _FOR_TABLES
