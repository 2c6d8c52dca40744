"""One more number in every seed: the same tests on other random numbers.

A test draws by ``default_rng(7)``, or passes ``rng=7`` or ``random_state=7``, which the library gives to `default_rng`.
With `shift_seeds` 1 and on, each of these seeds means other numbers, the same ones every time; 0 is what the seed says.
What a test states of a random method then has to hold for the method, not for the seed it was written with.
"""

import subprocess
import sys

import numpy as np

ALL = 50

_plain = np.random.default_rng


def shift_seeds(number):
    """Let `default_rng` draw other numbers for every seed that is given, in this process and those forked from it."""
    np.random.default_rng = _shifted(number) if number else _plain


def _shifted(number):
    def default_rng(seed=None):
        if seed is None or isinstance(seed, np.random.Generator | np.random.BitGenerator | np.random.RandomState):
            return _plain(seed)  # fresh, or drawn from another, which was shifted
        if not isinstance(seed, np.random.SeedSequence):
            seed = np.random.SeedSequence(seed)
        return _plain(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number)))

    return default_rng


def run_seeds(arguments, numbers):
    """Run pytest with ``arguments`` once for each number, in a process each; return those in which a test failed."""
    failed = []
    for number in numbers:
        print(f"== global seed {number}", flush=True)
        if subprocess.run([sys.executable, "-m", "pytest", *arguments, "--global-seed", str(number)]).returncode:
            failed.append(number)
    print(f"== global seeds {numbers[0]} to {numbers[-1]}: " + (f"failed with {failed}" if failed else "all passed"))
    return failed
