"""Data frames of any columns as numbers: what each column is taken for, what is learned, what is said of new rows."""

import datetime as dt
import json
import re
import warnings
from decimal import Decimal

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.tables import TableEncoder, TableWarning
from clifford_rand_nn.tables.cells import numbers
from clifford_rand_nn.tables.column_types import find_kinds
from clifford_rand_nn.tables.dates import date_formats, moments
from clifford_rand_nn.tables.encoded_rows import encode
from clifford_rand_nn.tables.encoder import encoder_from_plain, encoder_to_plain
from support.clock import within

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
N = 120


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 900 * 24, N), unit="h")
    return pd.DataFrame(
        {
            "id": np.arange(N),
            "uid": [f"u{i:05d}" for i in range(N)],
            "size": rng.normal(size=N),
            "count": np.where(rng.random(N) < 0.2, "?", rng.integers(0, 9, N).astype(str)),
            "city": rng.choice(["Oslo", "Bergen", None, "Bodø"], N),
            "member": rng.choice(["yes", "no"], N),
            "flag": rng.random(N) < 0.5,
            "bit": rng.integers(0, 2, N),
            "zip": rng.choice([1234, 555, 98], N),
            "when": pd.Series(days).where(rng.random(N) < 0.9),
            "iso": [f"2020-01-{1 + i % 28:02d}" for i in range(N)],
            "american": [f"{1 + i % 12:02d}/{1 + i % 28:02d}/2020 3:15 PM" for i in range(N)],
            "either": [f"{1 + i % 12:02d}/{1 + i % 11:02d}/2020" for i in range(N)],
            "story": [f"word{i % 7} and word{i % 5} are words {i}" for i in range(N)],
            "many": [f"v{i % 40}" for i in range(N)],
            "same": 3,
            "empty": None,
            "lists": [[i] for i in range(N)],
            "share": pd.Categorical(rng.choice(["low", "high"], N)),
        }
    )


@pytest.fixture(scope="module")
def encoder(frame):
    return TableEncoder(categorical=["zip"]).fit(frame)


@pytest.mark.slow
def test_a_row_is_encoded_alone_as_among_others(frame, encoder):
    zones = [f"2020-03-{1 + i % 28:02d}T{i % 24:02d}:30{'+02:00' if i % 3 else 'Z'}" for i in range(N)]
    more = frame.assign(zones=zones, days=frame["when"].dt.date, texts=np.where(frame.index % 2, "Yes", "no"))
    for fitted, table in ((encoder, frame), (TableEncoder(other_text="hash").fit(more), more)):
        alone = [encode(fitted, table.iloc[[i]])[0] for i in range(40)]  # every value of columns that repeat
        np.testing.assert_array_equal(np.concatenate(alone), fitted.transform(table)[:40])


FORMAT_SAYS_SO = "--date either=%d/%m/%Y says so, in Python date={'either': '%d/%m/%Y'}"
WORDS_ARE_USED = "--text story uses its words, in Python text=['story']"
KINDS = {
    "id": ("dropped", "whole numbers 0 to 119, each once: an identifier"),
    "uid": ("dropped", "120 different texts in 120 rows: an identifier"),
    "size": ("numeric", "numbers"),
    "count": ("numeric", "numbers, and '?' where there is none"),
    "city": ("categorical", "3 different texts"),
    "member": ("boolean", "no and yes"),
    "flag": ("boolean", "true and false"),
    "bit": ("boolean", "0 and 1"),
    "zip": ("categorical", "as asked"),
    "when": ("date", "dates of the file"),
    "iso": ("date", "dates such as '2020-01-01'"),
    "american": ("date", "dates such as '01/01/2020 3:15 PM'"),
    "either": ("dropped", f"dates such as '01/01/2020': day or month first? {FORMAT_SAYS_SO}"),
    "story": ("dropped", f"120 different texts in 120 rows: text; {WORDS_ARE_USED}"),
    "many": ("dropped", "40 different texts, none in 5 rows"),
    "same": ("dropped", "every cell is 3"),
    "empty": ("dropped", "every cell is empty"),
    "lists": ("dropped", "cells such as [0] are neither numbers nor text"),
    "share": ("categorical", "2 categories of the file"),
}


