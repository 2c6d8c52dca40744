r"""Probabilities from the outputs of a classifier with the squared loss: a few parameters, fitted to leave-one-out."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import log_softmax

from clifford_rand._checks import as_real, check_array, check_number, describe, fail
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.export.program import Value, apply, clipped, constant, maximum, softplus, where
from clifford_rand_nn.kernel_network.intervals import as_variances
from clifford_rand_nn.problems.loss_functions import solve
from clifford_rand_nn.problems.loss_registry import normalized

Extra = Literal["offsets", "identity"]  # candidates beside slopes
_OWNER = "Calibration"
_KNEE = 6.0  # how sharply the logarithm of an output bends at -1, where its class has no rows
_PSEUDO = 0.5  # rows of a class that are assumed to be mistaken
# Shares of the variance that are tried. A row far from all others must not be sure: where leave-one-out has no mistake
# to learn it from, 0.3 was best on validation rows of 24 sets, so only others must earn it.
_SHARES = (0.3, 0.0, 1.0)
_SHAPES = ((0,), (0, 1), (0, 2))
_LEAST = 1e-3  # slope of outputs of which nothing is known: outputs of 1 move a probability of a half by 0.0005
_STEPS = 100
_TINY = np.finfo(np.float64).tiny
_FAR = 1e150  # outputs of rows that are nothing like those of training, whose squares overflow
_MOST_BITS = 100  # of outputs, whose fourth powers are summed
_DONE = 1e-12  # decrement of Newton's method, in units of a row's loss
_SHORTEST = 1e-6  # step, as a share of Newton's, that is still tried


@short_repr
@dataclass(frozen=True, eq=False)
class Calibration:
    r"""Probabilities of outputs f (n, C), one column for each class.

    .. math:: p_c \propto \exp\big(a_1g_c + a_2g_c|g_c| + a_3\log\log(1+e^{6(g_c+1)}) + b_c\big), \qquad
              g = \frac f{\sqrt{1+\kappa v/\bar v}},\quad a\ge0,

    with the predictive variance v of the row. Two classes are one output f, for which :math:`f_1=-f, f_2=f`: without a
    second slope that is Platt's :math:`1/(1+e^{-(2a_1f+b)})`. The same increasing function of all outputs keeps their
    order, so that the most probable class is the one that the network predicts, unless there are offsets b.

    ``scale``: :math:`\bar v`, the mean variance of the rows of training.

    References: Platt, "Probabilistic outputs for support vector machines", 1999; Guo, Pleiss, Sun, Weinberger, "On
    calibration of modern neural networks", ICML 2017, for several classes; MacKay, "The evidence framework applied to
    classification networks", Neural Computation 4 (1992), eq. 9, for the variance.
    """

    slopes: Array  # (3,)
    offsets: Array  # (C,), 0 for all classes unless they are supported, see `fit_calibration`
    share: float = 0.0  # κ; 0 where no variances were given
    scale: float = 1.0
    log_loss: float = float("nan")  # mean negative log-likelihood of the leave-one-out outputs

    def __post_init__(self) -> None:
        if check_array(self.slopes, "slopes", _OWNER, (3,)).min() < 0:
            raise fail("slopes", _OWNER, "≥ 0", self.slopes.tolist(), "Then probabilities rise with outputs.")
        check_array(self.offsets, "offsets", _OWNER, (None,))
        check_number(self.share, "share", _OWNER, "a finite number ≥ 0", lambda x: 0 <= x < np.inf)
        check_number(self.scale, "scale", _OWNER, "a finite number > 0", lambda x: 0 < x < np.inf)

    @classmethod
    def softmax(cls, n_classes: int) -> "Calibration":
        """Return the softmax of the outputs, which of two classes is the logistic function of one."""
        return cls(np.array([0.5 if n_classes == 2 else 1.0, 0.0, 0.0]), np.zeros(n_classes))

    @property
    def is_softmax(self) -> bool:
        """Whether it is `softmax`."""
        plain = self.softmax(len(self.offsets))
        return self.keeps_order and not self.share and np.array_equal(self.slopes, plain.slopes)

    @property
    def keeps_order(self) -> bool:
        """Whether the most probable class is always the one with the largest output."""
        return not self.offsets.any()

    def ordered(self) -> "Calibration":
        """Return it with a slope that keeps the order of outputs, where leave-one-out predictions support none.

        Then all classes would be equally probable, and a tie, of all things, would name the class. Of few rows with a
        weak signal leave-one-out says less than there is: without a row the mean of the others leans to another class.
        """
        return self if self.slopes.any() else replace(self, slopes=np.array([_LEAST, 0.0, 0.0]))

    def probabilities(self, F: ArrayLike, variance: ArrayLike | None = None) -> Array:
        """Return the probabilities (n, C) of outputs F (n, C), or (n, 1) of two classes.

        ``variance`` (n,) is needed if ``share`` is not zero.
        """
        return np.asarray(np.exp(self.log_probabilities(F, variance)))

    def log_probabilities(self, F: ArrayLike, variance: ArrayLike | None = None) -> Array:
        """Return the logarithms of `probabilities`, none of them -inf."""
        n_classes = len(self.offsets)
        outputs = _outputs(F, n_classes)
        if self.share and variance is None:
            raise fail("variance", _OWNER, "given, as it was when this was fitted", None)
        v = as_variances(variance, len(outputs), _OWNER)
        shapes = _shapes(_shrunk(outputs, v / self.scale, self.share))
        return np.asarray(log_softmax(shapes @ self.slopes + self.offsets, axis=1))

    def stated(self, outputs: Value, variance: Value | None, name: str = "") -> Value:
        """Return scores (n, C), whose softmax are the probabilities, as operations of a program.

        ``name`` ends the names of its arrays.
        """
        a = self.slopes
        g = outputs @ constant([[-1.0, 1.0]], f"sides{name}") if len(self.offsets) == 2 else outputs
        if self.share:
            assert variance is not None
            g = g / apply("sqrt", variance * (self.share / self.scale) + 1.0)
        g = clipped(g, _FAR).named("shrunk")
        terms = [float(a[0]) * g] if a[0] else []
        if a[1]:
            terms.append(float(a[1]) * (g * apply("abs", g)))
        if a[2]:
            bend = ((g + 1.0) * _KNEE).named("bend")
            soft = softplus(bend).named("soft")
            far = Value("less", (0.0, soft))
            terms.append(float(a[2]) * where(far, apply("log", maximum(soft, float(_TINY))), bend))
        scores = sum(terms[1:], terms[0]) if terms else 0.0 * g
        return (scores if self.keeps_order else scores + constant(self.offsets, f"offsets{name}")).named("scores")


def fit_calibration(
    F: ArrayLike,
    classes: NDArray[np.intp],  # (n,), from 0; of one column, class 1 is the positive one
    n_classes: int,
    weights: ArrayLike | None = None,  # (n,)
    variance: ArrayLike | None = None,
    *,
    extras: tuple[Extra, ...] = ("offsets",),
    share: Array | None = None,  # (n,)
) -> Calibration:
    r"""Fit probabilities to leave-one-out outputs by their likelihood, with as many parameters as these support.

    Each candidate is a concave problem, solved by Newton's method. Candidates have one or two slopes, three values of
    κ, and in the end offsets; the one with the least Akaike criterion is taken, n times the loss plus the number of
    parameters, κ counting as one unless it is 0.3. As in Platt's method labels are a little uncertain, so that classes
    that the outputs separate leave finite slopes: with probability :math:`\frac12/(N_c+1)` a row of the N_c of a class
    is of another one.

    ``F`` (n, C): outputs of every row by the network without that row, or its group: those of a network that has seen
    the row promise too much. Targets were -1 and 1. ``variance`` (n,): predictive variances, without the row as well,
    in any unit: :math:`k(x,x)-k_x^T(K+n\beta I)^{-1}k_x`. ``extras``: the candidates beside those of slopes: "offsets",
    without which the most probable class has the largest output, and "identity", the softmax of the outputs without a
    parameter, for those of the logistic loss. ``share``: that of each observation in the weight of its row, if rows
    stand for several. Raises ArgumentError: outputs of another shape, or not finite; weights as in `normalized`.

    Examples
    --------
    >>> import numpy as np
    >>> f = np.array([[-1.0], [-0.5], [0.2], [0.6], [1.1], [-0.3]])
    >>> found = fit_calibration(f, np.array([0, 0, 1, 1, 1, 1]), 2)
    >>> found.probabilities([[-1.0], [0.0], [1.0]]).round(2).tolist()
    [[0.87, 0.13], [0.5, 0.5], [0.13, 0.87]]
    """
    owner = "fit_calibration"
    outputs = _outputs(F, n_classes, owner)
    n = len(outputs)
    omega = normalized(weights, n, owner)
    omega = np.ones(n) if omega is None else omega
    targets = _smoothed(classes, n_classes, omega)
    v = as_variances(variance, n, owner)
    scale = float(omega @ v) / n or 1.0
    rows = n**2 / float(omega @ (omega if share is None else omega * share))  # as many of equal weight tell as much
    candidates: list[_Candidate] = []
    shares = _SHARES if v.any() else (0.0,)
    for kappa in shares:
        shapes = _shapes(_shrunk(outputs, v / scale, kappa))
        for columns in _SHAPES:
            fit = _maximize(shapes[:, :, columns], targets, omega, offsets=False)
            if (fit.slopes > 0).all():
                cost = rows * fit.loss + len(columns) + (kappa != shares[0])
                candidates.append(_Candidate(cost, kappa, columns, fit))
    if "identity" in extras:
        unit = Calibration.softmax(n_classes).slopes[:1]
        loss = -float(omega @ np.einsum("nc,nc->n", targets, log_softmax(outputs * unit, axis=1))) / n
        candidates.append(_Candidate(rows * loss, 0.0, (0,), _Fit(unit, np.zeros(n_classes), loss)))
    null = _Fit(np.zeros(0), np.zeros(n_classes), np.inf)
    if "offsets" in extras:
        null = _maximize(_shapes(outputs)[:, :, :0], targets, omega, offsets=True)
    best = min(candidates, key=lambda candidate: candidate.cost, default=_Candidate(np.inf, 0.0, (), null))
    fit = best.fit
    if "offsets" in extras:
        shapes = _shapes(_shrunk(outputs, v / scale, best.share))[:, :, best.columns]
        free = _maximize(shapes, targets, omega, offsets=True)
        supported = rows * (best.fit.loss - free.loss) > n_classes - 1 and (free.slopes > 0).all()
        fit = free if supported else fit
    slopes = np.zeros(3)
    slopes[list(best.columns)] = fit.slopes
    calibration = Calibration(slopes, fit.offsets, best.share, scale)
    logs = calibration.log_probabilities(outputs if n_classes > 2 else outputs[:, 1:], v)
    return replace(calibration, log_loss=-float(omega @ logs[np.arange(n), classes]) / n)


class _Fit(NamedTuple):
    slopes: Array
    offsets: Array
    loss: float  # against uncertain labels


class _Candidate(NamedTuple):
    cost: float
    share: float
    columns: tuple[int, ...]
    fit: _Fit


def _outputs(F: ArrayLike, n_classes: int, owner: str = _OWNER) -> Array:
    """Return one column for each class."""
    outputs = np.asarray(as_real(F, "F", owner), dtype=np.float64)
    wanted = 1 if n_classes == 2 else n_classes
    if outputs.ndim != 2 or outputs.shape[1] != wanted or not len(outputs):
        raise fail("F", owner, f"of shape (n, {wanted}) for {n_classes} classes", describe(f"shape {outputs.shape}"))
    return np.hstack([-outputs, outputs]) if n_classes == 2 else outputs


def _shrunk(outputs: Array, v: Array, share: float) -> Array:
    return outputs / np.sqrt(1 + share * v)[:, None]


def _shapes(g: Array) -> NDArray[np.float64]:
    """Return three increasing functions of the outputs, (n, C, 3)."""
    g = np.clip(g, -_FAR, _FAR)
    soft = np.logaddexp(0, _KNEE * (g + 1))
    # far below -1 the logarithm of e^x is x
    return np.stack([g, g * np.abs(g), np.where(soft > 0, np.log(np.maximum(soft, _TINY)), _KNEE * (g + 1))], axis=2)


def _smoothed(classes: NDArray[np.intp], n_classes: int, omega: Array) -> Array:
    """Return uncertain labels, (n, C)."""
    doubt = _PSEUDO / (np.bincount(classes, omega, n_classes) + 2 * _PSEUDO)
    T = np.repeat((doubt / (n_classes - 1))[classes][:, None], n_classes, axis=1)
    T[np.arange(len(classes)), classes] = 1 - doubt[classes]
    return T


def _maximize(shapes: Array, targets: Array, omega: Array, offsets: bool) -> _Fit:
    """Return slopes (k,), and offsets that sum to zero, of the least cross-entropy, by Newton's method."""
    (n, C), k = targets.shape, shapes.shape[2]
    # their products must not overflow: powers of two, 1 unless outputs are far beyond targets of -1 and 1
    units = np.ldexp(1.0, np.maximum(np.frexp(np.abs(shapes).max(axis=(0, 1)))[1] - _MOST_BITS, 0))
    shapes = shapes / units
    x = np.zeros(k + (C if offsets else 0))
    weights = omega / n

    def loss_at(x: Array) -> tuple[float, Array]:
        logs = log_softmax(shapes @ x[:k] + (x[k:] if offsets else 0.0), axis=1)
        return -float(weights @ np.einsum("nc,nc->n", targets, logs)), logs

    loss, logs = loss_at(x)
    for _ in range(_STEPS):
        p = np.exp(logs)
        mass = weights[:, None] * p
        excess = weights[:, None] * (p - targets)
        means = np.einsum("nc,nck->nk", p, shapes)
        g = np.einsum("nc,nck->k", excess, shapes)
        centered = shapes - means[:, None]
        H = np.einsum("nck,ncl->kl", mass[:, :, None] * centered, centered)
        if offsets:
            cross = np.einsum("nc,nck->kc", mass, centered)
            corner = np.diag(mass.sum(axis=0)) - p.T @ mass
            corner += 1 / C  # sums to zero: the flat direction
            H = np.block([[H, cross], [cross.T, corner]])
            g = np.append(g, excess.sum(axis=0))
        move = -solve(H, g)
        slope = float(g @ move)
        if -slope <= _DONE:
            break
        size = 1.0
        while size > _SHORTEST:
            new, logs_new = loss_at(x + size * move)
            if new <= loss + 1e-4 * size * slope:
                break
            size /= 2
        else:
            break
        x, loss, logs = x + size * move, new, logs_new
    return _Fit(x[:k] / units, x[k:] if offsets else np.zeros(C), loss)
