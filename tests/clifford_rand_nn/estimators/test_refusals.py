"""Values of a wrong kind are refused by name: parameters, problems, starts, callbacks, seeds, absurd sizes."""

import contextlib
import functools

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import clifford_rand_nn as nn
from clifford_rand import ArgumentError
from clifford_rand_nn.estimators.folds import group_numbers
from clifford_rand_nn.networks import relu_coefficients, unit_atoms
from clifford_rand_nn.problems.duality import exact_offsets
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.penalties import GroupL2
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet
from clifford_rand_nn.solvers.gram_newton import GramNewton
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.kernel_newton import KernelNewton
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint

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


NETWORK = nn.TwoLayerNetwork(np.array([[1.0, 0.5], [-1.0, 2.0]]), np.array([0.1, 0.0]), np.ones((2, 1)), np.zeros(1))
GATES = nn.sample_gates(X, 3, random_state=0)
WIDE = RNG.standard_normal((300, 10)), RNG.standard_normal(300)
FREE = {"bias": "free", "fit_intercept": False}
PARAMETERS = {
    nn.GatedReLUClassifier: [
        ({"n_gates": 0}, "'n_gates' parameter of GatedReLUClassifier must be an integer ≥ 1. Got 0 instead"),
        ({"beta": 0.0}, "'beta' .* a finite number > 0. Got 0.0"),
        ({"gates": "hash"}, "'gates' .* 'exhaustive', 'cross', 'gaussian', .*'opposite'.* Got 'hash'"),
        ({"gates": 3}, r"a pair \(directions \(d, m\), offsets \(m,\)\). Got 3"),
        ({"gates": (np.eye(3), np.zeros(3))}, "in dimension 2, that of X"),
        ({"penalty": "l1"}, "one of 'group_l2'"),
        ({"loss": "hinge"}, "'squared', 'logistic'"),
        ({"solver": "sgd"}, "one of 'auto', 'kernel', 'gram', 'fista', 'cvxpy'"),
        ({"bias": "yes"}, "'penalized', 'free'"),
        ({"sketch_dim": 5}, "an integer from 1 to 2. Got 5"),
        ({"max_iter": 0}, "'max_iter' parameter of GatedReLUClassifier must be an integer ≥ 1"),
    ],
    nn.GatedReLURegressor: [
        ({"verbose": "loud"}, "'verbose' parameter of GatedReLURegressor"),
        ({"bias": "yes"}, "'bias' parameter of GatedReLURegressor must be 'penalized', 'free'"),
        ({"linear": "yes"}, "'linear' parameter of GatedReLURegressor must be one of True"),
        ({"linear": True, "gates": "infinite", "penalty": "ridge"}, "'linear' .* False or 'auto' with gates"),
        *(({"beta": beta}, "'beta' parameter of GatedReLURegressor .* 'auto'") for beta in ("some", 0, -1.0, None)),
    ],
    nn.ConvexReLURegressor: [
        ({"random_state": -1}, "'random_state' parameter of ConvexReLURegressor"),
        (FREE, r"'fit_intercept' .* True if biases are free\. Got False"),
        ({"penalty": "l3"}, "'penalty' .* one of 'group_l2', 'group_l1'"),
        ({"gates": "some"}, "'gates' .* 'exhaustive'"),
        ({"loss": "logistic"}, "'loss' .* one of 'squared', 'huber'"),
        ({"huber_delta": -1.0}, "'huber_delta'"),
        ({"max_time": 0}, "'max_time' parameter of ConvexReLURegressor must be a finite number > 0"),
        ({"tol": np.inf}, "'tol' parameter of ConvexReLURegressor must be a finite number > 0"),
    ],
    nn.CrossProductLassoRegressor: [
        ({"random_state": "a"}, "'random_state' parameter of CrossProduct"),
        (FREE, "'fit_intercept' .* True if biases are free"),
        ({"subsample": 0}, "'subsample'"),
        *(({"subsample": some}, "'subsample' .* an integer") for some in (np.array([2, 2]), [2], 2.5, "all")),
        ({"solver": "lars"}, "'solver' .* one of"),
        ({"solver": "homotopy", "loss": "huber"}, "only for loss='squared'"),
        ({"linear": "both"}, "'linear'"),
        ({"max_memory": -1}, "'max_memory' parameter of CrossProductLassoRegressor must be a finite number > 0"),
        ({"solver": "cvxpy", "max_memory": 1e9}, "'max_memory' .* None with solver='cvxpy'"),
    ],
    nn.ConvexNetworkRegressor: [
        ({"n_neurons": 0}, "'n_neurons' parameter of ConvexNetworkRegressor must be an integer"),
        ({"n_neurons": 2.5}, "'n_neurons'"),
        ({"n_neurons": 5, "gates": "infinite"}, "None with gates='infinite'"),
        ({"gates": "gaussian"}, "'gates'"),
        ({"n_neurons": 5, "max_metric_iter": 2}, "'auto' or 0 for a finite network"),
        ({"gates": "row_spanned", "max_metric_iter": 1}, "'auto' or 0 for a finite network"),
        # leave room for their squares
        *(({"beta": beta}, "must be a number from 1e-150") for beta in (1e300, 5e-324, 1e-160, np.nan, True)),
    ],
    nn.ConvexNetworkClassifier: [({"n_neurons": 5, "loss": "logistic"}, "'squared' for a finite network")],
}


