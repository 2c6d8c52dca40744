"""Names, classes and cells of tables and model files never control a terminal, nor break exported source."""

import ast
import functools
import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from clifford_rand.errors import printable
from clifford_rand_nn import ConvexNetworkClassifier, explain, save_model, table_model
from clifford_rand_nn.cli.app import app
from clifford_rand_nn.cli.predict import _is_formula
from clifford_rand_nn.tables import writers

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

EVIL = "\x1b[2J\x9b3J\u202e\x00\u2028\r\x07"  # escape sequences, a mark of direction, NUL, line ends, bell
COMMANDS = (
    "info MODEL",
    "info MODEL --json",
    "predict MODEL TABLE --id ID",
    "explain MODEL",
    "explain MODEL TABLE --row 1",
    "explain MODEL TABLE --row 1 --json",
    "evaluate MODEL TABLE --target TARGET",
    "evaluate MODEL TABLE --target TARGET --json",
    "fit TABLE --target TARGET --report PAGE",
    "fit TABLE --target TARGET --json --no-compare",
    "fit TABLE --target MISSING",
    "path TABLE --target TARGET",
    "export MODEL --out SOURCE",
)


def evil_table(n=30):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    words = rng.choice([f"u{EVIL}", "v"], n)
    return pd.DataFrame({f"city{EVIL}": words, f"x{EVIL}": x, f"y{EVIL}": np.where(x > 0, f"=cmd(){EVIL}", "ok")})


@pytest.fixture(scope="module")
def model():
    return table_model(evil_table(), f"y{EVIL}", estimator=ConvexNetworkClassifier(max_metric_iter=0, loss="squared"))


@pytest.fixture(scope="module")
def files(tmp_path_factory, model):
    folder = tmp_path_factory.mktemp("evil")
    save_model(model, folder / "m.npz")
    evil_table().to_parquet(folder / "t.parquet")
    names = {"MODEL": "m.npz", "TABLE": "t.parquet", "SOURCE": "s.py", "PAGE": "page.html"}
    paths = {key: str(folder / name) for key, name in names.items()}
    return paths | {"TARGET": f"y{EVIL}", "ID": f"x{EVIL}", "MISSING": EVIL}


def places(value, path=()):
    """Return the paths of all entries of what JSON can hold; of lists those of the first entry."""
    if not isinstance(value, dict | list):
        return [path]
    pairs = value.items() if isinstance(value, dict) else list(enumerate(value))[:1]
    return [path] * bool(path) + [below for key, entry in pairs for below in places(entry, (*path, key))]


@pytest.mark.slow
@pytest.mark.parametrize("odds", [[None], [EVIL, -1, []], ["lost"]], ids=repr)
def test_info_shows_or_refuses_the_other_contents_of_a_model_file(odds, files, tmp_path):
    """It ended with KeyError, ValueError or StopIteration where the model could be read, but not what is beside it."""
    arrays = dict(np.load(files["MODEL"]))
    text = arrays["meta"].tobytes().decode()
    for (*above, last), odd in zip(places(json.loads(text)), itertools.cycle(odds), strict=False):
        meta = json.loads(text)
        held = functools.reduce(lambda entry, key: entry[key], above, meta)
        if odd == "lost":
            del held[last]
        else:
            held[last] = odd
        np.savez(tmp_path / "m.npz", **arrays | {"meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)})
        done = CliRunner().invoke(app, ["info", str(tmp_path / "m.npz")])
        assert isinstance(done.exception, SystemExit | None), (above, last, done.exception)
        assert done.output.replace("\n", "").isprintable()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_print_no_control_characters(command, files):
    if "--report" in command:
        pytest.importorskip("matplotlib")
        pytest.importorskip("jinja2")
    done = CliRunner().invoke(app, [files.get(word, word) for word in command.split()])
    assert done.exit_code == (2 if "MISSING" in command else 0), done.output
    if "predict" in command:
        assert "formula" in done.stderr
        return  # of a pipe, as here; see the test of terminals
    printed = done.stdout + done.stderr
    assert [char for char in printed if not (char.isprintable() or char == "\n")] == []
    if "--report" in command:
        text = Path(files["PAGE"]).read_text(encoding="utf-8").replace("\n", " ").replace("\xa0", " ")
        assert sorted({char for char in text if not char.isprintable()}) == []
        assert "x\\x1b[2J" in text
    if "--json" in command:
        assert json.loads(done.stdout)
    elif not command.startswith(("path", "export")):  # which print no names
        assert "[2J" in printed


def test_predictions_on_a_terminal_are_escaped(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with writers.written_columns(None) as write:
        write({"prediction": np.array([f"a{EVIL}", "b"], dtype=object)})
    printed = capsys.readouterr().out
    assert all(char.isprintable() or char == "\n" for char in printed)
    assert "a\\x1b[2J" in printed
    assert printed.splitlines()[-1].strip('"') == "b"


def test_explanations_notes_and_source_are_escaped(model):
    rows = evil_table().drop(columns=f"y{EVIL}")
    for text in (str(explain(model)), str(explain(model, rows[:2]))):
        assert "city\\x1b[2J" in text
        assert all(char.isprintable() or char == "\n" for char in text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(rows.assign(**{f"city{EVIL}": f"new{EVIL}"}))
    assert caught
    assert all(str(warning.message).isprintable() for warning in caught)
    ast.parse(model[-1].to_source())


@pytest.mark.parametrize(
    ("formula", "labels"), [(True, ("=1+1", "+x", "-x", "@sum", "\tx")), (False, ("-1", "+2.5e3", "ok", -1, True))]
)
def test_classes_that_spreadsheets_take_for_formulas(formula, labels):
    assert {_is_formula(label) for label in labels} == {formula}


@pytest.mark.parametrize(
    ("text", "line"),
    [("é × 😀", "é × 😀"), ("a\nb", "a b"), ("\x1b[2J", "\\x1b[2J"), ("\ud800", "\\ud800"), ("\u202e", "\\u202e")],
)
def test_printable(text, line):
    assert printable(text) == line
