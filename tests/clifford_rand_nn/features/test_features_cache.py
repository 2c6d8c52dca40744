"""The store of features: what is put is there, whatever kills the process, and every fault of the file is told."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.features import cache as cache_module
from clifford_rand_nn.features.cache import FeatureCache, content_hash
from support.damage import damaged_cache

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
DAMAGED = r"key-.*\.sqlite3: this cache is damaged .*; move it away and run again"
HASHES = [content_hash(f"text {i}") for i in range(1200)]  # more than one query asks for


def vectors_of(numbers, k=5):
    return np.outer(np.asarray(numbers) + 1, np.arange(1, k + 1)).astype(np.float32) / 7


def test_what_is_put_is_found_again_in_the_order_that_is_asked(tmp_path):
    cache = FeatureCache(tmp_path / "c", "key")
    assert (len(cache), cache.dim, cache.missing(HASHES)) == (0, None, HASHES)
    cache.put(HASHES, vectors_of(range(1200)))
    again = FeatureCache(tmp_path / "c", "key")
    assert (len(again), again.dim) == (1200, 5)
    order = np.random.default_rng(0).permutation(1200)
    found = again.get([HASHES[i] for i in order])
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, vectors_of(order))
    assert again.missing([*HASHES, content_hash("new")]) == [content_hash("new")]


def test_keys_are_kept_apart_in_files_that_name_them(tmp_path):
    one, other = FeatureCache(tmp_path, "model/a, dim 3"), FeatureCache(tmp_path, "model/a, dim 5")
    one.put(HASHES[:2], vectors_of([0, 1], 3))
    other.put(HASHES[:1], vectors_of([9], 5))
    assert (len(one), len(other)) == (2, 1)
    assert one.path.name.startswith("model-a-dim-3-")
    assert one.path.suffix == ".sqlite3"
    assert sorted(tmp_path.iterdir()) == sorted([one.path, other.path])  # one file each, nothing beside


def test_a_vector_that_is_there_is_left_as_it_is(tmp_path):
    cache = FeatureCache(tmp_path, "key")
    cache.put(HASHES[:1], vectors_of([0]))
    cache.put(HASHES[:2], vectors_of([5, 6]))
    np.testing.assert_array_equal(cache.get(HASHES[:2]), vectors_of([0, 6]))


def test_what_is_put_is_checked_and_all_or_nothing(tmp_path):
    cache = FeatureCache(tmp_path, "key")
    cache.put(HASHES[:1], vectors_of([0]))
    with pytest.raises(ArgumentError, match=r"must be of the 5 numbers that the others in .* have. Got vectors of 4"):
        cache.put(HASHES[1:3], vectors_of([1, 2], 4))
    with pytest.raises(ArgumentError, match=r"an array \(2, k\): one vector for each hash. Got shape \(3, 5\)"):
        cache.put(HASHES[1:3], vectors_of([1, 2, 3]))
    with pytest.raises(ArgumentError, match=r"'vectors' parameter of FeatureCache.put must be finite. Got 1 NaN"):
        cache.put(HASHES[1:2], [[1, 2, 3, 4, np.nan]])
    for ask in (cache.get, cache.missing, lambda hashes: cache.put([HASHES[1], *hashes], vectors_of([1, 2]))):
        with pytest.raises(ArgumentError, match=r"must be hashes of content_hash\. Got 'text 2'"):
            ask(["text 2"])
    assert len(cache) == 1
    with pytest.raises(ArgumentError, match=f"hashes that are stored\\. Got '{HASHES[4].hex()}'"):
        cache.get(HASHES[4:5])


def test_faults_of_key_folder_and_file(tmp_path):
    with pytest.raises(ArgumentError, match=r"a text that names the encoder and its settings\. Got ' ' instead"):
        FeatureCache(tmp_path, " ")
    with pytest.raises(FileNotFoundError):
        FeatureCache(tmp_path / "no" / "folder", "key")
    cache = FeatureCache(tmp_path, "key")
    cache.path.write_bytes(b"something else, longer than a header of a hundred bytes" * 9)
    with pytest.raises(ArgumentError, match=DAMAGED):
        FeatureCache(tmp_path, "key")
    cache.path.unlink()
    cache.path.mkdir()
    with pytest.raises(OSError, match=r"key-.*\.sqlite3: the cache cannot be read or written: unable to open"):
        FeatureCache(tmp_path, "key")
    cache.path.rmdir()
    FeatureCache(tmp_path, "key").put(HASHES[:1], vectors_of([0]))
    _changed(cache, "PRAGMA user_version = 7")
    with pytest.raises(ArgumentError, match=r"this cache has format 7, not 2; use another folder"):
        FeatureCache(tmp_path, "key")


def test_a_cache_without_checksums_gets_them(tmp_path):
    cache = FeatureCache(tmp_path, "key")
    cache.path.unlink()
    with closing(sqlite3.connect(cache.path)) as file:  # as version 1 wrote it
        file.executescript(
            "CREATE TABLE about (name TEXT PRIMARY KEY, value); PRAGMA user_version = 1;"
            "CREATE TABLE vectors (hash BLOB PRIMARY KEY, vector BLOB NOT NULL);"
            "INSERT INTO about VALUES ('key', 'key'), ('dim', 5)"
        )
        file.executemany("INSERT INTO vectors VALUES (?, ?)", [(HASHES[i], vectors_of([i]).tobytes()) for i in (0, 1)])
        file.commit()
    again = FeatureCache(tmp_path, "key")
    again.put(HASHES[2:3], vectors_of([2]))
    np.testing.assert_array_equal(FeatureCache(tmp_path, "key").get(HASHES[:3]), vectors_of([0, 1, 2]))
    _changed(again, "UPDATE vectors SET vector = zeroblob(20) WHERE hash = ?", HASHES[0])
    with pytest.raises(ArgumentError, match="is not the one that was stored"):
        again.get(HASHES[:1])


def _changed(cache, statement, *values):
    with sqlite3.connect(cache.path) as file:
        file.execute(statement, values)
    file.close()


@pytest.mark.parametrize(
    "statements",
    [
        f"UPDATE vectors SET vector = x'{vectors_of([3]).tobytes().hex()}'",  # of the right length
        "UPDATE vectors SET vector = 'text'",
        "UPDATE vectors SET vector = x'00'",
        "UPDATE vectors SET sum = 'text'",
        "UPDATE about SET value = 'five' WHERE name = 'dim'",
        "UPDATE about SET value = 1000000000000 WHERE name = 'dim'",
        "UPDATE about SET value = 'other' WHERE name = 'key'",
        "DROP TABLE about",
        "ALTER TABLE vectors RENAME COLUMN sum TO summe",
        "PRAGMA user_version = 1",
        f"DROP TABLE vectors; CREATE VIEW vectors AS {ENDLESS}",
        f"DROP TABLE about; CREATE VIEW about AS {ENDLESS}",
        f"CREATE TRIGGER t BEFORE INSERT ON vectors BEGIN SELECT * FROM ({ENDLESS}); END",
        "CREATE TABLE other (x)",
        "ALTER TABLE vectors ADD COLUMN more BLOB AS (hash || vector)",
        "CREATE INDEX i ON vectors (vector)",
    ],
)
def test_no_vector_comes_back_wrong_and_nothing_of_another_schema_runs(tmp_path, statements):
    cache = FeatureCache(tmp_path, "key")
    cache.put(HASHES[:2], vectors_of([0, 1]))
    with closing(sqlite3.connect(cache.path)) as file:
        file.executescript(statements)
    with pytest.raises(ArgumentError, match=DAMAGED):
        FeatureCache(tmp_path, "key").get(HASHES[:2])


def test_damaged_caches_give_what_was_put_or_one_error(tmp_path):
    outcomes = {damaged_cache(tmp_path / f"{i}", np.random.default_rng(i)) for i in range(30)}
    assert outcomes == {"refused", "right"}
    quoted = np.random.default_rng([5, 573])  # SQLite quotes bytes that are no UTF-8, and Python raises on its message
    quoted.integers(10)
    assert damaged_cache(tmp_path / "quoted", quoted) == "refused"


def test_hashes_tell_texts_shapes_and_types_apart():
    things = ["", "a", "A", "ä", "\ud800", "[0.]", np.zeros(4), np.zeros((2, 2)), np.zeros(4, dtype=np.float32)]
    things += [np.zeros(4, dtype=np.int64), np.zeros(0), np.zeros((0, 3))]
    assert len({content_hash(thing) for thing in things}) == len(things)
    square = np.arange(6.0).reshape(2, 3)
    assert content_hash(square.T) == content_hash(square.T.copy())  # content, not memory
    assert content_hash(square.T) != content_hash(square)
    for wrong in (3, None, ["a"], np.array(["a"]), np.array([None])):
        with pytest.raises(ArgumentError, match="must be a text or a NumPy array of numbers"):
            content_hash(wrong)


WRITER = """
import sys, numpy as np
from clifford_rand_nn.features.cache import FeatureCache, content_hash
folder, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
cache = FeatureCache(folder, "key")
print("ready", flush=True)
for start in range(first, last, 50):
    rows = range(start, start + 50)
    cache.put([content_hash(f"text {i}") for i in rows], np.outer(np.array(rows) + 1.0, np.ones(2000)))
    print(start + 50, flush=True)
