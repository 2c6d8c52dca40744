"""Exact proofs of certificates: written, checked, and refused where something is changed."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.certificates.export import exact_proof
from clifford_rand_nn.proof_checker import check as checker
from clifford_rand_nn.proof_checker.check import InvalidProofError, check
from support.proof_problems import confirmed

MODELS = {
    "lasso-l1-free": nn.CrossProductLassoRegressor(penalty="l1", bias="free", beta=1e-2),
    "lasso-l1-penalized": nn.CrossProductLassoRegressor(penalty="l1", beta=1e-2),
    "lasso-l2": nn.CrossProductLassoRegressor(penalty="l2", beta=1e-2),
    "lasso-subsample": nn.CrossProductLassoRegressor(penalty="l2", beta=1e-2, subsample=30, random_state=0),
    "lasso-no-bias": nn.CrossProductLassoRegressor(penalty="l1", bias=False, beta=1e-2),
    "gated": nn.GatedReLURegressor(n_gates=12, beta=1e-2, random_state=0),
    "gated-huber": nn.GatedReLURegressor(n_gates=12, beta=1e-2, random_state=0, loss="huber", huber_delta=0.3),
    "ridge": nn.GatedReLURegressor(n_gates=12, beta=1e-2, random_state=0, penalty="ridge"),
    "gated-no-intercept": nn.GatedReLURegressor(n_gates=12, beta=1e-2, bias=False, fit_intercept=False, random_state=0),
}


def data(d=2, n=14, outputs=1):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d))
    Y = np.abs(X[:, :1]) + 0.3 * rng.normal(size=(n, outputs))
    return X, Y[:, 0] if outputs == 1 else Y


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_exact_proof_confirms_the_certificate(name, weighted, outputs):
    X, y = data(outputs=outputs)
    weights = np.linspace(0, 2, len(X)) if weighted else None
    stated, _, verdict = confirmed(MODELS[name], X, y, weights)
    assert stated.verify(X, y, weights, exact=True).lower_bound == pytest.approx(float(verdict.bound), rel=1e-15)


def test_the_checker_runs_without_the_library(tmp_path):
    X, y = data()
    MODELS["lasso-l1-free"].fit(X, y).certificate_.export(tmp_path / "proof.json", X, y)
    folder = Path(checker.__file__).parent
    (tmp_path / "proof_checker").symlink_to(folder)
    command = [sys.executable, "-I", "-c", "import sys; sys.path.insert(0, '.'); sys.modules['numpy'] = None\n"
               "from proof_checker.__main__ import main; sys.exit(main(['proof.json']))"]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("valid\n")
    assert "all networks of any width" in done.stdout
    for file in folder.glob("*.py"):
        assert "clifford_rand" not in "".join(line for line in file.read_text().splitlines() if "import" in line)


def test_files_of_the_checker_are_short():
    """It is read before it is trusted: a core of 300 lines, and 150 for each further family or loss."""
    lines = {file.name: len(file.read_text().splitlines()) for file in Path(checker.__file__).parent.glob("*.py")}
    assert lines.pop("check.py") <= 300
    assert max(lines.values()) <= 150


CONES = nn.ConvexReLURegressor(n_gates=2, beta=0.1, random_state=0, bias=False, max_time=2)
SPACE = nn.ConvexReLURegressor(gates="exhaustive", bias="free", beta=0.1)
GATED = nn.GatedReLURegressor(n_gates=10, bias="free", beta=1e-2, random_state=0)
KERNEL = nn.ConvexNetworkRegressor(max_metric_iter=0)
REFUSED = {  # a model, the size of its data, the multiplications that a proof may take, and the error
    "subsets": (MODELS["lasso-l1-penalized"], {}, 1000, "subsets of 14 rows in 2 dimensions, .* multiplications"),
    "sectors": (MODELS["lasso-l1-free"], {"n": 40}, 10_000, "3,360 sectors of directions of 40 rows"),
    "biases": (GATED, {"d": 3, "n": 60}, 100, "11 free biases"),
    "rows": (KERNEL, {"n": 30}, 1000, "30 unique rows"),
    "columns": (KERNEL, {"d": 4100, "n": 12}, 3e8, "known by their products"),
    "outputs": (CONES, {"n": 6, "outputs": 5}, 3e8, "at most 4 independent outputs over given patterns. Got 5"),
    "free biases in space": (SPACE, {"d": 3, "n": 6}, 3e8, "Give gates"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_has_no_proof_or_takes_too_long_is_refused(what, tmp_path):
    model, sizes, most, message = REFUSED[what]
    X, y = data(**sizes)
    certificate = model.fit(X, y).certificate_
    with pytest.raises(ValueError, match=message):
        certificate.export(tmp_path / "proof.json", X, y, max_operations=most)
    assert not (tmp_path / "proof.json").exists()


@pytest.mark.parametrize("classes", [False, True])
def test_data_by_reference(classes, tmp_path):
    X, y = data()
    labels = np.where(y > 0.7, "high", "low")
    with (tmp_path / "train.csv").open("w") as file:
        print("a,b,goal", file=file)
        for row, goal in zip(X, labels if classes else y, strict=True):
            print(*map(repr, map(float, row)), goal if classes else repr(float(goal)), sep=",", file=file)
    kind = nn.CrossProductLassoClassifier if classes else nn.CrossProductLassoRegressor
    goals = labels if classes else y
    certificate = kind(penalty="l1", beta=1e-2, loss="squared").fit(X, goals).certificate_
    table = nn.CsvTable(tmp_path / "train.csv", ["a", "b"], ["goal"])
    certificate.export(tmp_path / "proof.json", X, goals, table=table)
    proof = json.loads((tmp_path / "proof.json").read_text())
    assert proof["data"]["file"] == "train.csv"
    assert check(proof, tmp_path).bound > 0
    with pytest.raises(ValueError, match="other numbers"):
        certificate.export(tmp_path / "p.json", X, goals, table=nn.CsvTable(table.path, ["b", "a"], ["goal"]))
    with pytest.raises(ValueError, match="'c'"):
        certificate.export(tmp_path / "p.json", X, goals, table=nn.CsvTable(table.path, ["a", "c"], ["goal"]))
    (tmp_path / "train.csv").write_text((tmp_path / "train.csv").read_text() + " ")
    with pytest.raises(InvalidProofError, match="SHA-256"):
        check(proof, tmp_path)


@pytest.mark.parametrize("exact", [False, True])
def test_targets_of_another_number_of_outputs_are_refused(exact):
    X, y = data()
    certificate = MODELS["lasso-l1-free"].fit(X, y).certificate_
    with pytest.raises(ValueError, match="of 1 outputs, as in training"):
        certificate.verify(X, np.column_stack([y, y]), exact=exact)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_both_sides_of_a_hyperplane_are_verified(sign):
    x = sign * np.linspace(-1, 1, 9)[:, None]
    y = np.maximum(sign * x[:, 0], 0)  # the neuron of one side attains the limit
    model = nn.CrossProductLassoRegressor(bias=False, fit_intercept=False, penalty="l1", beta=1e-2)
    proof = confirmed(model, x, y)[1] | {"family": {"kind": "dictionary", "axes": True}}
    assert check(proof).bound > 0
    proof["dual"]["denominator"] = str(int(proof["dual"]["denominator"]) * 999 // 1000)
    with pytest.raises(InvalidProofError, match="a hyperplane exceeds the dual norm"):
        check(proof)


def test_free_biases_need_sums_of_zero_on_every_gate():
    X, y = data()
    proof = confirmed(nn.GatedReLURegressor(n_gates=3, bias="free", beta=1e-2, random_state=0), X, y)[1]
    on = int(proof["family"]["patterns"][0], 16)
    rows = [next(i for i in range(len(X)) if bool(on >> i & 1) == side) for side in (True, False)]
    proof |= {"bound": ["0", "1"]}
    for step, row in zip((1, -1), rows, strict=True):  # the sum over all rows stays zero
        numerators = proof["dual"]["numerators"]
        numerators[row] = [str(int(numerators[row][0]) + step)]
    with pytest.raises(InvalidProofError, match="does not sum to zero on a gate"):
        check(proof)


def test_a_network_far_below_a_bound_is_not_of_its_family():
    X, y = data()
    lasso = nn.CrossProductLassoRegressor(penalty="l1", beta=1e-2, random_state=0)
    sampled, whole = (lasso.set_params(subsample=size).fit(X, y).certificate_ for size in (3, None))
    assert whole.objective < 0.99 * sampled.lower_bound
    swapped = replace(sampled, claim=replace(sampled.claim, network=whole.claim.network, standard=None))
    rows = sampled.claim.rows(X)  # as the sampled planes take them
    with pytest.raises(ArithmeticError, match="the bound is above the objective"):
        exact_proof(swapped, rows, y[:, None], np.ones(len(X)))
