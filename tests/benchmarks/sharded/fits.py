"""What is measured of this library: fits on shards."""

from contextlib import contextmanager

import numpy as np
from sklearn.base import clone
from timing import peak_bytes, timed

from clifford_rand_nn import ConvexNetworkClassifier, GatedReLUClassifier
from clifford_rand_nn.row_sums import RowMap
from clifford_rand_nn.shards.engines import as_engine
from clifford_rand_nn.shards.source import Shards, shard_blocks
from sharded.made import files, first_rows, judged, judges

_FEW = 2048  # rows of the fit that comes first


def gated(folder, rows=None, gates=50, beta=1e-3, tol=1e-2, held=False):
    """Fit the gated network on the first rows; its certificate and its passes with products."""
    shards, passes = Shards(*files(folder, rows)), []
    model = GatedReLUClassifier(gates, beta=beta, tol=tol, loss="logistic", random_state=0)
    # libraries load the rest of themselves, and compiled code is read
    few = shards.parts[0]._replace(stop=min(_FEW, shards.parts[0].stop))
    block = next(shard_blocks(shards, few, _FEW))
    clone(model).set_params(max_iter=3).fit(Shards([block.X], [block.y]))
    engine = as_engine(None, shards, "fit")
    engine.sum, engine.keep = _counted(engine.sum, passes), _counted(engine.keep, passes)
    _, wall, cpu = timed(lambda: model.fit(shards, engine=engine))
    proof = model.certificate_
    return {
        "seconds": wall,
        "cpu": cpu,
        "peak": peak_bytes(),
        "objective": proof.objective,
        "gap": proof.relative_gap,
        "steps": model.n_iter_,
        "passes": len(passes),
        **_test(model, folder, held),
    }


def _counted(work, passes):
    """The pass over rows that notes itself if it multiplies them: by a sum's columns, or by gates that it keeps."""

    def call(what):
        if hasattr(what, "_columns") or isinstance(what, RowMap):
            passes.append(type(what).__name__)
        return work(what)

    return call


def default(folder, rows=None, memory_rows=None):
    """Fit the default network on shards, or on the first rows in memory."""
    model = ConvexNetworkClassifier()
    in_memory = memory_rows is not None
    data = first_rows(folder, rows, memory_rows, np.float64) if in_memory else (Shards(*files(folder, rows)),)
    _, wall, cpu = timed(lambda: model.fit(*data))
    return {"seconds": wall, "cpu": cpu, "peak": peak_bytes(), **_test(model, folder)}


def _test(model, folder, held=False):
    X, y = judges(folder, held)
    accuracy, loss = judged(model.predict_proba(X)[:, 1], y)
    return {"accuracy": accuracy, "log_loss": loss}


@contextmanager
def dask_client(workers, memory="1GB"):
    """A client of worker processes of one thread each, or None."""
    if not workers:
        yield None
        return
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=memory)
    with cluster, Client(cluster) as client:
        yield client
