"""What a pass over shards sends between Dask workers, against the model of docs/architecture/shards-plan.md.

Run by hand, ``python tests/benchmarks/bench_communication.py [rows] [columns] [gates]``; 200,000 × 384 and 50 are the
default. Files of float16 are made in a temporary folder. Workers are processes of this machine with one thread each;
the bytes are those of Dask's own logs of transfers; work stealing, which moves rows as it sees fit, and the active
memory manager, which drops copies of the parameters, are off.

The model of a pass with R runs on W workers: a tree of ⌈log₂ R⌉ levels of additions; the parameters go to every worker
once; a sum travels where an addition has its terms on two workers, E times, and once to the client; there are R + E + 2
tasks. Leaves with 1 if a pass sends anything else, or other bits come out.
"""

import math
import pickle
import sys
import tempfile
import time

import numpy as np
from sharded.fits import dask_client
from sharded.made import files, made
from timing import least, machine, need, options

from clifford_rand_nn import GatedReLUClassifier
from clifford_rand_nn.problems.loss_registry import as_loss
from clifford_rand_nn.row_sums import RowSum, Targets, pairwise
from clifford_rand_nn.shards.dask_engine import DaskEngine
from clifford_rand_nn.shards.engines import LocalEngine
from clifford_rand_nn.shards.gated_passes import Judge, Network, Patterns
from clifford_rand_nn.shards.source import Shards, shard_blocks

_PASSES = 5


class Nothing(RowSum):
    """A sum of eight bytes: what a pass takes beside reading and products."""

    rows = 2**30

    def of(self, block, kept):
        return (np.zeros(1),)


def cpu(client):
    """Return the CPU seconds of the workers so far."""
    return sum(client.run(time.process_time).values())


def transfers(client):
    """Return (key, bytes) of all that each worker got from the others so far."""
    logs = client.run(lambda dask_worker: [entry["keys"] for entry in dask_worker.transfer_incoming_log])
    return [[(str(key), size) for keys in log for key, size in keys.items()] for log in logs.values()]


def crossing(engine):
    """Return the additions whose two terms are on different workers: a sum stays where its first term is."""
    count = 0

    def add(a, b):
        nonlocal count
        count += a != b
        return a

    pairwise((run.owner for run in engine._runs), add)
    return count


def measure(processes, shards, term, patterns, expected):
    """Print what a pass takes with so many workers, and whether it is the model's, with the expected bits."""
    with dask_client(processes, "2GiB") as client, DaskEngine(shards, client) as engine:
        engine.keep(patterns)
        sums = engine.sum(term)  # rows are read and held, patterns made
        before, here, there = transfers(client), time.process_time(), cpu(client)
        wall, _ = least(lambda: engine.sum(term), _PASSES)
        here, there = (time.process_time() - here) / _PASSES, (cpu(client) - there) / _PASSES
        after = transfers(client)
        bare, _ = least(lambda: engine.sum(Nothing()), _PASSES)
        edges, runs, held = crossing(engine), len(engine._runs), len(engine._held_runs)
    moved = [entry for old, new in zip(before, after, strict=True) for entry in new[len(old) :]]

    def bytes_of(*kinds):
        return sum(size for key, size in moved if any(f"-{kind}-" in key for kind in kinds)) / _PASSES

    size, tasks = sum(array.nbytes for array in sums), runs + edges + 2
    sent, added = sum("-sent-" in key for key, _ in moved) / _PASSES, bytes_of("sum", "fold")
    rows = bytes_of("hold", "map")
    same = [array.tobytes() for array in sums] == expected
    fits = abs(added - edges * size) <= 0.02 * edges * size + 1024 and abs(sent - (processes - 1)) < 1e-9 and rows == 0
    print(
        f"{processes} workers: {runs} runs ({held} held), {tasks} tasks, depth {math.ceil(math.log2(runs))};"
        f" parameters {len(pickle.dumps(term, protocol=5)) / 1e6:.2f} MB × {sent:.1f} (model {processes - 1});"
        f" sums {added / 1e6:.2f} MB between workers (model {edges} × {size / 1e6:.3f} = {edges * size / 1e6:.2f})"
        f" + {size / 1e6:.2f} to the client; rows moved {rows / 1e6:.1f} MB;"
        f" {wall:.3f} s a pass, CPU {there:.3f} s in workers, {here:.3f} s in scheduler and client;"
        f" {bare:.3f} s of it tasks ({1e3 * bare / tasks:.1f} ms each);"
        f" {'same bits' if same else 'OTHER BITS'}{'' if fits else ', NOT THE MODEL'}"
    )
    return same and fits


def main():
    sizes = {"rows": 200_000, "columns": 384, "gates": 50}
    args = options(__doc__, *((name, {"nargs": "?", "type": int, "default": n}) for name, n in sizes.items()))
    (dask,) = need("dask")
    # neither moves rows to idle workers nor drops copies of the parameters while a pass runs
    off = ("distributed.scheduler.work-stealing", "distributed.scheduler.active-memory-manager.start")
    dask.config.set(dict.fromkeys(off, False))
    with tempfile.TemporaryDirectory() as folder:
        shards = Shards(*files(made(folder, args.rows, args.columns)), part_rows=4096)
        some = next(shard_blocks(shards, shards.parts[0], 2000))
        model = GatedReLUClassifier(args.gates, beta=0.1, loss="logistic", tol=0.9, max_iter=1, random_state=0)
        gates = model.fit(some.X.astype(np.float64), some.y).gates_
        U = np.random.default_rng(1).standard_normal((args.columns, len(gates), 1)) / args.columns
        targets = Targets(as_loss("logistic", "bench"), np.array([0, 1]))
        term = Judge(Network(U, np.zeros(1)), targets, None, np.array([0.98, 0.995, 1.0, 1.01]))
        with LocalEngine(shards, 2) as local:
            local.keep(Patterns(gates))
            expected = [array.tobytes() for array in local.sum(term)]
            wall, busy = least(lambda: local.sum(term), _PASSES)
        print(f"{args.rows} × {args.columns}, {len(gates)} gates, {len(shards.parts)} parts; ", end="")
        print(f"2 threads of one process: {wall:.3f} s a pass, {busy:.3f} s of CPU")
        good = [measure(processes, shards, term, Patterns(gates), expected) for processes in (1, 2, 4)]
    machine("dask", "distributed")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
