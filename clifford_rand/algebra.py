"""The class `Algebra`: a metric, names, and the ways to make multivectors."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from clifford_rand._checks import as_generator, check_integer, describe, fail
from clifford_rand.basis.keys import Keys, check_size, dense_keys, keys_of_grades, keys_of_masks
from clifford_rand.basis.metric import Metric, metric_of_gram, metric_of_signature
from clifford_rand.basis.names import Names, custom_names, default_names
from clifford_rand.multivector.coefficients import as_coefficients
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.multivector.parse import parse_expression

__all__ = ["Algebra", "Blades"]


class Algebra:
    """The Clifford algebra of a metric.

    Parameters
    ----------
    p, q, r : int
        Numbers of basis vectors with square 1, -1 and 0. The null vectors come first, then the positive, then the
        negative.
    signature : sequence of {1, -1, 0}, optional
        The squares in an order of your own.
    metric : array_like of shape (d, d), optional
        Any symmetric Gram matrix e_i·e_j: not diagonal, null bases, degenerate; numbers, fractions, SymPy expressions.
    names : sequence of str, optional
        Names of the basis vectors. By default e1, e2, …; from e0 where there is one null vector and it is the first,
        as in projective geometry. Blades are ``e12`` for d < 10 and ``e1_12`` from ten dimensions on; e21 is -e12.

    Attributes
    ----------
    d : int
        The number of basis vectors.
    p, q, r : int
        The numbers of positive, negative and null directions of the metric.
    form : Metric
        The metric as the products use it, with its determinant and the plans that were made.

    Raises
    ------
    ArgumentError
        For a metric that is not symmetric, a signature with other entries, names that are not unique.

    Notes
    -----
    Building costs O(d): there is no table of 2^d blades. Two algebras are equal if their metrics are, whatever the
    names.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> alg.e1 * alg.e2, alg("e1 + 2*e23").grades
    (e12, (1, 2))
    >>> null = cr.Algebra(metric=[[0, -1], [-1, 0]], names=["o", "inf"])
    >>> null.o * null.inf
    -1 + o_inf
    >>> cr.Algebra(40).d, cr.Algebra(2) == cr.Algebra(signature=[1, 1])
    (40, True)
    """

    def __init__(
        self,
        p: int | None = None,
        q: int = 0,
        r: int = 0,
        *,
        signature: Sequence[int] | None = None,
        metric: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        given = [name for name, value in (("p", p), ("signature", signature), ("metric", metric)) if value is not None]
        if len(given) != 1 or (p is None and (q or r)):
            raise fail(
                "p", "Algebra", "given alone, or else signature or metric", describe(" and ".join(given) or "nothing")
            )
        if metric is not None:
            self.form: Metric = metric_of_gram(metric)
        elif signature is not None:
            self.form = metric_of_signature(signature)
        else:
            counts = [check_integer(value, name, "Algebra", low=0) for name, value in (("p", p), ("q", q), ("r", r))]
            if not sum(counts):
                raise fail("p", "Algebra", "such that p + q + r ≥ 1", describe("an algebra without vectors"))
            self.form = Metric(np.repeat(np.array([0, 1, -1], dtype=np.int8), [counts[2], counts[0], counts[1]]), None)
        self.d: int = self.form.d
        if names is not None:
            self.names: Names = custom_names(names, self.d)
        else:
            self.names = default_names(self.d, 0 if self._first_is_the_null_vector() else 1)

    def _first_is_the_null_vector(self) -> bool:
        diagonal = self.form.diagonal
        return diagonal is not None and diagonal[0] == 0 and sum(1 for value in diagonal.tolist() if value == 0) == 1

    # ---- the metric

    @property
    def p(self) -> int:
        """The number of positive directions of the metric."""
        return self.form.counts[0]

    @property
    def q(self) -> int:
        """The number of negative directions of the metric."""
        return self.form.counts[1]

    @property
    def r(self) -> int:
        """The number of null directions of the metric."""
        return self.form.counts[2]

    @property
    def signature(self) -> tuple[int, ...]:
        """The squares of the basis vectors (1, -1, 0) if these are all; else the signs of the metric's eigenvalues."""
        if self.form.is_unit:
            assert self.form.diagonal is not None
            return tuple(self.form.diagonal.tolist())
        p, q, r = self.form.counts
        return (0,) * r + (1,) * p + (-1,) * q

    @property
    def metric(self) -> NDArray[Any]:
        """The Gram matrix e_i·e_j of the basis vectors (d, d), read-only."""
        view = self.form.gram.view()
        view.flags.writeable = False
        return view

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Algebra) and self.form == other.form)

    def __hash__(self) -> int:
        return hash(self.form)

    def __reduce__(self) -> Any:
        return _restore, (self.form, self.names)

    def __repr__(self) -> str:
        first = 0 if self._first_is_the_null_vector() else 1
        own = "" if self.names == default_names(self.d, first) else f", names={list(self.names.vectors)!r}"
        if self.form.is_unit:
            p, q, r = self.form.counts
            assert self.form.diagonal is not None
            if self.signature == (0,) * r + (1,) * p + (-1,) * q:
                return f"Algebra({', '.join(map(str, (p, q, r) if r else (p, q) if q else (p,)))}{own})"
            return f"Algebra(signature={list(self.signature)}{own})"
        return f"Algebra(metric={self.form.gram.tolist()}{own})"

    # ---- presets

    @classmethod
    def vga(cls, n: int) -> "Algebra":
        """Return the algebra of Euclidean n-space, Cl(n)."""
        return cls(check_integer(n, "n", "Algebra.vga"))

    @classmethod
    def pga(cls, n: int) -> "Algebra":
        """Return the plane-based projective algebra of n-space, Cl(n, 0, 1): e0² = 0, then e1 to en."""
        return cls(check_integer(n, "n", "Algebra.pga"), 0, 1)

    @classmethod
    def cga(cls, n: int, *, null_basis: bool = False) -> "Algebra":
        """Return the conformal algebra of n-space, Cl(n+1, 1).

        The last two basis vectors square to 1 and -1; with ``null_basis=True`` they are the origin ``eo`` and infinity
        ``ei`` with eo·ei = -1 and both squares 0.
        """
        check_integer(n, "n", "Algebra.cga")
        if not null_basis:
            return cls(n + 1, 1)
        gram = np.eye(n + 2, dtype=np.int64)
        gram[n:, n:] = [[0, -1], [-1, 0]]
        return cls(metric=gram, names=[*(f"e{i + 1}" for i in range(n)), "eo", "ei"])

    @classmethod
    def sta(cls) -> "Algebra":
        """Return the space-time algebra Cl(1, 3), basis vectors g0 (square 1), g1, g2, g3 (square -1)."""
        return cls(1, 3, names=["g0", "g1", "g2", "g3"])

    # ---- multivectors

    def _new(self, keys: Keys, coefficients: np.ndarray) -> Multivector:
        made = object.__new__(Multivector)
        made.algebra, made.keys, made.coefficients = self, keys, coefficients
        return made

    def __call__(self, value: Any, *, exact: bool = False, **names: Any) -> Multivector:
        """Return a multivector from text (``alg("e1 - 2*e23")``), a scalar, or {blade: coefficient}.

        Names other than blades are given as keywords: ``alg("a*e1", a=3)``. The operators and their precedence are
        Python's: ``^`` and ``|`` bind more loosely than ``+``, so use parentheses. With ``exact=True``, or beside names
        of fractions or symbols, 1/3 is a fraction, so that ``alg(repr(A), exact=True) == A`` for fractions too.
        """
        if isinstance(value, str):
            value = parse_expression(self, value, names, exact=exact)
        if isinstance(value, Multivector):
            if value.algebra != self:
                raise fail("value", "Algebra", f"of {self!r}", describe(f"a multivector of {value.algebra!r}"))
            return value
        if isinstance(value, dict):
            total = self.scalar(0) * 0
            for name, coefficient in value.items():
                total = total + self.blade(name) * coefficient
            return total.sparse() if not total.ndim else total
        return self.scalar(value)

    def parse_blade(self, name: str) -> tuple[int, int]:
        """Return (mask, sign) of a blade's name: bit i of the mask is basis vector i."""
        found = self.names.parse(name) if isinstance(name, str) else None
        if found is None:
            raise fail("name", "Algebra", "the name of a blade", name, self.names.hint)
        return found

    def blade(self, name: str) -> Multivector:
        """Return a basis blade by its name, with sign: ``alg.blade("e21")`` is -e12."""
        mask, sign = self.parse_blade(name)
        return self._new(keys_of_masks(self.d, (mask,)), np.array([sign]))

    def __getattr__(self, name: str) -> Multivector:
        found = None if name.startswith("_") or "names" not in self.__dict__ else self.names.parse(name)
        if found is None:
            hint = f" {self.names.hint}" if "names" in self.__dict__ else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute or blade {name!r}.{hint}")
        return self.blade(name)

    @cached_property
    def blades(self) -> "Blades":
        """The basis blades by name: ``alg.blades["e12"]``, and as a mapping in storage order."""
        return Blades(self)

    @cached_property
    def I(self) -> Multivector:  # noqa: E743  # the field's name
        """The pseudoscalar e1∧…∧ed."""
        return self._new(keys_of_grades(self.d, (self.d,)), np.ones(1, dtype=np.int64))

    @cached_property
    def inverse_I(self) -> Multivector:
        """I⁻¹ = ~I / det G."""
        determinant = self.form.determinant
        if self.form.is_degenerate:
            raise fail("metric", "inverse_I", "non-degenerate", describe(repr(self)), "Use left_complement or star.")
        if not isinstance(determinant, float) and determinant in (1, -1):
            return self.I.reverse() * int(determinant)
        return self.I.reverse() / determinant

    def basis_vectors(self) -> list[Multivector]:
        """Return the d basis vectors in order."""
        return [self.blade(self.names.vector(i)) for i in range(self.d)]

    def _grades(self, grades: int | Iterable[int] | None, owner: str) -> tuple[int, ...]:
        if grades is None:
            return tuple(range(self.d + 1))
        listed = [grades] if isinstance(grades, int | np.integer) else list(grades)
        return tuple(sorted({check_integer(k, "grades", owner, low=0, high=self.d) for k in listed}))

    def multivector(
        self, values: ArrayLike | dict[str, Any], grades: int | Iterable[int] | None = None, *, dtype: Any = None
    ) -> Multivector:
        """Return a multivector, or a batch, from its components.

        Parameters
        ----------
        values : array_like of shape (..., n) or dict
            Components on the last axis, by grade then lexicographically: all 2^d, or those of ``grades``. Or a dict
            {blade: value}.
        grades : int or iterable of int, optional
            The grades that ``values`` has; all of them by default.
        dtype : optional
            float32, float64, complex64, complex128, int64 or object.

        Raises
        ------
        ArgumentError
            If the number of components is not that of the grades.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg.multivector([1.0, 2, 3], grades=2)
        1.0*e12 + 2.0*e13 + 3.0*e23
        >>> alg.multivector({"e1": 1, "e32": 2})
        e1 - 2*e23
        """
        if isinstance(values, dict):
            made = self(values)
            return made if dtype is None else made.astype(dtype)
        array = as_coefficients(np.array(values, dtype=dtype), "values", "multivector")  # a copy: the user's may change
        wanted = self._grades(grades, "multivector")
        keys = keys_of_grades(self.d, wanted)
        if array.ndim == 0 or array.shape[-1] != keys.size:
            raise fail(
                "values",
                "multivector",
                f"an array with {keys.size} components on its last axis (grades {', '.join(map(str, wanted))})",
                describe(f"shape {array.shape}"),
            )
        return self._new(keys, array)

    def vector(self, X: ArrayLike) -> Multivector:
        """Return vectors from their components: (..., d) to a multivector of batch shape (...).

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.Algebra(3).vector([1.0, 0.0, 2.0])
        1.0*e1 + 2.0*e3
        """
        return self.multivector(X, 1)

    def bivector(self, values: ArrayLike) -> Multivector:
        """Return bivectors from their components e12, e13, …, e23, …: (..., d(d-1)/2)."""
        return self.multivector(values, 2)

    def scalar(self, value: ArrayLike) -> Multivector:
        """Return a scalar, or a batch of scalars."""
        return self._new(keys_of_grades(self.d, (0,)), as_coefficients(np.array(value), "value", "scalar")[..., None])

    def symbols(self, name: str, grades: int | Iterable[int] | None = None, **assumptions: Any) -> Multivector:
        """Return a multivector whose coefficients are SymPy symbols, named by ``name`` and the indices of their blades.

        ``a`` for the scalar, a1, a2, …, a12, …; a1_12 from ten dimensions on, a_x_y for vectors with names of your own,
        and x1_12 for a name that ends in a digit. They are real unless you say otherwise, as coefficients are.

        Parameters
        ----------
        name : str
            An identifier.
        grades : int or iterable of int, optional
            All by default.
        **assumptions
            SymPy's, as positive=True; real=None for symbols that may be complex.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(2)
        >>> alg.symbols("a"), alg.symbols("b", grades=1) * alg.e1
        (a + a1*e1 + a2*e2 + a12*e12, b1 - b2*e12)
        """
        from clifford_rand.symbolic import make_symbols

        if not isinstance(name, str) or not name.isidentifier():
            raise fail("name", "symbols", 'an identifier, as "a"', name)
        keys = keys_of_grades(self.d, self._grades(grades, "symbols"))
        check_size(keys.size, "symbols", "grades")
        return self._new(keys, make_symbols(name, self.names, keys.masks, assumptions))

    def random_multivector(
        self,
        rng: np.random.Generator | int | None = None,
        shape: int | tuple[int, ...] = (),
        grades: int | Iterable[int] | None = None,
        dtype: DTypeLike = np.float64,
    ) -> Multivector:
        """Return a multivector of independent standard normal components (complex: real and imaginary part).

        Parameters
        ----------
        rng : Generator, int or None
        shape : int or tuple of int
            Batch shape.
        grades : int or iterable of int, optional
            All by default.
        dtype : float32, float64, complex64 or complex128
        """
        generator = as_generator(rng, "random_multivector")
        keys = keys_of_grades(self.d, self._grades(grades, "random_multivector"))
        batch = (shape,) if isinstance(shape, int) else tuple(shape)
        check_size(keys.size * int(np.prod(batch, dtype=object)), "random_multivector", "grades")
        kind = np.dtype(dtype)
        if kind.kind not in "fc":
            raise fail("dtype", "random_multivector", "float32, float64, complex64 or complex128", dtype)
        values = generator.standard_normal((*batch, keys.size))
        if kind.kind == "c":
            values = values + 1j * generator.standard_normal((*batch, keys.size))
        return self._new(keys, values.astype(kind))

    def reciprocal_frame(self, vectors: Sequence[Multivector]) -> list[Multivector]:
        """Return the vectors a^i in the span of k ≤ d given ones with a^i · a_j = δ_ij.

        Raises
        ------
        ArgumentError
            If the Gram matrix a_i · a_j is singular.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(2)
        >>> alg.reciprocal_frame([alg.e1, alg.e1 + 2 * alg.e2])
        [1.0*e1 - 0.5*e2, 0.5*e2]
        """
        from clifford_rand.geometry.frames import reciprocal_frame

        for vector in vectors:
            if isinstance(vector, Multivector) and vector.algebra != self:
                raise fail("vectors", "reciprocal_frame", f"of {self!r}", describe(f"a vector of {vector.algebra!r}"))
        return reciprocal_frame(vectors)

    def convert(self, A: Multivector, mapping: Mapping[str, str] | None = None, *, drop: bool = False) -> Multivector:
        """Return a multivector of another algebra in this one, matching basis vectors by name.

        It is a homomorphism: the basis vectors that A has need the same inner products here.

        Parameters
        ----------
        A : Multivector
            Of any algebra.
        mapping : dict of str to str, optional
            Names here for basis vectors there, ``{"e1": "e2"}``; the others keep their names.
        drop : bool, default=False
            Leave out the blades with a basis vector that is not here; otherwise they are an error unless zero.

        Raises
        ------
        ArgumentError
            If inner products differ, or a coefficient has no place here.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> vga, pga = cr.Algebra.vga(3), cr.Algebra.pga(3)
        >>> pga.convert(vga.e12) * pga.e0
        e012
        >>> vga.convert(pga("e12 + 3*e01"), drop=True)
        e12
        """
        from clifford_rand.geometry.embedding import convert

        return convert(self, A, mapping, drop=drop)

    def from_left_matrix(self, M: ArrayLike, rtol: float = 1e-9) -> Multivector:
        """Return A with ``A.left_matrix()`` equal to M (..., 2^d, 2^d), to ``rtol`` of its largest entry.

        Raises
        ------
        ArgumentError
            If M is not the matrix of a product X ↦ A X.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg.from_left_matrix((2 * alg.e12).left_matrix()).sparse()
        2*e12
        """
        from clifford_rand.geometry.matrices import from_left_matrix

        return from_left_matrix(self, M, rtol)


