"""
A kaleidoscope
==============

Reflections in two lines at 36 degrees generate ten copies of a figure. The reflection of x in the line orthogonal to a unit vector n is -n x n.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr

alg = cr.Algebra(2)
mirrors = [alg.vector([np.sin(a), -np.cos(a)]) for a in (0, np.pi / 5)]
figure_points = alg.vector([[1.0, 0.1], [2.0, 0.3], [1.6, 0.6], [2.2, 0.9], [1.2, 0.5], [1.0, 0.1]])

copies = [figure_points]
for _ in range(4):
    for n in mirrors:
        copies.append(-n * copies[-1] * n)

figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
for k, copy in enumerate(copies[:10]):
    axes.fill(*copy.values.T, alpha=0.7, color=plt.cm.twilight(k / 10))
axes.set(aspect="equal", title="Ten copies by two reflections")
plt.show()
