"""
Objective and lower bound
=========================

The certificate of a fit while it is solved: objective and lower bound meet.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from clifford_rand_nn import ConvergenceDisplay, GatedReLUClassifier

X, y = load_breast_cancer(return_X_y=True)
model = GatedReLUClassifier(n_gates=30, beta=1e-3, solver="fista", random_state=0).fit(scale(X), y)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
ConvergenceDisplay.from_estimator(model, ax=axes)
plt.show()
