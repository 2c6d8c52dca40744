"""Networks that were trained elsewhere, in their own form, and the targets and options of their problem."""

import copy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_array, as_real, check_length, describe, fail
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.estimators.rows import training_labels
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.problems.entropy import MultilabelLogistic
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_registry import as_loss, encode_labels, has_delta

_KINDS = (
    "a torch.nn.Sequential(Linear, ReLU, Linear) or its state, a fitted MLPClassifier or MLPRegressor with one hidden "
    "layer of ReLU neurons, arrays (W1, b1, w2, b2), a TwoLayerNetwork of ReLU neurons or a fitted estimator with one"
)
_MLP = "BaseMultilayerPerceptron"  # the base of scikit-learn's networks, which is not imported to recognize them
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
    Seconds for the program, which proves a bound wherever it ends; `polish` may solve two. A relaxation of every neuron
    takes what is left of half of them.
random_state : int, Generator or None
"""


@dataclass(frozen=True, eq=False)
class ForeignNetwork:
    """A network in double precision, and options, by name, that its object knows.

    ``write`` returns another network as an object of the same kind, with arrays of the same type; None for estimators
    of this library, which bring their ``claim``. ``decay`` are ``alpha`` and the batch size, or None for all rows, of
    an MLP.
    """

    network: TwoLayerNetwork
    write: Callable[[TwoLayerNetwork], Any] | None
    known: dict[str, Any]
    classes: Any = None
    decay: tuple[float, int | None] | None = None
    claim: NetworkClaim | None = None


def read_network(network: Any, owner: str) -> ForeignNetwork:
    """Return a network from any of its forms.

    Raises ArgumentError: it is of another form, of other layers or neurons, not fitted, or not finite.
    """
    torch = sys.modules.get("torch")  # of a module it is there
    proof = getattr(network, "certificate_", None)
    if isinstance(network, TwoLayerNetwork) and network.gates is None:
        return ForeignNetwork(network, lambda other: other, {"bias": "penalized", "fit_intercept": True})
    if isinstance(network, tuple) and len(network) == 4:
        return _of_arrays(network, lambda written: written, owner)
    if isinstance(network, Mapping):
        return _of_state(network, owner)
    if torch is not None and isinstance(network, torch.nn.Module):
        return _of_module(network, torch.nn, owner)
    if any(kind.__name__ == _MLP for kind in type(network).__mro__):
        return _of_mlp(network, owner)
    if isinstance(proof, Certificate) and isinstance(proof.claim, NetworkClaim):
        names = ("loss", "beta", "bias", "fit_intercept", "sample_weight", *(["huber_delta"] * has_delta(proof.loss)))
        known = {name: getattr(proof, name) for name in names}
        known |= {"penalty": f"group_l{proof.claim.family.p}", "bias_feature": proof.claim.family.feature}
        return ForeignNetwork(proof.claim.network, None, known, proof.classes, claim=proof.claim)
    hint = "The certificate_ of a gated or infinitely wide network is its verdict." if proof is not None else ""
    raise fail("network", owner, _KINDS, describe(f"a {type(network).__name__}"), hint)


def _of_arrays(arrays: Any, write: Callable[[Any], Any], owner: str) -> ForeignNetwork:
    """Read W1 (m, d), b1 (m,), w2 (m, C) or (m,), b2 (C,) or a number; biases may be None."""
    W1, b1, w2, b2 = (None if part is None else _double(part, owner) for part in arrays)
    w2 = w2[:, None] if w2 is not None and w2.ndim == 1 else w2
    if W1 is None or w2 is None or W1.ndim != 2 or w2.ndim != 2 or len(W1) != len(w2) or not w2.shape[1]:
        shapes = describe(" and ".join("None" if part is None else f"shape {part.shape}" for part in (W1, w2)))
        raise fail("network", owner, "of weights W1 (m, d) and w2 (m, C), a neuron in one row", shapes)
    sized = (b1, len(W1)), (b2, w2.shape[1])
    biases = [np.zeros(size) if bias is None else np.atleast_1d(bias) for bias, size in sized]
    if [bias.shape for bias in biases] != [W1.shape[:1], w2.shape[1:]]:
        shapes = describe(" and ".join(str(bias.shape) for bias in biases))
        raise fail("network", owner, f"of biases b1 of shape {W1.shape[:1]} and b2 of shape {w2.shape[1:]}", shapes)

    def written(other: TwoLayerNetwork) -> Any:
        values = other.W1, other.b1, other.w2, other.b2
        return write(tuple(_like(old, new) for old, new in zip(arrays, values, strict=True)))

    known = {"bias": False if b1 is None else "penalized", "fit_intercept": b2 is not None}
    return ForeignNetwork(TwoLayerNetwork(W1, biases[0], w2, biases[1]), written, known)


def _of_state(state: Mapping[str, Any], owner: str) -> ForeignNetwork:
    """Read a state dictionary of two linear layers, whose weights are (m, d) and (C, m)."""
    weights = [name for name, value in state.items() if np.ndim(value) == 2]
    biases = [str(name).removesuffix("weight") + "bias" for name in weights]
    if len(weights) != 2 or set(state) - {*weights, *biases}:
        names = describe(f"the names {list(state)}"[:200])
        raise fail("network", owner, "a state of two linear layers, their 'weight' and 'bias'", names)
    (first, second), (b1, b2) = weights, biases

    def write(arrays: Any) -> Any:
        values = dict(zip((first, b1, second, b2), (*arrays[:2], arrays[2].T, arrays[3]), strict=True))
        return type(state)((name, values[name]) for name in state)  # type: ignore[call-arg]

    return _of_arrays((state[first], state.get(b1), state[second].T, state.get(b2)), write, owner)


def _of_module(module: Any, nn: Any, owner: str) -> ForeignNetwork:
    layers, kinds = list(module.children()), (nn.Linear, nn.ReLU, nn.Linear)
    if not isinstance(module, nn.Sequential) or len(layers) != 3 or not all(map(isinstance, layers, kinds)):
        hint = "Of a module of another form pass the weights as arrays (W1, b1, w2, b2)."
        words = f"{type(module).__name__}({', '.join(type(layer).__name__ for layer in layers)})"
        raise fail("network", owner, "a torch.nn.Sequential(Linear, ReLU, Linear)", describe(words), hint)

    def write(arrays: Any) -> Any:
        changed = copy.deepcopy(module)
        low, _, high = changed.children()
        for layer, W, b in ((low, *arrays[:2]), (high, arrays[2].T, arrays[3])):
            layer.out_features, layer.in_features = W.shape
            layer.weight = nn.Parameter(W.contiguous(), layer.weight.requires_grad)
            layer.bias = None if b is None else nn.Parameter(b, layer.bias.requires_grad)
        return changed

    parts = layers[0].weight, layers[0].bias, layers[2].weight.T, layers[2].bias
    return _of_arrays(parts, write, owner)


def _of_mlp(model: Any, owner: str) -> ForeignNetwork:
    loss = {"identity": "squared"}.get(getattr(model, "out_activation_", ""), "logistic")
    if len(getattr(model, "coefs_", ())) != 2 or model.activation != "relu" or model.loss == "poisson":
        layers = f"{len(getattr(model, 'coefs_', [0])) - 1} hidden layers, {model.activation!r}, {model.loss!r}"
        raise fail("network", owner, "fitted, with one hidden layer of ReLU neurons", describe(layers))
    (first, second), (b1, b2) = model.coefs_, model.intercepts_

    def write(arrays: Any) -> Any:
        changed = copy.deepcopy(model)
        W1, new_b1, w2, new_b2 = arrays
        changed.coefs_, changed.intercepts_ = [np.ascontiguousarray(W1.T), w2], [new_b1, new_b2]
        changed.hidden_layer_sizes = (len(new_b1),)
        for name in ("_optimizer", "_best_coefs", "_best_intercepts"):  # of the training before
            vars(changed).pop(name, None)
        return changed

    labels = getattr(model, "_label_binarizer", None)
    classes = None if labels is None or labels.y_type_.startswith("multilabel") else model.classes_
    batch = None if model.solver == "lbfgs" else 200 if model.batch_size == "auto" else int(model.batch_size)
    read = _of_arrays((first.T, b1, second, b2), write, owner)
    known = {"loss": loss, "bias": "free", "fit_intercept": True}
    return ForeignNetwork(read.network, read.write, known, classes, (float(model.alpha), batch))


def _double(value: Any, owner: str) -> Array:
    if hasattr(value, "detach"):  # a tensor, on any device and of any precision
        value = value.detach().cpu().double().numpy()
    return np.ascontiguousarray(as_real(value, "network", owner), dtype=np.float64)


def _like(old: Any, new: Array) -> Any:
    """Return numbers as an array of the library, precision, device and number of axes of another one, or None."""
    if old is None:
        return None
    shaped = new.reshape(-1) if np.ndim(old) == 1 else np.ascontiguousarray(new)
    if hasattr(old, "detach"):
        return old.detach().new_tensor(shaped)
    if np.ndim(old) == 0:
        return type(old)(shaped[0])
    kind = np.asarray(old).dtype
    return shaped.astype(kind if kind.kind == "f" else np.float64)


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
