"""Numba kernels: arrays in, arrays out; nothing compiles before the first call."""
