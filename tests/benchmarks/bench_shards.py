"""Rows beyond memory: fits in a process each, with their peak memory.

    python tests/benchmarks/bench_shards.py --folder FOLDER
        [--line gated default settings peers] [--rows 1_000_000] [--columns 384]
        [--gates 50] [--beta 1e-3] [--tol 1e-2] [--out picture.png] [--limit 120]

Rows are made in FOLDER (0.77 GB for the default), in float16, by a teacher network with noise; the seed is fixed.
gated: after a fit to few rows `GatedReLUClassifier` on all rows, its certified gap, its peak and its passes. default:
`ConvexNetworkClassifier()` on rows of 50 columns, beside 60,000 rows in memory. settings: beta of ours, steps of SGD,
C, sizes of trees, chosen for every method by trials of a quarter of --limit seconds on a quarter of the rows, judged by
training rows of the last shard, and kept in FOLDER. peers: what a user would take, with these settings, on the same
shards, until --limit seconds, in one picture; what it measured is kept in FOLDER, so that --peers may run some of them.
Every line prints wall seconds; CPU seconds beside them tell more on a busy machine.
"""

import json
from pathlib import Path

import numpy as np
from sharded import fits, peers
from sharded.made import made
from timing import chosen, in_process, machine, options

NAMES = {
    "sgd": "SGDClassifier",
    "saga": "LogisticRegression(saga)",
    "lightgbm": "LightGBM (Sequence)",
    "xgboost": "XGBoost (external memory)",
    "dask_ml": "dask-ml LogisticRegression",
}


def measure(title, work, *, more=lambda found: "", **options):
    """Measure in a process and print a line; return what came back, or None."""
    try:
        found = in_process(work, **options)
    except RuntimeError as error:
        print(f"{title:<44} FAILED: {error}", flush=True)
        return None
    print(f"{title:<44} {found['seconds']:7.1f} s (cpu {found['cpu']:.1f} s), ", end="")
    print(f"peak {found['peak'] / 1e9:.2f} GB{more(found)}", flush=True)
    return found


def of_gated(found):
    """Return what is printed of a fit of the gated network, after its seconds and its peak."""
    text = f", gap {found['gap']:.1e}, objective {found['objective']:.7f}\n    {found['steps']} steps, "
    return text + f"{found['passes']} passes{of_accuracy(found)}"


def of_accuracy(found):
    return f", test accuracy {found['accuracy']:.4f}, log loss {found['log_loss']:.4f}"


def of_settings(setting):
    return ", ".join(f"{name} {value:g}" for name, value in setting.items())


class Bench:
    """The lines, each with the options given."""

    def __init__(self, options):
        self.o = options

    def rows(self, d=None):
        return str(made(self.o.folder, self.o.rows, d or self.o.columns))

    def fit(self, title, **more):
        sizes = {"folder": self.rows(), "gates": self.o.gates, "beta": self.o.beta, "tol": self.o.tol}
        return measure(title, fits.gated, more=of_gated, **(sizes | more))

    def gated(self):
        self.fit(f"{self.o.rows:,} × {self.o.columns}, {self.o.gates} gates, in one process")

    def default(self):
        title, folder = f"default network, {self.o.rows:,} × 50 in shards", self.rows(50)
        measure(title, fits.default, folder=folder, more=of_accuracy)
        title = "    60,000 rows in memory"
        measure(title, fits.default, folder=folder, memory_rows=60_000, limit=1800, more=of_accuracy)

    def settings(self):
        """Choose settings of every method by trials on a quarter of the rows, judged by rows of the last shard."""
        best = self._read("settings")
        for name in self.o.peers or peers.GRIDS:
            losses = []
            for setting in peers.GRIDS[name]:
                losses.append(self._trial(name, setting))
                label = f"{NAMES.get(name, name):<28} {of_settings(setting):<40}"
                print(f"{label} held-out log loss {losses[-1]:.4f}", flush=True)
            best[name] = peers.GRIDS[name][int(np.argmin(losses))]
            self._write("settings", best)

    def _trial(self, name, setting):
        o, rows = self.o, {"folder": self.rows(), "rows": self.o.rows // 4, "held": True}
        try:
            if name == "gated":
                return in_process(fits.gated, gates=o.gates, tol=0.03, **rows, **setting)["log_loss"]
            found = in_process(peers.run, name, seconds=o.limit / 4, limit=o.limit + 120, **rows, **setting)
            return found["points"][-1][2]
        except RuntimeError:
            return np.inf

    def peers(self):
        if set(self.o.peers or peers.GRIDS) - set(self._read("settings")):
            self.settings()
        settings, curves = self._read("settings"), self._read("curves")
        for name in self.o.peers or peers.GRIDS:
            curves |= self._ours(settings[name]) if name == "gated" else self._theirs(name, settings[name])
            self._write("curves", curves)
        picture(curves, self.o.out)

    def _ours(self, setting):
        runs = [
            self.fit(f"gated network, {of_settings(setting)}, gap {tol}", tol=tol, **setting)
            for tol in (0.3, 0.1, 0.03, 0.01)
        ]
        curves = {f"gated network, {self.o.rows:,} rows": runs}
        curves["default network"] = [measure("default network", fits.default, folder=self.rows(), more=of_accuracy)]
        points = ("seconds", "accuracy", "log_loss")
        return {name: sorted(tuple(run[key] for key in points) for run in runs if run) for name, runs in curves.items()}

    def _theirs(self, name, setting):
        limits = {"seconds": self.o.limit, "limit": 4 * self.o.limit + 120}
        try:
            found = in_process(peers.run, name, folder=self.rows(), **limits, **setting)
        except RuntimeError as error:
            print(f"{NAMES[name]:<32} FAILED: {error}", flush=True)
            return {}
        seconds, accuracy, loss = found["points"][-1]
        print(f"{NAMES[name]:<32} {found['rows']:>9,} rows, {seconds:7.1f} s", end="")
        print(f", peak {found['peak'] / 1e9:.2f} GB, accuracy {accuracy:.4f}, log loss {loss:.4f}", end="")
        print(f", {of_settings(setting)}", flush=True)
        return {f"{NAMES[name]}, {found['rows']:,} rows": found["points"]}

    def _read(self, what):
        file = Path(self.rows()) / f"{what}.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def _write(self, what, value):
        (Path(self.rows()) / f"{what}.json").write_text(json.dumps(value))


def picture(curves, out):
    """Accuracy and log loss on test rows against seconds of training."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for name, points in curves.items():
        if not points:
            continue
        seconds, *columns = zip(*points, strict=True)
        style, width = ("o-", 2) if "network" in name else (".--", 1)
        for axis, values in zip(axes, columns, strict=True):
            axis.plot(seconds, values, style, label=name, linewidth=width)
    for axis, what in zip(axes, ("accuracy", "log loss"), strict=True):
        axis.set(xscale="log", xlabel="seconds", ylabel=f"{what} on 20,000 test rows")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=7)
    figure.savefig(out, dpi=110)
    print(f"picture: {out}")


def main():
    sizes = {"rows": 1_000_000, "columns": 384, "gates": 50, "beta": 0.001, "tol": 0.01}
    some = {"limit": (120.0, "seconds of training of a peer"), "peers": (str, {"choices": peers.GRIDS, "nargs": "+"})}
    lines, places = ("gated", "default", "settings", "peers"), {"folder": "shards-of-bench", "out": "shards.png"}
    args = options(__doc__, line=chosen(lines), **places, **sizes, **some)
    machine("scipy", "scikit-learn")
    bench = Bench(args)
    for line in args.line:
        getattr(bench, line)()


if __name__ == "__main__":
    main()
