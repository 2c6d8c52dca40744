"""Labelled sets of the paper: views, stratified samples, new splits; and what the package exports."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from examples.paper import datasets
from examples.paper.datasets.labelled import stratified
from support.refusals import refused

ROOT = Path(__file__).resolve().parents[2]

rng = np.random.default_rng(3)
N = 200
Y = (rng.random(N) < 0.3).astype(np.int64)
SPLIT = rng.random(N) < 0.6


def texts():
    about = {"y": Y, "split": SPLIT, "name": "made", "notes": ("a note",), "class_names": ("no", "yes")}
    return datasets.LabelledTexts(texts=[f"text {i}" for i in range(N)], ids=np.arange(N) + 1000, **about)


def test_every_name_is_there_and_the_import_brings_no_heavy_library():
    assert all(callable(getattr(datasets, name)) for name in datasets.__all__)
    code = (
        "import sys, examples.paper.datasets as d; [getattr(d, name) for name in d.__all__]; "
        "print([m for m in ('datasets', 'pandas', 'pyarrow', 'wfdb', 'sklearn', 'torch') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.strip() == "[]"


def test_views_keep_rows_together():
    data = texts()
    assert len(data) == N
    assert len(data.train) + len(data.test) == N
    for side, wanted in ((data.train, True), (data.test, False)):
        rows = side.ids - 1000
        assert side.texts == [f"text {i}" for i in rows]
        np.testing.assert_array_equal(side.y, Y[rows])
        assert (SPLIT[rows] == wanted).all()
        assert side.notes == ("a note",)
    assert data.counts["train"]["yes"] == int(Y[SPLIT].sum())


def test_a_sample_keeps_the_shares_and_the_split():
    data = texts()
    sample = data.sample(40, 20, rng=0)
    rows = sample.ids - 1000
    assert len(set(rows.tolist())) == 60
    np.testing.assert_array_equal(sample.split, [True] * 40 + [False] * 20)
    np.testing.assert_array_equal(sample.split, SPLIT[rows])
    np.testing.assert_array_equal(sample.y, Y[rows])
    share = Y[SPLIT].mean()
    assert abs(sample.counts["train"]["yes"] - 40 * share) < 1
    assert sample.texts == data.sample(40, 20, rng=0).texts
    assert sample.texts != data.sample(40, 20, rng=1).texts
    assert len(data.sample()) == N


def test_the_start_of_a_sample_is_not_sorted_by_class():
    first = [texts().sample(60, 20, rng=seed).y[:10].tolist() for seed in range(4)]
    assert any(labels != sorted(labels) and labels != sorted(labels)[::-1] for labels in first)


def test_stratified_counts_are_the_largest_remainders():
    y = np.repeat([0, 1, 2], [50, 30, 21])
    for n in (0, 1, 7, 50, 100, 101):
        rows = stratified(y, n, np.random.default_rng(n))
        assert len(set(rows.tolist())) == n
        counts = np.bincount(y[rows], minlength=3)
        assert (np.abs(counts - n * np.array([50, 30, 21]) / 101) < 1).all()


def test_resplit_divides_each_class():
    data = texts().resplit(0.25, rng=1)
    assert data.counts["test"]["yes"] == pytest.approx(0.25 * Y.sum(), abs=1)
    assert int((~data.split).sum()) == 50
    np.testing.assert_array_equal(data.y, Y)


def test_pairs_are_joined_as_the_authors_do():
    data = texts()
    pairs = replace(data, texts=[("a?", "b?")] * N)
    assert pairs.joined().texts[0] == "Question 1: a?\n Question 2: b?"
    assert pairs.joined("{} | {}").texts[1] == "a? | b?"
    refused("'texts' parameter of joined must be pairs of texts", data.joined)


def test_arrays_are_taken_with_their_labels():
    X = rng.standard_normal((N, 4, 3)).astype(np.float32)
    data = datasets.LabelledArrays(X=X, y=Y, split=SPLIT, name="made", class_names=("no", "yes"))
    np.testing.assert_array_equal(data.test.X, X[~SPLIT])
    assert data.test.ids is None
    assert data.take([3, 1]).y.tolist() == [Y[3], Y[1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.sample(N), "'n_train' parameter of sample must be an integer from 0 to .* has no more rows there"),
        (lambda d: d.sample(2, -1), "'n_test' parameter of sample must be an integer from 0"),
        (lambda d: d.sample(2, 2, rng="0"), "'rng' parameter of sample"),
        (lambda d: d.resplit(1.0), "'test_share' parameter of resplit must be a share above 0 and below 1"),
        (lambda d: d.resplit(1e-6), "leaves rows on both sides"),
    ],
)
def test_bad_arguments_are_named(call, message):
    refused(message, call, texts())
