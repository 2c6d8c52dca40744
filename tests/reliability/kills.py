"""A command that is killed (-9) at any moment leaves whole files, and goes on from what it kept to the same result.

Every command that writes is killed again and again, at a random moment or as soon as it writes: its files are the old
or the new ones; the same command then ends well, with the content of a run that nobody killed, from the checkpoint or
cache that is there. Fits to shards in a process that is killed several times end with the bits of one that was not.
"""

import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from reliability.promise import Outcome
from support.commands import chosen, clean_run, judged, stage, write_inputs
from support.kills import kill_processes, unbroken, write_shards
from support.running import Run

_EACH, _FITS = 13, 24  # kills of each command, and of fits
_TRIES = 2
_BRIEF = ("few", "embed")
_WRITING = 0.3  # share of kills that wait until a file is being written


def run(budget):
    rng = np.random.default_rng(budget.seed)
    faults = []
    with tempfile.TemporaryDirectory(prefix="kills-") as scratch:
        scratch = Path(scratch)
        commands, others = chosen(budget, _BRIEF, ("fits",))
        commands = _commands(scratch, rng, commands, 2 if budget.short else _EACH, faults)
        fits = _fits(scratch, rng, (3 if budget.short else _FITS) if others else 0, faults)
    return Outcome(f"{commands}; {fits}: {len(faults)} faults", faults)


def _commands(scratch, rng, commands, each, faults):
    inputs = scratch / "inputs"
    inputs.mkdir()
    write_inputs(inputs, [one.args for one in commands])
    kills = writing = 0
    for command in commands:
        clean_run(inputs, scratch / "warm", command)
        began = time.monotonic()
        clean = clean_run(inputs, scratch / "clean", command)
        seconds = time.monotonic() - began
        enough = kills + each
        for _ in range(_TRIES * each):  # it may end sooner than the one that was timed
            if kills == enough:
                break
            stage(inputs, scratch / "trial", command)
            run = Run(command, scratch / "trial")
            _kill(run, rng.uniform(0, seconds), bool(rng.random() < _WRITING))
            kills += run.code == -signal.SIGKILL
            writing += any(run.folder.rglob(".*.partial*"))
            wrong = judged(run, inputs, clean, killed=True)
            again = Run(command, run.folder)
            again.wait()
            wrong += [f"again: {one}" for one in judged(again, inputs, clean, killed=True)]
            if again.code != 0:
                wrong.append(f"again: {again.said()!r}")
            for one in wrong:
                faults.append(f"{command.name}: {one}")
                print(faults[-1], file=sys.stderr, flush=True)
            shutil.rmtree(run.folder)
        print(command.name, kills, writing, file=sys.stderr, flush=True)
    return f"{kills} kills of commands, {writing} of them while a file was written"


def _kill(run, seconds, writing):
    """Kill a command after so many seconds, or as soon as it writes then."""
    end = time.monotonic() + seconds
    while run.code is None:
        if time.monotonic() >= end and (not writing or any(run.folder.rglob(".*.partial*"))):
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
            return
        run.poll()
        time.sleep(0.0002)


def _fits(scratch, rng, most, faults):
    (scratch / "rows").mkdir()
    folder = write_shards(scratch / "rows", n=6000)
    kills = 0
    for name, count, _, same in kill_processes(folder, scratch, unbroken(folder, scratch), rng, most, 4):
        kills += count
        if not same:
            faults.append(f"{name} on shards, after {count} kills: other bits")
    return f"{kills} of fits to shards"
