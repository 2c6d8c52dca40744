"""Every activation pattern: counts against exact arithmetic, gates that hold, and what must not matter."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clifford_rand import ArgumentError, count_chambers
from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.gates import arrangement
from clifford_rand_nn.gates.arrangement import half_of_the_chambers
from clifford_rand_nn.gates.enumeration import (
    chosen_patterns,
    count_patterns,
    enumerate_gates,
    enumerate_patterns,
)


def rank(rows):
    """Return the rank of rows of integers or fractions, by elimination without rounding."""
    left, r = [[Fraction(x) for x in row] for row in rows], 0
    for column in range(len(left[0]) if left else 0):
        pivot = next((i for i in range(r, len(left)) if left[i][column]), None)
        if pivot is None:
            continue
        left[r], left[pivot] = left[pivot], left[r]
        for i in range(r + 1, len(left)):
            factor = left[i][column] / left[r][column]
            left[i] = [a - factor * b for a, b in zip(left[i], left[r], strict=True)]
        r += 1
    return r


def lifted(X, bias):
    return [[*map(Fraction, row), *([1] if bias else [])] for row in X.tolist()]


def exact_count(X, bias):
    """Return the chambers by Whitney's theorem: (-1)^(|B| + rank B), summed over the sets B of rows but 0."""
    rows = [row for row in lifted(X, bias) if any(row)]
    subsets = itertools.chain.from_iterable(itertools.combinations(rows, k) for k in range(len(rows) + 1))
    return sum((-1) ** (len(B) + rank(B)) for B in subsets)


def columns(patterns):
    return set(map(tuple, patterns.T.tolist()))


def assert_sound(X, bias, patterns, gates):
    """Assert that the patterns are distinct and sorted, have their complements, and are those of the gates, exactly."""
    assert patterns.dtype == bool
    assert len(gates) == patterns.shape[1]
    assert gates.method == "exhaustive"
    assert np.array_equal(gates.activations(X), patterns)
    listed = list(map(tuple, patterns.T.tolist()))
    assert listed == sorted(set(listed))
    zero = np.zeros(len(X), dtype=bool) if bias else ~X.any(axis=1)
    assert patterns[zero].all()
    assert columns(~patterns[~zero]) == columns(patterns[~zero])
    if not bias:
        assert not gates.offsets.any()
    margin = np.abs(X @ gates.directions + gates.offsets)
    noise = np.abs(X) @ np.abs(gates.directions) + np.abs(gates.offsets)
    assert (margin > 32 * np.finfo(float).eps * noise)[~zero].all()


def assert_exact(X, bias):
    """Assert that the patterns are all there are: sound in exact arithmetic, and as many as Whitney's theorem has."""
    patterns, gates = enumerate_gates(X, bias)
    assert_sound(X, bias, patterns, gates)
    rows = [list(map(Fraction, row)) for row in X.tolist()]
    for j in range(len(gates)):
        h, c = [Fraction(x) for x in gates.directions[:, j].tolist()], Fraction(gates.offsets[j])
        values = [sum(a * b for a, b in zip(row, h, strict=True)) + c for row in rows]
        assert [v >= 0 for v in values] == patterns[:, j].tolist()
        assert all(v != 0 or (not bias and not any(row)) for v, row in zip(values, rows, strict=True))
    assert patterns.shape[1] == exact_count(X, bias)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("r", range(1, 6))
def test_general_position_has_the_count_of_the_formula(r, bias):
    for n in (1, 2, r, r + 1, 8):
        rng = np.random.default_rng(n + 10 * r)
        X = rng.standard_normal((n, r))
        for data in (X, X @ rng.standard_normal((r, r + 3))):  # of full rank, and in a larger space
            patterns, gates = enumerate_gates(data, bias)
            assert_sound(data, bias, patterns, gates)
            assert patterns.shape[1] == count_patterns(n, r, bias) == count_patterns(n, r + 3, bias, min(n - bias, r))
            sampled = sample_gates(data, 50, bias=bias, random_state=0)
            assert columns(activation_patterns(data, sampled).patterns) <= columns(patterns)


