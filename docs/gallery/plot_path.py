"""
The regularization path of a network
====================================

From no neuron to many: each network is the optimum of the Lasso over cross products for its β.
"""

import matplotlib.pyplot as plt
import numpy as np

from clifford_rand_nn import lasso_path

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-1, 1, 30))[:, None]
y = np.abs(x[:, 0]) + 0.3 * np.sin(6 * x[:, 0]) + 0.05 * rng.standard_normal(30)
path = lasso_path(x, y)
grid = np.linspace(-1, 1, 400)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
axes[0].plot(x[:, 0], y, "k.")
for k in np.linspace(1, len(path) - 1, 6).astype(int):
    axes[0].plot(grid[:, 0], path.networks[k].predict(grid), color=plt.cm.viridis(k / len(path)), linewidth=1)
axes[0].set(xlabel="x", title="Networks along the path")
axes[1].semilogx(path.betas, path.n_neurons, ".-")
axes[1].set(xlabel="β", ylabel="neurons", title=f"{len(path)} values of β")
plt.show()
