"""Explanations: contributions add up to what the model says, gradients are those of differences, words are true."""

import copy
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import NMF, PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import (
    BetaCV,
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    ConvexReLUClassifier,
    ConvexReLURegressor,
    CrossProductLassoClassifier,
    CrossProductLassoRegressor,
    GatedReLUClassifier,
    GatedReLURegressor,
    explain,
    load_model,
    save_model,
)
from clifford_rand_nn.export.preprocessing import column_effect
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.network import kernel_slopes
from clifford_rand_nn.kernel_network.standardization import RowSpan

rng = np.random.default_rng(0)
N, D = 40, 3
X = rng.standard_normal((N, D)) * [1.0, 2.0, 0.5] + [0.0, 5.0, 1.0]
Z = (X - [0.0, 5.0, 1.0]) / [1.0, 2.0, 0.5]
ONE = np.abs(Z[:, 0]) + Z[:, 1] * Z[:, 2]
TWO = np.column_stack([ONE, Z[:, 2]])
HALVES = np.where(Z[:, 0] * Z[:, 1] + 0.3 * Z[:, 2] > 0, "yes", "no")
THIRDS = np.digitize(Z[:, 0] + 0.3 * Z[:, 1] ** 2, [-0.3, 0.7])
NEW = np.vstack([rng.standard_normal((6, D)) * [1.0, 2.0, 0.5] + [0.0, 5.0, 1.0], X[:2]])
FREE = {"bias": "free", "beta": 0.01}
MODELS = {
    "infinite, two classes": (ConvexNetworkClassifier(max_metric_iter=0), HALVES),
    "infinite, three classes": (ConvexNetworkClassifier(max_metric_iter=0), THIRDS),
    "infinite, logistic": (ConvexNetworkClassifier(loss="logistic", beta=0.01, max_metric_iter=0), HALVES),
    "infinite, numbers": (ConvexNetworkRegressor(max_metric_iter=1), TWO),
    "few, classes": (ConvexNetworkClassifier(n_neurons=4, beta=0.01), THIRDS),
    "few, cross": (ConvexNetworkRegressor(gates="row_spanned", beta=0.05), ONE),
    "gated": (GatedReLUClassifier(n_gates=10, beta=1e-3, random_state=0), HALVES),
    "gated, several": (GatedReLURegressor(n_gates=10, beta=1e-3, random_state=0), TWO),
    "gated, free": (GatedReLURegressor(n_gates=10, random_state=0, linear=True, **FREE), ONE),
    "gated, ridge": (GatedReLURegressor(n_gates=10, beta=1e-3, penalty="ridge", random_state=0), ONE),
    "gated, infinite": (GatedReLUClassifier(gates="infinite", penalty="ridge", beta=1e-3), THIRDS),
    "relu": (ConvexReLURegressor(n_gates=6, beta=0.01, random_state=0), ONE),
    "relu, classes": (ConvexReLUClassifier(n_gates=6, beta=0.01, random_state=0), THIRDS),
    "lasso": (CrossProductLassoClassifier(subsample=30, beta=0.01, random_state=0), HALVES),
    "lasso, several": (CrossProductLassoRegressor(subsample=30, beta=0.01, penalty="l2", random_state=0), TWO),
}
FINITE = [name for name in MODELS if "infinite" not in name]
SLOW = ("few, classes", "relu, classes", "infinite, logistic")  # to fit


def _quick_first(names):
    return [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in names]


@pytest.fixture(scope="module")
def fitted():
    made = {}

    def fit(name):
        if name not in made:
            model, y = MODELS[name]
            made[name] = model.fit(X, y)
        return made[name], MODELS[name][1]

    return fit


def _outputs(model, rows):
    """What the network says before calibration, by the estimator's own methods."""
    if hasattr(model, "loo_score_"):
        return model.network_.predict(rows).reshape(len(rows), -1)
    out = model.decision_function(rows) if hasattr(model, "classes_") else model.predict(rows)
    return out.reshape(len(rows), -1)


