"""A fitted estimator in one NPZ file: plain arrays and one JSON entry, never a pickle."""

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from clifford_rand import __version__
from clifford_rand._checks import describe, fail
from clifford_rand._files import replaced
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import FAULTS, read_npz
from clifford_rand_nn.certificates import Claim, GatedClaim, NetworkClaim
from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.estimators.gated import GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.estimators.lasso import CrossProductLassoClassifier, CrossProductLassoRegressor
from clifford_rand_nn.estimators.relu import ConvexReLUClassifier, ConvexReLURegressor
from clifford_rand_nn.estimators.targets import NetworkClassifier
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.gated import Coefficients

FORMAT = "clifford-rand-model"
VERSION = 4  # raised when a reader of the old layout could not read the new one
_READABLE = (1, 2, 3, 4)  # 1 knew gated networks only, 2 no sample weights, 3 neither `BetaCV` nor bias="penalised"
# Models without what is new are written so that older readers can read them.
_UNWEIGHTED, _WEIGHTED = 2, 3

Network = (
    GatedReLUClassifier
    | GatedReLURegressor
    | ConvexReLUClassifier
    | ConvexReLURegressor
    | CrossProductLassoClassifier
    | CrossProductLassoRegressor
)
Model = Network | BetaCV

_ESTIMATORS: dict[str, Any] = {estimator.__name__: estimator for estimator in get_args(Network)}
# What each array is: kinds of dtype, and numbers of axes (version 1 kept those of a single output without an axis).
_NEURON_ARRAYS = {"directions": "f2", "offsets": "f1", "rows": "i2"}
_GATE_ARRAYS = {"directions": "f2", "offsets": "f1", "incident": "i2", "sides": "b2", "n_dependent": "i1"}
_ARRAYS = (
    {"meta": "u1", "dual_point": "f2", "sample_weight": "f1", "coef": "f23", "gate_intercept": "f12"}
    | {"intercept": "f01", "W1": "f2", "b1": "f1", "w2": "f2", "b2": "f1", "units": "i1", "classes": "biufUS1"}
    | {f"{prefix}_{name}": rule for prefix in ("given", "gates", "members") for name, rule in _GATE_ARRAYS.items()}
    | {f"members_{name}": rule for name, rule in _NEURON_ARRAYS.items()}
    | {"search_betas": "f1", "search_scores": "f2", "search_given": "f1"}
)
_SEARCH = ("n_betas", "eps", "cv", "scoring", "rule", "max_time", "n_jobs", "verbose")  # parameters of `BetaCV`
_OWN = ("beta", "max_time")  # parameters of its estimator that differ from those of the one that was trained
_DROPPED = ("huber_delta",)  # parameters that estimators had and have no more where they had no effect


def save_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a fitted estimator to ``path``, an NPZ file that ``numpy.load(allow_pickle=False)`` reads.

    It holds the parameters, the network, the gates, the classes, the feature names and the certificate with its dual
    point and sample weights, so that `load_model` gives an estimator that predicts bit for bit the same and whose
    ``certificate_.verify(X, y)`` still works. Training rows, ``patterns_`` and ``result_`` are not in it. Of a `BetaCV`
    it holds the estimator and the scores of all betas too. The file appears complete or not at all.

    Parameters
    ----------
    path : path that ends in .npz
    model : one of the estimators, or `BetaCV`
        Fitted. A ``random_state`` that is not an integer is saved as None; so are a ``cv`` or ``scoring`` that are
        neither a number nor a word.

    Raises
    ------
    ArgumentError
        The model is of another kind or not fitted, its labels are of mixed kinds, or the path ends otherwise.

    Examples
    --------
    >>> import tempfile
    >>> from clifford_rand_nn import GatedReLUClassifier, load_model, save_model, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=20, random_state=0).fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "spiral.npz"
    >>> save_model(path, model)
    >>> bool((load_model(path).decision_function(X) == model.decision_function(X)).all())
    True
    """
    if Path(path).suffix.lower() != ".npz":
        raise fail("path", "save_model", "a file name that ends in .npz", str(path))
    arrays: Any
    arrays, meta = _pack(model)
    arrays["meta"] = np.frombuffer(json.dumps(meta, ensure_ascii=False, indent=1).encode(), dtype=np.uint8)
    with replaced(path) as new, open(new, "wb") as stream:
        np.savez(stream, **arrays)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read an estimator that `save_model` wrote.

    Raises
    ------
    ArgumentError
        The file is not such a file, is damaged, or was written by a newer version; the message names it.
    FileNotFoundError
        There is no such file.
    """
    name = os.fspath(path)
    arrays, there = read_npz(path, _ARRAYS, what="this model file", stored=True)
    if "meta" not in arrays:
        holds = ", ".join(there[:8]) or "nothing"
        raise ArgumentError(f"{name}: this is not a model file of clifford-rand; it holds {holds}.")
    with _damage_told(name):
        _check_arrays(arrays)
        meta = json.loads(arrays["meta"].tobytes().decode(), parse_constant=float)
        found, version = meta["format"], meta["version"]
    if found != FORMAT or not isinstance(version, int):
        raise ArgumentError(f"{name}: this is a file of format {found!r}, not {FORMAT!r}.")
    if version not in _READABLE:
        raise ArgumentError(
            f"{name}: the file has version {version} of the format (clifford-rand {meta.get('library')}), this "
            f"clifford-rand {__version__} reads versions up to {VERSION}; update it or save the model again."
        )
    with _damage_told(name):
        return _unpack(arrays, meta)


