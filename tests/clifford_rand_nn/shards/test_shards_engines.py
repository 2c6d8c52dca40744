"""Engines: the same sums, bit for bit, whoever runs them; what is lost, unreadable or late is named."""

import gc
import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.problems.loss_registry import as_loss
from clifford_rand_nn.row_sums import Need, Part, Targets, pairwise, runs
from clifford_rand_nn.shards.engines import LocalEngine, TorchEngine, as_engine
from clifford_rand_nn.shards.gated_passes import Balance, Judge, Network, Patterns
from clifford_rand_nn.shards.source import Shards
from support.sums import Blocks, Columns, Deadly, Late, Moments, Positive, Where
from support.torch_ranks import rank

SHIFT = np.array([0.1, -0.2, 0.3])


def write(folder, sizes=(50, 31, 64), dtype=np.float16):
    rng = np.random.default_rng(0)
    for i, n in enumerate(sizes):
        np.save(folder / f"X-{i:05d}.npy", rng.standard_normal((n, 3)).astype(dtype))
        np.save(folder / f"y-{i:05d}.npy", rng.integers(0, 3, n))
        np.save(folder / f"w-{i:05d}.npy", rng.uniform(0, 2, n))
    return Shards(folder, part_rows=9)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return write(tmp_path_factory.mktemp("rows"))


def cluster(**settings):
    distributed = pytest.importorskip("distributed")
    usual = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    return distributed.LocalCluster(**usual | {"memory_limit": "64GiB"} | settings)


@pytest.fixture(scope="module")
def client():
    with cluster(n_workers=2) as workers, workers.get_client() as client:
        yield client


@pytest.fixture
def impatient(monkeypatch):
    def set_seconds(**values):
        for name, value in values.items():
            monkeypatch.setattr(f"clifford_rand_nn.shards.dask_tasks.{name}", value)

    return set_seconds


def same(a, b):
    return len(a) == len(b) and all(left.tobytes() == right.tobytes() for left, right in zip(a, b, strict=True))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 21, 64, 100])
@pytest.mark.parametrize("threads", [[1], [1, 1], [2, 1, 4]])
def test_runs_are_branches_of_the_tree_of_all_parts(n, threads):
    parts = [Part(0, 3 * i, 3 * i + 3, 3 * i) for i in range(n)]
    found = runs(parts, threads, least=2)

    def add(a, b):
        return f"({a}{b})"

    whole = pairwise((f"<{part.start}>" for part in parts), add)
    assert pairwise((pairwise((f"<{p.start}>" for p in run.parts), add) for run in found), add) == whole
    owners = [run.owner for run in found]
    assert owners == sorted(owners)
    assert set(owners) <= set(range(len(threads)))
    if len(found) >= 2 * sum(threads):
        share = np.bincount(owners, minlength=len(threads)) / len(found) - np.array(threads) / sum(threads)
        assert np.abs(share).max() <= 1 / len(found) + 1e-12


