"""Model files: the same estimator back, bit for bit, and one error for every file that is not one."""

import functools
import pickle
import tracemalloc
import zipfile
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1

import clifford_rand_nn as nn
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.kernel_network.many_rows import estimates
from clifford_rand_nn.saved.parts import VERSION
from clifford_rand_nn.tables import read_table
from support import exported
from support.damage import Harmful, bomb, damaged_bytes, damaged_directory, damaged_members, model_files
from support.model_files import contents, rewritten

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
NEW = rng.standard_normal((500, 3))
SIDE = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
WEIGHTS = np.arange(60) % 3.0
LABELS = {
    "text": np.array(["no", "yes", "mayb é"])[SIDE],
    "object": np.array(["no", "yes", "maybe"], dtype=object)[SIDE],
    "objects that end with NUL": np.array(["no", "no\0", "no\0\0"], dtype=object)[SIDE],
    "integers": SIDE.astype(np.int32) - 7,
    "booleans": SIDE > 0,
    "floats": SIDE * 2.0 - 1,
}
ADDED = ("network_rows", "left_out", "loo_probabilities", "history")  # arrays that older files lack
FEW = {"beta": 0.1, "n_neurons": 5}
GATED = {"beta": 1e-2, "random_state": 0, "tol": 1e-3}
TARGETS = {"(n,)": np.abs(X[:, 0]), "(n, 1)": np.abs(X[:, :1]), "(n, 2)": np.abs(X[:, :2])}
SMALL, LARGE = pd.DataFrame(1e-150 * X, columns=["p", "q", "r"]), 1e120 * X[:, 0] ** 2
# beside the kinds of `exported`, a model, its rows and targets, and what else it is fitted to
MORE = {
    "beta and loss from the data": (nn.GatedReLUClassifier(n_gates=6, random_state=0), X, SIDE > 0, {}),
    "drawn columns": (nn.CrossProductLassoClassifier(subsample=40, random_state=0), X, SIDE > 0, {}),
    **{name: (nn.ConvexNetworkRegressor(max_metric_iter=0, target_transform=name), X, np.exp(X[:, 0]), {})
       for name in ("log", "log1p", "sqrt")},
    "row-spanned, a number": (nn.ConvexNetworkRegressor(gates="row_spanned", **FEW), X, X[:, 0] ** 2, {}),
    "optimized, classes": (nn.ConvexNetworkClassifier(gates="optimized", **FEW), X, LABELS["text"], {}),
    "later rows": (nn.ConvexNetworkRegressor(max_metric_iter=0), X, X[:, 0] ** 2, {"order": np.arange(60)}),
    "gated, weights": (nn.GatedReLURegressor(5, **GATED), X, X[:, 0] ** 2, {"sample_weight": WEIGHTS}),
    "units": (nn.ConvexNetworkRegressor(max_metric_iter=0), SMALL, LARGE, {}),
    "gated, units": (nn.GatedReLUClassifier(5, **GATED, max_iter=50), 1e300 * SMALL, SIDE, {}),
    **{f"gated, {name}": (nn.GatedReLUClassifier(12, **GATED), X, y, {}) for name, y in LABELS.items()},
    **{f"gated, {name}": (nn.GatedReLURegressor(10, **GATED, bias=False), X, y, {}) for name, y in TARGETS.items()},
    **{name: (nn.ConvexNetworkClassifier(class_weight="balanced"), X, y, {"sample_weight": WEIGHTS})
       for name, y in LABELS.items() if name not in ("objects that end with NUL", "floats")},
    **{name: (nn.ConvexNetworkRegressor(), X, y, {"sample_weight": WEIGHTS}) for name, y in TARGETS.items()},
}  # fmt: skip
FITTED = (
    *("feature_names_in_", "n_order_blocks_"),
    *("classes_", "beta_", "n_features_in_", "support_", "loo_mask_", "n_iter_", "loo_score_"),
    *("loo_predictions_", "loo_probabilities_", "candidates_", "metric_", "loss_", "loss_scores_"),
    *("bias_feature_", "penalty_", "intercept_", "neuron_scores_", "target_transform_"),
)
CERTIFIED = ("objective", "lower_bound", "relative_gap", "scope", "loss", "beta", "n_patterns", "fit_intercept")