@functools.cache
def _fitted():
    return nn.GatedReLURegressor(n_gates=3, beta=0.1, random_state=0).fit(X, Y)


WRONG_ROWS, FEATURES = (X[:, :1], X * np.nan, "text"), ("c", 0.0, np.nan, 1e-300, [1.0], True)
OF_NETWORKS = [
    *((lambda path=path: nn.load_model(path), "path", "load_model") for path in (3, "", "a\0b", b"a.npz", None)),
    *(
        (lambda x=x: GATES.activations(x), "X", "Gates")
        for x in (*WRONG_ROWS, X.astype(str), np.ma.array(X, mask=X > 0))
    ),
    *((lambda i=i: GATES.take(i), "index", "Gates") for i in (0.5, [9], "a", [[0]], [True])),
    *((lambda p=p: NETWORK.penalty(p), "p", "") for p in (None, "2", 0, -1, np.nan, 10**400, [2], True, 3)),
    *((lambda p=p: unit_atoms(NETWORK, p), "p", "") for p in (None, "2", np.inf, -np.inf, 1.5)),
    *((lambda c=c: NETWORK.penalty(2, bias_feature=c), "bias_feature", "") for c in FEATURES),
    *((lambda x=x: relu_coefficients(NETWORK, x), "X", "") for x in (*WRONG_ROWS, None, X[0], 1e300 * X)),
    (lambda: nn.prune(3, X), "network", "prune"),
    *((lambda x=x: nn.prune(NETWORK, x), "X", "prune") for x in (np.ones((3, 5)), X[:0])),
    *((lambda f=f: nn.prune(NETWORK, X, fit_intercept=f), "fit_intercept", "prune") for f in ("yes", 2, [True])),
    *((lambda n=n: nn.explain(_fitted(), X, n_repeats=n), "n_repeats", "explain") for n in (None, "5", -1, 1.5)),
    *((lambda s=s: nn.explain(_fitted(), X, random_state=s), "random_state", "") for s in ("0", -1, 1.5, 2**40)),
    *((lambda t=t: nn.explain(_fitted(), X, X_train=X, y_train=t), "y_train", "") for t in ("t", 3.0, Y[:5])),
]


@pytest.mark.parametrize(
    ("kind", "parameters", "message"), [(kind, *case) for kind, cases in PARAMETERS.items() for case in cases]
)
def test_bad_parameters(kind, parameters, message):
    beta = {} if kind in (nn.ConvexNetworkClassifier, nn.ConvexNetworkRegressor) else {"beta": 1e-3}
    with pytest.raises(ArgumentError, match=message):
        kind(**(beta | parameters)).fit(X, LABELS if is_classifier(kind()) else Y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.GatedReLURegressor(10**9, beta=1e-3).fit(*WIDE), "'n_gates' .* Got a need of .* instead"),
        (lambda: nn.CrossProductLassoRegressor(subsample=10**11, beta=1e-3).fit(*WIDE), "'subsample' .* a need of"),
        (lambda: nn.sample_gates(X, 10**12), "'n_gates' parameter of sample_gates .* Got a need of"),
        (lambda: nn.gated_path(X, Y, GATES, bias="x"), "'bias' parameter of gated_path"),
        (lambda: nn.refine_gates(X, Y, GATES, beta=0.1, callback=3), "'callback' parameter of refine_gates"),
        (lambda: nn.with_linear_gate(3), "'gates' parameter of with_linear_gate must be Gates"),
        (lambda: GatedReLUProblem(X, Y, X > 0, 0.1, bias="x"), "'bias' parameter of GatedReLUProblem"),
        (lambda: ConvexReLUProblem(X, Y, X > 0, 0.1, bias=2), "'bias' parameter of ConvexReLUProblem"),
        (lambda: LassoProblem(X, Y, 0.1, fit_intercept="x"), "'fit_intercept' parameter of LassoProblem"),
        (lambda: nn.lasso_path(X, Y, betas=[1.0, 0.0]), "'betas' .* one or more numbers > 0"),
        (lambda: nn.lasso_path(X, Y, eps=2.0), "'eps' .* between 0 and 1"),
        (lambda: nn.relu_path(X, Y, n_betas=0), "'n_betas'"),
        (lambda: nn.relu_path(X[0], Y), "'X' parameter of relu_path"),
        (lambda: nn.lasso_path(X, Y, penalty="l3"), "'penalty' parameter of lasso_path"),
        (lambda: nn.gated_path(X, Y, GATES, loss="hinge"), "'loss'"),
        *((call, f"'{name}' parameter of {owner}") for call, name, owner in OF_NETWORKS),
    ],
)
def test_wrong_values_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_bad_data():
    model = nn.GatedReLUClassifier(beta=1e-3)
    with pytest.raises(ValueError, match=r"NaN"):
        model.fit(np.where(X > 0.5, np.nan, X), LABELS)
    with pytest.raises(ArgumentError, match=r"labels of at least two classes. Got one class"):
        model.fit(X, np.ones(12))
    with pytest.raises(NotFittedError):
        nn.GatedReLUClassifier().predict(X)
    missing = Y.astype(object)
    missing[2] = None
    with pytest.raises(ArgumentError, match="'y' parameter of ConvexNetworkRegressor must be finite"):
        nn.ConvexNetworkRegressor().fit(X, missing)


