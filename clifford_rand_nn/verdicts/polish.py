"""`polish`: a trained network improved by the convex program of its problem, returned in its own form."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import ArrayLike
from clifford_rand.print_options import html_table
from clifford_rand_nn._records import show_options
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.networks import TwoLayerNetwork, without_feature
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.pruning import prune
from clifford_rand_nn.solvers.lasso.working_set import solved_master
from clifford_rand_nn.verdicts.certify import percentage, verdict_of
from clifford_rand_nn.verdicts.foreign_networks import read_network
from clifford_rand_nn.verdicts.program import OPTIONS, Solution, TrainingProgram, VerdictSettings, lifted


@dataclass(frozen=True, eq=False, repr=False)
class PolishedNetwork:
    """A network after `polish`, with its objective before and after.

    Attributes
    ----------
    network : object
        Of the kind that was given, with at most as many neurons.
    before, after : float
        Training objectives; ``after`` is that of ``network`` in the precision of its weights, and at most ``before``.
    certificate : Certificate
        By how much ``after`` is above the optimum at most.
    """

    network: Any
    before: float
    after: float
    certificate: Certificate

    def __str__(self) -> str:
        fall = 1 - self.after / self.before if self.before > 0 else 0.0
        lower = f"{100 * fall:.3g} % lower" if fall > 0 else "not lower"
        verdict = verdict_of(self.certificate, self.after)
        return f"objective {self.before:.6g} → {self.after:.6g}, {lower}; {verdict}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self) -> str:
        verdict = verdict_of(self.certificate, self.after)
        values = {
            "network": type(self.network).__name__,
            "neurons": str(len(read_network(self.network, "polish").network.b1)),
            "objective before": f"{self.before:.8g}",
            "objective after": f"{self.after:.8g}",
            "above the optimum": f"at most {percentage(verdict.excess)}",
            "family": verdict.scope,
        }
        return html_table(list(values.items()), note="A lower training objective says nothing about new rows.")


def polish(network: Any, X: ArrayLike, y: ArrayLike, **options: Any) -> PolishedNetwork:
    r"""Improve a trained two-layer ReLU network by the convex program of its problem, and return the same kind of it.

    The program over the activation patterns of the network and of others is solved from the network's neurons, see
    `certify`. Its solution is pruned to linearly independent neurons; where more are left than the network had, the
    largest are kept and their weights are trained again. Of this network, the given one with trained output weights,
    and the given one with balanced neurons, that with the lowest objective is returned, rounded to the precision of the
    given one. The objective never rises.

    Parameters
    ----------
    network : network
        As in `certify`, but for fitted estimators of this library: pass their ``network_``.
    X : (n, d) array
    y : (n,) or (n, C) array
        As in `certify`.
    {shared}

    Returns
    -------
    PolishedNetwork

    Raises
    ------
    ArgumentError
        As in `certify`.

    Examples
    --------
    >>> from clifford_rand_nn import polish
    >>> x = np.linspace(-1, 1, 21)[:, None]
    >>> arrays = np.array([[1.0], [-1.0]]), np.zeros(2), np.array([0.5, 0.5]), 0.3
    >>> polished = polish(arrays, x, np.abs(x[:, 0]), loss="squared", beta=1e-3)
    >>> polished.network[0].shape, polished.after < 0.2 * polished.before
    ((2, 1), True)
    """
    program = TrainingProgram.of(network, X, y, VerdictSettings(**options), "polish")
    source = program.source
    if source.write is None:
        hint = "Pass its network_ as the network."
        raise fail("network", "polish", "a network", describe(f"a fitted {type(network).__name__}"), hint)
    if program.fit_intercept and not source.has_intercept:
        raise fail("fit_intercept", "polish", "False for a network whose output layer has no bias", True)
    if program.bias is not False and not source.has_bias:
        raise fail("bias", "polish", "False for a network whose hidden layer has no biases", program.settings.bias)
    solution = program.solve()
    own, before = source.network, program.objective(source.network)
    narrowed, proofs = _narrowed(program, solution)
    best, after, written = network, before, own
    for candidate in (own, program.balanced(own), _retrained(program, own), *narrowed):
        # rounded to the precision of the given one, and at least one neuron wide where that one is
        rewritten = source.write(_widened(candidate, min(1, program.n_neurons)))
        rounded = read_network(rewritten, "polish").network
        objective = program.objective(rounded)
        if objective <= after:
            best, after, written = rewritten, objective, rounded
    return PolishedNetwork(best, before, after, program.certified(written, proofs))


def _narrowed(program: TrainingProgram, solution: Solution) -> tuple[list[TwoLayerNetwork], list[Certificate]]:
    """Return networks with no more neurons than the program's network has, and certificates with bounds for them.

    Where pruning leaves more, the program is solved again over the patterns of the largest.
    """
    most = program.n_neurons
    network = _pruned(program, solution.network)
    if len(network.b1) <= most:
        return [network], [solution.certificate]
    narrow = _largest(program, network, most)
    again = program.restricted(narrow).solve()
    network = _pruned(program, again.network)
    if len(network.b1) > most:
        network = _largest(program, network, most)
    return [narrow, network], [solution.certificate, again.certificate]


def _pruned(program: TrainingProgram, network: TwoLayerNetwork) -> TwoLayerNetwork:
    feature = program.task.feature
    wide = prune(lifted(network, feature), program.task.rows, program.p, fit_intercept=program.fit_intercept)
    pruned: TwoLayerNetwork = without_feature(wide, feature)
    return pruned


def _largest(program: TrainingProgram, network: TwoLayerNetwork, most: int) -> TwoLayerNetwork:
    """Return the largest neurons, their weights trained again."""
    atoms, values, _ = lifted(network, program.task.feature).to_neurons(program.p)
    largest = np.argsort(-np.linalg.norm(values, axis=1), kind="stable")[:most]
    return _retrained_atoms(program, atoms.take(largest))


def _retrained(program: TrainingProgram, network: TwoLayerNetwork) -> TwoLayerNetwork:
    """Return the network with optimal sizes of its neurons and output weights."""
    atoms = lifted(network, program.task.feature).to_neurons(program.p).neurons
    return _retrained_atoms(program, atoms)


def _retrained_atoms(program: TrainingProgram, atoms: Neurons) -> TwoLayerNetwork:
    task = program.task
    problem = LassoProblem(
        atoms.columns(task.rows),
        task.targets,
        program.beta,
        loss=task.loss,
        fit_intercept=program.fit_intercept,
        huber_delta=program.delta,
        sample_weight=task.weights,
    )
    columns, values, intercept = solved_master(problem, None, program.settings.tol / 10, None).coefficients
    solution = WeightedNeurons(atoms.take(columns), values, intercept)
    network: TwoLayerNetwork = without_feature(TwoLayerNetwork.from_neurons(solution, program.p), task.feature)
    return network


def _widened(network: TwoLayerNetwork, least: int) -> TwoLayerNetwork:
    """Return the network with neurons without weights where it has fewer than ``least``."""
    spare = max(0, least - len(network.b1))
    if not spare:
        return network
    W1, w2 = (np.pad(weights, ((0, spare), (0, 0))) for weights in (network.W1, network.w2))
    return replace(network, W1=W1, b1=np.pad(network.b1, (0, spare)), w2=w2)


show_options(polish, VerdictSettings, OPTIONS)
