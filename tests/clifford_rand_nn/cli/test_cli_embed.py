"""``clifford-rand embed``: texts of a table become a file that ``fit`` reads, and a stopped run goes on."""

import signal

import numpy as np
import pytest

import clifford_rand_nn.cli.embed as command
from clifford_rand_nn.cli.embed import read_text_table
from clifford_rand_nn.features.text_encoders import HashingEncoder
from support.command_line import run

pd = pytest.importorskip("pandas")

GOOD, BAD = ("good", "fine", "lovely", "warm"), ("bad", "dull", "weak", "cold")
TEXTS = [f"a {(GOOD, BAD)[i % 2][i // 2 % 4]} film about part {i // 5} of it" for i in range(40)]
OTHERS = [f"and {text}, they say" for text in TEXTS]
LABEL = ["good", "bad"] * 20


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"text": TEXTS, "other": OTHERS, "label": LABEL, "part": ["train"] * 30 + ["test"] * 10})
    frame.to_csv("t.csv", index=False)
    frame.assign(part=[True] * 30 + [False] * 10).to_parquet("t.parquet")
    np.savez("t.npz", text=TEXTS, other=OTHERS, label=LABEL, part=[1] * 30 + [0] * 10)
    return tmp_path


def embed(table, *arguments, code=0, encoder="hashing:256"):
    options = ("--text", "text", "--encoder", encoder, "--out", "o.npz", "--force")
    return run("embed", table, *options, *arguments, code=code)


def arrays():
    with np.load("o.npz", allow_pickle=False) as archive:
        return dict(archive)


@pytest.mark.parametrize("table", ["t.csv", "t.parquet", "t.npz"])
def test_a_table_becomes_features_that_fit_reads(folder, table):
    said = embed(table, "--target", "label", "--split", "part").stdout
    assert said.startswith("40 rows of 256 features, 0 of 40 unique texts from the cache, in ")
    assert said.endswith(": written to o.npz\n")
    assert said.count("\n") == 1
    found = arrays()
    assert sorted(found) == ["X", "encoder", "split", "y"]
    assert found["X"].dtype == np.float32
    np.testing.assert_array_equal(found["X"], HashingEncoder(256)(TEXTS))
    assert found["y"].tolist() == LABEL
    assert found["split"].tolist() == [True] * 30 + [False] * 10
    assert str(found["encoder"]) == HashingEncoder(256).cache_key
    options = ("--model", "gated", "--n-gates", "4", "--tol", "1e-3", "--beta", "1e-3", "--no-compare")
    fitted = run("fit o.npz --target y", *options).stdout
    assert "accuracy 1.0000 on the training set: no measure of quality" in fitted


def test_a_second_run_and_another_table_use_the_cache(folder):
    embed("t.csv")
    first = arrays()
    assert "40 of 40 unique texts from the cache" in embed("t.npz").stdout
    np.testing.assert_array_equal(arrays()["X"], first["X"])
    assert sorted(arrays()) == ["X", "encoder"]
    assert [path.name for path in folder.glob("embedding-cache/*")] == [
        path.name for path in folder.glob("embedding-cache/hashing-256-words-1-2-*.sqlite3")
    ]
    assert "0 of 40" in embed("t.csv", "--cache", "mine").stdout
    assert "0 of 40" in embed("t.csv", encoder="hashing:128").stdout


def test_two_columns_side_by_side_or_as_a_pair(folder):
    one, other = HashingEncoder(256)(TEXTS), HashingEncoder(256)(OTHERS)
    assert "0 of 80 unique texts" in embed("t.csv", "--text", "other").stdout
    np.testing.assert_array_equal(arrays()["X"], np.hstack([one, other]))
    assert "40 rows of 512 features, 80 of 80" in embed("t.csv", "--text", "other", "--pair").stdout
    np.testing.assert_array_equal(arrays()["X"], np.hstack([abs(one - other), one * other]))


def test_texts_stay_as_they_are_written(folder):
    (folder / "odd.csv").write_text('text,y\nNA,1.5\n007,2\n"two\nlines, really",3\n\ntrue,4\n 1e3 ,5\n')
    table = read_text_table("odd.csv", ["text"], target="y")
    assert table.texts == [["NA", "007", "two\nlines, really", "true", " 1e3 "]]
    assert table.target.tolist() == [1.5, 2, 3, 4, 5]
    embed("odd.csv", "--target", "y")
    np.testing.assert_array_equal(arrays()["X"], HashingEncoder(256)(table.texts[0]))


def test_a_table_of_another_encoding_without_names(folder):
    (folder / "other.csv").write_bytes("größer;1,5\nälter;2\n".encode("cp1252"))
    command = "embed other.csv --text c1 --encoder hashing:256 --out o.npz"
    assert "--encoding cp1252" in run(command, code=2).stderr
    run(command, "--target", "c2", "--encoding", "cp1252", "--no-header")
    np.testing.assert_array_equal(arrays()["X"], HashingEncoder(256)(["größer", "älter"]))
    assert arrays()["y"].tolist() == [1.5, 2.0]


class Slow:
    """An encoder that Ctrl-C or a fault of the server meets in its second batch."""

    cache_key = "slow"

    def __init__(self, do):
        self.calls, self.do = [], do

    def __call__(self, texts):
        self.calls.append(texts)
        if len(self.calls) == 2:
            self.do()
        return [[float(len(text)), 1.0] for text in texts]


def fault():
    raise ConnectionError("the server answers 500")


def test_a_run_that_stops_says_what_is_stored_and_the_same_command_goes_on(folder, monkeypatch):
    slow = Slow(lambda: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(command, "make_encoder", lambda name: slow)
    result = embed("t.csv", "--batch-size", "7", code=130)
    stored = f"14 of 40 unique texts are stored in {folder / 'embedding-cache'}; the same command resumes from there."
    assert result.stderr == f"interrupted: {stored}\n"
    assert not (folder / "o.npz").exists()
    assert "14 of 40 unique texts from the cache" in embed("t.csv", "--batch-size", "7").stdout
    assert [text for call in slow.calls for text in call] == TEXTS  # none twice
    np.testing.assert_array_equal(arrays()["X"], [[len(text), 1] for text in TEXTS])
    slow = Slow(fault)
    lines = embed("t.csv", "--batch-size", "7", "--cache", "other", code=2).stderr.splitlines()
    assert lines[0].startswith("note: 7 of 40 unique texts are stored in ")
    assert lines[1:] == ["error: the server answers 500"]
    assert "7 of 40 unique texts from the cache" in embed("t.csv", "--batch-size", "7", "--cache", "other").stdout


def test_a_write_that_fails_leaves_the_old_file(folder, monkeypatch):
    embed("t.csv")
    before = (folder / "o.npz").read_bytes()

    def full(stream, **_):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    assert embed("t.csv", "--target", "label", code=2).stderr == "error: o.npz: No space left on device\n"
    assert (folder / "o.npz").read_bytes() == before
    assert not list(folder.glob(".*"))
