"""Models of Euclidean geometry on an algebra: `pga` (projective, planes are vectors) and `cga` (conformal)."""
