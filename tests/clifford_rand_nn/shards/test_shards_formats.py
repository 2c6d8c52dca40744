"""Shards of every format that they can be given in: the rows are those that were written."""

import json
import os
import pickle
import re
import tracemalloc
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from clifford_rand import ArgumentError
from clifford_rand_nn import Shards
from clifford_rand_nn.shards.source import fingerprint, shard_blocks
from clifford_rand_nn.shards.stored_arrays import NpyFile, RawFile, ZarrArray, regrouped

rng = np.random.default_rng(20)
X = rng.standard_normal((90, 4))
Y = rng.standard_normal((90, 2))
WEIGHTS = rng.uniform(0, 2, 90)
LABELS = np.array(["cat", "dog", "heron"])[np.arange(90) % 3]
CUTS = (0, 40, 40, 90)  # the second shard has no rows


def pieces(array):
    return [array[a:b] for a, b in pairwise(CUTS)]


def all_rows(shards, rows=7):
    """Return X, y and weights as they come back, and check what blocks and parts promise."""
    shards = pickle.loads(pickle.dumps(shards))
    blocks, first = [], 0
    for part in shards.parts:
        assert part.first == first
        for block in shard_blocks(shards, part, rows):
            assert 0 < len(block.X) <= rows
            assert block.first == first
            assert block.X.dtype == shards.dtype or len({s.X.dtype for s in shards.shards}) > 1
            first += len(block.X)
            blocks.append(block)
    assert first == shards.n_rows
    columns = zip(*(block[:3] for block in blocks), strict=True)
    return [None if values[0] is None else np.concatenate(values) for values in columns]


def check(shards, *expected, rows=7):
    for array, wanted in zip(all_rows(shards, rows), expected, strict=False):
        np.testing.assert_array_equal(array, wanted)


def refused(match, *arguments, read=False, **options):
    with pytest.raises(ArgumentError, match=match) as caught:
        all_rows(Shards(*arguments, **options)) if read else Shards(*arguments, **options)
    assert "\n" not in str(caught.value)


def write(folder, rows, y=None, weights=None):
    for letter, arrays in (("X", rows), ("y", y), ("w", weights)):
        for i, array in enumerate(arrays or ()):
            np.save(folder / f"{letter}-{i:05d}.npy", array)
    return folder


# ---- .npy and arrays


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i8", "?", ">f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_every_type_and_order(tmp_path, dtype, order):
    rows = [np.asarray(piece * 10, dtype=dtype, order=order) for piece in pieces(X)]
    shards = Shards(write(tmp_path, rows, pieces(Y), pieces(WEIGHTS)), part_rows=11)
    check(shards, np.concatenate(rows), Y, WEIGHTS)
    assert all_rows(shards)[0].dtype.isnative


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_of_every_version(tmp_path, version):
    for i, piece in enumerate(pieces(X)):
        with open(tmp_path / f"X-{i}.npy", "wb") as file:
            np.lib.format.write_array(file, piece, version)
    check(Shards(tmp_path), X)


def test_targets_are_read_many_blocks_at_a_time_and_without_their_rows(tmp_path, monkeypatch):
    y, reads, read = np.arange(50_000), [], RawFile._rows
    for name, array in (("X", np.ones((50_000, 3))), ("y", y), ("w", np.ones(50_000))):
        np.save(tmp_path / f"{name}.npy", array)
    monkeypatch.setattr(RawFile, "_rows", lambda *given: reads.append(Path(given[1].name).name) or read(*given))
    blocks = list(NpyFile(tmp_path / "y.npy").blocks(7, 49_000, 100))
    assert {len(block) for block in blocks[:-1]} == {100}
    np.testing.assert_array_equal(np.concatenate(blocks), y[7:49_000])
    assert reads == ["y.npy"] * 7  # of 64 KiB
    reads.clear()
    shards = Shards([tmp_path / "X.npy"], [tmp_path / "y.npy"], sample_weight=[tmp_path / "w.npy"], part_rows=10)
    blocks = list(shard_blocks(shards, shards.parts[0], 4, columns=False))
    assert [block.X.shape for block in blocks] == [(4, 0), (4, 0), (2, 0)]
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), y[:10])
    assert [block.first for block in blocks] == [0, 4, 8]
    assert set(reads) == {"y.npy", "w.npy"}


