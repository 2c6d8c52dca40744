"""beta="auto": the choice is that of plain fits on the same rows, of no seed, no order and no copies, within limits."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import clifford_rand_nn as nn
from clifford_rand import ArgumentError
from clifford_rand_nn.displays.selection import choices
from clifford_rand_nn.estimators import held_out
from clifford_rand_nn.estimators.held_out import BetaScore, best_score, folds
from support.clock import within

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 3))
Y = np.abs(X[:, 0]) - X[:, 1] + 0.3 * RNG.standard_normal(90)
LABELS = np.digitize(Y, [-0.5, 0.5])
GATES = nn.sample_gates(X, 10, random_state=1)
REGRESSORS = {
    "gated": nn.GatedReLURegressor(gates=GATES),
    "ridge": nn.GatedReLURegressor(gates=GATES, penalty="ridge"),
    "huber": nn.GatedReLURegressor(gates=GATES, loss="huber", huber_delta=0.5),
    "relu": nn.ConvexReLURegressor(gates=GATES, random_state=0),
    "lasso": nn.CrossProductLassoRegressor(subsample=60, random_state=0),
}


def test_time_holds_while_columns_are_made_and_folds_begin(monkeypatch):
    judged, model = [], nn.CrossProductLassoRegressor(subsample=60, random_state=0, max_time=1e-9)
    plain = nn.CrossProductLassoRegressor._judged
    monkeypatch.setattr(nn.CrossProductLassoRegressor, "_judged", lambda *args: judged.append(1) or plain(*args))
    with pytest.warns(ConvergenceWarning, match="try a larger max_time"):
        model.fit(X, Y)
    assert len(judged) == len(model.candidates_) == 0
    assert model.dictionary_.notes == ("1 of 60 subsets: more would take longer than max_time",)
    assert model.certificate_.scope == "over 2 columns of the dictionary and 6 of linear models"
    judged.clear()
    model.set_params(max_time=1e3, penalty="l1").fit(X, Y)  # one kind of columns, so one list of candidates
    assert len(judged) == 5 * len(model.candidates_) > 5


@pytest.mark.kept("gated")
@pytest.mark.parametrize("name", REGRESSORS)
def test_the_least_loss_of_held_out_rows_is_chosen(name):
    model = clone(REGRESSORS[name]).fit(X, Y)
    losses = [score.mean_loss for score in model.candidates_]
    betas = [score.beta for score in model.candidates_]
    assert model.beta_ == betas[int(np.argmin(losses))] == model.certificate_.beta
    assert betas == sorted(betas, reverse=True)
    assert betas[0] < clone(model).beta_max(X, Y)
    assert model.certificate_.verify(X, Y).relative_gap <= 2e-6
    place = folds(X, Y[:, None], classes=False)
    if name == "lasso":  # its columns are drawn for the rows
        return
    i = len(betas) // 2
    found = []
    for k in range(5):
        alone = clone(REGRESSORS["gated" if name == "relu" else name])  # at four times beta, as its docstring says
        alone.set_params(beta=betas[i] * (4 if name == "relu" else 1)).fit(X[place != k], Y[place != k])
        r = np.abs(alone.predict(X[place == k]) - Y[place == k])
        found += list(np.where(r <= 0.5, 0.5 * r**2, 0.5 * r - 0.125) if name == "huber" else 0.5 * r**2)
    assert losses[i] == pytest.approx(np.mean(found), rel=0.02)
    assert model.candidates_[i].loss_std_error == pytest.approx(np.std(found) / np.sqrt(90), rel=0.05)


@pytest.mark.parametrize(
    "kind",
    [
        nn.GatedReLUClassifier,
        pytest.param(nn.ConvexReLUClassifier, marks=pytest.mark.slow),
        nn.CrossProductLassoClassifier,
    ],
)
def test_neither_order_nor_copies_nor_a_seed_choose(kind):
    options = {"subsample": 20} if kind is nn.CrossProductLassoClassifier else {"n_gates": 3}
    rows, labels = X[:36], LABELS[:36] > 0
    new = lambda: kind(random_state=0, **options)  # noqa: E731
    w = RNG.integers(1, 3, 36)
    order = RNG.permutation(np.repeat(np.arange(36), w))
    # convex ReLU takes beta from a linear model that is solved to a gap of 1e-12, so to 1e-6 of its coefficients
    near = 1e-6 if kind is nn.ConvexReLUClassifier else 1e-9
    weighted, copied = new().fit(rows, labels, w), new().fit(rows[order], labels[order])
    assert copied.beta_ == pytest.approx(weighted.beta_, rel=near)
    losses = [[score.mean_loss for score in model.candidates_] for model in (copied, weighted)]
    np.testing.assert_allclose(*losses, rtol=1e-3)


@pytest.mark.slow
def test_a_choice_needs_no_seed():
    given = [nn.GatedReLURegressor(gates=GATES, random_state=seed).fit(X, Y) for seed in (1, np.random.default_rng(2))]
    assert len({model.beta_ for model in given}) == 1


def test_folds_are_fifths_of_every_class_and_of_a_sorted_target():
    for classes, targets in ((True, np.eye(3)[LABELS]), (False, Y[:, None])):
        place = folds(X, targets, classes)
        assert set(place) == set(range(5))
        for k in range(5):
            share = targets[place == k].mean(axis=0)
            np.testing.assert_allclose(share, targets.mean(axis=0), atol=0.06)
    rare = np.where(np.arange(90) == 7, 1.0, -1.0)[:, None]
    assert folds(X, rare, True)[7] == -1
    pairs = folds(X[[0, 0, 1, 1]], np.array([[1.0], [1.0], [-1.0], [-1.0]]), True)
    assert pairs.tolist() == [-1, -1, -1, -1]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_tiny_sets(n):
    model = nn.GatedReLURegressor(n_gates=4, random_state=0).fit(X[:n], Y[:n])
    assert model.beta_ > 0
    labels = np.arange(n + 1) % 2
    for kind in (nn.GatedReLUClassifier, nn.CrossProductLassoClassifier):
        assert kind(random_state=0).fit(X[: n + 1], labels).beta_ > 0


def test_limits_hold_for_the_choice_too():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((1500, 20))
    y = np.sign(rows[:, 0] * rows[:, 1])
    with within(30.0), warnings.catch_warnings():  # an iteration that has begun is finished; without the limit, minutes
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = nn.GatedReLUClassifier(n_gates=80, max_time=0.2, tol=1e-9, random_state=0).fit(rows, y)
    # beside other programs the time may be over before any beta is compared
    assert 0 < model.beta_ <= max((score.beta for score in model.candidates_), default=np.inf)


@pytest.mark.parametrize("kind", [nn.GatedReLURegressor, nn.CrossProductLassoRegressor])
def test_time_that_ends_while_the_loss_falls_takes_a_smaller_beta_and_says_so(kind, monkeypatch):
    """The first betas give a constant network, which was returned with a gap of 0 and without a word."""
    scores = held_out._scores
    cut = lambda model, task, held, betas, *rest: scores(model, task, held, betas[:1], *rest)  # noqa: E731
    monkeypatch.setattr(held_out, "_scores", cut)
    model = kind(random_state=0, penalty="group_l2" if kind is nn.GatedReLURegressor else "l1")
    with pytest.warns(ConvergenceWarning, match="max_time ended the selection of beta after 1 of"):
        model.fit(X, Y)
    assert model.beta_ < 0.1 * model.candidates_[0].beta
    assert np.ptp(model.predict(X)) > 0.1
    assert choices(model)[0].method.startswith("max_time, which ended the comparison")


def test_an_interrupt_of_the_choice_is_one(monkeypatch):
    train, calls = nn.GatedReLURegressor._train, []

    def pressed(self, *arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        train(self, *arguments)

    monkeypatch.setattr(nn.GatedReLURegressor, "_train", pressed)
    with pytest.raises(KeyboardInterrupt):
        nn.GatedReLURegressor(gates=GATES).fit(X, Y)


def test_noise_is_not_learned():
    """Labels that no column says anything of: the chosen network predicts next to nothing. One fixed seed of ten."""
    rng = np.random.default_rng(4)
    noise = rng.standard_normal(90)
    for model in (nn.GatedReLURegressor(random_state=0), nn.CrossProductLassoRegressor(subsample=100, random_state=0)):
        assert model.fit(X, noise).score(X, noise) < 0.5


@pytest.mark.slow
def test_units_do_not_matter():
    for kind, unit in (
        (nn.GatedReLURegressor(n_gates=3, random_state=0), 2.0**20),
        (nn.CrossProductLassoRegressor(subsample=12, penalty="l1", random_state=0), 2.0**20),
        (nn.CrossProductLassoRegressor(subsample=12, random_state=0), 2.0**-60),  # of standardized rows
    ):
        plain = clone(kind).fit(X, Y)
        far = clone(kind).fit(X * 2.0**80, Y * 2.0**-60)
        np.testing.assert_array_equal(far.predict(X * 2.0**80), plain.predict(X) * 2.0**-60)
        assert far.beta_ == plain.beta_ * unit
        for there, here in zip(far.candidates_, plain.candidates_, strict=True):
            assert there.beta == here.beta * unit
            assert there.mean_loss == here.mean_loss * 2.0**-120
        assert far.certificate_.verify(X * 2.0**80, Y * 2.0**-60).relative_gap <= 2e-6


@pytest.mark.slow
def test_what_takes_long_is_asked_about_before_it_begins():
    rng = np.random.default_rng(2)
    wide, y = rng.standard_normal((400, 40)), rng.choice([-1, 1], 400)
    three = y * rng.integers(0, 2, 400)
    message = r"'max_time' .* given for 50 patterns on 400 rows of 41 columns"
    for labels in (y, three):
        with within(5.0), pytest.raises(ArgumentError, match=message):
            nn.ConvexReLUClassifier(beta=1e-3, random_state=0).fit(wide, labels)
    model = nn.ConvexReLUClassifier(random_state=0).fit(wide, three)  # beta="auto" takes few patterns: a second
    assert model.certificate_.n_patterns == 6
    assert model.certificate_.relative_gap <= 1e-6


@pytest.mark.slow
def test_a_dictionary_that_is_too_large_is_drawn():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((60, 12))
    y = rows[:, 0] - 2 * rows[:, 3] + 0.1 * rng.standard_normal(60)
    model = nn.CrossProductLassoRegressor(beta=1e-2, random_state=0, tol=1e-3).fit(rows, y)
    assert model.dictionary_.subsample == 1000
    assert "columns of the dictionary" in model.certificate_.scope
    assert model.certificate_.verify(rows, y).relative_gap <= 2e-3
    atoms = model.dictionary_.neurons()
    single = np.count_nonzero(atoms.directions, axis=0) == 1
    assert {int(np.flatnonzero(v)[0]) for v in atoms.directions[:, single].T} >= set(range(12))
    assert model.score(rows, y) > 0.98
    assert nn.CrossProductLassoRegressor(beta=1e-2, random_state=0).fit(X[:40], Y[:40]).dictionary_.subsample is None


def test_a_loss_that_falls_while_labels_become_wrong_is_not_followed():
    scores = [BetaScore(1.0, 0.6, 0.1, 3, 0.10), BetaScore(0.5, 0.4, 0.1, 3, 0.12), BetaScore(0.2, 0.3, 0.1, 3, 0.15)]
    assert [best_score(scores, n).beta for n in (1e6, 50, 8)] == [1.0, 0.5, 0.2]
    perfect = [score._replace(error_rate=wrong) for score, wrong in zip(scores, (0.0, 0.01, 0.03), strict=True)]
    assert [best_score(perfect, n).beta for n in (1e3, 50, 10)] == [1.0, 0.5, 0.2]
    assert best_score([score._replace(error_rate=None) for score in scores], 100).beta == 0.2


@pytest.mark.slow
@pytest.mark.parametrize("labels", [LABELS, LABELS > 0], ids=["three classes", "two"])
def test_the_least_loss_is_chosen_of_those_with_about_the_fewest_wrong_labels(labels):
    model = nn.GatedReLUClassifier(n_gates=3, random_state=0).fit(X, labels)
    fewest = min(score.error_rate for score in model.candidates_)
    most = fewest + 0.5 * np.sqrt(max(fewest * (1 - fewest), 1 / len(X)) / len(X))
    assert model.beta_ == min((s for s in model.candidates_ if s.error_rate <= most), key=lambda s: s.mean_loss).beta
    targets = np.eye(3)[LABELS] if labels is LABELS else 2.0 * labels[:, None] - 1
    place = folds(X, targets, classes=True)
    score, missed = model.candidates_[1], 0
    for k in range(5):
        part = clone(model).set_params(beta=score.beta, loss="logistic", linear=True, tol=1e-4)
        said = part.fit(X[place != k], labels[place != k]).predict(X[place == k])
        missed += np.count_nonzero(said != labels[place == k])
    # to a gap of 1e-4 a row may be on the line
    assert score.error_rate == pytest.approx(missed / len(X), abs=2 / len(X))


@pytest.mark.slow
def test_where_beta_is_chosen_the_loss_is_logistic_and_a_linear_model_stands_beside_the_gates():
    rows, labels = X[::2], LABELS[::2]
    model = nn.GatedReLUClassifier(n_gates=3, random_state=0).fit(rows, labels)
    assert model.loss_ == model.certificate_.loss == "logistic"
    assert model.certificate_.scope == "over the 3 sampled patterns and the linear model"
    assert not model.gates_.directions[:, -1].any()
    assert (model.gates_.incident[-1] == -1).all()
    assert (model.gates_.incident[:-1] >= 0).all()
    given = clone(model).set_params(beta=model.beta_, loss="logistic", linear=True).fit(rows, labels)
    np.testing.assert_allclose(given.predict_proba(rows), model.predict_proba(rows), atol=1e-4)
    far = 1e6 * np.random.default_rng(0).standard_normal((20, X.shape[1]))
    assert model.gates_.activations(far)[:, -1].all()
    number = nn.GatedReLUClassifier(n_gates=3, beta=0.01, random_state=0).fit(rows, labels)
    assert (number.loss_, len(number.gates_)) == ("squared", 3)
    assert hasattr(number, "predict_proba")
    ridge = nn.GatedReLUClassifier(n_gates=3, penalty="ridge", random_state=0).fit(rows, labels)
    assert (ridge.loss_, len(ridge.gates_)) == ("logistic", 3)


def test_a_loss_that_takes_long_is_not_taken_by_itself(monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.estimators.gated._LONG", 0.0)
    model = nn.GatedReLUClassifier(n_gates=6, random_state=0).fit(X, LABELS)
    assert model.loss_ == model.certificate_.loss == "squared"
    assert hasattr(model, "predict_proba")


def test_infinitely_many_gates_are_counted_as_such():
    model = nn.GatedReLURegressor(gates="infinite", penalty="ridge").fit(X[:30], Y[:30])
    assert {score.n_neurons for score in model.candidates_} == {np.inf}
