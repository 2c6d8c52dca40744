"""The network without knobs as scikit-learn estimators."""
