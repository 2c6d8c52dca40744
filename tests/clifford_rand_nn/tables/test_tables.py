"""Tables: what is read back, and one sentence for everything that can be wrong with a file."""

import numpy as np
import pytest

import clifford_rand.errors as optional
from clifford_rand.errors import ArgumentError, MissingDependencyError
from clifford_rand_nn.tables import read_table
from clifford_rand_nn.tables.writers import written_columns
from support.csv_tables import read_csv
from support.damage import Harmful

pd = pytest.importorskip("pandas")


def write_columns(path, columns):
    with written_columns(path) as write:
        write(columns)


def _frame():
    columns = {"b": [1.5, 0.1 + 0.2, -3e-17], "a": [1, 2, 3], "flag": [True, False, True], "kind": ["x", "y", "x"]}
    return pd.DataFrame(columns)


def _write(path, frame):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.fixture(params=[".csv", ".parquet"])
def saved(request, tmp_path):
    return _write(tmp_path / f"t{request.param}", _frame())


def test_a_table_comes_back_exactly(saved):
    table = read_table(saved, target="kind")
    assert table.names == ("b", "a", "flag")
    np.testing.assert_array_equal(table.X, _frame()[["b", "a", "flag"]].to_numpy(dtype=float))
    assert table.X.dtype == np.float64
    assert table.target.tolist() == ["x", "y", "x"]
    assert table.target.dtype.kind == "U"


def test_columns_are_taken_by_name_and_the_others_ignored(saved):
    table = read_table(saved, columns=["a", "b"])
    np.testing.assert_array_equal(table.X[:, 0], [1, 2, 3])
    assert table.names == ("a", "b")
    assert table.ignored == ("flag", "kind")  # text, never looked at
    assert table.target is None


@pytest.mark.parametrize(("name", "kind"), [("flag", "b"), ("a", "i"), ("b", "f")])
def test_targets_keep_their_kind(saved, name, kind):
    frame = _frame().drop(columns="kind")
    target = read_table(_write(saved, frame), target=name).target
    assert target.dtype.kind == kind
    assert target.tolist() == frame[name].tolist()


def test_nullable_and_categorical_columns_of_parquet(tmp_path):
    columns = {"a": pd.array([1, 2], "Int64"), "f": pd.array([True, False], "boolean"), "kind": list("uv")}
    frame = pd.DataFrame(columns).astype({"kind": "category"})
    table = read_table(_write(tmp_path / "t.parquet", frame), target="kind")
    np.testing.assert_array_equal(table.X, [[1, 1], [2, 0]])
    assert table.target.tolist() == ["u", "v"]


CSV_FAULTS = {
    "empty": ("", "the file is empty"),
    "blank": ("\n\n", "the file is empty"),
    "no rows": ("a,b,y\n", "the table has columns but no rows"),
    "no target": ("a,Y\n1,2\n", r"there is no column 'y'; the columns are 'a', 'Y' \(is 'Y' meant\?\)"),
    "only target": ("y\n1\n", "there is no feature column beside the target 'y'"),
    "text": ("a,c,y\n1,Oslo,0\n2,3,0\n", "column 'c' is not numeric: 1 of 2 cells, such as 'Oslo'; encode it"),
    "two text": ("a,c,y\nx,Oslo,0\ny,3,0\n", r"column 'a' \(and 1 more\) is not numeric: 2 of 2 cells, such as 'x'"),
    "missing": ("a,c,y\n1,,0\n2,,0\n,3,1\n", r"column 'a' \(and 1 more\) has 1 empty or infinite cells of 3"),
    "empty column": ("a,c,y\n1,,0\n2,,0\n", "column 'c' has 2 empty or infinite cells of 2; fill them or drop"),
    "infinite": ("a,y\ninf,0\n", "column 'a' has 1 empty or infinite cells of 1"),
    "short rows": ("a,b,y\n1,2,3\n1\n", "the target 'y' has 1 empty cells of 2|column 'b' has 1 empty"),
    "missing target": ("a,y\n1,x\n2,\n", "the target 'y' has 1 empty cells of 2; drop those rows"),
    "infinite target": ("a,y\n1,inf\n2,0.5\n", "the target 'y' has 1 NaN or infinite cells of 2"),
    "duplicate": ("a,a,y\n1,2,3\n", "the column name 'a' appears more than once"),
    "no name": ("a,,y\n0,2,3\n", "column 2 has no name in the first line"),
    "long row": ("a,y\n1,2\n1,2,3\n", "malformed CSV: Expected 2 fields in line 3, saw 3"),
    "long rows": ("a,y\n1,2,3\n1,2,3\n", "malformed CSV: rows have more cells than the first line"),
    "quote": ('a,y\n1,"2\n', "malformed CSV"),
}


