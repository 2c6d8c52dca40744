"""The line on the terminal while a solver runs."""

import re
import time

import pytest

from clifford_rand_nn.estimators.parameters import progress_line
from clifford_rand_nn.solvers.base import HistoryRow

ROWS = [HistoryRow(0, 0.0, 2.0, 1.0), HistoryRow(7, 0.1, 0.123456789, 3.2e-4)]
LAST = r"step 7  objective 0\.123457  relative gap 3\.2e-04 \(tol 1e-06\)"


def shown(capsys, rows=ROWS, **options):
    with progress_line(1, 1e-6, **options) as callback:
        for row in rows:
            callback(row)
        time.sleep(0.3)  # some frames of a line that is drawn ten times a second
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_last_row_stays(capsys):
    assert re.search(LAST + r"  0\.\d s\n\Z", shown(capsys))


def test_on_a_terminal_the_clock_runs_between_steps(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown(capsys, max_time=60.0))
    clocks = set(re.findall(LAST + r" (\d\.\d) s, (\d\d\.\d) s left", text))
    assert len(clocks) >= 2
    assert all(float(spent) + float(left) == pytest.approx(60, abs=0.11) for spent, left in clocks)
    assert "left" not in shown(capsys)
    assert "0.0 s left" in shown(capsys, max_time=0.01)  # never negative


def test_nothing_is_shown_unless_asked_for(capsys):
    with progress_line(0, 1e-6) as callback:
        assert callback is None
    assert capsys.readouterr().err == ""
    assert "step" not in shown(capsys, rows=[])


def test_an_interrupt_goes_through_and_leaves_no_line(capsys):
    def interrupted():
        with progress_line(1, 1e-6) as callback:
            callback(ROWS[1])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not re.search(r"\d s\n\Z", capsys.readouterr().err)
