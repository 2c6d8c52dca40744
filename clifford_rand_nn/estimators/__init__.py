"""The scikit-learn interface, and verdicts on networks that were trained elsewhere."""
