"""Objective and lower bound of a certificate: by the plain formulas from the data, in other units, and as text."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand._typing import Array
from clifford_rand.print_options import html_table
from clifford_rand_nn.certificates.claims import GatedClaim, KernelClaim, NetworkClaim
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.duality import DualBound, stated_gap, zero_sums
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_registry import loss_of
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.rounding import block_sums, exact_parts, gamma, rounding_of_gains

if TYPE_CHECKING:
    from clifford_rand_nn.certificates.certificate import Certificate

_FELT = 1e-11  # of the objective: where rounding moves it by more, residuals are added up exactly


def proved(primal: float, bound: DualBound, balanced: bool) -> dict[str, Any]:
    """Return the values of a `Certificate`: the bound is at least 0, and sums of a ``balanced`` point are exactly 0."""
    value, theta = bound
    theta = (zero_sums(theta) if balanced else theta) if value > 0 else np.zeros_like(theta)
    dual = max(value, 0.0)
    return {"objective": primal, "lower_bound": dual, "relative_gap": stated_gap(primal, dual), "dual_point": theta}


def dual_value(certificate: "Certificate", X: Any, targets: Array, weights: Array) -> DualBound:
    r"""Return the value of the stored point, projected onto its equalities and scaled into its norms; at least 0.

    The rounding error of an equality, :math:`e=1^TD_i\theta` or :math:`1^T\theta`, costs e times the bias of it, of the
    size of the targets, or of the network's own where that is more: on rows far from 0 biases and intercept take back
    the product of weights and rows. Biases of ReLU neurons add up to the intercept. Rows of a softmax sum to 0 exactly.
    """
    n, claim, loss = len(targets), certificate.claim, loss_of(certificate)
    columns, biases = np.ones((n, int(certificate.fit_intercept))), np.abs(claim.intercept)[None]
    if certificate.bias is True and isinstance(claim, GatedClaim):
        columns = np.column_stack([claim.gates.activations(X), columns])
        biases = np.vstack([np.abs(claim.coefficients.gate_intercept.T), biases])
    biases = biases[: columns.shape[1]]
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    basis = basis[:, sizes > n * np.finfo(np.float64).eps * sizes.max(initial=0.0)]
    datafit = Datafit(loss, targets, None if (weights == weights[0]).all() else weights)
    theta = datafit.dual_point(certificate.dual_point, basis)
    largest = claim.dual_norm(X, theta)
    theta = theta * min(1.0, n * certificate.beta / largest) if largest > 0 else theta
    share = 1.0  # of the point, which may be longer once its sums are 0: far from the origin by more than its rounding
    if certificate.fit_intercept or not loss.separable:
        theta = zero_sums(theta) if loss.separable else zero_sums(theta.T).T
        longer = claim.dual_norm(X, theta) if isinstance(claim, GatedClaim) else 0.0
        share = min(1.0, n * certificate.beta / longer) if longer > 0 else 1.0
    sizes = loss.sizes(targets)
    high, low = exact_parts(theta)
    sums = np.abs(columns.T @ high + columns.T @ low) + gamma(n) * (columns.T @ np.abs(low))
    missed = float((sums * np.maximum(biases, sizes.max())).sum()) / n
    penalty = claim.dual_penalty(X, theta) / (n**2 * certificate.beta)
    gains = weights * loss.stated_dual_value(theta / weights[:, None], targets)
    lost = rounding_of_gains(gains, theta, sizes)
    value = share * ((float(block_sums(gains[:, None])[0]) - lost) / n - missed - penalty)
    return DualBound(0.0, 0 * theta) if value <= 0 else DualBound(value, theta)


def primal_value(certificate: "Certificate", X: Any, targets: Array, weights: Array) -> float:
    """Return the objective of the network; where rounding matters, predictions are added up exactly.

    What rounding of a kernel matrix still moves them by is away from the targets.
    """
    loss, beta = loss_of(certificate), certificate.beta
    f, cost = certificate.claim.predictions_and_cost(X, beta)
    primal = mean_loss(loss, f, targets, weights) + cost
    residual = loss.is_quadratic or loss.even  # of which the loss is a function
    center = targets if residual else 0 * targets
    e = certificate.claim.rounding_of_predictions(X) + np.finfo(np.float64).eps * np.abs(center).max(initial=0.0)
    slope = np.abs(f - targets).mean() if residual else 1.0 + np.abs(f * targets).mean()
    if not e * (slope + e) > _FELT * primal:
        return primal
    f, lost, raised = certificate.claim.residuals(X, center)
    y = targets - center
    theta = loss.residual(f, y)
    f = np.where(np.where(theta == 0, y, theta) > 0, f - lost, f + lost)
    return mean_loss(loss, f, y, weights) + cost + beta * raised


def mean_loss(loss: Loss, f: Array, y: Array, weights: Array) -> float:
    """Return the mean loss, of weights with mean 1."""
    return float(np.mean(weights * loss.stated_value(f, y)))


def with_network_values(
    certificate: "Certificate", X: Any, targets: Array, weights: Array | None, bound: bool = False
) -> "Certificate":
    """Return the certificate with the objective of the network itself, and if asked its bound, by plain formulas.

    A solver's columns are exactly zero on the planes' own rows, which far from the origin no plane in double precision
    is; coefficients for columns of very different sizes, and the intercept of targets far from 0, are rounded.
    ``X`` are the rows that count, ``targets`` (n, C) as the loss takes them, ``weights`` (n,) of mean 1; a ``bound``
    prices a whole family.
    """
    units, scaled, rows, targets = in_units(certificate, X, targets, "Certificate")
    weights = np.ones(len(targets)) if weights is None else weights
    dual = dual_value(scaled, rows, targets, weights) if bound else DualBound(scaled.lower_bound, scaled.dual_point)
    return with_values(certificate, units, primal_value(scaled, rows, targets, weights), dual)


def with_felt_rounding(certificate: "Certificate", X: Any, targets: Array, weights: Array | None) -> "Certificate":
    """Return `with_network_values` where rounding of the network's intercept or of its predictions is felt."""
    units, scaled, rows, _ = in_units(certificate, X, targets, "Certificate")
    e = scaled.claim.rounding_of_predictions(rows)
    slope = np.abs(scaled.dual_point).sum() / len(targets)
    felt = units.offset or e * (slope + e) > _FELT * scaled.objective
    return with_network_values(certificate, X, targets, weights) if felt else certificate


