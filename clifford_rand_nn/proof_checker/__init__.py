"""Checker of optimality proofs: it uses the standard library alone and shares no code with the library."""
