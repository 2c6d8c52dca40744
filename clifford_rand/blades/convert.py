"""Blades as multivectors and back."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.keys import LARGEST, keys_of_grades
from clifford_rand.blades.rows import LN2, relative
from clifford_rand.multivector.multivector import Multivector


def to_multivector(blade: Any) -> Any:
    """Return the blade with all C(d, k) components of its grade."""
    d, k = blade.d, blade.grade
    total = math.comb(d, k) * math.prod(blade.shape)
    if total > LARGEST:
        raise fail(
            "blade",
            "to_multivector",
            f"of at most 2^27 components ({8 * LARGEST >> 30} GiB)",
            describe(f"C({d}, {k}) = {_power(total)}, {_power(8 * total)} bytes"),
            "Work with the vectors in .factors.",
        )
    rows, sign, log = blade._rows
    n = np.rint(np.where(sign == 0, 0.0, log) / LN2)
    rest = np.where(blade.is_zero, 0.0, sign * np.exp(np.where(sign == 0, 0.0, log - n * LN2)))
    if not blade._log_scale.any():  # only powers of two were taken out: integers stay exact
        rest = np.where(blade.is_zero, 0.0, sign)
    components = _wedge(blade.algebra, rows) * rest[..., None]
    exponent = np.clip(n, -(1 << 14), 1 << 14).astype(np.int32)
    with np.errstate(over="ignore", under="ignore"):
        values = np.ldexp(components, exponent[..., None]).astype(blade.dtype)
    if not np.isfinite(values).all():
        found = describe(f"log-volume {float(np.max(blade.log_volume())):.4g}")
        raise fail("blade", "to_multivector", f"of components that fit into {blade.dtype}", found, "Scale it first.")
    return blade.algebra._new(keys_of_grades(d, (k,)), values)


def _wedge(algebra: Any, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the components (..., C(d, k)) of the wedge of rows (..., k, d)."""
    k, d = rows.shape[-2:]
    if k == 0:
        return np.ones((*rows.shape[:-2], 1))
    total = algebra.vector(rows[..., 0, :])
    for i in range(1, k):
        total = total.wedge(algebra.vector(rows[..., i, :]))
    return np.asarray(total._on(keys_of_grades(d, (k,))).coefficients)


def _power(count: int) -> str:
    return f"{count:.3g}" if count < 10**15 else f"10^{len(str(count)) - 1}" if count < 10**4000 else "over 10^4000"


def factors_of(A: Any, rtol: float) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
    """Return (factors (..., k, d), sign, log): A is sign · exp(log) · the wedge of the factors."""
    owner = "Blade.from_multivector"
    if not isinstance(A, Multivector):
        raise fail("A", owner, "a multivector", describe(f"{type(A).__name__} {A!r}"))
    if A.dtype.kind == "c":
        raise fail("A", owner, "real", describe(f"dtype {A.dtype}"))
    if A.dtype.kind != "f":
        try:
            A = A.astype(np.float64)
        except (TypeError, ValueError):
            raise fail(
                "A", owner, "a multivector of numbers", describe("symbols"), "Substitute numbers first."
            ) from None
    if not np.isfinite(A.coefficients).all():
        raise fail("A", owner, "finite", describe("NaN or infinite coefficients"))
    if not np.all(A.is_blade(rtol)):
        hint = "Zero and sums of blades have no factors."
        raise fail("A", owner, f"a blade, a wedge of vectors, to rtol = {relative(A.dtype, rtol):g}", A, hint)
    size, vectors = A.factorise_blade(rtol)
    size = np.asarray(size, dtype=np.float64)
    rows = [vector.values for vector in vectors]
    factors = np.stack(rows, axis=-2) if rows else np.zeros((*A.shape, 0, A.algebra.d), dtype=A.dtype)
    return factors, np.sign(size), np.log(np.abs(size))
