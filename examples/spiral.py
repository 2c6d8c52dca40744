"""The paper's spiral in a few minutes: networks, tables, decision regions, and films of the regularisation path.

    python examples/spiral.py [FOLDER]

The same as ``clifford-rand experiment spiral --out FOLDER``.
"""

import sys
from pathlib import Path

from clifford_rand_nn.experiments.settings import Settings
from clifford_rand_nn.experiments.spiral import run

if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "spiral-results"
    for path in run(Settings(Path(folder), command=f"python examples/spiral.py {folder}")):
        print(f"wrote {path}")
