"""Rows that stay where they are, with their triangular factor and orthonormal bases: inner products and angles."""

import math

import numpy as np

from clifford_rand._threads import cached_property
from clifford_rand._typing import Array
from clifford_rand.blades.blocks import Combined, Rows, Solved, Stacked, finite_peaks, moderate, product, triangle
from clifford_rand.blades.gram import log_det
from clifford_rand.blades.rows import LARGEST_GRAM_RTOL, ORDINARY, default_rtol, is_singular

_NEAR = math.cos(0.05)  # from which on sines are needed: an angle θ from its cosine is off by eps/θ
_GOOD = 0.1  # least eigenvalue of a Gram matrix of rows of length 1, from which on nothing but a digit is lost


class FactoredRows:
    """Rows with their triangular factor and an orthonormal basis of their span, computed when first needed.

    Attributes
    ----------
    source : Rows
        As they were given.
    rtol : float or None
        For `is_zero`.
    """

    def __init__(self, source: Rows, rtol: float | None) -> None:
        self.source, self.rtol = source, rtol

    @cached_property
    def scaled(self) -> tuple[Rows, float, Array]:
        """Rows r of ordinary sizes, log with a1∧…∧ak = exp(log) r1∧…∧rk, and the Gram matrix of r."""
        rows, log = self.source, 0.0
        gram = product(rows, rows)
        squares = gram.diagonal()
        if not np.all((squares >= ORDINARY[0]) & (squares <= ORDINARY[1])):
            rows, log = moderate(rows, "factors", "LargeBlade")
            gram = product(rows, rows)
        return rows, log, gram

    @cached_property
    def factor(self) -> tuple[Array, bool]:
        """T with r = T Q, and whether by the Gram matrix."""
        return triangle(self.scaled[0], self.scaled[2].copy())

    @cached_property
    def is_zero(self) -> bool:
        """Whether the rows are dependent."""
        T, by_gram = self.factor
        rtol = default_rtol(len(T), self.source.dtype) if self.rtol is None else self.rtol
        return not (by_gram and rtol <= LARGEST_GRAM_RTOL) and bool(is_singular(T.T, rtol))

    @cached_property
    def frame(self) -> tuple[Rows, Array]:
        """Rows of the subspace and W, so that W rows are orthonormal to a few eps.

        Where the rows are nearly dependent, T⁻¹ rows are orthonormal to eps times their condition, and have another T.
        """
        T, by_gram = self.factor
        rows = self.scaled[0]
        unit = T / np.linalg.norm(T, axis=1, keepdims=True)
        if by_gram and np.linalg.eigvalsh(unit @ unit.T).min(initial=1.0) >= _GOOD:
            return rows, np.asarray(np.linalg.inv(T), dtype=np.float64)
        rows = Solved(T, rows)
        return rows, np.asarray(np.linalg.inv(triangle(rows)[0]), dtype=np.float64)

    def log_inner(self, other: "FactoredRows") -> tuple[float, float]:
        """Return sign and log of |det(a_i · b_j)| for as many rows."""
        (A, log_a, _), (B, log_b, _) = self.scaled, other.scaled
        sign, log, doubtful = log_det(product(A, B))
        if not sign or (doubtful and (self.is_zero or other.is_zero)):
            return 0.0, -math.inf
        return float(sign), float(log) + log_a + log_b

    def cosines(self, other: "FactoredRows") -> Array:
        """Return the products of both orthonormal bases (j, k)."""
        (P, V), (Q, W) = self.frame, other.frame
        return np.asarray(V @ product(P, Q) @ W.T)

    def sines(self, other: "FactoredRows", cosines: Array | None = None) -> tuple[Array, Array]:
        """Return (U, sines): sines of this subspace's directions Uᵀ Q to the other, largest first."""
        cosines = self.cosines(other) if cosines is None else cosines
        (P, V), (Q, W) = self.frame, other.frame
        # the parts of this orthonormal basis that are orthogonal to the other subspace
        outside = Combined(np.concatenate([V, -cosines @ W], axis=1), Stacked(P, Q))
        turn, sine = np.linalg.svd(triangle(outside)[0])[:2]
        return turn, np.minimum(sine, 1.0)

    def principal_angles(self, other: "FactoredRows") -> Array:
        """Return the angles to a subspace that is not smaller, smallest first."""
        products = self.cosines(other)
        cosine = np.minimum(np.linalg.svd(products, compute_uv=False), 1.0)
        angle = np.arccos(cosine)
        near = cosine > _NEAR
        if near.any():
            angle[near] = np.arcsin(self.sines(other, products)[1][::-1])[near]
        return np.asarray(angle)

    def coordinates(self, vectors: Rows) -> Array:
        """Return the products of vectors with the orthonormal basis (n, k)."""
        rows, inverse = self.frame
        products = product(vectors, rows)
        if not np.isfinite(products).all():
            finite_peaks(vectors, "X", "LargeBlade")
        return np.asarray(products @ inverse.T)
