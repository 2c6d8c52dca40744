"""Kernel regression for many rows: the whole problem as long as time and memory allow, a stated part of it beyond."""

import time
from dataclasses import dataclass, replace

import numpy as np

from clifford_rand._checks import describe, fail, quantity
from clifford_rand._typing import Array, NDArray
from clifford_rand_nn.cost import memory_limit, slowdown
from clifford_rand_nn.kernel_network.cholesky import by_factor, factor_bytes
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles, Workload, spread_rows
from clifford_rand_nn.kernel_network.many_rows_problem import Found, ManyRows
from clifford_rand_nn.kernel_network.nystrom import by_gradients, by_landmarks
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Status

WAYS = ("factor", "gradients", "landmarks")
PATIENCE = 120.0  # seconds that a way may take, if no limit is given, where another one is left
_PROMPT = 12.0  # seconds within which a way with leave-one-out of every row is taken, though another one be faster

# Seconds a unit of work on two cores (AMD EPYC of family 26, OpenBLAS at 110 GFLOP/s a core in single precision).
_FACTOR = 2.4e-12  # n³ of a Cholesky factor in single precision
_FACTORS = 6.0  # of a choice of beta among three: three, at most one more, an inverse as two
_FEATURE = 4.5e-12  # n² r of a product with the kernel, by halves, in single precision
_ARC = 1.7e-10  # n²
_COLUMN = 7e-12  # n² C
_LEVEL = 3e-11  # n² of a column of gates in single columns or boxes
_KEPT = 3e-10  # n² of a product with tiles that were kept
_DOUBLE = 2.2  # of a product in double precision
_STEPS = 15.0  # products until a relative gap of 1e-3, without some rows and with all
_FEATURES = 9e-12  # n m² of features of m landmarks and their sums
_COMPARED = 3.0  # seconds of the comparison on 6,000 rows
_PER_ROW = 140.0  # m² landmarks of a preconditioner for each row: as long to make as three products
_MOST_LANDMARKS = 2500  # of a preconditioner, whose features are most of the memory
_MOST_SPANNING = 8000  # where functions are those of their span
TOL = 1e-3  # relative gap: predictions are then within sqrt(2 tol × objective) of the optimum's, in the mean
LIMITS = Limits(tol=TOL, max_iter=500)  # of which max_iter counts products with the kernel


@dataclass(frozen=True)
class Way:
    """A way to solve, what it is expected to take, and why it was chosen."""

    name: str
    seconds: float
    bytes: float
    landmarks: int = 0
    keep_tiles: bool = False  # half of the kernel matrix
    reason: str = ""


