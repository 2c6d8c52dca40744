"""One solver, one file; every one takes the same problem and returns the same result."""
