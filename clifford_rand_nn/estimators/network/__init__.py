"""The tuning-free network as scikit-learn estimators."""
