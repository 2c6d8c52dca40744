"""Whichever write, fsync, rename, opening or memory request fails, a command leaves the old files or the new ones.

As SQLite is tested: the calls of a clean run are counted, then each of them fails in a run of its own; alone, or with
all that come after it. Afterwards every file that the command writes is the old one or the new one, whole; what it
keeps its work in is not damaged and the same command goes on from there to the same; nothing else lies about; and it
has said one sentence, which names the file. Needs Linux with the GNU C library, and a C compiler.
"""

import ctypes
import errno
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from reliability.promise import Outcome
from support.commands import COMMANDS, Bench, chosen
from support.running import TESTS, answer, begin

_SOURCE = TESTS / "support" / "faults.c"
_FOREVER = 10**9
_KINDS = {"write": 1, "fsync": 2, "rename": 3, "open": 4, "memory": 5}
# How calls of a kind fail: the error, and whether all that follow fail too. 0 is a write that is cut short.
_WAYS = {
    "write": ((errno.ENOSPC, True), (errno.EIO, False), (0, False)),
    "fsync": ((errno.EIO, False), (errno.EIO, True)),
    "rename": ((errno.EACCES, False), (errno.EACCES, True)),
    "open": ((errno.EACCES, False), (errno.EMFILE, True)),
    "memory": ((errno.ENOMEM, False), (errno.ENOMEM, True)),
}
_SMALLEST = 2**14  # bytes of a memory request that fails: arrays and buffers; smaller ones are Python's own
_MOST_REQUESTS = 12  # of memory in a command, drawn where there are more
_MOST_CALLS = {"report": 12}  # drawn of those of a command that takes a second; its model is written as by fit
_SECOND_WAYS = 3  # of the ways in which a write fails, the first is tried for every one, the others for every third
_WORKERS = 2
_SHORT = {"few": ("write", "fsync", "rename", "open"), "embed": ("write",), "predict.csv": ("write", "memory")}


def run(budget):
    if sys.platform != "linux" or shutil.which("cc") is None:
        return Outcome("not tried: it needs Linux and a C compiler")
    with tempfile.TemporaryDirectory(prefix="faults-") as scratch:
        shim = Path(scratch) / "faults.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, _SOURCE, "-ldl"], check=True)
        alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LD_PRELOAD": str(shim)}
        names = [command.name for command in chosen(budget, _SHORT)[0]]
        workers = [
            begin("reliability.faults", scratch, int(budget.short), budget.seed, i, *names, stderr=None, **alone)
            for i in range(_WORKERS)
        ]
        try:
            parts = [answer(worker) for worker in workers]
        except RuntimeError as error:
            return Outcome("it ended by itself", [str(error)])
    tried = {kind: sum(counts[kind] for counts, _ in parts) for kind in _KINDS}
    faults = [fault for _, some in parts for fault in some]
    every = ", ".join(f"{count} of {kind}" for kind, count in tried.items())
    return Outcome(f"{sum(tried.values())} runs with a fault ({every}): {len(faults)} faults", faults)


def _every(scratch, short, seed, worker, names):
    """Try the commands of one worker; return how many runs there were of each kind, and what was wrong."""
    commands = [command for command in COMMANDS if command.name in names]
    place, tried = Bench(scratch / str(worker), commands), dict.fromkeys(_KINDS, 0)
    for command in commands[worker::_WORKERS]:
        place.prepare(command)
        for kind in _SHORT[command.name] if short else _KINDS:
            count = _trial(place, command, kind)[1]
            numbers = range(1, count + 1)
            most = _MOST_REQUESTS if kind == "memory" else _MOST_CALLS.get(command.name, count)
            most = min(most, 5) if short else most
            if count > most:
                numbers = sorted(random.Random(seed).sample(numbers, most))
            for way_number, (error, on) in enumerate(_WAYS[kind][: 1 if short else None]):
                for number in numbers[:: _SECOND_WAYS if way_number and kind == "write" else 1]:
                    wrong, _ = _trial(place, command, kind, number, _FOREVER if on else number, error)
                    tried[kind] += 1
                    way = f"{errno.errorcode.get(error, 'cut short')}{' from then on' if on else ''}"
                    place.note(f"{command.name}, {kind} {number} of {count}, {way}", wrong)
    return tried, place.faults


def _trial(place, command, kind, first=0, last=0, error=0):
    """Run a command whose calls fail, none with ``first`` 0; return what is wrong, and how many calls there were."""
    shim = ctypes.CDLL(None)
    arm = shim.fault_arm
    arm.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
    shim.fault_disarm.restype = ctypes.c_long
    counted, below = place.scratch / "calls", f"{place.scratch / 'trial'}/".encode()

    def before():
        arm(_KINDS[kind], first, last, error, below, _SMALLEST)

    def after():
        counted.write_text(str(shim.fault_disarm()))

    with place.trial(command, before, after) as run:
        run.wait()
        wrong, memory = [], kind == "memory"
        if first:
            best = memory and "warning: not converged" in run.said()  # the best network that there was memory for
            wrong = place.judge(run, () if memory else None, other=best)
            wrong += place.again(run) if command.keeps else []
    return wrong, int(counted.read_text()) if run.code is not None and run.code >= 0 else 0


if __name__ == "__main__":
    where, short, seed, worker, *names = sys.argv[1:]
    print(json.dumps(_every(Path(where), int(short), int(seed), int(worker), names)))
