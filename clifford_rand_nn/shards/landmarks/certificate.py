"""What one pass over the shards says of a network over landmarks and of a bound in their span."""

from dataclasses import replace
from typing import NamedTuple

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.landmark_span import LandmarkSpan
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.row_sums.engine import Engine
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.landmarks.logistic_terms import LossSum
from clifford_rand_nn.shards.landmarks.newton import judge
from clifford_rand_nn.shards.landmarks.span import Residuals, constant_value
from clifford_rand_nn.shards.landmarks.terms import LandmarkRows, ResidualSum


class Values(NamedTuple):
    """Objective, bound, the objective of the best constant, and the sum of the weights, of mean 1 in training."""

    primal: float
    dual: float
    zero: float
    weight: float


def values_in_span(network: KernelNetwork, scale: Array, beta: float, targets: Targets, engine: Engine) -> Values:
    r"""Recompute the objective of a network and a bound of the least one in the span of its rows, in one pass.

    Of the logistic loss and the softmax the bound is that of `judge`. Of squares the dual point is
    :math:`\theta_i=s\,\omega_i(y_i-f(x_i)-\bar r)` with the mean :math:`\bar r` of the residuals, so
    that it sums to 0 whatever the rows are, and no number a row is kept.

    Parameters
    ----------
    network : KernelNetwork
        For the targets as they come.
    scale : (C,) array
        s.
    beta : float
    targets : Targets
        In whose units sums are made.
    engine : Engine
    """
    if targets.loss.probabilistic:
        return _probable(network, beta, targets, engine)
    units = Units(0, targets.exponent)
    if targets.classes is None:
        targets, network = targets._replace(offset=network.intercept), replace(network, intercept=0 * network.intercept)
    there: KernelNetwork = units.inverse().back(network)
    assert isinstance(there.standard, Standardization)
    span = LandmarkSpan(there.kernel, there.rows)
    rows = LandmarkRows(there.standard, there.kernel, there.rows)
    back, sides, moments = engine.sum(ResidualSum(rows, targets, there.intercept, there.alpha, 0 * there.intercept))
    found = Residuals.of(span.whitened(back), span.whitened(sides)[:, -1], moments)
    primal = 0.5 * float(moments[5].sum()) / found.weight + beta * there.penalty()  # with its own intercept
    dual, zero = found.bound(beta, span, scale)[0], constant_value(moments)
    return Values(units.square(primal), units.square(dual), units.square(zero), found.weight)


def _probable(network: KernelNetwork, beta: float, targets: Targets, engine: Engine) -> Values:
    """Return the values of a network whose outputs are log-odds."""
    assert isinstance(network.standard, Standardization)
    rows = LandmarkRows(network.standard, network.kernel, network.rows)
    back, totals = engine.sum(LossSum(rows, targets, network.alpha, network.intercept))
    span = LandmarkSpan(network.kernel, network.rows)
    found = judge(network.alpha, span.whitened(back), totals, beta, span, 2 * network.penalty())
    return Values(found.primal, found.dual, found.zero, found.weight)
