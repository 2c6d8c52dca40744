"""Pipelines for other libraries: tables with missing cells and new categories, steps of scikit-learn, and searches."""

import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import (
    BetaCV,
    ConvexNetworkClassifier,
    CrossProductLassoRegressor,
    GatedReLURegressor,
    TableEncoder,
    export_onnx,
    export_source,
    load_model,
    save_model,
    table_model,
)
from support.exported import fitted, onnx_inputs, rows, training

pandas = pytest.importorskip("pandas")

TARGET = "will it 'pay'?"


def table(n=120, seed=0):
    """Return a table with columns of every kind, whose names are no names of Python."""
    rng = np.random.default_rng(seed)
    when = np.datetime64("2019-11-03T05:00") + (rng.uniform(0, 900, n) * 86400e6).astype("timedelta64[us]")
    frame = pandas.DataFrame(
        {
            "size (m²)": rng.standard_normal(n) * 30 + 100,
            "class": rng.choice(["Oslo", "Bergen", "Å", "2.0"], n, p=[0.5, 0.3, 0.18, 0.02]),
            'a "quoted" \\name': rng.choice([1001, 20002, 30303, 7], n),
            "len": rng.choice(["Yes", "no"], n),
            "flag": rng.random(n) < 0.4,
            "when": when,
        }
    )
    score = frame["size (m²)"] / 30 + 2 * (frame["class"] == "Oslo") + np.sin(frame["when"].dt.day_of_year / 58)
    frame[TARGET] = np.where(score > score.median(), "pays", "does not")
    for k, name in enumerate(["size (m²)", "class", "len", "when"]):
        frame.loc[frame.index[k :: 11 + k], name] = None
    return frame


@pytest.fixture(scope="module")
def model():
    model = ConvexNetworkClassifier(max_metric_iter=0, loss="squared")
    return table_model(table(), TARGET, estimator=model, encoder=TableEncoder(categorical=['a "quoted" \\name']))


@pytest.fixture(scope="module")
def new():
    """Rows with everything that may happen: missing cells, unknown and rare categories, infinity, the year's ends."""
    frame = table(60, seed=1).drop(columns=TARGET)
    for k, name in enumerate(frame.columns.drop("flag")):
        frame[name] = frame[name].astype(object)
        frame.loc[frame.index[k], name] = None
    frame.loc[frame.index[7], "class"] = "Reykjavík"
    frame.loc[frame.index[8], "class"] = "2.0"
    frame.loc[frame.index[9], "size (m²)"] = np.inf
    frame.loc[frame.index[10], 'a "quoted" \\name'] = 4
    frame["len"] = frame["len"].map({"Yes": "YES", "no": "No"})
    ends = ["2020-02-29T12:00", "2020-12-31T23:59", "2021-01-01T00:00", "2021-03-01", "1968-02-29"]
    ends += ["2100-12-31", "1900-07-01"]
    frame["when"] = pandas.to_datetime(frame["when"])
    frame.loc[frame.index[20 : 20 + len(ends)], "when"] = pandas.to_datetime(ends, format="ISO8601")
    return frame.astype({"size (m²)": float, 'a "quoted" \\name': float})


@pytest.fixture(autouse=True)
def no_notes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of TableEncoder, on what is new in a table
        yield


def run(path, inputs):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    made = inputs(session) if callable(inputs) else {"X": inputs}
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, made), strict=True))


def test_a_table_goes_through_onnx_as_through_the_pipeline(model, new, tmp_path):
    pytest.importorskip("onnx")
    path = export_onnx(model, tmp_path / "model.onnx", dtype="float64")
    for frame in (new, new.iloc[:1]):
        out = run(path, lambda session, frame=frame: onnx_inputs(session, frame))
        assert out["label"].tolist() == model.predict(frame).tolist()
        np.testing.assert_allclose(out["probabilities"], model.predict_proba(frame), rtol=1e-9, atol=1e-11)
    kinds = {}

    def inputs(session):
        kinds.update({column.name: column.type for column in session.get_inputs()})
        return onnx_inputs(session, new)

    run(path, inputs)
    assert list(kinds) == list(new.columns)
    assert {name for name, kind in kinds.items() if kind == "tensor(string)"} == {"class", "len"}


def test_the_source_of_a_table_encodes_as_the_pipeline_does(model, new):
    text = export_source(model)
    module = {}
    exec(text, module)
    np.testing.assert_allclose(module["_rows"](new), model[0].transform(new), rtol=0, atol=1e-9)
    np.testing.assert_allclose(module["predict_proba"](new), model.predict_proba(new), rtol=1e-8)
    plain = {name: new[name].tolist() for name in new.columns.drop("when")}
    plain["when"] = [None if cell is pandas.NaT else cell.isoformat() for cell in new["when"]]
    assert module["predict"](plain).tolist() == model.predict(new).tolist()
    assert '* a \\"quoted\\" \\\\name: numbers' in text


