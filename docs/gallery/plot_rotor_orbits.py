"""
Orbits of rotors
================

The exponential of a bivector turns in its plane. Each curve is one point moved by exp(-tB/2), for three planes B.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr

alg = cr.Algebra(3)
t = np.linspace(0, 2 * np.pi, 100)
point = alg.vector([0.6, 0.0, 0.8])
figure = plt.figure(figsize=(5, 5), layout="constrained")
axes = figure.add_subplot(projection="3d")
for axis, label in (([0, 0, 1], "about e3"), ([1, 0, 0], "about e1"), ([1, 1, 1], "about e1 + e2 + e3")):
    plane = alg.vector(axis).normalized().star()
    orbit = (-t / 2 * plane).exp() >> point
    axes.plot(*orbit.values.T, label=label)
axes.scatter(*point.values, color="black")
axes.set(title="One point, three rotations", box_aspect=(1, 1, 1))
axes.legend()
plt.show()
