"""Calculus on multivectors: linear maps, coordinates with the vector derivative in them, integrals over simplices."""