"""


def writer(folder, first, last):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    arguments = [sys.executable, "-c", WRITER, str(folder), str(first), str(last)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a kill that cannot be caught")
def test_a_kill_in_the_middle_of_writing_loses_no_finished_batch_and_keeps_no_half_one(tmp_path):
    told = 0
    for trial in range(4):  # each goes on where the file is; the pause lets the kill fall anywhere in a batch
        process = writer(tmp_path, told, 10**6)
        assert process.stdout.readline() == "ready\n"
        lines = [int(process.stdout.readline()) for _ in range(3)]
        time.sleep(0.003 * trial)
        process.kill()
        lines += [int(line) for line in process.stdout.read().split("\n")[:-1]]
        process.wait()
        process.stdout.close()
        cache = FeatureCache(tmp_path, "key")
        assert len(cache) % 50 == 0
        assert len(cache) - max(lines) in (0, 50)  # the one that was stored and not told yet
        told = len(cache)
        rows = cache.get([content_hash(f"text {i}") for i in range(told)])
        np.testing.assert_array_equal(rows, np.outer(np.arange(told) + 1, np.ones(2000)))


@pytest.mark.slow
def test_processes_write_to_one_cache_at_once(tmp_path):
    processes = [writer(tmp_path, first, first + 500) for first in (0, 300, 600)]  # overlapping, and none exists yet
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0]
    cache = FeatureCache(tmp_path, "key")
    assert len(cache) == 1100
    rows = cache.get([content_hash(f"text {i}") for i in range(1100)])
    np.testing.assert_array_equal(rows[:, 0], np.arange(1100) + 1)


def test_ctrl_c_ends_a_long_query(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_module, "_go_on", lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), FeatureCache(tmp_path, "key")._open() as file:
        file.execute(f"SELECT count(*) FROM ({ENDLESS})").fetchone()
