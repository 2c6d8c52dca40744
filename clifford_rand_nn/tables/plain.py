"""TableEncoder as arrays of numbers and plain values, as a model file holds it, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.tables.kinds import KINDS, ColumnKind
from clifford_rand_nn.tables.notes import column_names
from clifford_rand_nn.tables.readers import NUMBER, TEXT, TRUTH, WORD, reader_of
from clifford_rand_nn.tables.steps import Categories, Steps, families

_VERSION = 1
_LISTS = ("numeric", "categorical", "boolean", "textual", "leave_out")


def encoder_to_plain(encoder: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what a fitted `TableEncoder` learned: numbers as arrays, the rest as JSON can hold it."""
    params = encoder.get_params(deep=False)
    dates = params["dates"]
    params |= {name: column_names(params[name]) for name in _LISTS}
    params["dates"] = dict(dates) if isinstance(dates, Mapping) else column_names(dates)
    steps = encoder._steps
    arrays = {
        "fill": np.array(list(steps.fill.values()), dtype=np.float64),
        "truths": np.array(list(steps.truths.values()), dtype=np.float64),
    }
    meta = {
        "version": _VERSION,
        "params": params,
        "named": hasattr(encoder, "feature_names_in_"),
        "columns": [asdict(kind) for kind in encoder.columns_],
        "readers": [reader.plain() for reader in encoder._readers],
        "marked": list(steps.marked),
        "whole": list(steps.whole),
        "categories": {
            name: {"words": list(one.words), "rare": list(one.rare)} for name, one in steps.categories.items()
        },
        "text_features": steps.text_features,
    }
    return arrays, meta


def encoder_from_plain(encoder: Any, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Any:
    """Set what `encoder_to_plain` returned; ValueError, LookupError or TypeError where parts do not fit."""
    _agree(meta["version"] == _VERSION, "the table's encoder is of a later version")
    encoder.set_params(**meta["params"])
    kinds = tuple(ColumnKind(**one) for one in meta["columns"])
    readers = tuple(reader_of(one) for one in meta["readers"])
    names = [kind.name for kind in kinds]
    _agree(len(set(names)) == len(names) and all(kind.kind in KINDS for kind in kinds))
    _agree([(kind.name, kind.kind) for kind in kinds if kind.kind != "left out"] == [(r.name, r.kind) for r in readers])
    family, origin = families(readers)
    of = {kind: [name for name, its in family.items() if its == kind] for kind in (NUMBER, TRUTH, WORD, TEXT)}
    values = [np.asarray(arrays[name], dtype=np.float64) for name in ("fill", "truths")]
    _agree(all(one.ndim == 1 and np.isfinite(one).all() for one in values))
    fill, truths = (dict(zip(of[k], one.tolist(), strict=True)) for k, one in zip((NUMBER, TRUTH), values, strict=True))
    categories = {}
    for name in of[WORD]:
        one = meta["categories"][name]
        words, rare = tuple(one["words"]), tuple(one["rare"])
        _agree(bool(words) and len(words) == len(rare) == len(set(words)))
        _agree(all(word is None or isinstance(word, str) for word in words) and all(type(r) is bool for r in rare))
        categories[name] = Categories(words, rare)
    marked, whole = tuple(meta["marked"]), tuple(meta["whole"])
    _agree(set(marked) | set(whole) <= {*of[NUMBER], *of[TRUTH]})
    features = meta["text_features"]
    _agree(type(features) is int and 0 < features < 2**20)
    steps = Steps(origin, fill, truths, marked, whole, categories, tuple(of[TEXT]), features)
    encoder._learn(kinds, readers, (steps, steps.transformer(readers)), bool(meta["named"]))
    return encoder


def _agree(fits: bool, what: str = "parts of the table's encoder do not fit each other") -> None:
    if not fits:
        raise ValueError(what)
