"""Losses and what the solvers need of them: value, gradient, prox, conjugate, a dual point."""
