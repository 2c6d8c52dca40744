"""Fits to shards in processes that are killed; what they leave at last must be what a fit leaves that nobody kills."""

import os
import pickle
import resource
import signal
import threading
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from clifford_rand_nn import GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.shards.checkpoint import Checkpoint
from clifford_rand_nn.shards.source import Shards

MODELS = {
    "logistic": GatedReLUClassifier(6, beta=1e-3, tol=1e-4, loss="logistic", random_state=0),
    "ridge": GatedReLURegressor(6, beta=1e-3, tol=1e-4, penalty="ridge", random_state=0),
}


def write_shards(folder, n=20_000, d=8, shards=5, seed=0):
    """Write rows of a small teacher network."""
    rng = np.random.default_rng(seed)
    W, a = rng.standard_normal((d, 4)), np.array([1.0, -1.0, 1.0, -1.0])
    for i in range(shards):
        X = rng.standard_normal((n // shards, d)).astype(np.float16)
        y = np.maximum(X @ W, 0) @ a + rng.standard_normal(len(X)) > 0
        np.save(Path(folder) / f"X-{i:05d}.npy", X)
        np.save(Path(folder) / f"y-{i:05d}.npy", y.astype(np.int8))
    return str(folder)


def left(model):
    """What a fit leaves, as bytes: coefficients, gates, steps, and the numbers of the certificate."""
    proof = model.certificate_
    arrays = (*model.result_.coefficients, model.gates_.directions, model.predict(np.eye(model.n_features_in_)))
    numbers = (proof.objective, proof.lower_bound, proof.relative_gap, len(model.result_.history))
    return pickle.dumps(([np.asarray(one).tobytes() for one in arrays], numbers))


def fit(name, folder, checkpoint=None, client=None):
    """Fit a model to the shards of a folder, its state written after every pass."""
    keep = None if checkpoint is None else Checkpoint(checkpoint, every=0)
    return MODELS[name].fit(Shards(folder, part_rows=1024), engine=client, checkpoint=keep)


class Fit:
    """A fit in a forked process, which writes what it leaves to a file at its end."""

    def __init__(self, name, folder, checkpoint, found, setup=None):
        self.found = Path(found)
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    if setup is not None:
                        setup()
                    result = left(fit(name, folder, checkpoint))
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                with open(f"{self.found}.new", "wb") as file:
                    file.write(pickle.dumps((result, [str(one.message) for one in said])))
                os.replace(f"{self.found}.new", self.found)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)

    def kill_after(self, seconds, writing=False):
        """Kill it after so many seconds, or if asked as soon as it writes then; return whether it was still at work."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or (writing and not any(self.found.parent.glob(".*.partial*"))):
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return False
            time.sleep(0.0002 if writing else 0.001)
        os.kill(self.pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]) == -signal.SIGKILL

    def result(self):
        """Wait for the end; return what it leaves, and what it warned of."""
        if not self.found.exists():
            os.waitpid(self.pid, 0)
        return pickle.loads(self.found.read_bytes())


def killed_until_done(name, folder, scratch, rng, seconds, most):
    """Kill fits at random moments, let others go on; return kills, those in mid-write, and what the last one leaves."""
    scratch = Path(scratch)
    checkpoint = scratch / "state"
    kills = written = 0
    while True:
        one = Fit(name, folder, checkpoint, scratch / "found")
        if kills == most or not one.kill_after(rng.uniform(0, seconds), writing=bool(rng.random() < 0.3)):
            return kills, written, one.result()[0]
        kills += 1
        halves = list(scratch.glob(".*.partial*"))
        written += len(halves)
        for half in halves:
            half.unlink()


def unbroken(folder, scratch):
    """Return {name: (what a fit leaves that nobody kills, its seconds)}."""
    whole = {}
    for name in MODELS:
        began = time.perf_counter()
        whole[name] = Fit(name, folder, None, scratch / f"{name}.whole").result()[0], time.perf_counter() - began
    return whole


def kill_processes(folder, scratch, whole, rng, kills, at_once):
    """Kill fits until there were so many kills; yield (name, kills, those in mid-write, whether the bits are the same).

    The models take turns. Fits that end before their first kill are no more than four for each kill.
    """
    done = 0
    for turn in range(4 * kills):
        if done >= kills:
            return
        name = list(MODELS)[turn % len(MODELS)]
        own = scratch / f"kills-{turn}"
        own.mkdir()
        most, seconds = min(at_once, kills - done), whole[name][1]
        count, written, result = killed_until_done(name, folder, own, rng, seconds, most)
        done += count
        yield name, count, written, result == whole[name][0]


def once_there(path, work):
    """Do some work in a thread as soon as a file is there."""

    def wait():
        while not os.path.exists(path):
            time.sleep(0.001)
        work()

    threading.Thread(target=wait, daemon=True).start()


def small_files():
    """Let this process write no file longer than 1 KiB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
