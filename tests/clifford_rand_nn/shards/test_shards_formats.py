"""Shards of every format that they can be given in: the rows are those that were written."""

import json
import os
import pickle
import tracemalloc
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from clifford_rand import ArgumentError
from clifford_rand_nn import Shards
from clifford_rand_nn.shards.formats.base import regrouped
from clifford_rand_nn.shards.formats.npy import NpyFile, RawFile, ZarrArray

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
    found = []
    first = 0
    for part in shards.parts:
        assert part.first == first
        for block in shards.blocks(part, rows):
            assert 0 < len(block.X) <= rows
            assert block.first == first
            assert block.X.dtype == shards.dtype or len({s.X.dtype for s in shards.shards}) > 1
            first += len(block.X)
            found.append(block)
    assert first == shards.n
    columns = zip(*(block[:3] for block in found), strict=True)
    return [None if values[0] is None else np.concatenate(values) for values in columns]


def write(folder, rows, y=None, weights=None):
    for letter, arrays in (("X", rows), ("y", y), ("w", weights)):
        for i, array in enumerate(arrays or ()):
            np.save(folder / f"{letter}-{i:05d}.npy", array)
    return folder


# ---- .npy


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i8", "?", ">f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_every_type_and_order(tmp_path, dtype, order):
    rows = [np.asarray(piece * 10, dtype=dtype, order=order) for piece in pieces(X)]
    shards = Shards(write(tmp_path, rows, pieces(Y), pieces(WEIGHTS)), part_rows=11)
    found, y, weights = all_rows(shards)
    np.testing.assert_array_equal(found, np.concatenate(rows))
    assert found.dtype.isnative
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(weights, WEIGHTS)


def test_targets_are_read_many_blocks_at_a_time(tmp_path, monkeypatch):
    y = np.arange(50_000)
    np.save(tmp_path / "y.npy", y)
    stored, reads, read = NpyFile(tmp_path / "y.npy"), [], RawFile._rows
    monkeypatch.setattr(RawFile, "_rows", lambda *given: reads.append(given[2:]) or read(*given))
    found = list(stored.blocks(7, 49_000, 100))
    assert {len(block) for block in found[:-1]} == {100}
    np.testing.assert_array_equal(np.concatenate(found), y[7:49_000])
    assert len(reads) == 7  # of 64 KiB


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_of_every_version(tmp_path, version):
    for i, piece in enumerate(pieces(X)):
        with open(tmp_path / f"X-{i}.npy", "wb") as file:
            np.lib.format.write_array(file, piece, version)
    np.testing.assert_array_equal(all_rows(Shards(tmp_path))[0], X)


def test_labels_that_are_texts_and_targets_of_one_column(tmp_path):
    np.testing.assert_array_equal(all_rows(Shards(write(tmp_path, pieces(X), pieces(LABELS))))[1], LABELS)
    one = Shards(write(tmp_path, pieces(X), pieces(Y[:, :1]), pieces(WEIGHTS[:, None])))
    assert [part.shape for part in all_rows(one)] == [(90, 4), (90, 1), (90,)]


def test_memory_maps_are_read_as_files(tmp_path):
    write(tmp_path, [X], [np.asfortranarray(Y)])
    mapped = np.load(tmp_path / "X-00000.npy", mmap_mode="r")
    mapped_y = np.load(tmp_path / "y-00000.npy", mmap_mode="r")
    shards = Shards([mapped[:33], mapped[33:]], [mapped_y[:33], mapped_y[33:]])
    found, y, _ = all_rows(shards)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(y, Y)
    assert len(pickle.dumps(Shards([mapped]))) < 1000  # no rows
    np.testing.assert_array_equal(all_rows(Shards([mapped[::2, 1:]]))[0], X[::2, 1:])
    np.testing.assert_array_equal(all_rows(Shards([mapped_y]))[0], Y)
    own = np.load(tmp_path / "X-00000.npy", mmap_mode="c")
    own[3] = 7.0  # of this process alone
    np.testing.assert_array_equal(all_rows(Shards([own]))[0], own)


