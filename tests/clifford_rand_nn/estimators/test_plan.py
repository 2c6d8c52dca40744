"""Plans of fits to rows in memory: parts, how they grow, and limits that go by the same models."""

import tracemalloc

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.estimators.held_out import n_folds
from clifford_rand_nn.estimators.network_fit import network_costs
from clifford_rand_nn.kernel_network import many_rows as many
from clifford_rand_nn.kernel_network.training import COMPARED, DECOMPOSED

ESTIMATORS = [
    nn.ConvexNetworkClassifier(),
    nn.ConvexNetworkRegressor(),
    nn.ConvexNetworkRegressor(n_neurons=4),
    nn.GatedReLUClassifier(random_state=0),
    nn.GatedReLURegressor(random_state=0),
    nn.GatedReLURegressor(gates="infinite", penalty="ridge"),
    nn.ConvexReLUClassifier(random_state=0),
    nn.ConvexReLURegressor(random_state=0),
    nn.ConvexReLURegressor(gates="exhaustive", beta=0.1),
    nn.CrossProductLassoClassifier(random_state=0),
    nn.CrossProductLassoRegressor(random_state=0),
    nn.BetaCV(nn.GatedReLURegressor(random_state=0), n_betas=3),
]


def rows(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_every_estimator_has_a_plan_and_stays_as_it_is(model):
    X = rows(120, 4)
    before = dict(vars(model))
    plan = model.plan(X)
    assert (plan.n_rows, plan.n_columns) == (120, 4)
    assert plan.owner == type(model).__name__
    assert plan.seconds == pytest.approx(sum(part.seconds for part in plan.parts.values()))
    assert plan.memory == max(part.bytes for part in plan.parts.values())
    assert all(0 < part.seconds < 1e3 and 0 < part.bytes < 2**31 for part in plan.parts.values())
    assert vars(model) == before
    lines = str(plan).splitlines()
    assert lines[0] == f"{plan.owner} on 120 rows × 4 columns"
    assert [line.split("  ")[1] for line in lines[1:]] == [*plan.parts, "total"]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_more_rows_and_columns_cost_more(model):
    few, wide, many = (model.plan(rows(n, d)) for n, d in ((100, 3), (100, 9), (400, 3)))
    assert many.seconds > few.seconds
    assert wide.seconds >= few.seconds
    assert many.memory >= few.memory


def test_targets_say_how_many_outputs_there_are():
    X, model = rows(400, 3), nn.ConvexNetworkClassifier(loss="squared")
    two, nine = (model.plan(X, np.arange(400) % classes).seconds for classes in (2, 9))
    assert nine > two
    assert model.plan(X).seconds == two
    one, three = (nn.ConvexNetworkRegressor().plan(X, rows(400, k)).seconds for k in (1, 3))
    assert three > one


def test_duplicate_rows_count_once():
    X = rows(300, 3)
    assert nn.ConvexNetworkRegressor().plan(np.vstack([X, X, X])).parts == nn.ConvexNetworkRegressor().plan(X).parts


def test_parts_are_those_of_the_fit():
    assert set(network_costs(COMPARED, 5, 1)) == {"selection", "metric", "learning", "scores"}
    assert "beta" in network_costs(COMPARED + 1, 5, 1, metric_iter=0)
    assert "solution" in network_costs(DECOMPOSED + 1, 5, 1)
    assert set(network_costs(DECOMPOSED + 1, 5, 1, metric_iter=0)) == {"selection", "solution", "scores"}
    assert list(nn.GatedReLURegressor(beta=0.1).plan(rows(50, 2)).parts) == ["training"]
    assert "logistic loss" in nn.ConvexNetworkClassifier().plan(rows(100, 2)).parts
    assert "logistic loss" not in nn.ConvexNetworkClassifier(loss="squared").plan(rows(100, 2)).parts
    assert "poisson loss" in nn.ConvexNetworkRegressor(loss="poisson").plan(rows(100, 2)).parts
    assert not any("loss" in name for name in nn.ConvexNetworkRegressor().plan(rows(100, 2)).parts)


@pytest.mark.parametrize(
    ("n", "n_classes", "iterations", "is_tried"),
    [
        (2000, 2, "auto", True),
        (2060, 2, "auto", False),
        (2800, 2, 0, True),
        (2950, 2, 0, False),
        (670, 3, "auto", True),
    ],
)
def test_the_logistic_loss_is_tried_where_it_takes_three_seconds(n, n_classes, iterations, is_tried):
    model = nn.ConvexNetworkClassifier(max_metric_iter=iterations)
    assert ("logistic loss" in model.plan(rows(n, 2), np.arange(n) % n_classes).parts) == is_tried


def test_with_more_rows_than_are_compared_the_logistic_loss_is_tried():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((COMPARED + 50, 2))
    model = nn.ConvexNetworkClassifier(max_metric_iter=0).fit(X, X[:, 0] + rng.standard_normal(len(X)) > 0)
    assert set(model.loss_scores_) == {"squared", "logistic"}


@pytest.mark.parametrize("kind", [nn.GatedReLURegressor, nn.ConvexReLUClassifier, nn.CrossProductLassoRegressor])
def test_beta_is_selected_by_fits_to_every_fold(kind, monkeypatch):
    once = kind(random_state=0).plan(rows(120, 4)).parts
    monkeypatch.setattr("clifford_rand_nn.estimators.base.n_folds", lambda n: 2 * n_folds(n))
    twice = kind(random_state=0).plan(rows(120, 4)).parts
    assert twice["selection of beta"].seconds == pytest.approx(2 * once["selection of beta"].seconds)
    assert twice["training"] == once["training"]


def test_a_slower_machine_takes_as_much_longer(monkeypatch, machine):
    X = rows(300, 4)
    before = [model.plan(X) for model in ESTIMATORS[:8]]
    slow = nn.cost.Speed(3 * machine.product, 3 * machine.decomposition)
    monkeypatch.setattr(nn.cost, "machine_speed", lambda: slow)
    monkeypatch.setattr("clifford_rand_nn.estimators.network_fit.machine_speed", lambda: slow)
    for model, plan in zip(ESTIMATORS[:8], before, strict=True):
        again = model.plan(X)
        assert again.seconds == pytest.approx(3 * plan.seconds)
        assert again.memory == plan.memory


def test_limits_go_by_the_speed_of_the_machine_and_nothing_else_does(monkeypatch):
    def chosen(pace, **limits):
        monkeypatch.setattr(many, "slowdown", lambda: pace)
        return many.choose(100_000, 20, 1, **limits)

    assert chosen(1.0) == chosen(50.0)
    fast, slow = chosen(1.0, max_time=40.0), chosen(4.0, max_time=40.0)
    assert (fast.name, slow.name) == ("landmarks", "landmarks")
    assert slow.landmarks < fast.landmarks
    assert max(fast.seconds, slow.seconds) <= 40.0


@pytest.mark.kept("250-model0")
@pytest.mark.parametrize(
    ("n", "model"), [(250, nn.ConvexNetworkRegressor()), (1100, nn.ConvexNetworkRegressor(max_metric_iter=0))]
)
def test_bytes_are_those_that_are_allocated_within_a_factor_of_two(n, model):
    X = rows(n, 5)
    y = np.abs(X[:, 0]) + 0.3 * rows(n, 1, 1)[:, 0]
    planned = model.plan(X, y).memory
    model.fit(X[:100], y[:100])  # modules that are imported and functions that are compiled are no part of it
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert planned / 2 <= peak <= 2 * planned


def test_limits_below_the_plan_are_named():
    plan = nn.ConvexNetworkRegressor(max_time=1e-3, max_memory=1e4).plan(rows(200, 3))
    assert str(plan).endswith("at most, more than max_time=0.001, more than max_memory=10000")
    assert "more than" not in str(nn.ConvexNetworkRegressor().plan(rows(200, 3)))


def test_what_a_fit_refuses_is_refused():
    X = rows(20, 3)
    X[3, 1] = np.nan
    for model in (nn.ConvexNetworkRegressor(), nn.GatedReLUClassifier()):
        with pytest.raises(ArgumentError, match="NaN"):
            model.plan(X)
    with pytest.raises(ArgumentError, match="'max_metric_iter' parameter"):
        nn.ConvexNetworkRegressor(max_metric_iter=-1).plan(rows(20, 3))


def test_the_speed_of_the_machine_is_measured_once(monkeypatch):
    monkeypatch.undo()
    speed = nn.cost.machine_speed()
    assert speed is nn.cost.machine_speed()
    assert 1e-13 < speed.product < speed.decomposition
    assert nn.cost.slowdown() > 0


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.034, "0.034 s"), (75.2, "75 s"), (1000, "17 minutes"), (1e4, "2.8 hours")]
)
def test_seconds_in_words(seconds, shown):
    assert nn.cost.duration(seconds) == shown