def _differences(function, rows, h=1e-6):
    """Central differences (m, C, D) of a function of rows along each column."""
    return np.stack([(function(rows + step) - function(rows - step)) / (2 * h) for step in h * np.eye(D)], axis=-1)


@pytest.mark.parametrize("name", _quick_first(MODELS))
def test_contributions_add_up_to_the_output_and_slopes_are_those_of_differences(fitted, name):
    model, _ = fitted(name)
    f, finite = _outputs(model, NEW), name in FINITE
    size = np.abs(f).max()
    for known in (False, True):
        found = explain(model, NEW, X_train=X if known else None)
        assert np.abs(found.outputs - f).max() < 1e-12 * size
        assert np.abs(found.base + found.columns.sum(axis=2) - f).max() < 1e-11 * size
        assert found.columns.shape == (len(NEW), f.shape[1], D)
        assert (found.neurons is None) == (not finite)
        if finite:
            assert np.abs(found.neurons.sum(axis=2) + found.intercept - f).max() < 1e-12 * size
            assert not found.neurons.transpose(0, 2, 1)[~found.active].any()
        assert (found.rows is None) == (finite and not known)
        if found.rows is not None:
            assert np.abs(found.rows.sum(axis=2) + found.intercept + found.rest - f).max() < 1e-12 * size
            assert sorted(found.row_numbers) == list(range(N))
        if not finite:  # weights sum to zero
            assert np.abs(found.rest).max() < 1e-9 * size
            likeness = found.rows[:, 0] / found.row_weights[:, 0]
            assert np.abs(likeness.mean(axis=1)).max() < 1e-9 * np.abs(likeness).max()
    if finite:  # optimality makes weights a sum over rows: what is left is the gap, and biases that are not penalized
        free = name == "gated, free"
        biases = (found.active @ model.gate_intercept_[found.neuron_numbers])[:, None] if free else 0.0
        assert np.abs(found.rest - biases).max() < 1e-3 * size
    one = explain(model, NEW[0])  # not in a table
    np.testing.assert_allclose(one.outputs, f[:1], rtol=0, atol=1e-12 * size)
    apart = _differences(lambda rows: _outputs(model, rows), NEW[:6])
    np.testing.assert_allclose(found.slopes[:6], apart, rtol=0, atol=1e-6 * np.abs(found.slopes).max())


def test_rows_of_weight_zero_are_none():
    weights = np.arange(N) % 3.0
    model = GatedReLURegressor(n_gates=10, beta=1e-3, tol=1e-9, random_state=0).fit(X, ONE, sample_weight=weights)
    found = explain(model, NEW, X_train=X)
    assert found.row_numbers.tolist() == np.flatnonzero(weights).tolist()
    assert np.abs(found.rest).max() < 1e-4 * np.abs(found.outputs).max()
    for neuron in explain(model, X_train=X).neurons:
        plane = X[neuron.rows or []] @ neuron.direction + neuron.offset
        assert np.abs(plane).max(initial=0.0) < 0.3 * np.abs(X @ neuron.direction + neuron.offset).max()
        assert all(weights[row] > 0 for row in neuron.rows or [])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_kernel_network_knows_its_rows(tmp_path, loss):
    twice, y = np.vstack([X, X[:5]]), np.concatenate([HALVES, HALVES[:5]])
    weights = np.ones(len(y))
    weights[[3, 7]] = 0.0
    model = ConvexNetworkClassifier(loss=loss, beta=0.01, max_metric_iter=0).fit(twice, y, sample_weight=weights)
    numbers = model.support_
    np.testing.assert_array_equal(model.network_.standard.rows(twice[numbers]), model.network_.rows)
    assert not {3, 7} & set(numbers)
    save_model(model, tmp_path / "m.npz")
    back = load_model(tmp_path / "m.npz")
    np.testing.assert_array_equal(explain(back, NEW).row_numbers, numbers)
    back.support_ = None  # of a file of before
    assert explain(back, NEW).row_numbers is None
    again = explain(back, NEW, X_train=twice).row_numbers
    np.testing.assert_array_equal(twice[again], twice[numbers])
    assert "are shown where the training rows are given" in str(explain(model, NEW[0], X_train=NEW))  # others
    assert not explain(model, NEW, X_train=twice[::-1].copy()).context.training


