"""Every worked example runs, tells the truth about what is known otherwise, and draws something."""

import importlib
import math
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "ga"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


@pytest.mark.parametrize("name", NAMES)
def test_a_worked_example_runs(name, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(pyplot, "show", lambda *_, **__: pytest.fail("an example opens a window"))
    figures = importlib.import_module(f"examples.ga.{name}").main(tmp_path)
    assert figures
    for figure, value in figures.items():
        assert math.isfinite(value), figure
        if figure.startswith("error of"):
            assert abs(value) <= 1e-9, figure
    picture = pyplot.imread(tmp_path / f"{name}.png")
    assert picture.shape[0] >= 200
    assert picture[..., :3].std() > 0.01, "an empty picture"
