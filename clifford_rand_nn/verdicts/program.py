"""The convex program of a network that was trained elsewhere: targets, family of neurons, solution, and bound."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import (
    as_array,
    as_generator,
    as_real,
    as_rows,
    check_choice,
    check_integer,
    check_length,
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
from clifford_rand_nn.datafits.entropy import MultilabelLogistic
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.datafits.registry import LOSSES, as_loss, encode_labels, has_delta, split_weights
from clifford_rand_nn.dictionaries.dictionary import cross_product_dictionary
from clifford_rand_nn.estimators.relu_selection import columns_seconds, own_neurons, projection_seconds
from clifford_rand_nn.estimators.rows import training_labels
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
from clifford_rand_nn.solvers.base import Limits, Result
from clifford_rand_nn.solvers.lasso.path import DistinctRows
from clifford_rand_nn.solvers.lasso.working_set import WorkingSet
from clifford_rand_nn.sparse_rows import check_bias, with_feature
from clifford_rand_nn.verdicts.foreign_networks import ForeignNetwork, read_network

_SHARE = 0.5  # of max_time, which the expected time of sampled patterns, or of all patterns, may take
_FEWER_DIGITS = 0.2  # of the time of a fit to 1e-6 that one to 1e-3 takes, measured on breast cancer and diabetes
_COLUMNS = 2e7  # rows times columns of a dictionary that are priced in a second
_ROUNDS = 20  # of column generation
_LONG = 0.5  # s of projections on all cones, beyond which the augmented Lagrangian has the better bound (n=2000, d=71)
_FEATURE = 1.0  # beside the rows: weight decay charges a bias as it charges a weight


@dataclass(frozen=True, kw_only=True)
class VerdictSettings:
    """Options of `certify` and `polish`: see `OPTIONS`."""

    loss: str | None = None
    beta: float | None = None
    penalty: str = "group_l2"
    bias: str | bool | None = None
    bias_feature: float | None = None
    fit_intercept: bool | None = None
    huber_delta: float | None = None
    sample_weight: ArrayLike | None = None
    gates: Any = "auto"
    n_gates: int = 50
    tol: float = 1e-3
    max_time: float | None = 30.0
    random_state: Any = 0


OPTIONS = """
loss : str or None
    "squared", "huber", "log_cosh", "logistic" (the softmax cross-entropy for several classes), "squared_hinge" or
    "softmax". None: that of the MLP or the estimator; other networks do not know theirs.
beta : float > 0 or None
    Of the penalty. For SGD with ``weight_decay`` and the mean loss it is the weight decay. None: that of the MLP's
    steps, ``alpha / batch_size`` (``alpha / n`` for L-BFGS), or that of the estimator. AdamW's decay is no penalty: its
    strength depends on the learning rate and on Adam's scaling, so choose beta by what the training should be compared
    with.
penalty : {"group_l2", "group_l1"}
    p = 2 or 1 in :math:`||W_j||_p`.
bias : {"penalized", "free", False} or None
    "penalized": the norm is that of :math:`(W_j, b_j/c)`, as weight decay charges the biases of all layers. "free":
    biases are not penalized, as those of scikit-learn's MLP. False: neurons have none. None: "free" for an MLP, False
    for a layer without biases, that of an estimator, else "penalized". The output's bias is never penalized.
bias_feature : float or None
    c, 1 if None, or that of the estimator.
fit_intercept : bool or None
    Whether the output has a bias; None: as the network has.
huber_delta : float or None
    Of "huber" and "log_cosh", 1 if None.
sample_weight : (n,) array or None
gates : "auto", "network", "exhaustive", Gates or (directions (d, m), offsets (m,))
    What the network is compared with. "auto": every neuron there is, if these can be priced in half of ``max_time``;
    else neurons of the network's activation patterns, of those of linear models, and of as many sampled ones as time
    allows. "network": the network's patterns alone. "exhaustive": every neuron. Gates: theirs and the network's.
n_gates : int
    At most so many sampled patterns.
tol : float > 0
    Relative gap to which the convex program is solved.
max_time : float or None
    Seconds for the convex program; one that ends early proves a lower bound too. None for no limit.
random_state : int, Generator or RandomState
    Of the sampled patterns.
