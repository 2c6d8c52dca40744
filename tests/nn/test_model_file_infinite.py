"""Model files of networks with infinitely many gates: everything back, bit for bit, and one error for damage."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, load_model, save_model
from clifford_rand_nn.kernel_network.large_n.cost_model import estimates

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
NEW = 2 * rng.standard_normal((300, 3))
SIDE = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
LABELS = {
    "text": np.array(["no", "yes", "mayb é"])[SIDE],
    "object": np.array(["no", "yes", "maybe"], dtype=object)[SIDE],
    "integers": SIDE.astype(np.int32) - 7,
    "booleans": SIDE > 0,
}
ADDED = ("network_rows", "left_out", "loo_probabilities", "history")  # which older files lack
SAID = (
    "network_rows_",
    "left_out_",
    "history_",
    "beta_",
    "loo_score_",
    "loo_predictions_",
    "candidates_",
    "metric_",
    "reason_",
)


def _there_and_back(tmp_path, model):
    save_model(tmp_path / "m.npz", model)
    back = load_model(tmp_path / "m.npz")
    assert type(back) is type(model)
    assert back.get_params() == model.get_params()
    for name in SAID:
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name))
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(back.loo_probabilities_, model.loo_probabilities_)
    for name in ("primal", "dual", "relative_gap", "scope", "loss", "beta", "n_patterns", "fit_intercept"):
        assert getattr(back.certificate_, name) == getattr(model.certificate_, name)
    return back


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_classifier_comes_back_bit_for_bit(tmp_path, kind, weighted):
    y, w = LABELS[kind], np.arange(60) % 3.0 if weighted else None
    model = ConvexNetworkClassifier(class_weight="balanced" if weighted else None).fit(X, y, sample_weight=w)
    back = _there_and_back(tmp_path, model)
    for method in ("predict", "predict_proba", "decision_function"):
        one, two = getattr(back, method)(NEW), getattr(model, method)(NEW)
        np.testing.assert_array_equal(one, two)
        assert one.dtype == two.dtype
    assert back.classes_.dtype == model.classes_.dtype
    assert back.loo_predictions_.dtype == model.loo_predictions_.dtype
    assert vars(back.calibration_).keys() == vars(model.calibration_).keys()
    assert back.calibration_.loss == model.calibration_.loss
    assert (back.loss_, back.losses_) == (model.loss_, model.losses_)
    assert back.certificate_.verify(X, y).relative_gap < 1e-8


def test_probabilities_use_the_variance_that_is_made_again(tmp_path):
    """Else the two would agree because there is none."""
    model = ConvexNetworkClassifier(rounds=0).fit(*load_iris(return_X_y=True))
    assert model.calibration_.share > 0
    back = _there_and_back(tmp_path, model)
    far = np.random.default_rng(0).uniform(-20, 20, (50, 4))
    np.testing.assert_array_equal(back.predict_proba(far), model.predict_proba(far))
    back._noise = 100 * back._noise
    back._keep_variance(True)
    assert not np.array_equal(back.predict_proba(far), model.predict_proba(far))


@pytest.mark.parametrize("kind", ["text", "booleans"])
def test_log_odds_come_back(tmp_path, kind):
    model = ConvexNetworkClassifier(loss="logistic").fit(X, LABELS[kind])
    back = _there_and_back(tmp_path, model)
    assert back.certificate_.loss == "logistic"
    np.testing.assert_array_equal(back.predict_proba(NEW), model.predict_proba(NEW))
    assert back.certificate_.verify(X, LABELS[kind]).relative_gap < 1e-5


def test_intervals_use_the_variance_that_is_made_again(tmp_path):
    local = np.random.default_rng(3)
    rows = local.uniform(0, 1, (120, 1)) ** 4  # few on the right
    y = np.sin(8 * rows[:, 0]) + 0.05 * local.standard_normal(120)
    model = ConvexNetworkRegressor(rounds=0).fit(rows, y)
    assert model.intervals_.shares.any()
    back = _there_and_back(tmp_path, model)
    new = np.linspace(-1, 2, 50)[:, None]
    np.testing.assert_array_equal(back.predict_interval(new), model.predict_interval(new))
    widths = np.subtract(*back.predict_interval(new)[::-1])
    assert widths.max() > 1.5 * widths.min()


@pytest.mark.parametrize("outputs", [None, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_regressor_comes_back_bit_for_bit(tmp_path, outputs, weighted):
    y = np.abs(X[:, 0]) if outputs is None else np.abs(X[:, :outputs])
    w = np.arange(60) % 3.0 if weighted else None
    model = ConvexNetworkRegressor().fit(X, y, sample_weight=w)
    back = _there_and_back(tmp_path, model)
    assert back.predict(NEW).shape == (300, *y.shape[1:])
    np.testing.assert_array_equal(back.predict(NEW), model.predict(NEW))
    for coverage in (0.5, 0.9):
        np.testing.assert_array_equal(back.predict_interval(NEW, coverage), model.predict_interval(NEW, coverage))
    assert back.certificate_.verify(X, y).relative_gap < 1e-8
    assert back.score(X, y) == model.score(X, y)
    for coverage in (0.5, 0.9):
        np.testing.assert_array_equal(back.predict_interval(NEW, coverage), model.predict_interval(NEW, coverage))


@pytest.mark.parametrize("layout", ["C", "F"])
def test_learned_gates_and_what_was_tried_come_back(tmp_path, layout):
    """Their coefficients lie in Fortran order, which the last bit of a product may depend on."""
    rows, y = make_friedman1(150, noise=0.5, random_state=0)
    model = ConvexNetworkRegressor().fit(np.asarray(rows, order=layout), y)
    assert model.rounds_.rounds >= 1
    assert model.network_.kernel.frame is not None
    back = _there_and_back(tmp_path, model)
    assert back.rounds_.trials == model.rounds_.trials
    assert (back.rounds_.shape, back.rounds_.rounds, back.rounds_.factors) == (
        model.rounds_.shape,
        model.rounds_.rounds,
        model.rounds_.factors,
    )
    np.testing.assert_array_equal(back.rounds_.rows, model.rounds_.rows)
    np.testing.assert_array_equal(back.rounds_.predictions, model.rounds_.predictions)
    new = make_friedman1(300, random_state=1)[0]
    np.testing.assert_array_equal(back.predict(new), model.predict(new))


@pytest.mark.parametrize("way", ["factor", "landmarks"])
def test_networks_of_many_rows_come_back(tmp_path, monkeypatch, way):
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.DECOMPOSED", 200)
    monkeypatch.setattr(
        "clifford_rand_nn.kernel_network.large_n.rows.choose", lambda n, *of: estimates(n, *of[:2], 1e9, 9.0)[way]
    )
    rows, y = make_friedman1(400, noise=0.5, random_state=0)
    model = ConvexNetworkRegressor().fit(rows, y)
    assert model.certificate_.claim.landmarks == (way == "landmarks")
    taken = model.network_.standard.rows(rows[model.network_rows_])
    np.testing.assert_array_equal(taken, model.network_.rows)
    back = _there_and_back(tmp_path, model)
    assert back.certificate_.claim.landmarks == (way == "landmarks")
    np.testing.assert_array_equal(back.predict(rows), model.predict(rows))
    found, same = (one.certificate_.verify(rows, y) for one in (back, model))
    assert (found.primal, found.dual) == (same.primal, same.dual)
    assert same.primal == pytest.approx(model.certificate_.primal, rel=1e-6)


def test_files_of_before_say_less(tmp_path, classifier):
    path = _rewritten(tmp_path, lambda arrays, meta: [arrays.pop(name) for name in ADDED], classifier)
    back = load_model(path)
    assert back.network_rows_ is back.left_out_ is back.loo_probabilities_ is None
    assert back.history_ == ()


def test_a_loaded_estimator_can_be_fitted_again(tmp_path):
    weights = {"no": 1.0, "yes": 2.5, "mayb é": 4.0}
    model = ConvexNetworkClassifier(class_weight=weights, rounds=0, beta=0.01).fit(X, LABELS["text"])
    again = clone(_there_and_back(tmp_path, model)).fit(X, LABELS["text"])
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


def test_units_and_feature_names_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    frame, y = pd.DataFrame(1e-150 * X, columns=["p", "q", "r"]), 1e120 * X[:, 0] ** 2
    model = ConvexNetworkRegressor(rounds=0).fit(frame, y)
    back = _there_and_back(tmp_path, model)
    assert back.feature_names_in_.tolist() == ["p", "q", "r"]
    np.testing.assert_array_equal(back.predict(frame), model.predict(frame))
    assert back.certificate_.verify(frame.to_numpy(), y).relative_gap < 1e-8


def test_what_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"must be fitted\. Got a ConvexNetworkRegressor before fit"):
        save_model(tmp_path / "m.npz", ConvexNetworkRegressor())


def _rewritten(tmp_path, change, model, version=5):
    path = tmp_path / "m.npz"
    save_model(path, model)
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    meta = json.loads(arrays["meta"].tobytes())
    assert (meta["format"], meta["version"]) == ("clifford-rand-model", version)
    change(arrays, meta)
    if set(meta.get("arrays", [])) < set(arrays):  # one that was added
        meta["arrays"] = sorted(name for name in arrays if name not in ("meta", *ADDED))
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    return path


def _cut(name, *shape):
    return lambda arrays, meta: arrays.update({name: np.resize(arrays[name], shape)})


DAMAGE = {
    "NaN": lambda arrays, meta: arrays["kernel_alpha"].flat.__setitem__(0, np.nan),
    "no noise": lambda arrays, meta: arrays.pop("noise"),
    "no rows": lambda arrays, meta: arrays.pop("kernel_rows"),
    "rows": _cut("kernel_rows", 59, 3),
    "columns": _cut("kernel_rows", 60, 2),
    "numbers of rows": _cut("network_rows", 59),
    "a row beyond": lambda arrays, meta: arrays["network_rows"].__setitem__(0, 60),
    "mean": _cut("kernel_mean", 2),
    "intercept": _cut("kernel_intercept", 2),
    "outputs": _cut("kernel_alpha", 60, 2),
    "float32": lambda arrays, meta: arrays.update(kernel_rate=arrays["kernel_rate"].astype(np.float32)),
    "frame": lambda arrays, meta: arrays.update(kernel_frame=np.eye(2)),
    "angle": lambda arrays, meta: arrays.update(kernel_angle=np.eye(9)),
    "metric": lambda arrays, meta: arrays.update(metric=np.eye(2)),
    "noise": _cut("noise", 3),
    "negative noise": lambda arrays, meta: arrays.update(noise=-arrays["noise"]),
    "classes": _cut("classes", 2),
    "labels": lambda arrays, meta: arrays.update(loo_classes=arrays["loo_classes"] + 1),
    "some labels": _cut("loo_classes", 7),
    "slopes": lambda arrays, meta: arrays.update(calibration_slopes=-arrays["calibration_slopes"]),
    "offsets": _cut("calibration_offsets", 2),
    "share": lambda arrays, meta: meta["calibration"].update(share=-1.0),
    "no share": lambda arrays, meta: meta["calibration"].pop("share"),
    "held out": lambda arrays, meta: arrays.update(rounds_rows=arrays["rounds_rows"] + 60),
    "their predictions": _cut("rounds_predictions", 1, 3),
    "trials": lambda arrays, meta: meta["rounds"]["trials"].append({"shape": 3}),
    "candidate": lambda arrays, meta: meta["candidates"][0].update(beta="x"),
    "another candidate": lambda arrays, meta: meta["candidates"][0].update(evil=1),
    "bias": lambda arrays, meta: meta["kernel"].update(bias=-1.0),
    "bound": lambda arrays, meta: meta["kernel"].update(bound=float("nan")),
    "beta": lambda arrays, meta: meta.update(beta=0.0),
    "no score": lambda arrays, meta: meta.pop("loo_score"),
    "params": lambda arrays, meta: meta["params"].update(evil=1),
    "rounds": lambda arrays, meta: meta["params"].update(rounds=99),
    "loss": lambda arrays, meta: meta["certificate"].update(loss="x"),
    "reason": lambda arrays, meta: meta.update(reason=3),
    "claim": lambda arrays, meta: meta["certificate"].update(claim={"network": 3}),
    "dual": _cut("dual_point", 60, 1),
    "left out": _cut("left_out", 59),
    "odds": _cut("loo_probabilities", 60, 2),
    "odds of two": lambda arrays, meta: arrays.update(loo_probabilities=arrays["loo_probabilities"] + 2),
    "history": lambda arrays, meta: arrays.update(history=np.ones((2, 3))),
    "weights": lambda arrays, meta: arrays.update(sample_weight=np.ones(7)),
}


REGRESSOR = {
    "scores": _cut("interval_scores", 60, 2),
    "falling": lambda arrays, meta: arrays.update(interval_scores=arrays["interval_scores"][::-1]),
    "mass": _cut("interval_mass", 59, 1),
    "shares": _cut("interval_shares", 3),
    "negative": lambda arrays, meta: arrays.update(interval_shares=-1 - arrays["interval_shares"]),
    "scale": lambda arrays, meta: meta.update(interval_scale=0.0),
    "infinite": lambda arrays, meta: arrays["loo_predictions"].__setitem__(0, np.inf),
    "predictions": _cut("loo_predictions", 59),
    "axes": lambda arrays, meta: meta.update(target_ndim=2),
}


@pytest.fixture(scope="module")
def regressor():
    return ConvexNetworkRegressor(rounds=0).fit(X, X[:, 0] ** 2)


@pytest.fixture(scope="module")
def classifier():
    return ConvexNetworkClassifier().fit(X, LABELS["text"])


@pytest.mark.parametrize("fault", REGRESSOR)
def test_content_of_a_regressor_is_checked(tmp_path, fault, regressor):
    path = _rewritten(tmp_path, REGRESSOR[fault], regressor)
    with pytest.raises(ArgumentError, match=r"m\.npz: (the|this) model file is damaged"):
        load_model(path)


@pytest.mark.parametrize("fault", DAMAGE)
def test_content_is_checked_before_it_is_used(tmp_path, fault, classifier):
    path = _rewritten(tmp_path, DAMAGE[fault], classifier)
    with pytest.raises(ArgumentError, match=r"m\.npz: (the|this) model file is damaged") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


SEVERAL = {
    "no slopes": lambda arrays, meta: arrays.pop("label_slopes"),
    "slopes of fewer labels": _cut("label_slopes", 2, 3),
    "fewer slopes": _cut("label_slopes", 3, 2),
    "falling slopes": lambda arrays, meta: arrays.update(label_slopes=-1 - arrays["label_slopes"]),
    "a slope that is none": lambda arrays, meta: arrays["label_slopes"].flat.__setitem__(0, np.nan),
    "offsets of fewer labels": _cut("label_offsets", 2, 2),
    "offsets of three classes": _cut("label_offsets", 3, 3),
    "an infinite offset": lambda arrays, meta: arrays["label_offsets"].flat.__setitem__(0, np.inf),
    "scales of fewer labels": lambda arrays, meta: meta["labels"].pop(),
    "no share": lambda arrays, meta: meta["labels"][0].pop("share"),
    "a negative share": lambda arrays, meta: meta["labels"][1].update(share=-1.0),
    "a scale of zero": lambda arrays, meta: meta["labels"][1].update(scale=0.0),
    "another scale": lambda arrays, meta: meta["labels"][2].update(evil=1.0),
    "labels that are no list": lambda arrays, meta: meta.update(labels=3),
    "classes that are no places": lambda arrays, meta: arrays.update(classes=arrays["classes"] + 1),
    "fewer classes": _cut("classes", 2),
    "predictions of other rows": _cut("loo_labels", 59, 3),
    "predictions of fewer labels": _cut("loo_labels", 60, 2),
    "a prediction that is no mark": lambda arrays, meta: arrays["loo_labels"].flat.__setitem__(0, 2),
    "a negative prediction": lambda arrays, meta: arrays["loo_labels"].flat.__setitem__(0, -1),
    "odds of fewer labels": _cut("loo_probabilities", 60, 2),
    "odds beyond one": lambda arrays, meta: arrays["loo_probabilities"].flat.__setitem__(0, 1.5),
    "a loss that several labels have not": lambda arrays, meta: meta["certificate"].update(loss="logistic"),
    "a parameter that refuses them": lambda arrays, meta: meta["params"].update(loss="logistic"),
}


@pytest.fixture(scope="module")
def several():
    return ConvexNetworkClassifier(rounds=0).fit(X, (X[:, :3] > 0).astype(int))


@pytest.mark.parametrize("fault", SEVERAL)
def test_content_of_several_labels_is_checked(tmp_path, fault, several):
    path = _rewritten(tmp_path, SEVERAL[fault], several, version=9)
    with pytest.raises(ArgumentError, match=r"m\.npz: (the|this) model file is damaged"):
        load_model(path)


def test_nothing_is_damaged_by_writing_it_again(tmp_path, several, classifier):
    """What `_rewritten` does by itself is none of the faults above."""
    back = load_model(_rewritten(tmp_path, lambda arrays, meta: None, classifier))
    assert back.predict(NEW).shape == (300,)
    back = load_model(_rewritten(tmp_path, lambda arrays, meta: None, several, version=9))
    np.testing.assert_array_equal(back.predict_proba(NEW), several.predict_proba(NEW))
