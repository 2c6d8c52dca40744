"""The plane: chambers, laws, waits against theory, and the run that writes table, text and picture."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from clifford_rand_nn import enumerate_patterns
from examples.paper import plane
from examples.paper.chambers import SAMPLERS, chambers, expected_wait, fit_of_law, law, uniform_wait, visits, wait
from examples.paper.settings import Settings
from support.csv_tables import read_rows
from support.refusals import refused


def made(n, seed):
    rng = np.random.default_rng([n, seed])
    return rng.standard_normal((n, 2)) * rng.uniform(0.1, 10, (n, 1))


# ---------------------------------------------------------------------------------------------------- chambers, laws


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_chambers_are_the_patterns_of_directions_all_round(n):
    X = made(n, 0)
    borders, angles, patterns = chambers(X)
    assert angles.sum() == pytest.approx(2 * np.pi)
    assert {p.tobytes() for p in patterns} == {p.tobytes() for p in enumerate_patterns(X, bias=False).T.copy()}
    turn = 2 * np.pi * (np.arange(100_000) + 0.5) / 100_000
    on = np.stack([np.cos(turn), np.sin(turn)], axis=1) @ X.T >= 0
    for pattern, angle in zip(patterns, angles, strict=True):  # to one direction at each end
        assert (on == pattern).all(axis=1).mean() * 2 * np.pi == pytest.approx(angle, abs=2 * np.pi / 100_000)
    assert (np.abs(np.stack([np.cos(borders), np.sin(borders)], axis=1) @ X.T).min(axis=1) < 1e-12).all()


@pytest.mark.kept("9-cross")
@pytest.mark.parametrize("sampler", list(SAMPLERS))
@pytest.mark.parametrize("n", [1, 4, 9])
def test_visits_have_the_law(sampler, n):
    X = made(n, 1)
    probability = law(X, sampler)
    assert probability.sum() == pytest.approx(1)
    counts = np.bincount(visits(X, 4000, sampler, 3), minlength=2 * n)
    assert fit_of_law(counts, probability)[1] > 1e-9  # the chance that a right law fails
    assert (counts[probability == 0] == 0).all()


@pytest.mark.slow
def test_with_the_row_always_on_the_uniform_law_fails():
    X = made(9, 1)
    assert np.count_nonzero(law(X, "cross-on") == 0) > 0
    counts = np.bincount(visits(X, 4000, "cross-on", 3), minlength=18)
    assert fit_of_law(counts, np.full(18, 1 / 18))[1] < 1e-100


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (r"'X' parameter of chambers must be of shape \(n, 2\)", lambda: chambers(np.ones((3, 3)))),
        ("no two are parallel", lambda: chambers([[1.0, 2.0], [-2.0, -4.0]])),
        ("no two are parallel", lambda: chambers([[0.0, 0.0], [1.0, 0.0]])),
        ("'sampler' parameter of law must be one of", lambda: law(made(3, 0), "other")),
        ("must be one that visits every chamber", lambda: wait(made(9, 1), "cross-on")),
        ("'methods' parameter .* one of 'gaussian', 'cross'", lambda: plane.run(Settings(Path(), methods=("sobol",)))),
        ("'sets' parameter .* one of 'random', 'clustered'", lambda: plane.run(Settings(Path(), sets=("imdb",)))),
    ],
)
def test_what_is_refused_writes_nothing(tmp_path, monkeypatch, message, call):
    monkeypatch.chdir(tmp_path)
    refused(message, call)
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------------- waits


def markov_wait(p):
    """Return the mean wait by the chain whose states are the sets of outcomes seen: solve each from the larger ones."""
    every = range(len(p))
    mean = {frozenset(every): 0.0}
    for size in range(len(p) - 1, -1, -1):
        for seen in map(frozenset, itertools.combinations(every, size)):
            new = [i for i in every if i not in seen]
            mean[seen] = (1 + sum(p[i] * mean[seen | {i}] for i in new)) / sum(p[i] for i in new)
    return mean[frozenset()]


@pytest.mark.parametrize(
    "p", [[0.25] * 4, [0.1, 0.2, 0.3, 0.4], [0.001, 0.009, 0.49, 0.5], [1e-6, 1e-6, 0.5, 0.5 - 2e-6], [0.5, 0.5], [1.0]]
)
def test_expected_wait_is_that_of_the_markov_chain(p):
    assert expected_wait(p) == pytest.approx(markov_wait(p), rel=1e-8)


def test_expected_wait_of_equal_and_of_impossible_patterns():
    for n in (1, 3, 10, 100):
        assert expected_wait(np.full(2 * n, 1 / (2 * n))) == pytest.approx(uniform_wait(n), rel=1e-8)
    assert expected_wait([0.5, 0.5, 0.0]) == np.inf
    for p in ([0.5, 0.4], [1.5, -0.5], [[0.5, 0.5]], []):
        refused("numbers ≥ 0 with sum 1", expected_wait, p)


@pytest.mark.parametrize("sampler", ["gaussian", "cross"])
@pytest.mark.slow
def test_waits_have_the_expected_mean(sampler):
    X = made(6, 0)
    expected = expected_wait(law(X, sampler))
    waits = [wait(X, sampler, seed) for seed in range(120)]
    assert min(waits) >= 12
    # the deviation of one wait is at most its mean: half of it is more than 5 deviations of the mean of 120
    assert np.mean(waits) == pytest.approx(expected, rel=0.5)
    assert len(set(waits)) > 20


def test_fit_of_law_pools_what_is_rare_and_agrees_with_scipy():
    counts = np.array([12, 25, 30, 33])
    statistic, p = fit_of_law(counts, [0.1, 0.2, 0.3, 0.4])
    expected = stats.chisquare(counts, [10, 20, 30, 40])
    assert (statistic * 3, p) == pytest.approx((expected.statistic, expected.pvalue))
    pooled = stats.chisquare([9, 91], [10, 90])
    assert fit_of_law([3, 2, 4, 91], [0.03, 0.03, 0.04, 0.9]) == pytest.approx((pooled.statistic, pooled.pvalue))
    assert fit_of_law([1, 0, 99], [0.005, 0.005, 0.99])[1] == 1.0  # nothing is left to compare


# ---------------------------------------------------------------------------------------------------- run


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(plane, "_SHOWN", 5)
    monkeypatch.setattr(plane, "_DRAWS", 40)
    monkeypatch.setattr(plane, "_REPEATS", 5)


@pytest.mark.slow
def test_run_writes_rows_that_say_which_law_holds(tmp_path, quick):
    pytest.importorskip("matplotlib")
    said = []
    settings = Settings(tmp_path, seeds=2, sizes=(4, 6), say=said.append, command="make it")
    written = plane.run(settings)
    assert {path.name for path in written} == {"plane.csv", "plane.md", "plane.png", "plane.txt"}
    assert all(path.stat().st_size > 100 for path in written)
    assert (tmp_path / "plane.txt").read_text(encoding="utf-8").startswith("command: make it")
    rows = read_rows(tmp_path / "plane.csv")
    assert len(rows) == 2 * 2 * 2 * 3
    for row in rows:
        n = int(row["n"])
        X = plane.DATA[row["data"]](n, np.random.default_rng([int(row["seed"]), n]))
        probability = law(X, row["sampler"])
        assert float(row["law_p"]) > 1e-9
        assert int(row["never"]) == np.count_nonzero(probability == 0)
        assert float(row["expected_wait"]) == pytest.approx(expected_wait(probability))
        if row["sampler"] == "cross":
            assert (row["law_chi2"], row["law_p"]) == (row["uniform_chi2"], row["uniform_p"])
            assert float(row["expected_wait"]) == pytest.approx(uniform_wait(n))
            # five waits, each with a deviation of at most its mean
            assert 0.05 < float(row["wait"]) / uniform_wait(n) < 4
        drawn = float(row["expected_wait"]) <= plane._LONGEST
        assert (row["wait"] != "") == drawn
    assert any("cross-on" in line for line in said)


@pytest.mark.slow
def test_run_goes_on_where_it_stopped(tmp_path, quick, monkeypatch):
    pytest.importorskip("matplotlib")
    plane.run(Settings(tmp_path / "whole", seeds=2, sizes=(4,), say=lambda _: None))
    plane.run(Settings(tmp_path / "parts", seeds=1, sizes=(4,), say=lambda _: None))
    made_again = []
    row = plane.plane_row
    monkeypatch.setattr(plane, "plane_row", lambda *key: made_again.append(key) or row(*key))
    said = []
    plane.run(Settings(tmp_path / "parts", seeds=2, sizes=(4,), say=said.append))
    assert said[0].startswith("found 6 rows in ")
    assert {key[2] for key in made_again} == {1}
    whole, parts = (
        sorted((tuple(v for k, v in row.items() if k != "seconds")) for row in read_rows(tmp_path / name / "plane.csv"))
        for name in ("whole", "parts")
    )
    assert whole == parts


def test_run_without_matplotlib_says_so(tmp_path, quick, monkeypatch):
    monkeypatch.setattr(plane, "available", lambda module: False)
    said = []
    written = plane.run(Settings(tmp_path, seeds=1, sizes=(3,), sets=("random",), say=said.append))
    assert {path.name for path in written} == {"plane.csv", "plane.md", "plane.txt"}
    assert said[-1].startswith('The picture is left out, it needs matplotlib: pip install "matplotlib>=')
