"""Exact proofs of certificates: the problem, the network and a dual point as rationals, and the family.

The data are in the proof, or columns of a CSV file with its SHA-256.
"""

import csv
import hashlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array, NDArray
from clifford_rand_nn.certificates.claims import GatedClaim, KernelClaim, NetworkClaim
from clifford_rand_nn.certificates.dual_points import DualPoint, Stated, exact_dual_point, rational, table
from clifford_rand_nn.certificates.moment_witnesses import moment_family
from clifford_rand_nn.certificates.witnesses import (
    ConeWitness,
    SimplexWitness,
    kernel_family,
    kernel_network,
    kernel_operations,
)
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.moments import MomentPricer, Multipliers
from clifford_rand_nn.pricing.simplices import MAX_D, SimplexPricer
from clifford_rand_nn.problems.loss_registry import loss_of
from clifford_rand_nn.proof_checker.check import InvalidProofError, evaluate, read_csv
from clifford_rand_nn.sparse_rows import with_feature

if TYPE_CHECKING:
    from clifford_rand_nn.certificates.certificate import Certificate

_SHRINKS = (None, 48, 44, 40, 36, *range(33, 0, -1))  # of the dual point, 1 - 2^-k, until it is feasible
ROUNDING_BITS = 20  # shrinks that rounding may be the reason of: 1e-6
PLANE_BITS = 33  # shrinks, beyond which planes that rows span are other ones in double precision: 1e-10
_MEMBERS = ("gated", "kernel", "plane", "simplices", "moments")  # families that the network belongs to exactly
MAX_OPERATIONS = 3e8  # multiplications of integers, half a minute
_ELIMINATION = 6  # of these for the cube of the number of free biases, whose equalities are solved exactly
_OUTSIDE = 1e-6  # of the objective: a network further below a bound is of another family or of other data
_SECTOR = 50  # of these take as long as a sector of directions with no output, 5 microseconds
Witness = Callable[[DualPoint], Stated]


def exact_proof(
    certificate: "Certificate",
    X: Array,
    targets: Array,
    weights: Array,
    max_operations: float = MAX_OPERATIONS,
    least_bits: int = 1,
) -> Stated:
    r"""Return the proof of a certificate for its data; the dual point is shrunk by :math:`1-2^{-k}` until feasible.

    ``X`` (n, d), ``targets`` (n, C) as the loss takes them, ``weights`` (n,) > 0, whose ratios alone matter.

    Rounding of its planes may leave a network outside of a family of spanned or listed neurons, or of cones, and below
    its bound, by a share of 1e-6 at most. The bound is then stated as the objective.

    Raises ArgumentError: the family has no exact proof, or it takes more than ``max_operations``. ArithmeticError: the
    dual point is infeasible at k = ``least_bits``, or the objective is below the bound; either is an error of the
    library.
    """
    loss = loss_of(certificate)
    if not loss.has_bounded_curvature:
        rule = "of a loss that the checker of exact proofs knows"
        raise fail("certificate", "the proof", rule, describe(f"loss={loss.name!r}"), "`verify` takes every loss.")
    rows, network, bias, feature, penalty = _network_of(certificate, X)
    n, d = rows.shape
    proof: Stated = {
        "format": "clifford-rand proof",
        "version": "1",
        "problem": {
            "n": str(n),
            "d": str(d),
            "outputs": str(targets.shape[1]),
            "loss": loss.name,
            "delta": rational(certificate.huber_delta),
            "penalty": penalty,
            "bias": bias,
            "constant": rational(1.0 if feature is None else feature),
            "intercept": bool(certificate.fit_intercept),
            "beta": rational(certificate.beta),
            "weights": table(weights[None]),
        },
        "data": {"X": table(rows), "y": table(targets)},
        "network": network,
    }
    columns, theta = _free_columns(certificate, X, bias, max_operations), certificate.dual_point
    mean = float(weights.mean())  # θ is that of weights with mean one
    point = exact_dual_point(loss.name, theta, targets, weights, certificate.huber_delta, columns, mean)
    family = _family_of(certificate, rows, X, weights, proof, max_operations)
    for bits in (bits for bits in _SHRINKS if bits is None or bits >= least_bits):
        dual = point if bits is None else point.shrunk(bits)
        proof |= {"dual": dual.stated(), "family": family(dual)}
        try:
            verdict = evaluate(proof)
        except InvalidProofError as error:
            reason = error
            continue
        is_member = proof["family"]["kind"] in _MEMBERS or (penalty == "l1" and proof["family"].get("axes", False))
        if -verdict.gap > (0 if is_member else _OUTSIDE):
            excess, kind = float(-verdict.gap), network["kind"]
            raise ArithmeticError(f"the bound is above the objective by {excess:.1e} (relative): {kind}")
        bound = min(verdict.bound, verdict.objective)
        return proof | {"objective": rational(verdict.objective), "bound": rational(bound)}
    raise ArithmeticError(f"the dual point of the certificate is not feasible: {reason}")


