"""Pricing: the neuron that violates the dual constraint most, over a dictionary, all neurons, or given patterns."""
