"""``clifford-rand predict`` on 10^6 rows of 50 numbers: rows a second and memory of the whole command.

    python tests/benchmarks/bench_predict.py [--rows 1_000_000] [--runs 3] [--against FOLDER] [--keep FOLDER]

Each file (Parquet, CSV with four decimals) is predicted in a process of its own, by 50 gates and by a network of at
most 50 neurons: as a command, less its start-up, which is the same command on a table of a hundred rows; and called in
a process that has done that before. The least of some runs is printed. Wall seconds depend on what else the machine
does, so seconds of the processor, of all threads, stand beside; ``--against`` runs another checkout in turn, and prints
the ratios.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
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


def main() -> None:
    """Make tables and models, predict, and print."""
    asked = options(
        __doc__,
        rows=10**6,
        runs=(1, "of which the least seconds are taken"),
        against=(Path, "another checkout, to compare with"),
        keep=(Path, "folder for the tables and models, which are there the next time"),
    )
    trees = [Path(__file__).parents[2], *([asked.against.resolve()] if asked.against else [])]
    machine()
    with nullcontext(asked.keep) if asked.keep else tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.mkdir(exist_ok=True)
        tables = _tables(folder, asked.rows)
        for title, model in _models(folder).items():
            for table in tables:
                _compare(trees, asked, title, model, table)


def _compare(trees: list[Path], asked: argparse.Namespace, title: str, model: Path, table: Path) -> None:
    """Print what each checkout takes, in turn."""
    few = table.with_name(f"few{table.suffix}")
    found: dict[Path, list[tuple[float, ...]]] = {tree: [] for tree in trees}
    for _ in range(asked.runs):
        for tree in trees:
            once, command, again = (_run(tree, model, *some) for some in ([few], [table], [few, table]))
            found[tree].append((*once, *command, *again))
    least = {tree: np.min(runs, axis=0) for tree, runs in found.items()}
    for tree in trees:
        wall, busy, _, all_wall, all_busy, _, own, own_busy, _ = least[tree]
        lines = (("as a command", all_wall - wall, all_busy - busy), ("in one process", own, own_busy))
        said = "; ".join(
            f"{how} {asked.rows / seconds:,.0f} rows/s ({seconds:.2f} s, {processor:.2f} of the processor)"
            for how, seconds, processor in lines
        )
        peak = max(max(run[5], run[8]) for run in found[tree])
        where = f" [{tree.name}]" if len(trees) > 1 else ""
        print(f"{title}, {table.suffix}{where}: {said}; start-up {wall:.2f} s; {peak:.0f} MB at most", flush=True)
    if len(trees) > 1:
        new, old = (least[tree] for tree in trees)
        print(
            f"    in one process: {new[6] / old[6]:.2f} of the wall seconds, {new[7] / old[7]:.2f} of the processor's"
        )


def _run(tree: Path, model: Path, *tables: Path) -> tuple[float, ...]:
    out = model.with_name("p.csv")
    command = [sys.executable, "-c", _CODE, str(model), str(out), *map(str, tables)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": str(tree)}, cwd=tree
    )
    return tuple(float(word) for word in done.stderr.splitlines()[-1].split())


def _tables(folder: Path, rows: int) -> list[Path]:
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    for name, n in (("few", 100), (f"many-{rows}", rows)):
        if (folder / f"{name}.csv").exists() and (folder / f"{name}.parquet").exists():
            continue
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
    return [folder / f"many-{rows}.parquet", folder / f"many-{rows}.csv"]


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
