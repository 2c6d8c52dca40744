"""In how many processes the tests run: one for a few named files; else one a core, each with one BLAS thread."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:  # side by side, threads for all cores only wait for each other
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def pytest_xdist_auto_num_workers(config):
    """Named files are tests at work: to start processes for them takes longer than the tests."""
    named = all(".py" in argument for argument in config.args)
    return 0 if named else None
