"""Every operation of every small algebra, on every path, is that of an independent computation.

Random metrics to d = 6: diagonal with entries 0, 1, -1, 2, 1/2, -3, -4; symmetric, degenerate, null bases; given as
integers, floats or fractions; names of one's own. Coefficients are small integers, of all blades, some grades or a few
blades. Products and maps of elements (int64, float64, fractions), batches, fused functions, tensors and blades must be
exact; quotients agree to 1e-12 and functions to the accuracy beside each.
"""

import sys
import time
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import scipy.linalg

import clifford_rand as cr
from clifford_rand.errors import ArgumentError
from reliability.promise import Outcome
from support.clifford import Reference
from support.clifford_paths import (
    BLADE_MAPS,
    BLADE_PRODUCTS,
    MAPS,
    NEEDS_INVERSE,
    PRODUCTS,
    SHAPES,
    apply,
    dense,
    differs,
    faults,
    tensor,
)

WHOLE, SHORT = 3000, 60
DIMENSIONS = (1, 2, 3, 3, 4, 4, 5, 5, 6)
POOLS = ((0, 1, -1), (0, 1, -1, 2, -4), (2, 0, -3, Fraction(1, 2), 1, -1, -4))
WORDS = ("u", "v", "w", "alpha", "x1", "ny", "q2")


def run(budget):
    count = SHORT if budget.short else WHOLE
    found, kinds = [], Counter()
    began = time.monotonic()
    for number in range(count):
        if budget.seconds and time.monotonic() - began > budget.seconds:
            count = number
            break
        seed = [budget.seed, number]
        rng = np.random.default_rng(seed)
        kind, gram = metric(rng)
        kinds[kind] += 1
        for line in instance(rng, gram):
            found.append(f"seed {seed}, {kind} metric {gram.tolist()}: {line}")
            sys.stderr.write(found[-1] + "\n")
    return Outcome(f"{count} instances ({', '.join(f'{kinds[kind]} {kind}' for kind in sorted(kinds))})", found)


def metric(rng):
    """Return a kind of metric, and its Gram matrix as an object array of integers and fractions."""
    d = int(rng.choice(DIMENSIONS))
    pool = POOLS[rng.integers(len(POOLS))]
    drawn = rng.choice(np.array(pool, dtype=object), (d, d))
    kind = "diagonal" if d == 1 or rng.random() < 0.6 else str(rng.choice(["symmetric", "degenerate", "null basis"]))
    if kind == "symmetric":
        gram = np.triu(drawn) + np.triu(drawn, 1).T
    elif kind == "degenerate":
        F = rng.integers(-1, 2, (d, d)).astype(object)
        F[:, 0] = 0
        gram = F @ np.diag(np.diag(drawn)) @ F.T
    else:
        gram = np.diag(np.diag(drawn))
        if kind == "null basis":
            i, j = rng.choice(d, 2, replace=False)
            gram[i, i] = gram[j, j] = 0
            gram[i, j] = gram[j, i] = rng.choice([-1, 1, 2])
    return kind, gram


def instance(rng, gram):
    """Yield a line for each fault of one algebra."""
    d, ref = len(gram), Reference(gram)
    whole = all(Fraction(value).denominator == 1 for value in gram.flat)
    given = gram if rng.random() < 0.1 else gram.astype(int if whole and rng.random() < 0.6 else float)
    names = WORDS[:d] if rng.random() < 0.3 else None
    alg = cr.Algebra(metric=given, names=names)
    libraries = ("torch", "jax") if rng.random() < 0.03 else ("torch",)
    libraries = libraries if alg.form.is_numeric else ()
    keys = [blades(rng, alg) for _ in range(2)]
    A, A2, B, B2 = (numbers(rng, alg, masks) for masks in (keys[0], keys[0], keys[1], keys[1]))
    operations = (*PRODUCTS, *MAPS)
    some = operations if d < 5 else tuple(rng.choice(operations, 5, replace=False))
    backend = "numba" if d < 5 and rng.random() < 0.01 else "numpy"
    shape = SHAPES[rng.integers(len(SHAPES))]
    exact = given.dtype != float
    yield from faults(ref, some, A, A2, B, B2, shape, backend=backend, libraries=libraries, exact=exact)
    if alg.form.is_numeric:
        yield from blade_faults(rng, alg, ref)
        yield from function_faults(rng, alg, ref)