def test_each_column_is_taken_for_what_it_is(encoder):
    assert {kind.name: (kind.kind, kind.reason) for kind in encoder.columns_} == KINDS
    assert [kind.name for kind in encoder.columns_ if kind.is_user_specified] == ["zip"]


def test_what_comes_out(frame, encoder):
    X = encoder.transform(frame)
    names = encoder.get_feature_names_out().tolist()
    assert X.shape == (N, len(names)) == (N, len(encoder.source_columns_))
    assert np.isfinite(X).all()
    out = dict(zip(names, X.T, strict=True))
    count = pd.to_numeric(frame["count"], errors="coerce")
    np.testing.assert_array_equal(out["count"], count.fillna(count.median()))
    np.testing.assert_array_equal(out["count (missing)"], count.isna())
    np.testing.assert_array_equal(out["city=Bodø"], frame["city"] == "Bodø")
    np.testing.assert_array_equal(out["city (missing)"], frame["city"].isna())
    np.testing.assert_array_equal(out["zip=98"], frame["zip"] == 98)
    np.testing.assert_array_equal(out["member"], frame["member"] == "yes")
    there = frame["when"].notna().to_numpy()
    when = frame["when"][there]
    np.testing.assert_array_equal(out["when (days)"][there], (when - when.min()) / pd.Timedelta(days=1))
    np.testing.assert_array_equal(out["when (weekday)=Sunday"][there], when.dt.day_name() == "Sunday")
    angle = np.arctan2(out["when (hour sin)"], out["when (hour cos)"])[there] % (2 * np.pi)
    np.testing.assert_allclose(angle * 12 / np.pi, when.dt.hour, atol=1e-9)
    season = np.arctan2(out["when (season sin)"], out["when (season cos)"])[there] % (2 * np.pi)
    day = season * (365 + when.dt.is_leap_year) / (2 * np.pi)
    np.testing.assert_allclose(day, when.dt.dayofyear - 1 + when.dt.hour / 24, atol=1e-6)
    assert "iso (season sin)" not in out  # within one year the days say it
    assert "iso (hour sin)" not in out
    assert set(encoder.source_columns_) == {kind.name for kind in encoder.columns_ if kind.kind != "dropped"}


def test_rare_categories_and_few_missing_cells():
    cities = ["Oslo"] * 6 + ["Rome", "Bern", None] + ["Bodø"] * 5
    frame = pd.DataFrame({"city": cities, "size": [1.0, 2.0, np.nan, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]})
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["size", "city=Bodø", "city=Oslo", "city (rare)"]
    with pytest.warns(TableWarning, match="'Paris'"):
        X = encoder.transform(pd.DataFrame({"city": ["Bern", "Paris", None, "Oslo"], "size": [0.5, None, 1, 2]}))
    np.testing.assert_array_equal(X, [[0.5, 0, 0, 1], [7, 0, 0, 1], [1, 0, 0, 1], [2, 0, 1, 0]])
    few = TableEncoder(max_categories=2).fit(frame)
    assert few.get_feature_names_out().tolist()[1:] == ["city=Oslo", "city (rare)"]


def test_numbers_without_gaps_are_the_same(frame):
    some = frame[["bit", "count", "size", "flag"]]
    encoder = TableEncoder(min_frequency=1).fit(some)
    full = some[~encoder.transform(some)[:, -1].astype(bool)]
    with_a_gap = pd.concat([full, some[some["count"] == "?"].iloc[:1]])
    np.testing.assert_array_equal(encoder.transform(full), encoder.transform(with_a_gap)[:-1])
    assert encoder.get_feature_names_out().tolist() == ["count", "size", "bit", "flag", "count (missing)"]


