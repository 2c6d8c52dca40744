"""Every estimator, with every solver of its own: a limit is kept to or refused, never accepted and ignored."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import clifford_rand_nn as nn
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.estimators import gate_families
from clifford_rand_nn.gates import arrangement
from clifford_rand_nn.solvers.base import Status

RNG = np.random.default_rng(5)
X = RNG.standard_normal((50, 2))
Y = np.sign(X[:, 0] * X[:, 1]) + 0.3 * RNG.standard_normal(50)

FAMILIES = {
    "gated": (nn.GatedReLUClassifier, nn.GatedReLURegressor, {"n_gates": 12}),
    "relu": (nn.ConvexReLUClassifier, nn.ConvexReLURegressor, {"n_gates": 12}),
    "lasso": (nn.CrossProductLassoClassifier, nn.CrossProductLassoRegressor, {"subsample": 150}),
}
# homotopy is for the squared loss and one output
TABLE = [
    (name, solver, classify)
    for name, kinds in FAMILIES.items()
    for solver in kinds[0]._solvers
    for classify in (False, True)
    if not (classify and solver == "homotopy")
]


def fit(name, solver, classify, **limits):
    classifier, regressor, options = FAMILIES[name]
    more = {"loss": "logistic"} if classify else {}
    kind = classifier if classify else regressor
    model = kind(**options, solver=solver, beta=1e-4, tol=1e-11, random_state=0, **more, **limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        return model.fit(X, Y > 0 if classify else Y)


@pytest.mark.parametrize(("name", "solver", "classify"), TABLE)
def test_a_limit_is_kept_to_or_refused(name, solver, classify):
    result = fit(name, solver, classify, max_iter=1).result_
    assert result.n_iter <= 1
    assert result.status is Status.MAX_ITER
    assert "max_" in result.message
    assert np.isfinite(result.relative_gap)
    model = fit(name, solver, classify, max_time=1e-9)
    assert model.result_.status is Status.MAX_TIME
    assert "try a larger max_time" in model.result_.message
    assert model.predict(X).shape == (50,)
    try:
        model = fit(name, solver, classify, max_memory=1e3)
    except ArgumentError as error:
        assert "'max_memory' parameter of " in str(error)  # noqa: PT017
    else:
        assert model.result_.status is Status.MAX_MEMORY


def test_time_ends_a_cross_validation_with_a_network_on_all_rows():
    search = nn.BetaCV(nn.GatedReLURegressor(12, random_state=0, tol=1e-11), n_betas=30, cv=3, max_time=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, Y)
    assert np.isfinite(search.scores_[0]).all()  # a score for each fold
    assert np.isnan(search.scores_).any()
    scored = np.isfinite(search.scores_).all(axis=1)
    assert search.beta_ in search.betas_[scored]
    assert search.predict(X).shape == (50,)
    assert search.estimator_.max_time <= 0.05


def test_an_interrupt_of_a_cross_validation_keeps_its_scores(monkeypatch):
    search, calls = nn.BetaCV(nn.GatedReLURegressor(6, random_state=0), n_betas=4, cv=2), []
    train = nn.GatedReLURegressor._train

    def pressed(self, *arguments):
        calls.append(1)
        train(self, *arguments)
        if len(calls) == 6:
            raise KeyboardInterrupt

    monkeypatch.setattr(nn.GatedReLURegressor, "_train", pressed)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert np.isfinite(search.scores_).sum() == 5


def test_the_best_point_of_a_hard_problem_comes_back():
    """A logistic loss with next to no penalty: it took 200 rounds to a gap of 1.0 and returned nothing."""
    model = nn.CrossProductLassoClassifier(loss="logistic", beta=1e-7, max_time=20, random_state=0, bias=True)
    rows = X[:40]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, rows[:, 0] * rows[:, 1] > 0.1)
    assert model.network_.n_neurons > 0
    assert model.result_.objective < 0.01
    assert model.result_.converged or model.result_.status in (Status.STALLED, Status.MAX_TIME)
    assert model.result_.message
    assert model.score(rows, rows[:, 0] * rows[:, 1] > 0.1) == 1.0


@pytest.mark.parametrize("kind", [nn.ConvexReLUClassifier, nn.GatedReLUClassifier, nn.CrossProductLassoClassifier])
def test_no_beta_is_compared_when_the_largest_one_takes_the_time(kind, monkeypatch):
    """A fit by all patterns or columns that has no time left trains once, on all rows, at a share of the largest."""
    rng = np.random.default_rng(0)
    n = 16 if kind is nn.ConvexReLUClassifier else 40  # all patterns of 40 rows take the sweep a while
    X, fits = rng.standard_normal((n, 2)), []
    options = {"subsample": None} if kind is nn.CrossProductLassoClassifier else {"gates": "exhaustive"}
    train = kind._train
    monkeypatch.setattr(kind, "_train", lambda self, task, kept: (fits.append(len(task.X)), train(self, task, kept)))
    model = kind(max_time=1e-6, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, X[:, 0] > 0)
    assert fits == [n]
    assert model.candidates_ == []
    exact = kind(**options, loss=model.loss_).beta_max(X, X[:, 0] > 0)
    assert kind(max_time=1e-6, **options, loss=model.loss_).beta_max(X, X[:, 0] > 0) == exact
    assert model.beta_ >= exact / 2**5 * (1 - 1e-12)


@pytest.mark.parametrize("path", [nn.gated_path, nn.relu_path, nn.refine_gates], ids=lambda path: path.__name__)
def test_paths_and_refinement_enumerate_no_longer_than_there_is_time(path, monkeypatch):
    monkeypatch.setattr(arrangement, "_BLOCK", 1000)
    X = np.random.default_rng(0).standard_normal((20, 3))
    options = {"beta": 1e-3} if path is nn.refine_gates else {}
    with pytest.warns(UserWarning, match=r"max_time ended at [\d,]+ of up to [\d,]+ patterns"):
        assert path(X, np.abs(X[:, 0]), "exhaustive", max_time=1e-9, **options).status == "max_time"


@pytest.mark.parametrize("kind", [nn.ConvexReLURegressor, nn.GatedReLURegressor])
@pytest.mark.parametrize("beta", [1e-3, pytest.param("auto", marks=pytest.mark.slow)])
def test_all_patterns_are_enumerated_once_and_no_longer_than_there_is_time(kind, beta, monkeypatch):
    monkeypatch.setattr(arrangement, "_BLOCK", 400)
    rng, sizes = np.random.default_rng(0), []
    X = rng.standard_normal((14, 2))
    y = np.abs(X[:, 0]) + 0.1 * rng.standard_normal(14)
    enumerated = gate_families.chosen_patterns
    noted = lambda X, *a, **b: (sizes.append(len(X)), enumerated(X, *a, **b))[1]  # noqa: E731
    monkeypatch.setattr(gate_families, "chosen_patterns", noted)
    whole = kind(gates="exhaustive", beta=beta, tol=1e-2).fit(X, y)
    assert sizes.count(14) == 1
    assert whole.certificate_.scope.startswith("global: all")
    with pytest.warns(ConvergenceWarning, match=r"max_time ended at \d+ of up to 184 patterns; .*larger max_time"):
        cut = kind(gates="exhaustive", beta=beta, max_time=1e-9).fit(X, y)
    assert "enumerated patterns" in cut.certificate_.scope
    assert "global" not in cut.certificate_.scope
    again = cut.certificate_.verify(X, y)  # raises where the primal value is below the dual one
    assert again.relative_gap <= cut.certificate_.relative_gap + 1e-9
    assert beta == "auto" or cut.result_.objective >= whole.certificate_.lower_bound * (1 - 1e-9)


def test_no_more_columns_are_drawn_than_are_solved_for_in_the_time():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 6))
    model = nn.CrossProductLassoRegressor(subsample=20_000, beta=1e-2, max_time=0.4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, np.abs(X[:, 0]))
    assert model.dictionary_.subsample <= 250
    assert model.dictionary_.notes[-1] == "250 of 20,000 subsets: more would take longer than max_time"
