"""Every public estimator against the installed scikit-learn: its checks, sparse rows, frames, metadata, searches."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.impute import SimpleImputer
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, HalvingGridSearchCV, cross_validate
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_estimator_sparse_matrix,
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

import clifford_rand_nn as nn
from clifford_rand import ArgumentError

EQUIVALENCE = (check_sample_weight_equivalence_on_dense_data, check_sample_weight_equivalence_on_sparse_data)
GATED = nn.GatedReLUClassifier(n_gates=8, beta=1e-2, random_state=0)
CLASSIFIERS = {
    "network": nn.ConvexNetworkClassifier(max_metric_iter=0, loss="squared"),
    "few": nn.ConvexNetworkClassifier(n_neurons=3, beta=0.05),
    "gated": GATED,
    "infinite": nn.GatedReLUClassifier(gates="infinite", penalty="ridge", beta=1e-2),
    "relu": nn.ConvexReLUClassifier(n_gates=5, beta=2e-2, tol=1e-3, random_state=0),
    "lasso": nn.CrossProductLassoClassifier(subsample=30, beta=2e-2, random_state=0),
}
REGRESSORS = {
    "network": nn.ConvexNetworkRegressor(max_metric_iter=0),
    "gated": nn.GatedReLURegressor(n_gates=8, beta=1e-2, random_state=0),
    "relu": nn.ConvexReLURegressor(n_gates=5, beta=2e-2, tol=1e-3, random_state=0),
    "lasso": nn.CrossProductLassoRegressor(subsample=30, beta=2e-2, random_state=0),
    "search": nn.BetaCV(nn.GatedReLURegressor(n_gates=4, random_state=0), betas=[0.1, 0.01], cv=2),
}
EVERY = [*CLASSIFIERS.values(), *REGRESSORS.values()]
NAMED = pytest.mark.parametrize("model", EVERY, ids=lambda model: str(model)[:40])

RNG = np.random.default_rng(0)
X = np.where(RNG.random((48, 4)) < 0.5, 0.0, RNG.standard_normal((48, 4)))
Y = np.abs(X[:, 0]) - X[:, 1] + 0.2 * RNG.standard_normal(48)
LABELS = np.where(np.median(Y) < Y, "high", "low")
GROUPS = np.arange(48) // 6


def target(model):
    return LABELS if sklearn.base.is_classifier(model) else Y


def checks(*models):
    """Parametrize by scikit-learn's checks, without those that another one, or one of the tests below, contains.

    Training on rows that cannot be written is done in single precision; sparse matrices are those of
    `test_sparse_rows_are_dense_ones`.
    """
    mark = parametrize_with_checks(models)
    rows = []
    for model, check in mark.args[1]:
        options = {name: value for name, value in getattr(check, "keywords", {}).items() if name != "estimator"}
        again = check.func.__name__.endswith("_train") and options == {"readonly_memmap": True}
        if not again and check.func is not check_estimator_sparse_matrix:
            rows.append((model, check))
    return pytest.mark.parametrize(mark.args[0], rows, **mark.kwargs)


def run_check(estimator, check):
    """Run a check; where beta is given, weights and copies are equal to its 7 digits if both are solved that far."""
    if check.func in EQUIVALENCE and estimator.get_params().get("beta") == 0.01:
        estimator = clone(estimator).set_params(tol=1e-12)
    check(estimator)


@checks(
    nn.ConvexNetworkClassifier(max_metric_iter=0, loss="squared"),
    nn.GatedReLURegressor(n_gates=8, beta=0.01, random_state=0, bias="free"),
)
def test_its_own_checks(estimator, check):
    run_check(estimator, check)


@pytest.mark.slow
@checks(
    nn.ConvexNetworkClassifier(),
    nn.ConvexNetworkRegressor(),
    nn.ConvexNetworkClassifier(n_neurons=3, beta=0.2),
    nn.GatedReLUClassifier(n_gates=8, beta=0.01, random_state=0, penalty="ridge", bias="free"),
    nn.GatedReLUClassifier(gates="infinite", penalty="ridge", beta=0.01),
    nn.ConvexReLUClassifier(n_gates=6, beta=0.2, tol=0.05, random_state=0, bias="free"),
    nn.ConvexReLURegressor(n_gates=6, beta=0.01, tol=0.05, random_state=0, bias="free"),
    nn.CrossProductLassoClassifier(subsample=30, beta=0.01, tol=1e-3, random_state=0, bias="free"),
    nn.CrossProductLassoRegressor(subsample=20, tol=1e-2, random_state=0),
    nn.BetaCV(nn.GatedReLUClassifier(n_gates=3, tol=1e-2, random_state=0, bias="free"), betas=[0.1, 0.01], cv=2),
)
def test_its_own_checks_of_the_others(estimator, check):
    run_check(estimator, check)


def test_rows_left_out_whose_system_is_singular():
    """Copies of rows at the smallest beta of a choice: Newton's method ended the fit with "Singular matrix"."""
    check_sample_weight_equivalence_on_dense_data("", nn.ConvexNetworkClassifier(loss="logistic", max_metric_iter=0))