@pytest.mark.slow
def test_the_state_as_plain_values_gives_the_same_numbers(frame):
    encoder = TableEncoder(categorical=["zip"], other_text="hash", date={"either": "%d/%m/%Y"}, n_text_features=16).fit(
        frame
    )
    arrays, meta = encoder_to_plain(encoder)
    assert all(array.dtype == np.float64 for array in arrays.values())
    again = encoder_from_plain(arrays, json.loads(json.dumps(meta)))
    new = frame.sample(frac=1, random_state=0).assign(extra=1)
    new.loc[3, ["city", "zip", "size", "when"]] = ["Rome", 4, np.nan, pd.NaT]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(again.transform(new), encoder.transform(new))
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    assert again.source_columns_.tolist() == encoder.source_columns_.tolist()
    assert again.columns_ == encoder.columns_
    assert again.get_params()["date"] == {"either": "%d/%m/%Y"}
    assert encoder_to_plain(again)[1] == meta
    broken = json.loads(json.dumps(meta))
    broken["readers"] = broken["readers"][1:]
    with pytest.raises(ValueError, match="do not fit"):
        encoder_from_plain(arrays, broken)


@pytest.fixture(scope="module")
def plain(frame):
    return encoder_to_plain(TableEncoder().fit(frame))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("readers", "date", "start"), {"a": 1}),
        (("readers", "date", "start"), 2**63),
        (("readers", "date", "parts"), ["days", "moon"]),
        (("readers", "date", "parts"), []),
        (("readers", "date", "format"), "%Q"),
        (("readers", "date", "zone"), "Mars"),
        (("readers", "categorical", "numeric"), 1),
        (("params", "numeric"), 0.5),
        (("params", "drop"), [1]),
        (("params", "date"), {"when": 3}),
        (("params", "other_text"), "burn"),
        (("params", "min_frequency"), "5"),
        (("columns", "date", "n_missing"), True),
    ],
)
def test_plain_values_of_other_types_are_refused(plain, place, value):
    arrays, meta = plain
    meta = json.loads(json.dumps(meta))
    where = meta[place[0]]
    if isinstance(where, list):
        where = next(one for one in where if one["kind"] == place[1])
    assert place[-1] in where
    where[place[-1]] = value
    with pytest.raises((ValueError, LookupError, TypeError)):
        encoder_from_plain(arrays, meta)


def test_new_tables_are_matched_by_name_and_what_is_new_is_said(frame, encoder):
    new = frame.iloc[:10, ::-1].assign(extra=1)
    new["city"] = ["Rome", "Rome", "Bern", *new["city"][3:]]
    new.loc[0, "size"] = np.nan
    _, notes = encode(encoder, new)
    assert notes.ignored == ("extra",)
    assert notes.unknown == {"city": {"Rome": 2, "Bern": 1}}
    assert notes.filled == {"size": 1}
    with pytest.warns(TableWarning, match="'city': 3 of 10 rows have a category that was not in training"):
        X = encoder.transform(new)
    np.testing.assert_array_equal(X[3:], encoder.transform(frame.iloc[3:10]))
    assert not X[0, [name.startswith("city") for name in encoder.get_feature_names_out()]].any()
    as_numbers = frame.assign(zip=frame["zip"].astype(str).str.zfill(5), bit=frame["bit"].astype(bool))
    np.testing.assert_array_equal(encoder.transform(as_numbers), encoder.transform(frame))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"size": ["1"] * (N - 20) + ["old"] * 20}, "'size' must hold numbers, but 20 of 120 cells .*, such as 'old'"),
        ({"member": "maybe"}, "'member' must hold truth values, but 120 of 120 cells .*, such as 'maybe'"),
        ({"iso": "01.02.2020"}, r"'iso' must hold dates \(dates such as 2020-01-31\), but 120 of 120"),
        ({"when": "soon"}, "'when' must hold dates"),
    ],
)
def test_columns_that_hold_something_else_are_refused(frame, encoder, column, message):
    with pytest.raises(ArgumentError, match=message):
        encoder.transform(frame.assign(**column))