def test_one_array_is_one_shard():
    shards = Shards(X, Y[:, 0], sample_weight=WEIGHTS)
    assert len(shards.shards) == 1
    np.testing.assert_array_equal(all_rows(shards)[1], Y[:, 0])


def test_what_is_no_shard_is_one_sentence(tmp_path):
    def refused(match, *args, **given):
        with pytest.raises(ArgumentError, match=match) as caught:
            Shards(*args, **given)
        assert "\n" not in str(caught.value)

    refused("which is no folder", tmp_path / "none")
    refused(r"X-00000\.npy, y-00000\.npy", tmp_path)
    write(tmp_path, pieces(X), pieces(Y)[:2])
    refused(r"no y-00002\.npy", tmp_path)
    np.save(tmp_path / "y-00002.npy", Y[40:])
    np.save(tmp_path / "y-00003.npy", Y)
    refused(r"no X-00003\.npy", tmp_path)
    (tmp_path / "y-00003.npy").unlink()
    refused("None with a folder", tmp_path, [Y])
    refused("named columns", tmp_path, target="a")

    def with_last(array, match, name="X-00002.npy"):
        kept = (tmp_path / name).read_bytes()
        np.save(tmp_path / name, array)
        refused(match, tmp_path)
        (tmp_path / name).write_bytes(kept)

    with_last(X[40:, :3], r"all of d = 4 columns\. Got .*X-00002\.npy: shape \(50, 3\)")
    with_last(X[40:, 0], r"X-00002\.npy: shape \(50,\)")
    with_last(X[41:], r"y-00002\.npy: 50 rows.*X-00002\.npy: 49")
    with_last(X[40:] + 1j, "real numbers.*complex128")
    with_last(LABELS[40:, None].repeat(4, 1), "real numbers.*X-00002.npy: <U5")
    with_last(LABELS[40:].astype(object), "Python objects.*astype", "y-00002.npy")
    with_last(Y[40:, :, None], r"shape \(50, 2, 1\)", "y-00002.npy")
    with_last(np.zeros(50, "M8[s]"), "numbers or texts", "y-00002.npy")
    whole = (tmp_path / "X-00002.npy").read_bytes()
    for cut in (0, 5, 60, 200, len(whole) - 1):
        (tmp_path / "X-00002.npy").write_bytes(whole[:cut])
        refused(r"X-00002\.npy: ", tmp_path)
    (tmp_path / "X-00002.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'shape': (1, 'a'" + whole[60:])
    refused(r"X-00002\.npy: ", tmp_path)
    refused("at least one row", [X[:0]])
    refused("at least one shard", [])
    refused("'y' parameter of Shards must be a list with at least one shard", [X], [])
    refused("'sample_weight' parameter of Shards must be a list", [X], None, sample_weight={"w": X})
    refused("one for each shard", [X, X], [Y])
    refused("a path, or an array", [[1.0, 2.0]])
    refused("one number a row", [X], sample_weight=[Y])
    refused("a list with a file", 3)
    refused("an integer ≥ 1. Got 0", [X], part_rows=0)
    np.save(tmp_path / "number.npy", 5.0)
    refused(r"number\.npy: shape \(\)", [tmp_path / "number.npy"])
    refused(r"number\.npy: one number, X\[0\]: 90 rows", [X], [tmp_path / "number.npy"])
    refused("numbers in all shards, or texts in all. Got texts in y", [X, X], [np.arange(90), LABELS])
    refused("texts of fixed size.*dtype=str", [X], [LABELS.astype(object)])


def test_what_gives_no_arrays_is_refused():
    pd = pytest.importorskip("pandas")
    for one in (csr_array(X), np.ma.array(X, mask=X > 0), pd.DataFrame(X), np.array(1.0), None):
        with pytest.raises(
            ArgumentError, match=rf"X\[0\], a {type(one).__name__}.* instead\. numpy\.asarray"
        ) as caught:
            Shards([one])
        assert "\n" not in str(caught.value)
    numbers = Shards([X], [pd.Series(Y[:, 0], index=np.arange(90)[::-1])])
    np.testing.assert_array_equal(all_rows(numbers)[1], Y[:, 0])
    with pytest.raises(ArgumentError, match="texts of fixed size"):
        Shards([X], [pd.Series(LABELS)])