def test_planes_go_through_the_rows_that_are_named(fitted):
    model, _ = fitted("few, cross")
    found = explain(model, X_train=X, y_train=ONE, n_repeats=1)
    through = [neuron for neuron in found.neurons if neuron.rows]
    assert through
    for neuron in through:
        inside = X @ neuron.direction + neuron.offset
        assert np.abs(inside[neuron.rows]).max() < 1e-9 * np.abs(inside).max()
        assert (
            abs(neuron.region - np.mean(inside >= 0)) <= len(neuron.rows) / N
        )  # those on the plane are on either side
    assert sum(neuron.variance for neuron in found.neurons) == pytest.approx(1.0)
    parts = explain(model, X).neurons[:, 0]
    sizes = dict(zip(explain(model, X).neuron_numbers.tolist(), np.abs(parts).mean(axis=0), strict=True))
    for neuron in found.neurons:
        assert neuron.size == pytest.approx(sizes[neuron.number], rel=1e-12)
    assert all("x" in neuron.plane for neuron in found.neurons)


def test_influence_is_the_mean_share_of_rows(fitted):
    for name in ("infinite, two classes", "gated, several"):
        model, y = fitted(name)
        parts = explain(model, X, X_train=X)
        mean = np.sqrt((parts.rows**2).sum(axis=1)).mean(axis=0)
        found = explain(model, X_train=X, y_train=y, n_repeats=0).rows
        shares = {row.number: row.share for row in found}
        expected = dict(zip(parts.row_numbers.tolist(), mean / mean.sum(), strict=True))
        assert shares == pytest.approx(expected, abs=1e-12)
        assert [row.share for row in found] == sorted(shares.values(), reverse=True)


def test_gradients_and_directions_point_at_the_column_that_matters():
    rows = np.random.default_rng(1).uniform(-1, 1, (100, 4))
    model = ConvexNetworkRegressor(max_metric_iter=1).fit(rows, np.abs(rows[:, 2] - 0.2))
    found = explain(model, X_train=rows, y_train=np.abs(rows[:, 2] - 0.2), n_repeats=2)
    assert found.columns[0].name == "x2"
    assert found.columns[0].share > 0.8
    assert found.columns[0].permuted > 10 * max(abs(one.permuted) for one in found.columns[1:])
    h = 1e-6
    step = np.array([0, 0, h, 0])
    apart = np.abs(model.predict(rows + step) - model.predict(rows - step)) / (2 * h)
    assert found.columns[0].gradient == pytest.approx(apart.mean() * rows[:, 2].std(), rel=2e-3)  # kinks at rows
    assert np.abs(found.directions[0].weights).argmax() == 2
    assert re.search(r"Directions of the learned metric.*\n  \d+ % of the squared gradient along \S+ x2", str(found))


@pytest.fixture(scope="module")
def table():
    pd = pytest.importorskip("pandas")
    local = np.random.default_rng(2)
    frame = pd.DataFrame({"age": local.integers(20, 70, 60), "city": local.choice(["Oslo", "Rome", "Lima"], 60)})
    frame["income"] = np.exp(local.normal(8, 0.5, 60)).round()
    y = np.where((frame.income > 3000) ^ (frame.city == "Rome"), "buys", "leaves")
    numbers = make_pipeline(SimpleImputer(), StandardScaler()), ["income", "age"]
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["city"]), numbers)
    return frame, y, make_pipeline(encoder, ConvexNetworkClassifier(max_metric_iter=0)).fit(frame, y)


