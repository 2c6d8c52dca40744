"""Model files: the same estimator back, bit for bit, and one error for every file that is not one."""

import json
import pickle
import tracemalloc
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import (
    BetaCV,
    CrossProductLassoClassifier,
    GatedReLUClassifier,
    GatedReLURegressor,
    Gates,
    load_model,
    sample_gates,
    save_model,
)
from clifford_rand_nn.tables import read_table
from support import exported
from support.damage import bomb, damaged_bytes, damaged_directory, damaged_members, model_files

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
NEW = rng.standard_normal((500, 3))
SIDE = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


def _classifier(y, **params):
    return GatedReLUClassifier(n_gates=12, beta=1e-2, bias=True, random_state=3, tol=1e-4, **params).fit(X, y)


LABELS = {
    "text": np.array(["no", "yes", "mayb é"])[SIDE],
    "object": np.array(["no", "yes", "maybe"], dtype=object)[SIDE],
    "objects that end with NUL": np.array(["no", "no\0", "no\0\0"], dtype=object)[SIDE],
    "integers": SIDE.astype(np.int32) - 7,
    "booleans": SIDE > 0,
    "floats": SIDE * 2.0 - 1,
}


@pytest.mark.parametrize("kind", [*exported.KINDS, "beta and loss from the data", "drawn columns and linear models"])
def test_every_kind_comes_back_bit_for_bit(tmp_path, kind):
    """Parameters, predictions, bias and certificate of every family, in any of its losses."""
    if kind in exported.NAMES:
        model, (rows, y) = exported.fitted(kind), exported.training(kind)
    else:
        rows, y = X, SIDE > 0
        auto = GatedReLUClassifier(n_gates=6, random_state=0), CrossProductLassoClassifier(random_state=0)
        model = auto[kind.startswith("drawn")].fit(rows, y)
    save_model(tmp_path / "m.npz", model)
    back = load_model(tmp_path / "m.npz")
    assert type(back) is type(model)
    if not isinstance(model, BetaCV):
        assert back.get_params() == model.get_params()
        for name in ("beta_", "bias_feature_", "loss_", "penalty_", "intercept_"):
            np.testing.assert_array_equal(getattr(back, name, None), getattr(model, name, None))
        assert back.certificate_.scope == model.certificate_.scope
        assert back.certificate_.verify(rows, y).relative_gap == model.certificate_.verify(rows, y).relative_gap
    for name in ("predict", "decision_function", "predict_proba", "predict_interval"):
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(back, name)(rows), getattr(model, name)(rows))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_classifier_comes_back_bit_for_bit(tmp_path, kind, loss):
    model = _classifier(LABELS[kind], loss=loss)
    save_model(tmp_path / "m.npz", model)
    back = load_model(tmp_path / "m.npz")
    assert type(back) is GatedReLUClassifier
    np.testing.assert_array_equal(back.decision_function(NEW), model.decision_function(NEW))
    np.testing.assert_array_equal(back.predict(NEW), model.predict(NEW))
    if loss == "logistic":
        np.testing.assert_array_equal(back.predict_proba(NEW), model.predict_proba(NEW))
    assert back.classes_.dtype == model.classes_.dtype
    assert back.predict(NEW).dtype == model.predict(NEW).dtype
    assert back.get_params() == model.get_params()
    np.testing.assert_array_equal(back.network_.predict(NEW), model.network_.predict(NEW))


@pytest.mark.parametrize("weights", ["balanced", {"no": 1.0, "yes": 2.5, "mayb é": 4.0}])
def test_weights_of_classes_come_back(tmp_path, weights):
    model = _classifier(LABELS["text"], class_weight=weights)
    save_model(tmp_path / "m.npz", model)
    back = load_model(tmp_path / "m.npz")
    assert back.class_weight == weights
    np.testing.assert_array_equal(back.fit(X, LABELS["text"]).coef_, model.coef_)


