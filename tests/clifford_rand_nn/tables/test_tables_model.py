"""From a data frame with a target to a fitted pipeline."""

import pickle
import warnings
from decimal import Decimal

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder as SkTargetEncoder

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import (
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    export_onnx,
    export_source,
    load_model,
    save_model,
)
from clifford_rand_nn.tables import TableEncoder, TableWarning, choose_task, read_frame, table_model
from clifford_rand_nn.tables.encoded_rows import encode
from clifford_rand_nn.tables.encoder import encoder_from_plain, encoder_to_plain
from clifford_rand_nn.tables.model import training_rows

pd = pytest.importorskip("pandas")
N = 48


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, N)})
    frame["income"] = np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N))
    frame["city"] = rng.choice(["Oslo", "Bergen", "Bodø"], N)
    frame["weight"], frame["house"] = rng.integers(1, 4, N), rng.integers(0, 12, N)
    frame["buys"] = np.where((frame["age"] > 50) == (frame["city"] == "Oslo"), "yes", "no")
    return frame


def test_the_default_is_the_network_for_the_target(frame):
    features = frame[["age", "city", "income"]]
    pipeline = table_model(frame[["age", "income", "city", "buys"]], "buys")
    assert [name for name, _ in pipeline.steps] == ["table", "model"]
    assert isinstance(pipeline["model"], ConvexNetworkClassifier)
    assert pipeline.score(features, frame["buys"]) > 0.9
    assert isinstance(
        table_model(frame.head(12), "age", encoder=TableEncoder(drop=["city"]))["model"], ConvexNetworkRegressor
    )


def test_two_lines_by_hand_are_the_same(frame):
    features = frame.drop(columns="buys")
    by_hand = make_pipeline(TableEncoder(), LogisticRegression()).fit(features, frame["buys"])
    pipeline = table_model(frame, "buys", estimator=LogisticRegression())
    np.testing.assert_array_equal(by_hand.predict_proba(features), pipeline.predict_proba(features))


def test_weights_and_groups_are_columns_or_arrays_and_no_features(frame):
    model = Ridge()
    named = table_model(frame, "age", estimator=model, sample_weight="weight")
    assert "weight" not in named["table"].feature_names_in_
    given = table_model(
        frame.drop(columns="weight"), "age", estimator=Ridge(), sample_weight=frame["weight"].to_numpy()
    )
    np.testing.assert_array_equal(named["model"].coef_, given["model"].coef_)
    unweighted = table_model(frame.drop(columns="weight"), "age", estimator=Ridge())
    assert not np.allclose(unweighted["model"].coef_, given["model"].coef_)
    rows = training_rows(frame, "buys", weights="weight", groups="house")
    assert rows.features.columns.tolist() == ["age", "income", "city"]
    assert rows.groups.tolist() == frame["house"].tolist()
    assert rows.weights.tolist() == frame["weight"].tolist()


def test_rows_without_a_target_are_left_out_with_a_word(frame):
    some = frame.assign(buys=[None, *frame["buys"][1:]])
    with pytest.warns(TableWarning, match="the target is missing in 1 of 48 rows; they are left out"):
        pipeline = table_model(some, "buys", estimator=LogisticRegression(), sample_weight="weight")
    whole = table_model(frame.iloc[1:], "buys", estimator=LogisticRegression(), sample_weight="weight")
    np.testing.assert_array_equal(pipeline["model"].coef_, whole["model"].coef_)
    rows = training_rows(some, frame["buys"].to_numpy(), groups=np.arange(N))
    assert (rows.left_out, len(rows.target), len(rows.features.columns)) == (0, N, 6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "buy"}, r"there is no column 'buy'; the columns are .* \(is 'buys' meant\?\)"),
        ({"target": "buys", "weights": "w"}, "there is no column 'w'"),
        ({"target": "buys", "weights": "income"}, "the weights 'income' have .* empty or infinite cells"),
        ({"target": np.zeros(3)}, r"'target' parameter of table_model must be .* Got 3 values for 48 rows"),
        ({"target": ["buys", "age"]}, r"Got shape \(2,\) instead. For several targets: make_pipeline"),
        ({"target": np.zeros((N, 2))}, r"Got shape \(48, 2\) instead. For several targets: make_pipeline"),
        ({"target": np.full(N, np.nan)}, "the target 'target' has no value at all"),
    ],
)
def test_faults_are_named(frame, options, message):
    with pytest.raises(ArgumentError, match=message):
        training_rows(frame, **options)


