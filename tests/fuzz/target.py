"""What a fuzzing target is: seeds, its own mutations, one run, and the memory that an input may take."""

import shutil

from clifford_rand.errors import ArgumentError


class Target:
    """One thing that reads input from elsewhere.

    `run` returns a word for what came of an input (it is counted), raises one of `refusals` where it was refused, and
    anything else for a fault. `mutated` returns an input and what is known of it, which `run` is given: whatever the
    target can compare with, such as the model of the file that was damaged; None where nothing is known.
    """

    refusals: tuple = (ArgumentError,)
    seconds = 2.0  # of CPU time for one input
    random = 0.2  # part of the mutations that is libFuzzer's own, which knows what bytes were compared with
    constant = 2**20  # bytes that reading may take whatever the size of the input

    def prepare(self, folder):
        """Keep a folder of the target's own."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder

    def seeds(self):
        raise NotImplementedError

    def mutated(self, data, rng):
        raise NotImplementedError

    def run(self, data, known):
        raise NotImplementedError

    def allowed(self, data):
        """Return how many bytes of memory an input may take: twice its own size beyond a constant."""
        return 2 * len(data) + self.constant
