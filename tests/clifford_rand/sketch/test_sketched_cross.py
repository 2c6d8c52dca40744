"""The sketched cross product: Propositions 1 and 2 of the paper's Section 3.3."""

import numpy as np
import pytest

import clifford_rand as cr


def gaussian(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize(("r", "d", "s"), [(1, 5, 1), (2, 5, 1), (3, 20, 1), (4, 20, 3), (6, 6, 1), (40, 384, 1)])
@pytest.mark.parametrize("normalize", [False, True])
def test_orthogonal_to_the_sampled_rows(r, d, s, normalize):
    S, A = cr.SJLT(r, d, s, rng=1), gaussian(r, 3, r - 1, d)
    v = cr.sketched_cross(A, S, normalize=normalize)
    assert v.shape == (3, d)
    length = np.linalg.norm(v, axis=1)
    assert np.all(length > 0)
    products = np.abs(np.einsum("bij,bj->bi", A, v)).max(axis=1, initial=0.0)
    assert np.all(products <= 1e-10 * length * np.sqrt(d))
    if normalize:
        np.testing.assert_allclose(length, 1, rtol=1e-13)


@pytest.mark.parametrize("s", [1, 2])
def test_definition_and_plain_matrices(s):
    sketches = (cr.SJLT(4, 9, s, rng=seed) for seed in range(100))
    S = next(S for S in sketches if np.linalg.matrix_rank(S.toarray()) == 4)  # with s = 2 rows may be dependent
    A, x = gaussian(0, 3, 9), gaussian(1, 9)
    v = cr.sketched_cross(A, S)
    np.testing.assert_allclose(v, S.toarray().T @ cr.cross(A @ S.toarray().T), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(cr.sketched_cross(A, S.toarray()), v, rtol=1e-12, atol=1e-13)
    rows = np.vstack([x, A]) @ S.toarray().T
    size = np.linalg.norm(rows, axis=1).prod()  # Hadamard: what rounding of a determinant is relative to
    np.testing.assert_allclose(x @ v, np.linalg.det(rows), rtol=1e-10, atol=1e-13 * size)
    np.testing.assert_allclose(cr.sketched_cross(A, S, normalize=True), v / np.linalg.norm(v), rtol=1e-12, atol=1e-13)


def test_identity_sketch_is_the_cross_product():
    A = gaussian(0, 5, 6)
    np.testing.assert_allclose(cr.sketched_cross(A, np.eye(6)), cr.cross(A), rtol=1e-13)


@pytest.mark.parametrize("s", [1, 2])
def test_zero_mean_at_another_row(s):
    # Proposition 2. The mean of N = 1000 is within 5 standard errors but with probability 6e-7 (normal limit), and that
    # of the signs within 0.2 but with probability 2·exp(-1000·0.2²/2) < 5e-9 (Hoeffding).
    A, x = gaussian(0, 2, 8), gaussian(1, 8)
    maps = [cr.SJLT(3, 8, s, rng=seed) for seed in range(1000)]
    products = np.array([x @ cr.sketched_cross(A, S) for S in maps])
    assert abs(products.mean()) < 5 * products.std() / np.sqrt(1000)
    assert products.std() > 0.1  # not by being zero
    signs = np.array([np.sign(x @ cr.sketched_cross(A, S, normalize=True)) for S in maps])
    assert abs(signs.mean()) < 0.2


def test_large_sketches_do_not_overflow_when_normalized():
    S, A = cr.SJLT(400, 1000, rng=0), gaussian(0, 399, 1000)
    v = cr.sketched_cross(A, S, normalize=True)
    assert np.abs(A @ v).max() < 1e-9
    A32 = gaussian(0, 99, 384).astype(np.float32)
    v = cr.sketched_cross(A32, cr.SJLT(100, 384, rng=0), normalize=True)
    assert v.dtype == np.float32
    assert np.abs(A32 @ v).max() < 1e-3


@pytest.mark.parametrize("normalize", [False, True])
def test_rank_deficient_rows_give_zero(normalize):
    A = gaussian(0, 2, 4, 20)
    A[1, 2] = 2 * A[1, 0]
    v = cr.sketched_cross(A, cr.SJLT(5, 20, rng=0), normalize=normalize)
    assert v[0].any()
    assert not v[1].any()


def test_errors():
    S = cr.SJLT(3, 8, rng=0)
    message = (
        r"'A' parameter of sketched_cross must be of shape \(\.\.\., 2, 8\), r-1 .* shape \(3, 8\)\. Got shape \(3, 8\)"
    )
    with pytest.raises(cr.ArgumentError, match=message):
        cr.sketched_cross(np.ones((3, 8)), S)
    with pytest.raises(cr.ArgumentError, match=r"Got shape \(2, 7\)"):
        cr.sketched_cross(np.ones((2, 7)), S)
    with pytest.raises(cr.ArgumentError, match=r"Got shape \(8,\)"):
        cr.sketched_cross(np.ones(8), S)
    with pytest.raises(cr.ArgumentError, match="'A' parameter of sketched_cross must be finite"):
        cr.sketched_cross(np.full((2, 8), np.nan), S)
    for wrong in (None, np.ones(8)):
        with pytest.raises(cr.ArgumentError, match=r"'S' parameter of sketched_cross must be a sketch or a matrix"):
            cr.sketched_cross(np.ones((2, 8)), wrong)
    with pytest.raises(cr.ArgumentError, match="'rtol'"):
        cr.sketched_cross(np.ones((2, 8)), S, rtol=2)
