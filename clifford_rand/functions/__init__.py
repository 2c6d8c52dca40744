"""Functions of one multivector: norms, inverses, exponentials, logarithms, roots."""
