"""
The global optimum on a spiral
==============================

All activation patterns of the points are enumerated, so that the network is the best of all two-layer ReLU networks of
any width.
"""

import matplotlib.pyplot as plt

from clifford_rand_nn import ConvexReLUClassifier, DecisionRegionsDisplay, spiral

X, y = spiral(64)
model = ConvexReLUClassifier(gates="exhaustive", bias="free", beta=1e-5).fit(X, y)
figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
DecisionRegionsDisplay.from_estimator(model, X, y, ax=axes)
axes.set(
    title=f"{model.network_.n_neurons} neurons, relative gap {model.certificate_.relative_gap:.0e}", aspect="equal"
)
plt.show()
