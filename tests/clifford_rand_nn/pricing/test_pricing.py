"""Pricing three ways: turning lines, cones of patterns, columns of dictionaries; and all against a direct search."""

from itertools import product
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.gates.dictionary import cross_product_dictionary
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing import cone_best, sweep
from clifford_rand_nn.pricing.base import BlockPricer
from clifford_rand_nn.pricing.cone_best import best_vertex
from clifford_rand_nn.pricing.cones import ConePricer
from clifford_rand_nn.pricing.sweep import SweepPricer, running_sum
from support.pairwise import pairwise

GRID = np.stack(np.meshgrid(np.arange(3.0), np.arange(2.0)), -1).reshape(-1, 2)
DATA = {
    "general": np.random.default_rng(0).standard_normal((6, 2)),
    "grid": GRID,
    "duplicates": np.repeat(np.random.default_rng(1).standard_normal((3, 2)), 2, axis=0),
    "collinear": np.outer(np.arange(6.0), [1.0, 2.0]) + 3,
    "line through 0": np.outer(np.random.default_rng(8).standard_normal(6), [0.3, -1.2]),  # half-turns between edges
    "vertical": np.stack([np.full(6, 3.0), 2.0 * np.arange(6) + 1], axis=1),
    "one": np.array([[1.0, -2.0]]),
    "same": np.ones((4, 2)),
    "origin": np.r_[np.zeros((2, 2)), np.random.default_rng(2).standard_normal((4, 2))],
    "line": np.random.default_rng(3).standard_normal((6, 1)),
    "integers": np.array([[0.0], [1.0], [1.0], [3.0], [0.0]]),
    "large": 1e6 * np.random.default_rng(4).standard_normal((6, 2)),
    "small": 1e-6 * np.random.default_rng(5).standard_normal((6, 2)),
    "unequal": np.random.default_rng(6).standard_normal((6, 2)) * [1.0, 1e-7],
}


def dual_point(n, C=1, bias=True, seed=0, scale=1.0):
    theta = np.random.default_rng(seed).standard_normal((n, C))
    theta = scale * (theta - theta.mean(axis=0) if bias else theta)
    return np.zeros_like(theta) if n == 1 and bias else theta


def value(X, theta, v, b):
    return np.linalg.norm(np.maximum(X @ v + b, 0).T @ theta, axis=-1)


def all_patterns(n):
    """All 2^n: on the closed cone of any pattern the network is linear, so none can exceed the supremum."""
    return np.array(list(product([False, True], repeat=n))).T


def check_atoms(priced, X, theta, p, most, rtol=1e-12):
    """The neurons attain the size, are sorted, distinct and of norm 1, and vanish on the rows that span them."""
    size, neurons = priced
    assert len(neurons) <= most
    if len(neurons) == 0:
        assert size == 0 or most == 0
        return
    values = np.linalg.norm(neurons.columns(X).T @ theta, axis=1)
    assert values[0] == pytest.approx(size, rel=rtol)
    assert (np.diff(values) <= 0).all()
    assert (values > 0).all()
    np.testing.assert_allclose(neurons.norms(p), 1, rtol=1e-12)
    plain = value(X, theta, neurons.directions, neurons.offsets)
    np.testing.assert_allclose(values, plain, rtol=1e-9, atol=1e-13 * size)
    table = np.concatenate([neurons.directions, (neurons.offsets / np.abs(X).max())[None]]).T
    same = (np.abs(table[:, None] - table) < 1e-11).all(axis=2)
    np.testing.assert_array_equal(same, np.eye(len(neurons), dtype=bool))


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("bias", [True, False])
def test_three_ways_agree_in_the_plane(name, bias):
    X = DATA[name]
    theta = dual_point(len(X), bias=bias)
    for p in (1, 2):
        turned = SweepPricer(X, p, bias).price(theta, 4)
        cone = ConePricer(X, all_patterns(len(X)), p, bias).price(theta, 4)
        check_atoms(turned, X, theta, p, 4)
        check_atoms(cone, X, theta, p, 4)
        tiny = 1e-13 * np.abs(X).max()  # of rows that are all equal nothing but rounding is left
        assert turned.size == pytest.approx(cone.size, rel=1e-12, abs=tiny)
        column = BlockPricer(X, cross_product_dictionary(X, f"l{p}", bias=bias, family="mixed")).price(theta, 4)
        check_atoms(column, X, theta, p, 4)
        if p == 1:
            assert column.size == pytest.approx(turned.size, rel=1e-12, abs=tiny)
        else:
            assert column.size <= turned.size * (1 + 1e-12) + tiny


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("n", "d"), [(7, 3), (3, 5), (5, 4)])
def test_cones_and_exact_dictionary_agree_in_space(n, d, bias):
    for X in (np.random.default_rng(d).standard_normal((n, d)), np.random.default_rng(d).integers(-1, 2, (n, d))):
        theta = dual_point(n, bias=bias)
        cone = ConePricer(X, all_patterns(n), 1, bias).price(theta, 3)
        check_atoms(cone, X, theta, 1, 3)
        column = BlockPricer(X, cross_product_dictionary(X, bias=bias)).price(theta, 3)
        assert cone.size == pytest.approx(column.size, rel=1e-12)
        euclidean = ConePricer(X, all_patterns(n), 2, bias).price(theta, 3)
        check_atoms(euclidean, X, theta, 2, 3)
        assert cone.size <= euclidean.size <= np.sqrt(d) * cone.size


