"""Certificates of networks that were trained on shards, which one pass over the shards verifies."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.certificates.claims import GatedClaim, KernelClaim
from clifford_rand_nn.certificates.values import Statement
from clifford_rand_nn.kernel_network.kernel_products import LandmarkRows, LandmarkSpan
from clifford_rand_nn.kernel_network.landmark_judge import SpanProblem, judge
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.problems.duality import EQUALITY_TOL, imbalance, rounding, stated_gap
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.row_sums import Engine, Targets
from clifford_rand_nn.shards.engines import as_engine
from clifford_rand_nn.shards.gated_passes import Balance, Judge, Judged, Network, Verify
from clifford_rand_nn.shards.gated_problem import balanced
from clifford_rand_nn.shards.source import Shards

# Objective, bound, the objective of the best constant, and the sum of the weights, of mean 1 in training.
Values = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False, repr=False)
class ShardCertificate(Statement):
    r"""A proved statement: the objective is within ``relative_gap`` of the optimum over the family named by ``scope``.

    The dual point, a number for each row and output, is not stored. It is ``scale`` times the residual
    :math:`\theta_j=-\omega_j\ell'(f(x_j))` of the network, with its best intercept where the stored one is rounded to
    the spacing of targets far from 0, so it follows from the network, the scale and the shards.
    """

    objective: float  # in the 1/n scale
    lower_bound: float
    relative_gap: float  # (objective - lower_bound) / objective
    scope: str  # over what
    n_patterns: int
    claim: GatedClaim | KernelClaim  # the network, compared with all of these gates, or in the span of its landmarks
    # s in (0, 1]; in the span of landmarks one for each output (C,), and the residuals of squares are less their mean;
    # those of the logistic loss are mixed, see `judge`, and s is 1
    scale: float | Array
    beta: float
    loss: str
    huber_delta: float
    targets: Targets  # how stored labels and weights are read
    n: int  # rows of weight > 0
    n_rows: int  # all rows
    fit_intercept: bool

    def verify(self, shards: Shards, engine: Any = None) -> "ShardCertificate":
        """Recompute objective, bound and gap from the training shards in one pass, in double precision.

        The dual point is scaled into its norm constraints, so that the bound returned holds whatever was stored. Where
        the residuals of a gated network do not sum to 0, because its intercept is rounded to the spacing of targets
        far from 0, the dual point is that of its best intercept, which takes some passes more.

        Parameters
        ----------
        shards : Shards
        engine : None, distributed.Client, "torch" or Engine
            What runs the pass, as in `fit`.

        Raises
        ------
        ArgumentError
            Shards of another number of rows or columns, or with other labels; or the primal value is below the dual one
            by more than rounding: then the data are others, or the network is none of those that the bound is for.
        """
        owner = "ShardCertificate.verify"
        if not isinstance(shards, Shards) or shards.n_features != self.claim.d:
            raise fail("shards", owner, f"the training shards, of {self.claim.d} columns", describe(f"{shards!r}"))
        with as_engine(engine, shards, owner) as runs:
            return self.judged(runs, owner)

    def judged(self, runs: Engine, owner: str) -> "ShardCertificate":
        """Verify by an engine that has the shards. The intercept of the network is subtracted from real targets."""
        if isinstance(self.claim, KernelClaim):
            primal, dual, zero, rows = self._judged_span(self.claim.network, runs)
        else:
            primal, dual, zero, rows = self._judged_gates(self.claim, runs)
        if round(rows) != self.n:
            raise fail("shards", owner, f"the training shards, of {self.n} rows", describe(f"a weight of {rows:.0f}"))
        # weak duality: a dual value above the primal one belongs to other data
        slack = rounding(primal, dual, zero, EQUALITY_TOL)
        if dual - primal > slack:
            rule = f"the data of its training: no network is below the bound {dual:.8g} by more than {slack:.1e}"
            raise fail("shards", owner, rule, describe(f"an objective of {primal:.8g}"))
        return replace(self, objective=primal, lower_bound=dual, relative_gap=stated_gap(primal, dual))

    def _judged_span(self, network: KernelNetwork, runs: Engine) -> Values:
        r"""Recompute the objective of a network and a bound of the least one in the span of its rows, in one pass.

        Of squares the dual point is :math:`\theta_i=s\,\omega_i(y_i-f(x_i)-\bar r)` with the mean of the residuals, so
        that it sums to 0 whatever the rows are; the objective is that of the network's own intercept.
        """
        targets, units = self.targets, Units(0, self.targets.exponent)
        if targets.classes is None:
            targets = replace(targets, offset=network.intercept)
            network = replace(network, intercept=0 * network.intercept)
        network = units.inverse().back(network)  # in whose units sums are made
        assert isinstance(network.standard, Standardization)
        rows = LandmarkRows(network.kernel, network.rows, network.standard)
        span = LandmarkSpan(network.kernel, network.rows)
        problem = SpanProblem(rows, span, targets, float(self.n), network.intercept)
        square, scale = 2 * network.penalty(), np.asarray(self.scale)
        judged = judge(problem, runs, network.alpha, network.intercept, square, self.beta, scale)
        primal = judged.primal + 0.5 * float((judged.shift**2).sum())
        return units.square(primal), units.square(judged.dual), units.square(judged.zero), judged.weight

    def _judged_gates(self, claim: GatedClaim, runs: Engine) -> Values:
        assert isinstance(self.scale, float)
        network, targets = network_of(claim), self.targets
        if targets.classes is None:
            network, targets = network._replace(t=0 * network.t), replace(targets, offset=network.t)
        terms = targets, claim.feature
        *sums, zero, rows = runs.sum(Verify(network, *terms, self.scale, claim.gates))
        judged = Judged(*sums).mean(self.n)
        value = float(judged.loss)
        if self.fit_intercept and imbalance(judged.balance, judged.size) > EQUALITY_TOL:
            # the stored intercept is rounded: that with Σθ = 0 has the better bound
            t = balanced(lambda t: runs.sum(Balance(network, *terms, t).deciding(claim.gates)), network.t)
            best = Judge(network._replace(t=t), *terms, np.array([self.scale]), np.float64)
            judged = Judged(*runs.sum(best.deciding(claim.gates))).mean(self.n)
        # the penalty: group norms |U_i|, or half their squares
        norms = np.linalg.norm(network.U, axis=(0, 2))
        primal = value + self.beta * float(0.5 * norms @ norms if claim.squared else norms.sum())
        value, free = float(judged.duals[0]), self.fit_intercept
        dual = judged.bound(self.n, self.scale, value, self.beta, claim.squared, free)
        return primal, dual, float(zero) / self.n, float(rows)


def network_of(claim: GatedClaim) -> Network:
    """Return the network of a claim in the columns of [X c]."""
    coef, gate_intercept, intercept = claim.coefficients
    U = coef.transpose(2, 1, 0)
    if claim.feature is not None:
        U = np.concatenate([U, (gate_intercept / claim.feature).T[None]])
    return Network(np.ascontiguousarray(U), intercept)
