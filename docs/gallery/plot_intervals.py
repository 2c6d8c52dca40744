"""
Prediction intervals
====================

Intervals from leave-one-out residuals follow the data: wide where there are few rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from clifford_rand_nn import ConvexNetworkRegressor

rng = np.random.default_rng(0)
x = np.sort(np.concatenate([rng.uniform(-3, -1, 60), rng.uniform(0, 3, 60)]))[:, None]
y = np.sin(2 * x[:, 0]) + 0.15 * rng.standard_normal(120)
model = ConvexNetworkRegressor().fit(x, y)
grid = np.linspace(-3.5, 3.5, 300)[:, None]
low, high = model.predict_interval(grid, coverage=0.9)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.fill_between(grid[:, 0], low, high, alpha=0.3, label="90 % interval")
axes.plot(grid[:, 0], model.predict(grid), label="prediction")
axes.plot(x[:, 0], y, "k.", markersize=3)
axes.set(title=f"R² of leave-one-out {model.loo_score_:.3f}")
axes.legend()
plt.show()