@st.composite
def integers(draw):
    n, d, size = draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 3, 1000]))
    entries = draw(st.lists(st.integers(-size, size), min_size=n * d, max_size=n * d))
    return np.array(entries).reshape(n, d)


@settings(max_examples=60, deadline=None)
@given(integers(), st.booleans())
def test_small_integers_are_exact(X, bias):
    assert_exact(X, bias)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(-1, 1), min_size=28, max_size=28), st.booleans())
def test_integers_of_four_features_are_exact(entries, bias):
    assert_exact(np.array(entries).reshape(7, 4), bias)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(-1, 1), min_size=48, max_size=48), st.sampled_from([2, 3, 4]), st.booleans())
def test_degenerate_rows_have_the_count_of_the_characteristic_polynomial(entries, d, bias):
    X = np.array(entries).reshape(-1, d)
    normals = np.column_stack([X, np.ones(len(X), dtype=int)]) if bias else X
    assert enumerate_patterns(X, bias).shape[1] == count_chambers(normals)
    noisy = X / 10 + np.array([0.3, 0.7, 0.1, 0.9])[:d] if bias else X / 10  # degenerate to rounding only
    assert enumerate_patterns(noisy, bias).shape[1] == count_chambers(normals)


GRID = np.array(list(itertools.product(range(3), range(3))))
SIMPLE = {
    "cube": np.array(list(itertools.product([0, 1], repeat=3))),
    "grid": GRID,
    "line": np.column_stack([np.arange(6), 2 * np.arange(6) + 1]),
    "line through 0": np.outer(np.arange(-3, 4), [1, 2, 3]),
    "duplicates": GRID[[0, 1, 4, 4, 1, 0, 8, 8]],
    "parallel": np.array([[1, 2], [2, 4], [-3, -6], [0, 0], [1, 0], [0, 0], [-2, 0]]),
    "one point": np.ones((4, 2)),
    "zeros": np.zeros((3, 2)),
    "one row": np.array([[3, 0, 1]]),
    "one number": np.array([[5]]),
    "roots of A3": np.array([np.eye(4)[i] - np.eye(4)[j] for i, j in itertools.combinations(range(4), 2)]),
    "more features": np.array([[1, 2, 3, 4, 5], [2, 4, 6, 8, 10], [0, 0, 1, 0, 0], [1, 2, 4, 4, 5]]),
    "coplanar": np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, -1, 0], [0, 0, 1], [2, 1, 0], [1, 1, 1]]),
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", SIMPLE)
def test_simple_degenerate_data_are_exact(name, bias):
    assert_exact(SIMPLE[name], bias)


def test_known_arrangements():
    for m in (3, 4, 5):  # reflections of S_m: a chamber for every permutation
        roots = np.array([np.eye(m)[i] - np.eye(m)[j] for i, j in itertools.combinations(range(m), 2)])
        assert enumerate_patterns(roots, bias=False).shape[1] == math.factorial(m)
    for m in (2, 3, 4):  # of B_m: of every signed permutation
        roots = [np.eye(m)[i] + s * np.eye(m)[j] for i, j in itertools.combinations(range(m), 2) for s in (1, -1)]
        roots = np.array([*roots, *np.eye(m)])
        assert enumerate_patterns(roots, bias=False).shape[1] == math.factorial(m) * 2**m
    for m, count in ((1, 4), (2, 14), (3, 104), (4, 1882)):  # threshold functions of m inputs
        cube = np.array(list(itertools.product([0, 1], repeat=m)))
        assert enumerate_patterns(cube).shape[1] == count


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("X", [SIMPLE["grid"], SIMPLE["cube"], np.random.default_rng(1).standard_normal((9, 3))])
def test_scale_position_and_basis_do_not_matter(X, bias):
    rng = np.random.default_rng(2)
    expected = enumerate_patterns(X, bias)
    for scale in (1e8, 1e-8, 0.1, 1 / 3, 1e150, 1e-150, 1e300, 1e-290):
        patterns, gates = enumerate_gates(X * scale, bias)
        assert np.array_equal(patterns, expected)
        assert_sound(X * scale, bias, patterns, gates)
    d = X.shape[1]
    others = [X @ np.linalg.qr(rng.standard_normal((d, d)))[0], X * np.logspace(-8, 8, d), X / 7]
    if bias:
        others += [X / 10 + 123.456, X / 10 - 1e6]
    else:
        rows = np.logspace(-4, 4, len(X))[:, None]
        others += [X * rows, X * rows[::-1] * np.logspace(-100, 100, d)]
    for other in others:
        assert np.array_equal(enumerate_patterns(other, bias), expected)
    order = rng.permutation(len(X))
    assert columns(enumerate_patterns(X[order], bias)) == columns(expected[order])


