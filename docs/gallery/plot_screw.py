"""
A screw motion
==============

A motor of projective algebra turns about an axis and shifts along it. Its logarithm, scaled, gives every pose in between.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr
from clifford_rand.presets import pga

alg = cr.Algebra.pga(3)
axis = pga.line(alg, [1, 0, 0], [1, 0, 1])
motor = pga.motor(alg, axis, 2 * np.pi * 0.75, 2.0)
poses = (np.linspace(0, 1, 60) * motor.log()).exp()
square = pga.point(alg, np.array([[0, -0.3, 0], [0, 0.3, 0], [0.6, 0.3, 0], [0.6, -0.3, 0], [0, -0.3, 0]]))
corners = pga.coordinates(poses[:, None] >> square)

figure = plt.figure(figsize=(5, 5), layout="constrained")
axes = figure.add_subplot(projection="3d")
for k in range(0, 60, 3):
    axes.plot(*corners[k].T, color=plt.cm.viridis(k / 60))
axes.plot([1, 1], [0, 0], [0, 2], "k--", linewidth=0.8)
axes.set(title="Three quarters of a turn, and a shift")
plt.show()
