"""Logistic, softmax and log-cosh losses: upper bounds of the loss, lower bounds of the gain, by bounds of log and exp.

Two functions bound everything, in fixed point: integers in units of 2^-P. `log_above` is not below log x, and
`exp_above` not below exp(-t).

*log.* x = 2^k m with 1 <= m < 2, and log m = 2 artanh s = 2 sum_j s^(2j+1)/(2j+1) with s = (m-1)/(m+1), rounded
upwards, at most 0.34. Let q_j = s^(2j+1) in units, and Q_j what is computed: Q_0 = q_0, Q_{j+1} = floor(Q_j s^2). The
errors e_j = q_j - Q_j begin with 0 and are at most s^2 e_{j-1} + 1 < 1.14, so that a term floor(Q_j/(2j+1)) misses less
than 1.14/3 + 1 < 2. Once Q_J = 0, all further terms add up to less than 1.14/(1 - s^2) < 2. So the sum of J terms is
not above artanh s, and the sum + 2 (J + 1) not below.

*exp.* exp(t) = 2^k exp(r) with r = t - k log 2 >= 0. With t rounded down and log 2 up, r is not above its value, and
the sum of the terms r^j/j!, all positive and rounded down, not above exp(r). One over that is not below exp(-t).

The errors are less than 2^-246 of max(1, |log x|), and 2^-234 of exp(-t) for t <= 4096. Where the difference of two
logarithms is small, the first term of a series replaces it; the relative error of losses and gains is at most 2^-96.
"""

from collections.abc import Sequence
from fractions import Fraction

from .check import ZERO, Problem, require

P = 256  # bits behind the point
SMALL = Fraction(1, 2**48)  # u below which the series of log cosh u and of its conjugate begin and end with u^2/2
LARGE = 2**12  # t beyond which exp(-t) <= 2^-t is bound enough


def artanh_below(s: int) -> tuple[int, int]:
    """Return a number that is not above artanh s, 0 <= s <= 1/3, and how much it is below that at most, in units."""
    square, power, total, j = s * s, s, 0, 0
    while power:
        total += power // (2 * j + 1)
        power = power * square >> 2 * P
        j += 1
    return total, 2 * (j + 1)


LOG2_BELOW, _missed = (2 * part for part in artanh_below(2**P // 3))  # log 2 = 2 artanh 1/3
LOG2_ABOVE = LOG2_BELOW + _missed + 3  # the derivative of artanh is 9/8 at 1/3, which was rounded down


def log_above(x: Fraction) -> Fraction:
    """Return a number that is not below log x, x > 0."""
    k = x.numerator.bit_length() - x.denominator.bit_length()  # 2^(k-1) < x < 2^(k+1)
    k -= x.numerator << max(-k, 0) < x.denominator << max(k, 0)
    m, unit = x.numerator << max(-k, 0), x.denominator << max(k, 0)  # m / unit in [1, 2)
    total, missed = artanh_below(-((unit - m << P) // (m + unit)))
    return Fraction(k * (LOG2_ABOVE if k > 0 else LOG2_BELOW) + 2 * (total + missed), 2**P)


def exp_above(t: Fraction) -> Fraction:
    """Return a number that is not below exp(-t), t >= 0."""
    if t > LARGE:
        return Fraction(1, 2**LARGE)
    k, r = divmod((t.numerator << P) // t.denominator, LOG2_ABOVE)
    term = total = 2**P
    j = 0
    while term:
        j += 1
        term = (term * r >> P) // j
        total += term
    return Fraction(-(-(4**P) // total), 2 ** (P + k))


def log_sum_exp_above(values: Sequence[Fraction]) -> Fraction:
    """Return a number that is not below log sum_c exp(v_c): v + log(1 + e), v the largest, e <= (C-1)."""
    *rest, largest = sorted(values)
    e = sum((exp_above(largest - v) for v in rest), ZERO)
    return largest + (e if e < SMALL**2 else log_above(1 + e))


def entropy_below(x: Fraction) -> Fraction:
    """Return a number that is not above -x log x, x >= 0: log x <= x - 1."""
    return max(x * (1 - x), -x * log_above(x)) if x else ZERO


def is_one_hot(y: Sequence[Fraction]) -> bool:
    """Tell whether one of at least two numbers is 1, and the rest 0."""
    return len(y) > 1 and sorted(y) == [0] * (len(y) - 1) + [1]


def loss_above(problem: Problem, f: list[Fraction], y: list[Fraction]) -> Fraction:
    """Return the loss of one row, or a number above it."""
    if problem.loss == "logistic":  # sum of log(1 + exp(-y f))
        require(all(b in (-1, 1) for b in y), "y is not 1 or -1")
        return sum((log_sum_exp_above([ZERO, -b * a]) for a, b in zip(f, y, strict=True)), ZERO)
    if problem.loss == "softmax":  # log sum exp f - f_y
        require(is_one_hot(y), "y is not one-hot")
        return log_sum_exp_above([a - f[y.index(Fraction(1))] for a in f])
    total = ZERO
    for a, b in zip(f, y, strict=True):  # delta^2 log cosh u, u = (f - y) / delta, is at most delta^2 u^2/2
        u = abs(a - b) / problem.delta
        value = log_sum_exp_above([u, -u]) - Fraction(LOG2_BELOW, 2**P) if u > SMALL else u * u / 2
        total += problem.delta**2 * value
    return total


def gain_below(problem: Problem, theta: list[Fraction], y: list[Fraction]) -> Fraction:
    """Return -loss*(-theta) of one row, or a number below it."""
    if problem.loss == "logistic":  # entropy of a = y theta
        shares = [b * t for t, b in zip(theta, y, strict=True)]
        require(all(b in (-1, 1) for b in y), "y is not 1 or -1")
        require(all(0 <= a <= 1 for a in shares), "y theta is not in [0, 1]")
        return sum((entropy_below(a) + entropy_below(1 - a) for a in shares), ZERO)
    if problem.loss == "softmax":  # entropy of p = y - theta
        p = [b - t for t, b in zip(theta, y, strict=True)]
        require(is_one_hot(y), "y is not one-hot")
        require(min(p) >= 0 and sum(p) == 1, "y - theta is not a distribution")
        return sum(map(entropy_below, p), ZERO)
    require(all(abs(t) <= problem.delta for t in theta), "the dual point is larger than delta")
    total = ZERO
    for t, b in zip(theta, y, strict=True):
        # theta y - delta^2 c(u), u = theta/delta, c(u) = ((1+u) log(1+u) + (1-u) log(1-u))/2 = u^2/2 + u^4/12 + ...;
        # the series is log 2 at u = 1, so that c(u) <= u^2/2 + u^4 (log 2 - 1/2)
        u = abs(t) / problem.delta
        value = -(entropy_below(1 + u) + entropy_below(1 - u)) / 2 if u > SMALL else (u * u + u**4) / 2
        total += t * b - problem.delta**2 * value
    return total
