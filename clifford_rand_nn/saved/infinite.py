"""Networks of infinitely many gates as plain arrays and values, and back."""

from typing import Any, TypeVar, cast, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.claims import KernelClaim, NetworkClaim
from clifford_rand_nn.estimators.network.classifier import ConvexNetworkClassifier
from clifford_rand_nn.estimators.network.regressor import ConvexNetworkRegressor
from clifford_rand_nn.estimators.network.sparse_network import NeuronScore
from clifford_rand_nn.estimators.network.unique_rows import MultilabelCalibration
from clifford_rand_nn.kernel_network.calibration import Calibration
from clifford_rand_nn.kernel_network.candidates import Candidate
from clifford_rand_nn.kernel_network.intervals import Intervals
from clifford_rand_nn.kernel_network.metric.metric_selection import LearnedRounds, Trial
from clifford_rand_nn.saved import shards
from clifford_rand_nn.saved.finite import pack_neurons, read_neurons
from clifford_rand_nn.saved.kernel import pack_network, read_network, version
from clifford_rand_nn.saved.parts import (
    about,
    agree,
    checked_weights,
    number,
    pack_calibration,
    parameter,
    plain,
    plain_classes,
    proved,
    read_calibration,
    read_classes,
    read_parameter,
    read_scales,
    read_target_ndim,
    require_fitted,
    scales,
    set_features,
    text,
    truth,
    whole,
)
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.solvers.base import HistoryRow

Network = ConvexNetworkClassifier | ConvexNetworkRegressor
ESTIMATORS: dict[str, Any] = {estimator.__name__: estimator for estimator in get_args(Network)}
_VERSION, _SEVERAL = 5, 9  # and with several labels a row
# What files may lack, and readers of before pass over.
_ADDED = {"network_rows": "i1", "left_out": "b1", "loo_probabilities": "f2", "history": "f2"}
ARRAYS = (
    _ADDED
    | {"noise": "f1", "metric": "f2"}
    | {"loo_predictions": "f12", "loo_classes": "i1", "rounds_rows": "i1", "rounds_predictions": "f2"}
    | {"standard_mean": "f1", "standard_rate": "f1"}
    | {"calibration_slopes": "f1", "calibration_offsets": "f1"}
    | {"label_slopes": "f2", "label_offsets": "f2", "loo_labels": "i2"}
    | {"interval_scores": "f2", "interval_mass": "f2", "interval_shares": "f1"}
)
_READ: dict[Any, Any] = {str: text, bool: truth, int: whole, float: number}  # fields of records, by their type
_PROVED = {"primal": float, "dual": float, "relative_gap": float, "scope": str}  # of the choice of few neurons
_Record = TypeVar("_Record")