def test_missing_columns_and_wrong_names_are_refused(frame, encoder):
    with pytest.raises(ArgumentError, match=r"a column of the model is missing from the table: 'city' \(is 'City'"):
        encoder.transform(frame.rename(columns={"city": "City"}))
    for options, message in (
        ({"numeric": "Size"}, r"The 'numeric' parameter of TableEncoder must be names .* 'Size' instead"),
        ({"numeric": ["size"], "drop": ["size"]}, "apart from the numeric columns"),
        ({"date": ["either"]}, "day or the month first; --date either=%d/%m/%Y"),
    ):
        with pytest.raises(ArgumentError, match=message):
            TableEncoder(**options).fit(frame[["size", "either"]])
    with pytest.raises(ArgumentError, match="a table with a column that can be used"):
        TableEncoder().fit(frame[["same", "empty"]])


def test_the_set_output_of_scikit_learn(frame):
    encoder = TableEncoder(categorical=["zip"]).set_output(transform="pandas")
    out = encoder.fit_transform(frame[["zip", "size", "when"]].iloc[5:])
    assert out.columns.tolist() == encoder.get_feature_names_out().tolist()
    assert out.index.tolist() == frame.index[5:].tolist()


BIG = np.arange(40, dtype=np.uint64) + np.uint64(2**63)
ODD = {
    "percent": (["12 %", "7%", None, "3.5 %"] * 10, "numeric", "numbers"),
    "decimals": ([Decimal("1.5"), Decimal(2)] * 20, "numeric", "numbers"),
    "bytes": ([b"a", b"b"] * 20, "categorical", "2 different texts"),
    "times": ([dt.time(i % 24) for i in range(40)], "date", "dates such as '00:00:00'"),
    "with gaps": ([True, None, False, True] * 10, "boolean", "false and true"),
    "nominal": (pd.Categorical(["True", "False"] * 20), "boolean", "false and true"),
    "one word": (["yes", None] * 20, "categorical", "'yes' or nothing"),
    "marks": (["?", None] * 20, "dropped", "every cell says '?'"),
    "months": ([f"20{10 + i % 9}-0{1 + i % 9}" for i in range(40)], "date", "dates such as '2010-01'"),
    "bare": ([f"2020{1 + i % 9:02d}15" for i in range(40)], "numeric", "numbers"),
    "years": (list(range(1980, 2020)), "numeric", "numbers"),
    "custId": (list(range(5039, 4999, -1)), "dropped", "whole numbers 5000 to 5039, each once: an identifier"),
    "complex": ([1j, 2.0] * 20, "dropped", "complex numbers"),
    "infinite": ([np.inf, 1.0, 2.0, -np.inf] * 10, "numeric", "numbers"),
    "days": (pd.to_timedelta([1, 2, 3, 4] * 10, unit="D"), "numeric", "durations, in days"),
    "month": (["Jan 2020"] * 40, "dropped", "every cell is 'Jan 2020'"),
    "a month": (["Jan 2020", None] * 20, "categorical", "'Jan 2020' or nothing"),
    "zip": (["01234", "10115"] * 20, "categorical", "2 different texts"),
    "Kunden-ID": (range(1001, 1041), "dropped", "whole numbers 1001 to 1040, each once: an identifier"),
    "n": (["7", "8", "?", "9"] * 10, "numeric", "numbers, and '?' where there is none"),
    "key": (BIG, "dropped", "numbers such as 9223372036854775808, which float64 cannot tell apart"),
    "one": ([7] * 40, "dropped", "every cell is 7"),
    "arrow": (pd.array([dt.date(2020, 1, 1 + i % 28) for i in range(40)], pd.ArrowDtype(pa.date32())), "date", "dates"),
}


