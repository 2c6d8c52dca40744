"""What is fuzzed: each target of `fuzz.targets`, whose promise is named fuzz_ and the target."""

from dataclasses import dataclass

from fuzz.guided import hold
from reliability.promise import Outcome

WHOLE = 1200  # seconds of a whole run


@dataclass(frozen=True)
class Fuzzing:
    """What is promised of a target, and how many inputs its short form tries, the same ones on every machine.

    The whole run tries at least ``least``, in whatever time.
    """

    target: str
    promise: str
    short: int
    least: int = 0

    def run(self, budget):
        least, inputs = (0 if budget.seconds else self.least), (self.short if budget.short else None)
        return Outcome(*hold(self.target, budget.seconds or WHOLE, budget.seed, least=least, inputs=inputs))


_ARGUMENTS = "Every list of arguments is a command that works, or is refused by a sentence and a status of 1 or 2."
_CACHE = "Every vector that a damaged cache of embeddings gives was put in, and what is put in is there; or one error."
_CHECKPOINTS = "A fit goes on from a checkpoint that was changed to the same bits, or it is one error of one line."
_FOLDERS = "All rows that a folder of shards says it has are read, each once; or it is one error of one line."
_MODELS = "Every model file loads as the model it was, or as one that works, or is one error; none takes memory."
_PARSER = "Every text is a multivector, which its own text gives again, or one error of one line."
_TABLES = "Every CSV, TSV, ARFF, NPZ and Parquet file is a table, by blocks of as many rows, or one error of one line."
_TARGETS = (
    Fuzzing("arguments", _ARGUMENTS, 20),
    Fuzzing("cache", _CACHE, 500),
    Fuzzing("checkpoints", _CHECKPOINTS, 100),
    Fuzzing("folders", _FOLDERS, 500),
    Fuzzing("models", _MODELS, 400, least=10**6),
    Fuzzing("parser", _PARSER, 5000),
    Fuzzing("tables", _TABLES, 150),
)
PROMISES = {f"fuzz_{fuzzing.target}": fuzzing for fuzzing in _TARGETS}
