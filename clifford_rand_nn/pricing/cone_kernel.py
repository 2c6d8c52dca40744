"""The compiled twin of `project_on_cones`."""

from numba import njit

from clifford_rand_nn.pricing.cone_projection import project_on_cones

project_on_cones_compiled = njit(cache=True, nogil=True)(project_on_cones)
