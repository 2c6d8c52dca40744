"""The convex program of a network that was trained elsewhere: family of neurons, solution, and bound."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from clifford_rand._checks import (
    as_generator,
    as_rows,
    check_choice,
    check_integer,
    check_number,
    check_positive,
    check_size,
    describe,
    fail,
)
from clifford_rand._typing import Array, ArrayLike
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.certified_values import proved
from clifford_rand_nn.claims import NetworkClaim
from clifford_rand_nn.datafits.registry import LOSSES, as_loss, split_weights
from clifford_rand_nn.dictionaries.dictionary import cross_product_dictionary
from clifford_rand_nn.estimators.relu_selection import columns_seconds, own_neurons, projection_seconds
from clifford_rand_nn.estimators.task import Task
from clifford_rand_nn.gates.enumeration import central_count, chosen_patterns
from clifford_rand_nn.gates.hyperplanes import Gates, activation_patterns, fitted_gates, joined_gates
from clifford_rand_nn.gates.sampling import sample_gates
from clifford_rand_nn.networks import TwoLayerNetwork, without_feature
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.family import SWEEP_D, Family, gate_scope
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.relu import RELU_PENALTIES, ConvexReLUProblem
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.base import SOONEST, Limits, Result
from clifford_rand_nn.solvers.lasso.path import DistinctRows
from clifford_rand_nn.solvers.lasso.working_set import WorkingSet
from clifford_rand_nn.sparse_rows import check_bias, with_feature
from clifford_rand_nn.verdicts.foreign_networks import ForeignNetwork, read_network
from clifford_rand_nn.verdicts.targets import targets_of

_SHARE = 0.5  # of max_time, which the expected time of sampled patterns, or of all patterns, may take
_UNLIMITED = 600.0  # s that all patterns may take where there is no max_time
_FEWER_DIGITS = 0.2  # of the time of a fit to 1e-6 that one to 1e-3 takes, measured on breast cancer and diabetes
_COLUMNS, _ROUNDS = 2e7, 20  # rows times columns of a dictionary that are priced in a second; of column generation
_SEARCHED = 4  # columns in which branch and bound takes 20 s to 1e-3, for 200 rows; it is late by 5 % for 5 and 60
_LONG = 0.5  # s of projections on all cones, beyond which the augmented Lagrangian has the better bound (n=2000, d=71)

OPTIONS = """
loss : str or None
    "squared", "huber", "log_cosh", "logistic" (the softmax cross-entropy for several classes), "squared_hinge" or
    "softmax"; None for that of the MLP or the estimator.
beta : float > 0 or None
    For SGD with the mean loss it is ``weight_decay``. None: that of the estimator, or of the MLP's steps, ``alpha``
    over the batch size, which is n for L-BFGS. AdamW's decay is not a penalty: its strength depends on the learning
    rate and on Adam's scaling.
penalty : {"group_l2", "group_l1"} or None
    p = 2, also for None, or 1.
bias : {"penalized", "free", False} or None
    "penalized": the norm is that of :math:`(W_j, b_j/c)`, as weight decay charges biases, too. "free": no penalty, as
    in scikit-learn's MLP. False: neurons have none. None: as the estimator says, "free" for an MLP, False for a layer
    without biases, else "penalized". The output's bias is never penalized.
bias_feature : float or None
    c, 1 unless it is given or the estimator's.
fit_intercept : bool or None
    Whether the output has a bias; None for what the network has.
huber_delta : float or None
    Of "huber" and "log_cosh", 1 if None.
sample_weight : (n,) array or None
gates : "auto", "network", "exhaustive", Gates or (directions (d, m), offsets (m,))
    "auto": every neuron, where all can be priced in half of ``max_time``; else those of the activation patterns of the
    network, of linear models, and of as many sampled hyperplanes as time allows. "network": of the network's patterns
    alone. "exhaustive": every neuron. Gates: of their patterns and the network's.
n_gates : int
    At most so many sampled patterns.
tol : float > 0
    Relative gap to which the convex program is solved.
max_time : float or None
    Seconds for the program, which proves a bound wherever it ends; `polish` may solve two.
