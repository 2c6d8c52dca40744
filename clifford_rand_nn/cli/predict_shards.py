"""``clifford-rand predict --shards``: a model file and a folder of shards in, a folder of predictions out."""

from pathlib import Path

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.cli.console import say
from clifford_rand_nn.cli.shards import model_shards
from clifford_rand_nn.model_file import load_model
from clifford_rand_nn.streaming.predict import predict_shards


def run_predict_shards(
    path: Path, folder: Path, out: Path | None, method: str, kind: str, force: bool, resume: bool
) -> None:
    """Load, read, predict and write."""
    if out is None:
        raise ArgumentError("predict --shards needs --out, the folder for its files.")
    if out.exists() and not out.is_dir():
        raise ArgumentError(f"{out}: this is a file, not a folder.")
    if force and resume:
        raise ArgumentError("Give --force or --resume, not both: one writes files anew, the other keeps them.")
    model = load_model(path)
    shards = model_shards(model, folder)
    there = sorted(out.glob(f"*.{kind}")) if out.is_dir() else []
    if there and not (force or resume):
        raise ArgumentError(f"{there[0]}: this file is there already; --force overwrites such, --resume keeps them.")
    existing = "replace" if force else "keep" if resume else "refuse"
    files = predict_shards(model, shards, out, method=method, kind=kind, existing=existing)
    say(f"{shards.n} predictions written to {out}, in {len(files)} files such as {files[0].name}")
