"""Proofs made to deceive, to stop or to fill the checker: each is refused in a sentence."""

import csv
import json
from fractions import Fraction

import numpy as np
import pytest

from clifford_rand_nn.proof_checker import check as checker
from clifford_rand_nn.proof_checker.__main__ import main
from clifford_rand_nn.proof_checker.check import InvalidProofError, check, evaluate
from clifford_rand_nn.proof_checker.dictionary import determinant
from clifford_rand_nn.proof_checker.gated import read_patterns
from clifford_rand_nn.proof_checker.kernel import kernel
from support.proof_problems import proof

GATED, FREE, PENALIZED, ROWS = "gated, huber", "plane, l1, free", "dictionary, l1, penalized", "rows, l2, free"


def refuse(stated, match, folder=None):
    with pytest.raises(InvalidProofError, match=match):
        check(stated, **({} if folder is None else {"folder": folder}))


def changed(name, *path, value):
    """Return the proof of a problem with another value at a path."""
    stated = proof(name)
    *inner, key = path
    place = stated
    for step in inner:
        place = place[step]
    assert place[key] != value or type(place[key]) is not type(value)
    place[key] = value
    return stated


def test_unchanged_proofs_are_valid():
    for name in (GATED, FREE, PENALIZED, ROWS):
        assert check(proof(name)).bound > 0


NUMBERS, WEIGHTS = (" 8", "+8", "08", "8.0", "８", "0x8", "8_0", "", "NaN", 8, None, True), "problem weights numerators"
REFUSED = [  # values that have one form, are of another type, or take no memory
    *((GATED, "problem n", text, "not an integer|cannot be checked") for text in NUMBERS),
    *((GATED, "problem beta", x, "list of two|cannot be") for x in ("38", {"3": 0, "8": 0}, ["1", "2", "3"], ["1"])),
    *((GATED, "family patterns 0", x, "a pattern") for x in ("0F", "0x0f", "0f", " f", "f_f", "-f", "fff")),
    (GATED, f"{WEIGHTS} 0", "11111111", "weights is not of shape 1 x 8"),
    *((GATED, f"{WEIGHTS} 0 3", weight, "weight is not positive") for weight in ("0", "-1")),
    (GATED, "dual numerators", {}, "the dual point is not of shape 8 x"),
    (GATED, "family patterns", "12345", "hexadecimal|not of shape"),
    (GATED, "problem intercept", 1, "intercept is unknown"),
    (PENALIZED, "family axes", 1, "whether axes"),
    *((GATED, f"problem {name}", str(10**13), "is not of shape") for name in ("n", "outputs")),
]


@pytest.mark.parametrize(("name", "path", "value", "match"), REFUSED)
def test_another_value_is_refused(name, path, value, match):
    keys = [int(key) if key.isdecimal() else key for key in path.split()]
    refuse(changed(name, *keys, value=value), match)


def test_an_enumeration_without_end_does_not_begin():
    stated = proof(PENALIZED, n=60, d=12)
    stated["family"] = {"kind": "dictionary", "axes": True}
    refuse(stated, "subsets are more than")