def with_values(certificate: "Certificate", units: Units, primal: float, bound: DualBound) -> "Certificate":
    """Return the certificate with values and dual point found in units."""
    dual, point = units.square(bound.value), np.ldexp(bound.theta, units.y)
    gap = stated_gap(primal, bound.value)
    return replace(certificate, objective=units.square(primal), lower_bound=dual, relative_gap=gap, dual_point=point)


def in_units(certificate: "Certificate", X: Any, targets: Array, owner: str) -> tuple[Units, "Certificate", Any, Array]:
    """Return units of the data, and in these the certificate, the rows and the targets."""
    real_targets = targets if certificate.classes is None and loss_of(certificate).has_units else None
    units = Units.of(X, real_targets, owner, certificate.fit_intercept)
    if units.plain:
        return units, certificate, X, targets
    moved = targets if real_targets is None else units.targets(targets)
    return units, rescaled(certificate, units.inverse()), units.rows(X), moved


def rescaled(certificate: "Certificate", units: Units) -> "Certificate":
    """Return what the certificate of data in ``units`` says of the data as they are."""
    claim, beta = certificate.claim, certificate.beta
    standard = claim.standard if isinstance(claim, NetworkClaim) else None
    there = units if standard is None else units._replace(x=0)  # standardized rows know no units
    if not isinstance(claim, KernelClaim):  # whose rows are standardized too
        squared = isinstance(claim, GatedClaim) and claim.squared
        beta = there.inverse().beta(beta, squared, "Certificate")
    claim = there.back(claim)
    if standard is not None:
        claim = replace(claim, standard=units.back(standard))
    return replace(
        certificate,
        objective=units.square(certificate.objective),
        lower_bound=units.square(certificate.lower_bound),
        dual_point=np.ldexp(certificate.dual_point, units.y),
        beta=beta,
        claim=claim,
        huber_delta=units.size(certificate.huber_delta),
    )


class Statement:
    """A bound as text: one line, a sentence, and a table in a notebook."""

    objective: float
    lower_bound: float
    relative_gap: float
    scope: str
    beta: float
    loss: str

    @property
    def sentence(self) -> str:
        """What is proved of the training, and that it is no more."""
        within = "at" if self.relative_gap == 0 else f"within {self.relative_gap:.1e} (relative) of"
        family = self.scope.removeprefix("global: ")
        optimum = "its optimum" if family == self.scope else "the global optimum,"
        family = family.removeprefix("over ")
        return (
            f"the training objective {self.objective:.6g} is proved to be {within} {optimum} over {family}; "
            "this says nothing about new rows"
        )

    def __str__(self) -> str:
        values = f"objective {self.objective:.8g}, lower bound {self.lower_bound:.8g}"
        return f"within {self.relative_gap:.1e} of the optimum, {self.scope} ({values})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self) -> str:
        values = {
            "relative gap": f"{self.relative_gap:.1e}",
            "training objective": f"{self.objective:.8g}",
            "lower bound": f"{self.lower_bound:.8g}",
            "over": self.scope.removeprefix("over "),
            "loss, beta": f"{self.loss}, {self.beta:.4g}",
        }
        return html_table(list(values.items()), note=self.sentence)
