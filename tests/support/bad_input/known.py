"""Names whose rows are not clean yet: none may be added, and one that is mended is taken off.

`FOUND` have a row that fails, listed by `python -m tests.reliability bad_input`; `UNTRIED` were never tried to the end,
as are the commands.
"""

FOUND: list[str] = []

UNTRIED = [
    "nn.Certificate.over_all_neurons",
    "nn.Certificate.verify",
    "nn.ConvexNetworkRegressor.fit",
    "nn.ConvexNetworkRegressor.plan",
    "nn.ConvexNetworkRegressor.predict",
    "nn.ConvexNetworkRegressor.predict_interval",
    "nn.ConvexNetworkRegressor.predict_with_interval",
    "nn.ConvexNetworkRegressor.score",
    "nn.ConvexNetworkRegressor.to_onnx",
    "nn.ConvexNetworkRegressor.to_source",
    "nn.ConvexNetworkRegressor.to_torch",
    "nn.RegularizationPath",
    "nn.RegularizationPath.predict",
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
