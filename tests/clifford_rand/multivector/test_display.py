"""What is printed parses back, is unambiguous, and follows NumPy's print options."""

import re
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


def _random(alg, seed, dtype):
    rng = np.random.default_rng(seed)
    grades = (0, 1, 2) if alg.d < 6 else (0, 1)
    M = alg.random_multivector(rng, (), grades) * 10.0 ** rng.integers(-320, 300)
    if dtype == np.int64:
        return M.new(M.keys, rng.integers(-9, 9, M.keys.size))
    if dtype in (complex, np.complex64):
        return (M + 1j * alg.random_multivector(rng, (), 1)).astype(dtype)
    return M.astype(dtype)


@pytest.mark.parametrize("alg", ALGEBRAS, ids=repr)
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32, complex, np.complex64])
def test_repr_parses_back_exactly(alg, dtype):
    with np.errstate(over="ignore"):  # the scales of float32 are fewer
        samples = [_random(alg, seed, dtype) for seed in range(6)]
    for M in samples:
        finite = M.new(M.keys, np.where(np.isfinite(M.coefficients), M.coefficients, 0).astype(dtype))
        for text in (repr(finite), repr(-finite), repr(finite.sparse())):
            assert alg(text) == (-finite if text == repr(-finite) != repr(finite) else finite)


@pytest.mark.parametrize(
    "value",
    [1e16, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 123456789.123456789, 0.1, -1.0, 2**62, -(10**18)],
)
def test_numbers_of_all_sizes_parse_back(value):
    alg = cr.Algebra(3)
    terms = (value * alg.e1, alg.scalar(value), (1j * value) * alg.e12, (1 - 1j * value) * alg.e1)
    for M in (*terms, alg.e2 - value * alg.e12):
        assert alg(repr(M)) == M
        assert alg(repr(-M)) == -M


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
        "1.0*e1": 1.0 * alg.e1,
        "1 - 2*e1 + 3*e23": alg("3*e23 + 1 - 2*e1"),
        "-inf + nan*e1": alg.scalar(-np.inf) + np.nan * alg.e1,
        "2.0j*e1": 2j * alg.e1,
        "-2.0j*e1": -2j * alg.e1,
        "(1.0-2.0j) + (-1.0+0.0j)*e12": (1 - 2j) - alg.e12,
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
    M = cr.Algebra(7).random_multivector(0)
    assert repr(M).endswith(" + … (64 more terms)")
    assert repr(M).count("*e") == 63
    assert repr(cr.Algebra(6).random_multivector(0)).count("*e") == 63
    refused("This text was abridged", lambda: cr.Algebra(7)(repr(M)))


def test_str_follows_the_print_options():
    alg = cr.Algebra(2)
    M = np.pi * alg.e1 - 1e-9 / 3 * alg.e2 + 1e10 * alg.e12
    assert str(M) == "3.14159265*e1 - 3.33333333e-10*e2 + 1.0e+10*e12"
    with np.printoptions(precision=3):
        assert str(M) == "3.142*e1 - 3.333e-10*e2 + 1.0e+10*e12"
        assert str(alg.scalar(2 / 3 - 1j * np.pi)) == "0.667-3.142j"
    with np.printoptions(precision=3, suppress=True):
        assert str(M) == "3.142*e1 - 0.0*e2 + 10000000000.0*e12"
    with np.printoptions(formatter={"float": lambda x: f"<{x:.1f}>"}):
        assert str(np.pi * alg.e1) == "<3.1>*e1"
    assert repr(M) == f"{np.pi}*e1 - {1e-9 / 3}*e2 + {1e10}*e12"
    assert str(alg.e1.astype(np.float32) * np.float32(0.1)) == "0.1*e1"


def test_batches_print_a_line_each():
    alg = cr.Algebra(2)
    lines = str(alg.vector(np.arange(24.0).reshape(3, 4, 2))).splitlines()
    assert lines[0] == "<Multivector batch of Algebra(2): shape=(3, 4), grades=(1,), dtype=float64>"
    assert len(lines) == 13
    assert lines[1:3] == [" [0, 0] 1.0*e2", " [0, 1] 2.0*e1 + 3.0*e2"]
    assert len(repr(alg.vector(np.zeros((3, 2)))).splitlines()) == 1
    long = str(alg.vector(np.zeros((2000, 2)))).splitlines()
    assert len(long) == 8
    assert long[4] == " …"
    assert long[-1] == " [1999] 0"
    assert long[1] == " [   0] 0"
    with np.printoptions(threshold=5, edgeitems=1):
        assert len(str(alg.vector(np.ones((5, 2)))).splitlines()) == 4
    assert "shape=(0,)" in str(alg.vector(np.zeros((0, 2))))


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


def test_formats_of_symbols_batches_and_what_is_refused():
    alg = cr.Algebra(2)
    assert f"{alg.e1:>12}" == "          e1"
    assert f"{A * alg.e1 - alg.e2:+.1f}" == "+a*e1 - 1.0*e2"
    lines = f"{alg.vector([[1.0, 2], [-1, 0]]):+16.1f}".splitlines()[1:]
    assert lines == [" [0] +1.0*e1 + 2.0*e2", " [1] " + "-1.0*e1".rjust(16)]
    for specification in ("08.2f", "=8.2f"):
        refused("free of zero padding", format, alg.e1 * 1.5, specification)


def test_formats():
    alg = cr.Algebra(2)
    M = np.pi - 2 * alg.e1 + 1e-9 * alg.e2
    assert f"{M:.3f}" == "3.142 - 2.000*e1 + 0.000*e2"
    assert f"{M:.2e}" == "3.14e+00 - 2.00e+00*e1 + 1.00e-09*e2"
    assert f"{M}" == str(M)
    assert f"{(1 - 2j) * alg.e1:.1f}" == "(1.0-2.0j)*e1"
    assert f"{Fraction(-1, 3) * alg.e1 + A * alg.e2 + sp.sqrt(2) * alg.e12:.2f}" == "-0.33*e1 + a*e2 + 1.41*e12"
    assert f"{alg.vector(np.ones((1, 2))):.1f}".endswith(" [0] 1.0*e1 + 1.0*e2")
    refused("format", lambda: f"{M:nonsense}", error=ValueError)


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


def test_html_escapes_and_leaves_symbols_to_latex():
    alg = cr.Algebra(2)
    assert alg.vector(np.eye(2))._repr_html_().startswith("<pre>&lt;Multivector batch")
    assert alg("1 + e1")._repr_html_() == "<pre>1 + e1</pre>"
    assert (A * alg.e1)._repr_html_() is None
