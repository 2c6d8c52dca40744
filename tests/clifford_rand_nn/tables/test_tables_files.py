"""Files as people have them: separators, decimal commas, encodings, compression, headers, ARFF; and in blocks."""

import datetime as dt
import gzip
import struct
import zipfile

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError, MissingDependencyError
from clifford_rand_nn.tables import TableEncoder, default_target, dialect, read_frame
from clifford_rand_nn.tables.cells import distinct
from clifford_rand_nn.tables.encoded_rows import columns_as_number, columns_as_text, encode
from clifford_rand_nn.tables.formats import read_blocks
from support.clock import fastest

pd = pytest.importorskip("pandas")


def _write(path, text, encoding="utf-8"):
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


THOUSANDS = "semicolons|with a comma, thousands with a point"
FILES = {
    "commas": ("t.csv", "a,b\n1.5,x\n2,y\n", [[1.5, 2], ["x", "y"]], ""),
    "semicolons": ("t.csv", "a;b\n1,5;x\n2;y\n", [[1.5, 2], ["x", "y"]], "semicolons|with a comma"),
    "no decimal comma": ("t.csv", "a;b\n1.5;x,z\n2;y,z\n", [[1.5, 2], ["x,z", "y,z"]], "semicolons"),
    "tabs in .csv": ("t.csv", "a\tb\n1.5\tx, z\n2\ty, z\n", [[1.5, 2], ["x, z", "y, z"]], "tabs"),
    "tabs": ("t.tsv", "a\tb\n1.5\tx\n2\ty\n", [[1.5, 2], ["x", "y"]], ""),
    "bars": ("t.csv", "a|b\n1.5|x\n2|y\n", [[1.5, 2], ["x", "y"]], "bars"),
    "compressed": ("t.csv.gz", "a,b\n1.5,x\n2,y\n", [[1.5, 2], ["x", "y"]], ""),
    "compressed tabs": ("t.tsv.gz", "a\tb\n1.5\tx\n2\ty\n", [[1.5, 2], ["x", "y"]], ""),
    "mark": ("t.csv", "\ufeffa,b\n1.5,x\n2,y\n", [[1.5, 2], ["x", "y"]], ""),
    "index": ("t.csv", ",a,b\n0,1.5,x\n1,2,y\n", [[1.5, 2], ["x", "y"]], "row index and left out"),
    "last separators": (
        "t.csv",
        "a,b,,\n1.5,x,,\n2,y,,\n",
        [[1.5, 2], ["x", "y"]],
        "column 3 has neither|column 4 has",
    ),
    "quotes": ("t.csv", '"a";"b"\n1,5;"x\n;z"\n2;"y ""u"""\n', [[1.5, 2], ["x\n;z", 'y "u"']], "semicolons|comma"),
    "spaces": ("t.csv", "a, b\n1.5, x\n2, y\n", [[1.5, 2], ["x", "y"]], ""),
    "quotes after spaces": ("t.csv", 'a, b\n1.5, "x, z"\n2, "y"\n', [[1.5, 2], ["x, z", "y"]], ""),
    "names in quotes after spaces": ("t.csv", '"a"; "b"\n1,5; "x; z"\n2; y\n', [[1.5, 2], ["x; z", "y"]], "s|c"),
    "R": ("t.txt", '"a" "b"\n"Mazda RX4" 1.5 "x"\n"Fiat" 2 "y"\n', [[1.5, 2], ["x", "y"]], "by spaces|row index"),
    "blank lines": ("t.csv", "\n\na,b\n1.5,x\n\n2,y\n", [[1.5, 2], ["x", "y"]], ""),
    "thousands": ("t.csv", "a;b\n1,5;12.000\n2;950\n", [[1.5, 2], [12000, 950]], THOUSANDS),
    "thousands and fractions": (
        *("t.csv", "a;b\n1.234,5;1.000\n-12.000,25;1.234.567\n"),
        *([[1234.5, -12000.25], [1000, 1234567]], THOUSANDS),
    ),
    "dates": ("t.csv", "a;b\n1,5;01.12.2020\n2;02.12.2020\n", [[1.5, 2], ["01.12.2020", "02.12.2020"]], "s|c"),
    "points are decimals": ("t.csv", "a;b\n1,234;0.5\n2,345;12.000\n", [["1,234", "2,345"], [0.5, 12]], "semicolons"),
    "codes": ("t.csv", "a,b\n01234,0.5\n10115,0\n", [["01234", "10115"], [0.5, 0]], ""),
    "codes after spaces": ("t.csv", " a, b\n01234,0.5\n10115,0\n", [["01234", "10115"], [0.5, 0]], ""),
    "old Macintosh": ("t.csv", "a,b\r1.5,x\r2,y\r", [[1.5, 2], ["x", "y"]], ""),
    "windows": ("t.csv", "a,b\r\n1.5,x\r\n2,y\r\n", [[1.5, 2], ["x", "y"]], ""),
}