def test_columns_of_a_table_through_encoders(table):
    frame, y, model = table
    found = explain(model, frame, X_train=frame, y_train=y)
    assert found.column_names == ["age", "city", "income"]
    inner, encoded = model[-1], model[:-1].transform(frame)
    bare = explain(inner, encoded, X_train=encoded)
    np.testing.assert_array_equal(found.columns[:, 0, 1], bare.columns[:, 0, :3].sum(axis=1))
    np.testing.assert_array_equal(found.columns[:, 0, 2], bare.columns[:, 0, 3])
    assert found.values[4] == [str(frame.age[4]), frame.city[4], str(int(frame.income[4]))]
    text = str(found[4])
    assert f"city {frame.city[4]}" in text
    assert "which is buys: " in text
    top = int(frame.income.argmax())
    assert f"income {int(frame.income[top])} (unusually high)" in str(found[top])
    series, named = explain(model, frame.iloc[4]), explain(model, frame.iloc[4].to_dict())
    np.testing.assert_allclose(series.outputs, found.outputs[4:5], rtol=1e-12)
    np.testing.assert_allclose(named.columns, found.columns[4:5], rtol=1e-9)


def test_permutations_are_scikit_learns_on_the_table(table):
    frame, y, model = table
    ours = {one.name: one for one in explain(model, X_train=frame, y_train=y, n_repeats=3, random_state=4).columns}
    theirs = permutation_importance(model, frame, y, scoring="neg_log_loss", n_repeats=3, random_state=4)
    for j, name in enumerate(frame.columns):
        assert ours[name].permuted == pytest.approx(theirs.importances_mean[j], abs=1e-12)
        assert ours[name].permuted_error == pytest.approx(theirs.importances_std[j], abs=1e-12)


def test_linear_steps_are_followed_back_to_the_units_of_the_table(fitted):
    inner = ConvexNetworkRegressor(max_metric_iter=0)
    model = make_pipeline(MinMaxScaler(), PCA(2), inner).fit(X, ONE)
    found = explain(model, NEW, X_train=X)
    np.testing.assert_allclose((found.base + found.columns.sum(axis=2))[:, 0], model.predict(NEW), rtol=1e-9)
    slopes = found.slopes[:, 0] / MinMaxScaler().fit(X).data_range_  # of scaled columns to those of the table
    apart = _differences(model.predict, NEW[:6])
    np.testing.assert_allclose(slopes[:6], apart, rtol=0, atol=1e-5 * np.abs(slopes).max())
    unknown = explain(model, NEW)
    np.testing.assert_allclose((unknown.base + unknown.columns.sum(axis=2))[:, 0], model.predict(NEW), rtol=1e-9)


@pytest.mark.parametrize(
    "steps",
    [
        [PolynomialFeatures(2, include_bias=False), StandardScaler()],
        [MinMaxScaler(clip=True), NMF(2, max_iter=2000, tol=1e-3)],  # looks linear, and is tried
    ],
)
def test_steps_that_mix_columns_otherwise_are_said(steps):
    model = make_pipeline(*steps, ConvexNetworkRegressor(max_metric_iter=0)).fit(X, ONE)
    found = explain(model, NEW, X_train=X)
    mixing = next(step for step in steps if not isinstance(step, MinMaxScaler))
    assert f"Columns are those that the network sees: {type(mixing).__name__}" in str(found[0])
    assert found.column_names[:4] == (["nmf0", "nmf1"] if len(found.column_names) == 2 else ["x0", "x1", "x2", "x0^2"])
    np.testing.assert_allclose((found.base + found.columns.sum(axis=2))[:, 0], model.predict(NEW), rtol=1e-9)


def _moved(step, rows, j):
    """Which columns change where column j of the rows does."""
    other = rows.copy()
    other[:, j] = np.roll(rows[:, j], 1)
    one, two = (step.transform(r) for r in (rows, other))
    one, two = (r.toarray() if hasattr(r, "toarray") else r for r in (one, two))
    return np.flatnonzero((one != two).any(axis=0))


