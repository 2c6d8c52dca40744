"""Arrow's parser reads what pandas reads, bit for bit, or leaves it to pandas."""

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.tables import TableEncoder, read_blocks
from clifford_rand_nn.tables.arrow_csv import MISSING_NUMBERS, MISSING_WORDS, ArrowPieces
from clifford_rand_nn.tables.cells import numbers
from clifford_rand_nn.tables.dialect import find_dialect

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

MARKS = [*MISSING_WORDS, *MISSING_NUMBERS]
CELLS = ["1", "-0", "-0.0", "+1.5", " 1.5", "1.5 ", ".5", "5.", "007", "1e5", "1E-5", "1e400", "-1e400", "1e-400"]
CELLS += ["4.9e-324", "2.2250738585072011e-308", "1.7976931348623159e308", "0.1234567890123456789", "9007199254740993"]
CELLS += ["18446744073709551616", "inf", "-INF", "Infinity", "NAN", "nan(1)", "?", "old", "12 %", "$1,234.50", "1,5"]
CELLS += ["12.000", "0x10", "1_000", "1.5e", "1 2", "--1", "True", "yes", " ", "\u00a01", "é", "１", *MARKS]


def _blocks(path, monkeypatch, *, arrow, **options):
    if not arrow:
        with monkeypatch.context() as patch:
            patch.setattr(ArrowPieces, "of", lambda *args: None)
            return list(read_blocks(path, **options))
    return list(read_blocks(path, **options))


def _arrow(path, as_number, as_text=()):
    dialect = find_dialect(path)
    return ArrowPieces.of(dialect, range(len(dialect.names)), as_number, as_text)


@pytest.mark.parametrize(
    ("decimal", "cells"),
    [(".", CELLS), (",", ["1,5", ",5", "-0,0", "1,5e3", "1.5", "12.000", "1.234,5", "7", "9,5 €", "old", *MARKS[:3]])],
)
def test_a_cell_is_what_pandas_makes_of_it(tmp_path, monkeypatch, decimal, cells):
    path = tmp_path / "t.csv"
    options = {"as_number": ["a"], "as_text": ["b"], "separator": "|", "decimal": decimal}
    for cell in cells:
        path.write_text(f"a|b\n0{decimal}5|x\n{cell}|{cell}\n", encoding="utf-8")
        [found], [expected] = (_blocks(path, monkeypatch, arrow=arrow, **options) for arrow in (True, False))
        (values, odd), (right, said) = numbers(found["a"]), numbers(expected["a"])
        assert (values.tobytes(), odd) == (right.tobytes(), said), cell
        pd.testing.assert_series_equal(found["b"], expected["b"], obj=cell)


@pytest.mark.parametrize(("separator", "decimal", "end"), [(",", ".", "\n"), (";", ",", "\r\n"), ("\t", ".", "\n")])
def test_decimals_are_the_nearest_doubles(tmp_path, separator, decimal, end):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2**63, size=(150, 4)).view(np.float64)  # of any exponent
    X[:, 1] = rng.normal(size=150).round(4)
    X[:, 2] = rng.integers(-(2**40), 2**40, size=150)
    X[~np.isfinite(X)] = 1.5
    words = [[repr(value).replace(".", decimal) for value in row] for row in X.tolist()]
    words[7][1] = words[8][3] = ""
    X[7, 1] = X[8, 3] = np.nan
    path = tmp_path / "t.csv"
    text = end.join(separator.join(row) for row in [["a", "b", "c", "d"], *words])
    path.write_text(text + end + end, newline="")
    arrow = _arrow(path, list("abcd"))
    assert arrow(text.split(end, 1)[1].encode()) is not None  # not by pandas
    found = list(read_blocks(path, rows=40, as_number=list("abcd")))
    assert len(found) > 2
    assert np.ascontiguousarray(pd.concat(found)).tobytes() == X.tobytes()


def test_marks_of_missing_cells_are_those_of_pandas():
    from pandas._libs.parsers import STR_NA_VALUES

    assert set(MARKS) == STR_NA_VALUES


@pytest.mark.parametrize(
    "rows", ["1,2,3\n", "1\n", "1,NAN\n", "1,nan(1)\n", "1,old\n", "1,yes\n", "1,2\n\n \n", "1,\u00e9\n", "1,?\n"]
)
def test_what_is_left_to_pandas_is_not_read(tmp_path, rows):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    arrow = _arrow(path, ["a", "b"])
    assert arrow(b"1,2\n").to_numpy().tolist() == [[1, 2]]
    assert arrow(f"1,2\n{rows}".encode()) is None
    assert arrow(b"1,2\n") is not None  # once is not more often than not
    assert [arrow(f"1,2\n{rows}".encode()) for _ in range(2)] == [None, None]
    assert arrow(f"1,2\n{rows}".encode()) is None
    assert arrow(b"1,2\n") is None


def test_what_tables_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,x,2\n")
    assert _arrow(path, ["a", "c"], ["b"]) is not None
    assert _arrow(path, ["a", "c"]) is None  # b may be anything
    assert _arrow(path, [], ["a", "b", "c"]) is None  # nothing to gain
    assert _arrow(path, ["a", "b", "c"], ["b"])(b"1,x,2\n1,NA,2\n")["b"].isna().tolist() == [False, True]
    assert _arrow(path, ["a", "c"], ["b"])(b"1,x\0y,2\n") is None
    path.write_text("a, b\n1, x\n")
    assert _arrow(path, ["a"], ["b"]) is None  # the spaces belong to no cell
    path.write_text("a\n1\n")
    assert _arrow(path, ["a"]) is None  # a line without a cell is none to pandas
    path.write_bytes(b"a,b,c\n1,x,2\n" + b"3,\xe9,4\n" * 2**16)  # beyond what is looked at for the encoding
    with pytest.raises(ArgumentError, match="not UTF-8 text"):
        list(read_blocks(path, columns=["a", "c"], as_number=["a", "c"]))


def test_bad_cells_of_a_later_piece_are_told(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": np.arange(60) / 8, "b": np.arange(60)})
    encoder = TableEncoder(numeric=["b"]).fit(frame)
    path = tmp_path / "t.csv"
    text = frame.to_csv(index=False)
    told = []
    for arrow in (True, False):
        for bad in ("6.25,old", "6.25,50,0"):
            path.write_text(text.replace("6.25,50", bad))
            try:
                blocks = _blocks(path, monkeypatch, arrow=arrow, rows=8, as_number=encoder.number_columns)
                rows, notes = encoder.encode(pd.concat(blocks))
                told.append(f"{notes.unread} {rows[50].tolist()}")
            except ArgumentError as error:
                told.append(str(error))
    assert told[:2] == told[2:]
    assert told[0] == "{'b': (1, 'old', 50)} [6.25, 29.5]"
    assert "malformed CSV" in told[1]


def test_columns_can_be_chosen_of_those_there(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [3.5, 4.5], "c": [5.5, 6.5]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", X=frame.to_numpy(), feature_names=np.array(["a", "b", "c"]))
    for ending in ("csv", "parquet", "npz"):
        seen = []

        def chosen(there, seen=seen):
            seen.append(there)
            return ["c", "a"]

        [found] = read_blocks(tmp_path / f"t.{ending}", columns=chosen)
        pd.testing.assert_frame_equal(found, frame[["c", "a"]])
        assert seen == [["a", "b", "c"]]
