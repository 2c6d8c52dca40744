"""What is said of choices: a reader can tell why one was made."""

from types import SimpleNamespace

import pytest

from clifford_rand_nn.displays.selection import choices
from clifford_rand_nn.kernel_network.metric_selection import Trial

NONE = Trial("none", 0, 0.668, 0.25, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("trial", "why"),
    [
        (
            Trial("full", 1, 0.65, 0.25, 0.018, 0.02, 1.0),
            ": a gain of 0.018, within its standard error, 0.02, may be chance",
        ),
        (Trial("full", 1, 0.65, 0.26, 0.018, 0.01, 1.0), ", but 26.0% wrong labels, isotropic 25.0%"),
        (Trial("full", 1, 0.67, 0.25, -0.002, 0.01, 1.0), ""),
    ],
)
def test_why_gates_were_not_learned(trial, why):
    rounds = SimpleNamespace(trials=(NONE, trial), n_iter=0, shape="none")
    scored = SimpleNamespace(n_rows=9, mean_loss=0.6, scaling="column", bias_feature=1.0, steps=0.0, decay=0.0)
    model = SimpleNamespace(
        loo_score_=0.7,
        candidates_=[scored],
        beta=0.1,
        metric_selection_=rounds,
        metric_=None,
        loss_scores_={},
        loss_="squared",
    )
    (told,) = choices(model)
    assert told.value == "isotropic (learned metric not selected)"
    assert told.method == f"error on held-out rows 0.668, with a learned metric {trial.mean_loss:.3g}{why}"