def test_a_table_needs_a_feature(frame):
    with pytest.raises(ArgumentError, match="there is no feature column beside 'buys', 'weight'"):
        training_rows(frame[["buys", "weight"]], "buys", weights="weight")


def test_the_encoder_is_fitted_anew_in_every_fold(frame):
    features = frame.drop(columns="buys").assign(city=["Rome"] + ["Oslo", "Bergen"] * 23 + ["Bern"])
    model = make_pipeline(TableEncoder(min_frequency=1), Ridge())
    with pytest.warns(TableWarning, match="was not in training"):
        assert np.isfinite(cross_val_score(model, features, frame["buys"] == "yes", cv=3)).all()


def test_targets_of_money_and_of_digits_are_numbers():
    frame = pd.DataFrame({"price": ["$1,200", "$950.50", "$3", "$4"], "code": ["007", "010"] * 2})
    assert training_rows(frame, "price").target.tolist() == [1200, 950.5, 3, 4]
    assert training_rows(frame, "code").target.tolist() == [7, 10, 7, 10]


def test_a_target_of_numbers_beside_marks_and_bad_cells_is_of_numbers():
    cells = [f"{value:.2f}" for value in np.arange(60) * 37 % 61 / 8]
    cells[3], cells[40] = "#DIV/0!", "-999"
    frame = pd.DataFrame({"x": np.arange(60) * 7 % 11, "y": cells})
    numbers = np.delete(np.arange(60) * 37 % 61 / 8, [3, 40]).round(2)
    model = table_model(
        frame, "y", estimator=LinearRegression(), encoder=TableEncoder(missing_values=["-999", "#DIV/0!"])
    )
    plain = LinearRegression().fit(frame[["x"]].drop([3, 40]), numbers)
    np.testing.assert_allclose(model.predict(frame).mean(), plain.predict(frame[["x"]]).mean())
    note = "the target 'y': 1 of 60 cells could not be read .such as '#DIV/0!' in row 3.; they"
    with pytest.warns(TableWarning, match=note):
        rows = training_rows(frame.replace("-999", None), "y")
    np.testing.assert_array_equal(rows.target, numbers)
    assert rows.left_out == 2


def test_words_are_as_they_are_written_with_and_without_marks():
    frame = pd.DataFrame({"price": ["1.50", "2.50", "n.d."] * 8, "x": np.arange(24) % 5})
    encoder = TableEncoder(categorical=["price"], missing_values=["n.d."]).fit(frame)
    assert encoder.transform(frame.iloc[:2])[0].tolist() == encoder.transform(frame.iloc[:3])[0].tolist()


NAMES = [
    "a__b",
    "missing",
    "numbers",
    "remainder",
    "",
    "a\nb",
    "size\0",
    "category0",
    "index",
    "equal_7",
    0,
    None,
    ("a", "b"),
]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_names_of_columns_are_data(name):
    frame = pd.DataFrame({"city": ["Oslo", "Bergen", "Rome"] * 10, "size": np.arange(30) % 7, "y": ["a", "b"] * 15})
    plain = table_model(frame, "y", estimator=LogisticRegression())
    frame.columns = [name, "size", "y"]
    named = table_model(frame, "y", estimator=LogisticRegression())
    np.testing.assert_array_equal(named["model"].coef_, plain["model"].coef_)
    words = TableEncoder(text=[str(frame.columns[0])], n_text_features=8).fit_transform(frame.iloc[:, :2])
    assert words.shape == (30, 9)


