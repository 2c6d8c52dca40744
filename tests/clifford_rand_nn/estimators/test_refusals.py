"""What is of a wrong kind is refused by name: problems, starts, callbacks, truth values, seeds, absurd sizes."""

import contextlib
import functools

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from clifford_rand import ArgumentError
from clifford_rand_nn import (
    BetaCV,
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    ConvexReLUClassifier,
    ConvexReLURegressor,
    CrossProductLassoRegressor,
    GatedReLUClassifier,
    GatedReLURegressor,
    TwoLayerNetwork,
    explain,
    gated_path,
    load_model,
    prune,
    refine_gates,
    sample_gates,
    with_linear_gate,
)
from clifford_rand_nn.estimators.folds import group_numbers
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.penalties import GroupL2
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet
from clifford_rand_nn.solvers.gram.newton import GramNewton
from clifford_rand_nn.solvers.kernel.interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.kernel.newton import KernelNewton
from clifford_rand_nn.solvers.lasso.interior_point import InteriorPoint
from clifford_rand_nn.solvers.relu.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.relu.cone_interior_point import ConeInteriorPoint

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 2))
Y = np.abs(X[:, 0])
LABELS = np.where(Y > 0.5, "far", "near")
PROBLEMS = {
    "gated": GatedReLUProblem(X, Y, X > 0, 0.1),
    "lasso": LassoProblem(np.maximum(X, 0), Y, 0.1),
    "relu": ConvexReLUProblem(X, Y, X > 0, 0.1),
    "none": None,
    "number": 3,
}
KINDS = {
    Fista: "gated", AutoSolver: "gated", GateWorkingSet: "gated", KernelInteriorPoint: "gated", KernelNewton: "",
    GramNewton: "gated",
    InteriorPoint: "lasso", AugmentedLagrangian: "relu", ConeInteriorPoint: "relu",
}  # fmt: skip


@pytest.mark.parametrize("solver", KINDS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_solver_takes_its_own_problems(solver, name):
    if KINDS[solver] == name:
        assert solver().solve(PROBLEMS[name]).converged
        return
    with pytest.raises(ArgumentError, match=f"'problem' parameter of {solver.__name__} must be a "):
        solver().solve(PROBLEMS[name])


@pytest.mark.parametrize("solver", [Fista, GateWorkingSet, KernelInteriorPoint, GramNewton, AutoSolver])
def test_a_start_is_a_point_of_the_problem(solver):
    other = GatedReLUProblem(X, Y, X[:, :1] > 0, 0.1).start()
    for start in (3, other, PROBLEMS["gated"].start().U):
        with pytest.raises(ArgumentError, match=r"'start' parameter of .* must be None or a Point of the problem"):
            solver().solve(PROBLEMS["gated"], start)


GATES = sample_gates(X, 3, rng=0)
WIDE = RNG.standard_normal((300, 10))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: GatedReLURegressor(verbose="loud", beta=1e-3, bias=True).fit(X, Y),
            "'verbose' parameter of GatedReLURegressor",
        ),
        (
            lambda: ConvexReLURegressor(random_state=-1, beta=1e-3, bias=True).fit(X, Y),
            "'random_state' parameter of ConvexReLURegressor",
        ),
        (
            lambda: CrossProductLassoRegressor(random_state="a", beta=1e-3, bias=True).fit(X, Y),
            "'random_state' parameter of CrossProduct",
        ),
        (lambda: GatedReLURegressor(bias="yes", beta=1e-3).fit(X, Y), "'bias' parameter of GatedReLURegressor"),
        (
            lambda: GatedReLURegressor(n_gates=10**9, beta=1e-3, bias=True).fit(WIDE, WIDE[:, 0]),
            "'n_gates' .* Got a need of .* instead",
        ),
        (lambda: sample_gates(X, 10**12), "'n_gates' parameter of sample_gates .* Got a need of"),
        (
            lambda: CrossProductLassoRegressor(subsample=10**11, beta=1e-3, bias=True).fit(WIDE, WIDE[:, 0]),
            "'subsample' .* a need of",
        ),
        (lambda: gated_path(X, Y, GATES, bias="x"), "'bias' parameter of gated_path"),
        (lambda: refine_gates(X, Y, GATES, beta=0.1, callback=3), "'callback' parameter of refine_gates"),
        (lambda: prune(3, X), "'network' parameter of prune must be a TwoLayerNetwork"),
        (lambda: with_linear_gate(3), "'gates' parameter of with_linear_gate must be Gates"),
        (lambda: GatedReLUProblem(X, Y, X > 0, 0.1, bias="x"), "'bias' parameter of GatedReLUProblem"),
        (lambda: ConvexReLUProblem(X, Y, X > 0, 0.1, bias=2), "'bias' parameter of ConvexReLUProblem"),
        (lambda: LassoProblem(X, Y, 0.1, fit_intercept="x"), "'fit_intercept' parameter of LassoProblem"),
    ],
)
def test_wrong_values_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


