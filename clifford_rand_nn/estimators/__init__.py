"""The scikit-learn interface: gates, patterns, problem, solve, decode."""
