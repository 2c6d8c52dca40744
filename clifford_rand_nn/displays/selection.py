"""Text about a fitted model: its network, the parameters that the data selected, its certificate and solver."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clifford_rand_nn.certificates.claims import KernelClaim, NetworkClaim
from clifford_rand_nn.estimators.lasso import CrossProductLasso
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork
from clifford_rand_nn.kernel_network.metric_selection import Trial
from clifford_rand_nn.kernel_network.target_transform import TargetTransform
from clifford_rand_nn.networks import TwoLayerNetwork

SCALINGS = {
    "column": "each column standardized",
    "soft": "each column standardized, outliers clipped",
    "common": "columns centered, all divided by one number",
    "rank": "each column mapped to normal scores of its ranks",
}
Lines = list[tuple[str, str]]  # names and values


@dataclass(frozen=True)
class Choice:
    """A parameter that was selected from the data."""

    name: str
    value: str
    candidates: str  # the values that were compared
    method: str  # the rows or the rule that decided


def describe_model(model: Any) -> str:
    """Return the kind of a fitted model in a few words.

    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> describe_model(GatedReLUClassifier(n_gates=8, beta=1e-3, bias=True, random_state=0).fit(*spiral()))
    'GatedReLUClassifier: a gated ReLU network of 8 neurons'
    """
    name = type(model).__name__
    claim, network = model.certificate_.claim, model.network_
    if isinstance(claim, KernelClaim):
        return f"{name}: a gated ReLU network of infinite width, by its kernel on {len(network.rows)} rows"
    if isinstance(claim, NetworkClaim):
        return f"{name}: a ReLU network of {_neurons(network.n_neurons)}"
    used = network.n_neurons if isinstance(network, TwoLayerNetwork) else len(model.gates_)
    return f"{name}: a gated ReLU network of {_neurons(used)}"


def proof_dict(model: Any) -> dict[str, Any]:
    """Return the certificate of a fitted model as plain values."""
    proof = model.certificate_
    names = ("sentence", "objective", "lower_bound", "relative_gap", "scope", "loss", "beta")
    return {name: getattr(proof, name) for name in names}


def solver_text(model: Any) -> str:
    """Return the solver of a fit, its iterations and the reason for it."""
    result = model.result_
    if not result.solver:
        return str(result.reason)
    steps = "1 step" if result.n_iter == 1 else f"{result.n_iter} steps"
    return f"{result.solver}, {steps}" + (f"; {result.reason}" if result.reason else "")


def loo_line(model: Any) -> Lines:
    """Return the score of a tuning-free network on left-out or held-out rows; nothing for others."""
    if not hasattr(model, "loo_score_"):
        return []
    score = "accuracy" if hasattr(model, "classes_") else "R²"
    return [(f"out-of-sample {score}", f"{model.loo_score_:.4f}, on the training set")]


def interval_text(model: Any, rows: str) -> str | None:
    """Return the width of the intervals for ``rows``; None for models without intervals."""
    if not hasattr(model, "intervals_"):
        return None
    how = "leave-one-out" if model.neuron_scores_ is None and model.metric_ is None else "held-out rows"
    how = "blocks of later rows" if model.n_order_blocks_ else how
    wider = ", more where rows are few" if model.intervals_.shares.any() else ""
    varies = model.intervals_.noise_weights is not None
    at = " at the mean noise level, in proportion to that of the row elsewhere" if varies else ""
    half, transform = float(model.intervals_.quantile(0.9)[0]), model.target_transform_
    width = f"±{half:.4g} of the prediction"
    if transform.name != "none":
        low, high = (transform.quantile(transform.forward(transform.unit) + sign * half) for sign in (-1, 1))
        width = f"{low:.4g} to {high:.4g} where the median is {transform.unit:.4g}"
    return f"90 % of {rows} within {width}{at}{wider}, estimated by {how}"


def problem_lines(model: Any) -> Lines:
    """Return the problem of a model with finitely many gates or neurons, its candidates, and its neurons."""
    if isinstance(model, BaseConvexNetwork):
        return []
    penalty = getattr(model, "penalty_", model.penalty)
    lines = [("problem", f"{model.loss_} loss, {penalty} penalty, beta {model.beta_:.3g}")]
    if isinstance(model.certificate_.claim, KernelClaim):
        return [*lines, ("gates", "all Gaussian ones, in the limit of infinitely many, by their kernel")]
    return [*lines, *_candidates(model), ("neurons", str(model.network_.n_neurons))]


def _candidates(model: Any) -> Lines:
    if isinstance(model, CrossProductLasso):
        dictionary = model.dictionary_
        words = "all" if dictionary.subsample is None else f"{dictionary.subsample:,} sampled"
        columns = f"{words} cross products of rows, both signs: {dictionary.n_columns:,} columns"
        return [("dictionary", columns), *(("note", note) for note in dictionary.notes)]
    gates = getattr(model, "candidate_gates_", model.gates_)  # of a gated network, those of the neurons are all
    if gates is None or gates.method == "exhaustive":
        return [("gates", f"every activation pattern: {model.certificate_.n_patterns:,}")]
    sketch = "" if gates.sketch_dim is None else f", sketched to {gates.sketch_dim} dimensions"
    sampled = f"{model.n_gates} {gates.method}{sketch}"
    if gates.method == "refined":
        sampled = f"{model.n_gates} {model.gates}, then refined up to {model.n_refinements} times"
    return [("gates", f"{sampled}; {len(gates)} unique patterns"), *(("note", note) for note in gates.notes)]


def choices(model: Any) -> tuple[Choice, ...]:
    """Return the parameters that a fit selected from the data; nothing for those that were given."""
    if hasattr(model, "loo_score_"):
        return (*_scaling(model), *_network_beta(model), *_gates(model), *_loss(model), *_target_transform(model))
    return _finite(model)


def _neurons(count: int) -> str:
    return "1 neuron" if count == 1 else f"{count} neurons"


def _scaling(model: Any) -> list[Choice]:
    best = model.candidates_[0]
    scalings = list(dict.fromkeys(candidate.scaling for candidate in model.candidates_))
    biases = sorted({candidate.bias_feature for candidate in model.candidates_})
    by = f"leave-one-out squared error on {best.n_rows} rows, {best.mean_loss:.3f} of the variance"
    selected = []
    if len(scalings) > 1:
        among = f"{len(scalings)} scalings ({', '.join(sorted(scalings))})"
        selected.append(Choice("scaling", SCALINGS[best.scaling], among, by))
    if len(biases) > 1:
        among = ", ".join(f"{bias:g}" for bias in biases)
        selected.append(Choice("constant feature", f"{best.bias_feature:g}", among, by))
    same = [candidate.mean_loss for candidate in model.candidates_ if candidate.n_rows == best.n_rows]
    if min(same) < best.mean_loss:  # another was the first
        by = "error on held-out rows, of the best of each kind of gates with a learned metric"
    steps = sorted({candidate.steps for candidate in model.candidates_})
    if len(steps) > 1:
        among = ", ".join(f"{weight:g}" for weight in steps)
        selected.append(Choice("weight of gates in single columns or boxes", f"{best.steps:g}", among, by))
    decays = sorted({candidate.decay for candidate in model.candidates_})
    if best.steps and len(decays) > 1:
        among = ", ".join(f"{decay:g}" for decay in decays)
        selected.append(Choice("decay of gates in boxes (0: single columns)", f"{best.decay:g}", among, by))
    return selected


def _network_beta(model: Any) -> list[Choice]:
    if not isinstance(model.beta, str):
        return []
    if model.neuron_scores_ is None:
        among = "a grid over all useful sizes for one candidate, and values near it for the others"
        return [Choice("beta", f"{model.beta_:.3g}", among, "leave-one-out")]
    betas = {score.beta for score in model.neuron_scores_}
    count = f"{model.network_.n_neurons} neurons"
    among = f"{len(betas)} values from {max(betas):.2g} to {min(betas):.2g}, each refitted or not"
    return [Choice("beta and neurons", f"{model.beta_:.3g}, {count}", among, "held-out rows")]


def _gates(model: Any) -> list[Choice]:
    name, selection = "gate distribution", model.metric_selection_
    if selection is None:
        return []
    among = f"0 to {max(trial.n_iter for trial in selection.trials)} iterations of a learned metric"
    among += ", then rates of boxes" if any(trial.shape == "rates" for trial in selection.trials) else ""
    before = selection.trials[0].mean_loss
    if model.metric_ is None and selection.is_learned:
        value = "isotropic (no time for the logistic loss with the learned metric)"
        return [Choice(name, value, among, f"the limit of {model.max_time:g} seconds")]
    if model.metric_ is None:
        return [Choice(name, "isotropic (learned metric not selected)", among, _why_isotropic(selection.trials))]
    times = "1 iteration" if selection.n_iter == 1 else f"{selection.n_iter} iterations"
    learned = [f"learned metric (AGOP), {times}, {selection.shape}"] if selection.n_iter else []
    learned += ["learned rates of boxes"] if selection.rates else []
    with_rates = [trial for trial in selection.trials if trial.shape == "rates"]
    metric = selection.shape, selection.n_iter
    iterations = [trial for trial in selection.trials if (trial.shape, trial.n_iter) == metric]
    taken = with_rates[selection.rates - 1] if selection.rates else iterations[0]
    why = f"error on held-out rows {taken.mean_loss:.3g}, isotropic {before:.3g}"
    return [Choice(name, "; ".join(learned), among, why)]


def _why_isotropic(trials: Sequence[Trial]) -> str:
    """Return the gain of a learned metric, and why that was not enough: see `select_metric`."""
    if len(trials) < 2:
        return "held-out rows"
    before, best = trials[0], min(trials[1:], key=lambda trial: trial.mean_loss)
    learned = "learned rates" if best.shape == "rates" else "a learned metric"
    why = f"error on held-out rows {before.mean_loss:.3g}, with {learned} {best.mean_loss:.3g}"
    if best.gain <= 0:
        return why
    if best.gain <= best.gain_std_error:
        return f"{why}: a gain of {best.gain:.2g}, within its standard error, {best.gain_std_error:.2g}, may be chance"
    return f"{why}, but {best.error_rate:.1%} wrong labels, isotropic {before.error_rate:.1%}"


def _loss(model: Any) -> list[Choice]:
    losses = getattr(model, "loss_scores_", {})
    if len(losses) < 2:
        return []
    values = ", ".join(f"{value:.4f} with {name}" for name, value in losses.items())
    overruled = model.loss_ == "squared" and losses["logistic"] < losses["squared"]
    but = "; logistic has more wrong labels" if overruled else ""
    by = f"leave-one-out negative log-likelihood, {values}{but}"
    return [Choice("loss", model.loss_, " and ".join(losses), by)]


def _target_transform(model: Any) -> list[Choice]:
    scores = getattr(model, "target_transform_scores_", None)
    if not scores:
        return []
    among = ", ".join(TargetTransform(score.name).formula.replace("/1)", ")") for score in scores)
    by = f"leave-one-out squared error of y, {', '.join(f'{s.mean_loss:.3f} with {s.name}' for s in scores)}"
    return [Choice("target", model.target_transform_.formula, among, by)]


def _finite(model: Any) -> tuple[Choice, ...]:
    if not model.candidates_:
        return ()
    betas = [score.beta for score in model.candidates_]
    best = next((score for score in model.candidates_ if score.beta == model.beta_), None)
    if best is None:
        by = "max_time, which ended the comparison: its loss is not known"
    else:
        by = f"mean loss on held-out rows, {best.mean_loss:.3g}"
        by += "" if best.error_rate is None else f", with {best.error_rate:.1%} wrong labels"
    among = f"{len(betas)} values from {max(betas):.2g} to {min(betas):.2g}"
    if len(betas) == 1:
        among = "one value: there was no time for more, or nothing to learn"
    selected = [Choice("beta", f"{model.beta_:.3g}", among, by)]
    if getattr(model, "loss", "") == "auto":
        selected.append(Choice("loss", str(model.loss_), "squared and logistic", "held-out rows"))
    return tuple(selected)
