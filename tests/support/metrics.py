"""Algebras of many kinds, and random versors and blades in them."""

import functools

import numpy as np
import pytest

import clifford_rand as cr
from support.blades import signatures


def algebras(largest=5, *, degenerate=True, diagonal=True):
    """Every signature up to d = 3, every second of more, and metrics that are not diagonal, degenerate ones too."""
    rng = np.random.default_rng(0)
    counts = [one for k, one in enumerate(signatures(largest)) if sum(one) < 4 or k % 2]
    found = [cr.Algebra(*one) for one in counts if degenerate or not one[2]] if diagonal else []
    for d in range(2, min(largest, 4) + 1):
        gram = rng.standard_normal((d, d))
        found.append(cr.Algebra(metric=gram + gram.T))
        if degenerate:
            found.append(cr.Algebra(metric=gram[:, :-1] @ gram[:, :-1].T))
    return [*found, cr.Algebra.cga(2, null_basis=True)]


def every_signature(*, degenerate=True):
    """Cases of `algebras`, and slow ones of the signatures that it leaves out."""
    some = algebras(degenerate=degenerate)
    rest = {cr.Algebra(*one) for one in signatures(5) if degenerate or not one[2]} - set(some)
    return [*some, *(pytest.param(alg, marks=pytest.mark.slow) for alg in sorted(rest, key=repr))]


def not_diagonal(rng):
    """Metrics that are not diagonal: definite, indefinite, degenerate, of null vectors, with a zero block."""
    found = [cr.Algebra.cga(n, null_basis=True) for n in (1, 2)]
    for d, null in ((2, 0), (2, 1), (3, 0), (3, 2), (4, 1), (5, 0), (5, 1), (5, 2)):
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        squares = rng.choice([-2.0, 1.0], d)
        squares[:null] = 0
        G = Q @ np.diag(squares) @ Q.T
        found.append(cr.Algebra(metric=(G + G.T) / 2))
    return found


def vectors(alg, rng, count, shape=(), dtype=np.float64, least=0.2):
    """Random vectors that are not near to null ones; None if the algebra has none."""
    if not np.any(alg.metric):
        return None
    found = []
    gram = alg.metric.astype(float)
    for _ in range(count):
        while True:
            X = rng.standard_normal((*shape, alg.d))
            squares = np.abs(((X @ gram) * X).sum(axis=-1))
            if (squares > least * np.abs(gram).max()).all():
                break
        found.append(alg.vector(X.astype(dtype)))
    return found


def versor(alg, rng, count, shape=(), dtype=np.float64):
    """A product of ``count`` invertible vectors; None if there are none."""
    factors = vectors(alg, rng, count, shape, dtype)
    return None if factors is None else functools.reduce(lambda a, b: a * b, factors)


def blade(alg, rng, k, shape=(), dtype=np.float64):
    """A wedge of k random vectors."""
    if k == 0:
        return alg.scalar(np.ones(shape, dtype=dtype))
    return cr.wedge(*[alg.random_multivector(rng=rng, shape=shape, grades=1, dtype=dtype) for _ in range(k)])
