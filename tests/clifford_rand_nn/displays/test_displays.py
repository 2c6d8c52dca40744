"""Pictures: what is drawn, where, and in which colors; from fitted estimators in one call."""

import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

import clifford_rand.errors as optional
from clifford_rand.errors import ArgumentError, MissingDependencyError
from clifford_rand_nn import (
    BetaCV,
    CalibrationDisplay,
    CertificateDisplay,
    ConvergenceDisplay,
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    DecisionRegionsDisplay,
    GatedReLUClassifier,
    LearningCurveDisplay,
    RegularizationPathDisplay,
    gated_path,
    lasso_path,
    sample_gates,
    spiral,
    table_model,
)
from clifford_rand_nn.displays import save_figure
from clifford_rand_nn.displays.regions import spiral_figure
from clifford_rand_nn.kernel_network.candidates import Problem

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
    DecisionRegionsDisplay.from_estimator(Halves(), X, Y, planes=False, ax=ax, title="halves", resolution=101)
    (image,) = ax.images
    left, right, *_ = image.get_extent()
    assert left < -1 < 1 < right
    columns = np.linspace(left, right, 101)
    np.testing.assert_array_equal(np.asarray(image.get_array()), np.tile(columns > 0.25, (101, 1)))
    assert [points.get_offsets().tolist() for points in ax.collections] == [X[[0, 3]].tolist(), X[[1, 2]].tolist()]
    markers = {tuple(map(tuple, points.get_paths()[0].vertices.round(3))) for points in ax.collections}
    assert (len(markers), ax.get_title()) == (2, "halves")

    class Upper:
        def predict(self, X):
            return np.where(X[:, 1] > 0.5, "right", "left")

    ax = Figure().subplots()
    DecisionRegionsDisplay.from_estimator(Upper(), X, Y, planes=False, ax=ax, resolution=11)
    region = np.asarray(ax.images[0].get_array())
    assert ax.images[0].origin == "lower"  # the vertical axis points up
    assert (region[0].any(), region[-1].all()) == (False, True)


def test_a_fine_grid_is_predicted_in_blocks_and_pyplot_is_not_touched():
    before, model = "matplotlib.pyplot" in sys.modules, Halves()
    DecisionRegionsDisplay.from_estimator(model, X, Y, planes=False, ax=Figure().subplots(), resolution=400)
    assert 0 < model.most <= 50_000
    spiral_figure([("", Halves())], X, Y, resolution=5)
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_gates_are_lines_through_the_picture():
    ax = Figure().subplots()
    gates = (np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]), np.array([-0.5, 1.0, 1.0]))  # x = 1/2, y = -1/2, no line
    DecisionRegionsDisplay.from_estimator(Halves(), X, Y, planes=gates, ax=ax, resolution=10)
    lines = np.array(ax.collections[0].get_segments())
    assert lines.shape == (2, 2, 2)
    np.testing.assert_allclose(lines[0, :, 0], 0.5)
    np.testing.assert_allclose(lines[1, :, 1], -0.5)
    assert np.ptp(lines[0, :, 1]) > 2


def test_spiral_figure_has_a_panel_for_each_model(tmp_path):
    points, labels = spiral()
    model = GatedReLUClassifier(n_gates=10, tol=1e-2, random_state=0, beta=1e-3, bias=True).fit(points, labels)
    figure = spiral_figure([("first", model), ("second", model)], points, labels, resolution=60)
    assert [ax.get_title() for ax in figure.axes] == ["first", "second"]
    assert [len(ax.collections) for ax in figure.axes] == [2, 2]  # two classes
    assert set(np.unique(figure.axes[0].images[0].get_array())) == {0, 1}
    save_figure(figure, tmp_path / "spiral.png")
    head = (tmp_path / "spiral.png").read_bytes()[:24]
    assert head[:4] == b"\x89PNG"
    assert int.from_bytes(head[16:20]) == round(2 * 4.8 * 150)


def test_four_panels_are_two_by_two_and_three_leave_a_hole():
    figure = spiral_figure([(name, Halves()) for name in "abcd"], X, Y, resolution=5)
    figure.draw_without_rendering()
    corners = [tuple(ax.get_position().min.round(2)) for ax in figure.axes]
    assert len({x for x, _ in corners}) == len({y for _, y in corners}) == 2
    (left, top), (right, _), (_, bottom), _ = corners  # in the order of reading
    assert left < right
    assert bottom < top
    three = spiral_figure([(name, Halves()) for name in "abc"], X, Y, resolution=5)
    assert [ax.get_title() for ax in three.axes] == ["a", "b", "c"]
    wide = spiral_figure([(name, Halves()) for name in "abc"], X, Y, resolution=5, columns=3)
    assert wide.get_figwidth() > three.get_figwidth()


