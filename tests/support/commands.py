"""Every command that writes: inputs, what it is called with, what it leaves, and when that is whole."""

import io
import os
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from support.running import Run

OLD = b"what stood here before\n"
_ROWS, _SHARD_ROWS = 60, 400


@dataclass(frozen=True)
class Command:
    """Arguments, the files that it writes, and those that it keeps its work in."""

    name: str
    args: str
    files: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()


_CHECKED = "-q --force --out new.npz --checkpoint state"
COMMANDS = (
    Command("fit", "fit table.csv --force --no-compare --out new.npz", ("new.npz",)),
    Command(
        "report",
        "fit table.csv --model gated --n-gates 4 --beta 0.02 --no-compare --force -q --out new.npz --report new.html",
        ("new.npz", "new.html"),
    ),
    Command("few", "fit table.csv --model gated --n-gates 8 --no-compare --force --out new.npz", ("new.npz",)),
    Command("predict.csv", "predict model.npz table.csv --force --out new.csv", ("new.csv",)),
    Command("predict.parquet", "predict model.npz table.csv --force --out new.parquet", ("new.parquet",)),
    Command("predict.npz", "predict model.npz table.csv --force --out new.npz", ("new.npz",)),
    Command(
        "embed",
        "embed texts.csv --text text --target y --encoder hashing:32 --batch-size 10 --force --out new.npz",
        ("new.npz",),
        ("embedding-cache",),
    ),
    Command("path", "path table.csv --force --out new.csv --picture new.png", ("new.csv", "new.png")),
    Command("few path", "path table.csv --model gated --n-gates 5 --n-betas 4 --force --out new.csv", ("new.csv",)),
    Command("export.onnx", "export model.npz --force --out new.onnx", ("new.onnx",)),
    Command("export.py", "export model.npz --force --out new.py", ("new.py",)),
    Command("export.pt2", "export plain.npz --force --out new.pt2", ("new.pt2",)),
    Command("explain", "explain model.npz table.csv --row 3 --force --picture new.png", ("new.png",)),
    Command(
        "shards",
        f"fit --shards rows --model gated --n-gates 6 --beta 1e-2 --tol 1e-6 {_CHECKED}",
        ("new.npz",),
        ("state",),
    ),
    Command("network of shards", f"fit --shards rows {_CHECKED}", ("new.npz",), ("state",)),
    Command(
        "predict shards",
        "predict shard_model.npz --shards rows --force --out folder",
        tuple(f"folder/prediction-{i:05d}.npy" for i in range(3)),
    ),
)


def chosen(budget, brief, others=()):
    """Return the commands that a promise tries, in its short form `brief`, and which of its `others` it tries."""
    names, others = budget.named([one.name for one in COMMANDS], others)
    commands = [one for one in COMMANDS if one.name in names and (not budget.short or one.name in brief)]
    return commands, others


_MADE = {
    "model.npz": "fit table.csv -q --no-compare --out model.npz",
    "plain.npz": "fit table.csv -q --no-compare --model gated --n-gates 4 --out plain.npz",
    "shard_model.npz": "fit --shards rows -q --model gated --n-gates 6 --beta 1e-2 --out shard_model.npz",
}


