"""Arguments of the command line: lists of words for every command, in a folder with small files."""

import contextlib
import io
import os
import shutil
import sys
import warnings

import numpy as np

from clifford_rand_nn import GatedReLUClassifier, save_model
from clifford_rand_nn.cli.app import app
from fuzz.target import Target

COUNTED = ("clifford_rand_nn.cli", "typer", "click")
_SEEDS = (
    "fit t.csv --target y --out m2.npz --max-time 1",
    "fit t.csv --target y --model gated --beta 0.01 --out m2.npz",
    "predict m.npz new.csv --out p.csv",
    "evaluate m.npz t.csv --target y",
    "path t.csv --target y --out path.csv",
    "info m.npz",
    "explain m.npz t.csv",
    "export m.npz --out m.py",
    "--version",
    "fit --help",
)
_TEXT = """
t.csv new.csv m.npz p.csv none.csv . - -- y a Y é a,b a=b = %d 0 1 -1 2.5 1e999 nan inf -inf 1e-320 0x1 True none auto
99999999999999999999 --target --out --beta --seed --max-time --model --loss --sample-weight --columns --groups
--separator
--decimal --encoding --no-header --threads --verbose --quiet --help -h -x --tol --gates --penalty --bias --date --text
--categorical --target= --beta=x --what
"""
_WORDS = [*_TEXT.split(), "", "\x00"]
_MOST = 14  # words


class Arguments(Target):
    """Every list of words is a command that does its work, or is refused by few lines and a status of 1 or 2."""

    refusals = ()
    random = 0.0  # words, not bytes: a path from libFuzzer might leave the folder
    seconds = 10.0
    constant = 2**27

    def prepare(self, folder):
        super().prepare(folder)
        rng = np.random.default_rng(0)
        X = rng.standard_normal((16, 2)).round(2)
        y = (X[:, 0] > 0).astype(int)
        self.files = folder / "files"
        self.files.mkdir()
        rows = "\n".join(f"{a},{b},{c}" for (a, b), c in zip(X, y, strict=True))
        (self.files / "t.csv").write_text(f"a,b,y\n{rows}\n")
        (self.files / "new.csv").write_text("a,b\n1,2\n-1,0\n")
        model = GatedReLUClassifier(3, beta=1e-2, tol=1e-2, random_state=0).fit(X, y)
        model.feature_names_in_ = np.array(["a", "b"], dtype=object)
        save_model(model, self.files / "m.npz")

    def seeds(self):
        return [text.replace(" ", "\n").encode() for text in _SEEDS]

    def mutated(self, data, rng):
        words = bytes(data).decode("utf-8", "replace").split("\n")
        if not words[0] or rng.random() < 0.3:
            words = _SEEDS[rng.integers(len(_SEEDS))].split()
        for _ in range(int(rng.integers(1, 4))):
            at, kind = int(rng.integers(len(words) + 1)), rng.integers(5)
            if kind == 0 and at < len(words):
                del words[at]
            elif kind == 1 and at < len(words):
                words[at] = _WORDS[rng.integers(len(_WORDS))]
            elif kind == 2 and at < len(words) and words[at]:
                place = int(rng.integers(len(words[at])))
                words[at] = words[at][:place] + str(rng.choice(list("a-=0.,9 \té"))) + words[at][place + 1 :]
            else:
                words.insert(at, _WORDS[rng.integers(len(_WORDS))])
        return "\n".join(words[:_MOST]).encode(), None

    def run(self, data, known):
        words = data.decode("utf-8", "replace").split("\n")
        if any("/" in word or ".." in word or word.startswith("~") for word in words) or words[0] in ("embed", "demo"):
            return "no input"  # nothing outside the folder is written, and nothing fetched
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.files, place)
        said, before = io.StringIO(), sys.argv
        os.chdir(place)
        try:
            out = io.TextIOWrapper(io.BytesIO())  # with a buffer, as that of a process
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sys.argv = ["clifford-rand", *words]
                try:
                    app(words)
                    status = 0
                except SystemExit as end:
                    status = end.code or 0
        finally:
            sys.argv = before
            os.chdir(self.folder)
        told = said.getvalue()
        if status not in (0, 1, 2) or (status and not told.strip()) or "Traceback" in told:
            raise AssertionError(f"left with {status!r}, saying {told[-300:]!r}")
        if {"t.csv", "new.csv", "m.npz"} - set(os.listdir(place)):
            raise AssertionError("a file that was there is gone")
        return f"status {status}"


TARGET = Arguments()
