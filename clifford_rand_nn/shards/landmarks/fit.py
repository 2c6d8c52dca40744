"""From shards to a network over landmarks: what is chosen, the sums, every beta, and what is proved."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import quantity
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.candidates import Candidate
from clifford_rand_nn.kernel_network.metric.metric_selection import LearnedRounds
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.training import Choices
from clifford_rand_nn.row_sums.engine import Engine
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.landmarks.cost_model import NEWTON_PASSES, PASSES
from clifford_rand_nn.shards.landmarks.logistic import fit_logistic
from clifford_rand_nn.shards.landmarks.sample import Drawn, chosen_by, parted
from clifford_rand_nn.shards.landmarks.setting import Fitted, Saved, Setting, sized
from clifford_rand_nn.shards.landmarks.squares import fit_squares
from clifford_rand_nn.shards.scan import Facts
from clifford_rand_nn.solvers.base import HistoryRow, Status, explain


@dataclass(frozen=True, eq=False)
class Trained:
    r"""A network over landmarks, and what is known of it.

    Attributes
    ----------
    network : KernelNetwork
    rows : (m,) int
        The landmarks, by their index among all rows.
    held : Drawn
        The rows that beta was judged on.
    outputs : (h, C)
        What a fit without them says of them.
    beta : float
    primal, dual : float
    scale : (C,)
        The dual point of row i is :math:`s\\,\\omega_i(y_i-f(x_i))`, :math:`\\omega` of mean 1.
    candidates : list of Candidate
        The betas on the rows held out, best first, then what the sample was asked.
    rounds : LearnedRounds or None
    metric : (d, d) or None
    scope, reason : str
    status : Status
    message : str
        What it says; empty where the tolerance was reached.
    history : tuple of HistoryRow
    state : Saved or None
        Without sums where nobody asked for states; None if an interrupt left those of the sample.
    """

    network: KernelNetwork
    rows: NDArray[np.int64]
    held: Drawn
    outputs: Array
    beta: float
    primal: float
    dual: float
    relative_gap: float
    scale: Array
    candidates: list[Candidate]
    rounds: LearnedRounds | None
    metric: Array | None
    scope: str
    reason: str
    status: Status
    message: str
    history: tuple[HistoryRow, ...]
    state: Saved | None


def train(
    engine: Engine,
    facts: Facts,
    targets: Targets,
    choices: Choices,
    owner: str,
    state: Saved | None = None,
    save: Callable[[Callable[[], Saved]], object] | None = None,
    logistic: Targets | None = None,
) -> Trained:
    """Choose from the sample, sum normal equations in one pass, take the best beta, solve, and bound.

    Parameters
    ----------
    engine : Engine
    facts : Facts
    targets : Targets
        Of the squared loss, by which the sample chooses.
    choices : Choices
    owner : str
        Whose errors these are.
    state : Saved, optional
        To go on from.
    save : callable, optional
        Called after every pass with what makes the state.
    logistic : Targets, optional
        Of the logistic loss or the softmax, where that is what is trained.
    """
    began = time.perf_counter()
    learn, held = parted(facts, targets, owner)
    chosen = chosen_by(facts, learn, choices.beta, choices.rounds, choices.mistakes, owner)
    outputs = held.targets.shape[1]
    passes = PASSES if logistic is None else NEWTON_PASSES
    size, some = sized(engine, facts, chosen, choices, outputs, owner, passes) if state is None else state[:2]
    here = Setting(engine, facts, chosen, choices, learn, held, size, some, state, save, began)
    found = fit_squares(here, targets) if logistic is None else fit_logistic(here, logistic)
    best, rows = found.best, here.rows
    how = f"sums in {'single' if size.single else 'double'} precision"
    if not found.whole:
        how = f"an interrupt ended the pass over all rows, and {len(learn)} of them say what the network is"
    return Trained(
        network=KernelNetwork(chosen.standard, chosen.kernel, here.Z, here.span.coefficients(best.u), best.intercept),
        rows=rows.index,
        held=held,
        outputs=found.outputs,
        beta=found.beta,
        primal=best.primal,
        dual=best.dual,
        relative_gap=best.gap,
        scale=best.scale,
        candidates=[*found.candidates, *chosen.candidates],
        rounds=chosen.rounds,
        metric=chosen.metric,
        scope=f"over functions in the span of {len(rows)} landmarks, and an intercept",
        reason=(
            f"n = {facts.n} in shards: {len(rows)} landmarks, expected {size.seconds:.2g} s on two cores and "
            f"{quantity(size.bytes)}; {how}"
        ),
        status=found.status,
        message="" if found.status is Status.OPTIMAL else _explained(found, here.seconds()),
        history=found.history,
        state=found.state,
    )


def _explained(found: Fitted, seconds: float) -> str:
    """Return the status in words; there is no number of steps and no tolerance to be given."""
    advice = "a larger beta is solved sooner" if found.status in (Status.MAX_ITER, Status.STALLED) else ""
    return explain(found.status, found.n_iter, seconds, found.best.gap, advice)
