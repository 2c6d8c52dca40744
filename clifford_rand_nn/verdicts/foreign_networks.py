"""Two-layer ReLU networks of PyTorch, scikit-learn and NumPy, read and written in their own form."""

import copy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.claims import NetworkClaim
from clifford_rand_nn.networks import TwoLayerNetwork

KINDS = (
    "a torch.nn.Sequential(Linear, ReLU, Linear) or its state, a fitted MLPClassifier or MLPRegressor with one hidden "
    "layer of ReLU neurons, arrays (W1, b1, w2, b2), a TwoLayerNetwork of ReLU neurons or a fitted estimator with one"
)
_MLP = "BaseMultilayerPerceptron"  # the base of scikit-learn's networks, which is not imported to recognize them


@dataclass(frozen=True, eq=False)
class ForeignNetwork:
    """A network in double precision, what its object says of its training, and how to write another one like it.

    ``write`` takes a network and returns an object of the kind that was read, with arrays of the same type; None for
    fitted estimators of this library. ``has_bias``, ``has_intercept``: whether the layers have biases that can be
    stored. ``loss``, ``classes``, ``alpha`` and ``batch`` are those of an MLP, ``proof`` is that of an estimator.
    """

    network: TwoLayerNetwork
    write: Callable[[TwoLayerNetwork], Any] | None
    has_bias: bool = True
    has_intercept: bool = True
    loss: str | None = None
    classes: Any = None
    alpha: float = 0.0
    batch: int | None = None
    is_mlp: bool = False
    proof: Certificate | None = None


def read_network(network: Any, owner: str) -> ForeignNetwork:
    """Return a network from any of its forms.

    Raises ArgumentError: it is of another form, of other layers or neurons, not fitted, or not finite.
    """
    torch = sys.modules.get("torch")  # of a module it is there
    if isinstance(network, TwoLayerNetwork):
        if network.gates is not None:
            raise fail("network", owner, "of ReLU neurons", describe("a gated network"))
        return ForeignNetwork(network, lambda other: other)
    if isinstance(network, tuple) and len(network) == 4:
        return _of_arrays(network, owner)
    if isinstance(network, Mapping):
        return _of_state(network, owner)
    if torch is not None and isinstance(network, torch.nn.Module):
        return _of_module(network, torch, owner)
    if any(kind.__name__ == _MLP for kind in type(network).__mro__):
        return _of_mlp(network, owner)
    proof = getattr(network, "certificate_", None)
    if isinstance(proof, Certificate):
        if not isinstance(proof.claim, NetworkClaim):
            hint = "Its own certificate_ is the verdict on gated and infinitely wide networks."
            raise fail("network", owner, "of ReLU neurons", describe(f"a {type(network).__name__} with others"), hint)
        return ForeignNetwork(proof.claim.network, None, proof=proof)
    raise fail("network", owner, KINDS, describe(f"a {type(network).__name__}"))


def _of_arrays(arrays: Any, owner: str) -> ForeignNetwork:
    W1, b1, w2, b2 = arrays
    network = _network(W1, b1, w2, b2, owner)

    def write(other: TwoLayerNetwork) -> Any:
        values = other.W1, other.b1, other.w2, other.b2
        return tuple(_like(old, new) for old, new in zip(arrays, values, strict=True))

    return ForeignNetwork(network, write, b1 is not None, b2 is not None)


def _of_state(state: Mapping[str, Any], owner: str) -> ForeignNetwork:
    """Read a state dictionary of two linear layers, whose weights are (m, d) and (C, m)."""
    weights = [name for name, value in state.items() if np.ndim(value) == 2]
    biases = [str(name).removesuffix("weight") + "bias" for name in weights]
    if len(weights) != 2 or set(state) - {*weights, *biases}:
        names = describe(f"the names {list(state)}"[:200])
        raise fail("network", owner, "a state of two linear layers, their 'weight' and 'bias'", names)
    first, second = weights
    b1, b2 = (state.get(name) for name in biases)
    network = _network(state[first], b1, state[second].T, b2, owner)

    def write(other: TwoLayerNetwork) -> Any:
        values = dict(zip([*weights, *biases], (other.W1, other.w2.T, other.b1, other.b2), strict=True))
        changed = copy.copy(state)
        changed.update({name: _like(state[name], values[name]) for name in state})  # type: ignore[attr-defined]
        return changed

    return ForeignNetwork(network, write, b1 is not None, b2 is not None)


