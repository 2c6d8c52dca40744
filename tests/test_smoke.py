"""Smoke test: the examples of every public name of both packages run (``pytest -m smoke``, one minute on two cores)."""

import doctest
import inspect
import re
import warnings

import pytest

import clifford_rand
import clifford_rand_nn

NAMES = [(package, name) for package in (clifford_rand, clifford_rand_nn) for name in dir(package) if name[0] != "_"]


def _examples(package, name):
    """Return the doctests of a public name, and of the methods of a class."""
    try:
        value = getattr(package, name)
    except clifford_rand.MissingDependencyError:
        return []
    if inspect.ismodule(value):
        return []
    return [test for test in doctest.DocTestFinder().find(value, name, globs={}) if test.examples]


@pytest.mark.smoke
@pytest.mark.parametrize(("package", "name"), NAMES, ids=[f"{package.__name__}.{name}" for package, name in NAMES])
def test_examples_run(package, name, monkeypatch, tmp_path, doctest_namespace):
    monkeypatch.chdir(tmp_path)
    for test in _examples(package, name):
        for library in re.findall(r"(?m)^(?:import|from) (\w+)", "".join(example.source for example in test.examples)):
            pytest.importorskip(library)  # of an extra
        test.globs.update(vars(inspect.getmodule(inspect.unwrap(getattr(package, name)))) | doctest_namespace)
        test.globs["__name__"] = "__main__"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = doctest.DocTestRunner(verbose=False).run(test, out=None)
        assert result.failed == 0, test.name


def test_most_public_names_have_examples():
    values = {(package, name): getattr(package, name) for package, name in NAMES}
    used = [name for name, value in values.items() if not inspect.ismodule(value) and not _is_raised(value)]
    assert sum(bool(_examples(*name)) for name in used) > 0.8 * len(used)


def _is_raised(value):
    return isinstance(value, type) and issubclass(value, Exception)  # warnings are exceptions, too
