"""Estimates on later rows: the blocks, scores and intervals of random walks, ties, refusals, model files."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import clifford_rand_nn as nn
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.displays.baselines import make_folds
from clifford_rand_nn.displays.collect import collect_facts
from clifford_rand_nn.displays.facts import Rows
from clifford_rand_nn.estimators.folds import later_blocks
from clifford_rand_nn.scores import about_means, r_squared
from clifford_rand_nn.tables import TableWarning

N, SEEDS = 150, 6
LATER = N // 15  # rows of a block


def _walk(seed, n=N):
    t = np.arange(n, dtype=np.float64)
    return t[:, None], np.random.default_rng(seed).standard_normal(n).cumsum()


@pytest.mark.slow
def test_scores_and_intervals_of_random_walks_are_those_of_later_rows():
    lines = []
    for seed in range(SEEDS):
        X, y = _walk(seed, N + LATER)
        model = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X[:N], y[:N], order=X[:N, 0])
        predicted, low, high = model._predict_with_interval(X[N:])
        truth = y[N:]
        squared, spread = ((predicted - truth) ** 2).sum(), ((truth - truth.mean()) ** 2).sum()
        random = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X[:N], y[:N])
        low_, high_ = random.predict_interval(X[N:])
        covered = [((a <= truth) & (truth <= b)).mean() for a, b in ((low, high), (low_, high_))]
        lines.append((model.loo_score_, random.loo_score_, squared, spread, *covered))
    stated, by_leave_one_out, squared, spread, covered, covered_by_leave_one_out = np.array(lines).T
    truth = 1 - squared.sum() / spread.sum()
    # both are ratios of means over 6 walks, whose standard errors, by the spread of walks, are about 0.8
    assert by_leave_one_out.mean() > 0.9
    assert truth < 0
    assert abs(stated.mean() - truth) < 1.5
    assert (stated < 0.5).all()
    # by walk the coverage has a standard deviation of about 0.2: a standard error of 0.08 for 6 walks
    assert 0.8 <= covered.mean() <= 1.0
    assert covered_by_leave_one_out.mean() < 0.6


@pytest.mark.slow
def test_where_rows_do_not_depend_on_time_scores_and_intervals_are_those_of_leave_one_out():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1300, 3))
    y = np.abs(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(1300)
    loo = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X[:300], y[:300])
    model = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X[:300], y[:300], order=np.arange(300))
    assert model.loo_score_ == pytest.approx(loo.loo_score_, abs=0.05)
    assert (model.n_order_blocks_, loo.n_order_blocks_) == (10, 0)
    low, high = model.predict_interval(X[300:])
    assert 0.88 <= ((low <= y[300:]) & (y[300:] <= high)).mean() <= 0.96
    np.testing.assert_array_equal(model.predict(X[300:]), loo.predict(X[300:]))
    np.testing.assert_array_equal(np.flatnonzero(model.loo_mask_), np.arange(100, 300))


def test_each_block_is_predicted_by_a_fit_to_the_rows_before():
    X, y = _walk(3)
    order = np.random.default_rng(0).permutation(N)  # rows need not be sorted
    model = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X[order], y[order], order=X[order, 0])
    errors = spread = 0.0
    for start in range(50, 150, 10):
        held = np.flatnonzero((order >= start) & (order < start + 10))
        before = order < start
        alone = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X[order][before], y[order][before])
        np.testing.assert_allclose(model.loo_predictions_[held], alone.predict(X[order][held]), rtol=1e-9, atol=1e-9)
        truth = y[order][held]
        errors += ((truth - model.loo_predictions_[held]) ** 2).sum()
        spread += ((truth - truth.mean()) ** 2).sum()
    assert model.loo_score_ == pytest.approx(1 - errors / spread)


@pytest.mark.slow
def test_classes_groups_and_weights():
    rng = np.random.default_rng(1)
    n = 120
    t = np.arange(n)
    labels = np.array(["a", "b", "c"])[np.where(t < 60, rng.integers(0, 2, n), rng.integers(0, 3, n))]
    X = np.column_stack([t, labels == "a", labels == "b"]).astype(float) + 0.1 * rng.standard_normal((n, 3))
    weights, groups = rng.integers(0, 3, n), rng.integers(0, 12, n)
    model = nn.ConvexNetworkClassifier(max_metric_iter=0).fit(X, labels, weights, groups, t)
    judged = model.loo_mask_
    assert not judged[weights == 0].any()
    assert judged.sum() == pytest.approx((weights > 0).sum() * 2 / 3, abs=5)
    right = model.loo_predictions_ == labels
    assert model.loo_score_ == pytest.approx(np.average(right[judged], weights=weights[judged]))
    np.testing.assert_allclose(model.loo_probabilities_[judged].sum(axis=1), 1.0)
    first = np.flatnonzero(judged)[:3]
    if "c" not in labels[: first[0]]:
        assert (model.loo_probabilities_[first, 2] == 0).all()  # a class that comes later


@pytest.mark.parametrize("values", [3, 7, 40])
def test_rows_of_equal_times_stay_together(values):
    ranks = np.sort(np.random.default_rng(values).integers(0, values, 200))
    blocks = later_blocks(np.unique(ranks, return_inverse=True)[1])
    assert 1 <= len(blocks) <= min(10, values - 1)
    for before, block in blocks:
        assert ranks[before].max() < ranks[block].min()
        assert np.isin(np.flatnonzero(np.isin(ranks, ranks[block])), block).all()
    for (before, block), (later, _) in pairwise(blocks):
        np.testing.assert_array_equal(np.sort([*before, *block]), later)


def test_one_time_has_nearly_all_rows():
    blocks = later_blocks(np.array([0] * 5 + [1] * 95))
    assert [(len(before), len(block)) for before, block in blocks] == [(5, 95)]
    assert later_blocks(np.zeros(9, dtype=int)) == []


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (np.zeros(60), "'order' parameter of ConvexNetworkRegressor must be of two values or more"),
        (np.r_[np.nan, np.arange(59)], "'order' parameter .* must be values that are all numbers or all dates, none"),
        (np.array(["2024-01-01"] * 60), "'order' parameter .* Got text instead. pandas.to_datetime reads dates"),
        (np.arange(59), "'order' parameter .* must be one label for each row. Got 59 labels for 60 rows"),
        (np.array([0] * 1 + [1] * 59), "'order' parameter .* must be of rows that can be fitted without the last ones"),
    ],
)
def test_refusals(order, message):
    X, y = _walk(0, 60)
    with pytest.raises(ArgumentError, match=message):
        nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X, y, order=order)


@pytest.fixture
def table():
    n = 90
    days = pd.date_range("2024-01-01", periods=n)
    rng = np.random.default_rng(0)
    walk = pd.DataFrame({"day": days, "noise": rng.standard_normal(n), "level": rng.standard_normal(n).cumsum()})
    return walk.sample(frac=1, random_state=1)


@pytest.mark.slow
def test_table_model_by_name_text_format_and_array(table):
    by_name = nn.table_model(table, "level", order="day", estimator=nn.ConvexNetworkRegressor(max_metric_iter=0))[-1]
    texts = table.assign(day=table["day"].dt.strftime("%d/%m/%Y"))
    encoder = nn.TableEncoder(date={"day": "%d/%m/%Y"})
    by_text = nn.table_model(texts, "level", order="day", encoder=encoder, estimator=by_name)[-1]
    array = nn.table_model(table, "level", order=table["day"].to_numpy(), estimator=by_name)[-1]
    assert by_name.n_order_blocks_ == 10
    assert by_name.loo_score_ == by_text.loo_score_ == array.loo_score_
    assert by_name.loo_score_ < 0.6
    numbers = table.assign(day=np.arange(90)[np.argsort(np.argsort(table["day"]))])
    left_out = nn.table_model(numbers, "level", order="day", encoder=nn.TableEncoder(drop=["day"]), estimator=by_name)
    assert [column.kind for column in left_out[0].columns_] == ["dropped", "numeric"]
    assert left_out[-1].n_order_blocks_ == 10


def test_missing_dates_are_one_error_and_those_without_a_target_do_not_count(table):
    gone = table.assign(day=table["day"].where(table["noise"] < 1))
    count = int(gone["day"].isna().sum())
    with pytest.raises(ArgumentError, match=rf"column of order 'day' has {count} of 90 cells that are missing"):
        nn.table_model(gone, "level", order="day")
    gone["level"] = gone["level"].where(gone["day"].notna())
    with pytest.warns(TableWarning, match=f"missing in {count} of 90 rows"):
        nn.table_model(gone, "level", order="day", estimator=nn.ConvexNetworkRegressor(max_metric_iter=0))


def test_dates_without_an_order_are_warned_of_once(table, recwarn):
    nn.table_model(table, "level", estimator=nn.ConvexNetworkRegressor(max_metric_iter=0))
    notes = [str(note.message) for note in recwarn if "order=" in str(note.message)]
    assert notes == [
        "'day' is a date, and rows are left out whatever their time: scores and intervals are those of rows between "
        "others; give order='day' if new rows will be later"
    ]
    recwarn.clear()
    nn.table_model(table, "level", order="day", estimator=nn.ConvexNetworkRegressor(max_metric_iter=0))
    assert not [note for note in recwarn if "order=" in str(note.message)]


@pytest.mark.slow
def test_report_compares_on_the_same_blocks(table):
    X = nn.TableEncoder().fit_transform(table[["day", "noise"]])
    y, order = table["level"].to_numpy(), table["day"].to_numpy()
    model = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X, y, order=order)
    facts = collect_facts(model, Rows(X, y, order=order))
    left = facts.left_out
    assert left.method == "10 blocks of later rows, each predicted by a fit to the rows before it"
    assert left.scores.r2 == pytest.approx(model.loo_score_)
    assert left.linear_method == ""
    assert left.baseline_scores.r2 < 0
    assert "the next rows in time" in facts.intervals
    assert "blocks of later rows" in facts.intervals
    folds = make_folds(Rows(X, y, order=order), classes=False)
    np.testing.assert_array_equal(folds.rows, np.flatnonzero(model.loo_mask_))
    for held in folds.held:
        assert order[folds.kept(held)].max() < order[held].min()


def test_r_squared_within_blocks_is_unchanged_by_their_levels():
    rng = np.random.default_rng(0)
    (y, predicted), weights, blocks = rng.normal(size=(2, 60, 2)), rng.random(60), np.arange(60) % 4
    moved = 100.0 * blocks[:, None]
    within = r_squared(*about_means(y, predicted, weights, blocks), weights)
    assert r_squared(*about_means(y + moved, predicted + moved, weights, blocks), weights) == pytest.approx(within)
    assert within < r_squared(y + moved, predicted + moved, weights)
