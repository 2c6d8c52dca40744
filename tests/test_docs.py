"""The README and the docs say what is true: their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


GENERATED = ("auto_gallery/", "generated/", "command-line.md")  # pages that the build of the site writes


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_readme_has_two_set_up_commands():
    commands = re.findall(r"^pip install .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert commands == ['pip install ".[app]" && clifford-rand demo', 'pip install ".[test]" && pytest']


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#]+)\)", text) + re.findall(r"^\[[\w-]+\]: (\S+)$", text, re.M):
        if not target.startswith("http") and not any(part in target for part in GENERATED):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "changelog.md"], ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"`((?:clifford_rand|clifford_rand_nn|examples|tests|docs)/[\w./-]*)", text):
        assert (ROOT / path).exists(), path


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