def test_labels_that_are_texts_and_targets_of_one_column(tmp_path):
    check(Shards(write(tmp_path, pieces(X), pieces(LABELS))), X, LABELS)
    column = Shards(write(tmp_path, pieces(X), pieces(Y[:, :1]), pieces(WEIGHTS[:, None])))
    assert [part.shape for part in all_rows(column)] == [(90, 4), (90, 1), (90,)]


def test_memory_maps_are_read_as_files(tmp_path):
    write(tmp_path, [X], [np.asfortranarray(Y)])
    mapped, mapped_y = (np.load(tmp_path / f"{letter}-00000.npy", mmap_mode="r") for letter in "Xy")
    check(Shards([mapped[:33], mapped[33:]], [mapped_y[:33], mapped_y[33:]]), X, Y)
    assert len(pickle.dumps(Shards([mapped]))) < 1000  # no rows
    check(Shards([mapped[::2, 1:]]), X[::2, 1:])
    check(Shards([mapped_y]), Y)
    own = np.load(tmp_path / "X-00000.npy", mmap_mode="c")
    own[3] = 7.0  # of this process alone
    check(Shards([own]), own)


def test_arrays_of_other_libraries_and_what_gives_none():
    pd = pytest.importorskip("pandas")
    single = Shards(X, Y[:, 0], sample_weight=WEIGHTS)
    assert len(single.shards) == 1
    check(single, X, Y[:, 0], WEIGHTS)
    check(Shards([X], [pd.Series(Y[:, 0], index=np.arange(90)[::-1])]), X, Y[:, 0])
    refused("texts of fixed size", [X], [pd.Series(LABELS)])
    for value in (csr_array(X), np.ma.array(X, mask=X > 0), pd.DataFrame(X), np.array(1.0), None):
        refused(rf"X\[0\], a {type(value).__name__}.* instead\. numpy\.asarray", [value])


def test_tensors_of_torch_are_arrays():
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(Shards([torch.tensor(X).half()], [torch.arange(90)]), X.astype("f2"), np.arange(90))


LAST = "X-00002.npy"


def test_folders_that_are_not_whole_are_one_sentence(tmp_path):
    refused("which is no folder", tmp_path / "none")
    refused(r"X-00000\.npy, y-00000\.npy", tmp_path)
    write(tmp_path, pieces(X), pieces(Y)[:2])
    refused(r"no y-00002\.npy", tmp_path)
    np.save(tmp_path / "y-00002.npy", Y[40:])
    np.save(tmp_path / "y-00003.npy", Y)
    refused(r"no X-00003\.npy", tmp_path)
    (tmp_path / "y-00003.npy").unlink()
    for match, array, name in (
        (r"all of d = 4 columns\. Got .*X-00002\.npy: shape \(50, 3\)", X[40:, :3], LAST),
        (r"X-00002\.npy: shape \(50,\)", X[40:, 0], LAST),
        (r"y-00002\.npy: 50 rows.*X-00002\.npy: 49", X[41:], LAST),
        ("real numbers.*complex128", X[40:] + 1j, LAST),
        ("real numbers.*X-00002.npy: <U5", LABELS[40:, None].repeat(4, 1), LAST),
        ("Python objects.*astype", LABELS[40:].astype(object), "y-00002.npy"),
        (r"shape \(50, 2, 1\)", Y[40:, :, None], "y-00002.npy"),
        ("numbers or texts", np.zeros(50, "M8[s]"), "y-00002.npy"),
    ):
        whole = (tmp_path / name).read_bytes()
        np.save(tmp_path / name, array)
        refused(match, tmp_path)
        (tmp_path / name).write_bytes(whole)
    whole = (tmp_path / LAST).read_bytes()
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'shape': (1, 'a'"
    for damaged in (*(whole[:cut] for cut in (0, 5, 60, 200, len(whole) - 1)), header + whole[60:]):
        (tmp_path / LAST).write_bytes(damaged)
        refused(r"X-00002\.npy: ", tmp_path)


@pytest.mark.parametrize(
    ("match", "arguments", "options"),
    [
        ("None with a folder", (".", [Y]), {}),
        ("named columns", (".",), {"target": "a"}),
        ("at least one row", ([X[:0]],), {}),
        ("at least one shard", ([],), {}),
        ("'y' parameter of Shards must be a list with at least one shard", ([X], []), {}),
        ("'sample_weight' parameter of Shards must be a list", ([X],), {"sample_weight": {"w": X}}),
        ("one for each shard", ([X, X], [Y]), {}),
        ("a path, or an array", ([[1.0, 2.0]],), {}),
        ("one number a row", ([X],), {"sample_weight": [Y]}),
        ("a list with a file", (3,), {}),
        ("an integer ≥ 1. Got 0", ([X],), {"part_rows": 0}),
        (r"number\.npy: shape \(\)", (["number.npy"],), {}),
        (r"number\.npy: one number, X\[0\]: 90 rows", ([X], ["number.npy"]), {}),
        ("numbers in all shards, or texts in all. Got texts in y", ([X, X], [np.arange(90), LABELS]), {}),
        ("texts of fixed size.*dtype=str", ([X], [LABELS.astype(object)]), {}),
    ],
)
def test_what_is_no_shard_is_one_sentence(tmp_path, monkeypatch, match, arguments, options):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, [X])
    np.save(tmp_path / "number.npy", 5.0)
    refused(match, *arguments, **options)


