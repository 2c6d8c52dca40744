"""Targets of a network that was trained elsewhere, as its loss takes them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_array, as_real, check_length, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.entropy import MultilabelLogistic
from clifford_rand_nn.datafits.loss import Loss
from clifford_rand_nn.datafits.registry import as_loss, encode_labels
from clifford_rand_nn.estimators.rows import training_labels


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
