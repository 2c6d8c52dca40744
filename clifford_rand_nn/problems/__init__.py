"""The convex programs: linear maps, data fits, penalties; value, gradient, prox, conjugate, gap."""