@pytest.mark.parametrize("fault", ["shorter", "gone", "newer", "targets gone"])
def test_a_shard_that_changes_is_named_with_its_rows(tmp_path, fault):
    shards = Shards(write(tmp_path, pieces(X), pieces(Y)), part_rows=20)
    file, before, match = tmp_path / LAST, fingerprint(shards), r"X-00002\.npy, rows 0 to 7: .*(changed|No such file)"
    if fault == "gone":
        file.unlink()
    elif fault == "shorter":
        os.truncate(file, 900)
    elif fault == "newer":
        np.save(file, X[40:] + 1)
        assert fingerprint(Shards(tmp_path)) != before
    else:
        (tmp_path / "y-00002.npy").unlink()
        match = r"The 'y' parameter .*y-00002\.npy, rows 0 to 7: No such file"
    with pytest.raises(ArgumentError, match=match):
        all_rows(shards)


@pytest.mark.parametrize("version", [2, 3])
def test_a_header_takes_no_more_than_headers_do(tmp_path, version):
    """NumPy reads as much as the file says before it asks whether that is too much."""
    damaged = b"\x93NUMPY" + bytes([version, 0]) + (2**30).to_bytes(4, "little") + b"{'descr': '<f8'}"
    (tmp_path / "X.npy").write_bytes(damaged)
    tracemalloc.start()
    refused("says that it has 1,073,741,824 bytes", tmp_path / "X.npy")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**20


def test_rows_that_cannot_be_had_or_are_too_few_are_named(monkeypatch):
    def none(*_):
        raise MemoryError("Unable to allocate 64.0 GiB")

    shards = Shards([X], [Y])
    stored, part = shards.shards[0].X, shards.parts[0]
    few = lambda start, stop, rows: (stored.read(first, first + 2) for first in range(start, stop, rows))  # noqa: E731
    for name, method, match in (
        ("blocks", few, r"readable shards\. Got .*there are 2 rows"),
        ("blocks", none, r"rows 0 to 5: Unable to allocate 64\.0 GiB"),
    ):
        monkeypatch.setattr(stored, name, method)
        with pytest.raises(ArgumentError, match=match):
            next(shard_blocks(shards, part, 5))


def test_regrouping_keeps_all_rows():
    sizes = rng.integers(0, 9, 30)
    arrays = [np.full(size, i) for i, size in enumerate(sizes)]
    for rows in (1, 4, 20):
        groups = list(regrouped(arrays, rows))
        assert [len(group) for group in groups[:-1]] == [rows] * (len(groups) - 1)
        np.testing.assert_array_equal(np.concatenate(groups), np.concatenate(arrays))


# ---- Parquet


@pytest.fixture
def parquet():
    return pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def tables(tmp_path, parquet):
    import pyarrow as pa

    def table(start, stop, **more):
        rows = slice(start, stop)
        columns = {"a": X[rows, 0], "b": X[rows, 1].astype("f4"), "c": np.arange(start, stop), "d": X[rows, 3] > 0}
        return pa.table(columns | {"kind": LABELS[rows], "w": WEIGHTS[rows], "price": Y[rows, 0]} | more)

    for i, (a, b) in enumerate(pairwise(CUTS)):
        parquet.write_table(table(a, b), tmp_path / f"{i}.parquet", row_group_size=13)
    return tmp_path, table, parquet.write_table


