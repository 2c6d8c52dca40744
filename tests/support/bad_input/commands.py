"""Rows for the command line: every option of every command with odd values, and odd files in place of every file."""

import gzip
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from support.bad_input.trial import Row

# all patterns of 60 rows are as many gates as were asked for, and many values of beta: for some seconds
_FEW = ["--model", "gated", "--n-gates", "3", "--tol", "1e-1", "--max-time", "4", "--no-compare"]
# of every command arguments that work; files come first
GOOD = {
    "fit": ["train.csv", "--target", "kind", "--out", "made.npz", "--force", *_FEW],
    "predict": ["model.npz", "new.csv", "--out", "predicted.csv", "--force"],
    "evaluate": ["model.npz", "train.csv", "--target", "kind"],
    "path": ["train.csv", "--target", "kind"],
    "explain": ["model.npz", "new.csv"],
    "export": ["model.npz", "--out", "exported.py", "--force"],
    "prove": ["model.npz", "train.csv", "--target", "kind", "--out", "proof.json", "--force"],
    "check": ["good.json"],
    "info": ["model.npz"],
    "demo": [],
    "embed": ["texts.csv", "--text", "words", "--encoder", "hashing:16", "--out", "embedded.npz", "--force"],
}
SLOW = {"demo"}  # only what is refused is tried: the whole takes a minute
VALUES = {
    "empty": "", "a word": "no such word", "not a number": "nan", "infinity": "inf", "minus one": "-1", "zero": "0",
    "a half": "0.5", "beyond float": "1e400", "beyond int64": "9" * 30, "very long": "w" * 5000, "signs": "§💥\u202e",
    "a folder": "/", "not there": "/no/such/folder/file.csv", "no regular file": "/dev/null",
    "an option": "--help-me", "a list": "a,b,,", "code": "__import__('os')",
}  # fmt: skip


def _write_files():
    """Write good files and odd ones into a folder of their own, and go there."""
    import clifford_rand_nn as nn

    folder = Path(tempfile.mkdtemp(prefix="bad-input-"))
    os.chdir(folder)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    kind = np.where(X[:, 0] > 0, "high", "low")
    lines = [f"{a:.4f},{b:.4f},{k}" for (a, b), k in zip(X, kind, strict=True)]
    table = "a,b,kind\n" + "\n".join(lines) + "\n"
    files = {
        "train.csv": table,
        "new.csv": "a,b\n" + "\n".join(line.rpartition(",")[0] for line in lines[:5]) + "\n",
        "texts.csv": "words,kind\ngood and dear,1\nbad and cheap,0\nneither,1\n",
    }
    odd = {
        "empty.csv": "",
        "spaces.csv": "  \n\n  \n",
        "header.csv": "a,b,kind\n",
        "one row.csv": "a,b,kind\n1,2,high\n",
        "two rows.csv": "a,b,kind\n1,2,high\n2,3,low\n",
        "one class.csv": "a,b,kind\n" + "1,2,high\n3,1,high\n" * 10,
        "one column.csv": "kind\n" + "high\nlow\n" * 10,
        "ragged.csv": "a,b,kind\n1,2,high\n1,2\n1,2,low,4,5\n",
        "twice the name.csv": "a,a,kind\n" + "1,2,high\n2,1,low\n" * 9,
        "no names.csv": ",,\n" + "1,2,high\n2,1,low\n" * 9,
        "NaN.csv": "a,b,kind\n" + "nan,nan,high\nnan,nan,low\n" * 9,
        "infinite.csv": "a,b,kind\n" + "inf,-inf,high\n1e999,2,low\n" * 9,
        "huge.csv": "a,b,kind\n" + "1e300,1e-300,high\n-1e300,2e-300,low\n3e299,1e-301,low\n" * 9,
        "constant.csv": "a,b,kind\n" + "1,1,high\n1,1,low\n" * 9,
        "text.csv": "a,b,kind\n" + "one,two,high\nthree,four,low\n" * 9,
        "target is gone.csv": "a,b,kind\n" + "1,2,\n2,1,\n" * 9,
        "an open quote.csv": 'a,b,kind\n1,"2,high\n3,4,low\n',
        "a long cell.csv": "a,b,kind\n" + "1," + "9" * 300000 + ",high\n2,3,low\n" * 5,
        "a long line.csv": ",".join(f"c{i}" for i in range(3000)) + "\n" + ",".join("1" * 3000) + "\n",
        "page.csv": "<html><body><p>not found</p></body></html>\n",
        "deep.json": "[" * 5000,
        "words.npz": table,
        "words.parquet": table,
        "words.arff": table,
        "half.arff": "@relation r\n@attribute a numeric\n@data\n",
        "words.csv.gz": table,
        "table.xlsx": table,
    }
    for name, text in (files | odd).items():
        Path(name).write_text(text, encoding="utf-8")
    Path("binary.csv").write_bytes(rng.bytes(3000))
    Path("nulls.csv").write_bytes(table.encode().replace(b",", b"\0"))
    Path("UTF-16.csv").write_bytes(table.encode("utf-16"))
    Path("half of UTF-16.csv").write_bytes(table.encode("utf-16")[:101])
    Path("cp1252.csv").write_bytes("a,b,größe\n1,2,weiß\n2,1,rot\n".encode("cp1252"))
    Path("cut.csv.gz").write_bytes(gzip.compress(table.encode())[:60])
    np.savez("objects.npz", X=np.array([[None, 1], [2, 3]], object), y=np.array([0, 1]))
    np.savez("no arrays.npz")
    np.savez("no y.npz", X=X)
    np.savez("short y.npz", X=X, y=kind[:5])
    np.savez("three axes.npz", X=X[None], y=kind)
    np.savez("complex.npz", X=X + 1j, y=kind)
    np.savez("NaN.npz", X=X * np.nan, y=kind)
    np.savez("huge.npz", X=X * 1e300, y=kind)
    np.savez("good.npz", X=X, y=kind)
    Path("cut.npz").write_bytes(Path("good.npz").read_bytes()[:200])
    Path("a folder.csv").mkdir()
    frame, estimator = nn.read_frame("train.csv"), nn.GatedReLUClassifier(n_gates=3, random_state=0)
    model = nn.table_model(frame, "kind", estimator=estimator)
    nn.save_model(model, "model.npz")
    X, kinds = model[:-1].transform(frame.drop(columns="kind")), frame["kind"]
    model[-1].certificate_.export("good.json", np.asarray(X), kinds.to_numpy())
    Path("cut model.npz").write_bytes(Path("model.npz").read_bytes()[:-300])
    made = {*files, "model.npz", "good.json"}
    return made, [*sorted(one.name for one in folder.iterdir() if one.name not in made), "missing.csv"]


