"""``clifford-rand predict`` on 10^6 rows of 50 numbers: rows a second and memory of the whole command.

    python tests/benchmarks/bench_predict.py [--rows 1_000_000] [--runs 3]

Each file (Parquet, CSV with four decimals) is predicted in a process of its own, by 50 gates and by a network of at
most 50 neurons: as a command, less its start-up, which is the same command on a table of a hundred rows; and called in
a process that has done that before. The least of some runs is printed. Wall seconds depend on what else the machine
does, so seconds of the processor, of all threads, stand beside.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv, parquet
from sklearn.pipeline import make_pipeline
from timing import machine, options

import clifford_rand_nn as nn

ROOT = Path(__file__).parents[2]
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
    """Write tables of a hundred rows and of ``rows``; return the large ones."""
    rng, schema = np.random.default_rng(0), pa.schema([(f"x{i}", pa.float64()) for i in range(_D)])
    for name, n in (("few", 100), (f"many-{rows}", rows)):
        paths = folder / f"{name}.parquet", folder / f"{name}.csv"
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


def run(model, *tables):
    """Return wall seconds, processor seconds and peak MB of the last table's prediction."""
    command = [sys.executable, "-c", _CODE, str(model), str(model.with_name("p.csv")), *map(str, tables)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return np.array([float(word) for word in done.stderr.splitlines()[-1].split()])


def measure(rows, runs, title, model, table):
    """Print what predictions of a table take."""
    few = table.with_name(f"few{table.suffix}")
    took = np.array([[run(model, *some) for some in ([few], [table], [few, table])] for _ in range(runs)])
    start, command, again = took.min(axis=0)
    said = "; ".join(
        f"{how} {rows / seconds:,.0f} rows/s ({seconds:.2f} s, {processor:.2f} of the processor)"
        for how, (seconds, processor, _) in (("as a command", command - start), ("in one process", again))
    )
    print(f"{title}, {table.suffix}: {said}; start-up {start[0]:.2f} s; {took[:, 1:, 2].max():.0f} MB", flush=True)


def main():
    args = options(__doc__, rows=10**6, runs=(1, "of which the least seconds are taken"))
    machine()
    with tempfile.TemporaryDirectory() as folder:
        large = tables(Path(folder), args.rows)
        for title, model in models(Path(folder)).items():
            for table in large:
                measure(args.rows, args.runs, title, model, table)


if __name__ == "__main__":
    main()
