"""The ``engine`` parameter of `fit`: what users may say, and the engine that it means."""

from typing import Any

from clifford_rand._checks import fail
from clifford_rand_nn.shards.engines.base import Engine
from clifford_rand_nn.shards.engines.local import LocalEngine
from clifford_rand_nn.shards.source import Shards


def as_engine(engine: Any, shards: Shards, owner: str, max_memory: float | None = None) -> Engine:
    """Return the engine that runs the sums over some shards; None is this process.

    Raises
    ------
    ArgumentError
        Anything else but an `Engine`.
    """
    if engine is None:
        return LocalEngine(shards)
    if isinstance(engine, Engine):
        return engine
    raise fail("engine", owner, 'None, a distributed.Client, "torch" or an Engine', engine)
