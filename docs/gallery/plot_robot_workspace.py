"""
Workspace of a robot arm
========================

The tool of three joints for 20,000 random joint values: one batch of products of exponentials.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr
from clifford_rand.presets import pga

alg = cr.Algebra.pga(3)
vertical = [pga.line(alg, [x, 0, 0], [x, 0, 1]) for x in (0.0, 1.0, 1.8)]
screws = cr.stack([pga.screw_axis(alg, line) for line in vertical])
arm = pga.Robot(screws, pga.translator(alg, [2.3, 0, 0]))
q = np.random.default_rng(0).uniform(-1.2, 1.2, (20_000, 3))
tool = pga.coordinates(arm.forward_kinematics(q) >> pga.point(alg, [0, 0, 0]))

figure, axes = plt.subplots(figsize=(5, 4.5), layout="constrained")
image = axes.scatter(tool[:, 0], tool[:, 1], c=np.abs(q).max(axis=1), s=1, cmap="viridis")
figure.colorbar(image, label="largest joint angle, rad")
axes.set(aspect="equal", title="20,000 poses of the tool")
plt.show()
