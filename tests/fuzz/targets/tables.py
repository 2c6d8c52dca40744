"""Tables: CSV, TSV, both compressed, Parquet, ARFF and NPZ, read at once, by blocks, and as numbers with a target."""

import gzip
import io
import re

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from clifford_rand_nn.tables.arrays import read_table
from clifford_rand_nn.tables.formats import read_blocks, read_frame
from fuzz.target import Target
from support.archives import crossed, members_of
from support.damage import damaged_bytes, damaged_directory

COUNTED = (
    *("clifford_rand_nn.tables.formats", "clifford_rand_nn.tables.dialect", "clifford_rand_nn.tables.delimited"),
    *("clifford_rand_nn.tables.arrays", "clifford_rand_nn.tables.cells"),
    *("clifford_rand._files", "arff"),
)
ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".arff", ".npz")
_CSV = (
    "age,city,y\n20,Oslo,1\n30.5,Bergen,0\n,Oslo,1\n",
    'price;town;y\n"1.234,5";"a;b";ja\n2,25;"c ""d""";nein\n',
    "a b|c|y\n1e3|2020-01-31|0\n-4|2020-02-01|1\n",
    "\ufeffx,x2,y\r\n1,2,3\r\n4,5,6\r\n",
    "1,2,3\n4,5,6\n7,8,9\n",
    "y,12.000,1 234\n1,-5,\u22125\nNA,inf,nan\n",
)
_ARFF = (
    "@relation r\n@attribute a numeric\n@attribute 'b c' {x,'y z'}\n@attribute d date\n@attribute y real\n@data\n"
    "1,x,2020-01-01,0\n?,'y z',?,1\n{0 3, 1 x}\n"
)
_PIECES = [
    *(",", ";", "\t", "|", '"', "'", "\n", "\r\n", "\r", "\n\n", " ", "\\", "#", "%", "?", "{", "}", "@data\n", "\x00"),
    *("1", "-1.5", "1e999", "1,5", "1.234,5", "12.000", "NA", "nan", "inf", "ja", "true", "2020-13-41", "31.12.2020"),
    *("\u2212", "\u00a0", "é", "\ufeff", "x" * 300, "9" * 400, "0x1f", "1_000", "@attribute e integer\n", "y"),
]


class Tables(Target):
    """A table is a frame, by blocks of as many rows, or is refused; memory is bounded by the size of the file."""

    constant = 2**22  # readers of pandas and Arrow have buffers

    def prepare(self, folder):
        super().prepare(folder)
        rng = np.random.default_rng(0)
        X, y = rng.random((20, 3)), np.arange(20) % 2
        rows = {"a": rng.random(20), "b": np.arange(20), "c": np.repeat(["x", "é", None, "z"], 5), "y": y}
        self.seeded = [self._held(".tsv" if "|" in text else ".csv", text.encode()) for text in _CSV]
        zipped = gzip.compress(_CSV[0].encode(), mtime=0)
        others = {".csv.gz": zipped, ".arff": _ARFF.encode(), ".csv": _CSV[0].encode("utf-16")}
        self.seeded += [self._held(ending, data) for ending, data in others.items()]
        plain, grouped = {"compression": "none", "use_dictionary": False}, {"compression": "zstd", "row_group_size": 6}
        for options in ({}, plain, grouped):
            out = io.BytesIO()
            parquet.write_table(pa.table(rows), out, **options)
            self.seeded.append(self._held(".parquet", out.getvalue()))
        other = {"X": X.astype("f4").T.copy().T, "feature_names": np.array(["p", "q", "r"]), "y": X[:, 0]}
        for save in (np.savez, np.savez_compressed):
            for some in ({"X": X, "y": y}, other):
                out = io.BytesIO()
                save(out, **some)
                self.seeded.append(self._held(".npz", out.getvalue()))
        self.members = [members_of(data[1:]) for data in self.seeded if ENDINGS[data[0]] == ".npz"]

    @staticmethod
    def _held(ending, data):
        return bytes([ENDINGS.index(ending)]) + data

    def seeds(self):
        return self.seeded

    def mutated(self, data, rng):
        if not data or rng.random() < 0.05:
            data = self.seeded[rng.integers(len(self.seeded))]
        ending, body = ENDINGS[data[0] % len(ENDINGS)], data[1:] or b"a,y\n1,2\n"
        if ending.endswith(".gz") and rng.random() < 0.7:
            try:
                return self._held(ending, gzip.compress(self._text(gzip.decompress(body), rng), mtime=0)), None
            except (OSError, EOFError, gzip.zlib.error):
                return self._held(ending, damaged_bytes(body, rng)), None
        if ending == ".npz" and rng.random() < 0.7:
            try:
                made = damaged_directory(body, rng) if rng.random() < 0.3 else crossed(body, self.members, rng)
                return self._held(ending, made), None
            except Exception:  # body is no archive any more
                return self._held(ending, damaged_bytes(body, rng)), None
        if ending in (".csv", ".tsv", ".arff") and rng.random() < 0.9:
            return self._held(ending, self._text(body, rng)), None
        return self._held(ending, damaged_bytes(body, rng)), None

    @staticmethod
    def _text(body, rng):
        parts = re.findall(r"[\w.]+|\s|.", body.decode("utf-8", "surrogateescape"), re.S)
        for _ in range(int(rng.integers(1, 5))):
            at, kind = int(rng.integers(len(parts) + 1)), rng.integers(5)
            end = min(len(parts), at + int(rng.integers(1, 9)))
            if kind == 0:
                del parts[at:end]
            elif kind == 1:
                parts[at:at] = parts[at:end] * int(rng.choice([1, 1, 2, 50]))
            else:
                parts[at : at + int(kind == 2)] = [_PIECES[rng.integers(len(_PIECES))]]
        return "".join(parts)[:20_000].encode("utf-8", "surrogateescape")

    def run(self, data, known):
        if not data:
            return "no input"
        path = self.folder / f"t{ENDINGS[data[0] % len(ENDINGS)]}"
        path.write_bytes(data[1:])
        pool = pa.default_memory_pool()
        before = pool.bytes_allocated()
        with np.errstate(all="ignore"):
            frame = read_frame(path)
            self._compared(path, frame)
            self._as_numbers(path)
        if pool.bytes_allocated() - before > self.allowed(data):
            raise MemoryError(f"Arrow holds {pool.bytes_allocated() - before:,} bytes")
        return path.suffix[1:]

    def _compared(self, path, frame):
        try:
            blocks = list(read_blocks(path, rows=3))
        except self.refusals:
            return  # by blocks less is guessed: cells of one column are of one kind
        n = sum(map(len, blocks))
        if n != len(frame):
            raise AssertionError(f"{len(frame)} rows at once, and {n} by blocks")
        if list(blocks[0].columns) != list(frame.columns):
            raise AssertionError(f"columns {list(frame.columns)} at once, and {list(blocks[0].columns)} by blocks")

    def _as_numbers(self, path):
        try:
            table = read_table(path, target="y")
        except self.refusals:
            return
        if not np.isfinite(table.X).all() or len(table.X) != len(table.target):
            raise AssertionError(f"{table.X.shape} numbers, {len(table.target)} targets, or not finite")


TARGET = Tables()
