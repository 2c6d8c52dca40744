r"""A lower bound of networks of any width, in any number of columns, for the problem of a certificate.

It is that of the training problem over all neurons, relaxed to moments of their directions. A network of one output is
a sum of :math:`\pm\alpha(x\cdot u)_+` with directions u of length 1. Of the neurons of one sign, weighted by
:math:`\alpha`, the relaxation knows the mass :math:`\mu`, the mean m and the second moments U, and for row i a mean
activation :math:`(x_i\cdot m + s_i)/2`:

.. math:: \begin{pmatrix}\mu&m^T\\m&U\end{pmatrix}\succeq0,\quad \mathrm{tr}\,U\le\mu,\quad
          \max\big(|x_i\cdot m|,\ x_i^TUx_i/||x_i||\big) \le s_i \le \sqrt{\mu\,x_i^TUx_i}.

The penalty is :math:`\beta\mu`, for several outputs :math:`\beta` times the norm of their masses. The dual point of its
optimum is the best one that the multipliers of `clifford_rand_nn.pricing.moments` can bound.
"""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple, cast

import cvxpy as cp
import numpy as np

from clifford_rand._typing import Array, NDArray
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.certificates.values import in_units, with_network_values
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.pricing.moments import Multipliers, lifted_rows
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.loss_registry import loss_of
from clifford_rand_nn.solvers.cvxpy_reference import units_of, weighted_loss
from clifford_rand_nn.sparse_rows import with_feature

_LEAST = 1e-9  # of the mean of |t|, whose reciprocal is a rate
# The relaxation loses more than the solver's last digits are worth.
_TOLERANCES = {"solver": "CLARABEL", "tol_gap_rel": 1e-4, "tol_gap_abs": 1e-9, "tol_feas": 1e-6}
_FIRST_ORDER = {"solver": "SCS", "eps": 1e-5}
_LARGEST = 2e5  # rows times squared columns times outputs, some seconds


def of_any_width(certificate: Certificate, X: Array, targets: Array, weights: Array | None) -> Certificate:
    """Return the certificate of the same network with a bound over all neurons, by `moment_relaxation`.

    ``X`` (n, d) are the rows that count, ``targets`` (n, C) as the loss takes them, ``weights`` (n,) of mean 1.
    """
    units, scaled, rows, moved = in_units(certificate, X, targets, "certify")
    family = cast(NetworkClaim, scaled.claim).family
    lifted = lifted_rows(with_feature(rows, family.feature), family.bias)
    datafit = Datafit(loss_of(scaled), moved, weights)
    point, multipliers = moment_relaxation(lifted, datafit, scaled.beta, certificate.fit_intercept)
    claim = cast(NetworkClaim, certificate.claim)
    family = Family("moments", family.p, family.bias, multipliers, claim.family.feature)
    pricer = family.pricer(X)
    proof = replace(
        certificate,
        claim=replace(claim, family=family),
        dual_point=np.ldexp(point, units.y),
        scope=pricer.scope,
        n_patterns=pricer.n_atoms,
    )
    return with_network_values(proof, X, targets, weights, bound=True)


