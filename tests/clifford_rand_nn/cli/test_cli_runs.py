"""How a fit from the command line runs: weights of rows, solvers, limits of time, refinement, Ctrl-C."""

import json
import re
import time

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from clifford_rand_nn import GatedReLUClassifier, gate_exchange, load_model
from clifford_rand_nn.cli import predict
from clifford_rand_nn.estimators import base
from support.command_line import fitted
from support.command_line import run_forced as run

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(8)
X = rng.standard_normal((80, 2))
WEIGHTS = np.tile([0, 1, 2, 3], 20)
TABLE = pd.DataFrame(X, columns=["a", "b"]).assign(
    kind=np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(80) > 0, "yes", "no"),
    value=np.abs(X[:, 0]) - X[:, 1],
    times=WEIGHTS,
)
SMALL = ("--n-gates", "8", "--beta", "0.02", "--no-compare")
QUICK = ("--model", "gated", *SMALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE[:48].drop(columns="value").to_csv("train.csv", index=False)
    TABLE[48:].drop(columns="value").to_csv("test.csv", index=False)
    TABLE[48:].drop(columns=["value", "times"]).to_csv("plain.csv", index=False)
    return tmp_path


def fit(*arguments, code=0, target="kind", table="train.csv"):
    """Run fit; return the facts that it reports as JSON, and stderr."""
    words = [word for argument in arguments for word in argument.split()]
    report = () if "--quiet" in words else ("--json",)
    result = run("fit", table, "--target", target, *report, *words, code=code)
    return json.loads(result.stdout) if result.stdout else {}, result.stderr


def test_weights_are_no_feature_and_count_in_every_score(folder):
    facts, _ = fit("--sample-weight", "times", "--test", "test.csv", "--out", "m.npz", *QUICK)
    assert (facts["n_rows_read"], facts["n_rows"], facts["weights"]) == (48, 36, [1, 3])
    assert [column["name"] for column in facts["columns"]] == ["a", "b"]
    model = load_model("m.npz")
    assert model.feature_names_in_.tolist() == ["a", "b"]

    def score(rows, weights):
        return accuracy_score(rows.kind, model.predict(rows[["a", "b"]]), sample_weight=weights)

    train, test = TABLE[:48], TABLE[48:]
    assert score(test, test.times) != score(test, None)
    assert facts["train"]["accuracy"] == pytest.approx(score(train, train.times))
    assert facts["test"]["scores"]["accuracy"] == pytest.approx(score(test, test.times))
    facts, stderr = fit("--sample-weight", "times", "--test", "plain.csv", *QUICK)
    assert facts["test"]["scores"]["accuracy"] == pytest.approx(score(test, None))
    assert facts["test"]["method"] == "32 rows of plain.csv"
    assert stderr == ""

    result = run("predict m.npz test.csv --out p.csv")
    assert result.stderr == "note: test.csv: 2 columns are not used by the model: 'kind', 'times'\n"
    facts, _ = fit(*QUICK)
    assert facts["n_features"] == 3  # without the option, a column like any other
    words = run("fit train.csv --target kind --sample-weight times", *QUICK).stdout
    assert "36 used; weights from 1 to 3; 12 of weight zero left out" in words


def test_score_of_a_regression_is_weighted(folder):
    TABLE.drop(columns="kind").to_parquet("value.parquet")
    facts, _ = fit("--sample-weight", "times", "--out", "m.npz", *QUICK, target="value", table="value.parquet")
    expected = r2_score(TABLE.value, load_model("m.npz").predict(TABLE[["a", "b"]]), sample_weight=WEIGHTS)
    assert facts["train"]["r2"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "model",
    [
        "gated --solver kernel",
        *(pytest.param(model, marks=pytest.mark.slow) for model in ("gated --solver fista", "relu")),
    ],
)
def test_a_whole_weight_is_so_many_copies_of_a_row(folder, model):
    options = ("--no-compare --gates exhaustive --bias none --beta 0.02 --loss logistic --model", model)
    rows = TABLE[["a", "b", "kind"]]
    rows.loc[TABLE.index.repeat(WEIGHTS)].to_csv("copies.csv", index=False)
    rows.assign(times=WEIGHTS).to_csv("weighted.csv", index=False)
    rows.to_csv("unweighted.csv", index=False)
    copies, unweighted = (
        fit(*options, table=f"{name}.csv")[0]["proof"]["objective"] for name in ("copies", "unweighted")
    )
    weighted = fit(*options, "--sample-weight", "times", table="weighted.csv")[0]["proof"]["objective"]
    assert weighted == pytest.approx(copies, rel=3e-6)  # two gaps of 1e-6
    assert unweighted != pytest.approx(copies, rel=1e-3)


def test_weights_of_an_npz(folder):
    np.savez("t.npz", X=X, kind=TABLE.kind.to_numpy(dtype=str), times=WEIGHTS)
    np.savez("plain.npz", X=X, kind=TABLE.kind.to_numpy(dtype=str))
    facts, _ = fit("--sample-weight", "times", "--test", "plain.npz", *QUICK, table="t.npz")
    assert facts["weights"] == [1, 3]
    assert facts["test"]["scores"]["n_rows"] == 80


@pytest.mark.slow
def test_solvers_agree_and_the_report_names_them(folder):
    found = {}
    for solver in ("auto", "kernel", "fista"):
        facts, _ = fit("--solver", solver, "--out", f"{solver}.npz", *QUICK)
        found[solver] = facts["proof"]["objective"]
        name, steps = re.match(r"(\w+), (\d+) steps?", facts["solver"]).groups()
        assert name == ("kernel" if solver == "auto" else solver)
        assert int(steps) == fitted(f"{solver}.npz").n_iter_
        assert (";" in facts["solver"]) == (solver == "auto")  # a reason for what was chosen, not for what was asked
        assert fitted(f"{solver}.npz").solver == solver
    assert max(found.values()) <= min(found.values()) * (1 + 3e-6)


def test_other_models_have_their_solvers(folder):
    options = ("--model lasso --subsample 200 --beta 0.02 --no-compare --solver",)
    working_set, interior = (fit(*options, solver)[0] for solver in ("working_set", "interior_point"))
    assert working_set["solver"] != interior["solver"]
    assert working_set["proof"]["objective"] == pytest.approx(interior["proof"]["objective"], rel=3e-6)


def test_time_that_runs_out_is_a_warning_that_names_the_option(folder):
    facts, stderr = fit("--max-time", "1e-9", "--solver", "fista", "--out", "m.npz", *QUICK)
    assert re.fullmatch(
        r"warning: not converged: stopped after 0\.\d s at a relative gap of \S+: try a larger --max-time\.\n", stderr
    )
    gap = fitted("m.npz").certificate_.relative_gap
    assert gap > 1e-6
    assert facts["proof"]["relative_gap"] == gap
    assert not facts["proof"]["converged"]
    assert fitted("m.npz").max_time == 1e-9
    _, stderr = fit("--max-time", "60", *QUICK)
    assert stderr == ""


@pytest.fixture
def interrupt(monkeypatch):
    """Make Ctrl-C arrive when a solver reports a step for the third time."""

    def interrupting(*_, **__):
        rows = []

        def callback(row):
            rows.append(row)
            if len(rows) == 3:
                raise KeyboardInterrupt

        return callback

    monkeypatch.setattr(base, "step_callback", interrupting)


SOLVED = {
    "auto": QUICK,
    "kernel": QUICK,
    "fista": QUICK,
    "interior_point": ("--model", "relu", *SMALL),
    "augmented_lagrangian": ("--model", "relu", *SMALL),
    "column_generation": ("--model", "relu", "--beta", "0.002", "--n-gates", "30"),
    "working_set": ("--model", "lasso", "--subsample", "300", "--beta", "0.002"),
}


@pytest.mark.parametrize(("solver", "quiet"), [*((solver, ()) for solver in SOLVED), ("auto", ("--quiet",))])
def test_ctrl_c_saves_and_reports_the_best_network(folder, interrupt, solver, quiet):
    options = ("--solver", solver, *SOLVED[solver], *quiet)
    facts, stderr = fit("--out", "m.npz", "--tol", "1e-9", *options, code=130)
    model = fitted("m.npz")
    proof = model.certificate_.verify(TABLE[:48][["a", "b", "times"]].to_numpy(), TABLE[:48].kind)
    assert 1e-9 < proof.relative_gap < 1
    assert proof.relative_gap == pytest.approx(model.certificate_.relative_gap, rel=1e-3)
    said = f"(relative gap {model.certificate_.relative_gap:.1e}, --tol is 1.0e-09); model written to m.npz"
    assert re.fullmatch(r"interrupted: this is the best network after \d+\.\d s " + re.escape(said) + r"\n", stderr)
    if quiet:
        assert facts == {}
    else:
        assert facts["proof"]["relative_gap"] == model.certificate_.relative_gap
        assert facts["proof"]["objective"] == model.certificate_.objective
        assert facts["left_out"] is None  # no more fits once one was interrupted
    run("predict m.npz train.csv --out p.csv")


def test_ctrl_c_ends_refinement_too(folder, interrupt):
    facts, stderr = fit("--n-refinements", "50", "--out", "m.npz", *QUICK, code=130)
    assert stderr.startswith("interrupted: this is the best network after ")
    assert fitted("m.npz").certificate_.relative_gap < 1
    assert facts["seconds"] < 30


@pytest.mark.slow
def test_refinement_lowers_the_objective_and_ctrl_c_in_a_later_round_keeps_the_rounds_before(folder, monkeypatch):
    calls = []
    climbed = gate_exchange.climbed

    def pressed(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return climbed(*arguments)

    plain, _ = fit(*QUICK)
    refined, _ = fit("--n-refinements", "2", *QUICK)
    assert refined["proof"]["objective"] < 0.99 * plain["proof"]["objective"]
    assert refined["details"]["gates"].startswith("8 cross, then refined up to 2 times; ")
    monkeypatch.setattr(gate_exchange, "climbed", pressed)
    facts, stderr = fit("--n-refinements", "50", "--out", "m.npz", *QUICK, code=130)
    assert "interrupted: " in stderr
    assert facts["proof"]["objective"] < 0.99 * plain["proof"]["objective"]
    assert fitted("m.npz").certificate_.relative_gap <= 1e-5  # what rounds are solved to


@pytest.mark.slow
def test_time_is_shared_by_refinement_and_solver(folder, monkeypatch):
    monkeypatch.setattr("time.perf_counter", time.process_time)  # other processes take no part of the second
    facts, _ = fit("--n-refinements", "100000", "--max-time", "1", "--out", "m.npz", *QUICK)
    assert facts["seconds"] < 30  # without the limit, hours
    assert fitted("m.npz").certificate_.relative_gap <= 1e-2


def test_ctrl_c_without_out_says_that_nothing_is_kept(folder, interrupt):
    _, stderr = fit("--tol", "1e-9", *QUICK, code=130)
    assert stderr.endswith("; model not written; give --out\n")
    assert not list(folder.glob("*.npz"))


def press(*_, **__):
    raise KeyboardInterrupt


def test_ctrl_c_before_and_after_there_is_a_network(folder, monkeypatch):
    fit("--out", "fitted.npz", *QUICK)
    monkeypatch.setattr(GatedReLUClassifier, "fit", press)
    facts, stderr = fit("--out", "m.npz", *QUICK, code=130)
    assert (facts, stderr) == ({}, "interrupted: there is no network yet, so nothing was written.\n")
    monkeypatch.setattr(predict, "prediction_columns", press)
    result = run("predict fitted.npz train.csv --out p.csv", code=130)
    assert result.stderr.splitlines()[-1] == "interrupted: the command was not finished."
    assert sorted(path.name for path in folder.iterdir()) == ["fitted.npz", "plain.csv", "test.csv", "train.csv"]