@pytest.mark.parametrize("shape", [(60,), (60, 1), (60, 2)])
def test_regressor_comes_back_bit_for_bit(tmp_path, shape):
    y = np.abs(X[:, : shape[1]]) if len(shape) == 2 else np.abs(X[:, 0])
    model = GatedReLURegressor(n_gates=10, beta=1e-2, random_state=0, tol=1e-3, bias=False).fit(X, y)
    save_model(tmp_path / "m.npz", model)
    back = load_model(tmp_path / "m.npz")
    assert back.predict(NEW).shape == (500, *shape[1:])
    np.testing.assert_array_equal(back.predict(NEW), model.predict(NEW))


@pytest.mark.parametrize("betas", [None, [0.3, 0.03, 0.003]], ids=["grid", "given"])
def test_a_search_comes_back_with_its_scores_and_can_be_fitted_again(tmp_path, betas):
    y = LABELS["text"]
    search = BetaCV(
        GatedReLUClassifier(n_gates=5, max_time=60, random_state=0, beta=1e-3, bias=True), betas=betas, n_betas=4, cv=3
    )
    search.set_params(rule="one_se", scoring="balanced_accuracy", n_jobs=1).fit(X, y)
    search.scores_[-1] = np.nan  # what a beta has that no time was left for
    save_model(tmp_path / "m.npz", search)
    back = load_model(tmp_path / "m.npz")
    assert type(back) is BetaCV
    for name in ("betas_", "scores_", "classes_"):
        np.testing.assert_array_equal(getattr(back, name), getattr(search, name))
    assert back.beta_ == search.beta_ == back.estimator_.beta
    for name in ("n_betas", "eps", "cv", "scoring", "rule", "max_time", "n_jobs", "verbose"):
        assert getattr(back, name) == getattr(search, name)
    assert back.estimator.get_params() == search.estimator.get_params()
    np.testing.assert_array_equal(back.decision_function(NEW), search.decision_function(NEW))
    assert back.estimator_.certificate_.verify(X, y).relative_gap < 1e-5
    assert back.score(X, y) == search.score(X, y)
    again = back.fit(X, y)
    assert again.beta_ == search.beta_
    np.testing.assert_array_equal(again.decision_function(NEW), search.decision_function(NEW))


def test_a_damaged_search_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"must be fitted\. Got a BetaCV before fit"):
        save_model(tmp_path / "m.npz", BetaCV(GatedReLUClassifier(beta=1e-3, bias=True)))
    save_model(
        tmp_path / "m.npz",
        BetaCV(GatedReLUClassifier(4, random_state=0, beta=1e-3, bias=True), betas=[0.1], cv=2).fit(X, SIDE),
    )
    with np.load(tmp_path / "m.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, value in (
        ("search_betas", np.array([0.1, 0.2])),
        ("search_betas", np.array([0.2])),
        ("search_scores", np.array([[np.inf, 1.0]])),
    ):
        np.savez(tmp_path / "m.npz", **(arrays | {name: value}))
        with pytest.raises(ArgumentError, match=r"m\.npz: (the|this) model file is damaged"):
            load_model(tmp_path / "m.npz")


def test_certificate_can_still_be_verified(tmp_path):
    model = _classifier(LABELS["text"])
    save_model(tmp_path / "m.npz", model)
    back = load_model(tmp_path / "m.npz").certificate_
    assert (back.primal, back.dual, back.n_patterns, back.scope) == (
        model.certificate_.primal,
        model.certificate_.dual,
        model.certificate_.n_patterns,
        model.certificate_.scope,
    )
    assert back.verify(X, LABELS["text"]).relative_gap < 2e-4


def test_gates_come_back_with_their_incident_rows_and_notes(tmp_path):
    model = _classifier(LABELS["text"])
    save_model(tmp_path / "m.npz", model)
    back = load_model(tmp_path / "m.npz").gates_
    for name in ("directions", "offsets", "incident", "sides", "n_dependent", "method", "sketch_dim", "notes"):
        np.testing.assert_array_equal(getattr(back, name), getattr(model.gates_, name))


