"""Files that appear complete or not at all: the one way in which both packages write."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a new file, which takes the place of ``path`` once the block has ended well.

    What stood there stays until then, and whatever stops the block (an error, an interrupt, a kill, a full disk). The
    new file is in the same folder, hidden, with the same ending, and on the disk before it is renamed. A link is
    followed, not replaced; what is no file (a pipe, a device) is written to directly.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "table.csv"
    >>> with replaced(file) as new:
    ...     _ = new.write_text("a,b")
    ...     print(file.exists(), new.suffix)
    False .csv
    >>> file.read_text(), len(list(file.parent.iterdir()))
    ('a,b', 1)
    """
    file = Path(os.path.realpath(path))
    if file.exists() and not file.is_file():
        yield file
        return
    new = file.with_name(f".{secrets.token_hex(8)}.partial{file.suffix}")
    try:
        yield new
        with open(new, "r+b") as stream:
            os.fsync(stream.fileno())
        if file.exists():
            shutil.copymode(file, new)
        os.replace(new, file)  # atomic within a folder
    finally:
        new.unlink(missing_ok=True)
