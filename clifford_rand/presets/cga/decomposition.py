"""Conformal versors as a translation, a rotation, a dilation and a transversion, with the parameters of each."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import Keys, keys_of_masks
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.measures import down, infinity, model_of, origin, parts_of
from clifford_rand.presets.cga.versors import dilator, inversion, translator, transversion
from clifford_rand.presets.inputs import largest, lengths, refuse_tensors, unit_scale


@dataclass(frozen=True, eq=False)
class VersorParts:
    """The parameters of V = weight T R D K, or weight T R D J where ``inverted``; arrays over the batch.

    Attributes
    ----------
    algebra : Algebra
    translation : ndarray (..., n)
        T moves by it: the image of the origin (of infinity where inverted).
    rotor : Multivector
        R, a product of Euclidean unit vectors: even for rotations, odd with a reflection.
    factor : float
        D scales by it about the origin.
    transversion : ndarray (..., n)
        b of K = 1 - b n_o; 0 where inverted.
    inverted : bool
        Where V takes the origin to infinity; J is the inversion in the unit sphere about the origin.
    weight : float
        Positive.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> parts = cga.decompose(cga.dilator(alg, 3, [1, 0, 0]))  # the origin goes to -2 e1
    >>> (parts.translation.round(12) + 0.0).tolist(), float(parts.factor.round(12)), bool(parts.inverted)
    ([-2.0, 0.0, 0.0], 3.0, False)
    """

    algebra: Algebra
    translation: NDArray[Any]
    rotor: Multivector
    factor: Any
    transversion: NDArray[Any]
    inverted: Any
    weight: Any

    def versors(self) -> tuple[Multivector, Multivector, Multivector, Multivector]:
        """Return T, R, D, and K or J.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> from clifford_rand.presets import cga
        >>> alg = cr.Algebra.cga(2)
        >>> V = cga.translator(alg, [1, 2]) * cga.dilator(alg, 3)
        >>> T, R, D, K = cga.decompose(V).versors()
        >>> T.isclose(cga.translator(alg, [1, 2])), R.isclose(1), (T * R * D * K).isclose(V)
        (True, True, True)
        """
        alg, where = self.algebra, np.asarray(self.inverted)
        K = transversion(alg, self.transversion)
        J = inversion(alg, np.zeros(alg.d - 2), 1.0).astype(K.dtype)
        last = K * np.where(where, 0.0, 1.0) + J * np.where(where, 1.0, 0.0) if where.any() else K
        return translator(alg, self.translation), self.rotor, dilator(alg, self.factor), last

    def versor(self) -> Multivector:
        """Return the product again, with its weight.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> from clifford_rand.presets import cga
        >>> alg = cr.Algebra.cga(2)
        >>> V = -2 * cga.inversion(alg, [1, 2], 3.0)
        >>> cga.decompose(V).versor().isclose(V)
        True
        """
        T, R, D, K = self.versors()
        return T * R * D * K * self.weight


def decompose(V: Multivector, *, rtol: float = 1e-9) -> VersorParts:
    """Return the translation, rotation, dilation and transversion whose product a conformal versor is.

    f: x ↦ V x V⁻¹ is f(x) = a + s R k(x) with the transversion k(x) = (x + x² b)/(1 + 2 x·b + x² b²). a = f(0); k takes
    f⁻¹(∞) to infinity; what is left keeps 0 and ∞: R (cosh + sinh n_o∧n_∞). A versor that takes 0 to infinity has no
    such form, and is f(x) = a + s R x/x².

    Parameters
    ----------
    V : Multivector
        Even or odd versors of any scale, V ~V > 0: motions, similarities, inversions and their products.
    rtol : float, default=1e-9
        How far V may be from a versor, relative to its components.

    Returns
    -------
    VersorParts

    Raises
    ------
    ArgumentError
        If V is no versor, or V ~V < 0: a product with an odd number of imaginary spheres.

    Examples
    --------
    >>> import clifford_rand as cr, numpy as np
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> parts = cga.decompose(cga.translator(alg, [1, 2, 3]) * cga.rotor(alg, alg.e12, 0.5) * cga.dilator(alg, 2))
    >>> parts.translation.round(12).tolist(), float(parts.factor.round(12)), bool(abs(parts.transversion).max() < 1e-12)
    ([1.0, 2.0, 3.0], 2.0, True)
    >>> parts.rotor.log().isclose(-0.25 * alg.e12)
    True
    """
    n, null = model_of(getattr(V, "algebra", V), "decompose")
    refuse_tensors(V, "V", "decompose")
    if V.dtype.kind not in "fi":
        raise fail("V", "decompose", "a versor with real coefficients", describe(f"dtype {V.dtype}"))
    V = V.astype(np.float64) if V.dtype.kind == "i" else V
    rtol = check_tolerance(rtol, 1e-9, "decompose")
    if not np.all(V.is_versor(rtol)):
        raise fail("V", "decompose", "a versor", describe("another multivector"))
    count, alg = math.prod(V.shape), V.algebra
    flat = V.reshape(count)
    scaled = unit_scale(flat)
    scale = largest(flat.coefficients) / largest(scaled.coefficients)
    to_infinity, from_infinity = (_at_infinity((scaled >> P).grade(1), null) for P in (origin(alg), infinity(alg)))
    inverted = to_infinity & ~from_infinity
    keys = keys_of_masks(n + 2, tuple(range(1 << n)))
    a, b = np.zeros((2, count, n), dtype=V.dtype)
    factor, weight, R = np.ones(count, dtype=V.dtype), scale.copy(), np.zeros((count, keys.size), dtype=V.dtype)
    for with_inversion in (False, True):
        at = np.flatnonzero(inverted == with_inversion)
        if len(at):
            part = scaled[at]
            if with_inversion:
                part = part * inversion(alg, np.zeros(n), 1.0)
            a[at], R[at], factor[at], b[at], size = _affine(part, keys, null, n, rtol)
            weight[at] *= size
    rotor = alg.new(keys, R.reshape(*V.shape, keys.size)).sparse()
    a, b = (x.reshape(*V.shape, n) for x in (a, b))
    factor, inverted, weight = (x.reshape(V.shape)[()] for x in (factor, inverted, weight))
    return VersorParts(alg, a, rotor, factor, b, inverted, weight)


def _at_infinity(P: Any, null: bool) -> NDArray[np.bool_]:
    E, o, i = parts_of(P.on_keys(P.keys.filled), null)
    return np.asarray(abs(o) <= 64 * np.finfo(E.dtype).eps * np.maximum(largest(E), abs(i)))


def _affine(V: Any, keys: Keys, null: bool, n: int, rtol: float) -> tuple[Any, Any, Any, Any, Any]:
    """Return a, R, s, b and the weight of versors (N,) that take the origin to a finite point."""
    alg = V.algebra
    a = down((V >> origin(alg)).grade(1), rtol) + 0.0  # no -0.0
    V = translator(alg, -a) * V
    back = (~V >> infinity(alg)).grade(1)
    E, _, i = parts_of(back.on_keys(back.keys.filled), null)
    b = -E / (2 * i[..., None]) + 0.0  # no -0.0
    V = V * transversion(alg, -b)
    both = keys_of_masks(n + 2, tuple(mask | 0b11 << n for mask in range(1 << n)))
    plain = V.select_keys(keys).coefficients
    moved = np.zeros_like(plain)
    moved[..., [keys.find(int(mask) & ~(0b11 << n)) for mask in both.masks]] = V.select_keys(both).coefficients
    moved = moved if null else -moved  # e_{n+1} ∧ e_{n+2} = -n_o ∧ n_∞
    large, small = plain + moved, plain - moved  # weight √s R and weight R/√s
    up, low = np.asarray(lengths(large)), np.asarray(lengths(small))
    if ((large * small).sum(axis=-1) <= 0).any():
        raise fail("V", "decompose", "a versor with V ~V > 0", describe("one with V ~V < 0"), "Multiply by n_o ∧ n_∞.")
    R = np.where((up >= low)[:, None], large / up[:, None], small / low[:, None])
    return a, R, up / low, b, np.sqrt(up * low)
