"""The squared loss over a kernel for many rows: a factor, conjugate gradients, landmarks, and the choice among them."""