def test_tensors_of_torch_are_arrays():
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, y, _ = all_rows(Shards([torch.tensor(X).half()], [torch.arange(90)]))
    np.testing.assert_array_equal(found, X.astype("f2"))
    np.testing.assert_array_equal(y, np.arange(90))


@pytest.mark.parametrize("fault", ["shorter", "gone", "newer"])
def test_a_shard_that_changes_is_named_with_its_rows(tmp_path, fault):
    shards = Shards(write(tmp_path, pieces(X)), part_rows=20)
    file = tmp_path / "X-00002.npy"
    before = shards.fingerprint
    if fault == "gone":
        file.unlink()
    elif fault == "shorter":
        os.truncate(file, 900)
    else:
        np.save(file, X[40:] + 1)
        assert Shards(tmp_path).fingerprint != before
    with pytest.raises(ArgumentError, match=r"X-00002\.npy, rows 0 to 7: .*(changed|No such file)"):
        all_rows(shards)


def test_targets_that_are_gone_are_called_so(tmp_path):
    shards = Shards(write(tmp_path, pieces(X), pieces(Y)))
    (tmp_path / "y-00002.npy").unlink()
    with pytest.raises(ArgumentError, match=r"The 'y' parameter .*y-00002\.npy, rows 0 to 7: No such file"):
        all_rows(shards)


# ---- Parquet


