"""A `KernelNetwork` as plain arrays and values, and back."""

from typing import Any

from numpy.typing import NDArray

from clifford_rand_nn.infinite.kernel import GateKernel
from clifford_rand_nn.infinite.network import KernelNetwork
from clifford_rand_nn.infinite.standard import Standardisation
from clifford_rand_nn.saved.parts import agree, number

VERSION = 5
ARRAYS = {
    "kernel_rows": "f2",
    "kernel_mean": "f1",
    "kernel_rate": "f1",
    "kernel_frame": "f2",
    "kernel_angle": "f2",
    "kernel_alpha": "f2",
    "kernel_intercept": "f1",
}


def pack_network(arrays: dict[str, NDArray[Any]], network: KernelNetwork) -> dict[str, Any]:
    """Add the arrays of a network, as they lie in memory, and return the rest of it."""
    standard, kernel = network.standard, network.kernel
    arrays |= {"kernel_rows": network.rows, "kernel_mean": standard.mean, "kernel_rate": standard.rate}
    arrays |= {"kernel_alpha": network.alpha, "kernel_intercept": network.intercept}
    arrays |= {f"kernel_{name}": part for name in ("frame", "angle") if (part := getattr(kernel, name)) is not None}
    return {"bias": float(kernel.bias), "bound": float(standard.bound)}


def read_network(arrays: dict[str, NDArray[Any]], told: dict[str, Any], d: int) -> KernelNetwork:
    """Return the network of arrays and values."""
    frame, angle = arrays.get("kernel_frame"), arrays.get("kernel_angle")
    kernel, bound = GateKernel(number(told["bias"]), frame, angle), number(told["bound"])
    agree(bound >= 0, "the standardisation")
    standard = Standardisation(arrays["kernel_mean"], arrays["kernel_rate"], bound)
    network = KernelNetwork(standard, kernel, arrays["kernel_rows"], arrays["kernel_alpha"], arrays["kernel_intercept"])
    agree(network.d == d and network.alpha.size > 0)
    agree(frame is None or len(frame) == d, "the frame does not fit the rows")
    r = (d if frame is None else frame.shape[1]) + (kernel.bias > 0)
    agree(angle is None or len(angle) == r, "the angle does not fit the frame")
    return network
