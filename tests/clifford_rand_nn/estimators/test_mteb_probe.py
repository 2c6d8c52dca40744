"""The example beside MTEB: its scores are those of a loop by hand, whatever the precision of the features."""

import runpy
import socket
import sys
from collections import defaultdict

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, precision_score, recall_score

pytestmark = pytest.mark.slow  # importing mteb takes seconds
rng = np.random.default_rng(0)
N, LABELS = 300, 3
Y = rng.integers(LABELS, size=N)
SPLIT = np.arange(N) < 200


def _features(dtype):
    """Rows in three directions, with noise: eight of a label do not tell them all."""
    X = rng.standard_normal((N, 20)) + 1.2 * np.eye(20)[Y]
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype)


def _by_hand(X, y, probe, samples, draws=10, seed=42):
    """Return the scores of each draw, as the paper describes them and MTEB's source draws rows."""
    train, test = np.flatnonzero(SPLIT), np.flatnonzero(~SPLIT)
    order, scores = list(range(len(train))), []
    for _ in range(draws):
        np.random.RandomState(seed).shuffle(order)
        taken, counts = [], defaultdict(int)
        for i in order:
            if counts[y[train[i]]] < samples:
                counts[y[train[i]]] += 1
                taken.append(train[i])
        guess, truth = clone(probe).fit(X[taken], y[taken]).predict(X[test]), y[test]
        one = {"accuracy": accuracy_score(truth, guess)}
        for kind in ("macro", "weighted"):
            end = "" if kind == "macro" else "_weighted"
            for name, score in (("f1", f1_score), ("precision", precision_score), ("recall", recall_score)):
                one[name + end] = score(truth, guess, average=kind)
            if len(np.unique(y)) == 2:
                one["ap" + end] = average_precision_score(truth, guess, average=kind)
        scores.append(one)
    return scores


@pytest.mark.parametrize(("labels", "dtype"), [(2, np.float16), (3, np.float32)])
def test_scores_are_those_of_a_loop_by_hand(labels, dtype):
    pytest.importorskip("mteb")
    from examples.mteb_probe import PROBES, FeatureEncoder, FeatureTask, compare, report

    X, y = _features(dtype), np.minimum(Y, labels - 1)
    found = compare(FeatureEncoder(X), FeatureTask("Made", y, SPLIT, samples_per_label=8))
    assert list(found) == ["logistic", "network"]
    for name, scores in found.items():
        expected = _by_hand(X, y, PROBES[name], 8)
        assert len(scores["scores_per_experiment"]) == 10
        for one, two in zip(scores["scores_per_experiment"], expected, strict=True):
            assert {key: value for key, value in one.items() if value is not None} == pytest.approx(two, rel=1e-12)
        assert scores["main_score"] == pytest.approx(np.mean([one["accuracy"] for one in expected]))
    accuracy = {name: scores["accuracy"] for name, scores in found.items()}
    assert accuracy["network"] > accuracy["logistic"] - 0.02 > 1 / labels
    assert report(found).startswith(f"logistic {accuracy['logistic']:.4f}, network {accuracy['network']:.4f} (")


def test_the_script_reads_a_folder_without_a_network(tmp_path, capsys, monkeypatch):
    pytest.importorskip("mteb")

    def asked(_, address):
        raise AssertionError(f"it asks {address}")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, asked, raising=False)
    np.savez(tmp_path / "made.npz", X=_features(np.float16), y=Y, split=SPLIT)
    monkeypatch.setattr(sys, "argv", ["mteb_probe", "--features", str(tmp_path), "--samples", "4"])
    monkeypatch.setenv("MTEB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delitem(sys.modules, "examples.mteb_probe", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    runpy.run_module("examples.mteb_probe", run_name="__main__")
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["made, 4 a label"]
    assert not list((tmp_path / "cache").glob("results/**/*.json"))  # they are not the model's
    from examples.mteb_probe import main

    with pytest.raises(SystemExit):
        main(["--features", str(tmp_path), "--model", "x"])
    assert "give --features, or --model with --task" in capsys.readouterr().err
