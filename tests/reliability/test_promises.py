"""Every promise of docs/reliability.md in its short form, and a row there for each."""

import re
from pathlib import Path

import pytest

from reliability import promise

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


def test_every_promise_has_its_row():
    rows = re.findall(r"^\| `python -m tests\.reliability (\S+)`", PAGE.read_text(), re.MULTILINE)
    assert sorted(rows) == promise.names()


@pytest.mark.slow
@pytest.mark.parametrize("name", promise.names())
def test_short(name):
    outcome = promise.hold(name, promise.Budget(short=True))
    assert not outcome.faults, "\n".join([outcome.figure, *outcome.faults])
