"""What is printed follows the print options, hides noise alone, and parses back where all digits are asked for."""

import re
import threading
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from support.refusals import refused

A, B = sp.symbols("a b", real=True)
ALGEBRAS = [
    cr.Algebra(3),
    cr.Algebra.pga(2),
    cr.Algebra(2, 1, 2),
    cr.Algebra.sta(),
    cr.Algebra.cga(2, null_basis=True),
    cr.Algebra(metric=[[2, 1], [1, -3]], names=["x", "y"]),
    cr.Algebra(11),
]


def exact(M):
    """Return the text of all that is stored."""
    with cr.printoptions(precision=17, suppress=False):
        assert str(M) == repr(M)
        return repr(M)


def _random(alg, seed, dtype):
    rng = np.random.default_rng(seed)
    grades = (0, 1, 2) if alg.d < 6 else (0, 1)
    M = alg.random_multivector(rng=rng, shape=(), grades=grades) * 10.0 ** rng.integers(-320, 300)
    if dtype == np.int64:
        return M.new(M.keys, rng.integers(-9, 9, M.keys.size))
    if dtype in (complex, np.complex64):
        return (M + 1j * alg.random_multivector(rng=rng, shape=(), grades=1)).astype(dtype)
    return M.astype(dtype)


@pytest.mark.parametrize("alg", ALGEBRAS, ids=repr)
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32, complex, np.complex64])
def test_repr_parses_back_exactly(alg, dtype):
    with np.errstate(over="ignore"):  # the scales of float32 are fewer
        samples = [_random(alg, seed, dtype) for seed in range(6)]
    for M in samples:
        finite = M.new(M.keys, np.where(np.isfinite(M.coefficients), M.coefficients, 0).astype(dtype))
        assert alg(exact(finite)).astype(dtype) == alg(exact(finite.sparse())).astype(dtype) == finite
        assert alg(exact(-finite)).astype(dtype) == -finite


@pytest.mark.parametrize(
    "value",
    [1e16, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 123456789.123456789, 0.1, -1.0, 2**62, -(10**18)],
)
def test_numbers_of_all_sizes_parse_back(value):
    alg = cr.Algebra(3)
    terms = (value * alg.e1, alg.scalar(value), (1j * value) * alg.e12, (1 - 1j * value) * alg.e1)
    for M in (*terms, alg.e2 - value * alg.e12):
        assert alg(exact(M)) == M
        assert alg(exact(-M)) == -M


def test_fractions_and_symbols_parse_back_exactly():
    alg = cr.Algebra(3)
    F = Fraction(1, 3) - Fraction(22, 7) * alg.e1 + Fraction(4) * alg.e12
    assert repr(F) == "1/3 - (22/7)*e1 + 4*e12"
    assert alg(repr(F), exact=True) == F
    assert alg(repr(F)).isclose(F)
    S = (A + B) * alg.e1 - A / 2 * alg.e2 + A**2 * B * alg.e3 - (A - 1) * alg.e12 - A ** (-2) * alg.e13
    S = S + sp.Rational(1, 3)
    assert repr(S) == "1/3 + (a + b)*e1 - (a/2)*e2 + a**2*b*e3 + (1 - a)*e12 - (1/a**2)*e13"
    assert alg(repr(S), a=A, b=B) == S
    T = sp.sqrt(A**2 + 1) * alg.e1 - sp.sin(A - B) * alg.e2
    assert alg(repr(T), a=A, b=B, sqrt=sp.sqrt, sin=sp.sin) == T


def test_texts():
    alg = cr.Algebra(3)
    expected = {
        "0": alg.e1 * 0,
        "-e1": -alg.e1,
        "e1": 1.0 * alg.e1,
        "1.0": alg.scalar(1.0),
        "-2.0*e1": -2.0 * alg.e1,
        "1 - 2*e1 + 3*e23": alg("3*e23 + 1 - 2*e1"),
        "-inf + nan*e1": alg.scalar(-np.inf) + np.nan * alg.e1,
        "2.0j*e1": 2j * alg.e1,
        "-2.0j*e1": -2j * alg.e1,
        "(1.0-2.0j) - e12": (1 - 2j) - alg.e12,
        "1.0+2.0j": alg.scalar(1 + 2j),
        "a + b": alg.scalar(A + B),
        "(a + b) - e1": A + B - alg.e1,
        "(a*(b + 1) - 1)*e1": (A * (B + 1) - 1) * alg.e1,
        "-a*e1 - b*e2": -A * alg.e1 - B * alg.e2,
        "(1.0e-7*a - 1)*e1": (sp.Float("1e-7", 2) * A - 1) * alg.e1,
    }
    for text, M in expected.items():
        assert repr(M) == text
    assert repr(A * 0 + np.array([np.float64(2.5)], dtype=object)[0] * alg.e1.astype(object)) == "2.5*e1"
    assert repr(cr.Algebra(12).blade("e1_12") * 2) == "2*e1_12"
    assert repr(cr.Algebra(2, names=["x", "y"])("x*y - 3*x")) == "-3*x + x_y"


