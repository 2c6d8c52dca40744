"""Rows beyond memory: every line of the acceptance table, fits in a process each, with their peak memory.

    python tests/benchmarks/bench_shards.py --folder FOLDER
        [--line gated dask torch growth default settings peers faults verify] [--rows 1_000_000] [--columns 384]
        [--gates 50] [--beta 1e-3] [--tol 1e-2] [--threads 2] [--kills 30] [--out picture.png] [--limit 120]

Rows are made in FOLDER (0.77 GB for the default), in float16, by a teacher network with noise; the seed is fixed.
gated: after a fit to few rows, the first call, `GatedReLUClassifier` on all rows, its certified gap, its peak, and its
seconds over those of the bare products of its passes, which are timed after each pass on resident blocks (the pass that
decides patterns is one: X @ H). dask: the same by two worker processes. torch: the same by torch, on this machine's GPU
if it has one; nothing is multiplied beside it. growth: a sixteenth, a quarter and all rows: seconds of fits, without
imports, and of a pass, a row; what is done on the sample, whatever n, is beside the passes. default:
`ConvexNetworkClassifier()` on rows of 50 columns, beside 60,000 rows in memory. settings: beta of ours, steps of SGD,
C, sizes of trees, chosen for every method by trials of a quarter of --limit seconds on a quarter of the rows, judged by
training rows of the last shard, and kept in FOLDER. peers: what a user would take, with these settings, on the same
shards, until --limit seconds, in one picture; what it measured is kept in FOLDER, so that --peers may run some of them.
faults: kills, see tests/fuzz/shard_kills.py. verify: the certificate of the first line from the shards. Every line
prints wall seconds; CPU seconds beside them tell more on a busy machine.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from timing import options

sys.path.insert(0, str(Path(__file__).parent))
import numpy as np
from sharded import process
from sharded.made import made
from sharded.peers import GRIDS

_NAMES = {
    "sgd": "SGDClassifier",
    "saga": "LogisticRegression(saga)",
    "lightgbm": "LightGBM (Sequence)",
    "xgboost": "XGBoost (external memory)",
    "dask_ml": "dask-ml LogisticRegression",
}
_PASSES = ("pass_seconds", "pass_cpu")
LINES = ("gated", "dask", "torch", "growth", "default", "settings", "peers", "faults", "verify")


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
    others = "".join(f", {name} {seconds:.1f} s" for name, seconds in found["other"])
    beside = found["seconds"] - found["pass_seconds"] - sum(seconds for _, seconds in found["other"])
    print(f"    others{others}, beside passes {beside:.1f} s (cpu {found['beside_cpu']:.1f} s); ", end="")
    print(f"first call, a fit to few rows before: {found['first']:.1f} s")
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

    def torch(self):
        plain, found = self.plain(), self.fit(torch=True)
        gated_told("    in one process", plain)
        if "failed" in found:
            told("    by torch", found)
            return
        told(f"    by torch, {found['device']}", found, f", gap {found['gap']:.1e}, objective {found['objective']:.7f}")
        others = "".join(f", {name} {seconds:.1f} s" for name, seconds in found["other"])
        before, *later = found["each_pass"]
        median = float(np.median(later))
        print(f"    {found['steps']} steps; first pass {before:.2f} s, median {1e3 * median:.0f} ms (plain ", end="")
        print(f"{1e3 * float(np.median(plain['each_pass'])):.0f} ms){others}; verified from the shards: gap ", end="")
        print(f"{found['verified']:.1e}", flush=True)

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
            whole, passes, cpu = (one[name] / n / (last[name] / last["n"]) for name in ("seconds", *_PASSES))
            share = last["passes"] / one["passes"]
            print(f"    {n:>9,}: seconds a row {whole:.2f} × those of all, of a pass {passes * share:.2f} × ", end="")
            print(f"(cpu {cpu * share:.2f} ×), peak {one['peak'] / last['peak']:.2f} ×")

    def default(self):
        folder = self.rows(50)
        shards = process.run("default", folder=folder)
        told(f"default network, {self.o.rows:,} × 50 in shards", shards, _accuracy(shards))
        memory = process.run("default", folder=folder, memory_rows=60_000, limit=1800)
        told("    60,000 rows in memory", memory, _accuracy(memory))

    def settings(self):
        """Choose settings of every method by trials on a quarter of the rows, judged by rows of the last shard."""
        found = self._read("settings")
        for name in self.o.peers or GRIDS:
            tried = []
            for setting in GRIDS[name]:
                one = self._trial(name, setting)
                tried.append((one, setting))
                print(f"{_NAMES.get(name, name):<28} {_told(setting):<40} held-out log loss {one:.4f}", flush=True)
            found[name] = min(tried, key=lambda pair: pair[0])[1]
            self._write("settings", found)

    def _trial(self, name, setting):
        folder, rows, limit = self.rows(), self.o.rows // 4, self.o.limit / 4
        if name == "gated":
            found = process.run(
                name, folder=folder, rows=rows, gates=self.o.gates, tol=0.03, threads=2, held=True, **setting
            )
            return found.get("log_loss", np.inf)
        found = process.run(
            name, folder=folder, rows=rows, limit=4 * limit + 120, seconds=limit, held=True, settings=setting
        )
        return np.inf if "failed" in found else found["points"][-1][2]

    def peers(self):
        if set(self.o.peers or GRIDS) - set(self._read("settings")):
            self.settings()
        folder, settings, curves = self.rows(), self._read("settings"), self._read("curves")
        for name in self.o.peers or GRIDS:
            setting = settings[name]
            if name == "gated":
                curves |= self._ours(setting)
            else:
                found = process.run(
                    name, folder=folder, limit=4 * self.o.limit + 120, seconds=self.o.limit, settings=setting
                )
                if "failed" in found:
                    print(f"{_NAMES[name]:<32} FAILED: {found['failed']}", flush=True)
                    continue
                seconds, accuracy, loss = found["points"][-1]
                curves[f"{_NAMES[name]}, {found['rows']:,} rows"] = found["points"]
                print(f"{_NAMES[name]:<32} {found['rows']:>9,} rows, {seconds:7.1f} s, ", end="")
                print(f"peak {found['peak'] / 1e9:.2f} GB, accuracy {accuracy:.4f}, log loss {loss:.4f}", end="")
                print(f", {_told(setting)}", flush=True)
            self._write("curves", curves)
        picture(curves, self.o.out)

    def _ours(self, setting):
        points, name = [], "gated network"
        for tol in (0.3, 0.1, 0.03, 0.01):
            found = process.run(
                "gated", folder=self.rows(), gates=self.o.gates, tol=tol, threads=self.o.threads, **setting
            )
            gated_told(f"gated network, {_told(setting)}, gap {tol}", found)
            if "failed" not in found:
                points.append((found["seconds"], found["accuracy"], found["log_loss"]))
        curves = {f"{name}, {self.o.rows:,} rows": sorted(points)}
        found = process.run("default", folder=self.rows())
        told("default network, nothing given", found, _accuracy(found))
        if "failed" not in found:
            curves["default network"] = [(found["seconds"], found["accuracy"], found["log_loss"])]
        return curves

    def _read(self, what):
        file = Path(self.rows()) / f"{what}.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def _write(self, what, value):
        (Path(self.rows()) / f"{what}.json").write_text(json.dumps(value))

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


def _told(setting):
    return ", ".join(f"{name} {value:g}" for name, value in setting.items())


def _accuracy(found):
    return "" if "failed" in found else f", test accuracy {found['accuracy']:.4f}, log loss {found['log_loss']:.4f}"


def picture(curves, out):
    """Accuracy and log loss on test rows against seconds of training."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for name, points in curves.items():
        if not points:
            continue
        seconds, accuracy, loss = zip(*points, strict=True)
        for axis, values in zip(axes, (accuracy, loss), strict=True):
            ours = "network" in name
            axis.plot(seconds, values, "o-" if ours else ".--", label=name, linewidth=2 if ours else 1)
    for axis, what in zip(axes, ("accuracy", "log loss"), strict=True):
        axis.set(xscale="log", xlabel="seconds", ylabel=f"{what} on 20,000 test rows")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=7)
    figure.savefig(out, dpi=110)
    print(f"picture: {out}")


def task(name, options):
    if name in _NAMES:
        from sharded import peers

        more = {key: options[key] for key in ("rows", "held") if key in options}
        return peers.PEERS[name](options["folder"], limit=options["seconds"], **more, **options["settings"])
    from sharded import fits

    return {"gated": fits.gated, "default": fits.default, "verify": fits.verify}[name](**options)


def main():
    asked = options(
        __doc__,
        line=(list(LINES), {"choices": LINES}),
        folder="shards-of-bench",
        rows=1_000_000,
        columns=384,
        gates=50,
        beta=0.001,
        tol=0.01,
        threads=2,
        kills=30,
        limit=(120.0, "seconds of training of a peer"),
        peers=(str, {"choices": GRIDS, "nargs": "+"}),
        out="shards.png",
        task=(str, {"help": argparse.SUPPRESS}),
        options=("{}", {"help": argparse.SUPPRESS}),
    )
    if asked.task:
        print(json.dumps(task(asked.task, json.loads(asked.options))))
        return
    from timing import machine

    machine("scipy", "scikit-learn")
    bench = Bench(asked)
    for line in asked.line:
        getattr(bench, line)()


if __name__ == "__main__":
    main()