def test_little_memory_makes_fewer_threads_then_smaller_blocks(shards):
    need = Need(always=1e6, sums=1e3, row=100.0, rows=4096)
    plain, found = LocalEngine(shards, 4), {}
    for most in (1e9, 1e6 + 2.5 * (1e3 + 4096 * 100), 1e6 + 1e3 + 700 * 100, 1e6 + 1e3 + 64 * 100):
        engine = LocalEngine(shards, 4)
        engine.keep_to(most, need, "owner")
        found[most] = engine.workers, engine._rows
        left = most - need.always - engine.workers * (need.sums + engine._rows * need.row)
        assert 0 <= engine.most_kept <= left
        few = LocalEngine(Shards([np.ones((200, 3))]))
        few.keep_to(most, need, "owner")
        assert few.sum(Blocks())[0] == -(-200 // min(200, few._rows))
        assert same(engine.sum(Moments(SHIFT)), plain.sum(Moments(SHIFT)))  # in blocks of seven rows anyway
    assert list(found.values()) == [(4, 4096), (2, 4096), (1, 512), (1, 64)]
    with pytest.raises(ArgumentError, match=r"'max_memory' parameter of owner must be at least 984 KiB .* Got 981 KiB"):
        LocalEngine(shards).keep_to(1005000, need, "owner")


@pytest.mark.parametrize(("n", "size"), [(100, 4096), (62_500, 4096), (10**6, 12_288), (10**7, 40_960)])
def test_workers_share_few_rows_too(n, size):
    rows = np.broadcast_to(np.float16(1), (n, 384))
    parts = Shards([rows]).parts
    assert parts[0].size == min(n, size)
    assert len(parts) == -(-n // size)  # 16 of the fewest rows that are worth more than one worker's while


@pytest.mark.parametrize("max_memory", [None, 3000, 1])
def test_dask_has_the_bits_of_this_process(shards, client, max_memory):
    term = Moments(SHIFT)
    with LocalEngine(shards, workers=2) as local, as_engine(client, shards, "owner", max_memory) as engine:
        assert engine.workers == 2
        held = len(engine._held_runs)
        assert {None: held == len(engine._runs), 3000: 0 < held < len(engine._runs), 1: held == 0}[max_memory]
        before = local.sum(term)
        assert same(engine.sum(term), before)
        for one in (engine, local):
            one.keep(Positive())
        assert same(engine.sum(term), local.sum(term))
        assert not same(local.sum(term), before)
        assert [found[:2] for found in engine.each(Where())] == [found[:2] for found in local.each(Where())]
    assert same(engine.sum(term), before)  # closed: nothing is kept, and it may be used again
    engine.close()


def test_a_pass_leaves_nothing_with_the_workers(shards, client):
    engine = as_engine(client, shards, "owner", None)
    engine.sum(Moments(SHIFT))
    engine.close()
    until = time.monotonic() + 30  # futures, those of tests before too, are released when Dask gets to it
    while any(client.has_what().values()) and time.monotonic() < until:
        gc.collect()
        time.sleep(0.05)
    assert not any(client.has_what().values())


def test_a_shard_that_a_worker_cannot_read_is_named(tmp_path, client, caplog):
    shards = write(tmp_path)
    engine = as_engine(client, shards, "owner", 1)
    file = tmp_path / "X-00001.npy"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(ArgumentError, match=r"readable shards\. Got .*X-00001\.npy, rows 0 to 7: ") as raised:
        engine.sum(Moments(SHIFT))
    assert not any("distributed" in str(entry.path) for entry in raised.traceback)
    assert "Compute Failed" not in caplog.text


def test_workers_that_do_not_see_the_files_are_named(shards, client, monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.shards.dask_engine._files", lambda _: ["/nowhere/X-00000.npy"])
    with pytest.raises(ArgumentError, match=r"readable by every worker\. Got inproc.*/nowhere/X-00000\.npy.*absolute"):
        as_engine(client, shards, "owner", None)


def test_rows_of_this_process_are_not_sent_around(client, monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.shards.dask_engine._SENT", 1000)
    small, large = (Shards([np.ones((n, 3))], [np.ones(n)]) for n in (20, 2000))
    assert as_engine(client, small, "owner", None).sum(Moments(SHIFT))[2] == 0 + 7 + 14
    with pytest.raises(ArgumentError, match="files that every worker can read"):
        as_engine(client, large, "owner", None)


@pytest.mark.slow
def test_one_process_of_torch_has_the_sums_of_this_process(shards):
    pytest.importorskip("torch")
    with LocalEngine(shards) as local, as_engine("torch", shards, "owner", 2000) as engine:
        assert engine.device.type == "cpu" or pytest.skip("there is a GPU")
        for kept in (False, True):
            expected = local.sum(Moments(SHIFT))
            assert same(engine.sum(Moments(SHIFT)), expected)
            for _ in range(2):  # rows are put on the device in the first pass
                for found, right in zip(engine.sum(Columns(SHIFT)), expected, strict=True):
                    np.testing.assert_allclose(found, right, rtol=1e-12)
            if not kept:
                engine.keep(Positive())
                local.keep(Positive())
        assert 0 < len(engine._rows) < len(shards.parts)
        assert [found[:2] for found in engine.each(Where())] == [found[:2] for found in local.each(Where())]


@pytest.mark.slow
def test_ranks_of_torch_share_the_rows_and_have_the_same_bits(tmp_path):
    torch = pytest.importorskip("torch")
    for name in ("rows", "damaged"):
        (tmp_path / name).mkdir()
        write(tmp_path / name)
    context = torch.multiprocessing.get_context("spawn")
    processes = [context.Process(target=rank, args=(i, 2, tmp_path)) for i in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    zero, one = (pickle.loads((tmp_path / f"{i}.pickle").read_bytes()) for i in range(2))
    assert all(same(a, b) for a, b in zip(zero[0], one[0], strict=True))
    with LocalEngine(Shards(tmp_path / "rows", part_rows=9)) as local:
        right = local.sum(Moments(SHIFT))
        each = [found[:2] for found in local.each(Where())]
        local.keep(Positive())
        masked = local.sum(Moments(SHIFT))
    for found, expected in zip(zero[0], [right, right, masked, masked, masked], strict=True):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert [part for part, _ in zero[1]] == [part for part, _ in each]
    assert zero[1] == one[1] == each
    assert zero[2] == one[2] == 0
    assert zero[3] > 0 < one[3]
    assert zero[4] == one[4]  # the second rank's shard, named by both
    assert "X-00002.npy, rows" in zero[4]
    assert zero[5] == one[5]  # coefficients of a fit whose seed and clock are those of the first rank
    assert zero[6] == one[6] == [50, 0, 9]
    assert zero[7][:2] == one[7][:2]
    assert "a path that can be written" in zero[7][0]
    assert "prediction-00000.npy, 3 of them" in zero[7][1]
    assert zero[7][2] == f"rank 1 of torch.distributed: OSError: {one[7][2]}"
    assert "No space left on device" in one[7][2]


def test_what_is_no_engine_is_refused(shards, tmp_path):
    with pytest.raises(ArgumentError, match=r"'engine' parameter of owner must be None, a distributed\.Client"):
        as_engine("dask", shards, "owner", None)
    local = LocalEngine(shards)
    assert as_engine(local, shards, "owner", None) is local
    with pytest.raises(ArgumentError, match="an engine of the same shards"):
        as_engine(local, write(tmp_path), "owner", None)


def test_a_worker_that_takes_much_longer_than_the_others_is_named(shards, client, impatient):
    impatient(_LOOK_SECONDS=0.02, _LATE=0.01, _LATE_SECONDS=0.05)
    late = r"a pass waits for .*X-00000\.npy, rows 0 to 18 on inproc://"
    with as_engine(client, shards, "owner", None) as engine, pytest.warns(UserWarning, match=late):
        engine.sum(Late())


@pytest.mark.parametrize("persisted", [False, True])
def test_chunks_of_dask_arrays(client, persisted):
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((40, 3)).astype(np.float32)
    X, y = (da.from_array(one, chunks=(9, *one.shape[1:])) for one in (rows, rows[:, 0]))
    if persisted:
        X, y = client.persist([X, y])
    shards = Shards(X, y)
    with as_engine(client, shards, "owner", None) as engine, LocalEngine(shards, 1) as local:
        assert same(engine.sum(Moments(SHIFT)), local.sum(Moments(SHIFT)))


@pytest.mark.slow
def test_a_worker_that_dies_costs_no_bit(shards):
    with LocalEngine(shards) as local:
        expected = local.sum(Moments(SHIFT))
        local.keep(Positive())
        masked = local.sum(Moments(SHIFT))
    with cluster(n_workers=2, processes=True) as workers, workers.get_client() as client:
        for max_memory in (None, 1):  # rows in memory, rows from files
            client.wait_for_workers(2)
            with as_engine(client, shards, "owner", max_memory) as engine:
                assert same(engine.sum(Moments(SHIFT)), expected)
                engine.keep(Positive())
                pid = next(iter(client.run(os.getpid).values()))
                threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
                begun = time.monotonic()
                assert same(engine.sum(Moments(SHIFT, pause=0.1)), masked)
                assert time.monotonic() - begun > 0.6  # the worker died before it ended
                assert same(engine.sum(Moments(SHIFT)), masked)
        client.wait_for_workers(2)
        died = r"several that died with .*X-00000\.npy, rows 0 to 18, the last one tcp"
        with pytest.raises(ArgumentError, match=died):
            as_engine(client, shards, "owner").sum(Deadly())


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "squared_hinge", "softmax", "texts"])
def test_passes_of_gated_networks_on_tensors(loss):
    pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 4)).astype(np.float16)
    classes = {"logistic": [0, 1], "squared_hinge": [False, True], "softmax": [3, 5, 9], "texts": ["a", "b", "c"]}
    labels = np.array(classes[loss]) if loss in classes else None
    y = rng.standard_normal((300, 2)) if labels is None else labels[rng.integers(0, len(labels), 300)]
    record = as_loss({"texts": "logistic", "softmax": "logistic"}.get(loss, loss), "test")
    C = 2 if labels is None else 3 if len(labels) == 3 else 1
    kind = record if labels is None else record.of_classes(len(labels))
    factors, offset = (None, np.array([1e3, -0.5])) if labels is None else (rng.uniform(0.5, 1, len(labels)), None)
    targets = Targets(kind, labels, 1.1, factors, offset=offset)
    shards = Shards([X[:120], X[120:]], [y[:120], y[120:]], sample_weight=[np.abs(X[:120, 0]), np.abs(X[120:, 1])])
    gates = GatedReLURegressor(n_gates=10, max_iter=1, random_state=0, tol=0.9).fit(X.astype(float), X[:, 0]).gates_
    U = 0.3 * rng.standard_normal((5, len(gates), C))
    U[:, ::2] = 0  # these gates are left out of the products
    network, scales = Network(U, rng.standard_normal(C)), np.array([0.3, 1.0])
    with LocalEngine(shards) as local, TorchEngine(shards, device="cpu") as engine:
        for one in (local, engine):
            one.keep(Patterns(gates))
        for dtype, close in ((np.float64, 1e-12), (np.float32, 1e-5)):
            terms = [
                Judge(network, targets, 0.7, scales, dtype),
                Balance(network, targets, 0.7, np.stack([network.t, 2 * network.t]), dtype),
                Balance(network._replace(U=0 * U), targets, 0.7, network.t[None], dtype),
                Judge(network._replace(U=0 * U[:4]), targets, None, scales, dtype),
            ]
            for term in terms:
                for found, right in zip(engine.sum(term), local.sum(term), strict=True):
                    assert found.shape == right.shape
                    assert np.abs(found - right).max() <= close * max(1, np.abs(right).max())


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dask", "torch"])
def test_a_gated_fit_by_another_engine_is_that_of_this_process(shards, client, engine):
    def fit(engine):
        model = GatedReLUClassifier(n_gates=8, beta=0.02, tol=1e-4, loss="logistic", random_state=0, max_time=100)
        return model.fit(shards, engine=engine)

    here, there = fit(None), fit(client if engine == "dask" else "torch")
    if engine == "dask":
        assert here.coef_.tobytes() == there.coef_.tobytes()
    assert there.result_.converged
    assert there.certificate_.verify(shards)
    assert abs(here.certificate_.objective - there.certificate_.objective) <= 2e-4 * here.certificate_.objective


@pytest.mark.slow
def test_a_certificate_is_checked_by_the_engines_of_fit(shards, client):
    proof = GatedReLURegressor(n_gates=3, beta=0.1, tol=1e-2, random_state=0).fit(shards).certificate_
    there = proof.verify(shards, engine=client)
    assert (there.objective, there.lower_bound) == (proof.verify(shards).objective, proof.verify(shards).lower_bound)
    assert client.status == "running"
    with pytest.raises(ArgumentError, match=r"'engine' parameter of ShardCertificate\.verify must be None, a dist"):
        proof.verify(shards, engine="spark")


@pytest.mark.slow
def test_the_default_network_by_dask_is_that_of_this_process(client):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 4)).astype(np.float32)
    shards = Shards(np.split(X, 3), np.split((np.abs(X[:, 0]) + X[:, 1] > 0.8).astype(int), 3), part_rows=50)
    here, there = (ConvexNetworkClassifier().fit(shards, engine=engine) for engine in (None, client))
    assert same([here.predict_proba(X)], [there.predict_proba(X)])
    assert there.certificate_.verify(shards, engine=client).objective == here.certificate_.verify(shards).objective
    assert client.status == "running"