def blades(rng, alg):
    """Return masks of all blades, of one grade, of the even or odd ones, or of a few."""
    every = np.arange(1 << alg.d)
    grade = np.bitwise_count(every)
    kept = [
        grade >= 0,
        grade == rng.integers(alg.d + 1),
        grade == 1,
        grade % 2 == rng.integers(2),
        rng.random(len(every)) < 0.3,
    ][rng.integers(5)]
    return every[kept] if kept.any() else every[:1]


def numbers(rng, alg, masks):
    """Return an int64 multivector with coefficients from -3 to 3 on some blades."""
    made = alg.multivector({alg.names.blade(int(mask)): 1 for mask in masks})
    return made.new(made.keys, rng.integers(-3, 4, made.keys.size))


# ---- blades


def blade_faults(rng, alg, ref):
    """Yield a line for each operation of two blades that is off by 1e-11 of its size."""
    d, singular = alg.d, ref.determinant == 0
    k, m = rng.integers(0, d + 1, 2)
    rows = rng.integers(-3, 4, (2, k, d)), rng.integers(-3, 4, (2, m, d))
    batch = rng.random() < 0.5
    A, B = (cr.Blade((vectors if batch else vectors[0]).astype(float), alg) for vectors in rows)
    a, b = (np.stack([product_of(ref, one, ref.wedge) for one in vectors[: 1 + batch]]) for vectors in rows)
    lengths = [np.linalg.norm(vectors, axis=-1).prod(axis=-1).max() for vectors in rows]
    size, gram = max(lengths[0] * lengths[1], lengths[0] ** 2, lengths[0]), np.array(ref.gram, dtype=float)
    for name in (*BLADE_PRODUCTS, *BLADE_MAPS):
        function, pairs = (PRODUCTS[name], (a, b)) if name in PRODUCTS else (MAPS[name], (a,))
        refused = singular and name in NEEDS_INVERSE
        try:
            found = dense(apply(name, *(A, B)[: len(pairs)]), ref.size)
        except ArgumentError as error:
            if not refused:
                yield f"Blade {name} of grades {k}, {m}: {error}"
            continue
        if refused:
            yield f"Blade {name}: a value in a degenerate metric"
            continue
        wanted = np.stack([function(ref, *one) for one in zip(*pairs, strict=True)])
        scale = size * (np.linalg.norm(gram, 2) ** d if name != "wedge" else 1.0)
        scale /= abs(float(ref.determinant)) if name == "dual" else 1.0
        line = differs(found, wanted if batch else wanted[0], approximate=True, rtol=1e-11, scale=scale)
        if line:
            yield f"Blade {name} of {rows[0].tolist()}, {rows[1].tolist()}: {line}"


def product_of(ref, vectors, product):
    """Return a product of vectors, given by their components, as an array by mask."""
    total = ref.blade(0)
    for vector in vectors:
        factor = ref.blade(0) * 0
        factor[1 << np.arange(ref.d)] = [int(value) for value in vector]
        total = product(total, factor)
    return total


# ---- functions: the sandwich, the norm, the inverse, the exponential


def function_faults(rng, alg, ref):
    every = (sandwich_faults, norm_faults, inverse_faults, exponential_faults)
    for function in every if alg.d < 5 else [every[rng.integers(len(every))]]:
        yield from function(rng, alg, ref)


