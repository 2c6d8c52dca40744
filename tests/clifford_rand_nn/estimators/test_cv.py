"""Beta by cross-validation: the scores are those of plain fits, the choice is the rule's, scikit-learn's rules hold."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedGroupKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import clifford_rand_nn as nn
from clifford_rand import ArgumentError

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 2))
Y = np.abs(X[:, 0]) - X[:, 1] + 0.3 * RNG.standard_normal(60)


@pytest.mark.parametrize(
    "estimator",
    [
        nn.CrossProductLassoRegressor(subsample=60, tol=1e-8, random_state=0),
        pytest.param(
            nn.ConvexReLURegressor(n_gates=6, tol=1e-8, random_state=0, bias="free", beta=1e-3), marks=pytest.mark.slow
        ),
        nn.GatedReLURegressor(n_gates=10, bias=False, tol=1e-8, random_state=0, beta=1e-3),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_scores_are_those_of_fits_from_cold(estimator):
    folds = KFold(3, shuffle=True, random_state=0)
    search = nn.BetaCV(estimator, n_betas=3, eps=0.01, cv=folds).fit(X, Y)
    assert search.scores_.shape == (3, 3)
    assert search.betas_[0] == pytest.approx(clone(estimator).beta_max(X, Y))
    for i, beta in enumerate(search.betas_):
        cold = cross_val_score(clone(estimator).set_params(beta=beta), X, Y, cv=folds)
        np.testing.assert_allclose(search.scores_[i], cold, atol=1e-4)
    assert search.beta_ == search.betas_[search.scores_.mean(axis=1).argmax()]
    assert search.estimator_.beta == search.beta_
    np.testing.assert_array_equal(search.predict(X), search.estimator_.predict(X))
    assert search.score(X, Y) == pytest.approx(r2_score(Y, search.predict(X)))


@pytest.mark.slow
def test_one_standard_error_takes_the_larger_beta():
    model = nn.CrossProductLassoRegressor(subsample=60, random_state=0)
    best, simple = (nn.BetaCV(model, rule=rule, n_betas=8, cv=4).fit(X, Y) for rule in ("best", "one_se"))
    mean, spread = best.scores_.mean(axis=1), best.scores_.std(axis=1, ddof=1) / np.sqrt(4)
    i, k = mean.argmax(), list(simple.betas_).index(simple.beta_)
    assert k < i
    assert mean[k] >= mean[i] - spread[i]
    assert (mean[:k] < mean[i] - spread[i]).all()


@pytest.mark.slow
def test_classes_probabilities_and_scoring():
    model = nn.CrossProductLassoClassifier(loss="logistic", subsample=30, random_state=0)
    search = nn.BetaCV(model, n_betas=3, eps=0.05, cv=3, scoring="neg_log_loss").fit(X, np.where(Y > 0, "yes", "no"))
    assert search.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)
    assert (search.scores_ < 0).all()
    assert search.decision_function(X).shape == (60,)
    assert not hasattr(nn.BetaCV(nn.CrossProductLassoRegressor()), "decision_function")


@pytest.mark.slow
def test_fits_that_sample_anew_do_not_share_their_neurons(monkeypatch):
    """Neurons of another subset are not in the family, and would make the objective smaller than its own bound."""
    warm = []
    train = nn.CrossProductLassoRegressor._train

    def noted(self, task, start):
        warm.append(start is not None and start.state is not None)
        train(self, task, start)

    monkeypatch.setattr(nn.CrossProductLassoRegressor, "_train", noted)
    for options, shared in (({}, False), ({"random_state": 0}, True), ({"subsample": None}, True)):
        warm.clear()
        model = nn.CrossProductLassoRegressor(**({"subsample": 20, "beta": 1e-3} | options))
        search = nn.BetaCV(model, n_betas=3, eps=0.1, cv=2).fit(X[:40], Y[:40])
        assert sum(warm) == (4 if shared else 0)
        assert search.estimator_.certificate_.verify(X[:40], Y[:40]).relative_gap <= 1e-5


def fitted_apart(model, name, betas, folds, X, y):
    make = lambda beta: clone(model).set_params(**{name: beta})  # noqa: E731
    return [[make(beta).fit(X[i], y[i]).score(X[j], y[j]) for i, j in folds] for beta in betas]


def test_scores_are_those_of_the_models_that_are_trained():
    model = nn.GatedReLURegressor(n_gates=3, n_refinements=2, tol=1e-7, random_state=0, beta=1e-3, bias=True)
    betas, folds = [1e-2, 1e-3], list(KFold(2).split(X))
    search = nn.BetaCV(model, betas=betas, cv=folds).fit(X, Y)
    np.testing.assert_allclose(search.scores_, fitted_apart(model, "beta", betas, folds, X, Y), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_folds_at_the_same_time_give_the_same(capsys):
    estimator = nn.GatedReLUClassifier(n_gates=6, tol=1e-4, random_state=0, beta=1e-3)
    options = {"n_betas": 3, "cv": 3, "max_time": 600.0}
    alone = nn.BetaCV(estimator, **options).fit(X, Y > 0)
    assert capsys.readouterr().err == ""
    search = nn.BetaCV(estimator, **options, n_jobs=2, verbose=1).fit(X, Y > 0)
    np.testing.assert_allclose(search.scores_, alone.scores_, rtol=0, atol=1e-12)
    assert search.beta_ == alone.beta_
    lines = [line for line in capsys.readouterr().err.splitlines() if " s  fold " in line]
    assert [line.split("  ")[1][:13] for line in lines] == ["fold 1 of 3: ", "fold 2 of 3: ", "fold 3 of 3: "]
    best = alone.scores_[:, 0]
    assert f"best score {best.max():.4f} at beta {alone.betas_[best.argmax()]:.3g}, " in lines[0]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [False, True])
def test_rows_of_a_group_stay_together(classes):
    groups = np.arange(60) // 6
    kind = nn.CrossProductLassoClassifier if classes else nn.CrossProductLassoRegressor
    y = Y > 0 if classes else Y
    model = kind(subsample=30, random_state=0)
    search = nn.BetaCV(model, betas=[0.1, 0.01], cv=4).fit(X, y, groups=groups)
    folds = list((StratifiedGroupKFold if classes else GroupKFold)(4).split(X, y, groups))
    assert all(not set(groups[train]) & set(groups[test]) for train, test in folds)
    expected = fitted_apart(model, "beta", (0.1, 0.01), folds, X, y)
    np.testing.assert_allclose(search.scores_, expected, rtol=0, atol=1e-6 if classes else 1e-4)
    given = nn.BetaCV(model, betas=[0.1, 0.01], cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
    assert given.scores_.shape == (2, 10)


@pytest.mark.slow
def test_groups_show_what_copies_hide():
    """Ten groups of rows that are nearly alike, with a target that only the group decides: nothing can be learned."""
    rng = np.random.default_rng(3)
    center, groups = rng.standard_normal((10, 2)), np.repeat(np.arange(10), 8)
    rows = center[groups] + 0.01 * rng.standard_normal((80, 2))
    y = rng.standard_normal(10)[groups]
    model = nn.GatedReLURegressor(n_gates=30, random_state=0, beta=1e-3, bias=True)
    apart = nn.BetaCV(model, n_betas=4, cv=KFold(5, shuffle=True, random_state=0)).fit(rows, y)
    together = nn.BetaCV(model, n_betas=4, cv=5).fit(rows, y, groups=groups)
    assert apart.scores_.mean(axis=1).max() > 0.9
    assert together.scores_.mean(axis=1).max() < 0.3


@pytest.mark.parametrize("jobs", [None, 2])
@pytest.mark.kept("None")
def test_steps_before_an_estimator_are_fitted_to_the_rows_of_each_fold(jobs):
    rows, betas, folds = X * np.geomspace(1, 9, 60)[:, None], [1e-2, 1e-3], list(KFold(2).split(X))
    gated = nn.GatedReLURegressor(n_gates=3, tol=1e-7, random_state=0)
    model = Pipeline([("scale", StandardScaler()), ("model", gated)])
    search = nn.BetaCV(model, betas=betas, cv=folds, n_jobs=jobs).fit(rows, Y)
    alone = fitted_apart(model, "model__beta", betas, folds, rows, Y)
    np.testing.assert_allclose(search.scores_, alone, rtol=0, atol=1e-6)
    assert type(search.estimator_) is Pipeline
    assert search.estimator_[-1].beta == search.beta_
    np.testing.assert_allclose(search.estimator_[0].mean_, rows.mean(axis=0))
    np.testing.assert_array_equal(search.predict(rows), search.estimator_.predict(rows))
    assert search.estimator_[-1].certificate_.verify(search.estimator_[:-1].transform(rows), Y).relative_gap < 1e-6
    assert not hasattr(model[0], "mean_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"cv": cv}, "cv") for cv in ("five", 1, True, 2.0, 10**400, [], [[0, 1]], [(1.5, [0])], [([0], [99])], len)),
        *(({"scoring": scoring}, "scoring") for scoring in ("no such word", {"a": 1}, ["r2"], int, 3, b"r2")),
        *(({"n_jobs": n_jobs}, "n_jobs") for n_jobs in (True, 0, 1.5)),
        *(({"n_betas": n_betas}, "n_betas") for n_betas in (10**400, 10**12)),
        ({"verbose": -1}, "verbose"),
        ({"max_time": 0}, "max_time"),
        ({"rule": "all"}, r"rule' .* one of 'best', 'one_se"),
        ({"estimator": RandomForestRegressor()}, r"estimator' .* an estimator of clifford_rand_nn\. Got RandomForest"),
        ({"estimator": Pipeline([("scale", StandardScaler())])}, r"an estimator of clifford_rand_nn\. Got StandardSc"),
    ],
)
def test_parameters_are_refused_by_name(options, message):
    options = {"estimator": nn.GatedReLURegressor(n_gates=2), "cv": 2, "n_betas": 2} | options
    with pytest.raises(ArgumentError, match=message):
        nn.BetaCV(**options).fit(X[:12], Y[:12])


def test_folds_may_be_listed_and_one_group_is_no_fold():
    model = nn.BetaCV(nn.GatedReLURegressor(n_gates=2, random_state=0), betas=[0.1], cv=[(range(6), range(6, 12))])
    assert model.fit(X[:12], Y[:12]).scores_.shape == (1, 1)
    for groups, message in ((np.ones(12), "'cv' .* folds that these rows"), (np.ones(3), "3 labels for 12 rows")):
        with pytest.raises(ArgumentError, match=message):
            model.set_params(cv=2).fit(X[:12], Y[:12], groups=groups)


def test_scores_are_of_numbers_and_weights():
    rows, y = X[:12], Y[:12]
    model = nn.BetaCV(nn.GatedReLURegressor(n_gates=2, random_state=0), betas=[0.1], cv=2).fit(rows, y)
    masked = np.ma.array(y, mask=np.arange(12) == 0)
    for bad in (None, "text", masked, y.astype(str), y.astype("M8[s]"), y * np.nan, y[:5], np.stack([y, y], 1)):
        with pytest.raises(ArgumentError, match="'y' parameter of BetaCV must be"):
            model.score(rows, bad)
    for bad in ("text", -np.ones(12), np.zeros(12), np.ones(5), np.ones(12) * np.nan):
        with pytest.raises(ArgumentError, match="'sample_weight' parameter of BetaCV must be"):
            model.score(rows, y, bad)
