"""Verdicts on networks that were trained elsewhere: distance to the optimum, and improvement."""
