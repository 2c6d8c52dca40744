"""Hyperplanes that gate neurons: cross products of samples, sketched or exact, or Gaussian."""
