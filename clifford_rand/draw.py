"""Pictures of points, lines, planes, circles and spheres in a notebook, by ganja.js as pyganja brings it."""

import html
import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clifford_rand._checks import check_listed, check_path, describe, fail
from clifford_rand._files import replaced
from clifford_rand._optional import require
from clifford_rand.algebra import Algebra
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.space import has_null_basis

__all__ = ["Scene", "scene", "show"]

_COLORS = {
    "black": 0x000000, "blue": 0x1F77B4, "orange": 0xFF7F0E, "green": 0x2CA02C, "red": 0xD62728, "purple": 0x9467BD,
    "gray": 0x7F7F7F,
}  # fmt: skip
_CYCLE = ("blue", "orange", "green", "red", "purple")
_DRAWN = {  # (p, q, r) to what ganja.js draws there
    (2, 0, 1): "the projective plane",
    (3, 0, 1): "projective space",
    (3, 1, 0): "the conformal plane",
    (4, 1, 0): "conformal space",
}
_WEIGHTS = {"lineWidth": 4, "pointRadius": 1.5}  # lines of width 1 vanish between the pixels of space
# ganja.js draws for the size of its first frame; a browser would stretch that picture
_REDRAW = "new ResizeObserver(() => output.update && output.update(output.value)).observe(output);"
_ARROWS = {(2, 0, 0): 2, (3, 0, 0): 3}  # Euclidean vectors, drawn in projective geometry as arrows from the origin


