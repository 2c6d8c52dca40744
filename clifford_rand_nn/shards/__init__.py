"""Rows beyond memory: sums over shards, run by this process, Dask or torch, and what is trained by them."""