@pytest.mark.parametrize("name", ODD)
def test_columns_of_every_sort(name):
    column, kind, why = ODD[name]
    frame = pd.DataFrame({name: column, 7: np.arange(40) % 13})
    encoder = TableEncoder().fit(frame)
    assert encoder.columns_[0].kind == kind
    assert encoder.columns_[0].reason.startswith(why)
    X = encoder.transform(frame)
    assert np.isfinite(X).all()
    if name == "percent":
        assert X[:4, 0].tolist() == [12, 7, 7, 3.5]
    gaps = pd.DataFrame({name: pd.Series([None] * 3, dtype=object), "7": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(encoder.transform(gaps)).all()


DAYS = pd.date_range("2019-01-03 07:15", periods=24, freq="27D9h")
CLOCK = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M%p")
MONTHS = ("%b %Y", "%B %Y", "%b-%Y", "%m/%Y")
DAY = ("%d.%m.%Y", "%d/%m/%Y %H:%M", "%d %b %Y", "%d-%b-%y", "%d %b %y", "%d-%b-%y %H:%M", "%d. %B %Y")
QUARTERS = ("{y}Q{q}", "{y}-Q{q}", "Q{q} {y}", "q{q}/{y}", "{q}Q{y}", "{q}Q{s}", "Q{q} '{s}", "{q}q-{y}")
FORMS = {
    **{form: (form, DAYS.strftime(form)) for form in (*CLOCK, *MONTHS, *DAY)},
    "ISO": ("ISO8601", DAYS.strftime("%Y-%m-%dT%H:%M:%S")),
    **{
        form: ("quarter", [form.format(y=day.year, q=day.quarter, s=day.year % 100) for day in DAYS])
        for form in QUARTERS
    },
    "times": ("native", [day.time() for day in DAYS]),
    "far ahead": ("ISO8601", [*DAYS.strftime("%Y-%m-%d")[:-1], "9999-12-31"]),
    "far ahead, as objects": ("native", [*DAYS.date[:-1], dt.date(9999, 12, 31)]),
}


@pytest.mark.parametrize(("case", "bad"), [(form, i % 2 * 7) for i, form in enumerate(FORMS)] + [("%d.%m.%Y", None)])
def test_dates_of_every_form(case, bad):
    form, cells = FORMS[case]
    bad = None if form == "native" else bad
    frame = pd.DataFrame({"day": pd.Series(list(cells), dtype=object), "n": np.arange(24) % 7})
    if bad is not None:
        frame.loc[bad, "day"] = "n.d."
    expected = pd.Series(DAYS)
    if form in CLOCK or case == "times":
        expected = (expected - expected.dt.normalize() + pd.Timestamp(0)).dt.floor("min")
    elif form == "quarter" or form in MONTHS:
        expected = expected.dt.to_period("Q" if form == "quarter" else "M").dt.to_timestamp()
    elif case != "ISO" and "%H" not in form:
        expected = expected.dt.normalize()
    expected = expected.astype("datetime64[us]")
    if "far" in case:
        expected[23] = pd.Timestamp("9999-12-31")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoder = TableEncoder().fit(frame)
    printed = " ".join(str(warning.message) for warning in caught)
    assert (f"'day': 1 of 24 cells could not be read (such as 'n.d.' in row {bad})" in printed) == (bad is not None)
    assert (encoder.columns_[0].kind, encoder.readers_[0].format) == ("date", form)
    there = np.arange(24) != (-1 if bad is None else bad)
    days = (expected - expected[there].min()) / pd.Timedelta(days=1)
    again = encoder_from_plain(*encoder_to_plain(encoder))
    np.testing.assert_array_equal(encode(again, frame)[0][there, 0], days[there])


LOCAL = pd.Series(pd.to_datetime(["2020-01-05 20:00", "2020-01-06 09:00"] * 10))
PACIFIC = LOCAL.dt.tz_localize("America/Los_Angeles")
ZONES = {
    "dtype": PACIFIC,
    "arrow": PACIFIC.astype(pd.ArrowDtype(pa.timestamp("us", tz="America/Los_Angeles"))),
    "objects": pd.Series([time.to_pydatetime() for time in PACIFIC], dtype=object),
    "text": PACIFIC.map(lambda time: time.isoformat()),
    "fixed": PACIFIC.dt.tz_convert("UTC-08:00"),
    "several": pd.Series([f"{time}{'-08:00' if i % 2 else '-07:00'}" for i, time in enumerate(LOCAL)]),
    "none": LOCAL,
}


@pytest.mark.parametrize("case", ZONES)
def test_hours_and_weekdays_are_those_of_the_time_zone(case):
    frame = pd.DataFrame({"t": ZONES[case], "n": np.arange(20)})
    encoder = TableEncoder().fit(frame)
    expected = TableEncoder().fit_transform(pd.DataFrame({"t": LOCAL, "n": np.arange(20)}))
    assert "t (weekday)=Sunday" in encoder.get_feature_names_out()
    np.testing.assert_array_equal(encoder.transform(frame), expected)
    again = encoder_from_plain(*encoder_to_plain(encoder))
    new = {"dtype": PACIFIC, "UTC": PACIFIC.dt.tz_convert("UTC"), "text": PACIFIC.dt.tz_convert("UTC").map(str)}
    for other in [LOCAL, *(new.values() if case not in ("several", "none") else [])]:
        np.testing.assert_array_equal(again.transform(frame.assign(t=other)), expected)


@pytest.mark.slow
def test_moments_and_texts_are_alike_in_new_tables():
    forms = {
        "days": (list(DAYS.date), DAYS.strftime("%Y-%m-%d")),
        "times": ([day.time() for day in DAYS], DAYS.strftime("%H:%M:%S")),
        "moments": (list(DAYS), DAYS.strftime("%Y-%m-%d %H:%M")),
    }
    for name, (cells, texts) in forms.items():
        frames = [pd.DataFrame({name: pd.Series(list(one), dtype=object)}) for one in (cells, texts)]
        frames.append(pd.concat([frames[0][:12], frames[1][12:]]))
        for frame in frames[:2]:
            encoder = TableEncoder().fit(frame)
            for other in frames:
                np.testing.assert_array_equal(encoder.transform(other), encoder.transform(frame))


def test_hours_of_summer_time_are_those_on_the_clock():
    noon = pd.Series(pd.date_range("2020-03-20 12:00", periods=20, freq="D", tz="Europe/Oslo"))
    for times in (noon, noon.map(lambda time: time.isoformat())):
        encoder = TableEncoder().fit(pd.DataFrame({"t": times}))
        assert not any("hour" in name for name in encoder.get_feature_names_out())
        np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"t": times}))[:, 0], np.arange(20))


