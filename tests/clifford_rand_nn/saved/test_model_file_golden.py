"""Model files that people have: each of them still loads, says the same, and is written again as it was."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning
from typer.testing import CliRunner

from clifford_rand_nn import load_model, save_model
from clifford_rand_nn.cli.app import app
from clifford_rand_nn.model_file import with_new_names
from clifford_rand_nn.saved.parts import VERSION
from support import golden

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted(GOLDEN.glob("*/*.npz"))
VOLATILE = ("version", "library", "libraries", "saved")  # of the file's JSON


def _load(path):
    with warnings.catch_warnings():  # another scikit-learn reads its steps with a warning, here as at users'
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return load_model(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.filterwarnings("ignore::clifford_rand_nn.tables.encoded_rows.TableWarning")  # of new categories
def test_a_file_that_people_have_says_what_it_said(path, tmp_path):
    model = _load(path)
    values = json.loads((path.parent / "values.json").read_text())[path.stem]
    found = golden.said(model, golden.new_rows(path.stem))
    assert values
    assert found.keys() >= values.keys()
    for method, value in values.items():
        value, got = np.asarray(value), np.asarray(found[method])
        if value.dtype.kind == "f":
            np.testing.assert_allclose(got, value, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(got, value)
    save_model(model, tmp_path / "again.npz")
    one, two = (dict(np.load(file)) for file in (path, tmp_path / "again.npz"))
    told, again = (json.loads(arrays.pop("meta").tobytes()) for arrays in (one, two))
    assert one.keys() <= two.keys()  # a later version may add
    for name in one:
        if not (name.startswith(("step", "inner")) and one[name].dtype == np.uint8):  # skops' own text may change
            np.testing.assert_array_equal(two[name], one[name])
    assert told["version"] <= again["version"] == VERSION
    _within(with_new_names(told), again)


def _within(old, new, key=""):
    if isinstance(old, dict):
        for name in old:
            if key or name not in VOLATILE:
                _within(old[name], new[name], f"{key}/{name}")
    elif "/pipeline/steps" not in key or not key.endswith(("/sha256", "/version")):
        assert new == old, key


def test_info_says_when_it_was_saved_and_of_how_many_rows():
    file = str(GOLDEN / "9" / "gated.npz")
    said = json.loads(CliRunner().invoke(app, ["info", file, "--json"]).stdout)
    assert said["n_rows"] == golden.N
    assert said["holds_rows"] is False
    assert said["saved"].startswith("20")
    assert set(said["libraries"]) == {"python", "numpy", "scipy", "scikit-learn"}
    words = " ".join(CliRunner().invoke(app, ["info", file]).output.split())
    assert f"14 rows; saved {said['saved']}" in words


def test_this_version_has_its_files():
    kinds = {path.stem for path in (GOLDEN / str(VERSION)).glob("*.npz")}
    assert kinds == golden.models().keys()
    versions = {json.loads(np.load(path)["meta"].tobytes())["version"] for path in FILES}
    assert VERSION in versions
    assert sum(path.stat().st_size for path in FILES) < 2**18 * len({path.parent for path in FILES})
