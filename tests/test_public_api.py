"""The public API is what the list says, so that every change of it is deliberate."""

import pytest

from support import public_api

HINT = "If the change is meant: PYTHONPATH=.:tests python -m support.public_api, and a line in the changelog."


@pytest.mark.parametrize("module", public_api.MODULES)
def test_public_names_and_parameters_are_those_listed(module):
    if module == "clifford_rand.layers":
        pytest.importorskip("torch")
    listed = public_api.FILE.read_text(encoding="utf-8").split("\n\n")[public_api.MODULES.index(module)].splitlines()
    assert public_api.lines(module) == listed, HINT
