"""The tuning-free estimators: scikit-learn's checks, what leave-one-out promises, certificates, weights, groups."""

import pickle
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_classification,
    make_friedman1,
    make_friedman2,
)
from sklearn.exceptions import ConvergenceWarning

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor
from clifford_rand_nn.certificates.claims import KernelClaim
from clifford_rand_nn.kernel_network import candidates
from clifford_rand_nn.kernel_network.candidates import Problem, choose, compare, kernel_parameters
from clifford_rand_nn.kernel_network.cholesky import KernelRidge
from clifford_rand_nn.kernel_network.kernel_products import spread_rows
from clifford_rand_nn.kernel_network.leave_one_out import Duplicates
from clifford_rand_nn.kernel_network.many_rows import solve_many
from clifford_rand_nn.kernel_network.metric_frame import learn_frame
from clifford_rand_nn.kernel_network.standardization import SCALINGS, Standardization
from clifford_rand_nn.kernel_network.training import Choices, beta_of_all_rows, choose_kernel, left_out_fit
from clifford_rand_nn.solvers.base import Status

BOTH = [ConvexNetworkClassifier(), ConvexNetworkRegressor()]
LOGISTIC = ConvexNetworkClassifier(loss="logistic")


def test_leave_one_out_is_what_a_refit_without_the_row_says(wave):
    """Standardization is that of all rows: the one thing that a refit would do again, and it hardly matters."""
    X, y = wave
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, y)
    for i in (0, 7, 33):
        others = np.delete(np.arange(80), i)
        again = ConvexNetworkRegressor(beta=model.beta_ * 80 / 79, max_metric_iter=0).fit(X[others], y[others])
        if again.candidates_[0][:2] == model.candidates_[0][:2]:
            assert again.predict(X[[i]])[0] == pytest.approx(model.loo_predictions_[i], abs=0.05)
    assert 1 - np.sum((y - model.loo_predictions_) ** 2) / np.sum((y - y.mean()) ** 2) == pytest.approx(
        model.loo_score_
    )


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_the_promise_is_kept(load):
    """Accuracy on 40 % of the rows within 4 standard errors of the promise; 1e-4 to fail by chance."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: 6 * len(X) // 10], order[6 * len(X) // 10 :]
    model = ConvexNetworkClassifier().fit(X[train], y[train])
    p = model.loo_score_
    assert abs(model.score(X[test], y[test]) - p) < 4 * np.sqrt((p * (1 - p) + 0.01) * (1 / len(train) + 1 / len(test)))
    assert p > 0.93


@pytest.mark.parametrize(("scale", "weighted"), [(1.0, False), (1e-150, True), (1e180, False)])
def test_certificates_are_verified_from_the_data(wave, scale, weighted):
    X, y = wave
    w = np.random.default_rng(1).integers(0, 3, 80).astype(float) if weighted else None
    model = ConvexNetworkRegressor().fit(X * scale, y * min(scale, 1e120), w)
    found = model.certificate_.verify(X * scale, y * min(scale, 1e120))
    assert found.relative_gap < 1e-8
    assert found.objective == pytest.approx(model.certificate_.objective, rel=1e-9)
    network = replace(model.network_, alpha=0.5 * model.network_.alpha)
    assert replace(found, claim=KernelClaim(network)).verify(X * scale, y * min(scale, 1e120)).relative_gap > 1e-3


def test_copies_with_other_targets_are_certified(wave):
    X, y = wave
    X, y = np.concatenate([X, X[:40]]), np.concatenate([y, y[:40] + 1.0])
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, y)
    assert model.certificate_.verify(X, y).relative_gap < 1e-8
    assert model.certificate_.objective > 0.02  # what no function can fit


def test_units_change_nothing(wave):
    X, y = wave
    shift = np.array([3.0, -40.0])
    plain = ConvexNetworkRegressor().fit(X, y).predict(X)
    moved = ConvexNetworkRegressor().fit(1e3 * X + shift, 1e-3 * y).predict(1e3 * X + shift)
    np.testing.assert_allclose(1e3 * moved, plain, atol=1e-8)


@pytest.mark.parametrize("kind", [ConvexNetworkRegressor, ConvexNetworkClassifier])
def test_a_gap_that_rounding_leaves_is_said(kind):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((13, 7))
    X, y = np.vstack([A, A + 1e-9 * rng.standard_normal(A.shape)]), rng.standard_normal(26)
    y = y > 0 if kind is ConvexNetworkClassifier else y
    with pytest.warns(ConvergenceWarning, match="rounding leaves a relative gap of .*larger beta") as told:
        model = kind(beta=1e-13).fit(X, y)
    assert told[0].filename == __file__
    assert model.result_.status is Status.STALLED
    assert model.certificate_.relative_gap > 1e-5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kind(beta=1e-6).fit(X, y)
    assert model.result_.status is Status.OPTIMAL
    assert model.certificate_.relative_gap < 1e-5


@pytest.mark.parametrize("outputs", [1, 2])
def test_outputs_have_an_axis_where_there_are_several(outputs):
    X = np.random.default_rng(0).standard_normal((30, 2))
    network = ConvexNetworkRegressor(max_metric_iter=0, beta=0.1).fit(X, np.abs(X[:, :outputs])).network_
    assert network.predict(X).shape == ((30,) if outputs == 1 else (30, 2))
    assert network.outputs(X).shape == (30, outputs)
    np.testing.assert_array_equal(network.predict(X).reshape(30, outputs), network.outputs(X))


def test_a_constant_column_with_weights_is_left_out():
    """Its weighted mean is off by the rounding of a thousand sums, and its deviation so 1.5e-14."""
    X = np.ones((1000, 2))
    X[:, 1] = np.arange(1000)
    weights = np.where(np.arange(1000) < 5, 1.994, 0.997)
    for scaling in ("column", "soft", "common"):
        assert (Standardization.of(X, scaling, weights).rate > 0).tolist() == [False, True]


@pytest.mark.slow
def test_whole_weights_are_copies_and_order_does_not_matter():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    rng = np.random.default_rng(0)
    w = rng.integers(0, 4, len(y))
    order = rng.permutation(w.sum())
    one = ConvexNetworkClassifier().fit(X, y, sample_weight=w)
    two = ConvexNetworkClassifier().fit(np.repeat(X, w, axis=0)[order], np.repeat(y, w)[order])
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-8)
    assert one.loo_score_ == pytest.approx(two.loo_score_)
    labels = np.empty(w.sum(), dtype=int)
    labels[order] = two.loo_predictions_  # as the copies stood
    assert (one.loo_predictions_[w > 0] == labels[np.cumsum(w)[w > 0] - 1]).all()


def test_a_candidate_is_standardized_as_all_rows_are(monkeypatch):
    """Three rows far out, none of them compared: "common" was selected, and was another network on all rows."""
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.COMPARED", 200)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.DECOMPOSED", 400)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 3))
    X[np.setdiff1d(np.arange(900), spread_rows(900, 200))[:3]] *= [[1e5, 1, 1], [1, 1e5, 1], [1, 1, 1e5]]
    y, new = X[:, 0] * X[:, 1] > 0, rng.standard_normal((500, 3))
    model = ConvexNetworkClassifier(max_metric_iter=0).fit(X, y)
    assert model.score(new, new[:, 0] * new[:, 1] > 0) > 0.9
    problem = Problem(X, y[:, None].astype(float))
    assert [scaling for scaling in SCALINGS if problem.holds_outliers(scaling)] == ["soft", "rank"]
    some = problem.take(np.arange(50))
    for given in (("soft", 1.0), ("rank", 0.3, 0.5, 4.0)):
        _, rows, kernel = problem.kernel_rows(*given)
        _, part, same = some.kernel_rows(*given)
        assert (same.bias, same.steps, same.decay) == (kernel.bias, kernel.steps, kernel.decay)
        np.testing.assert_array_equal(part, rows[:50])


@pytest.mark.slow
def test_a_scaling_with_outliers_is_selected_where_they_matter(monkeypatch):
    """What is linear in a column of heavy tails needs its scale: R² is .48 with "soft" and "rank" alone."""
    monkeypatch.setattr(candidates, "_LONGEST", 1e3)
    rng = np.random.default_rng(0)
    X = np.exp(3 * rng.standard_normal((900, 2)))
    y = X[:, 0] + 0.5 * X[:, 1]
    problem = Problem(X[:600], y[:600, None])
    assert not problem.holds_outliers("column")
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X[:600], y[:600])
    assert model.candidates_[0].scaling in ("column", "common")
    assert model.score(X[600:], y[600:]) > 0.95


def test_more_rows_than_are_compared(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.COMPARED", 100)
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, y)
    assert model.candidates_[0].n_rows == 300
    assert all(one.n_rows == 100 for one in model.candidates_[1:])
    assert model.loo_score_ > 0.8


@pytest.mark.parametrize("iterations", [0, 3])
def test_beta_is_compared_again_on_all_rows_of_which_some_were_compared(iterations, monkeypatch):
    """Where no metric is learned, or none is selected: targets are lengths, for which no direction matters more."""
    monkeypatch.setattr(candidates, "SCREENED", 100)
    X = np.random.default_rng(0).standard_normal((150, 3))
    y = np.linalg.norm(X, axis=1) + 0.3 * np.random.default_rng(1).standard_normal(150)
    model = ConvexNetworkRegressor(max_metric_iter=iterations).fit(X, y)
    assert model.metric_ is None
    assert (model.metric_selection_ is None) == (iterations == 0)
    assert [one.n_rows for one in model.candidates_[:2]] == [150, 100]
    assert model.loo_mask_.all()
    assert model.beta_ == model.candidates_[0].beta


@pytest.mark.slow
def test_a_metric_is_learned_from_more_rows_than_are_decomposed(monkeypatch):
    """Every row is left out of a fit to all others; only the kernels that are compared are decomposed."""
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.COMPARED", 100)
    decomposed = []
    monkeypatch.setattr(
        "clifford_rand_nn.kernel_network.leave_one_out.eigh", lambda K: decomposed.append(len(K)) or np.linalg.eigh(K)
    )
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    model = ConvexNetworkRegressor().fit(X, y)
    assert model.metric_ is not None
    assert model.loo_mask_.all()
    assert set(decomposed) == {100} or set(decomposed) == {100, model.loo_mask_.sum()}  # once for the noise level
    assert {one.n_rows for one in model.candidates_} == {100}
    assert model.loo_score_ > 0.85


@pytest.mark.parametrize("grouped", [0, 60, 30])
def test_a_factor_leaves_rows_out_as_the_decomposition_does(grouped):
    """One by one, in groups of three, or some of both."""
    X, y = make_friedman1(60, random_state=0)
    rng, i = np.random.default_rng(0), np.arange(60)
    w, groups = rng.uniform(0.5, 2.0, 60), np.where(i < grouped, i // 3, i) if grouped else None
    compared = compare(Problem(X, y[:, None], w / w.mean(), groups), "column", 1.0)
    beta, loo = compared.candidate.beta, compared.loo
    for tried, by_factor in ((beta, True), (1e-14, False)):
        expected, left = loo.predictions(np.array([tried]))[0], loo.left(tried)
        left[: 60 if grouped and not by_factor else grouped] = 1.0
        for rows in (np.arange(60), np.array([58, 59, 3, 4, 5]), np.arange(0)):
            fit = left_out_fit(compared, tried, rows)
            assert fit.by_factor == by_factor
            np.testing.assert_allclose(fit.outputs, expected[rows], rtol=1e-8)
            np.testing.assert_allclose(fit.left, left[rows], rtol=1e-8)
            np.testing.assert_allclose(fit.alpha, loo.fit(tried)[0], rtol=1e-8)


@pytest.mark.parametrize("off", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_betas_near_one_lead_to_the_best_of_all(off, scale, monkeypatch):
    """Of a candidate near another only some betas are tried: score and beta are those of the whole curve."""
    monkeypatch.setattr(candidates, "_EVERY_BETA", 0)
    X, y = make_friedman1(120, noise=2.0, random_state=0)
    problem = Problem(X, scale * y[:, None])
    first, best = compare(problem, "soft", 1.0), compare(problem, "column", 1.0)
    away = replace(first, candidate=first.candidate._replace(beta=off * first.candidate.beta))
    found = compare(problem, "column", 1.0, near=away).candidate
    assert found.mean_loss == pytest.approx(best.candidate.mean_loss, rel=5e-3)
    there = float(problem.score(best.loo.errors(np.array([found.beta])))[0])
    assert there == pytest.approx(best.candidate.mean_loss, rel=5e-3)
    fixed = compare(problem, "column", 1.0, beta=found.beta, near=away).candidate
    assert fixed.beta == found.beta
    assert fixed.mean_loss == pytest.approx(found.mean_loss, rel=5e-3)


def test_a_candidate_of_few_rows_or_near_a_beta_too_small_for_a_factor_is_decomposed(monkeypatch):
    X, y = make_friedman1(60, random_state=0)
    problem = Problem(X, y[:, None])
    best = compare(problem, "column", 1.0)
    tiny = replace(best, candidate=best.candidate._replace(beta=1e-14))
    monkeypatch.setattr(candidates, "_EVERY_BETA", 59)
    assert compare(problem, "column", 1.0, near=tiny).candidate == best.candidate
    assert compare(problem, "column", 1.0, near=best).candidate != best.candidate
    monkeypatch.setattr(candidates, "_EVERY_BETA", 60)
    assert compare(problem, "column", 1.0, near=best).candidate == best.candidate


@pytest.mark.parametrize("kind", ["weights", "groups", "duplicates"])
def test_beta_of_all_rows_is_the_best_of_those_around_the_beta_of_some(kind):
    """By factors, and by the decomposition, which scores weights, groups and duplicates in its own way."""
    X, y = make_friedman1(160, noise=2.0, random_state=0)
    rng = np.random.default_rng(0)
    place = np.sort(np.append(np.arange(160), rng.integers(0, 160, 80)))
    count = np.bincount(place)
    share = 1 / count[place] if kind == "duplicates" else None
    off = rng.standard_normal((len(place), 1))
    off -= (np.bincount(place, off[:, 0]) / count)[place, None]
    problem = Problem(
        X,
        y[:, None],
        None if kind == "groups" else count / count.mean(),
        np.arange(160) // 4 if kind == "groups" else None,
        None if share is None else Duplicates.of(place, share, off),
    )
    some = compare(problem.take(np.arange(0, 160, 2)), "column", 1.0)
    some = replace(some, candidate=some.candidate._replace(beta=20 * some.candidate.beta))
    best, (outputs, left, _, _) = beta_of_all_rows(problem, some, None)
    betas = best.candidate.beta * 3.0 ** np.arange(-6, 7)
    scores = problem.score(best.loo.errors(betas))
    assert (scores * (1 - candidates._FLAT) ** np.arange(13)).argmin() == 6  # a third of beta has to gain
    assert best.candidate.mean_loss == pytest.approx(scores[6], rel=1e-8)
    np.testing.assert_allclose(outputs, best.loo.predictions(np.array([best.candidate.beta]))[0], rtol=1e-8)
    if kind != "groups":
        np.testing.assert_allclose(left, best.loo.left(best.candidate.beta), rtol=1e-8)
    assert beta_of_all_rows(problem, some, 0.5)[0].candidate.beta == 0.5
    least, fit = beta_of_all_rows(problem, some, 1e-13)  # too small for a factor
    np.testing.assert_array_equal(fit.outputs, least.loo.predictions(np.array([1e-13]))[0])


def test_candidates_are_compared_on_a_sample(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.kernel_network.candidates.SCREENED", 100)
    X, y = make_friedman1(104, noise=1.0, random_state=0)
    problem = Problem(X, y[:, None])
    kinds, table = choose(problem)
    assert {candidate.n_rows for candidate in table} == {100}
    assert [candidate.mean_loss for candidate in table] == sorted(candidate.mean_loss for candidate in table)
    assert kinds[0].candidate is table[0]
    assert {(kind.candidate.steps > 0, kind.candidate.decay > 0) for kind in kinds} == {(0, 0), (1, 0), (1, 1)}
    given = choose(problem, 0.01)[1]
    assert {candidate.beta * candidate.n_rows for candidate in given} == {0.01 * 104}
    late, compared = choose(problem, until=0.0)  # without steps
    assert len(late) == 1
    assert not any(candidate.steps for candidate in compared)


@pytest.mark.parametrize("beta", [None, 0.01])
def test_the_best_candidates_of_few_rows_are_compared_on_more(beta, monkeypatch):
    monkeypatch.setattr(candidates, "SCREENED", 100)
    X, y = make_friedman1(150, noise=1.0, random_state=0)
    problem = Problem(X, y[:, None])
    few = choose(problem, beta)[1]
    kinds, table = choose(problem, beta, n_rows=300)
    again = [candidate for candidate in table if candidate.n_rows == 150]
    assert table == again + few
    assert [candidate.mean_loss for candidate in again] == sorted(candidate.mean_loss for candidate in again)
    assert {(kind.candidate.steps > 0, kind.candidate.decay > 0) for kind in kinds} == {(0, 0), (1, 0), (1, 1)}
    for kind in kinds:
        assert kind.candidate in again
        alike = [kernel_parameters(candidate) for candidate in few if same_gates(candidate, kind.candidate)]
        own = [kernel_parameters(candidate) for candidate in again if same_gates(candidate, kind.candidate)]
        assert set(own) <= set(alike[:2])
        assert alike[0] in own
        expected = compare(problem, *kernel_parameters(kind.candidate), beta=beta).candidate
        assert kind.candidate.mean_loss == pytest.approx(expected.mean_loss, rel=5e-3)
    assert beta is None or {candidate.beta for candidate in again} == {beta}


def same_gates(first, second):
    return (first.steps > 0, first.decay > 0) == (second.steps > 0, second.decay > 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["squared", "quantile", "grouped"])
def test_gates_of_many_rows_are_judged_by_rows_that_they_have_not_seen(kind, monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.LEARNED", 120)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training._UNSEEN", 40)
    learned_from = []
    monkeypatch.setattr(
        "clifford_rand_nn.kernel_network.training.learn_frame",
        lambda kernel, X, *a, **k: learned_from.append(X) or learn_frame(kernel, X, *a, **k),
    )
    X, y = make_friedman1(150, noise=1.0, random_state=0)
    groups = np.arange(150) // 2 if kind == "grouped" else None
    model = ConvexNetworkRegressor(loss="quantile" if kind == "quantile" else "squared").fit(X, y, groups=groups)
    (seen,), rows = learned_from, model.network_.rows
    assert len(seen) == (150 if kind == "grouped" else 110)
    if kind == "grouped":
        return
    unseen = ~(rows[:, None] == seen).all(axis=2).any(axis=1)
    own = model.support_  # the sample that each row of the network is
    np.testing.assert_array_equal(model.loo_mask_[own], unseen)
    assert unseen.sum() == 40
    assert len(model.metric_selection_.folds) == 1
    if kind == "squared":
        for row in np.flatnonzero(unseen)[:5]:  # by fits to all others, with the gates and nβ of the fit
            kept = np.delete(np.arange(150), row)
            alpha, t = KernelRidge(model.network_.kernel(rows[kept])).fit(y[own[kept], None], 150 * model.beta_)
            prediction = (model.network_.kernel(rows[[row]], rows[kept]) @ alpha + t).item()
            assert model.loo_predictions_[own[row]] == pytest.approx(prediction, rel=1e-8)
        seen = own[~unseen]
        np.testing.assert_allclose(model.loo_predictions_[seen], model.predict(X[seen]), rtol=1e-8)


def test_metrics_are_compared_on_all_rows_with_the_beta_of_so_many():
    """Candidates are compared on a few rows; n·beta is carried over, and a beta that is given is kept."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    problem, few = Problem(X, np.abs(X[:, :1]) + 0.1 * rng.standard_normal((200, 1))), np.arange(0, 200, 2)
    best, table, selection = choose_kernel(problem, few, Choices(None, 1))
    assert selection is not None
    assert (table[0].n_rows, best.candidate.n_rows) == (100, 200)
    assert best.candidate.beta * 200 == pytest.approx(table[0].beta * 100)
    assert choose_kernel(problem, few, Choices(0.01, 1))[0].candidate.beta == 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("way", "weighted"), [("factor", True), ("landmarks", False)])
