"""Model files of pipelines: the same predictions bit for bit, and nothing of the file is ever run."""

import hashlib
import io
import json
import pickle
import sys
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

import clifford_rand_nn as nn
from clifford_rand.errors import ArgumentError, MissingDependencyError
from clifford_rand_nn.tables.model import table_model
from support.damage import damaged_bytes, damaged_members
from support.model_files import contents, write

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 4))
NEW = 2 * rng.standard_normal((50, 4))
SIDE = np.array(["no", "yes"])[(X[:, 0] * X[:, 1] > 0).astype(int)]


def _gated(**options):
    return nn.GatedReLUClassifier(n_gates=4, bias=True, random_state=0, tol=1e-2, **({"beta": 1e-2} | options))


def _stored(model, path):
    nn.save_model(model, path)
    return nn.load_model(path)


def _is_written_again(path, model):
    nn.save_model(model, path.parent / "again.npz")
    old, new = (contents(file)[0] for file in (path, path.parent / "again.npz"))
    assert old.keys() == new.keys()
    for name in old.keys() - {"meta"}:
        np.testing.assert_array_equal(old[name], new[name])


@pytest.fixture(scope="module")
def scaled(tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "m.npz"
    network = nn.ConvexNetworkClassifier(max_metric_iter=0)
    model = make_pipeline(StandardScaler(), PCA(3, random_state=0), network).fit(X, SIDE)
    nn.save_model(model, path)
    return model, path


def test_a_pipeline_comes_back_bit_for_bit(scaled):
    model, path = scaled
    back = nn.load_model(path)
    assert type(back) is Pipeline
    assert [name for name, _ in back.steps] == [name for name, _ in model.steps]
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(back, method)(NEW), getattr(model, method)(NEW))
    assert [str(step) for step in back[:-1]] == [str(step) for step in model[:-1]]
    assert back[-1].get_params() == model[-1].get_params()
    assert back[-1].certificate_.verify(back[:-1].transform(X), SIDE).relative_gap < 1e-8
    _is_written_again(path, back)


def _frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :2], columns=["size", "price"])
    frame["color"] = np.array(["red", "green", "blue", None], dtype=object)[np.arange(40) % 4]
    frame.loc[3, "size"] = np.nan
    return frame


def _columns():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = [("numbers", numbers, make_column_selector(dtype_include="number")), ("words", words, ["color"])]
    return ColumnTransformer(parts).set_output(transform="pandas")


FRONTS = {
    "columns": (_columns, _frame),
    "chosen": (lambda: SelectKBest(k=2), lambda: X),
    "bins": (lambda: KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), lambda: X),
    "union": (lambda: FeatureUnion([("pca", PCA(2)), ("same", "passthrough")]), lambda: X),
    "logarithm": (lambda: FunctionTransformer(np.arcsinh), lambda: X),
    "none": (lambda: "passthrough", lambda: X),
    "words": (
        lambda: Pipeline(
            [("tfidf", TfidfVectorizer()), ("dense", FunctionTransformer(None)), ("cut", PCA(2, random_state=0))]
        ),
        lambda: np.array(["a red cat", "the blue dog", "no fish", "red red fish"], dtype=object)[np.arange(40) % 4],
    ),
}


@pytest.mark.parametrize("front", FRONTS)
def test_steps_of_scikit_learn_come_back(tmp_path, front):
    make, rows = FRONTS[front]
    rows = rows()
    model = Pipeline([("front", make()), ("model", _gated())]).fit(rows, SIDE)
    back = _stored(model, tmp_path / "m.npz")
    np.testing.assert_array_equal(back.decision_function(rows), model.decision_function(rows))
    mine, others = (list(getattr(one[-1], "feature_names_in_", [])) for one in (back, model))
    assert mine == others
    again = back.fit(rows, SIDE)  # scikit-learn clones and fits it as any other
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))


