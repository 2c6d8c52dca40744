"""What fits to shards of every family begin with: what is refused beside them, and what a saved state belongs to."""

from typing import Any

from clifford_rand._checks import describe, fail
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.row_sums.engine import Engine
from clifford_rand_nn.shards.checkpoint import Checkpoint, CheckpointStore
from clifford_rand_nn.shards.source import Shards

_HINTS = {"groups": "Groups are for rows in memory."}


def refuse_beside_shards(owner: str, **given: Any) -> None:
    """Raise if targets, weights or groups are given beside shards."""
    for name, value in given.items():
        if value is not None:
            hint = _HINTS.get(name, "Give it to Shards, beside X.")
            raise fail(name, owner, "None with Shards", describe(type(value).__name__), hint)


def refuse_in_memory(owner: str, **given: Any) -> None:
    """Raise if what only fits to shards take is given with rows in memory."""
    for name, value in given.items():
        if value is not None:
            raise fail(name, owner, "None with rows in memory", value, "It is for Shards.")


def belongs_to(model: Any, shards: Shards, free: tuple[str, ...]) -> dict[str, Any]:
    """Return what a state belongs to: data, estimator and its parameters, but those that may differ from run to run."""
    about = {name: value for name, value in model.get_params().items() if name not in free}
    if isinstance(about["gates"], Gates):
        about["gates"] = tuple(about["gates"])
    return about | {"shards": shards.fingerprint, "model": type(model).__name__}


def opened_checkpoint(runs: Engine, given: Any, about: dict[str, Any], owner: str) -> tuple[CheckpointStore, Any]:
    """Return what keeps the states of a fit, and the one to go on from or None.

    The first process alone tries and reads the file; what is wrong with it is an error in all.
    """
    saved = runs.of_first(lambda: Checkpoint.opened(given, about, owner).load())
    return Checkpoint.opened(given, about, owner, writes=runs.first), saved
