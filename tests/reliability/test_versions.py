"""The promises of versions and floors see what would break them."""

import pytest
from packaging.requirements import Requirement

from reliability import floors, versions
from support.environments import at_floors, declared, needed


@pytest.mark.parametrize(
    ("found", "seen"),
    [
        ([[1.0 + 1e-12, 1.0]], None),
        ([[1.0 + 1e-8, 1.0]], "objectives differ by 1.0e-08"),
        ([[1.0, 1.0 - 1e-8]], "bounds by 1.0e-08"),
        ([[1.0 + 1e-8, 1.0 + 1e-8]], "a bound is above the other's objective by 1.0e-08"),
        ([[1.0, 1.0], [2.0, 2.0]], " and "),
        ("ValueError: no", "ValueError"),
    ],
)
def test_what_differs_is_a_fault(found, seen):
    fault = versions._compare("gated", [[1.0, 1.0]], found)[2]
    assert fault is None if seen is None else seen in fault


def test_fits_with_their_own_settings_agree_to_their_gap():
    assert versions._compare("as it comes: x", [[1.0, 0.999]], [[1.0005, 0.9995]])[2] is None
    assert "above" in versions._compare("as it comes: x", [[1.0, 0.999]], [[1.002, 1.001]])[2]


@pytest.mark.slow  # reads every file of the packages
def test_requirements_without_a_bound_or_a_place_are_faults():
    parts = declared()
    assert not floors._without_bound(parts)
    parts[""] = [one for one in parts[""] if one.name != "scipy"]
    parts["app"] = [Requirement("pandas") if one.name == "pandas" else one for one in parts["app"]]
    assert floors._without_bound(parts) == ["pandas of app has no lower bound"]
    assert any("imports scipy" in fault for fault in floors._not_declared(parts))
    parts["app"].append(Requirement("numpy>=99"))
    assert any(fault.startswith("numpy") and "numpy>=99" in fault for fault in floors._not_satisfied(parts))


def test_an_extra_brings_what_its_extras_bring():
    parts = {"": [Requirement("a>=1")], "x": [Requirement("b[z]>=2,<3")], "y": [Requirement("clifford-rand[x]")]}
    assert sorted(needed(["y"], parts)) == ["a", "b"]
    assert sorted(at_floors(["y"], parts)) == ["a==1", "b[z]==2"]
