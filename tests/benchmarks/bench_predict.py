"""``clifford-rand predict`` on 10^6 rows of 50 numbers: rows a second and memory of the whole command.

    python tests/benchmarks/bench_predict.py [--rows 1_000_000] [--runs 3] [--against FOLDER] [--keep FOLDER]

Each file (Parquet, CSV with four decimals) is predicted in a process of its own, by 50 gates and by a network of at
most 50 neurons: as a command, less its start-up, which is the same command on a table of a hundred rows; and called in
a process that has done that before. The least of some runs is printed. Wall seconds depend on what else the machine
does, so seconds of the processor, of all threads, stand beside; ``--against`` runs another checkout in turn, and prints
the ratios.
"""

import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv, parquet
from sklearn.pipeline import make_pipeline
from timing import machine, options

import clifford_rand_nn as nn

_D = 50
_CODE = """
import resource, sys, time
model, out, *tables = sys.argv[1:]
began, busy = time.perf_counter(), 0.0
from clifford_rand_nn.cli.app import app
for table in tables:
    sys.argv = ["clifford-rand", "predict", model, table, "--out", out, "--force"]
    try:
        app()
    except SystemExit as end:
        if end.code:
            raise
    used = resource.getrusage(resource.RUSAGE_SELF)
    now, used = time.perf_counter(), used.ru_utime + used.ru_stime
    last = now - began, used - busy
    began, busy = now, used
peak = next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(*last, peak, file=sys.stderr)
"""


def tables(folder, rows):
    """Write tables of a hundred rows and of ``rows``, if they are not there; return the large ones."""
    rng, schema = np.random.default_rng(0), pa.schema([(f"x{i}", pa.float64()) for i in range(_D)])
    for name, n in (("few", 100), (f"many-{rows}", rows)):
        paths = folder / f"{name}.parquet", folder / f"{name}.csv"
        if all(path.exists() for path in paths):
            continue
        with parquet.ParquetWriter(paths[0], schema) as first, csv.CSVWriter(paths[1], schema) as second:
            for start in range(0, n, 10**5):
                X = rng.standard_normal((min(10**5, n - start), _D)).round(4)
                block = pa.table({f"x{i}": X[:, i] for i in range(_D)})
                first.write_table(block)
                second.write_table(block)
    return paths


def models(folder):
    """Fit and write the models."""
    X = pd.DataFrame(np.random.default_rng(1).standard_normal((2000, _D)), columns=[f"x{i}" for i in range(_D)])
    value = X["x0"] + X["x1"] * X["x2"]
    gated = nn.GatedReLUClassifier(n_gates=50, beta=0.01, tol=1e-2, random_state=0)
    paths = {}
    for name, model, target in (
        ("50 gates", gated, value > 0),
        ("50 neurons", nn.ConvexNetworkRegressor(n_neurons=50), value),
    ):
        paths[name] = folder / f"{name.replace(' ', '-')}.npz"
        nn.save_model(make_pipeline(nn.TableEncoder(), model).fit(X, target), paths[name])
    return paths


def run(tree, model, *tables):
    """Return wall seconds, processor seconds and peak MB of the last table's prediction."""
    command = [sys.executable, "-c", _CODE, str(model), str(model.with_name("p.csv")), *map(str, tables)]
    settings = {"capture_output": True, "text": True, "check": True, "cwd": tree}
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(tree)}, **settings)
    return np.array([float(word) for word in done.stderr.splitlines()[-1].split()])


def compare(trees, rows, runs, title, model, table):
    """Print what each checkout takes, in turn."""
    few = table.with_name(f"few{table.suffix}")
    took = {tree: [] for tree in trees}
    for _ in range(runs):
        for tree in trees:
            took[tree].append([run(tree, model, *some) for some in ([few], [table], [few, table])])
    least, largest = ({tree: work(took[tree], axis=0) for tree in trees} for work in (np.min, np.max))
    for tree in trees:
        start, command, again = least[tree]
        said = "; ".join(
            f"{how} {rows / seconds:,.0f} rows/s ({seconds:.2f} s, {processor:.2f} of the processor)"
            for how, (seconds, processor, _) in (("as a command", command - start), ("in one process", again))
        )
        where = f" [{tree.name}]" if len(trees) > 1 else ""
        print(f"{title}, {table.suffix}{where}: {said}; start-up {start[0]:.2f} s; ", end="")
        print(f"{largest[tree][1:, 2].max():.0f} MB at most", flush=True)
    if len(trees) > 1:
        wall, busy, _ = least[trees[0]][2] / least[trees[1]][2]
        print(f"    in one process: {wall:.2f} of the wall seconds, {busy:.2f} of the processor's")


def main():
    args = options(
        __doc__,
        rows=10**6,
        runs=(1, "of which the least seconds are taken"),
        against=(Path, "another checkout, to compare with"),
        keep=(Path, "folder for the tables and models, which are there the next time"),
    )
    trees = [Path(__file__).parents[2], *([args.against.resolve()] if args.against else [])]
    machine()
    with nullcontext(args.keep) if args.keep else tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.mkdir(exist_ok=True)
        large = tables(folder, args.rows)
        for title, model in models(folder).items():
            for table in large:
                compare(trees, args.rows, args.runs, title, model, table)


if __name__ == "__main__":
    main()
