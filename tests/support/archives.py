"""NPZ archives taken apart and put together: members from other files, values of their JSON exchanged."""

import io
import json
import zipfile

import numpy as np

_ODD = (
    *(None, True, False, -1, 0, 1, 2, 3, 7, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308, 1e-320, np.nan, np.inf),
    *("", "x", "l2", "auto", "\ud800", "é" * 40, [], [[]], [0], {}, {"a": 1}, ["a", "b", "c"]),
)
_TYPES = ("<f8", "<f4", "<i8", "|b1", ">f8", "<i4", "|u1")
_NUMBERS = (0, -1, 1, 127, 1e9, 1e308, -1e308, 1e-320, 0.5, np.nan, np.inf, -np.inf)
_HEADS = [
    *b"<f8 >f8 <f4 <f2 <c16 |O <U9 <U0 |S0 |V8 <M8[s] |b1 True False True False (8,) () (( '".split(),
    *(b"(-1, 3)", b"(0, 3)", b"(8, 0)", b"(99999999999, 3)", b"(4, 6)", b"(8, 3, 1)", b"(%d,)" % 10**30),
]


def members_of(data):
    """Return {name: bytes} of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def archive_of(members, how=zipfile.ZIP_STORED):
    """Return the bytes of an archive of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, how)
    return out.getvalue()


def npy(array):
    """Return the bytes of an array as an NPY file."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def header(kind, *shape):
    """Return the head of an NPY file that states a type and a shape."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": shape})
    return out.getvalue()


def with_head(data, rng):
    """Return an NPY file whose head states another type, order or shape, or is no head."""
    end = 10 + int.from_bytes(data[8:10], "little")
    head, rest = bytearray(data[10:end]), data[end:]
    what = _HEADS[rng.integers(len(_HEADS))]
    mark = b"'shape': " if what.startswith(b"(") else b"'descr': " if what[:1] in b"<>|" else b"fortran_order': "
    at = head.find(mark)
    if rng.random() < 0.1:
        head = bytearray(b"(" * int(rng.integers(1, 60_000)))
    elif at >= 0 and rng.random() < 0.9:
        stop = head.find(b"'", at + len(mark)) if mark != b"'descr': " else head.find(b",", at)
        stated = what if mark != b"'descr': " else b"'%s'" % what
        head[at + len(mark) : stop - (2 if mark == b"'shape': " else 0)] = stated
    elif len(head):
        at = int(rng.integers(len(head)))
        head[at : at + len(what)] = what
    return data[:8] + (len(head) % 2**16).to_bytes(2, "little") + bytes(head) + rest


def crossed(data, others, rng):
    """Return the archive with a member of another, an array of another shape, type or value, or without a member."""
    members = members_of(data)
    for _ in range(int(rng.integers(1, 3))):
        other = others[rng.integers(len(others))]
        name = _one(other, rng)
        here = _one(members, rng) if members else name
        kind = rng.integers(5)
        if kind == 0:
            members[name] = other[name]
        elif kind == 1:
            members[here] = other[name]
        elif kind == 2:
            members.pop(here, None)
        elif here.endswith(".npy") and here != "meta.npy":
            members[here] = npy(_changed(np.load(io.BytesIO(members[here])), rng))
    return archive_of(members)


def _changed(array, rng):
    kind = rng.integers(7)
    if kind == 0:
        return array[..., ::2] if array.ndim else array
    if kind == 1:
        return np.concatenate([array, array]) if array.ndim else array.reshape(1)
    if kind == 2:
        return array.T.copy()
    if kind == 3 and array.size:
        array = array.copy()
        if array.dtype.kind in "fiub":
            with np.errstate(all="ignore"):
                array.flat[rng.integers(array.size)] = np.array(rng.choice(_NUMBERS)).astype(array.dtype)
        return array
    if kind == 4:
        return np.zeros_like(array)
    if kind == 5:
        return array.astype(rng.choice(_TYPES)) if array.dtype.kind in "fiub" else array
    return array.reshape(-1) if rng.random() < 0.5 else array[None]


def with_json(data, member, rng):
    """Return the archive with a few values of a JSON member removed, replaced, repeated or exchanged."""
    members = members_of(data)
    text = np.load(io.BytesIO(members[member])).tobytes()
    members[member] = npy(np.frombuffer(changed_json(text, rng), np.uint8))
    return archive_of(members)


def changed_json(text, rng):
    """Return a JSON text with a few values changed, or, at times, a character of it; seldom one that is very deep."""
    if rng.random() < 0.02:
        return b"[" * 100_000
    if rng.random() < 0.1:
        letters = bytearray(text)
        letters[rng.integers(len(letters))] = rng.choice(list(b'{}[]",:0123456789eE.-+tfn\\u '))
        return bytes(letters)
    tree = json.loads(text)
    for _ in range(int(rng.integers(1, 4))):
        places = list(_places(tree))
        if not places:
            break
        where, key = places[rng.integers(len(places))]
        other, name = places[rng.integers(len(places))]
        kind = rng.integers(8)
        if kind == 0:
            del where[key]
        elif kind == 1:
            where[key] = json.loads(json.dumps(other[name]))
        elif kind == 2 and isinstance(where, list):
            where.insert(key, where[key])
        elif kind == 3 and isinstance(where[key], int | float):
            value = where[key]
            half = value / 2 if isinstance(value, float) else value // 2  # an integer may be too large for a float
            where[key] = (value + 1, value - 1, -value, value * 10, half)[rng.integers(5)]
        elif kind == 4 and isinstance(where[key], str):
            where[key] = where[key] + "x" if rng.random() < 0.5 else where[key][:-1]
        elif kind == 5 and isinstance(where, dict):
            where[f"{key}x" if rng.random() < 0.5 else name if isinstance(name, str) else "y"] = where.pop(key)
        else:
            where[key] = _ODD[rng.integers(len(_ODD))]
    return json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _places(tree):
    """Yield (container, key) of every value."""
    keys = tree.keys() if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in list(keys):
        yield tree, key
        yield from _places(tree[key])


def _one(members, rng):
    return list(members)[rng.integers(len(members))]
