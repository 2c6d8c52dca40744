"""Number of landmarks, from rows, columns and outputs by seconds and bytes."""

from typing import NamedTuple

from clifford_rand._checks import describe, fail, quantity

SINGLE = 1e-4  # least share that a landmark is not known by others, for sums in single precision
MOST = 2500  # landmarks, if nothing else limits them: a process keeps below 1 GB
_LEAST = 1000  # without max_time, however many rows
_PATIENCE = 150.0  # seconds of two cores, if max_time is not given
_SHARE = 0.8  # of max_time, beside the sample
_BYTES = 0.6e9  # beside libraries and rows, if max_memory is not given

# Seconds of one core, as `kernel_network.large_n.cost_model` has them of two.
_PRODUCT = 2.2e-11  # n m (9/16 m + C) of products in single precision
_ENTRY = 4.5e-10  # n m, of the kernel, and 4 operations of a pass
_FEATURE = 1.0e-11  # n m r
_DOUBLE = 2.2
PASSES, NEWTON_PASSES = 4.0, 25.0  # in double precision, to certify, and steps: of squares, of the logistic loss
_CUBE = 4e-10  # m³: factors, an eigendecomposition


class Size(NamedTuple):
    """How many landmarks, and what is expected of them on two cores."""

    landmarks: int
    seconds: float
    bytes: float
    single: bool


def seconds(n: int, m: int, width: int, outputs: int, single: bool = True, passes: float = PASSES) -> float:
    """Return the seconds that two cores are expected to take for m landmarks."""
    entries = n * m * (_ENTRY + _FEATURE * width)
    products = n * m * _PRODUCT * (9 / 16 * m + outputs)
    steps = passes * _DOUBLE * (entries + n * m * outputs * 2 * _PRODUCT)
    return ((entries + products) * (1 if single else _DOUBLE) + steps) / 2 + _CUBE * m**3


def held_bytes(m: int, outputs: int, workers: int, single: bool = True) -> float:
    """Return bytes beside libraries and rows: sums that wait, those of threads, and what is made of them at the end."""
    size, pair = (4 if single else 8), m * m * 9 / 16 + m * (outputs + 1)
    passing = workers * (3 * 8 * pair + 4096 * (m * size + 8 * outputs)) + 8 * 8 * pair
    after = 8 * (4.5 * m * m + 4000 * (2 * m + outputs))
    return max(passing, after)


def landmarks(
    n: int,
    width: int,
    outputs: int,
    workers: int,
    max_time: float | None = None,
    max_memory: float | None = None,
    owner: str = "fit",
    single: bool = True,
    passes: float = PASSES,
) -> Size:
    """Return how many landmarks keep to the limits; at least a hundred, or all rows.

    Raises
    ------
    ArgumentError
        Not even these keep to ``max_memory``.
    """
    most, until = min(MOST, n), (_PATIENCE if max_time is None else _SHARE * max_time)
    least = min(100, most) if max_time is not None else min(_LEAST, most)
    room = _BYTES if max_memory is None else max_memory

    def fits(m: int) -> bool:
        return (m <= least or seconds(n, m, width, outputs, single, passes) <= until) and (
            held_bytes(m, outputs, workers, single) <= room
        )

    low, high = 0, max(most, 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    if low < min(100, most):
        needed = held_bytes(min(100, most), outputs, workers, single)
        raise fail("max_memory", owner, f"at least {quantity(needed)}", describe(quantity(room)))
    expected = seconds(n, low, width, outputs, single, passes)
    return Size(low, expected, held_bytes(low, outputs, workers, single), single)
