"""What NumPy raises on an NPZ file that is damaged or something else."""

import zipfile
import zlib

__all__ = ["DAMAGED"]

DAMAGED = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    EOFError,
    OSError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
