"""
The dual certificate of a network
=================================

The correlation of every possible neuron with the dual point: none exceeds the limit, and the neurons of the network attain it. That is the proof that
the network is a global optimum.
"""

import matplotlib.pyplot as plt
import numpy as np

from clifford_rand_nn import ConvexReLURegressor

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(-3, 3, 40))
y = np.abs(x) - 0.6 * np.maximum(x - 1, 0) + 0.15 * rng.normal(size=x.size)
X = x[:, None]
model = ConvexReLURegressor(gates="exhaustive", beta=0.004, tol=1e-10).fit(X, y)
certificate = model.certificate_.verify(X, y, exact=True)

# a neuron is a direction (v, b) on the rows [x, c], where c is the constant feature
c = certificate.claim.family.feature
angles = np.linspace(-np.pi, np.pi, 4000)
columns = np.maximum(np.column_stack([x, np.full(x.size, c)]) @ np.stack([np.cos(angles), np.sin(angles)]), 0)
limit = x.size * certificate.beta
network = model.network_
own = np.arctan2(network.b1 / c, network.W1[:, 0])

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(x, y, ".", color="gray")
left.plot(x, model.predict(X))
left.set(xlabel="x", title=f"A network of {len(own)} neurons")
right.plot(np.degrees(angles), np.abs(certificate.dual_point[:, 0] @ columns) / limit)
right.plot(np.degrees(own), np.ones(len(own)), "o")
right.axhline(1, color="gray", linewidth=0.8, linestyle="--")
right.set(
    xlabel="direction of a neuron (degrees)",
    ylabel="correlation / limit",
    title="No neuron exceeds the limit; the network's attain it",
)
plt.show()