class _Moments(NamedTuple):
    """Moments of weighted directions, for unit rows (m, k)."""

    mass: Any
    mean: Any  # (m,): of t = x·u
    sizes: Any  # (m,): of |t|
    squares: Any  # (m,): of t
    constraints: list[Any]

    @classmethod
    def of(cls, rows: Array) -> "_Moments":
        """Return variables with their constraints."""
        m, k = rows.shape
        matrix, sizes = cp.Variable((k + 1, k + 1), PSD=True), cp.Variable(m, nonneg=True)
        mass, mean = matrix[k, k], rows @ matrix[:k, k]
        squares = cp.sum(cp.multiply(rows @ matrix[:k, :k], rows), axis=1)
        constraints = [
            cp.abs(mean) <= sizes,
            squares <= sizes,
            cp.SOC(mass + squares, cp.vstack([2 * sizes, mass - squares])),
            cp.trace(matrix[:k, :k]) <= mass,
        ]
        return cls(mass, mean, sizes, squares, constraints)

    def multipliers(self, lengths: Array, theta: Array) -> tuple[Array, Array, Array]:
        """Return the best w, ν and κ for a dual point of the rows, of these lengths."""
        weights = theta * lengths
        weights = weights / max(float(np.abs(weights).max()), np.finfo(np.float64).tiny)
        total = cp.sum(cp.multiply(weights, self.mean + self.sizes))
        _solve(cp.Problem(cp.Maximize(total), [*self.constraints, self.mass == 1]))
        first, second = (np.maximum(constraint.dual_value, 0.0) for constraint in self.constraints[:2])
        share = first / np.maximum(first + second, np.finfo(np.float64).tiny)
        rates = 1 / np.sqrt(np.maximum(self.squares.value, _LEAST**2))
        return rates, share * np.sign(self.mean.value), 1 - share


def moment_relaxation(rows: Array, datafit: Datafit, beta: float, intercept: bool) -> tuple[Array, Multipliers]:
    """Solve the relaxation for rows (n, D) without biases; return the dual point (n, C) and multipliers for it."""
    n, C = datafit.y.shape
    kept = _chosen(n, rows.shape[1], C)
    basis = np.linalg.qr(rows[kept].T)[0] if len(kept) < rows.shape[1] else np.eye(rows.shape[1])
    own = rows[kept] @ basis
    lengths = np.linalg.norm(own, axis=1)
    axis = np.eye(1, own.shape[1])  # of rows that are zero
    directions = np.where(lengths[:, None] > 0, own, axis) / np.where(lengths > 0, lengths, 1.0)[:, None]
    weights = None if datafit.sample_weight is None else datafit.sample_weight[kept]
    part = Datafit(datafit.loss, datafit.y[kept], weights)
    size, unit = units_of(own, part)
    signed = [[_Moments.of(directions) for _ in "+-"] for _ in range(C)]
    added = [up.mean + up.sizes - down.mean - down.sizes for up, down in signed]
    f = cp.vstack([cp.multiply(lengths / (2 * size), each) for each in added]).T
    level = cp.Variable((1, C)) if intercept else np.zeros((1, C))
    predictions = f + np.ones((len(kept), 1)) @ level
    masses = cp.hstack([up.mass + down.mass for up, down in signed])
    objective = weighted_loss(part, predictions, unit) + n * beta / (size * unit) * cp.norm(masses)
    constraints = [constraint for pair in signed for moments in pair for constraint in moments.constraints]
    _solve(cp.Problem(cp.Minimize(objective), constraints))
    point = part.residual(predictions.value * unit)
    theta = np.zeros((n, C))
    theta[kept] = point
    multipliers = Multipliers(np.ones((2 * C, n)), np.zeros((2 * C, n)), np.zeros((2 * C, n)))
    moments = signed[0][0]
    for k in range(2 * C):
        for whole, chosen in zip(multipliers, moments.multipliers(lengths, (-1) ** k * point[:, k // 2]), strict=True):
            whole[k, kept] = chosen
    return theta, multipliers


def _solve(problem: cp.Problem) -> None:
    """Solve; whatever the accuracy, what is found is a bound once it is priced."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        try:
            problem.solve(**_TOLERANCES)
        except cp.SolverError:  # steps too short, of exponential cones
            problem.solve(**_FIRST_ORDER)


def _chosen(n: int, d: int, outputs: int) -> NDArray[np.intp]:
    """Return the rows of a relaxation in time: without the loss of the others the optimum is no larger."""
    m = int(max(_LARGEST / (outputs * d**2), np.cbrt(_LARGEST / outputs)))  # rows span min(m, d) directions
    return np.arange(n) if m >= n else np.sort(np.random.default_rng(0).choice(n, m, replace=False))
