"""The ``engine`` parameter of `fit`, and the engine that it names."""

import sys
from typing import Any

from clifford_rand._checks import describe, fail
from clifford_rand_nn.row_sums.engine import Engine
from clifford_rand_nn.shards.engines.local import LocalEngine
from clifford_rand_nn.shards.source import Shards


def as_engine(engine: Any, shards: Shards, owner: str, max_memory: float | None = None) -> Engine:
    """Return the engine that runs the sums over some shards.

    Parameters
    ----------
    engine : None, distributed.Client, "torch" or Engine
        This process; the workers of a Dask cluster; the ranks of ``torch.distributed``, or one device if there is no
        process group; one made by the caller for these shards.
    shards : Shards
    owner : str
        Whose parameter it is, for errors.
    max_memory : float, optional
        Bytes a process.

    Raises
    ------
    ArgumentError
        Anything else, or an engine of other shards.

    Examples
    --------
    >>> import numpy as np
    >>> shards = Shards([np.ones((3, 2))])
    >>> type(as_engine(None, shards, "fit")).__name__
    'LocalEngine'
    """
    if engine is None:
        return LocalEngine(shards)
    if isinstance(engine, Engine):
        if engine.shards is not shards and engine.shards.fingerprint != shards.fingerprint:
            raise fail("engine", owner, "an engine of the same shards", describe(f"one of {engine.shards!r}"))
        return engine
    if isinstance(engine, str) and engine == "torch":
        from clifford_rand_nn.shards.engines.torch import TorchEngine

        return TorchEngine(shards, max_memory=max_memory)
    distributed: Any = sys.modules.get("distributed")  # whoever has a client has imported it
    if distributed is not None and isinstance(engine, distributed.Client):
        from clifford_rand_nn.shards.engines.dask import DaskEngine

        return DaskEngine(shards, engine, max_memory)
    raise fail("engine", owner, 'None, a distributed.Client, "torch" or an Engine', engine)
