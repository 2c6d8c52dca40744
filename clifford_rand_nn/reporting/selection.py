"""Text about the selected model, its alternatives and its certificate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clifford_rand_nn.claims import KernelClaim, NetworkClaim
from clifford_rand_nn.kernel_network.metric.metric_selection import Trial
from clifford_rand_nn.networks import TwoLayerNetwork

SCALINGS = {
    "column": "each column standardized",
    "soft": "each column standardized, tails drawn in",
    "common": "columns centered, all divided by one number",
}


@dataclass(frozen=True)
class Choice:
    """One thing that the data chose.

    Attributes
    ----------
    name, value : str
    among : str
        What it was chosen between.
    by : str
        Which rows or which rule decided.
    """

    name: str
    value: str
    among: str
    by: str


def describe_model(model: Any) -> str:
    """Return what a fitted model is, in a few words.

    Examples
    --------
    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> describe_model(GatedReLUClassifier(n_gates=8, beta=1e-3, bias=True, random_state=0).fit(*spiral()))
    'GatedReLUClassifier: a gated ReLU network of 8 neurons'
    """
    name = type(model).__name__
    claim, network = model.certificate_.claim, model.network_
    if isinstance(claim, KernelClaim):
        return f"{name}: infinitely many gates, by their kernel on {len(network.rows)} rows"
    if isinstance(claim, NetworkClaim):
        return f"{name}: a ReLU network of {_neurons(network.n_neurons)}"
    used = network.n_neurons if isinstance(network, TwoLayerNetwork) else len(model.gates_)
    return f"{name}: a gated ReLU network of {_neurons(used)}"


def choices(model: Any) -> tuple[Choice, ...]:
    """Return what a fitted model chose from the data; nothing for what was given."""
    if hasattr(model, "loo_score_"):
        return (*_scaling(model), *_network_beta(model), *_gates(model), *_loss(model))
    return _finite(model)


def prove(model: Any) -> str:
    """Return what the certificate of a fitted model proves, in one sentence."""
    proof = model.certificate_
    within = "at" if proof.relative_gap == 0 else f"within {proof.relative_gap:.1e} (relative) of"
    scope = proof.scope.removeprefix("over ")
    return (
        f"the training objective {proof.primal:.6g} is proved to be {within} its optimum over {scope}; "
        "this says nothing about new rows"
    )


def _neurons(count: int) -> str:
    return "1 neuron" if count == 1 else f"{count} neurons"


def _scaling(model: Any) -> list[Choice]:
    best = model.candidates_[0]
    scalings = list(dict.fromkeys(one.scaling for one in model.candidates_))
    biases = sorted({one.bias for one in model.candidates_})
    by = f"squared error of {best.n} rows left out, {best.score:.3f} of the variance"
    found = []
    if len(scalings) > 1:
        among = f"{len(scalings)} scalings ({', '.join(sorted(scalings))})"
        found.append(Choice("scaling", SCALINGS[best.scaling], among, by))
    if len(biases) > 1:
        among = ", ".join(f"{bias:g}" for bias in biases)
        found.append(Choice("constant feature", f"{best.bias:g}", among, by))
    return found


def _network_beta(model: Any) -> list[Choice]:
    if not isinstance(model.beta, str):
        return []
    if model.path_ is None:
        return [Choice("beta", f"{model.beta_:.3g}", "a grid over all useful sizes, refined", "rows left out")]
    betas = {score.beta for score in model.path_}
    count = f"{model.network_.n_neurons} neurons"
    among = f"{len(betas)} values from {max(betas):.2g} to {min(betas):.2g}, each refitted or not"
    return [Choice("beta and neurons", f"{model.beta_:.3g}, {count}", among, "held-out rows")]


def _gates(model: Any) -> list[Choice]:
    rounds = model.rounds_
    if rounds is None:
        return []
    most = f"0 to {max(trial.rounds for trial in rounds.trials)} rounds of learning"
    before = rounds.trials[0].error
    if model.metric_ is None and rounds.rounds:
        value = "as it is, not learned: there was no time for the logistic loss on learned gates"
        return [Choice("law of the gates", value, most, f"the limit of {model.max_time:g} seconds")]
    if model.metric_ is None:
        return [Choice("law of the gates", "as it is, not learned", most, _why_not_learned(rounds.trials))]
    after = next(t.error for t in rounds.trials if (t.shape, t.rounds) == (rounds.shape, rounds.rounds))
    times = "1 round" if rounds.rounds == 1 else f"{rounds.rounds} rounds"
    why = f"error of held-out rows {after:.3g}, without learning {before:.3g}"
    return [Choice("law of the gates", f"learned in {times}, {rounds.shape}", most, why)]


def _why_not_learned(trials: Sequence[Trial]) -> str:
    """Return what learned gates gained, and why that was not enough: see `learned_rounds`."""
    if len(trials) < 2:
        return "held-out rows"
    before, best = trials[0], min(trials[1:], key=lambda trial: trial.error)
    why = f"error of held-out rows {before.error:.3g}, with learned gates {best.error:.3g}"
    if best.gain <= 0:
        return why
    if best.gain <= best.standard_error:
        return f"{why}: a gain of {best.gain:.2g}, within its standard error, {best.standard_error:.2g}, may be chance"
    return f"{why}, but {best.mistakes:.1%} of them decided wrongly, {before.mistakes:.1%} without"


def _loss(model: Any) -> list[Choice]:
    found = getattr(model, "losses_", {})
    if len(found) < 2:
        return []
    told = ", ".join(f"{value:.4f} with {name}" for name, value in found.items())
    vetoed = model.loss_ == "squared" and found["logistic"] < found["squared"]
    but = "; logistic gets more labels wrong" if vetoed else ""
    by = f"negative log-likelihood of rows left out, {told}{but}"
    return [Choice("loss", model.loss_, " and ".join(found), by)]


def _finite(model: Any) -> tuple[Choice, ...]:
    if not model.candidates_:
        return ()
    betas = [score.beta for score in model.candidates_]
    best = next((score for score in model.candidates_ if score.beta == model.beta_), None)
    if best is None:
        by = "max_time, which ended the comparison: its loss is not known"
    else:
        by = f"mean loss of held-out rows, {best.loss:.3g}"
        by += "" if best.wrong is None else f", with {best.wrong:.1%} wrong labels"
    among = f"{len(betas)} values from {max(betas):.2g} to {min(betas):.2g}"
    if len(betas) == 1:
        among = "one value: there was no time for more, or nothing to learn"
    found = [Choice("beta", f"{model.beta_:.3g}", among, by)]
    if getattr(model, "loss", "") == "auto":
        found.append(Choice("loss", str(model.loss_), "squared and logistic", "held-out rows"))
    return tuple(found)