@pytest.mark.parametrize(
    "step",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first"),
        OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(drop="if_binary"),
        make_column_transformer((OneHotEncoder(), [2, 0]), ("drop", [1])),
        make_column_transformer((StandardScaler(), slice(1, 3)), remainder="passthrough"),
        make_column_transformer((KBinsDiscretizer(2, strategy="uniform"), [0]), (StandardScaler(), [2])),
        make_column_transformer((StandardScaler(), np.array([True, False, True])), (MinMaxScaler(), [1])),
        FunctionTransformer(np.sqrt),
        make_pipeline(StandardScaler(), OneHotEncoder(max_categories=3)),
    ],
    ids=str,
)
def test_origins_are_the_columns_that_move_what_comes_out(step):
    rows = np.random.default_rng(0).choice([0.0, 1.0, 2.0, 5.0], (40, 3), p=[0.5, 0.3, 0.15, 0.05])
    rows[:, 1] = rows[:, 1] > 1
    step.fit(rows)
    found = column_effect(step, ["a", "b", "c"]).columns.places
    for j in range(3):
        assert _moved(step, rows, j).tolist() == np.flatnonzero(found == j).tolist()


def test_what_is_not_made_of_one_column_has_no_origin():
    assert column_effect(PCA(2).fit(X), ["a", "b", "c"]).columns is None
    mixed = make_column_transformer((PCA(1), [0, 1]), (StandardScaler(), [2])).fit(X)
    assert column_effect(mixed, ["a", "b", "c"]).columns is None


def test_words_for_classes_and_calibration(fitted):
    model, y = fitted("infinite, two classes")
    text = str(explain(model, NEW[0], X_train=X, y_train=y))
    assert text.startswith(f"Prediction: {str(model.predict(NEW[:1])[0])!r}; probabilities ")
    p = model.predict_proba(NEW[:1])[0]
    assert all(f"{str(label)!r} {share:.2f}" in text for label, share in zip(model.classes_, p, strict=True))
    assert "Probabilities are calibrated on outputs for held-out rows" in text
    assert text.count("together, the output") == 1
    thirds = fitted("infinite, three classes")[0]
    several = explain(thirds, NEW)
    assert "… and 3 more" in str(several)
    assert several[1].output_names[several[1].output_of(0)] == str(several.predictions[1])
    assert "Output of the network for '2'" in str(explain(thirds, NEW[1], output=2))
    number = str(explain(fitted("few, cross")[0], NEW[0], X_train=X))
    assert number.startswith("Prediction: ")
    assert "plane through row" in number
    assert "90 % interval: " in number


def test_the_border_of_classes_is_where_odds_are_even(fitted):
    model = copy.copy(fitted("infinite, two classes")[0])
    assert "'no' below 0 and 'yes' above" in str(explain(model, NEW[0]))
    model.calibration_ = replace(model.calibration_, offsets=np.array([0.2, -0.2]))
    text = str(explain(model, NEW[0]))
    border = float(text.split(" below ")[1].split(" and ")[0])
    variance = model._variance_at(NEW[:1])
    near = [model.calibration_.probabilities([[border + off]], variance)[0, 1] for off in (-0.002, 0.002)]
    assert near[0] < 0.5 < near[1]
    assert "where the predictive variance is large" in text
    model.calibration_ = replace(model.calibration_, share=0.0)
    assert "predictive variance" not in str(explain(model, NEW[0]))


def test_numbers_of_the_text_add_up(fitted):
    """Those of the columns and of the rows, to their digits, and each says for whom it speaks."""
    model, y = fitted("infinite, two classes")
    one = explain(model, NEW[0], X_train=X, y_train=y)
    _, columns, rows = str(one).split("\n\n")
    lines = columns.splitlines()[1:]
    amounts = [float(re.findall(r"  ([+-]?[\d.]+)(?:  |$)", line)[0]) for line in lines]
    assert sum(amounts[:-1]) == pytest.approx(amounts[-1], abs=0.02)
    assert amounts[-1] == pytest.approx(one.outputs[0, 0], abs=0.01)
    for line, amount in zip(lines[:-2], amounts[:-2], strict=True):
        assert f"towards {'yes' if amount > 0 else 'no'!r}" in line
    amounts = [float(re.match(r"  ([+-]?[\d.]+)  ", line)[1]) for line in rows.splitlines()[1:]]
    intercept = float(re.search(r"; ([+-][\d.]+) the intercept", rows)[1])
    assert sum(amounts) + intercept == pytest.approx(one.outputs[0, 0], abs=0.1)
    named = re.findall(r"  ([+-][\d.]+)  towards '\w+': row (\d+)( \(less similar\))?", rows)
    assert len(named) == 8
    for amount, number, less in named:
        weight = one.row_weights[one.row_numbers.tolist().index(int(number)), 0]
        assert bool(less) == (float(amount) * weight < 0)