def write_inputs(folder, args):
    """Write a table, texts and shards, and the models that command lines ``args`` read, by the commands."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((_ROWS, 3))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(_ROWS) > 0, "yes", "no")
    rows = [f"{a:.4f},{b:.4f},{c:.4f},{label}" for (a, b, c), label in zip(X, y, strict=True)]
    texts = [f"word{i % 7} word{i % 5} number {i},{label}" for i, label in enumerate(y)]
    (folder / "table.csv").write_text("\n".join(["a,b,c,y", *rows, ""]))
    (folder / "texts.csv").write_text("\n".join(["text,y", *texts, ""]))
    (folder / "rows").mkdir()
    for i in range(3):
        X = rng.standard_normal((_SHARD_ROWS, 4)).astype(np.float16)
        np.save(folder / "rows" / f"X-{i:05d}.npy", X)
        np.save(folder / "rows" / f"y-{i:05d}.npy", (X[:, 0] > 0).astype(np.int8))
    needed = {word for one in args for word in one.split()}
    for name in sorted(_MADE.keys() & needed):
        code, said = call(_MADE[name], folder)
        assert code == 0, (name, said)


def call(args, folder):
    """Run a command in this process, in a folder; return its exit code and what it said on stderr."""
    from clifford_rand_nn.cli.app import app

    before, streams = os.getcwd(), (sys.stdout, sys.stderr)
    os.chdir(folder)
    sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    try:
        app(args.split())
    except SystemExit as end:
        return int(end.code or 0), sys.stderr.buffer.getvalue().decode() if sys.stderr.flush() is None else ""
    finally:
        sys.stdout, sys.stderr = streams
        os.chdir(before)


def stage(inputs, folder, command, old=True):
    """Make a folder with the inputs, and old files where the command writes."""
    shutil.copytree(inputs, folder)
    for file in command.files if old else ():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_bytes(OLD)


def content(path):
    """Return what a file says, alike for every run of its command; raise if it is not whole."""
    data = path.read_bytes()
    if path.suffix == ".npz":
        with np.load(io.BytesIO(data), allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        if "meta" not in arrays:
            return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}
        from clifford_rand_nn import load_model

        model = load_model(path)
        for timed in ("meta", "history"):  # dates and seconds
            arrays.pop(timed, None)
        return type(model).__name__, {name: array.tobytes() for name, array in arrays.items()}
    if path.suffix == ".html":
        text = data.decode()
        if not (text.startswith("<!") and text.rstrip().endswith("</html>")):
            raise ValueError("a page without its end")
        return len(re.findall("<section", text)), len(re.findall("<svg", text))
    if path.suffix == ".pt2":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.testzip() is not None:
                raise ValueError("a damaged archive")
            return sorted(info.file_size > 0 for info in archive.infolist())
    if path.suffix == ".png":
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(data))).tobytes()
    return data


def check_kept(folder, command):
    """Raise if what a command keeps its work in is damaged; a journal that SQLite rolls back is no damage."""
    for name in command.keeps:
        path = folder / name
        for file in path.glob("*.sqlite3") if path.is_dir() else ():
            with sqlite3.connect(file) as opened:
                (said,) = opened.execute("PRAGMA integrity_check").fetchone()
            opened.close()
            if said != "ok":
                raise ValueError(f"{name}: {said}")
        if path.is_file():
            with np.load(path, allow_pickle=False) as held:
                _ = [held[one] for one in held.files]


def strays(folder, inputs, command):
    """Return files that neither were there nor belong there."""
    known = {one.relative_to(inputs).as_posix() for one in inputs.rglob("*")} | set(command.files)
    found = {one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file()}
    return sorted(one for one in found - known if not one.startswith(tuple(command.keeps) or ("\0",)))


def judged(run, inputs, clean, names=None, partial=False, killed=False, other=False):
    """Return what is wrong after a command that ended in whatever way, [] if nothing is.

    ``clean`` has the content of every file after an undisturbed run. Exit code 0 promises new files. An error is one
    sentence that names one of ``names``, those of its own files if None; () asks for no name. With ``partial``, a file
    may say how far the command came; with ``other``, something else. One that was killed may leave hidden files.
    """
    command, wrong = run.command, []
    said = run.said()
    if run.code is None:
        wrong.append("it hangs")
    elif run.code not in (0, 2, 130) and not (killed and run.code == -signal.SIGKILL):
        wrong.append(f"exit code {run.code}: {said[-200:]!r}")
    if "Traceback" in said or "Exception ignored" in said:
        wrong.append("a traceback: " + " / ".join(said.strip().splitlines()[-3:]))
    elif "Current thread" in said:
        lines = said.partition("Current thread")[2].splitlines()
        wrong.append("it crashed in " + " / ".join(line.strip() for line in lines[1:4]))
    if run.code == 2:
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        known = command.files + command.keeps if names is None else names
        if len(errors) != 1 or len(said.splitlines()[said.splitlines().index(errors[0]) :]) != 1:
            wrong.append(f"more, or less, than one sentence: {said!r}")
        elif known and not any(name.partition("/")[0] in errors[0] for name in known):
            wrong.append(f"an error that names no file: {said!r}")
    for name in command.files:
        path = run.folder / name
        if path.exists() and path.read_bytes() == OLD:
            if run.code == 0:
                wrong.append(f"{name} is the old one, and the exit code 0")
            continue
        if not path.exists():
            wrong.append(f"{name} is gone")
            continue
        try:
            if content(path) != clean[name] and not other and not (partial and run.code != 0):
                wrong.append(f"{name} says something else")
        except Exception as error:
            wrong.append(f"{name} is not whole: {type(error).__name__}: {error}")
    try:
        check_kept(run.folder, command)
    except Exception as error:
        wrong.append(f"what it keeps is damaged: {type(error).__name__}: {error}")
    left = [one for one in strays(run.folder, inputs, command) if not (killed and ".partial" in one)]
    if left:
        wrong.append(f"it left {left}")
    return wrong


class Bench:
    """A folder in which commands are run, disturbed and judged; ``faults`` has a line for all that was wrong.

    ``more`` are the arguments of further commands, whose inputs are made, too.
    """

    def __init__(self, scratch, commands, more=()):
        self.scratch, self.inputs, self.faults = Path(scratch), Path(scratch) / "inputs", []
        self.content, self.seconds = {}, {}
        self.inputs.mkdir(parents=True)
        self.scratch.chmod(0o755)
        write_inputs(self.inputs, [*(command.args for command in commands), *more])

    @contextmanager
    def trial(self, command, *how, **options):
        """Stage a command in a folder that is gone afterwards, and run it as `Run` is told to."""
        folder = self.scratch / "trial"
        stage(self.inputs, folder, command)
        try:
            yield Run(command, folder, *how, **options)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def prepare(self, command):
        """Run a command undisturbed, twice, as it compiles: keep the content of its files and the seconds it takes."""
        for _ in range(2):
            clock, processor = time.monotonic(), sum(os.times()[2:4])
            with self.trial(command) as run:
                assert run.wait() == 0, run.said()
                self.content[command] = {name: content(run.folder / name) for name in command.files}
            self.seconds[command] = time.monotonic() - clock, sum(os.times()[2:4]) - processor

    def judge(self, run, names=None, **how):
        """Wait for a run; return what is wrong."""
        run.wait()
        return judged(run, self.inputs, self.content[run.command], names, **how)

    def again(self, run, **how):
        """Run the same command once more, undisturbed, from what the run left; return what is wrong."""
        second = Run(run.command, run.folder)
        wrong = [] if second.wait() == 0 else [f"the same command again: {second.said()!r}"]
        return wrong + [f"again: {fault}" for fault in self.judge(second, **how)]

    def note(self, place, wrong):
        for fault in wrong:
            self.faults.append(f"{place}: {fault}")
            print(self.faults[-1], file=sys.stderr, flush=True)


@contextmanager
def bench(commands, more=()):
    """Yield a `Bench` in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="commands-") as scratch:
        yield Bench(scratch, commands, more)
