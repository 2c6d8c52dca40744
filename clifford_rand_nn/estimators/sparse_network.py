"""Networks of few neurons on unique rows: selection of beta, the two convex problems and their bounds."""

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn._progress import phase, step_callback, track
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.estimators.held_out import FOLDS, folds, n_folds
from clifford_rand_nn.estimators.lasso_paths import MOST_ACTIVE, GroupLassoPath
from clifford_rand_nn.kernel_network.candidates import Candidate, Problem, choose
from clifford_rand_nn.kernel_network.kernel_products import spread_rows
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.kernel_network.training import COMPARED
from clifford_rand_nn.networks import balanced_network, without_feature
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import HistoryRow, Result, Status, sure_result, with_status
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet
from clifford_rand_nn.solvers.stopping import settled
from clifford_rand_nn.sparse_rows import with_feature

_SCALINGS = ("column", "common")  # those that are a part of the first layer
_SHARES = 0.5 ** np.arange(1.0, 15.0)  # of the largest beta
_REFITS = (1.0, 0.1, 0.01, 0.001)  # of beta, for the output weights of the neurons that were chosen
_PATIENCE = 3  # betas in a row without a better network, after which smaller ones are not tried
_JUDGED = 5000  # rows that neurons are looked for on, if there are more
_TOL = 1e-6  # relative gap to reach
_HALF = 0.5  # of the time that there is: for the choice
_NOTHING = 1e-13


class NeuronScore(NamedTuple):
    """The score of a beta, with a refit, on held-out rows.

    ``beta`` is that of the group Lasso that chooses the neurons, ``refit`` that of their output weights as a share of
    it (1 stands for none), ``mean_loss`` the mean squared error over the variance of the targets, ``n_neurons`` the
    mean over the folds.
    """

    beta: float
    refit: float
    mean_loss: float
    n_neurons: float


class SparseNetworkChoices(NamedTuple):
    """Gates "optimized" or "row_spanned"; most neurons, beta, seconds and bytes, or None; whether there are classes."""

    gates: str
    n_neurons: int | None
    beta: float | None
    classes: bool
    max_time: float | None = None
    max_memory: float | None = None


class Proved(NamedTuple):
    """A network against others, for distinct rows: `Certificate` has the same for all rows."""

    claim: Any
    beta: float
    objective: float
    lower_bound: float
    dual_point: Array
    scope: str
    n_patterns: int


@dataclass(frozen=True, eq=False)
class TrainedSparseNetwork:
    """A network on unique rows with its proof, and that of the group Lasso by which its neurons were selected.

    ``rows`` (k, m) are the unique rows, or beyond them basis vectors, that span each neuron's hyperplane, m = 0 if
    neurons are free; ``path`` begins with the best. Other names are those of `Trained`.
    """

    proved: Proved
    selection: Proved
    rows: NDArray[np.intp]
    path: list[NeuronScore]
    beta: float
    outputs: Array
    out_of_sample: NDArray[np.bool_]
    candidates: list[Candidate]
    reason: str
    message: str
    history: tuple[HistoryRow, ...]
    status: Status
    metric_selection: None = None
    metric: None = None


def train_sparse_network(problem: Problem, choices: SparseNetworkChoices) -> TrainedSparseNetwork:
    """Choose scaling and constant feature by leave-one-out, beta and refit by held-out rows; solve; bound."""
    with ONE_BLAS_THREAD:  # thousands of small systems, for which threads of BLAS would only wait for each other
        return _train(problem, choices)


