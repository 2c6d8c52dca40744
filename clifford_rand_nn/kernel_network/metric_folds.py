"""Folds of rows that gates are learned on and judged on: outer parts, fits to all but one, and predictions of it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.candidates import least_by_steps, of_each
from clifford_rand_nn.kernel_network.cholesky import KernelRidge, spread
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.metric_frame import WIDTHS, LearnedRates, learn_rates, learned_kernels

FOLDS = 5
# Of so many rows a part is a third: fewer and smaller fits take a third of the time, and on 22 tables networks were as
# accurate. Of more, of which 1000 are taken, they lost up to 0.8 points.
THIRDS = 600, 1000
HELD_OUT = 330  # held-out rows, beyond which no part is held out
_FACTORS = tuple(4.0**k for k in range(-2, 3))  # of beta, which a fit to fewer rows with another kernel may want
_TOLD = 800  # rows that predictions are enough of: folds beyond are not fitted again
_FLAT = 1.005  # times the least error: factors below are as good, and the one next to 1 is taken


def outer_parts(
    X: Array, targets: Array, groups: NDArray[np.intp] | None, max_rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return at most max_rows rows (m,), what each of all rows belongs to (n,), and the part (m,) of each of the m.

    Rows belong to their group, or else to the copies of one row; parts count from 0 to 4 or less.
    """
    rng = np.random.default_rng(0)  # fixed: nothing but the rows says what is in which part
    key = X @ rng.standard_normal(X.shape[1])
    order = np.lexsort((key, targets @ rng.standard_normal(targets.shape[1])))
    size = float(np.abs(key).max()) or 1.0
    change = (np.abs(np.diff(key[order])) > 1e-10 * size) | (np.diff(targets[order], axis=0) != 0).any(axis=1)
    ranks = np.concatenate([[0], np.cumsum(change)])
    belongs = np.empty(len(order), dtype=np.intp)
    belongs[order] = ranks
    if groups is not None:
        # numbered by their first rows in this order, so that their names make no difference
        _, first, own = np.unique(groups[order], return_index=True, return_inverse=True)
        belongs[order] = np.argsort(np.argsort(first))[own]
    if len(order) > max_rows:
        order = order[np.linspace(0, len(order) - 1, max_rows).round().astype(np.intp)]
    units = np.unique(belongs[order], return_inverse=True)[1]
    n_units = int(units.max()) + 1
    parts = np.empty(n_units, dtype=np.intp)
    n_parts = min(3 if THIRDS[0] <= len(X) <= THIRDS[1] else FOLDS, n_units)
    if groups is None:
        for start in range(0, n_units, n_parts):
            block = parts[start : start + n_parts]
            block[:] = rng.permutation(n_parts)[: len(block)]
    else:  # the largest first, each to the smallest part
        sizes, filled = np.bincount(units), np.zeros(n_parts, dtype=np.intp)
        for unit in np.argsort(-sizes, kind="stable"):
            parts[unit] = int(np.argmin(filled))
            filled[parts[unit]] += sizes[unit]
    return order, belongs, parts[units]


