"""
A learned metric
================

The gate distribution is learned from the gradients of the network: columns without influence fade.
"""

import matplotlib.pyplot as plt
import numpy as np

from clifford_rand_nn import ConvexNetworkRegressor

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 12))
y = np.abs(X[:, 0] + X[:, 1]) + X[:, 2] + 0.1 * rng.standard_normal(400)
model = ConvexNetworkRegressor().fit(X, y)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
image = axes.imshow(np.abs(model.metric_), cmap="viridis")
figure.colorbar(image)
axes.set(title=f"The learned metric; R² of leave-one-out {model.loo_score_:.3f}", xlabel="column", ylabel="column")
plt.show()
