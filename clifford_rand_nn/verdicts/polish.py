"""`polish`: a trained network improved by the convex program of its problem, returned in its own form."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import ArrayLike
from clifford_rand_nn._display import TextShown
from clifford_rand_nn._records import show_options
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.networks import TwoLayerNetwork, balanced_network, unit_atoms, without_feature
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.lasso.working_set import solved_master
from clifford_rand_nn.verdicts.certify import verdict_of
from clifford_rand_nn.verdicts.foreign_networks import read_network
from clifford_rand_nn.verdicts.program import Solution, TrainingProgram
from clifford_rand_nn.verdicts.settings import OPTIONS, VerdictSettings


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PolishedNetwork(TextShown):
    """A network after `polish`, with its objective before and after. Made by `polish`.

    Attributes
    ----------
    network : object
        Of the kind that was given, with at most as many neurons.
    objective_before, objective_after : float
        Of training; the second is that of ``network`` in the precision of its weights, and at most the first.
    certificate : Certificate
        By how much ``objective_after`` is above the optimum at most.
    """

    network: Any
    objective_before: float
    objective_after: float
    certificate: Certificate

    def __str__(self) -> str:
        before, after = self.objective_before, self.objective_after
        fall = 100 * (1 - after / before) if before > 0 else 0.0
        verdict = verdict_of(self.certificate, after)
        return f"training objective {before:.6g} → {after:.6g}, {fall:.3g} % lower; {verdict}"


def polish(network: Any, X: ArrayLike, y: ArrayLike, **options: Any) -> PolishedNetwork:
    r"""Improve a trained two-layer ReLU network by the convex program of its problem, and return the same kind of it.

    The program is solved as in `certify`, and its solution pruned to linearly independent neurons. Where more are left
    than the network had, the program is solved again over the patterns of the largest, and the largest of its neurons
    get optimal weights. The best of these networks, of the given neurons with optimal weights, and of the given network
    is returned, rounded to its precision, with :math:`||W_j||=||\alpha_j||`. The objective never rises.

    Parameters
    ----------
    network : network
        As in `certify`; of fitted estimators of this library pass ``network_``.
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
    >>> polished.network[0].shape, polished.objective_after < 0.2 * polished.objective_before
    ((2, 1), True)
    """
    program = TrainingProgram.of(network, X, y, VerdictSettings(**options), "polish")
    source = program.source
    if source.write is None:
        raise fail("network", "polish", "a network", describe(f"a {type(network).__name__}"), "Pass its network_.")
    if program.fit_intercept and not source.known["fit_intercept"]:
        raise fail("fit_intercept", "polish", "False for a network whose output layer has no bias", True)
    if program.bias and not source.known["bias"]:
        raise fail("bias", "polish", "False for a network whose hidden layer has no biases", program.bias)
    before = program.objective(source.network)
    narrowed, proofs = _narrowed(program, program.solve())
    own = unit_atoms(program.lifted(source.network, program.task.feature), program.p)
    balanced = _of_neurons(program, own)
    best, after, written = network, before, source.network
    for candidate in (source.network, balanced, _retrained(program, own.neurons), *narrowed):
        # rounded to the precision of the given one, and at least one neuron wide where that one is
        rewritten = source.write(_widened(candidate, min(1, len(source.network.b1))))
        rounded = read_network(rewritten, "polish").network
        objective = program.objective(rounded)
        if objective <= after:
            best, after, written = rewritten, objective, rounded
    certificate = program.certified(written, proofs)
    return PolishedNetwork(network=best, objective_before=before, objective_after=after, certificate=certificate)


def _narrowed(program: TrainingProgram, solution: Solution) -> tuple[list[TwoLayerNetwork], list[Certificate]]:
    """Return networks with no more neurons than the program's network has, and certificates with bounds for them."""
    most = len(program.source.network.b1)
    if len(solution.network.b1) <= most:
        return [solution.network], [solution.certificate]
    narrow = _largest(program, solution.network, most)
    again = program.restricted(narrow).solve()
    network = again.network if len(again.network.b1) <= most else _largest(program, again.network, most)
    return [narrow, network], [solution.certificate, again.certificate]


def _largest(program: TrainingProgram, network: TwoLayerNetwork, most: int) -> TwoLayerNetwork:
    """Return the largest neurons with optimal weights."""
    atoms, values, _ = unit_atoms(program.lifted(network, program.task.feature), program.p)
    return _retrained(program, atoms.take(np.argsort(-np.linalg.norm(values, axis=1), kind="stable")[:most]))


def _retrained(program: TrainingProgram, atoms: Neurons) -> TwoLayerNetwork:
    """Return the network of some atoms with optimal weights."""
    task = program.task
    problem = LassoProblem(atoms.columns(task.rows), task.targets, program.beta, **program._options(task))
    result = solved_master(problem, None, program._tolerance() / 10, program.max_time)
    columns, values, intercept = result.coefficients
    return _of_neurons(program, WeightedNeurons(atoms.take(columns), values, intercept))


def _of_neurons(program: TrainingProgram, solution: WeightedNeurons) -> TwoLayerNetwork:
    network: TwoLayerNetwork = without_feature(balanced_network(solution, program.p), program.task.feature)
    return network


def _widened(network: TwoLayerNetwork, least: int) -> TwoLayerNetwork:
    """Return the network with neurons without weights where it has fewer than ``least``."""
    spare = (0, max(0, least - len(network.b1)))
    W1, w2 = (np.pad(weights, (spare, (0, 0))) for weights in (network.W1, network.w2))
    return replace(network, W1=W1, b1=np.pad(network.b1, spare), w2=w2)


show_options(polish, VerdictSettings, OPTIONS)
