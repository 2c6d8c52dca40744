"""
A loxodrome
===========

A rotation and a scaling about the same point commute. Their product, applied again and again, is a logarithmic spiral; moved away from the origin by a conformal inversion it becomes a loxodrome with two ends.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr
from clifford_rand.presets import cga

alg = cr.Algebra.cga(2)
generator = (cga.dilator(alg, 1.02) * cga.rotor(alg, alg.e12, 0.15)).log()
steps = np.linspace(-150, 150, 3001)
spiral = (steps * generator).exp() >> cga.up(alg, [1.0, 0.0])
mirror = cga.circle(alg, [1.5, 0.0], 1.2).star()

figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
axes[0].plot(*cga.down(spiral).T, linewidth=0.8)
axes[0].set(aspect="equal", xlim=(-6, 6), ylim=(-6, 6), title="Spiral of a rotation and a scaling")
axes[1].plot(*cga.down(mirror >> spiral).T, linewidth=0.8, color="tab:orange")
axes[1].set(aspect="equal", title="Its inversion in a circle")
plt.show()