@contextmanager
def _damage_told(name: str) -> Iterator[None]:
    """Turn whatever the content of a file raises into the one error."""
    try:
        yield
    except FAULTS as error:
        said = " ".join(str(error).split())
        raise ArgumentError(f"{name}: the model file is damaged ({type(error).__name__}: {said}).") from error


def _check_arrays(arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays of another kind or number of axes than are saved, and numbers that are not finite."""
    for name, array in arrays.items():
        kinds = _ARRAYS[name].rstrip("0123")
        if array.dtype.kind not in kinds or (kinds == "f" and array.dtype != np.float64):
            raise ValueError(f"the array {name!r} has dtype {array.dtype}")
        if str(array.ndim) not in _ARRAYS[name]:
            raise ValueError(f"the array {name!r} has {array.ndim} axes")
        missing = np.isnan(array) if name == "search_scores" else np.zeros(1, dtype=bool)  # betas without time
        if array.dtype.kind == "f" and not (np.isfinite(array) | missing).all():
            raise ValueError(f"the array {name!r} has entries that are not finite")


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


def _whole(value: Any, low: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ValueError(f"{value!r} is no integer ≥ {low}")
    return value


def _fit(agree: bool, what: str = "the arrays do not fit each other") -> None:
    if not agree:
        raise ValueError(what)


def _pack(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    kind = type(model).__name__
    if type(model) is BetaCV:
        return _pack_search(model)
    if _ESTIMATORS.get(kind) is not type(model):
        raise fail("model", "save_model", f"one of {', '.join(_ESTIMATORS)}, BetaCV", describe(kind))
    if not hasattr(model, "coef_"):
        raise fail("model", "save_model", "fitted", describe(f"a {kind} before fit"))
    params = {name: _plain(value) for name, value in model.get_params().items()}
    arrays: dict[str, NDArray[Any]] = {"dual_point": model.certificate_.dual_point}
    if "gates" in params and not isinstance(params["gates"], str):  # hyperplanes that were given are a parameter
        given = model.gates if isinstance(model.gates, Gates) else Gates.given(*model.gates)
        params["gates"] = _pack_gates(arrays, "given", given)
    proof = model.certificate_
    if proof.sample_weight is not None:
        arrays["sample_weight"] = proof.sample_weight
    meta: dict[str, Any] = {
        "format": FORMAT,
        "version": _version(model),
        "library": __version__,
        "estimator": kind,
        "params": params,
        "n_features": int(model.n_features_in_),
        "feature_names": [str(name) for name in model.feature_names_in_]
        if hasattr(model, "feature_names_in_")
        else None,
        "certificate": {
            "primal": float(proof.primal),
            "dual": float(proof.dual),
            "relative_gap": float(proof.relative_gap),
            "n_patterns": int(proof.n_patterns),
            "scope": proof.scope,
        },
        "n_iter": int(model.n_iter_),
    }
    claim = proof.claim
    if isinstance(claim, GatedClaim):
        coefficients, feature = claim.coefficients, claim.feature
        arrays |= {"coef": coefficients.coef, "gate_intercept": coefficients.gate_intercept}
        arrays["intercept"] = coefficients.intercept
        meta["gates"] = _pack_gates(arrays, "gates", claim.gates)
    else:
        network, family = claim.network, claim.family
        arrays |= {"W1": network.W1, "b1": network.b1, "w2": network.w2, "b2": network.b2}
        meta["gates"] = {"method": model.gates_.method}
        meta["family"] = {"kind": family.kind, "p": family.p, "bias": bool(family.bias), "members": None}
        feature = family.feature
        if isinstance(family.members, Gates):
            meta["family"]["members"] = _pack_gates(arrays, "members", family.members)
        elif family.members is not None:
            arrays |= {f"members_{name}": getattr(family.members, name) for name in _NEURON_ARRAYS}
    if feature is not None:
        meta["bias_feature"] = feature
    if isinstance(model, NetworkClassifier):
        arrays["classes"], meta["classes_dtype"] = _plain_classes(model.classes_)
    else:
        meta["target_ndim"] = int(model._target_ndim)
    return {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}, meta


def _version(model: Any) -> int:
    """Return the least version of the format that can hold an estimator."""
    if model.bias_feature_ is not None or isinstance(model.bias, str):
        return VERSION
    return _UNWEIGHTED if model.certificate_.sample_weight is None else _WEIGHTED


def _pack_search(search: BetaCV) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Pack the estimator that a search trained, and around it the search."""
    if not hasattr(search, "estimator_"):
        raise fail("model", "save_model", "fitted", describe("a BetaCV before fit"))
    arrays, meta = _pack(search.estimator_)
    arrays |= {"search_betas": search.betas_, "search_scores": search.scores_}
    if search.betas is not None:
        arrays["search_given"] = np.atleast_1d(np.asarray(search.betas, dtype=np.float64))
    meta["version"] = VERSION
    meta["search"] = {name: _plain(getattr(search, name)) for name in _SEARCH} | {
        "own": {name: _plain(getattr(search.estimator, name)) for name in _OWN}
    }
    return arrays, meta


def _unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Model:
    model = _unpack_network(arrays, meta)
    if "search" not in meta:
        return model
    told = meta["search"]
    search = BetaCV(clone(model).set_params(**{name: told["own"][name] for name in _OWN}))
    search.set_params(**{name: told[name] for name in _SEARCH}, betas=arrays.get("search_given"))
    betas, scores = arrays["search_betas"], arrays["search_scores"]
    _fit(len(scores) == betas.size > 0 and bool((betas > 0).all()) and bool((np.diff(betas) <= 0).all()), "the search")
    search.betas_, search.scores_, search.beta_, search.estimator_ = betas, scores, model.beta, model
    _fit(bool((betas == model.beta).any()), "the search")
    search.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        search.feature_names_in_ = model.feature_names_in_
    return search


def _unpack_network(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Network:
    kind = _ESTIMATORS[meta["estimator"]]
    known = kind().get_params()
    params = {name: value for name, value in meta["params"].items() if name in known or name not in _DROPPED}
    if "gates" in params and not isinstance(params["gates"], str):
        params["gates"] = _gates(arrays, "given", params["gates"])
    model: Any = kind(**params)
    _fit(model.loss in kind._losses and model.penalty in kind._penalties, "the loss or the penalty is unknown")
    _fit(_number(model.beta) > 0 and model.fit_intercept in (True, False), "parameters")
    told = meta.get("bias_feature")
    model.bias_feature_ = feature = None if told is None else _number(told)
    _fit((feature is not None) == (model._bias == "penalised") and (feature is None or feature > 0), "the biases")
    d = _whole(meta["n_features"], 1)
    model.n_features_in_, model.n_iter_ = d, _whole(meta["n_iter"])
    if meta["feature_names"] is not None:
        model.feature_names_in_ = np.array([str(name) for name in meta["feature_names"]], dtype=object)
        _fit(len(model.feature_names_in_) == d, "the feature names do not fit the arrays")
    claim: Claim
    if "family" in meta:
        claim = NetworkClaim(_network(arrays, d), _family(arrays, meta["family"], d, feature))
        model._set_network(claim.network, str(meta["gates"]["method"]))
        outputs = len(claim.network.b2)
    else:
        claim = _gated_claim(arrays, meta, d)._replace(feature=feature)
        model._set_gated(claim.coefficients, claim.gates)
        outputs = len(claim.coefficients.intercept)
    classes = None
    if isinstance(model, NetworkClassifier):
        classes = arrays["classes"].astype(object) if meta["classes_dtype"] == "object" else arrays["classes"]
        _fit(len(classes) == max(2, outputs), "the classes do not fit the arrays")
        model.classes_ = classes
    else:
        model._target_ndim = _whole(meta["target_ndim"], 1)
        _fit(model._target_ndim == 2 or (model._target_ndim == 1 and outputs == 1))
    theta, weights = arrays["dual_point"], arrays.get("sample_weight")
    _fit(theta.shape[1] == outputs)
    if weights is not None:
        fits = bool((weights >= 0).all()) and np.count_nonzero(weights) == len(theta)
        _fit(fits, "the sample weights do not fit the dual point")
    model._sample_weight = weights
    proof = meta["certificate"]
    numbers = {name: _number(proof[name]) for name in ("primal", "dual", "relative_gap")}
    scope, count = str(proof["scope"]), _whole(proof["n_patterns"])
    model._certify(claim, classes, dual_point=theta, scope=scope, n_patterns=count, **numbers)
    return cast("Network", model)


def _gated_claim(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], d: int) -> GatedClaim:
    gates = _gates(arrays, "gates", meta["gates"])
    m, outputs = len(gates), arrays["intercept"].size
    _fit(gates.d == d and outputs > 0)
    shapes = {"coef": (outputs, m, d), "gate_intercept": (outputs, m), "intercept": (outputs,)}
    _fit(all(arrays[name].shape in (shape, shape[1:] if outputs == 1 else shape) for name, shape in shapes.items()))
    parts = (arrays[name].reshape(shape) for name, shape in shapes.items())
    return GatedClaim(gates, Coefficients(*parts), squared=meta["params"]["penalty"] == "ridge")


def _network(arrays: dict[str, NDArray[Any]], d: int) -> TwoLayerNetwork:
    W1, b1, w2, b2 = (arrays[name] for name in ("W1", "b1", "w2", "b2"))
    _fit(W1.shape == (b1.size, d) and w2.shape == (b1.size, b2.size) and b2.size > 0)
    return TwoLayerNetwork(W1, b1, w2, b2)


def _family(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], d: int, feature: float | None) -> Family:
    kind, p, members = meta["kind"], _whole(meta["p"]), meta["members"]
    _fit(kind in ("all", "cross", "neurons", "gates") and p in (1, 2) and meta["bias"] in (True, False), "the family")
    found: Gates | Neurons | None = None
    if kind == "gates":
        found = _gates(arrays, "members", members)
    elif kind == "neurons":
        found = Neurons(**{name: arrays[f"members_{name}"] for name in _NEURON_ARRAYS})
        _fit(found.directions.shape[1:] == found.offsets.shape == found.rows.shape[:1])
        _fit(bool((found.rows >= 0).all()))
    family = Family(kind, p, bool(meta["bias"]), found, feature)
    _fit(family.d_of_members in (None, d), "the family does not fit the network")
    return family


