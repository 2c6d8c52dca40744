"""Hold a promise of docs/reliability.md.

    python -m tests.reliability                                      the promises there are
    python -m tests.reliability NAME [--short] [--seconds S] [--seed K] [--only COMMAND ...]

Prints the line that stands in docs/reliability.md, with today's date; leaves with 1 and every fault if there are any.
"""

import argparse
import sys
import time
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from reliability import promise


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="?", choices=promise.names(), metavar="NAME")
    parser.add_argument("--short", action="store_true", help="as little as continuous integration tries")
    parser.add_argument("--seconds", type=float, help="how long to try, where a promise is one of time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=(), help="commands, such as predict.csv, kinds of work or cases")
    chosen = parser.parse_args()
    if chosen.name is None:
        for name in promise.names():
            print(f"{name:<16}{promise.sentence(name)}")
        return 0
    began = time.monotonic()
    budget = promise.Budget(chosen.short, chosen.seconds, chosen.seed, tuple(chosen.only))
    outcome = promise.hold(chosen.name, budget)
    print(f"{chosen.name}: {outcome.figure} ({date.today()}, {time.monotonic() - began:.0f} s)")
    for fault in outcome.faults:
        print(f"  fault: {fault}")
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