def test_parquet_by_row_groups(tables):
    folder, *_ = tables
    shards = Shards(folder, target="kind", sample_weight="w", part_rows=20)
    assert shards.feature_names == ("a", "b", "c", "d", "price")
    assert [part[:3] for part in shards.parts][:3] == [(0, 0, 13), (0, 13, 26), (0, 26, 40)]
    wanted = np.column_stack([X[:, 0], X[:, 1].astype("f4"), np.arange(90), X[:, 3] > 0, Y[:, 0]])
    for rows in (1, 7, 13, 100):
        check(shards, wanted, LABELS, WEIGHTS, rows=rows)
    np.testing.assert_array_equal(shards.shards[2].X.read(11, 31), wanted[51:71])
    check(Shards(folder, target=["price", "c"], columns=["b", "a"]), wanted[:, [1, 0]], wanted[:, [4, 2]])
    assert not Shards(folder, columns=["b"]).has_targets
    assert Shards(folder, columns=["b"]).dtype == np.float32


def test_parquet_that_does_not_fit(tables):
    import pyarrow as pa

    folder, table, save = tables
    second, good = folder / "1.parquet", {"target": "price", "columns": ["a", "c"]}
    refused("'kind' of type string.*table_model", folder, target="price")
    refused("1.parquet.*0 named 'cost'|0.parquet.*0 named 'cost'", folder, target="cost")
    for match, changed, options in (
        (r"1\.parquet, rows 0 to 5: the column 'a' has 1 empty cells", {"a": pa.array([1.0, None, 2, 3, 4])}, good),
        (
            r"1\.parquet: the column 'a' of type dictionary.*table_model",
            {"a": pa.array(["x"] * 5).dictionary_encode()},
            good,
        ),
        ("more beside those of", {"more": np.zeros(5)}, {"target": "kind"}),
    ):
        save(table(0, 5, **changed), second)
        refused(match, folder, read=True, **options)
    save(table(0, 5).drop_columns(["a"]), second)
    refused(r"1\.parquet: 0 named 'a'", folder, **good)
    whole = (folder / "2.parquet").read_bytes()
    second.write_bytes(whole[:-100])
    refused("1.parquet: this is not a readable Parquet file", folder, **good)
    first = pa.parquet.ParquetFile(folder / "2.parquet").metadata.row_group(0).column(0)
    page = first.dictionary_page_offset or first.data_page_offset
    second.write_bytes(whole[:page] + b"\xff" * 40 + whole[page + 40 :])  # its end is whole
    refused(r"1\.parquet, rows \d+ to \d+: ", folder, read=True, **good)
    save(table(0, 53), second, row_group_size=53)
    rows = b"\x16" + bytes([2 * 53])  # of the row group, in Thrift's compact form: a sign is the last bit
    before, _, after = second.read_bytes().rpartition(rows)
    second.write_bytes(before + b"\x16" + bytes([2 * 53 - 1]) + after)
    refused(r"1\.parquet: this is not a readable Parquet file: a row group that says it has -53 rows", folder, **good)


def test_parquet_of_labels_as_categories_and_decimals(tmp_path, parquet):
    import pyarrow as pa

    cents = pa.array(np.arange(90) / 4).cast(pa.decimal128(9, 2))
    table = pa.table({"cents": cents, "kind": pa.array(LABELS).dictionary_encode()})
    parquet.write_table(table, tmp_path / "one.parquet")
    check(Shards(tmp_path / "one.parquet", target="kind"), np.arange(90)[:, None] / 4, LABELS)


