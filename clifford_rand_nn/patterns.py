"""Activation patterns: what a set of gates does to a set of rows, each pattern once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, describe, fail
from clifford_rand_nn.gates.hyperplanes import Gates, as_gates


class ActivationPatterns(NamedTuple):
    """Distinct patterns (n, P) bool, one per column, and the gate (of P) that makes each."""

    patterns: NDArray[np.bool_]
    gates: Gates


def activation_patterns(X: ArrayLike, gates: Gates | tuple[ArrayLike, ArrayLike]) -> ActivationPatterns:
    r"""Return the distinct patterns :math:`D_i = 1(Xh_i + c_i \ge 0)`, without the all-off one, each with its gate.

    Of several gates with the same pattern the first is kept, in the order of ``gates``.

    Parameters
    ----------
    X : (n, d) array
    gates : Gates
        Or a pair ``(directions (d, m), offsets (m,))``.

    Raises
    ------
    ArgumentError
        X is not a finite (n, d) array with the d of the gates.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> gates = Gates.given(np.array([[1.0, 2.0, -1.0], [-1.0, -1.0, -1.0]]))
    >>> patterns, kept = activation_patterns(X, gates)
    >>> patterns.T.tolist(), len(kept)
    ([[True, False]], 1)
    """
    owner = "activation_patterns"
    data = as_real(X, "X", owner, min_ndim=1)
    hyperplanes = as_gates(gates, data.shape[-1], owner)
    if data.ndim != 2:
        raise fail("X", owner, f"of shape (n, {hyperplanes.d}), the d of the gates", describe(f"shape {data.shape}"))
    on = hyperplanes.on(data)
    packed = np.packbits(on, axis=0)  # (ceil(n/8), m): a column is the key of a pattern
    _, first = np.unique(packed, axis=1, return_index=True)
    keep = np.sort(first)
    keep = keep[on[:, keep].any(axis=0)]
    return ActivationPatterns(np.ascontiguousarray(on[:, keep]), hyperplanes.take(keep))
