"""Settings of an experiment: where to read and write, which sets and methods, how many seeds, how to report."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clifford_rand._checks import check_choice, check_integer, check_positive

__all__ = ["Settings"]


def _untracked(items: Iterable[Any], *, description: str = "", total: float | None = None) -> Iterable[Any]:
    """Return the items as they are: no progress bar."""
    return items


@dataclass(frozen=True)
class Settings:
    """Settings of an experiment: where to read and write, which sets, how many seeds, how to report.

    Attributes
    ----------
    out : Path
        Folder of the results; it is made if need be.
    data : Path or None
        Folder of the feature files, for the experiments that read some.
    sets : tuple of str
        Names of the feature files; all files of the folder if empty.
    seeds : int
        Trials of each size, seeded 0, 1, … .
    sizes : tuple of int
        Numbers of training rows; the experiment's own if empty.
    methods : tuple of str
        Names of methods; the experiment's own if empty.
    seed : int
        Where one seed is enough: the spiral, the plane.
    max_time : float
        Seconds for one method on one trial, its grid included; the same for every method.
    criterion : {"loss", "accuracy"}
        What of the validation rows chooses a grid point, where both can.
    command : str
        The command line, written beside the results.
    say : callable
        Takes lines for a person.
    track : callable
        ``track(items, description=, total=)`` returns the same items, and may show a progress bar.

    Examples
    --------
    >>> settings = Settings(Path("results"), seeds=2)
    >>> list(settings.track([1, 2], description="counting"))
    [1, 2]
    """

    out: Path
    data: Path | None = None
    sets: tuple[str, ...] = ()
    seeds: int = 5
    sizes: tuple[int, ...] = ()
    methods: tuple[str, ...] = ()
    seed: int = 0
    max_time: float = 60.0
    criterion: str = "loss"
    command: str = ""
    say: Callable[[str], None] = print
    track: Callable[..., Iterable[Any]] = _untracked

    def __post_init__(self) -> None:
        check_integer(self.seeds, "seeds", "Settings")
        check_integer(self.seed, "seed", "Settings", low=0)
        for size in self.sizes:
            check_integer(size, "sizes", "Settings", low=2)
        check_choice(self.criterion, "criterion", "Settings", ("loss", "accuracy"))
        check_positive(self.max_time, "max_time", "Settings")