"""


class Solution(NamedTuple):
    """The network and its objective from the convex program, its certificate, and the one of the network before."""

    network: TwoLayerNetwork
    objective: float
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class TrainingProgram:
    """A network with the problem that it was trained for, each in double precision, and what it is compared with."""

    source: ForeignNetwork
    task: Task
    weights: Array | None  # of all rows
    beta: float
    p: int
    bias: Any
    fit_intercept: bool
    delta: float | None
    standard: Any
    settings: VerdictSettings
    owner: str

    @classmethod
    def of(cls, network: Any, X: ArrayLike, y: ArrayLike, settings: VerdictSettings, owner: str) -> "TrainingProgram":
        """Return the program of a network; raise ArgumentError where data, network and options do not fit."""
        began = time.perf_counter()
        source = read_network(network, owner)
        proof, own = source.proof, source.network
        check_choice(settings.penalty, "penalty", owner, tuple(RELU_PENALTIES))
        check_integer(settings.n_gates, "n_gates", owner, low=0)
        settings = replace(settings, random_state=as_generator(settings.random_state, owner, "random_state"))
        Limits.of(owner, tol=settings.tol, max_time=settings.max_time)
        X = X.toarray() if hasattr(X, "toarray") else X
        data = np.ascontiguousarray(as_rows(X, owner))
        check_size(data, "X", owner)
        if data.shape[1] != own.W1.shape[1]:
            rule = f"of shape (n, {own.W1.shape[1]}), as the network takes them"
            raise fail("X", owner, rule, describe(f"shape {data.shape}"))
        standard = None
        if proof is not None:
            assert isinstance(proof.claim, NetworkClaim)
            standard, family = proof.claim.standard, proof.claim.family
            data = proof.claim.rows(data)
            settings = replace(
                settings,
                loss=proof.loss if settings.loss is None else settings.loss,
                beta=proof.beta if settings.beta is None else settings.beta,
                penalty="group_l1" if family.p == 1 else "group_l2",
                bias=proof.bias if settings.bias is None else settings.bias,
                bias_feature=family.feature if settings.bias_feature is None else settings.bias_feature,
                fit_intercept=proof.fit_intercept if settings.fit_intercept is None else settings.fit_intercept,
                sample_weight=proof.sample_weight if settings.sample_weight is None else settings.sample_weight,
            )
            if has_delta(str(settings.loss)) and settings.huber_delta is None:
                settings = replace(settings, huber_delta=proof.huber_delta)
        classes = source.classes if proof is None else proof.classes
        loss = source.loss if settings.loss is None else settings.loss
        if loss is None:
            hint = "It is what the network was trained for."
            raise fail("loss", owner, f"one of {', '.join(map(repr, LOSSES))}", None, hint)
        as_loss(loss, owner, settings.huber_delta)
        kept, weights, every = split_weights(settings.sample_weight, len(data), owner)
        targets, kind, classes = _targets(y, len(data), len(own.b2), loss, classes, owner)
        bias, intercept = _biases(source, settings, owner)
        feature = None
        if bias == "penalized":
            feature = _FEATURE if settings.bias_feature is None else settings.bias_feature
            rule = "None or a number from 1e-100 to 1e100"
            feature = check_number(feature, "bias_feature", owner, rule, lambda c: 1e-100 <= c <= 1e100)
        elif settings.bias_feature is not None:
            raise fail("bias_feature", owner, "None unless bias='penalized'", settings.bias_feature)
        data, targets = data[kept], targets[kept]
        task = Task(data, targets, kind, classes, weights, began, feature, with_feature(data, feature))
        task.datafit(owner, settings.huber_delta)  # which checks the targets
        beta = _beta(source, settings, len(data), owner)
        p = RELU_PENALTIES[settings.penalty]
        return cls(source, task, every, beta, p, bias, intercept, settings.huber_delta, standard, settings, owner)

    @property
    def n_neurons(self) -> int:
        """Width of the network that was read."""
        return len(self.source.network.b1)

    def objective(self, network: TwoLayerNetwork) -> float:
        """Objective of a network, by the formula."""
        f = network.predict(self.task.X).reshape(self.task.targets.shape)
        return self.task.datafit(self.owner, self.delta).value(f) + self.beta * network.penalty(
            self.p, self.task.feature
        )

    def balanced(self, network: TwoLayerNetwork) -> TwoLayerNetwork:
        r"""Return the network with :math:`||W_j||=||\alpha_j||`, without neurons that have no weights."""
        atoms = lifted(network, self.task.feature).to_neurons(self.p)
        balanced: TwoLayerNetwork = without_feature(TwoLayerNetwork.from_neurons(atoms, self.p), self.task.feature)
        return balanced

    def restricted(self, network: TwoLayerNetwork) -> "TrainingProgram":
        """Return the program over the patterns of another network, whose time begins now."""
        task = self.task._replace(began=time.perf_counter())
        source, settings = replace(self.source, network=network), replace(self.settings, gates="network")
        return replace(self, source=source, settings=settings, task=task)

    def solve(self) -> Solution:
        """Solve the convex program from the network's neurons, in units where the data have the size 1."""
        task, owner = self.task, self.owner
        real = task.targets if task.classes is None else None
        units = Units.of(task.X, real, owner, self.fit_intercept)
        program = self if units.plain else self._in(units)
        network, solved, certificate = program._solved()
        if not units.plain:
            network, certificate = units.back(network), certificate.rescaled(units)
        certificate = certificate.of_its_network(task.X, task.targets, task.weights)
        return Solution(network, units.square(solved), certificate)

    def _in(self, units: Units) -> "TrainingProgram":
        back = units.inverse()
        task = self.task.in_units(units)
        feature = back.back(task.feature)
        task = task._replace(feature=feature, lifted=with_feature(task.X, feature))
        source = replace(self.source, network=back.back(self.source.network))
        settings = self.settings
        if isinstance(settings.gates, Gates):
            settings = replace(settings, gates=back.back(settings.gates))
        delta = None if self.delta is None else back.size(self.delta)
        beta = units.beta(self.beta, False, self.owner)
        return replace(self, source=source, task=task, settings=settings, delta=delta, beta=beta)

    def certified(self, network: TwoLayerNetwork, proofs: list[Certificate]) -> Certificate:
        """Return the certificate of another network, by the first bound that is not above its objective.

        Where all are, its own patterns are added to the family of the last.
        """
        task, objective = self.task, self.objective(network)
        proof = next((known for known in proofs if known.dual <= objective), proofs[-1])
        assert isinstance(proof.claim, NetworkClaim)
        family, members = proof.claim.family, proof.claim.family.members
        if proof.dual <= objective or not isinstance(members, Gates):
            proof = replace(proof, claim=proof.claim._replace(network=network))
            return proof.of_its_network(task.X, task.targets, task.weights)
        own = self._own_gates(lifted(network, task.feature).to_neurons(self.p).neurons)
        added = replace(family, members=activation_patterns(task.X, own).gates)
        proof = replace(proof, claim=NetworkClaim(network, added, self.standard))
        proof = proof.of_its_network(task.X, task.targets, task.weights, True)
        every = activation_patterns(task.X, joined_gates([members, own], members)).gates
        claim = NetworkClaim(network, replace(family, members=every), self.standard)
        return replace(proof, claim=claim, scope=gate_scope(every), n_patterns=len(every))

    def _own_gates(self, neurons: Neurons) -> Gates:
        """Return the hyperplanes of neurons on the rows of the problem."""
        V, feature = neurons.directions, self.task.feature
        offsets = neurons.offsets if feature is None else feature * V[-1]
        directions = np.ascontiguousarray(V[: self.task.X.shape[1]])
        return Gates.without_incidence(directions, offsets, "network")

    def _certificate(
        self, network: TwoLayerNetwork, family: Family, scope: str, count: int, bound: DualBound
    ) -> Certificate:
        """Return the certificate of a network against a family, with a bound that holds for that."""
        task = self.task
        return Certificate(
            **proved(bound.value, bound, task.classes is None and self.fit_intercept),
            n_patterns=count,
            scope=scope,
            loss=task.loss if isinstance(task.loss, str) else task.loss.name,
            beta=self.beta,
            bias=self.bias,
            fit_intercept=self.fit_intercept,
            claim=NetworkClaim(network, family, self.standard),
            classes=task.classes,
            huber_delta=1.0 if self.delta is None else self.delta,
            sample_weight=self.weights,
        )

    def _solved(self) -> tuple[TwoLayerNetwork, float, Certificate]:
        task, feature = self.task, self.task.feature
        start = lifted(self.source.network, feature).to_neurons(self.p)
        live = np.flatnonzero((start.neurons.columns(task.rows) > 0).any(axis=0) & start.values.any(axis=1))
        neurons = start.neurons.take(live)
        family = self._family(neurons)
        options: dict[str, Any] = {
            "loss": task.loss,
            "fit_intercept": self.fit_intercept,
            "huber_delta": self.delta,
        }
        left = None if self.settings.max_time is None else max(self.settings.max_time - task.seconds, 1e-3)
        result: Result[Any]
        if self._is_wide(family):
            assert isinstance(family.members, Gates)
            patterns = family.members.on(task.X)
            problem = ConvexReLUProblem(
                task.rows,
                task.targets,
                patterns,
                self.beta,
                penalty=self.settings.penalty,
                bias=self.bias is True,
                sample_weight=task.weights,
                **options,
            )
            result = AugmentedLagrangian(tol=self.settings.tol, max_time=left).solve(problem)
            network = TwoLayerNetwork.from_relu(result.coefficients, self.p)
            scope, count = family.pricer(task.X[:1]).scope, len(family.members)
        else:
            rows = DistinctRows(task.rows, task.targets, task.weights)
            pricer = family.pricer(rows.X[:, : task.X.shape[1]])
            if isinstance(family.members, Gates):
                neurons = Neurons.joined([neurons, own_neurons(family)])
            solver = WorkingSet(tol=self.settings.tol, max_time=left)
            result = solver.solve(
                rows.X, rows.y, self.beta, pricer, start=neurons, sample_weight=rows.weights, **options
            )
            result = rows.restored(result)
            network = self._added_up(TwoLayerNetwork.from_neurons(result.coefficients, self.p), family)
            scope, count = pricer.scope, pricer.n_atoms
        bound = DualBound(result.objective - result.duality_gap, result.dual_point)
        certificate = self._certificate(self.source.network, family, scope, count, bound)
        if task.loses_bound(result, self.beta, self.fit_intercept):
            certificate = certificate.of_its_network(task.X, task.targets, task.weights, True)
        network = without_feature(network, feature)
        return network, self.objective(network), certificate

    def _added_up(self, network: TwoLayerNetwork, family: Family) -> TwoLayerNetwork:
        """Return the network of one output with one neuron for each pattern and sign, for a cone holds its sums."""
        task = self.task
        if task.targets.shape[1] > 1 or not isinstance(family.members, Gates) or not network.n_neurons:
            return network
        with suppress(ArgumentError):  # a neuron that rounding has moved out of its cone
            units, _ = network.to_relu(task.rows, family.members.on(task.X))
            return TwoLayerNetwork.from_relu(units, self.p)
        return network

    def _is_wide(self, family: Family) -> bool:
        """Whether the program has one output and cones on which it takes long to project."""
        task = self.task
        if task.targets.shape[1] > 1 or not isinstance(family.members, Gates):
            return False
        return 2 * len(family.members) * projection_seconds(*task.rows.shape) > _LONG

    def _family(self, neurons: Neurons) -> Family:
        """Return all neurons where these can be priced in time, else those of patterns, the network's among them."""
        task, settings = self.task, self.settings
        every = Family("all", self.p, self.bias is True, feature=task.feature)
        if isinstance(settings.gates, str):
            check_choice(settings.gates, "gates", self.owner, ("auto", "network", "exhaustive"))
            if settings.gates == "exhaustive" or (settings.gates == "auto" and self._is_listable()):
                return every
        offset = self.bias is not False
        own = self._own_gates(neurons)
        parts = [own]
        if not isinstance(settings.gates, str):
            parts.append(chosen_patterns(task.X, settings.gates, offset, self.owner).gates)
        elif settings.gates == "auto":
            parts.append(fitted_gates(task.X, task.targets, offset, task.weights))
            parts += self._sampled(len(own) + len(parts[1]), offset)
        gates = activation_patterns(task.X, joined_gates(parts, own)).gates
        return replace(every, kind="gates", members=gates)

    def _sampled(self, count: int, offset: bool) -> list[Gates]:
        """Return sampled gates, no more than are expected to be priced in time beside ``count`` others."""
        task, settings = self.task, self.settings
        n, d = task.X.shape
        most = central_count(n, min(n - offset, d) + offset)
        n_gates = min(settings.n_gates, most)
        if settings.max_time is not None:
            room = _SHARE * settings.max_time / self._seconds(1)
            n_gates = min(n_gates, max(0, int(room) - count))
        if not n_gates or not (task.X[0] != task.X).any():
            return []
        return [sample_gates(task.X, n_gates, "cross", "auto", offset, settings.random_state, y=task.targets)]

    def _seconds(self, n_patterns: int) -> float:
        (n, d), C = self.task.rows.shape, self.task.targets.shape[1]
        return max(_FEWER_DIGITS * columns_seconds(n, d, C, n_patterns), 1e-6)

    def _is_listable(self) -> bool:
        """Whether every neuron that there is can be priced in a share of the time."""
        (n, d), free = self.task.rows.shape, self.bias is True
        limit = self.settings.max_time
        if d <= SWEEP_D:
            return True
        limit = np.inf if limit is None else _SHARE * limit
        if self.p == 1:
            columns = cross_product_dictionary(self.task.rows, "l1", bias=free).n_columns
            return bool(columns * n * _ROUNDS / _COLUMNS <= limit)
        return bool(self._seconds(central_count(n, d + free)) <= limit)


