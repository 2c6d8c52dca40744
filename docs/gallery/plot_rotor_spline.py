"""
A spline of poses
=================

``RotorSpline`` goes through given poses with continuous velocity; straight interpolation has corners.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr
from clifford_rand.presets import pga

alg = cr.Algebra.pga(2)
origin = pga.point(alg, [0.0, 0.0])
stations = np.array([[0, 0], [2, 1], [3, -1], [5, 0], [4, 2]], dtype=float)
angles = [0.0, 1.0, -0.5, 0.5, 2.5]
poses = cr.stack([pga.translator(alg, x) * pga.rotor(alg, origin, a) for x, a in zip(stations, angles, strict=True)])
t = np.linspace(0, 4, 200)
smooth = cr.RotorSpline(np.arange(5.0), poses)(t)
pieces = cr.concatenate([cr.slerp(poses[k], poses[k + 1], np.linspace(0, 1, 50)) for k in range(4)])

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for path, label in ((smooth, "spline"), (pieces, "pieces of screws")):
    axes.plot(*pga.coordinates(path >> origin).T, label=label)
arrows = pga.coordinates(smooth[::20] >> pga.point(alg, [0.4, 0.0])) - pga.coordinates(smooth[::20] >> origin)
axes.quiver(*pga.coordinates(smooth[::20] >> origin).T, *arrows.T, angles="xy", scale_units="xy", scale=1, width=0.004)
axes.plot(*stations.T, "ko")
axes.set(aspect="equal", title="Through five poses of the plane")
axes.legend()
plt.show()
