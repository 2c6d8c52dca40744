"""The gated problem on arrays of any library with the array API, where they are: torch, CuPy, NumPy."""