def test_names_of_columns_in_onnx(tmp_path):
    pytest.importorskip("onnx")
    frame = pd.DataFrame({"city": ["Oslo", "Bergen"] * 20, "equal_7": np.arange(40) % 9, "y": ["a", "b"] * 20})
    runtime, model = pytest.importorskip("onnxruntime"), ConvexNetworkClassifier(max_metric_iter=0, loss="squared")
    pipeline = table_model(frame, "y", estimator=model)
    session = runtime.InferenceSession(export_onnx(pipeline, tmp_path / "m.onnx"))
    columns = {"city": frame[["city"]].to_numpy(object), "equal_7": frame[["equal_7"]].to_numpy(float)}
    expected = pipeline.predict_proba(frame)
    np.testing.assert_allclose(session.run(["probabilities"], columns)[0], expected, atol=1e-6)
    for name in ("label", "probabilities", ""):
        with pytest.raises(ArgumentError, match=f"other names than its outputs. Got '{name}' instead. Rename the col"):
            export_onnx(table_model(frame.rename(columns={"city": name}), "y", estimator=model), tmp_path / "m.onnx")


TARGETS = {
    "booleans": ([True, None, False, True], [True, False, True]),
    "NumPy's": ([np.bool_(True), None, np.bool_(False), np.nan], [True, False]),
    "integers": ([1, None, 0, pd.NA], [1, 0]),
    "floats": ([1.5, None, 0, 2], [1.5, 0.0, 2.0]),
    "nullable": (pd.array([True, None, False, True], "boolean"), [True, False, True]),
    "decimals": ([Decimal("1.5"), None, Decimal(0), Decimal(2)], [1.5, 0.0, 2.0]),
    "categories": (pd.Categorical([True, None, False, True]), [True, False, True]),
    "codes": (pd.Categorical([3, None, 4, 3]), [3, 4, 3]),
}


@pytest.mark.parametrize("case", TARGETS)
def test_targets_with_missing_cells(case):
    cells, expected = TARGETS[case]
    cells = pd.Series(cells, dtype=object) if isinstance(cells, list) else cells
    found = training_rows(pd.DataFrame({"x": range(4), "y": cells}), "y").target
    assert found.dtype == np.array(expected).dtype
    assert found.tolist() == expected


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars", "arrow"])
def test_boolean_targets_with_an_empty_cell_from_files_and_other_libraries(tmp_path, kind):
    frame = pd.DataFrame({"x": range(6), "y": pd.array([True, None, False, True, False, True], "boolean")})
    if kind in ("csv", "parquet"):
        getattr(frame, f"to_{kind}")(tmp_path / f"t.{kind}", index=False)
        table = read_frame(tmp_path / f"t.{kind}")
    elif kind == "polars":
        table = pytest.importorskip("polars").DataFrame({"x": range(6), "y": [True, None, False, True, False, True]})
    else:
        table = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    rows = training_rows(table, "y")
    assert (rows.left_out, rows.target.tolist()) == (1, [True, False, True, False, True])


@pytest.mark.parametrize(("library", "method"), [("dask.dataframe", "compute"), ("polars", "collect")])
def test_lazy_tables_are_refused(frame, library, method):
    module = pytest.importorskip(library)
    lazy = module.from_pandas(frame).lazy() if library == "polars" else module.from_pandas(frame, npartitions=2)
    with pytest.raises(ArgumentError, match=rf"in memory. Got a {library[:4]}.* instead. Give X.{method}\(\)"):
        table_model(lazy, "buys")
    assert TableEncoder().fit(frame).transform(getattr(lazy, method)()).shape[0] == N


def test_names_that_come_out_are_unique():
    n = np.arange(40)
    ages = np.where(n % 3, np.nan, n % 7)
    frame = pd.DataFrame({"age": ages, "age (missing)": n % 9, "c=u": n % 5, "c": ["u", "v"] * 20})
    encoder = TableEncoder().set_output(transform="pandas").fit(frame)
    names = encoder.transform(frame).columns.tolist()
    assert names == ["age", "age (missing)", "c=u", "age (missing) (2)", "c=u (2)", "c=v"]
    assert encoder.source_columns_.tolist() == ["age", "age (missing)", "c=u", "age", "c", "c"]


