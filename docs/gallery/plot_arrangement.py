"""
Hyperplanes through samples
===========================

Each line passes through two samples: it is a cross product of two homogeneous points. Between the lines lie the activation patterns of a ReLU network.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr

rng = np.random.default_rng(1)
X = rng.standard_normal((7, 2))
lines = next(chunk.vectors for chunk in cr.cross_all(np.c_[X, np.ones(7)]))
figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
for a, b, c in lines:
    axes.axline(-c * np.array([a, b]) / (a * a + b * b), slope=-a / b, color="tab:blue", linewidth=0.6)
axes.plot(*X.T, "ko")
axes.set(aspect="equal", xlim=(-3, 3), ylim=(-3, 3), title=f"{len(lines)} lines through 7 samples")
plt.show()
