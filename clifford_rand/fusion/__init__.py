"""Functions of multivectors traced once, freed of common terms and zeros, and compiled into one loop over samples."""
