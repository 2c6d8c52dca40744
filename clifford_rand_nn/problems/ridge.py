"""The gated network with squared norms: ridge regression over gates, its dual, and the scale of its beta."""

from collections.abc import Callable

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.gated import GatedProblem
from clifford_rand_nn.problems.penalties import Ridge

_BALANCED = 1e-12  # an equality constraint of the dual holds if its residual is below this share of |theta|


class GatedRidgeProblem(GatedProblem):
    r"""Convex training problem of a gated network with P activation patterns D_i and squared norms.

    .. math:: \min_{U,b,t}\ \frac1n\sum_{j=1}^n \ell\Big(\sum_{i=1}^P D_{i,jj}(x_j^TU_i + b_i) + t,\ y_j\Big)
              + \frac\beta2\sum_{i=1}^P ||U_i||_F^2

    It trains the gated units' own weights with weight decay, their amplitudes being fixed, where `GatedReLUProblem`
    trains both: all gates stay in use, none is selected, so that more gates make the network smoother instead of
    larger. With Gaussian gates K/P nears :math:`\frac12x^Tx'(1-\angle(x,x')/\pi)`, the tangent kernel of the first
    layer of a ReLU network; K grows with P, and so does the ``beta`` that serves.

    Dual (squared loss; the others replace the first term by the conjugate), with :math:`K = \sum_iD_iXX^TD_i`:

    .. math:: \max_\theta\ \frac1n\sum_j(\theta_j\cdot y_j - \tfrac12||\theta_j||^2)
              - \frac1{2n^2\beta}\theta^TK\theta\quad\text{s.t.}\quad
              1^TD_i\theta=0\ (\text{bias}),\ \ 1^T\theta=0\ (\text{intercept}).

    Parameters and errors are those of `GatedReLUProblem`.

    References
    ----------
    Dwaraknath, Ergen, Pilanci, "Fixing the NTK: from neural network linearizations to exact convex programs", NeurIPS
    2023; Cho, Saul, "Kernel methods for deep learning", NIPS 2009, eq. 6 with n = 0, for the kernel of many gates.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> problem = GatedRidgeProblem(X, [0.0, 0.0, 1.0], np.array([[False], [True], [True]]), beta=0.1)
    >>> round(problem.objective(problem.start()), 6)  # nothing learned: half the mean square of y
    0.166667
    """

    penalty: Ridge

    @staticmethod
    def _penalty(beta: float, weights: Array) -> Ridge:
        return Ridge(beta, weights)

    def dual_bound(self, predictions: Array, square: Callable[[Array], float] | None = None) -> DualBound:
        r"""Lower bound of the optimum from predictions: the dual value of their residual, moved to meet the equalities.

        The bound holds wherever the predictions come from and equals the optimum at the optimal ones. ``square`` is
        a cheaper way to :math:`\theta^TK\theta`, if there is one.
        """
        theta = self.datafit.balance(self.datafit.residual(predictions), self.map.Q)
        if np.linalg.norm(self.map.Q.T @ theta) > _BALANCED * np.linalg.norm(theta):
            theta = np.zeros_like(theta)  # always feasible
        charge = (square or self._square)(theta) / (2 * self.n**2 * self.beta)
        return DualBound(self.datafit.dual_value(theta) - charge, theta)

    def _square(self, theta: Array) -> float:
        found = self.map.gated_adjoint(theta)
        return float(self.map.weights**-2.0 @ np.einsum("rpc,rpc->r", found, found))

    def beta_max(self) -> float:
        r"""Beta from which every direction of the predictions is shrunk by a half or more.

        That is :math:`\kappa\,\mathrm{tr}(K)/n`, with κ the largest curvature of the loss and the rows of each gate
        centred where there is a bias or an intercept: no eigenvalue of K is larger than its trace. No beta leaves the
        network without neurons; paths begin here.
        """
        a = self.map
        rows, on = np.asarray(a.rows, dtype=np.float64) / a.weights, a.patterns.sum(axis=0)
        trace = float(np.einsum("nr,nr->n", rows, rows) @ a.patterns.sum(axis=1))
        if a.bias or a.fit_intercept:
            sums = rows.T @ a.patterns
            trace -= float((np.einsum("rp,rp->p", sums, sums) / (np.maximum(on, 1) if a.bias else a.n)).sum())
        return self.datafit.curvature * max(trace, 0.0) / a.n
