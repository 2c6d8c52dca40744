"""Machine code of straight-line functions of samples: written in LLVM's language, compiled, and kept on the disk."""
