"""What a pass over shards sends between Dask workers, against the model of docs/architecture/shards-plan.md.

Run by hand, ``python tests/benchmarks/bench_communication.py [rows] [columns] [gates]``; 200,000 × 384 and 50 are the
default. Files of float16 are made in a temporary folder. Workers are processes of this machine with one thread each;
the bytes are those that Dask's own logs of transfers tell, work stealing, which
moves rows as it sees fit, and the active memory manager, which drops copies of the parameters, are off.

The model of a pass with R runs on W workers: a tree of ⌈log₂ R⌉ levels of additions; the parameters go to every worker
once; a sum travels where an addition has its terms on two workers, E times, and once to the client; there are R + E + 2
tasks. Leaves with 1 if a pass sends anything else, or other bits come out.
"""

import math
import pickle
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import least, machine, need

from clifford_rand_nn import GatedReLUClassifier
from clifford_rand_nn.datafits.registry import as_loss
from clifford_rand_nn.row_sums.sums import RowSum, Targets, pairwise
from clifford_rand_nn.shards.engines.dask import DaskEngine
from clifford_rand_nn.shards.engines.local import LocalEngine
from clifford_rand_nn.shards.gated.passes import Judge, Network, Patterns
from clifford_rand_nn.shards.source import Shards

_SHARD = 50_000  # rows
_PASSES = 5


class Nothing(RowSum):
    """A sum of eight bytes: what a pass takes beside reading and products."""

    rows = 2**30

    def of(self, block, kept):
        return (np.zeros(1),)


def make(folder: Path, n: int, d: int) -> Shards:
    rng = np.random.default_rng(0)
    w = rng.standard_normal(d)
    for i, start in enumerate(range(0, n, _SHARD)):
        X = rng.standard_normal((min(_SHARD, n - start), d), dtype=np.float32)
        np.save(folder / f"X-{i:05d}.npy", X.astype(np.float16))
        np.save(folder / f"y-{i:05d}.npy", (np.abs(X @ w) > 0.7 * math.sqrt(d)).astype(np.int8))
    return Shards(folder, part_rows=4096)


def cpu(client) -> float:
    """Return the CPU seconds of the workers so far."""
    return sum(client.run(time.process_time).values())


def transfers(client) -> list[list[tuple[str, int]]]:
    """Return (key, bytes) of all that each worker got from the others so far."""
    logs = client.run(lambda dask_worker: [one["keys"] for one in dask_worker.transfer_incoming_log])
    return [[(str(key), size) for keys in log for key, size in keys.items()] for log in logs.values()]


def crossing(engine: DaskEngine) -> int:
    """Return the additions whose two terms are on different workers: a sum stays where its first term is."""
    count = 0

    def add(a: int, b: int) -> int:
        nonlocal count
        count += a != b
        return a

    pairwise((run.owner for run in engine._runs), add)
    return count


def measure(processes: int, shards: Shards, term: RowSum, patterns: Patterns, expected: list[bytes]) -> bool:
    distributed, dask = need("distributed", "dask")
    # neither moves rows to idle workers nor drops copies of the parameters while a pass runs
    off = ("distributed.scheduler.work-stealing", "distributed.scheduler.active-memory-manager.start")
    dask.config.set(dict.fromkeys(off, False))
    cluster = distributed.LocalCluster(
        n_workers=processes, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="2GiB"
    )
    with cluster, distributed.Client(cluster) as client, DaskEngine(shards, client) as engine:
        engine.keep(patterns)
        found = engine.sum(term)  # rows are read and held, patterns made
        before = transfers(client)
        here, there = time.process_time(), cpu(client)
        took = least(lambda: engine.sum(term), _PASSES)[0]
        here, there = (time.process_time() - here) / _PASSES, (cpu(client) - there) / _PASSES
        after = transfers(client)
        bare = least(lambda: engine.sum(Nothing()), _PASSES)[0]
        moved = [entry for old, new in zip(before, after, strict=True) for entry in new[len(old) :]]
        size = sum(array.nbytes for array in found)
        R = len(engine._runs)
        sent = sum("-sent-" in key for key, _ in moved) / _PASSES
        sums = sum(nbytes for key, nbytes in moved if "-sum-" in key or "-fold-" in key) / _PASSES
        rows = sum(nbytes for key, nbytes in moved if "-hold-" in key or "-map-" in key) / _PASSES
    edges = crossing(engine)
    parameters = len(pickle.dumps(term, protocol=5))
    held = len(engine._held_runs)
    same = [array.tobytes() for array in found] == expected
    fits = abs(sums - edges * size) <= 0.02 * edges * size + 1024 and abs(sent - (processes - 1)) < 1e-9 and rows == 0
    tasks = R + edges + 2
    print(
        f"{processes} workers: {R} runs ({held} held), {tasks} tasks, depth {math.ceil(math.log2(R))};"
        f" parameters {parameters / 1e6:.2f} MB × {sent:.1f} (model {processes - 1});"
        f" sums {sums / 1e6:.2f} MB between workers (model {edges} × {size / 1e6:.3f} = {edges * size / 1e6:.2f})"
        f" + {size / 1e6:.2f} to the client; rows moved {rows / 1e6:.1f} MB;"
        f" {took:.3f} s a pass, CPU {there:.3f} s in workers, {here:.3f} s in scheduler and client;"
        f" {bare:.3f} s of it tasks ({1e3 * bare / tasks:.1f} ms each);"
        f" {'same bits' if same else 'OTHER BITS'}{'' if fits else ', NOT THE MODEL'}"
    )
    return same and fits


def main() -> None:
    n, d, gates = (int(text) for text in [*sys.argv[1:], *["200000", "384", "50"][len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory() as name:
        shards = make(Path(name), n, d)
        some = next(shards.blocks(shards.parts[0], 2000))
        model = GatedReLUClassifier(gates, beta=0.1, loss="logistic", tol=0.9, max_iter=1, random_state=0)
        found = model.fit(some.X.astype(np.float64), some.y).gates_
        U = np.random.default_rng(1).standard_normal((d, len(found), 1)) / d
        targets = Targets(as_loss("logistic", "bench"), np.array([0, 1]))
        term = Judge(Network(U, np.zeros(1)), targets, None, np.array([0.98, 0.995, 1.0, 1.01]))
        with LocalEngine(shards, 2) as local:
            local.keep(Patterns(found))
            expected = [array.tobytes() for array in local.sum(term)]
            here = time.process_time()
            took = least(lambda: local.sum(term), _PASSES)[0]
            here = (time.process_time() - here) / _PASSES
        told = f"{n} × {d}, {len(found)} gates, {len(shards.parts)} parts"
        print(f"{told}; 2 threads of one process: {took:.3f} s a pass, {here:.3f} s of CPU")
        good = [measure(processes, shards, term, Patterns(found), expected) for processes in (1, 2, 4)]
    machine("dask", "distributed")
    if not all(good):
        sys.exit(1)


if __name__ == "__main__":
    main()
