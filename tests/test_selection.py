"""The few cases of each test that a run of all keeps, and the parts of the tests, which together are all."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.selection import beyond_few, in_part, part_of

TESTS = Path(__file__).parent
NAMES = [f"a.py::one[{k}]" for k in range(10)] + [f"b.py::two{k}" for k in range(50)] + ["c.py::three[a]"]
FILE = "import pytest\n@pytest.mark.parametrize('k', range(9))\ndef test_a(k): pass\n"
FILE += "def test_quick(): pass\n@pytest.mark.slow\ndef test_slow(): pass\n"


class Item:
    def __init__(self, nodeid, *markers, kept=()):
        self.nodeid, self.markers = nodeid, dict.fromkeys(markers, ()) | ({"kept": kept} if kept else {})

    def iter_markers(self, name):
        return iter([SimpleNamespace(args=self.markers[name])] if name in self.markers else [])


@pytest.fixture
def slow_tests(tmp_path, monkeypatch):
    """Return a function that runs pytest for slow tests in a folder with one file, and returns what it prints."""
    (tmp_path / "test_a.py").write_text(FILE)
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\nmarkers =\n  slow: a\n  smoke: b\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", "0", "-m", "slow"]

    def run(*arguments):
        return subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    return run


@pytest.mark.parametrize(("few", "kept"), [(1, "5"), (2, "27"), (3, "158"), (4, "1368"), (20, "0123456789")])
def test_cases_that_are_kept_are_evenly_spread(few, kept):
    items = [Item(f"a.py::one[{k}]") for k in range(10)]
    later = beyond_few(items, few)
    assert [item.nodeid[-2] for item in items if item not in later] == list(kept)


def test_every_function_keeps_a_case_and_marked_cases_do_not_count():
    marks = enumerate(2 * [(), ["slow"], (), ["smoke"]])
    items = [Item("a.py::one"), *(Item(f"a.py::two[{k}]", *some) for k, some in marks), Item("b.py::two[1]")]
    assert [item.nodeid for item in beyond_few(items, 2)] == ["a.py::two[0]", "a.py::two[4]"]


@pytest.mark.parametrize(("kept", "later"), [("0", "123"), ("9", "013"), ("", "013")])
def test_a_mark_names_the_case_that_is_kept(kept, later):
    items = [Item(f"a.py::one[{k}]", kept=tuple(kept)) for k in range(4)]
    assert "".join(item.nodeid[-2] for item in beyond_few(items)) == later
    assert not beyond_few(items[:1])  # a case that is asked for alone runs


@pytest.mark.parametrize(("arguments", "count"), [(".", 9), ("test_a.py", 1), ("test_a.py --cases few", 9)])
def test_other_cases_of_a_folder_are_slow_and_none_of_a_file(arguments, count, slow_tests):
    assert f"{count} passed" in slow_tests(*arguments.split())


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
def test_parts_of_the_slow_tests_are_all_slow_tests(slow_tests):
    every, *parts = (
        re.findall(r"test_a\.py::.*", slow_tests("--collect-only", ".", *more))
        for more in ((), ("--part", "0/2"), ("--part", "1/2"))
    )
    assert len(every) == 9  # a case of test_a is not slow
    assert sorted(name for part in parts for name in part) == sorted(every)
    assert all(3 < len(part) < 6 for part in parts)
