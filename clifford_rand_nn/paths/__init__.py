"""Regularization paths: the optimum for many beta, each warm from the last."""
