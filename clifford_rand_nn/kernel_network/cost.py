"""Expected cost of the parts of a kernel network's fit: selection by leave-one-out, learned metric, solution."""

from clifford_rand._threads import cpu_count
from clifford_rand_nn.cost import Estimate, machine_speed, slowdown
from clifford_rand_nn.kernel_network.candidates import BIASES, DECAYS, FINALISTS, SCREENED, STEPS, screened_rows
from clifford_rand_nn.kernel_network.many_rows import choose
from clifford_rand_nn.kernel_network.metric_frame import FOLDS, HELD_OUT, THIRDS
from clifford_rand_nn.kernel_network.standardization import SCALINGS, by_products
from clifford_rand_nn.kernel_network.training import COMPARED, DECOMPOSED, LEARNED

# Work by n² in multiplications of a matrix product, measured in one thread with 200 to 3000 rows of 5 to 100 columns.
_ARC = 130.0  # an entry of the kernel, beside one multiplication a column
_DISTANCE = 30.0  # an entry, a column of gates in single columns or boxes
_BETAS, _OUTPUT = 230.0, 70.0  # leave-one-out of some thirty betas; of each output
_FACTOR = 0.4  # n³ of a Cholesky factor
_INVERSES = 3.5  # betas of a candidate, each with the inverse of its factor, which takes as long as that
_OUTER = 1.0  # a column of the average outer product of gradients
_TRIALS, _FACTORS, _FITS = 5, 5, 2  # metrics that are compared, betas of each, and iterations that are learned
_PREDICTED = 800  # rows that are predicted again
_SOLVED = 0.5  # of the expected time of `choose`: 20,000 rows of 20 columns
_STEPPED = 0.3  # of tables have gates in single columns or boxes
_FEATURES = 3  # columns of the kernel's features beside those of the rows, at most
_OVERHEAD = 6e7  # multiplications of a comparison on few rows: 3 ms
_SEARCHED, _LISTED = 5000, 500  # rows and neurons of a finite network
_ATOMS, _NEURONS = 1.3e10, 1.5e5  # work of their selection, and by row and column
_JUDGED = 2e7  # by row, of calibrated probabilities or of intervals: data decide, by factors of 3 to both sides


def _seconds(multiplications: float, tasks: int = 1) -> float:
    return machine_speed().product * multiplications / min(cpu_count(), max(1, tasks))


def _kernel(n: float, d: float, steps: float = _STEPPED) -> float:
    return n * n * (_ARC + d + _DISTANCE * d * steps)


def _compared(n: float, d: float, outputs: int, tasks: int = 1, steps: float = _STEPPED) -> float:
    """Return the seconds of a kernel, its eigendecomposition, and leave-one-out of the betas of a grid."""
    products = _kernel(n, d, steps) + n * n * (_BETAS + _OUTPUT * outputs) + _OVERHEAD
    decomposition = machine_speed().decomposition * n**3 * (0.55 + 150.0 / n)  # small ones are less efficient
    return _seconds(products, tasks) + decomposition / min(cpu_count(), max(1, tasks))


def network_costs(
    n: int,
    d: int,
    outputs: int,
    *,
    metric_iter: int = 3,
    finite: bool = False,
    max_time: float | None = None,
    max_memory: float | None = None,
) -> dict[str, Estimate]:
    """Return the estimates of the parts of `train`, by name, for n unique rows of d columns.

    >>> few, many = (network_costs(n, 10, 1, metric_iter=0) for n in (500, 2000))
    >>> sorted(set(many) - set(few)), many["selection"].seconds > few["selection"].seconds
    (['beta'], True)
    """
    m = min(n, COMPARED)
    width = min(d, n) if by_products(n, d) else d
    steps = 0 if finite or by_products(n, d) else 2 * len(STEPS) + len(DECAYS) - 1
    others = len(BIASES) - 1 + steps
    kinds = 3 if steps else 1  # of gates: all but one of them have levels
    some = min(m, screened_rows(n))
    first = min(some, SCREENED)
    selection = _compared(first, width, outputs, 1, 0)
    others += len(SCALINGS) - 1
    for rows, compared in ((first, others), (some, kinds * FINALISTS if some > first else 0)):
        factors = _INVERSES * (2 * _FACTOR * rows**3 + rows * rows * _OUTPUT * outputs)
        selection += compared * _seconds(_kernel(rows, width, steps / others) + factors + _OVERHEAD, compared)
    parts = {"selection": Estimate(selection, 8.0 * (2 + 3 * min(cpu_count(), others)) * some * some)}
    if finite:
        few = float(min(n, _SEARCHED))
        parts["neurons"] = Estimate(
            _seconds(_ATOMS + _NEURONS * few * (100 + width) * outputs), 8.0 * _LISTED * few * 6
        )
        return parts
    if some < n <= DECOMPOSED and not metric_iter:  # with a learned metric, as most have, there is none
        factors = _INVERSES * 2 * _FACTOR * n**3
        parts["beta"] = Estimate(_seconds(_kernel(n, width) + factors), 4.0 * 8.0 * n * n)
    if metric_iter:
        parted = 3 if THIRDS[0] <= n <= THIRDS[1] else FOLDS
        folds = min(parted, -(-HELD_OUT // max(1, m // parted)))
        part = (1 - 1 / parted) * m
        outer = m * m * (_ARC + _OUTER * width)
        kernel = _kernel(m, width, (kinds - 1) / kinds)
        trial = kernel + _FACTORS * (_FACTOR * part**3 + _OVERHEAD / 10) + outer
        parts["metric"] = Estimate(_seconds(kinds * folds * _TRIALS * trial, folds), 8.0 * folds * m * m * 1.5)
        few = min(n, LEARNED)
        each = _kernel(few, width) + few * few * (_ARC + _OUTER * width) + _FACTOR * few**3
        # of more rows those that gates were not learned from are predicted by the fit
        again = max(1, min(folds, (_PREDICTED - (n - m)) // max(1, m // parted))) if n <= LEARNED else 0
        left_out = again * (_kernel(n, width) + 2 * _FACTOR * n**3)
        left_out += _kernel(n, width) + _FACTOR * n**3 if n <= DECOMPOSED else 0.0
        parts["learning"] = Estimate(_seconds(_FITS * each) + _seconds(left_out, again), 8.0 * few * few * 4)
    if n > DECOMPOSED:
        pace = _SOLVED * 2 / min(cpu_count(), 2) * (slowdown() if max_time is None else 1.0)  # those of two cores
        way = choose(n, width + _FEATURES, outputs, max_time, max_memory, _STEPPED * width if steps else 0.0)
        parts["solution"] = Estimate(way.seconds * pace, way.bytes)
    parts["scores"] = Estimate(_seconds(_JUDGED * min(n, LEARNED)), 8.0 * min(n, COMPARED) ** 2 * 4)
    return parts