def _gated(y=LABELS["text"], **params):
    return nn.GatedReLUClassifier(n_gates=12, beta=1e-2, bias=True, random_state=3, tol=1e-4, **params).fit(X, y)


def _network(y, weights=None, **params):
    kind = nn.ConvexNetworkRegressor if y.dtype.kind == "f" else nn.ConvexNetworkClassifier
    return kind(**params).fit(X, y, weights)


def comes_back(path, model, rows=NEW):
    """Return the model of a file, which has the parameters, the attributes and the predictions of the one saved."""
    nn.save_model(model, path)
    back = nn.load_model(path)
    assert type(back) is type(model)
    is_network = isinstance(model, nn.ConvexNetworkClassifier | nn.ConvexNetworkRegressor)
    for name in FITTED:
        if not is_network and name in ("candidates_", "n_iter_"):  # of other families only what was chosen is kept
            continue
        value = getattr(model, name, None)
        np.testing.assert_array_equal(getattr(back, name, None), value)
        assert getattr(getattr(back, name, None), "dtype", None) == getattr(value, "dtype", None)
    if is_network:
        for mine, other in zip(*(one.spanning_rows_ or [] for one in (back, model)), strict=True):
            np.testing.assert_array_equal(mine, other)
        for name in ("W1", "b1", "w2", "b2"):  # of few neurons
            np.testing.assert_array_equal(getattr(back.network_, name, None), getattr(model.network_, name, None))
        logs = [getattr(getattr(one, "calibration_", None), "log_loss", None) for one in (back, model)]
        assert logs[0] == logs[1]
        for name in ("objective", "duality_gap", "status", "history", "reason", "message"):
            assert getattr(back.result_, name) == getattr(model.result_, name)
    if not isinstance(model, nn.BetaCV):
        for name in CERTIFIED:
            assert getattr(back.certificate_, name) == getattr(model.certificate_, name)
    for method in ("predict", "predict_proba", "decision_function", "predict_interval"):
        if hasattr(model, method):
            values, expected = (np.asarray(getattr(one, method)(rows)) for one in (back, model))
            np.testing.assert_array_equal(values, expected)
            assert values.dtype == expected.dtype
    return back


@pytest.mark.kept("relu, a number", "gated, objects that end with NUL", "text", "(n, 1)", "gated, units")
@pytest.mark.parametrize("kind", [*exported.KINDS, *MORE])
def test_every_kind_comes_back_bit_for_bit(tmp_path, kind):
    if kind in MORE:
        model, rows, y, more = MORE[kind]
        model = clone(model).fit(rows, y, **more)
    else:
        model, (rows, y) = exported.fitted(kind), exported.training(kind)
    back = comes_back(tmp_path / "m.npz", model, rows)
    if not isinstance(model, nn.BetaCV):
        assert back.get_params() == model.get_params()
        gaps = [one.certificate_.verify(np.asarray(rows), y).relative_gap for one in (back, model)]
        assert gaps[0] == gaps[1]
        assert back.score(rows, y) == model.score(rows, y)


@pytest.mark.parametrize("weights", ["balanced", {"no": 1.0, "yes": 2.5, "mayb é": 4.0}])
def test_a_loaded_model_can_be_fitted_again(tmp_path, weights):
    y = LABELS["text"]
    for model in (_gated(class_weight=weights), _network(y, class_weight=weights, max_metric_iter=0, beta=0.01)):
        back = comes_back(tmp_path / "m.npz", model)
        assert back.class_weight == weights
        np.testing.assert_array_equal(clone(back).fit(X, y).decision_function(NEW), model.decision_function(NEW))


