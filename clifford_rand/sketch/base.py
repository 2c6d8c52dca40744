"""The base of all sketches: shape, transpose, seed, accuracy, products with dense and sparse arrays from both sides."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import (
    as_generator,
    as_real,
    check_dtype,
    check_fits,
    check_integer,
    check_number,
    describe,
    fail,
)

_Map = Callable[[NDArray[Any]], NDArray[Any]]
_SEED_BOUND = 2**63
_MOST_DIMENSIONS = 2**62
_STREAM = 0x536B65746368  # "Sketch"; any number that nobody spawns by chance


class Sketch(ABC):
    """A linear map of shape (r, d) that is applied, not stored as a dense matrix.

    A subclass sets ``shape`` and ``seed``, names its ``_arguments``, and writes two methods on the columns of a matrix;
    ``S @ x``, ``X @ S.T``, ``S.T @ v`` and ``V @ S`` follow, with float32 kept, and so do ``redraw`` and ``repr``.
    NumPy leaves the operators to this class. A SciPy sparse matrix may stand for a dense one; sketches that are sparse
    themselves then give a sparse result, the others a dense one. A data frame decides what ``frame @ S.T`` is, and
    knows nothing of sketches: ``frame.to_numpy() @ S.T``.

    Attributes
    ----------
    shape : (r, d)
    r, d, seed : int
        Rows, columns, and the seed that draws it again, as ``rng``.
    has_exchangeable_rows : bool
        Whether two rows may be exchanged without changing the distribution, so that the second proposition of
        Section 3.3 of arXiv:2406.02806 holds (zero mean at every row that was not sampled, see `sketched_cross`).
    """

    shape: tuple[int, int]
    seed: int
    has_exchangeable_rows: bool = False
    _arguments: tuple[str, ...] = ()  # attributes that the class is called with, beside ``rng``
    __array_ufunc__ = None

    @abstractmethod
    def _apply(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return S x (r, k) for x (d, k), in x's dtype."""

    @abstractmethod
    def _apply_transposed(self, v: NDArray[Any]) -> NDArray[Any]:
        """Return Sᵀ v (d, k) for v (r, k), in v's dtype."""

    def _apply_rows(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return X Sᵀ (n, r) for X (n, d): what `_apply` gives, unless a sketch has a faster way along rows."""
        return self._apply(X.T).T

    def _apply_transposed_rows(self, V: NDArray[Any]) -> NDArray[Any]:
        """Return V S (n, d) for V (n, r)."""
        return self._apply_transposed(V.T).T

    def _dense(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the matrix (r, d), made once for a dtype."""
        kept: dict[Any, NDArray[Any]] = self.__dict__.setdefault("_kept", {})
        if dtype not in kept:
            kept[dtype] = self._drawn_matrix(dtype)
        return kept[dtype]

    def _drawn_matrix(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the matrix (r, d) of a sketch that keeps it."""
        raise NotImplementedError

    def _apply_sparse(self, x: Any) -> Any:
        """Return S x for a sparse x (d, k)."""
        return np.ascontiguousarray(self._apply(x.toarray()))

    def _apply_transposed_sparse(self, v: Any) -> Any:
        """Return Sᵀ v for a sparse v (r, k)."""
        return np.ascontiguousarray(self._apply_transposed(v.toarray()))

    @property
    def T(self) -> "Sketch":
        """The transpose, of shape (d, r)."""
        return _Transposed(self)

    def __matmul__(self, x: Any) -> Any:
        """Return S x for x (d,) or (..., d, k)."""
        if isinstance(x, Sketch):
            return NotImplemented
        owner = f"{self} @ x"
        if is_sparse(x):
            return self._apply_sparse(_sparse_operand(x, "x", owner, 0, self.shape, "{}, k"))
        x = as_real(x, "x", owner, min_ndim=1, finite=False)
        axis = 0 if x.ndim == 1 else x.ndim - 2
        if x.shape[axis] != self.shape[1]:
            rule = f"of shape ({self.shape[1]},) or (..., {self.shape[1]}, k) to fit {self.shape}"
            raise fail("x", owner, rule, describe(f"shape {x.shape}"))
        if x.ndim == 1:
            return _along_last(self._apply_rows, x, self.shape)
        return _along(self._apply, x, axis, self.shape)

    def __rmatmul__(self, X: Any) -> Any:
        """Return X S for X (..., r)."""
        if isinstance(X, Sketch):
            return NotImplemented
        owner = f"X @ {self}"
        if is_sparse(X):
            X = _sparse_operand(X, "X", owner, 1, self.shape[::-1], "n, {}")
            return _transposed(self._apply_transposed_sparse(X.T))
        X = as_real(X, "X", owner, min_ndim=1, finite=False)
        if X.shape[-1] != self.shape[0]:
            rule = f"of shape (..., {self.shape[0]}) to fit {self.shape}"
            raise fail("X", owner, rule, describe(f"shape {X.shape}"))
        return _along_last(self._apply_transposed_rows, X, self.shape[::-1])

    def toarray(self, dtype: np.dtype[Any] | type = np.float64) -> NDArray[Any]:
        """Return the dense matrix (r, d)."""
        r, d = self.shape
        dtype = check_dtype(dtype, "dtype", "toarray", "f")
        check_fits(dtype.itemsize * (r * d + min(r, d) ** 2), "S", "toarray")
        return np.asarray(self @ np.eye(d, dtype=dtype) if d <= r else np.eye(r, dtype=dtype) @ self)

    def redraw(self, *, rng: np.random.Generator | int | None = None) -> "Sketch":
        """Return another sketch of the same kind and size, drawn by ``rng``."""
        if not self._arguments:
            raise fail("S", "redraw", "a sketch that can be drawn again", describe(f"{self}"))
        return type(self)(*(getattr(self, name) for name in self._arguments), rng=rng)  # type: ignore[call-arg]

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={getattr(self, name)}" for name in self._arguments)
        return f"{type(self).__name__}({arguments}, rng={self.seed})"

    def log_minor_constant(self, k: int) -> float:
        r"""Return log c_k, where :math:`\mathbb E \det(A S^T S B^T) = c_k \det(A B^T)` for all A, B of shape (k, d).

        Raises
        ------
        ArgumentError
            If no such c_k is known for this kind of sketch.
        """
        raise fail("S", "log_minor_constant", "a sketch whose expected minors are known", describe(f"{self}"))


def log_falling(r: int, k: int) -> float:
    """Return log of r (r-1) … (r-k+1), -inf for k > r."""
    return math.lgamma(r + 1) - math.lgamma(r - k + 1) if k <= r else -math.inf


def log_minor_of_draws(r: int, k: int) -> float:
    """Return log of r!/((r-k)! r^k), -inf for k > r: of r independent rows of covariance I/r."""
    k = check_integer(k, "k", "log_minor_constant", low=0)
    return log_falling(r, k) - k * math.log(r) if k <= r else -math.inf


def drawn_seed(rng: object, owner: str) -> tuple[int, np.random.Generator]:
    """Return a seed and its generator: ``rng`` itself if it is an integer, else one that ``rng`` draws."""
    generator = as_generator(rng, owner)
    if isinstance(rng, int | np.integer):
        return int(rng), generator
    seed = int(generator.integers(_SEED_BOUND))
    return seed, np.random.default_rng(seed)


def own_stream(seed: int) -> np.random.Generator:
    """Return the generator of a sketch of this seed, apart from ``default_rng(seed)``.

    Data are drawn by ``default_rng(0)`` and sketched with ``rng=0`` all too often; from one stream the sketch would
    have the numbers of the data in it.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM,)))