def lifted(network: TwoLayerNetwork, feature: float | None) -> TwoLayerNetwork:
    """Return the network of the rows [X c], whose last weights are b/c; the inverse of `without_feature`."""
    if feature is None:
        return network
    W1 = np.hstack([network.W1, network.b1[:, None] / feature])
    return replace(network, W1=W1, b1=0 * network.b1)


def _biases(source: ForeignNetwork, settings: VerdictSettings, owner: str) -> tuple[Any, bool]:
    """Return how hidden biases are penalized, and whether the output has one; raise where the network contradicts."""
    usual: Any = "free" if source.is_mlp else "penalized"
    bias = check_bias(settings.bias if settings.bias is not None else usual if source.has_bias else False, owner)
    intercept = source.has_intercept if settings.fit_intercept is None else settings.fit_intercept
    check_choice(intercept, "fit_intercept", owner, (True, False))
    own = source.network
    if bias is False and own.b1.any():
        raise fail("bias", owner, "'penalized' or 'free' for a network whose hidden layer has biases", settings.bias)
    if not intercept and own.b2.any():
        raise fail("fit_intercept", owner, "True for a network whose output layer has a bias", intercept)
    if bias is True and not intercept:
        hint = "A neuron without weights and a free bias is a constant; or use bias='penalized'."
        raise fail("fit_intercept", owner, "True if biases are free", intercept, hint)
    return bias, bool(intercept)


