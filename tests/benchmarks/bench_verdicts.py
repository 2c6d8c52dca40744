"""Verdicts on trained networks: excess by training method, bounds against longer descents, and polished heads.

    python tests/benchmarks/bench_verdicts.py [--parts certify polish] [--folder FOLDER] [--width 32] [--beta 1e-3]
        [--names imdb mnist01] [--seconds 60]

"certify" trains 30 networks, five ways on six data sets: PyTorch's AdamW for 20 epochs, for 20 epochs with the best of
five rates, and for 2,000 epochs, each without its own decay and with the penalty in the loss, so that it minimizes what
the verdict is about; PyTorch's L-BFGS; and scikit-learn's, without a penalty of biases, as on the moons always. Longer
descents, of L-BFGS in double precision from the network and from two random ones, end at no lower objective than the
bound of networks of any width, nor than the one over patterns unless they left them. A fit of ours is that of
`ConvexReLU` on the same patterns.

"polish" trains heads of PyTorch by AdamW with its own decay on the NPZ files in FOLDER (X (n, d), y in {0, 1}, split
true in training), and prints the objective and the accuracy on the test half before and after.
"""

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import torch
from data import halves
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor
from timing import machine, options, timed
from torch import nn

from clifford_rand_nn import ConvexReLUClassifier, ConvexReLURegressor, certify, polish

RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
METHODS = ("AdamW, 20 epochs", "the same, tuned rate", "AdamW, 2,000 epochs", "L-BFGS", "scikit-learn, L-BFGS")


def data_sets():
    """Return name, standardized rows, targets and loss of six small data sets."""
    rng = np.random.default_rng(0)
    line = rng.uniform(-1, 1, (60, 1))
    yield "sine, d = 1", line, np.sin(4 * line[:, 0]) + 0.2 * rng.standard_normal(60), "squared"
    yield "moons, d = 2", *make_moons(60, noise=0.2, random_state=0), "logistic"
    for load in (load_iris, load_wine, load_breast_cancer, load_diabetes):
        loss = "squared" if load is load_diabetes else "logistic"
        yield load.__name__.removeprefix("load_"), *load(return_X_y=True), loss


def mean_loss(outputs, y, loss):
    if loss == "squared":
        return 0.5 * ((outputs - y) ** 2).sum(dim=1).mean()
    if outputs.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], y.to(outputs.dtype))
    return nn.functional.cross_entropy(outputs, y)


def objective(network, X, y, loss, beta, free):
    """Mean loss and half the squared weights, without the output's bias; without any biases if they are free."""
    W, b, A, _ = network.parameters()
    squares = (W**2).sum() + (A**2).sum() + (0 if free else (b**2).sum())
    return mean_loss(network(X), y, loss) + 0.5 * beta * squares


def new(d, width, outputs, seed, dtype=torch.float32):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(d, width), nn.ReLU(), nn.Linear(width, outputs)).to(dtype)


def adamw(network, X, y, loss, beta, free, epochs, rate, batch=32):
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.0)
    for _ in range(epochs):
        for index in torch.randperm(len(X)).split(batch):
            optimizer.zero_grad()
            objective(network, X[index], y[index], loss, beta, free).backward()
            optimizer.step()
    return network


def lbfgs(network, X, y, loss, beta, free, steps):
    optimizer = torch.optim.LBFGS(network.parameters(), max_iter=steps, line_search_fn="strong_wolfe", history_size=20,
                                  tolerance_grad=1e-9, tolerance_change=1e-12)  # fmt: skip

    def closure():
        optimizer.zero_grad()
        value = objective(network, X, y, loss, beta, free)
        value.backward()
        return value

    optimizer.step(closure)
    return network


def trained(method, X, y, loss, beta, free, width):
    targets = torch.tensor(y[:, None]).float() if loss == "squared" else torch.tensor(y).long()
    tensors = torch.tensor(X, dtype=torch.float32), targets
    outputs = 1 if loss == "squared" or y.max() == 1 else int(y.max()) + 1
    problem = (*tensors, loss, beta, free)
    if method == METHODS[4]:
        kind = MLPRegressor if loss == "squared" else MLPClassifier
        model = kind(hidden_layer_sizes=(width,), alpha=beta * len(X), solver="lbfgs", max_iter=500, random_state=0)
        return model.fit(X, y)
    if method == METHODS[3]:
        return lbfgs(new(X.shape[1], width, outputs, 0), *problem, 500)
    if method == METHODS[1]:
        runs = [adamw(new(X.shape[1], width, outputs, 0), *problem, 20, rate) for rate in RATES]
        return min(runs, key=lambda network: float(objective(network, *problem).detach()))
    return adamw(new(X.shape[1], width, outputs, 0), *problem, 20 if method == METHODS[0] else 2000, 1e-3)


def weights_of(network):
    if isinstance(network, nn.Module):
        return [part.detach().double() for part in network.parameters()]
    (W, A), (b, t) = network.coefs_, network.intercepts_
    return [torch.tensor(part.copy()) for part in (W.T, b, A.T, t)]


