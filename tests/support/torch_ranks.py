"""What ranks of torch.distributed do in tests, each in a process of its own."""

import pickle
import time

import numpy as np

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import GatedReLUClassifier, predict_shards
from clifford_rand_nn.shards.engines import TorchEngine
from clifford_rand_nn.shards.source import Shards
from support.sums import Broken, Columns, Moments, Positive, Where


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
            coef = model.fit(shards, engine="torch").coef_.tobytes()  # of a seed and a clock of the first rank
            agreed, held = engine.agreed(number), len(engine._rows)
        damaged = Shards(folder / "damaged", part_rows=9)
        file = folder / "damaged" / "X-00002.npy"
        dist.barrier()
        if number == 0:
            file.write_bytes(file.read_bytes()[:200])
        dist.barrier()
        said = _refusal(lambda: TorchEngine(damaged).sum(Moments(shift)))
        if number == 1:
            time.sleep(0.5)  # the first rank would have its files before this one looks
        X = np.load(folder / "rows" / "X-00000.npy")
        some = Shards([X, X[:0], X[:9]])
        files = predict_shards(model, some, folder / "out", engine="torch")
        sizes = [len(np.load(path)) for path in files]
        dist.barrier()
        refused = [  # the errors of one rank are those of all: none waits for the others
            _refusal(lambda: model.fit(shards, engine="torch", checkpoint=folder / "none" / "state")),
            _refusal(lambda: predict_shards(model, some, folder / "out", engine="torch")),
            _refusal(lambda: list(TorchEngine(shards).each(Broken()))),
        ]
    finally:
        dist.destroy_process_group()
    (folder / f"{number}.pickle").write_bytes(pickle.dumps((found, each, agreed, held, said, coef, sizes, refused)))


def _refusal(work):
    try:
        work()
    except (ArgumentError, OSError) as error:
        return str(error)
    return ""
