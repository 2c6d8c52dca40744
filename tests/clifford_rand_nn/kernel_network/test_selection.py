"""What is said of choices: a reader can tell why one was made."""

from types import SimpleNamespace

import pytest

from clifford_rand_nn.displays.selection import choices
from clifford_rand_nn.kernel_network.metric_selection import Trial

NONE = Trial("none", 0, 0.668, 0.25, 0.0, 0.0, 1.0)


CHANCE = ": a gain of 0.018, within its standard error, 0.02, may be chance"
WRONG = ", but 26.0% wrong labels, isotropic 25.0%"


@pytest.mark.parametrize(
    ("loss", "errors", "gain", "deviation", "why"),
    [(0.65, 0.25, 0.018, 0.02, CHANCE), (0.65, 0.26, 0.018, 0.01, WRONG), (0.67, 0.25, -0.002, 0.01, "")],
)
def test_why_gates_were_not_learned(loss, errors, gain, deviation, why):
    trial = Trial("full", 1, loss, errors, gain, deviation, 1.0)
    rounds = SimpleNamespace(trials=(NONE, trial), n_iter=0, shape="none", is_learned=False)
    scored = SimpleNamespace(n_rows=9, mean_loss=0.6, scaling="column", bias_feature=1.0, steps=0.0, decay=0.0)
    options = {"loo_score_": 0.7, "candidates_": [scored], "beta": 0.1, "loss_scores_": {}, "loss_": "squared"}
    (told,) = choices(SimpleNamespace(metric_selection_=rounds, metric_=None, **options))
    assert told.value == "isotropic (learned metric not selected)"
    assert told.method == f"error on held-out rows 0.668, with a learned metric {loss:.3g}{why}"


@pytest.mark.parametrize(("rates", "error"), [(0, 0.6), (1, 0.5), (2, 0.45)])
def test_the_error_is_that_of_the_round_that_was_taken(rates, error):
    tried = [("full", 1, 0.6), ("rates", 1, 0.5), ("rates", 1, 0.45)]
    trials = (NONE, *(Trial(shape, n, loss, 0.2, 0.05, 0.01, 1.0) for shape, n, loss in tried))
    rounds = SimpleNamespace(trials=trials, n_iter=1, shape="full", is_learned=True, rates=rates)
    scored = SimpleNamespace(n_rows=9, mean_loss=0.6, scaling="column", bias_feature=1.0, steps=0.0, decay=0.0)
    options = {"loo_score_": 0.7, "candidates_": [scored], "beta": 0.1, "loss_scores_": {}, "loss_": "squared"}
    (told,) = choices(SimpleNamespace(metric_selection_=rounds, metric_=[[1.0]], **options))
    learned = "; learned rates of boxes" if rates else ""
    assert told.value == f"learned metric (AGOP), 1 iteration, full{learned}"
    assert told.method == f"error on held-out rows {error:.3g}, isotropic 0.668"
