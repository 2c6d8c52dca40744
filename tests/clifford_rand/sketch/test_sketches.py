"""Every sketch as an operator: products, distribution, embedding dimension, the two propositions, bad input."""

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import clifford_rand as cr
from clifford_rand import SJLT, SRHT, GaussianSketch, LeverageSampling, SparseSign
from support.sketches import MAKERS, RandomSigns

kinds = pytest.mark.parametrize("kind", list(MAKERS))


def gaussian(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


@kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_products_from_both_sides_dense_and_sparse(kind, dtype):
    wanted = np.float32 if dtype is np.float32 else np.float64
    for r, d in ((5, 17), (6, 6), (1, 4), (1, 1), (8, 33)):
        S = MAKERS[kind](r, d, 3)
        dense = S.toarray()
        rng = np.random.default_rng(0)

        def data(*shape, rng=rng):
            return (10 * rng.standard_normal(shape)).astype(dtype)

        x, X, V = data(3, d, 4), data(3, 2, d), data(7, r)
        pairs = [
            (S @ x, dense @ x),
            (S @ x[0, :, 0], dense @ x[0, :, 0]),
            (X @ S.T, X @ dense.T),
            (X[:, :0] @ S.T, X[:, :0] @ dense.T),
            (S.T @ V.T, dense.T @ V.T),
            (V @ S, V @ dense),
            (V[0] @ S, V[0] @ dense),
        ]
        for form in (scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
            a, b, v = form(x[0]), form(X[0]), form(V)
            pairs += [(S @ a, dense @ x[0]), (b @ S.T, X[0] @ dense.T), (v @ S, V @ dense), (S.T @ v.T, dense.T @ V.T)]
        for result, expected in pairs:
            if scipy.sparse.issparse(result):
                assert kind not in ("SRHT", "Gaussian", "RandomSigns")
                result = result.toarray()
            else:
                assert result.flags.c_contiguous
            assert result.dtype == wanted
            assert result.shape == expected.shape
            scale = 1 + np.abs(expected).max(initial=0)
            np.testing.assert_allclose(result, expected, rtol=0, atol=100 * np.finfo(wanted).eps * scale)
        assert np.array_equal(S.T.toarray(), dense.T)
        for factor in (2.0**500, 2.0**-500):  # exact
            assert np.array_equal((factor * X.astype(float)) @ S.T, factor * (X.astype(float) @ S.T))


@pytest.mark.parametrize("kind", ["SJLT", "SJLT2", "SparseSign", "SRHT"])
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_kernels_agree_with_numpy_and_read_memory_maps(kind, dtype, tmp_path):
    n, d, r = 9000, 600, 90
    S, X = MAKERS[kind](r, d, 1), gaussian(0, n, d).astype(dtype)
    Y = X @ S.T  # large enough for the kernel
    small = np.concatenate([X[i : i + 500] @ S.T for i in range(0, n, 500)])
    tolerance = 30 * np.finfo(dtype).eps
    np.testing.assert_allclose(Y, small, rtol=0, atol=tolerance * np.abs(Y).max())
    if kind == "SJLT":
        assert np.array_equal(Y, small)
    np.testing.assert_allclose(Y[:50], X[:50] @ S.toarray(dtype).T, rtol=0, atol=2 * tolerance * np.abs(Y).max())
    back = Y @ S
    np.testing.assert_allclose(back[:50], Y[:50] @ S.toarray(dtype), rtol=0, atol=2 * tolerance * np.abs(back).max())
    assert np.array_equal(np.asfortranarray(X) @ S.T, Y)
    path = tmp_path / "rows.npy"
    np.save(path, X)
    for mode in ("r", "r+"):
        mapped = np.load(path, mmap_mode=mode)
        assert isinstance(mapped, np.memmap)
        result = mapped @ S.T
        assert type(result) is np.ndarray
        assert np.array_equal(result, Y)
    assert np.array_equal(S @ X.T, Y.T) or kind != "SRHT"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "r", "s"), [(1, 7, 3, 2), (33, 40, 9, 9), (70, 2500, 30, 1), (31, 1025, 12, 5)])
