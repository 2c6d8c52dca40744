"""
Two spheres and their circle
============================

The intersection of two spheres is one product; the result is a circle with center, radius and plane.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr
from clifford_rand.presets import cga

alg = cr.Algebra.cga(3)
first, second = cga.sphere(alg, [0.0, 0.0, 0.0], 1.0), cga.sphere(alg, [0.9, 0.3, 0.2], 0.7)
common = cga.intersect(first, second)

figure = plt.figure(figsize=(5, 5), layout="constrained")
axes = figure.add_subplot(projection="3d")
for sphere, color in ((first, "tab:blue"), (second, "tab:orange")):
    axes.plot_surface(*np.moveaxis(cga.sample(sphere, (20, 40)), -1, 0), alpha=0.25, color=color)
axes.plot(*cga.sample(common, 100).T, color="black")
axes.set(title=f"Common circle: radius {float(common.radius):.3f}", box_aspect=(1, 1, 1), aspect="equal")
plt.show()
