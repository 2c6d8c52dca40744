"""Encoders of texts: hashed counts of words, models of sentence-transformers and embeddings by OpenAI's API."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand.errors import require

_CONFIGURATIONS = ("modules.json", "config.json")  # one of them is in every folder that the library can load
_NOT_THE_MODEL = (".md", ".gitattributes", ".gitignore", ".lock")  # a new description does not change a vector
_MOST_INPUTS = 2048  # texts in one request, by the API's reference of "Create embeddings"
_MOST_TOKENS = 300_000  # in one request, by the same; a token of a byte-level tokeniser is at least one byte of UTF-8
_WAITS = 12  # retries: 0.5 s, doubled up to 8 s, add up to over a minute, the period of the API's rate limits


class HashingEncoder:
    r"""Encoder of texts: signed counts of n-grams of words, hashed to ``dim`` places, of unit norm.

    With :math:`h` and :math:`s` the hash and its sign, feature :math:`j` is :math:`\sum_{g:\,h(g)=j} s(g)` over the
    n-grams :math:`g` of the text, then divided by the norm; a text without a word of two letters is zero. Inner
    products of such vectors are those of the n-gram counts on average (Weinberger et al. 2009).

    Parameters
    ----------
    dim : int
        Length k of the vectors; 2^10 and more keep collisions of common words rare.
    ngram_range : (int, int), default (1, 2)
        Shortest and longest n-gram.

    References
    ----------
    Weinberger, Dasgupta, Langford, Smola, Attenberg, "Feature Hashing for Large Scale Multitask Learning", ICML 2009;
    computed by scikit-learn's HashingVectorizer.

    Examples
    --------
    >>> vectors = HashingEncoder(1024)(["a good film", "a good movie", "heavy rain"])
    >>> vectors.shape, [round(float(one), 2) for one in vectors @ vectors[0]]
    ((3, 1024), [1.0, 0.33, 0.0])
    """

    def __init__(self, dim: int, *, ngram_range: tuple[int, int] = (1, 2)) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer

        dim = check_integer(dim, "dim", "HashingEncoder", high=2**31 - 1)  # of scikit-learn
        if not (isinstance(ngram_range, Sequence) and len(ngram_range) == 2):
            raise fail("ngram_range", "HashingEncoder", "two integers, shortest and longest", ngram_range)
        low, high = (check_integer(length, "ngram_range", "HashingEncoder") for length in ngram_range)
        if low > high:
            raise fail("ngram_range", "HashingEncoder", "two integers, the shortest first", ngram_range)
        self.dim, self.ngram_range = dim, (low, high)
        self._vectorizer = HashingVectorizer(n_features=dim, ngram_range=(low, high), norm="l2", dtype=np.float32)

    def __repr__(self) -> str:
        return f"HashingEncoder({self.dim}, ngram_range={self.ngram_range})"

    @property
    def cache_key(self) -> str:
        """Name and settings: all that the vectors depend on."""
        return f"hashing:{self.dim}, words {self.ngram_range[0]}-{self.ngram_range[1]}"

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors (n, dim) of n texts."""
        _check_texts(texts, "HashingEncoder")
        return np.asarray(self._vectorizer.transform(texts).toarray(), dtype=np.float32)


