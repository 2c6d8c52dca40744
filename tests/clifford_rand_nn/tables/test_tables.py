"""Tables: what is read back, and one sentence for everything that can be wrong with a file."""

import numpy as np
import pytest

import clifford_rand.errors as optional
from clifford_rand.errors import ArgumentError, MissingDependencyError
from clifford_rand_nn.tables import read_table
from clifford_rand_nn.tables.formats import read_blocks
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


WEIGHTED = {"weights": "w"}
DAYS = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"]), "y": [0, 1]})
FAULTS = {  # of a file: its content, text, bytes, arrays or a frame, options if not target="y", and the error
    "empty.csv": ("", {}, "the file is empty"),
    "blank.csv": ("\n\n", {}, "the file is empty"),
    "no rows.csv": ("a,b,y\n", {}, "the table has columns but no rows"),
    "no target.csv": ("a,Y\n1,2\n", {}, r"there is no column 'y'; the columns are 'a', 'Y' \(is 'Y' meant\?\)"),
    "only target.csv": ("y\n1\n", {}, "there is no feature column beside the target 'y'"),
    "text.csv": ("a,c,y\n1,Oslo,0\n2,3,0\n", {}, "column 'c' is not numeric: 1 of 2 cells, such as 'Oslo'; encode it"),
    "two text.csv": ("a,c,y\nx,O,0\ny,3,0\n", {}, r"'a' \(and 1 more\) is not numeric: 2 of 2 cells, such as 'x'"),
    "missing.csv": ("a,c,y\n1,,0\n2,,0\n,3,1\n", {}, r"column 'a' \(and 1 more\) has 1 empty or infinite cells of 3"),
    "empty column.csv": ("a,c,y\n1,,0\n2,,0\n", {}, "column 'c' has 2 empty or infinite cells of 2; fill them or drop"),
    "infinite.csv": ("a,y\ninf,0\n", {}, "column 'a' has 1 empty or infinite cells of 1"),
    "short rows.csv": ("a,b,y\n1,2,3\n1\n", {}, "the target 'y' has 1 empty cells of 2|column 'b' has 1 empty"),
    "missing target.csv": ("a,y\n1,x\n2,\n", {}, "the target 'y' has 1 empty cells of 2; drop those rows"),
    "infinite target.csv": ("a,y\n1,inf\n2,0.5\n", {}, "the target 'y' has 1 NaN or infinite cells of 2"),
    "duplicate.csv": ("a,a,y\n1,2,3\n", {}, "the column name 'a' appears more than once"),
    "no name.csv": ("a,,y\n0,2,3\n", {}, "column 2 has no name in the first line"),
    "long row.csv": ("a,y\n1,2\n1,2,3\n", {}, "malformed CSV: Expected 2 fields in line 3, saw 3"),
    "long rows.csv": ("a,y\n1,2,3\n1,2,3\n", {}, "malformed CSV: rows have more cells than the first line"),
    "quote.csv": ('a,y\n1,"2\n', {}, "malformed CSV"),
    "title.csv": ("Sales 2020\n\na;y\n1;2\n", {}, "'Sales 2020', holds no names: the 2 cells of the others are sep"),
    "mark.csv": ("sep=;\na;y\n1;2\n", {}, "the first line, 'sep=;', holds no names: .* remove what stands above"),
    "wide.csv": (",".join(f"c{i}" for i in range(300)) + "\n", {}, r"'c7', … \(300 in all\)\.$"),
    "closest.csv": (
        "lenght,width\n1,2\n",
        {"columns": ["length", "width"]},
        r"column is missing: 'length' \(is 'lenght' meant\?\)",
    ),
    "several.csv": (
        "a,width\n1,2\n",
        {"columns": ["width", "p", "q"]},
        "2 of the 3 columns of the model are missing: 'p', 'q'",
    ),
    "no.xls": (None, {}, r"unknown ending '\.xls'; use one of \.csv, \.parquet, \.npz"),
    "bad.parquet": (b"not parquet at all", {}, "this is not a readable Parquet file"),
    "latin.csv": ("a,y\n1,å\n".encode("latin-1"), {}, "this is not UTF-8 text"),
    "bad.npz": (b"PK not a zip", {}, "this NPZ file is damaged"),
    "dates.parquet": (DAYS, {}, "column 'when' is not numeric: 2 of 2 cells, such as 2020-01-01"),
    "days.parquet": (DAYS, {"target": "when"}, "the target 'when' must be numbers, text or booleans"),
    "no X.npz": ({"x": [1]}, {}, "there is no array 'X' with the features; the arrays are 'x'"),
    "flat.npz": ({"X": [1.0], "y": [1]}, {}, r"'X' must be an \(n, d\) array of numbers; it has shape \(1,\)"),
    "text.npz": ({"X": [["a"]], "y": [1]}, {}, r"'X' must be an \(n, d\) array of numbers; .* dtype <U1"),
    "NaN.npz": ({"X": [[np.nan, 1.0]], "y": [1]}, {}, "column 0 of 'X' has 1 empty or infinite cells of 1"),
    "no target.npz": ({"X": [[1.0]], "label": [1]}, {}, "there is no array 'y'; the arrays are 'label'"),
    "length.npz": ({"X": [[1.0]], "y": [1, 2]}, {}, r"target 'y' must have shape \(1,\), as 'X' has 1 row, not \(2,\)"),
    "names.npz": ({"X": [[1.0]], "y": [1], "feature_names": ["a", "b"]}, {}, "'feature_names' has 2 names for 1 col"),
    "no weights.csv": (
        "a,w\n1,1\n2,2\n",
        {"weights": "W"},
        r"no column 'W' of weights; the columns are 'a', 'w' \(is 'w' meant\?\)",
    ),
    "negative.csv": ("a,w\n1,-2\n2,1\n", WEIGHTED, "weights 'w' must be numbers ≥ 0: 1 of 2 .*, such as -2; 0 leaves"),
    "all zero.csv": ("a,w\n1,0\n2,0\n", WEIGHTED, "the weights 'w' are all zero, which leaves no row; give some row a"),
    "words.csv": ("a,w\n1,x\n2,1\n", WEIGHTED, "'w' is not numeric: 1 of 2 cells, such as 'x'; weights are num"),
    "gap.csv": ("a,w\n1,\n2,1\n", WEIGHTED, "the weights 'w' have 1 empty or infinite cells of 2; fill them, 0 leaves"),
    "infinite weights.csv": ("a,w\n1,inf\n2,1\n", WEIGHTED, "the weights 'w' have 1 empty or infinite cells of 2"),
    "nothing else.csv": (
        "a,w\n1,1\n",
        {"target": "w", "weights": "a"},
        "no feature column beside the target 'w' and the weights 'a'",
    ),
    "one weight.npz": (
        {"X": np.eye(2), "w": [1.0]},
        WEIGHTED,
        r"array of weights 'w' must have shape \(2,\), as 'X' has 2 rows, not",
    ),
    "words.npz": ({"X": np.eye(2), "w": ["a", "b"]}, WEIGHTED, "the weights 'w' must be numbers, not <U1"),
    "gap.npz": ({"X": np.eye(2), "w": [1.0, np.nan]}, WEIGHTED, "the weights 'w' have 1 empty or infinite cells of 2"),
    "no weights.npz": ({"X": np.eye(2), "y": [1, 2]}, WEIGHTED, r"there is no array 'w'; the arrays are 'y'"),
}
IN_BLOCKS = ("no rows", "no name", "long row", "long rows", "quote", "title", "mark")  # which need no column of a name


@pytest.mark.kept("missing.csv")
@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_a_file_are_named_in_one_line(tmp_path, name):
    (content, options, message), path = FAULTS[name], tmp_path / name
    if isinstance(content, dict):
        np.savez(path, **content)
    elif isinstance(content, pd.DataFrame):
        content.to_parquet(path)
    elif content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ArgumentError, match=message) as caught:
        read_table(path, **(options or {"target": "y"}))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300 + len(str(path))
    for blocks in ({}, {"columns": ["y"], "rows": 1}) if path.stem in IN_BLOCKS else ():
        with pytest.raises(ArgumentError, match=message):
            list(read_blocks(path, **blocks))


def test_files_that_are_none(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no\.csv"):
        read_table(tmp_path / "no.csv")
    with pytest.raises(ArgumentError, match="this is a folder"):
        read_table(tmp_path / "folder.csv")


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
