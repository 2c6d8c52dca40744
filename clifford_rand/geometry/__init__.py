"""What multivectors do to each other: versors, subspaces, frames, linear maps."""