def _sum_for_ever(engine):
    while True:
        engine.sum(Moments(SHIFT))


@pytest.mark.slow
def test_workers_that_dask_has_paused_are_named(shards, impatient):
    """A worker of this process, which is larger than it may be, takes no work; the pass would wait without a word."""
    impatient(_LATE_SECONDS=1.0)
    with (
        cluster(memory_limit="32MiB", threads_per_worker=None) as workers,
        workers.get_client() as client,
        as_engine(client, shards, "owner") as engine,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(UserWarning, match=r"Dask has paused .* memory limit"):
            _sum_for_ever(engine)


@pytest.mark.slow
def test_a_pass_never_waits_without_a_word(shards, impatient):
    impatient(_LOOK_SECONDS=0.02, _FIRST_SECONDS=0.1, _LATE_SECONDS=0.05)
    waits = r"After 0 of 5 sums nothing for .* a pass waits for .*X-00000\.npy, rows 0"
    with (
        cluster() as workers,
        workers.get_client() as client,
        as_engine(client, shards, "owner") as engine,
    ):
        with pytest.warns(UserWarning, match=waits):
            engine.sum(Moments(SHIFT, pause=0.1))
        workers.scale(0)
        while client.nthreads():
            time.sleep(0.01)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            with pytest.raises(UserWarning, match=r"the cluster has no workers left, and waits for new ones"):
                engine.sum(Moments(SHIFT))
        threading.Timer(0.2, client.close).start()
        with (
            pytest.raises(ArgumentError, match=r"stays connected\. Got one that is clos"),
            pytest.warns(UserWarning, match="no workers left"),
        ):
            engine.sum(Moments(SHIFT))
