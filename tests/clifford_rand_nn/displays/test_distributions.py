"""Distributions of columns and their associations: laws, agreement with SciPy, missing cells, limits."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr
from scipy.stats.contingency import association as scipy_association

pandas = pytest.importorskip("pandas")
from clifford_rand_nn.displays import distributions  # noqa: E402
from clifford_rand_nn.displays.distributions import correlation_ratio, cramers_v, describe_columns  # noqa: E402
from clifford_rand_nn.displays.facts import Rows, _plain  # noqa: E402
from clifford_rand_nn.tables import TableEncoder  # noqa: E402


def rows_of(frame, y):
    encoder = TableEncoder().fit(frame)
    return Rows(encoder.transform(frame), y, frame=frame, columns=encoder.columns_, target="y")


def made_frame(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    frame = pandas.DataFrame({"a": a, "noise": rng.standard_normal(n)})
    frame["more"] = np.exp(a + 0.3 * rng.standard_normal(n))
    frame["kind"] = np.where(a > 0.5, "high", np.where(a < -0.5, "low", "mid"))
    frame["day"] = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 400, n), unit="D")
    frame["sure"] = rng.random(n) < 0.5
    frame["id"] = np.arange(n)
    return frame, a + 0.1 * rng.standard_normal(n)


def found_pairs(pairs):
    return {frozenset((pair.first, pair.second)): pair for pair in pairs}


def test_numbers_are_compared_by_ranks_whatever_increasing_map_they_went_through():
    frame, y = made_frame()
    columns, pairs = describe_columns(rows_of(frame, y), classes=False)
    by_name = {column.name: column for column in columns}
    expected = abs(spearmanr(frame["a"], frame["more"]).statistic)
    assert found_pairs(pairs)[frozenset(("a", "more"))].value == pytest.approx(expected)
    assert by_name["a"].association.value == pytest.approx(abs(spearmanr(frame["a"], y).statistic))
    mapped = frame.assign(a=-np.exp(frame["a"]), more=np.log(frame["more"]))
    again = {column.name: column for column in describe_columns(rows_of(mapped, y**3), classes=False)[0]}
    for name, column in by_name.items():
        if column.association is not None:
            assert again[name].association.value == pytest.approx(column.association.value)


def test_the_target_is_first_then_columns_by_their_association_with_it():
    frame, y = made_frame()
    columns, _ = describe_columns(rows_of(frame, y), classes=False)
    assert columns[0].name == "y"
    values = [-1.0 if column.association is None else column.association.value for column in columns[1:]]
    assert values == sorted(values, reverse=True)
    assert [column.kind for column in columns if column.association is None] == ["numeric", "dropped"]
    measures = {column.name: column.association.measure for column in columns if column.association is not None}
    assert measures == {
        **dict.fromkeys(("a", "more", "noise", "day"), "Spearman"),
        **dict.fromkeys(("kind", "sure"), "correlation ratio"),
    }
    labeled = describe_columns(rows_of(frame, np.where(y > 0, "yes", "no")), classes=True)[0]
    assert {c.name: c.association.measure for c in labeled if c.association}["kind"] == "Cramér's V"


def test_shares_and_counts_are_those_of_the_table():
    frame, y = made_frame(200)
    frame.loc[:49, "a"] = np.nan
    frame.loc[:19, "kind"] = "?"
    by_name = {column.name: column for column in describe_columns(rows_of(frame, y), classes=False)[0]}
    assert (by_name["a"].missing, by_name["kind"].missing) == (0.25, 0.1)
    assert sum(by_name["a"].counts) + by_name["a"].below + by_name["a"].above == 150
    shares = frame["kind"].value_counts() / 200
    assert dict(by_name["kind"].bars) == {name: shares[name] for name in ("high", "low", "mid")}
    assert by_name["sure"].kind == "boolean"
    first = (frame["day"].min() - pandas.Timestamp("1970-01-01")).days
    assert by_name["day"].extent[0] == first
    json.dumps(_plain(list(by_name.values())), allow_nan=False)


def test_far_cells_are_counted_beside_the_bins_and_whole_numbers_have_bins_of_their_own():
    x = np.concatenate([np.linspace(0, 1, 99), [1e9]])
    columns, _ = describe_columns(Rows(np.column_stack([x, np.arange(100) % 7]), x), classes=False)
    far = next(column for column in columns if column.name == "column 0")
    assert (far.below, far.above, sum(far.counts), far.extent[1]) == (0, 1, 99, 1e9)
    whole = next(column for column in columns if column.name == "column 1")
    assert whole.edges == tuple(np.arange(-0.5, 7))
    assert whole.counts == (15, 15, 14, 14, 14, 14, 14)


def test_adjusted_measures_of_independent_columns_are_near_zero_and_those_of_functions_are_one():
    """The mean of 200 draws of squares, 30 categories in 100 rows: without the adjustment 0.3 and 0.09 (29 of 99)."""
    rng = np.random.default_rng(0)
    ratio = [correlation_ratio(rng.integers(0, 30, 100), rng.standard_normal(100)) for _ in range(200)]
    assert np.mean(np.square(ratio)) < 0.07
    kinds = [cramers_v(rng.integers(0, 30, 100), rng.integers(0, 3, 100)) for _ in range(200)]
    assert np.mean(np.square(kinds)) < 0.05
    codes = rng.integers(0, 5, 100)
    assert cramers_v(codes, 4 - codes) == pytest.approx(1.0)
    assert correlation_ratio(codes, np.sin(codes)) == pytest.approx(1.0)
    assert cramers_v(codes, np.zeros(100, dtype=int)) is None
    assert correlation_ratio(codes, np.zeros(100)) is None


def test_cramers_v_is_that_of_scipy_where_there_is_nothing_to_adjust():
    """Its bias is (r - 1)(c - 1)/(n - 1) of the square, 1e-5 with 200,000 rows."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200_000)
    b = np.where(rng.random(len(a)) < 0.4, a, rng.integers(0, 3, len(a)))
    table = np.bincount(3 * a + b, minlength=9).reshape(3, 3)
    assert cramers_v(a, b) == pytest.approx(scipy_association(table, method="cramer"), abs=1e-4)


