"""Exact proofs of convex ReLU networks over given activation patterns."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.certificates.export import exact_proof
from clifford_rand_nn.proof_checker.check import InvalidProofError, check
from clifford_rand_nn.proof_checker.cones import is_copositive, is_semidefinite
from support.proof_problems import check_without_room, confirmed


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def data(rng, n=12, d=2, outputs=1):
    X = rng.normal(size=(n, d))
    Y = np.maximum(X[:, :1], X[:, 1:2]) + 0.3 * rng.normal(size=(n, outputs))
    return X, Y[:, 0] if outputs == 1 else Y


def regressor(penalty="group_l2", bias="free", **parameters):
    options = {"n_gates": 4, "beta": 1e-2, "random_state": 0} | parameters
    return nn.ConvexReLURegressor(penalty=penalty, bias=bias, **options)


@pytest.mark.parametrize(
    ("penalty", "bias", "outputs"),
    [("group_l2", bias, outputs) for bias in ("free", "penalized", False) for outputs in (1, 2, 3)]
    + [("group_l1", "free", 1), ("group_l1", "penalized", 1), ("group_l1", "free", 2)],
)
def test_the_proof_over_sampled_patterns_confirms_the_certificate(penalty, bias, outputs, rng):
    X, y = data(rng, outputs=outputs)
    certificate, proof, verdict = confirmed(regressor(penalty, bias), X, y)
    assert proof["family"]["kind"] == "cones"
    assert verdict.family == f"all networks with these {certificate.n_patterns} activation patterns"
    check_without_room(proof)


@pytest.mark.parametrize(("penalty", "outputs"), [("group_l1", 1), ("group_l2", 1), ("group_l2", 2)])
def test_the_bound_is_below_the_networks_of_the_patterns(penalty, outputs, rng):
    """Neurons in the cones, sampled, never correlate with the dual point by more than the radius."""
    X, y = data(rng, outputs=outputs)
    model = regressor(penalty)
    proof = confirmed(model, X, y)[1]
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
def test_a_changed_multiplier_is_refused(bias, outputs, change, rng):
    X, y = data(rng, n=9, outputs=outputs)
    proof = confirmed(regressor(bias=bias), X, y)[1]
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
def test_degenerate_data(kind, rng):
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
    confirmed(regressor(beta=1e-2 * (1e18 if kind == "scales" else 1)), X, y, rel=1e-9)


def test_a_classifier_of_three_classes(rng):
    X = rng.normal(size=(24, 2))
    y = np.digitize(np.abs(X).sum(axis=1), [1.0, 2.0])
    confirmed(nn.ConvexReLUClassifier(n_gates=6, loss="squared", beta=1e-2, random_state=0), X, y)


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_cells_whose_longest_outputs_are_nearly_at_a_corner():
    """Sums of a short corner and long ones approached it in ever smaller steps, until one of recursion."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(-2, 3, size=(5, 3)).astype(float), 1 + 1e-4 * rng.normal(size=(5, 2))
    proof = confirmed(regressor("group_l1", bias=False, fit_intercept=False, beta=1e-10), X, y, rel=1e-9)[1]
    assert max(len(witness["multipliers"]) for witness in proof["family"]["witnesses"]) < 200


def test_splits_of_cells_from_before_there_were_shifts_are_valid(rng):
    X, y = data(rng, outputs=2)
    proof = confirmed(regressor(), X, y)[1]
    shifts = []

    def unshifted(split):
        if not split:
            return split
        first, second, shift, *halves = split
        shifts.append(shift)
        return [first, second, *([] if shift == "0" else [shift]), *map(unshifted, halves)]

    for witness in proof["family"]["witnesses"]:
        witness["cells"] = {signs: unshifted(split) for signs, split in witness["cells"].items()}
    assert is_valid(proof)
    assert "0" in shifts
    assert set(shifts) > {"0"}


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