random_state : int, Generator or None
"""


@dataclass(frozen=True, kw_only=True)
class VerdictSettings:
    """Options of `certify` and `polish`: see `OPTIONS`."""

    loss: Any = None
    beta: Any = None
    penalty: Any = None
    bias: Any = None
    bias_feature: Any = None
    fit_intercept: Any = None
    huber_delta: Any = None
    sample_weight: ArrayLike | None = None
    gates: Any = "auto"
    n_gates: int = 50
    tol: float = 1e-3
    max_time: float | None = 30.0
    random_state: Any = 0


class Solution(NamedTuple):
    """The network of the convex program, its objective, and the certificate of the network before."""

    network: TwoLayerNetwork
    objective: float
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class TrainingProgram:
    """A network with the problem that it was trained for: ``settings`` are complete, ``weights`` those of all rows."""

    source: ForeignNetwork
    task: Task
    weights: Array | None
    p: int
    settings: VerdictSettings
    owner: str

    @classmethod
    def of(cls, network: Any, X: ArrayLike, y: ArrayLike, settings: VerdictSettings, owner: str) -> "TrainingProgram":
        """Return the program of a network; raise ArgumentError where data, network and options do not fit."""
        began, source = time.perf_counter(), read_network(network, owner)
        Limits.of(owner, tol=settings.tol, max_time=settings.max_time)
        check_integer(settings.n_gates, "n_gates", owner, low=0)
        known = {"penalty": "group_l2", "bias_feature": None, **source.known}
        changes = {name: value for name, value in known.items() if getattr(settings, name) is None}
        changes["random_state"] = as_generator(settings.random_state, owner, "random_state")
        settings = replace(settings, **changes)
        data = np.ascontiguousarray(as_rows(X.toarray() if hasattr(X, "toarray") else X, owner))
        check_size(data, "X", owner)
        d, outputs = source.network.W1.shape[1], len(source.network.b2)
        if data.shape[1] != d:
            raise fail("X", owner, f"of shape (n, {d}), as the network takes them", describe(f"shape {data.shape}"))
        if settings.loss is None:
            names = ", ".join(map(repr, LOSSES))
            raise fail("loss", owner, f"one of {names}", None, "It is what the network was trained for.")
        as_loss(settings.loss, owner, settings.huber_delta)
        p = RELU_PENALTIES[check_choice(settings.penalty, "penalty", owner, tuple(RELU_PENALTIES))]
        data = data if source.claim is None else source.claim.rows(data)
        kept, weights, every = split_weights(settings.sample_weight, len(data), owner)
        targets, loss, classes = targets_of(y, len(data), outputs, settings.loss, source.classes, owner)
        settings = _with_biases(settings, source.network, owner)
        data, targets, feature = data[kept], targets[kept], settings.bias_feature
        beta = settings.beta
        if beta is None and source.decay is not None:
            alpha, batch = source.decay
            beta = alpha / (min(batch or len(data), len(data)) * (1.0 if every is None else np.mean(every)))
        beta = check_positive(beta, "beta", owner, "It is the weight decay of SGD with the mean loss.")
        task = Task(data, targets, loss, classes, weights, began, feature, with_feature(data, feature))
        task.datafit(owner, settings.huber_delta)  # which checks the targets
        return cls(source, task, every, p, replace(settings, beta=beta), owner)

    @property
    def options(self) -> dict[str, Any]:
        """What problems of this program are made with, beside columns, targets and beta."""
        own = {name: getattr(self.settings, name) for name in ("fit_intercept", "huber_delta")}
        return {"loss": self.task.loss, "sample_weight": self.task.weights, **own}

    def objective(self, network: TwoLayerNetwork) -> float:
        """Objective of a network, by the formula."""
        f = network.predict(self.task.X).reshape(self.task.targets.shape)
        loss = self.task.datafit(self.owner, self.settings.huber_delta).value(f)
        return float(loss + self.settings.beta * network.penalty(self.p, self.task.feature))

    def lifted(self, network: TwoLayerNetwork) -> TwoLayerNetwork:
        """Return the network of the rows [X c], whose last weights are b/c; the inverse of `lowered`."""
        if self.task.feature is None:
            return network
        W1 = np.hstack([network.W1, network.b1[:, None] / self.task.feature])
        return replace(network, W1=W1, b1=0 * network.b1)

    def lowered(self, network: TwoLayerNetwork) -> TwoLayerNetwork:
        """Return the network of the rows X."""
        return cast(TwoLayerNetwork, without_feature(network, self.task.feature))

    def restricted(self, network: TwoLayerNetwork) -> "TrainingProgram":
        """Return the program over the patterns of another network, whose time begins now."""
        task = self.task._replace(began=time.perf_counter())
        source, settings = replace(self.source, network=network), replace(self.settings, gates="network")
        return replace(self, source=source, settings=settings, task=task)

    def solve(self) -> Solution:
        """Solve the convex program from the network's neurons, in units where the data have the size 1."""
        task = self.task
        real = task.targets if task.classes is None else None
        units = Units.of(task.X, real, self.owner, self.settings.fit_intercept)
        program = self if units.plain else self._in(units)
        network, certificate = program._solved()
        if not units.plain:
            network, certificate = units.back(network), certificate.rescaled(units)
        certificate = certificate.of_its_network(task.X, task.targets, task.weights)
        if self.source.claim is not None:  # the task has standardized rows, a certificate is for those that are given
            claim = cast(NetworkClaim, certificate.claim)._replace(standard=self.source.claim.standard)
            certificate = replace(certificate, claim=claim)
        return Solution(network, self.objective(network), certificate)

    def _in(self, units: Units) -> "TrainingProgram":
        back, task, settings = units.inverse(), self.task.in_units(units), self.settings
        feature = back.back(task.feature)
        task = task._replace(feature=feature, lifted=with_feature(task.X, feature))
        settings = replace(
            settings,
            beta=units.beta(settings.beta, False, self.owner),
            huber_delta=None if settings.huber_delta is None else back.size(settings.huber_delta),
            gates=back.back(settings.gates) if isinstance(settings.gates, Gates) else settings.gates,
        )
        source = replace(self.source, network=back.back(self.source.network))
        return replace(self, source=source, task=task, settings=settings)

    def _solved(self) -> tuple[TwoLayerNetwork, Certificate]:
        task, settings, options = self.task, self.settings, self.options
        start = self.lifted(self.source.network).to_neurons(self.p)
        live = (start.neurons.columns(task.rows) > 0).any(axis=0) & start.values.any(axis=1)
        neurons = start.neurons.take(np.flatnonzero(live))
        family, limit = self._family(neurons), settings.max_time
        limits: dict[str, Any] = {
            "tol": settings.tol,
            "max_time": None if limit is None else max(limit - task.seconds, SOONEST),
        }
        gates = family.members if isinstance(family.members, Gates) else None
        single = gates if task.targets.shape[1] == 1 else None  # the cones of one output hold sums of neurons
        result: Result[Any]
        if single is not None and 2 * len(single) * projection_seconds(*task.rows.shape) > _LONG:
            options |= {"penalty": settings.penalty, "bias": settings.bias is True}
            problem = ConvexReLUProblem(task.rows, task.targets, single.on(task.X), settings.beta, **options)
            result = AugmentedLagrangian(**limits).solve(problem)
            network = TwoLayerNetwork.from_relu(result.coefficients, self.p)
            scope, count = gate_scope(single), len(single)
        else:
            rows = DistinctRows(task.rows, task.targets, task.weights)
            pricer = family.pricer(rows.X[:, : task.X.shape[1]])
            scope, count = pricer.scope, pricer.n_atoms
            neurons = neurons if gates is None else Neurons.joined([neurons, own_neurons(family)])
            options |= {"sample_weight": rows.weights, "start": neurons}
            result = rows.restored(WorkingSet(**limits).solve(rows.X, rows.y, settings.beta, pricer, **options))
            network = TwoLayerNetwork.from_neurons(result.coefficients, self.p)
            if single is not None and network.n_neurons:
                with suppress(ArgumentError):  # of a neuron that rounding has moved out of its cone
                    network = TwoLayerNetwork.from_relu(network.to_relu(task.rows, single.on(task.X))[0], self.p)
        bound = DualBound(result.objective - result.duality_gap, result.dual_point)
        certificate = Certificate(
            **proved(bound.value, bound, task.classes is None and settings.fit_intercept),
            n_patterns=count,
            scope=scope,
            loss=task.loss if isinstance(task.loss, str) else task.loss.name,
            beta=settings.beta,
            bias=settings.bias,
            fit_intercept=settings.fit_intercept,
            claim=NetworkClaim(self.source.network, family),
            classes=task.classes,
            huber_delta=1.0 if settings.huber_delta is None else settings.huber_delta,
            sample_weight=self.weights,
        )
        if task.loses_bound(result, settings.beta, settings.fit_intercept):
            certificate = certificate.of_its_network(task.X, task.targets, task.weights, True)
        return self.lowered(network), certificate

    def certified(self, network: TwoLayerNetwork, proofs: list[Certificate]) -> Certificate:
        """Return the certificate of another network, by the first bound that is not above its objective.

        Where rounding puts it below all, its own patterns are added to the family of the last.
        """
        task, objective = self.task, self.objective(network)
        proof = next((known for known in proofs if known.dual <= objective), proofs[-1])
        assert isinstance(proof.claim, NetworkClaim)
        family, members = proof.claim.family, proof.claim.family.members
        if proof.dual <= objective or not isinstance(members, Gates):
            proof = replace(proof, claim=NetworkClaim(network, family))
            return proof.of_its_network(task.X, task.targets, task.weights)
        own = self._gates(self.lifted(network).to_neurons(self.p).neurons)
        added = replace(family, members=activation_patterns(task.X, own).gates)
        proof = replace(proof, claim=NetworkClaim(network, added))
        proof = proof.of_its_network(task.X, task.targets, task.weights, True)
        every = activation_patterns(task.X, joined_gates([members, own], members)).gates
        claim = NetworkClaim(network, replace(family, members=every))
        return replace(proof, claim=claim, scope=gate_scope(every), n_patterns=len(every))

    def _gates(self, neurons: Neurons) -> Gates:
        """Return the hyperplanes of neurons on the rows of the problem."""
        V, feature = neurons.directions, self.task.feature
        directions = np.ascontiguousarray(V[: self.task.X.shape[1]])
        return Gates.without_incidence(directions, neurons.offsets if feature is None else feature * V[-1], "network")

    def _family(self, neurons: Neurons) -> Family:
        """Return all neurons where these can be priced in time, else those of patterns, the network's among them."""
        task, gates, offset = self.task, self.settings.gates, self.settings.bias is not False
        every = Family("all", self.p, self.settings.bias is True, feature=task.feature)
        parts = [self._gates(neurons)]
        if not isinstance(gates, str):
            parts.append(chosen_patterns(task.X, gates, offset, self.owner).gates)
        elif check_choice(gates, "gates", self.owner, ("auto", "network", "exhaustive")) != "network":
            if gates == "exhaustive" or self._is_listable():
                return every
            parts.append(fitted_gates(task.X, task.targets, offset, task.weights))
            parts += self._sampled(sum(map(len, parts)), offset)
        members = activation_patterns(task.X, joined_gates(parts, parts[0])).gates
        return replace(every, kind="gates", members=members)

    def _seconds(self) -> float:
        """Return those that a pattern is expected to take."""
        n, d = self.task.rows.shape
        return _FEWER_DIGITS * columns_seconds(n, d, self.task.targets.shape[1], 1)

    def _sampled(self, count: int, offset: bool) -> list[Gates]:
        """Return sampled gates, no more than are expected to be priced in time beside ``count`` others."""
        X, settings = self.task.X, self.settings
        n_gates = min(settings.n_gates, central_count(len(X), min(len(X) - offset, X.shape[1]) + offset))
        if settings.max_time is not None:
            n_gates = min(n_gates, int(_SHARE * settings.max_time / self._seconds()) - count)
        if n_gates <= 0 or not (X[0] != X).any():
            return []
        return [sample_gates(X, n_gates, "cross", "auto", offset, settings.random_state)]

    def _is_listable(self) -> bool:
        """Whether every neuron that there is can be priced in a share of the time."""
        (n, d), free, limit = self.task.rows.shape, self.settings.bias is True, self.settings.max_time
        seconds = _UNLIMITED if limit is None else _SHARE * limit
        if d <= SWEEP_D or (self.p == 2 and not free and d <= _SEARCHED):
            return True
        if self.p == 1:
            columns = cross_product_dictionary(self.task.rows, "l1", bias=free).n_columns
            return bool(columns <= seconds * _COLUMNS / (n * _ROUNDS))
        return bool(central_count(n, d + free) <= seconds / self._seconds())


def _with_biases(settings: VerdictSettings, network: TwoLayerNetwork, owner: str) -> VerdictSettings:
    """Return settings whose biases are checked, and are those that the network has."""
    bias, intercept, feature = check_bias(settings.bias, owner), settings.fit_intercept, settings.bias_feature
    check_choice(intercept, "fit_intercept", owner, (True, False))
    if bias is False and network.b1.any():
        raise fail("bias", owner, "'penalized' or 'free' for a network whose hidden layer has biases", settings.bias)
    if not intercept and (network.b2.any() or bias is True):
        hint = "A neuron without weights and with a free bias is a constant, too."
        raise fail("fit_intercept", owner, "True where the output has a bias, or biases are free", intercept, hint)
    if bias == "penalized":
        rule = "None or a number from 1e-100 to 1e100"
        c = 1.0 if feature is None else feature
        feature = check_number(c, "bias_feature", owner, rule, lambda c: 1e-100 <= c <= 1e100)
    elif feature is not None:
        raise fail("bias_feature", owner, "None unless bias='penalized'", feature)
    return replace(settings, bias=bias, bias_feature=feature)
