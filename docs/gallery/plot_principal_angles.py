"""
Random subspaces in high dimension
==================================

Principal angles between random subspaces: the higher the dimension of the space, the nearer they are to 90 degrees.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for d in (50, 100, 400, 1600, 6400):
    A, B = cr.haar_blade(20, d, rng=0), cr.haar_blade(20, d, rng=1)
    axes.plot(np.degrees(A.principal_angles(B)), "o-", markersize=3, label=f"d = {d}")
axes.set(xlabel="index", ylabel="principal angle, degrees", title="Two random subspaces of dimension 20")
axes.legend()
plt.show()