def test_rows_beyond_eigenvectors(monkeypatch, way, weighted):
    """The whole problem gives the network of the eigenvectors; landmarks are certified as what they are."""
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    w = np.random.default_rng(0).integers(0, 3, 400) if weighted else None
    exact = ConvexNetworkRegressor(max_metric_iter=0, beta=1e-3).fit(X, y, w)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.DECOMPOSED", 200)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.solve_many", partial(solve_many, way=way))
    for beta in (1e-3, "auto"):
        model = ConvexNetworkRegressor(beta=beta, max_metric_iter=0).fit(X, y, w)
        found = model.certificate_.verify(X, y)
        assert found.objective == pytest.approx(model.certificate_.objective, rel=1e-6)
        assert found.relative_gap < 2e-3
        assert ("landmarks" in model.certificate_.scope) == (way == "landmarks")
        if beta != "auto" and way == "factor":
            np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.05)
    new, truth = make_friedman1(400, noise=1.0, random_state=1)
    learned = ConvexNetworkRegressor().fit(X, y, w)
    assert learned.metric_ is not None
    assert learned.score(new, truth) > 0.85
    assert learned.certificate_.verify(X, y).relative_gap < 2e-3


def test_gates_are_learned_where_held_out_rows_say_so():
    """Five of the ten columns of friedman1 are noise; of the diabetes table no metric is worth its variance."""
    X, y = make_friedman1(500, noise=1.0, random_state=0)
    new, truth = make_friedman1(500, noise=1.0, random_state=1)
    plain, learned = ConvexNetworkRegressor(max_metric_iter=0).fit(X, y), ConvexNetworkRegressor().fit(X, y)
    assert plain.metric_ is None
    assert plain.metric_selection_ is None
    assert learned.metric_selection_.n_iter >= 1
    weights = np.diag(learned.metric_) * learned.network_.kernel.rates
    assert weights[:5].min() > 10 * weights[5:].max()
    assert learned.score(new, truth) > plain.score(new, truth) + 0.03
    assert learned.loo_score_ == pytest.approx(learned.score(new, truth), abs=0.03)
    assert learned.certificate_.verify(X, y).relative_gap < 1e-8
    X, y = (part[::2] for part in load_diabetes(return_X_y=True))
    none = ConvexNetworkRegressor().fit(X, y)
    assert none.metric_selection_.trials[0].n_iter == 0
    assert none.score(X, y) < 0.7  # the certificate is of training: nothing interpolates


