"""Logistic loss and softmax over a kernel matrix: the fit for every beta, and what it predicts without each row."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import dsymm

from clifford_rand._blas import blas_threads
from clifford_rand._checks import as_array, as_real, check_positive, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit, unpenalized_fit
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.datafits.registry import make_datafit
from clifford_rand_nn.kernel_network.logistic.approximate_leave_one_out import Groups, left_out
from clifford_rand_nn.kernel_network.logistic.newton_system import LogisticSystem, NewtonSystem, SoftmaxSystem
from clifford_rand_nn.problems.duality import DualBound, relative_gap, rounding_of_form
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Status, check_memory
from clifford_rand_nn.solvers.convergence import Watch

_OWNER = "logistic_path"
_ADVICE = "try a larger tol"
_STEPS = 100
_ARMIJO = 1e-4
_SHORTEST = 1e-8  # a step below this share of the direction is lost in rounding
_MANY_ROWS = 1000  # from which single precision is worth it
_ROUGH = 1e-6  # a gap down to which steps in single precision lead
_NEAR = 1e-3  # a gap from which one step moves predictions so little that its curvatures are those of the optimum
_CUBE = 5.8e-12  # seconds of a Cholesky factorization of order n, by n³, on two cores
_LOGISTIC, _SOFTMAX = 3.0, 27.0  # such factorizations for one beta, and for one beta and class
_REFITS = 0.08  # seconds of what `left_out` refits for one beta


@dataclass(frozen=True, eq=False)
class LogisticFit:
    r"""The fit for one beta, :math:`f(x) = \sum_iK(x, x_i)\alpha_i + t`, and what it predicts without a row.

    Attributes
    ----------
    beta : float
    alpha : (n, C)
        Its columns sum to zero; of a softmax its rows do so as well.
    intercept : (C,)
    fitted : (n, C)
        Predictions of the rows.
    leave_one_out : (n, C)
        Of every row without its loss, or of the rows of every group without theirs. NaN if the fit was interrupted, or
        if they were not asked for.
    objective, duality_gap, relative_gap : float
        The gap is against the dual point.
    dual_point : (n, C)
    n_iter : int
        Newton steps.
    status : Status
    history : tuple of HistoryRow
        From the last beta's solution on, where there was one.
    """

    beta: float
    alpha: Array
    intercept: Array
    fitted: Array
    leave_one_out: Array
    objective: float
    duality_gap: float
    relative_gap: float
    dual_point: Array
    n_iter: int
    status: Status
    history: tuple[HistoryRow, ...] = ()


def logistic_path(
    K: ArrayLike,
    targets: ArrayLike,
    weights: ArrayLike | None,
    betas: Sequence[float] | Array,
    loss: str | Loss = "logistic",
    groups: ArrayLike | None = None,
    leave_out: bool = True,
    **limits: Any,
) -> list[LogisticFit]:
    r"""Fit a kernel network with a free intercept for every beta, each fit beginning near the last, by Newton's method.

    .. math:: \min_{\alpha,t}\ \frac1n\sum_i\omega_i\ell(f_i, y_i)+\frac\beta2\mathrm{tr}(\alpha^TK\alpha),
              \qquad f = K\alpha+1t^T

    The dual, whose bound gives the gap, is over :math:`\theta=n\beta\alpha` with :math:`1^T\theta=0`:
    :math:`\max_\theta\frac1n\sum_i-\omega_i\ell^*(-\theta_i/\omega_i)-\frac1{2n^2\beta}\mathrm{tr}(\theta^TK\theta)`.

    Predictions without a row are approximate, see `left_out`. They leave out the row's loss, and keep the kernel,
    :math:`n\beta` and the other losses. At the best beta they miss the mean loss of refits by .1 % for two classes and
    about 1 % for eleven (100 rows of each of 23 tables), by less with more rows, by more where beta is so small that
    the network interpolates; a class whose only row is left out has no prediction.

    Parameters
    ----------
    K : (n, n) array
        Positive semidefinite.
    targets : (n, C) array
        As `encode_labels` makes them: one column of -1 and 1, or C ≥ 2 columns, one-hot.
    weights : (n,) array > 0 or None
        Only ratios matter.
    betas : numbers > 0
        Fastest when they fall by equal ratios.
    loss : {"logistic", "softmax"} or Loss
    groups : (n,) array, optional
        Labels of rows that are left out together, at least two.
    leave_out : bool
        Whether to find what is predicted without each row; it costs as much as some fits.
    **limits
        See `Limits`; of these ``tol``, ``max_iter`` and ``callback`` hold for each fit, the others for the path.

    Returns
    -------
    list of LogisticFit
        In the order of betas; shorter if time was over or Ctrl-C was pressed, and then the last one may not have met
        ``tol``.

    Raises
    ------
    ArgumentError
        Arrays of other shapes, or not finite; another loss; a beta ≤ 0; a single group; too little memory.

    References
    ----------
    As in `NewtonSystem`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 6)
    >>> y = np.array([-1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    >>> weak, strong = logistic_path(np.outer(x, x), y, None, [1.0, 0.01])
    >>> np.round(strong.fitted[:, 0], 1).tolist()
    [-2.4, -1.4, -0.5, 0.5, 1.4, 2.4]
    >>> np.round(strong.leave_one_out[:, 0], 1).tolist()
    [-2.0, -0.9, -2.1, 2.1, 0.9, 2.0]
    """
    K = np.ascontiguousarray(as_real(K, "K", _OWNER), dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise fail("K", _OWNER, "a square matrix", describe(f"shape {K.shape}"))
    datafit = make_datafit(loss, targets, len(K), _OWNER, sample_weight=weights)
    if not datafit.loss.probabilistic:
        raise fail("loss", _OWNER, "'logistic' or 'softmax'", datafit.loss.name)
    limit = Limits.of(_OWNER, **{"max_iter": _STEPS, **limits})
    falling = [check_positive(beta, "betas", _OWNER) for beta in betas]
    path = LogisticPath(K, datafit, None if groups is None else rows_of(groups, len(K)), leave_out)
    check_memory(_OWNER, limit.max_memory, path.memory, "the matrices of a Newton step", "Fit fewer rows.")
    fits: list[LogisticFit] = []
    with blas_threads(len(K)):
        for beta in falling:
            fits.append(path.fit(beta, limit.after(path.seconds)))
            if fits[-1].status.ends_all:
                break
    return fits


def seconds(n: int, n_classes: int, n_fits: int = 1, n_left_out: int = 1) -> float:
    """Return about how long fits take on two cores, to a gap of 1e-6, some of which say what is predicted without."""
    factors = _LOGISTIC if n_classes == 2 else _SOFTMAX * n_classes
    return n_fits * factors * _CUBE * float(n) ** 3 + n_left_out * _REFITS


def rows_of(groups: ArrayLike, n: int) -> Groups:
    """Return the rows of every group."""
    labels = as_array(groups, "groups", _OWNER)
    if labels.shape != (n,):
        raise fail("groups", _OWNER, f"of shape ({n},)", describe(f"shape {labels.shape}"))
    _, index = np.unique(labels, return_inverse=True)
    parts = np.split(np.argsort(index, kind="stable"), np.cumsum(np.bincount(index))[:-1])
    if len(parts) < 2:
        raise fail("groups", _OWNER, "at least two groups, so that one can be left out", describe("one group"))
    return parts


class _State(NamedTuple):
    theta: Array
    image: Array  # K theta
    t: Array
    f: Array
    objective: float


class LogisticPath:
    """What the fits of a path share, and the last of them; arguments are those of `logistic_path`, checked."""

    def __init__(self, K: Array, datafit: Datafit, groups: Groups | None, leave_out: bool = True) -> None:
        self._leave_out = leave_out
        self._K, self._datafit, self._groups = K, datafit, groups
        self.n, self._outputs = datafit.y.shape
        self._kind: type[NewtonSystem] = LogisticSystem if datafit.loss.separable else SoftmaxSystem
        self._single = self.n >= _MANY_ROWS and datafit.loss.separable
        self._ones = np.full((self.n, 1), self.n**-0.5)
        self._fits: list[tuple[float, _State]] = []
        self.seconds = 0.0

    @property
    def memory(self) -> float:
        """Return the bytes of the matrices of a step."""
        return float(8 * self.n**2 * (self._kind.layers(self._outputs) + self._single))

    @cached_property
    def _store(self) -> Array:
        return np.zeros((self._kind.layers(self._outputs), self.n, self.n))

    @cached_property
    def _in_single(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        K = self._K.astype(np.float32)
        return K, np.zeros((1, *K.shape), np.float32)

    def fit(self, beta: float, limits: Limits) -> LogisticFit:
        """Fit for one beta."""
        datafit, radius = self._datafit, self.n * beta
        watch = Watch[_State](limits, lambda primal, dual: relative_gap(datafit, primal, dual), _ADVICE)
        system, before = None, np.inf
        with watch, np.errstate(over="ignore", invalid="ignore"):  # what overflows is not finite, and is judged then
            state, guess = self._start(radius), self._ahead(beta)
            residual, image, bound = self._look(state.f, radius)
            watch.check(0, state.objective, bound, state, state.f)
            for k in count(1):
                if watch.status is not None:
                    break
                single, before, last = self._single and watch.gap > _ROUGH, watch.gap, state
                try:
                    if guess is not None:
                        r = datafit.residual(guess)
                        state, system = self._step(guess, r, self._times(r), radius, single)
                        guess = None
                    if state is last or not state.objective < last.objective:
                        state, system = self._step(last.f, residual, image, radius, single)
                        state = self._shortened(last, state, residual, radius)
                except np.linalg.LinAlgError:
                    state = last
                if state is last:
                    watch.stop(Status.STALLED)
                    break
                residual, image, bound = self._look(state.f, radius)
                watch.check(k, state.objective, bound, state, state.f)
        best = watch.point
        self._fits = [*self._fits[-1:], (beta, best)]
        alone = np.full_like(best.f, np.nan)
        if self._leave_out and watch.status not in (Status.INTERRUPTED, Status.MAX_MEMORY):
            if system is None or not before <= _NEAR:
                residual = datafit.residual(best.f)
                _, system = self._step(best.f, residual, self._times(residual), radius, self._single)
            alone = left_out(system, datafit, best.f, self._groups)
            if self._outputs > 1:
                alone -= alone.mean(axis=1, keepdims=True)
        self.seconds += watch.seconds
        result = watch.result("newton", best)
        return LogisticFit(
            beta=beta,
            alpha=best.theta / radius,
            intercept=best.t,
            fitted=best.f,
            leave_one_out=alone,
            objective=result.objective,
            duality_gap=result.duality_gap,
            relative_gap=result.relative_gap,
            dual_point=result.dual_point,
            n_iter=result.n_iter,
            status=result.status,
            history=result.history,
        )

    def _times(self, theta: Array) -> Array:
        return np.asarray(dsymm(1.0, self._K.T, np.asfortranarray(theta), lower=1))

    def _look(self, f: Array, radius: float) -> tuple[Array, Array, DualBound]:
        """Return the residual, its image, and the lower bound that predictions prove."""
        residual, C = self._datafit.residual(f), self._outputs
        theta = self._datafit.dual_point(residual, self._ones)
        image = self._times(np.hstack([residual, theta]))  # K is read once
        charge = float(np.vdot(theta, image[:, C:])) + float(rounding_of_form(self._K.diagonal(), theta).sum())
        charge /= 2 * self.n * radius
        return residual, image[:, :C], DualBound(self._datafit.dual_value(theta) - charge, theta)

    def _made(self, theta: Array, image: Array, t: Array, radius: float) -> _State:
        f = image / radius + t
        objective = self._datafit.value(f) + float(np.vdot(theta, image)) / (2 * self.n * radius)
        return _State(theta, image, t, f, objective)

    def _start(self, radius: float) -> _State:
        """Return the last network, or that without neurons."""
        if not self._fits:
            zero = np.zeros_like(self._datafit.y)
            t = unpenalized_fit(self._datafit, self._ones).mean(axis=0)
            return self._made(zero, zero, t, radius)
        beta, last = self._fits[-1]
        grown = radius / (self.n * beta)
        return self._made(grown * last.theta, grown * last.image, last.t, radius)

    def _ahead(self, beta: float) -> Array | None:
        """Return predictions on the line through those of the last two fits, over the logarithm of beta."""
        if len(self._fits) < 2:
            return None
        (b2, two), (b1, one) = self._fits
        return one.f + (one.f - two.f) * float(np.log(beta / b1) / np.log(b1 / b2)) if b1 != b2 else None

    def _step(
        self, f: Array, residual: Array, image: Array, radius: float, single: bool
    ) -> tuple[_State, NewtonSystem]:
        """Return the minimizer of the quadratic model at predictions f."""
        p = self._datafit.loss.probabilities(f)
        mass = self._datafit.weights * (p if self._outputs > 1 else p[:, :1] * p[:, 1:])
        rough = LogisticSystem.in_single(*self._in_single, mass, radius) if single else None
        system = rough or self._kind(self._K, mass, radius, self._store)
        change, t = system.solve(f - image / radius, -residual.sum(axis=0))
        theta = residual + change
        if self._outputs > 1:
            t -= t.mean()
        return self._made(theta, self._times(theta), t, radius), system

    def _shortened(self, state: _State, new: _State, residual: Array, radius: float) -> _State:
        """Return the first of the halved steps that lowers the objective enough, or the state itself."""
        slope = -float(np.vdot(residual, new.f - state.f)) / self.n
        slope += float(np.vdot(state.image, new.theta - state.theta)) / (self.n * radius)
        length = 1.0
        while length > _SHORTEST and slope < 0:
            if new.objective <= state.objective + _ARMIJO * length * slope:
                return new
            length /= 2
            theta, image, t = ((a + b) / 2 for a, b in zip(state[:3], new[:3], strict=True))
            new = self._made(theta, image, t, radius)
        return state
