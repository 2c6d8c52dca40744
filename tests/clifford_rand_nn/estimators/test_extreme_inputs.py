"""Inputs at the ends of double precision, and of other kinds: the value, or one sentence, and no warning of NumPy."""

import numpy as np
import pandas as pd
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn import BetaCV, ConvexNetworkRegressor, GatedReLURegressor
from clifford_rand_nn.problems.duality import exact_offsets
from clifford_rand_nn.tables import dialect
from clifford_rand_nn.tables.cells import distinct

X = np.random.default_rng(0).standard_normal((30, 2))


def test_a_missing_target_among_objects_is_refused():
    y = X[:, 0].astype(object)
    y[2] = None
    with pytest.raises(ArgumentError, match="'y' parameter of ConvexNetworkRegressor must be finite"):
        ConvexNetworkRegressor().fit(X, y)


def test_denormal_targets_have_an_offset_without_a_warning():
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(exact_offsets(np.array([[1e-320], [1.0005e-320]]))).all()


def test_betas_of_1e_minus_150_are_compared():
    model = BetaCV(GatedReLURegressor(n_gates=4, penalty="ridge", random_state=0), betas=[1e-150, 1e-2], cv=3)
    assert np.isfinite(model.fit(X, np.abs(X[:, 0])).predict(X)).all()


def test_numbers_of_the_other_byte_order_are_distinct_values():
    assert distinct(pd.Series(np.array([3, 1, 3], dtype=">i4"))).tolist() == [3, 1]


def test_an_unknown_encoding_leaves_no_file_open(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a\n1\n")
    streams = []
    monkeypatch.setattr(dialect, "open_bytes", lambda file: streams.append(file.open("rb")) or streams[-1])
    with pytest.raises(LookupError):
        dialect.open_text(tmp_path / "a.csv", "no such encoding")
    assert [stream.closed for stream in streams] == [True]