def test_planes_are_written_in_units_of_the_columns():
    gates = np.array([[2.0, 0.0, 0.0], [1.0, -4.0, 0.0], [0.0, 0.0, 0.0]]).T, np.array([-10.0, 20.0, 1.0])
    rows = X + np.array([5.0, 0.0, 0.0])
    model = GatedReLURegressor(gates=gates, beta=1e-4, linear=False).fit(rows, ONE)
    planes = {neuron.number: neuron.plane for neuron in explain(model, X_train=rows).neurons}
    assert planes[0] == "active where x0 ≥ 5"
    assert planes[1] == "active where -x1 + 0.25·x0 ≥ -5"
    assert planes[2] == "active everywhere"


def test_columns_that_are_drawn_in(fitted):
    """With bounded columns contributions are of chords, and still add up."""
    model = copy.copy(fitted("infinite, numbers")[0])
    standard = model.network_.standard
    model.network_ = replace(model.network_, standard=standard._replace(bound=1.5))
    found, f = explain(model, NEW), model.network_.predict(NEW)
    assert np.abs(found.base + found.columns.sum(axis=2) - f).max() < 1e-11
    assert "outliers are clipped" in str(found[0])
    np.testing.assert_allclose(found.slopes[:6], _differences(model.predict, NEW[:6]), rtol=0, atol=1e-6)


def test_several_labels_a_row():
    marks = np.column_stack([Z[:, 0] > 0, Z[:, 1] > 0.5, Z[:, 2] * Z[:, 0] > 0]).astype(int)
    model = ConvexNetworkClassifier(max_metric_iter=0, beta=0.01).fit(X, marks)
    found, f = explain(model, NEW, X_train=X, y_train=marks), model.network_.predict(NEW)
    np.testing.assert_allclose(found.base + found.columns.sum(axis=2), f, rtol=0, atol=1e-11)
    text = str(found[0])
    there = ", ".join(f"label {k}" for k in np.flatnonzero(model.predict(NEW[:1])[0])) or "no label"
    assert text.startswith(f"Prediction: {there}\n")
    assert f"towards label {model.predict_proba(NEW[:1])[0].argmax()}" in text
    assert "an output for each" in str(explain(model, X_train=X, y_train=marks, n_repeats=1))
    assert len(found.to_dict()[0]["outputs"]) == 3


def test_values_for_machines(fitted):
    for name in ("infinite, three classes", "gated, several", "lasso"):
        model, y = fitted(name)
        told = json.loads(json.dumps(explain(model, NEW, X_train=X, y_train=y).to_dict(top=3), allow_nan=False))
        f = _outputs(model, NEW)
        assert len(told) == len(NEW)
        for one, row in zip(told, f, strict=True):
            for c, output in enumerate(one["outputs"]):
                assert output["base"] + sum(output["columns"].values()) == pytest.approx(row[c], rel=1e-9)
                assert len(output["training_rows"]) == 3
        whole = json.loads(
            json.dumps(explain(model, X_train=X, y_train=y, n_repeats=1).to_dict(top=2), allow_nan=False)
        )
        assert len(whole["training_rows"]) == 2
        assert {column["name"] for column in whole["columns"]} == {"x0", "x1", "x2"}


def test_searches_are_explained_as_what_they_found():
    search = BetaCV(GatedReLURegressor(n_gates=5, random_state=0), n_betas=3, cv=2).fit(X, ONE)
    found = explain(search, NEW, X_train=X)
    np.testing.assert_allclose(found.outputs[:, 0], search.predict(NEW), rtol=1e-12)
    assert explain(search, X_train=X, y_train=ONE, n_repeats=1).columns[0].permuted is not None


