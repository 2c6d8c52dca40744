"""Model files taken apart and written by hand, with checksums that are right."""

import json

import numpy as np

from clifford_rand_nn import save_model


def contents(path):
    """Return the arrays of a model file and its JSON."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return arrays, json.loads(arrays["meta"].tobytes())


def write(path, arrays, meta):
    """Write arrays and JSON as a model file."""
    np.savez(path, **arrays | {"meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)})
    return path


def rewritten(path, model, change, later=()):
    """Save a model and write its file again after a change; arrays that were added are listed, but for ``later``."""
    save_model(model, path)
    arrays, meta = contents(path)
    change(arrays, meta)
    if "meta" not in arrays:
        np.savez(path, **arrays)
        return path
    if set(meta.get("arrays", [])) < set(arrays):
        meta["arrays"] = sorted(name for name in arrays if name not in ("meta", *later))
    return write(path, arrays, meta)
