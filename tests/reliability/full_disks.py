"""Full disks, read-only folders, inputs that vanish and pipes that are left cost one sentence and no file.

Every command that writes: under a limit of the size of its files, on a disk with some bytes left (where one may be
mounted), in a folder that a normal user may not write to, and with an input deleted, cut or replaced by something else
before it is opened for the k-th time, for every k. Every command that prints, with a reader that takes one line.
"""

import ctypes
import os
import resource
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path

from reliability.promise import Outcome
from support.commands import Command, bench, chosen, stage
from support.running import Run

_NOBODY = 65534
_KEEP_CAPABILITIES, _CAPABILITIES, _MAY_READ = 8, (0x20080522, 0), 1 << 2  # of linux/prctl.h and linux/capability.h
_SPACES = (0, 1 / 3, 0.9)  # of the bytes that its files take, are left for a command
_BRIEF = ("few", "predict.csv")
_PRINTS = (
    "info model.npz", "predict model.npz table.csv", "evaluate model.npz table.csv",
    "evaluate shard_model.npz --shards rows", "explain model.npz", "explain model.npz table.csv --row 3",
    "fit table.csv --model gated --n-gates 8 --no-compare", "fit table.csv --no-compare --json",
    "path table.csv --model gated --n-gates 5 --n-betas 4", "--help", "fit --help",
)  # fmt: skip


_WAYS = {
    "limit": "limits of the size of files",
    "disk": "full disks",
    "folder": "read-only folders",
    "input": "vanished inputs",
    "pipe": "pipes that were left",
}


def run(budget):
    tried = dict.fromkeys(_WAYS, 0)
    commands, others = chosen(budget, _BRIEF, ("pipes",))
    prints = [Command(args, args) for args in (_PRINTS[:2] if budget.short else _PRINTS)] if others else []
    spaces, root = _SPACES[-1:] if budget.short else _SPACES, os.getuid() == 0
    with bench(commands, [command.args for command in prints]) as place:

        def note(kind, command, wrong):
            tried[kind] += 1
            place.note(f"{command.name}, {kind}", wrong)

        for command in commands:
            place.prepare(command)
            sizes = _sizes(place, command)
            for space in spaces:
                note("limit", command, _limited(place, command, int(space * max(sizes))))
                if root and not budget.short:
                    note("disk", command, _full(place, command, int(space * sum(sizes))))
            if root:
                note("folder", command, _read_only(place, command))
            for wrong in _vanished(place, command, budget.short):
                note("input", command, wrong)
        for command in prints:
            note("pipe", command, _left(place, command))
    every = ", ".join(f"{count} {_WAYS[kind]}" for kind, count in tried.items())
    return Outcome(f"{every}: {len(place.faults)} faults", place.faults)


def _limited(place, command, size):
    """Let no file grow beyond so many bytes."""
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    with place.trial(command, limit) as run:
        return place.judge(run)


def _sizes(place, command):
    """Return the bytes of the files that a command writes."""
    with place.trial(command) as run:
        run.wait()
        return [(run.folder / name).stat().st_size for name in command.files]


def _full(place, command, left):
    """Run a command on a disk that is full but for so many bytes."""
    disk = place.scratch / "disk"
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=True)
    try:
        stage(place.inputs, disk / "trial", command)
        with open(disk / "filler", "wb") as filler:
            state = os.statvfs(disk)
            os.posix_fallocate(filler.fileno(), 0, max(state.f_frsize, state.f_bavail * state.f_frsize - left))
        return place.judge(Run(command, disk / "trial"))
    finally:
        subprocess.run(["umount", disk], check=True)


def _read_only(place, command):
    """Run a command as a normal user in a folder of somebody else."""
    home = place.scratch / "home"
    home.mkdir(exist_ok=True)
    home.chmod(0o777)

    def become_nobody_there():  # in the folder of the command, just before it starts
        for path in (*Path().rglob("*"), Path()):
            path.chmod(0o555 if path.is_dir() else 0o444)
        _become_nobody(home)

    with place.trial(command, become_nobody_there) as run:
        wrong = place.judge(run)
    return wrong if run.code == 2 else [*wrong, f"exit code {run.code}"]


def _become_nobody(home):
    """Go on as a normal user, who may write to nothing but a folder of his own, and read Python wherever it lies."""
    os.environ |= {"HOME": str(home), "MPLCONFIGDIR": str(home)}
    libc = ctypes.CDLL(None)
    libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0)
    os.setuid(_NOBODY)
    if libc.capset(struct.pack("Ii", *_CAPABILITIES), struct.pack("6I", _MAY_READ, _MAY_READ, 0, 0, 0, 0)):
        raise OSError("this process may not keep the right to read")


def _vanished(place, command, short):
    """Yield what is wrong after each way in which an input is another at its k-th opening, for every k."""
    names = [word for word in command.args.split() if (place.inputs / word).exists()]
    for name in names:
        path = max((place.inputs / name).iterdir()) if (place.inputs / name).is_dir() else place.inputs / name
        relative, count = path.relative_to(place.inputs).as_posix(), place.scratch / "count"
        with place.trial(command, partial(_watch, relative, 0, None, count)) as run:
            run.wait()
        opened = int(count.read_text()) if count.exists() else 0
        count.unlink(missing_ok=True)
        for number in range(1, 2 if short else opened + 1):
            for change in (_delete, _cut, _replace):
                with place.trial(command, partial(_watch, relative, number, change, count)) as run:
                    # with exit code 0 it had all that it needed, or what is there now is as good
                    wrong = place.judge(run, (*names, path.name), other=run.wait() == 0)
                yield [f"{relative} at opening {number} of {opened}, {change.__name__}: {fault}" for fault in wrong]


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


def _left(place, command):
    """Run a command whose reader takes one line and leaves."""
    read, write = os.pipe()
    with place.trial(command, partial(os.close, read), stdout=write) as run:
        os.close(write)
        with open(read, "rb", buffering=0) as reader:
            while (byte := reader.read(1)) and byte != b"\n":
                pass
        run.wait()
    wrong = [] if run.code in (0, 1) else [f"exit code {run.code}"]
    said = run.said()
    if "Traceback" in said or "Exception ignored" in said or "error" in said:
        wrong.append(f"it said {said!r}")
    return wrong
