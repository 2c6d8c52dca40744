"""Sums over blocks of rows, in memory or in shards: the protocol that every engine runs, and targets of rows."""
