"""Fitted models over shards: predictions written beside them, and scores, a block of rows in memory at a time."""