@pytest.mark.parametrize("case", FILES)
def test_how_a_file_is_written_is_found_out_and_said(tmp_path, case):
    name, text, columns, said = FILES[case]
    path = _write(tmp_path / name, text)
    frame = read_frame(path)
    assert list(frame.columns) == ["a", "b"]
    assert [frame[name].tolist() for name in frame] == columns
    notes = frame.attrs["notes"]
    assert len(notes) == len([part for part in said.split("|") if part])
    assert all(part in " ".join(notes) for part in said.split("|"))
    assert default_target(path) == "b"
    pd.testing.assert_frame_equal(pd.concat(read_blocks(path, rows=1)), frame, check_dtype=False)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_encodings_by_their_byte_order_mark(tmp_path, encoding):
    path = _write(tmp_path / "t.csv", "\ufeffa;b\n1,5;å\n2;ß\n", encoding)
    for frame in (read_frame(path), *read_blocks(path)):
        assert frame.to_dict("list") == {"a": [1.5, 2], "b": ["å", "ß"]}
    with pytest.raises(ArgumentError, match=r"this is not UTF-8 text; save it in UTF-8, or give the .* utf-16-le"):
        read_frame(_write(path, "a;b\n1,5;å\n", encoding))


@pytest.mark.parametrize("name", ["Age\n(years)", "Age\r\n(years)", 'a ""b"",\n;c', "a\n\nb", "1\n2;3"])
@pytest.mark.parametrize(("separator", "first"), [(",", True), (";", False), ("\t", True)])
def test_line_breaks_in_names(tmp_path, name, separator, first):
    names = [f'"{name}"', "b", "y"] if first else ["b", "y", f'"{name}"']
    rows = [separator.join(names), *(separator.join((f"{i}", f"{i * 2}", "u")) for i in range(9))]
    path = _write(tmp_path / "t.csv", "\n".join(rows) + "\n")
    for frame in (read_frame(path), *read_blocks(path)):
        assert frame.columns.tolist() == [one.strip('"').replace('""', '"') for one in names]
        assert frame.iloc[:, 0].tolist() == list(range(9))