@cache
def files():
    """Return (good files, odd files); they are written where this is first asked."""
    return _write_files()


ODD_FILES = 43  # of the latter, known before they are written: a row names one by its number


@cache
def options(command):
    """Return {option: True for a flag} of a command, as typer declares them."""
    import typer

    from clifford_rand_nn.cli.app import app

    found = {}
    for parameter in typer.main.get_command(app).commands[command].params:
        if parameter.param_type_name == "option" and parameter.name != "help":
            found[parameter.opts[0]] = bool(getattr(parameter, "is_flag", False))
    return found


def rows(command):
    found = [] if command in SLOW else [Row(f"command {command}", 0, None, "as it is", "good")]
    for option, flag in options(command).items():
        for odd in ["a word"] if flag else VALUES:
            if command in SLOW and (odd in ("zero", "beyond int64") or option == "--out"):
                continue  # a seed, or a folder: the demo would run
            found.append(Row(f"command {command}", 0, option, odd, "right"))
    places = [i for i, word in enumerate(GOOD[command]) if i < 2 and "." in word and not word.startswith("-")]
    for place in places:
        found += [Row(f"command {command}", 0, place, f"file {number}", "right") for number in range(ODD_FILES)]
    for odd, more in (("an unknown option", ["--no-such"]), ("one argument more", ["more.csv", "more.csv"])):
        found.append(Row(f"command {command}", 0, "…", f"{odd}: {' '.join(more)}", "refused"))
    return found


def fault(row):
    """Run a command in this process; return what is wrong with how it ends, or None."""
    command = row.name.removeprefix("command ")
    good, odd_files = files()
    arguments = [command, *GOOD[command]]
    if row.place == "…":
        arguments += row.odd.partition(": ")[2].split()
    elif isinstance(row.place, str):
        flag = options(command)[row.place]
        arguments += [f"{row.place}={VALUES[row.odd]}"] if flag else [row.place, VALUES[row.odd]]
    elif row.place is not None:
        number = int(row.odd.split()[1])
        if number >= len(odd_files):
            return "does not apply"
        arguments[1 + row.place] = odd_files[number]
    before = {name: hashlib.sha256(Path(name).read_bytes()).digest() for name in good}
    said = _run(arguments)
    if {name: hashlib.sha256(Path(name).read_bytes()).digest() for name in good} != before:
        return "an input was changed"
    if row.place is None and said[0] != 0:
        return f"the good command fails: {said[1][-300:]}"
    if row.expected == "refused" and said[0] == 0:
        return "taken"
    wrong = _ended_badly(*said)
    if wrong and row.place is not None and not isinstance(row.place, str):
        wrong = f"{arguments[1 + row.place]}: {wrong}"
    return wrong


def _run(arguments):
    from typer.testing import CliRunner

    from clifford_rand_nn.cli.app import app

    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})
    raised = result.exception if not isinstance(result.exception, SystemExit) else None
    return result.exit_code, result.stderr, result.stdout, raised


def _ended_badly(code, stderr, stdout, raised):
    if raised is not None:
        return f"raw {type(raised).__name__}: {str(raised)[:300]}"
    if "Traceback" in stderr or "Traceback" in stdout:
        return f"a traceback: {stderr[-300:]}"
    lines = [line for line in stderr.splitlines() if line.strip()]
    if code not in (0, 1, 2):
        return f"exit code {code}: {stderr[-200:]}"
    if code and not lines and not stdout:
        return f"exit code {code} without a word"
    told = lines and (lines[-1].startswith(("error: ", "not valid: ")) or any("Error" in line for line in lines))
    if code and not told:
        return f"exit code {code} without a sentence: {stderr[-200:]!r} {stdout[-100:]!r}"
    errors = [line for line in lines if line.startswith("error: ")]
    if len(errors) > 1 or len(lines) > 40 or max(map(len, lines), default=0) > 2000:
        return f"{len(lines)} lines on stderr, the longest of {max(map(len, lines))} characters"
    return None
