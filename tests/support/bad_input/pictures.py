"""Good calls of displays and of layers for torch."""

import numpy as np

import clifford_rand_nn as nn
from support.bad_input.algebra import ALG
from support.bad_input.good import *
from support.bad_input.models import AX, LABELS, PATH, X, Y, fitted, made

NETWORK = made("ConvexNetworkClassifier")
GATED = made("GatedReLUClassifier")
_ax = thing(AX, missing="right")
_PROBABILITIES = np.linspace(0.05, 0.95, 24)


def _drawn(display):
    """Return what was drawn as numbers: the data of the lines."""
    return [line.get_data() for line in display.ax_.lines]


def _draw(make):
    return lambda *arguments, **options: _drawn(make(*arguments, **options))


def _display(kind):
    return {
        "Certificate": lambda: nn.CertificateDisplay(fitted("GatedReLURegressor").certificate_),
        "Convergence": lambda: nn.ConvergenceDisplay(fitted("GatedReLURegressor").result_.history),
        "Path": lambda: nn.RegularizationPathDisplay(np.array([0.2, 0.1])),
        "Regions": lambda: nn.DecisionRegionsDisplay.from_estimator(
            fitted("GatedReLUClassifier"), X, LABELS, resolution=10, ax=AX.make()
        ),
        "Calibration": lambda: nn.CalibrationDisplay.from_predictions(
            (LABELS == "high").astype(int), _PROBABILITIES, ax=AX.make()
        ),
        "Curve": lambda: nn.LearningCurveDisplay.from_left_out(
            fitted("ConvexNetworkClassifier"), X, LABELS, train_sizes=(0.9, 1.0), ax=AX.make()
        ),
    }[kind]  # fmt: skip


def _plot(kind):
    return lambda ax, **options: _drawn(_display(kind)().plot(ax=ax, **options))


def _layer(name, *sizes, inputs=1):
    def run(algebra, *arguments, **options):
        import torch

        import clifford_rand as cr

        torch.manual_seed(0)
        layer = getattr(cr.layers, name)(algebra, *arguments, **options)
        return layer(*[torch.ones(2, arguments[0], 8)] * inputs).detach().numpy()

    return run


CALLS = {
    "nn.CalibrationDisplay": through(_plot("Calibration"), AX),
    "nn.CalibrationDisplay.from_left_out": through(
        _draw(nn.CalibrationDisplay.from_left_out),
        thing(NETWORK),
        labels(LABELS, one_class="right", objects="same"),
        n_bins=count(3),
        strategy=word("uniform"),
        ax=_ax,
    ),
    "nn.CalibrationDisplay.from_probabilities": through(
        _draw(nn.CalibrationDisplay.from_probabilities),
        rows(np.stack([_PROBABILITIES, 1 - _PROBABILITIES], 1)),
        labels(LABELS, one_class="right"),
        np.array(["high", "low"]),
        n_bins=count(3),
        strategy=word("uniform"),
        ax=AX,
    ),
    "nn.CertificateDisplay": through(_plot("Certificate"), _ax),
    "nn.CertificateDisplay.plot": through(_plot("Certificate"), _ax),
    "nn.CertificateDisplay.from_estimator": through(_draw(nn.CertificateDisplay.from_estimator), thing(GATED), ax=_ax),
    "nn.ConvergenceDisplay": through(
        lambda history: _drawn(nn.ConvergenceDisplay(history).plot(ax=AX.make())),
        thing(Made(lambda: fitted("GatedReLURegressor").result_.history)),
    ),
    "nn.ConvergenceDisplay.plot": through(_plot("Convergence"), _ax, objective=flag(True)),
    "nn.ConvergenceDisplay.from_estimator": through(
        _draw(nn.ConvergenceDisplay.from_estimator), thing(GATED), seconds=flag(True), ax=AX
    ),
    "nn.DecisionRegionsDisplay": through(
        lambda X, y: (
            nn.DecisionRegionsDisplay.from_estimator(
                fitted("GatedReLUClassifier"), X, y, resolution=10, ax=AX.make()
            ).region
        ),
        X,
        LABELS,
    ),
    "nn.DecisionRegionsDisplay.plot": through(
        _plot("Regions"), _ax, title=text("a title", every="right"), legend=flag(True)
    ),
    "nn.DecisionRegionsDisplay.from_estimator": through(
        _draw(nn.DecisionRegionsDisplay.from_estimator),
        thing(GATED),
        rows(X, a_frame="right"),  # whose columns have names, not places
        labels(LABELS, one_class="right"),
        columns=thing((0, 1), missing="right"),
        planes=flag(True),
        resolution=count(10),
        ax=AX,
    ),
    "nn.LearningCurveDisplay": through(_plot("Curve"), AX),
    "nn.LearningCurveDisplay.drawn": through(lambda ax: _drawn(_display("Curve")().drawn(ax)), _ax),
    "nn.LearningCurveDisplay.from_left_out": through(
        _draw(nn.LearningCurveDisplay.from_left_out),
        thing(NETWORK),
        rows(X),
        labels(LABELS),
        weights(np.ones(24)),
        groups(np.repeat(np.arange(8), 3)),
        train_sizes=sequence(np.array([0.9, 1.0]), every="right"),
        n_draws=count(1),
        random_state=rng(0),
        ax=AX,
    ),
    "nn.RegularizationPathDisplay": through(_plot("Path"), _ax),
    "nn.RegularizationPathDisplay.plot": through(_plot("Path"), _ax),
    "nn.RegularizationPathDisplay.from_path": through(
        _draw(nn.RegularizationPathDisplay.from_path),
        thing(PATH),
        rows(X, missing="right"),
        targets(Y, missing="right"),
        loss=word("squared"),
        ax=AX,
    ),
    "nn.RegularizationPathDisplay.from_estimator": through(
        _draw(nn.RegularizationPathDisplay.from_estimator),
        thing(made("ConvexNetworkRegressor")),
        rows(X, missing="right"),
        targets(Y, missing="right"),
        weights(np.ones(24)),
        ax=AX,
    ),
    "layers.EquivariantLinear": through(_layer("EquivariantLinear"), thing(ALG), count(2), count(3), bias=flag(True)),
    "layers.GradeNorm": through(_layer("GradeNorm"), thing(ALG), count(2)),
    "layers.GradeGate": through(_layer("GradeGate"), thing(ALG), count(2)),
    "layers.WeightedProduct": through(_layer("WeightedProduct", inputs=2), thing(ALG), count(2)),
    "layers.GeometricProductLayer": through(
        _layer("GeometricProductLayer"), thing(ALG), count(2), normalize=flag(True)
    ),
}
