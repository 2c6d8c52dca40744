"""Files and pages hold no training rows but where a network is made of them and says so, and keys are nowhere.

Models of every kind are fitted to numbers of many digits and to texts that stand in one row each. Their bytes, the page
of a report and what the commands print are searched for these numbers, in every precision and either order of bytes,
and for the texts. An API's key is looked for in logs of every level, errors with their tracebacks, the cache and
pickles, while a server on this machine answers rightly, refuses the key by repeating it, or breaks off.
"""

import contextlib
import io
import json
import logging
import os
import pickle
import tempfile
import threading
import traceback
import warnings
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from unittest import mock

import numpy as np

from reliability.promise import Outcome

KEY = "sk-privacy-5f2e8c71d09b43aa"
_MADE_OF_ROWS = {"default", "infinite gates"}


def run(budget):
    warnings.simplefilter("ignore")
    faults, n_models = models(budget.short)
    n_pages = 0
    if not budget.short:
        more, n_pages = pages()
        faults += more
    more, n_requests = keys()
    faults += more
    figure = f"{n_models} model files, {n_pages} reports with their models, {n_requests} requests with a key"
    return Outcome(figure, faults)


# ---- files


def _rows(n=60):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) + rng.integers(10, 99, (n, 3))
    return X, (X[:, 0] > np.median(X[:, 0])).astype(int), X[:, 0] - X[:, 1] + rng.standard_normal(n)


def _kinds(short):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from clifford_rand_nn import (
        BetaCV,
        ConvexNetworkClassifier,
        ConvexReLUClassifier,
        CrossProductLassoClassifier,
        GatedReLUClassifier,
    )

    some = {"beta": 1e-2, "tol": 1e-3, "random_state": 0}
    kinds = {
        "gated": GatedReLUClassifier(8, **some),
        "relu": ConvexReLUClassifier(8, **some),
        "lasso": CrossProductLassoClassifier(beta=1e-2, subsample=200, random_state=0),
        "infinite gates": GatedReLUClassifier(gates="infinite", penalty="ridge", beta=1e-2),
        "scaled": make_pipeline(StandardScaler(), GatedReLUClassifier(8, **some)),
    }
    if not short:
        kinds |= {
            "few neurons": ConvexNetworkClassifier(n_neurons=5),
            "crossed": ConvexNetworkClassifier(gates="row_spanned"),
            "search": BetaCV(GatedReLUClassifier(8, random_state=0), n_betas=3, cv=2),
            "default": ConvexNetworkClassifier(),
        }
    return kinds


def held(data, X):
    """Return in how many rows some number is found among the bytes, in any of the ways to write it."""
    seen = np.zeros(len(X), dtype=bool)
    for kind in ("<f8", ">f8", "<f4", ">f4"):
        seen |= np.array([any(number.astype(kind).tobytes() in data for number in row) for row in X])
    seen |= np.array([any(f"{number:.9f}"[:-2].encode() in data for number in row) for row in X])
    return int(seen.sum())


def models(short):
    """Return faults of model files, and how many there were."""
    from typer.testing import CliRunner

    from clifford_rand_nn import save_model
    from clifford_rand_nn.cli.app import app

    X, labels, _ = _rows()
    faults, kinds = [], _kinds(short)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        for name, model in kinds.items():
            save_model(model.fit(X, labels), path)
            there = held(path.read_bytes(), X)
            network = getattr(model[-1] if hasattr(model, "steps") else model, "network_", None)
            if network is not None and hasattr(network, "standard"):  # rows as the network has them
                there = max(there, held(path.read_bytes(), network.rows))
            said = json.loads(CliRunner().invoke(app, ["info", str(path), "--json"]).stdout)["holds_rows"]
            if bool(there) != (name in _MADE_OF_ROWS):
                faults.append(f"{name}: {there} of {len(X)} training rows are in its file")
            if bool(there) != said:
                faults.append(f"{name}: info says {said}, of {there} rows in the file")
    return faults, len(kinds)


def pages():
    """Return faults of what the command line makes of a table with names and notes, and how many reports there were."""
    import pandas as pd
    from typer.testing import CliRunner

    from clifford_rand_nn.cli.app import app

    X, labels, _ = _rows(80)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["who"] = [f"person-{i:04d}-xq" for i in range(len(X))]
    table["note"] = [f"words of number {i}, zeta{i}q" for i in range(len(X))]
    table["target"] = labels
    faults, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        table.to_csv(f"{folder}/t.csv", index=False)
        model, page = Path(folder, "m.npz"), Path(folder, "r.html")
        for kind in ([], ["--model", "gated", "--beta", "1e-2"]):
            options = ["--target", "target", "--out", model, "--report", page, "--force", *kind]
            done = CliRunner().invoke(app, [str(one) for one in ("fit", f"{folder}/t.csv", *options)])
            if done.exit_code:
                faults.append(f"fit {kind}: {done.output[-300:]}")
                continue
            count += 1
            places = {"model": model.read_bytes(), "report": page.read_bytes(), "output": done.stdout.encode()}
            for what, data in places.items():
                for column in ("who", "note"):
                    found = sum(text.encode() in data for text in table[column])
                    if found:
                        faults.append(f"{what} of {kind}: {found} texts of {column}")
                if held(data, X):
                    faults.append(f"{what} of {kind}: {held(data, X)} training rows")
    return faults, count


# ---- keys


class _Server(BaseHTTPRequestHandler):
    """An embedding server: right, refusing (with the key in what it says), failing, or gone in the middle."""

    mode = "right"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.mode == "gone":
            self.connection.close()
            return
        status = {"right": 200, "refused": 401, "wrong": 400, "failing": 500}[self.mode]
        data = [{"index": i, "embedding": [1.0, 2.0], "object": "embedding"} for i in range(len(asked["input"]))]
        body = {"data": data, "object": "list", "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        if status != 200:
            body = {"error": {"message": f"Incorrect key {self.headers['Authorization']}", "code": None}}
        reply = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


def keys():
    """Return where the key was seen, and how many requests were made."""
    from clifford_rand.errors import available
    from clifford_rand_nn.features.embedding import embed
    from clifford_rand_nn.features.text_encoders import OpenAIEncoder

    if not available("openai"):
        return [], 0
    server = HTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    log, faults, modes = io.StringIO(), [], ("right", "refused", "wrong", "failing", "gone")
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    level = root.level
    try:
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"OPENAI_API_KEY": KEY}):
            encoder = OpenAIEncoder("m", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0)
            for mode in modes:
                _Server.mode, said = mode, io.StringIO()
                with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                    try:
                        embed([f"text for {mode}"], encoder, cache=folder)
                        if mode != "right":
                            faults.append(f"{mode}: no error")
                    except Exception as error:
                        if mode == "right":
                            raise
                        said.write("".join(traceback.format_exception(error)))
                with contextlib.suppress(Exception):  # a client need not be pickled
                    said.write(pickle.dumps(encoder).decode("latin-1"))
                said.write(repr(encoder) + encoder.cache_key)
                places = {"what is said": said.getvalue(), "logs": log.getvalue()}
                for path in Path(folder).rglob("*"):
                    places[path.name] = path.name + (path.read_bytes().decode("latin-1") if path.is_file() else "")
                faults += [f"{mode}: the key is in {place}" for place, text in places.items() if KEY in text]
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        server.shutdown()
        server.server_close()
    return faults, len(modes)
