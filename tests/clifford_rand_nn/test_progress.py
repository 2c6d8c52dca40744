"""Progress of long work: phases, a bar on terminals, a line now and then elsewhere, nothing where nobody asked."""

import re
import threading
import time
from contextvars import Context, copy_context

import numpy as np
import pytest
from joblib import Parallel, delayed

import clifford_rand_nn as nn
from clifford_rand_nn import _progress
from clifford_rand_nn._progress import note, phase, reporting, step_callback, track
from clifford_rand_nn.solvers.base import HistoryRow

ROWS = [HistoryRow(0, 0.0, 2.0, 1.0), HistoryRow(7, 0.1, 0.123456789, 3.2e-4)]
LAST = r"step 7  objective 0\.123457  relative gap 3\.2e-04 \(tol 1e-06\)"
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 2))
Y = np.abs(X[:, 0]) + 0.1 * RNG.standard_normal(60)


def work():
    phase("first")
    for _ in track(range(3), 3, "part"):
        time.sleep(0.12)
    phase("second")
    step = step_callback(1e-6)
    for row in ROWS:
        step(row)
    time.sleep(0.15)


def shown(capsys, **options):
    with reporting(1, **options):
        work()
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.fixture
def terminal(monkeypatch):
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "150"}.items():
        monkeypatch.setenv(name, value)


def test_a_line_for_each_phase_and_the_last_step(capsys):
    lines = shown(capsys).splitlines()
    assert all(re.match(r"\d+\.\d s  ", line) for line in lines)
    assert [re.sub(r"^\S+ s  ", "", line) for line in lines[:2]] == ["first", "second"]
    assert re.search(LAST + r"\Z", lines[2])
    assert len(lines) == 3


@pytest.mark.slow
def test_lines_now_and_then_in_a_pipe(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "_EVERY", 0.05)
    assert re.search(r"s  first  part 2 of 3, about \d+ s left\n", shown(capsys, brief=True))
    text = shown(capsys)
    assert re.search(rf"s  second  {LAST}\n", text)
    time.sleep(0.15)
    assert capsys.readouterr().err == ""  # the thread has ended


def test_brief_reports_of_short_work_are_empty(capsys):
    assert shown(capsys, brief=True) == ""


@pytest.mark.usefixtures("terminal")
def test_a_bar_with_a_clock_on_a_terminal(capsys):
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown(capsys, max_time=60.0))
    clocks = set(re.findall(r"━ (\d\.\d) s, (\d\d\.\d) s left  first  part \d of 3", text))
    assert len(clocks) >= 2
    assert all(float(spent) + float(left) == pytest.approx(60, abs=0.11) for spent, left in clocks)
    assert re.search(r"[\r\n]\d\.\d s  second", text)  # the line that stays
    assert "left  first" not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown(capsys))
    assert "0.0 s left" in shown(capsys, max_time=0.01)  # never negative


def test_nothing_is_shown_unless_asked_for(capsys):
    phase("outside")
    assert step_callback(1e-6) is None
    with reporting(1):
        with reporting(0):  # a fit within a search
            phase("hidden")
            assert step_callback(1e-6) is None
        with reporting(1):
            note("shared")
        for context in (Context(), copy_context()):  # the second has the report of this thread
            thread = threading.Thread(target=context.run, args=(phase, "of a thread"))
            thread.start()
            thread.join()
        Parallel(n_jobs=2, prefer="threads")(delayed(note)("of a worker") for _ in range(4))
    assert re.fullmatch(r"\d+\.\d s  shared\n", capsys.readouterr().err)


@pytest.mark.parametrize("brief", [False, True])
def test_an_interrupt_goes_through_and_leaves_no_line(capsys, brief):
    def interrupted():
        with reporting(1, brief=brief):
            step_callback(1e-6)(ROWS[1])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err == ""
    phase("over")
    assert capsys.readouterr().err == ""


PHASES = {
    "default": (nn.ConvexNetworkRegressor(), ["comparing scalings", "comparing learned metrics", "certificate"]),
    "few": (nn.ConvexNetworkRegressor(n_neurons=3), ["selecting beta and neurons", "training with beta", "step "]),
    "gated": (nn.GatedReLURegressor(n_gates=10, random_state=0), ["selecting beta", "training with beta", "step "]),
    "search": (
        nn.BetaCV(nn.CrossProductLassoRegressor(), betas=[0.1, 0.01], cv=2),
        ["comparing 2 betas", "fold 1 of 2", "fold 2 of 2", "training on all rows with beta"],
    ),
}


@pytest.mark.kept("search")
@pytest.mark.parametrize("family", PHASES)
def test_a_fit_names_its_phases_in_order_and_is_the_same(capsys, family):
    model, phases = PHASES[family]
    quiet = model.set_params(verbose=0).fit(X, Y).predict(X)
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(model.set_params(verbose=1).fit(X, Y).predict(X), quiet)
    text = capsys.readouterr().err
    places = [text.find(words) for words in phases]
    assert -1 not in places
    assert places == sorted(places)
    assert len(text.splitlines()) < 10  # the fits of folds are silent


@pytest.mark.usefixtures("terminal")
def test_a_fit_on_a_terminal_shows_betas_in_turn(capsys):
    nn.GatedReLURegressor(n_gates=30, random_state=0, verbose=1).fit(np.tile(X, (8, 1)), np.tile(Y, 8))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert re.search(r"selecting beta on held-out rows  beta \d+ of 14", text)
