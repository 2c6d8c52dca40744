"""Common parts of the experiments on real sets: data, the facts of a run, cells of a row, and the files of a report."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clifford_rand._checks import fail
from clifford_rand.errors import available, install_command
from examples.paper.about import write_about
from examples.paper.datasets.feature_files import FeatureSet, load_feature_folder
from examples.paper.methods.base import Method
from examples.paper.protocol import PROTOCOL, Binary, Choice, Trial, data_hash
from examples.paper.settings import Settings

__all__ = ["SETUP", "check_sizes", "choice_cells", "load_sets", "run_facts", "shown_value", "write_report"]

SETUP = "Give --data a folder of NPZ files with X, y and split, as `clifford-rand embed` writes them."


def load_sets(settings: Settings, owner: str) -> list[FeatureSet]:
    """Read the feature files that were asked for.

    Raises
    ------
    ArgumentError
        No folder was given, or a file is refused.
    """
    if settings.data is None:
        raise fail("data", owner, "a folder of feature files", None, SETUP)
    return list(load_feature_folder(settings.data, settings.sets or None).values())


def run_facts(settings: Settings, sets: Sequence[FeatureSet], methods: Sequence[Method]) -> dict[str, Any]:
    """Return what rows of one table have in common: protocol, time, the data of each set, the text of each method."""
    return {
        "protocol": PROTOCOL,
        "max_time": settings.max_time,
        "data": {data.name: data_hash(data) for data in sets},
        "methods": {method.name: method.describe() for method in methods},
    }


def check_sizes(settings: Settings, sets: Sequence[Binary], owner: str) -> None:
    """Refuse sizes above a training half, before any work.

    Raises
    ------
    ArgumentError
        A set has fewer training rows.
    """
    for data in sets:
        if settings.sizes and max(settings.sizes) > len(data.y):
            hint = f"{data.name} has no more training rows; leave it out by --set, or the size."
            raise fail("sizes", owner, f"at most {len(data.y)}", max(settings.sizes), hint)


def shown_value(value: Any) -> str:
    """Return a grid point as a cell: a number, or ``name=number`` with spaces.

    Examples
    --------
    >>> shown_value({"C": 0.1, "gamma": 1.0}), shown_value(0.25)
    ('C=0.1 gamma=1', '0.25')
    """
    if isinstance(value, dict):
        return " ".join(f"{name}={shown_value(part)}" for name, part in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def choice_cells(choice: Choice, trial: Trial, data: Binary) -> dict[str, Any]:
    """Return the cells that every table of final models has: what was chosen, its accuracies, seconds and gap."""
    return {
        "d": data.X.shape[1],
        "n_test": len(data.y_test),
        "value": shown_value(choice.value),
        "place": choice.place,
        "points": choice.n_points,
        "validation_accuracy": f"{choice.validation_accuracy:.6f}",
        "train_accuracy": f"{choice.accuracy(trial.X, trial.y):.6f}",
        "test_accuracy": f"{choice.accuracy(data.X_test, data.y_test):.6f}",
        "seconds": f"{choice.seconds:.4f}",
        "gap": None if choice.gap is None else f"{choice.gap:.2e}",
    }


def write_report(
    settings: Settings,
    name: str,
    text: str,
    figures: Mapping[str, Callable[[], Any]],
    facts: Mapping[str, Any],
    seconds: float,
) -> list[Path]:
    """Write and say the summary, draw the pictures if that is possible, and write how all was made; return the files.

    ``figures`` has the name of each picture's file and what draws it.
    """
    written = [settings.out / f"{name}.md"]
    written[0].write_text(text, encoding="utf-8")
    for line in text.splitlines():
        settings.say(line)
    if available("matplotlib"):
        from clifford_rand_nn.displays import save_figure

        for picture, draw in figures.items():
            written.append(settings.out / f"{picture}.png")
            save_figure(draw(), written[-1])
    else:
        settings.say(f"No picture was drawn, that needs matplotlib: {install_command('matplotlib', 'app')}")
    return [*written, write_about(settings, name, seconds, facts)]
