"""python -m proof_checker proof.json, in the folder that holds this one."""

import sys

from .report import main

sys.exit(main(sys.argv[1:]))
