"""From a data frame of any columns to a fitted pipeline."""

import numpy as np
import pytest

from clifford_rand_nn.tables import TableEncoder, read_frame, table_model

pd = pytest.importorskip("pandas")


def _frame(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "city": rng.choice(["Oslo", "Bergen", "Bodø"], n),
            "member": rng.choice(["yes", "no"], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "code": [f"id{i:04d}" for i in range(n)],
        }
    )
    frame["buys"] = np.where((frame["age"] > 50) == (frame["city"] == "Oslo"), "yes", "no")
    return frame


def test_each_column_is_taken_for_what_it_is():
    frame = _frame()
    encoder = TableEncoder().fit(frame)
    kinds = {kind.name: kind.kind for kind in encoder.columns_}
    assert kinds == {
        "age": "number",
        "income": "number",
        "city": "category",
        "member": "boolean",
        "since": "date",
        "code": "left out",
        "buys": "boolean",
    }
    X = encoder.transform(frame)
    names = encoder.get_feature_names_out().tolist()
    assert X.shape == (60, len(names)) == (60, len(encoder.origin_))
    assert np.isfinite(X).all()
    np.testing.assert_array_equal(X[:, names.index("city=Oslo")], frame["city"] == "Oslo")
    np.testing.assert_array_equal(X[:, names.index("income (missing)")], frame["income"].isna())
    assert X[frame["income"].isna(), names.index("income")].tolist() == [frame["income"].median()] * int(
        frame["income"].isna().sum()
    )


def test_a_pipeline_from_a_frame_with_a_target():
    frame = _frame()
    pipeline = table_model(frame, "buys")
    assert pipeline.score(frame, frame["buys"]) > 0.8
    again = table_model(frame, "buys", sample_weight="age", leave_out=["income"])
    assert "income" not in again["table"].origin_


def test_a_csv_says_how_it_was_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeff;a;b\n0;1,5;x\n1;2,25;y\n", encoding="utf-8")
    frame = read_frame(path)
    assert frame.to_dict("list") == {"a": [1.5, 2.25], "b": ["x", "y"]}
    assert [note.split()[1] for note in frame.attrs["notes"]] == ["cells", "are", "first"]
