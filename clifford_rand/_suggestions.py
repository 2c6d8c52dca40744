"""Names of other packages and what to write here: the suggestions of errors, in one table for each kind of object."""

import difflib
import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

OF_PACKAGE = {
    "Cl GA Ga Layout": "cr.Algebra(p, q, r)",
    "vga": "cr.Algebra.vga(n)",
    "pga": "cr.Algebra.pga(n), with the functions of clifford_rand.presets.pga",
    "cga conformalize g3c": "cr.Algebra.cga(n), with the functions of clifford_rand.presets.cga",
    "sta": "cr.Algebra.sta(), with the functions of clifford_rand.presets.sta",
    "MultiVector Mv": "cr.Multivector",
    "outer op": "cr.wedge(a, b)",
    "dual hodge": "cr.star(a)",
    "grad": "cr.gradient(x)",
    "rotor": "cr.rotor_between(a, b), or (-angle / 2 * B).exp() of a bivector B",
    "rotor_to_matrix": "A.vector_matrix()",
    "gram volume log_volume": "cr.Blade(rows).log_norm(), the logarithm of √det(A Aᵀ)",
    "det determinant logdet memdet": "cr.slogdet(A), or cr.Blade(rows).log_norm(), the logarithm of √det(A Aᵀ)",
    "normal hyperplane": "cr.cross_log(points[:-1] - points[-1])",
    "number_of_chambers n_regions": "cr.count_chambers(normals, offsets)",
    "principal_angles subspace_angles project": "cr.Blade(rows), and its principal_angles, projection_of, star",
    "lstsq least_squares": "S = cr.SparseSign(r, n) and numpy.linalg.lstsq(S @ A, S @ b)",
    "CountSketch": "cr.SparseSign(r, d, s=1), or cr.SJLT(r, d) with balanced rows",
    "dpp_sample sample_dpp": "cr.volume_sample(X, k)",
}
OF_ALGEBRA = {
    "pseudoscalar pseudoScalar pss ps i": "alg.I",
    "MultiVector mv mvec": "alg.multivector(values, grades), or alg.symbols(name, grades)",
    "evenmv oddmv purevector trivector": "alg.multivector(values, grades)",
    "parse_multivector": 'alg("1 + 2*e12")',
    "random randomMV random_mv": "alg.random_multivector(rng=rng)",
    "basis": "alg.basis_vectors()",
    "sig": "alg.signature",
    "grad": 'cr.gradient(alg.symbols("x", 1))',
    "lt": "cr.LinearMap(alg, matrix)",
    "point line plane motor rotor translator up sphere circle": "the function of that name of presets.pga or cga",
}
OF_MULTIVECTOR = {
    "normalize normal normalised unit": "A.normalized()",
    "mag2 norm2 normsq": "A.norm_squared()",
    "mag magnitude": "A.norm()",
    "value coeffs coefs": "A.coefficients, A.values with all blades of its grades, or A.dense().values with all blades",
    "get_coefs blade_coefs coefficient": 'A["e12"]',
    "gradeInvol g_invol": "A.involute()",
    "rev tilde": "A.reverse(), ~A",
    "ccon": "A.conjugate()",
    "inverse leftLaInv rightInv leftInv hitzer_inverse": "A.inv()",
    "isBlade": "A.is_blade()",
    "isVersor": "A.is_versor()",
    "get_grade grade_part": "A.grade(k)",
    "scalar item": "A.scalar_part(), float(A)",
    "outer op": "A.wedge(B), A ^ B",
    "dot ip": "A.fat_dot(B), A | B, or A.inner(B), the determinant of inner products of two blades",
    "rp regressive": "A.vee(B), A & B",
    "cp": "A.commutator(B)",
    "acp": "A.anticommutator(B)",
    "sw rotate apply": "A.sandwich(B), A >> B",
    "proj project_in_blade": "A.project(B)",
    "meet": "A.intersection(B) of subspaces, or presets.pga.meet of flats",
    "join": "A.span(B) of subspaces, or presets.pga.join of flats",
    "cross": "A.wedge(B).star()",
    "hodge": "A.star(), or A.right_complement() without a metric",
    "unhodge": "A.left_complement()",
    "polarity": "A.dual()",
    "unpolarity": "A.undual()",
    "asmatrix": "A.left_matrix()",
    "layout": "A.algebra",
    "matrix to_matrix as_matrix": "A.vector_matrix(), or pga.motor_to_matrix(A)",
    "quaternion to_quaternion as_quat": "pga.motor_to_quaternion(cr.Algebra.pga(3).convert(A))",
    "angle axis": "2 * A.log().norm() and -A.log().normalized(), the angle and the plane of a rotor",
    "latex to_latex": "sympy.latex(A)",
    "draw plot show": "draw.scene(A) of clifford_rand, or cga.sample(A) for Matplotlib",
}

OF_BLADE = {
    "volume det": "blade.norm(), or blade.log_norm(), which does not overflow",
    "meet union join": "blade.intersection(b) or blade.span(b), of flats presets.pga.meet and join",
    "angles subspace_angles": "blade.principal_angles(b)",
    "basis vectors rows": "blade.factors or blade.orthonormalized().factors",
    "complement orthogonal_complement normal": "blade.star()",
    "projection proj project_vectors": "blade.projection_of(X), or blade.project(b) onto b",
}


def suggestion(table: dict[str, str], name: str, known: Iterable[str] = ()) -> str:
    """Return the end of an error: what to write for a name of another package, or the nearest of the known names."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    listed = [text for names, text in table.items() if name in names.split()] or near
    return f" Did you mean {listed[0]}?" if listed else ""


def one_array(function: _Function) -> _Function:
    """Refuse several arguments where a function takes one array; help shows the signature of the function.

    Examples
    --------
    >>> cr.Algebra(3).vector(1, 2, 3)
    Traceback (most recent call last):
    ...
    TypeError: vector() takes one array, got 3 arguments. Did you mean vector([1, 2, 3])?
    """
    most = function.__code__.co_argcount

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        if len(args) > most:
            parts = args[most - 1 :]
            text = f"[{', '.join(map(repr, parts))}]"
            meant = f"{function.__name__}({text if len(text) < 80 and text.isprintable() else '[…]'})"
            if any(hasattr(part, "wedge") for part in parts):
                meant = "cr.star(cr.wedge(a, b)), which is for multivectors"
            raise TypeError(f"{function.__name__}() takes one array, got {len(parts)} arguments. Did you mean {meant}?")
        return function(*args, **options)

    return cast(_Function, checked)