@pytest.mark.parametrize(("length", "row"), [(131_072, 8), (200_000, 2), (300_000, 0)])
def test_long_cells(tmp_path, length, row):
    cells = ["x, y\n" * (length // 5) if i == row else "x" for i in range(9)]
    path = _write(tmp_path / "t.csv", "text,y\n" + "".join(f'"{cell}",{i % 2}\n' for i, cell in enumerate(cells)))
    for frame in (read_frame(path), *read_blocks(path)):
        assert frame["text"].tolist() == cells
        assert frame["y"].tolist() == [i % 2 for i in range(9)]


TEXTS = {
    "spaces": ("  a    b\n  1.5  2\n 12.5 30  \n", [[1.5, 12.5], [2, 30]]),
    "spaces and tabs": ("a \t b\n1.5\t2\n12.5   30\n", [[1.5, 12.5], [2, 30]]),
    "commas in decimals": ("a b\n1,5 2\n12,5 30\n", [[1.5, 12.5], [2, 30]]),
    "tab before names": ('1.5 2   3\t"x y"\n12.5 30  4\t"z u"\n', None),
    "few numbers": ("c town a b\nx oslo 1.5 2\ny rome 12.5 30\n", None),
    "words": ('a b\n1.5 x\n12.5 "y z"\n', [[1.5, 12.5], ["x", "y z"]]),
    "comments": ("# made by me, today\n#\n\n# twice\na,b\n1,x\n2,#y\n", [[1, 2], ["x", "#y"]]),
    "comment like rows": ("# u, v\na,b\nx,y\nz,y\n", [["x", "z"], ["y", "y"]]),
    "savetxt": ("# a b\n1.5e+00 2\n1.25e+01 30\n", [[1.5, 12.5], [2, 30]]),
    "savetxt, commas": ("# me\n# a,b\n1.5e+00,2\n", [[1.5], [2]]),
}


@pytest.mark.parametrize(
    ("case", "ending"), [*((case, "txt") for case in TEXTS), ("spaces", "dat"), ("words", "csv"), ("savetxt", "zip")]
)
def test_spaces_and_comments(tmp_path, case, ending):
    text, columns = TEXTS[case]
    path = tmp_path / f"t.{ending}"
    if columns is None:
        frame = read_frame(_write(tmp_path / "t.txt", text), header=case == "few numbers")
        expected = [[1.5, 2], [12.5, 30]] if case == "few numbers" else [[3, "x y"], [4, "z u"]]
        assert frame.iloc[:, -2:].to_numpy().tolist() == expected
        return
    if ending == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("folder/t.txt", text)
            archive.writestr("__MACOSX/._t.txt", b"\0\1")
    else:
        _write(path, text)
    for frame in (read_frame(path), *read_blocks(path)):
        assert frame.to_dict("list") == dict(zip("ab", columns, strict=True))
    assert default_target(path) == "b"
    pd.testing.assert_frame_equal(pd.concat(read_blocks(path, rows=1)), read_frame(path), check_dtype=False)


def test_decimal_commas_beside_units_and_bad_cells(tmp_path):
    cells = [f"{i},{i:03d}" for i in range(40)]
    frame = pd.DataFrame({"a": [*cells[:-1], "n.d."], "kg": [f"{cell} kg" for cell in cells], "n": cells, "t": "1,5"})
    frame["t"] = ["1,5", "XL"] * 20
    frame.to_csv(tmp_path / "t.csv", sep=";", index=False)
    whole = read_frame(tmp_path / "t.csv")
    values = [i + i / 1000 for i in range(40)]
    assert whole["n"].tolist() == values
    assert whole["t"].tolist() == ["1,5", "XL"] * 20
    encoder = TableEncoder().fit(whole)
    kinds = {"string_columns": columns_as_text(encoder), "as_number": columns_as_number(encoder)}
    for table in (whole, pd.concat(read_blocks(tmp_path / "t.csv", rows=9, **kinds))):
        X, notes = encode(encoder, table)
        assert X[:, :3].tolist() == [[np.median(values[:-1]) if i == 39 else v, v, v] for i, v in enumerate(values)]
        assert notes.unread == {"a": (1, "n.d.", 39)}


def test_comment_marks_that_begin_names(tmp_path):
    path = _write(tmp_path / "t.tsv", "##version 4\n#CHROM\tname\nchr1\tx\n")
    assert read_frame(path).to_dict("list") == {"#CHROM": ["chr1"], "name": ["x"]}
    path = _write(tmp_path / "t.csv", "#id,name\nu1,x\nu2,y\n")
    assert read_frame(path)["#id"].tolist() == ["u1", "u2"]
    path = _write(tmp_path / "t.csv", "# a b\n1 2\n3 4\n")
    assert read_frame(path, header=False).to_dict("list") == {"c1": [1, 3], "c2": [2, 4]}
    path = _write(tmp_path / "t.csv", "name\nJohn Smith\nJane Doe\n")
    assert read_frame(path)["name"].tolist() == ["John Smith", "Jane Doe"]


def test_archives_of_other_things(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
        archive.writestr("b.csv", "a\n1\n")
    (tmp_path / "no.zip").write_text("a\n1\n")
    for name, message in {"two": "holds 2 files, not one table; unpack it", "no": "not a readable zip file"}.items():
        for read in (read_frame, lambda path: list(read_blocks(path))):
            with pytest.raises(ArgumentError, match=message):
                read(tmp_path / f"{name}.zip")


def test_excel(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    days = pd.to_datetime(["2020-01-05", None, "2021-03-01"])
    columns = {"zip": ["01234", "10115", "04109"], "n": [1, None, 3], "day": days, "at": [dt.time(8, 30)] * 3}
    frame = pd.DataFrame(columns)
    path = tmp_path / "t.xlsx"
    frame.to_excel(path, index=False)
    for read in (read_frame(path), *read_blocks(path)):
        pd.testing.assert_frame_equal(read.astype({"at": str}), frame.astype({"at": str}), check_dtype=False)
        assert read.dtypes.astype(str).str.replace(r"\[.*", "", regex=True).tolist()[1:3] == ["float64", "datetime64"]
    assert default_target(path) == "at"
    frame.to_excel(path)
    assert "row index" in read_frame(path).attrs["notes"][1]
    frame.set_axis(["a", "a", "b", "c"], axis=1).to_excel(path, index=False)
    with pytest.raises(ArgumentError, match="the column name 'a' appears more than once"):
        read_frame(path)
    path.write_text("a,b\n")
    with pytest.raises(ArgumentError, match="this is not a readable Excel file"):
        read_frame(path)
    monkeypatch.setattr("clifford_rand.errors.available", lambda module: module != "openpyxl")
    with pytest.raises(MissingDependencyError, match=r"reading an Excel table needs openpyxl: pip install"):
        read_frame(path)


@pytest.mark.parametrize(
    ("late", "kind"),
    [("01049", "t.csv"), ('"01049"', "t.csv.gz"), (" 01049", "utf-16"), ("00", "semicolons"), ("007", "t.csv")],
)
def test_codes_keep_their_zeros_wherever_they_are(tmp_path, late, kind):
    rows = [f"{99999 - i},{i}.5,{'x' * 120}" for i in range(2200)]  # more than is looked at for the dialect
    text = "\n".join(["zip,n,note", *rows, f"{late},0.5,x", "7,00:15,y"]) + "\n"
    text = text.replace(",", ";") if kind == "semicolons" else text
    path = _write(tmp_path / (kind if kind[:2] == "t." else "t.csv"), text, "utf-16" if kind == "utf-16" else "utf-8")
    frame = read_frame(path)
    assert [str(cell).strip() for cell in frame["zip"].iloc[[0, -2, -1]]] == ["99999", late.strip(' "'), "7"]
    blocks = pd.concat(read_blocks(path, rows=500))
    assert blocks["zip"].tolist() == frame["zip"].tolist()
    assert pd.concat(read_blocks(path, columns=["n"])).iloc[-2, 0] in (0.5, "0.5")
    numbers = pd.concat(read_blocks(path, columns=["zip"], as_number=["zip"]))["zip"]
    assert numbers.tolist() == [float(cell.strip()) for cell in frame["zip"]]


def test_encodings_and_no_header(tmp_path):
    path = _write(tmp_path / "t.csv", "a,b\n1,å\n2,ß\n", "cp1252")
    with pytest.raises(ArgumentError, match=r"not UTF-8 text; save it in UTF-8, or give .* --encoding cp1252"):
        read_frame(path)
    assert read_frame(path, encoding="cp1252")["b"].tolist() == ["å", "ß"]
    path = _write(tmp_path / "t.csv", "1;2,5;x\n3;4,5;y\n")
    frame = read_frame(path, header=False)
    assert frame.to_dict("list") == {"c1": [1, 3], "c2": [2.5, 4.5], "c3": ["x", "y"]}
    assert "the columns are called c1 to c3" in frame.attrs["notes"][-1]
    assert next(read_blocks(path, header=False))["c2"].tolist() == [2.5, 4.5]
    assert read_frame(path, header=False, separator=";", decimal=".")["c2"].tolist() == ["2,5", "4,5"]


ONE_CHARACTER = "The 'separator' parameter of read_frame must be one ASCII character that ends no line"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *(({"separator": separator}, ONE_CHARACTER) for separator in ("ab", "é", "\n", "\r")),
        ({"decimal": ":"}, "The 'decimal' parameter of read_frame must be '.' or ','"),
        ({"encoding": "klingon"}, "must be an encoding that Python knows"),
    ],
)
def test_what_is_given_is_checked(tmp_path, given, message):
    with pytest.raises(ArgumentError, match=message):
        read_frame(_write(tmp_path / "t.csv", "a,b\n1,2\n"), **given)


def test_damaged_compression(tmp_path):
    path = tmp_path / "t.csv.gz"
    for content in (gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-9], b"a,b\n1,2\n"):
        path.write_bytes(content)
        for read in (read_frame, lambda path: list(read_blocks(path))):
            with pytest.raises(ArgumentError, match="not a readable gzip file"):
                read(path)


ARFF = """% made here
@RELATION sales
@ATTRIBUTE price NUMERIC
@ATTRIBUTE 'the city' {Oslo, 'New York'}
@attribute day date "yyyy-MM-dd"
@ATTRIBUTE note STRING
@DATA
1.5,Oslo,2020-01-31,'a, b'
?,'New York',2020-02-01,?
"""


@pytest.mark.parametrize("attribute", ["@attribute n", "@attribute n {x,x}", "@attribute n integer", "@attribute n {"])
def test_faults_in_arff_are_the_one_error(tmp_path, attribute):
    path = _write(tmp_path / "bad.arff", f"@relation r\n{attribute}\n@data\n1e999\n")
    with pytest.raises(ArgumentError, match="malformed ARFF"):
        read_frame(path)


@pytest.mark.parametrize("last", ["", '"2"\n'])  # from a quotation mark on a file is read in order
def test_marks_of_byte_order_within_a_file_are_part_of_cells(tmp_path, last):
    path = _write(tmp_path / "t.csv", "\ufeffa\n" + "\ufeffx\n\ufeff\n1\n" * 3 + last)
    cells = read_frame(path)["a"].tolist()
    assert cells[:3] == ["\ufeffx", "\ufeff", "1"]
    for rows in (1, 2, 100):
        assert [str(cell) for block in read_blocks(path, rows=rows) for cell in block["a"]] == cells
    bare = _write(tmp_path / "bare.csv", "\ufeff1\n2\n")
    assert [block["c1"].tolist() for block in read_blocks(bare, header=False)] == [[1, 2]]


def test_names_of_two_lines_are_names_in_blocks(tmp_path):
    path = _write(tmp_path / "t.csv", 'a;town;y,5",;"x \n|2|a;b";c\n1;2;3\n4;5;6\n')
    whole = read_frame(path)
    assert len(whole) == 2
    assert [len(block) for block in read_blocks(path)] == [2]
    assert list(next(read_blocks(path)).columns) == list(whole.columns)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('a, "b,c",\n1, "2,3",\n', {"a": [1], "b,c": ["2,3"]}),  # spaces before marks of quotation
        (' "a,b",,\n 1,,\n', {"a,b": [1]}),
        ('" a",b\n1,2\n', {" a": [1], "b": [2]}),
        ('a,"b\r\nc",\n1,2,\n', {"a": [1], "b\r\nc": [2]}),
        ("no name 1,,0|1,\n1,,2,\n", {"no name 1": [1], "0|1": [2]}),
    ],
)
def test_names_are_the_same_at_once_and_in_blocks(tmp_path, text, columns):
    path = _write(tmp_path / "t.csv", text)
    for frame in (read_frame(path), *read_blocks(path)):
        assert frame.to_dict("list") == columns


