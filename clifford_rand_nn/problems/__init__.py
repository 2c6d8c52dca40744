"""The convex programs: losses, linear maps, penalties; value, gradient, prox, conjugate, gap, dual points."""
