"""Layers of Clifford-equivariant networks for PyTorch: linear, product, norm and gate, each one weight a grade.

Every layer takes and gives tensors (..., channels, 2^d), coefficients by grade then lexicographically, and commutes
with every orthogonal map of the vectors, reflections included, carried over to all grades. The blocks are those of
D. Ruhe, J. Brandstetter and P. Forré, "Clifford group equivariant neural networks", NeurIPS 2023, section 4.
"""

import math
from typing import Any

import numpy as np

from clifford_rand._checks import check_bool, check_fits, check_instance, check_integer, describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import dense_keys
from clifford_rand.basis.table import product_table
from clifford_rand.errors import require

require("torch", extra="torch", purpose="clifford_rand.layers")

import torch  # noqa: E402  # after the sentence for those who have none
from torch import Tensor, nn  # noqa: E402

SMALLEST = 1e-16  # below the root of a norm's fourth power, so that its gradient is finite at zero


class _OfAlgebra(nn.Module):
    """Base of all layers: the grade and the square of every blade of an orthogonal metric."""

    grade_of: Tensor
    forms: Tensor

    def __init__(self, algebra: Algebra) -> None:
        super().__init__()
        check_instance(algebra, Algebra, "algebra", type(self).__name__, "an algebra")
        if algebra.form.diagonal is None or not algebra.form.is_numeric:
            rule = "an algebra with a diagonal metric of numbers"
            raise fail("algebra", type(self).__name__, rule, describe(repr(algebra)))
        self.algebra = algebra
        keys = dense_keys(algebra.d)
        self.grades, self.size = algebra.d + 1, keys.size
        squares = np.asarray(algebra.form.weight(keys.masks), dtype=np.float64)
        self._hold(grade_of=keys.grade_of.copy(), forms=squares[:, None] * np.eye(self.grades)[keys.grade_of])

    def _hold(self, **arrays: Any) -> None:
        """Hold constants as tensors that move with the layer and are not saved, floats in torch's default precision."""
        for name, array in arrays.items():
            tensor = torch.tensor(array, dtype=torch.get_default_dtype() if array.dtype.kind == "f" else None)
            self.register_buffer(name, tensor, persistent=False)

    def _channels(self, value: object, name: str = "channels", *, numbers: int = 1) -> int:
        """Return a number of channels, of which ``numbers`` weights for each grade are to be held."""
        owner = type(self).__name__
        count = check_integer(value, name, owner, low=1)
        check_fits(8 * count * numbers * self.grades, name, owner)
        return count

    def _squares(self, x: Tensor) -> Tensor:
        """Return ⟨x_k ~x_k⟩_0 of every grade part, (..., channels, d + 1)."""
        return (x * x) @ self.forms

    def _each_blade(self, values: Tensor) -> Tensor:
        """Return values (..., d + 1) of the grades as values (..., 2^d) of their blades."""
        return values.index_select(-1, self.grade_of)


