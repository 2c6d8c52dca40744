"""Number of landmarks, from rows, columns and outputs by seconds and bytes."""

from typing import NamedTuple

from clifford_rand._checks import describe, fail, quantity

MAX_LANDMARKS = 2500  # of rows in shards, if nothing else limits them: a process keeps below 1 GB
_LEAST = 1000  # landmarks without max_time, however many rows
_PATIENCE = 150.0  # seconds of two cores, if max_time is not given
_SHARE = 0.8  # of max_time, beside the sample
_BYTES = 0.6e9  # beside libraries and rows, if max_memory is not given

# Seconds of one core (AMD EPYC of family 26), measured by bench_shards.py; those of bench_rows.py are of two.
_PRODUCT = 2.2e-11  # n m (9/16 m + C) of products in single precision
_ENTRY = 4.5e-10  # n m, of the kernel, and 4 operations of a pass
_FEATURE = 1.0e-11  # n m r
_DOUBLE = 2.2  # times those in single precision
SQUARED_PASSES, LOGISTIC_PASSES = 4.0, 25.0  # in double precision, to certify, and steps
_CUBE = 4e-10  # m³: factors, an eigendecomposition


class Size(NamedTuple):
    """A number of landmarks, and the seconds and bytes that they are expected to take on two cores."""

    landmarks: int
    seconds: float
    bytes: float
    single: bool


class Workload(NamedTuple):
    """Sizes that decide how long sums over landmarks take."""

    n: int  # rows
    width: int  # numbers of a row that its kernel is made of
    outputs: int
    workers: int = 2  # threads that hold sums of their own
    passes: float = SQUARED_PASSES  # over the rows in double precision
    single: bool = True  # whether the sums of the normal equations are in single precision

    def seconds(self, m: int) -> float:
        """Return the seconds that two cores are expected to take for m landmarks."""
        entries = self.n * m * (_ENTRY + _FEATURE * self.width)
        products = self.n * m * _PRODUCT * (9 / 16 * m + self.outputs)
        steps = self.passes * _DOUBLE * (entries + self.n * m * self.outputs * 2 * _PRODUCT)
        return ((entries + products) * (1 if self.single else _DOUBLE) + steps) / 2 + _CUBE * m**3

    def bytes(self, m: int) -> float:
        """Return bytes beside libraries and rows: sums that wait and those of threads, or the factors at the end."""
        size, pair = (4 if self.single else 8), m * m * 9 / 16 + m * (self.outputs + 1)
        passing = self.workers * (3 * 8 * pair + 4096 * (m * size + 8 * self.outputs)) + 8 * 8 * pair
        return max(passing, 8 * (4.5 * m * m + 4000 * (2 * m + self.outputs)))

    def size(self, m: int) -> Size:
        """Return what m landmarks are expected to take."""
        return Size(m, self.seconds(m), self.bytes(m), self.single)

    def most(self, seconds: float, room: float, least: int, most: int) -> int:
        """Return the largest number of landmarks that keeps to seconds, unless it is ``least``, and to bytes."""
        low, high = 0, max(most, 1)
        while low < high:
            middle = (low + high + 1) // 2
            fits = (middle <= least or self.seconds(middle) <= seconds) and self.bytes(middle) <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        return low


def landmarks_of_shards(load: Workload, max_time: float | None, max_memory: float | None, owner: str) -> Size:
    """Return how many landmarks keep to the limits; at least a hundred, or all rows.

    Raises
    ------
    ArgumentError
        Not even these keep to ``max_memory``.
    """
    most = min(MAX_LANDMARKS, load.n)
    seconds = _PATIENCE if max_time is None else _SHARE * max_time
    room = _BYTES if max_memory is None else max_memory
    m = load.most(seconds, room, min(_LEAST if max_time is None else 100, most), most)
    if m < min(100, most):
        raise fail("max_memory", owner, f"at least {quantity(load.bytes(min(100, most)))}", describe(quantity(room)))
    return load.size(m)