def _network_of(certificate: "Certificate", X: Array) -> tuple[Array, Stated, str, float | None, str]:
    """Return rows, the network, its kind of bias with the constant feature, and the penalty."""
    claim = certificate.claim
    if isinstance(claim, GatedClaim):
        U, b, t = claim.coefficients
        weights = np.concatenate([U, b[:, :, None]], axis=2).transpose(1, 0, 2).reshape(-1, U.shape[2] + 1)
        bias = "penalized" if claim.feature is not None else "free" if certificate.bias else "none"
        stated = {"kind": "gated", "U": table(weights), "t": table(t[None])}
        return X, stated, bias, claim.feature, "squared" if claim.squared else "l2"
    if isinstance(claim, NetworkClaim):
        net, family = claim.network, claim.family
        bias = "penalized" if family.feature is not None else "free" if family.bias else "none"
        W = table(np.column_stack([net.W1, net.b1]))
        stated = {"kind": "relu", "W": W, "a": table(net.w2), "t": table(net.b2[None])}
        return np.asarray(claim.rows(X), dtype=np.float64), stated, bias, family.feature, f"l{family.p}"
    rows, stated = kernel_network(claim, X)
    feature = claim.network.kernel.bias or None
    return rows, stated, "none" if feature is None else "penalized", feature, "squared"


def _family_of(
    certificate: "Certificate", rows: Array, X: Array, weights: Array, proof: Stated, max_operations: float
) -> Witness:
    """Return the function that states the family for a dual point."""
    claim = certificate.claim
    if isinstance(claim, KernelClaim):
        unique, stated = len(np.unique(rows, axis=0)), kernel_family(claim, X)
        _check_operations(kernel_operations(rows, stated), f"{unique:,} unique rows", rows, max_operations)
        return lambda dual: stated
    if isinstance(claim, GatedClaim):
        patterns = _hexadecimal(claim.gates.activations(X))
        return lambda dual: {"kind": "gated", "patterns": patterns}
    family = claim.family
    if isinstance(family.members, Multipliers):
        pricer = MomentPricer(with_feature(rows, family.feature), family.members, family.bias)
        return partial(moment_family, pricer, proof)
    members, D = family.members, rows.shape[1] + (family.feature is not None)
    if isinstance(members, Neurons):
        planes = table(np.column_stack([members.directions.T, members.offsets]))
        return lambda dual: {"kind": "neurons", "planes": planes}
    if family.kind == "all" and D <= 2:
        sectors = 2 * (len(rows) + 2) * (len(np.unique(rows, axis=0)) if family.bias else 1)
        operations = _SECTOR * (1 + certificate.dual_point.shape[1]) * sectors
        _check_operations(operations, f"{sectors:,} sectors of directions", rows, max_operations)
        return lambda dual: {"kind": "plane"}
    if family.kind == "cross" or (family.kind == "all" and family.p == 1):
        axes = family.kind == "all"
        subsets = math.comb(len(rows) + D * axes, D - 1 + family.bias)
        _check_operations(subsets * len(rows) * D, f"{subsets:,} subsets", rows, max_operations)
        return lambda dual: {"kind": "dictionary", "axes": axes}
    if isinstance(members, Gates):
        on = members.activations(rows)
        return ConeWitness(proof, with_feature(rows, family.feature), np.ascontiguousarray(on.T), _hexadecimal(on))
    if family.kind == "all" and not family.bias and D <= MAX_D:
        radius = Fraction(certificate.beta) * sum(map(Fraction, weights.tolist()))
        return SimplexWitness(SimplexPricer(with_feature(rows, family.feature), family.p), radius, max_operations)
    value = describe(f"the family {family.kind!r} with the l{family.p} norm in {D} dimensions, bias={family.bias}")
    hint = "Give gates, over whose patterns there is one, or in few dimensions bias='penalized'."
    raise fail("certificate", "the proof", "of a family that has an exact proof", value, hint)


