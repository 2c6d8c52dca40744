"""Layouts of ``clifford``: algebras with names and an order for all blades."""

import functools
import warnings
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, fail
from clifford_rand._threads import cached_property
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import read_only
from clifford_rand.basis.keys import Keys, dense_keys, keys_of_masks
from clifford_rand.compat.clifford.io import parse, pretty_call, read_ga_file
from clifford_rand.compat.clifford.multivector import MultiVector, multivector_of
from clifford_rand.compat.clifford.operator import MVArray, elementwise, gp, randomMV
from clifford_rand.compat.clifford.order import BasisBladeOrder, BasisVectorIds
from clifford_rand.multivector.multivector import Multivector

LARGEST = 12  # basis vectors for which all 2^d blades are listed


class LayoutAlgebra(Algebra):
    """The algebra of a layout: its multivectors are `MultiVector`."""

    @cached_property
    def layout(self) -> "Layout":
        """The layout; one by default where a function makes an algebra like this of its own."""
        layout = Layout(self.signature)
        layout.algebra = self
        return layout

    def new(self, keys: Keys, coefficients: np.ndarray) -> MultiVector:
        """Return a multivector of the layout without checks."""
        return multivector_of(self, keys, coefficients)

    def __reduce__(self) -> Any:
        return _algebra_of, (self.layout,)


def _algebra_of(layout: "Layout") -> LayoutAlgebra:
    return layout.algebra


def _function(name: str) -> Any:
    """Return the property of a layout that is a function of coefficients: of one operation of multivectors."""

    def function(layout: "Layout") -> Callable[..., NDArray[Any]]:
        def of_values(value: Any, *operands: Any) -> Any:
            return getattr(MultiVector(layout, value), name)(*(MultiVector(layout, B) for B in operands)).value

        return of_values

    return property(function, doc=f"The function of coefficients of `MultiVector.{name}`.")