@pytest.mark.parametrize("kind", [GatedReLUClassifier, ConvexReLUClassifier])
def test_numpy_words_and_truth_values_are_words_and_truth_values(kind):
    grid = {"loss": np.array(["squared", "logistic"]), "bias": np.array([True, False])}
    search = GridSearchCV(
        kind(n_gates=3, beta=1e-3, bias=True, random_state=0, tol=1e-2), grid, cv=2, error_score="raise"
    ).fit(X, LABELS)
    assert search.best_estimator_.certificate_.verify(X, LABELS).relative_gap <= 1.1e-2


@pytest.mark.parametrize("kind", [GatedReLUClassifier, GatedReLURegressor])
def test_what_scikit_learn_refuses_is_one_sentence_without_the_data(kind):
    y = LABELS if kind is GatedReLUClassifier else Y
    wrong = {
        "Reshape your data": X[:, 0],
        "0 sample": X[:0],
        "Complex data": X + 1j,
        "inconsistent numbers of samples": X[:5],
        "must be a string or a real number": object(),
    }
    for words, rows in wrong.items():
        with pytest.raises(ArgumentError, match=rf"^The '[Xy]' parameter of {kind.__name__} must be .*{words}") as told:
            kind(n_gates=2, beta=0.1).fit(rows, y)
        assert len(str(told.value)) < 500
        assert isinstance(told.value, TypeError) is (words == "must be a string or a real number")
    with pytest.raises(ArgumentError, match=rf"^The 'X' parameter of {kind.__name__} must be .*expecting 2 features"):
        kind(n_gates=2, beta=0.1).fit(X, y).predict(X[:, :1])


def test_integers_of_numpy_are_counted_with_as_integers_of_python():
    few = sample_gates(X, np.uint8(200), rng=0)  # 200 · (24 · 2 + 12) is beyond uint8
    assert np.array_equal(few.directions, sample_gates(X, 200, rng=0).directions)


def test_rows_and_numbers_of_gates_are_checked():
    for rows in (X[:, :1], X.astype(str), X * np.nan, "text", np.ma.array(X, mask=X > 0)):
        with pytest.raises(ArgumentError, match=r"^The 'X' parameter of Gates\.on must be"):
            GATES.on(rows)
    for index in (0.5, [9], "a", [[0]], [True]):
        with pytest.raises(ArgumentError, match=r"^The 'index' parameter of Gates\.take must be"):
            GATES.take(index)
    assert len(GATES.take([])) == 0


@pytest.mark.parametrize("path", [3, "", "a\0b", b"a.npz", None])
def test_paths_are_paths(path):
    with pytest.raises(ArgumentError, match=r"^The 'path' parameter of load_model must be the path"):
        load_model(path)


def test_a_penalty_too_small_for_its_square_takes_nothing_off():
    penalty = GroupL2(1e-300, np.array([1.0, 2.0]))
    active, tau, factors = penalty.shrinkage(np.array([[4.0, 1e-3], [1.0, 0.0]]), 1.0)
    assert active.tolist() == [0, 1]
    assert np.all(tau > 0)
    np.testing.assert_allclose(factors, 1, rtol=1e-15)


@pytest.mark.parametrize(
    "groups",
    [np.where(np.arange(12) == 0, np.nan, 1.0), np.where(np.arange(12) == 0, np.inf, 1.0), np.ones(12) * 1j,
     np.ma.array(np.arange(12), mask=np.arange(12) == 0), ["a", None] * 6, [[1], "a"] * 6,
     np.array(["a", 1.5] * 6, object),
     np.array(["NaT", "2020"] * 6, "M8[D]"), np.arange(5), np.zeros(12, [("a", float), ("b", int)])],
)  # fmt: skip
@pytest.mark.parametrize(
    "model", [ConvexNetworkClassifier(), BetaCV(GatedReLUClassifier(n_gates=2), betas=[0.1], cv=2)]
)
def test_groups_are_names_of_one_kind(groups, model):
    with pytest.raises(ArgumentError, match=r"'groups' parameter of (ConvexNetworkClassifier|BetaCV) must be"):
        model.fit(X, LABELS, groups=groups)


def test_groups_of_words_objects_and_dates_are_the_same_groups():
    numbers = np.arange(12) // 3
    same = [numbers.astype(str), numbers.astype(object), numbers.astype("M8[D]"), numbers.astype(float), numbers > 1]
    for groups in same[:-1]:
        assert group_numbers(groups, 12, "f").tolist() == numbers.tolist()
    assert group_numbers(same[-1], 12, "f").tolist() == (numbers > 1).tolist()


@pytest.mark.parametrize("beta", [1e300, 5e-324, 1e-160, np.nan, True])
def test_penalties_of_the_default_network_leave_room_for_their_squares(beta):
    with pytest.raises(ArgumentError, match="'beta' parameter of ConvexNetworkRegressor must be a number from 1e-150"):
        ConvexNetworkRegressor(beta=beta).fit(X, Y)


