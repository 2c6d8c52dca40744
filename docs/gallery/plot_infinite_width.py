"""
From many gates to infinitely many
==================================

With m sampled Gaussian gates the network approaches its infinite-width limit at the rate 1/√m. β is multiplied by m, since the limit is the mean over gates.
"""

import matplotlib.pyplot as plt
import numpy as np

from clifford_rand_nn import GatedReLURegressor

rng = np.random.default_rng(0)
X, new = rng.standard_normal((400, 3)), rng.standard_normal((200, 3))
y = np.abs(X[:, 0]) - X[:, 1]
limit = GatedReLURegressor(gates="infinite", penalty="ridge", beta=1e-2, bias=False).fit(X, y).predict(new)
counts = [20, 80, 320, 1280]
errors = []
for m in counts:
    runs = [
        GatedReLURegressor(gates="gaussian", n_gates=m, random_state=seed, penalty="ridge", beta=1e-2 * m, bias=False)
        .fit(X, y)
        .predict(new)
        for seed in range(5)
    ]
    errors.append(np.sqrt(np.mean((np.array(runs) - limit) ** 2)))
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.loglog(counts, errors, "o-", label="difference of predictions")
axes.loglog(counts, errors[0] * np.sqrt(counts[0] / np.array(counts)), "k--", label="1/√m")
axes.set(xlabel="number of gates m", title="Finite networks and their limit")
axes.legend()
plt.show()