def test_parquet_of_embeddings(tmp_path, parquet):
    import pyarrow as pa

    flat = pa.array(X.astype("f4").ravel())
    fixed = pa.FixedSizeListArray.from_arrays(flat, 4)
    free = pa.ListArray.from_arrays(np.arange(0, 361, 4, dtype=np.int32), flat)
    for kind in (fixed, free):
        table = pa.table({"v": kind, "size": X[:, 0], "y": LABELS})
        parquet.write_table(table, tmp_path / "1.parquet", row_group_size=40)
        parquet.write_table(table[:0], tmp_path / "0.parquet")
        shards = Shards(tmp_path, target="y", columns=["size", "v"])
        assert shards.feature_names is None
        for rows in (7, 50):
            check(shards, np.column_stack([X[:, 0], X.astype("f4")]), rows=rows)
    assert Shards(tmp_path, target="y", columns=["v"]).dtype == np.float32
    (tmp_path / "1.parquet").unlink()
    lengths = np.append(np.arange(0, 353, 4), [357, 360]).astype(np.int32)  # 5 and 3 at the end
    uneven = pa.ListArray.from_arrays(lengths, flat)
    parquet.write_table(pa.table({"v": uneven}), tmp_path / "0.parquet")
    refused("rows 84 to 90: the column 'v' has lists of other lengths than 4", tmp_path, read=True)
    rows = pa.array([[1.0] * 4, [2.0] * 4, None], type=pa.list_(pa.float32(), 4))
    parquet.write_table(pa.table({"v": rows}), tmp_path / "0.parquet")
    # old Arrow cannot read such lists at all, and says what it did not find
    refused(r"the column 'v' has 1 empty cells|rows 0 to 3: Expected all lists", tmp_path, read=True)
    lists = pa.table({"v": [[1.0, 2.0]]})
    parquet.write_table(lists.slice(0, 0), tmp_path / "0.parquet")  # without rows: lists of it have no length
    parquet.write_table(lists.rename_columns(["w"]), tmp_path / "1.parquet")
    refused(r"every file has once\. Got .*1\.parquet: 0 named 'v'", tmp_path)


# ---- Zarr


@pytest.fixture
def zarr():
    return pytest.importorskip("zarr")


def test_zarr_groups_and_arrays(tmp_path, zarr, monkeypatch):
    path = tmp_path / "data.zarr"
    group = zarr.open_group(path, mode="w")
    for name, values in (("X", X), ("y", Y), ("sample_weight", WEIGHTS)):
        group.create_array(name, data=values, chunks=(16, *(3,) * (values.ndim - 1)))
    shards = Shards(path, part_rows=40)
    assert [part.size for part in shards.parts] == [32, 32, 26]
    check(Shards(tmp_path), X, Y, WEIGHTS)
    check(Shards(group["X"], group["y"], sample_weight=group["sample_weight"]), X, Y, WEIGHTS, rows=16)
    for rows in (5, 50):
        check(shards, X, Y, WEIGHTS, rows=rows)
    reads, read = [], ZarrArray.read
    monkeypatch.setattr(ZarrArray, "read", lambda self, a, b: reads.append((a, b)) or read(self, a, b))
    assert sum(map(len, shards.shards[0].X.blocks(20, 70, 5))) == 50
    assert reads == [(20, 32), (32, 48), (48, 64), (64, 70)]  # each chunk once
    before = fingerprint(shards)
    group["X"][:] = X + 1
    assert fingerprint(Shards(path)) != before
    next(file for file in (path / "X").rglob("1/0")).write_bytes(b"no chunk")
    with pytest.raises(ArgumentError, match=r"data\.zarr/X, rows \d+ to \d+: "):
        all_rows(shards)
    with pytest.raises(ArgumentError, match=r"readable shards\. Got .*data\.zarr/X: a chunk cannot be decoded"):
        fingerprint(Shards(path))


def test_zarr_that_is_damaged(tmp_path, zarr):
    zipped = tmp_path / "zipped.zarr"
    zarr.create_array(zipped, data=X, chunks=(90, 4), compressors=zarr.codecs.GzipCodec())
    chunk = next(zipped.rglob("0/0"))
    whole = chunk.read_bytes()
    for bad in (whole[:50], whole[:20] + bytes(20) + whole[40:]):
        chunk.write_bytes(bad)
        refused(r"zipped\.zarr, rows 0 to 7: a chunk cannot be decoded", zipped, read=True)
    zarr.open_group(tmp_path / "empty.zarr", mode="w")
    refused(r"empty\.zarr with nothing", tmp_path / "empty.zarr")


