"""Text embeddings by OpenAI's API, or a server that speaks it, through the official client; the only file with it."""

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand._optional import require
from clifford_rand._threads import cached_property

_MOST_INPUTS = 2048  # texts in one request, by the API's reference of "Create embeddings"
_MOST_TOKENS = 300_000  # in one request, by the same; a token of a byte-level tokeniser is at least one byte of UTF-8
_WAITS = 12  # retries: 0.5 s, doubled up to 8 s, add up to over a minute, the period of the API's rate limits


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
    dimensions : int, optional
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
        openai is not installed; told at the first call.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        dimensions: int | None = None,
        base_url: str | None = None,
        max_retries: int = _WAITS,
        timeout: float = 120.0,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise fail("model", "OpenAIEncoder", "the name of an embedding model", model)
        self.model = model
        self.dimensions = None if dimensions is None else check_integer(dimensions, "dimensions", "OpenAIEncoder")
        self.max_retries = check_integer(max_retries, "max_retries", "OpenAIEncoder", low=0)
        self.timeout = timeout
        self.base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        if self.base_url is not None and "@" in urlsplit(self.base_url).netloc:  # it would be stored in the cache
            raise fail("base_url", "OpenAIEncoder", "an address without a password", describe("one with a password"))
        _key()

    def __repr__(self) -> str:
        return f"OpenAIEncoder({self.model!r}, dimensions={self.dimensions}, base_url={self.base_url!r})"

    @property
    def cache_key(self) -> str:
        """Model, dimensions and server."""
        server = "" if self.base_url is None else f", {self.base_url.rstrip('/')}"
        return f"openai:{self.model}, dimensions {self.dimensions}{server}"

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

        Raises
        ------
        ArgumentError
            A text is empty or longer than the model takes, or the server refuses the request.
        PermissionError
            The server refuses the key, or its use of the model.
        ConnectionError
            The server could not be reached, or was busy or failing to the last retry.
        """
        wrong = next((text for text in texts if not isinstance(text, str) or not text), None)
        if wrong is not None or isinstance(texts, str):
            shown = wrong if wrong is not None else describe("a text")
            raise fail("texts", "OpenAIEncoder", "a list of texts, none empty", shown, "Fill or drop the empty ones.")
        done: list[list[float]] = []
        while len(done) < len(texts):
            rest = texts[len(done) :]
            done += self._request(list(rest[: self.take(rest)]))
        return np.asarray(done, dtype=np.float32)

    @cached_property
    def _client(self) -> Any:
        library = require("openai", extra="text", purpose="embeddings by OpenAI's API")
        return library.OpenAI(
            api_key=_key(), base_url=self.base_url, max_retries=self.max_retries, timeout=self.timeout
        )

    @cached_property
    def _api_error(self) -> Any:
        return require("openai", extra="text", purpose="embeddings by OpenAI's API").APIError

    def _request(self, texts: list[str]) -> list[list[float]]:
        options = {} if self.dimensions is None else {"dimensions": self.dimensions}
        try:
            reply = self._client.embeddings.create(model=self.model, input=texts, **options)
        except self._api_error as error:
            raise self._explained(error, texts) from None  # the client's own message may repeat the key
        by_index = {one.index: one.embedding for one in reply.data}  # the order of the reply is not promised
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
