"""Sentence embeddings by a model of the sentence-transformers library, the only file that imports it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand._optional import require
from clifford_rand._threads import cached_property

_CONFIGURATIONS = ("modules.json", "config.json")  # one of them is in every folder that the library can load
_NOT_THE_MODEL = (".md", ".gitattributes", ".gitignore", ".lock")  # a new description does not change a vector


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
        wrong = next((text for text in texts if not isinstance(text, str)), None)
        if wrong is not None or isinstance(texts, str):
            shown = wrong if wrong is not None else describe("a text")
            raise fail("texts", type(self).__name__, "a list of texts", shown)
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
