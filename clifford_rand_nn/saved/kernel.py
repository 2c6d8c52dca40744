"""A `KernelNetwork` as plain arrays and values, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from clifford_rand_nn.kernel_network.gram_features import RowSpan
from clifford_rand_nn.kernel_network.kernel import GateKernel
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.saved.parts import agree, number

VERSION = 5
SPANNED = 9  # of networks that know rows by their products
ARRAYS = {
    "kernel_rows": "f2",
    "kernel_mean": "f1",
    "kernel_rate": "f1",
    "kernel_frame": "f2",
    "kernel_angle": "f2",
    "kernel_alpha": "f2",
    "kernel_intercept": "f1",
    "span_whiten": "f2",
    "span_base": "f2",
    "span_values": "f1",
    "span_columns": "i1",
    "span_ends": "i1",
}


def pack_network(arrays: dict[str, NDArray[Any]], network: KernelNetwork) -> dict[str, Any]:
    """Add the arrays of a network, as they lie in memory, and return the rest of it."""
    standard, kernel = network.standard, network.kernel
    arrays |= {"kernel_rows": network.rows, "kernel_mean": standard.mean, "kernel_rate": standard.rate}
    arrays |= {"kernel_alpha": network.alpha, "kernel_intercept": network.intercept}
    arrays |= {f"kernel_{name}": part for name in ("frame", "angle") if (part := getattr(kernel, name)) is not None}
    if isinstance(standard, RowSpan):
        base = standard.base
        arrays["span_whiten"] = standard.whiten
        if issparse(base):
            arrays |= {"span_values": base.data, "span_columns": base.indices, "span_ends": base.indptr}
        else:
            arrays["span_base"] = np.asarray(base, dtype=np.float64)
    return {"bias": float(kernel.bias), "bound": float(standard.bound)}


def version(network: KernelNetwork) -> int:
    """Return the least version of the format that can hold a network."""
    return SPANNED if isinstance(network.standard, RowSpan) else VERSION


def read_network(arrays: dict[str, NDArray[Any]], told: dict[str, Any], d: int) -> KernelNetwork:
    """Return the network of arrays and values."""
    frame, angle = arrays.get("kernel_frame"), arrays.get("kernel_angle")
    kernel, bound = GateKernel(number(told["bias"]), frame, angle), number(told["bound"])
    agree(bound >= 0, "the standardization")
    plain = Standardization(arrays["kernel_mean"], arrays["kernel_rate"], bound)
    standard: Standardization | RowSpan = plain
    if "span_whiten" in arrays:
        standard = RowSpan(plain, _base(arrays, d), arrays["span_whiten"])
        agree(standard.base.shape == (len(standard.whiten), d), "the training rows do not fit the network")
    network = KernelNetwork(standard, kernel, arrays["kernel_rows"], arrays["kernel_alpha"], arrays["kernel_intercept"])
    agree(network.d == d and network.alpha.size > 0)
    width = standard.width
    agree(frame is None or len(frame) == width, "the frame does not fit the rows")
    r = (width if frame is None else frame.shape[1]) + (kernel.bias > 0)
    agree(angle is None or len(angle) == r, "the angle does not fit the frame")
    return network


def _base(arrays: dict[str, NDArray[Any]], d: int) -> Any:
    """Return the training rows of a span."""
    if "span_base" in arrays:
        return arrays["span_base"]
    values, columns, ends = (arrays[f"span_{name}"] for name in ("values", "columns", "ends"))
    agree(len(values) == len(columns) and len(ends) > 1 and ends[0] == 0 and ends[-1] == len(values), "the sparse rows")
    agree(bool((np.diff(ends) >= 0).all() and (columns >= 0).all() and (columns < d).all()), "the sparse rows")
    return csr_array((values, columns, ends), shape=(len(ends) - 1, d))
