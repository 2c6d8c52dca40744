"""Compiled loops over samples: terms of scalars, their Python source, and Numba with a cache on the disk."""
