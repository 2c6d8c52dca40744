"""The sparse Johnson-Lindenstrauss transform: its structure, its distribution, its products."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clifford_rand as cr
from clifford_rand import SJLT


@st.composite
def sizes(draw):
    r = draw(st.integers(1, 12))
    s = draw(st.integers(1, r))
    return r, draw(st.integers(-(-r // s), 40)), s


@given(sizes(), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_structure(size, seed):
    r, d, s = size
    S = SJLT(r, d, s, rng=seed).toarray()
    assert S.shape == (r, d)
    nonzero = S != 0
    assert np.all(nonzero.sum(axis=0) == s)  # s distinct rows in every column
    np.testing.assert_allclose(np.abs(S[nonzero]), 1 / np.sqrt(s), rtol=1e-15)
    per_row = nonzero.sum(axis=1)
    assert per_row.max() - per_row.min() <= 1
    assert per_row.min() >= 1


def test_seeds():
    S = SJLT(7, 30, 3, rng=5)
    assert repr(S) == "SJLT(r=7, d=30, s=3, rng=5)"
    assert repr(S.T) == "SJLT(r=7, d=30, s=3, rng=5).T"
    for rng in (5, np.int64(5), np.random.default_rng(0), None):
        S = SJLT(7, 30, 3, rng=rng)
        assert np.array_equal(eval(repr(S)).toarray(), S.toarray())
        assert isinstance(S.rng, int)
    generator = np.random.default_rng(0)
    first, second = SJLT(7, 30, rng=generator), SJLT(7, 30, rng=generator)
    assert first.rng != second.rng
    assert SJLT(7, 30, rng=np.random.default_rng(0)).rng == first.rng
    assert SJLT(7, 30).rng != SJLT(7, 30).rng
    assert not np.array_equal(SJLT(7, 30, rng=1).toarray(), SJLT(7, 30, rng=2).toarray())


@pytest.mark.parametrize(("r", "d", "s"), [(5, 17, 1), (5, 17, 3), (6, 6, 6), (1, 4, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_products(r, d, s, dtype):
    S = SJLT(r, d, s, rng=3)
    dense = S.toarray()
    rng = np.random.default_rng(0)

    def data(*shape):
        return (10 * rng.standard_normal(shape)).astype(dtype)

    pairs = [
        (S @ (x := data(d)), dense @ x),
        (S @ (x := data(d, 4)), dense @ x),
        (S @ (x := data(2, d, 4)), dense @ x),
        ((x := data(d)) @ S.T, x @ dense.T),
        ((x := data(8, d)) @ S.T, x @ dense.T),
        ((x := data(3, 2, d)) @ S.T, x @ dense.T),
        ((x := data(0, d)) @ S.T, x @ dense.T),
        (S.T @ (x := data(r)), dense.T @ x),
        (S.T @ (x := data(r, 4)), dense.T @ x),
        ((x := data(r)) @ S, x @ dense),
        ((x := data(2, 3, r)) @ S, x @ dense),
        (S @ (x := data(4, d).T), dense @ x),
    ]
    wanted = np.float32 if dtype is np.float32 else np.float64
    for result, expected in pairs:
        assert type(result) is np.ndarray
        assert result.dtype == wanted
        assert result.shape == expected.shape
        assert result.flags.c_contiguous
        np.testing.assert_allclose(result, expected, rtol=0, atol=500 * np.finfo(wanted).eps)
    assert np.array_equal(S @ list(range(d)), dense @ np.arange(d)) or s > 1
    assert S.T.T is S
    assert S.T.shape == (d, r)
    assert np.array_equal(S.T.toarray(), dense.T)
    assert S.toarray(np.float32).dtype == np.float32


def test_errors():
    cases = [
        ({"r": 0, "d": 5}, r"'r' parameter of SJLT must be an integer ≥ 1\. Got 0"),
        ({"r": 2.0, "d": 5}, r"'r' parameter of SJLT must be an integer ≥ 1\. Got 2\.0"),
        ({"r": 2, "d": -1}, r"'d' parameter of SJLT must be an integer ≥ 1\. Got -1"),
        (
            {"r": 2, "d": 5, "s": 3},
            r"'s' parameter of SJLT must be an integer from 1 to 2\. Got 3 .* in r rows",
        ),
        ({"r": 2, "d": 5, "s": 0}, r"'s' parameter of SJLT must be an integer from 1 to 2\. Got 0"),
        (
            {"r": 9, "d": 4, "s": 2},
            r"'r' parameter of SJLT must be at most s·d = 8\. Got 9 .*lower r or raise s",
        ),
        (
            {"r": 2, "d": 5, "rng": "a"},
            r"'rng' parameter of SJLT must be a numpy\.random\.Generator, an integer ≥ 0 or None",
        ),
        ({"r": 2, "d": 5, "rng": -1}, r"'rng' parameter of SJLT"),
    ]
    for arguments, message in cases:
        with pytest.raises(cr.ArgumentError, match=message):
            SJLT(**arguments)


def test_shapes_that_do_not_fit():
    S = SJLT(3, 8, rng=0)
    message = r"'x' .* @ x must be of shape \(8,\) or \(\.\.\., 8, k\) to fit \(3, 8\)\. Got shape \(7,\)"
    with pytest.raises(cr.ArgumentError, match=message):
        S @ np.ones(7)
    with pytest.raises(cr.ArgumentError, match=r"to fit \(3, 8\)\. Got shape \(4, 8\)"):
        S @ np.ones((4, 8))
    with pytest.raises(
        cr.ArgumentError, match=r"'X' .* must be of shape \(\.\.\., 8\) to fit \(8, 3\)\. Got shape \(4, 7\)"
    ):
        np.ones((4, 7)) @ S.T
    with pytest.raises(cr.ArgumentError, match=r"to fit \(8, 3\)\. Got shape \(8,\)"):
        S.T @ np.ones(8)
    with pytest.raises(cr.ArgumentError, match="at least 1 axes"):
        S @ 3.0
    with pytest.raises(TypeError, match="unsupported operand"):
        S @ S.T


SIZE, SEEDS = (5, 8, 2), range(3000)  # 16 = 3·5 + 1: a row is used four times, the others three times


@pytest.fixture(scope="module")
def maps():
    return np.stack([SJLT(*SIZE, rng=seed).toarray() for seed in SEEDS])


def test_expectation_of_the_gram_matrix_is_the_identity(maps):
    # Entries of SᵀS lie in [-1, 1]. Hoeffding, 28 pairs: 28·2·exp(-3000·0.14²/2) < 1e-11 to fail for a true map.
    gram = np.einsum("nij,nik->njk", maps, maps).mean(axis=0)
    np.testing.assert_allclose(np.diag(gram), 1.0, rtol=1e-12)
    assert np.abs(gram - np.eye(8)).max() < 0.14


def test_rows_and_columns_are_exchangeable(maps):
    # Indicators, Hoeffding: each mean is within 0.07 but with probability 2·exp(-2·3000·0.07²) < 4e-13, 150 of them.
    used = maps != 0
    assert np.abs(used.mean(axis=0) - 2 / 5).max() < 0.07
    assert np.abs((used.sum(axis=2) == 4).mean(axis=0) - 1 / 5).max() < 0.07
    pairs = np.einsum("nij,nkj->ikj", used.astype(float), used.astype(float)) / len(maps)
    assert np.abs(pairs[~np.eye(5, dtype=bool)] - 2 / (5 * 4)).max() < 0.07
    assert np.abs((maps > 0).mean(axis=0) - 1 / 5).max() < 0.07
    # Rows that two columns share, 0 … 2: (4·3 + 4·3·2) / (8·7) on average; Hoeffding: 28·2·exp(-2·3000·0.12²/4) < 3e-8.
    shared = np.einsum("nij,nik->jk", used.astype(float), used.astype(float)) / len(maps)
    assert np.abs(shared[~np.eye(8, dtype=bool)] - 36 / 56).max() < 0.12
