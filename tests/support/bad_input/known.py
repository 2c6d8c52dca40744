"""Names whose rows are not clean yet: none may be added, and one that is mended is taken off.

`FOUND` have a row that fails, listed by `python -m tests.reliability bad_input`; `UNTRIED` were never tried to the end,
as are the commands.
"""

FOUND = [
    "nn.explain",
]

UNTRIED = [
    "nn.CalibrationDisplay",
    "nn.CalibrationDisplay.from_left_out",
    "nn.CalibrationDisplay.from_probabilities",
    "nn.Certificate.over_all_neurons",
    "nn.Certificate.verify",
    "nn.CertificateDisplay",
    "nn.CertificateDisplay.from_estimator",
    "nn.CertificateDisplay.plot",
    "nn.ConvergenceDisplay",
    "nn.ConvergenceDisplay.from_estimator",
    "nn.ConvergenceDisplay.plot",
    "nn.ConvexNetworkRegressor.fit",
    "nn.ConvexNetworkRegressor.plan",
    "nn.ConvexNetworkRegressor.predict",
    "nn.ConvexNetworkRegressor.predict_interval",
    "nn.ConvexNetworkRegressor.predict_with_interval",
    "nn.ConvexNetworkRegressor.score",
    "nn.ConvexNetworkRegressor.to_onnx",
    "nn.ConvexNetworkRegressor.to_source",
    "nn.ConvexNetworkRegressor.to_torch",
    "nn.DecisionRegionsDisplay",
    "nn.DecisionRegionsDisplay.from_estimator",
    "nn.DecisionRegionsDisplay.plot",
    "nn.LearningCurveDisplay",
    "nn.LearningCurveDisplay.drawn",
    "nn.LearningCurveDisplay.from_left_out",
    "nn.RegularizationPath",
    "nn.RegularizationPath.predict",
    "nn.RegularizationPathDisplay",
    "nn.RegularizationPathDisplay.from_estimator",
    "nn.RegularizationPathDisplay.from_path",
    "nn.RegularizationPathDisplay.plot",
    "nn.Result",
    "nn.Result.ended",
    "nn.Shards",
    "nn.Shards.blocks",
    "nn.Shards.fingerprint",
    "nn.Shards.whole",
    "nn.TableEncoder",
    "nn.TableEncoder.encode",
    "nn.TableEncoder.fit",
    "nn.TableEncoder.fit_transform",
    "nn.TableEncoder.get_feature_names_out",
    "nn.TableEncoder.transform",
    "nn.TwoLayerNetwork.penalty",
    "nn.TwoLayerNetwork.to_neurons",
    "nn.TwoLayerNetwork.to_relu",
    "nn.evaluate_shards",
    "nn.export_torch",
    "nn.gated_path",
    "nn.lasso_path",
    "nn.predict_shards",
    "nn.prune",
    "nn.read_frame",
    "nn.refine_gates",
    "nn.relu_path",
    "nn.table_model",
]

OPEN = frozenset(FOUND) | frozenset(UNTRIED)


def is_open(name):
    return name.strip() in OPEN or name.startswith("command ")
