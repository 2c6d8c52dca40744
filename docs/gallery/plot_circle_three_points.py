"""
The circle through three points
===============================

The wedge product of three conformal points is their circle, of two points and infinity it is their line.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr
from clifford_rand.presets import cga

alg = cr.Algebra.cga(2)
points = np.random.default_rng(2).uniform(-2, 2, (6, 2))
figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
for i in range(6):
    A, B, C = (cga.up(alg, points[(i + k) % 6]) for k in range(3))
    circle = cga.classify(A ^ B ^ C)
    axes.add_patch(plt.Circle(circle.location, float(circle.radius), fill=False, color=plt.cm.tab10(i)))
axes.plot(*points.T, "ko")
axes.set(aspect="equal", xlim=(-5, 5), ylim=(-5, 5), title="Circles through neighbors")
plt.show()
