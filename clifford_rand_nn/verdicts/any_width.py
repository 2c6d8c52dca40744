"""A lower bound of networks of any width, in any number of columns, for the problem of a certificate."""

from dataclasses import replace
from typing import cast

import numpy as np

from clifford_rand._typing import Array
from clifford_rand.errors import require
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.certified_values import rescaled, with_network_values
from clifford_rand_nn.claims import NetworkClaim
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.datafits.registry import loss_of
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.pricing.moments import lifted_rows
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.sparse_rows import with_feature


def of_any_width(certificate: Certificate, X: Array, targets: Array, weights: Array | None) -> Certificate:
    """Return the certificate of the same network with a bound over all neurons, by `moment_relaxation`.

    ``X`` (n, d) are the rows that count, ``targets`` (n, C) as the loss takes them, ``weights`` (n,) of mean 1.
    """
    require("cvxpy", purpose="a bound of networks of any width")
    from clifford_rand_nn.solvers.moment_relaxation import moment_relaxation  # takes a second to import

    real = targets if certificate.classes is None and loss_of(certificate).has_units else None
    units = Units.of(X, real, "certify", certificate.fit_intercept)
    scaled = rescaled(certificate, units.inverse())
    family = cast(NetworkClaim, scaled.claim).family
    lifted = lifted_rows(with_feature(units.rows(X), family.feature), family.bias)
    datafit = Datafit(loss_of(scaled), targets if real is None else units.targets(real), weights)
    point, multipliers = moment_relaxation(lifted, datafit, scaled.beta, certificate.fit_intercept)
    claim = cast(NetworkClaim, certificate.claim)
    family = Family("moments", family.p, family.bias, multipliers, claim.family.feature)
    pricer = family.pricer(X)
    proof = replace(
        certificate,
        claim=replace(claim, family=family),
        dual_point=np.ldexp(point, units.y),
        scope=pricer.scope,
        n_patterns=pricer.n_atoms,
    )
    return with_network_values(proof, X, targets, weights, bound=True)
