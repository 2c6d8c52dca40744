"""The convex program of a network that was trained elsewhere: family of neurons, solution, and bound."""

import copy
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from clifford_rand._checks import (
    as_rows,
    check_choice,
    check_integer,
    check_number,
    check_positive,
    check_size,
    describe,
    fail,
)
from clifford_rand._typing import ArrayLike
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.certificates.values import with_network_values
from clifford_rand_nn.estimators.base import ConvexNetwork
from clifford_rand_nn.estimators.foreign_networks import ForeignNetwork, VerdictSettings, read_network, targets_of
from clifford_rand_nn.estimators.relu import ConvexReLU
from clifford_rand_nn.estimators.relu_selection import columns_seconds, own_neurons, projection_seconds
from clifford_rand_nn.estimators.task import Task, WarmStart
from clifford_rand_nn.gates.dictionary import cross_product_dictionary
from clifford_rand_nn.gates.enumeration import central_count
from clifford_rand_nn.gates.hyperplanes import (
    ActivationPatterns,
    Gates,
    activation_patterns,
    as_gates,
    fitted_gates,
    gates_without_incidence,
    joined_gates,
)
from clifford_rand_nn.networks import (
    TwoLayerNetwork,
    balanced_network,
    balanced_relu,
    relu_coefficients,
    unit_atoms,
    without_feature,
)
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.pricing.family import SWEEP_D, Family, gate_scope
from clifford_rand_nn.problems.loss_registry import LOSSES
from clifford_rand_nn.problems.relu import RELU_PENALTIES, ConvexReLUProblem
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.sparse_rows import with_feature

_SHARE = 0.5  # of max_time, which the expected time of sampled patterns, or of all patterns, may take
_UNLIMITED = 600.0  # s that all patterns may take where there is no max_time
_FEWER_DIGITS = 0.2  # of the time of a fit to 1e-6 that one to 1e-3 takes, measured on breast cancer and diabetes
_COLUMNS, _ROUNDS = 2e7, 20  # rows times columns of a dictionary that are priced in a second; of column generation
_SEARCHED = 4  # columns in which branch and bound takes 20 s to 1e-3, for 200 rows; it is late by 5 % for 5 and 60
_LONG = 0.5  # s of projections on all cones, beyond which the augmented Lagrangian has the better bound (n=2000, d=71)


class Solution(NamedTuple):
    """The network of the convex program, its objective, and the certificate of the network before."""

    network: TwoLayerNetwork
    objective: float
    certificate: Certificate


