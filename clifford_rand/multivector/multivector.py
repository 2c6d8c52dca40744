"""The class `Multivector`: keys, coefficients, and the operations, each of which stands with its own mathematics."""

from typing import TYPE_CHECKING

from clifford_rand.multivector import arithmetic, batch, comparison, components, display, products, symbols
from clifford_rand.multivector.base import StoredComponents, methods_of, name_methods

if TYPE_CHECKING:
    from clifford_rand.functions import bivector_split as split
    from clifford_rand.functions import circular, compiled, exponential, inverse, inverse_circular, logarithm, norms
    from clifford_rand.geometry import factors, linear_maps, matrices, projections, subspaces, versors
    from clifford_rand.multivector import numpy_functions
else:  # each module is loaded when one of its methods is first used
    circular, compiled, exponential, inverse, inverse_circular, logarithm, norms, split = methods_of(
        "clifford_rand.functions",
        "circular compiled exponential inverse inverse_circular logarithm norms bivector_split",
    )
    factors, linear_maps, matrices, projections, subspaces, versors = methods_of(
        "clifford_rand.geometry", "factors linear_maps matrices projections subspaces versors"
    )
    (numpy_functions,) = methods_of("clifford_rand.multivector", "numpy_functions")


class Multivector(StoredComponents):
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
    R X R⁻¹, ``~`` reverse, ``/`` and ``**`` by the inverse.

    Python's precedence holds, from the tightest: ``**``; ``~`` and the sign; ``*`` and ``/``; ``+`` and ``-``; ``<<``
    and ``>>``; ``&``; ``^``; ``|``; comparisons. So ``a ^ b + c`` is ``a ^ (b + c)``, and ``a | b ^ c`` is
    ``a | (b ^ c)``: put ``^`` and ``|`` in parentheses.

    A scalar is as good as a number: ``float(a | b)``, ``math.sqrt(a | a)``, ``(a | b) < 1``,
    ``np.asarray(a | b)``; anything else is refused there with its grades.

    ``repr`` and ``str`` round for display and hide rounding noise, see `clifford_rand.set_printoptions`.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg("e1 - 2*e23") * alg.e1
    1 - 2*e123
    >>> (alg.e1 ^ alg.e2) + alg.e3, alg.e1 ^ alg.e2 + alg.e3
    (e3 + e12, e12 + e13)
    >>> alg.vector([[1, 0, 0], [0, 2, 0]]) * alg.vector([1, 1, 1])  # a batch of two
    <Multivector batch of Algebra(3): shape=(2,), grades=(0, 2), dtype=int64>
     [0] 1 + e12 + e13
     [1] 2 - 2*e12 + 2*e23
    """

    __slots__ = ()

    # ---- what is stored

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

    __float__ = comparison.to_float
    __int__ = comparison.to_int
    __complex__ = comparison.to_complex
    __bool__ = comparison.to_bool
    __round__ = comparison.rounded
    __array__ = comparison.to_array
    __lt__ = comparison.less
    __le__ = comparison.less_equal
    __gt__ = comparison.greater
    __ge__ = comparison.greater_equal

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
    __array_ufunc__ = numpy_functions.by_ufunc
    __array_function__ = numpy_functions.by_array_function

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

    image = products.image
    part = components.part
    grade = components.grade
    even = components.even
    odd = components.odd
    scalar_part = components.scalar_part
    reverse = __invert__ = products.reverse
    involute = products.involute
    conjugate = products.conjugate
    star = products.star
    star_right = products.star_right
    dual = products.dual
    undual = products.undual
    left_complement = products.left_complement
    right_complement = products.right_complement

    # ---- functions of one multivector

    norm_squared = norms.norm_squared
    norm = __abs__ = norms.norm
    normalized = norms.normalized
    inv = inverse.inverse
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
    outerexp = exponential.outerexp
    outersin = exponential.outersin
    outercos = exponential.outercos
    outertan = exponential.outertan
    bivector_split = split.split

    # ---- versors and blades at work

    sandwich = versors.sandwich
    __rshift__ = products.sandwich_of
    __rrshift__ = products.sandwich_by
    vector_matrix = versors.vector_matrix
    is_versor = versors.is_versor
    project = projections.project
    reject = projections.reject
    reflect = projections.reflect
    is_blade = subspaces.is_blade
    span = subspaces.span
    intersection = subspaces.intersection
    factorize_blade = factors.factorize_blade
    factorize_versor = factors.factorize_versor
    outermorphism = linear_maps.outermorphism
    left_matrix = linear_maps.left_matrix
    right_matrix = linear_maps.right_matrix
    spinor_matrix = matrices.spinor_matrix

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

    __repr__ = display.short_text
    __str__ = display.full_text
    __format__ = display.formatted_text
    _repr_latex_ = display.latex_text
    _repr_html_ = display.html_text


name_methods(Multivector)