@pytest.mark.parametrize("wrap", [tuple, lambda gates: gates], ids=["pair", "Gates"])
def test_gates_come_back_and_given_ones_stay_a_parameter(tmp_path, wrap):
    gates = nn.sample_gates(X, 6, random_state=0)
    model = _gated(gates=wrap(gates))
    back = comes_back(tmp_path / "m.npz", model)
    assert isinstance(back.gates, nn.Gates)
    np.testing.assert_array_equal(back.gates.directions, gates.directions)
    for name in ("directions", "offsets", "incident", "sides", "n_dependent", "method", "sketch_dim", "notes"):
        np.testing.assert_array_equal(getattr(back.gates_, name), getattr(model.gates_, name))
    np.testing.assert_array_equal(back.fit(X, LABELS["text"]).coef_, model.coef_)


def test_probabilities_and_intervals_use_the_variance_that_is_made_again(tmp_path):
    """Else the two would agree because there is none."""
    model = nn.ConvexNetworkClassifier(max_metric_iter=0).fit(*load_iris(return_X_y=True))
    assert model.calibration_.share > 0
    far = np.random.default_rng(0).uniform(-20, 20, (50, 4))
    back = comes_back(tmp_path / "m.npz", model, far)
    back._noise = 100 * back._noise
    back._keep_variance(True)
    assert not np.array_equal(back.predict_proba(far), model.predict_proba(far))
    local = np.random.default_rng(3)
    rows = local.uniform(0, 1, (120, 1)) ** 4  # few on the right
    y = np.sin(8 * rows[:, 0]) + 0.05 * local.standard_normal(120)
    model = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(rows, y)
    assert model.intervals_.shares.any()
    new = np.linspace(-1, 2, 50)[:, None]
    back = comes_back(tmp_path / "m.npz", model, new)
    np.testing.assert_array_equal(back.predict_interval(new, coverage=0.5), model.predict_interval(new, coverage=0.5))
    widths = np.subtract(*back.predict_interval(new)[::-1])
    assert widths.max() > 1.5 * widths.min()


@pytest.mark.parametrize("layout", ["C", "F"])
def test_a_learned_metric_and_its_trials_come_back(tmp_path, layout):
    """Their coefficients lie in Fortran order, which the last bit of a product may depend on."""
    rows, y = make_friedman1(150, noise=0.5, random_state=0)
    model = nn.ConvexNetworkRegressor().fit(np.asarray(rows, order=layout), y)
    assert model.metric_selection_.n_iter >= 1
    assert model.network_.kernel.frame is not None
    back = comes_back(tmp_path / "m.npz", model, make_friedman1(300, random_state=1)[0])
    for name in ("trials", "shape", "n_iter", "beta_factors"):
        assert getattr(back.metric_selection_, name) == getattr(model.metric_selection_, name)
    np.testing.assert_array_equal(back.metric_selection_.rows, model.metric_selection_.rows)
    np.testing.assert_array_equal(back.metric_selection_.predictions, model.metric_selection_.predictions)


