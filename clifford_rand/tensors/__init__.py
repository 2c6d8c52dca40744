"""Multivectors whose coefficients are tensors of torch, JAX, CuPy or another library with the array API."""
