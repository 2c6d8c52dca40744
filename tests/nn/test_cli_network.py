"""The command line without options: the network without knobs, what it says of itself, and what it writes."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, load_model
from clifford_rand_nn.cli.app import app
from clifford_rand_nn.cli.infinite import chosen, promises

pd = pytest.importorskip("pandas")

runner = CliRunner()
rng = np.random.default_rng(5)
X = rng.standard_normal((120, 3))
TABLE = pd.DataFrame(100 * X, columns=["a", "b", "c"]).assign(
    times=np.tile([1, 2, 3], 40),
    value=np.abs(X[:, 0]) - X[:, 1] + 0.1 * rng.standard_normal(120),
    kind=np.array(["low", "mid", "high"])[(X[:, 0] > -0.4).astype(int) + (X[:, 0] > 0.4)],
)
FEATURES = ["a", "b", "c"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("kind", "value"):
        TABLE[:80][[*FEATURES, name]].to_csv(f"{name}.csv", index=False)
        TABLE[80:][[*FEATURES, name]].to_csv(f"{name}-test.csv", index=False)
    TABLE[[*FEATURES, "times", "kind"]].to_csv("weighted.csv", index=False)
    TABLE[[*FEATURES, "kind"]].to_parquet("kind.parquet")
    np.savez("two.npz", X=X, y=X[:, 0] > 0)
    return tmp_path


def run(*arguments, code=0):
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code == code, result.output + result.stderr
    return result


def facts_of(stdout):
    lines = (re.split(r" {2,}", line, maxsplit=1) for line in stdout.splitlines() if "  " in line)
    return dict(lines)


def test_classes_without_an_option(folder):
    out = run("fit", "kind.csv", "--test", "kind-test.csv", "--out", "m.npz").stdout
    assert out.splitlines()[:2] == [
        "target: kind; else give --target",
        "classification: the target is text, 3 classes",
    ]
    facts, model = facts_of(out), load_model("m.npz")
    assert type(model) is ConvexNetworkClassifier
    test = TABLE[80:]
    assert facts["promised accuracy"].startswith(f"{model.loo_score_:.4f} for new rows of the same kind, by ")
    assert facts["test accuracy"] == f"{model.score(test[FEATURES], test.kind):.4f} on 40 rows"
    assert facts["train accuracy"] == f"{model.score(TABLE[:80][FEATURES], TABLE[:80].kind):.4f}"
    assert facts["certified gap"].endswith(f"relative, {model.certificate_.scope}")
    assert facts["solver"] == model.reason_
    assert facts["beta"] == f"{model.beta_:.3g}, chosen"
    assert f"negative log-likelihood {model.calibration_.loss:.3f}" in facts["probabilities"]
    table = re.split(r"scaling +constant +beta +error +rows\n", out)[1].splitlines()
    best = model.candidates_[0]
    assert table[0].split() == [best.scaling, f"{best.bias:g}", f"{best.beta:.2g}", f"{best.score:.4f}", "80"]
    assert len(table) == len(model.candidates_) + 1

    run("predict", "m.npz", "kind-test.csv", "--out", "p.csv")
    back = pd.read_csv("p.csv")
    assert list(back) == ["prediction", "probability_high", "probability_low", "probability_mid"]
    assert back["prediction"].tolist() == model.predict(test[FEATURES]).tolist()
    np.testing.assert_array_equal(back.iloc[:, 1:], model.predict_proba(test[FEATURES]))


def test_numbers_without_an_option(folder):
    out = run("fit", "value.csv", "--test", "value-test.csv", "--out", "m.npz", "--beta", "0.01").stdout
    facts, model = facts_of(out), load_model("m.npz")
    assert type(model) is ConvexNetworkRegressor
    assert model.beta == 0.01
    assert facts["test R²"] == f"{model.score(TABLE[80:][FEATURES], TABLE[80:].value):.4f} on 40 rows"
    assert float(facts["test R²"].split()[0]) > 0.7
    assert "probabilities" not in facts
    assert facts["intervals"].startswith(
        f"90 % of new values within ±{model.intervals_.quantile()[0]:.4g} of the prediction"
    )
    for coverage in ((), ("--coverage", "0.5")):
        run("predict", "m.npz", "value-test.csv", "--out", "p.csv", *coverage)
        back = pd.read_csv("p.csv")
        assert list(back) == ["prediction", "low", "high"]
        np.testing.assert_array_equal(back["prediction"], model.predict(TABLE[80:][FEATURES]))
        low, high = model.predict_interval(TABLE[80:][FEATURES], float(coverage[1]) if coverage else 0.9)
        np.testing.assert_array_equal(back[["low", "high"]].T, [low, high])
    message = run("predict", "m.npz", "value-test.csv", "--out", "p.csv", "--coverage", "90", code=2).stderr
    assert "'--coverage' parameter of clifford-rand predict must be between 0 and 1. Got 90.0" in message


def test_weights_count(folder):
    facts = facts_of(run("fit", "weighted.csv", "--weights", "times", "--out", "m.npz").stdout)
    assert facts["rows"] == "120, with weights from 1 to 3"
    assert facts["features"].startswith("3, ")
    plain = ConvexNetworkClassifier().fit(TABLE[FEATURES], TABLE.kind, sample_weight=TABLE.times)
    np.testing.assert_array_equal(
        load_model("m.npz").predict_proba(TABLE[FEATURES]), plain.predict_proba(TABLE[FEATURES])
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_rows_of_a_group_are_left_out_together(folder, ending):
    """Rows of a group share their label: known groups are easy, new ones are chance."""
    local = np.random.default_rng(0)
    who = np.repeat(np.arange(20), 6)
    rows = local.standard_normal((20, 3))[who] + 0.1 * local.standard_normal((120, 3))
    name, label = np.char.mod("patient %d", who), local.integers(0, 2, 20)[who].astype(bool)
    frame = pd.DataFrame(rows, columns=FEATURES).assign(who=name, y=label)
    table = f"t.{ending}"
    if ending == "npz":
        np.savez(table, X=rows, who=name, y=label)
    else:
        (frame.to_parquet if ending == "parquet" else frame.to_csv)(table, index=False)
    facts = facts_of(run("fit", table, "--target", "y", "--groups", "who", "--out", "m.npz").stdout)
    assert facts["rows"] == "120, in 20 groups"
    assert facts["features"].startswith("3, ")
    promised, words = facts["promised accuracy"].split(" ", 1)
    assert words.startswith("for rows of new groups, by ")
    assert float(promised) < 0.8
    plain = ConvexNetworkClassifier().fit(rows, label, groups=who)
    assert float(promised) == pytest.approx(plain.loo_score_, abs=1e-4)
    assert "--model gated. Got 'who'" in run("fit", table, "--model", "gated", "--groups", "who", code=2).stderr
    same = run("fit", table, "--target", "y", "--groups", "y", code=2).stderr
    assert "'--groups' parameter of clifford-rand fit must be another column than --target and --weights" in same
    assert "'whom'" in run("fit", table, "--target", "y", "--groups", "whom", code=2).stderr
    assert "is no target here; give --target" in run("fit", table, "--groups", "y", code=2).stderr


@pytest.mark.parametrize(("table", "target"), [("kind.parquet", "kind"), ("two.npz", "y"), ("value.csv", "value")])
def test_the_target_is_the_last_column(folder, table, target):
    assert run("fit", table, "--model", "gated", "--n-gates", "3", "--tol", "0.1").stdout.startswith(
        f"target: {target}; "
    )
    named = run("fit", table, "--model", "gated", "--n-gates", "3", "--tol", "0.1", "--target", target).stdout
    assert "else give --target" not in named


def test_quiet_says_nothing(folder):
    result = run("fit", "kind.csv", "--out", "m.npz", "--quiet")
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize(
    "option",
    [
        ("--penalty", "l2"), ("--no-bias",), ("--tol", "1e-3"), ("--max-iter", "9"),
        ("--seed", "1"), ("--solver", "auto"), ("--huber-delta", "1"),
    ],
    ids=lambda option: option[0],
)  # fmt: skip
def test_options_of_models_with_neurons_are_refused(folder, option):
    message = run("fit", "kind.csv", *option, code=2).stderr
    assert message.startswith(
        f"error: The '{option[0]}' parameter of clifford-rand fit must be left out with --model network"
    )
    assert message.endswith("It is for --model gated, --model relu and --model lasso.\n")
    assert "It is for --model gated and --model relu." in run("fit", "kind.csv", "--n-gates", "9", code=2).stderr


def test_the_loss_may_be_asked_for(folder):
    facts = facts_of(run("fit", "kind.csv", "--out", "m.npz").stdout)
    told = load_model("m.npz")
    assert facts["loss"] == (
        f"{told.loss_}: negative log-likelihood of rows left out {told.losses_['squared']:.4f} with squared, "
        f"{told.losses_['logistic']:.4f} with logistic"
        + (", which gets more labels wrong" if told.losses_["logistic"] < told.losses_["squared"] else "")
    )
    assert told.loss_ == "squared"
    assert "loss" not in facts_of(run("fit", "kind.csv", "--loss", "logistic", "--out", "m.npz").stdout)
    assert load_model("m.npz").certificate_.loss == "logistic"
    for name in ("huber", "squared_hinge"):
        message = run("fit", "kind.csv", "--loss", name, code=2).stderr
        assert message.startswith("error: The '--loss' parameter of clifford-rand fit must be")


def test_an_empty_header_has_no_last_column(folder):
    (folder / "empty.csv").write_text("\n\n")
    assert run("fit", "empty.csv", code=2).stderr == "error: empty.csv: the file is empty.\n"


def test_gates_that_time_leaves_unlearned_are_not_called_learned(monkeypatch):
    """Rows held out were for two rounds, but the logistic loss on them took too long: plain gates by leave-one-out."""
    path = "clifford_rand_nn.estimators.network.classifier.choose_unseen"
    rows = np.random.default_rng(0).uniform(-1, 1, (120, 6))
    labels = np.sin(3 * rows[:, 0]) + rows[:, 1] > 0
    model = ConvexNetworkClassifier(loss="logistic").fit(rows, labels)
    assert dict(chosen(model))["learned gates"].startswith(f"{model.rounds_.rounds} round")
    assert model.metric_ is not None
    monkeypatch.setattr(path, lambda *args: None)
    model = ConvexNetworkClassifier(loss="logistic", max_time=60).fit(rows, labels)
    assert model.metric_ is None
    assert dict(chosen(model))["learned gates"] == "none: there was no time for the logistic loss on learned gates"
    assert dict(promises(model, "accuracy", "new rows"))["promised accuracy"].endswith("by leave-one-out")
    assert model.reason_.endswith("; gates not learned, for want of time")
