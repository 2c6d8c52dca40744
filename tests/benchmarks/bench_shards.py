"""Rows beyond memory: every line of the acceptance table, fits in a process each, with their peak memory.

    python tests/benchmarks/bench_shards.py --folder FOLDER [--line gated dask growth default peers faults verify]
        [--rows 1000000] [--columns 384] [--gates 50] [--beta 1e-3] [--tol 1e-2] [--threads 2] [--kills 30]
        [--out picture.png] [--limit 120]

Rows are made in FOLDER (0.77 GB for the default), in float16, by a teacher network with noise; the seed is fixed.
gated: `GatedReLUClassifier` on all rows, its certified gap, its peak, and its seconds over those of the bare products
of its passes, which are timed after each pass on resident blocks. dask: the same by two worker processes. growth: a
sixteenth, a quarter and all rows. default: `ConvexNetworkClassifier()` on rows of 50 columns, beside 60,000 rows in
memory. peers: what a user would take, on the same shards, until --limit seconds, in one picture. faults: kills, see
tests/fuzz/shard_kills.py. verify: the certificate of the first line from the shards. Every line prints wall seconds;
CPU seconds beside them tell more on a busy machine.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sharded import process
from sharded.made import made

_NAMES = {
    "sgd": "SGDClassifier",
    "saga": "LogisticRegression(saga)",
    "lightgbm": "LightGBM (Sequence)",
    "xgboost": "XGBoost (external memory)",
    "dask_ml": "dask-ml LogisticRegression",
}
LINES = ("gated", "dask", "growth", "default", "peers", "faults", "verify")


def said(found):
    if "failed" in found:
        return f"FAILED: {found['failed']}"
    return f"{found['seconds']:7.1f} s (cpu {found['cpu']:.1f} s), peak {found['peak'] / 1e9:.2f} GB"


def told(title, found, more=""):
    print(f"{title:<44} {said(found)}{more}", flush=True)


def gated_told(title, found):
    if "failed" in found:
        told(title, found)
        return
    ratio = found["seconds"] / found["product_seconds"]
    workers = "".join(f", worker {size / 1e9:.2f} GB" for size in found["workers"])
    told(title, found, f"{workers}, gap {found['gap']:.1e}, objective {found['objective']:.7f}")
    cpu = "" if found["workers"] else f", in CPU seconds {found['cpu'] / found['product_cpu']:.2f} ×"
    passes = found["pass_seconds"] / found["product_seconds"]
    print(f"    {found['steps']} steps, {found['passes']} passes {found['pass_seconds']:.1f} s; bare products ", end="")
    print(f"{found['product_seconds']:.1f} s: fit {ratio:.2f} × (target ≤ 1.5){cpu}, passes {passes:.2f} ×")
    print("    others: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in found["other"]))
    print(f"    test accuracy {found['accuracy']:.4f}, log loss {found['log_loss']:.4f}", flush=True)


class Bench:
    """The lines, each with the options given."""

    def __init__(self, options):
        self.o = options
        self.folder = Path(options.folder)
        self._first = None

    def rows(self, d=None):
        return str(made(self.folder, self.o.rows, d or self.o.columns))

    def fit(self, tol=None, **more):
        o = self.o
        return process.run(
            "gated", folder=self.rows(), gates=o.gates, beta=o.beta, tol=tol or o.tol, threads=o.threads, **more
        )

    @property
    def kept(self):
        return str(self.folder / f"gated-{self.o.rows}x{self.o.columns}.pickle")

    def plain(self):
        if self._first is None:
            self._first = self.fit(keep=self.kept)
        return self._first

    def gated(self):
        gated_told(f"{self.o.rows:,} × {self.o.columns}, {self.o.gates} gates", self.plain())

    def dask(self):
        plain = self.plain()
        gated_told("    in one process", plain)
        found = self.fit(dask=2)
        gated_told("    by Dask, 2 worker processes", found)
        if "failed" not in (plain | found):
            difference = abs(plain["objective"] - found["objective"]) / plain["objective"]
            print(f"    Dask / plain: {found['seconds'] / plain['seconds']:.2f} × (target ≤ 1.3); ", end="")
            print(f"objectives differ by {difference:.1e}", flush=True)

    def growth(self):
        found = {}
        for rows in (self.o.rows // 16, self.o.rows // 4, self.o.rows):
            one = self.plain() if rows == self.o.rows else self.fit(rows=rows)
            gated_told(f"growth, {rows:,} rows", one)
            if "failed" in one:
                return
            found[one["n"]] = one
        last = found[max(found)]
        for n, one in found.items():
            row = one["seconds"] / n * last["n"] / last["seconds"]
            print(f"    {n:>9,}: seconds a row {row:.2f} × those of all, ", end="")
            print(
                f"a row and pass {row * last['passes'] / one['passes']:.2f} ×, peak {one['peak'] / last['peak']:.2f} ×"
            )

    def default(self):
        folder = self.rows(50)
        shards = process.run("default", folder=folder)
        told(f"default network, {self.o.rows:,} × 50 in shards", shards, _accuracy(shards))
        memory = process.run("default", folder=folder, memory_rows=60_000, limit=1800)
        told("    60,000 rows in memory", memory, _accuracy(memory))

    def peers(self):
        folder, curves = self.rows(), {}
        for name in self.o.peers or _NAMES:
            found = process.run(name, folder=folder, limit=4 * self.o.limit + 120, seconds=self.o.limit)
            if "failed" in found:
                print(f"{_NAMES[name]:<32} FAILED: {found['failed']}", flush=True)
                continue
            seconds, accuracy, loss = found["points"][-1]
            curves[f"{_NAMES[name]}, {found['rows']:,} rows"] = found["points"]
            print(f"{_NAMES[name]:<32} {found['rows']:>9,} rows, {seconds:7.1f} s, ", end="")
            print(f"peak {found['peak'] / 1e9:.2f} GB, accuracy {accuracy:.4f}, log loss {loss:.4f}", flush=True)
        for tol in (0.3, 0.1, 0.03, 0.01):
            found = self.plain() if tol == self.o.tol else self.fit(tol=tol)
            gated_told(f"gated network, gap {tol}", found)
            if "failed" not in found:
                point = (found["seconds"], found["accuracy"], found["log_loss"])
                curves.setdefault(f"gated network, {found['n']:,} rows", []).append(point)
        found = process.run("default", folder=folder)
        told("default network", found, _accuracy(found))
        if "failed" not in found:
            curves["default network"] = [(found["seconds"], found["accuracy"], found["log_loss"])]
        picture(curves, self.o.out)

    def faults(self):
        script = Path(__file__).parents[1] / "fuzz" / "shard_kills.py"
        subprocess.run([sys.executable, str(script), "--kills", str(self.o.kills)], check=False)

    def verify(self):
        if not Path(self.kept).exists():
            self.gated()
        found = process.run("verify", folder=self.rows(), kept=self.kept, threads=self.o.threads)
        more = ""
        if "failed" not in found:
            more = f", {found['passes']} pass, gap {found['gap']:.1e}, values differ by {found['difference']:.1e}"
        told("certificate checked from the shards", found, more)


def _accuracy(found):
    return "" if "failed" in found else f", test accuracy {found['accuracy']:.4f}, log loss {found['log_loss']:.4f}"


def picture(curves, out):
    """Accuracy and log loss on test rows against seconds of training."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, points in curves.items():
        seconds, accuracy, loss = zip(*points, strict=True)
        for axis, values in zip(axes, (accuracy, loss), strict=True):
            ours = "network" in name
            axis.plot(seconds, values, "o-" if ours else ".--", label=name, linewidth=2 if ours else 1)
    for axis, what in zip(axes, ("accuracy", "log loss"), strict=True):
        axis.set(xscale="log", xlabel="seconds", ylabel=f"{what} on 20,000 test rows")
    axes[0].legend(fontsize=7)
    figure.savefig(out, dpi=130)
    print(f"picture: {out}")


def task(name, options):
    if name in _NAMES:
        from sharded import peers

        return peers.PEERS[name](options["folder"], limit=options["seconds"])
    from sharded import fits

    return {"gated": fits.gated, "default": fits.default, "verify": fits.verify}[name](**options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--line", nargs="+", choices=LINES, default=LINES)
    parser.add_argument("--folder", default="shards-of-bench")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=384)
    parser.add_argument("--gates", type=int, default=50)
    parser.add_argument("--beta", type=float, default=1e-3)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of training of a peer")
    parser.add_argument("--peers", nargs="+", choices=_NAMES)
    parser.add_argument("--out", default="shards.png")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--options", default="{}", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(task(options.task, json.loads(options.options))))
        return
    from timing import machine

    machine("scipy", "scikit-learn")
    bench = Bench(options)
    for line in options.line:
        getattr(bench, line)()


if __name__ == "__main__":
    main()