def _beta(source: ForeignNetwork, settings: VerdictSettings, n: int, owner: str) -> float:
    """Return beta as it is given, or that of the penalty that an MLP's solver has in its steps."""
    if settings.beta is not None or not source.is_mlp:
        return check_positive(settings.beta, "beta", owner, "It is the weight decay of SGD with the mean loss.")
    mean = 1.0
    if settings.sample_weight is not None:
        mean = float(np.mean(np.asarray(settings.sample_weight, dtype=np.float64)))
    beta = source.alpha / (min(source.batch or n, n) * mean)
    return check_positive(beta, "beta", owner, "The network has alpha=0; give a number.")


def _targets(
    y: Any, n: int, outputs: int, loss: str, classes: Any, owner: str
) -> tuple[Array, str | Loss, NDArray[Any] | None]:
    """Return targets (n, C) as a loss takes them, the loss for so many outputs, and the classes of labels."""
    kind = as_loss(loss, owner)
    labels = as_array(y.detach().cpu().numpy() if hasattr(y, "detach") else y, "y", owner)
    check_length(labels.shape, n, "y", owner, "target")
    if labels.ndim > 2:
        raise fail("y", owner, f"of shape ({n},) or ({n}, {outputs})", describe(f"shape {labels.shape}"))
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if classes is None and kind.labels is None:
        targets = np.asarray(as_real(labels, "y", owner), dtype=np.float64).reshape(n, -1)
    elif labels.ndim == 2:
        off, on = (-1.0, 1.0) if kind.labels is None else kind.labels
        targets = np.where(np.asarray(as_real(labels, "y", owner)) > 0, on, off)
        if (targets == targets[0]).all(axis=0).any():
            raise fail("y", owner, "of labels that some rows have and others have not", describe("a constant column"))
        if kind.name == "logistic":
            return _of_width(targets, outputs, owner), MultilabelLogistic(), None
    else:
        labels = training_labels(labels, owner)
        classes = _classes(labels, outputs, owner) if classes is None else np.asarray(classes)
        index = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        if not (classes[index] == labels).all():
            raise fail("y", owner, f"made of the classes {classes.tolist()[:10]}", describe("another label"))
        if outputs == 2 == len(classes) and loss in ("logistic", "softmax"):  # two logits, which one output replaces
            return np.eye(2)[index], "softmax", None
        targets, kind = encode_labels(index, len(classes), "logistic" if loss == "softmax" else loss)
    return _of_width(targets, outputs, owner), kind.name, classes


def _of_width(targets: Array, outputs: int, owner: str) -> Array:
    if targets.shape[1] != outputs:
        rule = f"targets of {outputs} outputs, as the network has"
        raise fail("y", owner, rule, describe(f"those of {targets.shape[1]}"))
    return targets


def _classes(labels: NDArray[Any], outputs: int, owner: str) -> NDArray[Any]:
    """Return the classes of labels: the numbers of the outputs, as PyTorch counts them, or those that there are."""
    wanted, known = max(outputs, 2), np.unique(labels)
    if known.dtype.kind in "biu" and known.min() >= 0 and known.max() < wanted:
        return np.arange(wanted)
    if len(known) != wanted:
        rule = f"of {wanted} classes, for {outputs} output{'s' * (outputs > 1)}"
        raise fail("y", owner, rule, describe(f"{len(known)} classes"), "Or choose another loss, as 'squared'.")
    return known
