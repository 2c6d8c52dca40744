"""Kills of fits to shards at random moments: process, Dask worker, Dask client's process; and full disks.

    python tests/fuzz/shard_kills.py [--kills 30] [--seed 0] [--folder FOLDER]

Fits of small networks write their state after every pass. Their process is killed (-9) at a random moment, another one
goes on from the file, is killed, …; what the last one leaves (coefficients, gates, certificate, steps) must be the bits
of a fit that nobody kills. Two worker processes of Dask are killed at random moments of a pass, until as many kills are
done: the fit ends with the same bits; so does one whose own process is killed. A fit whose disk is full from some
moment on ends with the same bits and one warning, and its file is a state that another goes on from. Leaves with 1 if
anything differs.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.kills import MODELS, Fit, fit, kill_processes, left, once_there, small_files, unbroken, write_shards

_DASK_KILLS = 2  # of the workers in one fit; Dask gives a task up that was on more workers that died


def check(same, what):
    print(f"{what}: {'the same bits' if same else 'OTHER BITS'}", flush=True)
    if not same:
        sys.exit(1)


def processes(folder, scratch, whole, rng, kills):
    for name, count, written, same in kill_processes(folder, scratch, whole, rng, kills, 6):
        check(same, f"{name}: {count} kills of its process, {written} of them while a file was written")


def workers(folder, whole, rng, kills):
    import dask
    from distributed import Client, LocalCluster

    # after 15 s it gives up one that restarts
    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    done = 0
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    for turn in range(2 * kills):  # a fit may end before its first kill
        if done >= kills:
            break
        name = list(MODELS)[turn % len(MODELS)]
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            killer = Killer(cluster, rng, min(_DASK_KILLS, kills - done), 0.5 * whole[name][1])
            began = time.perf_counter()
            result = left(fit(name, folder, client=client))
            seconds = time.perf_counter() - began
            done += killer.stop()
        check(result == whole[name][0], f"{name}: {killer.done} kills of Dask workers, {seconds:.1f} s")


class Killer(threading.Thread):
    """Kills workers of a cluster at random moments, one after the other."""

    def __init__(self, cluster, rng, most, seconds):
        super().__init__(daemon=True)
        self._cluster, self._rng, self._most, self._seconds = cluster, rng, most, seconds
        self.done, self._over = 0, threading.Event()
        self.start()

    def run(self):
        while self.done < self._most and not self._over.wait(self._rng.uniform(0.05, self._seconds)):
            pids = [nanny.pid for nanny in self._cluster.workers.values() if nanny.pid]
            if len(self._cluster.scheduler.workers) == len(pids) == 2:  # not one that is being started
                os.kill(int(self._rng.choice(pids)), signal.SIGKILL)
                self.done += 1

    def stop(self):
        self._over.set()
        self.join()
        return self.done


def full_disk(folder, scratch, whole):
    """A limit of the size of files from some moment on; and, where this may be mounted, a disk of 256 KiB."""
    for name, (expected, _) in whole.items():
        path = scratch / f"{name}.full"
        soon = partial(once_there, path, small_files)
        result, said = Fit(name, folder, path, scratch / f"{name}.full.found", soon).result()
        told = [line for line in said if "could not be written" in line]
        check(result == expected, f"{name}: disk full in mid-fit, {len(told)} warning")
        if len(told) != 1:
            sys.exit("not one warning")
        result, _ = Fit(name, folder, path, scratch / f"{name}.again").result()
        check(result == expected, f"{name}: another goes on from what was there before")
    disk = scratch / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        print("a tmpfs may not be mounted here: no disk of 256 KiB")
        return
    try:
        name, (expected, _) = next(iter(whole.items()))
        soon = partial(once_there, disk / "state", partial(fill, disk / "filler"))
        result, said = Fit(name, folder, disk / "state", scratch / "disk.found", soon).result()
        told = [line for line in said if "No space left on device" in line]
        check(result == expected, f"{name}: a disk of 256 KiB is full in mid-fit, {len(told)} warning")
        before = (disk / "state").read_bytes()
        try:
            fit(name, folder, disk / "state")
        except ValueError as error:
            print(f"    at the start: {error}")
        check((disk / "state").read_bytes() == before, "    its file after that")
        (disk / "filler").unlink()
        result, _ = Fit(name, folder, disk / "state", scratch / "disk.again").result()
        check(result == expected, f"{name}: another goes on when there is space again")
    finally:
        subprocess.run(["umount", disk], check=True)


def fill(path):
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="of processes, and a fifth as many of Dask workers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default=None, help="for scratch files")
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="kills-", dir=options.folder))
    rng = np.random.default_rng(options.seed)
    try:
        (scratch / "rows").mkdir()
        folder = write_shards(scratch / "rows")
        whole = unbroken(folder, scratch)
        print(", ".join(f"{name}: {seconds:.1f} s unbroken" for name, (_, seconds) in whole.items()), flush=True)
        processes(folder, scratch, whole, rng, options.kills)
        full_disk(folder, scratch, whole)
        workers(folder, whole, rng, options.kills // 5)
    finally:
        shutil.rmtree(scratch)
    print("nothing differs")


if __name__ == "__main__":
    main()
