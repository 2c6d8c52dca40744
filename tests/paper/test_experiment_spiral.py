"""The spiral: laws between its networks, its path, its films, and the run that writes all of it."""

from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest

from clifford_rand.errors import MissingDependencyError
from clifford_rand_nn import spiral
from clifford_rand_nn.cli.demo_spiral import PAPER_BETA
from examples.paper import spiral as experiment
from examples.paper.plots import animation
from examples.paper.settings import Settings
from examples.paper.spiral_networks import SPIRAL_NETWORKS, between_points, fit_network
from examples.paper.spiral_path import LabelsOf, film_frames, pairs_path, path_rows
from examples.paper.spiral_report import spiral_report
from support.csv_tables import read_rows
from support.refusals import refused

SMALL = (40, 16)  # points, gates
CONVEX = tuple(SPIRAL_NETWORKS)


@pytest.fixture(scope="module")
def fits():
    X, y = spiral(SMALL[0] // 2)
    return {(name, seed): fit_network(name, X, y, SMALL[1], seed) for name in CONVEX for seed in (0, 1)}


# ---------------------------------------------------------------------------------------------------- networks


@pytest.mark.slow
def test_objectives_are_ordered_as_their_families_are(fits):
    slack = 1 + 1e-6  # what each gap leaves
    for seed in (0, 1):
        value = {name: fits[name, seed].proof.objective for name in CONVEX}
        assert value["optimum"] <= slack * value["lasso"] <= slack**2 * value["lasso-sampled"]
        for kind in ("cross", "gaussian"):
            assert value["optimum"] <= slack * value[f"relu-{kind}"]
            assert value[f"gated-{kind}"] <= slack * value[f"relu-{kind}"]  # the same gates, without the cones
        assert value["lasso"] < 0.999 * value["lasso-sampled"]
        assert value["optimum"] < 0.999 * min(value["relu-cross"], value["relu-gaussian-printed"])


@pytest.mark.slow
def test_certificates_hold_on_the_data(fits):
    X, y = spiral(SMALL[0] // 2)
    for fit in fits.values():
        assert fit.proof.relative_gap <= 1e-6
        assert fit.proof.verify(X, y).objective == pytest.approx(fit.proof.objective, rel=1e-6, abs=1e-12)
        assert fit.proof.beta == pytest.approx(PAPER_BETA / (2 * len(X)))


@pytest.mark.slow
def test_gates_are_shared_by_seed_and_differ_between_seeds(fits):
    for kind in ("cross", "gaussian"):
        for seed in (0, 1):
            relu, gated = fits[f"relu-{kind}", seed], fits[f"gated-{kind}", seed]
            assert np.array_equal(relu.model.candidate_gates_.directions, gated.model.gates_.directions)
    for name in CONVEX:
        same = fits[name, 0].proof.objective == fits[name, 1].proof.objective
        assert same != SPIRAL_NETWORKS[name].random


@pytest.mark.slow
def test_what_gaps_are_about(fits):
    assert fits["optimum", 0].over().startswith("all ")
    assert fits["lasso", 0].over() == "1,560 columns"  # both signs of 40·39/2 pairs
    assert fits["relu-cross", 0].over().endswith(" patterns")
    assert fits["gated-cross", 0].over().endswith(" patterns, no cones")


@pytest.mark.slow
def test_the_paper_s_problem():
    X, y = spiral()
    fit = fit_network("lasso", X, y, 200, 0)
    assert 2 * len(X) * fit.proof.objective == pytest.approx(0.80696367, rel=1e-7)  # found by another solver


def test_points_between_lie_on_the_arms():
    X, y = between_points(12)
    train, labels = spiral(12)
    assert len(X) == 2 * 11 * 9
    for x, label in zip(X, y, strict=True):  # the nearest training points are its neighbors on its own arm
        nearest = np.argsort(np.linalg.norm(train - x, axis=1))[0]
        assert labels[nearest] == label
    distances = np.linalg.norm(X[:, None] - train[None], axis=2).min(axis=1)
    assert distances.min() > 0.01
    radius, angle = np.linalg.norm(X, axis=1), np.unwrap(np.arctan2(X[::2, 1], X[::2, 0]))
    np.testing.assert_allclose(radius[::2], (104 - angle * 16 / np.pi) / 104, atol=1e-12)


# ---------------------------------------------------------------------------------------------------- path and films


@pytest.mark.parametrize("subsample", [None, 15])
def test_frames_follow_the_path(subsample):
    X, y = spiral(10)
    path = pairs_path(X, y, 6, subsample=subsample, seed=3)
    rows = path_rows("made", path, X, y)
    objective, neurons = ([row[name] for row in rows] for name in ("objective", "neurons"))
    assert (np.diff(objective) < 0).all()
    assert neurons[0] == 0
    assert neurons[-1] > 5
    steps = np.diff(np.log([row["paper_beta"] for row in rows]))
    np.testing.assert_allclose(steps, steps[0])
    assert rows[-1]["paper_beta"] == pytest.approx(PAPER_BETA)
    for row, network in zip(rows, path.networks, strict=True):
        assert 0 <= row["gap"] <= 1e-6
        f = network.predict(X)
        value = np.mean((f - y) ** 2) / 2 + row["beta"] * network.penalty(2)
        assert row["objective"] == pytest.approx(value)
        assert row["paper_objective"] == pytest.approx(40 * value)
        assert row["train_accuracy"] == np.mean(LabelsOf(network).predict(X) == y)
    assert rows[0]["train_accuracy"] == 0.5
    assert rows[-1]["train_accuracy"] == 1.0


def test_all_pairs_are_never_worse_than_some(tmp_path):
    X, y = spiral(10)
    some = pairs_path(X, y, 5, subsample=15, seed=3)
    every = pairs_path(X, y, 5)
    assert every.beta_max >= some.beta_max
    assert every.objectives[-1] < 0.999 * some.objectives[-1]


@pytest.mark.slow
def test_film_has_a_picture_for_each_beta(tmp_path):
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    X, y = spiral(8)
    path = pairs_path(X, y, 5)
    frames = film_frames("all pairs", path, path_rows("all pairs", path, X, y))
    assert "0 neurons" in frames[0][0]
    film = animation.save_regions_film(tmp_path / "film.any", frames, X, y, kind="gif", resolution=30, dpi=40, fps=5)
    assert film == tmp_path / "film.gif"
    with image.open(film) as pictures:
        assert pictures.n_frames == 5  # the last, which stays, is one with a longer time
        seen = []
        for k in range(5):
            pictures.seek(k)
            seen.append(pictures.convert("RGB").tobytes())
        assert pictures.info["duration"] > 1000
    assert len(set(seen)) == 5


def test_film_shows_the_regions_of_each_model(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    shown = []

    class Writer:
        def saving(self, figure, path, dpi):
            self.figure = figure
            Path(path).write_bytes(b"a film")
            return nullcontext()

        def grab_frame(self):
            ax = self.figure.axes[0]
            shown.append((ax.get_title(), np.asarray(ax.images[0].get_array())))

    @contextmanager
    def made(kind, fps):
        yield Writer(), ".gif"

    monkeypatch.setattr(animation, "_writer", made)
    X, y = spiral(8)
    path = pairs_path(X, y, 4)
    frames = film_frames("all", path, path_rows("all", path, X, y))
    animation.save_regions_film(tmp_path / "film", frames, X, y, resolution=20, fps=4)
    assert [title for title, _ in shown] == [title for title, _ in frames] + [frames[-1][0]] * 6
    image = shown[3][1]
    assert set(np.unique(image)) == {0, 1}
    low, high = X.min(axis=0), X.max(axis=0)
    low, high = low - 0.06 * (high - low), high + 0.06 * (high - low)
    across, up = np.linspace(low[0], high[0], 20), np.linspace(low[1], high[1], 20)
    points = np.array([[a, b] for b in up for a in across])
    assert np.array_equal(image.ravel(), (frames[3][1].predict(points) == 1).astype(int))


@pytest.mark.slow
def test_film_as_mp4(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib.animation import FFMpegWriter

    X, y = spiral(8)
    path = pairs_path(X, y, 3)
    frames = film_frames("all", path, path_rows("all", path, X, y))
    small = {"resolution": 30, "dpi": 40, "fps": 5}
    if FFMpegWriter.isAvailable() or animation.available("imageio_ffmpeg"):
        film = animation.save_regions_film(tmp_path / "film", frames, X, y, **small)
        assert film.suffix == ".mp4"
        assert film.read_bytes()[4:8] == b"ftyp"
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    monkeypatch.setattr(animation, "available", lambda module: False)
    with pytest.raises(MissingDependencyError, match=r"a film as MP4 needs ffmpeg: pip install .imageio-ffmpeg"):
        animation.save_regions_film(tmp_path / "film", frames, X, y, kind="mp4", **small)
    assert animation.save_regions_film(tmp_path / "film", frames, X, y, **small).suffix == ".gif"


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("'frames' .* must be at least one", lambda: animation.save_regions_film("film", [], *spiral(4))),
        (
            "'kind' parameter of save_regions_film must be one of 'auto', 'mp4'",
            lambda: animation.save_regions_film("film", [("", None)], *spiral(4), kind="avi"),
        ),
        ("'name' parameter of fit_network must be one of 'optimum', ", lambda: fit_network("sgd", *spiral(4), 5, 0)),
        ("'methods' .* one of 'optimum', ", lambda: experiment.run(Settings(Path(), methods=("sgd",)))),
    ]
    + [
        ("'sizes' .* one even number", lambda sizes=sizes: experiment.run(Settings(Path(), sizes=sizes)))
        for sizes in ((5,), (2,), (210,), (20, 40))
    ],
)
def test_what_is_refused_writes_nothing(tmp_path, monkeypatch, message, call):
    monkeypatch.chdir(tmp_path)
    refused(message, call)
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------------- run


def small_run(out, seeds=2, methods=CONVEX, **settings):
    said = []
    settings = Settings(out, seeds=seeds, sizes=(SMALL[0],), methods=methods, say=said.append, **settings)
    return experiment.run(settings, n_gates=SMALL[1], n_frames=3, resolution=40), said


@pytest.mark.slow
def test_run_writes_tables_pictures_and_films(tmp_path, fits):
    pytest.importorskip("matplotlib")
    written, said = small_run(tmp_path)
    names = {path.stem if path.suffix in (".mp4", ".gif") else path.name for path in written}
    endings = (".csv", ".md", ".png", ".txt", "_path.csv", "_path_all", "_path_sampled")
    assert names == {f"spiral{ending}" for ending in endings}
    assert all(path.stat().st_size > 200 for path in written)
    rows = read_rows(tmp_path / "spiral.csv")
    random = [name for name in CONVEX if SPIRAL_NETWORKS[name].random]
    assert len(rows) == len(CONVEX) + len(random)
    X, y = spiral(SMALL[0] // 2)
    between, labels = between_points(SMALL[0] // 2)
    best = float(rows[0]["objective"])
    for row in rows:
        fit = fits[row["method"], int(row["seed"] or 0)]
        assert float(row["objective"]) == pytest.approx(fit.proof.objective, rel=1e-6, abs=1e-12)
        assert float(row["paper_objective"]) == pytest.approx(2 * len(X) * float(row["objective"]))
        assert float(row["train_accuracy"]) == np.mean(fit.model.predict(X) == y)
        assert float(row["between_accuracy"]) == np.mean(fit.model.predict(between) == labels)
        assert float(row["gap"]) <= 1e-6
        if row["above"]:
            assert float(row["above"]) == pytest.approx(float(row["objective"]) / best - 1)
    without = {row["method"] for row in rows if not row["above"]}
    assert without == {"optimum", "lasso-l1", "gated-cross", "gated-gaussian"}
    assert len(read_rows(tmp_path / "spiral_path.csv")) == 6
    text = (tmp_path / "spiral.md").read_text(encoding="utf-8")
    assert text == "\n".join(said[: text.count("\n")]) + "\n"
    assert "- ReLU, 16 cross-product gates minus ReLU, 16 Gaussian gates: objective " in text


@pytest.mark.slow
def test_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    methods = ("lasso-sampled", "lasso")
    small_run(tmp_path, seeds=1, methods=methods)
    before = (tmp_path / "spiral.csv").read_bytes()
    monkeypatch.setattr(experiment, "available", lambda module: False)  # pictures fit again what they need
    asked = []
    fit = experiment.fit_network
    monkeypatch.setattr(experiment, "fit_network", lambda name, *rest: asked.append(name) or fit(name, *rest))
    written, said = small_run(tmp_path, seeds=3, methods=methods)
    assert asked == ["lasso-sampled", "lasso-sampled"]
    assert (tmp_path / "spiral.csv").read_bytes().startswith(before)
    assert said[0].startswith("found 2 rows in ")
    assert any(line.startswith('Pictures are left out, they need matplotlib: pip install "matplotlib') for line in said)
    assert {path.name for path in written} == {"spiral.csv", "spiral.md", "spiral.txt", "spiral_path.csv"}
    given = Settings(tmp_path, sizes=(SMALL[0],), say=lambda _: None)
    refused(r"made with gates = 16, now it is 5", experiment.run, given, n_gates=5)


def test_adamw_is_left_out_without_torch(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "available", lambda module: False)
    _, said = small_run(tmp_path, seeds=1, methods=("lasso-sampled", "adamw"))
    assert any(line.startswith('adamw is left out, it needs torch: pip install "torch>=') for line in said)
    assert {row["method"] for row in read_rows(tmp_path / "spiral.csv")} == {"lasso-sampled"}
    refused("must be such that one is left", small_run, tmp_path / "other", methods=("adamw",))


def test_adamw_takes_the_rate_with_the_best_training_accuracy(monkeypatch):
    X, y = spiral(6)
    _, labels = between_points(6)
    wrong = {0.1: 5, 0.2: 1, 0.3: 3}  # training points that each rate gets wrong

    class Model:
        def __init__(self, rate):
            self.rate = rate

        def decision(self, points):
            if len(points) == len(y):
                out = y.astype(float)
                out[: wrong[self.rate]] *= -1
                return out
            return np.where(self.rate == 0.2, labels, -labels).astype(float)

    class Fake:
        grid = (0.1, 0.2, 0.3)

        def __init__(self, **options):
            assert options["n_neurons"] == 7

        def fit(self, X, y, rate, seed):
            assert set(y) == {0, 1}
            return Model(rate)

    monkeypatch.setattr(experiment, "AdamW", Fake)
    row = experiment.adamw_row(X, y, 7, 4)
    assert row["train_accuracy"] == pytest.approx(11 / 12)
    assert row["between_accuracy"] == 1.0
    assert (row["method"], row["seed"], row["neurons"], row["objective"]) == ("adamw", 4, 7, None)
    assert set(row) == set(experiment.SPIRAL_COLUMNS)


@pytest.mark.slow
def test_adamw_with_torch(monkeypatch):
    pytest.importorskip("torch")
    X, y = spiral(6)
    monkeypatch.setattr(experiment, "ADAMW", {"epochs": 300, "rates": (1e-9, 1e-2)})
    assert experiment.adamw_row(X, y, 20, 0)["train_accuracy"] > 0.8


def test_report_has_means_deviations_and_paired_differences():
    def row(method, seed, value, between):
        blank = dict.fromkeys(experiment.SPIRAL_COLUMNS, "")
        cells = {"method": method, "seed": seed, "neurons": "3", "paper_objective": value, "gap": "1e-7", "over": "all"}
        return blank | cells | {"train_accuracy": "1.0", "between_accuracy": between, "seconds": "1"}

    rows = [row("relu-cross", "0", "2", "0.5"), row("relu-cross", "1", "4", "0.7")]
    rows += [row("relu-gaussian", "0", "1", "0.75"), row("relu-gaussian", "1", "5", "0.75")]
    text = "\n".join(spiral_report(rows, 9))
    assert "| ReLU, 9 cross-product gates | 2 | 3 | 3 ± 1.4 |  | 1e-07 | all | 1.000 | 0.600 ± 0.141 | 1.00 |" in text
    assert (
        "- ReLU, 9 cross-product gates minus ReLU, 9 Gaussian gates: objective +0.0000 ± 1.0000 (lower for 1 of 2 "
        "seeds), accuracy between -0.1500 ± 0.1000, on the training points +0.0000 ± 0.0000"
    ) in text
