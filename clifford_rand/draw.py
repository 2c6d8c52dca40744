"""Pictures of points, lines, planes, circles, spheres and motors: pages that turn and play, and Matplotlib views."""

import functools
import html
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_real, check_integer, check_listed, check_path, check_positive, describe, fail
from clifford_rand._files import replaced
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.errors import ArgumentError, require
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets import cga
from clifford_rand.space import has_null_basis

__all__ = ["Scene", "Shape", "save", "scene"]

_COLORS = {
    "black": 0x000000, "blue": 0x1F77B4, "orange": 0xFF7F0E, "green": 0x2CA02C, "red": 0xD62728, "purple": 0x9467BD,
    "gray": 0x7F7F7F,
}  # fmt: skip
_CYCLE = ("blue", "orange", "green", "red", "purple")
_DRAWN = {(2, 0, 1): 2, (3, 0, 1): 3, (3, 1, 0): 2, (4, 1, 0): 3, (2, 0, 0): 2, (3, 0, 0): 3}  # (p, q, r) to n
_DETAIL: dict[tuple[str, int], Any] = {  # how many samples, by kind and dimension
    ("flat", 1): 2, ("flat", 2): (2, 2), ("round", 2): 65, ("round", 3): (17, 33),
}  # fmt: skip
_KINDS = ("points", "curves", "surfaces")
_OPACITY = 0.4  # of surfaces
_MANY = 2000  # objects without a grid, which takes as long as 10⁴ points, as does antialiasing (bench_viewer.py)
_COMPRESSION = 4  # of zlib: pages are 2 % larger than by K3D's 9; 1000 spheres take 1.6 s instead of 6.9
_PLAY = (  # the slider and the button of K3D, on top of its menu
    "K3DInstance.startAutoPlay(); const folder = K3DInstance.timeSeriesAnimationGUI; folder.open();"
    "K3DInstance.gui.domElement.querySelector('.lil-children, .children').prepend(folder.domElement);"
)


class Shape(NamedTuple):
    """Points, curves or surfaces of one color.

    Attributes
    ----------
    kind : {"points", "curves", "surfaces"}
    places : ndarray (f, n, 3), (f, n, m, 3) or (f, n, rows, columns, 3)
        f is 1, or the number of times; NaN where nothing is seen.
    color, label
    """

    kind: str
    places: NDArray[Any]
    color: int
    label: str | None = None


