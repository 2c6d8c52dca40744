"""Exact proofs of certificates: rational dual points and witnesses, for a checker that shares no code with them."""