def test_titles_of_the_demo_do_not_overlap():
    points, labels = spiral()
    title = "200 cross-product gates, train accuracy 1.000\nobjective 0.00628, 149% above the optimum"
    figure = spiral_figure([(title, Halves())] * 4, points, np.where(labels > 0, "right", "left"), resolution=5)
    figure.canvas.draw()
    boxes = [ax.title.get_window_extent() for ax in figure.axes]
    assert boxes[0].x1 < boxes[1].x0
    assert boxes[2].y1 < figure.axes[0].get_window_extent().y0
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)


def test_what_cannot_be_drawn_is_refused(monkeypatch):
    ax = Figure().subplots()
    with pytest.raises(ArgumentError, match=r"must be labels of at most 8 classes\. Got 9"):
        DecisionRegionsDisplay.from_estimator(Halves(), np.ones((9, 2)), np.arange(9), ax=ax)
    monkeypatch.setattr(optional, "available", lambda module: False)
    with pytest.raises(MissingDependencyError, match=r'drawing needs matplotlib: pip install "matplotlib>='):
        DecisionRegionsDisplay.from_estimator(Halves(), X, Y, ax=ax)


# ---- displays


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (60, 2))
    return points, np.where(np.abs(points[:, 0]) + 0.2 * rng.standard_normal(60) > 0.5, "out", "in")


@pytest.fixture(scope="module")
def network(data):
    return ConvexNetworkClassifier(loss="squared", max_metric_iter=0).fit(*data)


@pytest.fixture(scope="module")
def crossed(data):
    return ConvexNetworkClassifier(gates="row_spanned", n_neurons=4).fit(*data)


@pytest.fixture(scope="module")
def gated(data):
    return GatedReLUClassifier(n_gates=8, random_state=0, beta=1e-3).fit(*data)


def test_regions_show_planes_and_the_rows_that_span_them(data, crossed, gated):
    points, labels = data
    for model, known in ((crossed, crossed.spanning_rows_), (gated, gated.network_.gates.incident)):
        shown = DecisionRegionsDisplay.from_estimator(model, points, labels, resolution=20, ax=Figure().subplots())
        assert shown.spanning.tolist() == sorted({i for rows in known for i in rows if i >= 0})
        H, c = shown.lines
        assert H.shape == (2, model.network_.n_neurons)
        if model is crossed:  # gates were moved into a chamber beside their rows
            assert (np.abs(points[shown.spanning] @ H + c).min(axis=1) < 1e-9).all()
        grid = np.stack(np.meshgrid(shown.horizontal, shown.vertical), axis=-1).reshape(-1, 2)
        assert (shown.classes[shown.region].ravel() == model.predict(grid)).all()
    moved = DecisionRegionsDisplay.from_estimator(crossed, points + 0.1, labels, resolution=5, ax=Figure().subplots())
    assert not len(moved.spanning)  # rows of other data span nothing
    bare = DecisionRegionsDisplay.from_estimator(crossed, points, labels, planes=False, ax=Figure().subplots())
    assert bare.lines is None


