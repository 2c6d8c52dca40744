"""Classes with a number: ``Flat[3]`` is the class of flats of grade 3."""

import copyreg
from typing import Any


class _GradedTypesMeta(type):
    """The class of such classes. ``class Line(Flat[3], override=True)`` takes the place of ``Flat[3]``."""

    _grade: int
    _numbered: dict[int, "_GradedTypesMeta"]
    _named: set[int]

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], override: bool = False
    ) -> "_GradedTypesMeta":
        made = super().__new__(cls, name, bases, namespace)
        if not hasattr(made, "_grade"):
            made._numbered, made._named = {}, set()
        elif override:
            if made._grade in made._named:
                raise ValueError(f"grade {made._grade} has a class of its own already, {made._numbered[made._grade]}")
            made._named.add(made._grade)
            made._numbered[made._grade] = made
        return made

    def __getitem__(cls, grade: int) -> "_GradedTypesMeta":
        if hasattr(cls, "_grade"):
            raise TypeError(f"{cls.__name__} has its grade, {cls._grade}")
        if grade not in cls._numbered:
            families = [base for base in cls.__bases__ if isinstance(base, _GradedTypesMeta)]
            above = tuple(family[grade] for family in families if not hasattr(family, "_grade"))
            made: Any = _GradedTypesMeta(f"{cls.__name__}[{grade}]", (*above, cls), {"_grade": grade})
            made._numbered, made._named, made._open = cls._numbered, cls._named, cls
            cls._numbered[grade] = made
        return cls._numbered[grade]

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


def _numbered(family: Any, grade: int) -> Any:
    return family[grade]


def _reduced(cls: Any) -> Any:
    return (_numbered, (cls.__dict__["_open"], cls._grade)) if "_open" in cls.__dict__ else cls.__qualname__


copyreg.pickle(_GradedTypesMeta, _reduced)  # a class that is made on demand is found by its family and its number