@pytest.mark.slow
def test_many_columns_without_a_name_take_the_time_of_one_each(tmp_path):
    def read(n):
        path = _write(tmp_path / f"{n}.csv", "a" + "," * n + "\n1" + "," * n + "\n")
        assert [frame.shape for frame in (read_frame(path), *read_blocks(path))] == [(1, 1)] * 2

    few, many = fastest(lambda: read(200), lambda: read(2000), rounds=2)
    assert many < 40 * few


def test_arff(tmp_path):
    path = _write(tmp_path / "t.arff", ARFF)
    frame = read_frame(path)
    assert frame["price"].tolist()[0] == 1.5
    assert frame["price"].isna().tolist() == [False, True]
    assert frame["the city"].tolist() == ["Oslo", "New York"]
    assert isinstance(frame["the city"].dtype, pd.CategoricalDtype)
    assert frame["day"].tolist() == ["2020-01-31", "2020-02-01"]
    assert frame["note"].tolist()[0] == "a, b"
    assert default_target(path) == "note"
    assert len(list(read_blocks(path, rows=1))) == 2
    for other in ("Bergen", "'%d%y z'"):  # liac-arff takes a % for a code
        with pytest.raises(ArgumentError, match=rf"malformed ARFF: Data value {other.strip(chr(39))} .* at line \d+\."):
            read_frame(_write(tmp_path / "bad.arff", ARFF.replace("1.5,Oslo", f"1.5,{other}")))