def test_pictures_show_the_numbers(fitted):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    model, y = fitted("infinite, two classes")
    one = explain(model, NEW[0], X_train=X, y_train=y)
    ax = Figure().subplots()
    assert one.plot(ax, top=2) is ax
    widths = [bar.get_width() for bar in ax.patches]
    assert len(widths) == 5
    assert sum(widths[:-1]) == pytest.approx(widths[-1])
    assert widths[-1] == pytest.approx(one.outputs[0, 0])
    whole = explain(model, X_train=X, y_train=y, n_repeats=2)
    ax = whole.plot(Figure().subplots())
    assert [bar.get_width() for bar in ax.patches] == [column.permuted for column in whole.columns]
    with pytest.raises(ArgumentError, match=r"must be that of one row\. Got 8 rows"):
        explain(model, NEW).plot()


REFUSED = {
    "must be an estimator of this library": lambda model, y: explain(StandardScaler().fit(X)),
    r"'X' parameter of explain must be rows of 3 columns. Got shape \(2,\)": lambda model, y: explain(
        model, [1.0, 2.0]
    ),
    "'output' parameter of explain": lambda model, y: explain(model, NEW, output=1),
    "'y_train' parameter of explain must be given with X_train": lambda model, y: explain(model, y_train=y),
    r"must be one target .* Got 3 targets for 40 rows": lambda model, y: explain(model, X_train=X, y_train=y[:3]),
    "one row or more": lambda model, y: explain(model, NEW[:0]),
    "'X' parameter of explain .* features": lambda model, y: explain(model, NEW[:, :2]),
    "'X_train' parameter of explain must be without NaN": lambda model, y: explain(model, X_train=X * np.nan),
    "'y_train' parameter of explain must be": lambda model, y: explain(model, X_train=X, y_train=ONE * np.nan),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_explained_is_refused(fitted, message):
    with pytest.raises(ArgumentError, match=message):
        REFUSED[message](*fitted("infinite, two classes"))


@pytest.mark.parametrize("bias", [0.0, 0.7])
@pytest.mark.parametrize("frame", [False, True])
def test_slopes_of_every_kernel(bias, frame):
    local = np.random.default_rng(5)
    F = local.standard_normal((D, 2)) if frame else None
    kernel = GateKernel(bias, F)
    rows, alpha, at = local.standard_normal((9, D)), local.standard_normal((9, 2)), local.standard_normal((4, D))
    found = kernel_slopes(kernel, rows, alpha, at)
    f = kernel(at, rows) @ alpha
    np.testing.assert_allclose(np.einsum("mcd,md->mc", found.columns, at) + found.constant, f, rtol=0, atol=1e-12)
    apart = _differences(lambda x: kernel(x, rows) @ alpha, at)
    np.testing.assert_allclose(found.columns, apart, rtol=0, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("shown", [pytest.param(0.5, marks=pytest.mark.slow), 0.02])
def test_networks_that_know_rows_by_their_products(shown):
    local = np.random.default_rng(0)
    rows = local.standard_normal((34, 4200)) * (local.uniform(size=(34, 4200)) < shown)
    model = ConvexNetworkRegressor(max_metric_iter=0, beta=0.01).fit(csr_array(rows), rows[:, :30].sum(axis=1))
    assert isinstance(model.network_.standard, RowSpan)
    new = local.standard_normal((3, 4200)) * (local.uniform(size=(3, 4200)) < shown)
    new = np.vstack([new, rows[:1]])
    found = explain(model, csr_array(new))
    f = model.predict(new)
    np.testing.assert_allclose((found.base + found.columns.sum(axis=2))[:, 0], f, rtol=0, atol=1e-10)
    np.testing.assert_allclose((found.rows.sum(axis=2) + found.rest)[:, 0] + found.intercept, f, rtol=0, atol=1e-10)
    for k in np.abs(found.slopes[0, 0]).argsort()[-3:]:
        step = 1e-5 * (np.arange(4200) == k)
        apart = (model.predict(new[:3] + step) - model.predict(new[:3] - step)) / 2e-5
        np.testing.assert_allclose(found.slopes[:3, 0, k], apart, rtol=1e-4)
    assert len(explain(model).columns) == 4200


def test_columns_of_texts_are_words():
    local = np.random.default_rng(0)
    words = np.array(["good", "fine", "nice", "bad", "poor", "sad", "the", "a", "film", "was", "very", "so"])
    texts = [" ".join(local.choice(words, 8)) for _ in range(60)]
    y = [sum(text.count(w) for w in words[:3]) > sum(text.count(w) for w in words[3:6]) for text in texts]
    model = make_pipeline(TfidfVectorizer(), ConvexNetworkClassifier(max_metric_iter=0, beta=0.01)).fit(texts, y)
    found = explain(model, "the film was good", X_train=texts, y_train=np.array(y))
    assert found.context.training
    by_word = dict(zip(found.column_names, found.slopes[0, 0], strict=True))
    assert min(by_word["good"], by_word["nice"]) > 0 > max(by_word["bad"], by_word["sad"])
    assert "good 0." in str(found)
    whole = explain(model, X_train=texts, y_train=np.array(y), n_repeats=1)
    assert {one.name for one in whole.columns[:4]} <= set(words[:6])


def test_words_are_in_units_of_the_table_behind_scalers(table):
    """Of a scaled column one more is one more of the table's, and planes are where the table's entries are."""
    frame, _, model = table
    one = frame.iloc[[4]].astype({"income": float})
    one["income"] += 0.3  # beside the training row, where both the kernel and the scores have a kink
    net = model[-1].network_
    up, down = (net.predict(model[:-1].transform(one.assign(income=one.income + h))) for h in (0.01, -0.01))
    said = float(re.search(r"income .* ([+-][\de.-]+) per unit", str(explain(model, one, X_train=frame)))[1])
    assert said == pytest.approx((up - down).item() / 0.02, rel=0.02)
    relu = make_pipeline(StandardScaler(), clone(MODELS["relu"][0])).fit(X, ONE)
    for neuron in explain(relu, X_train=X).neurons:
        left, border = neuron.plane.removeprefix("active where ").split(" ≥ ")
        on = eval(left.replace("·", "*"), {f"x{j}": X[:, j] for j in range(D)}) >= float(border)
        inside = relu[0].transform(X) @ relu[-1].network_.W1[neuron.number] + relu[-1].network_.b1[neuron.number]
        clear = np.abs(inside) > 0.05 * np.abs(inside).max()  # numbers have few digits
        assert clear.sum() > 30
        np.testing.assert_array_equal(on[clear], inside[clear] >= 0)
    mixed = make_column_transformer(
        (QuantileTransformer(n_quantiles=9), [0]), (MinMaxScaler(), [1, 2]), verbose_feature_names_out=False
    )
    gates = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).T, np.array([-0.5, -0.5])
    gated = make_pipeline(mixed, GatedReLURegressor(gates=gates, beta=1e-4, linear=False)).fit(X, ONE)
    found = explain(gated, NEW[0], X_train=X)
    planes = {neuron.number: neuron.plane for neuron in explain(gated, X_train=X).neurons}
    assert planes == {
        0: "active where x0 (transformed) ≥ 0.5",
        1: f"active where x1 ≥ {np.ptp(X[:, 1]) / 2 + X[:, 1].min():.4g}",
    }
    assert len(re.findall("per unit", str(found))) <= 2
    assert not re.search("x0 .*per unit", str(found))
    assert "at a row that the network sees as zeros alone" in str(explain(gated))


def test_shares_of_rows_that_cancel_are_said(fitted):
    for name, cancel in (("gated", True), ("lasso", False), ("infinite, two classes", False)):
        found = explain(fitted(name)[0], NEW[1], X_train=X)
        if found.neurons is not None:
            assert (np.abs(found.rows).sum() > 20 * np.abs(found.neurons).sum()) == cancel
        assert ("and cancel." in str(found)) == cancel


def test_jumps_of_gated_networks_are_said(fitted):
    for name in ("gated", "relu", "infinite, numbers"):
        model = fitted(name)[0]
        for text in (str(explain(model, NEW[0])), str(explain(model))):
            assert ("A gated network also jumps where a row crosses a plane" in text) == (name == "gated")
    assert "jumps" in explain(fitted("gated")[0], NEW[0]).to_dict()[0]["note"]