OTHERS = [
    nn.ConvexNetworkClassifier(loss="logistic", max_metric_iter=0),
    nn.GatedReLUClassifier(n_gates=8, beta=1e-2, random_state=0, penalty="ridge"),
    nn.GatedReLURegressor(n_gates=8, beta=1e-2, random_state=0, penalty="ridge"),
]


@pytest.mark.parametrize("model", [*EVERY, *OTHERS], ids=lambda model: str(model)[:40])
def test_sparse_rows_are_dense_ones(model):
    y = target(model)
    assert model.__sklearn_tags__().input_tags.sparse
    dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_matrix(X), y)
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(dense, method):
            wanted, found = getattr(dense, method)(X), getattr(sparse, method)(sp.csc_array(X))
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.lil_array])
def test_every_sparse_format(kind):
    dense = clone(GATED).fit(X, LABELS).decision_function(X.astype(np.float32))
    found = clone(GATED).fit(kind(X), LABELS).decision_function(kind(X.astype(np.float32)))
    np.testing.assert_array_equal(found, dense)


@NAMED
def test_a_dense_copy_that_is_too_large_is_refused_before_it_is_made(model):
    wide = sp.csr_array((np.ones(48), (np.arange(48), np.arange(48) + 10**12)), shape=(48, 10**12 + 48))
    with pytest.raises(ArgumentError, match=r"'X' parameter of \w+ must be such that .* enough.* [Ff]ewer .*columns"):
        clone(model).fit(wide, target(model))
    name = "estimator__max_memory" if isinstance(model, nn.BetaCV) else "max_memory"
    with pytest.raises(ArgumentError, match=r"a need of 12 KiB instead.*a max_memory above 12 KiB"):
        clone(model).set_params(**{name: 1000}).fit(sp.csr_array(X), target(model))


@pytest.mark.parametrize("model", [*CLASSIFIERS.values(), REGRESSORS["search"]], ids=lambda model: str(model)[:40])
def test_what_is_missing_is_refused_with_the_remedy(model):
    frame = pd.DataFrame(X, columns=["age", "size", "fare", "rate"])
    holes = frame.mask(frame > 1)
    with pytest.raises(ArgumentError, match=r"\d+ NaN in columns 'age', .*\(SimpleImputer\(\), .*table_model"):
        clone(model).fit(holes, target(model))
    with pytest.raises(ArgumentError, match=r"NaN in columns 0, 1"):
        clone(model).fit(sp.csr_array(holes.to_numpy()), target(model))
    with pytest.raises(ArgumentError, match=r"1 infinity in column 'fare'"):
        clone(model).fit(frame.assign(fare=[np.inf, *X[1:, 2]]), target(model))
    with pytest.raises(ArgumentError, match=r"real numbers. Got 'a' instead. .*table_model.*OneHotEncoder"):
        clone(model).fit(frame.assign(fare="a"), target(model))
    fitted = make_pipeline(SimpleImputer(), clone(model)).fit(holes, target(model))
    assert len(fitted.predict(holes)) == 48
    with pytest.raises(ArgumentError, match=r"NaN in columns"):
        fitted[-1].predict(holes.to_numpy())