class SentenceTransformerEncoder:
    """Encoder of texts by a frozen sentence-transformers model, loaded when the first text needs it.

    A text that is longer than the model's limit is cut there by the model itself. Numbers depend on how texts are
    batched and on the device in the last digits of float32 only.

    Parameters
    ----------
    model : str or path
        A folder with the model, or its name on the Hugging Face hub, such as "sentence-transformers/all-MiniLM-L6-v2".
    device : str, optional
        "cpu", "cuda", …; the library chooses if None.
    normalize : bool, default True
        Scale every vector to norm 1.
    max_tokens : int, optional
        Where texts are cut; the model's own limit if None.
    revision : str, optional
        Branch, tag or commit of a model of the hub.

    Raises
    ------
    ArgumentError
        There is no such model, or the folder is not one of a model.
    MissingDependencyError
        sentence-transformers is not installed.

    Examples
    --------
    >>> SentenceTransformerEncoder(".")
    Traceback (most recent call last):
    ...
    clifford_rand.errors.ArgumentError: The 'model' parameter of SentenceTransformerEncoder must be a folder with a \
model or its name on the Hugging Face hub. Got '.' instead. The folder has no modules.json or config.json.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        normalize: bool = True,
        max_tokens: int | None = None,
        revision: str | None = None,
    ) -> None:
        self.model, self.device, self.normalize = str(model), device, bool(normalize)
        self.revision = revision
        self.max_tokens = None if max_tokens is None else check_integer(max_tokens, "max_tokens", type(self).__name__)
        self._folder = Path(model) if Path(model).is_dir() else None
        if self._folder is not None and not any((self._folder / name).is_file() for name in _CONFIGURATIONS):
            raise self._no_model(f"The folder has no {' or '.join(_CONFIGURATIONS)}.")
        if self._folder is None and (not self.model.strip() or self.model[0] in "./~" or self.model.count("/") > 1):
            raise self._no_model("There is no such folder.")  # the hub's names are name and owner/name

    def __repr__(self) -> str:
        return f"SentenceTransformerEncoder({self.model!r}, normalize={self.normalize}, max_tokens={self.max_tokens})"

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors (n, k) of n texts."""
        _check_texts(texts, type(self).__name__)
        vectors = self._loaded.encode(
            list(texts), show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=self.normalize
        )
        return np.asarray(vectors, dtype=np.float32)

    @cached_property
    def cache_key(self) -> str:
        """Content hash of a folder, or name and commit of a model of the hub, and the settings."""
        if self._folder is not None:
            source = f"{self._folder.resolve().name} sha256 {_content(self._folder)}"
        else:  # the commit, for a name may stand for another model tomorrow
            config = getattr(getattr(self._loaded[0], "auto_model", None), "config", None)
            source = f"{self.model} @ {getattr(config, '_commit_hash', None) or self.revision or 'unknown commit'}"
        return f"sentence-transformers:{source}, normalize {self.normalize}, max_tokens {self.max_tokens}"

    @cached_property
    def _loaded(self) -> Any:
        library = require("sentence_transformers", extra="text", purpose="a sentence-transformers model")
        try:
            model = library.SentenceTransformer(self.model, device=self.device, revision=self.revision)
        except (OSError, ValueError) as error:
            raise self._no_model(f"The library says: {(str(error).strip().splitlines() or ['nothing'])[0]}") from error
        if self.max_tokens is not None:
            model.max_seq_length = self.max_tokens
        return model

    def _no_model(self, hint: str) -> Exception:
        rule = "a folder with a model or its name on the Hugging Face hub"
        return fail("model", type(self).__name__, rule, self.model, hint)


