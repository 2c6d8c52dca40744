"""How many activation patterns n rows in general position have."""

from clifford_rand._checks import check_choice, check_integer


def central_count(n: int, rank: int) -> int:
    """Chambers of n planes through the origin, of this rank and otherwise in general position; 1 if there is none."""
    if n == 0 or rank == 0:
        return 1
    total = term = 1
    for k in range(1, min(rank, n)):
        term = term * (n - k) // k  # C(n-1, k)
        total += term
    return 2 * total


def pattern_count(n: int, d: int, bias: bool = True, rank: int | None = None) -> int:
    r"""Return the number of activation patterns of n rows in general position, an upper bound for all others.

    .. math::

        2 \sum_{k<r} \binom{n-1}{k} \text{ without bias}, \qquad 2 \sum_{k\le r} \binom{n-1}{k} \text{ with bias,}

    the all-on and the all-off pattern included.

    Parameters
    ----------
    n, d : int
        Shape of the data.
    bias : bool
        Whether the gates have an offset.
    rank : int, optional
        r: the rank of X without bias, of the centred X with bias; by default the largest there is, min(n, d) and
        min(n-1, d). If it is 0 without bias, every row is 0 and on: one pattern.

    Returns
    -------
    int
        Exact, however large.

    Raises
    ------
    ArgumentError
        n, d or rank is not an integer in its range.

    References
    ----------
    Cover, "Geometrical and statistical properties of systems of linear inequalities", 1965, equation (5).

    Examples
    --------
    >>> pattern_count(160, 2)
    25442
    >>> pattern_count(5, 2, bias=False)
    10
    >>> pattern_count(3, 100) == 2**3
    True
    """
    owner = "pattern_count"
    check_integer(n, "n", owner)
    check_integer(d, "d", owner)
    check_choice(bias, "bias", owner, (True, False))
    largest = min(n - bool(bias), d)
    r = largest if rank is None else check_integer(rank, "rank", owner, low=0, high=largest)
    return central_count(int(n), int(r) + bool(bias))
