"""Kernel networks and the sparse networks selected beside them as plain arrays and values, and back."""

from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn._records import Arrays, agree, as_table, checked, number, plain, record_of, text, values_of, whole
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.claims import KernelClaim, NetworkClaim
from clifford_rand_nn.estimators.network_classifier import ConvexNetworkClassifier
from clifford_rand_nn.estimators.network_regressor import ConvexNetworkRegressor
from clifford_rand_nn.estimators.sparse_network import NeuronScore
from clifford_rand_nn.estimators.unique_rows import MultilabelCalibration
from clifford_rand_nn.kernel_network.candidates import Candidate
from clifford_rand_nn.kernel_network.intervals import Intervals
from clifford_rand_nn.kernel_network.metric_selection import MetricSelection
from clifford_rand_nn.kernel_network.target_transform import (
    NO_TRANSFORM,
    TARGET_TRANSFORMS,
    TargetTransform,
    TargetTransformScore,
)
from clifford_rand_nn.problems.loss_registry import as_loss
from clifford_rand_nn.saved import parts
from clifford_rand_nn.saved.networks import pack_neurons, read_neurons
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.solvers.base import HistoryRow, Status

Network = ConvexNetworkClassifier | ConvexNetworkRegressor
ESTIMATORS: dict[str, Any] = {estimator.__name__: estimator for estimator in get_args(Network)}
# What files may lack, and readers of before pass over.
_ADDED = {"network_rows": "i1", "left_out": "b1", "loo_probabilities": "f2", "history": "f2"}
_ATTRIBUTES = {"network_rows": "support_", "left_out": "loo_mask_"}  # where an array has another name
ARRAYS = (
    _ADDED
    | {"noise": "f1", "metric": "f2"}
    | {"loo_predictions": "f12", "loo_classes": "i1", "rounds_rows": "i1", "rounds_predictions": "f2"}
    | {"label_slopes": "f2", "label_offsets": "f2", "loo_labels": "i2"}
    | {"interval_noise_weights": "f2", "interval_noise_levels": "f2"}
    | {"interval_scores": "f2", "interval_mass": "f2", "interval_shares": "f1"}
)
_REPORTED_GAP = 1e-5  # beyond it the fit of an older file, without a status, is said to have stalled
# Of the certificate of the choice of few neurons; its dual point and its neurons are not kept.
_SELECTION = {"objective": float, "lower_bound": float, "relative_gap": float, "scope": str}


