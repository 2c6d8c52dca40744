"""Dictionaries of cross products: which hyperplanes, how many, and that none is forgotten."""

import functools
import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand import ArgumentError
from clifford_rand_nn.gates.dictionary import cross_product_dictionary
from clifford_rand_nn.gates.subsets import distinct, random_subsets
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from support.pairwise import pairwise

KINDS = [("l1", "mixed"), ("l1", "rows"), ("l2", "mixed"), ("l2", "rows")]


def whole(dictionary, size=10**6):
    return Neurons.joined(list(dictionary.blocks(size)))


def one_by_one(X, penalty, bias, family):
    """The definition, in the coordinates of R^d: cross products of the rows of [X; I], differences with bias."""
    n, d = X.shape
    rows = np.concatenate([X, np.eye(d)]) if family == "mixed" else X
    found = []
    for subset in combinations(range(len(rows)), d - 1 + bias):
        data = [i for i in subset if i < n]
        if bias and not data:
            continue
        pivot = X[data[-1]] if bias else np.zeros(d)
        vectors = [rows[i] - pivot if i < n else rows[i] for i in subset if not (bias and i == data[-1])]
        v = cr.cross(np.array(vectors).reshape(d - 1, d))
        norm = np.linalg.norm(v, ord=int(penalty[1]))
        if norm > 1e-12:
            for s in (1, -1):
                found.append(np.r_[s * v / norm, -s * v @ pivot / norm])
    return np.array(found)


def as_set(neurons):
    table = np.concatenate([neurons.directions, neurons.offsets[None]]).T
    return table[np.lexsort(np.round(table, 9).T)]


@pytest.mark.parametrize(("penalty", "family"), KINDS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("n", "d"), [(6, 1), (6, 2), (5, 3), (5, 4), (4, 4)])
def test_definition_counts_and_order(n, d, bias, penalty, family):
    X = np.random.default_rng(d).standard_normal((n, d)) + 2
    dictionary = cross_product_dictionary(X, penalty, bias=bias, family=family)
    neurons = whole(dictionary)
    if bias and n <= d and family == "rows":  # no subset spans more than the rows: in coordinates of their differences
        Q = np.linalg.svd(X - X[0], full_matrices=False)[2][: n - 1].T
        expected = one_by_one(X @ Q, penalty, bias, family) @ np.pad(Q.T, (0, 1), constant_values=0)
        expected[:, -1] = one_by_one(X @ Q, penalty, bias, family)[:, -1]
        expected /= np.linalg.norm(expected[:, :-1], ord=int(penalty[1]), axis=1)[:, None]
    else:
        expected = one_by_one(X, penalty, bias, family)
    assert len(neurons) == dictionary.n_columns == len(expected)
    np.testing.assert_allclose(as_set(neurons), expected[np.lexsort(np.round(expected, 9).T)], atol=1e-12)
    np.testing.assert_allclose(neurons.norms(dictionary.p), 1, rtol=1e-14)
    np.testing.assert_array_equal(neurons.directions[:, ::2], -neurons.directions[:, 1::2])
    np.testing.assert_array_equal(neurons.offsets[::2], -neurons.offsets[1::2])
    for size in (2, 7):
        parts = list(dictionary.blocks(size))
        assert max(map(len, parts)) <= size
        again = Neurons.joined(parts)
        np.testing.assert_array_equal(again.directions, neurons.directions)
        np.testing.assert_array_equal(again.rows, neurons.rows)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_planes_hold_their_rows_and_basis_vectors_exactly(bias, scale):
    X = scale * np.random.default_rng(0).standard_normal((7, 4))
    neurons = whole(cross_product_dictionary(X, bias=bias))
    A = X @ neurons.directions + neurons.offsets
    for j, rows in enumerate(neurons.rows):
        assert np.abs(A[rows[rows < 7], j]).max(initial=0.0) <= 1e-13 * scale
        assert not neurons.directions[rows[rows >= 7] - 7, j].any()
        assert not neurons.training_columns(X)[rows[rows < 7], j].any()
    unit = whole(cross_product_dictionary(X / scale, bias=bias))
    np.testing.assert_allclose(neurons.directions, unit.directions, atol=1e-13)
    np.testing.assert_allclose(neurons.offsets, scale * unit.offsets, atol=1e-13 * scale)


def test_counts_of_the_formula():
    spiral = np.random.default_rng(0).standard_normal((160, 2))
    assert cross_product_dictionary(spiral, "l2").n_columns == 2 * math.comb(160, 2)
    assert cross_product_dictionary(spiral).n_columns == 2 * (math.comb(162, 2) - 1)
    wide = np.random.default_rng(0).standard_normal((1000, 50))
    assert cross_product_dictionary(wide).n_columns == 2 * (math.comb(1050, 50) - 1)


