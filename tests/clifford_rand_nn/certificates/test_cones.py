"""Exact proofs of convex ReLU networks over given activation patterns."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.certificates.export import exact_proof
from clifford_rand_nn.proof_checker.check import InvalidProofError, check
from clifford_rand_nn.proof_checker.cones import is_copositive, is_semidefinite


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def data(rng, n=12, d=2, outputs=1):
    X = rng.normal(size=(n, d))
    Y = np.maximum(X[:, :1], X[:, 1:2]) + 0.3 * rng.normal(size=(n, outputs))
    return X, Y[:, 0] if outputs == 1 else Y


def exported(model, X, y, folder):
    certificate = model.fit(X, y).certificate_
    certificate.export(folder / "proof.json", X, y)
    return certificate, json.loads((folder / "proof.json").read_text())


def regressor(penalty="group_l2", bias="free", **parameters):
    options = {"n_gates": 4, "beta": 1e-2, "random_state": 0} | parameters
    return nn.ConvexReLURegressor(penalty=penalty, bias=bias, **options)


@pytest.mark.parametrize(
    ("penalty", "bias", "outputs"),
    [("group_l2", bias, outputs) for bias in ("free", "penalized", False) for outputs in (1, 2, 3)]
    + [("group_l1", "free", 1), ("group_l1", "penalized", 1), ("group_l1", "free", 2)],
)
def test_the_proof_over_sampled_patterns_confirms_the_certificate(penalty, bias, outputs, rng, tmp_path):
    X, y = data(rng, outputs=outputs)
    certificate, proof = exported(regressor(penalty, bias), X, y, tmp_path)
    verdict = check(proof)
    assert proof["family"]["kind"] == "cones"
    assert verdict.family == f"all networks with these {certificate.n_patterns} activation patterns"
    assert verdict.objective == pytest.approx(certificate.objective, rel=1e-12)
    assert verdict.gap <= certificate.relative_gap + 1e-9
    # a dual point on its constraint has no room
    proof["dual"]["numerators"] = [[str(int(t) * 1_000_001) for t in row] for row in proof["dual"]["numerators"]]
    proof["dual"]["denominator"] = str(int(proof["dual"]["denominator"]) * 1_000_000)
    for witness in proof["family"]["witnesses"]:  # nor have its multipliers, in the same units
        for own in witness["multipliers"].values():
            own[:] = [[i, str(int(m) * 1_000_001)] for i, m in own]
    with pytest.raises(InvalidProofError, match="a neuron exceeds the dual norm"):
        check(proof)


@pytest.mark.parametrize(("penalty", "outputs"), [("group_l1", 1), ("group_l2", 1), ("group_l2", 2)])
def test_the_bound_is_below_the_networks_of_the_patterns(penalty, outputs, rng, tmp_path):
    """Neurons in the cones, sampled, never correlate with the dual point by more than the radius."""
    X, y = data(rng, outputs=outputs)
    model = regressor(penalty)
    _, proof = exported(model, X, y, tmp_path)
    theta, q = proof["dual"]["numerators"], int(proof["dual"]["denominator"])
    theta = np.array([[int(t) / q for t in row] for row in theta])
    radius, largest, p = len(X) * 1e-2, 0.0, 1 if penalty == "group_l1" else 2
    for on in model.candidate_gates_.activations(X).T:
        for v in rng.normal(size=(400, 2)):
            z = X @ v
            low, high = (-z[on]).max(initial=-np.inf), (-z[~on]).min(initial=np.inf)
            if low <= high:  # offsets b with z + b >= 0 where the pattern is on, and <= 0 elsewhere
                for b in {low, high} - {np.inf, -np.inf}:
                    size = np.linalg.norm(theta.T @ (on * (z + b))) / np.linalg.norm(v, ord=p)
                    largest = max(largest, size)
    assert 0.5 * radius < largest <= radius


@pytest.mark.kept("lessened-1-free")
@pytest.mark.parametrize("bias", ["free", "penalized"])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("change", ["dropped", "lessened", "negative", "moved", "cells"])
def test_a_changed_multiplier_is_refused(bias, outputs, change, rng, tmp_path):
    X, y = data(rng, n=9, outputs=outputs)
    _, proof = exported(regressor(bias=bias), X, y, tmp_path)
    refused = count = 0
    for witness in proof["family"]["witnesses"]:
        if change == "cells":
            kept, witness["cells"] = witness["cells"], {}
            refused += bool(kept) and not is_valid(proof)
            count += bool(kept)
            witness["cells"] = kept
            continue
        for own in witness["multipliers"].values():
            for k, (row, text) in enumerate(own):
                changed = {
                    "dropped": [row, "0"],
                    "lessened": [row, str(int(text) * 9 // 10)],
                    "negative": [row, "-" + text],
                    "moved": [str(len(X)), text],
                }
                own[k] = changed[change]
                refused += not is_valid(proof)
                count += 1
                own[k] = [row, text]
    assert is_valid(proof)
    # multipliers of a cone far from the radius may have room, never those of a negative sign or of no row
    if change == "cells":
        assert refused == count > 0 or outputs == 1
    else:
        assert refused == count if change in ("negative", "moved") or bias == "free" else refused > 0


def is_valid(proof):
    try:
        check(proof)
    except InvalidProofError:
        return False
    return True


@pytest.mark.parametrize("kind", ["duplicates", "fewer rows than columns", "one column", "zero rows", "scales", "far"])
def test_degenerate_data(kind, rng, tmp_path):
    X, y = data(rng, n=4 if "fewer" in kind else 14, d=5 if "fewer" in kind else 2)
    match kind:
        case "duplicates":
            X, y = np.concatenate([X, X[:5]]), np.concatenate([y, y[:5]])
        case "one column":
            X = X[:, :1]
        case "zero rows":
            X[::2] = 0
        case "scales":
            X, y = X * [1e-9, 1e9], 1e9 * y
        case "far":
            X, y = X + 1e6, y + 1e6
    beta = 1e-2 * (1e18 if kind == "scales" else 1)
    certificate, proof = exported(regressor(beta=beta), X, y, tmp_path)
    assert check(proof).gap <= certificate.relative_gap + 1e-9


def test_a_classifier_of_three_classes(rng, tmp_path):
    X = rng.normal(size=(24, 2))
    y = np.digitize(np.abs(X).sum(axis=1), [1.0, 2.0])
    model = nn.ConvexReLUClassifier(n_gates=6, loss="squared", beta=1e-2, random_state=0)
    certificate, proof = exported(model, X, y, tmp_path)
    assert check(proof).gap <= certificate.relative_gap + 1e-9


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_dual_point_off_by_rounding_is_shrunk_with_its_multipliers(outputs, rng):
    X, y = data(rng, outputs=outputs)
    stated = regressor().fit(X, y).certificate_
    outside = replace(stated, dual_point=stated.dual_point * (1 + 1e-11))
    proof = exact_proof(outside, X, y.reshape(len(y), -1), np.ones(len(y)))
    verdict = check(proof)
    assert verdict.gap <= stated.relative_gap + 1e-9
    theta = np.array([[int(t) / int(proof["dual"]["denominator"]) for t in row] for row in proof["dual"]["numerators"]])
    assert np.abs(theta).sum() < np.abs(outside.dual_point).sum() * (1 - 5e-12)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_forms_are_decided_as_by_all_small_vectors(size, rng):
    """A form of small integers that takes a negative value at small integers is never called semidefinite."""
    vectors = np.array(list(product(range(-4, 5), repeat=size)))
    decided = []
    for _ in range(300):
        half = rng.integers(-2, 3, size=(size, size))
        form = half @ half.T if rng.random() < 0.5 else half + half.T
        values = np.einsum("ki,ij,kj->k", vectors, form, vectors)
        positive = values[(vectors >= 0).all(axis=1)]
        semidefinite = float(np.linalg.eigvalsh(form)[0]) >= -1e-9
        assert is_semidefinite(form.tolist()) == semidefinite
        decided.append(is_copositive(form.tolist()))
        assert not decided[-1] or positive.min() >= 0
        if size < 3:  # where it is exact
            assert decided[-1] == (positive.min() >= 0)
    assert 0 < sum(decided) < 300


def test_more_outputs_than_cells_are_made_for_are_refused(rng, tmp_path):
    X, y = data(rng, n=6, outputs=5)
    certificate = regressor(bias=False, n_gates=2, beta=0.1, max_time=2).fit(X, y).certificate_
    with pytest.raises(ValueError, match=r"at most 4 independent outputs over given patterns. Got 5"):
        certificate.export(tmp_path / "proof.json", X, y)


def test_all_neurons_with_free_biases_in_space_are_refused(rng, tmp_path):
    X, y = data(rng, n=6, d=3)
    certificate = regressor(gates="exhaustive", beta=0.1).fit(X, y).certificate_
    with pytest.raises(ValueError, match="Give gates"):
        certificate.export(tmp_path / "proof.json", X, y)
