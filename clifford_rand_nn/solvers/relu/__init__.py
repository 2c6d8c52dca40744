"""The constrained ReLU program: interior points, an augmented Lagrangian, cone decomposition."""
