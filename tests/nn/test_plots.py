"""Pictures: what is drawn, where, and in which colours."""

import sys

import numpy as np
import pytest

import clifford_rand._optional as optional
from clifford_rand.errors import ArgumentError, MissingDependencyError
from clifford_rand_nn import GatedReLUClassifier, spiral
from clifford_rand_nn.plots import plot_decision_regions, save_figure, spiral_figure

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402


class Halves:
    """Class "right" where x > 0.25; counts the rows it is asked at once."""

    most = 0

    def predict(self, X):
        self.most = max(self.most, len(X))
        return np.where(X[:, 0] > 0.25, "right", "left")


X = np.array([[-1.0, -1.0], [1.0, 1.0], [0.5, -0.5], [-0.5, 0.2]])
Y = np.array(["left", "right", "right", "left"])


def test_regions_points_and_title():
    ax = Figure().subplots()
    plot_decision_regions(ax, Halves(), X, Y, "halves", resolution=101)
    (image,) = ax.images
    region = np.asarray(image.get_array())
    left, right, *_ = image.get_extent()
    assert left < -1
    assert right > 1
    columns = np.linspace(left, right, 101)
    np.testing.assert_array_equal(region, np.tile(columns > 0.25, (101, 1)))
    assert [points.get_offsets().tolist() for points in ax.collections] == [X[[0, 3]].tolist(), X[[1, 2]].tolist()]
    markers = {tuple(map(tuple, points.get_paths()[0].vertices.round(3))) for points in ax.collections}
    assert len(markers) == 2
    assert ax.get_title() == "halves"


def test_the_vertical_axis_points_up():
    class Upper:
        def predict(self, X):
            return np.where(X[:, 1] > 0.5, "right", "left")

    ax = Figure().subplots()
    plot_decision_regions(ax, Upper(), X, Y, resolution=11)
    (image,) = ax.images
    region = np.asarray(image.get_array())
    assert image.origin == "lower"
    assert not region[0].any()
    assert region[-1].all()


def test_a_fine_grid_is_predicted_in_blocks():
    model = Halves()
    plot_decision_regions(Figure().subplots(), model, X, Y, resolution=400)
    assert 0 < model.most <= 50_000


def test_gates_are_lines_through_the_picture():
    ax = Figure().subplots()
    gates = (np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]), np.array([-0.5, 1.0, 1.0]))  # x = 1/2, y = -1/2, no line
    plot_decision_regions(ax, Halves(), X, Y, resolution=10, gates=gates)
    lines = np.array(ax.collections[0].get_segments())
    assert lines.shape == (2, 2, 2)
    np.testing.assert_allclose(lines[0, :, 0], 0.5)
    np.testing.assert_allclose(lines[1, :, 1], -0.5)
    assert np.ptp(lines[0, :, 1]) > 2


def test_spiral_figure_has_a_panel_for_each_model(tmp_path):
    points, labels = spiral()
    model = GatedReLUClassifier(n_gates=10, tol=1e-2, random_state=0, beta=1e-3, bias=True).fit(points, labels)
    figure = spiral_figure(
        [("first", model, model.gates_), ("second", model, None)], points, labels, resolution=60, lines=True
    )
    assert [ax.get_title() for ax in figure.axes] == ["first", "second"]
    assert [len(ax.collections) for ax in figure.axes] == [3, 2]  # two classes, and the lines where there are gates
    region = np.asarray(figure.axes[0].images[0].get_array())
    assert set(np.unique(region)) == {0, 1}
    save_figure(figure, tmp_path / "spiral.png")
    with open(tmp_path / "spiral.png", "rb") as stream:
        head = stream.read(24)
    assert head[:4] == b"\x89PNG"
    assert int.from_bytes(head[16:20]) == round(2 * 4.8 * 150)


def test_four_panels_are_two_by_two_and_three_leave_a_hole():
    figure = spiral_figure([(name, Halves(), None) for name in "abcd"], X, Y, resolution=5)
    figure.draw_without_rendering()
    corners = [tuple(ax.get_position().min.round(2)) for ax in figure.axes]
    assert len({x for x, _ in corners}) == len({y for _, y in corners}) == 2
    (left, top), (right, _), (_, bottom), _ = corners  # in the order of reading
    assert left < right
    assert bottom < top
    three = spiral_figure([(name, Halves(), None) for name in "abc"], X, Y, resolution=5)
    assert [ax.get_title() for ax in three.axes] == ["a", "b", "c"]
    wide = spiral_figure([(name, Halves(), None) for name in "abc"], X, Y, resolution=5, columns=3)
    assert wide.get_figwidth() > three.get_figwidth()


def test_titles_of_the_demo_do_not_overlap():
    points, labels = spiral()
    title = "200 cross-product gates, train accuracy 1.000\nobjective 0.00628, 149% above the optimum"
    figure = spiral_figure([(title, Halves(), None)] * 4, points, np.where(labels > 0, "right", "left"), resolution=5)
    figure.canvas.draw()
    boxes = [ax.title.get_window_extent() for ax in figure.axes]
    assert boxes[0].x1 < boxes[1].x0
    assert boxes[2].y1 < figure.axes[0].get_window_extent().y0
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)


def test_no_global_state_of_pyplot_is_touched():
    before = "matplotlib.pyplot" in sys.modules
    spiral_figure([("", Halves(), None)], X, Y, resolution=5)
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_what_cannot_be_drawn_is_refused(monkeypatch):
    ax = Figure().subplots()
    with pytest.raises(ArgumentError, match=r"must be of shape \(n, 2\). Got shape \(4, 3\) instead"):
        plot_decision_regions(ax, Halves(), np.ones((4, 3)), Y)
    with pytest.raises(ArgumentError, match=r"must be labels of at most 8 classes\. Got 9"):
        plot_decision_regions(ax, Halves(), np.ones((9, 2)), np.arange(9))
    monkeypatch.setattr(optional, "available", lambda module: False)
    with pytest.raises(MissingDependencyError, match=r'drawing needs matplotlib: pip install "clifford-rand\[app\]"'):
        plot_decision_regions(ax, Halves(), X, Y)
