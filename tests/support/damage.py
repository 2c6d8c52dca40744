"""Files damaged at random: bytes changed, cut, moved, and NPZ archives whose checksums agree all the same."""

import io
import shutil
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import GatedReLURegressor, load_model, sample_gates, save_model
from clifford_rand_nn.features.cache import FeatureCache, content_hash
from support import golden
from support.archives import archive_of, crossed, header, members_of, with_head, with_json

_KINDS = (
    *("gated", "gated_regressor", "relu", "lasso", "lasso_rows"),
    *("infinite", "infinite_regressor", "infinite_learned"),
)


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
    made = _with_damage(good, rng)
    return archive_of(members_of(made), zipfile.ZIP_DEFLATED) if rng.random() < 0.1 else made


def _with_damage(good, rng):
    members = members_of(good)
    if rng.random() < 0.3:
        return crossed(good, [members], rng)
    if "meta.npy" in members and rng.random() < 0.4:
        return with_json(good, "meta.npy", rng)
    name = str(rng.choice(list(members)))
    change = with_head if name.endswith(".npy") and rng.random() < 0.5 else damaged_bytes
    return archive_of(members | {name: change(members[name], rng)})


def bomb(n_bytes: int, declared: int | None = None) -> bytes:
    """Return an NPZ whose one array ``meta`` inflates to ``n_bytes`` zeros, or only declares that many and has none."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("meta.npy", "w") as stream:
        stream.write(header("|u1", n_bytes if declared is None else declared))
        for _ in range(0 if declared is not None else n_bytes // 2**20):
            stream.write(bytes(2**20))
    return out.getvalue()


def _places(data, mark):
    at = data.find(mark)
    while at >= 0:
        yield at
        at = data.find(mark, at + 1)


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
    X, path, files = golden.made()[0], folder / "m.npz", []
    makers = {name: golden.models()[name] for name in _KINDS}
    gates = sample_gates(X, 4, random_state=0)
    given = GatedReLURegressor(gates=gates, tol=1e-2, beta=1e-3, bias=True)
    makers["given"] = lambda: given.fit(X, X, sample_weight=np.linspace(0.5, 2, len(X)))
    for name, make in makers.items():
        save_model(make(), path)
        back, rows = load_model(path), golden.new_rows(name)
        params = {key: value for key, value in back.get_params().items() if key != "gates"}
        files.append(Good(name, path.read_bytes(), rows, back.predict(rows), params))
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
