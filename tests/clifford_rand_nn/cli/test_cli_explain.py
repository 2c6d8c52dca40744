"""`clifford-rand explain`: a model file and tables in, words, JSON or a picture out."""

import json

import numpy as np
import pytest

from clifford_rand_nn import ConvexNetworkClassifier, GatedReLURegressor, TableEncoder, explain, load_model, save_model
from clifford_rand_nn.tables import table_model
from support.command_line import run

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
FRAME = pd.DataFrame({"age": rng.integers(20, 70, 50), "city": rng.choice(["Oslo", "Rome"], 50)})
FRAME["income"] = np.exp(rng.normal(8, 0.5, 50)).round()
FRAME["buys"] = np.where((FRAME.income > 3000) ^ (FRAME.city == "Rome"), "yes", "no")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("explain")
    train, new = FRAME[:40].copy(), FRAME[40:].drop(columns="buys")
    train.loc[3, "buys"] = None  # left out by the fit
    train.to_csv(path / "train.csv", index=False)
    new.to_csv(path / "new.csv", index=False)
    model = table_model(
        train.dropna(subset="buys"),
        "buys",
        estimator=ConvexNetworkClassifier(max_metric_iter=0, beta=0.01),
        encoder=TableEncoder(min_frequency=1),
    )
    save_model(model, path / "model.npz")
    X = rng.standard_normal((30, 2))
    save_model(GatedReLURegressor(n_gates=4, beta=0.01, random_state=0).fit(X, np.abs(X[:, 0])), path / "plain.npz")
    np.savez(path / "plain_rows.npz", X=X, y=np.abs(X[:, 0]))
    return path


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_a_row_is_explained_as_in_python(folder):
    given = run("explain model.npz new.csv --row 3 --train train.csv")
    model = load_model(folder / "model.npz")
    train = pd.read_csv(folder / "train.csv").dropna(subset="buys")
    new = pd.read_csv(folder / "new.csv")
    found = explain(model, new.iloc[[3]], X_train=train.drop(columns="buys"), y_train=train["buys"].to_numpy())
    assert given.stdout == f"Row 3 of new.csv\n{found}\n"
    assert f"income {int(new.income[3])}" in given.stdout
    assert ", which is yes: " in given.stdout
    assert "the target is the last column, 'buys'" in given.stderr
    assert "counted without the 1 that have no 'buys'" in given.stderr


def test_several_rows_for_machines():
    told = json.loads(run("explain model.npz new.csv --row 0 --row 7 --json").stdout)
    assert [one["row"] for one in told["explained"]] == [0, 7]
    for one in told["explained"]:
        output = one["outputs"][0]
        assert output["base"] + sum(output["columns"].values()) == pytest.approx(output["output"], rel=1e-9)
        assert set(output["columns"]) == {"age", "city", "income"}


@pytest.mark.slow
def test_the_model_itself_and_its_picture(folder):
    pytest.importorskip("matplotlib")
    text = run("explain model.npz --train train.csv --target buys --picture whole.png").stdout
    assert "increase of log loss if permuted" in text
    assert (folder / "whole.png").read_bytes()[:4] == b"\x89PNG"
    assert "Row 0 of 10; --row takes another." in run("explain model.npz new.csv --picture one.svg").stdout
    assert b"mean of the training rows" in (folder / "one.svg").read_bytes()
    error = run("explain model.npz --picture whole.png", code=2).stderr
    assert error == "error: whole.png: this file is there already; --force overwrites it.\n"
    run("explain model.npz --picture whole.png --force")
    assert "Give rows and targets for the permutation importance" in run("explain model.npz").stdout


def test_tables_without_names():
    text = run("explain plain.npz plain_rows.npz --train plain_rows.npz --target y").stdout
    assert "active for this row" in text
    assert "which has the target" in text
