"""Kernel functions in the span of landmarks (Nyström), by sums over blocks of rows: in memory as in shards."""
