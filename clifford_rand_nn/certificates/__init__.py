"""Certificates of solutions: claims, values, bounds, and exact proofs for a checker that shares no code."""
