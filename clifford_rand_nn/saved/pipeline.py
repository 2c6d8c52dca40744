"""A pipeline as plain arrays and values, and back: its steps, and the estimator that it ends with."""

from typing import Any

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from clifford_rand_nn.saved import estimator, steps


def pack(pipeline: Pipeline) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the values of a fitted pipeline."""
    arrays, meta = estimator.pack(pipeline.steps[-1][1])
    meta["pipeline"] = steps.pack_pipeline(arrays, steps.OUTER, pipeline)
    meta["version"] = max(steps.VERSION, meta["version"])
    return arrays, meta


def unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Pipeline:
    """Return the pipeline of arrays and values from a file."""
    parts = steps.take_steps(arrays, steps.OUTER)
    return steps.read_pipeline(parts, steps.OUTER, meta["pipeline"], estimator.unpack(arrays, meta))
