"""Tables of the page: means, shared trials, ranks, differences and counts, on rows with known answers."""

import numpy as np
import pytest

from examples.accuracy.figure import difference_figure
from examples.accuracy.report import report
from examples.accuracy.tally import mean_ranks, shared_means, values


def row(name, method, trial, score, nll="", **more):
    return {
        "task": "classification", "set": name, "method": method, "trial": str(trial), "n": "10", "d": "2",
        "classes": "2", "n_test": "5", "score": str(score), "nll": str(nll), "ece": "", "cpu_seconds": "2",
        "promised": "", "coverage": "", "width": "", **more,
    }  # fmt: skip


ROWS = [
    row("one", "network", 0, 0.9, 0.2, promised="0.8", cpu_seconds="1"),
    row("one", "network", 1, 0.8, 0.4, promised="0.8", cpu_seconds="1"),
    row("one", "svc", 0, 0.87, 0.3),
    row("one", "logistic", 0, 0.7, 0.1),
    row("one", "logistic", 1, 0.9, 0.1),
    row("two", "network", 0, 0.50, 0.7),
    row("two", "svc", 0, 0.60, 0.6),
    row("two", "logistic", 0, 0.45, 0.9),
]


def section(title, rows=ROWS):
    text = report(rows).split(f"## {title}\n\n")[1].split("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line]
    return {line[0]: dict(zip(lines[0][1:], line[1:], strict=True)) for line in lines[2:]}


def test_means_tell_how_many_trials_they_are_of():
    found = section("Accuracy in %")
    assert found["one"] == {"network": "85.00 ± 7.07", "svc": "87.00 (1)", "logistic": "80.00 ± 14.14"}
    assert found["two"]["svc"] == "60.00"
    assert section("Negative log-likelihood")["one"]["network"] == "0.300 ± 0.141"
    assert section("Seconds of one processor")["all"] == {"network": "3", "svc": "4", "logistic": "4"}


def test_differences_are_of_shared_trials():
    found = section("Network minus peers, in points")
    assert found["one"]["svc"] == "+3.00"  # of trial 0
    assert found["one"]["logistic"] == "+5.00 ± 15.00"
    assert found["two"] == {"svc": "-10.00", "logistic": "+5.00"}


def test_ranks_by_hand():
    scores = values(ROWS, "score")
    ranks, sets = mean_ranks(scores, high=True)  # on set one only trial 0 is everybody's: .9, .87, .7
    assert sets == 2
    assert ranks == {"network": 1.5, "svc": 1.5, "logistic": 3.0}
    assert mean_ranks(values(ROWS, "nll"), high=False)[0] == {"network": 2.0, "svc": 2.0, "logistic": 2.0}
    assert shared_means(scores["one"], ["network", "logistic"]) == pytest.approx({"network": 0.85, "logistic": 0.8})
    assert shared_means(scores["one"], ["network", "other"]) == {}
    assert section("Mean ranks")["svc"] == {"accuracy, 2 sets": "1.50", "log-likelihood, 2 sets": "2.00"}


def test_counts_by_hand():
    found = section("Counts")
    assert found["svc"] == {
        "sets": "2", "least": "-10.00", "0.6 below": "1", "as high": "1", "2 above": "1",
        "log-likelihood below": "1 of 2", "seconds, share": "0.75",
    }  # fmt: skip
    assert found["logistic"]["as high"] == "2"
    assert found["logistic"]["log-likelihood below"] == "1 of 2"


def test_log_likelihoods_below_both_peers_are_counted():
    more = [row("one", "mlp", 0, 0.5, 0.25), row("two", "mlp", 0, 0.5, 0.8)]  # network .2 and .7, svc .3 and .6
    assert "Log-likelihood below svc and mlp at once: 1 of 2 sets." in report([*ROWS, *more])
    assert "at once" not in report(ROWS)


def test_promises_beside_what_came():
    found = section("Leave-one-out estimates")
    assert found == {"one": {"leave-one-out %": "80.00 ± 0.00", "test %": "85.00 ± 7.07",
                             "difference": "-5.00 ± 7.07"}}  # fmt: skip


def test_real_targets_have_their_own_tables():
    more = {"task": "regression", "coverage": "0.9", "width": "2"}
    mine = [row("line", "network", fold, 0.5 + 0.1 * fold, **more) for fold in (0, 1)]
    found = section("R²", [*ROWS, *mine])
    assert found == {"line": {"network": "0.550 ± 0.071"}}
    assert section("Intervals", mine)["line"] == {"covered %": "90.00 ± 0.00", "width": "2.000 ± 0.000"}
    assert "Accuracy" not in report(mine)


def test_the_picture_has_a_mark_for_each_peer_of_each_set():
    pytest.importorskip("matplotlib")
    (ax,) = difference_figure(ROWS).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]
    places = sorted(float(np.ravel(bars.lines[0].get_xdata())[0]) for bars in ax.containers)
    np.testing.assert_allclose(places, [-10, 3, 5, 5], atol=1e-9)
