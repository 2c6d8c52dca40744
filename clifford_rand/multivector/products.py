"""The products: one method and one operator each, all of them grade rules over one table."""

from typing import Any, Self

import numpy as np

from clifford_rand.multivector.arithmetic import Arithmetic
from clifford_rand.plans.choice import plan_of


def multiply(rule: str, a: Any, b: Any) -> Any:
    """Return one product, by the name of its rule, of two multivectors of one algebra."""
    metric = a.algebra.form
    plan = metric.plans.get((rule, a.keys, b.keys))
    if plan is None:
        plan = plan_of(metric, rule, a.keys, b.keys)
    return a._make(plan.keys, plan(a.coefficients, b.coefficients))


class Products(Arithmetic):
    """Bilinear products: each keeps some grades of the geometric product AB of blades A, grade r, and B, grade s."""

    __slots__ = ()

    def _product(self, rule: str, other: Any) -> Any:
        if other.__class__ is self.__class__ and other.algebra is self.algebra:
            return multiply(rule, self, other)
        same = self._coerced(other)
        return NotImplemented if same is None else multiply(rule, self, same)

    def _product_from_left(self, rule: str, other: Any) -> Any:
        same = self._coerced(other)
        return NotImplemented if same is None else multiply(rule, same, self)

    def _named(self, rule: str, other: Any) -> Self:
        result = self._product(rule, other)
        if result is NotImplemented:
            raise self._bad_operand(rule, other)
        return result

    # ---- operators

    def __mul__(self, other: Any) -> Any:
        if other.__class__ is self.__class__ and other.algebra is self.algebra:
            return multiply("gp", self, other)
        return self._scaled(other)

    __rmul__ = Arithmetic._scaled

    def __xor__(self, other: Any) -> Any:
        return self._product("wedge", other)

    def __rxor__(self, other: Any) -> Any:
        return self._product_from_left("wedge", other)

    def __or__(self, other: Any) -> Any:
        return self._product("fat_dot", other)

    def __ror__(self, other: Any) -> Any:
        return self._product_from_left("fat_dot", other)

    def __and__(self, other: Any) -> Any:
        return self._product("vee", other)

    def __rand__(self, other: Any) -> Any:
        return self._product_from_left("vee", other)

    def __lshift__(self, other: Any) -> Any:
        return self._product("lc", other)

    def __rlshift__(self, other: Any) -> Any:
        return self._product_from_left("lc", other)

    def __abs__(self) -> Any:
        return self.norm()  # type: ignore[attr-defined]

    # ---- methods

    def gp(self, other: Any) -> Self:
        """Return the geometric product AB (``A * B``).

        Parameters
        ----------
        other : Multivector, scalar or array of scalars
            Batch axes broadcast.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(2)
        >>> (alg.e1 + alg.e2) * alg.e2
        1 + e12
        """
        return self._named("gp", other)

    def wedge(self, other: Any, *more: Any) -> Self:
        """Return the outer product ⟨AB⟩_{r+s} (``A ^ B``), of as many factors as are given.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg.e3.wedge(alg.e1, alg.e2)
        e123
        """
        result = self._named("wedge", other)
        for factor in more:
            result = result._named("wedge", factor)
        return result

    def vee(self, other: Any) -> Self:
        """Return the regressive product A∨B = LC(RC A ^ RC B) (``A & B``); no metric is used, I is its identity.

        LC(X) ^ X = I = X ^ RC(X) on basis blades. For planes and lines of projective algebra it is the join of points.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg.e12 & alg.e23, alg.I & alg.e1
        (e2, e1)
        """
        return self._named("vee", other)

    def fat_dot(self, other: Any) -> Self:
        """Return the inner product ⟨AB⟩_{|r-s|}, scalars included (``A | B``).

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg.e12 | alg.e12, 2 | alg.e1
        (-1, 2*e1)
        """
        return self._named("fat_dot", other)

    def hestenes(self, other: Any) -> Self:
        """Return Hestenes' inner product ⟨AB⟩_{|r-s|}, zero if either is a scalar."""
        return self._named("hestenes", other)

    def lc(self, other: Any) -> Self:
        """Return the left contraction ⟨AB⟩_{s-r} (``A << B``).

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg.e1 << alg.e12, alg.e12 << alg.e1
        (e2, 0)
        """
        return self._named("lc", other)

    def rc(self, other: Any) -> Self:
        """Return the right contraction ⟨AB⟩_{r-s}."""
        return self._named("rc", other)

    def scalar_product(self, other: Any) -> Self:
        """Return ⟨AB⟩_0, a scalar; for k-blades (-1)^{k(k-1)/2} times `inner`.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg.e12.scalar_product(alg.e12), alg.e12.inner(alg.e12)
        (-1, 1)
        """
        return self._named("scalar_product", other)

    def inner(self, other: Any) -> Self:
        """Return ⟨A ~B⟩_0 = ⟨~A B⟩_0, a scalar: det(a_iᵀ G b_j) for blades a1∧…∧ak and b1∧…∧bk.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(1, 1)
        >>> alg.e12.inner(alg.e12)
        -1
        """
        return self._named("inner", other)

    def commutator(self, other: Any) -> Self:
        """Return (AB - BA)/2.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg.e12.commutator(alg.e1)
        -e2
        """
        return self._named("commutator", other)

    def anticommutator(self, other: Any) -> Self:
        """Return (AB + BA)/2."""
        return self._named("anticommutator", other)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Let ``array * A``, ``np.add(array, A)``, ``np.exp(A)`` mean what the operators and methods mean."""
        name = _OPERATORS.get(ufunc)
        if method != "__call__" or kwargs or name is None:
            return NotImplemented
        if len(inputs) == 1:
            return getattr(self, name)()
        a, b = inputs
        if isinstance(a, Products):
            return getattr(a, f"__{name}__")(b)
        return getattr(b, f"__r{name}__")(a)


_OPERATORS = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "truediv",
    np.power: "pow",
    np.bitwise_xor: "xor",
    np.bitwise_or: "or",
    np.bitwise_and: "and",
    np.left_shift: "lshift",
    np.right_shift: "rshift",
    np.equal: "eq",
    np.not_equal: "ne",
    np.negative: "__neg__",
    np.positive: "__pos__",
    np.invert: "reverse",
    np.absolute: "norm",
    np.exp: "exp",
    np.log: "log",
    np.sqrt: "sqrt",
}
