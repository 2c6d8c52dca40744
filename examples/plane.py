"""Which activation patterns do random gates find? The plane, where n rows have 2n patterns: tests, waits, a picture.

    python examples/plane.py [FOLDER]

The same as ``clifford-rand experiment plane --out FOLDER``; a minute. The functions behind it can be used alone:
"""

import sys
from pathlib import Path

import numpy as np

from clifford_rand_nn.experiments.chambers import expected_wait, law, uniform_wait
from clifford_rand_nn.experiments.plane import run
from clifford_rand_nn.experiments.settings import Settings

if __name__ == "__main__":
    X = np.random.default_rng(0).standard_normal((20, 2))
    print(
        f"20 rows, 40 patterns: all are seen after {expected_wait(law(X, 'gaussian')):,.0f} Gaussian gates on average,"
    )
    print(f"or after {uniform_wait(20):,.0f} cross products with random sides.")
    folder = sys.argv[1] if len(sys.argv) > 1 else "plane-results"
    for path in run(Settings(Path(folder), command=f"python examples/plane.py {folder}")):
        print(f"wrote {path}")