@pairwise({"bias": [True, False], "p": [1, 2], "C": [1, 3], "name": ["general", "grid", "collinear", "line"]})
def test_sweep_is_the_supremum_of_a_dense_search(name, C, p, bias):
    """Planes through every row in 4000 directions: never above, and below by less than the square of the step."""
    X = DATA[name]
    theta = dual_point(len(X), C, bias, seed=1)
    angle = np.linspace(0, 2 * np.pi, 4000, endpoint=False)
    V = np.array([np.cos(angle), np.sin(angle)]) if X.shape[1] == 2 else np.array([[1.0, -1.0]])
    V /= np.linalg.norm(V, ord=p, axis=0)
    best = max(value(X, theta, V, -x @ V).max() for x in (X if bias else np.zeros((1, X.shape[1]))))
    priced = SweepPricer(X, p, bias).price(theta, 6)
    check_atoms(priced, X, theta, p, 6)
    assert best <= priced.size * (1 + 1e-12)
    assert best >= priced.size * (1 - (2e-3 if p == 1 else 1e-5))  # p = 1 has corners


@pytest.mark.parametrize("C", [1, 2])
@pytest.mark.parametrize("bias", [True, False])
def test_turning_the_data_turns_the_neurons(C, bias):
    """A grid that is turned by 0.3 has many rows in line up to rounding only."""
    X = np.stack(np.meshgrid(np.arange(-3.0, 4.0), np.arange(-2.0, 4.0)), -1).reshape(-1, 2)
    turn = np.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
    for seed in range(4):
        theta = dual_point(42, C, bias, seed=seed)
        still, turned = SweepPricer(X, 2, bias).price(theta, 3), SweepPricer(X @ turn, 2, bias).price(theta, 3)
        assert turned.size == pytest.approx(still.size, rel=1e-12)
        along = turned.neurons.directions[:, 0] @ (still.neurons.directions[:, 0] @ turn)
        assert abs(along) == pytest.approx(1, rel=1e-12)  # a neuron that is on everywhere is as good turned round


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("C", [1, 3])
def test_a_neuron_that_many_rows_make_is_named_once(C, p):
    X, theta = np.random.default_rng(8).integers(0, 3, (80, 2)) * 1.0, dual_point(80, C)
    check_atoms(SweepPricer(X, p).price(theta, 8), X, theta, p, 8)


def test_chunks_and_kept_orders_change_nothing(monkeypatch):
    X, theta = np.random.default_rng(9).standard_normal((50, 2)), dual_point(50)
    pricer = SweepPricer(X, 2)
    first = pricer.price(theta, 5)
    np.testing.assert_array_equal(pricer.price(theta, 5).neurons.directions, first.neurons.directions)
    monkeypatch.setattr(sweep, "_KEPT_BYTES", 0)
    monkeypatch.setattr(sweep, "_CHUNK_BYTES", 50_000)
    np.testing.assert_array_equal(SweepPricer(X, 2).price(theta, 5).neurons.directions, first.neurons.directions)


def test_running_sums_do_not_lose_digits():
    """A large term that comes and goes: a plain cumulative sum ends at 0 or off by the rounding of 1e16."""
    terms = np.array([1.0, 1e16, 1.0, -1e16, 1.0])[None]
    np.testing.assert_array_equal(running_sum(terms)[0], [1.0, 1e16, 1e16 + 2, 2.0, 3.0])
    assert np.cumsum(terms)[-1] != 3.0


