"""
Inversion of a grid
===================

The inversion in a circle is a versor of the conformal model: the circle itself. Lines become circles through its center.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr
from clifford_rand.presets import cga

alg = cr.Algebra.cga(2)
circle = cga.circle(alg, [0.0, 0.0], 1.0).star()
t = np.linspace(-2, 2, 401)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
for offset in np.linspace(-2, 2, 17):
    for line in (np.c_[t, np.full_like(t, offset)], np.c_[np.full_like(t, offset), t]):
        line = line[np.hypot(*line.T) > 0.05]
        image = cga.down(circle >> cga.up(alg, line))
        axes[0].plot(*line.T, color="tab:blue", linewidth=0.6)
        axes[1].plot(*image.T, color="tab:orange", linewidth=0.6)
for ax, title in zip(axes, ("A grid", "Its inversion in the unit circle"), strict=True):
    ax.add_patch(plt.Circle((0, 0), 1, fill=False))
    ax.set(aspect="equal", xlim=(-2, 2), ylim=(-2, 2), title=title)
plt.show()