def redraws(S: Sketch, repeats: int) -> Iterator[Sketch]:
    """Yield ``S`` and ``repeats - 1`` independent sketches of its kind, seeded by its own seed."""
    yield S
    for i in range(1, repeats):
        seed: Any = np.random.SeedSequence(S.seed, spawn_key=(i,))
        yield S.redraw(rng=np.random.default_rng(seed))


def sketch_rows(blocks: Iterable[Any], S: Sketch, /) -> Iterator[Any]:
    """Yield ``block @ S.T`` (m, r) for every block (m, d) of rows: X @ S.T for an X that does not fit in memory.

    Parameters
    ----------
    blocks : iterable of array_like (m, d)
        Dense arrays, memory maps or SciPy sparse matrices; m may vary.
    S : Sketch
        Of shape (r, d).

    Yields
    ------
    ndarray (m, r), or sparse as ``S`` makes it

    Raises
    ------
    ArgumentError
        If ``S`` is not a sketch (at once), or a block does not fit (when its turn comes).

    Examples
    --------
    >>> X, S = np.arange(24.0).reshape(6, 4), cr.SJLT(2, 4, rng=0)
    >>> Y = np.concatenate(list(cr.sketch_rows((X[i : i + 4] for i in (0, 4)), S)))
    >>> np.array_equal(Y, X @ S.T)
    True
    """
    if not isinstance(S, Sketch):
        raise fail("S", "sketch_rows", "a sketch", S)
    transposed = S.T
    if isinstance(blocks, str | bytes) or not isinstance(blocks, Iterable):
        raise fail("blocks", "sketch_rows", "blocks of rows, one after the other", blocks)
    return (transposed.__rmatmul__(block) for block in blocks)  # frames would ask NumPy about ``transposed``