def test_a_model_from_a_file_gives_the_same_file(model, tmp_path):
    pytest.importorskip("onnx")
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    one, two = (export_onnx(each, tmp_path / "model.onnx").read_bytes() for each in (model, again))
    assert one == two


def test_every_row_of_a_rare_column_and_one_without_words():
    frame = pandas.DataFrame({"a": list("abcdefgh") * 2, "x": np.arange(16.0) % 5})
    encoder = TableEncoder(categorical=["a"], min_frequency=5).fit(frame)
    y = np.arange(16.0)
    model = make_pipeline(encoder, GatedReLURegressor(3, beta=1e-2, random_state=0)).fit(frame, y)
    module = {}
    exec(export_source(model), module)
    assert "a (rare)" in encoder.get_feature_names_out()
    np.testing.assert_allclose(module["predict"](frame), model.predict(frame), rtol=1e-9)


def test_marks_of_missing_cells_are_missing_in_exports_too(tmp_path):
    """They were numbers, and new words: a cell of -999 was off by 999 in a prediction."""
    pytest.importorskip("onnx")
    n = np.arange(60)
    frame = pandas.DataFrame(
        {"x": n * 37 % 61 / 8, "zip": n % 4 * 111, "flag": n % 2, "word": np.array(["u", "v"])[n % 2]}
    )
    frame["word"] = frame["word"].astype(object).mask(n % 7 == 0, "n.d.")
    frame = frame.mask((n[:, None] + np.arange(4)) % 9 == 0, -999)
    model = GatedReLURegressor(3, beta=1e-3, random_state=0)
    marks = ["n.d.", "-999", " 12 "]
    encoder = TableEncoder(missing_values=marks, categorical=["zip"], boolean=["flag"])
    model = table_model(frame.assign(y=n * 37 % 61 / 8 + n % 2), "y", estimator=model, encoder=encoder)
    new = frame.astype({"x": float, "zip": float, "flag": float}).assign(word=["u", "n.d.", "N.D.", "", "w", "v"] * 10)
    new.loc[5, "x"] = 12.0
    module = {}
    exec(export_source(model), module)
    np.testing.assert_allclose(module["predict"](new), model.predict(new), rtol=1e-9)
    out = run(export_onnx(model, tmp_path / "m.onnx", dtype="float64"), lambda session: onnx_inputs(session, new))
    np.testing.assert_allclose(out["variable"][:, 0], model.predict(new), rtol=1e-9)


def test_texts_whose_words_are_hashed_are_refused():
    words = ["a long text of words", "another text that has words", "third one", "and so on it goes"]
    frame = pandas.DataFrame({"text": [f"{word} {k}" for k, word in enumerate(words * 5)], "x": np.arange(20.0)})
    model = make_pipeline(TableEncoder(text=["text"]), GatedReLURegressor(3, beta=1.0, random_state=0))
    model.fit(frame, np.arange(20.0))
    with pytest.raises(ArgumentError, match=r"without texts of which words are hashed\. Got text instead"):
        export_source(model)


def test_steps_of_scikit_learn_are_converted_by_skl2onnx(tmp_path):
    pytest.importorskip("skl2onnx")
    X, y = training("network, two classes")
    model = make_pipeline(StandardScaler(), PCA(2), ConvexNetworkClassifier(max_metric_iter=0, loss="squared")).fit(
        X, y
    )
    path = export_onnx(model, tmp_path / "model.onnx")
    out = run(path, rows())
    np.testing.assert_allclose(out["probabilities"], model.predict_proba(rows()), atol=2e-5)
    frame = table().dropna()
    X, y = frame[["size (m²)", "class"]], frame["size (m²)"] / 30
    first = ColumnTransformer([("n", StandardScaler(), ["size (m²)"]), ("w", OneHotEncoder(), ["class"])])
    model = make_pipeline(first, GatedReLURegressor(4, beta=1e-2, random_state=0)).fit(X, y)
    with pytest.raises(ArgumentError, match="'example' parameter of export_onnx must be given"):
        export_onnx(model, path)
    export_onnx(model, path, example=X)

    def inputs(session):
        return {"size (m²)": X[["size (m²)"]].to_numpy(np.float32), "class": X[["class"]].to_numpy(dtype=object)}

    np.testing.assert_allclose(run(path, inputs)["variable"][:, 0], model.predict(X), rtol=1e-4, atol=1e-4)
    with pytest.raises(ArgumentError, match="must be an estimator, or one after a TableEncoder or after scalers"):
        export_source(model)


