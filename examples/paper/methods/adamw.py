"""The non-convex network of the paper: fifty ReLU neurons, trained by AdamW. Only here experiments use torch."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from clifford_rand.errors import require
from examples.paper.methods.base import Array, Labels, Model, Snapshot, SteppedMethod

__all__ = ["AdamW"]


class _TorchModel(Model):
    """Weights (m, d), biases (m,), output weights (m,) and its bias, as they were when it was made."""

    def __init__(self, network: Any) -> None:
        first, _, second = network
        self._W, self._b, self._w = (
            part.detach().numpy().astype(np.float64) for part in (first.weight, first.bias, second.weight[0])
        )
        self._c = float(second.bias.detach()[0])

    def decision(self, X: Array) -> Array:
        """Return the logits."""
        return np.asarray(np.maximum(X @ self._W.T + self._b, 0.0) @ self._w + self._c)


class AdamW(SteppedMethod):
    """Two-layer ReLU network with biases, logistic loss, AdamW; the grid is the learning rate.

    As in the paper: 50 neurons, 20 epochs, the last one is taken, learning rates 1e-5 to 1e-2. The batch of 20 rows
    and torch's own weight decay of 0.01 are not in the paper's text.

    Parameters
    ----------
    n_neurons, epochs, batch : int
    weight_decay : float
    rates : tuple of float
        From the smallest, which fits least.
    """

    name = "adamw"
    oracle = True
    library, extra = "torch", "torch"

    def __init__(
        self,
        *,
        n_neurons: int = 50,
        epochs: int = 20,
        batch: int = 20,
        weight_decay: float = 0.01,
        rates: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2),
    ) -> None:
        self.n_neurons, self.epochs, self.batch, self.weight_decay = n_neurons, epochs, batch, weight_decay
        self.grid = rates

    def fit(self, X: Array, y: Labels, value: Any, seed: int) -> Model:
        """Train for all epochs at one learning rate."""
        for snapshot in self.steps(X, y, value, seed):
            model = snapshot.model
        return model

    def steps(self, X: Array, y: Labels, value: Any, seed: int) -> Iterator[Snapshot]:
        """Yield the network after each epoch; epoch 0 is none.

        It runs in one thread: twenty rows are too few to share, and two threads take at least as long, up to ten times
        on a busy machine.
        """
        torch = require("torch", extra=self.extra, purpose="the method adamw")
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield from self._train(torch, X, y, value, seed)
        finally:
            torch.set_num_threads(threads)

    def _train(self, torch: Any, X: Array, y: Labels, rate: float, seed: int) -> Iterator[Snapshot]:
        clock = time.perf_counter()
        rows = torch.as_tensor(np.asarray(X, dtype=np.float32))
        labels = torch.as_tensor(np.asarray(y, dtype=np.float32))
        with torch.random.fork_rng(devices=[]):  # the caller's random state is left as it was
            torch.manual_seed(seed)
            network = torch.nn.Sequential(
                torch.nn.Linear(X.shape[1], self.n_neurons), torch.nn.ReLU(), torch.nn.Linear(self.n_neurons, 1)
            )
        # Shuffling has a generator of its own, as a generator function must not hold the global one between epochs.
        shuffle = torch.Generator().manual_seed(seed)
        loss = torch.nn.BCEWithLogitsLoss()
        optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=self.weight_decay, fused=True)
        seconds = 0.0
        for epoch in range(1, self.epochs + 1):
            order = torch.randperm(len(rows), generator=shuffle)
            for batch in order.split(self.batch):
                optimizer.zero_grad()
                loss(network(rows[batch])[:, 0], labels[batch]).backward()
                optimizer.step()
            model = _TorchModel(network)
            seconds += time.perf_counter() - clock
            yield Snapshot(seconds, epoch, model)
            clock = time.perf_counter()

    def describe(self) -> str:
        """Return the grid and all parameters."""
        return (
            f"{super().describe()}; {self.n_neurons} neurons, {self.epochs} epochs, batch {self.batch}, "
            f"weight decay {self.weight_decay:g}"
        )
