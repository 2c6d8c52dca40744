"""The command ``python -m examples.paper``: what it writes, goes on with, and refuses in one line."""

import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import examples.paper.__main__ as experiment
from examples.paper.datasets.feature_files import save_features
from support.csv_tables import read_rows

pytest.importorskip("matplotlib")

runner = CliRunner()
rng = np.random.default_rng(3)
X = rng.standard_normal((120, 5)).astype(np.float16)
Y = (X[:, 0] + 0.5 * rng.standard_normal(120) > 0).astype(np.int8)
SPLIT = np.arange(120) < 60


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        save_features(tmp_path / f"{name}.npz", X, Y, SPLIT)
    return tmp_path


def run(*arguments, code=0):
    result = runner.invoke(experiment.app, list(map(str, arguments)))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code == code, result.output + result.stderr
    return result


QUICK = ("--data", ".", "--out", "out", "--seeds", 2, "--size", 30, "--method", "logistic", "--method", "lasso")


@pytest.mark.slow
def test_accuracy_from_the_command_line_and_again(folder):
    out = run("accuracy", *QUICK, "--set", "second").stdout
    assert out.splitlines()[0] == "# Test accuracy: mean ± standard deviation over trials"
    assert "wrote out/accuracy.png" in out.splitlines()
    found = read_rows("out/accuracy.csv")
    assert [(row["set"], row["n"], row["seed"], row["method"]) for row in found] == [
        ("second", "30", seed, method) for seed in "01" for method in ("logistic", "lasso")
    ]
    command = (folder / "out" / "accuracy.txt").read_text().splitlines()[0].removeprefix("command: ")
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "examples.paper"]
    again = run(*words[3:]).stdout  # the command beside the results makes them again
    assert again.splitlines()[0] == "second: 4 of 4 measurements were found in out/accuracy.csv"
    assert read_rows("out/accuracy.csv") == found
    run("accuracy", *QUICK)  # all sets of the folder: first is new
    assert {row["set"] for row in read_rows("out/accuracy.csv")} == {"first", "second"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "third"), "there is no file third.npz"),
        (("--method", "forest"), "The 'methods' parameter of accuracy must be one of 'convex', 'convex-cross'"),
        (("--size", "61"), "The 'sizes' parameter of accuracy must be at most 60. Got 61 instead."),
        (("--max-time", "0"), "The 'max_time' parameter of Settings must be a finite number > 0. Got 0.0 instead."),
        ((), "The 'data' parameter of timing must be a folder of feature files. Got None instead. Give --data"),
    ],
)
def test_errors_are_one_line(folder, arguments, message):
    words = ("timing", "--out", "out") if arguments == () else ("accuracy", *QUICK, *arguments)
    stderr = run(*words, code=2).stderr
    assert stderr.startswith("error: ")
    assert message in stderr
    assert len(stderr.splitlines()) == 1


def test_every_name_is_a_module_with_run():
    assert {"accuracy", "timing"} <= set(experiment.Experiment)
    assert all(callable(__import__(f"examples.paper.{name}", fromlist=["run"]).run) for name in experiment.Experiment)


def test_progress_gives_the_same_items(monkeypatch):
    assert list(experiment._track([1, 2], description="two", total=2)) == [1, 2]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert list(experiment._track([1, 2], description="two", total=2)) == [1, 2]
