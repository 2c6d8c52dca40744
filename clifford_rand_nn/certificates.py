"""What is proved of a solution, and how to check it from the data alone."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, log_softmax

from clifford_rand._checks import as_real, describe, fail
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.problems.problem import Coefficients
from clifford_rand_nn.problems.targets import encode_labels

__all__ = ["Certificate"]

Array = NDArray[np.float64]

_EQUALITY_TOL = 1e-9  # of |theta|_1: sums that must vanish in exact arithmetic


@dataclass(frozen=True, eq=False)
class Certificate:
    r"""A proved statement: the objective is within ``relative_gap`` of the optimum over ``n_patterns`` patterns.

    ``dual`` is the dual value of the feasible point ``dual_point``: no choice of U, biases and intercept with the same
    patterns has a smaller objective. It says nothing about patterns that were not sampled.

    Attributes
    ----------
    primal, dual : float
        Objective and its lower bound, in the 1/n scale.
    relative_gap : float
        (primal - dual) / primal.
    n_patterns : int
    scope : str
        Over which patterns.
    dual_point : (n, C)

    Examples
    --------
    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=20, beta=1e-3, random_state=0).fit(X, y)
    >>> model.certificate_.verify(X, y).relative_gap < 1e-5
    True
    """

    primal: float
    dual: float
    relative_gap: float
    n_patterns: int
    scope: str
    dual_point: Array
    loss: str
    beta: float
    bias: bool
    fit_intercept: bool
    gates: Gates
    coefficients: Coefficients
    classes: NDArray[Any] | None = None

    def verify(self, X: ArrayLike, y: ArrayLike) -> "Certificate":
        """Recompute primal, dual and gap from the training data by the plain formulas; nothing of the solver is used.

        The dual point is scaled into its norm constraints, so the bound returned holds whatever was stored.

        Raises
        ------
        ArgumentError
            X or y has another number of rows or columns than the training data.
        """
        data = np.asarray(as_real(X, "X", "Certificate.verify"), dtype=np.float64)
        n = len(self.dual_point)
        if data.shape != (n, self.gates.d):
            raise fail(
                "X",
                "Certificate.verify",
                f"the training rows, of shape ({n}, {self.gates.d})",
                describe(f"shape {data.shape}"),
            )
        targets, loss = self._targets(np.asarray(y), n)
        U, b, t = self.coefficients
        on = self.gates.on(data)
        P = on.shape[1]
        f = np.tile(t, (n, 1))
        penalty = 0.0
        theta = self.dual_point
        largest = 0.0
        sums = [np.abs(theta.sum(axis=0)).max()] if self.fit_intercept else []
        for i in range(P):
            rows = data[on[:, i]]
            f[on[:, i]] += rows @ U[:, i].T + b[:, i]
            penalty += float(np.linalg.norm(U[:, i]))
            largest = max(largest, float(np.linalg.norm(rows.T @ theta[on[:, i]])))
            if self.bias:
                sums.append(np.abs(theta[on[:, i]].sum(axis=0)).max())
        primal = _mean_loss(loss, f, targets) + self.beta * penalty
        theta = theta * min(1.0, n * self.beta / largest) if largest > 0 else theta
        feasible = max(sums, default=0.0) <= _EQUALITY_TOL * np.abs(theta).sum()
        dual = _dual_value(loss, theta, targets) if feasible else -np.inf
        scale = max(primal, np.finfo(np.float64).eps * _mean_loss(loss, 0 * f, targets))
        gap = max(primal - dual, 0.0) / scale if scale > 0 else 0.0
        return replace(self, primal=primal, dual=dual, relative_gap=gap, n_patterns=P)

    def _targets(self, y: NDArray[Any], n: int) -> tuple[Array, str]:
        if len(y) != n:
            raise fail("y", "Certificate.verify", f"the training targets, {n} of them", describe(f"{len(y)}"))
        if self.classes is None:
            return np.asarray(as_real(y, "y", "Certificate.verify"), dtype=np.float64).reshape(n, -1), self.loss
        if not np.isin(y, self.classes).all():
            raise fail("y", "Certificate.verify", "made of the training classes", describe("another label"))
        return encode_labels(np.searchsorted(self.classes, y), len(self.classes), self.loss)

    def __str__(self) -> str:
        values = f"primal {self.primal:.8g}, dual {self.dual:.8g}"
        return f"within {self.relative_gap:.1e} of the optimum {self.scope} ({values})"

    def __repr__(self) -> str:
        return f"Certificate({self})"


def _mean_loss(loss: str, f: Array, y: Array) -> float:
    if loss == "squared":
        return float(np.mean(0.5 * np.sum((f - y) ** 2, axis=1)))
    if loss == "logistic":
        return float(np.mean(np.logaddexp(0, -y * f)))
    return float(np.mean(-np.sum(y * log_softmax(f, axis=1), axis=1)))


def _dual_value(loss: str, theta: Array, y: Array) -> float:
    if loss == "squared":
        return float(np.mean(np.sum(theta * y - 0.5 * theta**2, axis=1)))
    if loss == "logistic":
        return float(np.mean(entr(y * theta) + entr(1 - y * theta)))
    return float(np.mean(np.sum(entr(y - theta), axis=1)))
