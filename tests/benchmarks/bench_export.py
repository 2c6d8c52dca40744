"""How many rows a second an exported model predicts, beside the model itself.

    python tests/benchmarks/bench_export.py [--rows 1_000_000] [--columns 50] [--neurons 50] [--repeat 5]

Rows are float32 for ONNX as for the model; the best of the repetitions counts. CPU seconds stand beside wall seconds,
as other processes share the machine.
"""

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from timing import least, options

from clifford_rand_nn import ConvexNetworkClassifier, TwoLayerNetwork


def main():
    """Print a line for every model and way."""
    asked = options(__doc__, rows=10**6, columns=50, neurons=50, repeat=5)
    rng = np.random.default_rng(0)
    d, m = asked.columns, asked.neurons
    X = rng.standard_normal((asked.rows, d)).astype(np.float32)
    W, b, alpha = rng.standard_normal((m, d)), rng.standard_normal(m), rng.standard_normal((m, 1))
    network = TwoLayerNetwork(W, b, alpha, np.zeros(1))
    print(f"onnxruntime {onnxruntime.__version__}, {onnxruntime.get_device()}; rows of {d} columns, float32")
    compare(f"{m} neurons, all rows at once", network, X, len(X), asked.repeat)
    compare(f"{m} neurons, 10,000 rows at a time", network, X, 10_000, asked.repeat)
    Z = X[: min(1000, len(X)), :10]
    labels = Z[:, 0] * Z[:, 1] > 0
    model = ConvexNetworkClassifier(max_metric_iter=0, loss="squared").fit(Z.astype(np.float64), labels)
    compare("kernel of 1,000 rows, probabilities", model, X[:20_000, :10], 20_000, asked.repeat)


def compare(title, model, X, batch, repeat):
    """Print rows a second of the model and of its ONNX file, by wall and by CPU seconds, best of some."""
    with tempfile.TemporaryDirectory() as folder:
        path = model.to_onnx(Path(folder) / "model.onnx")
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    ours = getattr(model, "predict_proba", model.predict)
    parts = [X[start : start + batch] for start in range(0, len(X), batch)]
    for name, run in (("ours", ours), ("onnx", lambda part: session.run(None, {"X": part}))):
        wall, cpu = least(lambda run=run: [run(part) for part in parts], repeat)
        print(f"{title:40} {name:5} {len(X) / wall:12,.0f} rows/s   {wall:.3f} s, {cpu:.3f} s of CPU")


if __name__ == "__main__":
    main()
