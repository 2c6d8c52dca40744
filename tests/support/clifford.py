"""The products of a Clifford algebra from their definition, in rational arithmetic: an independent reference.

A multivector is an object array of 2^d numbers by mask. The Gram matrix is diagonalized by a rational congruence
G = T D Tᵀ, e_i = Σ_j T_ij f_j; blades go to the orthogonal basis f by minors of T, are multiplied there by reordering
their factors, and go back by minors of T⁻¹.
"""

from fractions import Fraction

import numpy as np


class Reference:
    """The algebra of a Gram matrix of integers and fractions."""

    def __init__(self, gram):
        self.d = d = len(gram)
        self.gram = [[Fraction(value) for value in row] for row in np.asarray(gram, dtype=object)]
        self.size, self.full = 1 << d, (1 << d) - 1
        self.masks = np.arange(self.size)
        self.grade = np.array([mask.bit_count() for mask in range(self.size)])
        change, self.squares = congruence(self.gram)
        self.weight = np.array([plain(self._weight(mask)) for mask in range(self.size)], dtype=object)
        self.sign = np.array([[swaps(a, b) for b in range(self.size)] for a in range(self.size)], dtype=object)
        diagonal = all(change[i][j] == (i == j) for i in range(d) for j in range(d))
        self.there = None if diagonal else self._minors(change)
        self.back = None if diagonal else self._minors(inverse(change))
        self.determinant = self._weight(self.full) * (1 if diagonal else self.there[-1, -1] ** 2)

    def _weight(self, mask):
        product = Fraction(1)
        for i in range(self.d):
            product *= self.squares[i] if mask >> i & 1 else 1
        return product

    def _minors(self, change):
        """Return the matrix whose row S holds the components of the image of e_S."""
        rows = np.full((self.size, self.size), 0, dtype=object)
        rows[0, 0] = 1
        for mask in range(1, self.size):
            i = (mask & -mask).bit_length() - 1
            for other in np.flatnonzero(rows[mask & (mask - 1)]):
                for j in range(self.d):
                    if change[i][j] and not other >> j & 1:
                        term = swaps(1 << j, int(other)) * change[i][j] * rows[mask & (mask - 1), other]
                        rows[mask, other | 1 << j] += term
        return np.array([plain(value) for value in rows.flat], dtype=object).reshape(rows.shape)

    # ---- products

    def parts(self, a, b):
        """Return ⟨⟨a⟩_r ⟨b⟩_s⟩ as an array (d+1, d+1, 2^d), in the orthogonal basis."""
        a, b = (x if self.there is None else x @ self.there for x in (a, b))
        found = np.full((self.d + 1, self.d + 1, self.size), 0, dtype=object)
        held = np.flatnonzero(b != 0)
        for left in np.flatnonzero(a != 0):
            terms = a[left] * b[held] * (self.sign[left, held] * self.weight[left & held])
            found[self.grade[left], self.grade[held], left ^ held] += terms
        return found

    def product(self, a, b, keep=lambda r, s, t: True):
        """Return Σ ⟨⟨a⟩_r ⟨b⟩_s⟩_t over the grades with ``keep(r, s, t)``."""
        parts, every = self.parts(a, b), range(self.d + 1)
        total = np.full(self.size, 0, dtype=object)
        for r in every:
            for s in every:
                kept = np.array([bool(keep(r, s, t)) for t in every])[self.grade]
                total[kept] += parts[r, s, kept]
        return total if self.back is None else total @ self.back

    def wedge(self, a, b):
        return self.product(a, b, lambda r, s, t: t == r + s)

    def signed(self, a, sign):
        """Return a with ``sign(k)`` on grade k."""
        return a * np.array([sign(int(k)) for k in self.grade], dtype=object)

    def reverse(self, a):
        return self.signed(a, lambda k: (-1) ** (k * (k - 1) // 2))

    def blade(self, mask):
        found = np.full(self.size, 0, dtype=object)
        found[mask] = 1
        return found

    def complement(self, a, *, left):
        """Return the linear map with LC(e_S) ∧ e_S = I, or e_S ∧ RC(e_S) = I."""
        other = self.full ^ self.masks
        signs = np.array([swaps(int(o), m) if left else swaps(m, int(o)) for m, o in enumerate(other)], dtype=object)
        found = np.full(self.size, 0, dtype=object)
        found[other] = a * signs
        return found

    def vee(self, a, b):
        return self.complement(self.wedge(*(self.complement(x, left=False) for x in (a, b))), left=True)


def plain(number):
    """Return an integer as such: fractions take ten times as long."""
    return int(number) if number == int(number) else number


def swaps(a, b):
    """Return the sign of sorting the factors of e_a e_b, those of equal index side by side."""
    count = 0
    for i in range(b.bit_length()):
        if b >> i & 1:
            count += (a >> (i + 1)).bit_count()
    return -1 if count % 2 else 1


def congruence(gram):
    """Return (T, D) with G = T diag(D) Tᵀ by symmetric elimination, fractions."""
    d = len(gram)
    work = [row[:] for row in gram]
    steps = [[Fraction(i == j) for j in range(d)] for i in range(d)]  # work = steps G stepsᵀ

    def add(target, source, factor):  # row and column
        for matrix in (work, steps):
            matrix[target] = [x + factor * y for x, y in zip(matrix[target], matrix[source], strict=True)]
        for row in work:
            row[target] += factor * row[source]

    for k in range(d):
        if work[k][k] == 0:
            partner = next((j for j in range(k + 1, d) if work[j][j] != 0), None)
            mixed = next((j for j in range(k + 1, d) if work[k][j] != 0), None)
            if mixed is None:
                continue
            if partner is not None and work[k][partner] != 0:
                mixed = partner
            add(k, mixed, Fraction(1) if work[mixed][mixed] != -2 * work[k][mixed] else Fraction(-1))
        for j in range(k + 1, d):
            if work[j][k]:
                add(j, k, -work[j][k] / work[k][k])
    return inverse(steps), [work[k][k] for k in range(d)]


def inverse(matrix):
    """Return the inverse of a matrix of fractions."""
    d = len(matrix)
    rows = [row[:] + [Fraction(i == j) for j in range(d)] for i, row in enumerate(matrix)]
    for k in range(d):
        pivot = next(i for i in range(k, d) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(d):
            if i != k and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[d:] for row in rows]
