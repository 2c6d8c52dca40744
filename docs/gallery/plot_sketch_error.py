"""
The error of four sketches
==========================

Relative error of a squared length, 150 sketches each. It falls as the square root of 2/r.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr

x = np.random.default_rng(0).standard_normal(1000)
x /= np.linalg.norm(x)
sizes = [20, 40, 80, 160]
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for kind in (cr.SJLT, cr.SparseSign, cr.SRHT, cr.GaussianSketch):
    errors = [np.std([np.sum((kind(r, 1000, rng=seed) @ x) ** 2) for seed in range(150)]) for r in sizes]
    axes.loglog(sizes, errors, "o-", label=kind.__name__)
axes.loglog(sizes, np.sqrt(2 / np.array(sizes)), "k--", label="√(2/r)")
axes.set(
    xlabel="rows of the sketch", ylabel="relative error of a squared length", title="Sketches of a vector in R^1000"
)
axes.legend()
plt.show()