@pytest.mark.slow
def test_regions_of_more_columns_are_a_cut_at_the_medians():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 3))
    y = np.where(X[:, 2] > 0, "b", "a")
    model = ConvexNetworkClassifier(n_neurons=3, gates="row_spanned", beta=0.05).fit(X, y)
    shown = DecisionRegionsDisplay.from_estimator(model, X, y, columns=(2, 0), resolution=9, ax=Figure().subplots())
    rows = np.tile(np.median(X, axis=0), (81, 1))
    grid = np.stack(np.meshgrid(shown.horizontal, shown.vertical), axis=-1).reshape(-1, 2)
    rows[:, [2, 0]] = grid
    assert (shown.classes[shown.region].ravel() == model.predict(rows)).all()
    H, c = shown.lines
    np.testing.assert_allclose(grid @ H + c, rows @ model.network_.W1.T + model.network_.b1, atol=1e-9)
    frame = pandas.DataFrame({"$x$": X[:, 0], "kind": np.where(X[:, 1] > 0, "u", "v"), "z": X[:, 2]})

    class Kind:
        seen = None

        def predict(self, X):
            self.seen = X
            return np.where(X["z"] > 0, "b", "a")

    one = Kind()
    shown = DecisionRegionsDisplay.from_estimator(one, frame, y, columns=("$x$", "z"), ax=Figure().subplots())
    assert set(one.seen["kind"]) == {frame["kind"].mode()[0]}
    assert list(one.seen.columns) == list(frame.columns)
    assert shown.ax_.get_xlabel() == r"\$x\$"  # a dollar sign, no formula
    with pytest.raises(ArgumentError, match="'columns' parameter of DecisionRegionsDisplay must be two columns of X"):
        DecisionRegionsDisplay.from_estimator(one, frame, y, columns=("z", "nowhere"), ax=Figure().subplots())
    with pytest.raises(ArgumentError, match="must be two columns of numbers"):
        DecisionRegionsDisplay.from_estimator(one, frame, y, columns=("z", "kind"), ax=Figure().subplots())
    with pytest.raises(ArgumentError, match="hyperplanes of the 3 columns"):
        DecisionRegionsDisplay.from_estimator(model, X, y, planes=(np.ones((2, 1)), np.ones(1)), ax=Figure().subplots())


def test_convergence_is_the_history_of_the_solver(network, gated):
    for model in (network, gated):
        shown, history = (
            ConvergenceDisplay.from_estimator(make_pipeline(model), ax=Figure().subplots()),
            model.result_.history,
        )
        (line,) = shown.ax_.lines
        np.testing.assert_array_equal(line.get_xdata(), [row.seconds for row in history])
        np.testing.assert_allclose(line.get_ydata(), np.maximum([row.relative_gap for row in history], 1e-16))
        np.testing.assert_array_equal(shown.objective_ax_.lines[0].get_ydata(), [row.objective for row in history])
    steps = ConvergenceDisplay.from_estimator(gated, seconds=False, ax=Figure().subplots()).plot(objective=False)
    assert steps.ax_.get_xlabel() == "iterations"
    assert steps.objective_ax_ is None
    with pytest.raises(ArgumentError, match="must be one that was fitted here"):
        ConvergenceDisplay.from_estimator(Halves())


def test_the_certificate_is_two_bars(network):
    shown = CertificateDisplay.from_estimator(make_pipeline(network), ax=Figure().subplots())
    proof = network.certificate_
    assert [bar.get_width() for bar in shown.ax_.patches] == [proof.objective, proof.lower_bound]
    assert "all gated networks" in shown.ax_.get_title().replace("\n", " ")
    with pytest.raises(ArgumentError, match="must be a fitted estimator of clifford_rand_nn"):
        CertificateDisplay.from_estimator(Halves())
    with pytest.raises(ArgumentError, match="must be a Certificate"):
        CertificateDisplay(3.0)


def test_the_path_of_a_network_is_its_leave_one_out_curve(data, network, crossed):
    """By refits without each row, at two betas."""
    points, labels = data
    shown = RegularizationPathDisplay.from_estimator(network, points, labels, ax=Figure().subplots())
    y = np.where(labels == "out", 1.0, -1.0)
    best = network.candidates_[0]
    _, rows, kernel = Problem(points, y[:, None]).kernel_rows(best.scaling, best.bias_feature)
    K = kernel(rows)
    for k in (12, 20):
        radius, errors = 60 * shown.betas[k], []
        for i in range(60):
            some = np.delete(np.arange(60), i)
            system = np.block([[K[np.ix_(some, some)] + radius * np.eye(59), np.ones((59, 1))], [np.ones(59), 0.0]])
            *alpha, t = np.linalg.solve(system, np.append(y[some], 0.0))
            errors.append(y[i] - K[i, some] @ alpha - t)
        assert shown.scores[k] == pytest.approx(np.mean(np.square(errors)) / y.var(), rel=1e-6)
    assert shown.selected_beta == best.beta
    few = RegularizationPathDisplay.from_estimator(crossed, ax=Figure().subplots())
    assert few.scores.min() == pytest.approx(crossed.neuron_scores_[0].mean_loss)
    assert few.neurons_ax_ is not None
    with pytest.raises(ArgumentError, match="must be the rows of the training"):
        RegularizationPathDisplay.from_estimator(network)


