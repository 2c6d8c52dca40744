r"""The kernel of infinitely many random gates: what a gated network with squared norms becomes in the limit."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_array, check_number, describe, fail
from clifford_rand._threads import for_each_slice
from clifford_rand._typing import Array
from clifford_rand_nn.export.program import Value, apply, constant, inverse_lengths, matmul_t, where
from clifford_rand_nn.kernel_network.arccos import SAME, arc_of_rows

_LEAST = 64  # rows of a kernel matrix that are worth a thread


class StatedKernel(NamedTuple):
    """The kernel of new rows with given ones, of each new row with itself, and of the given ones, as a program's."""

    matrix: Value
    diagonal: Value
    gram: Value


@dataclass(frozen=True, eq=False)
class GateKernel:
    r"""The gate distribution, and the kernel of a gated network with all of them.

    .. math:: K(x, x') = E_g\big[1(g\cdot z\ge0)\,1(g\cdot z'\ge0)\big]\,z\cdot z' = z\cdot z'\,\frac{\pi-\theta}{2\pi},
              \qquad z = (F^Tx,\ c),\quad \theta = \angle(z, z'),\quad g\sim N(0, I).

    It is the limit of :math:`\frac1m\sum_iD_i\,zz'^T D_i` over m gates, so that `GatedRidgeProblem` on rows z with m
    sampled gates, a weight :math:`\beta` there being m times the one here, nears it at :math:`1/\sqrt m`. This is the
    tangent kernel of the first layer of a ReLU network, and not the arc-cosine kernel of order one.

    ``frame`` (d, r): F; None for the identity. Gates :math:`w\sim N(0, M)` with norms measured by :math:`M^{-1}` are
    :math:`F = M^{1/2}`. ``angle`` (r', k): A, r' = r + 1 with a bias, else r: then the angle is that of :math:`A^Tz`
    and :math:`A^Tz'`, of gates :math:`g\sim N(0, AA^T)`, while norms stay those of z.

    References
    ----------
    Cho, Saul, "Kernel methods for deep learning", NIPS 2009, eq. 6 with n = 0, times z·z'; Dwaraknath, Ergen, Pilanci,
    "Fixing the NTK", NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> K = GateKernel(bias=0.0)(np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]]))
    >>> abs(K).round(3).tolist()  # half the squared length; nothing at right angles or opposite
    [[0.5, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.5]]
    """

    bias: float = 0.0  # c, the constant feature: biases are inside the norm. 0 for none
    frame: Array | None = None
    angle: Array | None = None

    def __post_init__(self) -> None:
        owner = "GateKernel"
        check_number(self.bias, "bias", owner, "a finite number ≥ 0", lambda c: 0 <= c < np.inf)
        for name in ("frame", "angle"):
            if getattr(self, name) is not None:
                check_array(getattr(self, name), name, owner, (None, None))

    def features(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return the rows z of X, (n, r) or with a bias (n, r + 1); in float32 if X and the frame are."""
        rows = as_real(X, "X", "GateKernel")
        if rows.ndim != 2:
            raise fail("X", "GateKernel", "an (n, d) array", describe(f"shape {rows.shape}"))
        if self.frame is not None:
            if rows.shape[1] != len(self.frame):
                raise fail("X", "GateKernel", f"{len(self.frame)} columns", describe(f"{rows.shape[1]}"))
            rows = rows @ self.frame.astype(rows.dtype, copy=False)
        return np.column_stack([rows, np.full(len(rows), self.bias, dtype=rows.dtype)]) if self.bias else rows

    def __call__(self, X: ArrayLike, other: ArrayLike | None = None) -> NDArray[np.floating]:
        """Return the kernel matrix of the rows X (n, d) and those of ``other``, (n, m); of X with itself if None.

        The matrix of X with itself is symmetric, and equal rows have an angle of zero.
        """
        z = self.features(X)
        z2 = z if other is None else self.features(other)
        inner = z @ z2.T  # of one array with itself NumPy makes it symmetric
        if self.angle is None:
            a, b, cosines = z, z2, inner
        else:
            A = self.angle.astype(z.dtype, copy=False)
            a = z @ A
            b = a if other is None else z2 @ A
            cosines = a @ b.T
        lengths, lengths2 = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
        for_each_slice(
            lambda part: arc_of_rows(inner[part], cosines[part], a[part], b, lengths[part], lengths2),
            len(z),
            least=_LEAST,
        )
        return inner

    def diagonal(self, X: ArrayLike) -> Array:
        r"""Return :math:`K(x, x) = ||z||^2/2` of every row, (n,)."""
        z = self.features(X)
        return np.asarray(0.5 * np.einsum("ij,ij->i", z, z), dtype=np.float64)

    def stated(self, x: Value, rows: Array) -> "StatedKernel":
        """Return the kernel of rows x with those of an array (m, d), as operations of a program."""
        z, A = self.features(rows), self.angle
        frame, c = self.frame, self.bias
        r = z.shape[1] - bool(c)
        there = constant(z[:, :r], "rows")
        seen = z if A is None else z @ A
        parts = {} if A is None else {"angle": A[:r], "turned_rows": seen} | ({"angle_bias": c * A[r]} if c else {})
        turn = {name: constant(part, name) for name, part in parts.items()}
        sizes = np.linalg.norm(seen, axis=1)
        rates = constant(np.divide(1, sizes, out=np.zeros_like(sizes), where=sizes > 0), "rates")

        def between(x: Value) -> tuple[Value, Value]:
            inner, squares = matmul_t(x, there), apply("row_sums", x * x)
            if c:
                inner, squares = inner + c**2, squares + c**2
            inner, squares = inner.named("inner"), squares.named("squares")
            cosines, lengths = inner, squares
            if A is not None:
                turned = x @ turn["angle"]
                turned = (turned + turn["angle_bias"] if c else turned).named("turned")
                cosines, lengths = matmul_t(turned, turn["turned_rows"]), apply("row_sums", turned * turned)
            inverse = 1.0 / apply("sqrt", lengths) if c and A is None else inverse_lengths(lengths)
            cosines = (cosines * inverse * rates).named("cosines")
            same = where(apply("abs", cosines) < SAME, cosines, apply("sign", cosines)).named("same")
            share = (apply("arcsin", same) / (2 * math.pi) + 0.25).named("share")
            return (inner * share).named("kernel"), 0.5 * squares

        framed = x if frame is None else (x @ constant(frame, "frame")).named("framed")
        return StatedKernel(*between(framed), between(there)[0])