def test_integer_grid_against_exact_arithmetic():
    """Repeated lines are dropped, and those with no row inside; lines are told apart by exact fractions."""
    X = np.stack(np.meshgrid(np.arange(4), np.arange(3)), -1).reshape(-1, 2)
    points = [tuple(map(Fraction, row.tolist())) for row in X]
    lines = []
    for i, j in combinations(range(len(points) + 2), 2):
        if i >= len(points):
            continue
        p = points[i]
        a, b = (points[j][k] - p[k] for k in (0, 1)) if j < len(points) else (Fraction(j == 12), Fraction(j == 13))
        size = abs(a) + abs(b)
        lines += [(s * b / size, -s * a / size, -s * (b * p[0] - a * p[1]) / size) for s in (1, -1)]
    inside = [line for line in lines if any(line[0] * x + line[1] * y + line[2] > 0 for x, y in points)]
    dictionary = cross_product_dictionary(X)
    assert dictionary.n_columns == len(lines)
    assert len(dictionary.neurons()) == len(set(inside))
    assert dictionary.n_zero == len(lines) - len(inside)
    assert dictionary.n_duplicates == len(inside) - len(set(inside))
    K = dictionary.matrix()
    assert K.shape == (12, len(set(inside)))
    assert (K.max(axis=0) > 0).all()
    assert dictionary.rows.shape == (K.shape[1], 2)


def test_degenerate_rows_are_skipped():
    rng = np.random.default_rng(1)
    repeated = np.repeat(rng.standard_normal((4, 3)), 2, axis=0)
    once = cross_product_dictionary(repeated[::2])
    twice = cross_product_dictionary(repeated)
    assert len(twice.neurons()) == len(once.neurons())
    assert (twice.n_columns, twice.n_duplicates) == (once.n_columns, once.n_duplicates)
    assert np.array_equal(twice.rows, np.where(once.rows < 4, 2 * once.rows, 4 + once.rows))
    line = np.outer(np.arange(5.0), [1.0, 2.0, 3.0])
    assert len(cross_product_dictionary(line, "l2").neurons()) == 8  # across each point; at the ends one side is empty
    assert 0 < len(whole(cross_product_dictionary(line))) < cross_product_dictionary(line).n_columns
    same = cross_product_dictionary(np.ones((3, 2)))
    assert same.neurons().directions.shape == (2, 0)
    assert same.matrix().shape == (3, 0)
    far = cross_product_dictionary(np.ones((3, 2)), bias=False)
    assert len(far.neurons()) == 2  # ± e_1 and ± e_2 where they are on, (1, -1) nowhere


def test_more_features_than_rows():
    X = np.random.default_rng(2).standard_normal((3, 5))
    dictionary = cross_product_dictionary(X)
    assert dictionary.n_columns == 2 * (math.comb(8, 5) - 1)
    assert len(whole(dictionary)) == dictionary.n_columns
    assert cross_product_dictionary(X, "l2").n_columns == 6  # the lines through two of three points in their plane


def test_subsample_is_part_of_the_whole_and_distinct():
    X = np.random.default_rng(3).standard_normal((12, 3))
    for penalty, family in KINDS:
        everything = cross_product_dictionary(X, penalty, family=family)
        pairs = zip(whole(everything).rows, whole(everything).directions.T, strict=True)
        every = {tuple(sorted(r)): v for r, v in pairs}
        some = cross_product_dictionary(X, penalty, family=family, subsample=40, random_state=0)
        neurons = whole(some, 14)
        assert some.n_columns == len(neurons) == 80
        assert len({tuple(sorted(r)) for r in neurons.rows}) == 40
        for r, v in zip(neurons.rows[1::2], neurons.directions.T[1::2], strict=True):
            found = every[tuple(sorted(r))]
            np.testing.assert_allclose(found * np.sign(found @ v), v, atol=1e-14)
        again = cross_product_dictionary(X, penalty, family=family, subsample=40, random_state=0)
        np.testing.assert_array_equal(whole(again).rows, neurons.rows)
    assert everything.is_exact is False
    assert cross_product_dictionary(X).is_exact
    assert not cross_product_dictionary(X, subsample=5, random_state=0).is_exact


