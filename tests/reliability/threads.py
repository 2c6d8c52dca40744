"""Sixteen threads, forked, spawned and loky's processes, and damaged files of compiled code change no bit of a result.

Every piece of `support.mixed` is done alone in a process of its own; by sixteen threads at once, each in another order
and all compiling at the same moment; and by children of that process afterwards. What Numba and LLVM compiled lies in
files: cut or overwritten at any place, in a folder that many processes fill at the same time, and in one that nobody
may write to, results are the same. In nested pools (n_jobs, threads of ours, BLAS) hardly more threads run than
processors: one a job is granted for handing over. Parts of it: kinds of work, "code" and "nested" (`--only`).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from reliability.promise import Outcome
from support.damage import damaged_bytes
from support.mixed import WORK
from support.repeated import ACROSS, SLOW
from support.running import answer, begin, environment

_QUICK = ("products", "fused", "saved")  # of the short form
_CODE = ("fused", "kernels", "products")  # what is done with damaged files
_TORN = 150  # files that are damaged, four a process
_CORES, _JOBS = 8, 4
_HELD = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")  # root, whom permissions bind


def run(budget):
    rng = np.random.default_rng(budget.seed)
    with tempfile.TemporaryDirectory(prefix="threads-") as scratch:
        scratch = Path(scratch)
        scratch.chmod(0o755)
        faults, told = [], []
        names, others = budget.named(_kinds(budget), ["code", "nested"])
        if names:
            told.append(_mixed(budget, names, scratch, faults))
        if "code" in others:
            told.append(_code(budget, scratch, rng, faults))
    if "nested" in others and not budget.short:
        told.append(_nested(faults))
    return Outcome("; ".join(told), faults)


# ---- threads and processes


def _kinds(budget):
    return list(_QUICK) if budget.short else [name for name in WORK if name not in (*SLOW, *ACROSS)]


def _mixed(budget, names, scratch, faults):
    children = ["fork"] if budget.short else ["fork", "spawn", "loky"]
    many = _work(["--threads", "16", "--seed", str(budget.seed), "--children", *children, "--only", *names], scratch)
    # the short form compares with the children, who are alone after the threads
    alone = many["fork"] if budget.short and "fork" in many else _work(["--only", *names], scratch)["alone"]
    count = 0
    for way, found in many.items():
        count += sum(map(len, found.values()))
        faults += _differing(way, alone, found)
    return f"{count} pieces of work of {len(names)} kinds in 16 threads, then in children by {', '.join(children)}"


def _differing(way, alone, found):
    faults = [f"{name}, alone: {alone[name][0]}" for name in found if alone[name][0].startswith("error")]
    for name, several in found.items():
        wrong = [one for one in several if one != alone[name][0]]
        if wrong:
            faults.append(f"{name}, {way}: {len(wrong)} of {len(several)} differ, {wrong[0]}")
    return faults


def _work(arguments, scratch, by=(), **more):
    """Return what a process of `support.mixed` printed."""
    return _said(_begun(arguments, scratch, by, **more))


def _begun(arguments, scratch, by=(), **more):
    return begin("support.mixed", *arguments, by=by, TMPDIR=str(scratch), **more)


def _said(process):
    try:
        return answer(process)
    except RuntimeError as error:
        names = process.args[process.args.index("--only") + 1 :]
        return {"alone": {name: [f"error: {error}"] for name in names}}


# ---- files of compiled code


def _code(budget, scratch, rng, faults):
    """Fill one folder of compiled code by several processes at once, damage its files, forbid to write to it."""
    names = ["--only", *(_CODE[1:2] if budget.short else _CODE)]
    full = scratch / "code"
    at_once = [_begun(names, scratch, NUMBA_CACHE_DIR=str(full)) for _ in range(2 if budget.short else 6)]
    first, *others = [_said(process)["alone"] for process in at_once]
    for found in (first, *others):
        faults += _differing("processes that fill one folder of code", first, found)
    files = sorted(path.relative_to(full) for path in full.rglob("*") if path.is_file())
    if not any(file.suffix == ".code" for file in files):
        faults.append(f"no file of Numba's code among {files}")
    torn, (most, each) = 0, (1, len(files)) if budget.short else (_TORN, 4)
    while torn < most:
        folder = scratch / "torn"
        shutil.copytree(full, folder)
        done = rng.permutation(len(files))[:each]
        for path in (folder / files[k] for k in done):
            path.write_bytes(_damaged(path.read_bytes(), rng))
        torn += len(done)
        found = _work(names, scratch, NUMBA_CACHE_DIR=str(folder))["alone"]
        faults += _differing(f"damaged files of code {[str(files[k]) for k in done]}", first, found)
        shutil.rmtree(folder)
    ways = [f"{len(at_once)} processes that fill one folder of code", f"{torn} damaged files of it"]
    if not budget.short and (os.geteuid() or shutil.which(_HELD[0])):
        for way, folder in (("full", full), ("empty", scratch / "empty")):
            folder.mkdir(exist_ok=True)
            for path in (*folder.rglob("*"), folder):
                path.chmod(0o555 if path.is_dir() else 0o444)
            found = _work(names, scratch, () if os.geteuid() else _HELD, NUMBA_CACHE_DIR=str(folder))["alone"]
            for path in (folder, *folder.rglob("*")):
                path.chmod(0o755)
            faults += _differing(f"a folder of code, {way}, that may not be written to", first, found)
            if way == "empty" and any(folder.iterdir()):
                faults.append("the folder that may not be written to was written to")
        ways.append("a full and an empty one that may not be written to")
    return ", ".join(ways)


def _damaged(good, rng):
    """Return the bytes damaged, or none, or with zeros or drawn ones in a stretch of any length."""
    kind, start = rng.integers(6), int(rng.integers(len(good)))
    stop = int(rng.integers(start, len(good))) + 1
    if kind < 3:
        return damaged_bytes(good, rng)
    filled = bytes(stop - start) if kind == 3 else rng.bytes(stop - start)
    return b"" if kind == 5 else good[:start] + filled + good[stop:]


# ---- nested pools


def _nested(faults):
    """Count threads that run while n_jobs processes, or threads of the caller, fit with threads of ours and of BLAS."""
    told = []
    for backend in ("loky", "threading"):
        peak = _peak(backend)
        told.append(f"{peak} by {backend}")
        if peak > _CORES + _JOBS:
            faults.append(f"{backend}, n_jobs={_JOBS}: {peak} threads ran at a time on {_CORES} processors")
    return f"n_jobs={_JOBS} on {_CORES} processors: at most {', '.join(told)} threads that ran"


def _peak(backend):
    """Return how many threads of a process and its children ran at most."""
    clean = environment(LOKY_MAX_CPU_COUNT=str(_CORES), PROCESSORS=str(_CORES))
    command = [sys.executable, "-m", "support.nested", backend, str(_JOBS), "6"]
    process = subprocess.Popen(command, env=clean, start_new_session=True)
    most = 0
    while process.poll() is None:
        most = max(most, _running(process.pid))
        time.sleep(0.003)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return most


def _running(session):
    """Return how many threads of a session are on a processor or wait for one."""
    count = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[3]) != session:
                continue
            states = [one.read_text().rpartition(")")[2].split()[0] for one in stat.parent.glob("task/*/stat")]
        except (OSError, IndexError):  # it has ended meanwhile
            continue
        count += states.count("R")
    return count
