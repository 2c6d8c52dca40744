"""Rows beyond memory: formats, sums over shards by this process, Dask or torch, and what is trained by them."""
