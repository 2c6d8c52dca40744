"""Gated networks with infinitely many gates: their kernel, every beta by leave-one-out, probabilities and intervals."""