def test_groups_are_left_out_together():
    """Rows of a group share a label and a place of their own: known groups are easy, new ones are chance."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 5)
    X = rng.standard_normal((20, 5))[groups] + 0.1 * rng.standard_normal((100, 5))
    y = rng.integers(0, 2, 20)[groups]
    single = ConvexNetworkClassifier().fit(X, y)
    grouped = ConvexNetworkClassifier().fit(X, y, groups=np.char.mod("patient %d", groups))
    assert single.loo_score_ == 1.0
    assert grouped.loo_score_ < 0.8
    assert grouped.certificate_.verify(X, y).relative_gap < 1e-8


@pytest.mark.slow
def test_verbose_says_what_was_chosen(capfd):
    X, y = load_iris(return_X_y=True)
    ConvexNetworkClassifier(verbose=True, max_metric_iter=0).fit(X, y)
    assert (
        "ConvexNetworkClassifier: rows scaled by common, constant feature 3, 0 iterations of a learned metric"
        in capfd.readouterr().err.splitlines()[-1]
    )
    ConvexNetworkClassifier(max_metric_iter=0).fit(X, y)
    assert capfd.readouterr().err == ""
    with pytest.raises(ArgumentError, match="verbose"):
        ConvexNetworkClassifier(verbose="loud").fit(X, y)


def test_labels_of_any_kind_and_balanced_weights():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((180, 2)), rng.standard_normal((20, 2)) + 1.5])
    y = np.array(["often"] * 180 + ["rare"] * 20)
    plain, balanced = ConvexNetworkClassifier().fit(X, y), ConvexNetworkClassifier(class_weight="balanced").fit(X, y)
    assert (balanced.predict(X) == "rare").sum() > (plain.predict(X) == "rare").sum()
    assert plain.loo_predictions_.dtype == y.dtype


def test_several_targets_are_one_kernel():
    X, y = make_friedman1(100, noise=0.1, random_state=0)
    Y = np.column_stack([y, -2 * y])
    both = ConvexNetworkRegressor(max_metric_iter=0).fit(X, Y)  # rows that are held out differ with the targets
    np.testing.assert_allclose(both.predict(X)[:, 1], -2 * both.predict(X)[:, 0], atol=1e-8)
    np.testing.assert_allclose(
        both.predict(X)[:, 0], ConvexNetworkRegressor(max_metric_iter=0).fit(X, y).predict(X), atol=1e-8
    )


@pytest.mark.parametrize("model", BOTH)
def test_what_cannot_be_left_out_is_refused(model):
    for match, X, params, options in (
        ("two unique rows", np.ones((4, 2)), {}, {}),
        ("two groups", np.eye(4), {}, {"groups": np.zeros(4)}),
        ("groups", np.eye(4), {}, {"groups": np.zeros(3)}),
        ("max_metric_iter", np.eye(4), {"max_metric_iter": 7}, {}),
        ("beta", np.eye(4), {"beta": "best"}, {}),
    ):
        with pytest.raises(ArgumentError, match=match):
            clone(model).set_params(**params).fit(X, [0, 1, 0, 1], **options)


def test_labels_of_different_lengths_are_not_cut():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] > 0, "no", "certainly")
    model = ConvexNetworkClassifier(max_metric_iter=0).fit(
        np.concatenate([X, X[X[:, 0] > 0]]), np.append(y, y[X[:, 0] > 0])
    )
    assert set(model.loo_predictions_) == {"no", "certainly"}  # "no" is the most frequent one


@pytest.mark.parametrize(("make", "noise"), [(make_friedman1, 1.0), (make_friedman2, 20.0)])
def test_new_targets_are_inside(make, noise):
    """2000 new rows, 240 residuals or more: four standard deviations, sqrt(p (1 - p) (1/2000 + 1/240)), either way."""
    model = ConvexNetworkRegressor().fit(*make(300, noise=noise, random_state=0))
    new, truth = make(2000, noise=noise, random_state=1)
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(new, coverage=coverage)
        share = np.mean((truth >= low) & (truth <= high))
        assert abs(share - coverage) < 4 * np.sqrt(coverage * (1 - coverage) * (1 / 2000 + 1 / 240))


def test_intervals_are_wide_where_there_are_no_rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(-1, 0, (100, 1)), rng.uniform(0, 1, (5, 1))])
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(105)
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, y)
    new = np.array([[-0.5], [2.0]])
    low, high = model.predict_interval(new)
    assert high[1] - low[1] >= high[0] - low[0]
    np.testing.assert_allclose(model._predict_with_interval(new), [model.predict(new), low, high], rtol=1e-12)
    both = ConvexNetworkRegressor(max_metric_iter=0).fit(X, np.column_stack([y, y])).predict_interval(X[:3])
    assert both[0].shape == (3, 2)


@pytest.mark.kept("load_iris-True")
@pytest.mark.parametrize(("load", "weighted"), [(load_iris, True), (load_breast_cancer, False)])
def test_the_logistic_loss_on_the_same_gates(load, weighted):
    X, y = load(return_X_y=True)
    X, y = (X[::2], y[::2]) if weighted else (X[::4], y[::4])
    w = np.random.default_rng(0).integers(0, 3, len(y)) if weighted else None
    model = clone(LOGISTIC).fit(X, y, w)
    assert model.certificate_.loss == "logistic"
    assert model.certificate_.relative_gap < 1e-5
    found = model.certificate_.verify(X, y)
    assert found.relative_gap < 1e-5
    assert found.objective == pytest.approx(model.certificate_.objective, rel=1e-6)
    assert model.loo_score_ > 0.93
    assert model.score(X, y) > 0.93
    fixed = clone(LOGISTIC).set_params(beta=model.beta_).fit(X, y, w)
    np.testing.assert_allclose(fixed.network_.predict(X), model.network_.predict(X), atol=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", ["auto", pytest.param(0, marks=pytest.mark.slow)])
def test_the_loss_is_the_one_that_rows_left_out_call_better(rounds):
    """A softmax of straight scores is the logistic loss's; well separated clusters are that of squares."""
    rng = np.random.default_rng(2)
    n = 150 if rounds == 0 else 90
    X = rng.standard_normal((n, 8))
    y = (X @ rng.standard_normal((8, 3)) * 3 + rng.gumbel(size=(n, 3))).argmax(axis=1)
    found = [
        ConvexNetworkClassifier(loss=loss, max_metric_iter=rounds).fit(X, y) for loss in ("auto", "squared", "logistic")
    ]
    auto, squared, logistic = found
    assert auto.loss_ == auto.certificate_.loss == "logistic"
    assert auto.loss_scores_["logistic"] < auto.loss_scores_["squared"]
    np.testing.assert_array_equal(auto.predict_proba(X), logistic.predict_proba(X))
    assert list(squared.loss_scores_) == ["squared"]
    assert auto.certificate_.verify(X, y).relative_gap < 1e-5
    X, y = make_classification(n, class_sep=2, n_informative=4, random_state=3)
    auto = ConvexNetworkClassifier(max_metric_iter=rounds).fit(X, y)
    assert auto.loss_ == auto.certificate_.loss == "squared"
    assert set(auto.loss_scores_) == {"squared", "logistic"}


