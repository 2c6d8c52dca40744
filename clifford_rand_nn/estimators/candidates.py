"""The gates that an estimator's parameters choose: sampled, given, or all of them."""

from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_generator, check_integer
from clifford_rand_nn.arrangements.every import central_count, chosen_patterns
from clifford_rand_nn.estimators.base import ConvexNetwork
from clifford_rand_nn.gates.hyperplanes import ActivationPatterns, Gates
from clifford_rand_nn.gates.sampling import sample_gates

_FEW = 1024  # gates that cost nothing to draw: as many as asked for, even if there are fewer patterns


class GatedFamily(ConvexNetwork):
    """An estimator over the patterns of gates: the parameters that choose them, and what they choose."""

    n_gates: int = field(default=50, kw_only=False)
    gates: Any = field(default="cross", kw_only=False)
    sketch_dim: int | str | None = "auto"
    penalty: str = "group_l2"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer(self.n_gates, "n_gates", type(self).__name__)

    def _gate_patterns(self, X: NDArray[np.float64], targets: NDArray[np.float64]) -> ActivationPatterns:
        """Distinct patterns on X, and a gate of each, as the parameters say."""
        return chosen_patterns(X, self.gates, self.bias, type(self).__name__, lambda how: self._drawn(X, targets, how))

    def _drawn(self, X: NDArray[np.float64], targets: NDArray[np.float64], method: str) -> Gates:
        n, d = X.shape
        most = central_count(n, min(n - self.bias, d) + self.bias)  # patterns that there are at most
        n_gates = min(self.n_gates, max(most, _FEW))
        rng = as_generator(self.random_state, type(self).__name__, "random_state")
        return sample_gates(X, n_gates, method, self.sketch_dim, self.bias, rng, y=targets)
