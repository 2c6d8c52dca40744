"""Learned rates of boxes: the error and its gradient, what maps do to them, and all that a network with them offers."""

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, load_model, save_model
from clifford_rand_nn.displays.selection import choices
from clifford_rand_nn.kernel_network import metric_folds, metric_frame, training
from clifford_rand_nn.kernel_network.candidates import Problem
from clifford_rand_nn.kernel_network.cholesky import KernelRidge, spread
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.metric_folds import Folds
from clifford_rand_nn.kernel_network.metric_frame import learn_rates
from clifford_rand_nn.kernel_network.metric_selection import MetricSelection, compare_metrics
from clifford_rand_nn.kernel_network.training import Choices, learned_gates

N, D = 70, 4
RNG = np.random.default_rng(0)
LEVELS = RNG.random((N, D)) / D
ROWS = np.hstack([RNG.standard_normal((N, D)), LEVELS])
SIGNS = np.sign(LEVELS[:, :1] - 0.5 / D) * np.sign(LEVELS[:, 1:2] - 0.5 / D)
TARGETS = np.hstack([SIGNS, 0.3 * RNG.standard_normal((N, 1))])
WEIGHTS = RNG.uniform(0.5, 2.0, N)
KERNEL = GateKernel(bias=1.0, steps=2.0, decay=4.0)
FRAMED = GateKernel(bias=1.0, frame=np.diag([1.0, 0.5, 2.0, 0.1]), steps=2.0, decay=4.0)


def _objective(monkeypatch, kernel, radius, weights):
    """Return the function that is minimized."""
    taken = []

    def minimize(function, start, args, **options):
        taken.append(lambda moved: function(moved, *args))
        return type("", (), {"x": start})

    monkeypatch.setattr(metric_frame, "minimize", minimize)
    list(learn_rates(kernel, ROWS, TARGETS, radius, weights))
    return taken