def test_long_sums_are_abridged_with_the_count():
    M = cr.Algebra(7).random_multivector(rng=0)
    assert repr(M).endswith(" + … (64 more terms)")
    assert repr(M).count("*e") == 63
    assert repr(cr.Algebra(6).random_multivector(rng=0)).count("*e") == 63
    refused("This text was abridged", lambda: cr.Algebra(7)(repr(M)))


def test_text_follows_the_print_options_of_numpy():
    alg = cr.Algebra(2)
    M = np.pi * alg.e1 - 1e-9 / 3 * alg.e2 + 1e3 * alg.e12
    assert str(M) == repr(M) == "3.14159265*e1 - 3.33333333e-10*e2 + 1000.0*e12"
    with np.printoptions(precision=3):
        assert str(M) == repr(M) == "3.142*e1 - 3.333e-10*e2 + 1000.0*e12"
        assert str(alg.scalar(2 / 3 - 1j * np.pi)) == "0.667-3.142j"
    with np.printoptions(precision=3, suppress=True):
        assert str(M) == "3.142*e1 - 0.0*e2 + 1000.0*e12"
    with np.printoptions(formatter={"float": lambda x: f"<{x:.1f}>"}):
        assert str(np.pi * alg.e1) == "<3.1>*e1"
    assert exact(M) == f"{np.pi}*e1 - {1e-9 / 3}*e2 + 1000.0*e12"
    assert str(1e10 * alg.e1) == "1.0e+10*e1"
    tenth, third = (alg.e1.astype(np.float32) * np.float32(x) for x in (0.1, 10 / 3))
    assert (str(tenth), str(third), exact(tenth)) == ("0.1*e1", "3.3333333*e1", "0.1*e1")


def test_print_options_hold_inside_their_block_and_thread():
    M, default = np.pi * cr.Algebra(2).e1, cr.get_printoptions()
    with cr.printoptions(precision=3, max_terms=5) as options:
        assert options == cr.get_printoptions() == default | {"precision": 3, "max_terms": 5}
        with np.printoptions(precision=5), cr.printoptions(suppress=False):
            assert repr(M) == f"{M}" == "3.142*e1"
            cr.set_printoptions(precision="numpy")
            assert repr(M) == "3.14159*e1"
        assert repr(cr.Algebra(3).multivector(np.arange(1, 9))).endswith("+ 5*e12 + … (3 more terms)")
        texts = []
        thread = threading.Thread(target=lambda: texts.append(repr(M)))
        thread.start()
        thread.join()
        assert texts == ["3.14159265*e1"]
    assert cr.get_printoptions() == default
    refused("precision", cr.set_printoptions, precision=-1)
    refused("precision", cr.set_printoptions, precision="all")
    refused("max_terms", cr.set_printoptions, max_terms=0)
    refused("suppress", cr.set_printoptions, suppress="yes")
    assert cr.get_printoptions() == default


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("scale", [1e-20, 1.0, 6.0])
def test_noise_is_hidden_and_nothing_else(dtype, scale):
    """The bound is 100 eps of the largest coefficient; what is above it stays, whatever its grade."""
    alg, eps = cr.Algebra(3), np.finfo(dtype).eps
    for factor, is_shown in ((0, False), (50, False), (99, False), (101, True), (1e4, True)):
        A = (3 * alg.e1 + 3 * factor * eps * alg.e23).astype(dtype) * np.dtype(dtype).type(scale)
        batch = alg.new(A.keys, np.stack([A.coefficients] * 3))
        for text in (repr(A), str(A), f"{A:.3e}", A._repr_latex_(), repr(batch), str(batch), batch._repr_html_()):
            assert ("23}" in text or "e23" in text) == is_shown, text
        with cr.printoptions(suppress=False):
            assert ("e23" in repr(A)) == (factor > 0)


def test_what_is_not_noise_is_never_hidden():
    C, alg = cr.Algebra.cga(3, null_basis=True), cr.Algebra(2)
    point = 1e9 * C.e1 + 1.0 * C.eo + 5e17 * C.ei  # the 1 is 2e-18 of the largest, and no round-off
    assert repr(point) == "1.0e+09*e1 + eo + 5.0e+17*ei"
    assert repr(np.inf * alg.e1 + 1e-30 * alg.e2) == "inf*e1 + 1.0e-30*e2"
    assert repr(np.nan * alg.e1 + 1e-30 * alg.e2) == "nan*e1 + 1.0e-30*e2"
    assert repr(Fraction(1, 10**20) * alg.e1 + alg.e2) == f"(1/{10**20})*e1 + e2"
    assert repr(alg("e1").astype(int) * 10**18 + alg.e2) == f"{10**18}*e1 + e2"
    assert repr(A * alg.e1 + 1e-30 * alg.e2) == "a*e1 + 1.0e-30*e2"