USERS = np.random.default_rng(3).integers(0, 150, 400)
LEVEL, NOISE = np.random.default_rng(4).normal(size=150)[USERS], np.random.default_rng(5).normal(size=400)
TARGETS_OF_USERS = {
    "numbers": LEVEL + NOISE / 4,
    "two classes": np.where(LEVEL + NOISE / 4 > 0, "yes", "no"),
    "booleans": LEVEL + NOISE / 4 > 0,
    "three classes": np.digitize(LEVEL + NOISE / 4, [-0.5, 0.5]),
}
COLUMNS_OF_USERS = {
    "texts": [f"user{i}" for i in USERS],
    "some missing": [None if i % 7 == 0 else f"user{i}" for i in USERS],
    "numbers": USERS,
}


@pytest.mark.parametrize(
    ("target", "column"),
    [*((target, "some missing") for target in TARGETS_OF_USERS), ("numbers", "texts"), ("two classes", "numbers")],
)
def test_categories_that_are_mostly_rare_are_encoded_by_the_target(target, column, tmp_path):
    y, users = TARGETS_OF_USERS[target], pd.Series(COLUMNS_OF_USERS[column])
    frame = pd.DataFrame({"user": users, "z": NOISE})
    encoder = TableEncoder(categorical=["user"])
    fitted = encoder.fit_transform(frame, y)
    words = users.map(lambda cell: None if cell is None or cell != cell else str(cell))
    words = words.astype(object).to_numpy()[:, None]
    peer = SkTargetEncoder(target_type="auto" if target != "numbers" else "continuous").fit(words, y)
    np.testing.assert_allclose(encoder.transform(frame)[:, 1:], peer.transform(words), rtol=1e-12)
    for train, test in KFold(5, shuffle=True, random_state=0).split(words):  # by the rows of other folds
        expected = SkTargetEncoder(target_type=peer.target_type_).fit(words[train], y[train]).transform(words[test])
        np.testing.assert_allclose(fitted[test, 1:], expected, rtol=1e-12)
    new = pd.DataFrame({"user": [users[1], -5 if column == "numbers" else "new"], "z": 0.0})
    np.testing.assert_allclose(encoder.transform(new)[1, 1:], np.ravel(peer.target_mean_), rtol=1e-12)
    model = Ridge() if target == "numbers" else LogisticRegression()
    model = make_pipeline(TableEncoder(categorical=["user"]), model).fit(frame, y)
    assert model.score(frame, y) > 0.5
    again = encoder_from_plain(*encoder_to_plain(encoder))
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))
    with config_context(transform_output="pandas"):
        np.testing.assert_array_equal(encoder.fit_transform(frame, pd.DataFrame({"y": y})), fitted)
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()


@pytest.mark.parametrize("target", ["numbers", pytest.param("three classes", marks=pytest.mark.slow)])
def test_models_of_target_means_are_saved_and_exported(target, tmp_path):
    frame = pd.DataFrame({"user": COLUMNS_OF_USERS["some missing"], "z": NOISE, "y": TARGETS_OF_USERS[target]})
    kind = ConvexNetworkRegressor if target == "numbers" else ConvexNetworkClassifier
    model = table_model(frame[:360], "y", estimator=kind(max_metric_iter=0, beta=0.01))
    new = frame[["user", "z"]][340:]
    method = "predict" if target == "numbers" else "predict_proba"
    expected = getattr(model, method)(new)
    save_model(model, tmp_path / "m.npz")
    np.testing.assert_array_equal(getattr(load_model(tmp_path / "m.npz"), method)(new), expected)
    module = {}
    exec(export_source(model), module)
    np.testing.assert_allclose(module[method](new), expected, rtol=1e-9, atol=1e-12)
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(export_onnx(model, tmp_path / "m.onnx", dtype="float64"))
    cells = {"user": new[["user"]].fillna("").to_numpy(object), "z": new[["z"]].to_numpy()}
    output = "variable" if target == "numbers" else "probabilities"
    np.testing.assert_allclose(np.squeeze(session.run([output], cells)[0]), expected, rtol=1e-9, atol=1e-9)


