"""Pictures of the page: drawn once, in the colors of the reader's screen, inside the file."""

import base64
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from clifford_rand._optional import require
from clifford_rand_nn.displays.style import FIRST, SECOND

NAMES = 28  # characters of a name in a picture
_INK = "#123457"  # stands for the color of text, which the reader's screen decides
# Colors by light and dark ground: text 12 : 1 and more, lines and words in their color 4.5 : 1.
_COLOURS = {
    _INK: ("ink", "#1d2129", "#e4e6eb"),
    "#000000": ("ink", "#1d2129", "#e4e6eb"),
    FIRST.lower(): ("first", "#0072b2", "#56a9dc"),
    SECOND.lower(): ("second", "#c25500", "#f0893f"),
}
_KNOWN = re.compile("|".join(_COLOURS))
_RC = {
    "font.size": 10,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "path",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_OF_TEXT = ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")


class Picture(NamedTuple):
    """A picture as an address that holds all of it; what it shows in words; pixels."""

    uri: str
    alt: str
    width: int
    height: int


def picture(draw: Callable[[Any], object], alt: str, width: float = 5.6, height: float = 3.6) -> Picture:
    """Return the picture that ``draw`` makes on axes of so many inches, an SVG on no ground.

    Examples
    --------
    >>> found = picture(lambda ax: ax.plot([0, 1]), "a line")
    >>> found.alt, found.width, found.uri[:26]
    ('a line', 538, 'data:image/svg+xml;base64,')
    """
    matplotlib = require("matplotlib", extra="app", purpose="a report")
    from io import StringIO

    from matplotlib.figure import Figure

    with matplotlib.rc_context({**_RC, **dict.fromkeys(_OF_TEXT, _INK), "svg.hashsalt": alt}):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure.subplots())
        text = StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = _KNOWN.sub(lambda found: f"var(--{_COLOURS[found[0]][0]})", text.getvalue())
    svg = svg[svg.index("<svg") :].replace("<defs>", f"<style>{_style()}</style><defs>", 1)
    coded = base64.b64encode(svg.encode()).decode()
    return Picture(f"data:image/svg+xml;base64,{coded}", alt, round(96 * width), round(96 * height))


def _style() -> str:
    """Return the colors as rules for light and for dark screens."""
    light, dark = ("".join(f"--{of[0]}:{of[k]};" for of in _COLOURS.values()) for k in (1, 2))
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