class Layout:
    """An algebra with names and an order for all its blades, as ``clifford`` has it.

    Parameters
    ----------
    sig : sequence of int
        The squares of the basis vectors; only signs count.
    bladeTupList, firstIdx : optional
        clifford's older arguments, for which it has ``ids`` and ``order`` now.
    ids : BasisVectorIds, optional
        What stands for the basis vectors in tuples and names; 1, 2, … by default.
    order : BasisBladeOrder, optional
        The order of the coefficients in `MultiVector.value`; by grade, then lexicographically.
    names : str or list of str, optional
        The prefix of names, "e", or the names of all blades in the order of the coefficients.

    Attributes
    ----------
    algebra : Algebra
        This library's object, with everything that is not here.
    sig : ndarray of shape (d,)
        The squares of the basis vectors.
    dims, gaDims : int
        d and 2^d.
    names : list of str
        In the order of the coefficients; "" for the scalar. ``e12``, also for ten vectors and more, as long as no two
        blades are called alike: from d = 12 on e12 would be a vector, and names are ``e1_2``.
    """

    def __init__(
        self,
        sig: Sequence[int],
        bladeTupList: Sequence[tuple[Any, ...]] | None = None,
        firstIdx: int = 1,
        *,
        ids: BasisVectorIds | None = None,
        order: BasisBladeOrder | None = None,
        names: str | Sequence[str] | None = None,
    ) -> None:
        for name, value, kind in (("ids", ids, BasisVectorIds), ("order", order, BasisBladeOrder)):
            if value is not None and not isinstance(value, kind):
                raise TypeError(f"{name} must be a {kind.__name__}. Got {value!r} instead.")
        d = len(sig)
        if d > LARGEST:
            raise fail("p", "Cl", f"such that p + q + r ≤ {LARGEST}", d, "Use Algebra, which makes no list of blades.")
        if ids is None:
            ids = BasisVectorIds.ordered_integers(d, first_index=firstIdx)
        if bladeTupList is not None:
            message = "Layout's constructor with bladeTupList is deprecated: use ids and order instead."
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            order = ids.order_from_tuples(bladeTupList)
        if len(ids.values) != d:
            raise fail("ids", "Layout", f"of the length of sig, {d}", ids)
        self.ids, self.order = ids, order or BasisBladeOrder.shortlex(d)
        self.sig: NDArray[np.int64] = read_only(np.sign(np.asarray(sig, dtype=np.int64)))
        self.dims, self.gaDims = d, 2**d
        if sorted(self.order.index_to_bitmap.tolist()) != list(range(self.gaDims)):
            raise fail("order", "Layout", f"of all {self.gaDims} blades", self.order)
        self.names = self._named(names)
        self.algebra = LayoutAlgebra(signature=self.sig.tolist())
        self.algebra.layout = self

    def _named(self, names: str | Sequence[str] | None) -> list[str]:
        if names is not None and not isinstance(names, str):
            if len(names) != self.gaDims:
                raise fail("names", "Layout", f"a prefix or a list of {self.gaDims} names", names)
            return list(names)
        prefix = "e" if names is None else names
        tuples = self.ids.order_as_tuples(self.order)
        for joint in ("", "_"):
            blade_names = [prefix + joint.join(map(str, ids)) if ids else "" for ids in tuples]
            if len(set(blade_names)) == len(blade_names):
                return blade_names
        raise fail("ids", "Layout", "such that no two blades have one name", self.ids, "Give names of your own.")

    # ---- the order of the coefficients

    @cached_property
    def _places(self) -> NDArray[np.int64] | None:
        """Where each coefficient of the layout stands in this library's order; None where the orders are one."""
        masks = dense_keys(self.dims).masks
        places = np.empty(self.gaDims, dtype=np.int64)
        places[masks] = np.arange(self.gaDims)
        places = places[self.order.index_to_bitmap]
        return None if np.array_equal(places, np.arange(self.gaDims)) else places

    def listed(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return all coefficients, in this library's order, in that of the layout."""
        return values if self._places is None else read_only(values[..., self._places])

    def stored(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return coefficients in the order of the layout in that of this library."""
        return values if self._places is None else values[..., np.argsort(self._places)]

    @cached_property
    def _masks(self) -> dict[str, int]:
        return dict(zip(self.names, self.order.index_to_bitmap.tolist(), strict=True))

    def mask_of_name(self, name: str) -> int | None:
        """Return the mask of a blade by its name, None if there is no such blade."""
        return self._masks.get(name)

    def name_of_mask(self, mask: int) -> str:
        """Return the name of a blade."""
        return self.names[self.order.bitmap_to_index[mask]]

    # ---- blades

    def _blade(self, mask: int) -> MultiVector:
        return multivector_of(self.algebra, keys_of_masks(self.dims, (mask,)), np.ones(1, dtype=np.int64))

    @property
    def blades_list(self) -> list[MultiVector]:
        """All blades in the order of the coefficients."""
        return [self._blade(mask) for mask in self.order.index_to_bitmap.tolist()]

    def bases(self, *, grades: Container[int] | None = None) -> dict[str, MultiVector]:
        """Return the blades of some grades, all by default, by name."""
        entries = zip(self.names, self.blades_list, self.gradeList, strict=True)
        return {name: blade for name, blade, grade in entries if grades is None or grade in grades}

    blades = property(bases, doc='All blades by name; "" is the scalar 1.')

    def blades_of_grade(self, grade: int) -> list[MultiVector]:
        """Return the blades of one grade, in the order of the coefficients."""
        return list(self.bases(grades=(grade,)).values())

    @property
    def basis_vectors_lst(self) -> list[MultiVector]:
        """The basis vectors, in the order of ``sig``."""
        return [self._blade(1 << i) for i in range(self.dims)]

    @property
    def basis_names(self) -> list[str]:
        """The names of the basis vectors."""
        return [self.name_of_mask(1 << i) for i in range(self.dims)]

    @property
    def basis_vectors(self) -> dict[str, MultiVector]:
        """The basis vectors by name."""
        return dict(zip(self.basis_names, self.basis_vectors_lst, strict=True))

    @property
    def scalar(self) -> MultiVector:
        """The scalar 1."""
        return self._blade(0)

    @property
    def pseudoScalar(self) -> MultiVector:
        """The pseudoscalar, the wedge of all basis vectors."""
        return self._blade(self.gaDims - 1)

    I = pseudoScalar  # noqa: E741  # clifford has both names

    @property
    def gradeList(self) -> list[int]:
        """The grade of each coefficient."""
        return [int(k) for k in self.order.grades]

    @property
    def bladeTupList(self) -> list[tuple[Any, ...]]:
        """The blades as tuples of ids."""
        return self.ids.order_as_tuples(self.order)

    @property
    def firstIdx(self) -> int:
        """The first index, where ids are successive integers."""
        if not hasattr(self.ids, "first_index"):
            raise AttributeError("This layout has no firstIdx: its ids are not successive integers.")
        warnings.warn("Layout.firstIdx is deprecated: use Layout.ids.", DeprecationWarning, stacklevel=2)
        return int(self.ids.first_index)

    def grade_mask(self, grade: int) -> NDArray[np.bool_]:
        """Return where the coefficients of one grade are: (2^d,) of bool."""
        grade = check_integer(grade, "grade", "grade_mask", low=0, high=self.dims)
        return np.asarray(self.order.grades == grade)

    @property
    def rotor_mask(self) -> NDArray[np.bool_]:
        """The mask of the coefficients of even grades: (2^d,) of bool."""
        return np.asarray(self.order.grades % 2 == 0)

    @property
    def metric(self) -> NDArray[np.float64]:
        """The inner products of the basis vectors (d, d)."""
        return self.algebra.metric.astype(np.float64)

    # ---- multivectors

    def parse_multivector(self, text: str) -> "MultiVector":
        """Return the multivector of a text as ``clifford`` prints them, ``1 + (2^e1) - (3^e12)``.

        ``^`` and ``*`` bind closer than ``+``, and parentheses mean what they say.

        Raises
        ------
        SyntaxError
            With line and column of what cannot be read.
        """
        if not isinstance(text, str):
            raise fail("text", "parse_multivector", "a string", text)
        value = parse(text, self._masks, self._blade)
        return value if isinstance(value, MultiVector) else value * self.scalar

    def randomMV(self, n: int = 1, **keywords: Any) -> Any:
        """Return `randomMV` of this layout."""
        return randomMV(self, n=n, **keywords)

    def randomV(self, n: int = 1, **keywords: Any) -> Any:
        """Return n random vectors, a list for n > 1."""
        return self.randomMV(n, grades=[1], **keywords)

    def randomRotor(self, **keywords: Any) -> MultiVector:
        """Return the product of 2⌊d/2⌋ random unit vectors."""
        count = self.dims - self.dims % 2
        return functools.reduce(gp, self.randomV(count, normed=True, **keywords) if count else [self.scalar])

    def load_ga_file(self, filename: str) -> Any:
        """Return the `MVArray` of a file of ``clifford``, if it is of this signature."""
        values, metric, _, _ = read_ga_file(filename)
        if not np.array_equal(np.diagonal(metric), self.sig):
            raise fail("filename", "load_ga_file", f"of signature {self.sig.tolist()}", np.diagonal(metric).tolist())
        return MVArray.from_value_array(self, values)

    array = staticmethod(MVArray)
    elementwise = staticmethod(elementwise)

    # ---- products of coefficients

    gmt_func = _function("gp")
    imt_func = _function("hestenes")
    omt_func = _function("wedge")
    lcmt_func = _function("lc")
    vee_func = _function("vee")
    adjoint_func = _function("reverse")
    left_complement_func = _function("left_complement")
    right_complement_func = _function("right_complement")
    dual_func = _function("dual")
    inv_func = _function("inv")

    def gmt_func_generator(
        self, grades_a: Container[int] | None = None, grades_b: Container[int] | None = None
    ) -> Callable[[Any, Any], NDArray[Any]]:
        """Return the geometric product of coefficients, of some grades of either factor alone."""

        def of_grades(value: Any, grades: Container[int] | None) -> Any:
            return value if grades is None else np.where([k in grades for k in self.gradeList], value, 0)

        return lambda a, b: self.gmt_func(of_grades(a, grades_a), of_grades(b, grades_b))

    def _matrix(self, matrix: NDArray[Any]) -> NDArray[Any]:
        return matrix if self._places is None else matrix[self._places[:, None], self._places]

    def get_left_gmt_matrix(self, x: Multivector) -> NDArray[Any]:
        """Return the matrix M with M B.value = (x B).value."""
        return self._matrix(x.left_matrix())

    def get_right_gmt_matrix(self, x: Multivector) -> NDArray[Any]:
        """Return the matrix M with M B.value = (B x).value."""
        return self._matrix(x.right_matrix())

    def get_grade_projection_matrix(self, grade: int) -> NDArray[np.float64]:
        """Return the diagonal matrix M with M A.value = A(grade).value."""
        return np.diag(self.grade_mask(grade).astype(np.float64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.algebra == other.algebra

    def __hash__(self) -> int:
        return hash(self.algebra)

    def _texts(self) -> list[str]:
        return [f"{self.sig.tolist()}", f"ids={self.ids!r}", f"order={self.order!r}", f"names={self.names}"]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._texts())})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write the repr for IPython, an argument a line where it is long."""
        pretty_call(printer, type(self).__name__, *self._texts())

    def __reduce__(self) -> Any:
        return functools.partial(type(self), **self._arguments()), ()

    def _arguments(self) -> dict[str, Any]:
        return {"sig": self.sig.tolist(), "ids": self.ids, "order": self.order, "names": self.names}

    def MultiVector(self, *arguments: Any, **keywords: Any) -> MultiVector:  # the last one: it hides the class above
        """Return `MultiVector(layout, …)`."""
        return MultiVector(self, *arguments, **keywords)
