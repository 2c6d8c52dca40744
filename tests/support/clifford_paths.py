"""Every operation of the algebra on every path, and what an independent computation (`support.clifford`) gives."""

import operator
import warnings
from fractions import Fraction

import numpy as np

import clifford_rand as cr
from clifford_rand.errors import ArgumentError
from clifford_rand.multivector.multivector import Multivector
from support.clifford import Reference

GRADE_RULES = {  # of ⟨⟨A⟩_r ⟨B⟩_s⟩_t
    "gp": lambda r, s, t: True,
    "wedge": lambda r, s, t: t == r + s,
    "fat_dot": lambda r, s, t: t == abs(r - s),
    "hestenes": lambda r, s, t: t == abs(r - s) and r > 0 and s > 0,
    "lc": lambda r, s, t: t == s - r,
    "rc": lambda r, s, t: t == r - s,
    "scalar_product": lambda r, s, t: t == 0,
}


def _by_rule(rule):
    return lambda ref, a, b: ref.product(a, b, rule)


def _half(sign):
    return lambda ref, a, b: (ref.product(a, b) + sign * ref.product(b, a)) * Fraction(1, 2)


PRODUCTS = {name: _by_rule(rule) for name, rule in GRADE_RULES.items()} | {
    "inner": lambda ref, a, b: ref.product(a, ref.reverse(b), lambda r, s, t: t == 0),
    "vee": Reference.vee,
    "commutator": _half(-1),
    "anticommutator": _half(1),
}


def _pseudoscalar(ref):
    return ref.blade(ref.full)


def _dual(ref, a):
    return ref.product(a, ref.reverse(_pseudoscalar(ref))) / ref.determinant