@pytest.mark.parametrize("kernel", [KERNEL, FRAMED])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_the_error_is_that_of_refits_without_each_row_and_its_gradient_that_of_differences(
    kernel, weights, n_blocks, monkeypatch
):
    monkeypatch.setattr(metric_frame, "_BLOCK_ROWS", -(-N // n_blocks))
    narrow, wide = _objective(monkeypatch, kernel, 1e-4, weights)  # so small a λ is in double precision
    w = np.ones(N) if weights is None else weights / weights.mean()
    moved = 0.3 * np.random.default_rng(1).standard_normal(D + 2)
    value = narrow(moved)[0]
    rates = kernel.level_rates(D) / kernel.decay * np.exp(moved[:D])
    changed = GateKernel(1.0, kernel.frame, 2.0 * np.exp(moved[-2]), 4.0, rates)
    K, y, squares = changed(ROWS), TARGETS - TARGETS.mean(axis=0), 0.0
    for i in range(N):
        kept = np.setdiff1d(np.arange(i % n_blocks, N, n_blocks), i)
        fit = KernelRidge(K[np.ix_(kept, kept)], w[kept])
        alpha, intercept = fit.fit(y[kept], max(1e-4 * np.exp(moved[-1]), 1e-9 * np.trace(K)))
        squares += w[i] * ((y[i] - K[i, kept] @ alpha - intercept) ** 2).sum()
    error, apart = N / 2 * np.log(squares), 0.5 * moved[:-1] @ moved[:-1]
    assert value == pytest.approx(error + apart, rel=1e-6)
    assert wide(moved)[0] == pytest.approx(error + apart / 9, rel=1e-6)
    steps = 1e-5 * np.eye(D + 2)
    for objective in (narrow, wide):
        gradient = objective(moved)[1]
        differences = [(objective(moved + step)[0] - objective(moved - step)[0]) / 2e-5 for step in steps]
        np.testing.assert_allclose(gradient, differences, atol=1e-5 * np.abs(gradient).max())


def test_single_precision_learns_the_same():
    K = np.trace(KERNEL(ROWS))
    single, double = (
        next(learn_rates(KERNEL, ROWS, TARGETS, share * K, WEIGHTS)).kernel for share in (1.01e-5, 0.99e-5)
    )
    np.testing.assert_allclose(single.rates, double.rates, rtol=0.05)


def test_rates_are_equivariant_and_do_not_depend_on_units():
    learned, changes = next(learn_rates(KERNEL, ROWS, TARGETS, 1.0))
    assert learned.rates[:2].min() > 3 * learned.rates[2:].max()
    order = [2, 0, 3, 1]
    permuted, again = next(learn_rates(KERNEL, ROWS[:, [*order, *(D + j for j in order)]], TARGETS, 1.0))
    np.testing.assert_allclose(permuted.rates, learned.rates[order], rtol=1e-2)
    np.testing.assert_allclose(again, changes[[*order, D, D + 1]], atol=1e-2)
    for unit in (1e-9, 1e9):
        scaled = next(learn_rates(KERNEL, ROWS, unit * (TARGETS + 7.0), 1.0)).kernel
        np.testing.assert_allclose(scaled.rates, learned.rates, rtol=1e-2)


def test_rates_of_rules_without_noise_are_bounded():
    """The error of 300 rows falls to 0: without a bound rates went to infinity, and the network could not be made."""
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 3, (300, D)) / 2 / D
    rules = np.where(levels[:, :1] > 0, 1.0, -1.0) * np.where(levels[:, 1:2] > 0, 1.0, -1.0)
    rounds = list(learn_rates(KERNEL, np.hstack([rng.standard_normal((300, D)), levels]), rules, 1.0))
    for learned in rounds:
        assert learned.kernel.rates[:2].max() < 1001
        assert learned.kernel.rates[2:] == pytest.approx([1e-3, 1e-3], rel=0.5)


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_the_second_round_gives_few_of_many_columns_more_of_the_rates(seed):
    """Two of 40 have the rule: their share of all rates is .52 to .69 after the first round, .78 to .84 after both."""
    rng = np.random.default_rng(seed)
    levels = rng.random((200, 40)) / 40
    rule = np.sign(levels[:, :1] - 0.5 / 40) * np.sign(levels[:, 1:2] - 0.5 / 40) + 0.5 * rng.standard_normal((200, 1))
    rounds = learn_rates(KERNEL, np.hstack([np.zeros((200, 40)), levels]), rule, 1.0)
    first, second = (learned.kernel.rates[:2].sum() / learned.kernel.rates.sum() for learned in rounds)
    assert first < 0.72 < second


@pytest.mark.parametrize(
    ("rows", "targets", "radius"),
    [
        (ROWS, np.full((N, 1), 3.0), 1.0),
        (ROWS[:1], TARGETS[:1], 1.0),
        (ROWS, 1e-200 * TARGETS, 1.0),  # their squares are 0
        (np.vstack([ROWS, ROWS]), np.vstack([TARGETS, -TARGETS]), 1e-300),  # the matrix is singular
    ],
)
def test_what_has_nothing_to_learn_from_stays_as_it_is(rows, targets, radius):
    first, second = learn_rates(KERNEL, rows, targets, radius)
    assert first.kernel is second.kernel is KERNEL
    assert not np.any([first.changes, second.changes])


def test_a_constant_column_keeps_its_rate():
    constant = ROWS.copy()
    constant[:, D + 2] = 0.1
    learned = next(learn_rates(KERNEL, constant, TARGETS, 1.0)).kernel
    assert learned.rates[2] == 1.0


@pytest.mark.parametrize("rates", [np.array([1.0, -1.0]), np.ones((2, 2)), np.array([np.nan, 1.0])])
def test_rates_are_numbers_from_zero_on(rates):
    with pytest.raises(ArgumentError, match="'rates' parameter of GateKernel"):
        GateKernel(steps=1.0, decay=4.0, rates=rates)


def _rules(n, seed):
    """Return rows of eight columns, and a rule of two of them which no sum of functions of single columns tells."""
    X = np.random.default_rng(seed).random((n, 8))
    return X, (np.floor(3 * X[:, 0]) + np.floor(3 * X[:, 1])).astype(int) % 2


@pytest.fixture(scope="module")
def classifier():
    return ConvexNetworkClassifier().fit(*_rules(300, 0))


def test_rules_of_few_columns_are_learned_by_their_rates(classifier):
    assert classifier.metric_selection_.rates
    rates = classifier.network_.kernel.rates
    assert rates[:2].min() > 5 * rates[2:].max()
    new, truth = _rules(1000, 1)
    assert classifier.score(new, truth) == pytest.approx(classifier.loo_score_, abs=0.04)
    assert classifier.certificate_.verify(*_rules(300, 0)).relative_gap < 1e-6


def test_a_network_with_rates_is_saved_exported_and_proved(tmp_path, classifier):
    save_model(classifier, tmp_path / "model.npz")
    loaded, new = load_model(tmp_path / "model.npz"), _rules(50, 2)[0]
    np.testing.assert_array_equal(loaded.predict_proba(new), classifier.predict_proba(new))
    assert loaded.metric_selection_.rates == classifier.metric_selection_.rates
    assert loaded.metric_selection_.rate_changes is None
    X, y = _rules(120, 3)
    model = ConvexNetworkRegressor().fit(X, y)
    assert model.metric_selection_.rates
    exact, stated = model.certificate_.verify(X, y, exact=True), model.certificate_
    assert exact.lower_bound >= stated.lower_bound * (1 - 1e-9)
    assert exact.relative_gap < 1e-6


def test_a_selection_that_no_time_is_left_for_is_dropped(monkeypatch):
    """Of more than 3000 rows metrics are compared on 2000, but what is said without one is of those compared before."""
    answers = iter([False, True])
    monkeypatch.setattr(training, "_is_short", lambda choices, began: next(answers))
    X = np.random.default_rng(6).standard_normal((3100, 2))
    groups = np.repeat(np.arange(1550), 2)
    model = ConvexNetworkRegressor(max_time=60).fit(X, np.abs(X[:, 0]), groups=groups)
    assert model.metric_selection_ is None
    assert model.loo_mask_.sum() == 1000


def test_rates_alone_are_learned_gates(monkeypatch):
    """Without a metric, what is said of new rows is by held-out rows as well, for the rates have seen the targets."""

    def without_shapes(kernel, problem, beta, max_iter, shapes, mistakes, rival):
        return compare_metrics(kernel, problem, beta, max_iter, (), mistakes, rival)

    monkeypatch.setattr(training, "compare_metrics", without_shapes)
    model = ConvexNetworkClassifier().fit(*_rules(300, 0))
    selection = model.metric_selection_
    assert (selection.n_iter, selection.is_learned) == (0, True)
    assert selection.rates in (1, 2)
    np.testing.assert_array_equal(model.metric_, np.eye(8))
    assert model.network_.kernel.rates is not None
    new, truth = _rules(1000, 1)
    assert model.loo_score_ == pytest.approx(model.score(new, truth), abs=0.05)
    (gates,) = (choice for choice in choices(model) if choice.name == "gate distribution")
    assert gates.value == "learned rates of boxes"


def test_where_nothing_was_fitted_rates_begin_at_a_smaller_penalty():
    usual, far = (next(learn_rates(KERNEL, ROWS, TARGETS, radius)) for radius in (1.0, 1e6))
    assert far.kernel.rates[:2].min() > 3 * far.kernel.rates[2:].max()
    assert far.changes[-1] < usual.changes[-1] + np.log(1e-3)


def test_a_beta_that_is_given_stays():
    problem, changes = Problem(ROWS, TARGETS), next(learn_rates(KERNEL, ROWS, TARGETS, N * 1e-2)).changes
    selection = MetricSelection("none", 0, (1.0,), (), np.arange(0), TARGETS[:0], rates=1, rate_changes=changes)
    own, given = (
        learned_gates(KERNEL, ROWS, problem, 1e-2, Choices(beta, 3), np.arange(N), selection) for beta in (None, 1e-2)
    )
    assert own.beta == pytest.approx(np.exp(changes[-1]) * given.beta)
    assert given.beta == pytest.approx(1e-2 * given.spread / spread(KERNEL(ROWS)))
    np.testing.assert_allclose(own.kernel.rates, np.exp(changes[:D]))
    assert own.kernel.steps == pytest.approx(KERNEL.steps * np.exp(changes[D]))


def test_rates_are_the_geometric_mean_of_those_of_the_folds():
    compared = compare_metrics(KERNEL, Problem(ROWS, TARGETS[:, :1]), 1e-2, 1, (), None)
    assert compared.rates > 0
    kernels, changes = compared.best.kernels, compared.rate_changes
    np.testing.assert_allclose(np.exp(changes[:D]), np.prod([k.rates for k in kernels], axis=0) ** (1 / len(kernels)))
    factors = [spread(KERNEL(compared.folds.X[kept])) for kept in compared.folds.kept] / np.array(compared.best.spreads)
    assert np.exp(changes[-1]) == pytest.approx(np.prod(factors) ** (1 / len(factors)))


def test_rates_that_are_refused_leave_the_penalty_as_it_was():
    noise = Problem(ROWS, np.random.default_rng(8).standard_normal((N, 1)))
    compared = compare_metrics(KERNEL, noise, 1e-1, 1, ("full",), None)
    assert (compared.is_learned, compared.trials[-1].shape) == (False, "rates")
    folds = compared.folds
    assert compared.best.spreads == pytest.approx([spread(KERNEL(folds.X[kept])) for kept in folds.kept])


@pytest.mark.parametrize(
    ("shares", "noises", "wrong", "n_tried", "taken"),
    [
        ((0.9, 0.8), (0, 0), (0.3, 0.3, 0.3), 2, 2),
        ((0.8, 0.9), (0, 0), (0.3, 0.3, 0.3), 2, 1),
        ((0.99, 0.8), (0.5, 0), (0.3, 0.3, 0.3), 2, 2),  # the gain of the first may be chance
        ((0.99, 0.99), (0.5, 0.5), (0.3, 0.3, 0.3), 2, 0),
        ((1.01, 0.8), (0, 0), (0.3, 0.3, 0.3), 1, 0),  # the first gains nothing: there is no second
        ((0.9, 0.8), (0, 0), (0.3, 0.1, 0.2), 2, 1),  # fewer mistakes come before the gain
        ((0.9, 0.8), (0, 0), (0.3, 0.4, 0.3), 2, 2),
        ((0.9, 0.8), (0, 0), (0.3, 0.4, 0.4), 2, 0),
    ],
)
def test_the_round_with_fewest_mistakes_and_then_the_largest_gain_is_taken(
    shares, noises, wrong, n_tried, taken, monkeypatch
):
    judge, judged, begun = Folds.judge, [], []

    def judge_as_planned(folds, kernels, factor, spreads=None):
        begun.append(factor)
        share, noise, k = (1.0, *shares)[len(judged)], (0, *noises)[len(judged)], len(judged)
        result = judge(folds, kernels, 1.0, spreads)
        first = judged[0].errors if judged else np.ones_like(result.errors)
        errors = first * (share + noise * (-1) ** np.arange(len(first)))
        judged.append(result._replace(errors=errors, factor=4.0 ** (k + 1)))
        return judged[-1]

    planned = iter(wrong)
    monkeypatch.setattr(Folds, "judge", judge_as_planned)
    compared = compare_metrics(
        KERNEL,
        Problem(ROWS, TARGETS[:, :1]),
        1e-2,
        1,
        (),
        lambda predictions, truth: np.arange(len(truth)) < next(planned) * len(truth),
    )
    assert begun == [1.0] + [4.0] * n_tried
    assert [trial.shape for trial in compared.trials] == ["none"] + ["rates"] * n_tried
    assert compared.rates == taken
    assert compared.best is judged[taken]
    assert compared.factors == (4.0 ** (taken + 1),)
    assert (compared.rate_changes is None) == (taken == 0)


def test_changes_are_those_that_were_found_and_lambda_that_of_a_unit_of_spread(monkeypatch):
    moved = np.linspace(-0.5, 0.7, D + 2)
    monkeypatch.setattr(metric_frame, "minimize", lambda *args, **options: type("", (), {"x": moved}))
    kernel, changes = next(learn_rates(FRAMED, ROWS, TARGETS, 1.0))
    changed = GateKernel(
        1.0, FRAMED.frame, 2.0 * np.exp(moved[-2]), 4.0, FRAMED.level_rates(D) / 4.0 * np.exp(moved[:-2])
    )
    np.testing.assert_allclose(kernel(ROWS), changed(ROWS))
    np.testing.assert_allclose(changes[:-1], moved[:-1])
    assert np.exp(changes[-1]) * spread(changed(ROWS)) == pytest.approx(np.exp(moved[-1]) * spread(FRAMED(ROWS)))


def test_rates_begin_at_the_penalty_of_what_was_judged(monkeypatch):
    problem = Problem(ROWS, TARGETS, WEIGHTS)
    compared = compare_metrics(KERNEL, problem, 1e-2, 1, (), None)
    folds, learned = compared.folds, {}
    sizes = np.array([spread(KERNEL(folds.X[kept])) for kept in folds.kept])
    before = compared.best._replace(kernels=folds.first, factor=4.0, spreads=list(sizes / 3))

    def learn(kernel, rows, targets, radius, weights):
        fold = next(k for k, kept in enumerate(folds.kept) if np.array_equal(folds.X[kept], rows))
        learned[fold] = radius, weights, targets
        return iter([metric_frame.LearnedRates(kernel, np.full(D + 2, 1.0 + fold))])

    monkeypatch.setattr(metric_folds, "learn_rates", learn)
    _, spreads, changes = next(folds.with_learned_rates(before))
    for fold, kept in enumerate(folds.kept):
        radius, weights, targets = learned[fold]
        assert radius == pytest.approx(N * 1e-2 * 4.0 * 3.0)
        np.testing.assert_allclose(weights, folds.weights[kept] / folds.weights[kept].mean())
        np.testing.assert_array_equal(targets, folds.targets[kept])
    assert spreads == pytest.approx(sizes / 3 / np.exp(1.0 + np.arange(len(sizes))))
    assert changes == pytest.approx((1 + len(sizes)) / 2)


def test_of_a_metric_the_penalty_is_in_proportion_to_the_spread():
    X = np.random.default_rng(0).standard_normal((200, 6))
    compared = compare_metrics(GateKernel(bias=2.0), Problem(X, np.abs(X[:, :1])), 1e-3, 1, ("diagonal",), None)
    assert compared.chosen.n_iter == 1
    first = [spread(GateKernel(bias=2.0)(compared.folds.X[kept])) for kept in compared.folds.kept]
    assert compared.best.spreads == pytest.approx(first)
