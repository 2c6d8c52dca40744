"""
Four kinds of networks
======================

The same data, four estimators. Only the first and the last are globally optimal over all ReLU networks of their norm.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from clifford_rand_nn import (
    ConvexNetworkClassifier,
    ConvexReLUClassifier,
    CrossProductLassoClassifier,
    DecisionRegionsDisplay,
    GatedReLUClassifier,
)

X, y = make_moons(80, noise=0.2, random_state=0)
models = {
    "ConvexReLU, all patterns": ConvexReLUClassifier(gates="exhaustive", beta=1e-3),
    "GatedReLU, 30 gates": GatedReLUClassifier(n_gates=30, beta=1e-3, random_state=0),
    "ConvexNetwork, no parameter": ConvexNetworkClassifier(),
    "CrossProductLasso": CrossProductLassoClassifier(beta=1e-3),
}
figure, axes = plt.subplots(2, 2, figsize=(8, 6.5), layout="constrained")
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    DecisionRegionsDisplay.from_estimator(model.fit(X, y), X, y, ax=ax)
    ax.set_title(name)
plt.show()
