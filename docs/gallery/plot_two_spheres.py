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

u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 40), np.linspace(0, np.pi, 20))
ball = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
figure = plt.figure(figsize=(5, 5), layout="constrained")
axes = figure.add_subplot(projection="3d")
axes.plot_surface(*ball, alpha=0.25, color="tab:blue")
axes.plot_surface(*(0.7 * ball + np.array([0.9, 0.3, 0.2])[:, None, None]), alpha=0.25, color="tab:orange")
normal = np.array([0.9, 0.3, 0.2]) / np.linalg.norm([0.9, 0.3, 0.2])
frame = cr.Blade(normal[None]).star().orthonormalized().factors
t = np.linspace(0, 2 * np.pi, 100)[:, None]
curve = common.location + float(common.radius) * (np.cos(t) * frame[0] + np.sin(t) * frame[1])
axes.plot(*curve.T, color="black")
axes.set(title=f"Common circle: radius {float(common.radius):.3f}", box_aspect=(1, 1, 1), aspect="equal")
plt.show()