@pytest.mark.slow
def test_a_search_may_be_the_last_step_or_over_a_pipeline(tmp_path):
    def search(estimator):
        return nn.BetaCV(estimator, betas=[0.1, 0.01], cv=2)

    inner = make_pipeline(StandardScaler(), PCA(2), _gated(beta=0.1))
    last = make_pipeline(StandardScaler(), search(_gated(beta=0.1)))
    for model in (last, search(inner), make_pipeline(StandardScaler(), search(clone(inner)))):
        back = _stored(model.fit(X, SIDE), tmp_path / "m.npz")
        np.testing.assert_array_equal(back.decision_function(NEW), model.decision_function(NEW))
        read, fitted = (one if isinstance(one, nn.BetaCV) else one[-1] for one in (back, model))
        np.testing.assert_array_equal(read.scores_, fitted.scores_)
        assert read.n_features_in_ == 4
        if model is not last:
            assert read.estimator[-1].get_params() == inner[-1].get_params()
            assert str(read.estimator) == str(inner)
        np.testing.assert_array_equal(back.fit(X, SIDE).predict(NEW), model.predict(NEW))


def _customers():
    pd = pytest.importorskip("pandas")
    local = np.random.default_rng(1)
    frame = pd.DataFrame({"city": np.array(["Oslo", "Bergen", "Tromsø", None], dtype=object)[np.arange(40) % 4]})
    frame["age"] = local.integers(18, 80, 40).astype(float)
    frame["member"] = local.random(40) > 0.5
    frame["joined"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(local.integers(0, 900, 40), unit="D")
    frame.loc[3, "age"] = np.nan
    return frame.assign(buys=SIDE)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "m.npz"
    model = table_model(_customers(), "buys", estimator=_gated())
    nn.save_model(model, path)
    return model, path


@pytest.mark.filterwarnings("ignore::clifford_rand_nn.tables.encoded_rows.TableWarning")  # of Trondheim
def test_a_table_model_comes_back_without_skops(table, monkeypatch):
    monkeypatch.setattr("clifford_rand.errors.available", lambda module: module != "skops")
    model, path = table
    back, frame = nn.load_model(path), _customers().drop(columns="buys")
    new = frame.iloc[::-1].assign(city="Trondheim", age=np.nan)
    for rows in (frame, new):
        np.testing.assert_array_equal(back.decision_function(rows), model.decision_function(rows))
        np.testing.assert_array_equal(back[0].transform(rows), model[0].transform(rows))
    assert back[0].columns_ == model[0].columns_
    assert back[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    assert back[-1].certificate_.verify(back[:-1].transform(frame), SIDE).relative_gap < 0.02
    _is_written_again(path, back)


TABLE_DAMAGE = {
    "lost": lambda arrays, told: arrays.pop("step0_fill"),
    "one too many": lambda arrays, told: arrays.update(step0_evil=np.ones(1)),
    "longer": lambda arrays, told: arrays.update(step0_fill=np.ones(99)),
    "text": lambda arrays, told: arrays.update(step0_fill=np.array(["a"])),
    "column": lambda arrays, told: told["columns"][0].update(kind="pickle"),
    "parameter": lambda arrays, told: told["params"].update(evil=1),
    "later": lambda arrays, told: told.update(version=99),
    "another width": lambda arrays, told: told.update(
        marked=[] if told["marked"] else [one["name"] for one in told["readers"] if one["kind"] == "numeric"]
    ),
}


def _grid():
    pipeline = make_pipeline(StandardScaler(), nn.ConvexNetworkRegressor(max_metric_iter=0))
    return GridSearchCV(pipeline, {"standardscaler__with_mean": [True, False]}, cv=2).fit(X, X[:, 0])


def _fitted(*steps):
    return make_pipeline(*steps, _gated()).fit(X, SIDE)


REFUSED = {
    "not ours": (lambda: make_pipeline(LogisticRegression()).fit(X, SIDE), r"Pipeline that ends .*\. Got LogisticRegr"),
    "grid": (_grid, r"Got GridSearchCV instead\. Save its best_estimator_"),
    "function": (lambda: _fitted(FunctionTransformer(lambda rows: rows)), r"step 'functiontransformer'.*<lambda>"),
    "compiled": (lambda: _fitted(SplineTransformer()), r"step 'splinetransformer'.*Got scipy\..* joblib"),
    "trees": (lambda: _fitted(RandomTreesEmbedding(3, sparse_output=False)), r"Got sklearn\.tree\._tree\.Tree"),
    "unfitted": (
        lambda: make_pipeline(StandardScaler(), _gated().fit(X, SIDE)),
        r"step 'standardscaler' is fitted\. Got This StandardScaler instance is not fitted",
    ),
    "last unfitted": (lambda: make_pipeline(StandardScaler().fit(X), _gated()), "must be fitted. Got a GatedReLU"),
    "folder": (lambda: _fitted(make_pipeline(PCA(2), memory="cache")), r"'pipeline' can be written.*memory='cache'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_file_may_hold_is_refused_by_name(tmp_path, monkeypatch, what):
    monkeypatch.chdir(tmp_path)
    make, message = REFUSED[what]
    with pytest.raises(ArgumentError, match=message):
        nn.save_model(make(), tmp_path / "m.npz")
    assert not (tmp_path / "m.npz").exists()


def _with_schema(path, out, change):
    """Write the file again with another tree of its first step, whose digest is right."""
    arrays, meta = contents(path)
    with zipfile.ZipFile(io.BytesIO(arrays["step0"].tobytes())) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    tree = json.loads(members["schema.json"])
    tree = change(tree, members) or tree
    schema = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in (members | {"schema.json": schema}).items():
            archive.writestr(name, data)
    arrays["step0"] = np.frombuffer(stream.getvalue(), dtype=np.uint8)
    meta["pipeline"]["steps"][0]["sha256"] = hashlib.sha256(stream.getvalue()).hexdigest()
    write(out, arrays, meta)
    return out


def _call(function, *arguments):
    node = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    text = [node | {"content": json.dumps(one)} for one in arguments]
    content = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": text}
    module, name = function.rsplit(".", 1)
    return {"__class__": name, "__module__": module, "__loader__": "ConstructorFromReduceNode", "content": content}


def _attribute(name, node):
    return lambda tree, members: tree["content"]["content"].update({name: node})


FOREIGN = {
    "a call": _attribute("copy", _call("pathlib.Path.touch", "touched")),
    "the whole step": lambda tree, members: _call("os.system", "touch touched") | {"protocol": tree["protocol"]},
    "of an older protocol": lambda tree, members: _call("os.system", "touch touched") | {"protocol": 0},
    "a function": _attribute(
        "copy", {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "content": {}}
    ),
    "a type": _attribute("copy", {"__class__": "Popen", "__module__": "subprocess", "__loader__": "TypeNode"}),
    "a tree": _attribute("copy", _call("sklearn.tree._tree.Tree", 1, 2, 3)),
    "our own": _attribute("copy", _call("clifford_rand_nn.model_file.load_model", "m.npz")),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_crafted_steps_are_refused_by_name_and_never_run(scaled, tmp_path, monkeypatch, what):
    monkeypatch.chdir(tmp_path)
    path = _with_schema(scaled[1], tmp_path / "m.npz", FOREIGN[what])
    name = "(pathlib.Path.touch|os.system|subprocess.Popen|.*Tree|.*load_model)"
    message = rf"m\.npz: the model file is refused: its step 'standardscaler' holds {name}"
    with pytest.raises(ArgumentError, match=message):
        nn.load_model(path)
    assert [file.name for file in tmp_path.iterdir()] == ["m.npz"]


def _member(name, data):
    return lambda tree, members: members.update({name: data})


CRAFTED = {
    "a pickle for an array": _member("1.npy", pickle.dumps([1])),
    "objects": lambda tree, members: members.update({"1.npy": _npy(np.array([None, 1]), allow_pickle=True)}),
    "another member": _member("evil.py", b"print()"),
    "sparse": _member("1.npz", b""),
    "a later protocol": lambda tree, members: tree.update(protocol=99),
    "no protocol": lambda tree, members: tree.pop("protocol"),
    "another loader": lambda tree, members: tree.update(__loader__="EvilNode"),
    "no class": lambda tree, members: tree.pop("__class__"),
    "deep": lambda tree, members: b"[" * 100_000,
    "another step": lambda tree, members: tree.update(__class__="MinMaxScaler"),
    "a model": lambda tree, members: tree.update(__class__="KMeans", __module__="sklearn.cluster._kmeans"),
    "no step": lambda tree, members: (
        json.loads(json.dumps(_call("numpy.dtype", "f8"))) | {"protocol": tree["protocol"]}
    ),
}


def _npy(array, **how):
    stream = io.BytesIO()
    np.save(stream, array, **how)
    return stream.getvalue()


DAMAGE = {
    "swapped": lambda arrays, meta: arrays.update(step0=arrays["step1"], step1=arrays["step0"]),
    "cut": lambda arrays, meta: arrays.update(step0=arrays["step0"][:-100]),
    "lost": lambda arrays, meta: arrays.pop("step1"),
    "one too many": lambda arrays, meta: arrays.update(step2=arrays["step1"]),
    "no bytes": lambda arrays, meta: arrays.update(step0=arrays["step0"].astype(float)),
    "kind": lambda arrays, meta: meta["pipeline"]["steps"][0].update(kind="pickle"),
    "no steps": lambda arrays, meta: meta["pipeline"].pop("steps"),
    "name": lambda arrays, meta: meta["pipeline"].update(name=3),
    "a step less": lambda arrays, meta: (
        arrays.pop(f"step{len(meta['pipeline']['steps']) - 1}") is not None and meta["pipeline"]["steps"].pop()
    ),
    "two of one name": lambda arrays, meta: meta["pipeline"].update(name="pca"),
}


@pytest.mark.parametrize(
    ("part", "fault"), [(p, fault) for p, faults in enumerate((TABLE_DAMAGE, CRAFTED, DAMAGE)) for fault in faults]
)
def test_damage_gives_the_one_error(scaled, table, tmp_path, part, fault):
    """Of a table's encoder, of the tree of a step, and of the list of steps."""
    path = tmp_path / "m.npz"
    if part == 1:
        _with_schema(scaled[1], path, CRAFTED[fault])
    else:
        arrays, meta = contents((table, None, scaled)[part][1])
        (TABLE_DAMAGE, None, DAMAGE)[part][fault](arrays, meta["pipeline"]["steps"][0]["encoder"] if not part else meta)
        write(path, arrays, meta)
    with pytest.raises(ArgumentError, match=r"m\.npz: the model file is damaged") as caught:
        nn.load_model(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("way", [damaged_bytes, damaged_members])
def test_damaged_steps_load_as_they_were_or_raise_the_one_error(scaled, tmp_path, way):
    """With the digest of the damaged bytes, so that skops' reader meets them."""
    arrays, meta = contents(scaled[1])
    good, loaded, told = arrays["step0"].tobytes(), 0, 0
    for trial in range(30):
        bad = way(good, np.random.default_rng([9, trial]))
        arrays["step0"] = np.frombuffer(bad, dtype=np.uint8)
        meta["pipeline"]["steps"][0]["sha256"] = hashlib.sha256(bad).hexdigest()
        write(tmp_path / "m.npz", arrays, meta)
        try:
            nn.load_model(tmp_path / "m.npz")
            loaded += 1
        except ArgumentError as error:
            told += "m.npz" in str(error) and "\n" not in str(error)
    assert loaded + told == 30
    assert told > 10


def test_a_file_of_another_scikit_learn_warns_as_scikit_learn_does(scaled, tmp_path):
    def older(tree, members):
        text = json.dumps("1.0.2")
        tree["content"]["content"]["_sklearn_version"]["content"] = text

    path = _with_schema(scaled[1], tmp_path / "m.npz", older)
    with pytest.warns(InconsistentVersionWarning, match=r"StandardScaler from version 1\.0\.2"):
        back = nn.load_model(path)
    np.testing.assert_array_equal(back.predict(NEW), scaled[0].predict(NEW))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.load_model(scaled[1])


def test_without_skops_it_is_said_what_to_install(scaled, tmp_path, monkeypatch):
    monkeypatch.setattr("clifford_rand.errors.available", lambda module: module != "skops")
    for attempt in (lambda: nn.save_model(scaled[0], tmp_path / "m.npz"), lambda: nn.load_model(scaled[1])):
        with pytest.raises(MissingDependencyError, match=r'needs skops\.io: pip install "skops>='):
            attempt()
    nn.save_model(scaled[0][-1], tmp_path / "m.npz")
    assert "skops" not in sys.modules or nn.load_model(tmp_path / "m.npz")
