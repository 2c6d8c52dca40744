"""A product layer, forward and backward, beside the same layer by einsum on the table in plain torch.

    python tests/benchmarks/bench_layers.py [--samples 8192] [--channels 64]

Runs on the processor, and on a GPU where torch sees one; float32, medians of runs in turn.
"""

import sys

import numpy as np
import torch
from timing import hold, machine, options, report, timed

import clifford_rand as cr
from clifford_rand.basis.keys import dense_keys
from clifford_rand.basis.table import product_table


class Reference(torch.nn.Module):
    """Σ_ij w[c, path(i, j, k)] T[i, k, j] x_i y_j by one einsum, as published networks write it."""

    def __init__(self, layer):
        super().__init__()
        keys = dense_keys(layer.algebra.d)
        table = product_table(layer.algebra.form, "gp", keys, keys)
        paths = torch.zeros(layer.weight.shape[1], keys.size, keys.size, keys.size)
        rows = zip(table.left, table.out, table.right, table.coef, layer.path.tolist(), strict=True)
        for i, k, j, coef, path in rows:
            paths[path, i, k, j] = float(coef)
        self.register_buffer("paths", paths)
        self.weight = torch.nn.Parameter(layer.weight.detach().clone())

    def forward(self, x, y):
        table = torch.einsum("cp,pikj->cikj", self.weight, self.paths)
        return torch.einsum("nci,cikj,ncj->nck", x, table, y)


def step(layer, x, y, wait):
    """Seconds, of the clock and of the processor, of one forward and backward pass."""
    for tensor in (x, y, *layer.parameters()):
        tensor.grad = None
    wait()
    return timed(lambda: (layer(x, y).square().sum().backward(), wait()))[1:]


def main():
    args = options(__doc__, samples=8192, channels=64, repeats=7)
    machine("torch")
    worst = 0.0
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        wait = torch.cuda.synchronize if device == "cuda" else lambda: None
        for name, alg in (("Cl(3)", cr.Algebra(3)), ("PGA(3)", cr.Algebra.pga(3))):
            torch.manual_seed(0)
            samples = args.samples if alg.d == 3 or device == "cuda" else args.samples // 8
            layer = cr.layers.WeightedProduct(alg, args.channels).to(device)
            reference = Reference(layer).to(device)
            x, y = (torch.randn(samples, args.channels, 2**alg.d, device=device).requires_grad_() for _ in range(2))
            with torch.no_grad():
                hold(float((layer(x, y) - reference(x, y)).abs().max()) < 1e-3, "both layers agree")
            rows = [[step(work, x, y, wait) for work in (layer, reference)] for _ in range(args.repeats + 1)][1:]
            (ours, ours_cpu), (theirs, theirs_cpu) = np.median(rows, axis=0)
            worst = max(worst, ours / theirs)
            title = f"{device} {name} {samples} × {args.channels}, forward and backward"
            report(title, ours, "≤ einsum", einsum=theirs)
            print(f"    seconds of the processor: {ours_cpu:.3f}, einsum {theirs_cpu:.3f}")
    return int(worst > 1)


if __name__ == "__main__":
    sys.exit(main())