def test_a_feature_that_is_constant_but_for_rounding_is_constant():
    X = np.random.default_rng(3).standard_normal((8, 3))
    X[:, 2] = 0.1 + 0.2
    X[::2, 2] = 0.3
    assert np.array_equal(enumerate_patterns(X), enumerate_patterns(X[:, :2]))


def test_close_rows_are_told_apart_above_rounding():
    X = np.array([[0.0], [1e-10], [1.0]])
    assert_exact(X, True)
    assert enumerate_patterns(X).shape[1] == 6
    assert enumerate_patterns(np.array([[0.1 + 0.2], [0.3], [1.0]])).shape[1] == 4
    # three points within 1e-10 of a line
    assert enumerate_patterns(np.array([[0.0, 0.0], [1.0, 1e-10], [2.0, 0.0]])).shape[1] == 8
    assert enumerate_patterns(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])).shape[1] == 6


def test_points_of_the_chambers_keep_their_distance():
    """The points of one half, against the chambers of 2^16 random directions and the widest distance in each."""
    Z = np.random.default_rng(4).standard_normal((8, 4))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    W = half_of_the_chambers(Z, np.full(8, 1e-14))
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1)
    assert (Z[0] @ W > 0).all()
    draws = np.random.default_rng(5).standard_normal((4, 2**16))
    draws *= np.sign(Z[0] @ draws) / np.linalg.norm(draws, axis=0)
    widest = {}
    for key, reach in zip((2 ** np.arange(8) @ (Z @ draws > 0)).tolist(), np.abs(Z @ draws).min(axis=0), strict=True):
        widest[key] = max(widest.get(key, 0), reach)
    ours = dict(zip((2 ** np.arange(8) @ (Z @ W > 0)).tolist(), np.abs(Z @ W).min(axis=0), strict=True))
    assert len(ours) == W.shape[1]
    assert set(widest) <= set(ours)
    for key, reach in widest.items():
        assert ours[key] > reach / 20


def test_chambers_thinner_than_rounding_are_left_out():
    """Far from the origin rounding eats the thin chambers: what is left is sound, and nearly everything."""
    X = np.random.default_rng(0).standard_normal((60, 2)) + 1e8
    patterns, gates = enumerate_gates(X)
    assert_sound(X, True, patterns, gates)
    assert 0.99 * count_patterns(60, 2) < patterns.shape[1] <= count_patterns(60, 2)


def test_larger_planes_and_spaces():
    rng = np.random.default_rng(6)
    for n, d in ((80, 2), (11, 5), (13, 12), (200, 1)):
        X = rng.standard_normal((n, d))
        patterns, gates = enumerate_gates(X)
        assert patterns.shape[1] == count_patterns(n, d)
        assert np.array_equal(gates.activations(X), patterns)
    # of a grid of 5 x 5 each separable cut once: against the gates of a fine net of angles, with all their offsets
    X = np.array(list(itertools.product(range(5), range(5))))
    angle = 2 * np.pi * (np.arange(1000) + 0.5) / 1000
    H = np.stack([np.cos(angle), np.sin(angle)])
    values = np.sort(X @ H, axis=0)
    seen = {(True,) * 25, (False,) * 25}.union(*(columns(X @ H - c >= 0) for c in (values[1:] + values[:-1]) / 2))
    assert columns(enumerate_patterns(X)) == seen