class Blades:
    """The basis blades of an algebra by name, in storage order where they are listed."""

    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra

    def __getitem__(self, name: str) -> Multivector:
        try:
            return self._algebra.blade(name)
        except ValueError as error:
            raise KeyError(str(error)) from None

    def __getattr__(self, name: str) -> Multivector:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._algebra, name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._algebra.names.parse(name) is not None

    def __len__(self) -> int:
        return 2**self._algebra.d

    def __iter__(self) -> Any:
        check_size(len(self), "blades", "the list of blades")
        return (self._algebra.names.blade(int(mask)) for mask in dense_keys(self._algebra.d).masks)

    def keys(self) -> list[str]:
        """Return the names of all blades, "1" first."""
        return list(self)

    def grade(self, k: int) -> dict[str, Multivector]:
        """Return the blades of one grade by name."""
        masks = keys_of_grades(self._algebra.d, (check_integer(k, "k", "grade", low=0, high=self._algebra.d),)).masks
        names = [self._algebra.names.blade(int(mask)) for mask in masks]
        return {name: self._algebra.blade(name) for name in names}

    def items(self) -> list[tuple[str, Multivector]]:
        """Return (name, blade) of all blades."""
        return [(name, self[name]) for name in self]

    def __repr__(self) -> str:
        return f"Blades({self._algebra!r}: {self._algebra.names.hint})"


def _restore(metric: Metric, names: Names) -> Algebra:
    algebra = object.__new__(Algebra)
    algebra.form, algebra.d, algebra.names = metric, metric.d, names
    return algebra