@pytest.mark.parametrize("wrap", [tuple, lambda gates: gates], ids=["pair", "Gates"])
def test_given_hyperplanes_stay_a_parameter(tmp_path, wrap):
    gates = sample_gates(X, 6, rng=0)
    model = _classifier(LABELS["text"], gates=wrap(gates))
    save_model(tmp_path / "m.npz", model)
    back = load_model(tmp_path / "m.npz")
    assert isinstance(back.gates, Gates)
    np.testing.assert_array_equal(back.gates.directions, gates.directions)
    np.testing.assert_array_equal(back.fit(X, LABELS["text"]).coef_, model.coef_)


def test_feature_names_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    model = GatedReLUClassifier(n_gates=5, tol=1e-2, random_state=0, beta=1e-3, bias=True).fit(frame, SIDE)
    save_model(tmp_path / "m.npz", model)
    assert load_model(tmp_path / "m.npz").feature_names_in_.tolist() == ["p", "q", "r"]


def test_file_is_plain_arrays_and_one_json_entry(tmp_path):
    save_model(tmp_path / "m.npz", _classifier(LABELS["object"]))
    with np.load(tmp_path / "m.npz", allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    meta = json.loads(arrays["meta"].tobytes())
    assert (meta["format"], meta["version"], meta["params"]["n_gates"]) == ("clifford-rand-model", 2, 12)
    assert "class_weight" not in meta["params"]  # which readers of version 2 would not take
    assert meta["library"]
    assert meta["n_rows"] == 60
    assert meta["libraries"]["numpy"] == np.__version__
    assert abs(datetime.fromisoformat(meta["saved"]) - datetime.now(UTC)) < timedelta(minutes=5)
    assert meta["certificate"]["relative_gap"] <= 1e-4
    assert not any(array.dtype == object for array in arrays.values())


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    path.write_text("old")

    def broken(stream, **arrays):
        stream.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(OSError, match="disk full"):
        save_model(path, _classifier(LABELS["text"]))
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.npz"]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link.npz").symlink_to(tmp_path / "real.npz")
    save_model(tmp_path / "link.npz", _classifier(LABELS["text"]))
    assert (tmp_path / "link.npz").is_symlink()
    assert (tmp_path / "real.npz").is_file()


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"must be a file name that ends in \.npz"):
        save_model(tmp_path / "m.pkl", _classifier(LABELS["text"]))
    with pytest.raises(ArgumentError, match=r"must be fitted\. Got a GatedReLUClassifier before fit"):
        save_model(tmp_path / "m.npz", GatedReLUClassifier(beta=1e-3, bias=True))
    with pytest.raises(ArgumentError, match=r"must be one of GatedReLUClassifier, .*\. Got dict"):
        save_model(tmp_path / "m.npz", {})


def _rewritten(tmp_path, change):
    path = tmp_path / "m.npz"
    save_model(path, _classifier(LABELS["text"]))
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    meta = json.loads(arrays["meta"].tobytes())
    change(arrays, meta)
    if "meta" in arrays:
        arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    return path


