"""The class `Multivector`: keys, coefficients, and the operations, each of which stands with its own mathematics."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import check_instance, describe, fail
from clifford_rand.basis import layout
from clifford_rand.basis.arrays import as_tensor, is_tensor
from clifford_rand.basis.coefficients import INT, as_coefficients, is_scalar, read_only
from clifford_rand.basis.keys import Keys, check_size, keys_of_grades
from clifford_rand.multivector import arithmetic, batch, comparison, components, display, linear, products, symbols
from clifford_rand.multivector.blade_attributes import BladeAttributes
from clifford_rand.multivector.lazy_methods import methods_of, name_methods

if TYPE_CHECKING:
    from clifford_rand.functions import bivector_split as split
    from clifford_rand.functions import (
        circular,
        compiled,
        exponential,
        inverse,
        inverse_circular,
        logarithm,
        norms,
        outer,
    )
    from clifford_rand.geometry import factors, linear_maps, projections, spinors, subspaces, versors
    from clifford_rand.multivector import array_functions, scalars, ufuncs
else:  # each module is loaded when one of its methods is first used
    circular, compiled, exponential, inverse, inverse_circular, logarithm, norms, outer, split = methods_of(
        "clifford_rand.functions",
        "circular compiled exponential inverse inverse_circular logarithm norms outer bivector_split",
    )
    factors, linear_maps, projections, spinors, subspaces, versors = methods_of(
        "clifford_rand.geometry", "factors linear_maps projections spinors subspaces versors"
    )
    array_functions, scalars, ufuncs = methods_of("clifford_rand.multivector", "array_functions scalars ufuncs")


# methods for this package, without checks
INTERNAL = frozenset(("new", "coerce", "operand", "on_keys", "select_keys", "multiply", "image", "part"))


class Multivector(BladeAttributes):
    """A multivector, or a batch of them: keys (basis blades) and coefficients.

    Made by an `Algebra`: ``alg.e12``, ``alg("e1 - 2*e23")``, ``alg.vector(X)``, ``alg.multivector(values, grades)``.
    Dense, graded and sparse multivectors are one class: the keys say which blades are stored, all others are zero.
    A multivector is a value: its array is its own and read-only, so that it can be shared, hashed and cached.

    Attributes
    ----------
    algebra : Algebra
    keys : Keys
        The stored blades, by grade then lexicographically.
    coefficients : ndarray of shape (..., keys.size)
        Batch axes first, components last; `values` fills up the grades. In memory the components of a batch lie apart,
        each contiguous: ``np.moveaxis(A.coefficients, -1, 0)`` is an array in C order, unless A is a part of a batch.

    Notes
    -----
    Operators: ``*`` geometric, ``^`` outer, ``|`` fat dot, ``&`` regressive, ``<<`` left contraction, ``>>`` sandwich
    R X R⁻¹, ``~`` reverse, ``/`` and ``**`` by the inverse. Python's precedence holds: ``+`` binds closer than ``^``
    and ``|``. A scalar is as good as a number: ``float(a | b)``, ``math.sqrt(a | a)``, ``(a | b) < 1``,
    ``np.asarray(a | b)``; anything else is refused there with its grades.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> alg("e1 - 2*e23") * alg.e1
    1 - 2*e123
    >>> alg.vector([[1, 0, 0], [0, 2, 0]]) * alg.vector([1, 1, 1])  # a batch of two
    <Multivector batch of Algebra(3): shape=(2,), grades=(0, 2), dtype=int64>
    """

    __slots__ = ("algebra", "coefficients", "keys")

    algebra: Any
    keys: Keys
    coefficients: NDArray[Any]
    _op_priority = 1000.0  # for SymPy, which takes what has it for no number: symbol * scalar is a multivector

    def __init__(self, algebra: Any, keys: Keys, coefficients: ArrayLike) -> None:
        owner = type(self).__name__
        if not hasattr(algebra, "form"):
            raise fail("algebra", owner, "an Algebra", algebra)
        check_instance(keys, Keys, "keys", owner, "the keys of a multivector, A.keys")
        array = as_coefficients(coefficients, "coefficients", owner)
        if array.ndim == 0 or array.shape[-1] != keys.size:
            raise fail(
                "coefficients",
                owner,
                f"an array with {keys.size} components on its last axis",
                describe(f"shape {array.shape}"),
            )
        self.algebra = algebra
        self.keys = keys
        self.coefficients = read_only(layout.own(array))

    def new(self, keys: Keys, coefficients: NDArray[Any]) -> "Multivector":
        """Return a multivector of the same algebra, its array one that nobody else holds; without checks."""
        coefficients.setflags(False)  # type: ignore[call-arg]  # by keyword it takes three times as long
        made = _new(Multivector)
        made.algebra = self.algebra
        made.keys = keys
        made.coefficients = coefficients
        return made

    def coerce(self, other: object, *, keep: bool = True) -> "Multivector | None":
        """Return ``other`` (a scalar, an array of scalars) as a multivector of this algebra; None if it is neither.

        With ``keep`` a Python number takes the dtype of this multivector (NEP 50).
        """
        if isinstance(other, Multivector):
            if other.algebra is not self.algebra and other.algebra != self.algebra:
                raise fail(
                    "other",
                    type(self).__name__,
                    f"of the same algebra, {self.algebra!r}",
                    describe(f"a multivector of {other.algebra!r}"),
                    "Convert it with algebra.convert(…).",
                )
            return other
        if is_scalar(other) or isinstance(other, np.ndarray):
            exact = self.dtype.kind == "O" or (self.dtype == INT and isinstance(other, int))
            if keep and isinstance(other, int | float | complex) and not (exact or isinstance(other, np.generic)):
                other = np.asarray(other, dtype=np.result_type(self.dtype, other))
            array = as_coefficients(other, "other", type(self).__name__, own=True)  # type: ignore[arg-type]
            return self.new(keys_of_grades(self.algebra.d, (0,)), array[..., None])
        if getattr(other, "is_Matrix", False):  # SymPy's
            rule, hint = "a number, a symbol or an array of them", "np.array(M) * A is a batch."
            raise fail("other", type(self).__name__, rule, describe("a matrix of SymPy"), hint)
        if is_tensor(other):
            array = as_tensor(other, "other", type(self).__name__)
            return self.algebra.new_tensor(keys_of_grades(self.algebra.d, (0,)), array[..., None])
        return None

    def __dir__(self) -> list[str]:
        hidden = {name for name in vars(BladeAttributes) if not name.startswith("_")} | INTERNAL
        return [name for name in object.__dir__(self) if name not in hidden]

    def __reduce__(self) -> Any:
        return type(self), (self.algebra, self.keys, self.coefficients)

    def __copy__(self, memo: object = None) -> "Multivector":
        return self

    __deepcopy__ = __copy__

    def copy(self) -> "Multivector":
        """Return a multivector with coefficients of its own, as a part of a batch holds on to all of it.

        Examples
        --------
        >>> import numpy as np
        >>> import clifford_rand as cr
        >>> A = cr.Algebra(3).vector([[1, 2, 3], [4, 5, 6]])
        >>> A[0].copy() == A[0], np.shares_memory(A[0].copy().coefficients, A.coefficients)
        (True, False)
        """
        return self.new(self.keys, layout.own(self.coefficients))

    # ---- what is stored

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch axes: ``()`` for one multivector.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A = cr.Algebra(2).vector([[1, 2], [3, 4], [5, 6]])
        >>> A.shape, A.ndim
        ((3,), 1)
        """
        return self.coefficients.shape[:-1]

    @property
    def ndim(self) -> int:
        """The number of batch axes.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.Algebra(2).e1.ndim, cr.Algebra(2).vector([[1, 2], [3, 4]]).ndim
        (0, 1)
        """
        return self.coefficients.ndim - 1

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the coefficients.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> cr.Algebra(2).e1.dtype, (0.5 * cr.Algebra(2).e1).dtype
        (dtype('int64'), dtype('float64'))
        """
        return self.coefficients.dtype

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades that it may have: for each there are components, zero or not, in `values`.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> (alg.e1 + alg.e123).grades
        (1, 3)
        """
        return self.keys.grades

    @property
    def values(self) -> NDArray[Any]:
        """The components of all blades of `grades`, by grade then lexicographically: (..., n), read-only.

        A dense multivector has all 2^d of them; blades of these grades that are not stored are filled up with zeros.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> (alg.e1 + 2 * alg.e31).values  # e1 e2 e3, e12 e13 e23
        array([ 1,  0,  0,  0, -2,  0])
        """
        filled = self.keys.filled
        check_size(filled.size, "values", "the array of components")
        return self.on_keys(filled).coefficients

    replace = components.replace
    map = components.mapped
    filter = components.filtered
    dense = components.dense
    sparse = components.sparse
    astype = components.astype
    to_numeric = components.to_numeric
    on_keys = components.on_keys
    select_keys = components.select

    # ---- batch axes

    __len__ = batch.length
    __iter__ = batch.iterate
    __getitem__ = batch.item
    __setitem__ = batch.refuse_item
    reshape = batch.reshape
    sum = batch.total
    mean = batch.mean
    prod = batch.prod

    # ---- comparison

    __eq__ = comparison.equal
    __ne__ = comparison.unequal
    __hash__ = comparison.hash_of
    isclose = comparison.isclose
    is_zero = comparison.is_zero

    # ---- scalars are numbers

    __float__ = scalars.to_float
    __int__ = scalars.to_int
    __complex__ = scalars.to_complex
    __bool__ = scalars.to_bool
    __round__ = scalars.rounded
    __array__ = scalars.to_array
    __lt__ = scalars.less
    __le__ = scalars.less_equal
    __gt__ = scalars.greater
    __ge__ = scalars.greater_equal

    # ---- the vector space, and division by what has an inverse

    __add__ = __radd__ = arithmetic.add
    __sub__ = arithmetic.subtract
    __rsub__ = arithmetic.subtract_from
    __neg__ = arithmetic.negative
    __pos__ = arithmetic.positive
    __rmul__ = arithmetic.scale
    __truediv__ = arithmetic.divide
    __rtruediv__ = arithmetic.divide_into
    __pow__ = arithmetic.power
    __rpow__ = arithmetic.power_of
    __array_ufunc__ = ufuncs.by_ufunc
    __array_function__ = array_functions.by_array_function

    # ---- products

    __mul__ = arithmetic.times
    __xor__, __rxor__ = products.operators("wedge")
    __or__, __ror__ = products.operators("fat_dot")
    __and__, __rand__ = products.operators("vee")
    __lshift__, __rlshift__ = products.operators("lc")
    gp = products.gp
    wedge = products.wedge
    vee = products.vee
    fat_dot = products.fat_dot
    hestenes = products.hestenes
    lc = products.lc
    rc = products.rc
    scalar_product = products.scalar_product
    inner = products.inner
    commutator = products.commutator
    anticommutator = products.anticommutator
    multiply = products.multiply
    operand = products.operand

    # ---- linear maps of the blades: parts, involutions, duals

    image = linear.image
    part = linear.part
    grade = linear.grade
    even = linear.even
    odd = linear.odd
    scalar_part = linear.scalar_part
    reverse = __invert__ = linear.reverse
    involute = linear.involute
    conjugate = linear.conjugate
    star = linear.star
    star_right = linear.star_right
    dual = linear.dual
    undual = linear.undual
    left_complement = linear.left_complement
    right_complement = linear.right_complement

    # ---- functions of one multivector

    norm_squared = norms.norm_squared
    norm = __abs__ = norms.norm
    normalized = norms.normalized
    inv = inverse = inverse.inverse
    exp = exponential.exponential
    log = logarithm.log
    sqrt = logarithm.sqrt
    sin = circular.sin
    cos = circular.cos
    tan = circular.tan
    sinh = circular.sinh
    cosh = circular.cosh
    tanh = circular.tanh
    arcsin = inverse_circular.arcsin
    arccos = inverse_circular.arccos
    arctan = inverse_circular.arctan
    arcsinh = inverse_circular.arcsinh
    arccosh = inverse_circular.arccosh
    arctanh = inverse_circular.arctanh
    outerexp = outer.outerexp
    outersin = outer.outersin
    outercos = outer.outercos
    outertan = outer.outertan
    bivector_split = split.split

    # ---- versors and blades at work

    sandwich = versors.sandwich
    __rshift__ = versors.sandwich_of
    __rrshift__ = versors.sandwich_by
    vector_matrix = versors.vector_matrix
    is_versor = versors.is_versor
    project = projections.project
    reject = projections.reject
    reflect = projections.reflect
    is_blade = subspaces.is_blade
    join = subspaces.join
    meet = subspaces.meet
    factorize_blade = factors.factorize_blade
    factorize_versor = factors.factorize_versor
    factorize = factors.factorize
    outermorphism = linear_maps.outermorphism
    left_matrix = linear_maps.left_matrix
    right_matrix = linear_maps.right_matrix
    spinor_matrix = spinors.spinor_matrix

    # ---- symbolic coefficients

    symbols_used = symbols.symbols_used
    diff = symbols.diff
    subs = symbols.subs
    simplify = symbols.simplify
    expand = symbols.expand
    factor = symbols.factor
    evalf = symbols.evalf
    integrate = symbols.integrate
    args = property(symbols.arguments)
    func = symbols.rebuilt
    __sympy__ = property(symbols.is_sympy)
    _sympy_ = property(symbols.as_sympy)
    _eval_simplify = symbols.eval_simplify
    _eval_trigsimp = symbols.eval_trigsimp
    _eval_Integral = symbols.eval_integral  # noqa: N815  # SymPy's name
    _latex = symbols.latex
    lambdify = compiled.lambdify

    # ---- what it looks like

    __repr__ = display.exact_text
    __str__ = display.rounded_text
    __format__ = display.formatted_text
    _repr_latex_ = display.latex_text
    _repr_html_ = display.html_text


name_methods(Multivector)
_new = object.__new__
