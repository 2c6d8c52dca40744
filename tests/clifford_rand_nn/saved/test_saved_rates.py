"""Files of networks with learned rates of boxes: those of older versions, and those that contradict themselves."""

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, load_model, save_model
from support.model_files import contents, write


@pytest.fixture(scope="module")
def classifier():
    X = np.random.default_rng(0).random((300, 8))
    model = ConvexNetworkClassifier(loss="squared").fit(
        X, (np.floor(3 * X[:, 0]) + np.floor(3 * X[:, 1])).astype(int) % 2
    )
    assert model.metric_selection_.rates
    return model


@pytest.mark.parametrize(("stored", "rates"), [(True, 1), (False, 0), (1, 1), (None, 0)])
def test_older_files_say_whether_there_was_a_round(stored, rates, tmp_path, classifier):
    save_model(classifier, tmp_path / "model.npz")
    arrays, meta = contents(tmp_path / "model.npz")
    if stored is None:  # the first files have no entry
        del meta["metric_selection"]["rates"]
    else:
        meta["metric_selection"]["rates"] = stored
    selection = load_model(write(tmp_path / "model.npz", arrays, meta)).metric_selection_
    assert selection.rates == rates
    assert type(selection.rates) is int


@pytest.mark.parametrize(
    ("rates", "why"), [(3, "3 rounds of rates"), (-1, "not an integer ≥ 0"), (1.5, "1.5 is not"), ("1", "'1' is not")]
)
def test_rounds_that_were_not_tried_are_no_selection(rates, why, tmp_path, classifier):
    save_model(classifier, tmp_path / "model.npz")
    arrays, meta = contents(tmp_path / "model.npz")
    meta["metric_selection"]["rates"] = rates
    with pytest.raises(ArgumentError, match=why):
        load_model(write(tmp_path / "model.npz", arrays, meta))


def test_rates_of_another_width_are_no_network(tmp_path, classifier):
    save_model(classifier, tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "short.npz", **arrays | {"kernel_rates": arrays["kernel_rates"][1:]})
    with pytest.raises(ValueError, match="the rates do not fit the rows"):
        load_model(tmp_path / "short.npz")
