"""
Calibrated probabilities
========================

Predicted probabilities against observed frequencies on new rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from clifford_rand_nn import CalibrationDisplay, ConvexNetworkClassifier

X, y = make_classification(3000, 10, n_informative=6, flip_y=0.2, random_state=0)
figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
for model in (ConvexNetworkClassifier(), LogisticRegression()):
    CalibrationDisplay.from_estimator(model.fit(X[:800], y[:800]), X[800:], y[800:], n_bins=8, ax=axes)
plt.show()