def _pack_gates(arrays: dict[str, NDArray[Any]], prefix: str, gates: Gates) -> dict[str, Any]:
    """Add the arrays of ``gates`` under ``prefix``; return the rest of them."""
    arrays |= {f"{prefix}_{name}": getattr(gates, name) for name in _GATE_ARRAYS}
    return {"method": gates.method, "sketch_dim": gates.sketch_dim, "notes": gates.notes}


def _gates(arrays: dict[str, NDArray[Any]], prefix: str, meta: dict[str, Any]) -> Gates:
    fields = {name: arrays[f"{prefix}_{name}"] for name in _GATE_ARRAYS}
    m = fields["offsets"].shape
    _fit(fields["directions"].shape[1:] == fields["n_dependent"].shape == m, "the gates do not fit each other")
    _fit(fields["incident"].shape[:1] == m and fields["incident"].shape == fields["sides"].shape, "the gates' rows")
    r = meta["sketch_dim"]
    sketch_dim = None if r is None else _whole(r, 1)
    return Gates(**fields, method=str(meta["method"]), sketch_dim=sketch_dim, notes=tuple(map(str, meta["notes"])))


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it; arrays are stored apart, generators not at all."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return None


def _plain_classes(classes: NDArray[Any]) -> tuple[NDArray[Any], str]:
    if classes.dtype != object and classes.dtype.kind in "biufUS":
        return classes, classes.dtype.str
    if all(isinstance(label, str) for label in classes):
        return classes.astype(str), "object"
    raise fail("model", "save_model", "fitted to labels of one kind: text, integers, booleans or floats", classes)