MAPS = {
    "reverse": Reference.reverse,
    "involute": lambda ref, a: ref.signed(a, lambda k: (-1) ** k),
    "conjugate": lambda ref, a: ref.signed(a, lambda k: (-1) ** (k * (k + 1) // 2)),
    "star": lambda ref, a: ref.product(_pseudoscalar(ref), ref.reverse(a)),
    "star_right": lambda ref, a: ref.product(ref.reverse(a), _pseudoscalar(ref)),
    "dual": _dual,
    "undual": lambda ref, a: ref.product(a, _pseudoscalar(ref)),
    "left_complement": lambda ref, a: ref.complement(a, left=True),
    "right_complement": lambda ref, a: ref.complement(a, left=False),
    "even": lambda ref, a: ref.signed(a, lambda k: k % 2 == 0),
    "odd": lambda ref, a: ref.signed(a, lambda k: k % 2),
    "grade": lambda ref, a: ref.signed(a, lambda k: k in (0, 2, 3)),
    "norm_squared": lambda ref, a: PRODUCTS["inner"](ref, a, a),
}
BLADE_MAPS = tuple(name for name in MAPS if hasattr(cr.Blade, name) and name != "grade")
BLADE_PRODUCTS = ("wedge", "vee", "inner")
NEEDS_INVERSE = {"dual", "undual"}  # refused where det G = 0


def apply(name, *operands):
    """Return an operation by its name of multivectors of any kind."""
    method = getattr(operands[0], name)
    return method(*(k for k in (0, 2, 3) if k <= operands[0].algebra.d)) if name == "grade" else method(*operands[1:])


def dense(value, size):
    """Return a result by mask, an object array (…, 2^d) of Python numbers."""
    if hasattr(value, "to_multivector"):
        value = value.to_multivector()
    if not isinstance(value, Multivector):
        value = np.asarray(value)
        found = np.zeros((*value.shape, size), dtype=object)
        found[..., 0] = value
        return found
    array = np.asarray(value.coefficients)
    found = np.zeros((*array.shape[:-1], size), dtype=object)
    found[..., value.keys.masks.astype(int)] = array
    return found


def with_dtype(A, dtype):
    values = np.vectorize(Fraction, otypes=[object])(A.coefficients) if dtype is object else A.coefficients
    return A.new(A.keys, values.astype(dtype))


def batch(A, B, shape):
    """Return batches of a shape whose elements are A and B in turn."""
    rows = np.stack([A.coefficients, B.coefficients]).astype(np.float64)
    index = np.arange(int(np.prod(shape))).reshape(shape) % 2
    return A.new(A.keys, rows[index]), index


def tensor(A, library, dtype=float):
    array = A.coefficients.astype(dtype)
    if library == "torch":
        import torch

        return A.algebra.new_tensor(A.keys, torch.tensor(array))
    import jax

    jax.config.update("jax_enable_x64", True)
    return A.algebra.new_tensor(A.keys, jax.numpy.asarray(array))


SHAPES = ((), (1,), (0,), (1, 1), (3,), (2, 0), (2, 1))


def paths(names, A, A2, B, B2, shape, *, backend="numpy", libraries=("torch",), exact=True):
    """Yield (path, name, index, result or error): index tells which pair, 0 of A, B and 1 of A2, B2, an element is of.

    Coefficients of all four are int64; A and A2 have the same blades, B and B2 too.
    """

    def operands(name, one, other):
        return (one, other) if name in PRODUCTS else (one,)

    def tried(function, *arguments):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cr.FusionWarning)
                return function(*arguments)
        except ArgumentError as error:
            return error

    none = np.zeros((), int)
    for dtype in (np.int64, np.float64, *((object,) if exact else ())):
        first, second = (with_dtype(X, dtype) for X in (A, B))
        for name in names:
            yield np.dtype(dtype).name, name, none, tried(apply, name, *operands(name, first, second))
    (left, index), (right, _) = batch(A, A2, shape), batch(B, B2, shape)
    for name in names:
        yield f"batch {shape}", name, index, tried(apply, name, *operands(name, left, right))
    kept = tuple(name for name in names if not (NEEDS_INVERSE & {name} and A.algebra.form.is_degenerate))
    for form, pair, where in (("one", (A.astype(float), B.astype(float)), none), ("batch", (left, right), index)):
        function = cr.fused(lambda a, b: tuple(apply(name, *operands(name, a, b)) for name in kept), backend=backend)
        found = tried(function, *pair) if kept else ()
        for i, name in enumerate(kept):
            yield f"fused {backend} {form}", name, where, found if isinstance(found, Exception) else found[i]
    for library in libraries:
        first, second = tensor(A, library), tensor(B, library)
        for name in names:
            yield library, name, none, tried(apply, name, *operands(name, first, second))


def faults(ref, names, A, A2, B, B2, shape, **options):
    """Yield a line for each result that is not exactly the reference's."""
    values = [dense(X, ref.size) for X in (A, A2, B, B2)]
    singular = ref.determinant == 0
    wanted = {}
    for path, name, index, result in paths(names, A, A2, B, B2, shape, **options):
        if isinstance(result, Exception):
            if not (singular and name in NEEDS_INVERSE):
                yield f"{path} {name}: {type(result).__name__}: {result}"
            continue
        if singular and name in NEEDS_INVERSE:
            yield f"{path} {name}: a value in a degenerate metric"
            continue
        if name not in wanted:
            function = PRODUCTS.get(name) or MAPS[name]
            count = 2 if name in PRODUCTS else 1
            wanted[name] = np.stack([function(ref, *values[k::2][:count]) for k in (0, 1)])
        line = differs(dense(result, ref.size), wanted[name][index], approximate=name == "dual")
        if line:
            yield f"{path} {name}: {line}"


def differs(found, wanted, *, approximate=False, rtol=1e-12, scale=0.0):
    """Return how results differ from what is wanted, "" where they do not: in one component, or in their shape.

    Sums and products of small binary fractions are exact in float64; quotients are ``approximate``, to ``rtol`` of the
    largest component or of ``scale``.
    """
    if found.shape != wanted.shape:
        return f"batch {found.shape[:-1]}, not {wanted.shape[:-1]}"
    if not approximate and not any(operator.ne(x, y) for x, y in zip(found.flat, wanted.flat, strict=True)):
        return ""
    limit = rtol * max(scale, *(abs(float(x)) for x in wanted.flat), 0.0) if approximate else 0
    for place in np.ndindex(found.shape):
        if not abs(float(found[place]) - float(wanted[place])) <= limit:
            return f"{found[place]} on blade {place[-1]:b} at {place[:-1]}, not {float(wanted[place])}"
    return ""
