"""Explanations of fitted networks by their rows, neurons and columns: `explain`."""
