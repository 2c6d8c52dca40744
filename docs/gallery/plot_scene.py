"""
Two spheres, their circle, and a motor
======================================

`draw.scene` decides what multivectors are. `draw.save(scene, "scene.html")` would write the same scene as a page that turns.
"""

import matplotlib.pyplot as plt

import clifford_rand as cr
from clifford_rand import draw
from clifford_rand.presets import cga

alg = cr.Algebra.cga(3)
A, B = cga.sphere(alg, [0, 0, 0], 1), cga.sphere(alg, [1.1, 0, 0], 0.8)
plane, line = cga.plane(alg, [0, 0, 1], -1), cga.line(alg, [0, 0, 0], direction=[1, 0.4, 0.5])
motor = cga.translator(alg, [0, 0, 1.3]) * (-0.4 * alg.e12).exp()
scene = draw.scene([A, B, cga.meet(A, B), plane, line, motor], labels=["A", "B", "A and B", "plane", None, "motor"])

figure = plt.figure(figsize=(5.5, 5), layout="constrained")
axes = scene.plot(ax=figure.add_subplot(projection="3d"))
axes.set(title="Spheres, a circle, a plane, a line and a motor")
plt.show()
