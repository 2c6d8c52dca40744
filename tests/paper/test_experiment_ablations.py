"""Ablations and rules for gates: variants, tables that go on, statistics, reports, refinement and ReLU methods."""

import math

import numpy as np
import pytest
from scipy import stats

from clifford_rand_nn import sample_gates
from examples.paper import ablations, gate_rules
from examples.paper.ablations_report import ablations_report
from examples.paper.datasets.feature_files import load_features, save_features
from examples.paper.gate_rules_report import rules_panels, rules_report
from examples.paper.methods.convex import ConvexGated
from examples.paper.methods.refined import ConvexRefined
from examples.paper.methods.relu import ConvexReLU, DecomposedReLU
from examples.paper.plots.variants import Panel, Variants, variant_figure
from examples.paper.protocol import Binary, choose, draw
from examples.paper.settings import Settings
from examples.paper.statistics import compared, holm, t_test
from support.csv_tables import read_rows
from support.refusals import refused

rng = np.random.default_rng(3)
X_ALL = rng.standard_normal((240, 4)) * np.array([2.0, 1, 1, 0.2]) + 1
Y_ALL = ((X_ALL[:, 0] - 1) * (X_ALL[:, 1] - 1) + 0.5 * rng.standard_normal(240) > 0).astype(int)
X, Y = X_ALL[:60] - X_ALL[:60].mean(axis=0), Y_ALL[:60]


@pytest.fixture
def folder(tmp_path):
    save_features(tmp_path / "made.npz", X_ALL, Y_ALL, np.arange(240) % 2 == 0)
    return tmp_path


# ------------------------------------------------------------------------------------------------------ methods


def test_gates_may_be_a_function_or_any_rule():
    seen = []

    def mine(X, y, seed):
        seen.append((X.shape, y.tolist(), seed))
        return sample_gates(X, 6, "gaussian", bias=False, random_state=seed)

    method = ConvexGated(mine, loss="squared")
    model = method.fit(X, Y, 0.1, 4)
    assert method.name == "convex-mine"
    assert seen == [((60, 4), Y.tolist(), 4)]
    same = ConvexGated("gaussian", n_gates=6, loss="squared").fit(X, Y, 0.1, 4)
    np.testing.assert_allclose(model.objective, same.objective, rtol=1e-5)
    assert ConvexGated("opposite", n_gates=6).fit(X, Y, 0.1, 0).gap <= 1e-6
    assert len(ConvexGated("cross", n_gates=6, mirror=True).fit(X, Y, 0.1, 0).gates) == 12


def test_descriptions_tell_variants_apart():
    every = [ablations.make_variant(name, 384, 2000, 60.0) for name in ablations.VARIANTS]
    assert None not in every
    texts = [method.describe().partition(":")[2] for method in every[:-3]]
    texts += [method.describe() for method in every[-3:]]
    assert len(set(texts)) == len(every)


def test_an_objective_at_beta_is_the_problems():
    method = ConvexGated("cross", n_gates=8, loss="squared")
    top = method.beta_max(X, Y, 0)
    assert method.fit_beta(X, Y, 1.01 * top, 0).n_active == 0
    model = method.fit_beta(X, Y, 0.1 * top, 0)
    np.testing.assert_allclose(model.objective, method.fit(X, Y, 0.1, 0).objective, rtol=1e-5)
    loss = np.mean((model.decision(X) - np.where(Y == 1, 1, -1)) ** 2) / 2
    norms = np.linalg.norm(model.coefficients.coef[0], axis=1).sum()
    np.testing.assert_allclose(model.objective, loss + 0.1 * top * norms, rtol=1e-8)


def test_refinement_lowers_the_objective_and_keeps_the_number_of_gates():
    plain = ConvexGated("cross", n_gates=8, loss="squared")
    refined = ConvexRefined("cross", n_gates=8, loss="squared", rounds=2)
    beta = 0.05 * plain.beta_max(X, Y, 1)
    first, better = plain.fit_beta(X, Y, beta, 1), refined.fit_beta(X, Y, beta, 1)
    assert better.objective < 0.95 * first.objective
    assert len(better.gates) <= 8
    assert better.gap <= 1e-6
    assert "2 rounds" in refined.describe()


@pytest.mark.slow
def test_relu_objective_is_between_gated_and_decomposed():
    share, options = 0.05, {"n_gates": 10, "loss": "squared"}
    gated = ConvexGated("cross", **options).fit(X, Y, share, 0)
    above = DecomposedReLU("cross", **options).fit(X, Y, share, 0)
    np.testing.assert_allclose(above.decision(X), gated.decision(X), atol=1e-6)
    method = ConvexReLU(n_gates=10, shares=(1.0,))
    top = method.fit(X, Y, 1.0, 0).beta
    relu = method.fit(X, Y, gated.beta / top, 0)
    assert math.isclose(relu.beta, gated.beta)
    assert gated.objective * (1 - 1e-6) <= relu.objective <= above.objective * (1 + 1e-6)
    assert len(list(method.fit_grid(X, Y, (0.5, 0.1), 0))) == 2


