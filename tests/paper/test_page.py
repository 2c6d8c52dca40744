"""The tables of a report go into a page, and nothing else of the page changes."""

from pathlib import Path

import typer
from typer.testing import CliRunner

from examples.paper.page import filled, main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "experiments" / "accuracy.md"
REPORT = "# Title\n\n## Accuracy in %\n\n| a |\n| --- |\n| 1 |\n\n## Last steps\n\n| b |\n\nSeconds.\n"


def run(*arguments):
    app = typer.Typer()
    app.command()(main)
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_sections_replace_what_stands_in_their_places(tmp_path):
    page, report = tmp_path / "page.md", tmp_path / "report.md"
    page.write_text("1\n<!-- Last steps -->\nold\n<!-- end -->\n2\n<!-- other -->\nold\n<!-- end -->\n3\n")
    report.write_text(REPORT)
    assert run(report, page).stdout == f"{page}: Last steps\n"
    once = page.read_text()
    section = "\n\n| b |\n\nSeconds.\n\n"
    assert once == f"1\n<!-- Last steps -->{section}<!-- end -->\n2\n<!-- other -->\nold\n<!-- end -->\n3\n"
    run(report, page)
    assert page.read_text() == once
    page.write_text("nothing")
    result = run(report, page)
    assert (result.exit_code, result.stderr.startswith(f"error: {page}: no section of ")) == (2, True)
    assert page.read_text() == "nothing"


def test_the_page_of_accuracies_has_places_for_its_reports():
    text, found = filled(PAGE.read_text(encoding="utf-8"), REPORT)
    assert found == ["Accuracy in %", "Last steps"]
    assert "| 1 |\n\n<!-- end -->\n" in text
    for heading in ("Seconds, of grid and final fit", "convex-ridge minus adamw / minus logistic"):
        assert f"<!-- {heading} -->\n" in text
