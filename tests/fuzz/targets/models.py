"""Model files: the golden ones, damaged, or written by hand with checksums that are right."""

import json
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline

from clifford_rand_nn import load_model, save_model
from fuzz.target import Target
from support import golden
from support.archives import crossed, members_of, with_json
from support.damage import damaged_bytes, damaged_directory, damaged_members

COUNTED = (
    *("clifford_rand_nn.model_file", "clifford_rand._files", "clifford_rand_nn.saved"),
    *("clifford_rand_nn.tables.encoder", "clifford_rand_nn.tables.column_readers", "clifford_rand_nn.tables.encodings"),
)
GOLDEN = Path(__file__).parents[2] / "clifford_rand_nn" / "golden"
_FEW = 8  # of so many models that load, one is saved and read again; of a quarter as many, one predicts
_MOST_COLUMNS = 10_000


class Models(Target):
    """A file whose bytes were damaged is refused or is the same model; any that loads predicts, and can be saved."""

    random = 0.8  # these are refused in a tenth of a millisecond, the others read

    def prepare(self, folder):
        super().prepare(folder)
        newest = max(GOLDEN.iterdir(), key=lambda one: int(one.name))
        self.files = {path.stem: path.read_bytes() for path in sorted(newest.glob("*.npz"))}
        self.files.pop("infinite_wide")  # 75 kB of the same
        self.said = json.loads((newest / "values.json").read_text())
        self.members = [members_of(data) for data in self.files.values()]
        self.path = folder / "model.npz"
        self.trials = 0

    def seeds(self):
        return list(self.files.values())

    def mutated(self, data, rng):
        kind = rng.integers(10)
        if kind < 3:  # of one change it is known that the model is the same, or refused
            name = str(rng.choice(list(self.files)))
            return (damaged_bytes if kind else damaged_directory)(self.files[name], rng), name
        try:
            if kind < 6:
                return with_json(data, "meta.npy", rng), None
            if kind < 8:
                return crossed(data, self.members, rng), None
            return damaged_members(data, rng), None
        except Exception:  # data are no archive any more
            return damaged_bytes(data or b"PK", rng), None

    def run(self, data, known):
        self.path.write_bytes(data)
        model = load_model(self.path)
        with np.errstate(all="ignore"):
            return self._tried(model, known)

    def _tried(self, model, known):
        if known is not None:
            found, wanted = golden.said(model, golden.new_rows(known)), self.said[known]
            if found.keys() != wanted.keys() or not all(_same(found[one], wanted[one]) for one in found):
                raise AssertionError(f"a damaged {known} loads as another model")
            return "equal"
        repr(model)
        repr(model.certificate_ if hasattr(model, "certificate_") else None)
        self.trials += 1
        if self.trials % (_FEW // 4):
            return "other"
        d = getattr(model, "n_features_in_", 0)
        table = isinstance(getattr(model, "estimator_", model), Pipeline) and hasattr(model, "feature_names_in_")
        if table or d > _MOST_COLUMNS:
            rows = golden.frame(golden.made()[2]) if table else None
        else:
            rows = np.random.default_rng(0).standard_normal((golden.NEW, d))
        if rows is None:
            return "wide"
        found = golden.said(model, rows)
        if len(found["predict"]) != golden.NEW:
            raise AssertionError(f"{golden.NEW} rows, and {len(found['predict'])} predictions")
        if self.trials % _FEW == 0:
            again = self.path.with_name("again.npz")
            save_model(model, again)
            if not np.array_equal(model.predict(rows), load_model(again).predict(rows)):
                raise AssertionError("saved and read again, it is another model")
        return "other"


def _same(found, wanted):
    if np.asarray(found).dtype.kind in "US":
        return np.array_equal(found, wanted)
    return np.allclose(found, wanted, rtol=1e-6, atol=1e-9)


TARGET = Models()
