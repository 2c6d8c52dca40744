"""Decision regions of a fitted classifier on two columns, with its planes and the rows that span them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import is_regressor

from clifford_rand._checks import (
    as_array,
    as_real,
    check_bool,
    check_fits,
    check_integer,
    check_listed,
    check_squares,
    describe,
    fail,
)
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.errors import require
from clifford_rand_nn._records import short_repr
from clifford_rand_nn._words import literal
from clifford_rand_nn.displays.style import MARKERS, PALETTE, Planes, axes_of, encoded, planes_of, segments
from clifford_rand_nn.estimators.rows import refused_by_scikit_learn, training_labels

_TINT = 0.72  # how far a region's color is mixed with white
_ROWS = 50_000  # grid points predicted at once
_MARGIN = 0.06
_TRIED, _STRAIGHT = 4, 1e-9  # points along each side where planes behind steps are tried, of the largest value there


@short_repr
@dataclass(eq=False, kw_only=True)
class DecisionRegionsDisplay:
    r"""Predictions of a classifier on a grid over two columns, the rows, and the hyperplanes of its neurons.

    Where there are further columns, the picture is the cut at their medians (most frequent values, of a frame's columns
    that are not numbers), and rows are drawn wherever their two columns are.

    Parameters
    ----------
    horizontal, vertical : (r,) arrays
        The grid.
    region : (r, r) array of int
        Of ``classes``, at each point of the grid; the first axis is vertical.
    classes : (k,) array
    points : (n, 2) array
    labels : (n,) array of int
        The class of each point.
    names : (str, str)
        Of the two columns; empty for none.
    lines : (directions (2, m), offsets (m,)) or None
    spanning : (s,) array of int
        Of the points, those that span a line.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clifford_rand_nn import ConvexNetworkClassifier, DecisionRegionsDisplay, spiral
    >>> X, y = spiral()
    >>> model = ConvexNetworkClassifier(n_neurons=8, gates="row_spanned").fit(X, y)
    >>> drawn = DecisionRegionsDisplay.from_estimator(model, X, y, resolution=50, ax=Figure().subplots())
    >>> drawn.ax_.get_legend_handles_labels()[1]
    ['-1', '1', 'rows that span a plane']
    """

    horizontal: Array
    vertical: Array
    region: NDArray[np.intp]
    classes: NDArray[Any]
    points: Array
    labels: NDArray[np.intp]
    names: tuple[str, str] = ("", "")
    lines: tuple[Array, Array] | None = None
    spanning: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        columns: tuple[Any, Any] | None = None,
        planes: Any = True,
        resolution: int = 300,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Predict on a grid and draw.

        Parameters
        ----------
        estimator : object with ``predict``
            Fitted to X or to rows like these, and at most eight classes.
        X : (n, d) array or DataFrame
        y : (n,) array
        columns : pair of positions, or of names of a DataFrame, optional
            The two to draw; the first two if there are more.
        planes : bool, Gates or (directions (d, m), offsets (m,)), default True
            Hyperplanes to draw as thin lines; True for those of the neurons of a fitted network, or its gates, also
            behind steps of a pipeline in which they stay straight. Where it knows the rows of training that span them,
            and X is these, they are marked.
        resolution : int
            Grid points along each side.
        ax, **kwargs : matplotlib Axes, optional, and options of `plot`

        Raises ArgumentError if X has fewer than two columns, if a chosen one is not there or holds no numbers, if there
        are more than eight classes, or if planes are those of other columns; MissingDependencyError without matplotlib.
        """
        owner = cls.__name__
        resolution = check_integer(resolution, "resolution", owner, low=2)
        planes = bool(planes) if isinstance(planes, np.bool_) else planes
        fitted = not isinstance(estimator, type) and hasattr(estimator, "predict")
        regressor = fitted and hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator)
        if regressor or not fitted:
            hint = "Of a regressor sklearn.inspection.PartialDependenceDisplay draws two columns." if regressor else ""
            raise fail("estimator", owner, "a fitted classifier", describe(f"a {type(estimator).__name__}"), hint)
        check_fits(64 * resolution**2, "resolution", owner)
        labels = training_labels(as_array(y, "y", owner), owner)
        with refused_by_scikit_learn(owner, y=y):
            classes, index = np.unique(labels, return_inverse=True)
        if len(classes) > len(PALETTE):
            raise fail("y", owner, f"labels of at most {len(PALETTE)} classes", describe(str(len(classes))))
        rows = _Rows(X, columns, owner)
        if len(rows.points) != len(labels):
            raise fail("y", owner, f"the labels of the {len(rows.points)} rows", describe(f"{len(labels)} of them"))
        low, high = np.nanmin(rows.points, axis=0), np.nanmax(rows.points, axis=0)  # a missing entry has no place
        margin = _MARGIN * np.where(high > low, high - low, 1.0)
        low, high = low - margin, high + margin
        horizontal, vertical = (np.linspace(a, b, resolution) for a, b in zip(low, high, strict=True))
        grid = np.stack(np.meshgrid(horizontal, vertical), axis=-1).reshape(-1, 2)
        parts = [estimator.predict(rows.at(grid[i : i + _ROWS])) for i in range(0, len(grid), _ROWS)]
        said = np.concatenate(parts)
        if said.ndim != 1:
            hint = "Draw each of several labels by itself, from the estimators_ of a MultiOutputClassifier."
            raise fail("estimator", owner, "one that says one label a row", describe(f"{said.shape[1]} a row"), hint)
        if _sort(said) != _sort(classes):
            rule = f"labels as the estimator says, {_sort(said)}"
            raise fail("y", owner, rule, describe(_sort(classes)))
        if not np.isin(said, classes).all():  # a class without rows here has a color too
            classes = np.union1d(classes, said)
            index = np.searchsorted(classes, labels)
            if len(classes) > len(PALETTE):
                raise fail("y", owner, f"labels of at most {len(PALETTE)} classes", describe(str(len(classes))))
        hyperplanes = planes_of(estimator, planes)
        lines, spanning = None, None
        if hyperplanes is not None and planes is True:
            lines, spanning = rows.lines_behind(hyperplanes, lambda some: encoded(estimator, some), low, high)
        elif hyperplanes is not None:
            lines, spanning = rows.lines(hyperplanes, owner)
        shown = cls(
            horizontal=horizontal,
            vertical=vertical,
            region=np.searchsorted(classes, said).reshape(resolution, resolution),
            classes=classes,
            points=rows.points,
            labels=index,
            names=rows.names,
            lines=lines,
            spanning=np.zeros(0, dtype=np.intp) if spanning is None else spanning,
        )
        return shown.plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, title: str = "", legend: bool = True) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot, with a title and a legend if asked for."""
        legend = check_bool(legend, "legend", type(self).__name__)
        self.ax_ = ax = axes_of(ax)
        self.figure_ = ax.figure
        from matplotlib.collections import LineCollection
        from matplotlib.colors import ListedColormap, to_rgb

        tints = ListedColormap([tuple(_TINT + (1 - _TINT) * c for c in to_rgb(color)) for color in PALETTE])
        low, high = np.array([self.horizontal[0], self.vertical[0]]), np.array([self.horizontal[-1], self.vertical[-1]])
        extent, top = (low[0], high[0], low[1], high[1]), len(PALETTE) - 0.5
        shown = {"cmap": tints, "vmin": -0.5, "vmax": top, "extent": extent, "origin": "lower", "aspect": "auto"}
        ax.imshow(self.region, interpolation="nearest", **shown)
        if self.lines is not None:
            ends = segments(*self.lines, low, high)
            faint = {"linewidths": 0.25, "alpha": 0.5} if len(ends) > 60 else {"linewidths": 0.8, "alpha": 0.8}
            ax.add_collection(LineCollection(list(ends), colors="0.35", zorder=2, **faint))
        for i, label in enumerate(self.classes):
            points = self.points[(self.labels == i) & np.isfinite(self.points).all(axis=1)]
            if len(points):
                look = {"s": 22, "marker": MARKERS[i], "color": PALETTE[i], "edgecolor": "white", "linewidth": 0.6}
                ax.scatter(*points.T, label=literal(label), zorder=3, **look)
        if len(self.spanning):
            ring = {"s": 80, "marker": "o", "facecolor": "none", "edgecolor": "black", "linewidth": 1.1}
            ax.scatter(*self.points[self.spanning].T, label="rows that span a plane", zorder=4, **ring)
        ax.set(xlim=extent[:2], ylim=extent[2:], xlabel=literal(self.names[0]), ylabel=literal(self.names[1]))
        if not any(self.names):
            ax.set(xticks=[], yticks=[])
        ax.set_title(title, fontsize=10)
        if legend:
            below = -0.18 if any(self.names) else -0.02
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, below), ncols=4, frameon=False, fontsize=8)
        return self


def spiral_figure(
    panels: Sequence[tuple[str, Any]], X: ArrayLike, y: ArrayLike, *, resolution: int = 600, columns: int = 2
) -> Any:
    """Return a figure with one panel of decision regions for each ``(title, model)``, ``columns`` in a row.

    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=20, random_state=0).fit(X, y)
    >>> figure = spiral_figure([("20 gates", model)], X, y, resolution=50)
    >>> len(figure.axes)
    1
    """
    require("matplotlib", extra="app", purpose="drawing")
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.08)
    across = min(columns, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(4.8 * across, 4.8 * down + 0.35), layout=layout)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.remove()
    for ax, (title, model) in zip(axes, panels, strict=False):
        DecisionRegionsDisplay.from_estimator(
            model, X, y, planes=False, resolution=resolution, ax=ax, title=title, legend=False
        )
        ax.set_aspect("equal")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, [f"class {label}" for label in labels], loc="outside lower center", ncols=len(labels), frameon=False
    )
    return figure


class _Rows:
    """The rows, the two columns to draw, and rows for points of the grid."""

    def __init__(self, X: Any, columns: tuple[Any, Any] | None, owner: str) -> None:
        self._given, self._frame = X, X if hasattr(X, "iloc") else None
        data = None if self._frame is not None else as_real(X, "X", owner)
        self._data = data
        shape = X.shape if data is None else data.shape
        d = shape[1] if len(shape) == 2 else 0
        if d < 2 or not shape[0]:
            raise fail("X", owner, "of shape (n, d) with n ≥ 1 and d ≥ 2", describe(f"shape {shape}"))
        if data is not None:
            check_squares(data, "X", owner)
        names = list(range(d)) if self._frame is None else list(self._frame.columns)
        rule = "two columns of X"
        pair = tuple(names[:2]) if columns is None else tuple(check_listed(columns, "columns", owner, rule))
        if len(pair) != 2 or not all(
            any(type(column) in (type(name), int) and column == name for name in names) for column in pair
        ):
            raise fail("columns", owner, rule, columns)
        if pair[0] == pair[1]:
            raise fail("columns", owner, rule, columns)
        self.columns = names.index(pair[0]), names.index(pair[1])
        if data is None:
            chosen = X[list(pair)]
            if not all(kind.kind in "iuf" for kind in chosen.dtypes):
                raise fail("columns", owner, "two columns of numbers", columns or pair)
            self.points = np.asarray(chosen, dtype=np.float64)
        else:
            self.points = np.asarray(data[:, list(self.columns)], dtype=np.float64)
        named = self._frame is not None or d > 2
        self.names = (_name(pair[0]), _name(pair[1])) if named else ("", "")
        self._base = self._middle()

    def _middle(self) -> Any:
        if self._data is not None:
            return np.median(self._data, axis=0)
        assert self._frame is not None
        return [
            column.median() if column.dtype.kind in "iuf" else column.mode(dropna=True).iloc[0]
            for _, column in self._frame.items()
        ]

    def at(self, grid: Array) -> Any:
        """Return rows for points of the grid."""
        if self._data is not None:
            rows = np.tile(self._base, (len(grid), 1)).astype(np.float64)
            rows[:, list(self.columns)] = grid
            return rows
        frame, columns = self._frame, {}
        assert frame is not None
        for j, (name, column) in enumerate(frame.items()):
            if j in self.columns:
                columns[name] = grid[:, self.columns.index(j)]
            else:
                value = column.iloc[:1].copy()
                value.iloc[0] = self._base[j] if column.dtype.kind != "i" else int(self._base[j])
                columns[name] = value.repeat(len(grid)).reset_index(drop=True)
        return type(frame)(columns)

    def lines(self, planes: Planes, owner: str) -> tuple[tuple[Array, Array], NDArray[np.intp] | None]:
        """Return the lines of planes in the picture, and the rows of it that span them, if these are all columns."""
        d = self._data.shape[1] if self._data is not None else len(self._base)
        if len(planes.directions) != d:
            rule = f"hyperplanes of the {d} columns"
            raise fail("planes", owner, rule, describe(f"directions of shape {planes.directions.shape}"))
        if d == 2:
            return (planes.directions, planes.offsets), planes.spanning(self.points)
        return planes.cut(np.asarray(self._base, dtype=np.float64), self.columns), None

    def lines_behind(
        self, planes: Planes, encode: Any, low: Array, high: Array
    ) -> tuple[tuple[Array, Array] | None, NDArray[np.intp] | None]:
        """Return the same of planes of the columns that ``encode`` makes; None where these bend in the picture."""
        if encode(self._given) is self._given:
            return self.lines(planes, "")
        points = np.stack(np.meshgrid(*np.linspace(low, high, _TRIED).T), axis=-1).reshape(-1, 2)
        inside = encode(self.at(points)) @ planes.directions + planes.offsets
        design = np.column_stack([(points - low) / (high - low), np.ones(len(points))])
        weights = np.linalg.lstsq(design, inside, rcond=None)[0]
        if np.abs(design @ weights - inside).max(initial=0.0) > _STRAIGHT * np.abs(inside).max(initial=0.0):
            return None, None
        directions = weights[:2] / (high - low)[:, None]
        spanning = planes.spanning(encode(self._given)) if self._given.shape[1] == 2 else None
        return (directions, weights[2] - low @ directions), spanning


def _sort(labels: NDArray[Any]) -> str:
    """Return what labels are that can be compared with each other."""
    kind = labels.dtype.kind
    if kind == "O":
        kind = "U" if isinstance(labels.flat[0], str) else "i"
    return {"U": "texts", "S": "bytes", "M": "dates", "m": "durations"}.get(kind, "numbers")


def _name(column: Any) -> str:
    return f"column {column}" if isinstance(column, int) else str(column)
