"""The pictures of the experiments: curves with deviations, variants, panels of gates, films."""
