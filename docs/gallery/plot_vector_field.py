"""
Divergence and curl of a field
==============================

The vector derivative of a field is one multivector: its scalar part is the divergence, its bivector part the curl.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy

import clifford_rand as cr

alg = cr.Algebra(2)
x = sympy.symbols("x y", real=True)
field = sympy.sin(x[1]) * alg.e1 + sympy.cos(x[0]) * sympy.sin(x[0]) * alg.e2
derivative = cr.geometric_derivative(field, x)
divergence, curl = (sympy.lambdify(x, part) for part in (derivative["1"], derivative["e12"]))

X, Y = np.meshgrid(np.linspace(-3, 3, 60), np.linspace(-3, 3, 60))
U, V = np.sin(Y), np.cos(X) * np.sin(X)
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
image = axes.contourf(X, Y, curl(X, Y), levels=20, cmap="RdBu")
axes.streamplot(X, Y, U, V, color="black", linewidth=0.6, density=1.2)
figure.colorbar(image, label="curl, the coefficient of e12")
axes.set(aspect="equal", title="A field and its curl")
plt.show()
