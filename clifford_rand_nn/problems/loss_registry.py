"""Registry of losses by name, and losses with their targets and weights; arguments are checked."""

from dataclasses import fields, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import (
    SMALLEST_SIZE,
    as_real,
    check_choice,
    check_length,
    check_positive,
    check_size,
    describe,
    fail,
)
from clifford_rand._typing import Array
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.entropy import LogCosh, Logistic, Softmax
from clifford_rand_nn.problems.loss import Huber, Loss, Squared, SquaredHinge
from clifford_rand_nn.problems.poisson_quantile import Poisson, Quantile

LOSSES: dict[str, type[Loss]] = {
    kind.name: kind for kind in (Squared, Huber, LogCosh, Poisson, Quantile, Logistic, SquaredHinge, Softmax)
}


def check_weights(sample_weight: Any, n: int, owner: str) -> Array:
    """Return weights (n,) ≥ 0, not all zero.

    Raises ArgumentError: another shape, a negative or infinite weight or NaN, or nothing but zeros.
    """
    w = np.asarray(as_real(sample_weight, "sample_weight", owner), dtype=np.float64)
    if w.ndim:
        check_length(w.shape, n, "sample_weight", owner, "weight")
    if w.shape != (n,):
        raise fail("sample_weight", owner, f"of shape ({n},), one weight per row", describe(f"shape {w.shape}"))
    if w.min() < 0:
        hint = "A weight of zero leaves a row out."
        raise fail("sample_weight", owner, "≥ 0", describe(f"{np.count_nonzero(w < 0)} negative of {n} weights"), hint)
    if not w.any():
        raise fail("sample_weight", owner, "positive for some row", describe(f"{n} zeros"))
    return w


def normalized(sample_weight: Any, n: int, owner: str) -> Array | None:
    r"""Return :math:`\omega_i = nw_i/\sum w`, (n,), or None if all weights are equal.

    Raises ArgumentError: as `check_weights`; a weight is zero, or so small beside the others that it vanishes.

    Examples
    --------
    >>> normalized([1, 3], 2, "example").tolist(), normalized([7, 7], 2, "example")
    ([0.5, 1.5], None)
    """
    if sample_weight is None:
        return None
    w = check_weights(sample_weight, n, owner)
    low, high = float(w.min()), float(w.max())
    if low == 0:
        value = describe(f"{np.count_nonzero(w == 0)} zeros of {n} weights")
        raise fail("sample_weight", owner, "> 0", value, "Leave rows of weight zero out.")
    if low == high:
        return None
    omega = w / high  # first, so that the sum cannot overflow
    omega = omega * (n / float(omega.sum()))
    if omega.min() < np.finfo(np.float64).tiny:
        value = describe(f"weights from {low:.1e} to {high:.1e}")
        raise fail("sample_weight", owner, "of one order of magnitude or some", value, "Leave such rows out.")
    return omega


def split_weights(sample_weight: Any, n: int, owner: str) -> tuple[NDArray[np.bool_], Array | None, Array | None]:
    """Return which of n rows count, their weights with mean 1, and those of all n rows; None where they are equal.

    Raises ArgumentError: as `normalized`, but that weights may be zero.
    """
    if sample_weight is None:
        return np.ones(n, dtype=bool), None, None
    w = check_weights(sample_weight, n, owner)
    kept = w > 0
    weights = normalized(w[kept], int(kept.sum()), owner)
    if weights is None and kept.all():
        return kept, None, None
    every = np.zeros(n)
    every[kept] = 1.0 if weights is None else weights
    return kept, weights, every


def loss_names(task: str) -> tuple[str, ...]:
    """Names of the losses that estimators of a task, "classification" or "regression", offer."""
    return tuple(name for name, kind in LOSSES.items() if task in kind.tasks)


def has_delta(name: str) -> bool:
    """Tell whether ``huber_delta`` acts on a loss."""
    kind: Any = LOSSES.get(name)
    return kind is not None and any(field.name == "delta" for field in fields(kind))


def loss_lines(task: str, default: str = "squared") -> str:
    """Return the lines of the parameter ``loss`` in the docstring of an estimator."""
    names = loss_names(task)
    summaries = [LOSSES[name].summary for name in names if LOSSES[name].summary]
    choices = ", ".join(f'"{name}"' for name in dict.fromkeys((default, *names)))
    return f'\nloss : {{{choices}}}, default "{default}"\n    {", ".join(summaries)}.\n'


def as_loss(loss: str | Loss, owner: str, huber_delta: float | None = None) -> Loss:
    """Return a loss by its name; ``huber_delta`` is the ``delta`` of those that have one, 1 unless given.

    Raises ArgumentError: another name; ``huber_delta`` ≤ 0, or given where it does not act.

    Examples
    --------
    >>> as_loss("huber", "example", 0.5), as_loss("logistic", "example")
    (Huber(delta=0.5), Logistic())
    """
    if isinstance(loss, Loss) and huber_delta is None:
        return loss
    if not isinstance(loss, Loss):
        check_choice(loss, "loss", owner, tuple(LOSSES))
        kind: Any = LOSSES[loss]
        if huber_delta is None:
            return cast(Loss, kind())
        if has_delta(loss):
            return cast(Loss, kind(delta=check_positive(huber_delta, "huber_delta", owner)))
    hint = "It is for " + " and ".join(f"loss={name!r}" for name in LOSSES if has_delta(name)) + "."
    raise fail("huber_delta", owner, f"left out with loss={loss!r}", huber_delta, hint)


