"""Witnesses of networks of all neurons in any number of columns: quadratic functions that bound activations."""

from fractions import Fraction

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.pricing.moments import MomentPricer, enclosing_ball
from clifford_rand_nn.proofs.dual_points import DualPoint
from clifford_rand_nn.proofs.rationals import Stated, rational, table

_ROOM = 1e-12  # by which functions are above activations, and multipliers are smaller: more than doubles round off
_ABOVE = 1e-9  # of a bound, by which it is above the largest value of its quadratic function


class MomentWitness:
    """The function that states bounds of all neurons for a dual point, of an output and its negative each.

    ``free``: the pricer's rows are those of free biases, see `lifted_rows`.
    """

    def __init__(self, pricer: MomentPricer, free: bool) -> None:
        self.pricer, self.free = pricer, free

    def __call__(self, dual: DualPoint) -> Stated:
        """Return the family."""
        theta = dual.doubles()
        stated: Stated = {"kind": "moments", "bounds": [self._bound(theta, k) for k in range(2 * theta.shape[1])]}
        if self.free:
            center, radius = enclosing_ball(self.pricer.X)
            stated |= {"center": table(center[None]), "square": rational(Fraction(radius * (1 + _ROOM)) ** 2)}
        return stated

    def _bound(self, theta: Array, k: int) -> Stated:
        rates, slopes, squares = (part[k] for part in self.pricer.multipliers)
        own, reach = theta[:, k // 2] * (-1) ** k, np.maximum(self.pricer.reach, np.finfo(np.float64).tiny)
        # t(z)₊ <= c + pz + qz² from the bounds of |z|
        up = np.maximum(own, 0)
        p = np.where(own > 0, own / 2, own * (1 + (1 - _ROOM) * slopes) / 2)
        q = np.where(own > 0, up * rates / (4 * reach), own * np.maximum(squares - 2 * _ROOM, 0) / (2 * reach))
        c = np.where(q > 0, p**2 / np.where(q > 0, 4 * q, 1.0) * (1 + _ROOM), 0.0)
        value, level = self.pricer.quadratic(theta, k).largest()
        lifted = 2.0 if self.free else 1.0
        return {
            "functions": table(np.column_stack([p, q, c])),
            "level": rational(level / lifted),
            "value": rational(max(value, 0.0) * (1 + _ABOVE)),
        }
