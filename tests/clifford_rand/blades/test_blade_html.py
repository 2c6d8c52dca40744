"""What a notebook shows of blades: the first vectors and components, escaped, and nothing that is long to compute."""

import re

import numpy as np
from scipy import sparse

import clifford_rand as cr


def _cells(html):
    return [re.findall(r"<t[dh]>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def test_a_blade_is_a_table_of_its_vectors():
    blade = cr.Blade([[1.0, 2, 3], [0, 0.1, 1e-20]], cr.Algebra(3, names=["x", "y", "z"]))
    assert _cells(blade._repr_html_()) == [["x", "y", "z"], ["1.0", "2.0", "3.0"], ["0.0", "0.1", "1.0e-20"]]
    assert "&lt;Blade of grade 2 in" in blade._repr_html_()
    assert "times" not in blade._repr_html_()
    assert ": -exp(0.693147) times the wedge" in (-2 * blade)._repr_html_()
    assert ": 0 times the wedge" in (0 * blade)._repr_html_()
    with cr.printoptions(precision=1):
        assert _cells(cr.Blade([[2 / 3, 0]])._repr_html_())[1] == ["0.7", "0.0"]


def test_many_vectors_and_components_are_abridged():
    X = np.arange(200.0).reshape(10, 20)
    for blade in (cr.Blade(X), cr.LargeBlade(X)):
        cells = _cells(blade._repr_html_())
        assert cells[0] == [*(f"e{i}" for i in range(1, 9)), "…"]
        assert cells[2] == [*(f"{i:.1f}" for i in range(20, 28)), "…"]
        assert cells[6] == ["…"] * 9
        assert len(cells) == 7


def test_batches_show_their_first_blade():
    html = cr.Blade([[[1.0, 2.0]], [[3.0, 4.0]]])._repr_html_()
    assert _cells(html) == [["e1", "e2"], ["1.0", "2.0"]]
    assert "batch of shape (2,)&gt;, of which this is the first" in html
    assert _cells(cr.Blade(np.zeros((0, 1, 2)))._repr_html_()) == [["e1", "e2"], ["…", "…"]]


def test_sparse_rows_show_columns_that_hold_something():
    rows = sparse.csr_array(([1.5, 2.5], ([0, 1], [7, 10**6])), shape=(2, 10**7))
    html = cr.LargeBlade(rows)._repr_html_()
    assert _cells(html) == [["e8", "e1000001", "…"], ["1.5", "0.0", "…"], ["0.0", "2.5", "…"]]
    assert "in R^10000000, sparse" in html


def test_the_rows_of_a_large_blade_are_not_read_for_it(tmp_path):
    X = np.lib.format.open_memmap(tmp_path / "rows.npy", mode="w+", dtype=np.float32, shape=(3, 10**6))
    X[:, :8] = 1
    X[:, 8:] = np.nan  # which is an error once the rows are read
    assert _cells(cr.LargeBlade(X)._repr_html_())[1][:2] == ["1.0", "1.0"]