def _of_module(module: Any, torch: Any, owner: str) -> ForeignNetwork:
    nn, layers = torch.nn, list(module.children())
    kinds = nn.Linear, nn.ReLU, nn.Linear
    if not isinstance(module, nn.Sequential) or len(layers) != 3 or not all(map(isinstance, layers, kinds)):
        hint = "Of a module of another form pass the weights as arrays (W1, b1, w2, b2)."
        words = f"{type(module).__name__}({', '.join(type(layer).__name__ for layer in layers)})"
        raise fail("network", owner, "a torch.nn.Sequential(Linear, ReLU, Linear)", describe(words), hint)
    first, second = layers[0], layers[2]
    network = _network(first.weight, first.bias, second.weight.T, second.bias, owner)

    def write(other: TwoLayerNetwork) -> Any:
        changed = copy.deepcopy(module)
        low, _, high = changed.children()
        for layer, W, b in ((low, other.W1, other.b1), (high, other.w2.T, other.b2)):
            layer.out_features, layer.in_features = W.shape
            layer.weight = nn.Parameter(_like(layer.weight, W), layer.weight.requires_grad)
            if layer.bias is not None:
                layer.bias = nn.Parameter(_like(layer.bias, b), layer.bias.requires_grad)
        return changed

    return ForeignNetwork(network, write, first.bias is not None, second.bias is not None)


def _of_mlp(model: Any, owner: str) -> ForeignNetwork:
    if not hasattr(model, "coefs_"):
        raise fail("network", owner, "a fitted network", describe(f"a {type(model).__name__} before its fit"))
    loss = {"identity": "squared", "logistic": "logistic", "softmax": "logistic"}.get(model.out_activation_)
    if len(model.coefs_) != 2 or model.activation != "relu" or loss is None:
        layers = f"{len(model.coefs_) - 1} hidden layers, activation {model.activation!r}, loss {model.loss!r}"
        raise fail("network", owner, "an MLP with one hidden layer of ReLU neurons", describe(layers))
    (first, second), (b1, b2) = model.coefs_, model.intercepts_
    network = _network(first.T, b1, second, b2, owner)

    def write(other: TwoLayerNetwork) -> Any:
        changed = copy.deepcopy(model)
        changed.coefs_ = [_like(first, other.W1.T), _like(second, other.w2)]
        changed.intercepts_ = [_like(b1, other.b1), _like(b2, other.b2)]
        changed.hidden_layer_sizes = (len(other.b1),)
        for name in ("_optimizer", "_best_coefs", "_best_intercepts"):  # of the training before
            vars(changed).pop(name, None)
        return changed

    labels = getattr(model, "_label_binarizer", None)
    classes = None if labels is None or labels.y_type_.startswith("multilabel") else model.classes_
    batch = None if model.solver == "lbfgs" else 200 if model.batch_size == "auto" else int(model.batch_size)
    said: dict[str, Any] = {"loss": loss, "classes": classes, "alpha": float(model.alpha), "batch": batch}
    return ForeignNetwork(network, write, is_mlp=True, **said)


def _network(W1: Any, b1: Any, w2: Any, b2: Any, owner: str) -> TwoLayerNetwork:
    """Return the network of W1 (m, d), b1 (m,), w2 (m, C) or (m,), b2 (C,) or a number; biases may be None."""
    hidden, out = _double(W1, "W1", owner), _double(w2, "w2", owner)
    out = out[:, None] if out.ndim == 1 else out
    shapes = hidden.shape, out.shape
    if hidden.ndim != 2 or out.ndim != 2 or len(hidden) != len(out) or not out.shape[1]:
        rule = "weights W1 (m, d) and w2 (m, C), those of a neuron in one row"
        raise fail("network", owner, rule, describe("shapes {} and {}".format(*shapes)))
    biases = []
    for name, value, size in (("b1", b1, len(hidden)), ("b2", b2, out.shape[1])):
        bias = np.zeros(size) if value is None else np.atleast_1d(_double(value, name, owner))
        if bias.shape != (size,):
            raise fail("network", owner, f"biases {name} of shape ({size},)", describe(f"shape {bias.shape}"))
        biases.append(bias)
    return TwoLayerNetwork(hidden, biases[0], out, biases[1])


def _double(value: Any, name: str, owner: str) -> Array:
    if hasattr(value, "detach"):  # a tensor, on any device and of any precision
        value = value.detach().cpu().double().numpy()
    return np.ascontiguousarray(as_real(value, f"network {name}", owner), dtype=np.float64)


def _like(old: Any, new: Array) -> Any:
    """Return numbers as an array of the library, precision, device and number of axes of another one, or None."""
    if old is None:
        return None
    shaped = new.reshape(-1) if np.ndim(old) == 1 else new
    if hasattr(old, "detach"):
        return old.detach().new_tensor(np.ascontiguousarray(shaped))
    if np.ndim(old) == 0:
        return type(old)(shaped[0])
    kind = np.asarray(old).dtype
    return np.ascontiguousarray(shaped, dtype=kind if kind.kind == "f" else np.float64)
