"""
A subspace that moves
=====================

Replicates of a subspace before and after a change: the distances between all of them, their first two geodesic
principal components at the Fréchet mean, and the p-value of a permutation test.
"""

import matplotlib.pyplot as plt
import numpy as np

import clifford_rand as cr

rng = np.random.default_rng(0)
n, k, d = 12, 4, 300
start = cr.haar_blade(k, d, rng=1)
moved = start.exp(0.12 * start.log(cr.haar_blade(k, d, rng=2)))
rows = np.concatenate([np.tile(start.factors, (n, 1, 1)), np.tile(moved.factors, (n, 1, 1))])
blades = cr.Blade(rows + 0.012 * rng.standard_normal(rows.shape))

distances = cr.subspace_distances(blades)
pca = cr.subspace_pca(blades, 2)
test = cr.subspace_test(blades[:n], blades[n:], rng=0)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
image = left.imshow(distances, cmap="viridis")
left.set(title="geodesic distances", xlabel="replicate", ylabel="replicate")
figure.colorbar(image, ax=left, label="radians")
for part, label in ((slice(n), "before"), (slice(n, None), "after")):
    right.plot(*pca.scores[part].T, "o", label=label)
shares = 100 * pca.variances / pca.total_variance
right.set(
    title=f"did it move? p = {test.pvalue:.2g}",
    xlabel=f"first component, {shares[0]:.0f} % of the variance",
    ylabel=f"second, {shares[1]:.0f} %",
)
right.legend()
plt.show()
