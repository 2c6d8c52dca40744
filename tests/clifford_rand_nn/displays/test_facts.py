"""Records of fits: leave-one-out scores beside baselines, and warnings; JSON can hold them."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, r2_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, GatedReLUClassifier
from clifford_rand_nn.cli.info import show_facts
from clifford_rand_nn.displays import baselines
from clifford_rand_nn.displays.baselines import Folds, linear_model, make_folds, native_categories, predict_left_out
from clifford_rand_nn.displays.collect import collect_facts, paired, score_warnings
from clifford_rand_nn.displays.facts import Rows
from clifford_rand_nn.displays.model_warnings import group_warnings, leakage_warning, overlap_warning, sample_warnings
from clifford_rand_nn.displays.page import report_page
from clifford_rand_nn.scores import score_classes, score_numbers
from clifford_rand_nn.tables import TableEncoder

rng = np.random.default_rng(3)
X = rng.standard_normal((60, 3))
KIND = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "yes", "no")
VALUE = np.abs(X[:, 0]) - X[:, 1] + 0.1 * rng.standard_normal(60)


@pytest.fixture(scope="module")
def classified():
    model = ConvexNetworkClassifier(max_metric_iter=0, loss="squared").fit(X, KIND)
    return model, collect_facts(model, Rows(X, KIND, path="t.csv", target="kind"), seconds=0.5)


def test_scores_are_those_of_scikit_learn():
    chance = np.clip(rng.random(60), 0.05, 0.95)
    both, weights = np.column_stack([1 - chance, chance]), rng.random(60)
    labels, truth = np.array(["no", "yes"]), KIND == "yes"
    scores = score_classes(KIND, labels[both.argmax(axis=1)], labels, both, weights)
    assert scores.accuracy == pytest.approx(accuracy_score(truth, chance > 0.5, sample_weight=weights))
    assert scores.log_loss == pytest.approx(log_loss(truth, chance, sample_weight=weights))
    assert scores.brier == pytest.approx(2 * brier_score_loss(truth, chance, sample_weight=weights))
    numbers = score_numbers(VALUE, X[:, 0], weights, (VALUE - 1, VALUE + np.where(truth, 1, -0.5)))
    assert numbers.r2 == pytest.approx(r2_score(VALUE, X[:, 0], sample_weight=weights))
    assert numbers.coverage == pytest.approx(weights[truth].sum() / weights.sum())


def test_calibrated_probabilities_have_a_small_calibration_error_and_others_have_not():
    local = np.random.default_rng(0)
    chance = local.random(20_000)
    labels, y = np.array([0, 1]), (local.random(20_000) < chance).astype(int)
    errors = []
    for told in (chance, np.clip(1.5 * (chance - 0.5) + 0.5, 0, 1)):
        both = np.column_stack([1 - told, told])
        errors.append(score_classes(y, labels[both.argmax(axis=1)], labels, both).calibration_error)
    assert errors[0] < 0.02  # ten bins of 2000 rows: a standard error of .003 each
    assert errors[1] == pytest.approx(1 / 12, abs=0.02)  # the mean of |told - chance|


def test_rows_are_predicted_by_fits_without_them():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    folds = Folds([test for _, test in StratifiedKFold(5).split(X, KIND)], 60, "")
    found = predict_left_out(model, Rows(X, KIND), folds)
    expected = cross_val_predict(model, X, KIND, cv=StratifiedKFold(5), method="predict_proba")
    np.testing.assert_allclose(found.probabilities, expected)
    assert found.rows.tolist() == list(range(60))


def test_copies_and_groups_are_left_out_together():
    rows, y = np.repeat(X[:20], 3, axis=0), np.repeat(KIND[:20], 3)
    for given, same in ((None, np.repeat(np.arange(20), 3)), (np.arange(60) % 12, np.arange(60) % 12)):
        for held in make_folds(Rows(rows, y, groups=given), classes=True).held:
            assert not np.isin(same[held], same[np.setdiff1d(np.arange(60), held)]).any()


def test_duplicates_with_other_labels_are_observations_of_their_own():
    rows, y = np.repeat(X[:20], 3, axis=0), np.tile(["a", "b", "a"], 20)
    held = make_folds(Rows(rows, y), classes=True).held[0]
    same = np.repeat(np.arange(20), 3)
    assert np.isin(same[held], same[np.setdiff1d(np.arange(60), held)]).any()


@pytest.mark.slow
def test_labels_of_chance_get_no_credit_for_their_copies():
    """Each row is there twice: a fit that has seen the copy is right on all, an honest one on half."""
    local = np.random.default_rng(1)
    rows, y = np.repeat(local.standard_normal((80, 6)), 2, axis=0), np.repeat(local.integers(0, 2, 80), 2)
    folds = make_folds(Rows(rows, y), classes=True)
    found = predict_left_out(lambda train: linear_model(train, classes=True), Rows(rows, y), folds)
    accuracy = np.mean(found.labels == y)
    assert accuracy < 0.72  # 80 fair coins: beyond that once in 10^4


def test_facts_of_classes(classified):
    model, facts = classified
    left = facts.left_out
    assert (left.method, left.linear_method) == ("leave-one-out", "10-fold cross-validation")
    assert left.scores.accuracy == pytest.approx(model.loo_score_)
    assert left.baseline_scores.accuracy <= max(np.mean(KIND == "yes"), np.mean(KIND == "no"))
    assert left.confusion.sum() == 60
    assert np.trace(left.confusion) == round(60 * left.scores.accuracy)
    np.testing.assert_array_equal(left.predicted, model.loo_predictions_)
    assert facts.task == "classification"
    assert facts.classes == tuple(zip(*np.unique(KIND, return_counts=True), strict=True))
    assert "this says nothing about new rows" in facts.proof.sentence
    assert {choice.name for choice in facts.selected} >= {"scaling", "constant feature", "beta"}
    assert facts.warnings == ()
    plain = json.loads(json.dumps(facts.as_dict(), allow_nan=False))
    assert plain["left_out"]["scores"]["accuracy"] == left.scores.accuracy
    assert plain["proof"]["relative_gap"] >= 0
    assert "probabilities" not in plain["left_out"]


@pytest.mark.slow
def test_facts_of_numbers_weights_and_test_rows():
    weights = np.where(np.arange(60) < 10, 0.0, 1.0 + np.arange(60) % 2)
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, VALUE, sample_weight=weights)
    test = Rows(X[:10], VALUE[:10], path="test.csv")
    facts = collect_facts(model, Rows(X, VALUE, weights), test=test)
    assert facts.n_rows == 50
    assert facts.weights == (1.0, 2.0)
    assert facts.left_out.rows.tolist() == list(range(10, 60))
    assert facts.left_out.scores.r2 == pytest.approx(model.loo_score_)
    assert facts.test.scores.r2 == pytest.approx(r2_score(VALUE[:10], model.predict(X[:10])))
    assert facts.test.scores.coverage is not None
    assert [warning.code for warning in facts.warnings if warning.code == "train_test_overlap"] == [
        "train_test_overlap"
    ]


@pytest.mark.slow
def test_a_finite_network_is_judged_by_folds():
    model = GatedReLUClassifier(n_gates=5, beta=0.05, tol=1e-2, random_state=0).fit(X, KIND)
    facts = collect_facts(model, Rows(X, KIND), seconds=0.1)
    assert facts.left_out.method == "5-fold cross-validation"
    folds, right = make_folds(Rows(X, KIND), classes=True, count=5), 0
    for held in folds.held:
        kept = folds.kept(held)
        right += (clone(model).fit(X[kept], KIND[kept]).predict(X[held]) == KIND[held]).sum()
    assert facts.left_out.scores.accuracy == pytest.approx(right / 60)
    slow = collect_facts(model, Rows(X, KIND), seconds=1e3)
    assert slow.left_out.method == "a validation set of 12 rows"


def codes(warnings):
    return [warning.code for warning in warnings]


def test_the_linear_model_is_judged_on_the_rows_that_the_model_left_out(monkeypatch):
    """Of very many rows both leave out some, not the same: rows were matched by place, and true ones called wrong."""
    monkeypatch.setattr(baselines, "_SMALL", 1.0)  # one fold, a fifth of the rows
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = ConvexNetworkClassifier(max_metric_iter=0, loss="squared").fit(X, y)
    fold = baselines.baseline_folds(Rows(X, y), classes=True).rows
    some = np.setdiff1d(np.arange(60), fold)[:10]
    model = copy.copy(model)
    model.loo_mask_ = np.isin(np.arange(60), some)
    facts = collect_facts(model, Rows(X, y), seconds=0.1)
    np.testing.assert_array_equal(facts.left_out.rows, some)
    kept = np.setdiff1d(np.arange(60), some)
    linear = linear_model(Rows(X[kept], y[kept]), classes=True).fit(X[kept], y[kept])
    assert facts.left_out.linear_scores.accuracy == pytest.approx(linear.score(X[some], y[some]))
    assert facts.left_out.linear_scores.log_loss == pytest.approx(log_loss(y[some], linear.predict_proba(X[some])))
    assert facts.left_out.linear_method == "the same rows"


def test_cautions_of_rows():
    assert codes(sample_warnings(X, KIND, classes=True)) == []
    assert codes(sample_warnings(X[:2], KIND[:2], classes=False)) == ["few_rows"]
    rare = KIND.astype("U5")
    rare[:4] = "maybe"
    (warning,) = sample_warnings(X, rare, classes=True)
    assert warning.code == "rare_class"
    assert "maybe (4)" in warning.text
    twice, other = np.concatenate([X, X[:6]]), np.where(KIND[:6] == "yes", "no", "yes")
    assert codes(sample_warnings(twice, np.concatenate([KIND, KIND[:6]]), classes=True)) == ["duplicate_rows"]
    both = sample_warnings(twice, np.concatenate([KIND, other]), classes=True)
    assert codes(both) == ["duplicate_rows", "conflicting_duplicates"]
    assert both[1].text.startswith("12 rows are equal")
    assert overlap_warning(X, X + 1) == []
    assert overlap_warning(X, np.concatenate([X[:3], X + 1]))[0].text.startswith("3 of 63 test rows (4.8%)")


def test_a_column_that_tells_the_target_is_named():
    leak = np.where(KIND == "yes", 1.0, 0.0) * 3 + 0.1 * rng.standard_normal(60)
    origin = ("a", "b", "c", "outcome")
    (warning,) = leakage_warning(Rows(np.column_stack([X, leak]), KIND, origin=origin), classes=True)
    assert warning.columns == ("outcome",)
    assert leakage_warning(Rows(X, KIND, origin=origin[:3]), classes=True) == []
    (warning,) = leakage_warning(Rows(np.column_stack([X, 2 * VALUE]), VALUE, origin=origin), classes=False)
    assert warning.columns == ("outcome",)


def test_an_id_that_repeats_asks_for_groups():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"patient_id": np.arange(60) // 4, "paid": np.arange(60) // 4, "row_id": np.arange(60)})
    (warning,) = group_warnings(frame, [(name, "numeric") for name in frame.columns])
    assert warning.columns == ("patient_id",)
    assert "--groups patient_id" in warning.text


def test_scores_that_are_no_better_are_told(classified):
    facts = classified[1]
    left = facts.left_out
    same = replace(facts, left_out=replace(left, scores=left.baseline_scores))
    assert codes(score_warnings(same)) == ["no_better_than_baseline"]
    assert f"no better than always {left.baseline_label}" in score_warnings(same)[0].text


@pytest.mark.slow
@pytest.mark.parametrize(("difference", "verdict"), [(-0.05, "worse"), (-0.03, "within noise"), (0.05, "better")])
def test_page_text_and_warning_have_one_verdict(classified, difference, verdict, capsys):
    """The standard error is 0.02: the page, the lines of the terminal and the warning take twice as much as noise."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    model, facts = classified
    compared = replace(facts.left_out, difference=difference, std_error=0.02)
    facts = replace(facts, test=compared, seconds=1e3)  # nothing is fitted again for the page
    facts = replace(facts, warnings=tuple(score_warnings(facts)))
    assert ("linear_is_better" in codes(facts.warnings)) == (verdict == "worse")
    page = report_page(facts, model, Rows(X, KIND))
    headline = page[page.index('class="lead"') : page.index('class="bars"')]
    assert ("within noise" if verdict == "within noise" else f"That is {verdict} than logistic") in headline
    show_facts(facts)
    printed = capsys.readouterr().out.partition("scores on the test set")[2]
    assert f"by {abs(difference):.4f} ± 0.0200 (standard error)" in printed
    assert (", within noise" in printed) == (verdict == "within noise")


