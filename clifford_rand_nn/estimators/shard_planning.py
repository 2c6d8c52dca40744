"""Estimates of the disk, memory, passes and seconds that a fit to shards takes."""

from typing import Any

from sklearn.base import clone

from clifford_rand._checks import describe, fail
from clifford_rand_nn.row_sums.engine import Engine
from clifford_rand_nn.shards.engines.dispatch import as_engine
from clifford_rand_nn.shards.plan import Plan, plan_fit
from clifford_rand_nn.shards.source import Shards


class ShardPlanning:
    """An estimator that fits shards, and says before the start what that takes."""

    def plan(self, shards: Shards, engine: Any = None) -> Plan:
        """Say what `fit` of these shards will take: bytes on disk and in memory, passes, seconds.

        A copy of the estimator is fitted to 65,536 of the rows, from all over the shards, by the same engine; that
        takes some seconds, at most a minute. This estimator stays as it is.

        Parameters
        ----------
        shards : Shards
        engine : None, distributed.Client or "torch"
            As for `fit`.

        Returns
        -------
        Plan
            ``print(model.plan(shards))`` reads as a table.

        Raises
        ------
        ArgumentError
            What `fit` would refuse.
        """
        owner = type(self).__name__
        if not isinstance(shards, Shards):
            raise fail("shards", f"{owner}.plan", "Shards", describe(type(shards).__name__))
        if isinstance(engine, Engine):
            hint = "Engines belong to their shards, and a plan makes one for some of the rows."
            raise fail("engine", f"{owner}.plan", 'None, a distributed.Client or "torch"', engine, hint)
        model: Any = self

        def fit(some: Shards, runs: Engine, seconds: float) -> Any:
            return clone(model).set_params(verbose=0, max_time=seconds).fit(some, engine=runs)

        return plan_fit(
            owner, shards, lambda some: as_engine(engine, some, owner, model.max_memory), fit, model.max_time
        )
