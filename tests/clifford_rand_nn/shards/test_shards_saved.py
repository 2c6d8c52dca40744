"""Networks trained on shards in files, explained, exported and drawn: what a model in memory does without its rows."""

import json
from functools import cache

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import (
    CertificateDisplay,
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    GatedReLUClassifier,
    GatedReLURegressor,
    explain,
    load_model,
    save_model,
)
from clifford_rand_nn.shards.source import Shards

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 3))
REAL = np.abs(X[:, 0]) - X[:, 1] + 0.1 * RNG.standard_normal(120)
LABELS = np.array(["low", "middle", "high"])[np.digitize(REAL, [-0.3, 0.8])]
KINDS = {
    "gated classifier": (GatedReLUClassifier(5, beta=0.01, loss="logistic", tol=1e-3, class_weight="balanced"), LABELS),
    "gated regressor": (GatedReLURegressor(5, beta=0.01, tol=1e-3, penalty="ridge"), REAL),
    "default classifier": (ConvexNetworkClassifier(max_metric_iter=0, class_weight="balanced"), LABELS),
    "default regressor": (ConvexNetworkRegressor(max_metric_iter=0), 1e100 * REAL),
}


@cache
def fit(kind):
    model, y = KINDS[kind]
    shards = Shards(np.split(X, [70]), np.split(y, [70]))
    return model.fit(shards), shards


@pytest.fixture(params=KINDS)
def fitted(request):
    return fit(request.param)


def test_a_file_keeps_predictions_and_the_proof(fitted, tmp_path):
    model, shards = fitted
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert str(again.certificate_) == str(model.certificate_)
    one, two = again.certificate_.verify(shards), model.certificate_.verify(shards)
    assert (one.objective, one.lower_bound) == (two.objective, two.lower_bound)
    assert one.relative_gap == pytest.approx(again.certificate_.relative_gap, abs=1e-4)
    save_model(again, tmp_path / "again.npz")
    with np.load(tmp_path / "model.npz") as old, np.load(tmp_path / "again.npz") as new:
        assert all(np.array_equal(old[name], new[name]) for name in old.files if name != "meta")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "change", "match"),
    [
        ("gated classifier", lambda arrays, meta: meta["shards"].update(scale=2.0), "certificate"),
        ("gated classifier", lambda arrays, meta: meta["shards"].update(n=10**6), "certificate"),
        ("gated classifier", lambda arrays, meta: arrays.update(class_factors=np.ones(2)), "fit each other"),
        ("default classifier", lambda arrays, meta: arrays.update(dual_scale=np.ones(7)), "certificate"),
        ("default classifier", lambda arrays, meta: meta["shards"].update(exponent=0.5), "not an integer"),
    ],
)
def test_a_damaged_file_is_refused(kind, change, match, tmp_path):
    save_model(fit(kind)[0], tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    meta = json.loads(arrays["meta"].tobytes())
    change(arrays, meta)
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ArgumentError, match=match):
        load_model(tmp_path / "bad.npz")


def test_it_is_explained_exported_and_drawn(fitted):
    from matplotlib.figure import Figure

    model, shards = fitted
    assert "Columns" in str(explain(model, X[:2]))
    assert "columns" in str(explain(model))
    space = {}
    exec(model.to_source(), space)
    assert (
        np.array_equal(np.asarray(space["predict"](X[:5])), model.predict(X[:5])) or model.predict(X).dtype.kind == "f"
    )
    CertificateDisplay.from_estimator(model, ax=Figure().subplots())
    if hasattr(model, "gates_"):
        assert model.gates_.incident.max() < shards.n_rows


def test_the_rows_that_span_a_gate_are_known_by_their_place_among_all(monkeypatch):
    from clifford_rand_nn.estimators import sharded

    monkeypatch.setattr(sharded, "_SAMPLE", 40)
    shards = Shards(np.split(X, [70]), np.split(REAL, [70]))
    model = GatedReLURegressor(4, beta=0.01, tol=1e-2, random_state=0).fit(shards)
    rows, gates = model.gates_.incident, model.gates_
    assert rows.max() >= 40
    for i, found in enumerate(rows):
        margins = X[found] @ gates.directions[:, i] + gates.offsets[i]
        assert np.ptp(np.abs(margins)) < 1e-6  # planes go through them, moved to a side by one step
