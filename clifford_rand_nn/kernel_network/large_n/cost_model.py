"""Seconds and bytes of each method for many rows, from a model fitted to measurements."""

from typing import NamedTuple

from clifford_rand._checks import describe, fail, machine_memory, quantity
from clifford_rand_nn.kernel_network.landmarks.cost_model import Workload
from clifford_rand_nn.kernel_network.large_n.cholesky_fit import factor_bytes

WAYS = ("eigenvectors", "factor", "gradients", "landmarks")
PATIENCE = 120.0  # seconds that a way may take, if no limit is given, where another one is left
_PROMPT = 12.0  # seconds within which a way with leave-one-out of every row is taken, though another one be faster
_SHARE_OF_MEMORY = 0.5  # of what the machine has, if no limit is given

# Seconds a unit of work on two cores (AMD EPYC of family 26, OpenBLAS at 110 GFLOP/s a core in single precision).
_EIGEN = 1.2e-10  # n³ of an eigendecomposition with its leave-one-out
_FACTOR = 2.4e-12  # n³ of a Cholesky factor in single precision
_FACTORS = 6.0  # of a choice of beta among three: three, at most one more, an inverse as two
_FEATURE = 4.5e-12  # n² r of a product with the kernel, by halves, in single precision
_ARC = 1.7e-10  # n²
_COLUMN = 7e-12  # n² C
_DOUBLE = 2.2  # of a product in double precision
_STEPS = 15.0  # products until a relative gap of 1e-3, without some rows and with all
_FEATURES = 9e-12  # n m² of features of m landmarks and their sums
_SUBSET = 3.0  # seconds of leave-one-out on a subset
_COMPARED = 3.0  # and of the comparison on 6,000 rows
_PER_ROW = 140.0  # m² landmarks of a preconditioner for each row: as long to make as three products
_MOST_LANDMARKS = 2500  # of a preconditioner, whose features are most of the memory
_MOST_SPANNING = 8000  # where functions are those of their span


class Way(NamedTuple):
    """A way to solve, what it is expected to take, and why it was chosen."""

    name: str
    seconds: float
    bytes: float
    landmarks: int
    reason: str


def _product(n: int, width: int, outputs: int) -> float:
    return n * n * (_FEATURE * width + _ARC + _COLUMN * outputs)


def estimates(n: int, width: int, outputs: int, most: float, seconds: float) -> dict[str, Way]:
    """Return what each way takes for n rows of so many features and outputs, given bytes and seconds there are.

    Landmarks are as many as these allow.
    """
    own = n * (24.0 * width + 80.0 * outputs)  # rows in both precisions, and what is iterated
    judged = _DOUBLE * _product(n, width, outputs)
    kept, b = 4.0 * n + 40_000, max(most - own, 0.0)  # kept m + 40 m² = b: features, strips of them, sums of order m
    m = int(min((_PER_ROW * n) ** 0.5, _MOST_LANDMARKS, n / 2, ((kept * kept + 160 * b) ** 0.5 - kept) / 80))
    spanning = Workload(n, width, outputs)
    few = spanning.most(seconds, b, 0, min(_MOST_SPANNING, n // 2))
    m, few = (max(count, min(100, n // 2)) for count in (m, few))
    return {
        "eigenvectors": Way("eigenvectors", _EIGEN * n**3, 8.0 * 5 * n * n, 0, ""),
        "factor": Way("factor", _SUBSET + _FACTORS * _FACTOR * n**3 + 3 * judged, factor_bytes(n) + own, 0, ""),
        "gradients": Way(
            "gradients",
            _SUBSET + _COMPARED + _FEATURES * n * m * m + _STEPS * _product(n, width, outputs) + 2 * judged,
            kept * m + 40.0 * m * m + own,
            m,
            "",
        ),
        "landmarks": Way("landmarks", spanning.seconds(few), spanning.bytes(few) + own, few, ""),
    }


def choose(n: int, width: int, outputs: int, max_time: float | None = None, max_memory: float | None = None) -> Way:
    """Return the way that solves the whole problem within the limits, else landmarks.

    Of several it is the fastest, and one with leave-one-out of every row (eigenvectors, factor) if that is prompt.

    Raises
    ------
    ArgumentError
        No way keeps to ``max_memory``.
    """
    most = _SHARE_OF_MEMORY * machine_memory() if max_memory is None else max_memory
    seconds = PATIENCE if max_time is None else max_time
    ways = estimates(n, width, outputs, most, seconds)
    fitting = [ways[name] for name in WAYS if ways[name].bytes <= most]
    if not fitting:
        needed = f"at least {quantity(min(way.bytes for way in ways.values()))} for {n} rows"
        raise fail("max_memory", "solve_many", needed, describe(quantity(most)))
    whole = [way for way in fitting if way.name != "landmarks"]
    quick = [way for way in whole if way.seconds <= seconds]
    about = "; ".join(
        f"{way.name} some {way.seconds:.2g} s" if way.bytes <= most else f"{way.name} {quantity(way.bytes)}"
        for way in ways.values()
    )
    about = f"n = {n}, {width} features, {outputs} outputs, {seconds:.4g} s, {quantity(most)}: {about}"
    prompt = [way for way in quick if way.name != "gradients" and way.seconds <= _PROMPT]
    if prompt:
        return min(prompt, key=lambda way: way.seconds)._replace(reason=about)
    if quick:
        return min(quick, key=lambda way: way.seconds)._replace(reason=about)
    if fitting[-1].name == "landmarks":
        return fitting[-1]._replace(reason=f"{about}; no way to the whole problem keeps to that")
    return min(whole, key=lambda way: way.seconds)._replace(reason=about)