def test_what_cannot_be_gone_through_is_refused_before_the_work():
    many, labels = RNG.standard_normal((200, 10)), np.arange(200) % 3
    lasso = nn.CrossProductLassoRegressor(subsample=None, beta=1e-3, bias="free")
    with pytest.raises(ArgumentError, match=r"at most 1,000,000,000 col.* Got 200 rows in 10 dimensions, .*subsample"):
        lasso.fit(many, many[:, 0])
    with pytest.raises(ArgumentError, match=r"Got 2000 rows in 384 dimensions, 10\^455\.7 columns instead\."):
        lasso.fit(RNG.standard_normal((2000, 384)), np.arange(2000.0))
    with pytest.raises(ArgumentError, match=r"max_patterns"):
        nn.ConvexReLURegressor(gates="exhaustive", beta=1e-3).fit(many, many[:, 0])
    for solver in ("auto", "working_set"):
        slow = nn.CrossProductLassoClassifier(subsample=None, solver=solver, beta=1e-3, bias="free")
        with pytest.raises(ArgumentError, match=r"'max_time' .* given for 45,0.*columns on 150 rows, .* 225 s a round"):
            slow.fit(many[:150, :4], labels[:150])


@pytest.mark.parametrize("kind", [nn.GatedReLUClassifier, nn.ConvexReLUClassifier])
def test_numpy_words_and_truth_values_are_words_and_truth_values(kind):
    grid = {"loss": np.array(["squared", "logistic"]), "bias": np.array([True, False])}
    model = kind(n_gates=3, beta=1e-3, random_state=0, tol=1e-2)
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, LABELS)
    assert search.best_estimator_.certificate_.verify(X, LABELS).relative_gap <= 1.1e-2


@pytest.mark.parametrize(
    "kind", [nn.GatedReLUClassifier, nn.GatedReLURegressor, nn.ConvexNetworkClassifier, nn.ConvexNetworkRegressor]
)
def test_errors_of_length_name_both_numbers(kind):
    y = LABELS if hasattr(kind, "predict_proba") else Y
    model = (kind(n_gates=2, beta=0.1) if hasattr(kind, "n_gates") else kind(beta=0.1)).fit(X, y)
    n, proof = len(X), model.certificate_
    for call in (model.fit, model.score, proof.verify):
        for data, count, noun in (((X, y[:-1]), n - 1, "target"), ((X, y, np.ones(n - 2)), n - 2, "weight")):
            message = rf"must be one {noun} for each row. Got {count} {noun}s for {n} rows"
            with pytest.raises(ArgumentError, match=message):
                call(*data)
    with pytest.raises(ArgumentError, match=r"'y' .* must be one target for each row. Got 1 target for 2 rows instead"):
        model.fit(X[:2], y[:1])
    with pytest.raises(ArgumentError, match=r"'sample_weight' .* Got 3 weights for 1 row instead"):
        model.score(X[:1], y[:1], np.ones(3))


@pytest.mark.parametrize("kind", [nn.GatedReLUClassifier, nn.GatedReLURegressor])
def test_what_scikit_learn_refuses_is_one_sentence_without_the_data(kind):
    y = LABELS if kind is nn.GatedReLUClassifier else Y
    wrong = {"Reshape your data": X[:, 0], "0 sample": X[:0], "Complex data": X + 1j}
    wrong["must be a string or a real number"] = object()
    for words, rows in wrong.items():
        with pytest.raises(ArgumentError, match=rf"^The '[Xy]' parameter of {kind.__name__} must be .*{words}") as told:
            kind(n_gates=2, beta=0.1).fit(rows, y)
        assert len(str(told.value)) < 500
        assert isinstance(told.value, TypeError) is (words == "must be a string or a real number")
    with pytest.raises(ArgumentError, match=rf"^The 'X' parameter of {kind.__name__} must be .*expecting 2 features"):
        kind(n_gates=2, beta=0.1).fit(X, y).predict(X[:, :1])


