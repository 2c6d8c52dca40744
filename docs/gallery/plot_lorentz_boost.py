"""
A boost in space-time
=====================

A boost is a rotor of space-time. It moves events along hyperbolas and leaves the light cone where it is.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr

alg = cr.Algebra(1, 1)
grid = np.linspace(-2, 2, 9)
rotor = (0.25 * alg.e12).exp()
figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
for offset in grid:
    for line in (np.c_[grid, np.full(9, offset)], np.c_[np.full(9, offset), grid]):
        moved = (rotor >> alg.vector(line)).values
        axes.plot(line[:, 1], line[:, 0], color="lightgray", linewidth=0.8)
        axes.plot(moved[:, 1], moved[:, 0], color="tab:blue", linewidth=0.8)
axes.plot([-3, 3], [-3, 3], "k--", [-3, 3], [3, -3], "k--", linewidth=0.8)
axes.set(aspect="equal", xlabel="space", ylabel="time", title="Coordinates of a moving observer")
plt.show()
