"""Damaged model files, tables and caches, each of which must load as it was or raise the one error; runs until stopped.

    python tests/fuzz/fuzz_files.py [SEED] [SECONDS]

Bytes, headers, JSON, members and zip directories of model files of every estimator are changed at random; so are those
of NPZ and Parquet tables and of embedding caches. Leaves with 1 if another error than ArgumentError escapes, a file
whose bytes were changed (its checksums not) gives other numbers, one file takes more than 64 MiB or 2 seconds, or a
cache gives a vector that was not put in.
"""

import sys
import tempfile
import time
import traceback
import tracemalloc
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clifford_rand.errors import ArgumentError
from clifford_rand_nn import load_model
from clifford_rand_nn.tables import read_table
from support.damage import (
    damaged_bytes,
    damaged_cache,
    damaged_directory,
    damaged_members,
    model_files,
)

MOST_BYTES, MOST_SECONDS = 2**26, 2.0


def loads_alike(path, good, kind, rng):
    """Damage a model file in one way; return "refused", "equal" or "other", or raise."""
    way = (damaged_bytes, damaged_directory, damaged_members)[kind]
    path.write_bytes(way(good.data, rng))
    try:
        model = load_model(path)
    except ArgumentError as error:
        if str(path) not in str(error) or "\n" in str(error):
            raise AssertionError(f"an error without the file's name, or of two lines: {error}") from error
        return "refused"
    if kind < 2:
        same = (
            np.array_equal(model.predict(good.X), good.predictions)
            and {k: v for k, v in model.get_params().items() if k != "gates"} == good.params
        )
        if not same:
            raise AssertionError("a damaged file loads as another model")
        return "equal"
    if model.n_features_in_ == good.X.shape[1]:
        model.predict(good.X)  # another model: it was written by hand, but one that works
    return "other"


def table_alike(path, good, rng):
    path.write_bytes(damaged_bytes(good, rng))
    try:
        table = read_table(path, target="y")
    except ArgumentError:
        return "refused"
    assert np.isfinite(table.X).all()
    return "read"


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    limit = float(sys.argv[2]) if len(sys.argv) > 2 else np.inf
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp())
    goods = model_files(folder)
    rng = np.random.default_rng(seed)
    X, y = rng.random((40, 3)), rng.integers(0, 2, 40)
    np.savez(folder / "t.npz", X=X, y=y)
    np.savez_compressed(folder / "c.npz", X=X, y=y)
    tables = [folder / "t.npz", folder / "c.npz"]
    try:
        import pandas as pd

        pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(folder / "p.parquet")
        tables.append(folder / "p.parquet")
    except ImportError:
        pass
    tables = [(path, path.read_bytes()) for path in tables]
    began, counts, wrong, trial = time.time(), {}, 0, 0
    tracemalloc.start()
    while time.time() - began < limit:
        trial += 1
        one = np.random.default_rng([seed, trial])
        what = int(one.integers(10))
        tracemalloc.reset_peak()
        before, start = tracemalloc.get_traced_memory()[0], time.perf_counter()
        try:
            if what < 7:
                good = goods[int(one.integers(len(goods)))]
                kind = int(one.integers(3))
                outcome = f"{('bytes', 'directory', 'members')[kind]}: {loads_alike(folder / 'm.npz', good, kind, one)}"
            elif what < 9:
                path, data = tables[int(one.integers(len(tables)))]
                outcome = f"{path.name}: {table_alike(path, data, one)}"
            else:
                outcome = f"cache: {damaged_cache(folder / f'cache{trial}', one)}"
            seconds, most = time.perf_counter() - start, tracemalloc.get_traced_memory()[1] - before
            if seconds > MOST_SECONDS or most > MOST_BYTES:
                raise AssertionError(f"{outcome} took {seconds:.1f} s and {most / 2**20:.0f} MiB")
            counts[outcome] = counts.get(outcome, 0) + 1
        except Exception:
            wrong += 1
            print(f"seed {seed}, trial {trial}, kind {what}:\n{traceback.format_exc()}", flush=True)
    print(f"{trial:,} files in {time.time() - began:.0f} s, {wrong} wrong: {dict(sorted(counts.items()))}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
