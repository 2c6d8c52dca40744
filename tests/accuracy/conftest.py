"""The comparison is no part of the installed library: it is found in the repository, behind what is installed."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)