def test_frames_of_numbers_and_their_names():
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = clone(GATED).fit(frame.astype({"a": "Float64"}), pd.Series(LABELS))
    assert fitted.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match=r"Feature names must be in the same order"):
        fitted.predict(frame[list("dcba")])
    with pytest.raises(ValueError, match=r"Feature names unseen at fit time: - e"):
        fitted.predict(frame.rename(columns={"d": "e"}))
    with pytest.raises(ValueError, match=r"X has 3 features, but GatedReLUClassifier is expecting 4"):
        fitted.predict(X[:, :3])
    sparse = frame.astype(pd.SparseDtype("float64", 0.0))
    np.testing.assert_array_equal(fitted.predict(sparse), fitted.predict(frame))
    named = make_pipeline(StandardScaler(), clone(GATED)).set_output(transform="pandas").fit(frame, LABELS)
    assert named[-1].feature_names_in_.tolist() == list("abcd")
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(fitted.predict(polars.from_numpy(X, list("abcd"))), fitted.predict(frame))
    found = nn.BetaCV(nn.GatedReLUClassifier(n_gates=3, random_state=0), betas=[0.1], cv=2)
    assert found.fit(polars.from_numpy(X, list("abcd")), LABELS).feature_names_in_.tolist() == list("abcd")
    assert not hasattr(found.fit(X, LABELS), "feature_names_in_")


@NAMED
def test_copies_of_a_fitted_model_are_as_good(model, tmp_path):
    fitted = clone(model).fit(X, target(model))
    joblib.dump(fitted, tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), joblib.load(tmp_path / "model")):
        for method in ("predict", "predict_proba")[: 1 + hasattr(fitted, "predict_proba")]:
            np.testing.assert_array_equal(getattr(other, method)(X), getattr(fitted, method)(X))
    assert clone(fitted).get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert not hasattr(clone(fitted), "network_")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_weights_of_classes_are_weights_of_their_rows(name):
    y = np.where(np.quantile(Y, 0.8) < Y, "rare", "often")
    counts = {label: np.count_nonzero(y == label) for label in ("rare", "often")}
    rows = np.array([1 / counts[label] for label in y])
    wanted = clone(CLASSIFIERS[name]).fit(X, y, sample_weight=rows)
    for given in ("balanced", {"rare": counts["often"] / counts["rare"]}):
        found = clone(CLASSIFIERS[name]).set_params(class_weight=given).fit(X, y)
        np.testing.assert_allclose(found.decision_function(X), wanted.decision_function(X), atol=1e-6)
    twice = np.repeat(np.arange(48), np.where(X[:, 0] > 0, 2, 1))
    a = clone(CLASSIFIERS[name]).set_params(class_weight="balanced").fit(X[twice], y[twice])
    b = clone(CLASSIFIERS[name]).set_params(class_weight="balanced").fit(X, y, np.where(X[:, 0] > 0, 2, 1))
    np.testing.assert_allclose(a.certificate_.objective, b.certificate_.objective, rtol=1e-3)
    for wrong in ("even", {"none": 2.0}):
        with pytest.raises(ArgumentError, match=r"'class_weight' parameter of \w+ must be"):
            clone(CLASSIFIERS[name]).set_params(class_weight=wrong).fit(X, y)
    with pytest.raises(ArgumentError, match=r"keys are classes of y\. Got the key 'gold' instead"):
        clone(CLASSIFIERS[name]).set_params(class_weight={"gold": 2}).fit(X, y)


