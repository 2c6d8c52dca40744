"""Certificates: a proved bound of a solution, checked from the data alone."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from clifford_rand._checks import (
    as_array,
    as_real,
    check_array,
    check_bool,
    check_length,
    check_positive,
    describe,
    fail,
)
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn.certificates.claims import Claim, GatedClaim, KernelClaim, NetworkClaim
from clifford_rand_nn.certificates.dual_points import double
from clifford_rand_nn.certificates.export import (
    MAX_OPERATIONS,
    PLANE_BITS,
    ROUNDING_BITS,
    CsvTable,
    csv_reference,
    exact_proof,
)
from clifford_rand_nn.certificates.values import Statement, dual_value, in_units, mean_loss, primal_value, with_values
from clifford_rand_nn.kernel_network.standardization import RowSpan
from clifford_rand_nn.kernel_network.target_transform import NO_TRANSFORM, TargetTransform
from clifford_rand_nn.problems.duality import EQUALITY_TOL, DualBound, rounding
from clifford_rand_nn.problems.loss_registry import (
    as_loss,
    check_weights,
    encode_labels,
    encode_marks,
    has_delta,
    loss_of,
)
from clifford_rand_nn.sparse_rows import as_rows_or_csr, check_bias, is_large_sparse


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Certificate(Statement):
    r"""A proved statement: the objective is within ``relative_gap`` of the optimum over the family named by ``scope``.

    ``lower_bound`` is the dual value of the feasible point ``dual_point``: no network of that family has a smaller
    objective. "global" families hold every neuron there is, so that no two-layer network of any width has. Other scopes
    say nothing about patterns that were not sampled. Made by the fits of estimators, and by `certify`.

    Attributes
    ----------
    objective, lower_bound : float
        In the 1/n scale.
    relative_gap : float
        (objective - lower_bound) / objective.
    scope : str
        Over what.
    n_patterns : int
        The number of patterns or dictionary columns in ``scope``.
    dual_point : (n, C)
    claim : GatedClaim, NetworkClaim or KernelClaim
        The network and what it is compared with.
    loss, beta, bias, fit_intercept, huber_delta, quantile
        Of the problem, as parameters of the estimators.
    classes : (C,) array or None
        Labels of a classifier.
    target_transform : TargetTransform
        Of targets, before the loss takes them.
    sample_weight : (N,) or None
        Weights of all training rows, if they differ. ``dual_point`` has a row for each weight that is not zero.

    Examples
    --------
    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=20, beta=1e-3, random_state=0).fit(X, y)
    >>> model.certificate_.verify(X, y).relative_gap < 1e-5
    True
    """

    objective: float
    lower_bound: float
    relative_gap: float
    n_patterns: int
    scope: str
    dual_point: Array
    loss: str
    beta: float
    bias: bool | str
    fit_intercept: bool
    claim: Claim
    classes: NDArray[Any] | None = None
    huber_delta: float = 1.0
    sample_weight: Array | None = None
    quantile: float = 0.5  # of loss="quantile"
    target_transform: TargetTransform = NO_TRANSFORM  # of targets, before the loss takes them

    def __post_init__(self) -> None:
        owner = "Certificate"
        check_array(self.dual_point, "dual_point", owner, (None, None))
        as_loss(self.loss, owner, self.huber_delta if has_delta(self.loss) else None)
        check_positive(self.beta, "beta", owner)
        object.__setattr__(self, "bias", check_bias(self.bias, owner))  # True for "free", too
        if not isinstance(self.claim, Claim):
            raise fail("claim", owner, "a GatedClaim, a NetworkClaim or a KernelClaim", self.claim)
        if self.sample_weight is not None:
            check_array(self.sample_weight, "sample_weight", owner, (None,))

    @property
    def n_rows(self) -> int:
        """Number of training rows, those of weight zero with them."""
        return len(self.dual_point if self.sample_weight is None else self.sample_weight)

    def verify(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, exact: bool = False) -> "Certificate":
        """Recompute objective, bound and gap from the training data by plain formulas; nothing of the solver is used.

        The dual point is projected onto its equalities and scaled into its norm constraints, so the bound returned
        holds whatever was stored. It is at least 0, the dual value of 0. With a free intercept, targets far from 0 are
        centered by an exact offset. ``X`` and ``y`` are all training rows, those of weight zero with them;
        ``sample_weight`` (N,) are those of the training, None for the ones that are stored.

        With ``exact`` the values are those of a proof in rational arithmetic, see `export`: ``primal`` is rounded
        upwards, ``dual`` downwards, and the gap upwards.

        Raises
        ------
        ArgumentError
            X or y has another number of rows or columns than the training data; weights of the wrong shape, or that
            leave another number of rows. Or the primal value is below the dual one by more than rounding (`rounding`,
            with a share of 1e-9): then the data are others, or the network is none of those that the bound is for.
        """
        owner = "Certificate.verify"
        data, targets, weights = self._training(X, y, sample_weight, owner)
        verified = self._recomputed(data, targets, weights / weights.mean(), owner)
        if not check_bool(exact, "exact", owner):
            return verified
        return verified._proved(self._proof(verified, data, targets, weights))

    def export(
        self,
        path: str | PathLike[str],
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        table: CsvTable | None = None,
        max_operations: float = MAX_OPERATIONS,
    ) -> "Certificate":
        """Write a proof of the certificate in rational arithmetic, and return the certificate with its exact values.

        The JSON file holds the problem, the rows, the network, a dual point and what decides its constraints, all in
        integers. ``clifford-rand check`` verifies it, or a copy of the folder ``clifford_rand_nn/proof_checker``, which
        needs the standard library alone. ``X``, ``y`` and ``sample_weight`` are those of `verify`.

        Parameters
        ----------
        path : str or Path
            File to write.
        table : CsvTable or None
            The CSV file that ``X`` and ``y`` are, cell by cell: the proof then has its SHA-256 instead of numbers.
        max_operations : float, default 3e8
            Multiplications of integers that an enumeration of hyperplanes may take, or the kernel of a network with
            infinitely many gates; the default is about half a minute, or 1,700 unique rows.

        Raises
        ------
        ArgumentError
            As `verify`; the family has no exact proof, or takes more than ``max_operations``; ``table`` differs from
            ``X`` or ``y``.

        Examples
        --------
        >>> import tempfile
        >>> from clifford_rand_nn import CrossProductLassoRegressor
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> y = np.array([1.0, 0.0, 0.5, 2.0])
        >>> certificate = CrossProductLassoRegressor(beta=0.1).fit(X, y).certificate_
        >>> certificate.export(Path(tempfile.mkdtemp()) / "proof.json", X, y).relative_gap < 1e-6
        True
        """
        owner = "Certificate.export"
        check_positive(max_operations, "max_operations", owner)
        data, targets, weights = self._training(X, y, sample_weight, owner)
        verified = self._recomputed(data, targets, weights / weights.mean(), owner)
        proof = self._proof(verified, data, targets, weights, max_operations)
        if table is not None:
            proof["data"] = csv_reference(table, Path(path).parent, proof["data"], self.classes is not None)
        Path(path).write_text(json.dumps(proof), encoding="utf-8")
        return verified._proved(proof)

    def _proved(self, proof: dict[str, Any]) -> "Certificate":
        """Return the certificate with the values of an exact proof."""
        primal, dual = (Fraction(*map(int, proof[name])) for name in ("objective", "bound"))
        gap = double((primal - dual) / primal, up=True) if primal else 0.0
        return replace(self, objective=double(primal, up=True), lower_bound=double(dual, up=False), relative_gap=gap)

    def _proof(
        self, verified: "Certificate", X: Array, targets: Array, weights: Array, max_operations: float = MAX_OPERATIONS
    ) -> dict[str, Any]:
        """Return the exact proof of the stored dual point, or if that is infeasible of the one that `verify` scales.

        A float bound of several outputs' correlations may be above them, so that `verify` scales more than is needed.
        Of a dictionary of rows in positions where double precision moves its planes, the proof lists the planes.
        """
        claim = self.claim
        tries = [(self, ROUNDING_BITS), (verified, 1)]
        if isinstance(claim, NetworkClaim) and claim.family.kind == "cross":  # far from 0 its planes are rounded
            listed = replace(self, claim=replace(claim, family=claim.family.listed(claim.rows(X))))
            tries = [(self, PLANE_BITS), (listed, ROUNDING_BITS), *tries]
        for certificate, bits in tries:
            try:
                return exact_proof(certificate, X, targets, weights, max_operations, bits)
            except ArithmeticError as error:
                refusal = error
        raise refusal

    def _training(self, X: Any, y: Any, sample_weight: ArrayLike | None, owner: str) -> tuple[Any, Array, Array]:
        """Return the rows that count, their targets (n, C) as the loss takes them, and their weights."""
        data, weights = self._rows(X, owner), self._weights(sample_weight, owner)
        labels = y.toarray() if issparse(y) else as_array(y, "y", owner)
        check_length(labels.shape, data.shape[0], "y", owner, "target")
        if labels.ndim > 2:
            raise fail("y", owner, "of shape (n,) or (n, C)", describe(f"shape {labels.shape}"))
        kept = weights > 0
        targets, outputs = self._targets(labels[kept], owner), self.dual_point.shape[1]
        if targets.shape[1] != outputs:
            raise fail("y", owner, f"of {outputs} outputs, as in training", describe(f"shape {labels.shape}"))
        return data[kept], targets, weights[kept]

    @np.errstate(over="ignore", invalid="ignore")  # of other data than those of training, which are refused
    def _recomputed(self, data: Any, targets: Array, weights: Array, owner: str) -> "Certificate":
        """Return the certificate with objective, bound and gap by the plain formulas, of weights with mean 1."""
        units, scaled, rows, targets = in_units(self, data, targets, owner)
        primal = primal_value(scaled, rows, targets, weights)
        zero = mean_loss(loss_of(scaled), 0 * targets, targets, weights)
        dual, theta = dual_value(scaled, rows, targets, weights)
        if not np.isfinite(primal) or not dual < np.inf:  # of other data nothing may be bounded: 0
            raise fail("X", owner, "the data of its training", describe("data of another size, by far"))
        slack = rounding(primal, dual, zero, EQUALITY_TOL)
        if dual - primal > slack:
            rule = f"the data of its training: no network is below the bound {dual:.8g} by more than {slack:.1e}"
            hint = "Either the data are others, or the bound is not one for this network."
            raise fail("X", owner, rule, describe(f"an objective of {primal:.8g}"), hint)
        return with_values(self, units, primal, DualBound(dual, theta))

    @np.errstate(over="ignore", invalid="ignore")
    def over_all_neurons(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "Certificate":
        """Check the dual point against every neuron there is: a bound for the global optimum of this network's problem.

        It turns the solution of a subsampled convex program into a statement about all two-layer networks with the same
        loss, penalty and beta. It prices every neuron, so it is for small d: by a sweep for d ≤ 2 and any n up to tens
        of thousands, by branch and bound for some hundreds of rows in up to five dimensions, the bias one of them, and
        by an enumeration of patterns or hyperplanes for free biases and the l1 norm. Arguments are those of `verify`.

        Raises
        ------
        ArgumentError
            X, y or weights do not fit; the network is a gated one; there are too many patterns.
        """
        owner = "Certificate.over_all_neurons"
        if not isinstance(self.claim, NetworkClaim):
            rule = "that of a ReLU network"
            raise fail("certificate", owner, rule, describe("that of a gated network"), "Gates of its own fit no cone.")
        data = self._rows(X, owner)[self._weights(sample_weight, owner) > 0]
        family = replace(self.claim.family, kind="all", members=None)
        pricer = family.pricer(self.claim.rows(data))
        wider = replace(self, claim=replace(self.claim, family=family), scope=pricer.scope, n_patterns=pricer.n_atoms)
        return wider.verify(X, y, sample_weight)

    def _rows(self, X: Any, owner: str) -> Any:
        if issparse(X):
            stays = is_large_sparse(X)  # a kernel network takes them if it knows rows by their products
            if not isinstance(self.claim, GatedClaim):
                stays = isinstance(self.claim, KernelClaim) and isinstance(self.claim.network.standard, RowSpan)
            X = as_rows_or_csr(X, owner) if stays else X.toarray()
        data = X if issparse(X) else np.asarray(as_real(X, "X", owner), dtype=np.float64)
        shape = (self.n_rows, self.claim.d)
        if data.shape != shape:
            raise fail("X", owner, f"the training rows, of shape {shape}", describe(f"shape {data.shape}"))
        return data

    def _weights(self, sample_weight: ArrayLike | None, owner: str) -> Array:
        used = len(self.dual_point)
        if sample_weight is None:
            return np.ones(used) if self.sample_weight is None else self.sample_weight
        weights = check_weights(sample_weight, self.n_rows, owner)
        if np.count_nonzero(weights) != used:
            rule, positive = f"the training weights, {used} of them positive", np.count_nonzero(weights)
            raise fail("sample_weight", owner, rule, describe(f"{positive} positive weights"))
        return weights

    def _targets(self, y: NDArray[Any], owner: str) -> Array:
        if self.classes is None:
            real = np.asarray(as_real(y, "y", owner), dtype=np.float64).reshape(len(y), -1)
            if self.target_transform.name != "none" and not real.min(initial=0.0) >= 0:
                raise fail("y", owner, "the training targets, ≥ 0", describe(f"targets from {real.min():.3g}"))
            return self.target_transform.forward(real)
        if y.ndim == 2:
            if y.shape[1] != len(self.classes):
                raise fail("y", owner, f"{len(self.classes)} labels a row", describe(f"{y.shape[1]}"))
            return encode_marks(y)
        if not np.isin(y, self.classes).all():
            raise fail("y", owner, "made of the training classes", describe("another label"))
        return encode_labels(np.searchsorted(self.classes, y), len(self.classes), loss_of(self))[0]
