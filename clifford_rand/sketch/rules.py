"""How many rows a sketch of a k-dimensional subspace needs: the proven rules, with their constants."""

import math

from clifford_rand._checks import check_integer, check_number

# Every rule is for (1-ε)|x| ≤ |S x| ≤ (1+ε)|x| for all x of the subspace at once, but with probability δ.


def check_accuracy(k: object, eps: object, delta: object, owner: str) -> tuple[int, float, float]:
    """Return the three numbers of a rule: k ≥ 1, 0 < eps < 1 and 0 < delta < 1."""
    k = check_integer(k, "k", owner)
    rule = "a number between 0 and 1, both excluded"
    eps, delta = (
        check_number(value, name, owner, rule, lambda x: 0 < x < 1) for name, value in (("eps", eps), ("delta", delta))
    )
    return k, eps, delta


def second_moment_dim(k: int, eps: float, delta: float, owner: str) -> int:
    """Return ⌈k(k+1) / ((2ε-ε²)² δ)⌉, for sketches with E‖UᵀSᵀSU - I‖_F² ≤ k(k+1)/r."""
    k, eps, delta = check_accuracy(k, eps, delta, owner)
    return math.ceil(k * (k + 1) / ((2 * eps - eps**2) ** 2 * delta))


def gaussian_dim(k: int, eps: float, delta: float, owner: str) -> int:
    """Return ⌈(√k + √(2 log(2/δ)))² / ε²⌉ (Davidson and Szarek 2001, Theorem II.13)."""
    k, eps, delta = check_accuracy(k, eps, delta, owner)
    return math.ceil((math.sqrt(k) + math.sqrt(2 * math.log(2 / delta))) ** 2 / eps**2)


def chernoff_exponent(eps: float) -> float:
    """Return the smaller exponent of the two tails of the matrix Chernoff bound (Tropp 2012, Theorem 1.1).

    |S x|² ≤ (1-ε)² = 1 - a and |S x|² ≥ (1+ε)² = 1 + b: exponents a + (1-a) log(1-a) and (1+b) log(1+b) - b.
    """
    a, b = 2 * eps - eps**2, 2 * eps + eps**2
    return min(a + (1 - a) * math.log1p(-a), (1 + b) * math.log1p(b) - b)