def test_the_error_of_a_difference_is_paired():
    """Two guesses with the same mistakes do not differ, however many these are."""
    wrong = np.where(np.arange(60) < 30, "no", "yes")
    assert paired(KIND, wrong, wrong, None, True) == (0.0, 0.0)
    difference, error = paired(KIND, KIND, wrong, None, True)
    missed = np.mean(wrong != KIND)
    assert difference == pytest.approx(missed)
    assert error == pytest.approx(np.sqrt(missed * (1 - missed) / 60))


def test_boosting_takes_one_thread(monkeypatch):
    """Those of OpenMP wait for each other where cores are busy."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    threads = []

    class Recorder(Ridge):
        def fit(self, X, y):
            threads.extend(own["num_threads"] for own in threadpool_info() if own["user_api"] == "openmp")
            return super().fit(X, y)

    monkeypatch.setattr(baselines, "_boosting", lambda is_code, classes: Recorder())
    rows = Rows(X, X[:, 0])
    folds = baselines.make_folds(rows, classes=False)
    with threadpool_limits(2, user_api="openmp"):
        baselines.predict_boosted(rows, np.arange(60), folds, classes=False)
        baselines.predict_boosted_test(rows, rows, classes=False)
        after = {own["num_threads"] for own in threadpool_info() if own["user_api"] == "openmp"}
    assert len(threads) >= 3
    assert set(threads) == {1}
    assert after == {2}


@pytest.mark.slow
def test_boosting_gets_categories_as_codes_and_the_leaderboard_compares_on_the_same_rows():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    city = rng.choice(["a", "b", "c", None], 200)
    frame = pandas.DataFrame({"x": rng.normal(size=200), "city": city, "many": [f"w{i % 40}" for i in range(200)]})
    y = frame["x"].to_numpy() + 2.0 * (city == "a") + 0.1 * rng.normal(size=200)
    encoder = TableEncoder().fit(frame, y)
    names = {"origin": tuple(encoder.source_columns_), "columns": encoder.columns_, "frame": frame}
    rows = Rows(encoder.transform(frame), y, names=tuple(encoder.get_feature_names_out()), **names)
    X, is_code = native_categories(rows)
    assert is_code.tolist() == [False, True, True]
    np.testing.assert_array_equal(np.isnan(X[:, 1]), frame["city"].isna())
    for word in "abc":
        assert len(np.unique(X[city == word, 1])) == 1
    assert len(np.unique(X[:, 2])) == 40
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(rows.X, y)
    new = frame.iloc[:50].assign(city=["a", "unknown"] * 25)
    test = Rows(encoder.transform(new), y[:50], frame=new)
    coded = native_categories(test, rows)[0]
    np.testing.assert_array_equal(coded[:, 2], X[:50, 2])
    assert set(coded[::2, 1]) == set(X[city == "a", 1])
    assert set(coded[1::2, 1]) == {3.0}  # a code that no training row has
    facts = collect_facts(model, rows, test=test)
    assert {of.name for of in facts.test.leaderboard} == {
        "this model",
        "gradient boosting",
        "ridge regression",
        f"always {facts.test.baseline_label}",
    }
    for of in facts.test.leaderboard:
        assert of.n_rows == 50
        assert of.difference is None or of.score + of.difference == pytest.approx(facts.test.scores.r2)
    assert collect_facts(model, rows, test=test, compare=False).test.leaderboard == ()
    board = facts.left_out.leaderboard
    assert {of.name for of in board} >= {"this model", "gradient boosting", "ridge regression"}
    for standings in (board, facts.test.leaderboard):
        differences = [of.difference or 0.0 for of in standings]
        assert differences == sorted(differences)
    mine = next(of for of in board if of.name == "this model")
    assert (mine.difference, mine.std_error) == (None, None)
    for of in board:
        if of is not mine and of.n_rows == mine.n_rows:
            np.testing.assert_allclose(mine.score - of.score, of.difference, rtol=1e-9)
            assert of.std_error > 0


def test_the_area_under_the_curve_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 40), rng.integers(0, 8, 40) / 8
    scores = score_classes(y, (p > 0.5).astype(int), np.array([0, 1]), np.column_stack([1 - p, p]))
    pairs = [(a > b) + 0.5 * (a == b) for a in p[y == 1] for b in p[y == 0]]
    assert scores.roc_auc == pytest.approx(np.mean(pairs))
    three = np.full((40, 3), 1 / 3)
    assert score_classes(y, y, np.arange(3), three).roc_auc is None
    assert score_classes(np.ones(4, int), np.ones(4, int), np.array([0, 1]), three[:4, :2]).roc_auc is None