@pytest.mark.parametrize("subsample", [np.array([2, 2]), [2], 2.5, "all"])
def test_a_subsample_is_a_number_or_auto(subsample):
    with pytest.raises(ArgumentError, match="'subsample' parameter of CrossProductLassoRegressor must be an integer"):
        CrossProductLassoRegressor(subsample=subsample).fit(X, Y)


def test_more_subsets_than_numbers_have_digits_are_all_of_them():
    every = CrossProductLassoRegressor(beta=0.1, subsample=10**6).fit(X, Y).predict(X)
    for subsample in (10**6000, np.uint64(2**64 - 1)):
        model = CrossProductLassoRegressor(beta=0.1, subsample=subsample).fit(X, Y)
        np.testing.assert_allclose(model.predict(X), every, rtol=1e-12)  # in another order


@pytest.mark.parametrize("kind", [GatedReLURegressor, ConvexReLURegressor, CrossProductLassoRegressor])
def test_targets_with_others_between_them_give_the_same_bits(kind):
    apart = np.full((12, 2), 7.0)
    apart[:, 0] = Y
    options = {"beta": 0.05, "random_state": 0}
    same = [kind(**options).fit(X, y).predict(X) for y in (Y, apart[:, 0])]
    np.testing.assert_array_equal(*same)
    with pytest.raises(ArgumentError, match=r"'y' parameter of .* must be real numbers. Got dtype"):
        kind(**options).fit(X, np.zeros(12, [("a", float), ("b", int)]))


def test_refined_gates_do_not_depend_on_the_layout():
    gates = sample_gates(X, 3, rng=0)
    options = {"beta": 0.05, "rng": 0, "max_rounds": 1}
    plain = refine_gates(X, Y, gates, **options)
    for rows, targets in ((np.asfortranarray(X), Y), (X, Y[::-1].copy()[::-1])):
        found = refine_gates(rows, targets, gates, **options)
        np.testing.assert_array_equal(found.gates.directions, plain.gates.directions)
        assert found.result.objective == plain.result.objective


@pytest.mark.parametrize("wrong", [None, "text", 3.0, np.ma.array(Y, mask=Y > 1), [[1, 2], [3]], Y[:5], Y[None, None]])
def test_a_certificate_asks_for_the_targets_of_training(wrong):
    model = CrossProductLassoRegressor(beta=0.1).fit(X, Y)
    for check in (model.certificate_.verify, model.certificate_.over_all_neurons):
        with pytest.raises(ArgumentError, match=r"'y' parameter of Certificate.verify must be"):
            check(X, wrong)


@pytest.mark.parametrize("scale", [2.0**997, 2.0**-997])
def test_a_certificate_is_no_proof_for_data_of_another_size(scale):
    certificate = GatedReLURegressor(n_gates=3, beta=0.1, random_state=0).fit(X, Y).certificate_
    with np.errstate(all="raise", under="ignore"):
        for rows, targets in ((X * scale, Y), (X, Y * scale)):
            with contextlib.suppress(ArgumentError):
                assert np.isfinite(certificate.verify(rows, targets).primal)


NETWORK = TwoLayerNetwork(np.array([[1.0, 0.5], [-1.0, 2.0]]), np.array([0.1, 0.0]), np.ones((2, 1)), np.zeros(1))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        *((lambda p=p: NETWORK.penalty(p), "p") for p in (None, "2", 0, -1, np.nan, 10**400, [2], True, 3)),
        *((lambda p=p: NETWORK.to_neurons(p), "p") for p in (None, "2", np.inf, -np.inf, 1.5)),
        *((lambda c=c: NETWORK.penalty(2, c), "feature") for c in ("c", 0.0, np.nan, 1e-300, [1.0], True)),
        *((lambda x=x: NETWORK.to_relu(x), "X") for x in (None, "X", X[0], X[:, :1], X * np.nan, 1e300 * X)),
        *((lambda flag=flag: prune(NETWORK, X, fit_intercept=flag), "fit_intercept") for flag in ("yes", 2, [True])),
        (lambda: prune(NETWORK, X[:0]), "X"),
        *((lambda n=n: explain(_fitted(), X, n_repeats=n), "n_repeats") for n in (None, "5", -1, 1.5)),
        *((lambda s=s: explain(_fitted(), X, random_state=s), "random_state") for s in ("0", -1, 1.5, 2**40)),
        *((lambda t=t: explain(_fitted(), X, rows=X, targets=t), "targets") for t in ("t", 3.0, Y[:5])),
    ],
)
def test_parameters_of_networks_are_refused_by_name(call, name):
    with pytest.raises(ArgumentError, match=f"'{name}' parameter of"):
        call()


@functools.cache
def _fitted():
    return GatedReLURegressor(n_gates=3, beta=0.1, random_state=0).fit(X, Y)
