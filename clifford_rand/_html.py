"""Tables and texts as HTML, for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape

from clifford_rand._typing import Array
from clifford_rand.print_options import rounded

ROWS, COLUMNS = 5, 8  # of a matrix, that a table shows


def html_table(rows: Iterable[Sequence[str]], headings: Sequence[str] = (), note: str = "") -> str:
    """Return an HTML table of texts, which are escaped, with a note below it.

    Examples
    --------
    >>> html_table([["a<b"]])
    '<table><tbody><tr><td>a&lt;b</td></tr></tbody></table>'
    """

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    head = f"<thead>{line(headings, 'th')}</thead>" if headings else ""
    body = "".join(line(row, "td") for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>" + (f"<p>{escape(note)}</p>" if note else "")


def html_of_vectors(corner: Array, shape: tuple[int, ...], headings: Sequence[str], note: str) -> str:
    """Return the first vectors and components of a matrix of this shape as a table, a heading for each component."""
    dots = ["…"] * (shape[-1] > len(headings))
    rows = [[*(rounded(float(value)) for value in vector), *dots] for vector in corner]
    if shape[-2] > len(rows):
        rows.append(["…"] * (len(headings) + len(dots)))
    return html_table(rows, [*headings, *dots], note)


def text_html(text: str) -> str:
    """Return a text as HTML, escaped, its lines as they are."""
    return f'<pre style="white-space: pre-wrap">{escape(text)}</pre>'
