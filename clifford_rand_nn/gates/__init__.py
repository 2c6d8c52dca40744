"""Which hyperplanes gate the neurons: cross products of samples, sketched or exact, or Gaussian."""
