"""What ``clifford-rand fit`` reports of a network without knobs: what was compared, chosen and promised."""

from typing import Any

from clifford_rand_nn.cli.console import show_table

_SCALINGS = {
    "column": "each standardised",
    "soft": "each standardised, tails drawn in",
    "common": "centred, all divided by one number",
}


def scaling(model: Any) -> str:
    """Say how features are scaled."""
    return _SCALINGS[model.candidates_[0].scaling]


def chosen(model: Any) -> list[tuple[str, str]]:
    """Return what was chosen, as names and values."""
    best, few = model.candidates_[0], model.path_ is not None
    what = f"{model.network_.n_neurons} neurons" if few else "infinitely many gates"
    rows = [
        ("model", f"{type(model).__name__}: {what}, constant feature {best.bias:g}"),
        ("beta", f"{model.beta_:.3g}, " + ("chosen" if isinstance(model.beta, str) else "as given")),
        *_loss(model),
    ]
    return rows if few else [*rows, ("learned gates", _learned(model))]


def promises(model: Any, score: str, what: str) -> list[tuple[str, str]]:
    """Say what ``what`` is expected to give, and how that is known."""
    exact = model.path_ is None and model.metric_ is None
    how = "leave-one-out" if exact else "rows that were held out"
    rows = [(f"promised {score}", f"{model.loo_score_:.4f} for {what}, by {how}")]
    if hasattr(model, "calibration_"):
        rows.append(("probabilities", f"calibrated; negative log-likelihood {model.calibration_.loss:.3f} by {how}"))
    if hasattr(model, "intervals_"):
        wider = ", more where rows are few" if model.intervals_.shares.any() else ""
        half = float(model.intervals_.quantile(0.9)[0])
        rows.append(("intervals", f"90 % of new values within ±{half:.4g} of the prediction{wider}"))
    return rows


def show_compared(model: Any) -> None:
    """Print what leave-one-out compared, best first."""
    rows = [
        (one.scaling, f"{one.bias:g}", f"{one.beta:.2g}", f"{one.score:.4f}", str(one.n)) for one in model.candidates_
    ]
    title = "compared by leave-one-out: squared error over the variance of the target"
    show_table(title, ("scaling", "constant", "beta", "error", "rows"), rows)


def _loss(model: Any) -> list[tuple[str, str]]:
    """Say which loss was taken, if there was a choice."""
    found = getattr(model, "losses_", {})
    if len(found) < 2:
        return []
    told = ", ".join(f"{value:.4f} with {name}" for name, value in found.items())
    vetoed = model.loss_ == "squared" and found["logistic"] < found["squared"]
    but = ", which gets more labels wrong" if vetoed else ""
    return [("loss", f"{model.loss_}: negative log-likelihood of rows left out {told}{but}")]


def _learned(model: Any) -> str:
    rounds = model.rounds_
    if rounds is None:
        return "not asked for"
    before = rounds.trials[0].error
    if not rounds.rounds:
        tried = [trial.error for trial in rounds.trials[1:]]
        return f"none: on held-out rows the error goes from {before:.3g} to {min(tried):.3g}, which is no clear gain"
    if model.metric_ is None:
        return "none: there was no time for the logistic loss on learned gates"
    after = next(t.error for t in rounds.trials if (t.shape, t.rounds) == (rounds.shape, rounds.rounds))
    times = "1 round" if rounds.rounds == 1 else f"{rounds.rounds} rounds"
    return f"{times}, {rounds.shape}: on held-out rows the error goes from {before:.3g} to {after:.3g}"