def test_parquet_with_dates_and_booleans(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"day": [dt.date(2020, 1, 1) + dt.timedelta(days=7 * i) for i in range(80)]})
    frame["stamp"] = pd.date_range("2021-01-01", periods=80, freq="5h", tz="Europe/Oslo")
    frame["flag"] = pd.array([True, False, None, True] * 20, dtype="boolean")
    frame["count"] = pd.array([1, 2, None, 4, 5] * 16, dtype="Int64")
    frame.to_parquet(path, row_group_size=30)
    whole = read_frame(path)
    encoder = TableEncoder().fit(whole)
    assert [kind.kind for kind in encoder.columns_] == ["date", "date", "boolean", "numeric"]
    X = np.vstack([encoder.transform(block) for block in read_blocks(path, rows=13)])
    np.testing.assert_array_equal(X, encoder.transform(whole))
    np.testing.assert_array_equal(X[:, 0], 7 * np.arange(80))


@pytest.mark.parametrize(("compressed", "order"), [(False, "C"), (True, "F")])
def test_npz_by_rows(tmp_path, compressed, order):
    path = tmp_path / "t.npz"
    X = np.asarray(np.arange(14.0).reshape(7, 2), order=order)
    (np.savez_compressed if compressed else np.savez)(path, X=X, y=np.array(list("abcabca")), other=[1, 2, 3])
    frame = read_frame(path)
    assert list(frame.columns) == ["x0", "x1", "y"]
    np.testing.assert_array_equal(frame[["x0", "x1"]], X)
    found = list(read_blocks(path, rows=3))
    assert [len(block) for block in found] == [3, 3, 1]
    pd.testing.assert_frame_equal(pd.concat(found), frame)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo("X.npy")
    begin = member.header_offset + 30 + sum(struct.unpack_from("<HH", data, member.header_offset + 26))
    data[begin + member.compress_size - 9] ^= 255
    path.write_bytes(data)
    with pytest.raises(ArgumentError, match="this NPZ file is damaged"):
        list(read_blocks(path, rows=3))


