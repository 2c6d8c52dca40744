"""Put the tables of a report into a page of the docs: ``python -m examples.paper.page REPORT PAGE``.

What stands in the page between ``<!-- Accuracy in % -->`` and ``<!-- end -->`` is replaced by the section of the report
that has this heading; everything else stays.
"""

import re
from pathlib import Path
from typing import Annotated

import typer

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.cli.console import one_line_errors, say

__all__ = ["filled", "main"]

_PLACE = re.compile(r"<!-- (?!end -->)([^\n]+) -->\n(?:.*?\n)?<!-- end -->", re.S)
_SECTION = re.compile(r"^## ([^\n]+)\n\n(.*?)(?=\n## |\Z)", re.M | re.S)


def filled(page: str, report: str) -> tuple[str, list[str]]:
    r"""Return the page with the report's sections, and the headings that were found in both.

    Examples
    --------
    >>> filled("1\n<!-- one -->\nold\n<!-- end -->\n2", "# Title\n\n## one\n\nnew\n\n## two\n\nother\n")
    ('1\n<!-- one -->\n\nnew\n\n<!-- end -->\n2', ['one'])
    """
    sections = dict(_SECTION.findall(report))
    found = []

    def section(place: re.Match[str]) -> str:
        if place[1] not in sections:
            return place[0]
        found.append(place[1])
        return f"<!-- {place[1]} -->\n\n{sections[place[1]].strip()}\n\n<!-- end -->"

    return _PLACE.sub(section, page), found


def main(
    report: Annotated[Path, typer.Argument(help="Markdown that an experiment wrote.")],
    page: Annotated[Path, typer.Argument(help="Page with places for its sections.")],
) -> None:
    """Put the tables of a report into a page, where it has places for them."""
    with one_line_errors():
        text, found = filled(page.read_text(encoding="utf-8"), report.read_text(encoding="utf-8"))
        if not found:
            raise ArgumentError(f"{page}: no section of {report} has a place there, such as '<!-- Accuracy in % -->'.")
        page.write_text(text, encoding="utf-8")
        say(f"{page}: {', '.join(found)}")


if __name__ == "__main__":
    typer.run(main)
