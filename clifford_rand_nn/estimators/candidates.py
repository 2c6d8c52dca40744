"""The gates that an estimator's parameters choose: sampled, given, or all of them."""

from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from clifford_rand._checks import check_choice, check_integer, fail
from clifford_rand_nn.arrangements.every import exhaustive_gates
from clifford_rand_nn.estimators.base import ConvexNetwork
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.gates.sampling import METHODS, sample_gates
from clifford_rand_nn.patterns import ActivationPatterns, activation_patterns

__all__ = ["GatedFamily", "as_numpy_generator"]


class GatedFamily(ConvexNetwork):
    """An estimator over the patterns of gates: the parameters that choose them, and what they choose."""

    n_gates: int = field(default=50, kw_only=False)
    gates: Any = field(default="cross", kw_only=False)
    sketch_dim: int | str | None = "auto"
    penalty: str = "group_l2"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        owner = type(self).__name__
        check_integer(self.n_gates, "n_gates", owner)
        if isinstance(self.gates, str):
            check_choice(self.gates, "gates", owner, (*METHODS, "exhaustive"))

    def _gate_patterns(self, X: NDArray[np.float64], targets: NDArray[np.float64]) -> ActivationPatterns:
        """Distinct patterns on X, and a gate of each, as the parameters say."""
        if isinstance(self.gates, Gates):
            return activation_patterns(X, self.gates)
        if isinstance(self.gates, str):
            if self.gates == "exhaustive":
                every = exhaustive_gates(X, self.bias)
                some = every.patterns.any(axis=0)  # the all-off pattern has no neuron
                return ActivationPatterns(
                    np.ascontiguousarray(every.patterns[:, some]), every.gates.take(np.flatnonzero(some))
                )
            rng = as_numpy_generator(self.random_state)
            sampled = sample_gates(X, self.n_gates, self.gates, self.sketch_dim, self.bias, rng, y=targets)
            return activation_patterns(X, sampled)
        try:
            directions, offsets = self.gates
        except (TypeError, ValueError):
            rule = "a method of sample_gates, 'exhaustive', Gates or a pair (directions (d, m), offsets (m,))"
            raise fail("gates", type(self).__name__, rule, self.gates) from None
        return activation_patterns(X, Gates.given(directions, offsets))


def as_numpy_generator(random_state: Any) -> np.random.Generator:
    """Turn a random_state of scikit-learn's kind, or a Generator, into a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))