def test_the_format_of_dates_can_be_given():
    days = [20200131, None, 20200215, 20200201] * 5
    encoder = TableEncoder(date={"day": "%Y%m%d"}).fit(pd.DataFrame({"day": days}))
    new = pd.DataFrame({"day": ["20200202", "20200301"]})
    assert encoder.transform(new)[:, 0].tolist() == [2, 30]
    assert encoder.columns_[0].is_user_specified
    with pytest.raises(ArgumentError, match=r"'day' must hold dates \(%Y%m%d\), but 1 of 1 cells"):
        encoder.transform(pd.DataFrame({"day": ["1.2.2020"]}))


@pytest.mark.slow
def test_the_checks_of_scikit_learn():
    check_estimator(TableEncoder())


UNITS = {
    "money": (["$1,234.50", "-$5", "USD 7", "7", "1,234", None], [1234.5, -5, 7, 7, 1234, np.nan]),
    "euros": (["1.234,56 €", "9,5 EUR", "1.234", "1.234 €", "-3,1", "12"], [1234.56, 9.5, 1234, 1234, -3.1, 12]),
    "no numbers": (["12,34,5", "--5", "1 2"], ["12,34,5", "--5", "1 2"]),
    "apostrophes": (["1'234.50", "12’000", "-950", "\u2212 5.5", "CHF 1'000"], [1234.5, 12000, -950, -5.5, 1000]),
    "spaces": (["1 234,50 €", "1\u202f234\u202f567,5", "12\u00a0000", "9,5"], [1234.5, 1234567.5, 12000, 9.5]),
    "telephones": (["030 123 456", "12 34"], ["030 123 456", "12 34"]),
    "parentheses": (["(1,234.50)", "2", "($3.5)", "$ (4)", "6-", "(7 -)"], [-1234.5, 2, -3.5, -4, -6, "(7 -)"]),
    "before": (["R$ 1,5", "R$1.234,5", "R$ -2"], [1.5, 1234.5, -2]),
    "rupees": (["₹1,23,456.50", "₹ 7", "1,234"], [123456.5, 7, 1234]),
    "short": (["kr 5", "1 000 kr", "kr.7,5", "5,- kr", "5:- kr"], [5, 1000, 7.5, 5, 5]),
    "after": (["70 kg", "1.5kg", ".5 KG"], [70, 1.5, 0.5]),
    "plural": (["1 year", "2 years"], [1, 2]),
    "two words": (["1,5 Mio. €", "2 Mio. €"], [1.5, 2]),
    "thousands": (["1.5k", "-2k", "3e2k"], [1.5, -2, 300]),
    "cents": (["CHF 12.-", "5.–"], [12, 5]),
    "mixed": (["70 kg", "80 kg", "154 lb", "5"], [70, 80, "154 lb", "5"]),
    "factor": (["1.5k", "900", "800"], ["1.5k", 900, 800]),
    "percent": (["12 %", "0.5", "0.7"], ["12 %", 0.5, 0.7]),
    "currencies": (["$5", "USD 6", "$7", "€8"], [5, 6, 7, "€8"]),
    "labels": (["u17", "Q1", "#3", "Room 5", "<0.5", "90+", "1-2"],) * 2,
    "comma and exponent": (["1,234E+03", "-2,5e-1", "7"], [1234, -0.25, 7]),
    "one comma": (["1.234", "0.512", "7.25", "1,5"], [1.234, 0.512, 7.25, "1,5"]),
    "rare comma": (["1.234"] * 11 + ["1,5"], [1.234] * 11 + ["1,5"]),
    "estimate": (["1.234", "0.512", "1,5 (est.)"], [1.234, 0.512, "1,5 (est.)"]),
}