def _train(problem: Problem, choices: SparseNetworkChoices) -> TrainedSparseNetwork:
    began = time.perf_counter()
    n = len(problem.X)
    phase("comparing scalings and constant features by leave-one-out")
    sample = problem.take(np.sort(spread_rows(n, min(n, COMPARED))))
    (best,), table = choose(sample, scalings=_SCALINGS, steps=False, n_rows=n)
    standard, Z, kernel = problem.kernel_rows(best.candidate.scaling, best.candidate.bias_feature, products=False)
    feature = kernel.bias or None
    rows = with_feature(Z, feature)
    few = np.sort(spread_rows(n, min(n, _JUDGED)))
    part = problem.take(few)
    path = GroupLassoPath(rows[few], part.targets, part.weights, choices.gates)
    until = None if choices.max_time is None else began + _HALF * choices.max_time
    phase("selecting beta and neurons on held-out rows")
    path_scores, outputs, cut = _searched(part, rows[few], path, choices, until)
    beta, refit = path_scores[0].beta, path_scores[0].refit
    phase(f"training with beta {beta:.3g}")
    chosen = _followed(path, beta)
    whole = len(few) == n
    index = np.arange(len(path.atoms)) if whole else chosen.columns
    limits = WorkingSet(
        tol=_TOL, max_time=choices.max_time, max_memory=choices.max_memory, callback=step_callback(_TOL)
    )

    def solved(
        index: NDArray[np.intp], beta: float, known: Weights, family: Family | None = None
    ) -> tuple[Result[Weights], Proved]:
        atoms = _of_all(path.atoms.take(index), few, n)
        lasso = LassoProblem(atoms.training_columns(rows), problem.targets, beta, sample_weight=problem.weights)
        start = known._replace(columns=np.searchsorted(index, known.columns))
        solution = limits.after(time.perf_counter() - began).solve_columns(lasso, start)
        listed = Neurons.free(atoms.directions, atoms.offsets)  # duplicates of rows change places, on which they lie
        family = family or Family("neurons", path.p, False, listed, feature)
        prices, norm = np.ptp(problem.targets, axis=0), family.dual_norm(Z, solution.dual_point)
        sure = sure_result(solution, lasso.datafit, rows, beta, prices=prices, norm=norm)
        return solution, _proved(sure, atoms, beta, family, standard, Z)

    exact = Family.of(path.dictionary, feature) if whole and path.dictionary.is_exact else None
    result, selection = solved(index, beta, chosen, exact)
    result = settled(result)
    proved, reason = selection, f"group Lasso over {len(index):,} neurons" + (f"; {cut}" if cut else "")
    most, active = choices.n_neurons, index[result.coefficients.columns]
    if refit < 1 or (most is not None and len(active) > most):
        again = path.refitted(chosen, refit * beta, most)  # as on the held-out rows
        kept = again.columns
        first = result
        result, proved = solved(kept, refit * beta, again)
        result = with_status(result, first.status) if first.interrupted else result
        stay = f"of {len(chosen.columns)} in use {len(kept)} stay"
        reason += f"; {stay}, output weights refitted at {refit:g} of its beta"
        active = kept[result.coefficients.columns]
    every, out_of_sample = np.zeros((n, outputs.shape[1])), np.zeros(n, dtype=bool)
    every[few], out_of_sample[few] = np.nan_to_num(outputs), ~np.isnan(outputs).any(axis=1)
    return TrainedSparseNetwork(
        proved=proved,
        selection=selection,
        rows=_of_all(path.atoms.take(active), few, n).rows,
        path=path_scores,
        beta=proved.beta,
        outputs=every,
        out_of_sample=out_of_sample,
        candidates=table,
        reason=reason,
        message="; ".join(filter(None, (cut, "" if result.converged else result.message))),
        history=result.history,
        status=result.status,
    )


def _proved(
    result: Result[Weights], atoms: Neurons, beta: float, family: Family, standard: Standardization, Z: Array
) -> Proved:
    columns, values, intercept = result.coefficients
    solution = WeightedNeurons(atoms.take(columns), values, intercept)
    network = without_feature(balanced_network(solution, family.p), family.feature)
    pricer = family.pricer(Z)
    return Proved(
        claim=NetworkClaim(network, family, standard),
        beta=beta,
        objective=result.objective,
        lower_bound=result.objective - result.duality_gap,
        dual_point=result.dual_point,
        scope=pricer.scope if family.kind == "all" else f"over {len(atoms):,} neurons that were listed",
        n_patterns=pricer.n_atoms,
    )