def pack(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the values of a fitted estimator."""
    require_fitted(model, "network_")
    proof = model.certificate_
    params = {name: parameter(value) for name, value in model.get_params().items()}
    meta = about(model, _VERSION, params)
    meta["certificate"]["loss"] = proof.loss
    by_shards = isinstance(proof, ShardCertificate)
    arrays: dict[str, NDArray[Any]] = {} if by_shards else {"dual_point": proof.dual_point}
    if not by_shards and proof.sample_weight is not None:
        arrays["sample_weight"] = proof.sample_weight
    claim = proof.claim
    if isinstance(claim, NetworkClaim):
        _pack_few(arrays, meta, model, claim)
    else:
        meta["certificate"]["claim"] = _values(claim, but="network")
        meta["kernel"] = pack_network(arrays, claim.network)
        meta["version"] = max(_VERSION, version(claim.network))
    meta |= {"beta": float(model.beta_), "loo_score": float(model.loo_score_), "reason": model.reason_}
    meta["candidates"] = [_values(candidate) for candidate in model.candidates_]
    if model.metric_ is not None:
        arrays["metric"] = model.metric_
    rounds = model.rounds_
    if rounds is not None:
        arrays |= {"rounds_rows": rounds.rows, "rounds_predictions": rounds.predictions}
        meta["rounds"] = {"shape": rounds.shape, "rounds": int(rounds.rounds), "factors": list(rounds.factors)}
        meta["rounds"]["trials"] = [_values(trial) for trial in rounds.trials]
    if isinstance(model, ConvexNetworkClassifier):
        arrays["classes"], meta["classes_dtype"] = plain_classes(model.classes_)
        if model._several:
            meta["version"] = _SEVERAL
            _pack_labels(arrays, meta, model)
        else:
            if not by_shards:
                arrays["loo_classes"] = np.searchsorted(model.classes_, model.loo_predictions_)
            pack_calibration(arrays, meta, model.calibration_)
        meta["losses"] = {name: float(value) for name, value in model.losses_.items()}
    else:
        within = model.intervals_
        if not by_shards:
            arrays["loo_predictions"] = model.loo_predictions_
        arrays |= {f"interval_{name}": getattr(within, name) for name in ("scores", "mass", "shares")}
        meta |= {"interval_scale": float(within.scale), "target_ndim": int(model._target_ndim)}
    if by_shards:
        meta["shards"], meta["version"] = shards.pack_landmarks(arrays, proof), shards.VERSION
    if model._variance is not None:
        arrays["noise"] = model._noise
    meta["arrays"] = sorted(arrays)
    added = {name: getattr(model, f"{name}_", None) for name in _ADDED}
    history = [row for row in model.history_ if np.isfinite(row).all()]
    added["history"] = np.array(history, dtype=np.float64) if history else None
    return arrays | {name: value for name, value in added.items() if value is not None}, meta


def unpack(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Network:
    """Return the estimator of arrays and values from a file."""
    there = sorted(name for name in arrays if name != "meta" and name not in _ADDED)
    agree(
        there == meta["arrays"], f"its arrays are {there}"
    )  # one that may be absent is not told from one that is lost
    told = {name: read_parameter(value) for name, value in meta["params"].items()}
    model: Any = ESTIMATORS[meta["estimator"]](**told)
    model._check_parameters()
    d = set_features(model, meta)
    claim: KernelClaim | NetworkClaim
    model.path_ = model.spanning_rows_ = model.selection_certificate_ = None
    model.history_, model.status_ = _history(arrays.get("history")), None
    if "few" in meta:
        claim = _read_few(arrays, meta["few"], model, d)
        model.network_ = claim.network_on_rows()
        n, outputs = 0, len(model.network_.b2)
    else:
        network = model.network_ = read_network(arrays, meta["kernel"], d)
        claim = _record(KernelClaim, meta["certificate"]["claim"], network=network)
        n, outputs = network.alpha.shape
    model.beta_, model.loo_score_, model.reason_ = number(meta["beta"]), number(meta["loo_score"]), text(meta["reason"])
    model.metric_ = arrays.get("metric")
    width = d if "few" in meta else model.network_.standard.width
    agree(model.metric_ is None or model.metric_.shape == (width, width), "the metric does not fit the network")
    model.candidates_ = [_record(Candidate, told) for told in meta["candidates"]]
    by_shards = "shards" in meta
    weights = model._sample_weight = None if by_shards else checked_weights(arrays, outputs)
    n_rows = whole(meta["n_rows"], 1) if by_shards else len(arrays["dual_point"] if weights is None else weights)
    model.network_rows_ = found = arrays.get("network_rows")
    agree(found is None or (len(found) == n and _within(found, n_rows)), "the rows of the network")
    model.left_out_ = arrays.get("left_out")
    agree(model.left_out_ is None or len(model.left_out_) == n_rows, "the rows that were left out")
    model.rounds_ = _rounds(arrays, meta["rounds"], n_rows, outputs) if "rounds" in meta else None
    classes = None
    if isinstance(model, ConvexNetworkClassifier):
        classes = model.classes_ = read_classes(arrays, meta, outputs)
        if "labels" in meta:
            agree(
                model.loss != "logistic" and meta["certificate"]["loss"] == "squared", "several labels are by squares"
            )
            _read_labels(arrays, meta["labels"], model, n_rows)
        else:
            if not by_shards:
                left = arrays["loo_classes"]
                agree(left.shape == (n_rows,) and _within(left, len(classes)), "the predictions")
                model.loo_predictions_ = classes[left]
            model.calibration_ = read_calibration(arrays, meta, len(classes))
        model.loo_probabilities_ = arrays.get("loo_probabilities")
        odds = model.loo_probabilities_
        fits = odds is None or (odds.shape == (n_rows, len(classes)) and not ((odds < 0) | (odds > 1)).any())
        agree(fits, "the probabilities of rows that were left out")
        needed = bool(model.calibration_.share)
        model.losses_ = {text(name): number(value) for name, value in meta["losses"].items()}
        model.loss_ = text(meta["certificate"]["loss"])
    else:
        model._target_ndim = read_target_ndim(meta, outputs)
        if not by_shards:
            model.loo_predictions_ = arrays["loo_predictions"]
            agree(model.loo_predictions_.shape == ((n_rows,) if model._target_ndim == 1 else (n_rows, outputs)))
        model.intervals_ = _intervals(arrays, meta, outputs)
        needed = bool(model.intervals_.shares.any())
    if needed:
        model._noise = arrays["noise"]
        agree(model._noise.shape == (n,) and bool((model._noise > 0).all()), "the noise does not fit the rows")
    model._keep_variance(needed)
    if by_shards:
        agree(isinstance(claim, KernelClaim), "shards train networks over landmarks")
        assert isinstance(claim, KernelClaim)
        model.certificate_ = shards.read_landmarks(arrays, meta, model, claim, classes)
        return cast("Network", model)
    model.certificate_ = Certificate(
        dual_point=arrays["dual_point"],
        loss=str(meta["certificate"]["loss"]),
        beta=model.beta_,
        bias=False,
        fit_intercept=True,
        claim=claim,
        classes=classes,
        sample_weight=weights,
        **proved(meta),
    )
    return cast("Network", model)


def _pack_labels(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], model: Any) -> None:
    """Add the calibration of each of several labels a row, and which a row would have without it."""
    each = model.calibration_.calibrations
    arrays["label_slopes"] = np.stack([calibration.slopes for calibration in each])
    arrays["label_offsets"] = np.stack([calibration.offsets for calibration in each])
    arrays["loo_labels"] = model.loo_predictions_
    meta["labels"] = [scales(calibration) for calibration in each]


def _read_labels(arrays: dict[str, NDArray[Any]], stored: list[dict[str, Any]], model: Any, n_rows: int) -> None:
    slopes, offsets, left = (arrays[name] for name in ("label_slopes", "label_offsets", "loo_labels"))
    outputs = len(model.classes_)
    agree(len(stored) == len(slopes) == len(offsets) == outputs and offsets.shape[1] == 2, "the labels")
    agree(model.classes_.tolist() == list(range(outputs)), "the labels")
    agree(left.shape == (n_rows, outputs) and _within(left, 2), "the predictions")
    scales = [read_scales(values) for values in stored]
    each = zip(slopes, offsets, scales, strict=True)
    model.calibration_ = MultilabelCalibration(tuple(Calibration(a, b, **values) for a, b, values in each))
    model.loo_predictions_ = left


def _pack_few(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], model: Any, claim: NetworkClaim) -> None:
    """Add what is known of a network of few neurons, on standardized rows."""
    family = pack_neurons(arrays, claim)
    meta["few"] = {"family": family, "feature": claim.family.feature, "path": [_values(one) for one in model.path_]}
    chosen, told = model.selection_certificate_, getattr(model, "_selection", None)
    if chosen is not None:  # its dual point and its neurons are not kept
        told = {name: getattr(chosen, name) for name in _PROVED}
    if told is not None:
        meta["few"]["selection"] = told
    if model.spanning_rows_ is not None:
        meta["few"]["spanning_rows"] = [rows.tolist() for rows in model.spanning_rows_]


def _read_few(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], model: Any, d: int) -> NetworkClaim:
    feature = None if meta["feature"] is None else number(meta["feature"])
    claim = read_neurons(arrays, meta["family"], d, feature)
    agree(claim.standard is not None, "the standardization is missing")
    model.path_ = [_record(NeuronScore, one) for one in meta["path"]]
    if "selection" in meta:
        model._selection = {name: _READ[kind](meta["selection"][name]) for name, kind in _PROVED.items()}
    if "spanning_rows" in meta:
        model.spanning_rows_ = [np.array(list(map(whole, rows)), dtype=np.intp) for rows in meta["spanning_rows"]]
        agree(len(model.spanning_rows_) == len(claim.network.b1), "the spanning rows do not fit the neurons")
    return claim


def _intervals(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], outputs: int) -> Intervals:
    parts = {name: arrays[f"interval_{name}"] for name in ("scores", "mass", "shares")}
    agree(parts["scores"].shape[1] == outputs, "the intervals do not fit the outputs")
    rising = all(bool((np.diff(parts[name], axis=0) >= 0).all()) for name in ("scores", "mass"))
    agree(rising and all(bool((part >= 0).all()) for part in parts.values()), "the intervals")
    return Intervals(**parts, scale=number(meta["interval_scale"]))


def _rounds(arrays: dict[str, NDArray[Any]], told: dict[str, Any], n: int, outputs: int) -> LearnedRounds:
    rows, predictions = arrays["rounds_rows"], arrays["rounds_predictions"]
    agree(predictions.shape == (len(rows), outputs) and _within(rows, n), "the held-out rows")
    factors, trials = tuple(map(number, told["factors"])), tuple(_record(Trial, one) for one in told["trials"])
    return LearnedRounds(str(told["shape"]), whole(told["rounds"]), factors, trials, rows, predictions)


def _history(rows: NDArray[np.float64] | None) -> tuple[HistoryRow, ...]:
    agree(rows is None or rows.shape[1] == len(HistoryRow._fields), "the history")
    return () if rows is None else tuple(HistoryRow(int(row[0]), *map(float, row[1:])) for row in rows)


def _within(places: NDArray[Any], n: int) -> bool:
    """Whether all are places of n things."""
    return bool(((places >= 0) & (places < n)).all())


def _values(record: Any, but: str = "") -> dict[str, Any]:
    """Return the fields of a record as JSON can hold them, but for one."""
    return {name: plain(value) for name, value in record._asdict().items() if name != but}


def _record(kind: type[_Record], told: dict[str, Any], **others: Any) -> _Record:
    """Return the record of such fields, with others; those that neither has are the default ones."""
    types = get_type_hints(kind)
    return kind(**{name: _READ[types[name]](value) for name, value in told.items()}, **others)
