"""What SymPy does with coefficients: the only package that imports SymPy, loaded when a symbolic method is called."""
