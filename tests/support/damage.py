"""Files damaged at random: bytes changed, cut, moved, and NPZ archives whose checksums agree all the same."""

import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import (
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    ConvexReLUClassifier,
    CrossProductLassoClassifier,
    CrossProductLassoRegressor,
    GatedReLUClassifier,
    GatedReLURegressor,
    load_model,
    sample_gates,
    save_model,
)
from clifford_rand_nn.features.cache import FeatureCache, content_hash

_HEADERS = (
    b"<f8", b">f8", b"<f4", b"<c16", b"|O", b"<U9", b"<i8", b"|V8", b"<M8[s]", b"True", b"False", b"((", b"9", b"-1",
    b"1e9", b"'",
)  # fmt: skip
_VALUES = (
    None, True, -1, 0, 3, 1e308, -1e-320, float("nan"), float("inf"), 10**400, "", "x", "l2", [], [[]], {}, {"a": 1},
    "\ud800",
)  # fmt: skip


def damaged_bytes(good: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with one or a few of them changed, a stretch removed, repeated, zeroed or the end cut off."""
    data = bytearray(good)
    kind = rng.integers(6)
    at, length = int(rng.integers(len(data))), int(rng.integers(1, 200))
    if kind < 2:
        for place in rng.integers(len(data), size=1 if kind else int(rng.integers(2, 9))):
            data[place] ^= int(rng.integers(1, 256))
    elif kind == 2:
        del data[at:]
    elif kind == 3:
        del data[at : at + length]
    elif kind == 4:
        data[at:at] = data[at : at + length]
    else:
        data[at : at + length] = bytes(len(data[at : at + length]))
    return bytes(data)


def damaged_directory(good: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes of an archive with fields of its directory, its end or a local header set at random."""
    data = bytearray(good)
    marks = [i for mark in (b"PK\x01\x02", b"PK\x05\x06", b"PK\x03\x04") for i in _places(good, mark)]
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.choice(marks)) + int(rng.integers(4, 46))
        width = int(rng.choice([1, 2, 4]))
        value = int(rng.choice([0, 1, 8, 12, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, int(rng.integers(2**32))]))
        data[at : at + width] = (value % 256**width).to_bytes(width, "little")
    return bytes(data)


def damaged_members(good: bytes, rng: np.random.Generator) -> bytes:
    """Return an archive, whose checksums are right, with headers, values, JSON or the members themselves changed."""
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    for _ in range(int(rng.integers(1, 3))):
        names = list(members)
        name = str(rng.choice(names))
        kind = rng.integers(7)
        if kind == 0 and name != "meta.npy":
            members[name] = _with_header(members[name], rng)
        elif kind == 1:
            members[name] = damaged_bytes(members[name], rng)
        elif kind == 2:
            del members[name]
        elif kind == 3:
            members[name] = members[str(rng.choice(names))]
        elif kind == 4 and name != "meta.npy":
            array = _array(members[name])
            if array.size and array.dtype.kind == "f":
                array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 0.0])
            members[name] = _npy(array[..., :-1] if rng.random() < 0.3 and array.ndim else array)
        elif "meta.npy" in members:
            members["meta.npy"] = _with_meta(members["meta.npy"], rng)
        if not members:
            break
    out = io.BytesIO()
    how = zipfile.ZIP_DEFLATED if rng.random() < 0.1 else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def bomb(n_bytes: int, declared: int | None = None) -> bytes:
    """Return an NPZ whose one array ``meta`` inflates to ``n_bytes`` zeros, or only declares that many and has none."""
    out = io.BytesIO()
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % (n_bytes if declared is None else declared)
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("meta.npy", "w") as stream:
        stream.write(start)
        for _ in range(0 if declared is not None else n_bytes // 2**20):
            stream.write(bytes(2**20))
    return out.getvalue()


def _places(data, mark):
    at = data.find(mark)
    while at >= 0:
        yield at
        at = data.find(mark, at + 1)


def _with_header(data, rng):
    length = int.from_bytes(data[8:10], "little")
    header, rest = bytearray(data[10 : 10 + length]), data[10 + length :]
    kind = rng.integers(3)
    if kind == 0:
        at, what = int(rng.integers(len(header))), _HEADERS[rng.integers(len(_HEADERS))]
        header[at : at + len(what)] = what
    elif kind == 1:
        start = header.find(b"(")
        header[start + 1 : start + 2] = str(int(rng.choice([0, 1, 2, 10**6, 10**12, 10**18, 10**30]))).encode()
    else:
        header = bytearray(b"(" * int(rng.integers(1, 60_000)))
    return data[:8] + (len(header) % 2**16).to_bytes(2, "little") + bytes(header) + rest


def _with_meta(data, rng):
    try:
        meta = json.loads(_array(data).tobytes())
    except (ValueError, RecursionError):  # damaged by the change before
        return data
    where = meta
    while True:
        if not isinstance(where, dict) or not where:
            break
        key = list(where)[rng.integers(len(where))]
        if isinstance(where[key], dict) and rng.random() < 0.8:
            where = where[key]
            continue
        if rng.random() < 0.15:
            del where[key]
        else:
            where[key] = _VALUES[rng.integers(len(_VALUES))]
        break
    text = json.dumps(meta)
    if rng.random() < 0.05:
        text = "[" * 100_000
    return _npy(np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8))