def test_pairs_are_compared_where_both_cells_are_there():
    frame, y = made_frame(100)
    frame.loc[:84, "a"] = np.nan
    frame.loc[60:, "more"] = np.nan
    columns, pairs = describe_columns(rows_of(frame, y), classes=False)
    assert frozenset(("a", "more")) not in found_pairs(pairs)
    assert {column.name: column.association for column in columns}["a"] is None  # 15 rows


def test_many_rows_are_a_sample_and_many_columns_are_cut(monkeypatch):
    monkeypatch.setattr(distributions, "MOST_ROWS", 50)
    monkeypatch.setattr(distributions, "MOST_COLUMNS", 4)
    monkeypatch.setattr(distributions, "MOST_PAIRED", 2)
    rng = np.random.default_rng(0)
    x = rng.standard_normal(90)
    X = np.column_stack([x + 0.1 * j * rng.standard_normal(90) for j in range(6)])
    columns, pairs = describe_columns(Rows(X, x, weights=np.repeat([0.0, 1.0], [20, 70])), classes=False)
    assert len(columns) == 5
    assert [(pair.first, pair.second) for pair in pairs] == [("column 0", "column 1")]
    assert sum(columns[0].counts) + columns[0].below + columns[0].above == 50


@pytest.mark.parametrize("x", [np.full(30, 3.0), np.repeat([-1.7e308, 1.7e308], 15), 1 + 1e-16 * np.arange(30)])
def test_columns_without_a_range_have_one_bin(x):
    columns, _ = describe_columns(Rows(x[:, None], np.arange(30.0)), classes=False)
    assert sum(columns[1].counts) == 30
