"""Whichever write, fsync, rename, opening or memory request fails, a command leaves the old files or the new ones.

As SQLite is tested: the calls of a clean run are counted, then each of them fails in a run of its own; alone, or with
all that come after it. Afterwards every file that the command writes is the old one or the new one, whole; what it
keeps its work in is not damaged and the same command goes on from there to the same; nothing else lies about; and it
has said one sentence, which names the file. Needs Linux with the GNU C library, and a C compiler.
"""

import ctypes
import errno
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from reliability.promise import Outcome
from support.commands import chosen

_TESTS = Path(__file__).parents[1]
_SOURCE = _TESTS / "support" / "faults.c"
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
        one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LD_PRELOAD": str(shim)}
        paths = {"PYTHONPATH": os.pathsep.join([str(_TESTS), str(_TESTS.parent), os.environ.get("PYTHONPATH", "")])}
        names = [one.name for one in chosen(budget, _SHORT)[0]]
        program = [sys.executable, "-m", "reliability.faults", scratch, str(int(budget.short)), str(budget.seed)]
        workers = [
            subprocess.Popen(
                [*program, str(i), *names], env=os.environ | one | paths, stdout=subprocess.PIPE, text=True
            )
            for i in range(_WORKERS)
        ]
        said = [worker.communicate()[0] for worker in workers]
    if any(worker.returncode for worker in workers):
        return Outcome("it ended by itself", [f"exit codes {[worker.returncode for worker in workers]}"])
    found = [json.loads(one.splitlines()[-1]) for one in said]
    tried = {kind: sum(one[0][kind] for one in found) for kind in _KINDS}
    faults = [fault for one in found for fault in one[1]]
    every = ", ".join(f"{count} of {kind}" for kind, count in tried.items())
    return Outcome(f"{sum(tried.values())} runs with a fault ({every}): {len(faults)} faults", faults)


def _every(scratch, short, seed, worker, names):
    """Try the commands of one worker; return how many runs there were of each kind, and what was wrong."""
    from support.commands import COMMANDS, clean_run, write_inputs

    scratch /= str(worker)
    inputs = scratch / "inputs"
    inputs.mkdir(parents=True)
    tried, faults = dict.fromkeys(_KINDS, 0), []
    commands = [one for one in COMMANDS if one.name in names]
    write_inputs(inputs, [one.args for one in commands])
    for command in commands[worker::_WORKERS]:
        clean_run(inputs, scratch / "warm", command)  # what is loaded and compiled
        clean = clean_run(inputs, scratch / "clean", command)
        for kind in _SHORT[command.name] if short else _KINDS:
            count = _trial(inputs, scratch / "count", command, kind, 0, 0, 0)[1]
            numbers = range(1, count + 1)
            most = _MOST_REQUESTS if kind == "memory" else _MOST_CALLS.get(command.name, count)
            most = min(most, 5) if short else most
            if count > most:
                numbers = sorted(random.Random(seed).sample(numbers, most))
            for way_number, (error, on) in enumerate(_WAYS[kind][: 1 if short else None]):
                for number in numbers[:: _SECOND_WAYS if way_number and kind == "write" else 1]:
                    last = _FOREVER if on else number
                    wrong, _ = _trial(inputs, scratch / "trial", command, kind, number, last, error, clean)
                    tried[kind] += 1
                    way = f"{errno.errorcode.get(error, 'cut short')}{' from then on' if on else ''}"
                    for one in wrong:
                        faults.append(f"{command.name}, {kind} {number} of {count}, {way}: {one}")
                        print(faults[-1], file=sys.stderr, flush=True)
            print(command.name, kind, count, file=sys.stderr, flush=True)
    return tried, faults


def _trial(inputs, folder, command, kind, first, last, error, clean=None):
    """Run a command whose calls fail; return what is wrong, and how many calls there were."""
    from support.commands import judged, stage
    from support.running import Run

    shim = ctypes.CDLL(None)
    arm = shim.fault_arm
    arm.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
    shim.fault_disarm.restype = ctypes.c_long
    stage(inputs, folder, command)
    below = f"{folder}/".encode()
    counted = folder.with_name("calls")

    def before():
        arm(_KINDS[kind], first, last, error, below, _SMALLEST)

    def after():
        counted.write_text(str(shim.fault_disarm()))

    run = Run(command, folder, before, after)
    run.wait()
    wrong = []
    if clean is not None:
        best = kind == "memory" and "warning: not converged" in run.said()  # the best network that there was memory for
        wrong = judged(run, inputs, clean, () if kind == "memory" else None, other=best)
    if clean is not None and command.keeps:
        again = Run(command, folder)
        if again.wait() != 0:
            wrong.append(f"the same command again: {again.said()!r}")
        else:
            wrong += [f"again: {one}" for one in judged(again, inputs, clean)]
    shutil.rmtree(folder)
    return wrong, int(counted.read_text()) if run.code is not None and run.code >= 0 else 0


if __name__ == "__main__":
    where, short, seed, worker, *names = sys.argv[1:]
    print(json.dumps(_every(Path(where), int(short), int(seed), int(worker), names)))
