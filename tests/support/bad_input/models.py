"""Good calls of the networks: estimators and what belongs to them, paths, gates, certificates, files."""

import itertools
import tempfile
from collections.abc import Sized
from functools import cache
from pathlib import Path

import numpy as np

import clifford_rand_nn as nn
from support.bad_input.good import *

RNG = np.random.default_rng(10)
X = RNG.standard_normal((24, 2))
Y = np.abs(X[:, 0]) - 0.5 * X[:, 1]
LABELS = np.where(Y > 0.3, "high", "low")
GROUPS = np.repeat(np.arange(8), 3)
NEW = RNG.standard_normal((5, 2))
W = np.ones(24)

# arguments that do for every estimator: small, and solved to what a comparison needs
_COMMON = {"beta": 0.05, "random_state": 0, "tol": 1e-7, "max_iter": 300}
_FEW = {"n_gates": 4, **_COMMON}
SETTINGS = {
    "GatedReLU": _FEW,
    "ConvexReLU": {"n_gates": 3, "beta": 0.05, "random_state": 0, "tol": 1e-4, "max_iter": 300},
    "CrossProductLasso": {"subsample": 12, **_COMMON},
    "ConvexNetwork": {"max_metric_iter": 0, "loss": "squared"},
}
_ZEROS = {"zero": "right", "minus_zero": "right"}
# of every parameter of an estimator a good value of its kind
KINDS = {
    "n_gates": count(4, zero="right"),
    "gates": word("gaussian"),
    "beta": positive(0.05, **_ZEROS),
    "penalty": word("group_l2"),
    "loss": word("squared"),
    "bias": word("penalized", true="right"),
    "fit_intercept": flag(True),
    "solver": word("auto"),
    "tol": positive(1e-5, **_ZEROS),
    "max_iter": count(200, missing="right"),
    "max_time": limit(5.0),
    "max_memory": limit(1e9),
    "random_state": rng(0, **{"2 to the 32": "right"}),
    "verbose": count(0, zero="right", true="right"),
    "class_weight": word("balanced", **{"None": "right", "in capitals": "right"}),
    "sketch_dim": count(2, missing="right", every="right", minus_one="refused", a_half="refused", text="refused"),
    "linear": flag(True),
    "n_refinements": count(1, zero="right"),
    "huber_delta": positive(1.0),
    "subsample": count(12, missing="right"),
    "n_neurons": count(2, missing="right"),
    "max_metric_iter": count(1, zero="right"),
}


_OTHERWISE = {("penalty", "CrossProductLasso"), ("gates", "ConvexNetwork")}  # other words there


def _kind(name):
    return next(kind for kind in SETTINGS if name.startswith(kind))


def _settings(name):
    given = dict(SETTINGS[_kind(name)])
    if name == "ConvexNetworkRegressor":
        given.pop("loss")
    return given


def _fit(name):
    """Return a function of X, y and parameters that fits and predicts."""

    def run(X, y, sample_weight=None, groups=None, **parameters):
        more = {} if groups is None else {"groups": groups}
        model = getattr(nn, name)(**(_settings(name) | parameters)).fit(X, y, sample_weight=sample_weight, **more)
        found = model.predict(NEW)
        return [found, model.decision_function(NEW)] if hasattr(model, "decision_function") else found

    return run


@cache
def fitted(name):
    y = LABELS if name.endswith("Classifier") else Y
    return getattr(nn, name)(**_settings(name)).fit(X, y)


def made(name):
    return Made(lambda: fitted(name))