class EquivariantLinear(_OfAlgebra):
    """Σ_c w[o, c, k] ⟨x_c⟩_k: a matrix of channels for each grade, and a bias for the scalars.

    Parameters
    ----------
    algebra : Algebra
    in_channels, out_channels : int
    bias : bool, default=True

    Examples
    --------
    >>> layer = cr.layers.EquivariantLinear(cr.Algebra(3), 4, 2)
    >>> layer(torch.ones(10, 4, 8)).shape, layer.weight.shape
    (torch.Size([10, 2, 8]), torch.Size([2, 4, 4]))
    """

    def __init__(self, algebra: Algebra, in_channels: int, out_channels: int, *, bias: bool = True) -> None:
        super().__init__(algebra)
        bias = check_bool(bias, "bias", "EquivariantLinear")
        n_in = self._channels(in_channels, "in_channels")
        n_out = self._channels(out_channels, "out_channels", numbers=n_in)
        self.weight = nn.Parameter(torch.randn(n_out, n_in, self.grades) / math.sqrt(n_in))
        self.bias = nn.Parameter(torch.zeros(n_out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out_channels, 2^d)."""
        result = torch.einsum("...ik,oik->...ok", x, self._each_blade(self.weight))
        if self.bias is None:
            return result
        return torch.cat([result[..., :1] + self.bias[:, None], result[..., 1:]], dim=-1)


class GradeNorm(_OfAlgebra):
    """x_k / (1 + s(a)(‖x_k‖ - 1)): every grade part with a learned share s(a) ∈ (0, 1) of its norm divided out.

    Examples
    --------
    >>> cr.layers.GradeNorm(cr.Algebra(3), 4)(torch.ones(10, 4, 8)).shape
    torch.Size([10, 4, 8])
    """

    def __init__(self, algebra: Algebra, channels: int) -> None:
        super().__init__(algebra)
        count = self._channels(channels)
        self.share = nn.Parameter(torch.zeros(count, self.grades))

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., channels, 2^d)."""
        norms = (self._squares(x) ** 2 + SMALLEST) ** 0.25
        return x / self._each_blade(1 + torch.sigmoid(self.share) * (norms - 1))


class GradeGate(_OfAlgebra):
    """x_k σ(a_k q_k + b_k), q_0 the scalar and q_k = ⟨x_k ~x_k⟩_0: an activation, one gate a grade and channel.

    Examples
    --------
    >>> cr.layers.GradeGate(cr.Algebra(3), 4)(torch.ones(10, 4, 8)).shape
    torch.Size([10, 4, 8])
    """

    def __init__(self, algebra: Algebra, channels: int) -> None:
        super().__init__(algebra)
        count = self._channels(channels)
        self.slope = nn.Parameter(torch.ones(count, self.grades))
        self.offset = nn.Parameter(torch.zeros(count, self.grades))

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., channels, 2^d)."""
        invariants = torch.cat([x[..., :1], self._squares(x)[..., 1:]], dim=-1)
        return x * self._each_blade(torch.sigmoid(self.slope * invariants + self.offset))


class WeightedProduct(_OfAlgebra):
    """Σ w[c, (r, s, t)] ⟨⟨x_c⟩_r ⟨y_c⟩_s⟩_t: the geometric product of two inputs with a weight for each grade triple.

    Computed as the matrices of x ↦ w-weighted left products, one for each channel and sample, applied to y.

    Examples
    --------
    >>> layer = cr.layers.WeightedProduct(cr.Algebra(3), 4)
    >>> layer(torch.ones(10, 4, 8), torch.ones(10, 4, 8)).shape, layer.weight.shape
    (torch.Size([10, 4, 8]), torch.Size([4, 20]))
    """

    path: Tensor
    place: Tensor
    coef: Tensor

    def __init__(self, algebra: Algebra, channels: int) -> None:
        super().__init__(algebra)
        self.channels = self._channels(channels)
        keys = dense_keys(algebra.d)
        table = product_table(algebra.form, "gp", keys, keys)
        grade = keys.grade_of
        triples = np.stack([grade[table.left], grade[table.right], grade[table.out]], axis=1)
        distinct, path = np.unique(triples, axis=0, return_inverse=True)
        place = table.left.astype(np.int64) * self.size**2 + table.out * self.size + table.right
        self._hold(path=path.ravel(), place=place, coef=table.coef.astype(np.float64))
        self._channels(channels, numbers=len(distinct))
        self.weight = nn.Parameter(torch.randn(self.channels, len(distinct)) / math.sqrt(self.grades))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Return (..., channels, 2^d) of two such inputs."""
        n, batch = self.size, torch.broadcast_shapes(x.shape, y.shape)  # type: ignore[no-untyped-call]
        rows = self.weight.index_select(1, self.path) * self.coef
        tables = rows.new_zeros(self.channels, n**3).index_copy(1, self.place, rows).reshape(self.channels, n, n * n)
        left = x.broadcast_to(batch).reshape(-1, self.channels, n).transpose(0, 1)
        right = y.broadcast_to(batch).reshape(-1, self.channels, n).transpose(0, 1)
        maps = torch.bmm(left, tables).reshape(self.channels, -1, n, n)
        return (maps @ right[..., None])[..., 0].transpose(0, 1).reshape(batch)


class GeometricProductLayer(_OfAlgebra):
    """(linear(x) + w-weighted product of x and norm(linear(x)))/√2: an interaction of every channel with a mix of all.

    Parameters
    ----------
    algebra : Algebra
    channels : int
    normalize : bool, default=True
        Whether a `GradeNorm` keeps the second factor from growing.

    Examples
    --------
    >>> layer = cr.layers.GeometricProductLayer(cr.Algebra(3), 4)
    >>> layer(torch.ones(10, 4, 8)).shape
    torch.Size([10, 4, 8])
    """

    def __init__(self, algebra: Algebra, channels: int, *, normalize: bool = True) -> None:
        super().__init__(algebra)
        normalize = check_bool(normalize, "normalize", "GeometricProductLayer")
        self._channels(channels, numbers=self._channels(channels))
        self.left = EquivariantLinear(algebra, channels, channels)
        self.right = EquivariantLinear(algebra, channels, channels, bias=False)
        self.norm: Any = GradeNorm(algebra, channels) if normalize else nn.Identity()
        self.product = WeightedProduct(algebra, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., channels, 2^d)."""
        product: Tensor = self.product(x, self.norm(self.right(x)))
        mixed: Tensor = self.left(x)
        return (mixed + product) / math.sqrt(2)