@pytest.mark.slow
def test_paths_of_searches_and_of_solvers(data, gated):
    points, labels = data
    y = np.where(labels == "out", 1.0, -1.0)
    path = gated_path(points[:40], y[:40], sample_gates(points[:40], 6, random_state=0), n_betas=5)
    shown = RegularizationPathDisplay.from_path(path, points[40:], y[40:], ax=Figure().subplots())
    out = [network.predict(points[40:]) for network in path.networks]
    np.testing.assert_allclose(shown.scores, [np.mean((f - y[40:]) ** 2) / 2 for f in out])
    np.testing.assert_array_equal(shown.neurons_ax_.lines[0].get_ydata(), path.n_neurons)
    search = BetaCV(GatedReLUClassifier(n_gates=5, random_state=0), n_betas=3, cv=2).fit(points, labels)
    shown = RegularizationPathDisplay.from_estimator(search, ax=Figure().subplots())
    np.testing.assert_allclose(shown.scores, search.scores_.mean(axis=1))
    assert shown.selected_beta == search.beta_
    auto = GatedReLUClassifier(n_gates=5, random_state=0).fit(points, labels)
    shown = RegularizationPathDisplay.from_estimator(auto, ax=Figure().subplots())
    assert shown.scores.tolist() == [one.mean_loss for one in auto.candidates_]
    with pytest.raises(ArgumentError, match="must be one that chose beta"):
        RegularizationPathDisplay.from_estimator(gated)
    with pytest.raises(ArgumentError, match="must be a RegularizationPath"):
        RegularizationPathDisplay.from_path(gated)
    with pytest.raises(ArgumentError, match="must be given with X"):
        RegularizationPathDisplay.from_path(path, points)


def test_calibration_is_of_the_rows_left_out(data, network):
    labels = data[1]
    shown = CalibrationDisplay.from_leave_one_out(network, labels, n_bins=3, ax=Figure().subplots())
    parts = np.array_split(np.sort(network.loo_probabilities_[:, 1]), 3)
    np.testing.assert_allclose(shown.prob_pred, [part.mean() for part in parts], atol=0.02)
    assert shown.ax_.get_xlabel() == "probability of out"
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 3000)
    y = np.array([rng.choice(3, p=row) for row in p])  # what is said is so
    shown = CalibrationDisplay.from_probabilities(y, p, classes=[0, 1, 2], n_bins=5, ax=Figure().subplots())
    np.testing.assert_allclose(shown.prob_pred, shown.prob_true, atol=4 * np.sqrt(0.25 / 600))  # 4 standard errors
    with pytest.raises(ArgumentError, match="must be a ConvexNetworkClassifier that was fitted here"):
        CalibrationDisplay.from_leave_one_out(Halves(), labels)
    with pytest.raises(ArgumentError, match="must be 60 labels, as in training"):
        CalibrationDisplay.from_leave_one_out(network, labels[:9])


def test_the_learning_curve_ends_with_the_promise_of_the_fit(data, network, gated):
    points, labels = data
    shown = LearningCurveDisplay.from_leave_one_out(
        make_pipeline(network), points, labels, train_sizes=(0.1, 0.5, 1), n_draws=2, ax=Figure().subplots()
    )
    assert shown.train_sizes.tolist() == [30, 60]  # a tenth is too few
    assert shown.test_scores[-1].tolist() == [network.loo_score_] * 2
    assert shown.train_scores[-1, 0] == network.score(points, labels)
    assert shown.ax_.get_legend_handles_labels()[1] == ["training set", "left-out rows"]
    with pytest.raises(ArgumentError, match="must be a fitted tuning-free network"):
        LearningCurveDisplay.from_leave_one_out(gated, points, labels)
    with pytest.raises(ArgumentError, match="must be shares of the rows"):
        LearningCurveDisplay.from_leave_one_out(network, points, labels, train_sizes=(0.5, 2.0))