def estimates(n: int, width: int, outputs: int, levels: float, most: float, seconds: float) -> dict[str, Way]:
    """Return what each way takes for n rows of so many features, outputs and levels, given bytes and seconds there are.

    Landmarks are as many as these allow, and tiles of the kernel are kept where they fit and save time.
    """
    own = n * (24.0 * width + 80.0 * outputs)  # rows in both precisions, and what is iterated
    product = n * n * (_FEATURE * width + _ARC + _COLUMN * outputs + _LEVEL * levels)
    judged, kept_product = _DOUBLE * product, n * n * (_KEPT + _COLUMN * outputs)
    kept, b = 4.0 * n + 40_000, max(most - own, 0.0)  # kept m + 40 m² = b: features, strips of them, sums of order m
    m = int(min((_PER_ROW * n) ** 0.5, _MOST_LANDMARKS, n / 2, ((kept * kept + 160 * b) ** 0.5 - kept) / 80))
    spanning = Workload(n, width, outputs)
    few = spanning.most(seconds, b, 0, min(_MOST_SPANNING, n // 2))
    m, few = (max(count, min(100, n // 2)) for count in (m, few))
    bytes_m = kept * m + 40.0 * m * m + own
    half = KernelTiles.kept_bytes(n)
    keep_tiles = kept_product < product and bytes_m + half <= most
    steps = product + (_STEPS - 1) * (kept_product if keep_tiles else product)
    gradients = _COMPARED + _FEATURES * n * m * m + steps + 2 * judged
    ways = (
        Way("factor", _FACTORS * _FACTOR * n**3 + 3 * judged, factor_bytes(n) + own),
        Way("gradients", gradients, bytes_m + keep_tiles * half, m, keep_tiles),
        Way("landmarks", spanning.seconds(few), spanning.bytes(few) + own, few),
    )
    return {way.name: way for way in ways}


def choose(
    n: int,
    width: int,
    outputs: int,
    max_time: float | None = None,
    max_memory: float | None = None,
    levels: float = 0.0,  # columns of gates in single columns or boxes
) -> Way:
    """Return the way that solves the whole problem within the limits, else landmarks.

    Of several it is the fastest, and the factor, with leave-one-out of every row, if that is prompt.
    Raises ArgumentError: no way keeps to ``max_memory``.
    """
    most = memory_limit(max_memory)
    seconds = PATIENCE if max_time is None else max_time
    pace = 1.0 if max_time is None else slowdown()  # without a limit nothing depends on the machine
    ways = estimates(n, width, outputs, levels, most, seconds / pace)
    ways = {name: replace(way, seconds=pace * way.seconds) for name, way in ways.items()}
    fitting = [ways[name] for name in WAYS if ways[name].bytes <= most]
    if not fitting:
        needed = f"at least {quantity(min(way.bytes for way in ways.values()))} for {n} rows"
        raise fail("max_memory", "solve_many", needed, describe(quantity(most)))
    whole = [way for way in fitting if way.name != "landmarks"]
    quick = [way for way in whole if way.seconds <= seconds]
    expected = {way.name: f"{way.seconds:.2g} s" if way.bytes <= most else quantity(way.bytes) for way in ways.values()}
    about = f"n = {n}, {width} features, {outputs} outputs, limits {seconds:.4g} s and {quantity(most)}; expected: "
    about += ", ".join(f"{name} {takes}" for name, takes in expected.items())
    if ways["factor"] in quick and ways["factor"].seconds <= _PROMPT:
        return replace(ways["factor"], reason=about)
    if quick:
        return replace(min(quick, key=lambda way: way.seconds), reason=about)
    if fitting[-1].name == "landmarks":
        return replace(fitting[-1], reason=f"{about}; only landmarks keep to the limits")
    return replace(min(whole, key=lambda way: way.seconds), reason=about)


@dataclass(frozen=True, eq=False)
class ManyRowsSolution:
    r"""A function :math:`f(x)=\sum_iK(x, c_i)\,\alpha_i+t`, how it was found, and what is proved of it."""

    # (k,): rows of the training data that coefficients belong to: all with a weight, or landmarks
    centers: NDArray[np.intp]
    alpha: Array  # (k, C)
    intercept: Array  # (C,)
    beta: float  # in the 1/n scale
    fitted: Array  # (n, C): predictions of all rows
    # (s,): rows for which there are predictions of fits that did not see them: left out one by one, or held out
    # together
    unseen_rows: NDArray[np.intp]
    unseen: Array  # (s, C): these predictions
    left: Array | None  # (s,): 1 - H of each, if they were left out one by one
    objective: float  # of the problem that ``scope`` names, in the 1/n scale
    duality_gap: float
    relative_gap: float
    dual_point: Array  # (n, C): what proves the bound; columns sum to zero
    status: Status
    history: tuple[HistoryRow, ...]
    way: str  # "factor", "gradients" or "landmarks"
    scope: str  # over what the gap is certified
    reason: str  # why this way, and what is approximated
    message: str  # the status in words


def solve_many(
    kernel: GateKernel,
    rows: Array,
    targets: Array,
    weights: Array | None = None,
    *,
    betas: tuple[float, ...],
    way: str = "auto",
    limits: Limits = LIMITS,
) -> ManyRowsSolution:
    r"""Minimize over the functions of a kernel's space and an intercept t, for all outputs at once.

    .. math:: \frac1n\sum_i\omega_i\tfrac12||y_i-f(x_i)-t||^2+\frac\beta2||f||_K^2

    By a Cholesky factor; of more rows by conjugate gradients on tiles of the kernel; and only where neither keeps to
    the limits, functions in the span of landmarks. ``reason`` of the result says which and why. Nothing is random:
    results depend on the data and their order alone.

    ``targets`` (n, C). ``rows`` (n, d): as the kernel sees them, standardized. ``weights`` (n,): brought to a mean of
    1. ``betas``: in the 1/n scale, the likeliest last. Of several the best is taken by leave-one-out of some rows from
    the factor, on some thousand rows (conjugate gradients); or that of a grid, by held-out rows (landmarks).
    Without ``max_time`` a way to the whole problem is taken if it is expected to end within two minutes; ``max_memory``
    counts what is beside the data, by default half of the machine's. Raises ArgumentError: no way keeps to
    ``max_memory``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> found = solve_many(GateKernel(bias=1.0), X, abs(X), betas=(1e-4,), way="factor")
    >>> found.status == "optimal", bool(abs(found.fitted - abs(X)).max() < 0.05)
    (True, True)
    """
    began = time.perf_counter()
    used = np.arange(len(rows)) if weights is None else np.flatnonzero(weights > 0)
    n, C = len(used), targets.shape[1]
    order = used[spread_rows(n, n)]
    w = np.ones(n) if weights is None else weights[order] / weights[order].mean()
    problem = ManyRows(kernel, rows[order], targets[order], w)
    width, levels = (int(part.shape[1]) for part in (kernel.features(rows[:1]), kernel.parts(rows[:1])[1]))
    if way == "auto":
        chosen = choose(n, width, C, limits.max_time, limits.max_memory, levels)
    else:
        most, seconds = (np.inf if limit is None else limit for limit in (limits.max_memory, limits.max_time))
        chosen = estimates(n, width, C, levels, most, seconds)[way]
    solved = _solve(problem, chosen, limits, began, betas)
    watch, last = solved.watch, order[n - solved.last :]
    fitted, dual = np.zeros(targets.shape), np.zeros(targets.shape)
    centers = order if solved.centers is None else order[solved.centers]
    fitted[order], dual[order] = watch.fitted, watch.bound.theta
    if n < len(rows):
        empty = np.setdiff1d(np.arange(len(rows)), used)
        fitted[empty] = KernelTiles(kernel, rows[centers]).multiply_from(rows[empty], watch.point.alpha)
        fitted[empty] += watch.point.intercept
    assert watch.status is not None
    return ManyRowsSolution(
        centers=centers,
        alpha=watch.point.alpha,
        intercept=watch.point.intercept,
        beta=solved.beta,
        fitted=fitted,
        unseen_rows=last,
        unseen=solved.unseen,
        left=solved.left,
        objective=watch.objective,
        duality_gap=max(watch.objective - watch.bound.value, 0.0),
        relative_gap=watch.gap,
        dual_point=dual,
        status=watch.status,
        history=tuple(watch.history),
        way=chosen.name,
        scope=solved.scope,
        reason=". ".join(part for part in (chosen.reason, solved.remark) if part),
        message=watch.message,
    )


def _solve(problem: ManyRows, way: Way, limits: Limits, began: float, betas: tuple[float, ...]) -> Found:
    if way.name == "factor":
        return by_factor(problem, limits, began, betas)
    if way.name == "gradients":
        return by_gradients(problem, limits, began, betas, way.landmarks, way.keep_tiles)
    return by_landmarks(problem, limits, began, betas, way.landmarks)