def _estimators():
    """Return the good calls of the eight estimators: data, every parameter, every method."""
    calls = {}
    for kind, task in itertools.product(SETTINGS, ("Classifier", "Regressor")):
        name, classifier, network = kind + task, task == "Classifier", kind == "ConvexNetwork"
        plain_y = LABELS if classifier else Y
        y = (labels if classifier else targets)(plain_y)
        own = {"groups": groups(GROUPS)} if network else {}
        fits = [through(_fit(name), rows(X), y), through(_fit(name), X, plain_y, sample_weight=weights(W), **own)]
        keys = [key for key in getattr(nn, name)().get_params() if key in KINDS and (key, kind) not in _OTHERWISE]
        parameters = [{key: KINDS[key]} for key in keys]
        if kind == "CrossProductLasso":
            parameters.append({"penalty": word("l1")})
        if network:
            parameters.append({"gates": word("infinite")})
            fits.append(through(_predicted(name, n_neurons=3, beta=0.05), rows(X), y))
        if name == "ConvexNetworkRegressor":
            log = _predicted(name, max_metric_iter=0, target_transform="log")
            fits.append(through(log, rows(X), targets(np.exp(Y)), weights(W)))
            parameters.append({"target_transform": word("none")})
        if kind == "GatedReLU":
            infinite = _predicted(name, gates="infinite", penalty="ridge", beta=0.05)
            chosen = _predicted(name, n_gates=4, random_state=0, tol=1e-3, max_iter=200)
            fits += [through(infinite, rows(X), y), through(chosen, rows(X), y, sample_weight=weights(W))]
        calls |= {
            f"nn.{name}.fit": fits,
            f"nn.{name}": [through(_fit(name), X, plain_y, **parameter) for parameter in parameters],
            each(f"nn.{name}", ["predict"] + ["decision_function"] * classifier): good(made(name), rows(NEW)),
            f"nn.{name}.score": through(
                lambda X, name=name, y=plain_y: fitted(name).score(X, y[: len(X)] if isinstance(X, Sized) else y),
                rows(X, transposed="left out", no_rows="left out", one_row="left out", scale_1e300="other"),
            ),
            **_exports(name, made(name), "model"),
        }
        if classifier:
            proba = good(made(name), rows(NEW)) if network else through(_proba(name), rows(NEW))
            calls[f"nn.{name}.predict_proba"] = proba
        if hasattr(getattr(nn, name), "beta_max"):
            calls[f"nn.{name}.beta_max"] = good(made(name), rows(X), y, weights(W))
        if hasattr(getattr(nn, name), "plan"):
            calls[f"nn.{name}.plan"] = good(made(name), thing(Made(lambda p=plain_y: nn.Shards([X], [p]))))
    calls["nn.ConvexNetworkClassifier.predict_log_proba"] = good(made("ConvexNetworkClassifier"), rows(NEW))
    calls["nn.ConvexNetworkRegressor.predict_interval"] = good(REGRESSOR, rows(NEW), coverage=share(0.8))
    return calls


def _exports(name, model, file):
    return {
        f"nn.{name}.to_onnx": good(model, path(f"{file}.onnx"), dtype=FLOAT64, coverage=COVERAGE),
        f"nn.{name}.to_source": good(model, path(f"{file}.py", missing="right"), coverage=COVERAGE),
        f"nn.{name}.to_torch": through(lambda model: model.to_torch().state_dict(), model),
    }


def _proba(name):
    return lambda new: getattr(nn, name)(**(_settings(name) | {"loss": "logistic"})).fit(X, LABELS).predict_proba(new)


def _predicted(name, **parameters):
    """Return a function of data that fits with these parameters alone and predicts."""
    return lambda X, y, sample_weight=None: getattr(nn, name)(**parameters).fit(X, y, sample_weight).predict(NEW)


@cache
def searched(task):
    kind, y = ("GatedReLUClassifier", LABELS) if task == "logistic" else ("GatedReLURegressor", Y)
    model = getattr(nn, kind)(n_gates=3, loss=task, random_state=0)
    return nn.BetaCV(model, betas=[0.1, 0.01], cv=2).fit(X, y)


def _search(X, y, sample_weight=None, groups=None, **parameters):
    given = {"betas": [0.1, 0.01], "cv": 2} | parameters
    estimator = given.pop("estimator", nn.GatedReLURegressor(n_gates=3, random_state=0, max_iter=300))
    return nn.BetaCV(estimator, **given).fit(X, y, sample_weight=sample_weight, groups=groups).predict(NEW)


SEARCHED, CLASSES = Made(lambda: searched("squared")), Made(lambda: searched("logistic"))
HUBER = {"loss": "huber", "huber_delta": positive(1.0, missing="right")}
FLOAT64, COVERAGE = word("float64", as_bytes="right"), share(0.8, missing="right")
REGRESSOR, BINARY = made("ConvexNetworkRegressor"), made("GatedReLUClassifier")
GATES = Made(lambda: nn.sample_gates(X, 4, random_state=0))
_gates = thing(GATES, an_array="right")
_P = count(2, one="right", infinity="right")
W1, B1 = np.array([[1.0, 0.5], [-1.0, 2.0]]), np.array([0.1, 0.0])
NETWORK = Made(lambda: nn.TwoLayerNetwork(W1, B1, np.ones((2, 1)), np.zeros(1)))
PROOF = Path(tempfile.mkdtemp()) / "proof.json"
CERTIFICATE = Made(lambda: fitted("GatedReLURegressor").certificate_)
PATH = Made(lambda: nn.lasso_path(X, Y, subsample=10, n_betas=4, random_state=0))
_PATH_OPTIONS = {
    "bias": flag(False), "loss": word("squared"), "betas": sequence(np.array([0.2, 0.1])), "sample_weight": weights(W),
    "max_iter": 300,  # what no gap is proved for, as beside a beta of 1e-150, is tried for so long
}  # fmt: skip
_SOLVED = {
    "n_betas": count(3), "eps": share(0.1), "tol": positive(1e-5), "max_iter": count(500, missing="right"),
    "max_time": limit(5.0), "max_memory": limit(1e9), "callback": function(None),
}  # fmt: skip