@pytest.mark.slow
def test_copies_are_weights_for_the_logistic_loss():
    X, y = load_iris(return_X_y=True)
    y[::9] = (y[::9] + 1) % 3
    w = np.random.default_rng(0).integers(0, 3, len(y))
    X, w = np.repeat(X, 2, axis=0), np.repeat(w, 2)
    apart = np.column_stack([y, (y + (np.arange(150) % 7 == 0)) % 3]).ravel()  # observations of their own
    for labels in (np.repeat(y, 2), apart):
        one = clone(LOGISTIC).fit(X, labels, sample_weight=w)
        two = clone(LOGISTIC).fit(np.repeat(X, w, axis=0), np.repeat(labels, w))
        if labels is not apart:
            np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-4)
        for model, own in ((one, (X, labels)), (two, (np.repeat(X, w, axis=0), np.repeat(labels, w)))):
            assert model.certificate_.verify(*own).relative_gap < 1e-5


def test_the_logistic_loss_knows_its_limits(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.estimators.network_classifier.DECOMPOSED", 100)
    monkeypatch.setattr("clifford_rand_nn.estimators.network_base.train", None)  # it is refused before any work
    with pytest.raises(ArgumentError, match="more than 100 unique rows"):
        clone(LOGISTIC).fit(*load_iris(return_X_y=True))


def test_a_fit_that_reaches_its_tolerance_warns_of_nothing(monkeypatch):
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.DECOMPOSED", 400)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.solve_many", partial(solve_many, way="gradients"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, y)
    assert 1e-5 < model.certificate_.relative_gap < 1e-3
    assert model.result_.status == "optimal"


@pytest.mark.parametrize("beta", ["auto", 1e-6])
def test_a_logistic_fit_that_time_ends_says_so(beta):
    """With 1e-6, rows left out move so far that limits of their shifts overflowed."""
    X = np.random.default_rng(0).standard_normal((300, 5))
    y = X[:, 0] * X[:, 1] > 0
    with pytest.warns(ConvergenceWarning, match="logistic fit ended 'max_time' with a relative gap of"):
        model = ConvexNetworkClassifier(loss="logistic", beta=beta, max_time=1e-6).fit(X, y)
    assert model.result_.status.value == "max_time"
    assert model.certificate_.verify(X, y).lower_bound <= model.certificate_.objective
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.slow
def test_which_rows_were_left_out_and_how_the_solver_came_to_its_end():
    rng = np.random.default_rng(5)
    X = rng.integers(-2, 3, (60, 2)).astype(float)  # with copies of rows, whose targets differ
    y = X[:, 0] * X[:, 1] + rng.standard_normal(60)
    weights = np.where(np.arange(60) < 5, 0.0, 1.0)
    labels = np.where(y > 0, "up", "down")
    models = [ConvexNetworkRegressor(), ConvexNetworkRegressor(n_neurons=3), ConvexNetworkRegressor(max_metric_iter=0)]
    models += [ConvexNetworkClassifier(loss=loss) for loss in ("squared", "logistic")]
    for model in models:
        classes = isinstance(model, ConvexNetworkClassifier)
        truth = labels if classes else y
        model.fit(X, truth, sample_weight=weights)
        told = model.loo_mask_
        assert told.any()
        assert not told[:5].any()
        known = model.loo_predictions_[told]
        if classes:
            assert np.mean(known == truth[told]) == pytest.approx(model.loo_score_)
            assert np.isnan(model.loo_probabilities_[~told]).all()
            assert (model.classes_[model.loo_probabilities_[told].argmax(axis=1)] == known).all()
        else:
            rest = np.sum((truth[told] - known) ** 2) / np.sum((truth[told] - truth[told].mean()) ** 2)
            assert 1 - rest == pytest.approx(model.loo_score_)
        objectives, proof = [row.objective for row in model.result_.history], model.certificate_
        assert objectives == sorted(objectives, reverse=True)
        assert objectives[-1] == pytest.approx(proof.objective, rel=1e-7)  # some solvers polish their last point
        assert model.result_.history[-1].relative_gap == pytest.approx(proof.relative_gap, abs=1e-6)
        assert model.n_neurons or model.result_.history[0].relative_gap > 0.1  # those begin with the solution of a path
        assert [row.seconds for row in model.result_.history] == sorted(row.seconds for row in model.result_.history)


@pytest.mark.parametrize("kind", [ConvexNetworkRegressor, ConvexNetworkClassifier])
def test_rows_unlike_those_of_training_by_any_factor_have_outputs(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    y = X[:, 0] + np.abs(X[:, 1])
    y = y if kind is ConvexNetworkRegressor else y > np.median(y)
    model = kind(max_metric_iter=0, beta=0.1).fit(X * 2.0**-997, y)
    with np.errstate(over="raise", invalid="raise"):
        out = model.predict(X) if kind is ConvexNetworkRegressor else model.predict_proba(X)
    assert np.isfinite(out).all()


def test_outputs_do_not_depend_on_the_order_of_entries_in_memory():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    model = ConvexNetworkRegressor(max_metric_iter=0, beta=0.1).fit(X, X[:, 0])
    np.testing.assert_array_equal(model.predict(np.asfortranarray(X)), model.predict(X))


def test_what_predictions_keep_is_not_pickled():
    X, y = make_friedman1(70, random_state=0)
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(X, y)
    before, outputs = pickle.dumps(model), model.predict(X)
    assert len(pickle.dumps(model)) == len(before)
    np.testing.assert_array_equal(pickle.loads(before).predict(X), outputs)