def test_a_short_file_fills_no_memory():
    stated = proof(GATED)
    stated["family"]["patterns"] = ["0"] * (10**8 // 8 + 1)
    with pytest.raises(InvalidProofError, match="more than the checker holds"):
        read_patterns(stated["family"], 8)
    with pytest.raises(InvalidProofError, match="more than the checker holds"):
        kernel(tuple((i,) for i in range(10**4 + 1)), None)


@pytest.mark.slow
def test_rays_are_not_shifted_without_end():
    stated = proof("simplices, l2")
    stated["family"]["nodes"] = ["0 1 2048"] * 40
    refuse(stated, "a ray is too long")


def test_a_kernel_that_is_not_positive_definite_is_refused():
    stated = proof("kernel, steps")
    levels = stated["family"]["levels"]
    levels["denominator"] = str(int(levels["denominator"]) // 2)  # the levels are twice as far apart
    refuse(stated, "ranges of more than one in all")
    refuse(changed("kernel, steps", "family", "steps", value=["-1", "2"]), "the weight of steps is negative")
    refuse(changed("kernel, boxes", "family", "steps", value=["-1", "2"]), "the weight of steps is negative")
    check(proof("kernel, boxes"))
    stated = proof("kernel, boxes")
    del stated["family"]["boxes"]
    refuse(stated, "ranges of more than one in all")
    for value in ("no", 1, None):
        stated = proof("kernel, steps")
        stated["family"]["boxes"] = value
        refuse(stated, "boxes is not true or false")


def test_a_key_that_is_stated_twice_is_refused(tmp_path, capsys):
    text = json.dumps(proof(GATED))
    path = tmp_path / "proof.json"
    path.write_text(text)
    assert main([str(path)]) == 0
    path.write_text(text.replace('"problem": {', '"problem": {"n": "3", '))
    assert main([str(path)]) == 1
    assert "a key is stated twice" in capsys.readouterr().err


def test_data_files_are_files(tmp_path):
    reference = {"sha256": "", "columns": ["a"], "targets": ["b"], "labels": None}
    for file in ("/dev/zero", ".", "absent.csv"):
        refuse(changed(GATED, "data", value=reference | {"file": file}), "data file is missing", tmp_path)
    (tmp_path / "long.csv").write_text("a,b\n" + "1" * (csv.field_size_limit() + 1))
    content = (tmp_path / "long.csv").read_bytes()
    reference |= {"file": "long.csv", "sha256": checker.hashlib.sha256(content).hexdigest()}
    refuse(changed(GATED, "data", value=reference), "Error: field larger", tmp_path)


def test_a_missing_file_of_the_checker_is_named(monkeypatch):
    monkeypatch.setitem(checker.FAMILY_FILES, "gated", "absent")
    refuse(proof(GATED), "No module named")


@pytest.mark.parametrize(
    ("name", "label"), [("gated, softmax", "2"), ("gated, logistic", "2"), ("gated, squared hinge", "3")]
)
def test_labels_are_those_of_the_loss(name, label):
    stated = proof(name)
    for row in stated["data"]["y"]["numerators"]:
        row[:] = [label if entry == "1" else entry for entry in row]
    stated["dual"]["numerators"] = [["0"] * len(row) for row in stated["dual"]["numerators"]]
    refuse(stated, "one-hot|not 1 or -1")


def test_free_constants_need_a_free_intercept():
    for name in (FREE, ROWS):
        stated = changed(name, "problem", "intercept", value=False)
        stated["network"]["t"]["numerators"] = [["0"] * len(row) for row in stated["network"]["t"]["numerators"]]
        refuse(stated, "need a free intercept")


def test_a_neuron_that_is_a_constant_is_charged_nothing():
    """Its correlation is the sum of the dual point: it has to be zero, whether there is an intercept or not."""
    stated = proof("neurons, l1")
    planes = stated["family"]["planes"]
    planes["numerators"].append(["0"] * (len(planes["numerators"][0]) - 1) + ["1"])
    assert check(stated).bound > 0
    stated["problem"]["intercept"] = False
    stated["network"]["t"]["numerators"] = [["0"] * len(row) for row in stated["network"]["t"]["numerators"]]
    stated["objective"] = ["1000", "1"]
    entry = stated["dual"]["numerators"][0]
    entry[0] = str(int(entry[0]) + 1)
    refuse(stated, "a neuron exceeds the dual norm")


@pytest.mark.parametrize("name", ["neurons, l2", "rows, l2", "plane, l2"])
def test_squares_are_the_penalty_of_gates(name):
    refuse(changed(name, "problem", "penalty", value="squared"), "penalty of neurons is a norm")
    stated = proof("ridge")
    stated["network"] = proof(name)["network"]
    refuse(stated, "penalty of neurons is a norm")


def test_biases_without_charge_are_refused():
    stated = changed("neurons, l1", "problem", "bias", value="none")
    refuse(stated, "has a bias")
    stated["network"]["W"]["numerators"] = [[*row[:-1], "0"] for row in stated["network"]["W"]["numerators"]]
    refuse(stated, "has a bias that no norm charges")


def test_a_bound_above_and_an_objective_below_the_values_are_refused():
    for name in (GATED, FREE, PENALIZED, "gated, logistic"):
        verdict, stated = evaluate(proof(name)), proof(name)
        tiny = Fraction(1, 10**70)
        for key, value in (("objective", verdict.objective * (1 - tiny)), ("bound", verdict.bound * (1 + tiny))):
            lie = stated | {key: [str(part) for part in value.as_integer_ratio()]}
            refuse(lie, "above the stated" if key == "objective" else "below the stated")
        assert check(stated | {"bound": ["0", "1"]}).gap == 1


def test_the_determinant_is_that_of_linear_algebra():
    rng = np.random.default_rng(0)
    for n in range(7):
        for _ in range(20):
            A = rng.integers(-2, 3, size=(n, n))
            assert determinant(A.tolist()) == round(np.linalg.det(A))
    A = (-1) ** np.arange(900).reshape(30, 30) // 7 + np.eye(30, dtype=int)  # 30! products otherwise
    assert determinant([[int(x) for x in row] for row in A]) == round(np.linalg.det(A))
