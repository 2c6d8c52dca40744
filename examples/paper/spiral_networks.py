"""The networks that are compared on the spiral: how each is made, and what is recorded of a fit."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_choice, check_integer
from clifford_rand_nn import ConvexReLUClassifier, CrossProductLassoClassifier, GatedReLUClassifier, Gates, sample_gates
from clifford_rand_nn.cli.demo_spiral import PAPER_BETA, SpiralFit, timed_fit

__all__ = ["SPIRAL_NETWORKS", "SpiralNetwork", "between_points", "fit_network"]

Array = NDArray[np.float64]

_STEPS = 10  # points tested between two neighbors on an arm: enough that their share of errors is that of the arm


class SpiralNetwork(NamedTuple):
    """One network of the comparison.

    ``make(X, beta, m, seed)`` returns an estimator that is not yet fitted, ``m`` pairs or gates. ``random`` says
    whether the seed matters.
    """

    label: str
    random: bool
    make: Callable[[Array, float, int, int], Any]


def _lasso(penalty: str, sampled: bool, solver: str) -> Callable[[Array, float, int, int], Any]:
    def make(X: Array, beta: float, m: int, seed: int) -> Any:
        subsample = m if sampled else None
        return CrossProductLassoClassifier(
            beta=beta, penalty=penalty, subsample=subsample, solver=solver, tol=1e-6, random_state=seed, bias=True
        )

    return make


def _every(X: Array, beta: float, m: int, seed: int) -> Any:
    return ConvexReLUClassifier(beta=beta, gates="exhaustive", tol=1e-6, bias=True)


def _gates(X: Array, m: int, method: str, seed: int) -> Gates:
    """Return the gates of a seed, the same for the network with cones and for the one without."""
    if method != "gaussian-printed":
        return sample_gates(X, m, method, random_state=seed)
    rng = np.random.default_rng(seed)  # Algorithm 3 as printed: w ~ N(0, I), b ~ N(0, 1), wherever the data are
    return Gates.from_arrays(rng.standard_normal((X.shape[1], m)), rng.standard_normal(m))


def _relu(method: str) -> Callable[[Array, float, int, int], Any]:
    def make(X: Array, beta: float, m: int, seed: int) -> Any:
        gates = _gates(X, m, method, seed)
        # its networks have no neuron to spare, unlike those of an interior point
        return ConvexReLUClassifier(beta=beta, gates=gates, solver="column_generation", tol=1e-6, bias=True)

    return make


def _gated(method: str) -> Callable[[Array, float, int, int], Any]:
    def make(X: Array, beta: float, m: int, seed: int) -> Any:
        return GatedReLUClassifier(beta=beta, gates=_gates(X, m, method, seed), tol=1e-6, bias=True)

    return make


SPIRAL_NETWORKS: dict[str, SpiralNetwork] = {
    "optimum": SpiralNetwork("every ReLU network", False, _every),
    "lasso": SpiralNetwork("Lasso, all pairs", False, _lasso("l2", False, "interior_point")),
    "lasso-sampled": SpiralNetwork("Lasso, {m} pairs", True, _lasso("l2", True, "auto")),
    "relu-cross": SpiralNetwork("ReLU, {m} cross-product gates", True, _relu("cross")),
    "relu-gaussian": SpiralNetwork("ReLU, {m} Gaussian gates", True, _relu("gaussian")),
    "relu-gaussian-printed": SpiralNetwork("ReLU, {m} Gaussian gates, b ~ N(0, 1)", True, _relu("gaussian-printed")),
    "gated-cross": SpiralNetwork("gated, {m} cross-product gates", True, _gated("cross")),
    "gated-gaussian": SpiralNetwork("gated, {m} Gaussian gates", True, _gated("gaussian")),
    # of another norm of the weights, so that its objective is compared with none of the above
    "lasso-l1": SpiralNetwork("Lasso, all of [X; I], l1 norms", False, _lasso("l1", False, "auto")),
}


def fit_network(name: str, X: Array, y: NDArray[Any], n_gates: int, seed: int) -> SpiralFit:
    """Fit one of `SPIRAL_NETWORKS` at the paper's beta; the seconds hold the sampling and the fit, not the compilation.

    Parameters
    ----------
    name : str
    X : (n, 2) array
    y : (n,) array of -1 and 1
    n_gates : int
        Gates, or pairs of rows, to sample.
    seed : int

    Raises
    ------
    ArgumentError
        There is no such network.

    Examples
    --------
    >>> from clifford_rand_nn import spiral
    >>> X, y = spiral(20)
    >>> fit = fit_network("lasso-sampled", X, y, 50, 0)
    >>> fit.over(), bool(fit.proof.relative_gap <= 1e-6)
    ('99 columns', True)
    """
    check_choice(name, "name", "fit_network", tuple(SPIRAL_NETWORKS))
    check_integer(n_gates, "n_gates", "fit_network")
    network, beta = SPIRAL_NETWORKS[name], PAPER_BETA / (2 * len(X))
    return timed_fit(lambda rows: network.make(rows, beta, n_gates, seed), X, y)


def between_points(n_per_class: int) -> tuple[Array, NDArray[np.int64]]:
    """Return points on the spiral's arms between the training points, and their labels: what a network never saw.

    Examples
    --------
    >>> X, y = between_points(3)
    >>> X.shape, y.tolist()[:4]
    ((36, 2), [1, -1, 1, -1])
    """
    check_integer(n_per_class, "n_per_class", "between_points", low=2, high=104)
    step = np.arange((n_per_class - 1) * _STEPS)
    i = step[step % _STEPS > 0] / _STEPS  # the formula of `spiral`, at places that are not whole
    arm = ((104 - i) / 104)[:, None] * np.stack([np.cos(i * np.pi / 16), np.sin(i * np.pi / 16)], axis=1)
    return np.stack([arm, -arm], axis=1).reshape(-1, 2), np.tile(np.array([1, -1]), len(i))
