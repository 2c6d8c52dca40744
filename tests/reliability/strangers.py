"""Files from strangers run no code, control no terminal, and neither hang nor fill memory: they load or are refused.

Crafted model files, tables, caches, checkpoints and shards: pickles inside archives, arrays that say they are huge,
archives that unpack to gigabytes, SQL that never ends, names with escape sequences, paths that lead elsewhere. Each is
opened in a process with 3 GB of address space, which has to answer within 30 s by a result or one line.
"""

import os
import pickle
import resource
import sqlite3
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np

from reliability.promise import Outcome
from support.archives import header, members_of, npy
from support.damage import Harmful
from support.running import answered

_SECONDS, _BYTES = 30, 3 * 2**30
_HUGE = 10**12  # numbers that a header states
_CANARY = "canary"  # a file that appears where code of a stranger was run
_TABLES = (".csv", ".tsv", ".parquet", ".npz", ".arff")


def run(budget):
    faults, refused, loaded = [], 0, 0
    names = budget.named(list(ATTACKS))
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            path = ATTACKS[name][0](Path(folder))
            kind, text = answered(_SECONDS, _open, name, folder, path) or ("hangs", f"no answer after {_SECONDS} s")
            if (Path(folder) / _CANARY).exists():
                faults.append(f"{name}: code of the file was run")
            if kind == "refused" and ("\n" in text or not text.isprintable()):
                faults.append(f"{name}: an error of several lines, or that controls a terminal: {text!r}")
            if kind in ("hangs", "raw"):
                faults.append(f"{name}: {text}")
            refused, loaded = refused + (kind == "refused"), loaded + (kind == "loaded")
    return Outcome(f"{len(names)} crafted files: {refused} refused, {loaded} loaded as harmless", faults)


def _open(answers, name, folder, path):
    from clifford_rand.errors import ArgumentError

    os.chdir(folder)
    use = ATTACKS[name][1]
    __import__("clifford_rand_nn.model_file"), __import__("pandas"), __import__("pyarrow.parquet")
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    try:
        use(path)
    except (ArgumentError, OSError) as error:
        answers.put(("refused", str(error)))
    except MemoryError:
        answers.put(("raw", "memory was asked for"))
    except BaseException as error:  # what else is raised is the fault
        answers.put(("raw", f"{type(error).__name__}: {error}"))
    else:
        answers.put(("loaded", ""))


# ---- what strangers make


_CODE = np.array([Harmful(Path(_CANARY))], dtype=object)


def _model(folder):
    from clifford_rand_nn import GatedReLURegressor, save_model

    X = np.random.default_rng(0).standard_normal((30, 2))
    save_model(GatedReLURegressor(4, beta=1e-2, random_state=0).fit(X, X[:, 0]), folder / "m.npz")
    return folder / "m.npz"


def _changed(folder, change):
    """Return a model file whose members were changed: a dict of names and bytes."""
    path = _model(folder)
    members = members_of(path.read_bytes())
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            with archive.open(name, "w", force_zip64=True) as member:
                for part in [data] if isinstance(data, bytes) else data:
                    member.write(part)
    return path


def _first(members):
    return next(name for name in members if "meta" not in name)


def _pickled(members):
    members[_first(members)] = npy(_CODE)


def _stated(members):
    members[_first(members)] = header("<f8", _HUGE)


def _bomb(members):
    members[_first(members)] = [header("<f8", 2**29), *[bytes(2**22)] * 1024]  # 4 GB of zeros, which pack to 19 MB


def _outside(members):
    members["../outside.npy"] = members[_first(members)]


def _endless(table):
    def make(folder):
        from clifford_rand_nn.features.cache import FeatureCache

        endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
        with closing(sqlite3.connect(FeatureCache(folder, "key").path)) as file:
            file.executescript(f"DROP TABLE {table}; CREATE VIEW {table} AS {endless}")
        return folder

    return make


def _table(ending):
    def make(folder):
        path = folder / f"t{ending}"
        name, cell = "a\x1b[2J\x9b", "u\x1b]0;title\x07"
        if ending == ".npz":
            np.savez(path, X=_CODE, y=np.zeros(1))
        elif ending == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet

            pa.parquet.write_table(pa.table({name: [cell] * 9, "y": [0, 1, 2] * 3}), path)
        else:
            mark = "\t" if ending == ".tsv" else ","
            path.write_text(f"{name}{mark}y\n" + f"{cell}{mark}1\n" * 9)
        return path

    return make


def _named(folder):
    """Return a model whose columns are escape sequences."""
    import pandas as pd

    from clifford_rand_nn import save_model, table_model

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a\x1b[2J": rng.standard_normal(40), "y": ["\x9b2J", "b"] * 20})
    save_model(table_model(frame, "y"), folder / "m.npz")
    return folder / "m.npz"


def _shards(pickled):
    def make(folder):
        data = npy(_CODE[None]) if pickled else header("<f8", _HUGE, 3)
        (folder / "X-00000.npy").write_bytes(data)
        np.save(folder / "y-00000.npy", np.zeros(3))
        return folder

    return make


def _pickle(folder):
    (folder / "m.npz").write_bytes(pickle.dumps(_CODE[0]))
    return folder / "m.npz"


# ---- how it is opened


def _load(path):
    from clifford_rand_nn import load_model

    load_model(path)


def _info(path):
    from typer.testing import CliRunner

    from clifford_rand_nn.cli.app import app

    done = CliRunner().invoke(app, ["info", str(path)])
    shown = done.stdout + done.stderr
    if done.exit_code or any(not (char.isprintable() or char == "\n") for char in shown):
        raise RuntimeError(f"exit code {done.exit_code}, printed {shown!r}")


def _read(path):
    from clifford_rand_nn import read_frame
    from clifford_rand_nn.tables import read_table

    (read_table if path.suffix == ".npz" else read_frame)(path)


def _cache(folder):
    from clifford_rand_nn.features.cache import FeatureCache

    len(FeatureCache(folder, "key"))


def _open_shards(folder):
    from clifford_rand_nn import GatedReLURegressor, Shards

    GatedReLURegressor(4, beta=1e-2, random_state=0).fit(Shards(folder))


ATTACKS = {
    "a pickle called a model": (_pickle, _load),
    "a pickle in a model": (lambda folder: _changed(folder, _pickled), _load),
    "an array of 8 TB in a model": (lambda folder: _changed(folder, _stated), _load),
    "a model that unpacks to 4 GB": (lambda folder: _changed(folder, _bomb), _load),
    "a model with a path": (lambda folder: _changed(folder, _outside), _load),
    "a model whose names control the terminal": (_named, _info),
    "a cache whose vectors are endless": (_endless("vectors"), _cache),
    "a cache whose key is endless": (_endless("about"), _cache),
    "shards of 24 TB": (_shards(False), _open_shards),
    "shards with a pickle": (_shards(True), _open_shards),
    **{f"a {ending} table": (_table(ending), _read) for ending in _TABLES},
}