DAMAGE = {
    "newer": (
        lambda arrays, meta: meta.update(version=12, library="9.9"),
        r"version 12 of the format \(clifford-rand 9.9",
    ),
    "other": (lambda arrays, meta: meta.update(format="scnn"), "file of format 'scnn', not 'clifford-rand-model'"),
    "no meta": (lambda arrays, meta: arrays.pop("meta"), "not a model file of clifford-rand"),
    "no coef": (lambda arrays, meta: arrays.pop("coef"), "damaged.*coef"),
    "shape": (lambda arrays, meta: arrays.update(coef=arrays["coef"][:, :2]), "the arrays do not fit each other"),
    "gates": (lambda arrays, meta: arrays.update(gates_offsets=np.zeros(3)), "the gates do not fit each other"),
    "classes": (lambda arrays, meta: arrays.update(classes=np.array(["a"])), "the classes do not fit"),
    "names": (lambda arrays, meta: meta.update(feature_names=["a"]), "the feature names do not fit"),
    "estimator": (lambda arrays, meta: meta.update(estimator="os.system"), "damaged"),
    "params": (lambda arrays, meta: meta["params"].update(evil=1), "damaged.*evil"),
    "share": (lambda arrays, meta: meta["calibration"].update(share=0.5), "damaged.*by variances"),
    "weights": (lambda arrays, meta: meta["params"].update(class_weight=[["no", "neurons"]]), "damaged.*not numbers"),
    "surrogate": (lambda arrays, meta: meta["params"].update(verbose="\ud800"), "damaged.*surrogates"),
    "pickle": (lambda arrays, meta: arrays.update(coef=np.array([None, 1])), "not a model file|damaged"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_other_and_damaged_files_give_one_error_that_names_the_file(tmp_path, damage):
    change, message = DAMAGE[damage]
    path = _rewritten(tmp_path, change)
    with pytest.raises(ArgumentError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_name_that_is_no_unicode_is_refused_before_anything_is_written(tmp_path):
    model = _classifier(LABELS["text"])
    model.feature_names_in_ = np.array(["a", "b\ud800"][: model.n_features_in_] + ["c"] * (model.n_features_in_ - 2))
    with pytest.raises(ArgumentError, match=r"names and labels are Unicode\. Got .*ud800"):
        save_model(tmp_path / "m.npz", model)
    assert not list(tmp_path.iterdir())


class Harmful:
    """What a pickle could do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_no_pickle_is_ever_run(tmp_path):
    path = _rewritten(tmp_path, lambda arrays, meta: arrays.update(coef=np.array([Harmful(tmp_path / "touched")])))
    with pytest.raises(ArgumentError, match=r"m\.npz"):
        load_model(path)
    path.write_bytes(pickle.dumps(Harmful(tmp_path / "touched")))
    with pytest.raises(ArgumentError, match=r"m\.npz"):
        load_model(path)
    assert not (tmp_path / "touched").exists()


def test_truncated_and_flipped_files_never_load_wrong(tmp_path):
    path = tmp_path / "m.npz"
    model = _classifier(LABELS["text"])
    save_model(path, model)
    good = path.read_bytes()
    for size in range(0, len(good), len(good) // 40):
        path.write_bytes(good[:size])
        with pytest.raises(ArgumentError, match=r"m\.npz"):
            load_model(path)
    with zipfile.ZipFile(path, "w") as archive:  # a good archive of something else
        archive.writestr("hello.txt", "hello")
    with pytest.raises(ArgumentError, match=r"m\.npz"):
        load_model(path)
    for garbage in (b"", b"\x80\x04K\x01.", b"hello", b"\x93NUMPY\x01\x00"):
        path.write_bytes(garbage)
        with pytest.raises(ArgumentError, match=r"m\.npz"):
            load_model(path)
    generator = np.random.default_rng(1)
    for _ in range(60):  # one byte flipped: the sums of the archive notice, or nothing that matters has changed
        data = bytearray(good)
        data[generator.integers(len(data))] ^= int(generator.integers(1, 256))
        path.write_bytes(data)
        try:
            back = load_model(path)
        except ArgumentError:
            continue
        np.testing.assert_array_equal(back.decision_function(NEW), model.decision_function(NEW))


CONTENT = {  # archives whose checksums are right
    "NaN": lambda arrays, meta: arrays["coef"].flat.__setitem__(0, np.nan),
    "infinite": lambda arrays, meta: arrays["dual_point"].flat.__setitem__(0, np.inf),
    "complex": lambda arrays, meta: arrays.update(coef=arrays["coef"] + 0j),
    "text": lambda arrays, meta: arrays.update(intercept=arrays["intercept"].astype(str)),
    "float32": lambda arrays, meta: arrays.update(coef=arrays["coef"].astype(np.float32)),
    "records": lambda arrays, meta: arrays.update(coef=np.zeros(3, dtype="f8,i4")),
    "axes": lambda arrays, meta: arrays.update(dual_point=arrays["dual_point"][None]),
    "no rows": lambda arrays, meta: arrays.update(gates_incident=arrays["gates_incident"][:2]),
    "loss": lambda arrays, meta: meta["params"].update(loss="x"),
    "beta": lambda arrays, meta: meta["params"].update(beta=float("nan")),
    "gap": lambda arrays, meta: meta["certificate"].update(primal=float("inf")),
    "features": lambda arrays, meta: meta.update(n_features=10**30),
    "iterations": lambda arrays, meta: meta.update(n_iter="many"),
    "no params": lambda arrays, meta: meta.pop("params"),
    "list": lambda arrays, meta: meta.update(certificate=[]),
    "dual": lambda arrays, meta: arrays.update(dual_point=arrays["dual_point"][:, :1]),
}


@pytest.mark.parametrize("fault", CONTENT)
def test_content_is_checked_before_it_is_used(tmp_path, fault):
    path = _rewritten(tmp_path, CONTENT[fault])
    with pytest.raises(ArgumentError, match=r"m\.npz: (the|this) model file is damaged"):
        load_model(path)


def test_bombs_cost_nothing(tmp_path):
    path = tmp_path / "m.npz"
    for data in (bomb(2**26), bomb(0, declared=2**45), bomb(0, declared=10**30)):  # 64 KiB that inflate to 64 MiB
        path.write_bytes(data)
        tracemalloc.start()
        with pytest.raises(ArgumentError, match=r"m\.npz: this model file is damaged"):
            load_model(path)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 2**21
    with zipfile.ZipFile(path, "w") as archive:  # a directory of 2 MiB
        for i in range(30_000):
            archive.writestr(f"a{i}.npy", b"")
    with pytest.raises(ArgumentError, match="its directory is larger than one of arrays"):
        load_model(path)


@pytest.mark.parametrize(
    "way", [damaged_bytes, damaged_directory, pytest.param(damaged_members, marks=pytest.mark.slow)]
)
def test_damaged_files_load_as_they_were_or_raise_the_one_error(tmp_path, way):
    """A few of what `python -m tests.reliability fuzz_models` tries."""
    goods, path = model_files(tmp_path), tmp_path / "m.npz"
    loaded = told = 0
    for trial in range(200):
        random = np.random.default_rng([7, trial])
        good = goods[trial % len(goods)]
        path.write_bytes(way(good.data, random))
        tracemalloc.start()
        try:
            model = load_model(path)
        except ArgumentError as error:
            told += str(path) in str(error) and "\n" not in str(error)
            continue
        finally:
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert most < 2**25, trial
        loaded += 1
        if way is not damaged_members:
            np.testing.assert_array_equal(model.predict(good.X), good.predictions)
    assert loaded > 0
    assert loaded + told == 200


def test_damaged_tables_give_one_error(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = rng.random((40, 3)), rng.integers(0, 2, 40)
    np.savez_compressed(tmp_path / "t.npz", X=X, y=y)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(tmp_path / "t.parquet")
    for file in (tmp_path / "t.npz", tmp_path / "t.parquet"):
        good, refused = file.read_bytes(), 0
        for trial in range(150):
            file.write_bytes(damaged_bytes(good, np.random.default_rng([8, trial])))
            try:
                assert np.isfinite(read_table(file, target="y").X).all()
            except ArgumentError as error:
                refused += str(file) in str(error)
        assert refused > 100


def test_a_missing_file_is_what_python_calls_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        load_model(tmp_path / "none.npz")
