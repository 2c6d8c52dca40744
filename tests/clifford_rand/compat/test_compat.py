"""The layout for those who know ``clifford``, and the page that tells the differences."""

import re
from pathlib import Path

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.compat import Cl, conformalize
from clifford_rand.compat.clifford import BasisVectorIds
from clifford_rand.compat.clifford.tools.classify import Blade
from clifford_rand.presets import pga
from support.refusals import refused

PAGE = Path(__file__).resolve().parents[3] / "docs" / "migration.md"


# ---- the layout


@pytest.mark.parametrize("counts", [(3,), (2, 1), (1, 3), (2, 0, 1), (3, 0, 1), (1, 1, 2), (0, 2), (0, 0, 2)])
def test_layout_lists_null_positive_negative_from_e1(counts):
    p, q, r = (*counts, 0, 0)[:3]
    d = p + q + r
    layout, blades = Cl(*counts)
    assert layout.sig.tolist() == [0] * r + [1] * p + [-1] * q
    assert (layout.dims, layout.gaDims) == (d, 2**d)
    assert layout.basis_names == [f"e{i + 1}" for i in range(d)]
    assert list(blades) == layout.names
    assert layout.names[0] == ""
    assert layout.gradeList == sorted(layout.gradeList)
    for i, vector in enumerate(layout.basis_vectors_lst):
        assert vector * vector == layout.sig[i]
        assert vector == blades[f"e{i + 1}"] == layout.basis_vectors[f"e{i + 1}"]
    assert layout.pseudoScalar == layout.I == blades[layout.names[-1]]
    assert layout.scalar == 1 == blades[""]
    assert np.array_equal(layout.metric, np.diag(layout.sig))


def test_coefficients_are_in_the_order_of_the_names():
    layout, blades = Cl(2, 1, 1)
    values = np.arange(1, 17)
    M = layout.MultiVector(value=values)
    assert sum(int(value) * blade for value, blade in zip(values, blades.values(), strict=True)) == M
    assert M.dense().coefficients.tolist() == values.tolist()
    assert layout.MultiVector(value=np.ones((5, 16))).shape == (5,)
    assert layout.MultiVector() == 0
    for k in range(5):
        assert np.array_equal(layout.grade_mask(k), np.array(layout.gradeList) == k)
        assert M.grade(k) == layout.MultiVector(value=np.where(layout.grade_mask(k), values, 0))
        assert layout.blades_of_grade(k) == [layout.blades_list[i] for i in np.flatnonzero(layout.grade_mask(k))]


def test_layout_options_and_texts():
    assert Cl(sig=[-1, 1, 0])[0].sig.tolist() == [-1, 1, 0]
    assert Cl(3, 0, 1, firstIdx=0)[0].basis_names == ["e0", "e1", "e2", "e3"]
    assert Cl(10)[0].names[10:12] == ["e10", "e12"]  # as clifford writes them, while no two blades are called alike
    assert Cl(12)[0].names[12:14] == ["e12", "e1_2"]  # where e12 would be two
    layout, blades = Cl(3)
    parsed = layout.parse_multivector("-(1.5^e1) + 2 - (3^e12)")
    assert parsed == 2 - 1.5 * blades["e1"] - 3 * blades["e12"]
    assert layout == Cl(3)[0]
    assert repr(layout) == (
        "Layout([1, 1, 1], ids=BasisVectorIds.ordered_integers(3), order=BasisBladeOrder.shortlex(3), "
        "names=['', 'e1', 'e2', 'e3', 'e12', 'e13', 'e23', 'e123'])"
    )
    assert layout.algebra == cr.Algebra(3)
    odd = BasisVectorIds(range(1, 6, 2))
    assert repr(odd) == "BasisVectorIds(range(1, 6, 2))"
    assert list(odd.augmented_with(2).values) == [1, 3, 5, 6, 7]
    refused(r"write Blade\[grade\]", Blade, layout, error=TypeError)


def test_layout_says_what_is_wrong():
    for arguments, keywords in [((3,), {"sig": [1]}), ((-1,), {}), ((13,), {}), ((3,), {"firstIdx": -1})]:
        refused("parameter of Cl", Cl, *arguments, **keywords)
    layout = Cl(3)[0]
    refused("8 components", layout.MultiVector, value=[1, 2])
    refused("'grade' parameter", layout.grade_mask, 4)
    refused("must be a string", layout.parse_multivector, 3)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_conformalize(n, dtype):
    base = Cl(n)[0]
    layout, _, stuff = conformalize(base)
    eo, einf, up, down = stuff["eo"], stuff["einf"], stuff["up"], stuff["down"]
    assert layout.sig.tolist() == [1] * (n + 1) + [-1]
    assert eo * eo == einf * einf == 0
    assert (eo | einf) == -1
    assert stuff["E0"] == (einf ^ eo)
    assert stuff["ep"] ** 2 == 1 == -(stuff["en"] ** 2)
    assert stuff["I_base"].grades == (n,)
    X, Y = np.random.default_rng(0).standard_normal((2, 6, n)).astype(dtype)
    x, y = up(base.algebra.vector(X)), up(base.algebra.vector(Y))
    tolerance = 20 * float(np.finfo(dtype).eps)
    assert x.dtype == dtype
    assert np.allclose((x * x)["1"], 0, atol=tolerance * 10)
    assert np.allclose((x | y)["1"], -((X - Y) ** 2).sum(-1) / 2, atol=tolerance * 10)
    assert np.allclose(down(3 * x).values[:, :n], X, atol=tolerance * 10)
    assert (down(x).values[:, n:] == 0).all()
    assert np.allclose(up(down(x)).values, x.values, atol=tolerance * 20)


# ---- the page


@pytest.mark.parametrize(
    ("prefix", "owner", "least"),
    [("(?:A|R|M)", cr.Algebra(3).e1, 26), ("alg", cr.Algebra(3), 1), ("pga", pga, 6), ("cr", cr, 3)],
)
def test_migration_page_names_only_what_exists(prefix, owner, least):
    """Every method and function in the column of this library is there."""
    rows = [row.split(" | ")[-1] for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith("| `")]
    names = {name for row in rows for name in re.findall(rf"\b{prefix}\.(\w+)", row)}
    assert len(rows) > 40
    assert len(names) >= least
    assert owner is not cr or {"slerp", "motor_from_points", "rotor_from_matrix"} <= names
    assert [name for name in sorted(names) if not hasattr(owner, name)] == []