def test_sparse_kernels_against_the_matrix(dtype, n, d, r, s):
    """Tiles that are not full, several blocks of columns, rows of the matrix with none, few and many entries."""
    from clifford_rand.kernels.sketches import over_columns, over_rows, sparse_rows
    from clifford_rand.sketch.sparse import SparseTable

    S, X = SparseSign(r, d, s, rng=n), gaussian(0, n, d).astype(dtype)
    for matrix, given in ((S._matrix, X), (S._transposed, gaussian(1, n, r).astype(dtype))):
        expected = given.astype(float) @ matrix.toarray().T * 0.5
        table = SparseTable.of(matrix, 1024)
        arguments = (table.starts, table.place, table.entries.astype(dtype), 1024, 0.5)
        tolerance = 50 * np.finfo(dtype).eps * np.abs(expected).max()
        found = over_rows(sparse_rows, given, arguments, len(matrix.toarray()))
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
        table = SparseTable.of(matrix, matrix.shape[1])
        columns = over_columns(given.T, table.starts, table.place, table.entries.astype(dtype), 0.5, matrix.shape[0])
        np.testing.assert_allclose(columns, expected.T, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_transposed_leverage_samples_by_the_kernel(dtype):
    """Rows that are drawn several times add up, on rows and on columns."""
    S, V = LeverageSampling(np.arange(1.0, 1201), 300, rng=0), gaussian(0, 4000, 300).astype(dtype)
    assert len(np.unique(S.rows)) < 300
    expected = V.astype(float) @ S.toarray()
    tolerance = 20 * np.finfo(dtype).eps * np.abs(expected).max()
    np.testing.assert_allclose(V @ S, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(S.T @ V.T, expected.T, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", ["SJLT", "SparseSign", "SRHT"])
def test_few_columns_of_a_small_matrix_come_by_the_matrix_itself(kind):
    """The ways of n rows are one map: one row at a time, some hundred by a product with the matrix."""
    S, X = MAKERS[kind](8, 50, 3), gaussian(0, 200, 50)
    rows, back = X @ S.T, gaussian(1, 200, 8) @ S
    assert S._kept
    one = MAKERS[kind](8, 50, 3)
    np.testing.assert_allclose(rows, np.stack([x @ one.T for x in X]), rtol=0, atol=1e-13)
    np.testing.assert_allclose(back, np.stack([v @ one for v in gaussian(1, 200, 8)]), rtol=0, atol=1e-13)
    np.testing.assert_allclose(S @ X.T, rows.T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(S.T @ gaussian(1, 200, 8).T, back.T, rtol=0, atol=1e-13)
    assert "_kept" not in vars(one)


def test_hadamard_kernel_against_its_definition():
    from clifford_rand.kernels.sketches import hadamard_rows

    for size, low in ((1, 1), (2, 1), (8, 1), (16, 16), (64, 4), (256, 16), (512, 2)):
        X = gaussian(size, 3, size)
        order = np.random.default_rng(size).permutation(size)
        out, one = np.empty((3, size)), np.ones(size)
        places = order % low * (size // low) + order // low
        hadamard_rows(X, (np.arange(size), one), size, low, (places, one), out)
        np.testing.assert_allclose(out, (X @ scipy.linalg.hadamard(size))[:, order], rtol=1e-12, atol=1e-12)


def test_large_gaussian_sketches_are_drawn_again_alike():
    S, X = GaussianSketch(900, 10_000, rng=0), gaussian(0, 2, 10_000)  # more than is kept
    first, second = X @ S.T, X @ S.T
    assert np.array_equal(first, second)
    assert not S._kept
    np.testing.assert_allclose(S @ X.T, first.T, rtol=0, atol=1e-11)
    v = gaussian(1, 900)
    np.testing.assert_allclose((S.T @ v) @ X.T, first @ v, rtol=1e-9)
    np.testing.assert_allclose(scipy.sparse.csr_array(X) @ S.T, first, rtol=0, atol=1e-11)
    # variance of 9,000,000 entries: relative standard deviation √(2/9e6) = 5e-4; 6 of them fail with probability 2e-9
    total = sum(float((block**2).sum()) for _, block in S._blocks(np.dtype(float)))
    assert abs(total / 10_000 - 1) < 6 * 5e-4


@kinds
def test_seeds_and_redraws(kind):
    make = MAKERS[kind]
    S = make(5, 20, 7)
    scope = {one.__name__: one for one in (SJLT, SparseSign, SRHT, GaussianSketch, RandomSigns)}
    if kind == "Leverage":
        assert repr(S) == "LeverageSampling(<20 scores>, r=5, rng=7)"
        again = LeverageSampling(S.scores, S.r, rng=S.rng)
    else:
        again = eval(repr(S), scope)
    assert np.array_equal(again.toarray(), S.toarray())
    generator = np.random.default_rng(0)
    first, second = make(5, 20, generator), make(5, 20, generator)
    assert first.rng != second.rng
    assert np.array_equal(make(5, 20, first.rng).toarray(), first.toarray())
    other = S.redraw(8)
    assert type(other) is type(S)
    assert other.shape == S.shape
    assert np.array_equal(other.toarray(), make(5, 20, 8).toarray())
    assert not np.array_equal(other.toarray(), S.toarray())


@kinds
def test_gram_matrix_has_mean_identity_and_rows_are_exchangeable(kind):
    # Means of N = 2000, compared at 6 standard errors: each fails with probability 2e-9 (normal limit), 200 of them.
    maps = np.stack([MAKERS[kind](4, 6, seed).toarray() for seed in range(2000)])
    gram = np.einsum("nij,nik->njk", maps, maps)
    error = gram.std(axis=0) / np.sqrt(2000)
    assert np.all(np.abs(gram.mean(axis=0) - np.eye(6)) <= 6 * error + 1e-12)
    assert MAKERS[kind](4, 6, 0).exchangeable_rows
    u, w = gaussian(0, 6), gaussian(1, 6)
    for first, second in itertools.combinations(
        range(4), 2
    ):  # (u·row i)³ w·row j has the same mean with i, j exchanged
        difference = (maps[:, first] @ u) ** 3 * (maps[:, second] @ w) - (maps[:, second] @ u) ** 3 * (
            maps[:, first] @ w
        )
        assert abs(difference.mean()) <= 6 * difference.std() / np.sqrt(2000)


def test_structure():
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


@pytest.mark.parametrize("kind", ["SJLT", "SparseSign", "SRHT", "Gaussian", "Leverage"])
def test_suggested_dimension_embeds(kind):
    # The rule fails with probability ≤ 0.05 a draw; 6 or more of 30 draws have probability C(30,6) 0.05^6 < 1 %, and
    # the rules are generous. Seeds are fixed.
    n, k, eps, delta = 512, 3, 0.5, 0.05
    X = gaussian(0, n, k) * np.exp(2 * gaussian(1, n, 1))  # uneven leverage
    U = np.linalg.qr(X)[0]
    rule = {
        "SJLT": SJLT,
        "SparseSign": SparseSign,
        "SRHT": SRHT,
        "Gaussian": GaussianSketch,
        "Leverage": LeverageSampling,
    }
    r = rule[kind].suggest_dim(k, eps, delta, **({"d": n} if kind == "SRHT" else {}))
    make = {"Leverage": lambda r, d, rng: LeverageSampling(X, r, rng=rng)}.get(kind, MAKERS[kind])
    failures = 0
    for seed in range(30):
        values = np.linalg.svd(make(min(r, n) if kind == "SJLT" else r, n, seed) @ U, compute_uv=False)
        failures += not (values.min() >= 1 - eps and values.max() <= 1 + eps)
    assert failures < 6


def test_rules_are_the_smallest_and_grow():
    for rule in (SJLT, SparseSign, GaussianSketch, LeverageSampling):
        sizes = [rule.suggest_dim(k, 0.3, 0.1) for k in (1, 5, 20)]
        assert sizes == sorted(sizes)
        assert rule.suggest_dim(5, 0.1, 0.1) > rule.suggest_dim(5, 0.3, 0.1) > rule.suggest_dim(5, 0.3, 0.5)
    r = GaussianSketch.suggest_dim(7, 0.4, 0.02)
    failure = [2 * np.exp(-size * (0.4 - np.sqrt(7 / size)) ** 2 / 2) for size in (r, r - 1)]
    assert failure[0] <= 0.02 < failure[1]
    r = SparseSign.suggest_dim(7, 0.4, 0.02)
    assert 56 / (r * 0.64**2) <= 0.02 < 56 / ((r - 1) * 0.64**2)
    assert SRHT.suggest_dim(3, d=100_000_000) < 100_000_000
    assert SRHT.suggest_dim(3, 0.01, d=100) == 128
    assert LeverageSampling.suggest_dim(5, beta=0.5) >= 2 * LeverageSampling.suggest_dim(5) - 1


@kinds
def test_first_proposition(kind):
    for r, d in ((2, 5), (3, 20), (6, 6), (30, 200)):
        S, A = MAKERS[kind](r, d, 5), gaussian(r, 3, r - 1, d)
        sketched = A @ S.T
        v = cr.sketched_cross(A, S, normalize=True)
        full = np.linalg.matrix_rank(S.toarray(), tol=1e-9) == r  # a sample with a row twice, for one, is not
        for b in range(3):
            assert np.abs(A[b] @ v[b]).max() <= 1e-10 * np.abs(A).max() * d
            independent = np.linalg.matrix_rank(sketched[b], tol=1e-9) == r - 1
            assert v[b].any() == (independent and full)
            if independent and full:
                assert abs(np.linalg.norm(v[b]) - 1) < 1e-12


@kinds
def test_second_proposition(kind):
    # The mean of N = 1000 lies within 5.5 standard errors but with probability 4e-8 (normal limit).
    A, x = gaussian(0, 2, 6), gaussian(1, 6)
    maps = [MAKERS[kind](3, 6, seed) for seed in range(1000)]
    for normalize in (False, True):
        values = np.array([x @ cr.sketched_cross(A, S, normalize=normalize) for S in maps])
        assert values.std() > 1e-3
        assert abs(values.mean()) < 5.5 * values.std() / np.sqrt(1000)


def test_sketch_that_misses_the_orthogonal_direction_gives_zero_not_rounding_noise():
    # S has rank 2: the vector of R^3 orthogonal to two sketched rows is orthogonal to the range of S: Sᵀ maps it to 0
    for dtype, seed in itertools.product((np.float64, np.float32), range(0, 400, 4)):
        A = gaussian(seed, 4, 2, 7).astype(dtype)
        S = (gaussian(seed + 1, 3, 2) @ gaussian(seed + 2, 2, 7)).astype(dtype)
        for scale in (1.0, 1e-30):
            assert not cr.sketched_cross(A, S * dtype(scale), normalize=True).any()
        near = S + 1e-2 * gaussian(seed + 3, 3, 7).astype(dtype)
        v = cr.sketched_cross(A, near, normalize=True)
        np.testing.assert_allclose(np.linalg.norm(v, axis=-1), 1, rtol=1e-6)


def test_a_sketch_with_a_small_row_has_full_rank_whatever_its_width():
    S = (gaussian(0, 3, 50_000) * np.array([[1], [1], [1e-4]])).astype(np.float32)
    v = cr.sketched_cross(gaussian(1, 2, 50_000).astype(np.float32), S, normalize=True)
    np.testing.assert_allclose(np.linalg.norm(v), 1, rtol=1e-6)


def test_data_of_the_same_seed_are_independent_of_the_sketch():
    # A generator seeded alike must not draw the same numbers: S would be the data. Correlations of 40,000 entries.
    for S in (GaussianSketch(200, 200, rng=5), SparseSign(200, 200, 200, rng=5)):
        same = np.corrcoef(np.random.default_rng(5).standard_normal((200, 200)).ravel(), S.toarray().ravel())[0, 1]
        assert abs(same) < 6 / 200  # 2e-9
    A = gaussian(0, 40, 5000)
    found = cr.sketched_volume(A, 400, rng=0, repeats=4)
    assert abs(found.log_volume - 0.5 * np.linalg.slogdet(A @ A.T)[1]) < 5 * found.error  # 6e-7


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


def test_blocks_of_rows():
    X = gaussian(0, 100, 30)
    for S in (SJLT(7, 30, rng=0), SRHT(7, 30, rng=0), GaussianSketch(7, 30, rng=0)):
        blocks = (X[i : i + 33] for i in range(0, 100, 33))
        np.testing.assert_allclose(np.concatenate(list(cr.sketch_rows(blocks, S))), X @ S.T, rtol=1e-12, atol=1e-13)
    mixed = list(cr.sketch_rows([X[:2].tolist(), scipy.sparse.csr_array(X[2:4])], SJLT(7, 30, rng=0)))
    assert scipy.sparse.issparse(mixed[1])
    np.testing.assert_allclose(mixed[0], X[:2] @ SJLT(7, 30, rng=0).T)
    with pytest.raises(cr.ArgumentError, match=r"'S' parameter of sketch_rows must be a sketch"):
        cr.sketch_rows([X], np.ones((3, 30)))
    with pytest.raises(cr.ArgumentError, match=r"Got shape \(2, 5\)"):
        list(cr.sketch_rows([np.ones((2, 5))], SJLT(7, 30, rng=0)))


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


@pytest.mark.parametrize("make", [MAKERS["SJLT"], MAKERS["SparseSign"], MAKERS["SRHT"], MAKERS["Gaussian"]])
def test_leverage_scores_by_sketching_obey_their_bound(make):
    # No chance in it: the bound holds for the embedding that the sketch turns out to be.
    X = gaussian(0, 1000, 6) * np.exp(gaussian(1, 1000, 1))
    exact = LeverageSampling(X, 1).scores
    S = make(400, 1000, 0)
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


def test_errors():
    nan = np.array([1.0, np.nan])
    scores, approximate = LeverageSampling, cr.sketched_leverage_scores
    cases = [
        (lambda: SparseSign(3, 5, s=4), r"'s' parameter of SparseSign must be an integer from 1 to 3\. Got 4"),
        (lambda: SparseSign(0, 5), r"'r' parameter of SparseSign must be an integer ≥ 1\. Got 0"),
        (lambda: SRHT(9, 5), r"'r' parameter of SRHT must be an integer from 1 to 8\. Got 9 .* 5 features has 8 rows"),
        (lambda: SRHT(1, 0), r"'d' parameter of SRHT must be an integer ≥ 1\. Got 0"),
        (lambda: GaussianSketch(2, 2.5), r"'d' parameter of GaussianSketch must be an integer ≥ 1\. Got 2\.5"),
        (
            lambda: GaussianSketch(2, 2, rng="a"),
            r"'rng' parameter of GaussianSketch must be a numpy\.random\.Generator",
        ),
        (lambda: scores(nan, 2), r"'scores' parameter of LeverageSampling must be finite"),
        (lambda: scores([1.0, -1.0], 2), r"'scores' .* non-negative, and not all zero\. Got the score -1\.0"),
        (lambda: scores([0.0, 0.0], 2), r"not all zero\. Got the score 0\.0"),
        (lambda: scores(np.ones((2, 2, 2)), 2), r"'scores' .* or a matrix \(n, d\)\. Got shape \(2, 2, 2\)"),
        (lambda: scores([1.0], 0), r"'r' parameter of LeverageSampling must be an integer ≥ 1"),
        (lambda: approximate(np.ones(3), SJLT(2, 3)), r"'X' parameter of sketched_leverage_scores .* shape \(n, d\)"),
        (lambda: approximate(np.ones((3, 2)), SJLT(2, 4, rng=0)), r"'S' .* a sketch of shape \(r, 3\)"),
        (lambda: approximate(np.ones((3, 2)), None), r"'S' .* a sketch of shape \(r, 3\)\. Got None"),
        (lambda: approximate(np.ones((3, 2)), SJLT(2, 3), project=SJLT(2, 3)), r"'project' .* of shape \(r, 2\)"),
        (lambda: scores(nan[None], 2), r"'scores' parameter of LeverageSampling must be finite"),
        (lambda: SJLT.suggest_dim(0), r"'k' parameter of SJLT\.suggest_dim must be an integer ≥ 1"),
        (
            lambda: SparseSign.suggest_dim(3, 1.5),
            r"'eps' parameter of SparseSign\.suggest_dim must be a number between",
        ),
        (lambda: GaussianSketch.suggest_dim(3, 0.5, 0), r"'delta' parameter of GaussianSketch\.suggest_dim"),
        (lambda: SRHT.suggest_dim(30, d=20), r"'d' parameter of SRHT\.suggest_dim must be an integer ≥ 30"),
        (lambda: scores.suggest_dim(3, beta=2.0), r"'beta' parameter .* a number from 1e-100 to 1\. Got 2\.0"),
        (lambda: SJLT(3, 5, rng=0).T.redraw(), r"'S' parameter of redraw must be a sketch that can be drawn again"),
        (
            lambda: SJLT(3, 5, rng=0).T.log_minor(2),
            r"'S' parameter of log_minor must be a sketch whose expected minors",
        ),
        (lambda: scipy.sparse.eye_array(4) @ SJLT(3, 5, rng=0).T, r"of shape \(n, 5\) to fit .*Got shape \(4, 4\)"),
        (lambda: SJLT(3, 5, rng=0) @ scipy.sparse.eye_array(4), r"of shape \(5, k\) to fit .*Got shape \(4, 4\)"),
        (
            lambda: SRHT(3, 5, rng=0) @ (1j * scipy.sparse.eye_array(5)),
            r"a matrix of real numbers\. Got dtype complex128",
        ),
        (lambda: SRHT(3, 5, rng=0) @ np.ones(4), r"of shape \(5,\) or \(\.\.\., 5, k\).*Got shape \(4,\)"),
    ]
    for call, message in cases:
        with pytest.raises(cr.ArgumentError, match=message):
            call()


@pytest.mark.parametrize("kind", [GaussianSketch, SparseSign, LeverageSampling])
def test_minors_of_more_rows_than_any_float_are_nothing(kind):
    made = kind(np.ones(6), 3, rng=0) if kind is LeverageSampling else kind(3, 6, rng=0)
    assert made.log_minor(10**400) == -np.inf
    assert made.log_minor(4) == -np.inf


def test_sizes_beyond_floats_are_refused_by_name():
    with pytest.raises(cr.ArgumentError, match=r"'d' parameter of SRHT must be such that"):
        SRHT(3, 10**6000)
    assert SRHT.suggest_dim(3, d=10**400) == SRHT.suggest_dim(3, d=10**400 - 1)
    with pytest.raises(cr.ArgumentError, match=r"'beta' parameter of LeverageSampling.suggest_dim"):
        LeverageSampling.suggest_dim(3, beta=5e-324)


def test_blocks_of_rows_may_be_data_frames():
    import pandas as pd

    X, S = np.arange(24.0).reshape(4, 6), SJLT(3, 6, rng=0)
    (found,) = cr.sketch_rows([pd.DataFrame(X)], S)
    np.testing.assert_array_equal(found, X @ S.T)
