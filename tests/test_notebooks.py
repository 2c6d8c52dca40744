"""The notebooks run as in a browser: without Numba, llvmlite and CVXPY, on one thread, with one warning."""

import json
import math
import subprocess
import sys

import pytest

from support.in_the_browser import NOTEBOOKS, code_of
from support.running import environment

FILES = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.slow
def test_every_notebook_runs_and_what_is_missing_is_named():
    """One test: of several, processes that share them would each run all notebooks."""
    command = [sys.executable, "-m", "support.in_the_browser"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=600, check=False)
    assert not done.returncode, done.stderr[-3000:]
    *notebooks, rest = map(json.loads, done.stdout.splitlines())
    assert [name for name, _ in notebooks] == [file.stem for file in FILES]
    assert len(FILES) == 12
    own = [text for text in rest["warnings"] if text.startswith("MissingCompilerWarning")]
    assert len(own) == 1
    assert "Numba cannot be imported (No module named 'numba')" in own[0]
    assert "pip install numba" in own[0]
    assert max(rest["gaps"]) < 1e-4
    assert rest["fused"] == pytest.approx([math.exp(3)])
    *solvers, lambdified = rest["errors"]
    assert len(solvers) == 3
    for error in solvers:
        assert error.startswith("MissingDependencyError: solver='cvxpy' needs cvxpy: pip install")
    assert lambdified.startswith("MissingDependencyError: compiled code needs numba: pip install")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_notebooks_are_short_assert_something_and_hold_no_outputs(file):
    lines = [line for code in code_of(file) for line in code.splitlines() if line.strip()]
    assert len(lines) <= 20
    assert any(line.startswith("assert ") for line in lines)
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert not cell.get("execution_count")
