"""Learned gates: the gradients of a network, the frame they make, and how many rounds of it serve."""