def _free_columns(certificate: "Certificate", X: Array, bias: str, most: float) -> NDArray[np.bool_]:
    """Return what no penalty touches, (n, q): a column of ones for an intercept, and the gates of free biases."""
    columns = np.ones((X.shape[0], int(certificate.fit_intercept)), dtype=bool)
    if isinstance(certificate.claim, GatedClaim) and bias == "free":
        columns = np.column_stack([columns, certificate.claim.gates.activations(X)])
        n, outputs = certificate.dual_point.shape
        together = outputs - 1 if loss_of(certificate).name == "softmax" else 1  # equalities of a bias
        free = columns.shape[1] * together
        _check_operations(_ELIMINATION * min(free, n * together) ** 3, f"{free:,} free biases", X, most)
    return columns


def _hexadecimal(patterns: NDArray[np.bool_]) -> list[str]:
    """Return patterns (n, P), one a column, as hexadecimal numbers: bit i is on if row i is."""
    packed = np.packbits(patterns, axis=0, bitorder="little")
    return [f"{int.from_bytes(column.tobytes(), 'little'):x}" for column in packed.T]


def _check_operations(operations: int, cases: str, rows: Array, most: float) -> None:
    """Refuse an enumeration of cases that takes too long, before it begins."""
    if operations > most:
        n, d = rows.shape
        value = describe(f"{cases} of {n:,} rows in {d} dimensions, {operations:.1e} multiplications")
        raise fail("X", "the proof", f"such that it takes at most {most:.0e}", value, "Raise max_operations.")


@dataclass(frozen=True)
class CsvTable:
    """A CSV file whose cells are the numbers of a training problem: the names of its columns and of its targets.

    Labels of classes are cells of one target column.
    """

    path: str | Path
    columns: Sequence[str]
    targets: Sequence[str]


def csv_reference(table: CsvTable, folder: Path, data: Stated, labels: bool) -> Stated:
    """Return the reference, relative to the folder of the proof, that stands for the data of a proof.

    Raises ArgumentError: the numbers of the file, read as doubles, are not those of the data.
    """
    content = Path(table.path).read_bytes()
    reference: dict[str, Any] = {
        "file": os.path.relpath(table.path, folder),
        "sha256": hashlib.sha256(content).hexdigest(),
        "columns": list(table.columns),
        "targets": list(table.targets),
        "labels": None,
    }
    try:
        if labels:
            cells = [line[table.targets[0]] for line in csv.DictReader(content.decode().splitlines())]
            reference["labels"] = dict(zip(cells, data["y"]["numerators"], strict=True))
        equal = read_csv(reference, folder) == [data["X"], data["y"]]
    except (KeyError, ValueError) as error:
        hint = "Leave the reference out: the proof then holds the numbers."
        raise fail("table", "Certificate.export", "a CSV file of numbers", describe(str(error)), hint) from error
    if not equal:
        hint = "Encoded columns and transformed targets cannot be referred to; leave the reference out."
        raise fail("table", "Certificate.export", "the rows X and the targets y", describe("other numbers"), hint)
    return reference
