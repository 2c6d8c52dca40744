"""Hyperplanes of neurons: gates by cross products or Gaussian, their patterns, and dictionaries of neurons."""
