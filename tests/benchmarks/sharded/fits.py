"""What is measured of this library: fits on shards, in this process or by Dask, and checks of certificates."""

import pickle
from pathlib import Path

import numpy as np
from sklearn.base import clone

from clifford_rand_nn import ConvexNetworkClassifier, GatedReLUClassifier
from clifford_rand_nn.shards.engines.local import as_engine
from clifford_rand_nn.shards.source import Shards
from sharded.made import files, judged, judges
from sharded.process import Clock, peak
from sharded.products import Counted

_FEW = 2048  # rows of the fit that comes first


def gated(folder, rows=None, gates=50, beta=1e-3, tol=1e-2, threads=2, dask=0, torch=False, keep=None, held=False):
    """Fit the gated network on the first rows; its certificate, its passes and their bare products."""
    shards = Shards(*files(folder, rows))
    model = GatedReLUClassifier(gates, beta=beta, tol=tol, loss="logistic", random_state=0)
    with Workers(dask) as client:
        wanted = "torch" if torch else client
        first = _first_call(model, shards, wanted)
        clock = Clock()
        made = as_engine(wanted, shards, "fit")
        engine = Counted(made, 0 if torch else threads)
        model.fit(shards, engine=engine)
        measured = clock.read()
        workers = [] if client is None else list(client.run(peak).values())
    memory = peak()
    proof = model.certificate_
    if keep is not None:
        Path(keep).write_bytes(pickle.dumps(model))
    sums = [one for one in engine.passes if one["products"]]
    device = str(getattr(made, "device", "cpu"))
    verified = proof.verify(shards).relative_gap if torch else None
    return {
        **measured,
        "first": first,
        "device": device,
        "verified": verified,
        "each_pass": [one["seconds"] for one in sums],
        "seconds": measured["seconds"] - engine.bare,
        "cpu": measured["cpu"] - engine.bare_cpu,
        "peak": memory,
        "workers": workers,
        "n": shards.n,
        "objective": proof.primal,
        "gap": proof.relative_gap,
        "steps": model.n_iter_,
        "passes": len(sums),
        "pass_seconds": sum(one["seconds"] for one in sums),
        "pass_cpu": sum(one["cpu"] for one in sums),
        "beside_cpu": measured["cpu"] - engine.bare_cpu - sum(one["cpu"] for one in engine.passes),
        "product_seconds": sum(one["products"][0] for one in sums),
        "product_cpu": sum(one["products"][1] for one in sums),
        "other": [(one["name"], round(one["seconds"], 2)) for one in engine.passes if not one["products"]],
        **_test(model, folder, held),
    }


def _first_call(model, shards, engine):
    """Seconds of a fit to a few rows: libraries load the rest of themselves, and compiled code is read."""
    part = shards.parts[0]._replace(stop=_FEW)
    block = next(shards.blocks(part, _FEW))
    clock = Clock()
    clone(model).set_params(max_iter=3).fit(Shards([block.X], [block.y]), engine=engine)
    return clock.read()["seconds"]


def default(folder, rows=None, memory_rows=None):
    """Fit the default network on shards, or on the first rows in memory."""
    X, y = files(folder, rows)
    model = ConvexNetworkClassifier()
    clock = Clock()
    if memory_rows is None:
        model.fit(Shards(X, y))
    else:
        wanted = [_first(paths, memory_rows) for paths in (X, y)]
        model.fit(wanted[0].astype(np.float64), wanted[1])
    return {**clock.read(), "peak": peak(), **_test(model, folder)}


def _first(paths, rows):
    found, count = [], 0
    for path in paths:
        found.append(np.load(path))
        count += len(found[-1])
        if count >= rows:
            break
    return np.concatenate(found)[:rows]


def verify(folder, rows=None, kept=None, threads=2):
    """Check a kept model's certificate from its shards; then from shards of which one label is another."""
    model = pickle.loads(Path(kept).read_bytes())
    shards = Shards(*files(folder, rows))
    engine = Counted(as_engine(None, shards, "verify"), threads)
    clock = Clock()
    proof = model.certificate_.verify(shards, engine=engine)
    measured = clock.read()
    stored = model.certificate_
    return {
        **measured,
        "seconds": measured["seconds"] - engine.bare,
        "cpu": measured["cpu"] - engine.bare_cpu,
        "peak": peak(),
        "passes": len(engine.passes),
        "gap": proof.relative_gap,
        "difference": abs(proof.primal - stored.primal) + abs(proof.dual - stored.dual),
    }


def _test(model, folder, held=False):
    X, y = judges(folder, held)
    accuracy, loss = judged(model.predict_proba(X)[:, 1], y)
    return {"accuracy": accuracy, "log_loss": loss}


class Workers:
    """A client of worker processes of one thread each, or None."""

    def __init__(self, workers):
        self._workers = workers

    def __enter__(self):
        if not self._workers:
            return None
        from distributed import Client, LocalCluster

        self._cluster = LocalCluster(
            n_workers=self._workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="1GB"
        )
        self._client = Client(self._cluster)
        return self._client

    def __exit__(self, *error):
        if self._workers:
            self._client.close()
            self._cluster.close()
