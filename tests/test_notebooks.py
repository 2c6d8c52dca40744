"""The notebooks run as in a browser: without Numba, llvmlite and CVXPY, on one thread, with one warning."""

import json
import math
import subprocess
import sys

import pytest

from support.in_the_browser import NOTEBOOKS, code_of
from support.running import environment

FILES = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(scope="module")
def answers():
    command = [sys.executable, "-m", "support.in_the_browser"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=600, check=False)
    assert not done.returncode, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_notebook_runs(answers):
    assert [name for name, _ in answers[:-1]] == [file.stem for file in FILES]
    assert len(FILES) == 12


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_notebooks_are_short_assert_something_and_hold_no_outputs(file):
    lines = [line for code in code_of(file) for line in code.splitlines() if line.strip()]
    assert len(lines) <= 20
    assert any(line.startswith("assert ") for line in lines)
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert not cell.get("execution_count")


def test_one_warning_says_what_is_missing(answers):
    own = [text for text in answers[-1]["warnings"] if text.startswith("MissingCompilerWarning")]
    assert len(own) == 1
    assert "Numba cannot be imported (No module named 'numba')" in own[0]
    assert "pip install numba" in own[0]


def test_estimators_are_certified_and_functions_fused(answers):
    assert max(answers[-1]["gaps"]) < 1e-4
    assert answers[-1]["fused"] == pytest.approx([math.exp(3)])


def test_references_and_compiled_code_name_what_they_need(answers):
    *solvers, lambdified = answers[-1]["errors"]
    assert len(solvers) == 3
    for error in solvers:
        assert error.startswith("MissingDependencyError: solver='cvxpy' needs cvxpy: pip install")
    assert lambdified.startswith("MissingDependencyError: compiled code needs numba: pip install")
