"""The public API is what the list says, so that every change of it is deliberate."""

import dataclasses

import pytest

from clifford_rand_nn import Status
from support import public_api

HINT = "If the change is meant: PYTHONPATH=.:tests python -m support.public_api, and a line in the changelog."


@pytest.mark.parametrize("module", public_api.MODULES)
def test_public_names_and_parameters_are_those_listed(module):
    if module == "clifford_rand.layers":
        pytest.importorskip("torch")
    listed = public_api.FILE.read_text(encoding="utf-8").split("\n\n")[public_api.MODULES.index(module)].splitlines()
    assert public_api.lines(module) == listed, HINT


def test_text_of_parameters():
    nothing = object()

    def function(a, /, b, *c, d=1e-9, e=float, f=Status.OPTIMAL, g=nothing, **h): ...

    def keywords(self, a: int, *, b=None) -> str: ...

    shown = "(a, /, b, *c, d=1e-09, e=float, f=OPTIMAL, g=<object>, **h)"
    assert public_api.parameters(function) == shown
    assert public_api.parameters(keywords, of_instance=True) == "(a, *, b=None)"


def test_a_new_name_or_parameter_changes_the_lines():
    class New:
        def __init__(self, a): ...

        def method(self, b=0): ...

        @property
        def value(self): ...

    New.__module__ = New.__init__.__module__ = "clifford_rand.new"
    expected = ["New(a)", "New.method(b=0)", "New.value"]
    assert public_api.described("New", New) == expected


def test_fields_stand_for_the_constructor_of_what_another_function_makes():
    @dataclasses.dataclass
    class New:
        """A record. Made by `f`."""

        b: int
        a: int = 0

    New.__module__ = New.__init__.__module__ = "clifford_rand.new"
    assert public_api.described("New", New) == ["New", "New.a", "New.b"]
    New.__doc__ = "A record."
    assert public_api.described("New", New) == ["New(b, a=0)"]