def _content(folder: Path) -> str:
    """Return the SHA-256 hash of all files of a model: names and contents, weights included (some 0.1 s for 90 MB)."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        hidden = any(part.startswith((".", "__")) for part in inside.parts)
        if path.is_file() and not hidden and path.suffix not in _NOT_THE_MODEL:
            with open(path, "rb") as stream:
                digest.update(f"{inside.as_posix()}\0{hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()[:32]


class OpenAIEncoder:
    """Encoder of texts by an embedding model behind OpenAI's API.

    The key is taken from the environment variable OPENAI_API_KEY, and is neither stored nor shown. Rate limits,
    server errors and lost connections are tried again by the official client, which waits as long as the server's
    Retry-After asks (up to two minutes), else 0.5 s, 1 s, … 8 s. A request has at most 2048 texts and 300,000 bytes,
    hence at most 300,000 tokens; `embed` stores each one's vectors before it sends the next.

    Parameters
    ----------
    model : str, default "text-embedding-3-small"
        The paper used "text-embedding-ada-002".
    dim : int, optional
        Length k of the vectors, for models that can shorten them.
    base_url : str, optional
        Another server; OpenAI's, or that of the environment variable OPENAI_BASE_URL, if None.
    max_retries : int, default 12
    timeout : float, default 120
        Seconds after which a request counts as lost.

    Raises
    ------
    ArgumentError
        There is no key in the environment, or an argument is malformed.
    MissingDependencyError
        openai is not installed; raised by the first call.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        dim: int | None = None,
        base_url: str | None = None,
        max_retries: int = _WAITS,
        timeout: float = 120.0,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise fail("model", "OpenAIEncoder", "the name of an embedding model", model)
        self.model = model
        self.dim = None if dim is None else check_integer(dim, "dim", "OpenAIEncoder")
        self.max_retries = check_integer(max_retries, "max_retries", "OpenAIEncoder", low=0)
        self.timeout = timeout
        self.base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        if self.base_url is not None:  # it is stored in the cache, and shown
            place, hint = urlsplit(self.base_url), "A key belongs into OPENAI_API_KEY."
            what = "password" if "@" in place.netloc else "query" if place.query or place.fragment else ""
            if what:
                raise fail("base_url", "OpenAIEncoder", f"an address without a {what}", describe("one with it"), hint)
        _key()

    def __repr__(self) -> str:
        return f"OpenAIEncoder({self.model!r}, dim={self.dim}, base_url={self.base_url!r})"

    @property
    def cache_key(self) -> str:
        """Model, dimensions and server."""
        server = "" if self.base_url is None else f", {self.base_url.rstrip('/')}"
        return f"openai:{self.model}, dimensions {self.dim}{server}"

    def take(self, texts: Sequence[str]) -> int:
        """Return how many of the first texts go into one request: at least one, whatever its length."""
        total = 0
        for count, text in enumerate(texts[:_MOST_INPUTS]):
            total += len(text.encode("utf-8", "replace"))
            if total > _MOST_TOKENS and count:
                return count
        return min(len(texts), _MOST_INPUTS)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors (n, k) of n texts, in as many requests as they need.

        Raises ArgumentError if a text is empty or longer than the model takes, or the server refuses the request;
        PermissionError if the server refuses the key, or its use of the model; ConnectionError if the server could not
        be reached, or was busy or failing to the last retry.
        """
        _check_texts(texts, "OpenAIEncoder", ", none empty", "Fill or drop the empty ones.")
        done: list[list[float]] = []
        while len(done) < len(texts):
            rest = texts[len(done) :]
            done += self._request(list(rest[: self.take(rest)]))
        return np.asarray(done, dtype=np.float32)

    @cached_property
    def _client(self) -> tuple[Any, Any]:
        """The client of the library, and the class of its errors."""
        library = require("openai", extra="text", purpose="embeddings by OpenAI's API")
        client = library.OpenAI(
            api_key=_key(), base_url=self.base_url, max_retries=self.max_retries, timeout=self.timeout
        )
        return client, library.APIError

    def _request(self, texts: list[str]) -> list[list[float]]:
        options = {} if self.dim is None else {"dimensions": self.dim}
        client, errors = self._client
        try:
            reply = client.embeddings.create(model=self.model, input=texts, **options)
        except errors as error:
            raise self._explained(error, texts) from None  # the client's own message may repeat the key
        by_index = {entry.index: entry.embedding for entry in reply.data}  # the order of the reply is not promised
        if sorted(by_index) != list(range(len(texts))):
            server = self.base_url or "OpenAI's server"
            raise ConnectionError(f"{server} returned {len(reply.data)} vectors for {len(texts)} texts.")
        return [by_index[i] for i in range(len(texts))]

    def _explained(self, error: Any, texts: list[str]) -> Exception:
        server = self.base_url or "OpenAI's server"
        status = getattr(error, "status_code", None)
        said = _said(error)
        if status in (401, 403):
            what = "refuses the key in OPENAI_API_KEY" if status == 401 else "denies this key the use of the model"
            return PermissionError(f"{server} {what} ({status}). Check the key, and that it may use {self.model!r}.")
        if status == 404:
            return fail("model", "OpenAIEncoder", f"one that {server} has", self.model, f"The server says: {said}")
        if status is not None and 400 <= status < 500 and status not in (408, 409, 429):
            longest = max(texts, key=len)
            if "context length" in said or "maximum input length" in said or "too long" in said.lower():
                shown = f"one of {len(longest.encode('utf-8', 'replace'))} bytes that begins {longest[:30]!r}"
                rule = f"texts that {self.model} can take"
                return fail("texts", "OpenAIEncoder", rule, describe(shown), f"Cut it; the server says: {said}")
            return fail("texts", "OpenAIEncoder", f"what {server} accepts", describe(f"status {status}"), said)
        what = f"answers {status}" if status is not None else "cannot be reached"
        return ConnectionError(f"{server} {what}, after up to {self.max_retries + 1} attempts: {said}")


def _key() -> str:
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key:
        where = describe("an environment without it")
        raise fail("OPENAI_API_KEY", "OpenAIEncoder", "set in the environment", where, "export OPENAI_API_KEY=… first.")
    return key


def _said(error: Any) -> str:
    """Return the server's message on one line, without the key."""
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    text = " ".join(str(said or getattr(error, "message", error)).split())
    return text.replace(_key(), "…")


def _check_texts(texts: Sequence[str], owner: str, none_empty: str = "", hint: str = "") -> None:
    wrong = next((text for text in texts if not isinstance(text, str) or (none_empty and not text)), None)
    if wrong is not None or isinstance(texts, str):
        raise fail("texts", owner, f"a list of texts{none_empty}", describe("a text") if wrong is None else wrong, hint)
