"""Rows and targets scaled near 1 by powers of four, targets centered by an exact offset, and results mapped back."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.gates.dictionary import CrossProductDictionary
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.kernel_network.leave_one_out import KernelFit
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import RowSpan, Standardization
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.pricing.moments import Multipliers
from clifford_rand_nn.problems.duality import exact_offsets
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.problems.lasso import Weights
from clifford_rand_nn.problems.relu import ReLUCoefficients
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.sparse_rows import ldexp_rows

# Within 2^±40 (1e±12) data are not rescaled: their squares, and products of these, are far from overflow even in
# single precision.
_PLAIN = 40
_WEIGHTS = 1000  # exponent of weights, between which they keep enough digits
_LARGEST = 511  # exponent of targets whose squares can be held


class Units(NamedTuple):
    r"""Units of rows and targets, :math:`2^x` and :math:`2^y` with even x and y, and the offset o of the targets.

    A network of the data in these units, :math:`f'(x') = (f(2^xx')-o)/2^y`, has weights :math:`U' = 2^{x-y}U`, biases
    :math:`b' = 2^{-y}b` and the intercept :math:`t' = 2^{-y}(t-o)`; its objective for :math:`\beta' = 2^{-x-y}\beta`
    (with squared norms :math:`2^{-2x}\beta`) is :math:`2^{-2y}` times that of f. For labels y is 0. Everything is exact
    but for what leaves the range of float64, and for the rounding of t = t' + o.

    Attributes
    ----------
    x, y : int
    offset : tuple of float
        One for each output, or () where none has one. Only with a free intercept, which makes the problem invariant to
        it. Every difference of a target and its offset is exact.
    """

    x: int
    y: int
    offset: tuple[float, ...] = ()

    @classmethod
    def of(cls, X: Any, targets: Array | None, owner: str, intercept: bool = False) -> "Units":
        """Return units in which the largest entries are near 1, and with a free intercept the range of the targets.

        They are (0, 0) where the data need none; ``targets=None`` for labels. Raises ArgumentError if squares of the
        targets, of which the objective is made, or weights of the network, of the size of targets over rows, are beyond
        float64.
        """
        x, y = _even_exponent(X), 0 if targets is None else _even_exponent(targets)
        offset = exact_offsets(targets) if intercept and targets is not None and y <= _LARGEST else ()
        y = _even_exponent(targets - np.array(offset)) if targets is not None and offset else y
        if y > _LARGEST:
            size = describe(f"entries up to {np.abs(np.asarray(targets)).max():.1e}")
            raise fail("y", owner, "of a size whose squares float64 can hold, up to 1e154", size)
        if abs(y - x) > _WEIGHTS:
            size = describe(f"rows of size {2.0**x:.1e} and targets of size {2.0**y:.1e}")
            raise fail("X", owner, "of a size that leaves the weights y/X within float64", size)
        return cls(x, y, offset) if max(abs(x), abs(y)) > _PLAIN else cls(0, 0, offset)

    @property
    def plain(self) -> bool:
        """Whether data are not rescaled."""
        return self == (0, 0, ())

    def rows(self, X: Any) -> Any:
        """Return rows in these units, dense or CSR."""
        return ldexp_rows(X, -self.x)

    def targets(self, y: Any) -> Any:
        """Return targets (n, C), or (n,) of one output, in these units."""
        return np.ldexp(y - self.offset if self.offset else y, -self.y)

    def beta(self, beta: float, squared: bool, owner: str) -> float:
        """Return beta in these units."""
        with np.errstate(over="ignore", under="ignore"):
            scaled = float(np.ldexp(beta, -2 * self.x if squared else -self.x - self.y))
        if not 0 < scaled < np.inf:
            size = describe(f"{beta:.2g} for rows of size {2.0**self.x:.1e}, targets of size {2.0**self.y:.1e}")
            raise fail("beta", owner, "a number > 0 in the scale of the data", size, "Bring X and y to usual sizes.")
        return scaled

    def inverse(self) -> "Units":
        """Return the units that bring things from the data to these."""
        return Units(-self.x, -self.y, tuple(-float(np.ldexp(offset, -self.y)) for offset in self.offset))

    def level(self, value: Any) -> Any:
        """Return intercepts or predictions (…, C) in these units, or a number of one output, for the original data.

        A difference t - o is exact again for the t that is stored, as o has few digits (`exact_offsets`).
        """
        scaled = np.ldexp(value, self.y)
        return scaled + (self.offset if np.ndim(value) else self.offset[0]) if self.offset else scaled

    def back(self, value: Any) -> Any:
        """Return what was found in these units for the data as they are: networks and all that is made of them."""
        slope, bias = self.y - self.x, self.y
        match value:
            case Coefficients(coef, gate_intercept, intercept):
                return Coefficients(np.ldexp(coef, slope), np.ldexp(gate_intercept, bias), self.level(intercept))
            case ReLUCoefficients():
                scaled = {name: slope if name.startswith("coef") else bias for name in value._fields}
                arrays = {name: np.ldexp(getattr(value, name), by) for name, by in scaled.items()}
                return ReLUCoefficients(**arrays | {"intercept": self.level(value.intercept)})
            case Weights(columns, values, intercept):
                return Weights(columns, np.ldexp(values, slope), self.level(intercept))
            case WeightedNeurons(neurons, values, intercept):
                return WeightedNeurons(self.back(neurons), np.ldexp(values, slope), self.level(intercept))
            case Neurons() | Gates():  # directions of length 1
                return replace(value, offsets=np.ldexp(value.offsets, self.x))
            case TwoLayerNetwork():  # balanced: both layers take half of the slope
                half, gates = slope // 2, value.gates
                return replace(
                    value,
                    W1=np.ldexp(value.W1, half),
                    b1=np.ldexp(value.b1, bias - half),
                    w2=np.ldexp(value.w2, half),
                    b2=self.level(value.b2),
                    gates=None if gates is None else self.back(gates),
                )
            case RowSpan() | CrossProductDictionary():
                return value.scaled(self.x)
            case Standardization(mean, rate, knots=knots):
                knots = None if knots is None else np.ldexp(knots, self.x)
                return value._replace(mean=np.ldexp(mean, self.x), rate=np.ldexp(rate, -self.x), knots=knots)
            case KernelNetwork(standard=standard):
                return replace(
                    value,
                    standard=self.back(standard),
                    alpha=np.ldexp(value.alpha, self.y),
                    intercept=self.level(value.intercept),
                )
            case KernelFit(alpha, intercept):
                return KernelFit(np.ldexp(alpha, self.y), self.level(intercept))
            case Family():
                members = None if value.members is None else self.back(value.members)
                return replace(value, members=members, feature=self.back(value.feature))
            case Result():
                return replace(
                    value,
                    objective=self.square(value.objective),
                    duality_gap=self.square(value.duality_gap),
                    history=tuple(row._replace(objective=self.square(row.objective)) for row in value.history),
                    coefficients=self.back(value.coefficients),
                    fitted=self.level(value.fitted),
                    dual_point=np.ldexp(value.dual_point, bias),
                )
            case bool() | None | Multipliers():  # of rows and directions of length 1
                return value
            case float():  # a feature beside the columns of the rows
                return float(np.ldexp(value, self.x))
            case _ if is_dataclass(value) and not isinstance(value, type):  # a claim: what it is made of
                return replace(value, **{field.name: self.back(getattr(value, field.name)) for field in fields(value)})
            case _:
                raise TypeError(f"{type(value).__name__} has no units")

    def square(self, value: float) -> float:
        """Return an objective, found in these units, for the data as they are."""
        with np.errstate(over="ignore"):  # of targets beyond 1e154
            return float(np.ldexp(value, 2 * self.y))

    def size(self, value: float) -> float:
        """Return a number of the size of targets, given in these units, for the data as they are."""
        return float(np.ldexp(value, self.y))


def _even_exponent(values: Any) -> int:
    """Return the even exponent of two nearest to the largest entry; 0 if all are zero."""
    entries = values.data if issparse(values) else values
    largest = float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))
    return 2 * round(np.log2(largest) / 2) if largest > 0 else 0
