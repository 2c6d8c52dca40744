"""Embedding by any callable: order, batches, and a stop at any point that costs nothing that was done."""

import re
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.features.cache import FeatureCache
from clifford_rand_nn.features.embedding import embed
from clifford_rand_nn.features.text_encoders import HashingEncoder

TEXTS = [f"text number {i}" for i in range(10)]


class Letters:
    """Counts of three letters; notes its calls and does something at one of them."""

    cache_key = "letters"

    def __init__(self, at=None, do=None):
        self.calls, self.at, self.do = [], at, do

    def __call__(self, texts):
        self.calls.append(list(texts))
        if len(self.calls) == self.at:
            self.do()
        return np.array([[text.count(letter) + 0.5 * int(text.split()[-1]) for letter in "tex"] for text in texts])


def expected(texts=TEXTS):
    return Letters()(texts).astype(np.float32)


def stop():
    raise KeyboardInterrupt


def crash():
    raise RuntimeError("the power went")


@pytest.mark.parametrize("cached", [False, True])
def test_order_batches_and_duplicates(tmp_path, cached):
    encoder = Letters()
    texts = [*TEXTS[:7], TEXTS[2], TEXTS[0], *TEXTS[7:]]
    vectors = embed(texts, encoder, batch_size=4, cache=tmp_path if cached else None)
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, expected(texts))
    assert encoder.calls == [TEXTS[:4], TEXTS[4:8], TEXTS[8:]]


def test_only_what_is_missing_is_encoded(tmp_path):
    embed(TEXTS[::2], Letters(), cache=tmp_path)
    encoder = Letters()
    np.testing.assert_array_equal(embed(TEXTS, encoder, cache=tmp_path), expected())
    assert encoder.calls == [TEXTS[1::2]]
    turned = embed(TEXTS[::-1], encoder, cache=FeatureCache(tmp_path, "letters"))
    np.testing.assert_array_equal(turned, expected()[::-1])
    assert len(encoder.calls) == 1
    embed(TEXTS, encoder, cache=tmp_path, cache_key="another")
    assert len(encoder.calls) == 2


