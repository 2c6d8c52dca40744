"""The class `Algebra`: the ways to make multivectors on a space."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand._checks import as_generator, check_dtype, check_shape, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import ArrayLike, DTypeLike
from clifford_rand.basis.coefficients import FLOATS, Tensor, as_coefficients, as_tensor, copy_by_component, is_tensor
from clifford_rand.basis.keys import Keys, check_size, keys_of_grades, keys_of_masks
from clifford_rand.errors import OF_ALGEBRA, one_array, suggestion
from clifford_rand.multivector.base import INTERNAL, methods_of
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.multivector.parse import Blades, parse_expression
from clifford_rand.space import CONFORMAL, MOST_NAMES, Space, conformal_vector, has_null_basis

if TYPE_CHECKING:
    from clifford_rand.geometry import linear_maps, matrices, projections
else:  # each module is loaded when one of its methods is first used
    linear_maps, matrices, projections = methods_of("clifford_rand.geometry", "linear_maps matrices projections")


class Algebra(Space):
    """The Clifford algebra of a metric.

    Parameters
    ----------
    p, q, r : int
        Numbers of basis vectors with square 1, -1 and 0. The null vectors come first, then the positive, then the
        negative. All may be 0: ``Algebra(0)`` has the scalars.
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
    Building costs O(d): no table has 2^d blades. Two algebras are equal if their metrics are, whatever the names.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.e1 * alg.e2, alg("e1 + 2*e23").grades
    (e12, (1, 2))
    >>> null = cr.Algebra(metric=[[0, -1], [-1, 0]], names=["o", "inf"])
    >>> null.o * null.inf
    -1 + o_inf
    >>> cr.Algebra(40).d, cr.Algebra(2) == cr.Algebra(signature=[1, 1])
    (40, True)
    """

    # ---- multivectors

    def new(self, keys: Keys, coefficients: np.ndarray) -> Multivector:
        """Return a multivector whose array nobody else holds, without checks."""
        if coefficients.__class__ is not np.ndarray:
            return self.new_tensor(keys, coefficients)
        coefficients.setflags(False)  # type: ignore[call-arg]
        A = object.__new__(Multivector)
        A.algebra, A.keys, A.coefficients = self, keys, coefficients
        return A

    def new_tensor(self, keys: Keys, coefficients: Tensor) -> Multivector:
        """Return the multivector whose coefficients are a tensor, or traced, as they are, without checks."""
        if hasattr(coefficients, "multivector"):  # of traced scalars
            return coefficients.multivector(self, keys, coefficients)
        from clifford_rand.multivector.tensor import made_of

        return made_of(self, keys, coefficients)

    def __call__(self, value: Any, /, *, exact: bool = False, **names: Any) -> Multivector:
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
                if isinstance(coefficient, Multivector):
                    rule = "a number, a symbol or an array of them: no multivector has multivectors for coefficients"
                    received = describe(f"a multivector of grades {coefficient.grades}")
                    raise fail(name, "Algebra", rule, received, "Write products and sums: alg.e1 * A + alg.e2 * B.")
                total = total + self.blade(name).gp(coefficient)
            return total.sparse() if not total.ndim else total
        return self.scalar(value)

    def blade(self, name: str) -> Multivector:
        """Return a basis blade by its name, with sign: ``alg.blade("e21")`` is -e12.

        Examples
        --------
        >>> cr.Algebra(3).blade("e21")
        -e12
        """
        mask, sign = self.parse_blade(name)
        return self.new(keys_of_masks(self.d, (mask,)), np.array([sign]))

    def __getattr__(self, name: str) -> Multivector:
        is_public = "names" in self.__dict__ and not name.startswith("_")
        blade = (self.blade(name) if self.names.parse(name) else conformal_vector(self, name)) if is_public else None
        if blade is None:
            hint = f" {self.names.hint}{suggestion(OF_ALGEBRA, name, dir(type(self)))}" if is_public else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute or blade {name!r}.{hint}")
        if len(self.__dict__) < MOST_NAMES:
            self.__dict__[name] = blade  # the next time it is an attribute like any other
        return blade

    def __dir__(self) -> list[str]:
        conformal = CONFORMAL if has_null_basis(self) is not None else ()
        return [*({*object.__dir__(self), *self.names.listed(), *conformal} - INTERNAL)]

    @cached_property
    def blades(self) -> Blades:
        """The basis blades by name: ``alg.blades["e12"]``, and as a mapping in storage order.

        Examples
        --------
        >>> alg = cr.Algebra(2)
        >>> alg.blades["e21"], list(alg.blades)
        (-e12, ['1', 'e1', 'e2', 'e12'])
        """
        return Blades(self)

    @cached_property
    def I(self) -> Multivector:  # noqa: E743  # the field's name
        """The pseudoscalar e1∧…∧ed.

        Examples
        --------
        >>> cr.Algebra(3).I, cr.Algebra(3).I ** 2
        (e123, -1)
        """
        return self.new(keys_of_grades(self.d, (self.d,)), np.ones(1, dtype=np.int64))

    @cached_property
    def I_inv(self) -> Multivector:
        """I⁻¹ = ~I / det G.

        Examples
        --------
        >>> cr.Algebra(3).I_inv, cr.Algebra.sta().I_inv
        (-e123, -g0123)
        """
        determinant = self.form.determinant
        if self.form.is_degenerate:
            raise fail("metric", "I_inv", "non-degenerate", describe(repr(self)), "Use left_complement or star.")
        if not isinstance(determinant, float) and determinant in (1, -1):
            return self.I.reverse() * int(determinant)
        return self.I.reverse() / determinant

    def basis_vectors(self) -> list[Multivector]:
        """Return the d basis vectors in order.

        Examples
        --------
        >>> e1, e2, e3 = cr.Algebra(3).basis_vectors()
        >>> e1 * e2 * e3
        e123
        """
        check_size(self.d**2 // 64, "basis_vectors", "the list")  # a mask of d bits each
        return [self.blade(self.names.vector(i)) for i in range(self.d)]

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
        >>> alg = cr.Algebra(3)
        >>> alg.multivector([1.0, 2, 3], grades=2)
        e12 + 2.0*e13 + 3.0*e23
        >>> alg.multivector({"e1": 1, "e32": 2})
        e1 - 2*e23
        """
        if values.__class__ is np.ndarray and grades is None and dtype is None:
            keys = self._all_keys
            if values.shape == (keys.size,) and values.dtype in FLOATS:  # the rest of this, for the most of its calls
                return self.new(keys, values.copy())
        if isinstance(values, dict):
            A = self(values)
            return A if dtype is None else A.astype(dtype)
        if values.__class__ is not np.ndarray and is_tensor(values):
            array = as_tensor(values, "values", "multivector")
            keys = self._keys_of_tensor(grades, "multivector", "values")
        else:
            array = as_coefficients(values, "values", "multivector")
            keys = self._all_keys if grades is None else self.keys_of(grades, "multivector", "values")
        if array.ndim == 0 or array.shape[-1] != keys.size:
            rule = f"an array with {keys.size} components on its last axis (grades {', '.join(map(str, keys.grades))})"
            raise fail("values", "multivector", rule, describe(f"shape {tuple(array.shape)}"))
        A = self.new(keys, copy_by_component(array)) if array.__class__ is np.ndarray else self.new_tensor(keys, array)
        return A if dtype is None else A.astype(dtype)

    @cached_property
    def _all_keys(self) -> Keys:
        return self.keys_of(None, "multivector", "values")

    @one_array
    def vector(self, X: ArrayLike, /) -> Multivector:
        """Return vectors from their components: (..., d) to a multivector of batch shape (...).

        Examples
        --------
        >>> cr.Algebra(3).vector([1.0, 0.0, 2.0])
        e1 + 2.0*e3
        """
        return self.multivector(X, 1)

    @one_array
    def bivector(self, values: ArrayLike) -> Multivector:
        """Return bivectors from their components e12, e13, …, e23, …: (..., d(d-1)/2).

        Examples
        --------
        >>> cr.Algebra(3).bivector([1, 2, 3])
        e12 + 2*e13 + 3*e23
        """
        return self.multivector(values, 2)

    def scalar(self, value: ArrayLike) -> Multivector:
        """Return a scalar, or a batch of scalars.

        Examples
        --------
        >>> alg = cr.Algebra(2)
        >>> alg.scalar(2), alg.scalar([1, 2, 3]).shape
        (2, (3,))
        """
        if value.__class__ is not np.ndarray and is_tensor(value):
            keys = self._keys_of_tensor(0, "scalar", "value")
            return self.new_tensor(keys, as_tensor(value, "value", "scalar")[..., None])
        return self.new(keys_of_grades(self.d, (0,)), as_coefficients(value, "value", "scalar", own=True)[..., None])

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
        >>> alg = cr.Algebra(2)
        >>> alg.symbols("a"), alg.symbols("b", grades=1) * alg.e1
        (a + a1*e1 + a2*e2 + a12*e12, b1 - b2*e12)
        """
        from clifford_rand.symbolic.coefficients import make_symbols

        if not isinstance(name, str) or not name.isidentifier():
            raise fail("name", "symbols", 'an identifier, as "a"', name)
        keys = self.keys_of(grades, "symbols", "grades")
        return self.new(keys, make_symbols(name, self.names, keys.masks, assumptions))

    def random_multivector(
        self,
        *,
        rng: np.random.Generator | int | None = None,
        shape: int | tuple[int, ...] = (),
        grades: int | Iterable[int] | None = None,
        dtype: DTypeLike = np.float64,
    ) -> Multivector:
        """Return a multivector of independent standard normal components (complex: real and imaginary part).

        Parameters
        ----------
        rng : Generator, int or None
        shape : int or tuple of int, of the batch
        grades : int or iterable of int, optional
            All by default.
        dtype : float32, float64, complex64 or complex128

        Examples
        --------
        >>> cr.Algebra(3).random_multivector(rng=0, shape=5, grades=2)
        <Multivector batch of Algebra(3): shape=(5,), grades=(2,), dtype=float64>
         [0] 0.12573022*e12 - 0.13210486*e13 + 0.64042265*e23
         [1] 0.10490012*e12 - 0.53566937*e13 + 0.36159505*e23
         [2] 1.30400005*e12 + 0.94708096*e13 - 0.70373524*e23
         [3] -1.26542147*e12 - 0.62327446*e13 + 0.04132598*e23
         … (1 more)
        """
        generator = as_generator(rng, "random_multivector")
        keys = self.keys_of(grades, "random_multivector", "grades")
        batch = check_shape(shape, "shape", "random_multivector")
        check_size(keys.size * math.prod(batch), "random_multivector", "grades")
        kind = check_dtype(dtype, "dtype", "random_multivector", "fc")
        values = generator.standard_normal((*batch, keys.size))
        if kind.kind == "c":
            values = values + 1j * generator.standard_normal((*batch, keys.size))
        return self.new(keys, copy_by_component(values.astype(kind, copy=False)))

    reciprocal_frame = projections.reciprocal_frame
    convert = linear_maps.convert
    from_left_matrix = linear_maps.from_left_matrix
    from_right_matrix = linear_maps.from_right_matrix
    from_spinor_matrix = matrices.from_spinor_matrix
