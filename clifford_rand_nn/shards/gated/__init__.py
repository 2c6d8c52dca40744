"""The gated network by accelerated steps, a pass over the shards each."""