@pytest.mark.parametrize(
    "steps",
    [[StandardScaler()], [MinMaxScaler(), PCA(2)], [QuantileTransformer(n_quantiles=9)]],
    ids=["scaled", "rotated", "bent"],
)
def test_planes_behind_steps_that_keep_them_straight(data, steps):
    """Lines are where neurons turn, found by what the steps make of the rows; steps that bend them leave none."""
    points, labels = 7 * data[0] + 3, data[1]
    alone = GatedReLUClassifier(n_gates=4, random_state=0, beta=1e-3)
    search = BetaCV(GatedReLUClassifier(n_gates=4, random_state=0), betas=[0.01], cv=2)
    for model in (alone, search):
        pipeline = make_pipeline(*steps, model).fit(points, labels)
        shown = DecisionRegionsDisplay.from_estimator(pipeline, points, labels, resolution=9, ax=Figure().subplots())
        if isinstance(steps[0], QuantileTransformer):
            assert shown.lines is None
            continue
        grid = np.stack(np.meshgrid(shown.horizontal, shown.vertical), axis=-1).reshape(-1, 2)
        gates = getattr(model, "estimator_", model).gates_
        inside = pipeline[:-1].transform(grid) @ gates.directions + gates.offsets
        np.testing.assert_allclose(grid @ shown.lines[0] + shown.lines[1], inside, atol=1e-9)
        assert shown.spanning.tolist() == sorted({int(i) for i in gates.incident.ravel() if i >= 0})


def test_a_pipeline_of_a_table_is_drawn_from_the_table():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    frame = pandas.DataFrame({"a": rng.standard_normal(40), "kind": rng.choice(["u", "v"], 40), "b": rng.random(40)})
    frame["y"] = np.where(frame.a + (frame.kind == "u") > 0.5, "yes", "no")
    frame.loc[3, "b"] = np.nan
    rows, y = frame.drop(columns="y"), frame["y"]
    model = table_model(frame, "y", estimator=ConvexNetworkClassifier(max_metric_iter=0, loss="squared"))
    shown = RegularizationPathDisplay.from_estimator(model, rows, y, ax=Figure().subplots())
    assert shown.selected_beta == model[-1].beta_
    ax = Figure().subplots()
    shown = DecisionRegionsDisplay.from_estimator(model, rows, y, columns=("a", "b"), resolution=9, ax=ax)
    assert len(shown.ax_.collections[0].get_offsets()) + len(shown.ax_.collections[1].get_offsets()) == 39
    assert np.isfinite(shown.horizontal).all()
    assert np.isfinite(shown.vertical).all()


def test_regions_are_of_one_label_a_row(data):
    points, labels = data
    marks = np.column_stack([labels == "in", points[:, 0] > 0]).astype(int)
    several = ConvexNetworkClassifier(max_metric_iter=0).fit(points, marks)
    with pytest.raises(ArgumentError, match=r"one that says one label a row. Got 2 a row.*MultiOutputClassifier"):
        DecisionRegionsDisplay.from_estimator(several, points, labels, resolution=5)
    numbers = ConvexNetworkRegressor(max_metric_iter=0).fit(points, points[:, 0])
    with pytest.raises(ArgumentError, match=r"must be a fitted classifier. Got a ConvexNetworkRegressor"):
        DecisionRegionsDisplay.from_estimator(numbers, points, labels, resolution=5)
    for kind in (ConvexNetworkClassifier, ConvexNetworkRegressor):
        with pytest.raises(ArgumentError, match=r"must be a fitted classifier\. Got a type"):
            DecisionRegionsDisplay.from_estimator(kind, points, labels, resolution=5)


def test_several_labels_a_row():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((48, 2))
    marks = (X + 0.5 * rng.standard_normal((48, 2)) > 0).astype(int)
    model = ConvexNetworkClassifier(max_metric_iter=0).fit(X, marks)
    shown = CalibrationDisplay.from_leave_one_out(model, marks, n_bins=2, ax=Figure().subplots())
    low, high = np.array_split(np.argsort(model.loo_probabilities_.ravel()), 2)
    truth = [marks.ravel()[half].mean() for half in (low, high)]
    np.testing.assert_allclose(shown.prob_true, truth, atol=0.05)
    shown = RegularizationPathDisplay.from_estimator(model, X, marks, ax=Figure().subplots())
    assert shown.scores.min() == pytest.approx(model.candidates_[0].mean_loss, rel=0.02)
    shown = LearningCurveDisplay.from_leave_one_out(model, X, marks, train_sizes=(0.5, 1), ax=Figure().subplots())
    assert shown.test_scores[-1, 0] == model.loo_score_


@pytest.mark.slow
def test_the_example_draws_all_of_them():
    from examples.displays import draw

    assert len([ax for ax in draw().axes if ax.get_xlabel() or ax.get_title()]) == 6


