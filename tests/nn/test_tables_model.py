"""From a data frame with a target to a fitted pipeline."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor
from clifford_rand_nn.tables import TableEncoder, TableNote, choose_task, table_model, training_rows

pd = pytest.importorskip("pandas")
N = 48


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "income": np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N)),
            "city": rng.choice(["Oslo", "Bergen", "Bodø"], N),
            "weight": rng.integers(1, 4, N),
            "house": rng.integers(0, 12, N),
        }
    )
    frame["buys"] = np.where((frame["age"] > 50) == (frame["city"] == "Oslo"), "yes", "no")
    return frame


def test_the_default_is_the_network_for_the_target(frame):
    features = frame[["age", "city", "income"]]
    pipeline = table_model(frame[["age", "income", "city", "buys"]], "buys")
    assert [name for name, _ in pipeline.steps] == ["table", "model"]
    assert isinstance(pipeline["model"], ConvexNetworkClassifier)
    assert pipeline.score(features, frame["buys"]) > 0.9
    assert isinstance(table_model(frame.head(12), "age", leave_out=["city"])["model"], ConvexNetworkRegressor)


def test_two_lines_by_hand_are_the_same(frame):
    features = frame.drop(columns="buys")
    by_hand = make_pipeline(TableEncoder(), LogisticRegression()).fit(features, frame["buys"])
    pipeline = table_model(frame, "buys", model=LogisticRegression())
    np.testing.assert_array_equal(by_hand.predict_proba(features), pipeline.predict_proba(features))


def test_weights_and_groups_are_columns_or_arrays_and_no_features(frame):
    model = Ridge()
    named = table_model(frame, "age", model=model, sample_weight="weight")
    assert "weight" not in named["table"].feature_names_in_
    given = table_model(frame.drop(columns="weight"), "age", model=Ridge(), sample_weight=frame["weight"].to_numpy())
    np.testing.assert_array_equal(named["model"].coef_, given["model"].coef_)
    assert not np.allclose(
        table_model(frame.drop(columns="weight"), "age", model=Ridge())["model"].coef_, given[1].coef_
    )
    rows = training_rows(frame, "buys", weights="weight", groups="house", apart=["income"])
    assert rows.features.columns.tolist() == ["age", "city"]
    assert rows.groups.tolist() == frame["house"].tolist()
    assert rows.weights.tolist() == frame["weight"].tolist()


def test_rows_without_a_target_are_left_out_with_a_word(frame):
    some = frame.assign(buys=[None, *frame["buys"][1:]])
    with pytest.warns(TableNote, match="the target is missing in 1 of 48 rows; they are left out"):
        pipeline = table_model(some, "buys", model=LogisticRegression(), sample_weight="weight")
    whole = table_model(frame.iloc[1:], "buys", model=LogisticRegression(), sample_weight="weight")
    np.testing.assert_array_equal(pipeline["model"].coef_, whole["model"].coef_)
    rows = training_rows(some, frame["buys"].to_numpy(), groups=np.arange(N))
    assert (rows.left_out, len(rows.target), len(rows.features.columns)) == (0, N, 6)


FAULTS = {
    "target": ({"target": "buy"}, r"there is no column 'buy'; the columns are .* \(is 'buys' meant\?\)"),
    "weights": ({"target": "buys", "weights": "w"}, "there is no column 'w'"),
    "negative": ({"target": "buys", "weights": "income"}, "the weights 'income' have .* empty or infinite cells"),
    "length": (
        {"target": np.zeros(3)},
        r"The 'target' parameter of table_model must be .* array \(48,\). Got shape \(3,\)",
    ),
    "empty": ({"target": np.full(N, np.nan)}, "the target 'target' has no value at all"),
    "nothing": (
        {"target": "buys", "apart": ["age", "income", "city", "weight", "house"]},
        "there is no feature column",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_named(frame, case):
    given, message = FAULTS[case]
    with pytest.raises(ArgumentError, match=message):
        training_rows(frame, **given)


def test_the_encoder_is_fitted_anew_in_every_fold(frame):
    features = frame.drop(columns="buys").assign(city=["Rome"] + ["Oslo", "Bergen"] * 23 + ["Bern"])
    with pytest.warns(TableNote, match="was not in training"):
        scores = cross_val_score(
            make_pipeline(TableEncoder(min_frequency=1), Ridge()), features, frame["buys"] == "yes", cv=3
        )
    assert np.isfinite(scores).all()


def test_targets_of_money_and_of_digits_are_numbers():
    frame = pd.DataFrame(
        {"x": range(4), "price": ["$1,200", "$950.50", "$3", "$4"], "code": ["007", "010", "007", "010"]}
    )
    assert training_rows(frame, "price").target.tolist() == [1200, 950.5, 3, 4]
    assert training_rows(frame, "code").target.tolist() == [7, 10, 7, 10]


def test_texts_that_are_each_there_once_are_no_classes():
    with pytest.raises(ArgumentError, match="30 different ones in 30 rows, such as 'n0': neither classes nor numbers"):
        choose_task(np.array([f"n{i}" for i in range(30)]))
