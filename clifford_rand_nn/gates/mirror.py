"""Mirror images of gates: the same planes, on on their other sides."""

from dataclasses import replace

import numpy as np

from clifford_rand_nn.gates.hyperplanes import Gates

__all__ = ["with_mirror_images"]


def with_mirror_images(gates: Gates) -> Gates:
    r"""Return the gates (h, c), each followed by (-h, -c): 2m gates, with the incident rows on the other sides.

    .. math:: 1(-h\cdot x - c \ge 0) = 1 - 1(h\cdot x + c \ge 0) \quad\text{unless } h\cdot x + c = 0,

    which no moved gate has on its training rows, but for a row 0 without bias: it is on for both.

    Examples
    --------
    >>> both = with_mirror_images(Gates.given(np.array([[1.0], [2.0]])))
    >>> both.on(np.array([[1.0, 1.0], [-1.0, 0.0]])).astype(int).tolist()
    [[1, 0], [0, 1]]
    """
    both = gates.take(np.repeat(np.arange(len(gates)), 2))
    sign = np.where(np.arange(len(both)) % 2, -1.0, 1.0)
    return replace(
        both,
        directions=both.directions * sign,
        offsets=both.offsets * sign,
        sides=both.sides ^ (sign < 0)[:, None],
    )
