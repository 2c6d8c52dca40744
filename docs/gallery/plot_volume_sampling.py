"""
Rows sampled by their volume
============================

Volume sampling prefers sets of rows that span much: the samples spread out, where uniform samples cluster.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr

rng = np.random.default_rng(0)
X = np.concatenate([rng.standard_normal((900, 2)) * 0.3, rng.standard_normal((100, 2)) * 2])
chosen = cr.volume_sample(X, 2, size=200, rng=0)
uniform = rng.integers(0, 1000, (200, 2))
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained", sharex=True, sharey=True)
for ax, rows, title in zip(axes, (uniform, chosen), ("uniform pairs", "pairs by volume"), strict=True):
    ax.plot(*X.T, ".", color="lightgray", markersize=3)
    ax.plot(*X[rows.ravel()].T, ".", color="tab:red", markersize=4)
    ax.set(aspect="equal", title=title)
plt.show()