def test_subsample_of_many_and_of_too_few():
    big = np.random.default_rng(4).standard_normal((400, 6))
    assert len(whole(cross_product_dictionary(big, subsample=300, random_state=1))) == 600
    line = np.outer(np.arange(30.0), [1.0, 2.0])
    few = cross_product_dictionary(
        line, "l2", bias=False, subsample=29, random_state=1
    )  # of a line, one direction is all
    assert few.n_columns == 2
    assert "only 1 of 29 subsets: no more of all 1 subsets" in few.notes[0]
    across = cross_product_dictionary(np.outer(np.arange(300.0), [1.0, 2.0, 1.0]), "l2", subsample=10, random_state=1)
    assert (across.n_columns, across.notes) == (20, ())
    none = cross_product_dictionary(np.ones((30, 3)), "l2", subsample=10, random_state=1)
    assert (none.n_columns, none.notes) == (0, ("the rows are all alike",))
    asked_too_much = cross_product_dictionary(line[:4], "l2", subsample=10, random_state=1)
    assert asked_too_much.n_columns == 8
    assert "only 4 of 10 subsets: no more of all 4 subsets" in asked_too_much.notes[0]


@pairwise({"bias": [True, False], "penalty": ["l1", "l2"], "n_still": [1, 20], "subsample": [None, 40]})
def test_columns_that_do_not_vary_change_nothing(bias, penalty, n_still, subsample):
    X = np.random.default_rng(8).standard_normal((15, 3))
    still = np.full((15, n_still), 2.0 if bias else 0.0)
    wide = np.concatenate([still[:, :1], X[:, :2], still[:, 1:], X[:, 2:]], axis=1)
    one, other = (
        cross_product_dictionary(A, penalty, bias=bias, subsample=subsample, random_state=0) for A in (X, wide)
    )
    assert one.n_columns == other.n_columns
    np.testing.assert_allclose(one.matrix(), other.matrix(), atol=1e-14)
    neurons = other.neurons()
    np.testing.assert_array_equal(neurons.directions[[1, 2, -1]], one.neurons().directions)
    if penalty == "l1":  # the basis vectors of those columns are in every subset
        assert neurons.rows.shape[1] == 3 + n_still - 1 + bias
        assert all(15 in rows for rows in neurons.rows.tolist())
        for j, rows in enumerate(neurons.rows[:50]):
            assert not neurons.directions[rows[rows >= 15] - 15, j].any()


