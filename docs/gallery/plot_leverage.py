"""
Leverage scores
===============

The influence of every point on a fitted cubic, exact and from a sketch.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr

rng = np.random.default_rng(0)
t = np.sort(np.concatenate([rng.uniform(-1, 1, 300), [1.8, 2.0]]))
X = t[:, None] ** np.arange(4)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.semilogy(t, cr.leverage_scores(X), ".", label="exact")
axes.semilogy(
    t, cr.sketched_leverage_scores(X, cr.SJLT(60, len(t), rng=0)), "x", markersize=4, label="sketched, r = 60"
)
axes.set(xlabel="t", ylabel="leverage score", title="Two far points decide the fit")
axes.legend()
plt.show()
