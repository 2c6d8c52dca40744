"""Sections of the page on the training: what more rows would bring, what was chosen, what is proved."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from clifford_rand_nn.displays.certificate import CertificateDisplay
from clifford_rand_nn.displays.convergence import ConvergenceDisplay
from clifford_rand_nn.displays.learning_curve import LearningCurveDisplay
from clifford_rand_nn.displays.path import RegularizationPathDisplay
from clifford_rand_nn.estimators.network.base import BaseConvexNetwork
from clifford_rand_nn.reporting.facts import Facts, Rows
from clifford_rand_nn.reporting.figures import picture
from clifford_rand_nn.reporting.page_quality import score
from clifford_rand_nn.reporting.sections import Section, Table, share

_MOST = 2000  # rows of a learning curve, beside the fit to all
_LEAST = 60
_SIZES = np.array([0.1, 0.25, 0.5])  # of the rows, or of those that are used, beside all
_PATIENCE, _LONG = 3.0, 120.0  # seconds of a fit beyond which it is not done again; networks know their way
_WIDE = 0.01  # of a gap, that is worth words
_SEED = 0


def affords_fits(model: Any, seconds: float) -> bool:
    """Whether a model whose fit took so long can be fitted again to parts of the rows, which it cannot after Ctrl-C."""
    if getattr(getattr(model, "result_", None), "interrupted", False):
        return False
    return seconds <= (_LONG if isinstance(model, BaseConvexNetwork) else _PATIENCE) or np.isnan(seconds)


def growth_section(facts: Facts, model: Any, rows: Rows) -> Section | None:
    """Return the learning curve."""
    n = len(rows.y)
    if n < _LEAST:
        return None
    if not affords_fits(model, facts.seconds):
        text = "The fit took too long, or was interrupted, so it is not done again for parts of the rows."
        return Section("growth", "Whether more rows would help", (text,))
    curve, how = _curve(model, rows)
    unseen = curve.test_scores.mean(axis=1)
    sizes = curve.train_sizes
    text = (
        f"The model was fitted to parts of the table, and judged on rows left out ({how}). If the line still rises at "
        "the right end, more rows of the same kind would help; where it is flat, other columns would help more than "
        "further rows."
    )
    if len(unseen) > 1:
        text += f" From {sizes[-2]} to {sizes[-1]} rows: {score(facts, unseen[-2])} to {score(facts, unseen[-1])}."
    most = f" Of {n} rows parts of up to {_MOST} are fitted to here." if n > _MOST else ""
    alt = f"Learning curve: from {sizes[0]} to {sizes[-1]} rows, {facts.measure} {unseen[0]:.3f} to {unseen[-1]:.3f}."
    return Section("growth", "Whether more rows would help", (text + most,), (picture(curve.drawn, alt),))


def _curve(model: Any, rows: Rows) -> tuple[Any, str]:
    """Return the learning curve, and how rows were left out."""
    from matplotlib.figure import Figure

    n = len(rows.y)
    ax = Figure().subplots()
    if isinstance(model, BaseConvexNetwork):
        shares = [*_SIZES * min(1.0, _MOST / n), *([_MOST / n] if n > 1.5 * _MOST else []), 1.0]
        found = LearningCurveDisplay.from_left_out(
            model, rows.X, rows.y, rows.weights, rows.groups, train_sizes=shares, ax=ax
        )
        return found, "by leave-one-out, and by held-out rows where the network asks for them"
    some = np.sort(np.random.default_rng(_SEED).permutation(n)[:_MOST])
    X, y, classes = rows.X[some], rows.y[some], hasattr(model, "classes_")
    few = not classes or np.unique(y, return_counts=True)[1].min() < 2
    split = (ShuffleSplit if few else StratifiedShuffleSplit)(2, test_size=0.25, random_state=_SEED)
    found = LearningCurveDisplay.from_estimator(
        clone(model), X, y, train_sizes=np.array([0.25, 0.5, 1.0]), cv=split, shuffle=True, random_state=_SEED, ax=ax
    )
    found.score_name = "accuracy" if classes else "R²"
    return found, "a quarter of them, twice"


def chosen_section(facts: Facts, model: Any, rows: Rows) -> Section:
    """Return what was chosen between what, and the path of beta."""
    lines = [(one.name, one.value, one.among, one.by) for one in facts.chosen]
    tables = [Table.of("What the rows chose", ("what", "chosen", "among", "by"), lines)] if lines else []
    texts = [f"The model: {facts.model}."]
    texts += [] if lines else ["Nothing was chosen by the rows: everything was given."]
    pictures = []
    if isinstance(model.beta, str):
        with_rows = isinstance(model, BaseConvexNetwork) and model.path_ is None
        given = (rows.X, rows.y, rows.weights, rows.groups) if with_rows else ()
        texts.append(
            "β is the weight of the penalty: to the right networks are simpler, and at some point too simple; to the "
            "left they follow every row, chance included. The best is where rows that were left out are predicted best."
        )
        if getattr(model, "loss_", "") == "logistic" and with_rows:
            texts.append("The curve is that of the squared error; for the logistic loss β was chosen again, by itself.")
        alt = "Error of rows left out against β, the weight of the penalty; the chosen one is marked."
        pictures.append(
            picture(lambda ax: RegularizationPathDisplay.from_estimator(model, *given, ax=ax), alt, 5.6, 3.8)
        )
    return Section("chosen", "What was chosen, and by what", tuple(texts), tuple(pictures), tuple(tables))


def _about_training(gap: float) -> str:
    """Return what a gap means for someone who knows no optimization."""
    rest = "How good it is on new rows is said above."
    if gap > _WIDE:
        return (
            f"That is about training alone. The solver was ended early: the best network of this family may fit these "
            f"rows better, by up to {share(min(gap, 1.0))} of the objective. {rest}"
        )
    return (
        "That is about training alone: among all networks of this family none fits these rows better by more than the "
        f"gap, so no luck with starts, learning rates or stopping is in the result. {rest}"
    )


def proof_section(facts: Facts, model: Any) -> Section:
    """Return what is proved of the training, with the gap against seconds."""
    proof = facts.proof
    texts = [
        f"{proof.sentence[0].upper()}{proof.sentence[1:]}.",
        _about_training(proof.relative_gap),
        f"Solved by: {facts.solver}. " + (f"The fit took {facts.seconds:.2f} s." if facts.seconds >= 0 else ""),
    ]
    if not proof.converged:
        texts.insert(1, "The solver ended before its tolerance was reached.")
    steps = len(getattr(model, "history_", ()) or getattr(getattr(model, "result_", None), "history", ()))
    pictures = []
    if steps:
        last = f"the last gap is {proof.relative_gap:.1e}"
        alt = f"Relative duality gap and objective at {steps} checks of the solver; {last}."
        pictures.append(picture(lambda ax: ConvergenceDisplay.from_estimator(model, ax=ax), alt))
    if steps == 2:
        texts.append("It is one direct computation: the picture has the best constant, where it begins, and its end.")
    alt = f"Two bars: the objective reached, {proof.objective:.6g}, and its proved lower bound, {proof.bound:.6g}."
    pictures.append(picture(lambda ax: CertificateDisplay.from_estimator(model, ax=ax), alt, 5.6, 2.6))
    return Section("proof", "What is proved of the training", tuple(text for text in texts if text), tuple(pictures))