# --------------------------------------------------------------------------------------------------- statistics


def test_comparison_is_the_paired_t_test_and_wilcoxon():
    first, second = rng.standard_normal(8) + 0.3, rng.standard_normal(8)
    a, b = ({str(i): v for i, v in enumerate(values)} for values in (first, second))
    one = compared(a, {**b, "extra": 9.0})
    assert one.trials == 8
    np.testing.assert_allclose(one.t, stats.ttest_rel(first, second).pvalue)
    np.testing.assert_allclose(one.wilcoxon, stats.wilcoxon(first, second).pvalue)
    np.testing.assert_allclose([one.mean, one.error], [np.mean(first - second), stats.sem(first - second)])
    assert one.wins + one.losses == 8


def test_comparison_without_spread():
    same = {"0": 0.5, "1": 0.5, "2": 0.75}
    assert compared(same, same)[1:] == (0.0, 0.0, 1.0, 1.0, 0, 3, 0)
    assert compared({"0": 1.0}, {"0": 0.5})[:2] == (1, 0.5)
    assert math.isnan(compared({"0": 1.0}, {"0": 0.5}).t)
    assert math.isnan(compared({}, {"0": 0.5}).mean)
    assert t_test([0.5, 0.5, 0.5]) == 0.0


def test_holm_is_monotone_and_leaves_nan_out():
    corrected = holm([0.04, math.nan, 0.001, 0.03])
    np.testing.assert_allclose(corrected, [0.06, math.nan, 0.003, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


# ---------------------------------------------------------------------------------------------------- gate rules


@pytest.mark.slow
def test_gate_rules_run_and_go_on(folder):
    said = []
    options = {"seeds": 2, "sizes": (40,), "methods": ("cross", "opposite"), "say": said.append}
    first = gate_rules.run(Settings(folder / "out", folder, **options))
    assert {path.name for path in first} == {"gate_rules.csv", "gate_rules.md", "gate_rules.png", "gate_rules.txt"}
    rows = read_rows(folder / "out" / "gate_rules.csv")
    assert [(row["seed"], row["rule"]) for row in rows] == [
        (seed, rule) for seed in "01" for rule in ("gaussian", "cross", "opposite")
    ]
    assert len({row["equal_beta"] for row in rows}) == 2  # one for each trial, shared by its rules
    assert all(float(row["gap"]) <= 1e-6 and float(row["equal_gap"]) <= 1e-6 for row in rows)
    trial = draw(Binary.of(load_features(folder / "made.npz")), 40, 0)
    model = gate_rules.RULES["cross"](60.0)
    choice = choose(model, trial, 60.0)
    assert float(rows[1]["test_accuracy"]) == round(choice.accuracy(X_ALL[1::2], Y_ALL[1::2]), 6)
    same = model.fit_beta(choice.scaling(trial.X), trial.y, float(rows[1]["equal_beta"]), 0)
    np.testing.assert_allclose(float(rows[1]["equal_objective"]), same.objective, rtol=1e-6)
    gate_rules.run(Settings(folder / "out", folder, **options))
    assert read_rows(folder / "out" / "gate_rules.csv") == rows
    assert any("made: 2 of 2 trials were found" in line for line in said)


@pytest.mark.slow
def test_every_rule_runs(folder):
    trial = draw(Binary.of(load_features(folder / "made.npz")), 40, 0)
    for name, make in gate_rules.RULES.items():
        method = make(60.0)
        assert method.name == name
        model = method.fit(trial.X - trial.X.mean(axis=0), trial.y, 0.1, 0)
        assert 1 <= len(model.gates) <= 50


def rows_of(differences, objective=1.0):
    """Rows of two rules on sets a, b, …: cross is above gaussian by these differences, trial by trial."""
    rows = []
    for name, gains in zip("abcdef", differences, strict=False):
        for seed, gain in enumerate(gains):
            base = {"set": name, "n": "500", "seed": str(seed)}
            rows.append({**base, "rule": "gaussian", "test_accuracy": "0.7", "equal_objective": "1.0"})
            rows.append({**base, "rule": "cross", "test_accuracy": str(0.7 + gain), "equal_objective": str(objective)})
    return rows


@pytest.mark.parametrize(
    ("differences", "answer"),
    [
        ([[0.01, 0.02], [0.015, 0.02], [0.02, 0.02]], "**Yes** (better): higher mean test accuracy in 3 of 3"),
        ([[-0.01, -0.02], [-0.02, -0.02], [-0.02, -0.01]], "**No, they are worse** (worse): higher mean test accura"),
        ([[0.01, 0.02], [-0.02, -0.02], [0.02, -0.01]], "**Not shown** (not significant)"),
        ([[0.01, 0.02, 0.02]], "**Not shown** (one set alone is not enough)"),
        ([[0.0, 0.0], [0.0, 0.0]], "**Not shown** (not significant): higher mean test accuracy in 0 of 2"),
    ],
)
def test_the_answer_is_what_the_numbers_say(differences, answer):
    assert answer in rules_report(rows_of(differences), "gaussian")


def test_the_report_counts_winners_and_objectives():
    text = rules_report(rows_of([[0.01, 0.02], [-0.01, -0.02], [-0.01, -0.01]], objective=0.9), "gaussian")
    assert "**gaussian**, in 2 of 3 cells" in text
    assert "| cross | not significant | -0.33 ± 0.93 | 0.754 | 1 / 0 / 2 |" in text
    assert "| 2 / 0 / 4 | 3 of 3 |" in text
    assert "| cross | 71.50 | +1.50 ± 0.50 | 0.205 (0.500) | 2 / 0 / 0 | -10.00 ± 0.00 |" in text
    panel = rules_panels(rows_of([[0.01, 0.02]]), "gaussian")[0]
    np.testing.assert_allclose(panel.series[0].mean, [1.5])


def test_unknown_rules_and_variants_are_refused(folder):
    for message, module, options in (
        ("'methods' parameter of gate_rules must be one of 'gaussian'", gate_rules, {"methods": ("hash",)}),
        ("'methods' parameter of ablations must be one of 'base'", ablations, {"methods": ("hash",)}),
        (r"'sizes' parameter of gate_rules must be at most 120\. Got 500", gate_rules, {"sizes": (500,)}),
    ):
        refused(message, module.run, Settings(folder / "out", folder, **options))


# ----------------------------------------------------------------------------------------------------- ablations


def test_variants_that_make_no_sense_are_left_out():
    present = [("exact", 384, 2000), ("exact", 784, 2000), ("r=50", 71, 2000)]
    absent = [
        ("exact", 1536, 2000),  # most of the rows would lie on the plane
        ("exact", 71, 2000),  # the base is exact there
        ("r=200", 71, 2000),
        ("srht", 71, 2000),
        ("r=200", 384, 300),
    ]
    assert None not in [ablations.make_variant(*case, 60.0) for case in present]
    assert {ablations.make_variant(*case, 60.0) for case in absent} == {None}
    assert ablations.make_variant("base", 71, 2000, 60.0).sketch_dim is None
    assert ablations.make_variant("base", 384, 2000, 60.0).sketch_dim == 100
    variants = {variant for levels in ablations.FACTORS.values() for variant in levels.values()}
    assert variants == set(ablations.VARIANTS)


@pytest.mark.slow
def test_ablations_run_and_go_on(folder):
    said = []
    methods = ("base", "m=10", "bias", "mirror", "small-gated", "small-decomposed")
    options = {"seeds": 2, "sizes": (60,), "methods": methods}
    first = ablations.run(Settings(folder / "out", folder, say=said.append, **options))
    assert {path.suffix for path in first} == {".csv", ".md", ".png", ".txt"}
    rows = read_rows(folder / "out" / "ablations.csv")
    assert len(rows) == 12
    assert {(row["variant"], row["n"]) for row in rows} >= {("base", "60"), ("small-gated", "120")}
    assert {int(row["n_gates"]) for row in rows if row["variant"] == "m=10"} == {10}
    assert all(float(row["gap"]) <= 1e-6 for row in rows if row["variant"] != "small-decomposed")
    assert all(row["gap"] == "" for row in rows if row["variant"] == "small-decomposed")
    text = (folder / "out" / "ablations.md").read_text()
    assert text.count("## ") == 4  # gates, rule, bias, ReLU: the others have the base alone
    assert "| made | 60 | 10 | 2 |" in text
    ablations.run(Settings(folder / "out", folder, say=said.append, **options))
    assert read_rows(folder / "out" / "ablations.csv") == rows
    assert any("made: 12 of 12 were found" in line for line in said)


def test_the_table_compares_trial_by_trial():
    rows = [
        {
            "set": "a", "n": "60", "seed": str(seed), "variant": variant, "test_accuracy": str(accuracy), "gap": "1e-7",
            "validation_accuracy": "0.5", "objective": "0.25", "n_active": "3", "seconds": "2.0",
        }
        for variant, scores in (("base", (0.5, 0.7)), ("bias", (0.6, 0.9)))
        for seed, accuracy in enumerate(scores)
    ]  # fmt: skip
    text = ablations_report(rows, ablations.FACTORS)
    assert "| a | 60 | no | 2 | 60.00 ± 14.14 |  | 50.00 | 0.25 | 1e-7 | 3 | 2.00 |" in text
    assert "| a | 60 | yes | 2 | 75.00 ± 21.21 | +15.00 ± 5.00 | 50.00 | 0.25 | 1e-7 | 3 | 2.00 |" in text


def test_pictures_need_a_panel():
    refused("'panels' parameter of variant_figure must be one panel or more", variant_figure, [])
    one = Variants("made", ("a", "b"), np.array([1.0, np.nan]), np.array([0.1, np.nan]))
    figure = variant_figure([Panel("seconds", "s", (one,), log=True), Panel("gain", "points", (one,), zero=True)])
    assert [ax.get_xscale() for ax in figure.axes] == ["log", "linear"]
