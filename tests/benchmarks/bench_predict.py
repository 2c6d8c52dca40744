"""``clifford-rand predict`` on 10^6 rows of 50 numbers: rows a second and memory of the whole command.

    python tests/benchmarks/bench_predict.py [--rows 1000000]

Each file (Parquet, CSV with four decimals) is predicted in a process of its own, by 50 gates and by a network of at
most 50 neurons; start-up is the same command on a table of a hundred rows, and is taken off. Wall seconds depend on
what else the machine does, so seconds of the processor, of all threads, stand beside.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import clifford_rand_nn as nn

_D = 50
_CODE = """
import resource, sys, time
sys.argv = ["clifford-rand", "predict", *sys.argv[1:], "--force"]
began = time.perf_counter()
from clifford_rand_nn.cli.app import app
try:
    app()
except SystemExit:
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
peak = next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.perf_counter() - began, used.ru_utime + used.ru_stime, peak, file=sys.stderr)
"""


def main() -> None:
    """Make tables and models, predict, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    rows = parser.parse_args().rows
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = _tables(folder, rows)
        for title, model in _models(folder).items():
            for table in tables:
                begun = _run(model, folder / f"few{table.suffix}", folder / "p.csv")
                done = _run(model, table, folder / "p.csv")
                wall, busy = done[0] - begun[0], done[1] - begun[1]
                speed = f"{rows / wall:,.0f} rows/s ({wall:.2f} s), {rows / busy:,.0f} a processor second"
                print(f"{title}, {table.suffix}: {speed}; start-up {begun[0]:.2f} s; {done[2]:.0f} MB at most")


def _run(model: Path, table: Path, out: Path) -> tuple[float, ...]:
    command = [sys.executable, "-c", _CODE, str(model), str(table), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return tuple(float(word) for word in done.stderr.splitlines()[-1].split())


def _tables(folder: Path, rows: int) -> list[Path]:
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    for name, n in (("few", 100), ("many", rows)):
        schema = pa.schema([(f"x{i}", pa.float64()) for i in range(_D)])
        with (
            parquet.ParquetWriter(folder / f"{name}.parquet", schema) as one,
            csv.CSVWriter(folder / f"{name}.csv", schema) as two,
        ):
            for start in range(0, n, 10**5):
                X = rng.standard_normal((min(10**5, n - start), _D)).round(4)
                block = pa.table({f"x{i}": X[:, i] for i in range(_D)})
                one.write_table(block)
                two.write_table(block)
    return [folder / "many.parquet", folder / "many.csv"]


def _models(folder: Path) -> dict[str, Path]:
    import pandas as pd
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.standard_normal((2000, _D)), columns=[f"x{i}" for i in range(_D)])
    value = frame["x0"] + frame["x1"] * frame["x2"]
    models = {
        "50 gates": (nn.GatedReLUClassifier(n_gates=50, beta=0.01, tol=1e-2, random_state=0), value > 0),
        "50 neurons": (nn.ConvexNetworkRegressor(n_neurons=50), value),
    }
    paths = {}
    for name, (model, target) in models.items():
        paths[name] = folder / f"{name.replace(' ', '-')}.npz"
        nn.save_model(paths[name], make_pipeline(nn.TableEncoder(), model).fit(frame, target))
    return paths


if __name__ == "__main__":
    main()