def _axes():
    return Figure().subplots()


@pytest.fixture(scope="module")
def fitted_pair():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 2))
    y = X[:, 0] - X[:, 1]
    labels = np.where(y > 0, "high", "low")
    return X, y, labels, ConvexNetworkClassifier(loss="squared", max_metric_iter=0).fit(X, labels)


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (lambda X, y, k, m: CalibrationDisplay.from_leave_one_out(m, k[:5], ax=_axes()), "y"),
        (lambda X, y, k, m: CalibrationDisplay.from_leave_one_out(m, y, ax=_axes()), "y"),
        (lambda X, y, k, m: CalibrationDisplay.from_leave_one_out(m, k, n_bins=10**12, ax=_axes()), "n_bins"),
        (lambda X, y, k, m: CalibrationDisplay.from_leave_one_out(m, k, strategy="odd", ax=_axes()), "strategy"),
        (lambda X, y, k, m: CalibrationDisplay.from_leave_one_out(m, k, ax="axes"), "ax"),
        (lambda X, y, k, m: CalibrationDisplay.from_probabilities(k, 2 * np.ones((24, 2)), classes=["high", "low"]),
         "y_prob"),
        (lambda X, y, k, m: CalibrationDisplay.from_probabilities(k, np.ones(24), classes=["high", "low"]), "y_prob"),
        (lambda X, y, k, m: ConvergenceDisplay([1, 2]), "history"),
        (lambda X, y, k, m: ConvergenceDisplay(None), "history"),
        (lambda X, y, k, m: ConvergenceDisplay.from_estimator(m, seconds="yes", ax=_axes()), "seconds"),
        (lambda X, y, k, m: DecisionRegionsDisplay.from_estimator(m, X, k, columns=3, ax=_axes()), "columns"),
        (lambda X, y, k, m: DecisionRegionsDisplay.from_estimator(m, X, k, columns=(0, None), ax=_axes()), "columns"),
        (lambda X, y, k, m: DecisionRegionsDisplay.from_estimator(m, X, k, planes="yes", ax=_axes()), "planes"),
        (lambda X, y, k, m: DecisionRegionsDisplay.from_estimator(m, X, k, resolution=10**9, ax=_axes()), "resolution"),
        (lambda X, y, k, m: DecisionRegionsDisplay.from_estimator(m, X, k[:5], ax=_axes()), "y"),
        (lambda X, y, k, m: DecisionRegionsDisplay.from_estimator(m, X, y, ax=_axes()), "y"),
        (lambda X, y, k, m: LearningCurveDisplay.from_leave_one_out(m, X, k, train_sizes="half", ax=_axes()),
         "train_sizes"),
        (lambda X, y, k, m: LearningCurveDisplay.from_leave_one_out(m, X, k, train_sizes=(0.5, 1), ax=_axes()),
         "train_sizes"),
        (lambda X, y, k, m: DecisionRegionsDisplay.from_estimator(None, X, k, ax=_axes()), "estimator"),
        (lambda X, y, k, m: DecisionRegionsDisplay.from_estimator(m, X, k == "high", ax=_axes()), "y"),
        (lambda X, y, k, m: DecisionRegionsDisplay.from_estimator(m, X * 1e300, k, ax=_axes()), "X"),
        (lambda X, y, k, m: RegularizationPathDisplay.from_path(lasso_path(X, y, n_betas=2), X * 1e300, y), "X"),
        (lambda X, y, k, m: LearningCurveDisplay.from_leave_one_out(m, X, k, n_draws=0, ax=_axes()), "n_draws"),
        (lambda X, y, k, m: LearningCurveDisplay.from_leave_one_out(m, X, k, random_state=-1, ax=_axes()),
         "random_state"),
        (lambda X, y, k, m: RegularizationPathDisplay.from_estimator(m, X, y, ax=_axes()), "y"),
        (lambda X, y, k, m: RegularizationPathDisplay.from_estimator(m, X[:, :1], k, ax=_axes()), "X"),
        (lambda X, y, k, m: RegularizationPathDisplay.from_estimator(m, X.astype(str), k, ax=_axes()), "X"),
    ],
)  # fmt: skip
def test_parameters_of_displays_are_refused_by_name(fitted_pair, draw, name):
    with pytest.raises(ArgumentError, match=f"'{name}' parameter of .* must "):
        draw(*fitted_pair)
