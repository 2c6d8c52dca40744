"""Representations of fitted attributes and results: short text, and escaped tables for notebooks."""

import pickle
from html import unescape
from typing import NamedTuple

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn._records import as_table, short_repr

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 2))
Y = np.abs(X[:, 0]) + 0.1 * RNG.standard_normal(60)
MODELS = {
    "default": lambda: nn.ConvexNetworkRegressor(),
    "classes": lambda: nn.ConvexNetworkClassifier(),
    "few": lambda: nn.ConvexNetworkRegressor(n_neurons=3),
    "gated": lambda: nn.GatedReLUClassifier(n_gates=10, random_state=0),
    "lasso": lambda: nn.CrossProductLassoRegressor(),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    made = MODELS[request.param]()
    return made.fit(X, Y > 0.5 if hasattr(made, "class_weight") else Y)


@pytest.mark.kept("classes")
def test_every_fitted_attribute_is_shown_in_ten_lines(model):
    for name, value in vars(model).items():
        if name.endswith("_") and not isinstance(value, np.ndarray):
            text = repr(value)
            assert max(100 * text.count("\n"), len(text)) < 1000, name
    text = repr(model.certificate_.claim)
    assert text.count("\n") < 10
    assert len(text) < 1000


def test_a_network_is_shown_by_its_sizes():
    assert repr(nn.ConvexNetworkRegressor().fit(X, Y).network_).startswith("KernelNetwork(d=2, rows=60, outputs=1, ")


def test_a_certificate_in_a_notebook_names_its_number_its_scope_and_its_limits(model):
    page, proof = unescape(model.certificate_._repr_html_()), model.certificate_
    assert f"<td>{proof.relative_gap:.1e}</td>" in page
    assert f"<td>{proof.scope.removeprefix('over ')}</td>" in page
    assert "the training objective" in page
    assert "says nothing about new rows" in page
    assert proof.sentence in page


def test_the_sentence_of_a_global_certificate_says_so():
    proof = nn.ConvexReLURegressor(gates="exhaustive", beta=0.01).fit(X[:12], Y[:12]).certificate_
    assert proof.scope.startswith("global: all ")
    family = proof.scope.removeprefix("global: ")
    assert f"(relative) of the global optimum, over {family}; this says nothing about new rows" in proof.sentence


def test_an_explanation_is_its_text_and_escaped_in_a_notebook():
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["<script>x</script>", "b"])
    model = nn.GatedReLURegressor(n_gates=8, beta=0.01, random_state=0).fit(frame, Y)
    for explained in (nn.explain(model), nn.explain(model, frame[:1])):
        assert repr(explained) == str(explained)
        assert "<script>" in str(explained)
        assert "<script>" not in explained._repr_html_()
        assert "&lt;script&gt;" in explained._repr_html_()
    many = nn.explain(model, frame)
    assert len(repr(many).split("\n")) <= 31
    assert repr(many).startswith(str(many[0]))


class Row(NamedTuple):
    name: str
    value: float
    weights: np.ndarray


def test_a_table_is_a_list_with_headings():
    rows = [Row(f"<b>{i}\x1b[2J", i / 3, np.zeros(100)) for i in range(20)]
    table = as_table(rows)
    assert isinstance(table, list)
    assert table[3] is rows[3]
    assert len(table) == 20
    lines = repr(table).split("\n")
    assert len(lines) == 10
    assert lines[0].split() == ["name", "value", "weights"]
    assert lines[2].split()[:2] == ["<b>1\\x1b[2J", "0.3333"]
    assert lines[-1] == "… and 12 more Row"
    assert "<b>" not in table._repr_html_()
    assert "&lt;b&gt;19" in table._repr_html_()
    assert isinstance(as_table(tuple(rows)), tuple)
    assert as_table(None) is None
    assert repr(as_table([])) == "[]"
    again = pickle.loads(pickle.dumps(as_table([Candidate("a", 1.0)])))
    assert again == [Candidate("a", 1.0)]
    assert repr(again) == repr(as_table([Candidate("a", 1.0)]))


@short_repr
class Candidate(NamedTuple):
    name: str
    value: float
    count: np.int64 = np.int64(3)


def test_a_record_shows_shapes_and_lengths():
    @short_repr
    class Record(NamedTuple):
        weights: np.ndarray
        few: np.ndarray
        inner: tuple

    shown = repr(Record(np.zeros((1000, 3)), np.array([1 / 3, 2.0]), tuple(Candidate("a", float(i)) for i in range(9))))
    assert shown == "Record(weights=array of (1000, 3), few=[0.3333, 2], inner=<9 of Candidate>)"
