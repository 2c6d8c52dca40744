"""What is measured of this library: fits on shards, in this process or by Dask, and checks of certificates."""

import pickle
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.base import clone
from timing import peak_bytes, timed

from clifford_rand_nn import ConvexNetworkClassifier, GatedReLUClassifier
from clifford_rand_nn.shards.local_engine import as_engine
from clifford_rand_nn.shards.source import Shards, shard_blocks
from sharded.made import files, first_rows, judged, judges
from sharded.products import Counted

_FEW = 2048  # rows of the fit that comes first


def gated(folder, rows=None, gates=50, beta=1e-3, tol=1e-2, threads=2, dask=0, torch=False, keep=None, held=False):
    """Fit the gated network on the first rows; its certificate, its passes and their bare products."""
    shards = Shards(*files(folder, rows))
    model = GatedReLUClassifier(gates, beta=beta, tol=tol, loss="logistic", random_state=0)
    with dask_client(dask) as client:
        wanted = "torch" if torch else client
        # libraries load the rest of themselves, and compiled code is read
        block = next(shard_blocks(shards, shards.parts[0]._replace(stop=_FEW), _FEW))
        few = clone(model).set_params(max_iter=3)
        _, first, _ = timed(lambda: few.fit(Shards([block.X], [block.y]), engine=wanted))
        local = as_engine(wanted, shards, "fit")
        engine = Counted(local, 0 if torch else threads)
        _, wall, cpu = timed(lambda: model.fit(shards, engine=engine))
        workers = [] if client is None else list(client.run(peak_bytes).values())
    memory, proof = peak_bytes(), model.certificate_
    if keep is not None:
        Path(keep).write_bytes(pickle.dumps(model))
    sums = [entry for entry in engine.passes if entry["products"]]
    return {
        "first": first,
        "device": str(getattr(local, "device", "cpu")),
        "verified": proof.verify(shards).relative_gap if torch else None,
        "each_pass": [entry["seconds"] for entry in sums],
        "seconds": wall - engine.bare,
        "cpu": cpu - engine.bare_cpu,
        "peak": memory,
        "workers": workers,
        "n": shards.n_rows,
        "objective": proof.objective,
        "gap": proof.relative_gap,
        "steps": model.n_iter_,
        "passes": len(sums),
        "pass_seconds": sum(entry["seconds"] for entry in sums),
        "pass_cpu": sum(entry["cpu"] for entry in sums),
        "beside_cpu": cpu - engine.bare_cpu - sum(entry["cpu"] for entry in engine.passes),
        "product_seconds": sum(entry["products"][0] for entry in sums),
        "product_cpu": sum(entry["products"][1] for entry in sums),
        "other": [(entry["name"], round(entry["seconds"], 2)) for entry in engine.passes if not entry["products"]],
        **_test(model, folder, held),
    }


def default(folder, rows=None, memory_rows=None):
    """Fit the default network on shards, or on the first rows in memory."""
    model = ConvexNetworkClassifier()
    in_memory = memory_rows is not None
    data = first_rows(folder, rows, memory_rows, np.float64) if in_memory else (Shards(*files(folder, rows)),)
    _, wall, cpu = timed(lambda: model.fit(*data))
    return {"seconds": wall, "cpu": cpu, "peak": peak_bytes(), **_test(model, folder)}


def verify(folder, rows=None, kept=None, threads=2):
    """Check a kept model's certificate from its shards."""
    model = pickle.loads(Path(kept).read_bytes())
    shards = Shards(*files(folder, rows))
    engine = Counted(as_engine(None, shards, "verify"), threads)
    stored = model.certificate_
    proof, wall, cpu = timed(lambda: stored.verify(shards, engine=engine))
    return {
        "seconds": wall - engine.bare,
        "cpu": cpu - engine.bare_cpu,
        "peak": peak_bytes(),
        "passes": len(engine.passes),
        "gap": proof.relative_gap,
        "difference": abs(proof.objective - stored.objective) + abs(proof.lower_bound - stored.lower_bound),
    }


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
