"""Gates: they pass through their rows, their sides are as drawn, and training patterns are reproduced bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn import (
    ConvexReLURegressor,
    GatedReLURegressor,
    Gates,
    activation_patterns,
    bracket_factor,
    gated_path,
    refine_gates,
    relu_path,
    sample_gates,
)
from clifford_rand_nn.gates.enumeration import count_patterns
from clifford_rand_nn.gates.hyperplanes import distinct_columns
from clifford_rand_nn.gates.sampling import METHODS, auto_sketch_dim


@pytest.mark.parametrize("side", ["on", "off", "random", "all"])
def test_sides(side):
    X = np.random.default_rng(0).standard_normal((20, 3))
    gates = sample_gates(X, 6, side=side, random_state=1)
    np.testing.assert_array_equal(np.take_along_axis(gates.activations(X), gates.incident.T, axis=0).T, gates.sides)
    if side == "all":
        assert len(gates) == 6 * 2**3
        assert len({tuple(s) for s in gates.sides[:8]}) == 8
    elif side != "random":
        assert (gates.sides == (side == "on")).all()
    else:
        assert 0 < gates.sides.mean() < 1


@pytest.mark.parametrize("bias", [True, False])
def test_all_sides_reach_every_pattern_of_general_position(bias):
    """One of the C(7, 1 + bias) planes is missed by 250 draws with probability below 2e-4."""
    X = np.random.default_rng(1).standard_normal((7, 2))
    gates = sample_gates(X, 250, bias=bias, side="all", random_state=0)
    assert np.unique(np.hstack([gates.activations(X), ~gates.activations(X)]), axis=1).shape[1] == count_patterns(
        7, 2, bias
    )


def test_fall_backs_are_said():
    X = np.random.default_rng(0).standard_normal((6, 20))
    assert "6 rows are too few for an exact cross product in R^20" in sample_gates(X, 3, random_state=0).notes[0]
    low = np.random.default_rng(0).standard_normal((80, 3)) @ np.random.default_rng(1).standard_normal((3, 10))
    gates = sample_gates(low, 3, random_state=0)
    assert "degenerate: sketched to r = 3" in gates.notes[0]
    assert gates.sketch_dim == 3
    points = np.random.default_rng(2).standard_normal((10, 3))
    points[:6] = np.outer(np.arange(6.0), points[0])  # on one line: three of them span no plane
    assert any("drawn again" in note for note in sample_gates(points, 30, random_state=0).notes)


def test_sketched_offset_uses_the_embedded_direction():
    """With bias the plane passes through the sampled rows themselves, but for its move into a chamber next to them.

    It goes as far as half the way to where another row changes sides: of 3,000 planes by 0.041 of the spread at most.
    """
    X = np.random.default_rng(4).standard_normal((300, 50)) + 10
    gates = sample_gates(X, 20, sketch_dim=9, random_state=2)
    margins = X @ gates.directions + gates.offsets
    spread = margins.std(axis=0)
    for i in range(20):
        assert np.abs(margins[gates.incident[i], i]).max() < 0.1 * spread[i]


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1e6), (1000.0, 1e-6)])
def test_gaussian_gates_are_centered(shift, scale):
    """At every scale and position of the data the mean share of rows on is one half, and gates are not constant.

    Over 2500 gates the mean of shares in [0, 1] is off by more than 0.04 with probability below 1e-3 (Hoeffding).
    """
    X = scale * (np.random.default_rng(0).standard_normal((200, 5)) + shift)
    share = sample_gates(X, 2500, "gaussian", random_state=1).activations(X).mean(axis=0)
    assert abs(share.mean() - 0.5) < 0.04
    assert np.mean((share > 0.05) & (share < 0.95)) > 0.8


def test_seed_decides():
    X = np.random.default_rng(0).standard_normal((50, 6))
    for method in ("cross", "gaussian"):
        a, b, c = (sample_gates(X, 5, method, random_state=rng) for rng in (7, np.random.default_rng(7), 8))
        for mine, again in zip(a, b, strict=True):  # directions and offsets
            np.testing.assert_array_equal(mine, again)
        assert not np.array_equal(a.directions, c.directions)


def test_auto_sketch_dim():
    assert auto_sketch_dim(400, 100) is None
    assert auto_sketch_dim(399, 100) == 99
    assert auto_sketch_dim(2000, 1536) == 100
    assert auto_sketch_dim(3, 5) == 1


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"X": np.zeros((0, 3))}, "The 'X' parameter of sample_gates must be an \\(n, d\\) array"),
        ({"X": [[np.nan]]}, "must be finite. Got 1 NaN"),
        ({"n_gates": 0}, "'n_gates' parameter of sample_gates must be an integer ≥ 1. Got 0"),
        ({"method": "hash"}, "must be one of 'cross', 'gaussian', .*'opposite'.* Got 'hash'"),
        ({"sketch_dim": 4}, "'sketch_dim' parameter of sample_gates must be an integer from 1 to 3. Got 4"),
        ({"sketch_dim": "big"}, "an integer, 'auto' or None. Got 'big'"),
        ({"side": "left"}, "must be one of 'random', 'on', 'off', 'all'"),
        ({"X": np.eye(40), "side": "all"}, "at most 65536 gates"),
        ({"random_state": -1}, "'random_state' parameter"),
    ],
)
def test_errors(kwargs, message):
    arguments = {"X": np.eye(3), "n_gates": 2} | kwargs
    with pytest.raises(ArgumentError, match=message):
        sample_gates(**arguments)


def test_activation_patterns_are_distinct_and_each_has_its_gate():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 2))
    gates = sample_gates(X, 200, "gaussian", random_state=1)
    gates = Gates.from_arrays(
        np.hstack([gates.directions, np.zeros((2, 1))]), np.append(gates.offsets, -1.0)
    )  # all off
    patterns, kept = activation_patterns(X, gates)
    assert patterns.dtype == bool
    assert patterns.any(axis=0).all()
    assert np.unique(patterns, axis=1).shape == patterns.shape
    np.testing.assert_array_equal(kept.activations(X), patterns)
    reference = {tuple(column) for column in gates.activations(X).T if column.any()}
    assert {tuple(column) for column in patterns.T} == reference
    assert patterns.shape[1] < 200


@pytest.mark.parametrize("n", [0, 1, 8, 9, 30])
def test_columns_that_differ(n, monkeypatch):
    """As NumPy finds them, but without its records: in their comparisons Ctrl-C is an error of types."""
    on = np.random.default_rng(n).standard_normal((n, 3)) @ np.random.default_rng(1).standard_normal((3, 40)) > 0
    on = on[:, np.arange(80) % 40]
    expected = np.unique(on, axis=1, return_index=True, return_inverse=True) if n else (None, [0], np.zeros(80))

    def promoted(*types):
        raise AssertionError("records are compared")

    monkeypatch.setattr("numpy._core._internal._promote_fields", promoted)
    first, which = distinct_columns(on)
    np.testing.assert_array_equal(first, expected[1])
    np.testing.assert_array_equal(which, np.ravel(expected[2]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("d", [3, 120])  # exact, and sketched
def test_order_and_copies_of_rows_change_no_gate(method, d):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, d)), rng.standard_normal(60)
    rows = rng.permutation(np.concatenate([np.arange(60), rng.integers(60, size=40)]))
    one = sample_gates(X, 7, method, sketch_dim="auto", random_state=5, y=y)
    other = sample_gates(X[rows], 7, method, sketch_dim="auto", random_state=5, y=y[rows])
    np.testing.assert_array_equal(one.directions, other.directions)
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_array_equal(X[one.incident], X[rows][other.incident])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"directions": None}, "'directions' parameter of Gates must be an array of float64 with 2 axes. Got NoneType"),
        ({"directions": np.zeros((2, 3), dtype=int)}, "an array of float64"),
        ({"offsets": np.zeros(4)}, r"'offsets' parameter of Gates must be of shape \(3,\)"),
        ({"incident": np.zeros((2, 1), dtype=np.intp)}, "'incident'"),
        ({"sides": np.zeros((3, 2), dtype=bool)}, "'sides'"),
        ({"method": None}, "'method' parameter of Gates must be a word"),
    ],
)
def test_gates_check_what_they_are_made_of(change, message):
    with pytest.raises(ArgumentError, match=message):
        replace(Gates.from_arrays(np.ones((2, 3))), **change)
    with pytest.raises(ArgumentError, match=r"of shape \(3,\), one per direction"):
        Gates.from_arrays(np.eye(3), np.zeros(2))
    with pytest.raises(ArgumentError, match=r"in dimension 2, that of X\. Got 3 dimensions"):
        activation_patterns(np.eye(2), (np.eye(3), np.zeros(3)))
    with pytest.raises(ArgumentError, match=r"'X' parameter of Gates\.activations must be of shape \(n, 3\)"):
        Gates.from_arrays(np.eye(3)).activations(np.eye(2))


GIVEN = {
    "activation_patterns": lambda X, y, gates: activation_patterns(X, gates),
    "gated_path": lambda X, y, gates: gated_path(X, y, gates, n_betas=2),
    "relu_path": lambda X, y, gates: relu_path(X, y, gates, n_betas=2),
    "refine_gates": lambda X, y, gates: refine_gates(X, y, gates, beta=0.1, max_iter=0),
    "GatedReLURegressor": lambda X, y, gates: GatedReLURegressor(gates=gates, beta=1e-3, bias=True).fit(X, y),
    "ConvexReLURegressor": lambda X, y, gates: ConvexReLURegressor(gates=gates, beta=1e-3, bias=True).fit(X, y),
}


@pytest.mark.parametrize("entry", GIVEN)
@pytest.mark.parametrize("gates", ["foo", 3, {"a": 1, "b": 2}, (np.eye(2),), np.eye(2), Gates.from_arrays(np.eye(3))])
def test_every_entry_point_refuses_what_are_no_gates(entry, gates):
    with pytest.raises(ArgumentError, match=f"'gates' parameter of {entry} must be (Gates|in dimension 2)"):
        GIVEN[entry](np.eye(2), np.ones(2), gates)


@pytest.mark.slow
def test_a_pair_is_as_good_as_gates():
    """`relu_path` once ignored a pair, priced every neuron and said "global"."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 2)), rng.standard_normal(8)
    pair = rng.standard_normal((2, 3)), rng.standard_normal(3)
    for path in (relu_path, gated_path):
        one, other = path(X, y, pair, n_betas=3), path(X, y, Gates.from_arrays(*pair), n_betas=3)
        assert "global" not in one.scope
        np.testing.assert_array_equal(one.objectives, other.objectives)
    every = relu_path(X, y, "exhaustive", n_betas=3)
    assert "global" in every.scope
    assert every.objectives[-1] < relu_path(X, y, pair, n_betas=3).lower_bounds[-1]


def test_no_more_gates_are_drawn_than_there_can_be_patterns():
    X = np.linspace(-1, 1, 9)[:, None]
    model = GatedReLURegressor(n_gates=10**9, beta=1e-2, random_state=0, bias=True).fit(X, np.abs(X[:, 0]))
    assert len(model.gates_) == 17  # of 2 (1 + 8) patterns all but the one that is off everywhere


@pytest.mark.parametrize("scale", [2.0**997, 5e-324])
def test_rows_whose_squares_are_no_numbers_are_refused(scale):
    X = np.random.default_rng(0).standard_normal((6, 2))
    for use in (lambda X: sample_gates(X, 2, random_state=0), bracket_factor):
        with pytest.raises(
            ArgumentError, match=r"'X' parameter of .* must be of a size whose squares float64 can hold"
        ):
            use(np.sign(X) * scale)