def test_denormal_targets_have_an_offset_without_a_warning():
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(exact_offsets(np.array([[1e-320], [1.0005e-320]]))).all()


def test_betas_of_1e_minus_150_are_compared():
    kind = nn.GatedReLURegressor(n_gates=2, penalty="ridge", max_iter=50, random_state=0)
    model = nn.BetaCV(kind, betas=[1e-150, 1e-2], cv=2)
    assert np.isfinite(model.fit(X, Y).predict(X)).all()


def test_integers_of_numpy_are_counted_with_as_integers_of_python():
    assert len(GATES.take([])) == 0
    few = nn.sample_gates(X, np.uint8(200), random_state=0)  # 200 · (24 · 2 + 12) is beyond uint8
    assert np.array_equal(few.directions, nn.sample_gates(X, 200, random_state=0).directions)


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
    "model", [nn.ConvexNetworkClassifier(), nn.BetaCV(nn.GatedReLUClassifier(n_gates=2), betas=[0.1], cv=2)]
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


def test_more_subsets_than_numbers_have_digits_are_all_of_them():
    every = nn.CrossProductLassoRegressor(beta=0.1, subsample=10**6).fit(X, Y).predict(X)
    for subsample in (10**6000, np.uint64(2**64 - 1)):
        model = nn.CrossProductLassoRegressor(beta=0.1, subsample=subsample).fit(X, Y)
        np.testing.assert_allclose(model.predict(X), every, rtol=1e-12)  # in another order


@pytest.mark.parametrize("kind", [nn.GatedReLURegressor, nn.ConvexReLURegressor, nn.CrossProductLassoRegressor])
def test_targets_with_others_between_them_give_the_same_bits(kind):
    apart = np.full((12, 2), 7.0)
    apart[:, 0] = Y
    options = {"beta": 0.05, "random_state": 0}
    same = [kind(**options).fit(X, y).predict(X) for y in (Y, apart[:, 0])]
    np.testing.assert_array_equal(*same)
    with pytest.raises(ArgumentError, match=r"'y' parameter of .* must be real numbers. Got dtype"):
        kind(**options).fit(X, np.zeros(12, [("a", float), ("b", int)]))


def test_refined_gates_do_not_depend_on_the_layout():
    gates = nn.sample_gates(X, 3, random_state=0)
    options = {"beta": 0.05, "random_state": 0, "max_iter": 1}
    plain = nn.refine_gates(X, Y, gates, **options)
    for rows, targets in ((np.asfortranarray(X), Y), (X, Y[::-1].copy()[::-1])):
        found = nn.refine_gates(rows, targets, gates, **options)
        np.testing.assert_array_equal(found.gates.directions, plain.gates.directions)
        assert found.result.objective == plain.result.objective


@pytest.mark.parametrize(
    "wrong", [None, "text", 3.0, np.ma.array(Y, mask=Y > 1), [[1, 2], [3]], Y[:5], Y[None, None], np.stack([Y, Y], 1)]
)
def test_a_certificate_asks_for_the_targets_of_training(wrong):
    model = nn.CrossProductLassoRegressor(beta=0.1).fit(X, Y)
    for check in (model.certificate_.verify, model.certificate_.over_all_neurons):
        with pytest.raises(ArgumentError, match=r"'y' parameter of Certificate.verify must be"):
            check(X, wrong)


@pytest.mark.parametrize("scale", [2.0**997, 2.0**-997])
def test_a_certificate_is_no_proof_for_data_of_another_size(scale):
    certificate = nn.GatedReLURegressor(n_gates=3, beta=0.1, random_state=0).fit(X, Y).certificate_
    with np.errstate(all="raise", under="ignore"):
        for rows, targets in ((X * scale, Y), (X, Y * scale)):
            with contextlib.suppress(ArgumentError):
                assert np.isfinite(certificate.verify(rows, targets).objective)


@pytest.mark.kept("ConvexNetworkRegressor")
@pytest.mark.parametrize("kind", [nn.ConvexNetworkRegressor, nn.ConvexNetworkClassifier])
def test_columns_that_vary_by_rounding_alone_are_refused(kind):
    """Standardized they are all 0: beta was that of rounding noise, and the classifier raised a LinAlgError."""
    rng = np.random.default_rng(0)
    X = 1e12 + 1e-3 * rng.standard_normal((30, 3))
    y = rng.integers(0, 2, 30)
    with pytest.raises(ArgumentError, match="a column that varies by more than rounding"):
        kind().fit(X, y)
    kind().fit(np.column_stack([X, y]), y)  # one column is enough
