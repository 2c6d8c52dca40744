"""The problem of a network that was trained elsewhere: options of `certify` and `polish`, and targets of its loss."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_array, as_real, check_length, describe, fail
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn.datafits.entropy import MultilabelLogistic
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.datafits.registry import as_loss, encode_labels
from clifford_rand_nn.estimators.rows import training_labels

OPTIONS = """
loss : str or None
    "squared", "huber", "log_cosh", "logistic" (the softmax cross-entropy for several classes), "squared_hinge" or
    "softmax"; None for that of the MLP or the estimator.
beta : float > 0 or None
    For SGD with the mean loss it is ``weight_decay``. None: that of the estimator, or of the MLP's steps, ``alpha``
    over the batch size, which is n for L-BFGS. AdamW's decay is not a penalty: its strength depends on the learning
    rate and on Adam's scaling.
penalty : {"group_l2", "group_l1"} or None
    p = 2, also for None, or 1.
bias : {"penalized", "free", False} or None
    "penalized": the norm is that of :math:`(W_j, b_j/c)`, as weight decay charges biases, too. "free": no penalty, as
    in scikit-learn's MLP. False: neurons have none. None: as the estimator says, "free" for an MLP, False for a layer
    without biases, else "penalized". The output's bias is never penalized.
bias_feature : float or None
    c, 1 unless it is given or the estimator's.
fit_intercept : bool or None
    Whether the output has a bias; None for what the network has.
huber_delta : float or None
    Of "huber" and "log_cosh", 1 if None.
sample_weight : (n,) array or None
gates : "auto", "network", "exhaustive", Gates or (directions (d, m), offsets (m,))
    "auto": every neuron, where all can be priced in half of ``max_time``; else those of the activation patterns of the
    network, of linear models, and of as many sampled hyperplanes as time allows, and for `certify` beside them every
    neuron by a relaxation. "network": of the network's patterns
    alone. "exhaustive": every neuron. Gates: of their patterns and the network's.
n_gates : int
    At most so many sampled patterns.
tol : float > 0
    Relative gap to which the convex program is solved.
max_time : float or None
    Seconds for the program, which proves a bound wherever it ends; `polish` may solve two.
random_state : int, Generator or None
"""


@dataclass(frozen=True, kw_only=True)
class VerdictSettings:
    """Options of `certify` and `polish`: see `OPTIONS`."""

    loss: Any = None
    beta: Any = None
    penalty: Any = None
    bias: Any = None
    bias_feature: Any = None
    fit_intercept: Any = None
    huber_delta: Any = None
    sample_weight: ArrayLike | None = None
    gates: Any = "auto"
    n_gates: int = 50
    tol: float = 1e-3
    max_time: float | None = 30.0
    random_state: Any = 0


def targets_of(
    y: Any, n: int, outputs: int, loss: str, classes: Any, owner: str
) -> tuple[Array, str | Loss, NDArray[Any] | None]:
    """Return targets (n, C) of n rows, the loss for so many outputs, and the classes of labels or None.

    Raises ArgumentError: ``y`` has another number of rows or outputs, or of classes than the network has outputs for.
    """
    kind = as_loss(loss, owner)
    labels = as_array(y.detach().cpu().numpy() if hasattr(y, "detach") else y, "y", owner)
    check_length(labels.shape, n, "y", owner, "target")
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    known: str | Loss
    if classes is None and kind.labels is None:
        targets, known = np.asarray(as_real(labels, "y", owner), dtype=np.float64).reshape(n, -1), loss
    elif labels.ndim == 2:
        off, on = (-1.0, 1.0) if kind.labels is None else kind.labels
        targets = np.where(as_real(labels, "y", owner) > 0, on, off)
        if (targets == targets[0]).all(axis=0).any():
            raise fail("y", owner, "of labels that some rows have and others have not", describe("a constant column"))
        known, classes = MultilabelLogistic() if loss == "logistic" else loss, None
    else:
        labels = training_labels(labels, owner)
        classes = _classes(labels, max(outputs, 2), owner) if classes is None else np.asarray(classes)
        index = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        if not (classes[index] == labels).all():
            raise fail("y", owner, f"made of the classes {classes.tolist()[:10]}", describe("another label"))
        if outputs == 2 == len(classes) and loss in ("logistic", "softmax"):  # two logits, where one would do
            return np.eye(2)[index], "softmax", None
        targets, kind = encode_labels(index, len(classes), "logistic" if loss == "softmax" else loss)
        known = kind.name
    if targets.shape[1] != outputs:
        rule = f"targets of {outputs} outputs, as the network has"
        raise fail("y", owner, rule, describe(f"those of {targets.shape[1]}"))
    return targets, known, classes


def _classes(labels: NDArray[Any], count: int, owner: str) -> NDArray[Any]:
    """Return the classes of labels: the numbers of the outputs, as PyTorch counts them, or those that there are."""
    classes = np.unique(labels)
    if classes.dtype.kind in "biu" and classes.min() >= 0 and classes.max() < count:
        return np.arange(count)
    if len(classes) != count:
        rule, received = f"of {count} classes, for the outputs of the network", describe(f"{len(classes)} classes")
        raise fail("y", owner, rule, received, "Or choose another loss, as 'squared'.")
    return classes
