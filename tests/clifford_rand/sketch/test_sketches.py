"""Every sketch as an operator: products, structure, distribution, embedding dimension, the two propositions, errors."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import clifford_rand as cr
from clifford_rand import SJLT, SRHT, GaussianSketch, LeverageSampling, SparseSign
from clifford_rand.sketch import dense, sparse
from support.geometry import gaussian
from support.refusals import refused
from support.sketches import MAKERS, RandomSigns, drawn

kinds = pytest.mark.parametrize("kind", list(MAKERS))
precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_products_from_both_sides_dense_and_sparse(kind, dtype):
    wanted = np.float32 if dtype is np.float32 else np.float64
    for r, d in ((5, 17), (6, 6), (1, 4), (1, 1)):
        S, rng = MAKERS[kind](r, d, 3), np.random.default_rng(0)
        matrix = S.toarray()
        x, X, V = ((10 * rng.standard_normal(shape)).astype(dtype) for shape in ((3, d, 4), (3, 2, d), (7, r)))
        pairs = [
            (S @ x, matrix @ x),
            (S @ x[0, :, 0], matrix @ x[0, :, 0]),
            (S @ X[0].T, matrix @ X[0].T),
            (X @ S.T, X @ matrix.T),
            (X[:, :0] @ S.T, X[:, :0] @ matrix.T),
            (S.T @ V.T, matrix.T @ V.T),
            (V @ S, V @ matrix),
            (V[0] @ S, V[0] @ matrix),
        ]
        for form in (scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
            a, b, v = form(x[0]), form(X[0]), form(V)
            pairs += [(S @ a, matrix @ x[0]), (b @ S.T, X[0] @ matrix.T)]
            pairs += [(v @ S, V @ matrix), (S.T @ v.T, matrix.T @ V.T)]
        for result, expected in pairs:
            if scipy.sparse.issparse(result):
                assert kind not in ("SRHT", "Gaussian", "RandomSigns")
                result = result.toarray()
            else:
                assert type(result) is np.ndarray
                assert result.flags.c_contiguous
            assert result.dtype == wanted
            assert result.shape == expected.shape
            scale = 1 + np.abs(expected).max(initial=0)
            np.testing.assert_allclose(result, expected, rtol=0, atol=100 * np.finfo(wanted).eps * scale)
        assert np.array_equal(S.T.toarray(), matrix.T)
        assert S.T.T is S
        assert S.toarray(np.float32).dtype == np.float32
        np.testing.assert_allclose(S @ list(range(d)), matrix @ np.arange(d), rtol=0, atol=1e-12 * d)
        for factor in (2.0**500, 2.0**-500):  # exact
            assert np.array_equal((factor * X.astype(float)) @ S.T, factor * (X.astype(float) @ S.T))


@pytest.mark.kept("700-600-90-float64-SparseSign")
@pytest.mark.parametrize("kind", ["SJLT", "SJLT2", "SparseSign", "SRHT", "Leverage"])
@precisions
@pytest.mark.parametrize(("n", "d", "r"), [(700, 600, 90), (1, 7, 3), (33, 40, 9), (70, 2500, 30), (31, 1025, 12)])
def test_kernels_agree_with_numpy_and_read_memory_maps(kind, dtype, n, d, r, tmp_path, monkeypatch):
    """Tiles that are not full, several blocks of columns, rows of the matrix with none, few and many entries."""
    S, X = MAKERS[kind](r, d, 1), gaussian(0, n, d).astype(dtype)
    plain = X @ S.T
    monkeypatch.setattr(sparse, "KERNEL_FROM", 1)
    monkeypatch.setattr(dense, "_KERNEL_FROM", 1)
    Y = X @ S.T
    tolerance = 30 * np.finfo(dtype).eps
    np.testing.assert_allclose(Y, plain, rtol=0, atol=tolerance * np.abs(Y).max())
    if kind == "SJLT" and n == 700:
        assert np.array_equal(Y, plain)
    np.testing.assert_allclose(Y, X @ S.toarray(dtype).T, rtol=0, atol=2 * tolerance * np.abs(Y).max())
    back = Y @ S
    for one in (back, (S.T @ Y.T).T):
        np.testing.assert_allclose(one, Y @ S.toarray(dtype), rtol=0, atol=2 * tolerance * np.abs(back).max())
    assert np.array_equal(np.asfortranarray(X) @ S.T, Y)
    np.save(tmp_path / "rows.npy", X)
    for mode in ("r", "r+"):
        mapped = np.load(tmp_path / "rows.npy", mmap_mode=mode)
        result = mapped @ S.T
        assert type(result) is np.ndarray
        assert np.array_equal(result, Y)
    np.testing.assert_allclose(S @ X.T, Y.T, rtol=0, atol=2 * tolerance * np.abs(Y).max())


@pytest.mark.parametrize("kind", ["SJLT", "SparseSign", "SRHT"])
def test_few_columns_of_a_small_matrix_come_by_the_matrix_itself(kind):
    """The ways of n rows are one map: one row at a time, some hundred by a product with the matrix."""
    S, by_rows, X, V = MAKERS[kind](8, 50, 3), MAKERS[kind](8, 50, 3), gaussian(0, 200, 50), gaussian(1, 200, 8)
    rows, back = X @ S.T, V @ S
    assert S._kept
    np.testing.assert_allclose(rows, np.stack([x @ by_rows.T for x in X]), rtol=0, atol=1e-13)
    np.testing.assert_allclose(back, np.stack([v @ by_rows for v in V]), rtol=0, atol=1e-13)
    np.testing.assert_allclose(S @ X.T, rows.T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(S.T @ V.T, back.T, rtol=0, atol=1e-13)
    assert "_kept" not in vars(by_rows)


def test_large_gaussian_sketches_are_drawn_again_alike(monkeypatch):
    monkeypatch.setattr(dense, "_KEPT_ENTRIES", 2**19)
    monkeypatch.setattr(dense, "_BLOCK_ENTRIES", 2**18)
    S, X = GaussianSketch(300, 3000, rng=0), gaussian(0, 2, 3000)  # more than is kept
    first = X @ S.T
    assert np.array_equal(first, X @ S.T)
    assert "_kept" not in vars(S)
    np.testing.assert_allclose(S @ X.T, first.T, rtol=0, atol=1e-11)
    v = gaussian(1, 300)
    np.testing.assert_allclose((S.T @ v) @ X.T, first @ v, rtol=1e-9)
    np.testing.assert_allclose(scipy.sparse.csr_array(X) @ S.T, first, rtol=0, atol=1e-11)
    # variance of 900,000 entries: relative standard deviation √(2/9e5) = 1.5e-3; 6 of them fail with probability 2e-9
    total = sum(float((block**2).sum()) for _, block in S._blocks(np.dtype(float)))
    assert abs(total / 3000 - 1) < 6 * 1.5e-3


@kinds
def test_seeds_and_redraws(kind):
    make = MAKERS[kind]
    S = make(5, 20, 7)
    scope = {cls.__name__: cls for cls in (SJLT, SparseSign, SRHT, GaussianSketch, RandomSigns)}
    assert repr(S.T) == f"{S!r}.T"
    if kind == "Leverage":
        assert repr(S) == "LeverageSampling(<20 scores>, r=5, rng=7)"
        assert np.array_equal(LeverageSampling(S.scores, S.r, rng=S.seed).toarray(), S.toarray())
    else:
        for rng in (5, np.int64(5), np.random.default_rng(0), None):
            first = make(5, 20, rng)
            assert isinstance(first.seed, int)
            assert np.array_equal(eval(repr(first), scope).toarray(), first.toarray())
    generator = np.random.default_rng(0)
    first, second = make(5, 20, generator), make(5, 20, generator)
    assert make(5, 20, np.random.default_rng(0)).seed == first.seed != second.seed
    assert make(5, 20, None).seed != make(5, 20, None).seed
    assert np.array_equal(make(5, 20, first.seed).toarray(), first.toarray())
    redrawn = S.redraw(rng=8)
    assert type(redrawn) is type(S)
    assert redrawn.shape == S.shape
    assert np.array_equal(redrawn.toarray(), make(5, 20, 8).toarray())
    assert not np.array_equal(redrawn.toarray(), S.toarray())


@st.composite
def sizes(draw):
    r = draw(st.integers(1, 12))
    s = draw(st.integers(1, r))
    return r, draw(st.integers(-(-r // s), 40)), s


@given(sizes(), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_structure_of_sjlt(size, seed):
    r, d, s = size
    S = SJLT(r, d, s, rng=seed).toarray()
    assert S.shape == (r, d)
    assert np.all((S != 0).sum(axis=0) == s)  # s distinct rows in every column
    np.testing.assert_allclose(np.abs(S[S != 0]), 1 / np.sqrt(s), rtol=1e-15)
    per_row = (S != 0).sum(axis=1)
    assert per_row.max() - per_row.min() <= 1
    assert per_row.min() >= 1


def test_structure_of_the_others():
    S = SparseSign(7, 50, 3, rng=0).toarray()
    assert np.all((S != 0).sum(axis=0) == 3)
    np.testing.assert_allclose(np.abs(S[S != 0]), 1 / np.sqrt(3), rtol=1e-15)
    assert SparseSign(20, 5, rng=0).s == 8
    assert SparseSign(3, 5, rng=0).s == 3
    # all 10 subsets of 2 of 5 rows are equally frequent: 20,000 columns, 6 standard deviations √(2000·0.9)
    rows = SparseSign(5, 20_000, 2, rng=0)._transposed.indices.reshape(-1, 2)
    assert np.all(np.abs(np.bincount(rows[:, 0] * 5 + rows[:, 1])[[1, 2, 3, 4, 7, 8, 9, 13, 14, 19]] - 2000) < 6 * 43)
    S = SRHT(8, 6, rng=0)  # r = d': orthonormal columns
    np.testing.assert_allclose(S.toarray().T @ S.toarray(), np.eye(6), rtol=0, atol=1e-14)
    S = SRHT(5, 12, rng=1)
    expected = scipy.linalg.hadamard(16)[S._sample][:, :12] * S._signs / np.sqrt(5)
    np.testing.assert_allclose(S.toarray(), expected, rtol=1e-14)
    S = LeverageSampling([0.0, 2.0, 0.0, 1.0], 50, rng=0)
    assert set(S.rows) == {1, 3}
    np.testing.assert_allclose(S.toarray()[S.rows == 1, 1], np.sqrt(3 / 2 / 50), rtol=1e-14)
    assert not S.toarray()[:, [0, 2]].any()


@kinds
def test_gram_matrix_has_mean_identity_and_rows_are_exchangeable(kind):
    # Means of N = 2000, compared at 6 standard errors: each fails with probability 2e-9 (normal limit), 200 of them.
    maps = drawn(kind, 4, 6, 2000)
    gram = np.einsum("nij,nik->njk", maps, maps)
    error = gram.std(axis=0) / np.sqrt(2000)
    assert np.all(np.abs(gram.mean(axis=0) - np.eye(6)) <= 6 * error + 1e-12)
    assert MAKERS[kind](4, 6, 0).has_exchangeable_rows
    u, w = maps @ gaussian(0, 6), maps @ gaussian(1, 6)
    for i, j in itertools.combinations(range(4), 2):  # (u·row i)³ w·row j has the same mean with i, j exchanged
        difference = u[:, i] ** 3 * w[:, j] - u[:, j] ** 3 * w[:, i]
        assert abs(difference.mean()) <= 6 * difference.std() / np.sqrt(2000)


@pytest.mark.slow
def test_rows_and_columns_of_sjlt_are_exchangeable():
    # 16 = 3·5 + 1: a row is used four times, the others three times.
    # Indicators, Hoeffding: each mean is within 0.07 but with probability 2·exp(-2·3000·0.07²) < 4e-13, 150 of them.
    maps = np.stack([SJLT(5, 8, 2, rng=seed).toarray() for seed in range(3000)])
    used = (maps != 0).astype(float)
    assert np.abs(used.mean(axis=0) - 2 / 5).max() < 0.07
    assert np.abs((used.sum(axis=2) == 4).mean(axis=0) - 1 / 5).max() < 0.07
    pairs = np.einsum("nij,nkj->ikj", used, used) / len(maps)
    assert np.abs(pairs[~np.eye(5, dtype=bool)] - 2 / (5 * 4)).max() < 0.07
    assert np.abs((maps > 0).mean(axis=0) - 1 / 5).max() < 0.07
    # Rows that two columns share, 0 … 2: (4·3 + 4·3·2) / (8·7) on average; Hoeffding: 28·2·exp(-2·3000·0.12²/4) < 3e-8.
    shared = np.einsum("nij,nik->jk", used, used) / len(maps)
    assert np.abs(shared[~np.eye(8, dtype=bool)] - 36 / 56).max() < 0.12


@kinds
@pytest.mark.parametrize("normalize", [True, False])
def test_first_proposition(kind, normalize):
    for r, d in ((1, 5), (2, 5), (3, 20), (6, 6), (30, 200)):
        S, A = MAKERS[kind](r, d, 5), gaussian(r, 3, r - 1, d)
        v = cr.sketched_cross(A, S, normalize=normalize)
        assert v.shape == (3, d)
        full = np.linalg.matrix_rank(S.toarray(), tol=1e-9) == r  # a sample with a row twice, for one, is not
        for b in range(3):
            length = np.linalg.norm(v[b])
            assert np.abs(A[b] @ v[b]).max(initial=0) <= 1e-10 * d * (1 if normalize else max(length, 1))
            independent = np.linalg.matrix_rank(A[b] @ S.T, tol=1e-9) == r - 1
            if normalize:
                assert length == pytest.approx(float(independent and full), abs=1e-12)
            elif full:
                assert (length > 0) == independent


@kinds
def test_second_proposition(kind):
    # By the definitions of `sketched_cross` and `sketched_star`, which other tests compare with them: xᵀv of the cross
    # product and det(Y·v) of the star are determinants of sketched rows. Means of N = 2000 lie within 5.5 standard
    # errors but with probability 4e-8 (normal limit).
    maps, rows = drawn(kind, 4, 6, 2000), gaussian(0, 4, 6)
    v = np.einsum("nrd,nr->nd", maps, cr.cross(rows[1:] @ maps.swapaxes(1, 2)))
    length = np.linalg.norm(v, axis=1)
    unit = np.divide(v @ rows[0], length, out=np.zeros(2000), where=length > 1e-9)
    for values in (np.linalg.det(rows @ maps.swapaxes(1, 2)), v @ rows[0], unit):
        assert values.std() > 1e-3
        assert abs(values.mean()) < 5.5 * values.std() / np.sqrt(2000)


def test_second_proposition_needs_exchangeable_rows():
    # Sorted samples are not exchangeable, and neither are samples of one row without signs: the means are not zero.
    A, x = np.array([[1.0, 2.0, 4.0, 8.0, 16.0]]), np.array([1.0, 3.0, 9.0, 27.0, 81.0])
    values = []
    for seed in range(500):
        S = LeverageSampling(np.ones(5), 2, rng=seed).toarray()
        values.append(x @ cr.sketched_cross(A, S[np.argsort(np.argmax(S, axis=1))]))
    assert abs(np.mean(values)) > 6 * np.std(values) / np.sqrt(500)
    single = [x @ cr.sketched_cross(np.empty((0, 5)), LeverageSampling(np.ones(5), 1, rng=seed)) for seed in range(50)]
    assert min(single) > 0


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "SJLT2"])  # the mean of the minors is known
def test_inner_product_is_unbiased(kind):
    # Means of N = 2000 against the exact value at 5.5 standard errors: 4e-8 a comparison (normal limit), 8 a kind.
    maps = drawn(kind, 4, 6, 2000)
    for k in (1, 2, 3, 4):
        A, B = gaussian(k, k, 6), gaussian(k + 9, k, 6)
        for right in (A, B):
            exact = np.linalg.det(A @ right.T)
            minors = np.linalg.det((A @ maps.swapaxes(1, 2)) @ (maps @ right.T))
            values = minors / math.exp(MAKERS[kind](4, 6, 0).log_minor_constant(k))
            assert values.std() > 0.1 * abs(exact) or kind in ("SRHT", "SJLT", "SparseSign")
            assert abs(values.mean() - exact) <= 5.5 * values.std() / np.sqrt(2000) + 1e-9 * abs(exact)


def test_minor_factors_are_what_they_count():
    # SJLT, s = 1: the probability that k of d columns have distinct rows, by all subsets.
    for r, d in ((3, 7), (4, 4), (4, 10)):
        for k in range(r + 1):
            distinct = [len(set(subset)) == k for subset in itertools.combinations(np.arange(d) % r, k)]
            np.testing.assert_allclose(math.exp(SJLT(r, d, rng=0).log_minor_constant(k)), np.mean(distinct), rtol=1e-12)
    for kind in ("SJLT", "SparseSign", "SRHT", "Gaussian", "Leverage"):
        S = MAKERS[kind](4, 10, 0)
        assert S.log_minor_constant(0) == pytest.approx(0, abs=1e-14)
        assert S.log_minor_constant(1) == pytest.approx(0, abs=1e-14)  # E[SᵀS] = I
        assert S.log_minor_constant(5) == S.log_minor_constant(10**400) == -np.inf
    assert SRHT(16, 16, rng=0).log_minor_constant(16) == pytest.approx(0, abs=1e-12)


def test_data_of_the_same_seed_are_independent_of_the_sketch():
    # A generator seeded alike must not draw the same numbers: S would be the data. Correlations of 40,000 entries.
    for S in (GaussianSketch(200, 200, rng=5), SparseSign(200, 200, 200, rng=5)):
        same = np.corrcoef(np.random.default_rng(5).standard_normal((200, 200)).ravel(), S.toarray().ravel())[0, 1]
        assert abs(same) < 6 / 200  # 2e-9


RULES = {"SJLT": SJLT, "SparseSign": SparseSign, "SRHT": SRHT, "Gaussian": GaussianSketch, "Leverage": LeverageSampling}


@pytest.mark.parametrize("kind", RULES)
def test_suggested_dimension_embeds(kind):
    # The rule fails with probability ≤ 0.05 a draw; 6 or more of 30 draws have probability C(30,6) 0.05^6 < 1 %, and
    # the rules are generous. Seeds are fixed.
    n, k, eps, delta = 512, 3, 0.5, 0.05
    X = gaussian(0, n, k) * np.exp(2 * gaussian(1, n, 1))  # uneven leverage
    U = np.linalg.qr(X)[0]
    r = RULES[kind].suggest_dim(k, eps=eps, delta=delta, **({"d": n} if kind == "SRHT" else {}))
    make = {"Leverage": lambda r, d, rng: LeverageSampling(X, r, rng=rng)}.get(kind, MAKERS[kind])
    failures = 0
    for seed in range(30):
        values = np.linalg.svd(make(min(r, n) if kind == "SJLT" else r, n, seed) @ U, compute_uv=False)
        failures += not (values.min() >= 1 - eps and values.max() <= 1 + eps)
    assert failures < 6


def test_rules_are_the_smallest_and_grow():
    for rule in (SJLT, SparseSign, GaussianSketch, LeverageSampling):
        suggested = [rule.suggest_dim(k, eps=0.3, delta=0.1) for k in (1, 5, 20)]
        assert suggested == sorted(suggested)
        assert (
            rule.suggest_dim(5, eps=0.1, delta=0.1)
            > rule.suggest_dim(5, eps=0.3, delta=0.1)
            > rule.suggest_dim(5, eps=0.3, delta=0.5)
        )
    r = GaussianSketch.suggest_dim(7, eps=0.4, delta=0.02)
    failure = [2 * np.exp(-size * (0.4 - np.sqrt(7 / size)) ** 2 / 2) for size in (r, r - 1)]
    assert failure[0] <= 0.02 < failure[1]
    r = SparseSign.suggest_dim(7, eps=0.4, delta=0.02)
    assert 56 / (r * 0.64**2) <= 0.02 < 56 / ((r - 1) * 0.64**2)
    assert SRHT.suggest_dim(3, d=100_000_000) < 100_000_000
    assert SRHT.suggest_dim(3, eps=0.01, d=100) == 128
    assert SRHT.suggest_dim(3, d=10**400) == SRHT.suggest_dim(3, d=10**400 - 1)
    assert LeverageSampling.suggest_dim(5, beta=0.5) >= 2 * LeverageSampling.suggest_dim(5) - 1


def test_blocks_of_rows():
    X = gaussian(0, 100, 30)
    for S in (SJLT(7, 30, rng=0), SRHT(7, 30, rng=0), GaussianSketch(7, 30, rng=0)):
        blocks = (X[i : i + 33] for i in range(0, 100, 33))
        np.testing.assert_allclose(np.concatenate(list(cr.sketch_rows(blocks, S))), X @ S.T, rtol=1e-12, atol=1e-13)
    S = SJLT(7, 30, rng=0)
    lists, matrix, frame = cr.sketch_rows([X[:2].tolist(), scipy.sparse.csr_array(X[2:4]), pd.DataFrame(X[:2])], S)
    assert scipy.sparse.issparse(matrix)
    np.testing.assert_allclose(matrix.toarray(), X[2:4] @ S.T)
    np.testing.assert_allclose(lists, X[:2] @ S.T)
    np.testing.assert_array_equal(frame, lists)


def test_leverage_sampling_takes_the_exact_scores_of_a_matrix():
    for shape in ((50, 4), (4, 4), (3, 7)):
        X = gaussian(0, *shape)
        S = LeverageSampling(X, 6, rng=0)
        np.testing.assert_allclose(S.scores, np.diag(X @ np.linalg.pinv(X)), rtol=1e-9, atol=1e-12)
        for factor in (1e150, 1e-150):
            np.testing.assert_allclose(LeverageSampling(factor * X, 6).scores, S.scores, rtol=1e-12)
    X = gaussian(1, 40, 2) @ gaussian(2, 2, 6) * [1e6, 1, 1, 1e-6, 1, 1]
    np.testing.assert_allclose(LeverageSampling(X, 2).scores.sum(), 2, rtol=1e-8)
    single = LeverageSampling(X.astype(np.float32), 2).scores
    assert single.dtype == np.float32
    assert abs(single.sum() - 2) < 1e-4


@pytest.mark.parametrize("kind", ["SJLT", "SparseSign", "SRHT", "Gaussian"])
def test_leverage_scores_by_sketching_obey_their_bound(kind):
    # No chance in it: the bound holds for the embedding that the sketch turns out to be.
    X = gaussian(0, 1000, 6) * np.exp(gaussian(1, 1000, 1))
    exact = LeverageSampling(X, 1).scores
    S = MAKERS[kind](400, 1000, 0)
    values = np.linalg.svd(S @ np.linalg.qr(X)[0], compute_uv=False)
    ratio = cr.sketched_leverage_scores(X, S) / exact
    assert ratio.max() <= values.min() ** -2 * (1 + 1e-9)
    assert ratio.min() >= values.max() ** -2 * (1 - 1e-9)
    assert ratio.max() / ratio.min() > 1 + 1e-6  # not exact by another way
    # A Gaussian projection to p dimensions multiplies each by χ²_p/p: within 1 ± 0.75 for p = 200 but with probability
    # 1000·2·exp(-200·(0.75 - log 1.75)/2) < 1e-5.
    project = GaussianSketch(200, 6, rng=1)
    shorter = cr.sketched_leverage_scores(X, S, project=project) / cr.sketched_leverage_scores(X, S)
    assert np.abs(shorter - 1).max() < 0.75
    X = X @ np.diag([1, 1, 1, 1, 0, 0])
    assert abs(cr.sketched_leverage_scores(X, S).sum() - 4) < 2
    assert abs(cr.sketched_leverage_scores(X, S, project=project).sum() - 4) < 2
    assert not cr.sketched_leverage_scores(0 * X, S).any()
    np.testing.assert_allclose(cr.sketched_leverage_scores(1e150 * X, S), cr.sketched_leverage_scores(X, S), rtol=1e-10)


S, NAN, EYE = SJLT(3, 8, rng=0), np.array([1.0, np.nan]), scipy.sparse.eye_array(4)
INTEGER, PAIR = r"must be an integer ≥ 1\. Got ", r"must be an integer from 1 to "
ERRORS = [
    (lambda: SJLT(0, 5), rf"'r' parameter of SJLT {INTEGER}0"),
    (lambda: SJLT(2.0, 5), rf"'r' parameter of SJLT {INTEGER}2\.0"),
    (lambda: SJLT(2, -1), rf"'d' parameter of SJLT {INTEGER}-1"),
    (lambda: SJLT(2, 5, 3), rf"'s' parameter of SJLT {PAIR}2\. Got 3 .* in r rows"),
    (lambda: SJLT(2, 5, 0), rf"'s' parameter of SJLT {PAIR}2\. Got 0"),
    (lambda: SJLT(9, 4, 2), r"'r' parameter of SJLT must be at most s·d = 8\. Got 9 .*lower r or raise s"),
    (
        lambda: SJLT(2, 5, rng="a"),
        r"'rng' parameter of SJLT must be a numpy\.random\.Generator, an integer ≥ 0 or None",
    ),
    (lambda: SJLT(2, 5, rng=-1), r"'rng' parameter of SJLT"),
    (lambda: SparseSign(3, 5, s=4), rf"'s' parameter of SparseSign {PAIR}3\. Got 4"),
    (lambda: SparseSign(0, 5), rf"'r' parameter of SparseSign {INTEGER}0"),
    (lambda: SRHT(9, 5), rf"'r' parameter of SRHT {PAIR}8\. Got 9 .* 5 features has 8 rows"),
    (lambda: SRHT(1, 0), rf"'d' parameter of SRHT {INTEGER}0"),
    (lambda: SRHT(3, 10**6000), r"'d' parameter of SRHT must be such that"),
    (lambda: GaussianSketch(2, 2.5), rf"'d' parameter of GaussianSketch {INTEGER}2\.5"),
    (lambda: GaussianSketch(2, 2, rng="a"), r"'rng' parameter of GaussianSketch must be a numpy\.random\.Generator"),
    (lambda: LeverageSampling(NAN, 2), r"'scores' parameter of LeverageSampling must be finite"),
    (lambda: LeverageSampling(NAN[None], 2), r"'scores' parameter of LeverageSampling must be finite"),
    (lambda: LeverageSampling([1, -1.0], 2), r"'scores' .* non-negative, and not all zero\. Got the score -1\.0"),
    (lambda: LeverageSampling([0.0, 0.0], 2), r"not all zero\. Got the score 0\.0"),
    (lambda: LeverageSampling(np.ones((2, 2, 2)), 2), r"'scores' .* or a matrix \(n, d\)\. Got shape \(2, 2, 2\)"),
    (lambda: LeverageSampling([1.0], 0), r"'r' parameter of LeverageSampling must be an integer ≥ 1"),
    (lambda: cr.sketched_leverage_scores(np.ones(3), SJLT(2, 3)), r"'X' .*sketched_leverage_scores .* shape \(n, d\)"),
    (lambda: cr.sketched_leverage_scores(np.ones((3, 2)), SJLT(2, 4)), r"'S' .* a sketch of shape \(r, 3\)"),
    (lambda: cr.sketched_leverage_scores(np.ones((3, 2)), None), r"'S' .* a sketch of shape \(r, 3\)\. Got None"),
    (
        lambda: cr.sketched_leverage_scores(np.ones((3, 2)), SJLT(2, 3), project=SJLT(2, 3)),
        r"'project' .* of shape \(r, 2\)",
    ),
    (lambda: SJLT.suggest_dim(0), r"'k' parameter of SJLT\.suggest_dim must be an integer ≥ 1"),
    (
        lambda: SparseSign.suggest_dim(3, eps=1.5),
        r"'eps' parameter of SparseSign\.suggest_dim must be a number between",
    ),
    (lambda: GaussianSketch.suggest_dim(3, eps=0.5, delta=0), r"'delta' parameter of GaussianSketch\.suggest_dim"),
    (lambda: SRHT.suggest_dim(30, d=20), r"'d' parameter of SRHT\.suggest_dim must be an integer ≥ 30"),
    (lambda: LeverageSampling.suggest_dim(3, beta=2.0), r"'beta' parameter .* a number from 1e-100 to 1\. Got 2\.0"),
    (lambda: LeverageSampling.suggest_dim(3, beta=5e-324), r"'beta' parameter of LeverageSampling.suggest_dim"),
    (lambda: S.T.redraw(), r"'S' parameter of redraw must be a sketch that can be drawn again"),
    (lambda: S.T.log_minor_constant(2), r"'S' parameter of log_minor_constant must be a sketch whose expected minors"),
    (
        lambda: S @ np.ones(7),
        r"'x' .* @ x must be of shape \(8,\) or \(\.\.\., 8, k\) to fit \(3, 8\)\. Got shape \(7,\)",
    ),
    (lambda: S @ np.ones((4, 8)), r"to fit \(3, 8\)\. Got shape \(4, 8\)"),
    (lambda: np.ones((4, 7)) @ S.T, r"'X' .* of shape \(\.\.\., 8\) to fit \(8, 3\)\. Got shape \(4, 7\)"),
    (lambda: S.T @ np.ones(8), r"to fit \(8, 3\)\. Got shape \(8,\)"),
    (lambda: S @ 3.0, "at least 1 axes"),
    (lambda: SRHT(3, 5, rng=0) @ np.ones(4), r"of shape \(5,\) or \(\.\.\., 5, k\).*Got shape \(4,\)"),
    (lambda: EYE @ S.T, r"of shape \(n, 8\) to fit .*Got shape \(4, 4\)"),
    (lambda: S @ EYE, r"of shape \(8, k\) to fit .*Got shape \(4, 4\)"),
    (lambda: SRHT(3, 4, rng=0) @ (1j * EYE), r"a matrix of real numbers\. Got dtype complex128"),
    (lambda: cr.sketch_rows([EYE], np.ones((3, 30))), r"'S' parameter of sketch_rows must be a sketch"),
    (lambda: list(cr.sketch_rows([np.ones((2, 5))], S)), r"Got shape \(2, 5\)"),
]


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_errors(call, message):
    refused(message, call)


def test_the_product_of_two_sketches_is_not_defined():
    with pytest.raises(TypeError, match="unsupported operand"):
        S @ S.T