class TrainingProgram(ConvexReLU):
    """The estimator of the problem that a network was trained for; its fit begins with the network's neurons.

    ``source`` is the network; ``task`` the rows that count, [X c] among them, with targets, loss and weights. A fit is
    over all neurons, or over the patterns of the network and of other gates.
    """

    loss: Any = None
    beta: Any = None
    bias_feature: float | None = None
    huber_delta: float = 1.0

    _losses = tuple(LOSSES)
    source = cast(ForeignNetwork, None)
    task = cast(Task, None)
    _start = cast(Neurons, None)  # the network's neurons on [X c]

    @classmethod
    def of(cls, network: Any, X: ArrayLike, y: ArrayLike, settings: VerdictSettings, owner: str) -> "TrainingProgram":
        """Return the program of a network; raise ArgumentError where data, network and options do not fit."""
        began, source = time.perf_counter(), read_network(network, owner)
        known = {"penalty": "group_l2", "bias_feature": None, **source.known}
        values = {name: known.get(name) if value is None else value for name, value in vars(settings).items()}
        sample_weight, delta = values.pop("sample_weight"), values["huber_delta"]
        values["huber_delta"] = 1.0 if delta is None else delta
        program: TrainingProgram = type(owner, (cls,), {})(**values)  # whose errors name the function
        program.source = source
        program._set_task(X, y, sample_weight, began)
        program.task.datafit(owner, delta)  # which checks the targets
        return program

    def _set_task(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, began: float) -> None:
        owner, source = type(self).__name__, self.source
        data = np.ascontiguousarray(as_rows(X.toarray() if hasattr(X, "toarray") else X, owner))
        check_size(data, "X", owner)
        d, outputs = source.network.W1.shape[1], len(source.network.b2)
        if data.shape[1] != d:
            raise fail("X", owner, f"of shape (n, {d}), as the network takes them", describe(f"shape {data.shape}"))
        if self.loss is None:
            names = ", ".join(map(repr, LOSSES))
            raise fail("loss", owner, f"one of {names}", None, "It is what the network was trained for.")
        data = data if source.claim is None else source.claim.rows(data)
        targets, loss, classes = targets_of(y, len(data), outputs, self.loss, source.classes, owner)
        data, targets, weights = self._weighted_rows(data, targets, sample_weight)
        if self.beta is None and source.decay is not None:
            alpha, batch = source.decay
            every = 1.0 if self._sample_weight is None else np.mean(self._sample_weight)
            self.beta = alpha / (min(batch or len(data), len(data)) * every)
        self.n_features_in_ = d
        self._check_parameters()
        self.task = self._with_feature(Task(data, targets, loss, classes, weights, began))

    @property
    def p(self) -> int:
        """Norm of the penalty."""
        return RELU_PENALTIES[self.penalty]

    @property
    def is_sampled(self) -> bool:
        """Whether patterns stood for all neurons in the fit, which were too many."""
        family = cast(NetworkClaim, self.certificate_.claim).family
        return isinstance(self.gates, str) and self.gates == "auto" and isinstance(family.members, Gates)

    def objective(self, network: TwoLayerNetwork) -> float:
        """Objective of a network, by the formula."""
        f = network.predict(self.task.X).reshape(self.task.targets.shape)
        loss = self.task.datafit(type(self).__name__, self._own_delta).value(f)
        return float(loss + self.beta * network.penalty(self.p, bias_feature=self.task.feature))

    def lifted(self, network: TwoLayerNetwork, feature: float | None) -> TwoLayerNetwork:
        """Return the network of the rows [X c], whose last weights are b/c; the inverse of `without_feature`."""
        if feature is None:
            return network
        return replace(network, W1=np.hstack([network.W1, network.b1[:, None] / feature]), b1=0 * network.b1)

    def restricted(self, network: TwoLayerNetwork) -> "TrainingProgram":
        """Return the program over the patterns of another network, whose time begins now."""
        program = copy.copy(self)
        program.source, program.gates = replace(self.source, network=network), "network"
        program.task = replace(self.task, began=time.perf_counter())
        return program

    def solve(self) -> Solution:
        """Fit, and compare the network with the bound of the fit."""
        task = self.task
        self._fit(None, None)
        claim = replace(cast(NetworkClaim, self.certificate_.claim), network=self.source.network)
        own = replace(self.certificate_, claim=claim)
        certificate = with_network_values(own, task.X, task.targets, task.weights)
        if self.source.claim is not None:  # the task has standardized rows, a certificate is for those that are given
            certificate = replace(certificate, claim=replace(claim, standard=self.source.claim.standard))
        network = cast(TwoLayerNetwork, self.network_)
        return Solution(network, self.objective(network), certificate)

    def of_any_width(self, certificate: Certificate) -> Certificate:
        """Return a certificate of the same network against all of any width."""
        require("cvxpy", purpose="a bound of networks of any width")
        from clifford_rand_nn.estimators.any_width_bound import of_any_width  # cvxpy takes a second to import

        task, claim = self.task, cast(NetworkClaim, certificate.claim)
        own = replace(certificate, claim=replace(claim, standard=None))  # the task has standardized rows
        seconds = (_UNLIMITED if self.max_time is None else _SHARE * self.max_time) - task.seconds
        proof = of_any_width(own, task.X, task.targets, task.weights, seconds)
        return replace(proof, claim=replace(cast(NetworkClaim, proof.claim), standard=claim.standard))

    def certified(self, network: TwoLayerNetwork, proofs: list[Certificate]) -> Certificate:
        """Return the certificate of another network, by the first bound that is not above its objective.

        Where rounding puts it below all, its own patterns are added to the family of the last.
        """
        task, objective = self.task, self.objective(network)
        proof = next((known for known in proofs if known.lower_bound <= objective), proofs[-1])
        assert isinstance(proof.claim, NetworkClaim)
        family, members = proof.claim.family, proof.claim.family.members
        if proof.lower_bound <= objective or not isinstance(members, Gates):
            proof = replace(proof, claim=NetworkClaim(network, family))
            return with_network_values(proof, task.X, task.targets, task.weights)
        own = self._hyperplanes(unit_atoms(self.lifted(network, task.feature), self.p).neurons, task)
        every = activation_patterns(task.X, joined_gates([members, own], members)).gates
        claim = NetworkClaim(network, replace(family, members=every))
        proof = replace(proof, claim=claim, scope=gate_scope(every), n_patterns=len(every))
        return with_network_values(proof, task.X, task.targets, task.weights, bound=True)

    def _check_parameters(self) -> None:
        """Check parameters, and take the biases that the network has."""
        owner, network, feature = type(self).__name__, self.source.network, self.bias_feature
        check_positive(self.beta, "beta", owner, "It is the weight decay of SGD with the mean loss.")
        ConvexNetwork._check_parameters(self)
        check_integer(self.n_gates, "n_gates", owner, low=0)
        if isinstance(self.gates, str):
            check_choice(self.gates, "gates", owner, ("auto", "network", "exhaustive"))
        self.bias = self._bias
        if self.bias is False and network.b1.any():
            rule = "'penalized' or 'free' for a network whose hidden layer has biases"
            raise fail("bias", owner, rule, self.bias)
        if not self.fit_intercept and (network.b2.any() or self.bias is True):
            hint = "A neuron without weights and with a free bias is a constant, too."
            rule = "True where the output has a bias, or biases are free"
            raise fail("fit_intercept", owner, rule, self.fit_intercept, hint)
        if self.bias == "penalized":
            rule, c = "None or a number from 1e-100 to 1e100", 1.0 if feature is None else feature
            self.bias_feature = check_number(c, "bias_feature", owner, rule, lambda c: 1e-100 <= c <= 1e100)
        elif feature is not None:
            raise fail("bias_feature", owner, "None unless bias='penalized'", feature)

    def _task(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        return self.task

    def _with_feature(self, task: Task) -> Task:
        self.bias_feature_ = self.bias_feature
        return replace(task, feature=self.bias_feature, lifted=with_feature(task.X, self.bias_feature))

    def _in(self, units: Units) -> Any:
        scaled, back = super()._in(units), units.inverse()
        scaled.bias_feature = back.back(self.bias_feature)
        scaled.source = replace(self.source, network=back.back(self.source.network))
        return scaled

    def _settled(self, task: Task) -> Task:
        """Take the network's neurons that are on somewhere."""
        self.loss_ = task.loss if isinstance(task.loss, str) else task.loss.name
        start = unit_atoms(self.lifted(self.source.network, task.feature), self.p)
        live = (start.neurons.columns(task.rows) > 0).any(axis=0) & start.values.any(axis=1)
        self._start = start.neurons.take(np.flatnonzero(live))
        return task

    def _warn(self, message: str, level: int) -> None:
        """Say nothing: a bound is proved wherever the fit ends."""

    @property
    def _exhaustive(self) -> bool:
        gates = self.gates if isinstance(self.gates, str) else ""
        return gates == "exhaustive" or (gates == "auto" and self._is_listable())

    def _candidates(self, task: Task) -> tuple[ActivationPatterns | None, Family]:
        """Take column generation, unless there is one output, with so many patterns that all are better at once."""
        sampled, family = super()._candidates(task)
        count = 0 if sampled is None or task.targets.shape[1] > 1 else len(sampled.gates)
        is_long = self._projection_seconds(task, count) > _LONG
        self.solver = "augmented_lagrangian" if is_long else "column_generation"
        return sampled, family

    def _projection_seconds(self, task: Task, n_patterns: int) -> float:
        """Return those of projections on all cones of one output."""
        n, d = task.rows.shape
        return 2 * n_patterns * projection_seconds(n, d)

    def _solve_program(self, task: Task, problem: ConvexReLUProblem) -> Result[Any]:
        """Keep time, half of it at most, for the projections on all cones with which the solver ends."""
        most = np.inf if self.max_time is None else _SHARE * self.max_time
        kept = min(self._projection_seconds(task, problem.n_patterns), most)
        return super()._solve_program(replace(task, began=task.began - kept), problem)

    def _first_neurons(self, family: Family) -> Neurons:
        gates = isinstance(family.members, Gates)
        return Neurons.joined([self._start, own_neurons(family)]) if gates else self._start

    def _generate_columns(
        self, task: Task, family: Family, warm: WarmStart | None
    ) -> tuple[Result[WeightedNeurons], Pricer]:
        """Add up the neurons of each cone of one output, a neuron of its boundary with those inside."""
        result, pricer = super()._generate_columns(task, family, warm)
        if isinstance(family.members, Gates) and task.targets.shape[1] == 1 and len(result.coefficients.neurons):
            network = balanced_network(result.coefficients, self.p)
            with suppress(ArgumentError):  # of a neuron that rounding has moved out of its cone
                cones = relu_coefficients(network, task.rows, family.members.activations(task.X))[0]
                neurons = unit_atoms(balanced_relu(cones, self.p), self.p)
                result = replace(result, coefficients=neurons)
        return result, pricer

    def _task_patterns(self, task: Task) -> ActivationPatterns:
        """Patterns of the network and, beside them, of given gates, or of linear models and sampled ones."""
        X, own = task.X, self._hyperplanes(self._start, task)
        parts = [own]
        if not isinstance(self.gates, str):
            parts.append(as_gates(self.gates, X.shape[1], type(self).__name__))
        elif self.gates == "auto":
            parts.append(fitted_gates(X, task.targets, self._offset, task.weights))
            room = np.inf if self.max_time is None else _SHARE * self.max_time / self._expected(task, 1)
            few = min(self.n_gates, room - sum(map(len, parts)))
            if few >= 1 and (X[0] != X).any():
                sampled = self._drawn(X, task.targets, "cross")
                parts.append(sampled.take(np.arange(min(int(few), len(sampled)))))
        return activation_patterns(X, joined_gates(parts, own))

    def _expected(self, task: Task, n_patterns: int) -> float:
        n, d = task.rows.shape
        return _FEWER_DIGITS * columns_seconds(n, d, task.targets.shape[1], n_patterns)

    def _hyperplanes(self, neurons: Neurons, task: Task) -> Gates:
        """Return the hyperplanes of neurons on [X c]."""
        own = without_feature(neurons, task.feature)
        return gates_without_incidence(np.ascontiguousarray(own.directions), own.offsets, "network")

    def _is_listable(self) -> bool:
        """Whether every neuron that there is can be priced in a share of the time."""
        (n, d), free, limit = self.task.rows.shape, self._free_bias, self.max_time
        seconds = _UNLIMITED if limit is None else _SHARE * limit
        if d <= SWEEP_D or (self.p == 2 and not free and d <= _SEARCHED):
            return True
        if self.p == 1:
            columns = cross_product_dictionary(self.task.rows, "l1", bias=free).n_columns
            return bool(columns <= seconds * _COLUMNS / (n * _ROUNDS))
        return bool(central_count(n, d + free) <= seconds / self._expected(self.task, 1))
