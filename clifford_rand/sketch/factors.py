"""What the sketched products share: scaled factors, fresh copies of a sketch, volumes of rows."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.crossproduct.paths import default_rtol
from clifford_rand.crossproduct.scaled import unit_scaled
from clifford_rand.sketch.base import Sketch

_LN2 = math.log(2.0)


def check_factors(A: NDArray[Any], S: object, owner: str, *, below: int = 0) -> None:
    """Raise unless ``S`` is (r, d) and ``A`` (..., k, d) with k ≤ r - ``below``."""
    shape = getattr(S, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise fail("S", owner, "a sketch or a matrix of shape (r, d)", S)
    r, d = shape
    if A.ndim < 2 or A.shape[-1] != d or A.shape[-2] > r - below:
        rule = f"of shape (..., k, {d}) with k ≤ {r - below}, vectors as rows, for S of shape {shape}"
        raise fail("A", owner, rule, describe(f"shape {A.shape}"))


def scaled_factors(A: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the rows times powers of two that bring their peaks to [1/2, 1), and the log of what they lost (...)."""
    rows, exponent = unit_scaled(A)
    return rows, exponent.sum(axis=-1, dtype=np.float64) * _LN2


def redraws(S: Sketch, repeats: int) -> Iterator[Sketch]:
    """Yield ``S`` and ``repeats - 1`` independent sketches of its kind, seeded by its own seed."""
    yield S
    for i in range(1, repeats):
        seed: Any = np.random.SeedSequence(S.rng, spawn_key=(i,))
        yield S.redraw(np.random.default_rng(seed))


def log_volume(Y: NDArray[Any], rtol: float | None = None) -> NDArray[np.float64]:
    """Return log √det(Y Yᵀ) for scaled rows Y (..., k, r) by QR, -inf where a row depends on those before it.

    A row depends on others where what is orthogonal to them is at most ``rtol`` times its length.
    """
    k, r = Y.shape[-2:]
    tolerance = default_rtol(max(r, 4), Y.dtype) if rtol is None else rtol
    Y = Y.astype(np.float64)
    if k == 0:
        return np.zeros(Y.shape[:-2])
    R = np.linalg.qr(np.swapaxes(Y, -1, -2), mode="r")
    height = np.abs(np.diagonal(R, axis1=-2, axis2=-1))
    length = np.linalg.norm(Y, axis=-1)
    dependent = (height <= tolerance * length).any(axis=-1)
    logs = np.log(np.where(dependent[..., None], 1.0, height)).sum(axis=-1)
    return np.asarray(np.where(dependent, -np.inf, logs))
