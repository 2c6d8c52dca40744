"""The gates that an estimator's parameters choose: sampled, given, or all of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from clifford_rand._checks import check_choice, check_integer, fail
from clifford_rand_nn.arrangements.every import exhaustive_gates
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.gates.sampling import sample_gates
from clifford_rand_nn.patterns import ActivationPatterns, activation_patterns

__all__ = ["as_numpy_generator", "candidate_patterns", "check_gates"]


def check_gates(model: Any) -> None:
    """Check the parameters that choose the gates of ``model``."""
    owner = type(model).__name__
    check_integer(model.n_gates, "n_gates", owner)
    if isinstance(model.gates, str):
        check_choice(model.gates, "gates", owner, ("cross", "gaussian", "exhaustive"))


def candidate_patterns(model: Any, X: NDArray[np.float64]) -> ActivationPatterns:
    """Distinct patterns on X, and a gate of each, as the parameters of ``model`` say."""
    if isinstance(model.gates, Gates):
        return activation_patterns(X, model.gates)
    if isinstance(model.gates, str):
        if model.gates == "exhaustive":
            every = exhaustive_gates(X, model.bias)
            some = every.patterns.any(axis=0)  # the all-off pattern has no neuron
            return ActivationPatterns(
                np.ascontiguousarray(every.patterns[:, some]), every.gates.take(np.flatnonzero(some))
            )
        rng = as_numpy_generator(model.random_state)
        return activation_patterns(X, sample_gates(X, model.n_gates, model.gates, model.sketch_dim, model.bias, rng))
    try:
        directions, offsets = model.gates
    except (TypeError, ValueError):
        rule = "'cross', 'gaussian', 'exhaustive', Gates or a pair (directions (d, m), offsets (m,))"
        raise fail("gates", type(model).__name__, rule, model.gates) from None
    return activation_patterns(X, Gates.given(directions, offsets))


def as_numpy_generator(random_state: Any) -> np.random.Generator:
    """Turn a random_state of scikit-learn's kind, or a Generator, into a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))