@pytest.mark.parametrize(("do", "error"), [(stop, KeyboardInterrupt), (crash, RuntimeError)])
def test_a_run_that_stopped_goes_on_after_its_last_batch(tmp_path, do, error):
    first = Letters(at=3, do=do)
    with pytest.raises(error) as info:
        embed(TEXTS, first, batch_size=3, cache=tmp_path)
    if error is KeyboardInterrupt:
        assert str(info.value) == f"6 of 10 distinct items are stored in {tmp_path}; the same call goes on from there."
    second = Letters()
    np.testing.assert_array_equal(embed(TEXTS, second, batch_size=3, cache=tmp_path), expected())
    assert second.calls == [TEXTS[6:9], TEXTS[9:]]


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("do", "kept", "stored"),
    [(press, True, 6), (lambda: (press(), press()), True, 3), (stop, False, 3)],
    ids=["waits for the batch in hand", "a second one does not", "without a cache"],
)
def test_ctrl_c_says_what_is_stored_or_lost(tmp_path, do, kept, stored):
    end = "are stored" if kept else "were done, and are lost; with cache= they"
    with pytest.raises(KeyboardInterrupt, match=f"{stored} of 10 distinct items {end}"):
        embed(TEXTS, Letters(at=2, do=do), batch_size=3, cache=tmp_path if kept else None)
    assert len(FeatureCache(tmp_path, "letters")) == (stored if kept else 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_handler_of_a_program_and_other_threads_are_left_alone():
    mine = []
    before = signal.signal(signal.SIGINT, lambda *_: mine.append(1))
    try:
        embed(TEXTS, Letters(at=1, do=press))
    finally:
        signal.signal(signal.SIGINT, before)
    assert mine == [1]
    with ThreadPoolExecutor(1) as pool:
        np.testing.assert_array_equal(pool.submit(embed, TEXTS, Letters()).result(), expected())


def test_an_encoder_may_take_fewer_than_a_batch(tmp_path):
    class Choosy(Letters):
        def take(self, texts):
            return min(len(texts), 1 + len(self.calls) % 2)

    encoder = Choosy()
    np.testing.assert_array_equal(embed(TEXTS, encoder, batch_size=8), expected())
    assert [len(call) for call in encoder.calls] == [1, 2, 1, 2, 1, 2, 1]
    encoder.take = lambda texts: 0
    with pytest.raises(ArgumentError, match=r"'encoder\.take' parameter of embed must be an integer from 1 to 8\. Go"):
        embed(TEXTS, encoder, batch_size=8)


def test_arrays_and_columns_of_tables_are_items_too():
    images = np.arange(24.0).reshape(4, 2, 3)
    sums = embed(images, lambda batch: [image.sum(axis=0) for image in batch], batch_size=3)
    np.testing.assert_array_equal(sums, images.sum(axis=1))
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(TEXTS, index=range(10, 0, -1))  # by position, not by index
    np.testing.assert_array_equal(embed(column, Letters()), expected())
    np.testing.assert_array_equal(embed(np.array(TEXTS), Letters()), expected())


BAD_ENCODERS = {
    "number": (lambda t: np.zeros((len(t) + 1, 2)), r"returns an array \(4, k\) for 4 items. Got shape \(5, 2\)"),
    "axis": (lambda t: np.zeros(len(t)), r"returns an array \(4, k\) for 4 items. Got shape \(4,\)"),
    "empty": (lambda t: np.zeros((len(t), 0)), r"Got shape \(4, 0\)"),
    "ragged": (lambda t: [[1.0] * (1 + i) for i in range(len(t))], "its rows of one length"),
    "words": (lambda t: [["a"]] * len(t), "an array of real numbers. Got dtype <U1"),
    "NaN": (lambda t: [[np.nan, 1]] + [[1, 1]] * (len(t) - 1), "numbers finite in float32. Got NaN .* in 1 of 4"),
    "large": (lambda t: np.full((len(t), 2), 1e300), "numbers finite in float32. Got NaN or infinity in 4 of 4"),
    "k": (lambda t: np.ones((len(t), len(t))), "(same length, 4 so far|4 numbers that the others.*). Got vec"),
    "none": (7, "'encoder' parameter of embed must be a callable from a list of items"),
}


@pytest.mark.parametrize("case", BAD_ENCODERS)
@pytest.mark.parametrize("cached", [False, True])
def test_what_an_encoder_returns_is_checked(tmp_path, case, cached):
    encoder, message = BAD_ENCODERS[case]
    with pytest.raises(ArgumentError, match=message):
        embed(TEXTS, encoder, batch_size=4, cache=tmp_path if cached else None, cache_key="bad" if cached else None)


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        ([], {}, "at least one text or array. Got none"),
        ("a text", {}, "a list of texts or of arrays, or one array of them. Got 'a text'"),
        (7, {}, "a list of texts or of arrays"),
        (["a 1", np.nan], {}, "texts, or arrays of numbers. Got float nan at 1 instead. Fill or drop what is empty"),
        (np.arange(3.0), {}, "Got float64 .* at 0"),
        (TEXTS, {"batch_size": 0}, "'batch_size' parameter of embed must be an integer ≥ 1. Got 0"),
        (TEXTS, {"cache": "folder"}, r"None for an encoder without the attribute cache_key. .* Give cache_key="),
    ],
)
def test_arguments_are_checked(items, options, message):
    with pytest.raises(ArgumentError, match=message):
        embed(items, lambda texts: np.ones((len(texts), 1)), **options)


def test_a_cache_of_another_encoder_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"encoder's key 'letters'\. Got 'other' instead\. Give its folder"):
        embed(TEXTS, Letters(), cache=FeatureCache(tmp_path, "other"))


def test_the_bar_is_shown_on_stderr_if_asked_for(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    embed(TEXTS, Letters(), batch_size=2, verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "embedding" in captured.err
    assert re.search(r"item \d+ of 10", captured.err)
    embed(TEXTS, Letters())
    assert capsys.readouterr().err == ""


def test_hashing_encoder():
    encoder = HashingEncoder(512)
    texts = ["the film was good", "The film was GOOD!", "the film was not good", "colourless green ideas", "a"]
    vectors = embed(texts, encoder, batch_size=2)
    assert vectors.shape == (5, 512)
    np.testing.assert_allclose(np.linalg.norm(vectors[:4], axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(vectors[0], vectors[1])
    assert not vectors[4].any()
    assert vectors[0] @ vectors[2] > 0.5 > vectors[0] @ vectors[3]
    one_word = HashingEncoder(512, ngram_range=(1, 1))
    assert one_word.cache_key != encoder.cache_key != HashingEncoder(256).cache_key
    np.testing.assert_array_equal(np.count_nonzero(one_word(["film film good"])), 2)
    for bad, message in (
        ({"dim": 0}, "'dim' parameter of HashingEncoder must be an integer from 1"),
        ({"dim": 8, "ngram_range": (2, 1)}, "the shortest first"),
        ({"dim": 8, "ngram_range": 2}, "two integers, shortest and longest"),
    ):
        with pytest.raises(ArgumentError, match=message):
            HashingEncoder(**bad)
    with pytest.raises(ArgumentError, match=r"a list of texts\. Got 3"):
        encoder(["a", 3])