def _array(data):
    try:
        return np.load(io.BytesIO(data)).copy()
    except Exception:  # damaged by the change before; NumPy raises many kinds
        return np.zeros(3)


def _npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


class Harmful:
    """What a pickle could do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


class Good(NamedTuple):
    """A model file, and what its model says."""

    name: str
    data: bytes
    X: np.ndarray
    predictions: np.ndarray
    params: dict


def model_files(folder: Path) -> list[Good]:
    """Write a small model of each kind, and return the files."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 2))
    side = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    weights = rng.uniform(0.5, 2, 24)
    text = np.array(["no", "yes", "maybe"])
    models = {
        "gated": GatedReLUClassifier(n_gates=5, random_state=0, tol=1e-2, beta=1e-3, bias=True).fit(X, text[side]),
        "given": GatedReLURegressor(gates=sample_gates(X, 4, random_state=0), tol=1e-2, beta=1e-3, bias=True).fit(
            X, X, sample_weight=weights
        ),
        "relu": ConvexReLUClassifier(n_gates=5, random_state=0, tol=1e-2, beta=1e-3, bias=True).fit(X, side > 0),
        "lasso": CrossProductLassoRegressor(subsample=20, random_state=0, tol=1e-3, beta=1e-3, bias=True).fit(
            X, X[:, 0]
        ),
        "infinite": ConvexNetworkClassifier().fit(X, text[side], sample_weight=weights),
        "learned": ConvexNetworkRegressor(max_metric_iter=2).fit(X, X[:, 0] ** 2),
        "rows": CrossProductLassoClassifier(penalty="l2", tol=1e-3, beta=1e-3, bias=True).fit(
            X, text.astype(object)[side]
        ),
    }
    files = []
    for name, model in models.items():
        save_model(model, folder / f"{name}.npz")
        back = load_model(folder / f"{name}.npz")
        data = (folder / f"{name}.npz").read_bytes()
        files.append(Good(name, data, X, back.predict(X), {k: v for k, v in back.get_params().items() if k != "gates"}))
    return files


def damaged_cache(folder: Path, rng: np.random.Generator) -> str:
    """Damage the bytes of a cache of embeddings; "refused", or "right" if every vector that it gives was put in."""
    folder.mkdir()
    hashes = [content_hash(f"text {i}") for i in range(60)]
    vectors = rng.standard_normal((60, 12)).astype(np.float32)
    try:
        cache = FeatureCache(folder, "key")
        cache.put(hashes, vectors)
        cache.path.write_bytes(damaged_bytes(cache.path.read_bytes(), rng))
        try:
            again = FeatureCache(folder, "key")
            missing = set(again.missing(hashes))
            there = [i for i, one in enumerate(hashes) if one not in missing]
            found = again.get([hashes[i] for i in there])
        except ArgumentError:
            return "refused"
        if there and not np.array_equal(found, vectors[there]):
            raise AssertionError("a vector that was not put in")
        return "right"
    finally:
        shutil.rmtree(folder)
