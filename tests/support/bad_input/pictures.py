"""Good calls of displays and of layers for torch."""

import numpy as np

import clifford_rand as cr
import clifford_rand_nn as nn
from support.bad_input.algebra import ALG
from support.bad_input.good import *
from support.bad_input.models import AX, GROUPS, LABELS, PATH, W, X, Y, fitted, made
from support.bad_input.names import resolve

NETWORK, GATED = made("ConvexNetworkClassifier"), made("GatedReLUClassifier")
_ax = thing(AX, missing="right")
_PROBABILITIES = np.linspace(0.05, 0.95, 24)
_LABELS = labels(LABELS, one_class="right")
_BINS = {"n_bins": count(3), "strategy": word("uniform")}


def _drawn(display):
    """Return what was drawn as numbers: the data of the lines."""
    return [line.get_data() for line in display.ax_.lines]


DISPLAYS = {
    "Certificate": lambda: nn.CertificateDisplay(fitted("GatedReLURegressor").certificate_),
    "Convergence": lambda: nn.ConvergenceDisplay(fitted("GatedReLURegressor").result_.history),
    "RegularizationPath": lambda: nn.RegularizationPathDisplay(betas=np.array([0.2, 0.1])),
    "DecisionRegions": lambda: nn.DecisionRegionsDisplay.from_estimator(
        fitted("GatedReLUClassifier"), X, LABELS, resolution=10, ax=AX.make()
    ),
    "Calibration": lambda: nn.CalibrationDisplay.from_predictions(LABELS == "high", _PROBABILITIES, ax=AX.make()),
    "LearningCurve": lambda: nn.LearningCurveDisplay.from_leave_one_out(
        fitted("ConvexNetworkClassifier"), X, LABELS, train_sizes=(0.9, 1.0), ax=AX.make()
    ),
}


def _plot(*arguments, **options):
    """Return a function of the name of a display: the good call that draws it."""

    def call(name):
        make = DISPLAYS[name.split(".")[1].removesuffix("Display")]
        return through(lambda ax, **o: _drawn(make().plot(ax=ax, **o)), *arguments, **options)

    return call


def _from(*arguments, **options):
    return lambda name: through(lambda *a, **o: _drawn(resolve(name)(*a, **o)), *arguments, **options)


def _layer(*arguments, inputs=1, **options):
    def run(name, algebra, *arguments, **options):
        import torch

        torch.manual_seed(0)
        layer = getattr(cr.layers, name)(algebra, *arguments, **options)
        return layer(*[torch.ones(2, arguments[0], 8)] * inputs).detach().numpy()

    return lambda name: through(lambda *a, **o: run(name.partition(".")[2], *a, **o), thing(ALG), *arguments, **options)


CALLS = catalogue({
    "nn.CalibrationDisplay nn.LearningCurveDisplay": _plot(AX),
    "nn.CertificateDisplay nn.RegularizationPathDisplay": _plot(_ax),
    "nn.CertificateDisplay.plot nn.RegularizationPathDisplay.plot": _plot(_ax),
    "nn.CalibrationDisplay.from_leave_one_out": _from(
        thing(NETWORK), labels(LABELS, one_class="right", objects="same"), ax=_ax, **_BINS),
    "nn.CalibrationDisplay.from_probabilities": _from(
        _LABELS, rows(np.stack([_PROBABILITIES, 1 - _PROBABILITIES], 1)),
        classes=np.array(["high", "low"]), ax=AX, **_BINS),
    "nn.CertificateDisplay.from_estimator": _from(thing(GATED), ax=_ax),
    "nn.ConvergenceDisplay": through(
        lambda history: _drawn(nn.ConvergenceDisplay(history).plot(ax=AX.make())),
        thing(Made(lambda: fitted("GatedReLURegressor").result_.history))),
    "nn.ConvergenceDisplay.plot": _plot(_ax, objective=flag(True)),
    "nn.ConvergenceDisplay.from_estimator": _from(thing(GATED), seconds=flag(True), ax=AX),
    "nn.DecisionRegionsDisplay": through(lambda: DISPLAYS["DecisionRegions"]().region),
    "nn.DecisionRegionsDisplay.plot": _plot(_ax, title=text("a title", every="right"), legend=flag(True)),
    "nn.DecisionRegionsDisplay.from_estimator": _from(
        thing(GATED), rows(X, a_frame="right"),  # whose columns have names, not places
        _LABELS, columns=thing((0, 1), missing="right"), planes=flag(True), resolution=count(10), ax=AX),
    "nn.LearningCurveDisplay.from_leave_one_out": _from(
        thing(NETWORK), rows(X), labels(LABELS), weights(W), groups(GROUPS), n_draws=count(1), random_state=rng(0),
        train_sizes=sequence(np.array([0.9, 1.0]), every="right"), ax=AX),
    "nn.RegularizationPathDisplay.from_path": _from(
        thing(PATH), rows(X, missing="right"), targets(Y, missing="right"), loss=word("squared"), ax=AX),
    "nn.RegularizationPathDisplay.from_estimator": _from(
        thing(made("ConvexNetworkRegressor")), rows(X, missing="right"), targets(Y, missing="right"), weights(W), ax=AX
    ),
    "layers.EquivariantLinear": _layer(count(2), count(3), bias=flag(True)),
    "layers.GradeNorm layers.GradeGate": _layer(count(2)),
    "layers.WeightedProduct": _layer(count(2), inputs=2),
    "layers.GeometricProductLayer": _layer(count(2), normalize=flag(True)),
})  # fmt: skip
