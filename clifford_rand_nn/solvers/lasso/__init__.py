"""The Lasso over a dictionary: interior points, working sets, the exact path, basic solutions."""
