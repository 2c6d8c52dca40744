"""Kinds of blades of the conformal model, directions, flats, duals of flats and rounds, with their parameters.

``Flat[3]`` is the class of flats of grade 3. T_p[X] is X moved by the Euclidean vector p (Dorst, Fontijne and Mann,
Geometric Algebra for Computer Science, 2007, table 14.1).
"""

import copyreg
import math
from operator import getitem
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.compat.clifford.constructors import ConformalLayout
from clifford_rand.compat.clifford.multivector import MultiVector

__all__ = [
    "Blade",
    "Circle",
    "Direction",
    "DualFlat",
    "Flat",
    "InfinitePoint",
    "Line",
    "Plane",
    "Point",
    "PointFlat",
    "PointPair",
    "Round",
    "Sphere",
    "Tangent",
    "classify",
]

ROUNDING = 1e-11  # coefficients below this, relative to the largest, count as zero


class _GradedTypesMeta(type):
    """Classes with a grade: ``class Line(Flat[3], override=True)`` takes the place of ``Flat[3]``."""

    _grade: int
    of_grade: dict[int, "_GradedTypesMeta"]
    overridden: set[int]

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], override: bool = False
    ) -> "_GradedTypesMeta":
        new = super().__new__(cls, name, bases, namespace)
        grade: int | None = getattr(new, "_grade", None)
        if grade is None:
            new.of_grade, new.overridden = {}, set()
        elif override:
            if grade in new.overridden:
                raise ValueError(f"grade {grade} has a class of its own already, {new.of_grade[grade]}")
            new.overridden.add(grade)
            new.of_grade[grade] = new
        return new

    def __getitem__(cls, grade: int) -> "_GradedTypesMeta":
        if hasattr(cls, "_grade"):
            raise TypeError(f"{cls.__name__} has its grade, {cls._grade}")
        if grade not in cls.of_grade:
            families = [base for base in cls.__bases__ if isinstance(base, _GradedTypesMeta)]
            above = tuple(family[grade] for family in families if not hasattr(family, "_grade"))
            new: Any = _GradedTypesMeta(f"{cls.__name__}[{grade}]", (*above, cls), {"_grade": grade})
            new.of_grade, new.overridden, new.family = cls.of_grade, cls.overridden, cls
            cls.of_grade[grade] = new
        return cls.of_grade[grade]

    def _expected_grade(cls, *arguments: Any, **keywords: Any) -> int | None:
        """Return the grade that arguments ask for, None where they leave it open."""
        return None

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        wanted = cls._expected_grade(*arguments, **keywords)
        if not hasattr(cls, "_grade"):
            if wanted is None:
                raise TypeError(f"write {cls.__name__}[grade](…)")
            return cls[wanted](*arguments, **keywords)
        if wanted is not None and wanted != cls._grade:
            raise ValueError(f"{cls.__name__} has grade {cls._grade}, its arguments make one of grade {wanted}")
        return super().__call__(*arguments, **keywords)


def _reduced(cls: Any) -> Any:
    return (getitem, (cls.family, cls._grade)) if "family" in cls.__dict__ else cls.__qualname__


copyreg.pickle(_GradedTypesMeta, _reduced)  # a class that is made on demand is found by its family and its number


def _grade(A: MultiVector, of_zero: int = 0) -> int:
    grades = A.grades()
    if len(grades) > 1:
        raise fail("direction", "classify", "of one grade", describe(f"{A}"))
    return grades.pop() if grades else of_zero


class Blade(metaclass=_GradedTypesMeta):
    """A blade by its parameters; `mv` is the blade itself. ``Blade[k]`` is the class of those of grade k."""

    def __init__(self, layout: Any, **parameters: Any) -> None:
        self.layout = layout
        self._shown = tuple(parameters)
        self.__dict__.update(parameters)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown)
        return f"{type(self).__name__}({shown})"

    def _moved(self, p: MultiVector, X: Any) -> Any:
        T = 1 - p * self.layout.einf / 2
        return T * X * ~T

    @property
    def mv(self) -> MultiVector:
        """The blade."""
        raise NotImplementedError(f"{type(self).__name__} does not determine its blades")


class Direction(Blade):
    """E ∧ einf, of a Euclidean blade E."""

    direction: MultiVector

    def __init__(self, direction: MultiVector) -> None:
        super().__init__(direction.layout, direction=direction)

    @classmethod
    def _expected_grade(cls, direction: MultiVector) -> int:
        return _grade(direction, -1) + 1

    @property
    def mv(self) -> Any:
        """The blade."""
        return self.direction ^ self.layout.einf


class Flat(Blade):
    """T_p[eo ∧ E ∧ einf], through the point p along the Euclidean blade E."""

    direction: MultiVector
    location: MultiVector

    def __init__(self, direction: MultiVector, location: MultiVector) -> None:
        super().__init__(direction.layout, direction=direction, location=location)

    @classmethod
    def _expected_grade(cls, direction: MultiVector, *_: Any, **__: Any) -> int:
        return _grade(direction, -2) + 2

    @property
    def mv(self) -> Any:
        """The blade."""
        return self._moved(self.location, self.layout.eo ^ self.direction ^ self.layout.einf)