def _searched(
    problem: Problem, rows: Array, path: GroupLassoPath, choices: SparseNetworkChoices, until: float | None
) -> tuple[list[NeuronScore], Array, str]:
    """Return what betas and refits come to on held-out rows, best first, the best one's outputs, and a warning.

    Rows that are not held out have NaN for outputs. The warning is empty unless max_time ended the selection.
    """
    betas = path.top * _SHARES if choices.beta is None else np.array([choices.beta])
    if path.top <= _NOTHING * float(np.abs(rows).max() * np.abs(problem.targets).max()):
        betas = np.ones(1) if choices.beta is None else betas  # a constant target: there are no neurons
    refits = (1.0,) if choices.beta is not None and choices.n_neurons is None else _REFITS
    parts = []
    for held in _held_out(problem, choices.classes):
        there = problem.take(np.flatnonzero(~held))
        parts.append((held, GroupLassoPath(rows[~held], there.targets, there.weights, choices.gates)))
    held_out = np.any([held for held, _ in parts], axis=0)
    judged = problem.take(np.flatnonzero(held_out))
    scored: list[NeuronScore] = []
    best, outputs, rest, cut = np.inf, np.full(problem.targets.shape, np.nan), 0, ""
    for beta in track(betas, len(betas), "beta"):
        f = np.full((len(refits), *problem.targets.shape), np.nan)
        counts = np.zeros((len(parts), len(refits)))
        active = []
        for k, (held, part_path) in enumerate(parts):
            chosen = part_path.at(float(beta)) if len(betas) > 1 else _followed(part_path, float(beta))
            active.append(len(chosen.columns))
            for i, share in enumerate(refits):
                within = choices.n_neurons is None or len(chosen.columns) <= choices.n_neurons
                now = chosen if within and share == 1 else part_path.refitted(chosen, share * beta, choices.n_neurons)
                f[i, held], counts[k, i] = part_path.predictions(now, rows[held]), len(now.columns)
        errors = np.average((f[:, held_out] - problem.targets[held_out]) ** 2, axis=1, weights=judged.weights)
        scores = judged.score(errors)
        scored += [
            NeuronScore(float(beta), share, float(score), float(count))
            for share, score, count in zip(refits, scores, counts.mean(axis=0), strict=True)
        ]
        rest += 1
        if scores.min() < best:
            best, outputs, rest = float(scores.min()), f[int(scores.argmin())], 0
        if rest >= _PATIENCE or np.mean(active) > MOST_ACTIVE:
            break
        if beta > betas[-1] and until is not None and time.perf_counter() > until:
            cut = f"max_time ended the selection of beta after {len(scored) // len(refits)} of {len(betas)} values"
            break
    return sorted(scored, key=lambda score: score.mean_loss), outputs, cut


def _held_out(problem: Problem, classes: bool) -> list[NDArray[np.bool_]]:
    """Return as many of five folds as hold out some 500 rows; those of groups, where there are some."""
    n = len(problem.X)
    if problem.groups is not None:
        splits = GroupKFold(min(FOLDS, int(problem.groups.max()) + 1)).split(problem.X, groups=problem.groups)
        place = np.empty(n, dtype=np.intp)
        for k, (_, held) in enumerate(splits):
            place[held] = k
    else:
        place = folds(np.asarray(problem.X, dtype=np.float64), problem.targets, classes)
        alone = np.flatnonzero(place < 0)  # the only row of its class
        place[alone] = np.arange(len(alone)) % FOLDS
    return [place == k for k in range(FOLDS) if (place == k).any() and (place != k).any()][: n_folds(n)]


def _followed(path: GroupLassoPath, beta: float) -> Weights:
    """Return the solution at beta, by way of larger ones, as in the folds."""
    for larger in path.top * _SHARES:
        if larger <= beta * (1 + 1e-9):
            break
        path.at(float(larger))
    return path.at(beta)


def _of_all(atoms: Neurons, few: NDArray[np.intp], n: int) -> Neurons:
    """Return neurons with their spanning rows counted among all n, of which they know a few."""
    if not atoms.rows.shape[1]:
        return atoms
    places = np.concatenate([few, n + np.arange(atoms.d)])
    return Neurons(atoms.directions, atoms.offsets, places[atoms.rows].astype(np.intp))
