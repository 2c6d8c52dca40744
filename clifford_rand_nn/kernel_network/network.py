"""A gated network with infinitely many gates, by the rows that it was trained on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from clifford_rand._checks import as_real, check_array, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array
from clifford_rand_nn.export.methods import Exported
from clifford_rand_nn.export.program import Program, Value, apply, constant, rows
from clifford_rand_nn.kernel_network.kernel_functions import slope_factors
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel, StatedKernel
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles, LandmarkSpan
from clifford_rand_nn.kernel_network.standardization import RowSpan, Standardization
from clifford_rand_nn.rounding import rounding_of_form

_BLOCK = 2**19  # entries of a block of the kernel matrix: 4 MB, within a cache
_COLUMNS = 512  # of a product with the kernel matrix, which is read once for all of them


class Slopes:
    r"""Slopes :math:`\nabla_zf_c` of :math:`f_c=\sum_j\alpha_{jc}K(\cdot,z_j)`, at features (m, r) of rows."""

    def __init__(self, z: NDArray[np.floating], alpha: NDArray[np.floating]) -> None:
        self._z, self._alpha, self._lengths = z, alpha, np.linalg.norm(z, axis=1)

    def of_outputs(self, at: NDArray[np.floating]) -> Iterator[tuple[slice, slice, NDArray[np.floating]]]:
        """Yield some rows, some outputs and their slopes (k, c, r)."""
        z, alpha = self._z, self._alpha
        each = max(1, _COLUMNS // z.shape[1])
        for part, factors, back in self._blocks(at):
            for c in range(0, alpha.shape[1], each):
                taken = slice(c, c + each)
                slopes = factors @ (alpha[:, taken, None] * z[:, None, :]).reshape(len(z), -1)
                own = at[part, None, :]
                yield part, taken, slopes.reshape(len(own), -1, z.shape[1]) + back[:, taken, None] * own

    def outer_product(self, at: NDArray[np.floating], root: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the sum (r, r) of outer products of slopes, each with the square of its row's ``root`` as a weight."""
        z, alpha, (n, r) = self._z, self._alpha, self._z.shape
        outer = np.zeros((r, r), dtype=z.dtype)
        if n + 2 * r >= 2 * alpha.shape[1] * r:
            for part, _, slopes in self.of_outputs(at):
                slopes *= root[part, None, None]
                slopes = slopes.reshape(-1, r)
                outer += slopes.T @ slopes
            return outer
        pairs = np.zeros((n, n), dtype=z.dtype)  # PᵀP, which takes less work of many outputs
        for part, factors, back in self._blocks(at):
            own = at[part]
            factors *= root[part, None]
            back *= root[part, None]
            pairs += factors.T @ factors
            factors *= back @ alpha.T
            mixed = (factors @ z).T @ own
            outer += mixed + mixed.T + (own * np.einsum("ic,ic->i", back, back)[:, None]).T @ own
        return np.asarray(outer + z.T @ ((pairs * (alpha @ alpha.T)) @ z))

    def _blocks(self, at: NDArray[np.floating]) -> Iterator[tuple[slice, Any, Any]]:
        """Yield some rows with factors (k, n) of z_j, and (k, C) of their own z."""
        size = max(1, _BLOCK // len(self._z))
        for part in (slice(start, start + size) for start in range(0, len(at), size)):
            turn = at[part] @ self._z.T
            cosines = turn.copy()
            share, inverse = slope_factors(turn, cosines, np.linalg.norm(at[part], axis=1), self._lengths)
            share += turn
            yield part, share, (cosines @ self._alpha) * -inverse[:, None]


class KernelSlopes(NamedTuple):
    r"""The linear functions :math:`f_c(x)=\mathrm{constant}_c+\mathrm{columns}_c\cdot x` that hold at some rows."""

    columns: Array  # (m, C, d), the gradient by the columns, as the kernel takes them
    constant: Array  # (m, C), what the constant feature gives, c times the gradient by it; without the intercept


def kernel_slopes(
    kernel: GateKernel, rows: NDArray[np.floating], alpha: Array, at: NDArray[np.floating]
) -> KernelSlopes:
    r"""Return the gradients of :math:`f_c(x)=\sum_j\alpha_{jc}K(x,x_j)` at rows ``at`` (m, d), K without steps.

    The formula is that of `gradient_outer_product`. As :math:`K(sz,z')=sK(z,z')` for s > 0, Euler's identity makes f
    the sum of its slopes: :math:`f_c(x)=\nabla_zf_c\cdot z`, exactly, for the features z of x. Where x is parallel to a
    row of the network the kernel has a kink; the mean of the slopes on its two sides is taken, for which this holds.
    """
    z = np.asarray(kernel.features(rows), dtype=np.float64)
    points = np.asarray(kernel.features(at), dtype=np.float64)
    gradients = np.empty((len(points), alpha.shape[1], z.shape[1]))
    for part, taken, slopes in Slopes(z, alpha).of_outputs(points):
        gradients[part, taken] = slopes
    constant = np.zeros(gradients.shape[:2])
    if kernel.bias:  # the last feature is constant: its slope is the offset of the linear piece
        constant = kernel.bias * gradients[:, :, -1]
        gradients = gradients[:, :, :-1]
    return KernelSlopes(gradients if kernel.frame is None else gradients @ kernel.frame.T, constant)


class StepParts(NamedTuple):
    """The part of a network that its kernel has for ``steps``, at some rows, by columns."""

    base: Array  # (C,), at the reference
    changes: Array  # (m, C, d), by column, from the reference to a row: with ``base`` they add up to the part
    slopes: Array  # (2, m, C, d), by the level, below and above, which at the level of a row of the network are two


def step_parts(kernel: GateKernel, rows: Array, alpha: Array, at: Array, reference: Array) -> StepParts:
    r"""Return how columns share :math:`s\sum_i\alpha_{ic}k(D_i)`, :math:`k(D)=1-D` or, of boxes, :math:`e^{-D}`.

    :math:`D_i=\sum_j|v_j-v_{ij}|` are the distances of levels from those of row i of the network. On the straight line
    from the distances :math:`A_{ij}` of the reference to those :math:`B_{ij}` of a row, column j changes the part by

    .. math:: s\sum_i\alpha_{ic}\,\frac{k(B_i)-k(A_i)}{A_i-B_i}\,(A_{ij}-B_{ij}),

    its share by Aumann and Shapley ("Values of non-atomic games", 1974). Of gates in single columns, where the quotient
    is 1, it is the change of a function of column j alone.

    ``rows`` (n, width), ``alpha`` (n, C), ``at`` (m, width), ``reference`` (width,), as the kernel takes them.
    """
    own, levels, origin = (kernel.parts(part)[1] for part in (rows, at, reference[None]))
    rates = kernel.level_rates(own.shape[1])
    before, after = np.abs(origin - own).sum(axis=1), cdist(levels, own, "cityblock")
    ones = np.ones_like(after)
    quotient, near, base = ones, ones, 1 - before
    if kernel.decay:
        near, base, closer = np.exp(-after), np.exp(-before), before - after
        quotient = base * np.divide(np.expm1(closer), closer, out=ones, where=closer != 0)
    changes = np.empty((len(levels), alpha.shape[1], own.shape[1]))
    slopes = np.empty((2, *changes.shape))
    for j in range(own.shape[1]):
        apart = levels[:, j, None] - own[:, j]
        changes[:, :, j] = (quotient * (np.abs(origin[0, j] - own[:, j]) - np.abs(apart))) @ alpha
        slopes[0, :, :, j] = rates[j] * ((near * np.where(apart > 0, -1.0, 1.0)) @ alpha)
        slopes[1, :, :, j] = rates[j] * ((near * np.where(apart < 0, 1.0, -1.0)) @ alpha)
    return StepParts(kernel.steps * (base @ alpha), kernel.steps * changes, kernel.steps * slopes)


class StatedNetwork(NamedTuple):
    """Outputs (n, C), half the squared norm, and the kernel that both are made of, as operations of a program."""

    outputs: Value
    penalty: Value
    kernel: StatedKernel


@dataclass(frozen=True, eq=False)
class KernelNetwork(Exported):
    r"""The function :math:`f(x)=\sum_iK(x',x_i')\,\alpha_i+t`, where x' is x as `Standardization` makes it.

    It is a two-layer gated network: with gates g of the kernel's distribution and z the row with its constant feature,
    :math:`f(x)=E_g[1(g\cdot z\ge0)\,z\cdot U(g)]+t` with :math:`U(g)=\sum_i1(g\cdot z_i\ge0)\,z_i\alpha_i^T`, and
    :math:`||f||_K^2=E_g||U(g)||_F^2`.

    Raises ArgumentError: the arrays do not fit each other.
    """

    standard: Standardization | RowSpan  # what brings rows of d columns to those of the kernel
    kernel: GateKernel
    rows: Array  # (n, width of standard), training rows, as ``standard`` makes them
    alpha: Array  # (n, C)
    intercept: Array  # (C,)

    def __post_init__(self) -> None:
        owner = "KernelNetwork"
        n = len(check_array(self.rows, "rows", owner, (None, self.standard.width)))
        outputs = check_array(self.alpha, "alpha", owner, (n, None)).shape[1]
        check_array(self.intercept, "intercept", owner, (outputs,))
        for name in ("mean", "rate"):
            check_array(getattr(self.standard, name), f"standard.{name}", owner, (self.d,))
        if isinstance(self.standard, Standardization) and self.standard.knots is not None:
            k = len(check_array(self.standard.knots, "standard.knots", owner, (None, self.d)))
            for name in ("scores", "levels"):
                if getattr(self.standard, name) is not None:
                    check_array(getattr(self.standard, name), f"standard.{name}", owner, (k, self.d))

    def __repr__(self) -> str:
        shape = f"d={self.d}, rows={len(self.rows)}, outputs={len(self.intercept)}"
        return f"KernelNetwork({shape}, standard={type(self.standard).__name__}, kernel={self.kernel!r})"

    @cached_property
    def _tiles(self) -> KernelTiles:
        """The features and lengths of the rows, which take longer than the outputs of one new row."""
        return KernelTiles(self.kernel, self.rows)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_tiles"}

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.standard.mean)

    def predict(self, X: Any) -> Array:
        """Return the outputs for rows X (n, d), before labels: (n,), or (n, outputs) if there are several."""
        out = self.outputs(X)
        return out[:, 0] if out.shape[1] == 1 else out

    def outputs(self, X: Any) -> Array:
        """Return the outputs (n, C) of rows X (n, d), a tile of the kernel matrix at a time; CSR for a `RowSpan`."""
        return self.combined(X, self.alpha) + self.intercept

    def combined(self, X: Any, coefficients: Array) -> Array:
        r"""Return :math:`\sum_iK(x',x_i')\,a_i`, (n, k), of rows X (n, d) for coefficients a (rows, k)."""
        if not (issparse(X) and isinstance(self.standard, RowSpan)):
            X = as_real(X, "X", "KernelNetwork.predict")
        if X.ndim != 2 or X.shape[1] != self.d:
            raise fail("X", "KernelNetwork.predict", f"of shape (n, {self.d})", describe(f"shape {X.shape}"))
        return self._tiles.multiply_from(self.standard.rows(X), coefficients)

    @property
    def entries(self) -> int:
        """Number of entries, for each row, of the widest array of `stated`."""
        return len(self.rows) * (self.d if self.kernel.steps else 1)

    def penalty(self) -> float:
        r"""Return :math:`\frac12||f||_K^2`, summed over the outputs."""
        return self._half_square(self.rows, self.alpha)

    def dual_penalty(self, X: Any, theta: Array, landmarks: bool = False) -> float:
        r"""Return :math:`\frac12\sum_c\theta_c^TK\theta_c` for rows X (n, d) and theta (n, C), and no less by rounding.

        With ``landmarks`` K is what the network's own rows Z span of it, :math:`K_{nZ}K_{ZZ}^{-1}K_{Zn}`.
        """
        rows = self.standard.rows(X)
        diagonal = self.kernel.diagonal(rows)
        if not landmarks:
            return self._half_square(rows, theta) + 0.5 * float(rounding_of_form(diagonal, theta).sum())
        span = LandmarkSpan(self.kernel, self.rows)
        w = span.whitened(KernelTiles(self.kernel, rows).multiply_from(self.rows, theta))
        return 0.5 * float((w**2).sum() + span.rounding_of_form(w, np.sqrt(diagonal) @ np.abs(theta)).sum())

    def stated(self, X: Value) -> "StatedNetwork":
        """Return the network as operations of a program; alpha and the intercept are what was solved for."""
        kernel = self.kernel.stated(self.standard.stated(X), self.rows)
        alpha = constant(self.alpha, "alpha", trained=True)
        outputs = kernel.matrix @ alpha + constant(self.intercept, "intercept", trained=True)
        return StatedNetwork(outputs.named("outputs"), 0.5 * apply("total", alpha * (kernel.gram @ alpha)), kernel)

    def _program(self, coverage: float | None) -> Program:
        outputs, penalty, _ = self.stated(rows())
        results = {"predict": apply("first", outputs) if len(self.intercept) == 1 else outputs}
        return Program("KernelNetwork", self.d, results, penalty, width=self.entries)

    def _half_square(self, rows: Array, theta: Array) -> float:
        return 0.5 * float(np.sum(theta * KernelTiles(self.kernel, rows).multiply(theta)))