def descents(network, X, y, loss, beta, free):
    """Return lowest objectives, after rescaling, and networks, of descents from the network and from random ones."""
    tensors = torch.tensor(X), torch.tensor(y[:, None]) if loss == "squared" else torch.tensor(y).long()
    parts = weights_of(network)
    for seed in range(3):
        start = new(X.shape[1], len(parts[0]), len(parts[2]), seed, torch.float64)
        if seed == 0:
            for parameter, part in zip(start.parameters(), parts, strict=True):
                parameter.data = part.clone()
        descended = lbfgs(start, *tensors, loss, beta, free, 2000)
        yield float(objective(descended, *tensors, loss, beta, free).detach()), descended


def inside(network, gates, X):
    """Whether the neurons that are on somewhere have patterns of the gates."""
    W, b, *_ = (part.detach().numpy() for part in network.parameters())
    on = X @ W.T + b > 0
    known = {column.tobytes() for column in gates.activations(X).T}
    return all(column.tobytes() in known for column in np.ascontiguousarray(on.T) if column.any())


def certify_all(beta, width):
    rows, below, within_below, ratios = {}, 0, 0, []
    for name, X, y, loss in data_sets():
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        y = (y - y.mean()) / y.std() if loss == "squared" else y
        for method in METHODS:
            free = method == METHODS[4] or name.startswith("moons")
            network, bias = trained(method, X, y, loss, beta, free, width), "free" if free else "penalized"
            verdict, seconds, _ = timed(partial(certify, network, X, y, loss=loss, beta=beta, bias=bias))
            lowest, descended = min(descents(network, X, y, loss, beta, free), key=lambda run: run[0])
            within = verdict.patterns or verdict
            members = within.certificate.claim.family.members
            below += lowest < verdict.lower_bound * (1 - 1e-9)
            if lowest < within.lower_bound * (1 - 1e-9):
                within_below += members is None or inside(descended, members, X)
            kind = ConvexReLURegressor if loss == "squared" else ConvexReLUClassifier
            gates = "exhaustive" if members is None else members
            model = kind(gates=gates, beta=beta, loss=loss, bias=bias, max_time=60)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fit = timed(partial(model.fit, X, y))[1]
            ratios.append(seconds / fit)
            rows.setdefault((name, "any width"), []).append(verdict.excess)
            if members is not None:
                rows.setdefault((name, "patterns"), []).append(within.excess)
            print(
                f"{name:13} {method:20} {verdict.objective:9.5f} bound {verdict.lower_bound:9.5f} lowest "
                f"{verdict.best_known_objective:9.5f} descents {lowest:9.5f} {seconds:.1f} s, "
                f"fit {fit:.1f} s; {verdict}", flush=True,
            )  # fmt: skip
    print("\n| data | family |", " | ".join(METHODS), "|")
    for (name, scope), excesses in rows.items():
        print(f"| {name} | {scope} |", " | ".join(f"{100 * excess:.3g} %" for excess in excesses), "|")
    print(f"\nbounds of any width above a descent: {below} of {len(ratios)}; bounds over patterns above a", end="")
    print(f" descent that stayed within them: {within_below}")
    print(f"seconds over those of a fit: median {np.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")


def polish_all(folder, names, beta, width, seconds):
    for name in names or sorted(path.stem for path in Path(folder).glob("*.npz")):
        X, y, new_X, new_y = halves(folder, name)
        mean, scale = X.mean(axis=0), X.std()
        X, new_X = (X - mean) / scale, (new_X - mean) / scale
        network, rows, labels = new(X.shape[1], width, 1, 0), torch.tensor(X).float(), torch.tensor(y).float()
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.01)
        for _ in range(20):
            for index in torch.randperm(len(X)).split(64):
                optimizer.zero_grad()
                nn.functional.binary_cross_entropy_with_logits(network(rows[index])[:, 0], labels[index]).backward()
                optimizer.step()
        result, spent, _ = timed(partial(polish, network, X, y, loss="logistic", beta=beta, max_time=seconds))
        rows = torch.tensor(new_X).float()
        both = [(one(rows)[:, 0] > 0).numpy() for one in (network, result.network)]
        accuracy = [float((positive == (new_y == 1)).mean()) for positive in both]
        print(
            f"| {name} | {result.objective_before:.5f} | {result.objective_after:.5f} | "
            f"{width} → {len(result.network[0].weight)} | "
            f"{accuracy[0]:.4f} | {accuracy[1]:.4f} | {spent:.0f} | {result}", flush=True,
        )  # fmt: skip


def main():
    given = {"parts": ["certify"], "folder": str, "names": ["all"], "beta": 1e-3, "width": 32, "seconds": 60.0}
    args = options(__doc__, **given)
    machine()
    torch.set_num_threads(1)
    if "certify" in args.parts:
        certify_all(args.beta, args.width)
    if "polish" in args.parts:
        polish_all(args.folder, None if args.names == ["all"] else args.names, args.beta, args.width, args.seconds)


if __name__ == "__main__":
    main()
