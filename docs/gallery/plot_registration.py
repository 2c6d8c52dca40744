"""
Registration with wrong pairs
=============================

Two fifths of the pairs are wrong. Least squares fails; the robust estimate does not.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr
from clifford_rand.presets import pga

alg = cr.Algebra.pga(2)
rng = np.random.default_rng(0)
X = np.c_[
    np.cos(3 * np.linspace(0, 2, 150)) * np.linspace(0.3, 2, 150),
    np.sin(3 * np.linspace(0, 2, 150)) * np.linspace(0.3, 2, 150),
]
truth = pga.translator(alg, [1.0, 0.5]) * pga.rotor(alg, pga.point(alg, [0.0, 0.0]), 1.0)
Y = pga.coordinates(truth >> pga.point(alg, X)) + 0.02 * rng.standard_normal(X.shape)
Y[:60] = rng.normal([3.0, -1.5], 0.5, (60, 2))
plain = cr.motor_from_points(alg, X, Y)
robust = cr.robust_motor_from_points(alg, X, Y, noise=0.02).motor

figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
axes.plot(*Y.T, ".", color="gray", label="target points, 40 % wrong")
axes.plot(*pga.coordinates(plain >> pga.point(alg, X)).T, label="least squares")
axes.plot(*pga.coordinates(robust >> pga.point(alg, X)).T, label="robust")
axes.set(aspect="equal", title="A curve moved onto its target")
axes.legend()
plt.show()
