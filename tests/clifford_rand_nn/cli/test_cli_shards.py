"""The command line on rows beyond memory: fit, predict and evaluate with --shards."""

import json
import re
import signal
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from clifford_rand_nn import ConvexNetworkRegressor, Shards, load_model
from clifford_rand_nn.cli.tables import training_shards
from clifford_rand_nn.kernel_network.landmark_judge import ResidualSum
from clifford_rand_nn.shards.engines import LocalEngine
from clifford_rand_nn.shards.landmark_fit import LandmarkFit
from clifford_rand_nn.solvers.base import Status
from support.command_line import run

rng = np.random.default_rng(11)
X = rng.standard_normal((160, 3)).astype(np.float16)
LABELS = np.where(np.abs(X[:, 0]) > 0.7, "far", "near")
GATED = ("--model", "gated", "--n-gates", "6", "--beta", "0.003", "--tol", "1e-2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    for name, cuts in (("train", (0, 50, 100)), ("new", (100, 130, 160))):
        (folder / name).mkdir()
        for i, (a, b) in enumerate(pairwise(cuts)):
            np.save(folder / name / f"X-{i:05d}.npy", X[a:b])
            np.save(folder / name / f"y-{i:05d}.npy", LABELS[a:b])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("fit --shards train", *GATED, "--out", "m.npz", "--checkpoint", "state", "-q")
    return folder


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.slow
def test_targets_that_change_while_a_task_is_chosen_are_named(tmp_path, monkeypatch):
    np.save(tmp_path / "X-00000.npy", X)
    np.save(tmp_path / "y-00000.npy", LABELS)

    def changed(*arguments):
        shards = training_shards(*arguments)
        (tmp_path / "y-00000.npy").write_bytes(b"something else")
        return shards

    monkeypatch.setattr("clifford_rand_nn.cli.fit.training_shards", changed)
    said = run("fit --shards", tmp_path, code=2).stderr
    assert re.search(r"y-00000\.npy, rows 0 to 160: the file has changed", " ".join(said.split())), said


def test_a_fit_is_saved_and_said(folder):
    done = run("fit --shards train", *GATED, "--checkpoint", "state", "--test", "new", "--max-memory", "1GB")
    words = " ".join(done.stdout.split())
    assert "classification: the target is text, 2 classes" in words
    assert "100 rows × 3 columns in 2 shards, 600 bytes of float16" in words
    assert "this says nothing about new rows" in words
    assert "scores on the test set, 60 rows of new" in words
    assert "model not written; give --out" in words
    model = load_model(folder / "m.npz")
    assert list(model.classes_) == ["far", "near"]
    assert model.certificate_.relative_gap <= 1e-2
    facts = json.loads(run("fit --shards train", *GATED, "--checkpoint", "state", "--test", "new", "--json").stdout)
    assert facts["n_rows"] == 100
    assert facts["proof"]["relative_gap"] <= 1e-2
    assert facts["test"]["n_rows"] == np.sum(facts["test"]["confusion"]) == 60


def test_shards_to_score_on_that_do_not_fit(folder):
    (folder / "two").mkdir(exist_ok=True)
    np.save(folder / "two" / "X-0.npy", X[:, :2])
    np.save(folder / "two" / "y-0.npy", LABELS)
    done = run("fit --shards train", *GATED, "--test", "two", code=2)
    assert "two: these shards have 2 columns, and those of training 3." in done.stderr
    assert done.stdout == ""  # before the work
    np.save(folder / "two" / "X-0.npy", X)
    np.save(folder / "two" / "y-0.npy", np.arange(160))
    done = run("fit --shards train", *GATED, "--test", "two", "--out", "kept.npz", code=2)
    assert "Got none of far, near" in done.stderr
    assert "certificate" in done.stdout  # what the fit found is not lost


@pytest.mark.parametrize(
    ("status", "advice"), [(Status.MAX_TIME, "try a larger --max-time"), (Status.MAX_ITER, "a larger --beta")]
)
def test_a_network_without_knobs_that_was_not_done_says_so(monkeypatch, status, advice):
    whole = LandmarkFit.run
    monkeypatch.setattr(LandmarkFit, "run", lambda self: replace(whole(self), status=status))
    done = run("fit --shards train")
    assert re.search(f"warning: not converged: stopped after .* {advice}", " ".join(done.stderr.split()))


def test_the_network_without_knobs():
    done = run("fit --shards train --out n.npz --force")
    words = " ".join(done.stdout.split())
    assert "out-of-sample accuracy" in words
    assert "model written to n.npz" in words
    scores = json.loads(run("evaluate n.npz --shards new --json").stdout)
    assert scores["scores"]["accuracy"] > scores["baseline_scores"]["accuracy"] + 0.1
    assert scores["scores"]["log_loss"] < scores["baseline_scores"]["log_loss"]


def test_ctrl_c_writes_the_best_network_so_far(folder, monkeypatch):
    whole, sent = LocalEngine.sum, []

    def interrupted(engine, term):
        if isinstance(term, ResidualSum) and not sent:
            sent.append(term)
            signal.raise_signal(signal.SIGINT)
        return whole(engine, term)

    monkeypatch.setattr(LocalEngine, "sum", interrupted)
    said = run("fit --shards train --out best.npz -q", code=130).stderr
    assert re.fullmatch(r"interrupted: this is the best .* \(relative gap .*\); model written to best.npz\n", said)
    assert load_model("best.npz").result_.interrupted


def test_predictions_beside_each_shard(folder):
    run("predict m.npz --shards new --out said")
    found = np.concatenate([np.load(folder / "said" / f"prediction-0000{i}.npy") for i in (0, 1)])
    model = load_model(folder / "m.npz")
    np.testing.assert_array_equal(found, model.predict(X[100:].astype("f4")))
    assert "--resume keeps them" in run("predict m.npz --shards new --out said", code=2).stderr
    (folder / "said" / "prediction-00001.npy").unlink()
    run("predict m.npz --shards new --out said --resume")
    assert (folder / "said" / "prediction-00001.npy").exists()
    done = run("predict m.npz --shards new --out said --method decision_function --format csv")
    assert "60 predictions written to said, in 2 files such as score-00000.csv" in done.stdout


def test_evaluate_says_scores_beside_the_majority(folder):
    words = " ".join(run("evaluate m.npz --shards new").stdout.split())
    accuracy = np.mean(load_model(folder / "m.npz").predict(X[100:].astype("f4")) == LABELS[100:])
    majority = np.mean(LABELS[100:] == "near")
    assert f"accuracy {accuracy:.4f} {max(majority, 1 - majority):.4f}" in words


@pytest.mark.slow
def test_parquet_with_names(folder):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X.astype("f8"), columns=["a", "b", "c"]).assign(size=LABELS, weight=1.0)
    more = frame[["size", "c", "b", "a"]].assign(note="a text")
    for name, rows in (("p-train", slice(100)), ("p-new", slice(100, None))):
        (folder / name).mkdir()
        (frame if name == "p-train" else more)[rows].to_parquet(folder / name / "0.parquet")
    test = ("--test", "p-new", "--out", "p.npz")
    run("fit --shards p-train --target size --sample-weight weight", *GATED, *test, "-q")
    assert list(load_model(folder / "p.npz").feature_names_in_) == ["a", "b", "c"]
    run("predict p.npz --shards p-new --out p-said --format parquet")
    said = pd.read_parquet(folder / "p-said" / "prediction-00000.parquet")["prediction"]
    scores = json.loads(run("evaluate p.npz --shards p-new --target size --json").stdout)
    assert scores["scores"]["accuracy"] == pytest.approx(np.mean(said == LABELS[100:]))
    assert "Parquet needs --target" in run("fit --shards p-train", code=2).stderr


@pytest.mark.slow
def test_a_plan_instead_of_a_fit():
    done = run("fit --shards train", *GATED, "--plan", "--out", "never.npz")
    assert "passes" in done.stdout
    assert "model" not in done.stdout
    said = json.loads(run("fit --shards train", *GATED, "--plan", "--json").stdout)
    assert said["n_rows"] == 100
    assert said["n_passes"] > 2


@pytest.mark.slow
def test_a_shown_fit_to_shards_is_the_same(capsys):
    y = X[:, 0] + 0.1 * rng.standard_normal(160)
    shards = Shards([X[:90], X[90:]], [y[:90], y[90:]], part_rows=40)
    models = [ConvexNetworkRegressor(verbose=verbose).fit(shards) for verbose in (1, 0)]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "reading the shards" in shown.err
    assert "normal equations of" in shown.err


def test_lines_of_the_gap_in_a_file(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn._progress._EVERY", 0.01)
    done = run("fit --shards train", *GATED[:-2], "--tol", "1e-6", "--max-iter", "40")
    assert re.search(r"step \d+  objective \S+  relative gap \S+ \(tol 1e-06\)  about \d+ s left\n", done.stderr)
