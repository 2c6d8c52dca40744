"""Multivectors taken from one algebra to another by the names of the basis vectors."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from clifford_rand._checks import check_bool, check_instance, describe, fail
from clifford_rand.basis.keys import keys_of_masks
from clifford_rand.basis.rules import bits_of
from clifford_rand.geometry.coordinates import as_multivector


def _position(algebra: Any, name: object) -> int | None:
    """Return the index of the basis vector of that name, None if there is none."""
    found = algebra.names.parse(name) if isinstance(name, str) else None
    return None if found is None or found[0].bit_count() != 1 else found[0].bit_length() - 1


def convert(algebra: Any, A: Any, mapping: Mapping[str, str] | None = None, *, drop: bool = False) -> Any:
    """Return A in another algebra: every basis vector goes to the one of its name, or of its name in ``mapping``."""
    A = as_multivector(A, "A", "convert")
    source = A.algebra
    chosen = _check_mapping(algebra, source, {} if mapping is None else mapping)
    check_bool(drop, "drop", "convert")
    masks = [int(mask) for mask in A.keys.masks]
    flat = np.asarray(A.coefficients != 0, dtype=bool).reshape(-1, A.keys.size)
    nonzero = [bool(column.any()) for column in flat.T]
    places: dict[int, int | None] = {}
    for mask in masks:
        for i in bits_of(mask):
            if i not in places:
                places[i] = _position(algebra, chosen.get(i, source.names.vector(i)))
    kept = [n for n, mask in enumerate(masks) if all(places[i] is not None for i in places if mask >> i & 1)]
    lost = [n for n in range(len(masks)) if n not in set(kept) and nonzero[n]]
    if lost and not drop:
        rule = f"a multivector whose blades are all in {algebra!r}"
        hint = "Name a basis vector for each in mapping=, or use drop=True to leave them out."
        raise fail("A", "convert", rule, describe(f"a coefficient on {source.names.blade(masks[lost[0]])}"), hint)
    used = 0
    for n in kept:
        used |= masks[n] if nonzero[n] else 0
    positions = {i: j for i, j in places.items() if j is not None}
    _check_metric(algebra, source, {i: j for i, j in positions.items() if used >> i & 1})
    images, signs = [], []
    for n in kept:
        indices = [positions[i] for i in bits_of(masks[n])]
        swaps = sum(int(a > b) for at, a in enumerate(indices) for b in indices[at + 1 :])
        collides = len(set(indices)) < len(indices)  # only where the coefficient is zero: _check_metric refuses others
        images.append(-1 if collides else sum(1 << i for i in indices))
        signs.append(-1 if swaps % 2 else 1)
    keys = keys_of_masks(algebra.d, tuple({image for image in images if image >= 0}))
    values = np.zeros((*A.shape, keys.size), dtype=A.coefficients.dtype)
    for n, image, sign in zip(kept, images, signs, strict=True):
        if image >= 0:  # zeros of vectors that are not used may come to lie on a blade that is
            values[..., keys.find(image)] += sign * A.coefficients[..., n]
    return type(A)(algebra, keys, values)


def _check_mapping(algebra: Any, source: Any, mapping: Mapping[str, str]) -> dict[int, str]:
    chosen: dict[int, str] = {}
    check_instance(mapping, Mapping, "mapping", "convert", "a dict of names of basis vectors, to names here")
    for name, image in mapping.items():
        place = _position(source, name)
        if place is None:
            raise fail("mapping", "convert", f"from basis vectors of {source!r}", name, source.names.hint)
        if _position(algebra, image) is None:
            raise fail("mapping", "convert", f"to basis vectors of {algebra!r}", image, algebra.names.hint)
        chosen[place] = image
    return chosen


def _check_metric(algebra: Any, source: Any, places: dict[int, int]) -> None:
    """Refuse two vectors with one image, and inner products that differ."""
    if len(set(places.values())) < len(places):
        found = describe(", ".join(f"{source.names.vector(i)} → {algebra.names.vector(j)}" for i, j in places.items()))
        raise fail("mapping", "convert", "to different basis vectors", found)
    for i, image_i in places.items():
        for j, image_j in places.items():
            here, there = _product(source.form, i, j), _product(algebra.form, image_i, image_j)
            if i <= j and here != there:
                rule = "of an algebra with the same inner products of the basis vectors it has"
                found = f"{source.names.vector(i)}·{source.names.vector(j)} = {here} and "
                found += f"{algebra.names.vector(image_i)}·{algebra.names.vector(image_j)} = {there}"
                raise fail("A", "convert", rule, describe(found), "Name other basis vectors in mapping=.")


def _product(metric: Any, i: int, j: int) -> Any:
    """Return e_i · e_j without the d × d matrix of a diagonal metric."""
    if metric.diagonal is not None and i != j:
        return 0
    entry = metric.gram[i, j] if metric.diagonal is None else metric.diagonal[i]
    return entry.item() if hasattr(entry, "item") else entry
