"""Which neuron violates the dual constraint most: over a dictionary, over all neurons, over given patterns."""