class Scene:
    """A drawing: a picture in a notebook, ``save`` for a page of its own.

    Attributes
    ----------
    signature : tuple of int
        Squares of the basis vectors of the algebra that ganja.js draws: null, positive, negative.
    entries : list
        Colors (int), elements (list of 2^d numbers by grade then lexicographically), segments and polygons (list of
        elements) and labels (str), in the order of ganja.js.
    options : dict
        Options of its ``graph``.
    """

    def __init__(self, signature: tuple[int, ...], entries: list[Any], options: dict[str, Any]) -> None:
        self.signature = signature
        self.entries = entries
        self.options = options

    def script(self) -> str:
        """Return the JavaScript expression of the entries.

        The numbers are in a JSON string, because ganja.js takes 1e-7 in code for a multiple of a blade.
        """
        tagged = [
            {"s": [{"v": value} for value in entry]}
            if isinstance(entry, list) and isinstance(entry[0], list)
            else {"v": entry}
            if isinstance(entry, list)
            else entry
            for entry in self.entries
        ]
        literal = json.dumps(json.dumps(tagged)).replace("<", "\\u003c")
        return f"JSON.parse({literal}).map(x=>x.v?new Element(x.v):x.s?x.s.map(y=>new Element(y.v)):x)"

    def html(self) -> str:
        """Return a page that holds ganja.js and the scene; it needs no network."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pyganja, that it found no browser of its own, which is not needed here
            module = require("pyganja", extra="notebook", purpose="drawing")
        page: str = module.generate_full_html(self.script(), sig=np.array(self.signature), **_WEIGHTS | self.options)
        return page.replace("</BODY>", f"<SCRIPT>{_REDRAW}</SCRIPT></BODY>")

    def _repr_html_(self) -> str:
        page = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%; height:480px; border:0"></iframe>'

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        if check_path(path, "path", "Scene.save").suffix.lower() in (".png", ".jpg", ".svg", ".pdf"):
            raise fail("path", "Scene.save", "a page, as scene.html", path, "Matplotlib draws pictures, of cga.sample.")
        with replaced(Path(path)) as new:
            new.write_text(self.html(), encoding="utf-8")

    def __repr__(self) -> str:
        drawn = sum(isinstance(entry, list) for entry in self.entries)
        return f"<Scene of {drawn} objects in {Algebra(signature=self.signature)!r}>"


def scene(items: Any, *, colors: Any = None, labels: Sequence[str | None] | None = None, **options: Any) -> Scene:
    """Return a picture of multivectors, which a notebook shows.

    Parameters
    ----------
    items : multivector or sequence
        Multivectors of the projective or conformal algebra of the plane or of space (``Algebra.pga(2)``, ``pga(3)``,
        ``cga(2)``, ``cga(3)``, also with the null basis), or vectors of ``Algebra(2)`` or ``Algebra(3)``, drawn as
        segments from the origin. A batch is drawn as many. A list of points in the sequence is a segment or a polygon.
    colors : optional
        For all items or one for each: ``"red"``, ``"#d62728"``, 0xd62728 or (r, g, b) with 0…255.
    labels : sequence of str, optional
        One for each item, None for no label.
    **options
        Options of the ``graph`` of ganja.js: ``grid=True``, ``lineWidth=4``, ``pointRadius=1.5``, ``scale=0.5``, …

    Raises
    ------
    ArgumentError
        For other algebras, mixed algebras, complex or symbolic coefficients, NaN or infinity.

    Examples
    --------
    >>> from clifford_rand import draw
    >>> alg = cr.Algebra.pga(2)
    >>> x_axis, y_axis = alg.e2, alg.e1
    >>> draw.scene([x_axis, y_axis, x_axis ^ y_axis], labels=["x", "y", "origin"])
    <Scene of 3 objects in Algebra(2, 0, 1)>
    """
    rule = "multivectors"
    listed = [items] if isinstance(items, Multivector) else check_listed(items, "items", "scene", rule)
    if not listed:
        raise fail("items", "scene", "at least one multivector", items)
    algebra = _algebra(listed)
    chosen = _colors(colors, len(listed))
    if labels is not None:
        rule = f"{len(listed)} strings, one for each item"
        labels = check_listed(labels, "labels", "scene", rule)
        if len(labels) != len(listed) or not all(label is None or isinstance(label, str) for label in labels):
            raise fail("labels", "scene", rule, labels)
    target = _target(algebra)
    size = 2**target.d  # pyganja takes what has this length for an element, also a label or a polygon: make it longer
    entries: list[Any] = []
    for i, item in enumerate(listed):
        entries.append(chosen[i])
        if isinstance(item, list | tuple):
            corners = [element for part in item for element in _elements(part, algebra)]
            entries.append(corners + corners[-1:] if len(corners) == size else corners)
        else:
            entries.extend(_elements(item, algebra))
        label = labels[i] if labels is not None else None
        if label is not None:
            entries.append(label + " " if len(label) == size else label)
    return Scene(target.signature, entries, options)


def show(items: Any, *, colors: Any = None, labels: Sequence[str | None] | None = None, **options: Any) -> None:
    """Display `scene` with the same arguments in the running notebook."""
    drawing = scene(items, colors=colors, labels=labels, **options)
    require("IPython.display", extra="notebook", purpose="showing a scene").display(drawing)


def _algebra(listed: Sequence[Any]) -> Algebra:
    flat = [part for item in listed for part in (item if isinstance(item, list | tuple) else [item])]
    for part in flat:
        if not isinstance(part, Multivector):
            raise fail("items", "scene", "multivectors", describe(f"{type(part).__name__} {part!r}"))
        if part.algebra != flat[0].algebra:
            raise fail("items", "scene", "of one algebra", describe(f"{flat[0].algebra!r} and {part.algebra!r}"))
    if not flat:
        raise fail("items", "scene", "at least one multivector", listed)
    algebra: Algebra = flat[0].algebra
    if not algebra.form.is_numeric or algebra.form.counts not in {**_DRAWN, **_ARROWS}:
        raise fail(
            "items",
            "scene",
            f"of {', '.join(_DRAWN.values())}, or vectors of Algebra(2) or Algebra(3)",
            describe(f"multivectors of {algebra!r}"),
        )
    if _images(algebra) is None:
        raise fail(
            "items", "scene", "in an orthonormal basis, or the null basis of Algebra.cga", describe(repr(algebra))
        )
    return algebra


def _target(algebra: Algebra) -> Algebra:
    """Return the algebra that is drawn, its basis vectors in the order of ganja.js: null, positive, negative."""
    counts = algebra.form.counts
    return Algebra(*counts) if counts in _DRAWN else Algebra(_ARROWS[counts], 0, 1)


def _images(algebra: Algebra) -> list[Multivector] | None:
    """Return the basis vectors of ``algebra`` in the algebra that is drawn."""
    target = Algebra(*algebra.form.counts)
    vectors = target.basis_vectors()
    if algebra.form.is_unit:
        order = sorted(range(algebra.d), key=lambda i: (0, 1, -1).index(algebra.signature[i]))
        return [vectors[order.index(i)] for i in range(algebra.d)]
    if has_null_basis(algebra):
        n = algebra.d - 2
        plus, minus = vectors[n], vectors[n + 1]
        return [*vectors[:n], (minus - plus) / 2, minus + plus]
    return None


def _elements(item: Multivector, algebra: Algebra) -> list[Any]:
    """Return the 2^d coefficients of every multivector of a batch; a Euclidean vector as the segment to its end."""
    if item.dtype.kind not in "fi" or not np.isfinite(item.coefficients).all():
        raise fail("items", "scene", "of finite real coefficients", describe(f"dtype {item.dtype}, {item!s}"))
    if algebra.form.counts in _ARROWS:
        return _arrows(item)
    images = _images(algebra)
    assert images is not None
    moved: Any = _target(algebra).scalar(np.zeros(item.shape))
    for position, mask in enumerate(item.keys.masks):
        blade: Any = _target(algebra).scalar(1.0)
        for i in range(algebra.d):
            if int(mask) >> i & 1:
                blade = blade ^ images[i]
        moved = moved + blade * np.asarray(item.coefficients[..., position])
    rows: list[Any] = moved.dense().coefficients.reshape(-1, 2**algebra.d).tolist()
    return rows


def _arrows(item: Multivector) -> list[Any]:
    if item.grades != (1,):
        raise fail("items", "scene", "vectors, in a Euclidean algebra", describe(f"grades {item.grades}"))
    d = item.algebra.d
    plane = Algebra(d, 0, 1)
    ends = item.values.reshape(-1, d).astype(np.float64)
    flat = np.concatenate([np.ones((len(ends), 1)), ends], axis=1)  # the hyperplanes whose duals are the points
    points = plane.vector(flat).left_complement().dense().coefficients
    origin = plane.e0.left_complement().astype(np.float64).dense().coefficients
    return [[origin.tolist(), point] for point in points.tolist()]


def _colors(colors: Any, count: int) -> list[int]:
    if colors is None:
        return [_color(_CYCLE[i % len(_CYCLE)]) for i in range(count)]
    single = isinstance(colors, str | int) or (
        isinstance(colors, tuple) and len(colors) == 3 and all(isinstance(part, int) for part in colors)
    )
    rule = f"one color, or {count}, one for each item"
    listed = [colors] * count if single else check_listed(colors, "colors", "scene", rule)
    if len(listed) != count:
        raise fail("colors", "scene", rule, colors)
    return [_color(color) for color in listed]


def _color(value: Any) -> int:
    if isinstance(value, str) and value in _COLORS:
        return _COLORS[value]
    if isinstance(value, str) and re.fullmatch("#[0-9a-fA-F]{6}", value):
        return int(value[1:], 16)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 0xFFFFFF:
        return value
    if isinstance(value, tuple | list) and len(value) == 3 and all(isinstance(p, int) and 0 <= p <= 255 for p in value):
        return int(value[0]) << 16 | value[1] << 8 | value[2]
    raise fail("colors", "scene", f"one of {', '.join(_COLORS)}, '#rrggbb', 0xrrggbb or (r, g, b) with 0…255", value)
