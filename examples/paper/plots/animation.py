"""Films of decision regions: MP4 where ffmpeg is at hand, GIF elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import check_choice, check_integer, describe, fail
from clifford_rand._files import replaced
from clifford_rand.errors import MissingDependencyError, available, install_command, require
from clifford_rand_nn.displays.regions import DecisionRegionsDisplay

__all__ = ["save_regions_film"]

_SIDE = 4.4  # inches of the picture's side; 440 pixels at 100 dots per inch
_STILL = 1.5  # seconds for which the last picture stays
_ROWS = 50_000  # grid points predicted at once


def save_regions_film(
    path: str | Path,
    frames: Sequence[tuple[str, Any]],
    X: ArrayLike,
    y: ArrayLike,
    *,
    kind: str = "auto",
    fps: int = 8,
    resolution: int = 220,
    dpi: int = 100,
) -> Path:
    """Write a film with one picture of decision regions for each ``(title, model)``; return the file's path.

    Parameters
    ----------
    path : path
        Its ending is replaced by that of the film.
    frames : sequence of (str, object with ``predict``)
        Two lines of a title at most; the model's classes are those of ``y``.
    X : (n, 2) array
    y : (n,) array
    kind : {"auto", "mp4", "gif"}
        "auto" writes an MP4 if ffmpeg is on the path, or the package imageio-ffmpeg brings it; a GIF if not.
    fps : int
        Pictures a second; the last one stays longer.
    resolution : int
        Grid points along each side of a picture.
    dpi : int
        Dots per inch of a picture of 4.4 inches.

    Raises
    ------
    ArgumentError
        There are no frames, or an argument breaks its rule.
    MissingDependencyError
        matplotlib is not installed, or there is no ffmpeg for "mp4".

    Examples
    --------
    >>> import tempfile
    >>> from clifford_rand_nn import lasso_path, spiral
    >>> class Signs:
    ...     def __init__(self, network):
    ...         self.network = network
    ...
    ...     def predict(self, points):
    ...         return np.where(self.network.predict(points) >= 0, 1, -1)
    >>> X, y = spiral(20)
    >>> path = lasso_path(X, y, n_betas=3)
    >>> frames = [(f"{network.n_neurons} neurons", Signs(network)) for network in path.networks]
    >>> film = save_regions_film(f"{tempfile.mkdtemp()}/film", frames, X, y, kind="gif", resolution=40, dpi=40)
    >>> film.name, film.stat().st_size > 1000
    ('film.gif', True)
    """
    owner = "save_regions_film"
    check_choice(kind, "kind", owner, ("auto", "mp4", "gif"))
    for value, name in ((fps, "fps"), (resolution, "resolution"), (dpi, "dpi")):
        check_integer(value, name, owner)
    if len(frames) == 0:
        raise fail("frames", owner, "at least one (title, model)", describe("none"))
    require("matplotlib", extra="app", purpose="a film")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_SIDE, _SIDE + 0.5))
    ax = figure.add_axes((0.02, 0.02, 0.96, 0.86))  # fixed: a layout that is fitted to each title would shake
    title, model = frames[0]
    DecisionRegionsDisplay.from_estimator(
        model, X, y, planes=False, resolution=resolution, ax=ax, title=title, legend=False
    )
    ax.set_aspect("equal")
    image, classes = ax.images[0], np.unique(np.asarray(y))
    left, right, low, high = image.get_extent()
    across, up = np.linspace(left, right, resolution), np.linspace(low, high, resolution)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    with _writer(kind, fps) as (writer, ending):
        file = Path(path).with_suffix(ending)
        with replaced(file) as new, writer.saving(figure, str(new), dpi):
            for title, model in frames:
                ax.set_title(title, fontsize=10)
                image.set_data(np.searchsorted(classes, _predict(model, grid)).reshape(resolution, resolution))
                writer.grab_frame()
            for _ in range(round(_STILL * fps)):
                writer.grab_frame()
    return file


@contextmanager
def _writer(kind: str, fps: int) -> Iterator[tuple[Any, str]]:
    """Give matplotlib's writer and the ending of its files; while inside, matplotlib knows where ffmpeg is."""
    from matplotlib import rc_context
    from matplotlib.animation import FFMpegWriter, PillowWriter

    settings: Any = {}
    found = FFMpegWriter.isAvailable()
    if not found and kind != "gif" and available("imageio_ffmpeg"):
        program = require("imageio_ffmpeg", extra="paper", purpose="a film as MP4").get_ffmpeg_exe()
        settings, found = {"animation.ffmpeg_path": program}, True
    if kind == "mp4" and not found:
        raise MissingDependencyError(f"a film as MP4 needs ffmpeg: {install_command('imageio_ffmpeg', 'paper')}")
    with rc_context(settings):
        if kind == "gif" or not found:
            yield PillowWriter(fps=fps), ".gif"
        else:
            yield FFMpegWriter(fps=fps, codec="h264"), ".mp4"


def _predict(model: Any, points: NDArray[np.float64]) -> NDArray[Any]:
    return np.concatenate([model.predict(points[i : i + _ROWS]) for i in range(0, len(points), _ROWS)])
