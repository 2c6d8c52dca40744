"""One version everywhere, and a README that a package index can show."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import clifford_rand
import clifford_rand_nn

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSION = clifford_rand.__version__


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_written_in_one_file():
    assert PROJECT["project"]["dynamic"] == ["version", "readme"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "clifford_rand/__init__.py"
    assert clifford_rand_nn.__version__ == VERSION
    assert re.search(r"^release = .*\b__version__$", read("docs/conf.py"), re.M)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("docs/CITATION.cff", r"^version: (\S+)$"),
        ("README.md", r"version *= \{(\S+)\}"),
        ("docs/changelog.md", r"^## (\d\S*)"),
    ],
)
def test_texts_name_this_version(name, pattern):
    assert re.search(pattern, read(name), re.M)[1] == VERSION


def test_the_changelog_and_the_citation_have_the_date_of_the_release():
    dates = re.findall(r"^## \d\S* \((\d{4}-\d\d-\d\d)\)$", read("docs/changelog.md"), re.M)
    assert len(dates) >= 2
    assert dates == sorted(dates, reverse=True)
    assert re.search(r'^date-released: "(\S+)"$', read("docs/CITATION.cff"), re.M)[1] == dates[0]


def test_the_command_line_says_the_version():
    from clifford_rand_nn.cli.app import app

    assert CliRunner().invoke(app, ["--version"]).output.strip() == f"clifford-rand {VERSION}"


def long_description():
    """Return the README as the build writes it into the metadata of the wheel."""
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert hook["fragments"] == [{"path": "README.md"}]
    text = read("README.md")
    for rule in hook["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    return text.replace("$HFPR_VERSION", VERSION)


def test_links_of_the_long_description_lead_to_the_site_and_its_pages():
    urls = PROJECT["project"]["urls"]
    text = re.sub(r"```.*?```|`[^`\n]*`", "", long_description(), flags=re.S)
    targets = re.findall(r"\]\(([^)]+)\)", text) + re.findall(r"^\[[\w-]+\]: (\S+)$", text, re.M)
    assert len(targets) >= 12
    assert [target for target in targets if not target.startswith("https://")] == []
    pages = [target.removeprefix(urls["Documentation"]) for target in targets]
    pages = [page for page in pages if page and not page.startswith(("https:", "auto_gallery/"))]
    assert len(pages) >= 8
    for page in pages:
        assert (ROOT / "docs" / page).with_suffix(".md").exists() or (ROOT / "docs" / "explorer" / page).exists(), page
    raw = re.findall(r"https://[\w.]+/clifford-rand/clifford-rand/(?:blob/)?v(\d[^/]*)/(\S+?)\)", text)
    assert len(raw) == 2
    for version, file in raw:
        assert version == VERSION
        assert (ROOT / file).exists(), file


def test_python_versions_are_declared_and_tested():
    first = int(PROJECT["project"]["requires-python"].removeprefix(">=3."))
    declared = [line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"] if "Python :: 3." in line]
    assert declared == [f"3.{minor}" for minor in range(first, first + len(declared))]
    assert f"{declared[0]} to {declared[-1]}" in read("README.md")
    workflow = ROOT / ".github" / "workflows" / "tests.yml"  # not in a source distribution
    if workflow.exists():
        assert set(re.findall(r'"(3\.\d+)"', workflow.read_text(encoding="utf-8"))) == set(declared)


def test_the_command_line_without_its_libraries_says_how_to_install_them():
    code = "import sys; sys.modules.update(typer=None, rich=None); from clifford_rand_nn.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"error: clifford-rand needs typer: pip install .*typer.*\n", done.stderr)


def test_both_commands_of_the_readme_install_the_command_line():
    extras = PROJECT["project"]["optional-dependencies"]
    assert {"typer", "rich"} <= {re.match(r"[\w-]+", line)[0] for line in extras["app"]}
    assert "clifford-rand[app,skops]" in extras["test"]