def ways(name, *operands):
    """Yield (path, result or error) of one function for an element, a batch of one, a fused function and a tensor."""
    fused = cr.fused(lambda *some: apply(name, *some), backend="numpy")
    few = operands[0].keys.size <= 20  # with more, tracing takes a second and ends with the plain function
    for path, function, change in (
        ("element", apply, lambda A: A.astype(float)),
        ("batch (1,)", apply, lambda A: A.astype(float).reshape(1)),
        ("batch (1, 1)", apply, lambda A: A.astype(float).reshape(1, 1)),
        ("fused", lambda name, *some: fused(*some) if few else apply(name, *some), lambda A: A.astype(float)),
        ("torch", apply, lambda A: tensor(A, "torch")),
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = function(name, *(change(A) for A in operands))
        except ArgumentError as error:
            found = error
        yield path, found


def sandwich_faults(rng, alg, ref):
    """R X R⁻¹ of a product R of vectors to 1e-12 of the terms."""
    vectors = [rng.integers(-2, 3, alg.d) for _ in range(rng.integers(1, 3))]
    R, X = product_of(ref, vectors, ref.product), numbers(rng, alg, blades(rng, alg))
    square = ref.product(R, ref.reverse(R))[0]
    if square == 0:
        return
    x = dense(X, ref.size)
    wanted = ref.product(ref.product(R, x), ref.reverse(R)) / square
    scale = float(np.abs(R).sum()) ** 2 * float(np.abs(x).max(initial=0)) * largest_weight(ref) / abs(float(square))
    versor = alg.multivector({alg.names.blade(int(mask)): float(R[mask]) for mask in np.flatnonzero(R)})
    yield from differences("sandwich", (versor, X), wanted, ref, scale, 1e-12)


def largest_weight(ref):
    """Return a bound on the factor of one term of a product."""
    return float(np.prod([max(1.0, *map(float, np.abs(row))) for row in np.array(ref.gram)]))


def differences(name, operands, wanted, ref, scale, rtol):
    """Yield a line for each path on which a function differs from the wanted value, or raises."""
    for path, result in ways(name, *operands):
        if isinstance(result, Exception):
            line = f"{type(result).__name__}: {result}"
        else:
            values = dense(result, ref.size)
            line = differs(values, np.broadcast_to(wanted, values.shape), approximate=True, rtol=rtol, scale=scale)
        if line:
            yield f"{path} {name} of {' and '.join(map(str, operands))}: {line}"


def norm_faults(rng, alg, ref):
    """Norms of any multivector to 1e-12 of the terms, and unit vectors."""
    A = numbers(rng, alg, blades(rng, alg))
    a = dense(A, ref.size)
    square = MAPS["norm_squared"](ref, a)[0]
    scale = np.sqrt(float(np.abs(a * a).sum()) * largest_weight(ref))
    wanted = ref.blade(0) * Fraction(np.sqrt(abs(float(square))))
    yield from differences("norm", (A,), wanted, ref, scale, 1e-12 if square else 1e-7)
    v = alg.vector(rng.integers(-3, 4, alg.d))
    square = MAPS["norm_squared"](ref, dense(v, ref.size))[0]
    if square:
        wanted = dense(v, ref.size) / Fraction(np.sqrt(abs(float(square))))
        yield from differences("normalized", (v,), wanted, ref, largest_weight(ref), 1e-12)
        return
    for path, result in ways("normalized", v):
        if not isinstance(result, Exception) and path != "torch":
            yield f"{path} normalized of the null vector {v}: {result}"


def inverse_faults(rng, alg, ref):
    """A A⁻¹ = 1 to 1e-11 of the terms, or an error where the matrix of A is singular."""
    A = numbers(rng, alg, blades(rng, alg))
    matrix = left_matrix(ref, dense(A, ref.size))
    sizes = np.linalg.svd(matrix, compute_uv=False)
    singular = sizes[-1] <= 1e-10 * sizes[0]
    clear = sizes[-1] > 1e-5 * sizes[0]
    for path, result in ways("inv", A):
        if isinstance(result, Exception):
            if clear or (path == "torch" and not singular):
                yield f"{path} inv of {A}: {result}"
            continue
        if path == "torch" and not clear:
            continue
        if singular:
            yield f"{path} inv of {A}, which is singular: {result}"
            continue
        x = dense(result, ref.size).reshape(-1, ref.size)[0].astype(float)
        error = np.abs(matrix @ x - np.eye(ref.size)[0]).max()
        limit = 1e-12 if clear else 1e-7
        if not error <= limit * max(1.0, (np.abs(matrix) @ np.abs(x)).max() * sizes[0] / sizes[-1]):
            yield f"{path} inv of {A}: A X differs from 1 by {error:.1e}"


def exponential_faults(rng, alg, ref):
    """The exponential to 1e-11 of that of the absolute terms, against scipy.linalg.expm of the matrix of A."""
    A = numbers(rng, alg, blades(rng, alg)).astype(float) * 0.125
    matrix = left_matrix(ref, dense(A, ref.size))
    wanted = scipy.linalg.expm(matrix)[:, 0].astype(object)
    scale = float(np.abs(scipy.linalg.expm(np.abs(matrix))[:, 0]).max())
    yield from differences("exp", (A,), wanted, ref, scale, 1e-11)


def left_matrix(ref, a):
    """Return the matrix of x ↦ a x, floats, by the products of the orthogonal basis."""
    masks = ref.masks
    moved = a if ref.there is None else a @ ref.there
    matrix = np.zeros((ref.size, ref.size))
    for left in np.flatnonzero(moved != 0):
        matrix[left ^ masks, masks] += (moved[left] * ref.sign[left] * ref.weight[left & masks]).astype(float)
    return matrix if ref.there is None else ref.back.T.astype(float) @ matrix @ ref.there.T.astype(float)
