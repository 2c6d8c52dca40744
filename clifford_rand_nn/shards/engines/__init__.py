"""Who runs the sums over rows."""