HOLES = np.random.default_rng(5).standard_normal((40, 4)) * [1.0, 5.0, 0.1, 1.0] + [0.0, 1e6, -3.0, 9.0]
HOLES[::5, 0] = HOLES[::7, 3] = np.nan
NUMERIC = {
    "scaled": (SimpleImputer(), StandardScaler()),
    "marked": (SimpleImputer(strategy="median", add_indicator=True), "passthrough", RobustScaler()),
    "bounded": (MinMaxScaler(clip=True), SimpleImputer(), MaxAbsScaler()),
    "selected": (SimpleImputer(), SelectKBest(f_regression, k=3), FunctionTransformer(np.abs), PCA(2, whiten=True)),
    "projected": (SimpleImputer(), FunctionTransformer(), TruncatedSVD(2, random_state=0), StandardScaler()),
}


@pytest.mark.parametrize("name", NUMERIC)
def test_steps_on_numbers_are_in_the_program(name, tmp_path):
    """In double precision, where skl2onnx has single: a column of a million and some units keeps its units."""
    last = GatedReLURegressor(3, beta=1e-3, random_state=0)
    filled = np.nan_to_num(HOLES, nan=0.0)
    model = make_pipeline(*NUMERIC[name], last).fit(HOLES, np.abs(filled[:, 0]) + filled[:, 1] - 1e6)
    module = {}
    exec(export_source(model), module)
    new = HOLES[:20] + np.array([0.3, -2.0, 0.0, 0.1])
    size = np.abs(model.predict(new)).max()
    np.testing.assert_allclose(module["predict"](new), model.predict(new), rtol=0, atol=1e-9 * size)
    with pytest.raises(ValueError, match=r"X has entries that are infinite\."):
        module["predict"](np.full((1, 4), np.inf))
    pytest.importorskip("onnxruntime")
    out = run(export_onnx(model, tmp_path / "model.onnx", dtype="float64"), lambda session: {"X": new})
    np.testing.assert_allclose(out["variable"][:, 0], model.predict(new), rtol=0, atol=1e-9 * size)
    frame = pandas.DataFrame(HOLES, columns=["a", "size (m²)", "c", "d"])
    model = make_pipeline(*NUMERIC[name], last).fit(frame, np.arange(40.0))
    path = export_onnx(model, tmp_path / "named.onnx", example=frame)
    out = run(path, lambda session: {one: frame[[one]].to_numpy() for one in frame})
    np.testing.assert_allclose(out["variable"][:, 0], model.predict(frame), rtol=1e-6)


def test_steps_that_state_nothing_are_refused_by_name(tmp_path):
    y = np.arange(40.0)
    late = make_pipeline(VarianceThreshold(), SimpleImputer(), GatedReLURegressor(3, beta=1.0, random_state=0))
    bent = make_pipeline(SimpleImputer(), "passthrough", PowerTransformer(), late[-1])
    steps = ("VarianceThreshold, SimpleImputer, Gated", "SimpleImputer, PowerTransformer, G")
    for model, named in zip((late, bent), steps, strict=True):
        message = f"after scalers, SimpleImputer, selectors and PCA. Got a pipeline of {named}"
        with pytest.raises(ArgumentError, match=message):
            export_source(model.fit(HOLES, y))
    with pytest.raises(ArgumentError, match=r"'dtype' parameter of export_onnx must be 'float32' for this pipeline"):
        export_onnx(bent, tmp_path / "model.onnx", dtype="float64")
    pytest.importorskip("skl2onnx")
    out = run(export_onnx(bent, tmp_path / "model.onnx"), lambda session: {"X": HOLES[:, :4].astype(np.float32)})
    assert out["variable"].shape == (40, 1)  # a step that passes all on is none
    words = make_pipeline(TfidfVectorizer(), late[-1]).fit(["red wine", "white wine", "red", "white"] * 10, y)
    with pytest.raises(ArgumentError, match=r"without steps that take texts. Got a TfidfVectorizer instead"):
        export_onnx(words, tmp_path / "model.onnx")


def test_a_search_around_a_pipeline_is_exported_too(tmp_path):
    frame = table(40).drop(columns=["when"])
    y = frame.pop(TARGET) == "pays"
    lasso = CrossProductLassoRegressor(subsample=10, random_state=0)
    search = BetaCV(make_pipeline(TableEncoder(), lasso), n_betas=2, cv=2).fit(frame, y.astype(float))
    module = {}
    exec(export_source(search), module)
    np.testing.assert_allclose(module["predict"](frame), search.predict(frame), rtol=1e-9, atol=1e-11)
    with pytest.raises(ArgumentError, match="Use export_onnx or export_source"):
        search.to_source()


def test_models_alone_are_exported_as_by_their_methods(tmp_path):
    model = fitted("relu, a number")
    assert export_source(model) == model.to_source() == export_source(make_pipeline(model))
    for other in (make_pipeline(StandardScaler(), LogisticRegression().fit([[0], [1]], [0, 1])), LogisticRegression()):
        with pytest.raises(ArgumentError, match="must be a fitted estimator or network of clifford_rand_nn"):
            export_source(other)