def test_ones_look_exact_only_up_to_noise():
    alg = cr.Algebra(2)
    assert repr((1 + 4e-16) * alg.e1 - (1 - 2e-16) * alg.e2) == "e1 - e2"
    assert repr((1 - 1e-11) * alg.e1) == "1.0*e1"
    assert repr((1 - 1e-16j) * alg.e1 + (1e-17 + 2j) * alg.e2) == "e1 + 2.0j*e2"
    assert exact((1 + 4e-16) * alg.e1) == "1.0000000000000004*e1"
    rotor = (-np.pi / 4 * alg.e12).exp()
    assert repr(rotor >> alg.e1) == str(rotor >> alg.e1) == "e2"
    assert (rotor >> alg.e1)._repr_latex_() == r"$\mathbf{e}_{2}$"


def test_batches_print_a_line_each():
    alg = cr.Algebra(2)
    lines = str(alg.vector(np.arange(24.0).reshape(3, 4, 2))).splitlines()
    assert lines[0] == "<Multivector batch of Algebra(2): shape=(3, 4), grades=(1,), dtype=float64>"
    assert len(lines) == 13
    assert lines[1:3] == [" [0, 0] e2", " [0, 1] 2.0*e1 + 3.0*e2"]
    long = str(alg.vector(np.zeros((2000, 2)))).splitlines()
    assert len(long) == 8
    assert long[4] == " … (1994 more)"
    assert long[-1] == " [1999] 0"
    assert long[1] == " [   0] 0"
    with np.printoptions(threshold=5, edgeitems=1):
        assert len(str(alg.vector(np.ones((5, 2)))).splitlines()) == 4
    assert "shape=(0,)" in str(alg.vector(np.zeros((0, 2))))


def test_the_repr_of_a_batch_has_its_shape_and_first_values():
    alg = cr.Algebra(2)
    A = alg.vector(np.arange(24.0).reshape(3, 4, 2))
    assert repr(A).splitlines() == [*str(A).splitlines()[:5], " … (8 more)"]
    assert repr(A[0]) == str(A[0])
    assert repr(A[:0]) == "<Multivector batch of Algebra(2): shape=(0, 4), grades=(1,), dtype=float64>"
    assert repr(cr.Algebra(6).random_multivector(rng=0, shape=(1,))).endswith(" + … (56 more terms)")
    assert "<Multivector batch of Algebra.pga(2): shape=(1,)" in repr(cr.Algebra.pga(2).vector([[1, 2, 3]]))
    large = alg.new(A.keys, np.broadcast_to(np.zeros(2), (10**9, 10**6, 2)))  # more than memory holds
    assert len(repr(large).splitlines()) == 6


@pytest.mark.parametrize("precision", ["", ".2f", ",.3g", "z.1f"])
@pytest.mark.parametrize("width", ["", "8", "40", "<40", "*^41"])
@pytest.mark.parametrize("sign", ["", "-", "+", " "])
def test_formats_with_a_sign_and_a_width(sign, width, precision):
    """The sign is that of the first term, precision that of each number, and width that of the whole."""
    alg = cr.Algebra(3)
    align, digits = width.rstrip("0123456789"), width.lstrip("<>*^")
    for a, b in ((1.5, -2500.25), (-1.5, 2500.25)):
        A = a * alg.e1 + b * alg.e23
        plain = f"{A:{precision}}" if precision else str(A)
        signed = plain if a < 0 else sign.strip("-") + plain
        found = format(A, f"{align}{sign}{digits}{precision}")
        assert found == (f"{signed:{width if align else '>' + width}}" if width else signed)
        assert alg(found.strip(" *").replace(",", "")).isclose(A, rtol=0.5)
    assert f"{alg.e1 - alg.e2:+.2f}" == "+1.00*e1 - 1.00*e2"
    assert f"{alg.scalar(1.5):{sign}8.2f}" == f"{1.5:{sign}8.2f}"


