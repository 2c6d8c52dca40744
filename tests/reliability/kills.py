"""A command that is killed (-9) at any moment leaves whole files, and goes on from what it kept to the same result.

Every command that writes is killed again and again, at a random moment or as soon as it writes: its files are the old
or the new ones; the same command then ends well, with the content of a run that nobody killed, from the checkpoint or
cache that is there. Fits to shards in a process that is killed several times end with the bits of one that was not.
"""

import os
import signal
import time

import numpy as np

from reliability.promise import Outcome
from support.commands import bench, chosen
from support.kills import kill_processes, unbroken, write_shards

_EACH, _FITS = 13, 24  # kills of each command, and of fits
_TRIES = 2
_BRIEF = ("few", "embed")
_WRITING = 0.3  # share of kills that wait until a file is being written


def run(budget):
    rng = np.random.default_rng(budget.seed)
    commands, others = chosen(budget, _BRIEF, ("fits",))
    with bench(commands) as place:
        kills = writing = 0
        for command in commands:
            some = _killed(place, rng, command, 2 if budget.short else _EACH)
            kills, writing = kills + some[0], writing + some[1]
        fits = _fits(place, rng, (3 if budget.short else _FITS) if others else 0)
    figure = f"{kills} kills of commands, {writing} of them while a file was written; {fits} of fits to shards"
    return Outcome(f"{figure}: {len(place.faults)} faults", place.faults)


def _killed(place, rng, command, each):
    """Kill a command; return how often, and how often while it wrote."""
    place.prepare(command)
    kills = writing = 0
    for _ in range(_TRIES * each):  # it may end sooner than the one that was timed
        if kills == each:
            break
        with place.trial(command) as run:
            _kill(run, rng.uniform(0, place.seconds[command][0]), bool(rng.random() < _WRITING))
            kills += run.code == -signal.SIGKILL
            writing += any(run.folder.rglob(".*.partial*"))
            place.note(command.name, place.judge(run, killed=True) + place.again(run, killed=True))
    return kills, writing


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


def _fits(place, rng, most):
    (place.scratch / "rows").mkdir()
    folder = write_shards(place.scratch / "rows", n=6000)
    kills, whole = 0, unbroken(folder, place.scratch)
    for name, count, _, same in kill_processes(folder, place.scratch, whole, rng, most, at_once=4):
        kills += count
        place.note(f"{name} on shards, after {count} kills", [] if same else ["other bits"])
    return kills
