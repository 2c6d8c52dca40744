"""The README and the docs say what is true: their code runs, their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


GENERATED = ("auto_gallery/", "generated/", "command-line.md")  # pages that the build of the site writes


def test_readme_examples_print_what_is_shown(capsys):
    text, namespace = (ROOT / "README.md").read_text(encoding="utf-8"), {}
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.S)
    assert len(blocks) == text.count("```python") == 3
    for code, shown in blocks:
        exec(compile(code, "README.md", "exec"), namespace)
        printed = capsys.readouterr().out
        # rounding noise, such as 6e-14, differs between machines
        assert re.sub(r"\de-1[1-9]", "noise", printed) == re.sub(r"\de-1[1-9]", "noise", shown)


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


def test_commands_exist():
    """Every command of a code block: what runs it knows its name, and the options beside it."""
    typer = pytest.importorskip("typer")
    from clifford_rand_nn.cli.app import app

    commands = typer.main.get_command(app).commands
    experiments = [path.stem for path in (ROOT / "examples" / "paper").glob("*.py")]
    found = set()
    for page in PAGES:
        blocks = "\n".join(re.findall(r"```(?:console|bash|sh)\n(.*?)```", page.read_text(encoding="utf-8"), re.S))
        for name, rest in re.findall(r"clifford-rand (\w+)(.*?)(?:#|\n|$)", blocks):
            assert name in commands, (page.name, name)
            known = {option for parameter in commands[name].params for option in parameter.opts}
            assert set(re.findall(r"--[\w-]+", rest)) <= known, (page.name, name, rest)
            found.add(name)
        for name in re.findall(r"python -m examples\.paper (\w+)", blocks):
            assert name == "NAME" or name in experiments, (page.name, name)
            found.add(name)
    assert found >= {"fit", "predict", "embed", "accuracy", "timing", "spiral"}


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