def test_formats():
    alg = cr.Algebra(2)
    M = np.pi - 2 * alg.e1 + 1e-9 * alg.e2
    assert f"{M:.3f}" == "3.142 - 2.000*e1 + 0.000*e2"
    assert f"{M:.2e}" == "3.14e+00 - 2.00e+00*e1 + 1.00e-09*e2"
    assert f"{M}" == str(M)
    assert f"{(1 - 2j) * alg.e1:.1f}" == "(1.0-2.0j)*e1"
    assert f"{Fraction(-1, 3) * alg.e1 + A * alg.e2 + sp.sqrt(2) * alg.e12:.2f}" == "-0.33*e1 + a*e2 + 1.41*e12"
    refused("format", lambda: f"{M:nonsense}", error=ValueError)
    assert f"{alg.e1:>12}" == "          e1"
    assert f"{A * alg.e1 - alg.e2:+.1f}" == "+a*e1 - 1.0*e2"
    lines = f"{alg.vector([[1.0, 2], [-1, 0]]):+16.1f}".splitlines()[1:]
    assert lines == [" [0] +1.0*e1 + 2.0*e2", " [1] " + "-1.0*e1".rjust(16)]
    for specification in ("08.2f", "=8.2f"):
        refused("free of zero padding", format, alg.e1 * 1.5, specification)


def _balanced(text):
    return text.count("{") == text.count("}") and text.count("\\left") == text.count("\\right")


def test_latex():
    alg = cr.Algebra(3)
    expected = {
        r"$1 - 2\,\mathbf{e}_{12}$": alg("1 - 2*e12"),
        r"$1.0 \cdot 10^{-7}\,\mathbf{e}_{1}$": 1e-7 * alg.e1,
        r"$-\frac{1}{3}\,\mathbf{e}_{1}$": Fraction(-1, 3) * alg.e1,
        r"$\left(1.0-2.0\,i\right)\,\mathbf{e}_{1}$": (1 - 2j) * alg.e1,
        r"$\left(a + b\right)\,\mathbf{e}_{1} - \frac{a}{2}\,\mathbf{e}_{2}$": (A + B) * alg.e1 - A / 2 * alg.e2,
        r"$\infty\,\mathbf{e}_{1}$": np.inf * alg.e1,
        "$0$": alg.e1 * 0,
    }
    for text, M in expected.items():
        assert M._repr_latex_() == text
    assert cr.Algebra(12).blade("e1_12")._repr_latex_() == r"$\mathbf{e}_{1,12}$"
    assert cr.Algebra(2, names=["x", "y"])("x*y")._repr_latex_() == r"$\mathbf{x} \wedge \mathbf{y}$"
    for M in (*expected.values(), alg.vector(np.eye(3)), alg.vector(np.ones((9, 3)))):
        assert _balanced(M._repr_latex_())
        assert re.fullmatch(r"\$[^$]+\$", M._repr_latex_())
    assert "vdots" in alg.vector(np.ones((9, 3)))._repr_latex_()


def test_latex_of_greek_names_and_indices():
    assert cr.Algebra(2, names=["alpha", "w"])("alpha*w")._repr_latex_() == r"$\boldsymbol{\alpha} \wedge \mathbf{w}$"
    assert cr.Algebra(2, names=["gamma0", "gamma1"])("gamma01")._repr_latex_() == r"$\boldsymbol{\gamma}_{01}$"
    assert cr.Algebra(2, names=["x1", "y12"])("x1*y12")._repr_latex_() == r"$\mathbf{x}_{1} \wedge \mathbf{y}_{12}$"
    for name, formula in {
        "alphabet": r"\mathbf{alphabet}", "eta": r"\boldsymbol{\eta}", "etheta": r"\mathbf{e}_{\theta}",
        "er": r"\mathbf{e}_{r}",
        "einf": r"\mathbf{e}_{\infty}", "Sigma12": r"\boldsymbol{\Sigma}_{12}", "east": r"\mathbf{east}",
        "q": r"\mathbf{q}",
    }.items():  # fmt: skip
        assert cr.Algebra(1, names=[name])(name)._repr_latex_() == f"${formula}$"
    assert cr.Algebra(3)("a*e1", a=sp.Symbol("alpha_1"))._repr_latex_() == r"$\alpha_{1}\,\mathbf{e}_{1}$"


def test_notebooks_show_formulas_and_batches_as_text():
    """HTML takes precedence over LaTeX there, so it is left out where a formula reads better."""
    alg = cr.Algebra(2)
    batch = alg.vector(np.eye(2))._repr_html_()
    assert batch.startswith("<pre")
    assert "&lt;Multivector batch" in batch
    assert "<Multi" not in batch
    assert " [1] e2</pre>" in batch
    for M in (alg("1 + e1"), A * alg.e1, alg.e1 * 0.5):
        assert M._repr_html_() is None
        assert re.fullmatch(r"\$[^$]+\$", M._repr_latex_())
    assert "more terms" in cr.Algebra(7).random_multivector(rng=0)._repr_html_()
