"""Pictures: decision regions, curves with deviations, animations. The only folder that uses matplotlib."""

from clifford_rand_nn.plots.regions import plot_decision_regions, save_figure, spiral_figure

__all__ = ["plot_decision_regions", "save_figure", "spiral_figure"]
