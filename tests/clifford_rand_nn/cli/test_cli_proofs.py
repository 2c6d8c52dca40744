"""`clifford-rand prove` and `check`: a model file and its table in, a proof out; and the proof checked."""

import json

import numpy as np
import pytest

from clifford_rand_nn import CrossProductLassoRegressor, TableEncoder, save_model
from clifford_rand_nn.tables import table_model
from support.command_line import run

pd = pytest.importorskip("pandas")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=20), "b": rng.normal(size=20)})
    frame["goal"] = frame.a.abs() + 0.1 * frame.b
    frame.to_csv("train.csv", index=False)
    X = frame[["a", "b"]]
    save_model(CrossProductLassoRegressor(beta=0.01).fit(X, frame.goal), "plain.npz")
    frame["town"] = rng.choice(["Oslo", "Rome"], 20)
    frame.loc[4, "goal"] = np.nan
    frame.to_csv("towns.csv", index=False)
    model = CrossProductLassoRegressor(beta=0.01, penalty="l2", subsample=50, random_state=0)
    save_model(table_model(frame.dropna(), "goal", estimator=model, encoder=TableEncoder(min_frequency=1)), "towns.npz")


def test_a_proof_is_written_and_checked(tmp_path):
    text = run("prove plain.npz train.csv --target goal --out proof.json").stdout
    assert "proof.json written" in text
    assert "this says nothing about new rows" in text
    printed = run("check proof.json").stdout
    assert printed.startswith("valid\n")
    assert "all networks of any width" in printed
    proof = json.loads((tmp_path / "proof.json").read_text())
    proof["bound"][0] = str(2 * int(proof["bound"][0]))
    (tmp_path / "proof.json").write_text(json.dumps(proof))
    error = run("check proof.json", code=1).stderr
    assert error == "not valid: the bound of the dual point is below the stated one\n"


def test_a_table_by_reference(tmp_path):
    run("prove plain.npz train.csv --out proof.json --by-reference")
    assert json.loads((tmp_path / "proof.json").read_text())["data"]["file"] == "train.csv"
    assert "valid" in run("check proof.json").stdout
    text = (tmp_path / "train.csv").read_text()
    (tmp_path / "train.csv").write_text(text.replace("1", "2"))
    assert "another SHA-256" in run("check proof.json", code=1).stderr


def test_encoded_columns_are_in_the_proof():
    run("prove towns.npz towns.csv --target goal --out proof.json")
    assert "valid" in run("check proof.json").stdout
    error = run("prove towns.npz towns.csv --target goal --out p.json --by-reference", code=2).stderr
    assert "leave the reference out" in error.lower()


def test_errors_are_one_line():
    assert "this is not a model file" in run("prove train.csv train.csv --out proof.json", code=2).stderr
    assert "proof.csv" in run("prove plain.npz train.csv --out proof.csv", code=2).stderr
    assert run("check absent.json", code=1).stderr.startswith("not valid: ")
    few = "prove plain.npz train.csv --out proof.json --max-operations 10"
    assert "multiplications" in run(few, code=2).stderr
