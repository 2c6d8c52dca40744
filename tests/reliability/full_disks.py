"""Full disks, read-only folders, inputs that vanish and pipes that are left cost one sentence and no file.

Every command that writes: under a limit of the size of its files, on a disk with some bytes left (where one may be
mounted), in a folder that a normal user may not write to, and with an input deleted, cut or replaced by something else
before it is opened for the k-th time, for every k. Every command that prints, with a reader that takes one line.
"""

import ctypes
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from reliability.promise import Outcome
from support.commands import Command, chosen, clean_run, judged, stage, write_inputs
from support.running import Run

_NOBODY = 65534
_KEEP_CAPABILITIES, _CAPABILITIES, _MAY_READ = 8, (0x20080522, 0), 1 << 2  # of linux/prctl.h and linux/capability.h
_SPACES = (0, 1 / 3, 0.9)  # of the bytes that its files take, are left for a command
_BRIEF = ("few", "predict.csv")
_PRINTS = (
    "info model.npz",
    "predict model.npz table.csv",
    "evaluate model.npz table.csv",
    "evaluate shard_model.npz --shards rows",
    "explain model.npz",
    "explain model.npz table.csv --row 3",
    "fit table.csv --model gated --n-gates 8 --no-compare",
    "fit table.csv --no-compare --json",
    "path table.csv --model gated --n-gates 5 --n-betas 4",
    "--help",
    "fit --help",
)


def run(budget):
    tried = {"limit": 0, "disk": 0, "folder": 0, "input": 0, "pipe": 0}
    faults = []

    def note(kind, command, wrong):
        tried[kind] += 1
        for one in wrong:
            faults.append(f"{command.name}, {kind}: {one}")
            print(faults[-1], file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="disks-") as scratch:
        scratch = Path(scratch)
        scratch.chmod(0o755)
        inputs = scratch / "inputs"
        inputs.mkdir()
        commands, others = chosen(budget, _BRIEF, ("pipes",))
        prints = (_PRINTS[:2] if budget.short else _PRINTS) if others else ()
        write_inputs(inputs, [one.args for one in commands] + list(prints))
        for command in commands:
            clean_run(inputs, scratch / "warm", command)
            clean = clean_run(inputs, scratch / "clean", command)
            sizes = _sizes(inputs, scratch, command)
            for space in _SPACES[-1:] if budget.short else _SPACES:
                note("limit", command, _limited(inputs, scratch, command, clean, int(space * max(sizes))))
                if os.getuid() == 0 and not budget.short:
                    note("disk", command, _full(inputs, scratch, command, clean, int(space * sum(sizes))))
            if os.getuid() == 0:
                note("folder", command, _read_only(inputs, scratch, command, clean))
            for wrong in _vanished(inputs, scratch, command, clean, budget.short):
                note("input", command, wrong)
            print(command.name, tried, file=sys.stderr, flush=True)
        for args in prints:
            command = Command(args, args)
            note("pipe", command, _left(inputs, scratch, command))
    told = {
        "limit": "limits of the size of files",
        "disk": "full disks",
        "folder": "read-only folders",
        "input": "vanished inputs",
        "pipe": "pipes that were left",
    }
    every = ", ".join(f"{count} {told[kind]}" for kind, count in tried.items())
    return Outcome(f"{every}: {len(faults)} faults", faults)


def _run(inputs, folder, command, clean, names=None, **how):
    """Run a command in a folder that is made for it; return the run and what is wrong."""
    run = Run(command, folder, **how)
    run.wait()
    return run, judged(run, inputs, clean, names)


def _limited(inputs, scratch, command, clean, size):
    """Let no file grow beyond so many bytes."""
    stage(inputs, scratch / "trial", command)
    before = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    run, wrong = _run(inputs, scratch / "trial", command, clean, before=before)
    shutil.rmtree(run.folder)
    return wrong


def _sizes(inputs, scratch, command):
    """Return the bytes of the files that a command writes."""
    stage(inputs, scratch / "sizes", command)
    Run(command, scratch / "sizes").wait()
    found = [(scratch / "sizes" / name).stat().st_size for name in command.files]
    shutil.rmtree(scratch / "sizes")
    return found