def test_formula():
    assert [count_patterns(n, 2) for n in range(1, 6)] == [2, 4, 8, 14, 22]
    assert count_patterns(7, 3, bias=False, rank=0) == 1
    assert count_patterns(7, 3, rank=0) == 2
    n, d = 3000, 50
    assert count_patterns(n, d) == 2 * sum(math.comb(n - 1, k) for k in range(d + 1))
    assert count_patterns(n, d, bias=False) == 2 * sum(math.comb(n - 1, k) for k in range(d))


_LINE = np.arange(1e5)[:, None]


def _normal(n, d):
    return np.random.default_rng(7).standard_normal((n, d))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: enumerate_patterns(_normal(160, 2), max_patterns=25441),
            "'max_patterns' parameter of enumerate_patterns must be at least 25442, what 160 rows of rank 2 may have",
        ),
        (lambda: enumerate_gates(_normal(5000, 20)), r"at least about 10\^\d\d, what 5000 rows of rank 20 may have"),
        (lambda: enumerate_gates(_LINE, max_patterns=1000), "at least 200000, what 100000 rows of rank 1 may have"),
        (lambda: enumerate_gates(_LINE), r"small enough .* Got shape \(100000, 1\), up to 200000 pat.*, 18\.6 GiB"),
        (lambda: enumerate_gates(_normal(16, 10_000)), r"small enough .* Got shape \(16, 10000\)"),
        (lambda: enumerate_gates(_normal(200_000, 2)), "what 200000 rows of rank 2 may have"),
        (lambda: enumerate_gates(np.zeros((0, 3))), r"'X' parameter of enumerate_gates must be an \(n, d\) array"),
        (lambda: enumerate_patterns(np.array([[np.nan]])), "'X' parameter of enumerate_patterns must be finite"),
        (lambda: enumerate_gates(GRID, bias="yes"), "'bias' parameter of enumerate_gates must be one of True, False"),
        (lambda: enumerate_gates(GRID, max_patterns=0), "'max_patterns' parameter of enumerate_gates .* an integer"),
        (lambda: count_patterns(3, 5, rank=3), "'rank' parameter of count_patterns must be an integer from 0 to 2"),
        (lambda: count_patterns(0, 5), "'n' parameter of count_patterns must be an integer ≥ 1"),
    ],
)
def test_too_many_are_refused_before_the_work(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_duplicates_do_not_count():
    many = enumerate_patterns(np.repeat(GRID, 3000, axis=0), max_patterns=74)  # 9 rows have at most 74
    assert np.array_equal(many[::3000], enumerate_patterns(GRID))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("d", [2, 3, 4])
def test_an_enumeration_that_is_cut_gives_some_of_all_patterns(d, bias, monkeypatch):
    monkeypatch.setattr(arrangement, "_BLOCK", 200)
    X, asked = np.random.default_rng(d).standard_normal((14, d)), []
    whole = {column.tobytes() for column in enumerate_gates(X, bias).patterns.T if column.any()}
    sizes = []
    for calls in (0, 3, 10**9):
        asked.clear()
        late = lambda n=calls: asked.append(0) is None and len(asked) > n  # noqa: E731
        with warnings.catch_warnings(record=True) as words:
            warnings.simplefilter("always")
            some = chosen_patterns(X, "exhaustive", bias, "here", late=late)
        assert [str(word.message).startswith("here: max_time ended at") for word in words] == [True] * len(
            some.gates.notes
        )
        columns = {column.tobytes() for column in some.patterns.T}
        assert columns <= whole
        assert len(columns) == some.patterns.shape[1]
        assert {column.tobytes() for column in ~some.patterns.T if column.any()} <= columns
        np.testing.assert_array_equal(some.gates.activations(X), some.patterns)
        assert (some.gates.method == "exhaustive") == (not some.gates.notes) == (columns == whole)
        sizes.append(len(columns))
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(whole)
    assert sizes[0] > 0
    if d + bias > 2:  # in the plane a sort has all
        assert sizes[0] < len(whole)
