"""Estimators as plain arrays and values, and back: what `save_model` writes and `load_model` reads."""
