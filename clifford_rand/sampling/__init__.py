"""Random subspaces, and random subsets of the rows of a matrix."""
