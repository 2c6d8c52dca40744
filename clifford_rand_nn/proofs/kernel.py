"""Gated networks with infinitely many gates in a proof: rows as the kernel takes them, and a coefficient for each."""

from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.claims import KernelClaim
from clifford_rand_nn.kernel_network.standardization import RowSpan
from clifford_rand_nn.proofs.rationals import Stated, rational, table

_ARCTANGENT, _EXPONENTIAL = 170, 220  # multiplications that take as long (17 and 22 us)
_RULE = "of a network whose bound is over all functions of the kernel of its training rows"


def kernel_network(claim: KernelClaim, X: Any) -> tuple[Array, Stated]:
    """Return the rows (n, D) without the constant feature, and the network as a proof states it.

    Rows are standardized, and multiplied by the frame of a learned metric, in double precision; the proof is one for
    the results, as exact numbers. A duplicate of a row has the coefficients 0.

    Raises ArgumentError: the bound is over landmarks; rows are known by their products alone; or the network has rows
    that are not among X.
    """
    network = claim.network
    if claim.landmarks:
        raise _refused(f"a bound over the span of {len(network.rows):,} landmarks", "Fit at most 3000 unique rows.")
    if isinstance(network.standard, RowSpan):
        raise _refused("rows of more columns than rows, known by their products", "Select columns, or reduce them.")
    rows = network.standard.rows(X) + 0.0  # no negative zeros
    unique, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    number = {row.tobytes(): i for row, i in zip(unique, first, strict=True)}
    alpha = np.zeros((len(rows), network.alpha.shape[1]))
    for row, coefficients in zip(network.rows + 0.0, network.alpha, strict=True):
        if row.tobytes() not in number:
            raise _refused("a network of other rows", "Pass the training rows.")
        alpha[number[row.tobytes()]] += coefficients
    z = np.asarray(network.kernel.features(unique), dtype=np.float64)[place.ravel()]
    stated = {"kind": "kernel", "alpha": table(alpha), "t": table(network.intercept[None])}
    return z[:, :-1] if network.kernel.bias else z, stated


def kernel_family(claim: KernelClaim, X: Any) -> Stated:
    """Return the family as a proof states it, with the levels of rows X (n, d) where there are steps."""
    network = claim.network
    family: Stated = {"kind": "kernel"}
    if not network.kernel.steps:
        return family
    levels = np.asarray(network.kernel.parts(network.standard.rows(X))[1], dtype=np.float64)
    family |= {"steps": rational(network.kernel.steps), "levels": table(levels)}
    return family | {"boxes": True} if network.kernel.decay else family


def kernel_operations(rows: Array, family: Stated) -> int:
    """Return the multiplications that take as long as the kernel of rows (n, D) with the steps of a family."""
    unique = len(np.unique(rows, axis=0))
    levels = len(family["levels"]["numerators"][0]) if "levels" in family else 0
    pair = rows.shape[1] + levels + _ARCTANGENT + _EXPONENTIAL * family.get("boxes", False)
    return int(unique * (unique + 1) // 2 * pair)


def _refused(what: str, hint: str) -> Exception:
    return fail("certificate", "the proof", _RULE, describe(what), hint)