def pack(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the values of a fitted estimator."""
    arrays, meta = parts.pack_shared(model)
    claim, is_sharded = model.certificate_.claim, "shards" in meta
    meta["certificate"]["loss"] = model.certificate_.loss
    if isinstance(claim, NetworkClaim):
        meta["few"] = _pack_sparse(arrays, model, claim)
    else:
        meta["certificate"]["claim"] = values_of(claim, "network")
        meta["kernel"] = parts.pack_kernel(arrays, claim.network)
    meta |= {"beta": float(model.beta_), "loo_score": float(model.loo_score_)}
    meta |= {"reason": model.result_.reason, "status": model.result_.status.value}
    meta["later_blocks"] = model.n_order_blocks_
    of_steps, compared = ("steps", "decay"), model.candidates_
    meta["candidates"] = [values_of(each, *(x for x in of_steps if not getattr(each, x))) for each in compared]
    if model.metric_ is not None:
        arrays["metric"] = model.metric_
    if model.metric_selection_ is not None:
        meta["metric_selection"] = values_of(
            model.metric_selection_, "folds", "left", "rate_changes", arrays=arrays, prefix="rounds_"
        )
    if isinstance(model, ConvexNetworkClassifier):
        meta["losses"] = {name: float(value) for name, value in model.loss_scores_.items()}
        if isinstance(model.calibration_, MultilabelCalibration):
            each = model.calibration_.calibrations
            arrays |= {f"label_{name}": np.stack([getattr(c, name) for c in each]) for name in ("slopes", "offsets")}
            arrays["loo_labels"] = model.loo_predictions_
            meta["labels"] = [values_of(calibration, "slopes", "offsets") for calibration in each]
        else:
            if not is_sharded:
                arrays["loo_classes"] = np.searchsorted(model.classes_, model.loo_predictions_)
            meta["calibration"] = values_of(model.calibration_, arrays=arrays, prefix="calibration_")
    else:
        if not is_sharded:
            arrays["loo_predictions"] = model.loo_predictions_
        meta["target_transform"] = values_of(model.target_transform_)
        meta["target_transform_scores"] = [values_of(score) for score in model.target_transform_scores_]
        if model.loss == "squared":
            meta["interval_scale"] = values_of(model.intervals_, arrays=arrays, prefix="interval_")["scale"]
    if vars(model)["_variance"] is not None:
        arrays["noise"] = vars(model)["_noise"]
    meta["arrays"] = sorted(arrays)
    added = {name: getattr(model, _ATTRIBUTES.get(name, f"{name}_"), None) for name in _ADDED}
    history = [row for row in model.result_.history if np.isfinite(row).all()]
    added["history"] = np.array(history, dtype=np.float64) if history else None
    return arrays | {name: value for name, value in added.items() if value is not None}, meta


def unpack(arrays: Arrays, meta: dict[str, Any]) -> Network:
    """Return the estimator of arrays and values from a file."""
    stored = sorted(name for name in arrays if name != "meta" and name not in _ADDED)
    agree(stored == meta["arrays"], f"its arrays are {stored}")  # an optional array may also have been lost
    model: Any = ESTIMATORS[meta["estimator"]](**parts.read_parameters(meta["params"]))
    model._check_parameters()
    state = parts.read_features(meta)
    claim, network_state = _read_network(arrays, meta, state["n_features_in_"])
    state |= network_state
    network, is_sharded = state["network_"], "shards" in meta
    n, outputs = network.alpha.shape if isinstance(claim, KernelClaim) else (0, len(network.b2))
    state |= parts.read_targets(arrays, meta, outputs, isinstance(model, ConvexNetworkClassifier))
    weights, classes = state["_sample_weight"], state.get("classes_")
    n_rows = whole(meta["n_rows"], 1) if is_sharded else len(arrays["dual_point"] if weights is None else weights)
    loss = text(meta["certificate"]["loss"])
    state |= {"beta_": number(meta["beta"]), "loo_score_": number(meta["loo_score"])}
    state["candidates_"] = as_table([record_of(Candidate, values) for values in meta["candidates"]])
    state["n_order_blocks_"] = whole(meta.get("later_blocks", 0))
    rows = state["support_"] = arrays.get("network_rows")
    agree(rows is None or (len(rows) == n and _within(rows, n_rows)), "the rows of the network")
    left_out = state["loo_mask_"] = arrays.get("left_out")
    agree(left_out is None or len(left_out) == n_rows, "the marks of left-out rows")
    state["metric_selection_"] = None
    if "metric_selection" in meta:
        values = meta["metric_selection"]
        if isinstance(values.get("rates"), bool):  # older files say whether there was a round
            values["rates"] = int(values["rates"])
        selection = state["metric_selection_"] = record_of(MetricSelection, values, arrays=arrays, prefix="rounds_")
        fits = selection.predictions.shape == (len(selection.rows), outputs)
        agree(fits and _within(selection.rows, n_rows), "held-out rows")
        rounds = sum(trial.shape == "rates" for trial in selection.trials)
        agree(selection.rates <= rounds, f"{selection.rates} rounds of rates, of {rounds} that were tried")
    if classes is not None:
        if "labels" in meta:
            agree(model.loss != "logistic" and loss == "squared", "multilabel targets need the squared loss")
        state |= _read_classifier(arrays, meta, classes, outputs, n_rows) | {"loss_": loss}
        needs_variance = bool(state["calibration_"].share)
    else:
        state |= _read_regressor(arrays, meta, state["_target_ndim"], outputs, n_rows)
        agree(loss == model.loss, "the loss")
        intervals = state.get("intervals_")
        noise_weights = None if intervals is None else intervals.noise_weights
        agree(noise_weights is None or len(noise_weights) == n, "the noise levels do not fit the rows")
        needs_variance = intervals is not None and bool(intervals.shares.any())
    if needs_variance:
        noise = state["_noise"] = arrays["noise"]
        agree(noise.shape == (n,) and bool((noise > 0).all()), "the noise does not fit the rows")
    if is_sharded:
        agree(isinstance(claim, KernelClaim), "shards train networks over landmarks")
        fields = parts.read_shards(arrays, meta, as_loss(loss, "load_model"), cast("KernelClaim", claim), classes)
        state["certificate_"] = ShardCertificate(**fields, beta=state["beta_"], loss=loss, huber_delta=1.0)
    else:
        state["certificate_"] = Certificate(
            dual_point=arrays["dual_point"],
            loss=loss,
            beta=state["beta_"],
            bias=False,
            fit_intercept=True,
            claim=claim,
            classes=classes,
            sample_weight=weights,
            quantile=getattr(model, "quantile", 0.5),
            target_transform=state.get("target_transform_", NO_TRANSFORM),
            **parts.proved(meta),
        )
    stalled = state["certificate_"].relative_gap > _REPORTED_GAP
    status = meta.get("status", Status.STALLED if stalled else Status.OPTIMAL)
    vars(model).update(state)
    model._set_result(_read_history(arrays.get("history")), Status(text(status)), text(meta["reason"]))
    model._keep_variance(needs_variance)
    return cast("Network", model)


def _pack_sparse(arrays: Arrays, model: Any, claim: NetworkClaim) -> dict[str, Any]:
    """Add the arrays of a network of few neurons on standardized rows; return the rest of it."""
    meta: dict[str, Any] = {"family": pack_neurons(arrays, claim), "feature": claim.family.feature}
    meta["path"] = [values_of(score) for score in model.neuron_scores_]
    selection = vars(model).get("_selection")
    if model.selection_certificate_ is not None:
        selection = {name: plain(getattr(model.selection_certificate_, name)) for name in _SELECTION}
    if selection is not None:
        meta["selection"] = selection
    if model.spanning_rows_ is not None:
        meta["spanning_rows"] = [rows.tolist() for rows in model.spanning_rows_]
    return meta


def _read_network(arrays: Arrays, meta: dict[str, Any], d: int) -> tuple[KernelClaim | NetworkClaim, dict[str, Any]]:
    """Return the network with what its certificate compares it with, and the attributes for it."""
    state: dict[str, Any] = dict.fromkeys(("neuron_scores_", "spanning_rows_", "selection_certificate_"))
    claim: KernelClaim | NetworkClaim
    if "few" in meta:
        values = meta["few"]
        feature = None if values["feature"] is None else number(values["feature"])
        claim = read_neurons(arrays, values["family"], d, feature)
        agree(claim.standard is not None, "the standardization is missing")
        state["network_"] = claim.network_on_rows()
        state["neuron_scores_"] = as_table([record_of(NeuronScore, score) for score in values["path"]])
        if "selection" in values:
            state["_selection"] = {name: checked(hint, values["selection"][name]) for name, hint in _SELECTION.items()}
        if "spanning_rows" in values:
            rows = [np.array(list(map(whole, row)), dtype=np.intp) for row in values["spanning_rows"]]
            agree(len(rows) == len(claim.network.b1), "the spanning rows do not fit the neurons")
            state["spanning_rows_"] = rows
        width = d
    else:
        network = state["network_"] = parts.read_kernel(arrays, meta["kernel"], d)
        claim = record_of(KernelClaim, meta["certificate"]["claim"], network=network)
        width = network.kernel.gated(network.rows).shape[1]
    metric = state["metric_"] = arrays.get("metric")
    agree(metric is None or metric.shape == (width, width), "the metric does not fit the network")
    return claim, state


def _read_classifier(
    arrays: Arrays, meta: dict[str, Any], classes: NDArray[Any], outputs: int, n_rows: int
) -> dict[str, Any]:
    state: dict[str, Any] = {"loo_probabilities_": arrays.get("loo_probabilities")}
    state["loss_scores_"] = {text(name): number(value) for name, value in meta["losses"].items()}
    odds = state["loo_probabilities_"]
    fits = odds is None or (odds.shape == (n_rows, len(classes)) and not ((odds < 0) | (odds > 1)).any())
    agree(fits, "the leave-one-out probabilities")
    if "labels" in meta:
        slopes, offsets, predictions = (arrays[name] for name in ("label_slopes", "label_offsets", "loo_labels"))
        agree(len(meta["labels"]) == len(slopes) == len(offsets) == len(classes) == outputs, "the labels")
        agree(classes.tolist() == list(range(outputs)), "the labels")
        agree(predictions.shape == (n_rows, outputs) and _within(predictions, 2), "the predictions")
        calibrations = tuple(
            parts.read_calibration({"slopes": a, "offsets": b}, values, 2, "")
            for values, a, b in zip(meta["labels"], slopes, offsets, strict=True)
        )
        return state | {"calibration_": MultilabelCalibration(calibrations), "loo_predictions_": predictions}
    if "shards" not in meta:
        places = arrays["loo_classes"]
        agree(places.shape == (n_rows,) and _within(places, len(classes)), "the predictions")
        state["loo_predictions_"] = classes[places]
    return state | {"calibration_": parts.read_calibration(arrays, meta["calibration"], len(classes))}


def _read_regressor(arrays: Arrays, meta: dict[str, Any], ndim: int, outputs: int, n_rows: int) -> dict[str, Any]:
    state: dict[str, Any] = {"target_transform_": NO_TRANSFORM}
    if "target_transform" in meta:  # not in files of before
        transform = state["target_transform_"] = record_of(TargetTransform, meta["target_transform"])
        known = transform.name in TARGET_TRANSFORMS and transform.unit > 0 and transform.factor > 0
        agree(known and (transform.name == "none" or outputs == 1), "the transformation of the target")
    scores = meta.get("target_transform_scores", [])
    state["target_transform_scores_"] = as_table([record_of(TargetTransformScore, values) for values in scores])
    if "shards" not in meta:
        predictions = state["loo_predictions_"] = arrays["loo_predictions"]
        agree(predictions.shape == ((n_rows,) if ndim == 1 else (n_rows, outputs)))
    if "interval_scale" not in meta:
        return state
    intervals = {name: arrays[f"interval_{name}"] for name in ("scores", "mass", "shares")}
    agree(intervals["scores"].shape[1] == outputs, "the intervals do not fit the outputs")
    rising = all(bool((np.diff(intervals[name], axis=0) >= 0).all()) for name in ("scores", "mass"))
    agree(rising and all(bool((part >= 0).all()) for part in intervals.values()), "the intervals")
    noise = {name: arrays.get(f"interval_{name}") for name in ("noise_weights", "noise_levels")}
    agree(len({part is None for part in noise.values()}) == 1, "the noise levels")
    intervals |= {name: part for name, part in noise.items() if part is not None}
    return state | {"intervals_": Intervals(**intervals, scale=number(meta["interval_scale"]))}


def _read_history(rows: NDArray[np.float64] | None) -> tuple[HistoryRow, ...]:
    agree(rows is None or rows.shape[1] == len(HistoryRow._fields), "the history")
    return () if rows is None else tuple(HistoryRow(int(row[0]), *map(float, row[1:])) for row in rows)


def _within(places: NDArray[Any], n: int) -> bool:
    """Whether all are places of n things."""
    return bool(((places >= 0) & (places < n)).all())