@pytest.mark.parametrize("way", ["factor", "landmarks"])
def test_networks_of_many_rows_come_back(tmp_path, monkeypatch, way):
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.DECOMPOSED", 150)
    choose = lambda n, *of: estimates(n, *of[:2], 0.0, 1e9, 9.0)[way]  # noqa: E731
    monkeypatch.setattr("clifford_rand_nn.kernel_network.many_rows.choose", choose)
    rows, y = make_friedman1(250, noise=0.5, random_state=0)
    model = nn.ConvexNetworkRegressor().fit(rows, y)
    np.testing.assert_array_equal(model.network_.standard.rows(rows[model.support_]), model.network_.rows)
    back = comes_back(tmp_path / "m.npz", model, rows)
    assert back.certificate_.claim.landmarks == model.certificate_.claim.landmarks == (way == "landmarks")
    found, same = (one.certificate_.verify(rows, y) for one in (back, model))
    assert (found.objective, found.lower_bound) == (same.objective, same.lower_bound)
    assert same.objective == pytest.approx(model.certificate_.objective, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("betas", [None, [0.3, 0.03, 0.003]], ids=["grid", "given"])
def test_a_search_comes_back_with_its_scores_and_can_be_fitted_again(tmp_path, betas):
    y = LABELS["text"]
    gated = nn.GatedReLUClassifier(n_gates=5, max_time=60, random_state=0)
    search = nn.BetaCV(gated, betas=betas, n_betas=4, cv=3)
    search.set_params(rule="one_se", scoring="balanced_accuracy", n_jobs=1).fit(X, y)
    search.scores_[-1] = np.nan  # what a beta has that no time was left for
    back = comes_back(tmp_path / "m.npz", search)
    for name in ("betas_", "scores_"):
        np.testing.assert_array_equal(getattr(back, name), getattr(search, name))
    assert back.beta_ == back.estimator_.beta
    for name in ("n_betas", "eps", "cv", "scoring", "rule", "max_time", "n_jobs", "verbose"):
        assert getattr(back, name) == getattr(search, name)
    assert back.estimator.get_params() == search.estimator.get_params()
    assert back.estimator_.certificate_.verify(X, y).relative_gap < 1e-5
    again = back.fit(X, y)
    assert again.beta_ == search.beta_
    np.testing.assert_array_equal(again.decision_function(NEW), search.decision_function(NEW))


def test_file_is_plain_arrays_and_one_json_entry(tmp_path):
    nn.save_model(_gated(LABELS["object"]), tmp_path / "m.npz")
    arrays, meta = contents(tmp_path / "m.npz")
    assert (meta["format"], meta["version"], meta["params"]["n_gates"]) == ("clifford-rand-model", VERSION, 12)
    assert meta["library"]
    assert meta["n_rows"] == 60
    assert meta["libraries"]["numpy"] == np.__version__
    assert abs(datetime.fromisoformat(meta["saved"]) - datetime.now(UTC)) < timedelta(minutes=5)
    assert meta["certificate"]["relative_gap"] <= 1e-4
    assert not any(array.dtype == object for array in arrays.values())


def test_writing_is_all_or_nothing_and_follows_links(tmp_path, monkeypatch):
    path, model = tmp_path / "m.npz", _gated()
    (tmp_path / "link.npz").symlink_to(path)
    nn.save_model(model, tmp_path / "link.npz")
    assert (tmp_path / "link.npz").is_symlink()
    path.write_text("old")

    def broken(stream, **arrays):
        stream.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(OSError, match="disk full"):
        nn.save_model(model, path)
    assert path.read_text() == "old"
    assert {entry.name for entry in tmp_path.iterdir()} == {"m.npz", "link.npz"}


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"must be a file name that ends in \.npz"):
        nn.save_model(_gated(), tmp_path / "m.pkl")
    with pytest.raises(ArgumentError, match=r"It comes second: save_model\(model, path\)"):
        nn.save_model(tmp_path / "m.npz", _gated())
    for model in (nn.GatedReLUClassifier(), nn.ConvexNetworkRegressor(), nn.BetaCV(nn.GatedReLUClassifier(bias=True))):
        with pytest.raises(ArgumentError, match=rf"must be fitted\. Got a {type(model).__name__} before fit"):
            nn.save_model(model, tmp_path / "m.npz")
    with pytest.raises(ArgumentError, match=r"must be one of GatedReLUClassifier, .*\. Got dict"):
        nn.save_model({}, tmp_path / "m.npz")
    model = _gated()
    model.feature_names_in_ = np.array(["a", "b\ud800", "c"])
    with pytest.raises(ArgumentError, match=r"names and labels are Unicode\. Got .*ud800"):
        nn.save_model(model, tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def made():
    return {
        "gated": _gated(),
        "search": nn.BetaCV(nn.GatedReLUClassifier(4, random_state=0, bias=True), betas=[0.1], cv=2).fit(X, SIDE),
        "classifier": _network(LABELS["text"]),
        "regressor": _network(X[:, 0] ** 2, max_metric_iter=0),
        "multilabel": nn.ConvexNetworkClassifier(max_metric_iter=0).fit(X, (X[:, :3] > 0).astype(int)),
    }


def _cut(name, *shape):
    return lambda arrays, meta: arrays.update({name: np.resize(arrays[name], shape)})


def _set(name, change):
    return lambda arrays, meta: arrays.update({name: change(arrays[name])})


def _put(name, value):
    return lambda arrays, meta: arrays[name].flat.__setitem__(0, value)


def _pop(name):
    return lambda arrays, meta: arrays.pop(name)


def _at(meta, place):
    return functools.reduce(lambda part, key: part[key], place, meta)


def _meta(*place, **values):
    return lambda arrays, meta: _at(meta, place).update(values)


def _meta_pop(*place):
    return lambda arrays, meta: _at(meta, place[:-1]).pop(place[-1])


DAMAGE = {  # archives whose checksums are right, and what the error says
    "gated": [
        (_meta(version=VERSION + 1, library="9.9"), rf"version {VERSION + 1} of the format \(clifford-rand 9.9"),
        (_meta(format="scnn"), "file of format 'scnn', not 'clifford-rand-model'"),
        (_pop("meta"), "not a model file of clifford-rand"),
        (_pop("coef"), "damaged.*coef"),
        (_set("coef", lambda a: a[:, :2]), "the arrays do not fit each other"),
        (_set("gates_offsets", lambda a: np.zeros(3)), "the gates do not fit each other"),
        (_set("classes", lambda a: np.array(["a"])), "the classes do not fit"),
        (_meta(feature_names=["a"]), "the feature names do not fit"),
        (_meta("params", evil=1), "damaged.*evil"),
        (_meta("calibration", share=0.5), "damaged.*by variances"),
        (_meta("params", class_weight=[["no", "neurons"]]), "damaged.*not numbers"),
        (_meta("params", verbose="\ud800"), "damaged.*surrogates"),
        (_set("coef", lambda a: np.array([None, 1])), "holds object arrays"),
        (
            lambda arrays, meta: arrays.update(sample_weight=np.r_[0.0, np.ones(59)]),
            "weights do not fit the dual point",
        ),
        *(
            (change, r"m\.npz: (the|this) model file is damaged")
            for change in (
                *(_meta(estimator="os.system"), _put("coef", np.nan), _put("dual_point", np.inf)),
                *(_set("coef", lambda a: a + 0j), _set("intercept", lambda a: a.astype(str))),
                *(_set("coef", lambda a: a.astype(np.float32)), _set("coef", lambda a: np.zeros(3, dtype="f8,i4"))),
                *(_set("dual_point", lambda a: a[None]), _set("gates_incident", lambda a: a[:2])),
                *(_meta("params", loss="x"), _meta("params", beta=float("nan"))),
                *(_meta("certificate", objective=float("inf")), _meta(n_features=10**30), _meta(n_iter="many")),
                *(_meta_pop("params"), _meta(certificate=[]), _set("dual_point", lambda a: a[:, :1])),
            )
        ),
    ],
    "search": [
        _set("search_betas", lambda a: np.array([0.1, 0.2])),
        _set("search_betas", lambda a: np.array([0.2])),
        _set("search_scores", lambda a: np.array([[np.inf, 1.0]])),
    ],
    "classifier": [
        *(_put("kernel_alpha", np.nan), _pop("noise"), _pop("kernel_rows")),
        *(_cut("kernel_rows", 59, 3), _cut("kernel_rows", 60, 2), _cut("network_rows", 59), _put("network_rows", 60)),
        *(_cut("kernel_mean", 2), _cut("kernel_intercept", 2), _cut("kernel_alpha", 60, 2)),
        _set("kernel_rate", lambda a: a.astype(np.float32)),
        *(
            lambda arrays, meta, name=name, n=n: arrays.update({name: np.eye(n)})
            for name, n in (("kernel_frame", 2), ("kernel_angle", 9), ("metric", 2))
        ),
        *(_cut("noise", 3), _set("noise", np.negative), _cut("classes", 2), _set("loo_classes", lambda a: a + 1)),
        *(_cut("loo_classes", 7), _set("calibration_slopes", np.negative), _cut("calibration_offsets", 2)),
        *(_meta("calibration", share=-1.0), _meta_pop("calibration", "share")),
        *(_set("rounds_rows", lambda a: a + 60), _cut("rounds_predictions", 1, 3)),
        lambda arrays, meta: meta["metric_selection"]["trials"].append({"shape": 3}),
        *(_meta("candidates", 0, beta="x"), _meta("candidates", 0, evil=1), _meta("kernel", bias=-1.0)),
        *(_meta("kernel", bound=float("nan")), _meta(beta=0.0), _meta_pop("loo_score"), _meta("params", evil=1)),
        *(_meta("params", max_metric_iter=99), _meta("certificate", loss="x"), _meta(reason=3)),
        *(_meta("certificate", claim={"network": 3}), _cut("dual_point", 60, 1), _cut("left_out", 59)),
        *(_cut("loo_probabilities", 60, 2), _set("loo_probabilities", lambda a: a + 2)),
        *(
            lambda arrays, meta, name=name, shape=shape: arrays.update({name: np.ones(shape)})
            for name, shape in (("history", (2, 3)), ("sample_weight", 7))
        ),
    ],
    "regressor": [
        *(_cut("interval_scores", 60, 2), _set("interval_scores", lambda a: a[::-1]), _cut("interval_mass", 59, 1)),
        *(_cut("interval_shares", 3), _set("interval_shares", lambda a: -1 - a), _meta(interval_scale=0.0)),
        *(_put("loo_predictions", np.inf), _cut("loo_predictions", 59), _meta(target_ndim=2)),
    ],
    "multilabel": [
        *(_pop("label_slopes"), _cut("label_slopes", 2, 3), _cut("label_slopes", 3, 2)),
        *(_set("label_slopes", lambda a: -1 - a), _put("label_slopes", np.nan), _cut("label_offsets", 2, 2)),
        *(_cut("label_offsets", 3, 3), _put("label_offsets", np.inf), lambda arrays, meta: meta["labels"].pop()),
        *(_meta_pop("labels", 0, "share"), _meta("labels", 1, share=-1.0), _meta("labels", 1, scale=0.0)),
        *(_meta("labels", 2, evil=1.0), _meta(labels=3), _set("classes", lambda a: a + 1), _cut("classes", 2)),
        *(_cut("loo_labels", 59, 3), _cut("loo_labels", 60, 2), _put("loo_labels", 2), _put("loo_labels", -1)),
        *(_cut("loo_probabilities", 60, 2), _put("loo_probabilities", 1.5), _meta("certificate", loss="logistic")),
        _meta("params", loss="logistic"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "case"), [(kind, i) for kind, cases in DAMAGE.items() for i in range(len(cases))], ids=str
)
def test_content_is_checked_and_gives_one_error_that_names_the_file(tmp_path, made, kind, case):
    change, message = DAMAGE[kind][case] if kind == "gated" else (DAMAGE[kind][case], "model file is damaged")
    path = rewritten(tmp_path / "m.npz", made[kind], change, ADDED)
    with pytest.raises(ArgumentError, match=message) as caught:
        nn.load_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["gated", "classifier", "multilabel"])
def test_a_file_that_is_written_again_is_whole_and_older_ones_have_less(tmp_path, made, kind):
    path = rewritten(tmp_path / "m.npz", made[kind], lambda arrays, meta: None, ADDED)
    assert contents(path)[1]["version"] == VERSION
    np.testing.assert_array_equal(nn.load_model(path).decision_function(NEW), made[kind].decision_function(NEW))
    if kind == "classifier":
        older = lambda arrays, meta: [arrays.pop(name) for name in ADDED]  # noqa: E731
        back = nn.load_model(rewritten(path, made[kind], older))
        assert back.support_ is back.loo_mask_ is back.loo_probabilities_ is None
        assert back.result_.history == ()
        assert back.n_iter_ == 1


def test_no_pickle_is_ever_run(tmp_path, made):
    harmful = Harmful(tmp_path / "touched")
    path = rewritten(tmp_path / "m.npz", made["gated"], _set("coef", lambda a: np.array([harmful])))
    for _ in range(2):
        with pytest.raises(ArgumentError, match=r"m\.npz"):
            nn.load_model(path)
        path.write_bytes(pickle.dumps(harmful))
    assert not (tmp_path / "touched").exists()


def test_truncated_and_flipped_files_never_load_wrong(tmp_path, made):
    path, model = tmp_path / "m.npz", made["gated"]
    nn.save_model(model, path)
    good = path.read_bytes()
    with zipfile.ZipFile(path, "w") as archive:  # a good archive of something else
        archive.writestr("hello.txt", "hello")
    bad = [path.read_bytes(), b"", b"\x80\x04K\x01.", b"hello", b"\x93NUMPY\x01\x00"]
    for data in (*bad, *(good[:size] for size in range(0, len(good), len(good) // 20))):
        path.write_bytes(data)
        with pytest.raises(ArgumentError, match=r"m\.npz"):
            nn.load_model(path)
    generator = np.random.default_rng(1)
    for _ in range(30):  # one byte flipped: the sums of the archive notice, or nothing that matters has changed
        data = bytearray(good)
        data[generator.integers(len(data))] ^= int(generator.integers(1, 256))
        path.write_bytes(data)
        try:
            back = nn.load_model(path)
        except ArgumentError:
            continue
        np.testing.assert_array_equal(back.decision_function(NEW), model.decision_function(NEW))


def test_bombs_cost_nothing(tmp_path):
    path = tmp_path / "m.npz"
    with pytest.raises(FileNotFoundError, match=r"m\.npz"):  # a missing file is what Python calls it
        nn.load_model(path)
    for data in (bomb(2**26), bomb(0, declared=2**45), bomb(0, declared=10**30)):  # 64 KiB that inflate to 64 MiB
        path.write_bytes(data)
        tracemalloc.start()
        with pytest.raises(ArgumentError, match=r"m\.npz: this model file is damaged"):
            nn.load_model(path)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 2**21
    with zipfile.ZipFile(path, "w") as archive:  # a directory of 2 MiB
        for i in range(2000):
            archive.writestr(f"{i:01000}.npy", b"")
    with pytest.raises(ArgumentError, match="its directory is larger than one of arrays"):
        nn.load_model(path)


@pytest.fixture(scope="module")
def goods(tmp_path_factory):
    return model_files(tmp_path_factory.mktemp("goods"))


@pytest.mark.slow
@pytest.mark.parametrize("way", [damaged_bytes, damaged_directory, damaged_members])
def test_damaged_files_load_as_they_were_or_raise_the_one_error(tmp_path, way, goods):
    """A few of what `python -m tests.reliability fuzz_models` tries."""
    path = tmp_path / "m.npz"
    loaded = told = 0
    for trial in range(40):
        random = np.random.default_rng([7, trial])
        good = goods[trial % len(goods)]
        path.write_bytes(way(good.data, random))
        tracemalloc.start()
        try:
            model = nn.load_model(path)
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
    assert loaded + told == 40


def test_damaged_tables_give_one_error(tmp_path):
    X, y = rng.random((40, 3)), rng.integers(0, 2, 40)
    np.savez_compressed(tmp_path / "t.npz", X=X, y=y)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(tmp_path / "t.parquet")
    for file in (tmp_path / "t.npz", tmp_path / "t.parquet"):
        good, refused = file.read_bytes(), 0
        for trial in range(60):
            file.write_bytes(damaged_bytes(good, np.random.default_rng([8, trial])))
            try:
                assert np.isfinite(read_table(file, target="y").X).all()
            except ArgumentError as error:
                refused += str(file) in str(error)
        assert refused > 40
