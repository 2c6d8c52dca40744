"""Predictions and scores from shards are those of the rows in memory; files are complete or not there."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, mean_absolute_error, mean_squared_error, r2_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from clifford_rand import ArgumentError
from clifford_rand_nn import (
    ConvexReLUClassifier,
    GatedReLUClassifier,
    GatedReLURegressor,
    Shards,
    evaluate_shards,
    predict_shards,
)
from clifford_rand_nn.scores import confusion, score_classes
from clifford_rand_nn.shards.engines import LocalEngine
from clifford_rand_nn.shards.source import whole_shards

rng = np.random.default_rng(3)
X = rng.standard_normal((120, 3)).astype(np.float16)
WEIGHTS = rng.uniform(0, 2, 120)
LABELS = np.array(["ant", "bee", "tern"], dtype=object)[(X[:, 0] > 0) + 1 * (X[:, 1] > 0)]
Y = np.column_stack([X[:, 0] * 2 + 100, np.abs(X[:, 1])]).astype(np.float64) + 0.1 * rng.standard_normal((120, 2))
CUTS = (0, 50, 50, 90, 120)


def cut(array):
    return [array[a:b] for a, b in pairwise(CUTS)]


@pytest.fixture(scope="module")
def classifier():
    settings = {"n_gates": 4, "beta": 0.01, "loss": "logistic", "tol": 1e-3, "random_state": 0}
    return make_pipeline(StandardScaler(), GatedReLUClassifier(**settings)).fit(X.astype("f8")[:90], LABELS[:90])


@pytest.fixture(scope="module")
def regressor():
    return GatedReLURegressor(n_gates=4, beta=0.01, tol=1e-3, random_state=0).fit(X.astype("f8")[:90], Y[:90])


@pytest.fixture
def shards(tmp_path):
    for letter, values in (("X", X), ("y", LABELS.astype(str)), ("w", WEIGHTS)):
        for i, piece in enumerate(cut(values)):
            np.save(tmp_path / f"{letter}-{7 + i:03d}.npy", piece)
    return Shards(tmp_path)


@pytest.mark.kept("predict")
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_arrays_of_predictions_are_those_of_the_rows(tmp_path, shards, classifier, method):
    files = predict_shards(classifier, shards, tmp_path / "out" / "new", method=method)
    stem = {"predict": "prediction", "predict_proba": "probability", "decision_function": "score"}[method]
    assert [file.name for file in files] == [f"{stem}-{7 + i:03d}.npy" for i in range(4)]
    found = [np.load(file) for file in files]  # without pickle
    assert [len(one) for one in found] == [50, 0, 40, 30]
    wanted = getattr(classifier, method)(X.astype("f4"))
    assert found[1].shape[1:] == wanted.shape[1:]
    if method == "predict":
        np.testing.assert_array_equal(np.concatenate(found), wanted)
    else:
        np.testing.assert_allclose(np.concatenate(found), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_of_predictions(tmp_path, shards, classifier, regressor, kind):
    pd = pytest.importorskip("pandas")
    read = getattr(pd, f"read_{kind}")
    files = predict_shards(classifier, shards, tmp_path, method="predict_proba", file_format=kind)
    found = pd.concat([read(file) for file in files]).astype(float)  # an empty CSV has no types
    assert list(found.columns) == ["probability_ant", "probability_bee", "probability_tern"]
    np.testing.assert_allclose(found, classifier.predict_proba(X.astype("f4")), rtol=1e-4, atol=1e-5)
    found = read(predict_shards(regressor, shards, tmp_path, file_format=kind)[3])
    assert list(found.columns) == ["prediction_0", "prediction_1"]
    np.testing.assert_allclose(found, regressor.predict(X[90:].astype("f4")), rtol=1e-4)


def test_files_that_are_there(tmp_path, shards, classifier):
    out = tmp_path / "out"
    files = predict_shards(classifier, shards, out)
    with pytest.raises(ArgumentError, match=r"prediction-007\.npy, 4 of them.*'skip'"):
        predict_shards(classifier, shards, out)
    files[2].unlink()
    before = files[0].stat().st_mtime_ns
    predict_shards(classifier, shards, out, if_exists="skip")
    assert files[2].exists()
    assert files[0].stat().st_mtime_ns == before
    predict_shards(classifier, shards, out, if_exists="replace")
    assert files[0].stat().st_mtime_ns > before


def test_a_fault_leaves_complete_files_only(tmp_path, shards, classifier):
    part = tmp_path / "X-010.npy"
    part.write_bytes(part.read_bytes()[:-6] + b"\x00\x7c" * 3)  # infinity, of float16
    spoilt = Shards(tmp_path)
    with pytest.raises(ArgumentError, match=r"rows 90 to 120 of all shards: Input X contains infinity"):
        predict_shards(classifier, spoilt, tmp_path / "out", engine=None)
    assert {file.name for file in (tmp_path / "out").iterdir()} <= {"prediction-007.npy", "prediction-009.npy"}


def test_an_engine_of_parts_that_are_not_whole_is_refused(tmp_path, classifier):
    shards = Shards(cut(X), part_rows=30)
    with pytest.raises(ArgumentError, match=r"one of 5 parts of 4 shards instead\. Give a Client or 'torch'"):
        predict_shards(classifier, shards, tmp_path / "out", engine=LocalEngine(shards))
    files = predict_shards(classifier, shards, tmp_path / "out", engine=LocalEngine(whole_shards(shards)))
    assert [len(np.load(file)) for file in files] == [50, 0, 40, 30]


def test_files_that_the_first_process_sees_decide_for_all(tmp_path, classifier):
    class Late(LocalEngine):  # another process, whose folder has what the first one wrote meanwhile
        def agreed(self, value):
            assert value == [True, False]
            return [False, False]

    (tmp_path / "prediction-00000.npy").write_bytes(b"of another process")
    shards = Shards(np.split(X, [60]))
    predict_shards(classifier, shards, tmp_path, engine=Late(shards))
    assert [len(np.load(tmp_path / f"prediction-0000{i}.npy")) for i in (0, 1)] == [60, 60]


def test_columns_are_found_by_name(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X.astype("f8"), columns=["a", "b", "c"])
    model = LinearRegression().fit(frame, Y[:, 0])
    frame.assign(price=Y[:, 0])[["price", "c", "a", "b"]].to_parquet(tmp_path / "0.parquet")
    shards = Shards(tmp_path, target="price")
    (file,) = predict_shards(model, shards, tmp_path)
    np.testing.assert_allclose(np.load(file), model.predict(frame))
    assert evaluate_shards(model, shards).scores.r2 == pytest.approx(model.score(frame, Y[:, 0]))
    with pytest.raises(ArgumentError, match="some without b, c"):
        predict_shards(model, Shards(tmp_path, columns=["a"]), tmp_path)


def test_what_is_refused(tmp_path, shards, classifier, regressor):
    def refused(match, function, *args, **given):
        with pytest.raises(ArgumentError, match=match):
            function(*args, **given)

    refused("'predict_proba'", predict_shards, regressor, shards, tmp_path, method="predict_proba")
    refused("'method'", predict_shards, regressor, shards, tmp_path, method="transform")
    refused("'file_format'", predict_shards, regressor, shards, tmp_path, file_format="xlsx")
    refused("3 columns of the model", predict_shards, regressor, Shards([X[:, :2]]), tmp_path)
    refused("without y", evaluate_shards, classifier, Shards([X]))
    refused("must be Shards. Got a ndarray", evaluate_shards, classifier, X)
    refused("must be Shards. Got a ndarray", predict_shards, classifier, X, tmp_path)
    refused("2 a row. Got 1 instead", evaluate_shards, regressor, Shards([X], [Y[:, 0]]))
    refused("2 a row. Got 3 instead", evaluate_shards, regressor, Shards([X], [Y[:, [0, 0, 1]]]))
    refused("numbers for targets", evaluate_shards, regressor, shards)
    refused("model's classes. Got none of ant, bee, tern", evaluate_shards, classifier, Shards([X], [Y[:, 0]]))
    refused("one label a row", evaluate_shards, classifier, Shards([X], [Y]))
    refused("not all 0", evaluate_shards, classifier, Shards([X], [LABELS.astype(str)], sample_weight=[WEIGHTS * 0]))
    wrong = Y.copy()
    wrong[70, 1] = np.nan
    refused("row 70 of all shards", evaluate_shards, regressor, Shards(cut(X), cut(wrong)))
    several = MultiOutputClassifier(DummyClassifier()).fit(X, Y > 1)
    refused("one label a row", evaluate_shards, several, Shards([X], [(Y > 1).astype(int)]))


def test_methods_for_rows_in_memory_name_those_for_shards(shards, regressor):
    for work in (regressor.predict, lambda rows: ConvexReLUClassifier().fit(rows, LABELS)):
        with pytest.raises(ArgumentError, match=r"rows in memory\. Got Shards .* predict_shards and evaluate_shards"):
            work(shards)


def test_scores_of_classes_are_those_of_the_rows(shards, classifier):
    found = evaluate_shards(classifier, shards)
    rows = X.astype("f4")
    said, sure = classifier.predict(rows), classifier.predict_proba(rows)
    dull = DummyClassifier(strategy="prior").fit(X, LABELS, WEIGHTS)
    plain = score_classes(LABELS, dull.predict(X), dull.classes_, dull.predict_proba(X), WEIGHTS)
    wanted = score_classes(LABELS, said, classifier.classes_, sure, WEIGHTS)
    for name in ("n_rows", "accuracy", "balanced_accuracy", "log_loss", "brier"):
        assert getattr(found.scores, name) == pytest.approx(getattr(wanted, name), rel=1e-5)
        assert getattr(found.baseline, name) == pytest.approx(getattr(plain, name))
    np.testing.assert_array_equal(found.confusion, confusion(LABELS, said, classifier.classes_))
    assert found.recall[0] == pytest.approx(np.mean(said[LABELS == "ant"] == "ant"))
    assert found.precision[2] == pytest.approx(np.mean(LABELS[said == "tern"] == "tern"))


def test_a_label_that_the_model_does_not_know_counts_as_wrong(classifier):
    odd = np.where(np.arange(120) < 10, "wasp", LABELS.astype(str))
    found = evaluate_shards(classifier, Shards(cut(X), cut(odd)))
    rows = X.astype("f4")
    wanted = score_classes(odd, classifier.predict(rows), classifier.classes_, classifier.predict_proba(rows))
    assert found.n_unknown_labels == 10
    assert found.scores.accuracy == wanted.accuracy
    assert found.scores.log_loss == pytest.approx(wanted.log_loss, rel=1e-5)
    assert found.scores.brier == pytest.approx(wanted.brier, rel=1e-5)


def test_any_classifier_with_or_without_probabilities():
    y = (X[:, 0] > 0).astype(float)
    model = LogisticRegression().fit(X.astype("f4"), y.astype(int))
    found = evaluate_shards(model, Shards(cut(X), cut(y)))
    assert found.scores.accuracy == model.score(X.astype("f4"), y)
    assert found.scores.log_loss == pytest.approx(log_loss(y, model.predict_proba(X.astype("f4"))), rel=1e-5)
    hinge = LinearSVC().fit(X[:40].astype("f4"), y[:40].astype(int))
    bare = evaluate_shards(hinge, Shards(cut(X), cut(y)))
    assert bare.scores.log_loss is None
    assert bare.scores.accuracy == hinge.score(X.astype("f4"), y)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_scores_of_numbers_are_those_of_the_rows(regressor, weights):
    given = None if weights is None else cut(weights)
    found = evaluate_shards(regressor, Shards(cut(X), cut(Y), sample_weight=given))
    said = regressor.predict(X.astype("f4"))
    assert found.scores.r2 == pytest.approx(r2_score(Y, said, sample_weight=weights), abs=1e-5)
    assert found.mse == pytest.approx(mean_squared_error(Y, said, sample_weight=weights), rel=1e-4)
    mean = np.broadcast_to(np.average(Y, axis=0, weights=weights), Y.shape)
    assert found.baseline.rmse == pytest.approx(mean_squared_error(Y, mean, sample_weight=weights) ** 0.5)
    assert found.scores.rmse == pytest.approx(found.mse**0.5)
    assert found.scores.mae == pytest.approx(mean_absolute_error(Y, said, sample_weight=weights), rel=1e-4)


def test_targets_far_from_zero_do_not_cancel():
    y = 1e9 + Y[:, 1]
    model = LinearRegression().fit(X.astype("f8"), y)
    found = evaluate_shards(model, Shards([X.astype("f8")], [y]))
    assert found.scores.r2 == pytest.approx(model.score(X.astype("f8"), y), abs=1e-6)
    assert found.baseline.rmse == pytest.approx(y.std(), rel=1e-6)


@pytest.mark.parametrize("level", [0.1, 1e8 + 0.3])
def test_constant_targets_have_no_variance_of_roundings(level):
    """By sums about a mean that is off by its rounding R² was any number."""
    X = np.random.default_rng(0).standard_normal((90, 2))
    w = np.random.default_rng(1).integers(1, 4, 90).astype(float)
    shards = Shards(np.array_split(X, 3), np.array_split(np.full(90, level), 3), sample_weight=np.array_split(w, 3))
    exact, off = (DummyRegressor(strategy="constant", constant=c).fit(X, w) for c in (level, level * (1 + 1e-15)))
    assert evaluate_shards(exact, shards).scores.r2 == 1
    found = evaluate_shards(off, shards)
    assert (found.scores.r2, found.baseline.rmse) == (0, 0)
