"""Random sketches and what they do to blades and cross products."""