def _full(inputs, scratch, command, clean, left):
    """Run a command on a disk that is full but for so many bytes."""
    disk = scratch / "disk"
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=True)
    try:
        stage(inputs, disk / "trial", command)
        with open(disk / "filler", "wb") as filler:
            state = os.statvfs(disk)
            os.posix_fallocate(filler.fileno(), 0, max(state.f_frsize, state.f_bavail * state.f_frsize - left))
        return _run(inputs, disk / "trial", command, clean)[1]
    finally:
        subprocess.run(["umount", disk], check=True)


def _read_only(inputs, scratch, command, clean):
    """Run a command as a normal user in a folder of somebody else."""
    stage(inputs, scratch / "trial", command)
    for path in (scratch / "trial").rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    (scratch / "trial").chmod(0o555)
    home = scratch / "home"
    home.mkdir(exist_ok=True)
    home.chmod(0o777)
    run, wrong = _run(inputs, scratch / "trial", command, clean, before=partial(_become_nobody, home))
    if run.code != 2:
        wrong.append(f"exit code {run.code}")
    shutil.rmtree(run.folder)
    return wrong


def _become_nobody(home):
    """Go on as a normal user, who may write to nothing but a folder of his own, and read Python wherever it lies."""
    os.environ |= {"HOME": str(home), "MPLCONFIGDIR": str(home)}
    libc = ctypes.CDLL(None)
    libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0)
    os.setuid(_NOBODY)
    if libc.capset(struct.pack("Ii", *_CAPABILITIES), struct.pack("6I", _MAY_READ, _MAY_READ, 0, 0, 0, 0)):
        raise OSError("this process may not keep the right to read")


def _vanished(inputs, scratch, command, clean, short):
    """Yield what is wrong after each way in which an input is another at its k-th opening, for every k."""
    names = [word for word in command.args.split() if (inputs / word).exists()]
    for name in names:
        paths = sorted((inputs / name).iterdir()) if (inputs / name).is_dir() else [inputs / name]
        for path in paths[-1:]:
            relative = path.relative_to(inputs).as_posix()
            stage(inputs, scratch / "trial", command)
            count = scratch / "count"
            run = Run(command, scratch / "trial", partial(_watch, relative, 0, None, count))
            run.wait()
            shutil.rmtree(run.folder)
            opened = int(count.read_text()) if count.exists() else 0
            count.unlink(missing_ok=True)
            for number in range(1, 2 if short else opened + 1):
                for change in (_delete, _cut, _replace):
                    stage(inputs, scratch / "trial", command)
                    before = partial(_watch, relative, number, change, count)
                    run = Run(command, scratch / "trial", before)
                    run.wait()
                    known = (*names, path.name)
                    if run.code == 0:  # it had all that it needed, or what is there now is as good
                        wrong = judged(run, inputs, clean, known, other=True)
                    else:
                        wrong = judged(run, inputs, clean, known)
                    shutil.rmtree(run.folder)
                    yield [f"{relative} at opening {number} of {opened}, {change.__name__}: {one}" for one in wrong]


def _watch(name, number, change, count):
    """Change a file of this folder just before it is opened for the k-th time; keep the count in a file."""
    state = {"opened": 0, "inside": False}

    def hook(event, arguments):
        if event != "open" or state["inside"] or not isinstance(arguments[0], str | Path):
            return
        if not os.path.abspath(arguments[0]).endswith(os.sep + name):
            return
        state["opened"] += 1
        state["inside"] = True
        if number == 0:
            count.write_text(str(state["opened"]))
        if state["opened"] == number:
            change(Path(name))
        state["inside"] = False

    sys.addaudithook(hook)


def _delete(path):
    path.unlink(missing_ok=True)


def _cut(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _replace(path):
    path.write_bytes(b"\x00\xff something else\n" * 3)


def _left(inputs, scratch, command):
    """Run a command whose reader takes one line and leaves."""
    stage(inputs, scratch / "trial", command)
    read, write = os.pipe()
    run = Run(command, scratch / "trial", partial(os.close, read), stdout=write)
    os.close(write)
    with open(read, "rb", buffering=0) as reader:
        while (byte := reader.read(1)) and byte != b"\n":
            pass
    run.wait()
    wrong = [] if run.code in (0, 1) else [f"exit code {run.code}"]
    said = run.said()
    if "Traceback" in said or "Exception ignored" in said or "error" in said:
        wrong.append(f"it said {said!r}")
    shutil.rmtree(run.folder)
    return wrong