@pytest.fixture
def tables(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

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
    assert shards.names == ("a", "b", "c", "d", "price")
    assert [part[:3] for part in shards.parts][:3] == [(0, 0, 13), (0, 13, 26), (0, 26, 40)]
    wanted = np.column_stack([X[:, 0], X[:, 1].astype("f4"), np.arange(90), X[:, 3] > 0, Y[:, 0]])
    for rows in (1, 7, 13, 100):
        found, y, weights = all_rows(shards, rows)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(y, LABELS)
        np.testing.assert_array_equal(weights, WEIGHTS)
    stored = shards.shards[2].X
    np.testing.assert_array_equal(stored.read(11, 31), wanted[51:71])
    two = Shards(folder, target=["price", "c"], columns=["b", "a"])
    assert all_rows(two)[1].shape == (90, 2)
    np.testing.assert_array_equal(all_rows(two)[0], wanted[:, [1, 0]])
    assert not Shards(folder, columns=["b"]).labelled
    assert Shards(folder, columns=["b"]).dtype == np.float32


def test_parquet_that_does_not_fit(tables):
    folder, table, save = tables

    def refused(match, **given):
        with pytest.raises(ArgumentError, match=match):
            all_rows(Shards(folder, **given))

    refused("'kind' of type string.*table_model", target="price")
    refused("1.parquet.*0 named 'cost'|0.parquet.*0 named 'cost'", target="cost")
    import pyarrow as pa

    good = {"target": "price", "columns": ["a", "c"]}
    save(table(0, 5, a=pa.array([1.0, None, 2, 3, 4])), folder / "1.parquet")
    refused(r"1\.parquet, rows 0 to 5: the column 'a' has 1 empty cells", **good)
    save(table(0, 5, a=pa.array(["x"] * 5).dictionary_encode()), folder / "1.parquet")
    refused(r"1\.parquet: the column 'a' of type dictionary.*table_model", **good)
    save(table(0, 5, more=np.zeros(5)), folder / "1.parquet")
    refused("more beside those of", target="kind")
    save(table(0, 5).drop_columns(["a"]), folder / "1.parquet")
    refused(r"1\.parquet: 0 named 'a'", **good)
    whole = (folder / "2.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(whole[:-100])
    refused("1.parquet: this is not a readable Parquet file", **good)
    first = pa.parquet.ParquetFile(folder / "2.parquet").metadata.row_group(0).column(0)
    page = first.dictionary_page_offset or first.data_page_offset
    (folder / "1.parquet").write_bytes(whole[:page] + b"\xff" * 40 + whole[page + 40 :])  # its end is whole
    refused(r"1\.parquet, rows \d+ to \d+: ", **good)
    save(table(0, 53), folder / "1.parquet", row_group_size=53)
    rows = b"\x16" + bytes([2 * 53])  # of the row group, in Thrift's compact form: a sign is the last bit
    before, _, after = (folder / "1.parquet").read_bytes().rpartition(rows)
    (folder / "1.parquet").write_bytes(before + b"\x16" + bytes([2 * 53 - 1]) + after)
    refused(r"1\.parquet: this is not a readable Parquet file: a row group that says it has -53 rows", **good)


def test_parquet_of_labels_as_categories_and_decimals(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    cents = pa.array(np.arange(90) / 4).cast(pa.decimal128(9, 2))
    table = pa.table({"cents": cents, "kind": pa.array(LABELS).dictionary_encode()})
    parquet.write_table(table, tmp_path / "one.parquet")
    found, y, _ = all_rows(Shards(tmp_path / "one.parquet", target="kind"))
    np.testing.assert_array_equal(found[:, 0], np.arange(90) / 4)
    np.testing.assert_array_equal(y, LABELS)


def test_parquet_of_embeddings(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    flat = pa.array(X.astype("f4").ravel())
    fixed = pa.FixedSizeListArray.from_arrays(flat, 4)
    free = pa.ListArray.from_arrays(np.arange(0, 361, 4, dtype=np.int32), flat)
    for kind in (fixed, free):
        table = pa.table({"v": kind, "size": X[:, 0], "y": LABELS})
        parquet.write_table(table, tmp_path / "1.parquet", row_group_size=40)
        parquet.write_table(table[:0], tmp_path / "0.parquet")
        shards = Shards(tmp_path, target="y", columns=["size", "v"])
        assert shards.names is None
        for rows in (7, 50):
            np.testing.assert_array_equal(all_rows(shards, rows)[0], np.column_stack([X[:, 0], X.astype("f4")]))
    assert Shards(tmp_path, target="y", columns=["v"]).dtype == np.float32
    (tmp_path / "1.parquet").unlink()
    lengths = np.append(np.arange(0, 353, 4), [357, 360]).astype(np.int32)  # 5 and 3 at the end
    uneven = pa.ListArray.from_arrays(lengths, flat)
    parquet.write_table(pa.table({"v": uneven}), tmp_path / "0.parquet")
    with pytest.raises(ArgumentError, match="rows 84 to 90: the column 'v' has lists of other lengths than 4"):
        all_rows(Shards(tmp_path))
    rows = pa.array([[1.0] * 4, [2.0] * 4, None], type=pa.list_(pa.float32(), 4))
    parquet.write_table(pa.table({"v": rows}), tmp_path / "0.parquet")
    # old Arrow cannot read such lists at all, and says what it did not find
    with pytest.raises(ArgumentError, match=r"the column 'v' has 1 empty cells|rows 0 to 3: Expected all lists"):
        all_rows(Shards(tmp_path))


# ---- Zarr


def test_zarr_groups_and_arrays(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "data.zarr", mode="w")
    for name, values in (("X", X), ("y", Y), ("sample_weight", WEIGHTS)):
        group.create_array(name, data=values, chunks=(16, *(3,) * (values.ndim - 1)))
    shards = Shards(tmp_path / "data.zarr", part_rows=40)
    assert [part.size for part in shards.parts] == [32, 32, 26]
    for given in (shards, Shards(tmp_path), Shards(group["X"], group["y"], sample_weight=group["sample_weight"])):
        for rows in (5, 16, 50):
            found, y, weights = all_rows(given, rows)
            np.testing.assert_array_equal(found, X)
            np.testing.assert_array_equal(y, Y)
            np.testing.assert_array_equal(weights, WEIGHTS)
    reads = []
    read = ZarrArray.read
    monkeypatch.setattr(ZarrArray, "read", lambda self, a, b: reads.append((a, b)) or read(self, a, b))
    assert sum(map(len, shards.shards[0].X.blocks(20, 70, 5))) == 50
    assert reads == [(20, 32), (32, 48), (48, 64), (64, 70)]  # each chunk once
    before = shards.fingerprint
    group["X"][:] = X + 1
    assert Shards(tmp_path / "data.zarr").fingerprint != before
    chunk = next(file for file in (tmp_path / "data.zarr" / "X").rglob("1/0"))
    chunk.write_bytes(b"no chunk")
    with pytest.raises(ArgumentError, match=r"data\.zarr/X, rows \d+ to \d+: "):
        all_rows(shards)
    with pytest.raises(ArgumentError, match=r"readable shards\. Got .*data\.zarr/X: a chunk cannot be decoded"):
        Shards(tmp_path / "data.zarr").fingerprint  # noqa: B018
    zipped = tmp_path / "zipped.zarr"
    zarr.create_array(zipped, data=X, chunks=(90, 4), compressors=zarr.codecs.GzipCodec())
    chunk = next(zipped.rglob("0/0"))
    whole = chunk.read_bytes()
    for bad in (whole[:50], whole[:20] + bytes(20) + whole[40:]):
        chunk.write_bytes(bad)
        with pytest.raises(ArgumentError, match=r"zipped\.zarr, rows 0 to 7: a chunk cannot be decoded"):
            all_rows(Shards(zipped))
    zarr.open_group(tmp_path / "empty.zarr", mode="w")
    with pytest.raises(ArgumentError, match=r"empty\.zarr with nothing"):
        Shards(tmp_path / "empty.zarr")


@pytest.mark.parametrize(
    ("version", "old", "new"), [(3, "16", "0"), (2, "16", "0"), (2, '_value": 0.0', '_value": 1' + "0" * 400)]
)
def test_zarr_that_says_what_cannot_be(tmp_path, version, old, new):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "data.zarr", data=X, chunks=(16, 3), zarr_format=version)
    about = tmp_path / "data.zarr" / (".zarray" if version == 2 else "zarr.json")
    text = about.read_text()
    assert old in text
    about.write_text(text.replace(old, new))
    with pytest.raises(ArgumentError, match=r"readable Zarr\. Got .*data\.zarr"):
        Shards(tmp_path / "data.zarr")


@pytest.mark.parametrize("rows", [2**40, 2**63])
def test_zarr_of_more_rows_than_there_can_be(tmp_path, rows):
    """Chunks that are not there are filled in: only what the file says of itself bounds their number."""
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "data.zarr", data=X, chunks=(16, 3), zarr_format=2)
    about = tmp_path / "data.zarr" / ".zarray"
    found = json.loads(about.read_text())
    about.write_text(json.dumps(found | {"shape": [rows, X.shape[1]]}))
    with pytest.raises(ArgumentError, match=rf"at most 16 TiB\. Got shape \({rows}, {X.shape[1]}\)"):
        Shards(tmp_path / "data.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_a_header_takes_no_more_than_headers_do(tmp_path, version):
    """NumPy reads as much as the file says before it asks whether that is too much."""
    np.save(tmp_path / "X.npy", X)
    damaged = b"\x93NUMPY" + bytes([version, 0]) + (2**30).to_bytes(4, "little") + b"{'descr': '<f8'}"
    (tmp_path / "X.npy").write_bytes(damaged)
    tracemalloc.start()
    with pytest.raises(ArgumentError, match="says that it has 1,073,741,824 bytes"):
        Shards(tmp_path / "X.npy")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**20


def test_a_column_that_a_later_file_lacks_is_told_of_lists(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    lists = pa.table({"v": [[1.0, 2.0]]})
    parquet.write_table(lists.slice(0, 0), tmp_path / "0.parquet")  # without rows: lists of it have no length
    parquet.write_table(lists.rename_columns(["w"]), tmp_path / "1.parquet")
    with pytest.raises(ArgumentError, match=r"every file has once\. Got .*1\.parquet: 0 named 'v'"):
        Shards(tmp_path)


def test_rows_that_memory_has_no_room_for(monkeypatch):
    shards = Shards([X], [Y])

    def none(*_):
        raise MemoryError("Unable to allocate 64.0 GiB")

    monkeypatch.setattr(shards.shards[0].X, "read", none)
    with pytest.raises(ArgumentError, match=r"rows 0 to 5: Unable to allocate 64\.0 GiB"):
        next(shards.blocks(shards.parts[0], 5))


def test_rows_that_a_damaged_file_gives_are_counted(monkeypatch):
    shards = Shards([X], [Y])
    stored = shards.shards[0].X
    few = lambda start, stop, rows: (stored.read(first, first + 2) for first in range(start, stop, rows))  # noqa: E731
    monkeypatch.setattr(stored, "blocks", few)
    with pytest.raises(ArgumentError, match=r"readable shards\. Got .*there are 2 rows"):
        next(shards.blocks(shards.parts[0], 5))


# ---- Dask


computed = []


def noted(block):
    computed.append(len(block))
    return block


def broken(block):
    raise RuntimeError("no disk")


def test_chunks_of_dask_arrays_are_shards():
    da = pytest.importorskip("dask.array")
    computed.clear()
    lazy = da.from_array(X, chunks=(25, 3)).map_blocks(noted, dtype=X.dtype, meta=X[:0])
    shards = Shards(lazy, da.from_array(Y, chunks=(40, 1)), sample_weight=da.from_array(WEIGHTS, chunks=30))
    assert not computed
    assert [part.size for part in shards.parts] == [25, 25, 25, 15]
    found, y, weights = all_rows(shards)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(weights, WEIGHTS)
    assert max(computed) == 25
    assert Shards(lazy).fingerprint != Shards(lazy + 1).fingerprint
    two = Shards([lazy[:30], lazy[30:]], [da.from_array(Y[:30]), da.from_array(Y[30:])])
    np.testing.assert_array_equal(all_rows(two)[1], Y)


def test_dask_arrays_of_unknown_sizes_and_with_faults():
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=(25, 4))
    unknown = lazy[lazy[:, 0] > 0]
    assert np.isnan(unknown.shape[0])
    np.testing.assert_array_equal(all_rows(Shards(unknown))[0], X[X[:, 0] > 0])
    with pytest.raises(ArgumentError, match="as many rows as X"):
        Shards(lazy, da.from_array(Y[:-1]))
    with pytest.raises(ArgumentError, match="Dask arrays, one for each"):
        Shards(lazy, Y)

    failing = da.concatenate([lazy[:25], lazy[25:].map_blocks(broken, dtype=X.dtype, meta=X[:0])])
    with pytest.raises(ArgumentError, match="X, chunk 1, rows 0 to 7: its tasks failed: RuntimeError: no disk"):
        all_rows(Shards(failing))


def test_regrouping_keeps_all_rows():
    sizes = rng.integers(0, 9, 30)
    arrays = [np.full(size, i) for i, size in enumerate(sizes)]
    for rows in (1, 4, 20):
        found = list(regrouped(arrays, rows))
        assert [len(one) for one in found[:-1]] == [rows] * (len(found) - 1)
        np.testing.assert_array_equal(np.concatenate(found), np.concatenate(arrays))


@pytest.mark.slow
def test_chunks_that_a_cluster_holds_are_read_in_its_tasks():
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        held = da.from_array(X, chunks=(25, 3)).map_blocks(np.negative).persist()
        shards = Shards(held)
        assert len(pickle.dumps(shards)) < len(pickle.dumps(X)) + 5000
        for found in (all_rows(shards)[0], client.submit(all_rows, shards).result()[0]):  # one thread: no other task
            np.testing.assert_array_equal(found, -X)


def test_targets_are_read_without_their_rows(tmp_path, monkeypatch):
    X, y, w = np.arange(30.0).reshape(10, 3), np.arange(10), np.ones(10)
    for name, array in (("X", X), ("y", y), ("w", w)):
        np.save(tmp_path / f"{name}.npy", array)
    shards = Shards([tmp_path / "X.npy"], [tmp_path / "y.npy"], sample_weight=[tmp_path / "w.npy"])
    read = []
    monkeypatch.setattr(RawFile, "_rows", _noting(RawFile._rows, read))
    found = list(shards.blocks(shards.parts[0], 4, columns=False))
    assert [block.X.shape for block in found] == [(4, 0), (4, 0), (2, 0)]
    assert np.concatenate([block.y for block in found]).tolist() == y.tolist()
    assert [block.first for block in found] == [0, 4, 8]
    assert {Path(name).name for name in read} == {"y.npy", "w.npy"}


def _noting(rows, read):
    return lambda file, *given: read.append(file.name) or rows(file, *given)
