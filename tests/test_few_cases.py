"""The few cases of each test that a run of all keeps (`support.few_cases`)."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.few_cases import beyond_few

TESTS = Path(__file__).parent


class Item:
    def __init__(self, nodeid, *markers, kept=()):
        self.nodeid, self.markers = nodeid, dict.fromkeys(markers, ()) | ({"kept": kept} if kept else {})

    def iter_markers(self, name):
        return iter([SimpleNamespace(args=self.markers[name])] if name in self.markers else [])


@pytest.mark.parametrize(("few", "kept"), [(1, "5"), (2, "27"), (3, "158"), (4, "1368"), (20, "0123456789")])
def test_cases_that_are_kept_are_evenly_spread(few, kept):
    items = [Item(f"a.py::one[{k}]") for k in range(10)]
    later = beyond_few(items, few)
    assert [item.nodeid[-2] for item in items if item not in later] == list(kept)


def test_every_function_keeps_a_case_and_marked_cases_do_not_count():
    items = [Item("a.py::one"), *(Item(f"a.py::two[{k}]", *["slow"] * (k % 2)) for k in range(8)), Item("b.py::two[1]")]
    assert [item.nodeid for item in beyond_few(items, 2)] == ["a.py::two[0]", "a.py::two[4]"]


@pytest.mark.parametrize(("kept", "later"), [("0", "123"), ("9", "013"), ("", "013")])
def test_a_mark_names_the_case_that_is_kept(kept, later):
    items = [Item(f"a.py::one[{k}]", kept=tuple(kept)) for k in range(4)]
    assert "".join(item.nodeid[-2] for item in beyond_few(items)) == later
    assert not beyond_few(items[:1])  # a case that is asked for alone runs


@pytest.mark.parametrize(
    ("arguments", "count"), [(["."], 4), (["test_a.py", "-k", "test_a"], 0), (["test_a.py", "--cases", "few"], 4)]
)
def test_other_cases_of_a_folder_are_slow_and_none_of_a_file(arguments, count, tmp_path, monkeypatch):
    (tmp_path / "test_a.py").write_text("import pytest\n@pytest.mark.parametrize('k', range(5))\ndef test_a(k): pass\n")
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\nmarkers =\n  slow: a\n  smoke: b\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", "0", "-m", "slow", *arguments]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == (0 if count else 5)  # 5: no test was selected
    assert (f"{count} passed" if count else "5 deselected") in result.stdout