def check_accuracy(k: object, eps: object, delta: object, owner: str) -> tuple[int, float, float]:
    """Return the three numbers of a rule for the number of rows: k ≥ 1, 0 < eps < 1 and 0 < delta < 1.

    Every rule is for (1-ε)|x| ≤ |S x| ≤ (1+ε)|x| for all x of a k-dimensional subspace at once, but with probability δ.
    """
    k = check_integer(k, "k", owner)
    if k > _MOST_DIMENSIONS:
        raise fail("k", owner, "a number of dimensions below 2^62", k)
    rule = "a number between 0 and 1, both excluded, that leaves a number of rows below 1e300"
    eps = check_number(eps, "eps", owner, rule, lambda x: 1e-100 < x < 1)
    delta = check_number(delta, "delta", owner, rule, lambda x: 1e-100 < x < 1)
    return k, eps, delta


def chernoff_exponent(eps: float) -> float:
    """Return the smaller exponent of the two tails of the matrix Chernoff bound (Tropp 2012, Theorem 1.1).

    |S x|² ≤ (1-ε)² = 1 - a and |S x|² ≥ (1+ε)² = 1 + b: exponents a + (1-a) log(1-a) and (1+b) log(1+b) - b.
    """
    a, b = 2 * eps - eps**2, 2 * eps + eps**2
    return min(a + (1 - a) * math.log1p(-a), (1 + b) * math.log1p(b) - b)


def is_sparse(x: object) -> bool:
    """Tell whether ``x`` is a SciPy sparse matrix or array, without importing SciPy."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


class _Transposed(Sketch):
    """The transpose of a sketch."""

    def __init__(self, sketch: Sketch) -> None:
        self._sketch = sketch
        self.shape = sketch.shape[::-1]

    def _apply(self, x: NDArray[Any]) -> NDArray[Any]:
        return self._sketch._apply_transposed(x)

    def _apply_transposed(self, v: NDArray[Any]) -> NDArray[Any]:
        return self._sketch._apply(v)

    def _apply_rows(self, X: NDArray[Any]) -> NDArray[Any]:
        return self._sketch._apply_transposed_rows(X)

    def _apply_transposed_rows(self, V: NDArray[Any]) -> NDArray[Any]:
        return self._sketch._apply_rows(V)

    def _apply_sparse(self, x: Any) -> Any:
        return self._sketch._apply_transposed_sparse(x)

    def _apply_transposed_sparse(self, v: Any) -> Any:
        return self._sketch._apply_sparse(v)

    @property
    def T(self) -> Sketch:
        return self._sketch

    def __repr__(self) -> str:
        return f"{self._sketch!r}.T"


def _sparse_operand(x: Any, name: str, owner: str, axis: int, shape: tuple[int, int], form: str) -> Any:
    """Return a sparse factor in float32 or float64; ``axis`` meets the ``shape`` (rows, columns) of the map."""
    if len(x.shape) != 2 or x.shape[axis] != shape[1]:
        rule = f"of shape ({form.format(shape[1])}) to fit {shape if axis == 0 else shape[::-1]}"
        raise fail(name, owner, rule, describe(f"shape {x.shape}"))
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    if x.dtype not in (np.float32, np.float64):
        raise fail(name, owner, "a matrix of real numbers", describe(f"dtype {x.dtype}"))
    return x


def _transposed(x: Any) -> Any:
    return x.T.tocsr() if is_sparse(x) else np.ascontiguousarray(x.T)


def _along(apply: _Map, x: NDArray[Any], axis: int, shape: tuple[int, int]) -> NDArray[Any]:
    """Apply a map of columns, of ``shape``, along one axis of ``x``; the result is in C order."""
    columns = np.moveaxis(x, axis, 0)
    result = apply(columns.reshape(shape[1], -1)).reshape(shape[0], *columns.shape[1:])
    return np.ascontiguousarray(np.moveaxis(result, 0, axis))


def _along_last(apply: _Map, x: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """Apply a map of rows along the last axis of ``x``."""
    rows = x.reshape(math.prod(x.shape[:-1]), shape[1])
    return np.ascontiguousarray(apply(rows)).reshape(*x.shape[:-1], shape[0])
