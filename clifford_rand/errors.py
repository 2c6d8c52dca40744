"""The exceptions of the library: each names what came, the rule it broke and what to do.

For names of other packages they suggest what to write here; for an optional library that is missing, how to get it.
"""

import difflib
import functools
import importlib
import importlib.util
import re
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeVar, cast

_FIRST, _LAST = 1500, 500  # characters of a message that are kept: its end says what to do
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
_DISTRIBUTIONS = {"PIL": "pillow", "arff": "liac-arff"}  # import names that are not those of the package index


class ArgumentError(ValueError):
    r"""An argument breaks a rule that its docstring states.

    The message reads "The 'name' parameter of owner must be rule. Got value instead." Whatever names and values of the
    user's, or of a file from elsewhere, are in it, it is one line that any terminal can print: other characters are
    escaped, and what exceeds some 2000 characters is left out of the middle.

    Examples
    --------
    >>> print(ArgumentError("table.csv: there is no column 'a\nb\x1b'."))
    table.csv: there is no column 'a b\x1b'.
    """

    def __init__(self, message: str = "") -> None:
        line = printable(message)
        super().__init__(line if len(line) <= _FIRST + _LAST else f"{line[: _FIRST - 1]}…{line[-_LAST:]}")


class BladeNameError(ArgumentError, KeyError):
    """An algebra has no blade of this name: an `ArgumentError`, and a KeyError as of a dict."""

    __str__ = Exception.__str__  # KeyError's is the repr


class MissingDependencyError(ImportError):
    """An optional library is needed and not installed; the message gives the command that installs it."""


class ConvergenceWarning(UserWarning):
    """An iteration ended at ``max_iter``, above its tolerance; the result is that of the last iteration."""


class MissingCompilerWarning(UserWarning):
    """Numba is missing, as in a browser: NumPy and Python compute the same, more slowly. Warned once per process."""


def printable(text: str) -> str:
    r"""Return a text as one line that cannot control a terminal: the rule for whatever is printed from data.

    Line breaks become spaces; other characters that Unicode calls not printable (control characters, escape
    sequences, marks of direction) are escaped as in Python.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb\u202ec\nd"))
    a\x1b[2Jb\u202ec d
    """
    if text.isprintable():
        return text
    line = " ".join(part.strip() for part in text.splitlines())
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)


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


def available(module: str) -> bool:
    """Tell whether ``module`` could be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # of an import hook that refuses it
        return False


def install_command(module: str, extra: str = "") -> str:
    """Return the command that installs the library of ``module``, in the versions of an extra of this project.

    Without an extra it is one that the project itself requires.
    """
    import importlib.metadata  # only where an error is made: 20 ms at start-up

    top = module.partition(".")[0]
    name = _DISTRIBUTIONS.get(top, top).replace("_", "-").lower()
    try:
        requirements = importlib.metadata.requires("clifford-rand") or []
    except importlib.metadata.PackageNotFoundError:  # a copy of the sources
        requirements = []
    for requirement in requirements:
        library, _, marker = requirement.partition(";")
        is_of_extra = re.search(rf"extra == ['\"]{extra}['\"]", marker) if extra else not marker
        if is_of_extra and re.fullmatch(rf"{name}\b(?!-).*", library.strip()):
            return f'pip install "{library.strip()}"'
    return f"pip install {name}"


def require(module: str, *, extra: str = "", purpose: str) -> ModuleType:
    """Import ``module`` or say how to install the library, which the extra of this project brings, or the project.

    Examples
    --------
    >>> require("no_such_library", extra="app", purpose="drawing")
    Traceback (most recent call last):
    ...
    clifford_rand.errors.MissingDependencyError: drawing needs no_such_library: pip install no-such-library
    """
    if not available(module.partition(".")[0]):
        raise MissingDependencyError(f"{purpose} needs {module}: {install_command(module, extra)}")
    return importlib.import_module(module)
