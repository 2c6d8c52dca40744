"""Rules for gates: their laws, their rows and sides, sketches, mirror images, and what they refuse."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from clifford_rand import SJLT, SRHT, ArgumentError, GaussianSketch, leverage_scores
from clifford_rand_nn import GatedReLURegressor, sample_gates, with_linear_gate
from clifford_rand_nn.gates.rules import ROW_RULES
from clifford_rand_nn.gates.sampling import METHODS, SKETCHES

rng = np.random.default_rng(5)
X = rng.standard_normal((40, 5)) * np.array([3.0, 1, 1, 1, 0.3]) + 2
Y = (X[:, 0] > 2).astype(int)


def assert_sides(data, gates):
    """Incident rows lie on the sides drawn for them, and no row but 0 is within rounding of a plane."""
    np.testing.assert_array_equal(np.take_along_axis(gates.activations(data), gates.incident.T, axis=0).T, gates.sides)
    margins = data @ gates.directions + gates.offsets
    scale = np.linalg.norm(data, axis=1)[:, None] * np.linalg.norm(gates.directions, axis=0) + np.abs(gates.offsets)
    assert ((np.abs(margins) > 1e-15 * scale) | (scale == 0)).all()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sketch_dim", [None, 3])
@pytest.mark.parametrize("method", ROW_RULES)
def test_rules_give_planes_through_rows(method, sketch_dim, bias):
    gates = sample_gates(X, 13, method, sketch_dim=sketch_dim, bias=bias, random_state=0)
    k = (5 if sketch_dim is None else sketch_dim) - 1 + bias
    assert gates.method == method
    assert gates.directions.shape == (5, 13)
    assert gates.incident.shape == (13, k)
    assert all(len(set(rows)) == k for rows in gates.incident)
    assert gates.offsets.any() == bias
    assert gates.notes == ()
    assert_sides(X, gates)
    # moved by less than any other row's margin: the incident rows are the nearest
    margins = np.abs(X @ gates.directions + gates.offsets)
    for i in range(13):
        others = np.delete(margins[:, i], gates.incident[i])
        assert margins[gates.incident[i], i].max() <= 1.0001 * others.min()


def chi_square(counts, expected):
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("bias", [True, False])
def test_volume_law(bias):
    """P(S) ∝ squared volume of the rows, or of (y, 1); chi² exceeds the bound with probability 1e-4 over seeds."""
    data = np.random.default_rng(2).standard_normal((6, 3)) * np.array([1.0, 2.0, 4.0])
    rows = data
    if bias:
        centered = data - data.mean(axis=0)
        rows = np.hstack([centered / np.sqrt(np.mean(centered**2)), np.ones((6, 1))])
    k, draws = 2 + bias, 2500
    subsets = list(combinations(range(6), k))
    weight = np.array([np.linalg.det(rows[list(s)] @ rows[list(s)].T) for s in subsets])
    found = [tuple(sorted(rows)) for rows in sample_gates(data, draws, "volume", bias=bias, random_state=3).incident]
    counts = np.array([found.count(s) for s in subsets])
    expected = draws * weight / weight.sum()
    large = expected > 5
    assert chi_square(counts[large], expected[large]) < chi2.ppf(1 - 1e-4, large.sum() - 1)
    uniform = [tuple(sorted(rows)) for rows in sample_gates(data, draws, "cross", bias=bias, random_state=3).incident]
    counts = np.array([uniform.count(s) for s in subsets])
    assert chi_square(counts[large], expected[large]) > 10 * large.sum()


def test_leverage_law():
    """In the plane without bias one row spans a line: it is drawn by its leverage score."""
    data = np.random.default_rng(4).standard_normal((9, 2)) * np.array([1.0, 5.0])
    data[0] *= 6
    gates = sample_gates(data, 4000, "leverage", bias=False, random_state=0)
    counts = np.bincount(gates.incident[:, 0], minlength=9)
    expected = 4000 * leverage_scores(data) / 2
    assert chi_square(counts, expected) < chi2.ppf(1 - 1e-4, 8)


@pytest.mark.parametrize(("bias", "each"), [(False, 5), (True, 6)])
def test_simplex_facets_share_all_rows_but_one(bias, each):
    gates = sample_gates(X, 2 * each, "simplex", bias=bias, random_state=0)
    for part in (gates.incident[:each], gates.incident[each:]):
        assert len(set(part.ravel())) == each
        assert len({tuple(sorted(rows)) for rows in part}) == each


@pytest.mark.parametrize("bias", [True, False])
def test_polished_is_near_its_gaussian_gate(bias):
    """The rows spanning a plane are those nearest to the Gaussian plane it comes from, and both agree elsewhere.

    Over data and gates the share on which 300 agree is 0.84 ± 0.018, without bias 0.87 ± 0.019.
    """
    gates = sample_gates(X, 300, "polished", bias=bias, random_state=7)
    data = X
    if bias:
        data = (X - X.mean(axis=0)) / np.sqrt(np.mean((X - X.mean(axis=0)) ** 2))
    again = np.random.default_rng(7)
    G = again.standard_normal((5, 300))
    margins = data @ G
    if bias:
        margins += margins.std(axis=0) * again.standard_normal(300)
    nearest = np.argsort(np.abs(margins) / np.linalg.norm(data, axis=1)[:, None], axis=0)[: 4 + bias].T
    np.testing.assert_array_equal(np.sort(gates.incident), np.sort(nearest))
    other = np.ones((40, 300), dtype=bool)
    np.put_along_axis(other, gates.incident.T, False, axis=0)
    agree = ((gates.activations(X) == (margins >= 0)) & other).sum() / other.sum()
    assert agree > 0.75  # a plane through other rows agrees for half of them


@pytest.mark.parametrize("bias", [True, False])
def test_opposite_separates_its_pair(bias):
    gates = sample_gates(X, 50, "opposite", bias=bias, y=Y, random_state=0)
    assert gates.incident.shape == (50, 0)
    pairs = [(i, j) for i in np.flatnonzero(Y == 1) for j in np.flatnonzero(Y == 0)]
    for w, b in zip(gates.directions.T, gates.offsets, strict=True):
        cosine = [abs(w @ (X[i] - X[j])) / np.linalg.norm(w) / np.linalg.norm(X[i] - X[j]) for i, j in pairs]
        i, j = pairs[int(np.argmax(cosine))]
        assert max(cosine) > 1 - 1e-12
        if bias:
            assert abs(w @ (X[i] + X[j]) / 2 + b) < 1e-10 * np.linalg.norm(w) * np.linalg.norm(X[i])
        else:
            assert b == 0


@pytest.mark.slow
def test_opposite_draws_pairs_by_the_distance_of_targets():
    """On a line the midpoint tells the pair: P(i, j) ∝ |y_i - y_j|, and for classes all pairs alike."""
    data = np.array([[0.0], [1.0], [10.0], [100.0]])
    middle = {(i, j): (data[i, 0] + data[j, 0]) / 2 for i, j in combinations(range(4), 2)}
    for y, weight in (
        (np.array([0.0, 1.0, 1.0, 4.0]), {(0, 1): 1, (0, 2): 1, (0, 3): 4, (1, 3): 3, (2, 3): 3}),
        (np.array([0, 1, 1, 4]), {(0, 1): 1, (0, 2): 1, (0, 3): 1, (1, 3): 1, (2, 3): 1}),
        (
            np.array([[0.0, 0], [1, 0], [1, 0], [0, 2]]),
            {(0, 1): 1, (0, 2): 1, (0, 3): 2, (1, 3): 5**0.5, (2, 3): 5**0.5},
        ),
    ):
        gates = sample_gates(data, 1500, "opposite", y=y, random_state=2)
        place = -gates.offsets / gates.directions[0]
        counts = np.array([np.isclose(place, middle[pair]).sum() for pair in weight])
        assert counts.sum() == 1500
        expected = 1500 * np.array(list(weight.values())) / sum(weight.values())
        assert chi_square(counts, expected) < chi2.ppf(1 - 1e-4, len(weight) - 1)


@pytest.mark.parametrize("bias", [True, False])
def test_opposite_gives_rows_on_a_plane_a_clear_side(bias):
    """Unit vectors and duplicates: many rows lie exactly between two others."""
    data = np.vstack([np.eye(6), np.eye(6), 2 * np.eye(6)])
    y = np.arange(18) % 2
    gates = sample_gates(data, 40, "opposite", bias=bias, y=y, random_state=1)
    assert_sides(data, gates)
    on = gates.activations(data)
    for i in range(18):
        np.testing.assert_array_equal(gates.activations(data[i : i + 1])[0], on[i])
    assert 0.2 < on.mean() < 0.8


@pytest.mark.parametrize("method", METHODS)
def test_mirror_images(method):
    gates = sample_gates(X, 6, method, bias=True, y=Y, random_state=0, mirror=True)
    alone = sample_gates(X, 6, method, bias=True, y=Y, random_state=0)
    assert len(gates) == 12
    np.testing.assert_array_equal(gates.directions[:, ::2], alone.directions)
    np.testing.assert_array_equal(gates.activations(X)[:, 1::2], ~gates.activations(X)[:, ::2])
    np.testing.assert_array_equal(gates.sides[1::2], ~gates.sides[::2])


def of_rank(rank):
    """Return a sketch (5, 12) of this rank: of 16 columns of a Hadamard matrix 12 are left, which may be dependent."""
    sketches = (SRHT(5, 12, rng=seed) for seed in range(1000))
    return next(S for S in sketches if np.linalg.matrix_rank(S.toarray()) == rank)


def test_sketches_by_name_and_as_objects():
    data = np.random.default_rng(0).standard_normal((50, 12))
    found = {
        name: sample_gates(data, 4, sketch_dim=5, sketch=name, random_state=0)
        for name in ("sjlt", "sparse_sign", "srht", "gaussian")
    }
    for gates in found.values():
        assert_sides(data, gates)
    assert len({gates.directions.tobytes() for gates in found.values()}) == 4
    for S in (SJLT(5, 12, rng=1), of_rank(5), GaussianSketch(5, 12, rng=1)):
        gates = sample_gates(data, 4, sketch=S, bias=False, random_state=0)
        assert gates.sketch_dim == 5
        # the normal is in the rows of S and orthogonal to the sampled rows; the step into the chamber passes no other
        for i, rows in enumerate(gates.incident):
            margins = data @ (S.T @ np.linalg.svd(data[rows] @ S.T)[2][-1])
            side = gates.activations(data)[:, i] == (margins > 0)
            other = np.delete(side, rows)
            assert other.all() or not other.any()


def test_a_sketch_of_lower_rank_is_drawn_again(monkeypatch):
    """It takes every direction orthogonal to sketched rows to 0, which is rounding noise of unit length otherwise."""
    data, sound = np.random.default_rng(0).standard_normal((50, 12)), of_rank(5)
    drawn = iter([of_rank(4), sound])
    monkeypatch.setitem(SKETCHES, "srht", lambda r, d, rng: next(drawn))
    found = sample_gates(data, 4, sketch_dim=5, sketch="srht", random_state=0)
    assert found.sketch_dim == 5
    for i, rows in enumerate(found.incident):
        spanning = (data[rows[:-1]] - data[rows[-1]]) @ sound.T
        margins = (data - data[rows[-1]]) @ (sound.T @ np.linalg.svd(spanning)[2][-1])
        other = np.delete(found.activations(data)[:, i] == (margins > 0), rows)
        assert other.all() or not other.any()
    with pytest.raises(ArgumentError, match=r"'sketch' parameter of sample_gates must be of rank r = 5\. Got SRHT"):
        sample_gates(data, 4, sketch=of_rank(4), random_state=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["few", "low rank", "repeated", "one column", "grid", "line"])
def test_degenerate_data_works(method, kind):
    """Gates come out, with the sides that were drawn; row by row, in another order of summation, the same pattern."""
    data = {
        "few": rng.standard_normal((4, 9)),
        "low rank": rng.standard_normal((30, 2)) @ rng.standard_normal((2, 6)) + 1,
        "repeated": np.repeat(rng.standard_normal((3, 4)), 5, axis=0),
        "one column": rng.standard_normal((10, 1)),
        "grid": rng.integers(-2, 3, (12, 3)).astype(float),
        "line": np.outer(rng.standard_normal(9), rng.standard_normal(3)) + rng.standard_normal(3),
    }[kind]
    y = np.round(data @ np.ones(data.shape[1]), 6)
    for bias in (True, False):
        gates = sample_gates(data, 5, method, bias=bias, y=y, random_state=0)
        assert gates.directions.shape == (data.shape[1], 5)
        if method not in ("gaussian", "orthogonal"):
            assert_sides(data, gates)
            np.testing.assert_array_equal(
                np.vstack([gates.activations(row[None]) for row in data]), gates.activations(data)
            )


LOW = np.outer(np.arange(1.0, 21.0), np.ones(6))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "opposite"}, "'y' parameter of sample_gates must be given for method='opposite'. Got None"),
        ({"method": "opposite", "y": np.zeros(40)}, "two different values or more. Got one value instead"),
        ({"method": "opposite", "y": np.zeros(3)}, r"\(40,\) or \(40, C\), one for each row. Got shape \(3,\)"),
        ({"method": "opposite", "y": np.full(40, np.nan)}, "'y' parameter of sample_gates must be finite"),
        (
            {"X": np.ones((8, 2)), "method": "opposite", "y": np.arange(8) % 2},
            r"distinct rows where their targets are distinct\. Got 2 rows, 0 planes",
        ),
        ({"sketch": "hash"}, "must be one of 'sjlt', 'sparse_sign', 'srht', 'gaussian'. Got 'hash'"),
        ({"sketch": SJLT(3, 6, rng=0)}, r"'sketch' parameter of sample_gates must be of shape \(r, 5\), r ≤ 5"),
        ({"sketch": SJLT(3, 5, rng=0), "sketch_dim": 4}, "must be 3, 'auto' or None for a sketch of 3 rows. Got 4"),
        ({"X": LOW, "sketch": SJLT(4, 6, rng=0), "random_state": 0}, "that cross products of sketched rows do not"),
        ({"mirror": 2}, "'mirror' parameter of sample_gates must be one of True, False"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ArgumentError, match=message):
        sample_gates(**({"X": X, "n_gates": 3} | options))


def test_the_linear_gate_is_on_everywhere_and_makes_the_network_linear():
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((40, 3)), np.array([1.0, -2.0, 0.5])
    gates = with_linear_gate(sample_gates(X, 4, random_state=1))
    assert len(gates) == 5
    np.testing.assert_array_equal(gates.incident[:-1], sample_gates(X, 4, random_state=1).incident)
    assert (gates.incident[-1] == -1).all()
    assert gates.activations(100 * rng.standard_normal((50, 3)))[:, -1].all()
    np.testing.assert_array_equal(gates.activations(X)[:, :-1], sample_gates(X, 4, random_state=1).activations(X))
    model = GatedReLURegressor(gates=gates, beta=1e-6, bias=False).fit(X, X @ weights)
    np.testing.assert_allclose(model.predict(3 * X), 3 * X @ weights, atol=1e-3)


def test_orthogonal_directions_are_gaussian_ones_orthogonal_in_groups():
    """Squared lengths are χ²_6: their mean over 2000 misses 6 by more than 0.4 (5.2 σ) for one seed in 10^6."""
    X = np.random.default_rng(0).standard_normal((30, 6))
    H = sample_gates(X, 2000, "orthogonal", random_state=0).directions
    for group in np.split(H[:, :1998], 333, axis=1):
        inner = group.T @ group
        np.testing.assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-12)
    assert np.mean(np.sum(H**2, axis=0)) == pytest.approx(6, abs=0.4)
    np.testing.assert_allclose(H @ H.T / 2000, np.eye(6), atol=0.15)
