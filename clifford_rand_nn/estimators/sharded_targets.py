"""What shards say to learn: labels with the factors of their classes, or reals."""

from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.problems.duality import exact_offsets
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.row_sums.targets import Targets
from clifford_rand_nn.shards.scan import Facts


def stored_targets(model: Any, facts: Facts, loss: Loss) -> Targets:
    """Return how the targets of an estimator are read from shards, after the first pass over them.

    Raises
    ------
    ArgumentError
        Labels where there should be reals, several labels a row, or factors of classes that are not > 0.
    """
    owner, y = type(model).__name__, facts.sample.y
    assert y is not None
    if not hasattr(model, "class_weight"):
        if y.dtype.kind not in "fiub":
            raise fail("y", owner, "real numbers", describe(f"dtype {y.dtype}"), "Labels are for a classifier.")
        offset = np.array(exact_offsets(facts.bounds) if getattr(model, "fit_intercept", True) else ())
        exponent = Units.of(np.ones((1, 1)), facts.bounds - offset if offset.size else facts.bounds, owner).y
        return Targets(loss, None, facts.mean_weight, exponent=exponent, offset=offset if offset.size else None)
    if y.ndim == 2 and y.shape[1] > 1:
        raise fail("y", owner, "one label a row in shards", describe(f"{y.shape[1]} columns"))
    labels, mass = list(facts.labels), np.array(list(facts.labels.values()))
    classes = np.array(labels, dtype=None if y.dtype.kind in "SU" else y.dtype)
    factors = _factors(model.class_weight, labels, mass, owner)
    mean = facts.mean_weight if factors is None else float(factors @ mass) / facts.n
    return Targets(loss.of_classes(len(labels)), classes, mean, factors)


def _factors(class_weight: Any, labels: list[Any], mass: Array, owner: str) -> Array | None:
    """Return by what rows of a class weigh more, so that "balanced" gives each the same sum."""
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        unknown = [name for name in class_weight if name not in labels]
        if unknown:
            raise fail("class_weight", owner, "a dict of classes of y", describe(f"another, {unknown[0]!r}"))
        factors = np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
        if not (np.isfinite(factors) & (factors > 0)).all():
            raise fail("class_weight", owner, "numbers > 0 with shards", class_weight, "Leave such rows out of them.")
        return factors
    if not (isinstance(class_weight, str) and class_weight == "balanced"):
        rule = "None, 'balanced' or a dict with a number > 0 for classes"
        raise fail("class_weight", owner, rule, class_weight)
    return np.asarray(mass.sum() / len(mass) / mass)
