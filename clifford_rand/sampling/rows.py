"""What the samplers of rows share: checked and scaled rows, a draw by weights, the refusal of too many rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_bool, check_tolerance, describe, fail
from clifford_rand._typing import Array
from clifford_rand.crossproduct.scaled import unit_scaled
from clifford_rand.errors import ArgumentError


def check_rows(X: ArrayLike, bias: bool, owner: str) -> NDArray[Any]:
    """Return ``X`` as a real (n, d) array with n, d ≥ 1; check ``bias`` as well."""
    X = as_real(X, "X", owner)
    if X.ndim != 2 or 0 in X.shape:
        raise fail("X", owner, "of shape (n, d) with n, d ≥ 1, one vector per row", describe(f"shape {X.shape}"))
    check_bool(bias, "bias", owner)
    return X


def check_rank_rtol(rtol: float | None, X: NDArray[Any], bias: bool, owner: str) -> float:
    """Return ``rtol`` as a float in [0, 1); by default max(n, d)·eps of X's dtype, as `numpy.linalg.matrix_rank`."""
    return check_tolerance(rtol, max(len(X), X.shape[1] + bool(bias)) * float(np.finfo(X.dtype).eps), owner)


def scaled_rows(X: NDArray[Any], bias: bool, only_span: bool) -> Array:
    """Return the rows of X (n, d), or (x, 1), in float64 and scaled to entries of at most 1.

    One power of two scales all, which changes no ratio of volumes. Where only the span of the columns counts
    (``only_span``) every column has its own, and with ``bias`` the mean row is subtracted first: so neither the units
    of the features nor the place of the origin cost digits.
    """
    ones = np.ones((len(X), int(bias)))
    if not only_span:
        return unit_scaled(np.concatenate([X.astype(np.float64), ones], axis=1), None)[0]
    columns = unit_scaled(X.astype(np.float64), 0)[0]
    if bias:
        columns = columns - columns.mean(axis=0)
    return unit_scaled(np.concatenate([columns, ones], axis=1), 0)[0]


def draw(weight: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return an index for each row of ``weight`` (B, n), with probability ∝ its entries, not all of which are 0."""
    total = np.cumsum(weight, axis=1)
    # u < 1 keeps u·total below the last sum, and an entry of weight 0 is never the first to exceed it
    target = rng.random(len(weight)) * total[:, -1]
    return np.asarray(np.argmax(total > target[:, None], axis=1))


def too_many(k: int, rank: int, shape: tuple[int, int], rtol: float) -> ArgumentError:
    """Return the error for more rows than are independent."""
    rule = f"an integer from 1 to {rank}, the rank of the rows" if rank else "at most the rank of the rows, which is 0"
    received = describe(f"{k} for {shape[0]} rows of length {shape[1]}, rtol = {rtol:.2g}")
    hint = "More rows than the rank span no volume: lower k, or scale columns that differ by many orders of magnitude."
    return fail("k", "volume_sample", rule, received, hint)