@pytest.mark.parametrize("fault", CSV_FAULTS)
def test_faults_of_a_csv_are_named_in_one_line(tmp_path, fault):
    text, message = CSV_FAULTS[fault]
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=message) as caught:
        read_table(path, target="y")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_long_lists_of_columns_are_shortened(tmp_path):
    path = _write(tmp_path / "wide.csv", pd.DataFrame(np.ones((1, 300)), columns=[f"c{i}" for i in range(300)]))
    with pytest.raises(ArgumentError, match=r"'c7', … \(300 in all\)") as caught:
        read_table(path, target="y")
    assert len(str(caught.value)) < 300 + len(str(path))


def test_missing_columns_are_named_with_the_closest(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("lenght,width\n1,2\n")
    with pytest.raises(ArgumentError, match=r"a column is missing: 'length' \(is 'lenght' meant\?\)"):
        read_table(path, columns=["length", "width"])
    with pytest.raises(ArgumentError, match="2 of the 3 columns of the model are missing: 'p', 'q'"):
        read_table(path, columns=["width", "p", "q"])


FILE_FAULTS = {
    "no.xls": (None, r"unknown ending '\.xls'; use one of \.csv, \.parquet, \.npz"),
    "bad.parquet": (b"not parquet at all", "this is not a readable Parquet file"),
    "latin.csv": ("a,y\n1,å\n".encode("latin-1"), "this is not UTF-8 text"),
    "bad.npz": (b"PK not a zip", "this NPZ file is damaged"),
}


@pytest.mark.parametrize("name", FILE_FAULTS)
def test_faults_of_files(tmp_path, name):
    content, message = FILE_FAULTS[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ArgumentError, match=message):
        read_table(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no\.csv"):
        read_table(tmp_path / "no.csv")
    with pytest.raises(ArgumentError, match="this is a folder"):
        read_table(tmp_path / "folder.csv")


def test_dates_are_not_numbers(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"]), "y": [0, 1]}).to_parquet(path)
    with pytest.raises(ArgumentError, match="column 'when' is not numeric: 2 of 2 cells, such as 2020-01-01"):
        read_table(path, target="y")
    with pytest.raises(ArgumentError, match="the target 'when' must be numbers, text or booleans"):
        read_table(path, target="when")


def test_npz_needs_no_pandas(tmp_path, monkeypatch):
    monkeypatch.setattr(optional, "available", lambda module: False)
    path = tmp_path / "t.npz"
    np.savez(path, X=np.eye(2, dtype=np.float32), label=[3, 4], feature_names=["p", "q"])
    table = read_table(path, target="label")
    assert table.names == ("p", "q")
    assert table.target.tolist() == [3, 4]
    np.testing.assert_array_equal(read_table(path, columns=["q", "p"]).X, [[0, 1], [1, 0]])
    write_columns(tmp_path / "out.csv", {"prediction": np.array([1, 2])})
    with pytest.raises(MissingDependencyError, match=r'reading a CSV table needs pandas: pip install "pandas>='):
        read_table(tmp_path / "out.csv")


NPZ_FAULTS = {
    "no X": ({"x": [1]}, "there is no array 'X' with the features; the arrays are 'x'"),
    "flat": ({"X": [1.0], "y": [1]}, r"'X' must be an \(n, d\) array of numbers; it has shape \(1,\)"),
    "text": ({"X": [["a"]], "y": [1]}, r"'X' must be an \(n, d\) array of numbers; .* dtype <U1"),
    "NaN": ({"X": [[np.nan, 1.0]], "y": [1]}, "column 0 of 'X' has 1 empty or infinite cells of 1"),
    "no target": ({"X": [[1.0]], "label": [1]}, "there is no array 'y'; the arrays are 'label'"),
    "length": ({"X": [[1.0]], "y": [1, 2]}, r"the target 'y' must have shape \(1,\), as 'X' has 1 row, not \(2,\)"),
    "names": ({"X": [[1.0]], "y": [1], "feature_names": ["a", "b"]}, "'feature_names' has 2 names for 1 columns"),
    "pickle": ({"X": np.array([[1, None]]), "y": [1]}, "holds object arrays, which are not read"),
}


@pytest.mark.parametrize("fault", NPZ_FAULTS)
def test_faults_of_an_npz(tmp_path, fault):
    arrays, message = NPZ_FAULTS[fault]
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ArgumentError, match=message) as caught:
        read_table(tmp_path / "bad.npz", target="y")
    assert "bad.npz" in str(caught.value)


def test_no_pickle_is_ever_run(tmp_path):
    np.savez(tmp_path / "bad.npz", X=np.array([[Harmful(tmp_path / "touched")]]), y=[1])
    with pytest.raises(ArgumentError, match="holds object arrays"):
        read_table(tmp_path / "bad.npz", target="y")
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(("ending", "arrow"), [(".csv", True), (".csv", False), (".parquet", True), (".npz", True)])
def test_predictions_are_written_and_read_back(tmp_path, ending, arrow, monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.tables.writers.available", lambda module: arrow)
    path = tmp_path / f"out{ending}"
    columns = {"prediction": np.array(["a", "b,\n"], dtype=object), "score": np.array([0.1 + 0.2, -1e-300])}
    write_columns(path, columns)
    if ending == ".npz":
        with np.load(path) as back:
            read = {name: back[name].tolist() for name in back.files}
    else:
        frame = read_csv(path) if ending == ".csv" else pd.read_parquet(path)
        read = {name: frame[name].tolist() for name in frame}
    assert read == {name: values.tolist() for name, values in columns.items()}


def test_weights_are_a_column_apart(saved):
    path = _write(saved, _frame().assign(w=[0, 2, 5]))
    table = read_table(path, target="kind", weights="w")
    assert table.names == ("b", "a", "flag")
    assert (table.weights.tolist(), table.weights.dtype) == ([0.0, 2.0, 5.0], np.float64)
    assert read_table(path, target="kind", weights="flag").weights.tolist() == [1.0, 0.0, 1.0]
    assert read_table(path, target="kind").names == ("b", "a", "flag", "w")
    picked = read_table(path, target="kind", weights="w", columns=["a"])
    assert picked.ignored == ("b", "flag")
    assert picked.weights.tolist() == [0.0, 2.0, 5.0]
    grouped = read_table(path, target="flag", groups="kind")
    assert (grouped.names, grouped.groups.tolist()) == (("b", "a", "w"), ["x", "y", "x"])


def test_weights_may_be_missing_where_they_are_not_needed(saved, tmp_path):
    table = read_table(saved, target="kind", weights="w", need_weights=False)
    assert table.weights is None
    assert table.names == ("b", "a", "flag")
    np.savez(tmp_path / "t.npz", X=np.eye(2), w=[[1], [3]], who=["p", "q"])
    assert read_table(tmp_path / "t.npz", groups="who").groups.tolist() == ["p", "q"]
    assert read_table(tmp_path / "t.npz", weights="w").weights.tolist() == [1.0, 3.0]
    assert read_table(tmp_path / "t.npz", weights="v", need_weights=False).weights is None


WEIGHT_FAULTS = {
    "missing": ("W", [1, 2], r"there is no column 'W' of weights; the columns are 'a', 'w' \(is 'w' meant\?\)\."),
    "negative": ("w", [-2, 1], r"the weights 'w' must be numbers ≥ 0: 1 of 2 are negative, such as -2; 0 leaves"),
    "all zero": ("w", [0, 0], "the weights 'w' are all zero, which leaves no row; give some row a weight"),
    "text": ("w", ["x", 1], "column 'w' is not numeric: 1 of 2 cells, such as 'x'; weights are numbers ≥ 0"),
    "empty": ("w", [None, 1], "the weights 'w' have 1 empty or infinite cells of 2; fill them, 0 leaves a row out"),
    "infinite": ("w", [np.inf, 1], "the weights 'w' have 1 empty or infinite cells of 2"),
    "nothing else": ("a", [1, 1], "there is no feature column beside the target 'w' and the weights 'a'"),
}


@pytest.mark.parametrize("case", WEIGHT_FAULTS)
def test_faults_of_weights(tmp_path, case):
    name, values, message = WEIGHT_FAULTS[case]
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": [1, 2], "w": values}).to_csv(path, index=False)
    with pytest.raises(ArgumentError, match=message):
        read_table(path, weights=name, target="w" if case == "nothing else" else None)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"the array of weights 'w' must have shape \(2,\), as 'X' has 2 rows, not \(1,\)"),
        (["a", "b"], "the weights 'w' must be numbers, not <U1"),
        ([1.0, np.nan], "the weights 'w' have 1 empty or infinite cells of 2"),
        (None, r"there is no array 'w'; the arrays are 'y'"),
    ],
)
def test_faults_of_weights_in_an_npz(tmp_path, weights, message):
    np.savez(tmp_path / "t.npz", X=np.eye(2), y=[1, 2], **({} if weights is None else {"w": weights}))
    with pytest.raises(ArgumentError, match=message):
        read_table(tmp_path / "t.npz", target="y", weights="w")


@pytest.mark.parametrize("ending", [".csv", ".npz", ".parquet"])
def test_predictions_appear_complete_or_not_at_all(tmp_path, ending):
    path = tmp_path / f"out{ending}"
    path.write_text("old")
    path.chmod(0o640)

    def interrupted():
        with written_columns(path) as write:
            write({"prediction": np.array(["a", "b"])})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    write_columns(path, {"prediction": np.array(["a", "b"])})
    assert path.read_bytes() != b"old"
    assert path.stat().st_mode & 0o777 == 0o640