@pytest.mark.parametrize(
    ("version", "old", "new"), [(3, "16", "0"), (2, "16", "0"), (2, '_value": 0.0', '_value": 1' + "0" * 400)]
)
@pytest.mark.filterwarnings("ignore:.*stored chunk shape")  # of Zarr from 3.4 on, which reads them as chunks of 1
def test_zarr_that_says_what_cannot_be(tmp_path, zarr, version, old, new):
    zarr.create_array(tmp_path / "data.zarr", data=X, chunks=(16, 3), zarr_format=version)
    about = tmp_path / "data.zarr" / (".zarray" if version == 2 else "zarr.json")
    text = about.read_text()
    assert old in text
    about.write_text(text.replace(old, new))
    refused(r"readable Zarr\. Got .*data\.zarr", tmp_path / "data.zarr")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.filterwarnings("ignore:.*stored chunk shape")  # of Zarr from 3.4 on, which reads them as chunks of 1
def test_zarr_chunks_of_nothing(tmp_path, zarr, version):
    folder = tmp_path / "data.zarr"
    zarr.create_array(folder / "X", data=X, chunks=(16, 3), zarr_format=version)
    zarr.create_array(folder / "y", data=X[:, 0], chunks=(90,), zarr_format=version)
    zarr.open_group(folder, mode="a", zarr_format=version)
    check(Shards(folder), X, X[:, 0])
    for name, old in (("X", "3"), ("y", "90")):
        about = folder / name / (".zarray" if version == 2 else "zarr.json")
        text = about.read_text()
        about.write_text(re.sub(rf'(chunk(s|_shape)": \[[^\]]*?)\b{old}(\s*\])', r"\g<1>0\3", text))
        assert about.read_text() != text
        refused(r"readable Zarr\. Got .*data\.zarr", folder)
        array = zarr.open_array(folder / name, mode="r")
        if array.chunks[-1] == 0:  # Zarr before 3.4
            refused("slices are none", array)
        about.write_text(text)


@pytest.mark.parametrize("rows", [2**40, 2**63])
def test_zarr_of_more_rows_than_there_can_be(tmp_path, zarr, rows):
    """Chunks that are not there are filled in: only what the file says of itself bounds their number."""
    zarr.create_array(tmp_path / "data.zarr", data=X, chunks=(16, 3), zarr_format=2)
    about = tmp_path / "data.zarr" / ".zarray"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"shape": [rows, X.shape[1]]}))
    refused(rf"at most 16 TiB\. Got shape \({rows}, {X.shape[1]}\)", tmp_path / "data.zarr")


# ---- Dask


computed = []


def noted(block):
    computed.append(len(block))
    return block


def broken(block):
    raise RuntimeError("no disk")


@pytest.fixture
def da():
    return pytest.importorskip("dask.array")


def test_chunks_of_dask_arrays_are_shards(da):
    computed.clear()
    lazy = da.from_array(X, chunks=(25, 3)).map_blocks(noted, dtype=X.dtype, meta=X[:0])
    shards = Shards(lazy, da.from_array(Y, chunks=(40, 1)), sample_weight=da.from_array(WEIGHTS, chunks=30))
    assert not computed
    assert [part.size for part in shards.parts] == [25, 25, 25, 15]
    check(shards, X, Y, WEIGHTS)
    assert max(computed) == 25
    assert fingerprint(Shards(lazy)) != fingerprint(Shards(lazy + 1))
    check(Shards([lazy[:30], lazy[30:]], [da.from_array(Y[:30]), da.from_array(Y[30:])]), X, Y)


def test_dask_arrays_of_unknown_sizes_and_with_faults(da):
    lazy = da.from_array(X, chunks=(25, 4))
    unknown = lazy[lazy[:, 0] > 0]
    assert np.isnan(unknown.shape[0])
    check(Shards(unknown), X[X[:, 0] > 0])
    refused("as many rows as X", lazy, da.from_array(Y[:-1]))
    refused("Dask arrays, one for each", lazy, Y)
    failing = da.concatenate([lazy[:25], lazy[25:].map_blocks(broken, dtype=X.dtype, meta=X[:0])])
    refused("X, chunk 1, rows 0 to 7: its tasks failed: RuntimeError: no disk", failing, read=True)


@pytest.mark.slow
def test_chunks_that_a_cluster_holds_are_read_in_its_tasks(da):
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        shards = Shards(da.from_array(X, chunks=(25, 3)).map_blocks(np.negative).persist())
        assert len(pickle.dumps(shards)) < len(pickle.dumps(X)) + 5000
        for rows in (all_rows(shards)[0], client.submit(all_rows, shards).result()[0]):  # one thread: no other task
            np.testing.assert_array_equal(rows, -X)
