"""The parts of the tests (`support.parts`): together they are all, and none runs twice."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.parts import in_part, part_of

TESTS = Path(__file__).parent
NAMES = (
    [f"a.py::one[{k}]" for k in range(10)] + [f"b.py::two{k}" for k in range(50)] + ["c.py::three[a]", "c.py::three[b]"]
)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_each_test_is_in_one_part(n):
    parts = [in_part(NAMES, k, n) for k in range(n)]
    assert [sum(column) for column in zip(*parts, strict=True)] == [1] * len(NAMES)


def test_cases_of_a_function_are_spread_and_others_change_nothing():
    counts = [sum(in_part(NAMES[:10], k, 4)) for k in range(4)]
    assert sorted(counts) == [2, 2, 3, 3]
    assert in_part(NAMES[5:], 1, 4)[5:] == in_part(NAMES, 1, 4)[10:]
    assert 5 < sum(in_part(NAMES[10:60], 1, 4)) < 20  # functions of one case, too


@pytest.mark.parametrize("text", ["4/4", "-1/4", "1", "1/0", "a/b"])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(ValueError):
        part_of(text)


@pytest.mark.slow
def test_parts_of_the_slow_tests_are_all_slow_tests(tmp_path, monkeypatch):
    (tmp_path / "test_a.py").write_text(
        "import pytest\n@pytest.mark.parametrize('k', range(9))\ndef test_a(k): pass\n"
        "def test_quick(): pass\n@pytest.mark.slow\ndef test_slow(): pass\n"
    )
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\nmarkers =\n  slow: a\n  smoke: b\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", "0", "--collect-only", "-m", "slow", "."]
    every, *parts = (
        re.findall(r"test_a\.py::.*", subprocess.run(more, cwd=tmp_path, capture_output=True, text=True).stdout)
        for more in [command, *([*command, "--part", f"{k}/2"] for k in range(2))]
    )
    assert len(every) == 9  # a case of test_a is not slow
    assert sorted(name for part in parts for name in part) == sorted(every)
    assert all(3 < len(part) < 6 for part in parts)