def test_target_means_of_noise_say_nothing():
    frame = pd.DataFrame({"user": COLUMNS_OF_USERS["texts"], "y": np.where(NOISE > 0, "a", "b")})
    model = table_model(frame, "y")
    assert abs(model["model"].loo_score_ - 0.5) < 4 * np.sqrt(0.25 / 400)  # of 400 throws of a coin, 4 deviations
    assert "user (rare)" in TableEncoder().fit(frame[["user"]]).get_feature_names_out()
    few = frame[:120].assign(user=[f"u{i % 75}" for i in range(120)])  # 75 of 120 are different, no one is in 5 rows
    assert TableEncoder().fit(few[["user"]].assign(n=NOISE[:120])).columns_[0].kind == "dropped"
    assert TableEncoder().fit(few[["user"]], few["y"]).get_feature_names_out().tolist() == ["user (share of b)"]


def test_parts_of_dates_have_names_of_their_own():
    days, n = pd.date_range("2020-01-01 07:00", periods=40, freq="31h"), np.arange(40)
    frame = pd.DataFrame({"t": days, "t (days)": n % 9, "t (hour sin)": n % 5, "y": ["a", "b"] * 20})
    encoder = TableEncoder().fit(frame[["t", "t (days)", "t (hour sin)"]])
    names = encoder.get_feature_names_out().tolist()
    assert names[:5] == ["t (2) (days)", "t (2) (hour sin)", "t (2) (hour cos)", "t (days)", "t (hour sin)"]
    plain = TableEncoder().fit_transform(frame.set_axis(["t", "a", "b", "y"], axis=1)[["t", "a", "b"]])
    again = encoder_from_plain(*encoder_to_plain(encoder))
    np.testing.assert_array_equal(encode(again, frame)[0], plain)
    model, module = table_model(frame, "y", estimator=ConvexNetworkClassifier(max_metric_iter=0, loss="squared")), {}
    exec(export_source(model), module)
    np.testing.assert_allclose(module["predict_proba"](frame), model.predict_proba(frame), rtol=1e-9)


def test_texts_that_are_each_there_once_are_no_classes():
    with pytest.raises(ArgumentError, match="30 different ones in 30 rows, such as 'n0': neither classes nor numbers"):
        choose_task(np.array([f"n{i}" for i in range(30)]))


def test_a_summary_names_every_column():
    n = 60
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": [f"u{i}" for i in range(n)],
            "age": np.where(np.arange(n) % 6 == 0, np.nan, rng.integers(20, 60, n)),
            "city": rng.choice(["Oslo", "Rome", "Bonn"], n),
            "day": pd.date_range("2024-01-01", periods=n),
            "one": 1,
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        model = table_model(
            frame.assign(y=np.arange(n) % 2),
            "y",
            estimator=ConvexNetworkClassifier(max_metric_iter=0, loss="squared"),
            encoder=TableEncoder(drop=["id"]),
        )
    summary = model.summary()
    assert [column.name for column in summary.columns] == list(frame.columns)
    assert [column.name for column in summary.left_out] == ["id", "one"]
    assert sum(column.features for column in summary.columns) == model[-1].n_features_in_
    by_name = {column.name: column for column in summary.columns}
    assert (by_name["age"].n_missing, by_name["age"].features) == (10, 2)
    assert "mark of missing cells" in by_name["age"].encoding
    assert by_name["city"].encoding == "3 categories one-hot"
    assert by_name["day"].encoding == "days, weekday"
    assert by_name["id"].reason == "as asked"
    lines = str(summary).splitlines()
    assert lines[0] == f"3 of 5 columns used, {model[-1].n_features_in_} features"
    assert [line.split()[0] for line in lines[1:]] == ["column", "age", "city", "day", "id", "one"]
    plan = model.plan(frame, np.arange(n) % 2)
    assert (plan.n_rows, plan.n_columns) == (n, model[-1].n_features_in_)


def test_a_table_model_comes_back_from_a_file_and_from_pickle_as_one(tmp_path):
    frame = pd.DataFrame({"city": ["Oslo", "Rome"] * 20, "y": [0, 1] * 20})
    model = table_model(frame, "y", estimator=ConvexNetworkClassifier(max_metric_iter=0, loss="squared"))
    save_model(model, tmp_path / "m.npz")
    for back in (
        load_model(tmp_path / "m.npz"),
        pickle.loads(pickle.dumps(model)),
        clone(model).fit(frame[["city"]], frame["y"]),
    ):
        assert type(back) is type(model)
        assert str(back.summary()) == str(model.summary())