def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


AX = Made(axes)


def _path(own, *fixed, **options):
    """Return the good calls of a path: of data, of how it is solved, of Huber's loss."""
    return [
        good(rows(X), targets(Y), *own, **options, **_PATH_OPTIONS), good(X, Y, *fixed, **_SOLVED),
        good(X, Y, *fixed, n_betas=2, **HUBER),
    ]  # fmt: skip


def _bounded(*arguments, **options):
    verdict = nn.certify(*arguments, **options)
    return np.array([verdict.objective, verdict.lower_bound])


CALLS = catalogue({
    **_estimators(),
    "nn.BetaCV": [
        *(through(_search, X, Y, **{key: value}) for key, value in {
            "estimator": thing(Made(lambda: nn.GatedReLURegressor(n_gates=3, random_state=0, max_iter=300))),
            "betas": sequence(np.array([0.1, 0.01])),
            "cv": count(2, missing="right", one="refused"),
            "rule": word("best"),
            "scoring": word("r2", missing="right", a_function="left out"),  # a function of its own, its errors too
            "max_time": limit(20.0),
            "n_jobs": count(1, missing="right", minus_one="right", far_below="right"),
            "verbose": count(0, zero="right", true="right"),
        }.items()),
        through(_search, X, Y, betas=None, n_betas=count(3), eps=share(0.1))],
    "nn.BetaCV.fit": through(_search, rows(X), targets(Y), weights(W), groups(GROUPS)),
    "nn.BetaCV.predict": good(SEARCHED, rows(NEW)),
    "nn.BetaCV.plan": good(SEARCHED, thing(Made(lambda: nn.Shards([X], [Y])))),
    "nn.BetaCV.decision_function nn.BetaCV.predict_proba": good(CLASSES, rows(NEW)),
    "nn.BetaCV.score": good(SEARCHED, rows(X, scale_1e300="other"), targets(Y, scale_1e300="other"), weights(W)),
    **_exports("BetaCV", SEARCHED, "cv"),
    "nn.Certificate": through(lambda X, y: CERTIFICATE.make().verify(X, y).relative_gap, X, Y),
    "nn.Certificate.verify": good(CERTIFICATE, rows(X), targets(Y), weights(None)),
    "nn.Certificate.export": through(
        lambda X, y, w, most: CERTIFICATE.make().export(PROOF, X, y, w, max_operations=most).relative_gap,
        rows(X), targets(Y), weights(None), positive(1e8)),
    "nn.Certificate.over_all_neurons": good(
        Made(lambda: fitted("CrossProductLassoRegressor").certificate_), rows(X), targets(Y), weights(None)),
    "nn.Gates": through(
        lambda D, o: nn.Gates.from_arrays(D, o).activations(NEW), rows(X[:2], every="right", no_columns="refused"),
        vector(np.array([0.1, 0.2]), missing="right")),
    "nn.Gates.from_arrays": good(rows(X[:2]), vector(np.array([0.1, 0.2]), missing="right")),
    "nn.Gates.activations": good(GATES, rows(NEW)),
    "nn.Gates.take": good(GATES, index(np.array([0, 2]), truth_values="right")),
    "nn.activation_patterns": good(rows(X), _gates),
    "nn.bracket_factor": good(rows(X[:5]), max_patterns=count(1000)),
    "nn.cross_product_dictionary": [
        through(
            lambda X, **o: nn.cross_product_dictionary(X, **o).matrix(), rows(X[:6]), penalty=word("l1"),
            bias=flag(True), rtol=tolerance(1e-9), sparse_first=flag(False), max_time=limit(5.0)),
        through(
            lambda **o: nn.cross_product_dictionary(X, **o).matrix(),
            subsample=count(8, missing="right"), random_state=rng(0)),
        through(lambda **o: nn.cross_product_dictionary(X[:6], **o).matrix(), family=word("rows", missing="right"))],
    "nn.enumerate_patterns nn.enumerate_gates": good(rows(X[:6]), flag(True), max_patterns=count(1000)),
    "nn.count_patterns": good(
        count(6, zero="right"), count(2, zero="right"), flag(True), count(2, missing="right", zero="right")),
    "nn.sample_gates": [
        good(rows(X), count(4), word("cross"), count(2, missing="right"), flag(True), rng(0), word("random"),
             sketch=word("sjlt"), mirror=flag(False)),
        good(rows(X), 4, "gaussian", random_state=0)],
    "nn.with_linear_gate": good(thing(GATES)),
    "nn.refine_gates": [
        good(
            rows(X), targets(Y), _gates, beta=positive(0.05), loss=word("squared"), bias=flag(True),
            fit_intercept=flag(True), sample_weight=weights(W), method=word("cross"), climb=flag(True),
            random_state=0, max_iter=1, solver=word("auto")),
        good(
            X, Y, GATES, beta=0.05, sketch_dim=count(2, missing="right"),
            **{key: count(5, missing="right") for key in ("n_candidates", "n_new_gates", "max_gates")},
            max_iter=count(1), max_time=limit(5.0), tol=positive(1e-3), random_state=rng(0), callback=function(None)),
        good(X, Y, GATES, beta=0.05, random_state=0, max_iter=1, **HUBER)],
    "nn.certify": [
        through(
            _bounded, thing(NETWORK), rows(X), targets(Y), beta=positive(0.05), loss=word("squared"),
            sample_weight=weights(W), gates=_gates, n_gates=count(1, zero="right"), tol=positive(1e-3),
            max_time=limit(5.0, missing="right"), random_state=rng(0)),
        through(
            _bounded, NETWORK, X, Y, beta=0.05, penalty=word("group_l2", missing="right"),
            bias=word("penalized", missing="right"),
            bias_feature=positive(1.0, missing="right"), fit_intercept=flag(True, missing="right"), gates="network",
            **HUBER),
        through(_bounded, NETWORK, X, labels(LABELS), beta=0.05, loss="logistic", gates=word("network"))],
    "nn.polish": through(
        lambda *arguments, **options: nn.polish(*arguments, gates="network", **options).objective_after,
        thing(NETWORK), rows(X), targets(Y), beta=positive(0.05), loss=word("squared"), sample_weight=weights(W)),
    "nn.prune": good(thing(NETWORK), rows(X), _P, fit_intercept=flag(True)),
    "nn.gated_path": _path([_gates], GATES, penalty=word("group_l2"), fit_intercept=flag(True)),
    "nn.relu_path": _path([thing(GATES, an_array="right", missing="left out")], GATES, penalty=word("group_l2")),
    "nn.lasso_path": [
        good(rows(X), targets(Y), penalty=word("l1"), subsample=count(10, missing="left out"), random_state=rng(0),
             **_PATH_OPTIONS),
        good(X, Y, subsample=10, random_state=0, **_SOLVED),
        good(X, Y, subsample=10, random_state=0, n_betas=2, **HUBER)],
    "nn.RegularizationPath": through(
        lambda betas: nn.lasso_path(X, Y, subsample=10, betas=betas, random_state=0).n_neurons,
        sequence(np.array([0.2, 0.1]))),
    "nn.RegularizationPath.predict": good(PATH, rows(NEW)),
    "nn.Result": through(lambda: fitted("GatedReLURegressor").result_.objective),
    "nn.TwoLayerNetwork": through(
        lambda *a: nn.TwoLayerNetwork(*a).predict(NEW), thing(np.ones((3, 2)), an_array="refused"),
        thing(np.zeros(3), an_array="refused"), thing(np.ones((3, 1)), an_array="right"),
        thing(np.zeros(1), an_array="refused")),
    "nn.TwoLayerNetwork.predict": good(NETWORK, rows(NEW)),
    "nn.TwoLayerNetwork.penalty": good(NETWORK, _P, bias_feature=number(1.0, missing="right")),
    "nn.TwoLayerNetwork.to_onnx": good(NETWORK, path("network.onnx"), dtype=FLOAT64, coverage=0.9),
    "nn.TwoLayerNetwork.to_source": good(NETWORK, path("network.py", missing="right")),
    "nn.TwoLayerNetwork.to_torch": through(lambda network: network.to_torch().state_dict(), NETWORK),
    "nn.load_model": good(path(Made(lambda: saved()))),
    "nn.save_model": good(thing(made("GatedReLURegressor")), path("saved.npz")),
    "nn.spiral": good(count(5)),
    "nn.explain": [
        good(
            REGRESSOR, rows(NEW, missing="right"),  # the whole model then
            X_train=rows(X, missing="right", a_frame="right"),  # its columns are then named
            y_train=targets(Y, missing="right"), output=word(None, missing="right", every="right"),
            n_repeats=count(2), random_state=rng(0)),
        good(thing(BINARY), NEW)],
    "nn.export_onnx": good(thing(REGRESSOR), path("e.onnx"), dtype=FLOAT64, coverage=COVERAGE),
    "nn.export_source": good(thing(REGRESSOR), path("e.py", missing="right"), coverage=COVERAGE),
})  # fmt: skip


@cache
def saved():
    nn.save_model(fitted("GatedReLURegressor"), "good.npz")
    return "good.npz"