@pytest.mark.parametrize("bias", [True, False])
def test_dependent_columns_are_spanned_in_the_space_of_the_rows(bias):
    """(x, x) is √2 x turned: the same columns for the l2 penalty."""
    X = np.random.default_rng(9).standard_normal((12, 3))
    once, twice = np.sqrt(2) * X, np.concatenate([X, X], axis=1)
    dictionary = cross_product_dictionary(twice, "l2", bias=bias)
    expected = cross_product_dictionary(once, "l2", bias=bias)
    assert dictionary.n_columns == expected.n_columns
    K, L = (A[:, np.lexsort(np.round(A, 8))] for A in (dictionary.matrix(), expected.matrix()))
    np.testing.assert_allclose(K, L, atol=1e-12)
    np.testing.assert_allclose(whole(dictionary).norms(2), 1, rtol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rank", [1, 5])
def test_subsamples_of_rows_of_low_rank_see_the_data(bias, rank):
    rng = np.random.default_rng(10)
    X = rng.standard_normal((200, rank)) @ rng.standard_normal((rank, 40))
    for penalty in ("l1", "l2"):
        dictionary = cross_product_dictionary(X, penalty, bias=bias, subsample=100, random_state=1)
        most = 1 if penalty == "l2" and rank == 1 and not bias else 100
        most = 40 if penalty == "l1" and rank == 1 and not bias else most  # of subsets without data, e_i remains
        assert dictionary.subsample == most
        assert len(dictionary.neurons()) > 1.5 * most - 1  # each with both its sides, but for those at the edge


def test_random_subsets_are_uniform():
    """Each of 10 subsets has probability 1/10: a chi-square of 9 degrees exceeds 33.7 with probability 1e-4."""
    drawn = random_subsets(5, 3, 20000, np.random.default_rng(5))
    assert (np.diff(drawn, axis=1) > 0).all()
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 10
    assert np.sum((counts - 2000.0) ** 2 / 2000) < 33.7


def test_large_random_subsets_are_uniform():
    """Those that are drawn one by one: each of 80 is in 7/8 of 3000 subsets; five deviations have probability 4e-5."""
    drawn = np.concatenate([random_subsets(80, 70, 30, np.random.default_rng(seed)) for seed in range(100)])
    assert (np.diff(drawn, axis=1) > 0).all()
    counts = np.bincount(drawn.ravel(), minlength=80)
    assert np.abs(counts - 3000 * 7 / 8).max() < 5 * np.sqrt(3000 * 7 / 64)


@pytest.mark.parametrize("family", ["mixed", "rows"])
def test_no_more_subsets_are_drawn_when_time_is_over(family):
    """But those that are, are the first of all."""
    X = np.random.default_rng(3).standard_normal((40, 12))
    short, long, every = (
        cross_product_dictionary(X, family=family, subsample=50, random_state=4, max_time=limit)
        for limit in (1e-9, 1e3, None)
    )
    assert short.notes == ("only 1 of 50 subsets: there was no time for more",)
    assert len(short.neurons()) == 2
    assert not every.notes
    np.testing.assert_array_equal(long.neurons().directions, every.neurons().directions)
    np.testing.assert_array_equal(short.neurons().directions[:, 0], every.neurons().directions[:, 0])


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_distinct_keeps_the_first_of_each(offset):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((20, 3)) + offset
    V = rng.standard_normal((3, 50))
    V /= np.abs(V).sum(axis=0)
    row = rng.integers(0, 20, 50)
    index = rng.integers(0, 50, 300)
    noisy = V[:, index] + 1e-14 * rng.standard_normal((3, 300))
    kept = distinct(noisy, -np.einsum("ij,ji->i", noisy.T, X[row[index]].T), X)
    np.testing.assert_array_equal(kept, np.sort(np.unique(index, return_index=True)[1]))
    assert len(distinct(np.ones((3, 2)) / 3, np.array([0.0, 1e-6]), X)) == 2


_CUBE = np.random.default_rng(7).standard_normal((50, 3))
_ALL = cross_product_dictionary(_CUBE)


@functools.cache
def _large():
    return cross_product_dictionary(np.random.default_rng(11).standard_normal((2000, 384)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cross_product_dictionary(_CUBE, "l3"), "'penalty' parameter of cross_product_dictionary .* 'l2'"),
        (lambda: cross_product_dictionary(_CUBE, family="columns"), r"'family' parameter .* Got 'columns'"),
        (lambda: cross_product_dictionary(_CUBE[0]), r"'X' parameter .* an \(n, d\) array"),
        (lambda: cross_product_dictionary(np.array([[np.nan]])), "'X' parameter .* finite"),
        (lambda: cross_product_dictionary(_CUBE, subsample=0), "'subsample' parameter"),
        (lambda: cross_product_dictionary(_CUBE, max_time=0), "'max_time' parameter of cross_product_dictionary"),
        (lambda: _ALL.blocks(1), "'size' parameter of blocks .* pairs"),
        (lambda: _ALL.matrix(max_bytes=10**4), f"max_bytes. Got {8 * 50 * _ALL.n_columns:,} bytes .* Use blocks"),
        (lambda: _large().blocks(10), r"than 2\^62 subsets\. Got 10\^455\.4 subsets instead\. Draw some.*subsample"),
        (lambda: _large().neurons(), r"Got 10\^45\d\.\d bytes for 10\^455\.7 columns"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_representations_tell_the_family_and_the_count():
    assert "all subsets of 3 rows of [X; I], at least one of them data" in repr(_ALL)
    assert f"{_ALL.n_columns:,} columns" in repr(_ALL)
    assert "10^45" in repr(_large())
    some = cross_product_dictionary(np.random.default_rng(11).standard_normal((500, 384)), subsample=10, random_state=0)
    assert len(some.neurons()) == 20


def test_neurons_are_right_on_any_rows():
    """The zeros at the rows that span a hyperplane belong to these rows alone."""
    rng = np.random.default_rng(0)
    X, other = rng.standard_normal((9, 3)), rng.standard_normal((9, 3))
    neurons = cross_product_dictionary(X).neurons()
    expected = np.maximum(other @ neurons.directions + neurons.offsets, 0)
    np.testing.assert_array_equal(neurons.columns(other), expected)
    values = rng.standard_normal((len(neurons), 1))
    solution = WeightedNeurons(neurons, values, np.array([0.5]))
    np.testing.assert_array_equal(solution.predictions(other), expected @ values + 0.5)
    np.testing.assert_allclose(neurons.training_columns(X), neurons.columns(X), atol=1e-13)
    with pytest.raises(ArgumentError, match="rows that planes go through to 1e-08 of their size"):
        neurons.training_columns(other)
    with pytest.raises(ArgumentError, match="'directions' parameter of Neurons must be an array"):
        Neurons(None, None, None)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("apart", [1e-8, 1e-12])
def test_planes_go_through_nearly_equal_rows(apart, bias):
    """Minors of rows 1e-12 apart cancel to 1e-4 of a plane, and fits were refused."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((4, 4 - bias)), 2, axis=0)
    X[1::2] += apart * rng.standard_normal((4, 4 - bias))
    neurons = cross_product_dictionary(X, bias=bias).neurons()
    assert neurons.misses(X).max() < 1e-11
    assert (neurons.training_columns(X) >= 0).all()