@pytest.mark.slow
def test_several_labels_a_row(tmp_path):
    marks = np.column_stack([Y > 0.5, X[:, 0] > 0.3, X[:, 1] > 0, np.zeros(48)]).astype(int)
    network = nn.ConvexNetworkClassifier()
    several = clone(network).set_params(max_metric_iter=0).fit(X, sp.csr_array(marks), GROUPS % 3)
    p = several.predict_proba(X)
    mlp = MLPClassifier((2,), max_iter=1).fit(X, marks)
    assert several.classes_.tolist() == mlp.classes_.tolist()
    for method in ("predict", "predict_proba"):
        assert getattr(several, method)(X).shape == getattr(mlp, method)(X).shape
    np.testing.assert_array_equal(several.predict(X), p > 0.5)
    np.testing.assert_allclose(several.decision_function(X), np.log(p / (1 - p)), atol=1e-6)
    assert several.score(X, marks) > 0.9
    assert p[:, 3].max() < 0.1  # no row has it
    assert several.loo_predictions_.shape == (48, 4)
    assert several.loo_score_ > 0.6
    found = several.certificate_.verify(X, marks)
    assert found.relative_gap < 1e-6
    np.testing.assert_allclose(found.objective, several.certificate_.objective, rtol=1e-9)
    squares = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X, 2 * marks - 1, GROUPS % 3)  # the same network
    np.testing.assert_allclose(squares.predict(X), several.network_.predict(X), atol=1e-9)
    few = clone(CLASSIFIERS["few"]).fit(X, marks)
    assert few.predict(X).shape == (48, 4)
    nn.save_model(few, tmp_path / "few.npz")
    np.testing.assert_array_equal(nn.load_model(tmp_path / "few.npz").predict(X), few.predict(X))
    one = nn.explain(several, X[0])  # an output for each
    np.testing.assert_allclose(one.base + one.columns.sum(axis=2), several.network_.predict(X[:1]), atol=1e-9)
    with pytest.raises(ArgumentError, match=r"'loss' parameter of ConvexNetworkClassifier must be 'auto' or 'squared'"):
        nn.ConvexNetworkClassifier(loss="logistic").fit(X, marks)
    for model in (GATED, CLASSIFIERS["relu"], CLASSIFIERS["lasso"]):
        with pytest.raises(ArgumentError, match=r"label a row. Got 4 columns instead.*MultiOutputClassifier\(\w+\(\)"):
            clone(model).fit(X, marks)
    with pytest.raises(ArgumentError, match=r"one label a row. Got 2 columns"):
        clone(network).fit(X, np.column_stack([LABELS, LABELS]))
    each = MultiOutputClassifier(clone(GATED)).fit(X, marks[:, :3])
    np.testing.assert_array_equal(each.predict(X)[:, 1], clone(GATED).fit(X, marks[:, 1]).predict(X))


@pytest.mark.slow
def test_weights_and_groups_are_routed():
    weights = np.where(X[:, 0] > 0, 2.0, 0.5)
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(CLASSIFIERS["network"]).set_fit_request(sample_weight=True, groups=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model)
        found = pipe.fit(X, LABELS, sample_weight=weights, groups=GROUPS)
        scaler = StandardScaler().fit(X, sample_weight=weights)
        wanted = clone(model).fit(scaler.transform(X), LABELS, sample_weight=weights, groups=GROUPS)
        assert found[-1].loo_score_ == wanted.loo_score_
        np.testing.assert_array_equal(found.predict_proba(X), wanted.predict_proba(scaler.transform(X)))
        gated = clone(GATED).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(gated, {"beta": [0.1, 0.01]}, cv=GroupKFold(2))
        search.fit(X, LABELS, sample_weight=weights, groups=GROUPS)
        folds = list(GroupKFold(2).split(X, LABELS, GROUPS))
        train, test = folds[0]
        first = clone(GATED).set_params(beta=0.1).fit(X[train], LABELS[train], weights[train])
        assert search.cv_results_["split0_test_score"][0] == first.score(X[test], LABELS[test], weights[test])
        inner = nn.BetaCV(nn.GatedReLUClassifier(n_gates=3, random_state=0), betas=[0.1, 0.01], cv=2)
        inner.set_fit_request(groups=True, sample_weight=True).set_score_request(sample_weight=True)
        options = {"params": {"groups": GROUPS, "sample_weight": weights}, "error_score": "raise"}
        scores = cross_validate(inner, X, LABELS, cv=GroupKFold(2), return_estimator=True, **options)
        alone = clone(inner).fit(X[train], LABELS[train], groups=GROUPS[train], sample_weight=weights[train])
        np.testing.assert_array_equal(scores["estimator"][0].scores_, alone.scores_)