def held_parts(parts: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of a part after the other until enough have been held out."""
    total = 0
    for part in range(int(parts.max()) + 1):
        rows = np.flatnonzero(parts == part)
        yield rows
        total += len(rows)
        if total >= HELD_OUT:
            return


class Fold(NamedTuple):
    """Gates that some rows have not seen."""

    kernel: GateKernel  # of the iterations that were chosen
    kept: NDArray[np.intp]  # (k,), rows that the gates were learned from
    unseen: NDArray[np.intp]  # (m,), rows that they have not seen, nor copies of these, nor rows of their groups


class Judged(NamedTuple):
    """One candidate on all folds: its kernels and coefficients, predictions and errors of held-out rows."""

    kernels: list[GateKernel]
    alphas: list[Array]
    predictions: Array
    errors: Array
    factor: float
    spreads: list[float]  # of kernels for which λ is ``radius``; for others λ is in proportion to the spread


class Folds:
    """The fits to all but one part, for each part that is held out."""

    def __init__(
        self,
        kernel: GateKernel,
        X: Array,
        targets: Array,
        weights: Array | None,
        radius: float,
        held: list[NDArray[np.intp]],
        n_parted: int,  # rows that are in a part; those behind them are held out alone
    ) -> None:
        self.X, self.targets, self.weights, self.radius, self.held = X, targets, weights, radius, held
        self.judged = np.concatenate(held)  # places of all rows that are held out, fold by fold
        self.scale = np.ones(len(self.judged)) if weights is None else weights[self.judged]
        every = np.arange(n_parted)
        self.kept = [np.setdiff1d(every, part, assume_unique=True) for part in held]
        self.first = [kernel] * len(held)

    def after(self, before: Judged, shapes: tuple[str, ...]) -> list[list[GateKernel]]:
        """Return the kernels of the next iteration: of each shape, of each fold."""

        def learn(fold: int) -> list[GateKernel]:
            kept = self.kept[fold]
            return learned_kernels(before.kernels[fold], self.X[kept], before.alphas[fold], shapes, self._weights(kept))

        by_fold = of_each(learn, range(len(self.held)))
        return [list(kernels) for kernels in zip(*by_fold, strict=True)]

    def with_learned_rates(self, before: Judged) -> Iterator[tuple[list[GateKernel], list[float], Array]]:
        """Yield of each round the kernels of folds, with rates that each learns from its rows, spreads and changes.

        ``spreads``: as of `Judged`. ``changes`` (d + 2,): as of `LearnedRates`, means over folds.
        """

        def learn(fold: int) -> Iterator[LearnedRates]:
            kernel, kept = before.kernels[fold], self.kept[fold]
            own, size = self.X[kept], spread(kernel(self.X[kept]))
            radius = self.radius * before.factor * size / before.spreads[fold]
            return learn_rates(kernel, own, self.targets[kept], radius, self._weights(kept))

        rounds = [learn(fold) for fold in range(len(self.held))]
        for _ in WIDTHS:
            kernels, changes = zip(*of_each(next, rounds), strict=True)
            factors = np.exp([own[-1] for own in changes])
            yield list(kernels), list(before.spreads / factors), np.mean(changes, axis=0)

    def judge(self, kernels: list[GateKernel], factor: float, spreads: list[float] | None = None) -> Judged:
        """Fit each fold's kernel with factors of beta from one on, and take one of the least error over all folds.

        ``spreads``: as of `Judged`; None for those of these kernels.
        """
        folds = range(len(self.held))
        prepared = of_each(lambda fold: self._prepared(fold, kernels[fold], single=True), folds)
        meant = [size for _, _, size in prepared] if spreads is None else spreads
        truth = self.targets[self.judged]
        tried: dict[int, tuple[list[Array], Array, Array]] = {}  # coefficients, predictions and errors

        def fit(k: int) -> float:
            def of_fold(fold: int) -> tuple[Array, Array]:
                ridge, across, size = prepared[fold]
                radius = self.radius * _FACTORS[k] * size / meant[fold]
                alpha, intercept = ridge.fit(self.targets[self.kept[fold]], radius)
                return alpha, across @ alpha + intercept

            alphas, parts = zip(*of_each(of_fold, folds), strict=True)
            predictions = np.concatenate(parts)
            errors = ((predictions - truth) ** 2).sum(axis=1)
            tried[k] = list(alphas), predictions, errors
            return float((self.scale * errors).sum())

        k, sums = least_by_steps(fit, _FACTORS.index(factor), range(len(_FACTORS)))
        # of factors whose errors are as good as the least the one nearest to 1
        good = [i for i in sums if sums[i] <= _FLAT * sums[k]]
        k = min(good, key=lambda i: abs(np.log(_FACTORS[i])))
        alphas, predictions, errors = tried[k]
        return Judged(kernels, alphas, predictions, errors, _FACTORS[k], meant)

    def _prepared(self, fold: int, kernel: GateKernel, *, single: bool) -> tuple[KernelRidge, Any, float]:
        """Return a fold's fits, the kernel of held-out rows with its own, and the spread of the kernel."""
        kept, own = self.kept[fold], self.X[self.kept[fold]]
        K, across = kernel(own), kernel(self.X[self.held[fold]], own)
        size = spread(K)
        return KernelRidge(K, self._weights(kept), single=single), across, size

    def predictions(self, best: Judged) -> Array:
        """Return the predictions of held-out rows in double precision, by the fit to the fold."""

        def predict(fold: int) -> Array:
            ridge, across, size = self._prepared(fold, best.kernels[fold], single=False)
            radius = self.radius * best.factor * size / best.spreads[fold]
            alpha, intercept = ridge.fit(self.targets[self.kept[fold]], radius)
            return np.asarray(across @ alpha + intercept)

        return np.concatenate(of_each(predict, range(len(self.held))))

    def unseen(self, best: Judged, taken: NDArray[np.intp], belongs: NDArray[np.intp]) -> tuple[Fold, ...]:
        """Return the gates of as many folds as are needed for enough rows, and rows that they have not seen."""
        folds: list[Fold] = []
        beyond = ~np.isin(belongs, belongs[taken])  # rows that judge no fit
        for kernel, kept, held in zip(best.kernels, self.kept, self.held, strict=True):
            own = np.isin(belongs, belongs[taken[held]]) & ~np.isin(belongs, belongs[taken[kept]])
            folds.append(Fold(kernel, taken[kept], np.flatnonzero(own if folds else own | beyond)))
            if sum(len(fold.unseen) for fold in folds) >= _TOLD:
                break
        return tuple(folds)

    def refitted(
        self,
        best: Judged,
        X: Array,
        targets: Array,
        weights: Array | None,
        folds: tuple[Fold, ...],
        belongs: NDArray[np.intp],
    ) -> tuple[Array, Array]:
        """Return predictions of unseen rows, by fits to all rows without each, and what `KernelRidge.left_out` adds."""

        def leave_out(k: int) -> tuple[Array, Array]:
            K = folds[k].kernel(X)
            radius = self.radius * best.factor * spread(K) / best.spreads[k]
            return KernelRidge(K, weights).left_out(targets, radius, folds[k].unseen, belongs)[:2]

        predictions, left = zip(*of_each(leave_out, range(len(folds))), strict=True)
        return np.concatenate(predictions), np.concatenate(left)

    def _weights(self, rows: NDArray[np.intp]) -> Array | None:
        return None if self.weights is None else self.weights[rows] / self.weights[rows].mean()
