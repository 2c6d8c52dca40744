"""Checkpoints: states of fits to shards, damaged, or changed with checksums that are right."""

import warnings

import numpy as np

from clifford_rand_nn import ConvexNetworkRegressor, GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.shards.checkpoint import Checkpoint
from clifford_rand_nn.shards.source import Shards
from fuzz.target import Target
from support.archives import crossed, members_of, with_json
from support.damage import damaged_bytes, damaged_directory

COUNTED = (
    *("clifford_rand_nn.shards.checkpoint", "clifford_rand._files", "clifford_rand_nn.estimators.sharded"),
    *("clifford_rand_nn.estimators.network_fit", "clifford_rand_nn.solvers"),
)


class Checkpoints(Target):
    """A checkpoint that was changed, its checksums too, is refused, or it goes on to the same bits."""

    random = 0.3
    seconds = 10.0  # a whole fit of some rows
    constant = 2**26

    def prepare(self, folder):
        super().prepare(folder)
        rng = np.random.default_rng(0)
        X = rng.standard_normal((40, 3))
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        self.shards = Shards([X[:25], X[25:]], [y[:25], y[25:]])
        models = {
            "gated": GatedReLUClassifier(4, beta=1e-2, tol=1e-3, loss="logistic", random_state=0),
            "ridge": GatedReLURegressor(4, beta=1e-2, tol=1e-3, penalty="ridge", random_state=0),
            "default": ConvexNetworkRegressor(max_metric_iter=0),
        }
        self.models, self.files, self.left = [], [], []
        self.path = folder / "state"
        for model in models.values():
            state = folder / "made"
            self.models.append(model)
            self.left.append(self._fitted(model, state))
            self.files.append(state.read_bytes())
            state.unlink()
        self.members = [members_of(data) for data in self.files]

    def _fitted(self, model, path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(self.shards, checkpoint=Checkpoint(path, every=0))
        X = np.random.default_rng(1).standard_normal((5, 3))
        return model.certificate_.objective, model.predict(X).tobytes()

    def seeds(self):
        return [bytes([i]) + data for i, data in enumerate(self.files)]

    def mutated(self, data, rng):
        which = int(rng.integers(len(self.files)))
        if rng.random() < 0.4:
            damaged = (damaged_bytes if rng.random() < 0.7 else damaged_directory)(self.files[which], rng)
            return bytes([which]) + damaged, which
        try:
            body = self.files[which]
            made = with_json(body, "header.npy", rng) if rng.random() < 0.5 else crossed(body, self.members, rng)
            return bytes([which]) + made, which
        except Exception:  # an archive without members
            return bytes([which]), which

    def run(self, data, known):
        if not data:
            return "no input"
        which = data[0] % len(self.models)
        self.path.write_bytes(data[1:])
        with np.errstate(all="ignore"):
            found = self._fitted(self.models[which], self.path)
        if found != self.left[which]:
            raise AssertionError("a checkpoint that was changed goes on to other bits")
        return "equal"


TARGET = Checkpoints()
