"""The README and the docs say what is true: their code runs, their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_readme_examples_run():
    namespace = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 7
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    assert namespace["moved"].isclose(namespace["alg"].e2, rtol=1e-12)
    assert namespace["screw"].log().exp().isclose(namespace["screw"], rtol=1e-12)
    assert str(namespace["field"]) == "2*x1*e1 + 2*x2*e2 + 2*x3*e3"
    assert abs(namespace["A"][:99] @ namespace["v"]).max() < 1e-12
    assert namespace["a"].log_norm() / 2.302585 == pytest.approx(199.5, abs=1)
    assert namespace["log_norm"] / 2.302585 == pytest.approx(1283, abs=1)
    assert namespace["model"].certificate_.relative_gap <= 1e-6
    assert "global: all 159,602 patterns" in str(namespace["model"].certificate_)
    assert namespace["model"].network_.n_neurons < 60
    assert len(namespace["path"]) == 50


def test_readme_has_two_set_up_commands():
    commands = re.findall(r"^pip install .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert commands == ['pip install ".[app]" && clifford-rand demo', 'pip install ".[test]" && pytest']


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("package", ["clifford_rand", "clifford_rand_nn"])
def test_import_loads_no_slow_library(package):
    """Nothing slow or optional at import: what a user does not call is not loaded."""
    code = (
        f"import sys, {package}\n"
        "slow = {'sklearn', 'sympy', 'cvxpy', 'matplotlib', 'numba', 'pandas', 'scipy', 'typer', 'rich'}\n"
        "sys.exit(', '.join(sorted(slow & set(sys.modules))) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
