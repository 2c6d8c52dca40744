"""What ranks of torch.distributed do in tests, each in a process of its own."""

import pickle

import numpy as np

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import GatedReLUClassifier
from clifford_rand_nn.shards.engines.torch import TorchEngine
from clifford_rand_nn.shards.source import Shards
from support.sums import Columns, Moments, Positive, Where


def rank(number, ranks, folder):
    """Write what this rank found to a file of the folder."""
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=number, world_size=ranks)
    try:
        shards = Shards(folder / "rows", part_rows=9)
        shift = np.array([0.1, -0.2, 0.3])
        with TorchEngine(shards, max_memory=2000) as engine:
            found = [engine.sum(Moments(shift)), engine.sum(Columns(shift))]
            engine.keep(Positive())
            found += [engine.sum(Moments(shift)), engine.sum(Columns(shift)), engine.sum(Columns(shift))]
            each = [one[:2] for one in engine.each(Where())]
            model = GatedReLUClassifier(n_gates=6, beta=0.02, tol=1e-2, loss="logistic", max_time=100)
            coef = model.fit(shards, engine="torch").coef_.tobytes()
            agreed, held = engine.agreed(number), len(engine._rows)
        damaged = Shards(folder / "damaged", part_rows=9)
        file = folder / "damaged" / "X-00002.npy"
        dist.barrier()
        if number == 0:
            file.write_bytes(file.read_bytes()[:200])
        dist.barrier()
        try:
            TorchEngine(damaged).sum(Moments(shift))
            said = ""
        except ArgumentError as error:
            said = str(error)
    finally:
        dist.destroy_process_group()
    (folder / f"{number}.pickle").write_bytes(pickle.dumps((found, each, agreed, held, said, coef)))