class DualFlat(Blade):
    """The dual of a flat."""

    flat: Flat

    def __init__(self, flat: Any) -> None:
        super().__init__(flat.layout, flat=flat)

    @classmethod
    def _expected_grade(cls, flat: Any) -> int:
        return int(flat.layout.dims - type(flat)._grade)

    @property
    def mv(self) -> Any:
        """The blade."""
        return self.flat.mv.dual()


class Round(Blade):
    """T_p[(eo + ρ²/2 einf) ∧ E], of centre p and radius ρ, which may be imaginary, in the directions of E."""

    direction: MultiVector
    location: MultiVector
    radius: complex

    def __init__(self, direction: MultiVector, location: MultiVector, radius: complex) -> None:
        super().__init__(direction.layout, direction=direction, location=location, radius=radius)

    @classmethod
    def _expected_grade(cls, direction: MultiVector, *_: Any, **__: Any) -> int:
        return _grade(direction) + 1

    @property
    def mv(self) -> Any:
        """The blade."""
        half = (self.radius * self.radius).real / 2
        return self._moved(self.location, (self.layout.eo + half * self.layout.einf) ^ self.direction)


class Tangent(Round):
    """A round of radius 0: a point with directions."""

    def __init__(self, direction: MultiVector, location: MultiVector) -> None:
        super().__init__(direction, location, 0)
        self._shown = ("direction", "location")


class Point(Tangent[1], override=True):
    """A point, in its weight."""


class PointFlat(Flat[2], override=True):
    """A flat point, A ∧ einf."""


class Line(Flat[3], override=True):
    """A line, A ∧ B ∧ einf."""


class Plane(Flat[4], override=True):
    """A plane, A ∧ B ∧ C ∧ einf."""


class PointPair(Round[2], override=True):
    """A pair of points, A ∧ B."""


class Circle(Round[3], override=True):
    """A circle, A ∧ B ∧ C."""


class Sphere(Round[4], override=True):
    """A sphere, A ∧ B ∧ C ∧ D."""


class InfinitePoint(Direction[1], override=True):
    """A multiple of einf."""


def _largest(A: MultiVector) -> float:
    return float(np.abs(A.coefficients).max(initial=0))


def _cut(A: Any, size: float) -> Any:
    """Return A without the rounding noise beside terms of a size."""
    return A.clean(ROUNDING * size)


def classify(x: MultiVector) -> Any:
    """Return the kind of a blade of a conformal layout, a `Blade` with its parameters; ``.mv`` gives x back.

    With y = -einf ⌋ x and w = einf ∧ x: x is a direction for y = w = 0, a flat for w = 0 alone, the dual of one for
    y = 0 alone, and else a round T_p[(eo + ρ²/2 einf) E] with y = T_p[E] and x y⁻¹ = eo + p + (p² + ρ²)/2 einf.

    Raises
    ------
    ArgumentError
        For a multivector of another layout or of several grades.

    Examples
    --------
    >>> from clifford_rand.compat.clifford.g3c import e1, e2, e3, einf, up
    >>> from clifford_rand.compat.clifford.tools.classify import classify
    >>> classify(up(3 * e1) ^ up(-3 * e1) ^ up(3 * e2)).radius, classify(up(e1) ^ up(e2) ^ einf)
    (3.0, Line(direction=-(1.0^e1) + (1.0^e2), location=(0.5^e1) + (0.5^e2)))
    """
    space = getattr(x, "layout", None)
    if not isinstance(space, ConformalLayout):
        raise fail("x", "classify", "of a conformal layout", describe(f"{x!r} of {space!r}"))

    def location_of(A: Any) -> Any:
        vector = space.euclidean_vector(A)
        return _cut(vector, _largest(vector))

    eo, einf, size = space.eo, space.einf, _largest(x)
    grade = _grade(x.clean(ROUNDING * size))
    y, w = _cut(-einf << x, size), _cut(einf ^ x, size)
    if not w and not y:
        return Direction[grade](x.rc(-eo))
    if not w:
        direction = _cut(y.rc(-eo), size)
        through = (eo << x) * (1 if grade % 2 == 0 else -1)  # (eo + p) ∧ E
        return Flat[grade](direction, location_of((through - (eo ^ direction)) * direction.inv()))
    if not y:
        flat: Any = classify(x.undual())
        return DualFlat[grade](flat)
    direction = _cut((y ^ einf).rc(-eo), size)
    sphere = x * y.inv()  # eo + p + (p² + ρ²)/2 einf
    location = location_of(sphere)
    square = -float((sphere * sphere)[()])
    if abs(square) <= ROUNDING * max(1.0, _largest(sphere)) ** 2:
        return Tangent[grade](direction, location)
    return Round[grade](direction, location, math.sqrt(square) if square > 0 else math.sqrt(-square) * 1j)