def loss_of(certificate: Any) -> Loss:
    """Return the loss of a certificate: of its name, parameters and number of classes."""
    name = certificate.loss
    loss = as_loss(name, "Certificate", certificate.huber_delta if has_delta(name) else None)
    loss = replace(loss, quantile=certificate.quantile) if isinstance(loss, Quantile) else loss
    return loss if certificate.classes is None else loss.of_classes(len(certificate.classes))


def encode_labels(index: NDArray[np.intp], n_classes: int, loss: str | Loss) -> tuple[Array, Loss]:
    """Targets (n, C) for class indices, and the loss for that number of classes.

    Two classes are one column of the two labels of the loss, -1 and 1; more are one-hot columns of these: 0 and 1 for
    the softmax that "logistic" becomes.

    Examples
    --------
    >>> encode_labels(np.array([0, 1, 2]), 3, "logistic")[0].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    loss = as_loss(loss, "encode_labels").of_classes(n_classes)
    off, on = (-1.0, 1.0) if loss.labels is None else loss.labels
    marks = (index == 1)[:, None] if n_classes == 2 else np.eye(n_classes, dtype=bool)[index]
    return np.where(marks, on, off), loss


def encode_marks(marks: NDArray[Any]) -> Array:
    """Targets (n, L) of squares for labels that rows have, not 0, or have not: 1 and -1.

    Examples
    --------
    >>> encode_marks(np.array([[1, 0], [1, 1]])).tolist()
    [[1.0, -1.0], [1.0, 1.0]]
    """
    return np.where(marks != 0, 1.0, -1.0)


def labels_of(targets: Array) -> NDArray[np.intp]:
    """Class (n,) of every row of targets, or outputs, (n, C): one column decides by its sign, more by the largest.

    Examples
    --------
    >>> labels_of(encode_labels(np.array([2, 0, 1]), 3, "squared")[0]).tolist(), labels_of(np.array([[-0.3]])).tolist()
    ([2, 0, 1], [0])
    """
    if targets.shape[1] == 1:
        return np.asarray(targets[:, 0] > 0, dtype=np.intp)
    return np.asarray(targets.argmax(axis=1), dtype=np.intp)


def wrong_class(predictions: Array, targets: Array) -> NDArray[np.bool_]:
    """Return which rows (n,) of predictions (n, C) decide for another class than targets do: ``mistakes`` of codes.

    One output decides by its sign, more by the largest.
    """
    return np.asarray(labels_of(predictions) != labels_of(targets))


def wrong_label(predictions: Array, targets: Array) -> NDArray[np.bool_]:
    """Return which rows (n,) of predictions (n, L) are wrong in one label or more of L, each decided by its sign.

    >>> wrong_label(np.array([[0.2, -1.0], [0.1, 0.1]]), np.array([[1.0, -1.0], [1.0, -1.0]])).tolist()
    [False, True]
    """
    return np.asarray(((predictions > 0) != (targets > 0)).any(axis=1))


def check_targets(loss: Loss, y: Array, n: int, owner: str) -> Array:
    """Return real targets (n, C) from (n,) or (n, C)."""
    check_length(y.shape, n, "y", owner, "target")
    if y.ndim not in (1, 2) or 0 in y.shape:
        raise fail("y", owner, f"of shape ({n},) or ({n}, C)", describe(f"shape {y.shape}"))
    y = y[:, None] if y.ndim == 1 else y
    if not loss.accepts(y):
        said = f"shape {y.shape}, values from {y.min():g} to {y.max():g}"
        raise fail("y", owner, f"{loss.targets} for loss={loss.name!r}", describe(said))
    return y


def check_outputs(loss: Loss, y: Any, owner: str) -> None:
    """Refuse targets (n, C) that the loss does not take, and counts of which an output is 0 in every row.

    The logarithm of their mean is minus infinity.
    """
    check_targets(loss, y, len(y), owner)
    if loss.is_log and not y.any(axis=0).all():
        raise fail("y", owner, f"positive in some row for loss={loss.name!r}", describe(f"{len(y)} zeros"))


def make_datafit(
    loss: str | Loss, y: Any, n: int, owner: str, huber_delta: float | None = None, sample_weight: Any = None
) -> Datafit:
    """Return the loss with targets (n, C), and with weights (n,) > 0 for the rows, of which only the ratios matter.

    What targets must be is ``targets`` of the loss.
    """
    kind = as_loss(loss, owner, huber_delta)
    delta = getattr(kind, "delta", None)
    if delta is not None and delta < SMALLEST_SIZE:
        hint = "It is a residual, in the units of y."
        raise fail("huber_delta", owner, f"{SMALLEST_SIZE:g} or more, as targets are", delta, hint)
    values = np.asarray(as_real(y, "y", owner), dtype=np.float64, order="C")  # the same sums whatever the layout was
    targets = check_targets(kind, values, n, owner)
    check_size(targets, "y", owner)
    return Datafit(kind, targets, normalized(sample_weight, n, owner))
