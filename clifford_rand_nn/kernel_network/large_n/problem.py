"""The problem of many rows in one order, the result of every way to solve it, and a radius from some rows."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.large_n.certified import Regression
from clifford_rand_nn.kernel_network.leave_one_out import KernelFit, LeaveOneOut, null_value
from clifford_rand_nn.problems.duality import DualBound, gap_share
from clifford_rand_nn.solvers.base import Limits
from clifford_rand_nn.solvers.convergence import Watch

SUBSET = 2000  # rows that are decomposed for a first radius
_N_RADII = 60
FLAT = 0.002  # of the least loss: the largest radius within this share is taken, as the curve is flat below


class Tried(NamedTuple):
    """A beta that was compared: the loss of predictions of rows that it did not see, and on how many."""

    beta: float
    loss: float
    rows: int
    how: str


class Found(NamedTuple):
    """The result of a way to solve; rows are in the order of the `ManyRows`."""

    watch: Watch[KernelFit]  # with the best point, its values and its end
    beta: float
    tried: tuple[Tried, ...]
    last: int  # number of rows at the end with out-of-sample predictions
    unseen: Array  # (last, C): these predictions
    centres: NDArray[np.intp] | None = None  # (k,): rows that the coefficients belong to; None for all
    # what is certified, and what else there is to say of the run
    scope: str = "over all functions of the kernel's space, and an intercept"
    remark: str = ""


@dataclass(frozen=True, eq=False)
class ManyRows:
    """A kernel, rows (n, d) in an order spread as by chance, targets (n, C), weights (n,) of mean 1 over all."""

    kernel: GateKernel
    X: NDArray[np.floating]
    targets: Array
    weights: Array

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.targets)

    def leading(self, n: int) -> "ManyRows":
        """Return the first n rows, with weights as they are."""
        return ManyRows(self.kernel, self.X[:n], self.targets[:n], self.weights[:n])

    def regression(self, radius: float, n: int | None = None) -> Regression:
        r"""Return the problem of the first n rows with :math:`n\beta` = ``radius``, weights as they are in the sum."""
        n = self.n if n is None else n
        weights, diagonal = self.weights[:n], self.kernel.diagonal(self.X[:n])
        return Regression(self.targets[:n], weights / weights.mean(), radius / weights.mean() / n, diagonal)

    def watch(self, limits: Limits, began: float) -> Watch[KernelFit]:
        """Return a watch that has judged the best constant."""
        zero = null_value(self.targets, self.weights)
        watch: Watch[KernelFit] = Watch(limits, lambda p, d: gap_share(p, d, zero), began=began)
        mean, nothing = np.average(self.targets, axis=0, weights=self.weights), np.zeros(self.targets.shape)
        watch.check(0, zero, DualBound(0.0, nothing), KernelFit(nothing[:0], mean), nothing + mean)
        return watch

    def loss(self, unseen: Array) -> float:
        """Return the mean loss of predictions (s, C) of the last rows."""
        s = len(unseen)
        return float(np.average(0.5 * ((unseen - self.targets[-s:]) ** 2).sum(axis=1), weights=self.weights[-s:]))

    def subset_radius(self) -> tuple[float, Tried]:
        r"""Return :math:`n\beta`, by leave-one-out on the first `SUBSET` rows, for any number of rows.

        In the sum form :math:`\sum_i\omega_i\ell_i+\frac{n\beta}2||f||^2` the best weight stays the same when rows are
        added: it is the variance of the noise over that of the function, as for a Gaussian process. From 500 to 2,000
        rows it moved by factors of 0.6 to 4 on eight sets, with no trend, where n grew by 4. Losses are flat for
        smaller weights, so the largest one within 0.2 % of the best is taken: the problem is better conditioned there.
        """
        n = min(self.n, SUBSET)
        weights = self.weights[:n] / self.weights[:n].mean()
        loo = LeaveOneOut(self.kernel(np.asarray(self.X[:n], dtype=np.float64)), self.targets[:n], weights)
        betas = loo.grid(_N_RADII)
        losses = 0.5 * loo.errors(betas).sum(axis=1)
        k = int(np.argmax(losses <= (1 + FLAT) * losses.min()))  # betas fall
        radius = float(betas[k]) * n * float(self.weights[:n].mean())
        return radius, Tried(radius / self.n, float(losses[k]), n, "leave-one-out on a subset")