@pytest.mark.parametrize("case", UNITS)
def test_numbers_with_units(case):
    cells, expected = UNITS[case]
    found, odd = numbers(pd.Series(cells, index=np.arange(len(cells)) // 2))
    np.testing.assert_array_equal(found, [np.nan if isinstance(cell, str) else cell for cell in expected])
    assert odd == [cell for cell in expected if isinstance(cell, str)]


@pytest.mark.parametrize("start", ["-7", "(7", "- $ ", "1.7", "abc "])
def test_long_cells_are_read_in_linear_time(start):
    """Ten such cells did not end in 170 s, for every split of digits, or of spaces, into two parts of a pattern."""
    cells = [f"{start}{' ' * 20_000 if start[-1] == ' ' else '7' * 20_000}x{i}" for i in range(10)]
    with within(5.0):
        assert numbers(pd.Series(cells))[1] == cells
        assert np.isnat(moments(pd.Series(cells), "ISO8601")).all()


@pytest.mark.parametrize(
    ("bad", "row", "written"),
    [("#DIV/0!", 17, "{}"), ("n.d.", 0, "{} kg"), ("<0.5", 59, "${}"), ("1,5 (est.)", 30, "{}"), ("err", 1, "{} kg")],
)
def test_a_bad_cell_in_a_column_of_numbers_is_missing(bad, row, written):
    values = np.arange(60) * 37 % 61 / 8
    cells = pd.Series([written.format(value) for value in values], index=range(100, 160), dtype=object)
    cells.iloc[row] = bad
    frame = pd.DataFrame({"income": cells, "n": np.arange(60) % 7})
    quoted = rf"'income': 1 of 60 cells could not be read \(such as '{re.escape(bad)}' in row {100 + row}\)"
    with pytest.warns(TableWarning, match=quoted) as caught:
        encoder = TableEncoder().fit(frame)
    assert len(caught) == 1
    expected = np.where(np.arange(60) == row, np.median(np.delete(values, row)), values)
    with pytest.warns(TableWarning, match=quoted):
        np.testing.assert_array_equal(encoder.transform(frame)[:, 0], expected)
    with pytest.warns(TableWarning, match="such as 'later'"):
        encoder.transform(pd.DataFrame({"income": [cells.iloc[5], "later"], "n": [1, 2]}))
    with pytest.raises(ArgumentError, match=r"'income' must hold numbers.*, but 60 of 60 cells are something else"):
        encoder.transform(frame.assign(income=[f"{value} lb" for value in values]))


def test_marks_of_missing_cells_are_named():
    cells = [f"{i}.5" if i % 3 else "n.d." for i in range(60)]
    frame = pd.DataFrame({"a": cells, "b": [-999, *range(59)], "c": ["x", "N.D. ", "y"] * 20, "self": range(60)})
    with pytest.warns(
        TableWarning, match="'a' .*numbers but for 20 cells such as 'n.d.': .* in Python missing_values="
    ):
        TableEncoder(missing_values=["-999"]).fit(frame)
    encoder = TableEncoder(missing_values=["n.d.", "-999"], numeric=["self"])
    X = encoder.fit_transform(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["a", "b", "self", "a (missing)", "c=x", "c=y", "c (missing)"]
    assert [kind.n_missing for kind in encoder.columns_] == [20, 1, 20, 0]
    again = encoder_from_plain(*encoder_to_plain(encoder))
    np.testing.assert_array_equal(again.transform(frame.iloc[[4]].assign(b=-999))[:, 1], [29])
    np.testing.assert_array_equal(again.transform(frame), X)


def test_columns_that_are_left_out_are_in_one_warning(frame):
    with pytest.warns(
        TableWarning, match=r"columns are left out: 'id' \(whole numbers 0 to 119.*, … \(. in all\)"
    ) as caught:
        encoder = TableEncoder(drop=["many", "story"]).fit(frame)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(frame)
        TableEncoder(drop=["id"]).fit(frame[["id", "size"]])


def test_years_of_two_digits_are_no_guess():
    assert date_formats(pd.Series(["31/12/99", "01/02/20"])) == ["%d/%m/%y"]
    assert date_formats(pd.Series(["03.11.20", "04.12.21"])) == ["%d.%m.%y", "%y.%m.%d"]
    assert date_formats(pd.Series(["1.2.10", "1.3.11"])) == []
    (kind,) = find_kinds(pd.DataFrame({"day": ["03.11.20", "04.12.21"]}), {})
    assert kind.kind == "dropped"
    assert "day, month or year first? --date day=%d.%m.%y says so" in kind.reason


def test_an_empty_text_is_a_missing_cell():
    cities = ["Oslo", "Bergen", "", None] * 10
    encoder = TableEncoder(categorical=["city"]).fit(pd.DataFrame({"city": cities}))
    empty, none = encoder.transform(pd.DataFrame({"city": ["", None]}))
    np.testing.assert_array_equal(empty, none)
