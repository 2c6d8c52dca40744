"""`certify` and `polish`: how far a trained network is from the optimum at most, and a better network.

`polish` improves it by the convex program of its problem, and returns it in its own form.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import ArrayLike
from clifford_rand.print_options import html_table
from clifford_rand_nn._records import TextShown, show_options
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.estimators.foreign_networks import OPTIONS, VerdictSettings, read_network
from clifford_rand_nn.estimators.foreign_program import Solution, TrainingProgram
from clifford_rand_nn.networks import TwoLayerNetwork, balanced_network, unit_atoms, without_feature
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.lasso_working_set import solved_master

_ROUNDING = 1e-9  # a share below it is rounding noise


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Verdict:
    """By how much the training objective of a network is above the optimum of a family of networks, at most.

    No network of the family has an objective below ``lower_bound``, so the network's is at most (1 + ``excess``) times
    the optimum. It is a statement about training, and says nothing about new rows. Made by `certify`.

    Attributes
    ----------
    objective : float
        Of the network, with the least penalty that rescaling of its neurons gives.
    lower_bound : float
        No network of the family has a lower objective.
    excess : float
        ``objective / lower_bound - 1``; infinite where no bound above 0 is known.
    scope : str
        The family: "any width", or a number of activation patterns.
    best_known_objective : float
        The lowest objective of a network that is known, the given one's or that of the convex program: the optimum
        lies between ``lower_bound`` and it.
    certificate : Certificate
        The proof, which ``certificate.verify(X, y)`` checks.
    patterns : Verdict or None
        Where not every neuron can be priced, the bound of networks of any width is that of a relaxation. This is the
        verdict over activation patterns, which is sharper, and holds for fewer networks.
    """

    objective: float
    lower_bound: float
    excess: float
    scope: str
    best_known_objective: float
    certificate: Certificate
    patterns: "Verdict | None" = None

    def __str__(self) -> str:
        also = "" if self.patterns is None else f"; {self.patterns}"
        if not np.isfinite(self.excess):
            return f"no lower bound above 0 of the best network {self.scope}: try a larger max_time or beta{also}"
        return f"at most {percentage(self.excess)} above the best network {self.scope}{also}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self) -> str:
        proof = self.certificate
        values = {
            "training objective": f"{self.objective:.8g}",
            "above the optimum": f"at most {percentage(self.excess)}",
            "lower bound": f"{self.lower_bound:.8g}",
            "lowest objective known": f"{self.best_known_objective:.8g}",
            "family": self.scope,
            "loss, beta": f"{proof.loss}, {proof.beta:.4g}",
        }
        note = f"the network's training objective is {self}; this says nothing about new rows"
        return html_table(list(values.items()), note=note)


def percentage(share: float) -> str:
    """Return a share in per cent, of three digits, never below it.

    >>> percentage(0.13201), percentage(0.0), percentage(12.345)
    ('13.3 %', '0 %', '1,240 %')
    """
    if not 0 < share < np.inf:
        return f"{100 * share:g} %"
    share = max(share, _ROUNDING)
    unit = 10.0 ** (np.floor(np.log10(share)) - 2)
    above = 100 * unit * np.ceil(share / unit * (1 - 1e-12))
    return f"{above:,.0f} %" if above >= 1000 else f"{above:.3g} %"


def certify(network: Any, X: ArrayLike, y: ArrayLike, **options: Any) -> Verdict:
    r"""State by how much the objective of any trained two-layer ReLU network is above the optimum at most.

    .. math:: F = \frac1n\sum_i\ell(f(x_i), y_i) + \beta\sum_j||W_j||_p||\alpha_j||_2,\qquad
              f(x) = \sum_j\alpha_j(W_j\cdot x+b_j)_+ + c

    The penalty is the least of :math:`\frac12\sum_j(||W_j||_p^2+||\alpha_j||_2^2)` over rescalings of the neurons,
    which change no prediction. The convex program of the same problem is trained from the network's neurons. Its dual
    point bounds the objective of every network of a family from below: of all networks of any width, where every
    neuron there is can be priced in time; else of all whose neurons have the activation patterns of the network, of
    linear models or of sampled hyperplanes. Then networks of any width are bounded by a semidefinite relaxation, which
    branch and bound makes sharper for half of ``max_time``.

    Parameters
    ----------
    network : network
        A ``torch.nn.Sequential(Linear, ReLU, Linear)`` or its ``state_dict()``; a fitted ``MLPClassifier`` or
        ``MLPRegressor`` with one hidden layer of ReLU neurons; arrays (W1 (m, d), b1 (m,) or None, w2 (m, C), b2 (C,)
        or None); a `TwoLayerNetwork`; or a fitted estimator with one.
    X : (n, d) array
        The training rows, scaled as the network takes them.
    y : (n,) or (n, C) array
        The targets: labels, or for "logistic" a multilabel matrix of 0 and 1.
    {shared}

    Returns
    -------
    Verdict

    Raises
    ------
    ArgumentError
        The network has another form, or rows, targets and options do not fit it; all neurons are asked for and are
        too many to be priced.

    References
    ----------
    Pilanci and Ergen, "Neural networks are convex regularizers", ICML 2020.

    Examples
    --------
    >>> from clifford_rand_nn import certify
    >>> x = np.linspace(-1, 1, 21)[:, None]
    >>> arrays = np.array([[1.0], [-1.0]]), np.zeros(2), np.array([0.9, 0.9]), 0.05
    >>> verdict = certify(arrays, x, np.abs(x[:, 0]), loss="squared", beta=1e-2)
    >>> print(verdict)
    at most 3.55 % above the best network of any width
    >>> bool(verdict.certificate.verify(x, np.abs(x[:, 0])).lower_bound <= verdict.objective)
    True
    """
    program = TrainingProgram.of(network, X, y, VerdictSettings(**options), "certify")
    solution = program.solve()
    verdict = verdict_of(solution.certificate, solution.objective)
    if program.is_sampled:
        every = verdict_of(program.of_any_width(solution.certificate), solution.objective)
        return replace(every, patterns=verdict)
    return verdict


def verdict_of(certificate: Certificate, lowest: float) -> Verdict:
    """Return the verdict of a network's certificate, with the lowest objective that is known."""
    primal, dual = certificate.objective, certificate.lower_bound
    excess = max(primal / dual - 1, 0.0) if dual > 0 else float("inf")
    words = "of any width" if certificate.scope.startswith("global") else certificate.scope
    return Verdict(
        objective=primal,
        lower_bound=dual,
        excess=excess,
        scope=words,
        best_known_objective=min(primal, lowest),
        certificate=certificate,
    )


show_options(certify, VerdictSettings, OPTIONS)


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
