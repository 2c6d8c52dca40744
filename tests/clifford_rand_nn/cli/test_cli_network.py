"""The command line without options: the tuning-free network, what it says of itself, and what it writes."""

import json

import numpy as np
import pytest

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, load_model
from clifford_rand_nn.cli import info
from clifford_rand_nn.displays.selection import choices
from support.command_line import run_forced as run
from support.csv_tables import read_csv

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(5)
X = rng.standard_normal((120, 3))
TABLE = pd.DataFrame(100 * X, columns=["a", "b", "c"]).assign(
    value=np.abs(X[:, 0]) - X[:, 1] + 0.1 * rng.standard_normal(120),
    kind=np.array(["low", "mid", "high"])[(X[:, 0] > -0.4).astype(int) + (X[:, 0] > 0.4)],
)
FEATURES = ["a", "b", "c"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("kind", "value"):
        TABLE[:60][[*FEATURES, name]].to_csv(f"{name}.csv", index=False)
        TABLE[60:][[*FEATURES, name]].to_csv(f"{name}-test.csv", index=False)
    TABLE[[*FEATURES, "kind"]].to_parquet("kind.parquet")
    np.savez("two.npz", X=X, y=X[:, 0] > 0)
    return tmp_path


def facts_of(*arguments):
    """Run fit; return the facts that it reports as JSON."""
    return json.loads(run("fit", *arguments, "--json").stdout)


def printed_facts(monkeypatch, *arguments):
    """Run fit; return what it prints, and the facts of which that is made, as JSON has them."""
    shown = []

    def show(facts):
        shown.append(json.loads(json.dumps(facts.as_dict())))
        info.show_facts(facts)

    monkeypatch.setattr("clifford_rand_nn.cli.fit.show_facts", show)
    return run("fit", *arguments).stdout, *shown


@pytest.mark.slow
def test_classes_without_an_option(folder, monkeypatch):
    out, facts = printed_facts(monkeypatch, "kind.csv", "--test", "kind-test.csv", "--out", "m.npz")
    assert out.splitlines()[:2] == ["target: kind; else give --target", "classification: the target is text, 3 classes"]
    whole = load_model("m.npz")
    model = whole[-1]
    assert type(model) is ConvexNetworkClassifier
    train, test = TABLE[:60], TABLE[60:]
    assert facts["left_out"]["scores"]["accuracy"] == pytest.approx(model.loo_score_)
    assert facts["test"]["scores"]["accuracy"] == pytest.approx(whole.score(test[FEATURES], test.kind))
    assert facts["train"]["accuracy"] == pytest.approx(whole.score(train[FEATURES], train.kind))
    assert facts["distributions"] == []  # which text has no place for
    assert facts["proof"]["scope"] == model.certificate_.scope
    assert facts["solver"] == model.result_.reason
    assert facts["left_out"]["scores"]["log_loss"] == pytest.approx(model.calibration_.log_loss)
    assert [one["name"] for one in facts["selected"]][:3] == ["scaling", "constant feature", "beta"]
    accuracies = [f"{facts['test'][model]['accuracy']:.4f}" for model in ("scores", "linear_scores", "baseline_scores")]
    assert f"accuracy {' '.join(accuracies)}" in " ".join(out.split())
    board = " ".join(out.partition("leaderboard on the test set")[2].partition("selected from the data")[0].split())
    for standing in facts["test"]["leaderboard"]:
        assert f"{standing['name']} {standing['score']:.4f}" in board
    assert len(facts["test"]["leaderboard"]) == 4
    assert "out-of-sample scores on the training set: " in out
    assert "this says nothing about new rows" in out


@pytest.mark.slow
def test_numbers_without_an_option(folder, monkeypatch):
    arguments = "value.csv", "--test", "value-test.csv", "--out", "m.npz", "--beta", "0.01"
    out, facts = printed_facts(monkeypatch, *arguments)
    whole = load_model("m.npz")
    model = whole[-1]
    assert type(model) is ConvexNetworkRegressor
    assert model.beta == 0.01
    assert "beta" not in [one["name"] for one in facts["selected"]]
    assert facts["test"]["scores"]["r2"] == pytest.approx(whole.score(TABLE[60:][FEATURES], TABLE[60:].value))
    assert facts["test"]["scores"]["r2"] > 0.7
    assert facts["left_out"]["scores"]["log_loss"] is None
    half = model.intervals_.quantile()[0]
    assert f"90 % of new rows of the same kind within ±{half:.4g} of the prediction" in out
    model = whole
    for coverage in ((), ("--coverage", "0.5")):
        run("predict m.npz value-test.csv --out p.csv", *coverage)
        back = read_csv("p.csv")
        assert list(back) == ["prediction", "low", "high"]
        np.testing.assert_array_equal(back["prediction"], model.predict(TABLE[60:][FEATURES]))
        share = float(coverage[1]) if coverage else 0.9
        low, high = model[-1].predict_interval(TABLE[60:][FEATURES].to_numpy(), coverage=share)
        np.testing.assert_array_equal(back[["low", "high"]].T, [low, high])


@pytest.mark.slow
def test_weights_count(folder):
    rows = TABLE[:60].assign(times=np.arange(60) % 3 + 1)
    rows[[*FEATURES, "times", "kind"]].to_csv("weighted.csv", index=False)
    facts = facts_of("weighted.csv", "--sample-weight", "times", "--out", "m.npz", "--no-compare")
    assert (facts["n_rows"], facts["weights"], facts["n_features"]) == (60, [1, 3], 3)
    plain = ConvexNetworkClassifier().fit(rows[FEATURES], rows.kind, sample_weight=rows.times)
    found = load_model("m.npz").predict_proba(TABLE[FEATURES])
    np.testing.assert_array_equal(found, plain.predict_proba(TABLE[FEATURES]))


@pytest.mark.slow
def test_rows_of_a_group_are_left_out_together(folder):
    """Rows of a group share their label: known groups are easy, new ones are chance."""
    local = np.random.default_rng(0)
    who = np.repeat(np.arange(15), 4)
    rows = local.standard_normal((15, 3))[who] + 0.1 * local.standard_normal((60, 3))
    label = local.integers(0, 2, 15)[who].astype(bool)
    frame = pd.DataFrame(rows, columns=FEATURES).assign(who=np.char.mod("patient %d", who), y=label)
    frame.to_csv("t.csv", index=False)
    facts = facts_of("t.csv", "--target", "y", "--groups", "who", "--out", "m.npz")
    assert (facts["n_groups"], facts["n_rows"], facts["n_features"]) == (15, 60, 3)
    assert "group" in facts["left_out"]["method"]
    assert "groups" in facts["left_out"]["linear_method"]
    assert facts["left_out"]["scores"]["accuracy"] < 0.8
    assert facts["left_out"]["linear_scores"]["accuracy"] < 0.8
    plain = ConvexNetworkClassifier().fit(rows, label, groups=who)
    assert facts["left_out"]["scores"]["accuracy"] == pytest.approx(plain.loo_score_)


@pytest.mark.parametrize(("table", "target"), [("kind.parquet", "kind"), ("two.npz", "y"), ("value.csv", "value")])
def test_the_target_is_the_last_column(folder, table, target):
    options = ("--model", "gated", "--n-gates", "3", "--tol", "0.1", "--beta", "0.1", "--no-compare")
    assert run("fit", table, *options).stdout.startswith(f"target: {target}; ")
    assert "else give --target" not in run("fit", table, *options, "--target", target).stdout


@pytest.mark.slow
def test_the_loss_may_be_asked_for(folder):
    facts = facts_of("kind.csv", "--out", "m.npz", "--no-compare")
    told = load_model("m.npz")[-1]
    (choice,) = (one for one in facts["selected"] if one["name"] == "loss")
    assert choice["value"] == told.loss_ == "squared"
    assert choice["method"].startswith(
        f"leave-one-out negative log-likelihood, {told.loss_scores_['squared']:.4f} with squared, "
        f"{told.loss_scores_['logistic']:.4f} with logistic"
    )
    assert choice["method"].endswith("has more wrong labels") == (
        told.loss_scores_["logistic"] < told.loss_scores_["squared"]
    )
    asked = facts_of("kind.csv", "--loss", "logistic", "--out", "m.npz", "--no-compare")
    assert "loss" not in [one["name"] for one in asked["selected"]]
    assert load_model("m.npz")[-1].certificate_.loss == "logistic"


def law_of(model):
    return next(one for one in choices(model) if one.name == "gate distribution")


@pytest.mark.slow
def test_gates_that_time_leaves_unlearned_are_not_called_learned(monkeypatch):
    """Rows held out were for two rounds, but the logistic loss on them took too long: plain gates by leave-one-out."""
    path = "clifford_rand_nn.estimators.network_base.choose_by_holdout"
    rows = np.random.default_rng(0).uniform(-1, 1, (120, 6))
    labels = np.sin(3 * rows[:, 0]) + rows[:, 1] > 0
    model = ConvexNetworkClassifier(loss="logistic").fit(rows, labels)
    assert law_of(model).value.startswith(f"learned metric (AGOP), {model.metric_selection_.n_iter} iteration")
    assert model.metric_ is not None
    monkeypatch.setattr(path, lambda *args: None)
    model = ConvexNetworkClassifier(loss="logistic", max_time=60).fit(rows, labels)
    assert model.metric_ is None
    assert law_of(model).value == "isotropic (no time for the logistic loss with the learned metric)"
    assert model.result_.reason.endswith("; gates not learned, for want of time")