class Scene:
    """A drawing: a picture in a notebook, ``save`` for a page, ``plot`` for papers. Made by `scene`.

    Attributes
    ----------
    shapes : list of Shape
    times : ndarray or None
        Seconds, of an animation.
    title : str
    n : int
        2 in the plane, 3 in space.
    """

    def __init__(self, shapes: list[Shape], times: NDArray[Any] | None, title: str, n: int) -> None:
        self.shapes, self.times, self.title, self.n = shapes, times, title, n
        self._bounds = _bounds(shape.places for shape in shapes)

    def html(self) -> str:
        """Return a page that holds K3D-jupyter and the scene; it needs no network. Animations have a slider."""
        k3d = require("k3d", extra="draw", purpose="the page of a scene")
        low, high = self._bounds
        size, box = float((high - low).max()), np.stack([low, high], axis=-1).ravel()
        is_large = sum(shape.places.shape[1] for shape in self.shapes) > _MANY
        plot = k3d.plot(
            camera_auto_fit=False, grid_auto_fit=False, grid=box.tolist(), grid_visible=self.n == 3 and not is_large,
            axes_helper=0.0, fps=60, antialias=int(self.times is None and not is_large), logarithmic_depth_buffer=False,
            name=html.escape(self.title),
        )  # fmt: skip
        plot.camera = plot.get_auto_camera(1.2, -60, 65, box) if self.n == 3 else plot.get_auto_camera(1.2, 0, 0, box)
        for kind, places, color, label in self.shapes:
            count, m = places.shape[1], int(np.prod(places.shape[2:-1]))
            series = places.reshape(len(places), -1, 3).astype(np.float32)
            values = self._series(series)
            if kind == "points":
                plot += k3d.points(values, point_size=0.03 * size * count**-0.2, color=color, shader="flat")
            elif kind == "curves":
                pairs = np.stack([np.arange(m - 1), np.arange(1, m)], axis=-1) + m * np.arange(count)[:, None, None]
                indices = pairs.reshape(-1, 2).astype(np.uint32)
                plot += k3d.lines(values, indices, "segment", color=color, width=0.004 * size)
            else:
                rows, columns = places.shape[2:4]
                corner = np.arange(m).reshape(rows, columns)[:-1, :-1].reshape(-1, 1)
                faces = corner + [0, 1, columns, 1, columns + 1, columns] + m * np.arange(count)[:, None, None]
                indices = faces.reshape(-1, 3).astype(np.uint32)
                plot += k3d.mesh(values, indices, color=color, opacity=_OPACITY, side="double", flat_shading=False)
            if label is not None:
                anchor = self._series(series[:, m // 2])
                plot += k3d.text(html.escape(label), anchor, color=color, is_html=True, label_box=False)
        script = _PLAY if self.times is not None else ""
        page: str = plot.get_snapshot(compression_level=_COMPRESSION, additional_js_code=script)
        head = f"<title>{html.escape(self.title)}</title>"
        return re.sub("<title>.*?</title>", lambda match: head, page, count=1)

    def _series(self, values: NDArray[Any]) -> Any:
        """Return an array at rest, or what K3D takes for one that moves."""
        if self.times is None or len(values) == 1:
            return values[0]
        return {str(time): frame for time, frame in zip(self.times.tolist(), values, strict=True)}

    def plot(self, *, ax: Any = None, frame: int = 0) -> Any:
        """Draw the scene, or one time of an animation, on three-dimensional axes of Matplotlib, and return them.

        Examples
        --------
        >>> alg = cr.Algebra.cga(3)
        >>> axes = cr.draw.scene(cga.circle(alg, [0, 0, 0], 1, [0, 0, 1])).plot()
        >>> len(axes.lines)
        1
        """
        last = 0 if self.times is None else len(self.times) - 1
        frame = check_integer(frame, "frame", "Scene.plot", low=0, high=last)
        if ax is None:
            pyplot = require("matplotlib.pyplot", extra="app", purpose="Scene.plot")
            ax = pyplot.figure(layout="constrained").add_subplot(projection="3d")
        for kind, places, color, label in self.shapes:
            now, name = places[min(frame, len(places) - 1)], f"#{color:06x}"
            for one in [now] if kind == "points" else now:
                if kind == "points":
                    ax.scatter(*one.T, color=name, s=20 * len(one) ** -0.2)
                elif kind == "curves":
                    ax.plot(*one.T, color=name)
                else:
                    ax.plot_surface(*np.moveaxis(one, -1, 0), color=name, alpha=_OPACITY)
            anchor = now[0].reshape(-1, 3)[now[0].size // 6]
            if label is not None and np.isfinite(anchor).all():
                ax.text(*anchor, label, color=name)
        ax.set_aspect("equal")
        if self.n == 2:
            ax.view_init(90, -90)
        return ax

    def _repr_html_(self) -> str:
        page = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%; height:480px; border:0"></iframe>'

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        if check_path(path, "path", "Scene.save").suffix.lower() in (".png", ".jpg", ".svg", ".pdf"):
            raise fail("path", "Scene.save", "a page, as scene.html", path, "Scene.plot draws pictures.")
        with replaced(Path(path)) as new:
            new.write_text(self.html(), encoding="utf-8")

    def __repr__(self) -> str:
        moving = "" if self.times is None else f" at {len(self.times)} times"
        counts = {kind: sum(s.places.shape[1] for s in self.shapes if s.kind == kind) for kind in _KINDS}
        drawn = [f"{count} {kind if count > 1 else kind[:-1]}" for kind, count in counts.items() if count]
        return f"<Scene of {', '.join(drawn)}{moving}>"


def scene(
    items: Any,
    *,
    colors: Any = None,
    labels: Sequence[str | None] | None = None,
    times: ArrayLike | None = None,
    extent: float | None = None,
    dual: bool = False,
    title: str = "Scene",
) -> Scene:
    """Return a picture of multivectors, at rest or moving.

    Parameters
    ----------
    items : multivector or sequence
        Multivectors of ``Algebra.pga(n)``, ``Algebra.cga(n)`` or ``Algebra(n)``, n = 2 or 3, all of one algebra:
        points, point pairs, lines, planes, circles and spheres; motors and rotors, drawn as frames of axes; vectors of
        ``Algebra(n)``, drawn from the origin. A batch is drawn as many. A list of points is a polygonal line.
        Or scenes of the same objects at successive times.
    colors : optional
        For all items or one for each: ``"red"``, ``"#d62728"``, 0xd62728 or (r, g, b) with 0…255. Frames are red,
        green and blue by default.
    labels : sequence of str, optional
        One for each item, None for no label.
    times : array_like (f,), optional
        Increasing seconds of an animation: the first axis of every batch is time, of length f, or 1 at rest.
    extent : float, optional
        Half the length that is shown of lines and planes, by default about that of the other objects.
    dual : bool, default=False
        Whether objects of ``Algebra.cga(n)`` are dual.
    title : str, default="Scene"

    Raises
    ------
    ArgumentError
        For other algebras, mixed algebras, other multivectors than blades and motors, objects without finite points,
        complex or symbolic coefficients, NaN or infinity.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> x_axis, y_axis = alg.e2, alg.e1
    >>> cr.draw.scene([x_axis, y_axis, x_axis ^ y_axis], labels=["x", "y", "origin"])
    <Scene of 1 point, 2 curves>
    """
    single = isinstance(items, Multivector | cga.ConformalObject)
    listed = [items] if single else check_listed(items, "items", "scene", "multivectors")
    listed = [item.blade(dual=dual) if isinstance(item, cga.ConformalObject) else item for item in listed]
    if times is not None:
        times = as_real(times, "times", "scene", min_ndim=1)
        if times.ndim != 1 or len(times) < 2 or (np.diff(times) <= 0).any():
            raise fail("times", "scene", "two or more increasing numbers", times)
    if not isinstance(title, str):
        raise fail("title", "scene", "a string", title)
    if listed and all(isinstance(item, Scene) for item in listed):
        options = {"colors": colors, "labels": labels, "extent": extent, "dual": dual}
        for name, value in options.items():
            if value is not None and value is not False:
                raise fail(name, "scene", "left out for scenes", value, "Set it where each scene is made.")
        return _animation(listed, np.arange(len(listed)) / 10 if times is None else times, title)
    algebra = _algebra(listed)
    chosen = None if colors is None else _colors(colors, len(listed))
    rule = f"{len(listed)} strings, one for each item"
    texts = [None] * len(listed) if labels is None else check_listed(labels, "labels", "scene", rule)
    if len(texts) != len(listed) or not all(text is None or isinstance(text, str) for text in texts):
        raise fail("labels", "scene", rule, labels)
    parts = [_parts(item, algebra, times, dual) for item in listed]
    every = [part for group in parts for part in group]
    low, high = _bounds([part.near for part in every if not part.is_flat] or [part.near for part in every])
    reach = 0.6 * float((high - low).max()) if extent is None else check_positive(extent, "extent", "scene")
    shapes = []
    for i, group in enumerate(parts):
        for k, part in enumerate(group):
            color = _COLORS[part.color or _CYCLE[i % len(_CYCLE)]] if chosen is None else chosen[i]
            shapes.append(Shape(part.kind, part.draw(reach, (low + high) / 2), color, None if k else texts[i]))
    return Scene(shapes, times, title, _DRAWN[algebra.form.counts])


def save(drawing: Any, path: str | Path, **options: Any) -> None:
    """Write a page that shows a scene, or multivectors, in any browser, without a network.

    Parameters
    ----------
    drawing : Scene, multivector or sequence
        A scene, or the ``items`` of `scene`: scenes at successive times are an animation.
    path : str or Path
    **options
        The other parameters of `scene`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "scene.html"
    >>> cr.draw.save(cga.sphere(cr.Algebra.cga(3), [0, 0, 0], 1), file, title="A sphere")
    >>> "<title>A sphere</title>" in file.read_text()
    True
    """
    (drawing if isinstance(drawing, Scene) and not options else scene(drawing, **options)).save(path)


class _Part(NamedTuple):
    """Some objects of an item: where they are, and how they are drawn, by half the length of flats and a middle."""

    kind: str
    near: NDArray[Any]
    draw: Callable[[float, NDArray[Any]], NDArray[Any]]
    is_flat: bool = False
    color: str | None = None


def _animation(scenes: list[Scene], times: NDArray[Any], title: str) -> Scene:
    layouts = {tuple((shape.kind, shape.places.shape) for shape in one.shapes) for one in scenes}
    if len(layouts) > 1 or any(one.times is not None for one in scenes) or len(times) != len(scenes):
        raise fail("items", "scene", "scenes at rest of the same objects, one for each of times", scenes)
    joined = [
        shapes[0]._replace(places=np.concatenate([shape.places for shape in shapes]))
        for shapes in zip(*(one.shapes for one in scenes), strict=True)
    ]
    return Scene(joined, times, title, scenes[0].n)


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
    is_drawn = algebra.form.is_numeric and algebra.form.counts in _DRAWN
    if not is_drawn or not (algebra.form.is_unit or has_null_basis(algebra)):
        rule = "of Algebra.pga(n), Algebra.cga(n) or Algebra(n), n = 2 or 3"
        raise fail("items", "scene", rule, describe(f"multivectors of {algebra!r}"))
    return algebra


def _image(item: Multivector, algebra: Algebra, times: NDArray[Any] | None) -> Multivector:
    """Return a batch (f, n) in conformal algebra, where projective and Euclidean algebra are subalgebras.

    The null vector e0 is -n_∞ there, so that planes, and their products, are dual.
    """
    if item.dtype.kind not in "fi" or not np.isfinite(item.coefficients).all():
        raise fail("items", "scene", "of finite real coefficients", describe(f"dtype {item.dtype}, {item!s}"))
    length = 1 if times is None else len(times)
    if times is not None and item.shape[:1] not in ((), (1,), (length,)):
        raise fail("items", "scene", f"batches over {length} times, their first axis", describe(f"shape {item.shape}"))
    shape = (1, -1) if times is None or not item.shape else (item.shape[0], -1)
    batch = item.new(item.keys, item.coefficients.astype(np.float64).reshape(*shape, item.keys.size))
    if has_null_basis(algebra):
        return batch
    target = Algebra.cga(_DRAWN[algebra.form.counts])
    unit = np.eye(target.d)
    positive, others = iter(unit), {0: -cga.infinity(target).values, -1: unit[-1]}
    images = [others[square] if square in others else next(positive) for square in algebra.signature]
    return batch.outermorphism(np.stack(images, axis=-1), target)


def _parts(item: Any, algebra: Algebra, times: NDArray[Any] | None, dual: bool) -> list[_Part]:
    """Return the objects of an item, by what is drawn."""
    if isinstance(item, list | tuple):
        corners = [part for one in item for part in _parts(one, algebra, times, dual)]
        if any(part.kind != "points" for part in corners):
            raise fail("items", "scene", "multivectors or lists of points", describe("a list of other objects"))
        length = max(len(part.near) for part in corners)
        curve = np.concatenate([np.broadcast_to(c.near, (length, *c.near.shape[1:])) for c in corners], axis=1)
        return [_Part("curves", curve, lambda *_: curve[:, None])]
    X = _image(item, algebra, times)
    grades = item.grades if not any(k % 2 for k in item.grades) else item.sparse().grades
    if 0 in grades and not any(k % 2 for k in grades):
        return _frames(X)
    if algebra.form.counts[1:] == (0, 0):
        if grades != (1,):
            raise fail("items", "scene", "vectors or rotors, in a Euclidean algebra", describe(f"grades {grades}"))
        arrows = _spatial(X.coefficients[..., None, :-2] * np.array([[0.0], [1.0]]))
        return [_Part("curves", arrows, lambda *_: arrows)]
    try:
        objects = cga.classify(X, dual=dual or algebra.form.counts[2] == 1)
    except ArgumentError as error:
        raise fail("items", "scene", "blades, or motors", describe(str(item))) from error
    kinds, dimensions = np.asarray(objects.kind), np.asarray(objects.dimension)
    seen = np.asarray(objects.has_points) & ((kinds != "tangent") | (dimensions == 0))
    if not seen.any():
        raise fail("items", "scene", "objects with finite points", describe(", ".join(np.unique(objects.name))))
    pairs = sorted(set(zip(kinds[seen].tolist(), dimensions[seen].tolist(), strict=True)))
    return [_group(objects, seen & (kinds == kind) & (dimensions == m), kind, m) for kind, m in pairs]


def _group(objects: cga.ConformalObject, at: NDArray[Any], kind: str, m: int) -> _Part:
    """Return the objects of one kind, NaN at times when others take their place."""
    detail = _DETAIL.get((kind, m))

    def places(reach: float, middle: NDArray[Any]) -> NDArray[Any]:
        samples = cga.sample(objects[at], detail or 1, extent=reach, around=middle[: objects.algebra.d - 2])
        full = np.full((*at.shape, *samples.shape[1:-1], 3), np.nan)
        full[at] = _spatial(samples)
        full = full[:, at.any(axis=0)]
        return full if detail else full.reshape(len(full), -1, 3)

    shown_as = "surfaces" if isinstance(detail, tuple) else "curves" if detail else "points"
    if kind == "flat" and m > 0:
        return _Part(shown_as, _spatial(objects.location[at]), places, is_flat=True)
    near = places(1.0, np.zeros(3))
    return _Part(shown_as, near, lambda *_: near)


def _frames(X: Multivector) -> list[_Part]:
    """Return the axes of motors, three curves each."""
    n = X.algebra.d - 2

    def axis(i: int, reach: float, *_: Any) -> NDArray[Any]:
        ends = reach / 3 * np.eye(n + 1, n, -1)[[0, i]]
        return _spatial(cga.down(X[..., None] >> cga.up(X.algebra, ends)))

    origins, axes = axis(1, 1.0)[..., 0, :], zip(range(1, n + 1), ("red", "green", "blue"), strict=False)
    return [_Part("curves", origins, functools.partial(axis, i), color=color) for i, color in axes]


def _spatial(places: NDArray[Any]) -> NDArray[Any]:
    """Return places of the plane in space."""
    return np.pad(places, [(0, 0)] * (places.ndim - 1) + [(0, 3 - places.shape[-1])])


def _bounds(places: Iterable[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the corners of the box of all places, one of side 2 about a single one."""
    rows = np.concatenate([each.reshape(-1, 3) for each in places])
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    room = float((high - low).max() == 0)
    return low - room, high + room


def _colors(colors: Any, count: int) -> list[int]:
    is_rgb = isinstance(colors, tuple) and len(colors) == 3 and all(isinstance(part, int) for part in colors)
    single = isinstance(colors, str | int) or is_rgb
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