def test_inspection():
    model = clone(CLASSIFIERS["network"]).fit(X, LABELS)
    found = partial_dependence(model, X, [0], grid_resolution=5)
    assert found["average"].shape == (1, 5)
    grid = np.array(X)
    grid[:, 0] = found["grid_values"][0][2]
    np.testing.assert_allclose(found["average"][0, 2], model.predict_proba(grid)[:, 1].mean())
    noise = np.column_stack([X, RNG.standard_normal(48)])
    fitted = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(noise, Y)
    importance = permutation_importance(fitted, noise, Y, n_repeats=3, random_state=0).importances_mean
    assert importance[:2].min() > 2 * importance[2:].max()


@pytest.mark.slow
def test_in_other_estimators():
    network = CLASSIFIERS["network"]
    calibrated = CalibratedClassifierCV(GATED, cv=2).fit(X, LABELS)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)
    stack = StackingClassifier([("net", network), ("gated", GATED)], LogisticRegression(), cv=2).fit(X, LABELS)
    vote = VotingClassifier([("net", network), ("line", LogisticRegression())], voting="soft").fit(X, LABELS)
    assert min(one.score(X, LABELS) for one in (calibrated, stack, vote)) > 0.8
    halving = HalvingGridSearchCV(GATED, {"beta": [0.1, 0.01, 0.001]}, cv=2, random_state=0, min_resources=16)
    assert halving.fit(X, LABELS).best_params_["beta"] in (0.1, 0.01, 0.001)


@pytest.mark.parametrize(
    "model",
    [
        nn.GatedReLUClassifier(n_gates=3, random_state=0, max_time=1),
        nn.CrossProductLassoClassifier(subsample=10, random_state=0),
        nn.BetaCV(nn.GatedReLUClassifier(n_gates=3, random_state=0), betas=[0.1, 0.01], cv=2),
    ],
    ids=lambda model: str(model)[:20],
)
def test_what_is_promised_before_a_fit_is_there_after_it(model, monkeypatch):
    """A stack asks the model that is not fitted; whether "auto" comes to probabilities the data say."""
    monkeypatch.setattr("clifford_rand_nn.estimators.gated._LONG", 0.0)
    assert hasattr(model, "predict_proba")
    thirds = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
    stack = StackingClassifier([("one", model)], LogisticRegression(), cv=2).fit(X, thirds)
    assert stack.stack_method_ == ["predict_proba"]
    assert stack.score(X, thirds) > 0.3
    assert hasattr(nn.GatedReLUClassifier(loss="logistic"), "predict_proba")


@pytest.mark.slow
def test_processes_share_the_cores():
    """joblib gives two processes half of the cores each: our own threads keep to it, as BLAS's and Numba's do."""
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(_threads)() for _ in range(2))
    assert max(found) <= max(1, joblib.cpu_count() // 2)
    search = GridSearchCV(CLASSIFIERS["network"], {"beta": [0.01, 0.1]}, cv=2)
    one, two = (clone(search).set_params(n_jobs=n).fit(X, LABELS).cv_results_ for n in (None, 2))
    np.testing.assert_array_equal(one["mean_test_score"], two["mean_test_score"])


def _threads():
    import numba
    from threadpoolctl import threadpool_info

    from clifford_rand._threads import cpu_count

    return max(cpu_count(), numba.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info()))


@pytest.mark.slow
def test_many_classes():
    rng = np.random.default_rng(0)
    centers = 2 * rng.standard_normal((40, 20))
    rows, new = (np.repeat(centers, 10, axis=0) + rng.standard_normal((400, 20)) for _ in range(2))
    labels = np.repeat(np.arange(40), 10)
    model = nn.ConvexNetworkClassifier().fit(rows, labels)
    p = model.predict_proba(new)
    assert p.shape == (400, 40)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.score(new, labels) > 0.98
    chosen = p.max(axis=1)
    assert abs(chosen.mean() - model.score(new, labels)) < 0.15  # they are those of fits to fewer rows: too modest
    assert len(pickle.dumps(model)) < 3e6