def test_large_sweep_against_cones_near_its_best():
    """n = 600: the cone of the best neuron's own pattern has the same size, and more rows no less."""
    rng = np.random.default_rng(10)
    X, theta = rng.standard_normal((600, 2)), dual_point(600)
    for p in (1, 2):
        priced = SweepPricer(X, p).price(theta, 10)
        check_atoms(priced, X, theta, p, 10)
        cone = ConePricer(X, priced.neurons.columns(X) > 0, p).price(theta, 10)
        assert cone.size == pytest.approx(priced.size, rel=1e-12)
        column = BlockPricer(X, cross_product_dictionary(X, f"l{p}", family="mixed", subsample=500, random_state=0))
        assert column.price(theta, 1).size <= priced.size * (1 + 1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("p", [1, 2])
def test_single_cones_against_cvxpy(p, bias):
    rng = np.random.default_rng(11)
    X, theta = rng.standard_normal((25, 4)), dual_point(25, bias=bias)
    patterns = X @ rng.standard_normal((4, 4)) + bias * 0.5 * rng.standard_normal(4) > 0
    for D in patterns.T:
        best = 0.0
        for sign in (1, -1):
            u, b = cp.Variable(4), cp.Variable() if bias else cp.Constant(0.0)
            inside = cp.multiply(np.where(D, 1.0, -1.0), X @ u + b) >= 0
            goal = cp.Maximize(sign * (theta[D, 0] @ (X[D] @ u + b)))
            best = max(best, cp.Problem(goal, [inside, cp.norm(u, p) <= 1]).solve())
        priced = ConePricer(X, D[:, None], p, bias).price(theta, 2)
        assert priced.size == pytest.approx(best, rel=1e-6)
        check_atoms(priced, X, theta, p, 2)
        margin = np.where(D[:, None], 1, -1) * (X @ priced.neurons.directions + priced.neurons.offsets)
        assert margin.min() >= -1e-11


@pytest.mark.parametrize(("d", "bias"), [(1, True), (2, False), (3, True), (6, False), (12, True)])
def test_compiled_projections_agree(monkeypatch, d, bias):
    rng = np.random.default_rng(d)
    X, theta = rng.standard_normal((30, d)), dual_point(30, bias=bias)
    patterns = X @ rng.standard_normal((d, 20)) + bias * rng.standard_normal(20) > 0
    one = ConePricer(X, patterns, 2, bias).price(theta, 20)
    monkeypatch.setattr(cone_best, "_INTERPRETED_UP_TO", 0)
    other = ConePricer(X, patterns, 2, bias).price(theta, 20)
    assert one.size == pytest.approx(other.size, rel=1e-12)
    values = np.linalg.norm(one.neurons.columns(X).T @ theta, axis=1)
    np.testing.assert_allclose(np.linalg.norm(other.neurons.columns(X).T @ theta, axis=1), values, rtol=1e-9)


def test_unfinished_projections_bound_the_supremum(monkeypatch):
    rng = np.random.default_rng(12)
    X, theta = rng.standard_normal((30, 6)), dual_point(30)
    patterns = X @ rng.standard_normal((6, 20)) > 0
    size = ConePricer(X, patterns).price(theta, 1).size
    for steps in (1, 3, 6):
        monkeypatch.setattr(cone_best, "_STEPS", (steps + 0.5) / 36)
        assert ConePricer(X, patterns).price(theta, 1).size >= size * (1 - 1e-12)


def test_the_lengths_of_rows_do_not_change_linear_programs_without_offsets():
    """Beside a row of 1e6 others were below the tolerance of HiGHS, or it gave up: bounds were off by 1e-4."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, g = rng.normal(size=(12, 2)), rng.normal(size=2)
        on = X @ rng.normal(size=2) > 0
        (value, direction, _, bound), far = (
            best_vertex(lengths[:, None] * X, on, g, 0.0, False) or (0.0, np.zeros(2), [], 0.0)
            for lengths in (np.ones(12), np.where(np.arange(12) == 11, 2.0**22, 1.0))
        )
        assert far[0] == pytest.approx(value, rel=1e-12)
        assert far[3] == pytest.approx(bound, rel=1e-12)
        assert far[1] == pytest.approx(direction, abs=1e-12)


def test_where_a_linear_program_has_no_solution_the_projection_bounds(monkeypatch):
    rng = np.random.default_rng(1)
    X, theta = rng.normal(size=(9, 3)), rng.normal(size=9)
    pricer = ConePricer(X, X @ rng.normal(size=(3, 5)) > 0, p=1, bias=False)
    size = pricer.price(theta, 1).size
    monkeypatch.setattr(cone_best, "linprog", lambda *args, **options: SimpleNamespace(x=None))
    assert size * (1 - 1e-12) <= pricer.price(theta, 1).size <= 3 * size


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_sizes_scale_with_data_and_dual_point(scale):
    X, theta = DATA["general"], dual_point(6)
    for p in (1, 2):
        for make in (
            lambda X, p=p: SweepPricer(X, p),
            lambda X, p=p: ConePricer(X, all_patterns(6), p),
            lambda X, p=p: BlockPricer(X, cross_product_dictionary(X, f"l{p}")),
        ):
            size = make(X).price(theta, 1).size
            assert make(scale * X).price(theta, 1).size == pytest.approx(scale * size, rel=1e-12)
            assert make(X).price(scale * theta, 1).size == pytest.approx(scale * size, rel=1e-12)


def test_an_offset_without_balance_has_no_supremum():
    X, theta = DATA["general"], np.ones(6)
    assert SweepPricer(X, 1).price(theta, 1).size == np.inf
    assert np.isfinite(SweepPricer(X, 1, bias=False).price(theta, 1).size)
    assert ConePricer(X, all_patterns(6)).price(theta, 1).size == np.inf
    assert np.isfinite(ConePricer(X, all_patterns(6)[:, 1:-1]).price(theta, 1).size)


def test_zero_dual_point_and_no_atoms_wanted():
    X = DATA["general"]
    for pricer in (SweepPricer(X), ConePricer(X, all_patterns(6)), BlockPricer(X, cross_product_dictionary(X))):
        size, neurons = pricer.price(np.zeros(6), 3)
        assert size == 0
        assert len(neurons) == 0
        assert neurons.directions.shape == (2, 0)
        size, neurons = pricer.price(dual_point(6), 0)
        assert size > 0
        assert len(neurons) == 0
    assert ConePricer(X, np.zeros((6, 0), bool)).price(dual_point(6), 2).size == 0
    assert SweepPricer(np.random.default_rng(14).standard_normal((160, 2))).scope == "global: all 25,442 patterns"


def test_blocks_of_any_size_find_the_same(monkeypatch):
    X, theta = np.random.default_rng(13).standard_normal((20, 3)), dual_point(20, 2)
    dictionary = cross_product_dictionary(X)
    neurons = dictionary.neurons()
    values = np.linalg.norm(dictionary.matrix().T @ theta, axis=1)
    expected = np.sort(values)[::-1][:7]
    for pricer in (BlockPricer(X, dictionary), BlockPricer(X, neurons)):
        for block_bytes in (8 * 20 * 10, 2**25):
            monkeypatch.setattr("clifford_rand_nn.pricing.base._BLOCK_BYTES", block_bytes)
            found = pricer.price(theta, 7)
            np.testing.assert_allclose(np.linalg.norm(found.neurons.columns(X).T @ theta, axis=1), expected, rtol=1e-13)
            assert found.size == pytest.approx(expected[0], rel=1e-13)
    assert BlockPricer(X, neurons).scope == f"over the {len(neurons):,} given neurons"
    assert BlockPricer(X, dictionary).scope == f"over the {dictionary.n_columns:,} columns of the dictionary"


ATOM = Neurons.free(np.eye(2, 1), np.zeros(1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: SweepPricer(np.eye(3)), r"'X' parameter of SweepPricer .*\(n, 2\).* shape \(3, 3\).*ConePricer"),
        (lambda X: SweepPricer(X, 3), r"'p' parameter of SweepPricer must be one of 1, 2. Got 3"),
        (lambda X: SweepPricer(X).price(np.ones(5), 1), r"'theta' parameter of SweepPricer.price .* shape \(6,\) or"),
        (lambda X: SweepPricer(X).price(np.full(6, np.nan), 1), "'theta' parameter of SweepPricer.price .* finite"),
        (lambda X: BlockPricer(X, ATOM).price(np.ones(6), -1), "'most' parameter of BlockPricer.price .* ≥ 0. Got -1"),
        (lambda X: BlockPricer(X, X), r"'atoms' parameter of BlockPricer must be Neurons or a dictionary"),
        (lambda X: BlockPricer(X[:, :1], ATOM), r"'atoms' parameter of BlockPricer must be neurons in R\^1.* d = 2"),
        (lambda X: ConePricer(X, np.ones((6, 2))), r"'patterns' parameter of ConePricer .* \(6, P\). Got .* float64"),
        (lambda X: ConePricer(X, np.ones((2, 6), bool)), r"'patterns' parameter of ConePricer .* Got .*\(2, 6\)"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ArgumentError, match=message):
        call(DATA["general"])


@pytest.mark.parametrize(("n", "d", "seed"), [(30, 5, 0), (60, 8, 13)])
def test_a_residual_that_is_rounding_makes_no_neuron(n, d, seed):
    """Some cones hold nothing to gain: what a projection leaves there is rounding, and on the hyperplane of no row."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    theta = -np.sign(X[:, 0] + X[:, 1] * X[:, -1])
    patterns, _ = activation_patterns(X, sample_gates(X, 10, "cross", random_state=seed))
    pricer = ConePricer(X, patterns, 2, False)
    priced = pricer.price(theta, 10)
    values = np.abs(priced.neurons.training_columns(X).T @ theta)
    assert 0 < len(values) <= 10
    assert (values <= priced.size * (1 + 1e-12)).all()
    assert values.max() == pytest.approx(priced.size, rel=1e-9)


COLUMN_OF_1E8 = (
    [
        [-1.5425397059069508, 1e8, 70710678.11865476],
        [-0.8051047747877091, 1e8, 70710678.11865476],
        [0.39377704420979254, 1e8, 70710678.11865476],
    ],
    [-6.868756845782022e-08, -3.0082531038292262e-05, 3.0151218606750083e-05],
    [[0, 0, 1, 1, 1], [0, 1, 0, 1, 1], [1, 1, 0, 0, 1]],
    2,
)
_PATTERNS = ["1110", "1110", "1100", "1110", "0011", "0001", "0010", "0110", "0110", "1110"]
NEAR_COPIES = (
    [
        [-1.74453350715614, 1.7297355121963747], [-1.744532308833885, 1.729735028034232],
        [-1.2909821588777037, -0.08623007131746922], [-0.25798091331681683, 0.30504444725723345],
        [0.3178921727506963, -0.2522274183072692], [0.3178922889284392, -0.25222793686306916],
        [1.7903432166350661, 0.9745226970105255], [1.7903432305327391, 0.9745228827717186],
        [1.7903432454092096, 0.9745230564331154], [1.7903433840821972, 0.9745233107199511],
    ],
    [-33247.14, -33246.46, 147687.06, 195550.56, -14687.20, 14687.19, 344.42, 348.81, 351.72, 355.16],
    [[int(on) for on in row] for row in _PATTERNS],
    1,
)  # fmt: skip


@pytest.mark.parametrize(("rows", "theta", "patterns", "p"), [COLUMN_OF_1E8, NEAR_COPIES])
def test_neurons_vanish_on_the_rows_that_they_are_named_with(rows, theta, patterns, p):
    """A projection that is short beside its goal left them off by 1e-9 of the rows' size, and columns called that 0."""
    X = np.array(rows)
    neurons = ConePricer(X, np.array(patterns, dtype=bool), p, False).price(np.array(theta), 20)[1]
    assert len(neurons)
    reach = np.linalg.norm(X, axis=1)[:, None] * np.abs(neurons.directions).sum(axis=0)
    inside = np.abs(X @ neurons.directions)
    for j, named in enumerate(neurons.rows):
        used = named[(named >= 0) & (named < len(X))]
        assert (inside[used, j] <= 2e-14 * reach[used, j]).all()


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_neuron_whose_value_is_rounding_of_its_sums_is_bounded(p, outputs):
    """On rows of 1e8 its value was counted as 0, and a bound of the optimum came out above a network."""
    X = np.array([[1e8, -1.0], [1e8, 1.0]])
    theta = np.array([[1e-6, 2e-6], [1.0, -1.0]])[:, :outputs]
    column = np.array([[1.0], [0.0]])  # of the neuron (0, -1), which is in the cone of the only pattern
    size = ConePricer(X, np.array([[True], [False]]), p, False).price(theta, 1).size
    assert np.linalg.norm(column.T @ theta) <= size <= 1e-13 * 2e8 * np.abs(theta).sum()


@pytest.mark.parametrize("p", [1, 2])
def test_outputs_that_are_small_only_on_rows_of_zeros_count(p):
    """The dual point of rows of zeros says nothing, however large; that of the others has three independent outputs."""
    rng = np.random.default_rng(2)
    X = np.concatenate([np.zeros((4, 2)), rng.normal(size=(6, 2))])
    theta = np.concatenate([1e14 * rng.normal(size=(4, 2)) @ rng.normal(size=(2, 3)), rng.normal(size=(6, 3))])
    patterns = activation_patterns(X, sample_gates(X, 6, bias=False, random_state=0)).patterns
    size = ConePricer(X, patterns, p=p, bias=False).price(theta, 1).size
    assert size == pytest.approx(ConePricer(X[4:], patterns[4:], p=p, bias=False).price(theta[4:], 1).size, rel=1e-8)
