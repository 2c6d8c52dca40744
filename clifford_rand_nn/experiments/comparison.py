"""What the experiments on real sets share: their data, the facts of a run, and the loop over trials and methods."""

from collections.abc import Sequence
from typing import Any

from clifford_rand._checks import fail
from clifford_rand_nn.datasets.features_file import FeatureSet, load_feature_folder
from clifford_rand_nn.experiments.methods.base import Method
from clifford_rand_nn.experiments.protocol import PROTOCOL, Binary, data_hash
from clifford_rand_nn.experiments.settings import Settings

__all__ = ["SETUP", "check_sizes", "load_sets", "run_facts", "shown_value"]

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