def test_blocks_are_the_file(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=500), "code": [f"{i:03d}" for i in range(500)]})
    frame["text"] = [f"line {i}" if i < 300 else f'line\n"{i}"' for i in range(500)]
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",")
    blocks = list(read_blocks(path, rows=40, string_columns=["code"]))
    assert len(blocks) > 8
    pd.testing.assert_frame_equal(pd.concat(blocks), frame, check_dtype=False)
    part = pd.concat(read_blocks(path, rows=40, columns=["text", "a"]))
    assert list(part.columns) == ["text", "a"]
    with pytest.raises(ArgumentError, match=r"there is no column 'A'; the columns are .* \(is 'a' meant\?\)"):
        list(read_blocks(path, columns=["A"]))


def test_bytes_that_are_not_text_are_found_in_every_block(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b,c\n1,x,2\n" + b"3,\xe9,4\n" * 2**16)  # beyond what is looked at for the encoding
    with pytest.raises(ArgumentError, match="not UTF-8 text"):
        list(read_blocks(path, columns=["a", "c"], as_number=["a", "c"]))


def test_faults_of_a_later_block_are_reported(tmp_path):
    frame = pd.DataFrame({"a": np.arange(60) / 8, "b": np.arange(60)})
    encoder, path = TableEncoder(numeric=["b"]).fit(frame), tmp_path / "t.csv"
    text = frame.to_csv(index=False)
    path.write_text(text.replace("6.25,50", "6.25,old"))
    rows, notes = encode(encoder, pd.concat(read_blocks(path, rows=8, as_number=columns_as_number(encoder))))
    assert (notes.unread, rows[50].tolist()) == ({"b": (1, "old", 50)}, [6.25, 29.5])
    path.write_text(text.replace("6.25,50", "6.25,50,0"))
    with pytest.raises(ArgumentError, match="malformed CSV"):
        list(read_blocks(path, rows=8, columns=["a"]))


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_columns_can_be_chosen_of_those_there(tmp_path, ending):
    frame, seen = pd.DataFrame({"a": [1.5, 2.5], "b": [3.5, 4.5], "c": [5.5, 6.5]}), []
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", X=frame.to_numpy(), feature_names=np.array(["a", "b", "c"]))
    [block] = read_blocks(tmp_path / f"t.{ending}", columns=lambda names: seen.append(names) or ["c", "a"])
    pd.testing.assert_frame_equal(block, frame[["c", "a"]])
    assert seen == [["a", "b", "c"]]


def test_the_last_column_is_read_as_the_table_is(tmp_path):
    path = _write(tmp_path / "t.csv", "a,gewählt\n1,ja\n2,nein\n", "cp1252")
    assert default_target(path, encoding="cp1252") == "gewählt"
    assert default_target(path, header=False, encoding="cp1252") == "c2"


def test_numbers_of_the_other_byte_order_are_distinct_values():
    assert distinct(pd.Series(np.array([3, 1, 3], dtype=">i4"))).tolist() == [3, 1]


def test_an_unknown_encoding_leaves_no_file_open(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a\n1\n")
    streams = []
    monkeypatch.setattr(dialect, "open_bytes", lambda file: streams.append(file.open("rb")) or streams[-1])
    with pytest.raises(LookupError):
        dialect.open_text(tmp_path / "a.csv", "no such encoding")
    assert [stream.closed for stream in streams] == [True]
