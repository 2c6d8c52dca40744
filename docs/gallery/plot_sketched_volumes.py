"""
A volume from a sketch, with its interval
=========================================

Intervals of 95 % for the logarithm of a volume in R^1000, from 60 independent sketches.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr

A = np.random.default_rng(0).standard_normal((20, 1000))
exact = cr.Blade(A).log_norm()
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
missed = 0
for seed in range(60):
    estimate = cr.sketched_volume(A, cr.GaussianSketch(100, 1000, rng=seed), n_repeats=1)
    low, high = estimate.interval(0.95)
    missed += not low <= exact <= high
    axes.plot([seed, seed], [low, high], color="tab:blue" if low <= exact <= high else "tab:red")
axes.axhline(exact, color="black", linewidth=0.8)
axes.set(xlabel="sketch", ylabel="log-volume", title=f"{60 - missed} of 60 intervals cover the exact value")
plt.show()
