"""Sketching data that come in blocks of rows, one block in memory at a time."""

from collections.abc import Iterable, Iterator
from typing import Any

from clifford_rand._checks import fail
from clifford_rand.sketch.base import Sketch


def sketch_rows(blocks: Iterable[Any], S: Sketch) -> Iterator[Any]:
    """Yield ``block @ S.T`` (m, r) for every block (m, d) of rows: X @ S.T for an X that does not fit in memory.

    Parameters
    ----------
    blocks : iterable of array_like (m, d)
        Dense arrays, memory maps or SciPy sparse matrices; m may vary.
    S : Sketch
        Of shape (r, d).

    Yields
    ------
    ndarray (m, r), or sparse as ``S`` makes it

    Raises
    ------
    ArgumentError
        If ``S`` is not a sketch (at once), or a block does not fit (when its turn comes).

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> X, S = np.arange(24.0).reshape(6, 4), cr.SJLT(2, 4, rng=0)
    >>> Y = np.concatenate(list(cr.sketch_rows((X[i : i + 4] for i in (0, 4)), S)))
    >>> np.array_equal(Y, X @ S.T)
    True
    """
    if not isinstance(S, Sketch):
        raise fail("S", "sketch_rows", "a sketch", S)
    transposed = S.T
    return (block @ transposed for block in blocks)
